//! Listing a directory.

use super::{read::meta, resolve::Root};
use crate::errno::failed;
use farside_core::{
    Answer,
    wire::{Error, FileInfo, Listing},
};
use rustix::{
    fs::{AtFlags, OFlags, RawDir, statat},
    io::Errno,
};

/// The buffer of a read of a directory: some hundred entries at a time.
const BUFFER: usize = 32 * 1024;

pub(super) fn read_dir(root: &Root, name: &str, max: u64) -> Result<Answer, Error> {
    let dir = root.open(name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK)?;
    let (mut names, mut skipped) = (Vec::new(), 0);
    let mut buf = Vec::with_capacity(BUFFER);
    let mut entries = RawDir::new(&dir, buf.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Err(Errno::INTR) => continue,
            entry => entry.map_err(failed)?,
        };
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if names.len() as u64 + skipped >= max {
            return Err(Error::limit("maxDirEntries", max));
        }
        match std::str::from_utf8(name) {
            Ok(name) => names.push(name.to_owned()),
            Err(_) => skipped += 1,
        }
    }
    names.sort_unstable();
    // A name that was moved while the directory was read may have been met twice.
    names.dedup();
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        match statat(&dir, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => entries.push(FileInfo { name, meta: meta(&stat) }),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
    Ok(Answer::Listing(Listing { entries, skipped }))
}
