//! Removing a name.

use super::resolve::Root;
use crate::errno::failed;
use farside_core::{Answer, wire::Error};
use rustix::{
    fs::{AtFlags, unlinkat},
    io::Errno,
};

/// How often a name is tried that is a directory at one moment and none at the next.
const TRIES: usize = 8;

pub(super) fn remove(root: &Root, name: &str) -> Result<Answer, Error> {
    let (dir, last) = root.open_parent(name)?;
    let mut errno = Errno::BUSY;
    for _ in 0..TRIES {
        errno = match unlinkat(&dir, last, AtFlags::empty()) {
            Ok(()) => return Ok(Answer::Done),
            Err(Errno::ISDIR) => match unlinkat(&dir, last, AtFlags::REMOVEDIR) {
                Ok(()) => return Ok(Answer::Done),
                Err(Errno::NOTDIR) => Errno::BUSY,
                Err(errno) => return Err(failed(errno)),
            },
            Err(errno) => return Err(failed(errno)),
        }
    }
    Err(failed(errno))
}
