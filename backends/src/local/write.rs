//! Writing a file: whole or nothing.
//!
//! The content goes into a temporary file in the nearest directory that exists and takes its place by a rename within directories that
//! are held. So a reader, and a crash, finds the old content or the new, and what is cut leaves nothing.

use super::{resolve::Root, temp::Temp};
use crate::{
    errno::failed,
    walk::{ELEMENT, Place, Seen},
};
use farside_core::{Cx, Sink, wire::Error};
use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{AtFlags, FileType, Mode, OFlags, fchmod, fstat, fsync, mkdirat, openat, renameat, statat, unlinkat},
    io::{Errno, retry_on_intr, write},
};
use std::task::Poll;

/// The permission bits of a directory that is made on the way.
const PARENT: u32 = 0o755;
const HELD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const READ: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Where a file goes: the nearest directory that exists, the directories missing below it, and the last name.
pub(super) struct Target {
    pub(super) dir: OwnedFd,
    missing: Vec<Vec<u8>>,
    last: Vec<u8>,
}

impl Target {
    /// The target of a write to `name`, links followed. What stands there already is a regular file.
    pub(super) fn find(root: &Root, name: &str) -> Result<Self, Error> {
        match Self::beside(root, name) {
            Some(found) => found,
            None => Self::through_links(root, name),
        }
    }

    /// The usual case, in two system calls: a directory that exists, and no link at the end.
    fn beside(root: &Root, name: &str) -> Option<Result<Self, Error>> {
        if root.by_hand() {
            return None;
        }
        let (dir, last) = root.open_parent(name).ok()?;
        match statat(&dir, last, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::RegularFile) | Err(Errno::NOENT) => {
                Some(Ok(Self { dir, missing: Vec::new(), last: last.into() }))
            }
            Ok(FileType::Symlink) => None,
            Ok(_) => Some(Err(no_file())),
            Err(errno) => Some(Err(failed(errno))),
        }
    }

    fn through_links(root: &Root, name: &str) -> Result<Self, Error> {
        let Place { dirs, mut rest, seen, slash } = root.place(name)?;
        let regular = match &seen {
            Seen::Nothing => !slash && rest.iter().all(|name| name.len() <= ELEMENT),
            Seen::Other(fd) => FileType::from_raw_mode(fstat(fd).map_err(failed)?.st_mode) == FileType::RegularFile,
            Seen::Dir(_) | Seen::Link(_) => false,
        };
        match rest.pop() {
            Some(last) if regular => Ok(Self { dir: root.last(dirs)?, missing: rest, last }),
            _ => Err(no_file()),
        }
    }
}

fn no_file() -> Error {
    Error::invalid("no regular file")
}

/// A file that is being written.
pub(super) struct Put {
    temp: Temp,
    missing: Vec<Vec<u8>>,
    last: Vec<u8>,
    perm: u32,
    sync: bool,
}

impl Put {
    pub(super) fn new(target: Target, perm: Option<u32>, sync: bool) -> Result<Self, Error> {
        let Target { dir, missing, last } = target;
        Ok(Self { temp: Temp::new(dir)?, missing, last, perm: perm.unwrap_or(0o644) & 0o777, sync })
    }

    fn finish(&mut self) -> Result<(), Errno> {
        let dir = &self.temp.dir;
        let mut made = Parents { start: dir.as_fd(), dirs: Vec::new(), names: &self.missing, kept: false };
        made.make()?;
        let into = made.last();
        let mode = match statat(into, &*self.last, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => stat.st_mode & 0o777,
            Err(Errno::NOENT) => self.perm,
            stat => return stat.and(Err(Errno::INVAL)),
        };
        fchmod(&self.temp.file, Mode::from_raw_mode(mode))?;
        if self.sync {
            fsync(&self.temp.file)?;
        }
        renameat(dir, self.temp.name(), into, &*self.last)?;
        made.kept = true;
        let synced = if self.sync { made.sync() } else { Ok(()) };
        drop(made);
        self.temp.renamed();
        synced
    }
}

impl Sink for Put {
    fn poll_write(&mut self, _: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        Poll::Ready(match retry_on_intr(|| write(&self.temp.file, buf)) {
            Ok(0) => Err(failed(Errno::IO)),
            done => done.map_err(failed),
        })
    }

    fn poll_finish(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(self.finish().map_err(failed))
    }
}

/// The directories made on the way to a file; removed again unless the file got there.
struct Parents<'a> {
    start: BorrowedFd<'a>,
    names: &'a [Vec<u8>],
    /// One for each name, and whether it was made here.
    dirs: Vec<(OwnedFd, bool)>,
    kept: bool,
}

impl Parents<'_> {
    fn make(&mut self) -> Result<(), Errno> {
        for name in self.names {
            let made = match mkdirat(self.last(), &**name, Mode::from_raw_mode(PARENT)) {
                Err(Errno::EXIST) => false,
                done => done.map(|()| true)?,
            };
            let dir = openat(self.last(), &**name, HELD, Mode::empty())?;
            self.dirs.push((dir, made));
            if made {
                self.unmask(name)?;
            }
        }
        Ok(())
    }

    /// Gives the directory made last its mode, if the umask took some of it.
    fn unmask(&self, name: &[u8]) -> Result<(), Errno> {
        let mode = fstat(self.last())?.st_mode;
        if mode & 0o777 == PARENT {
            return Ok(());
        }
        let dir = openat(self.before(self.dirs.len() - 1), name, READ, Mode::empty())?;
        fchmod(dir, Mode::from_raw_mode(mode & 0o7000 | PARENT))
    }

    fn last(&self) -> BorrowedFd<'_> {
        self.before(self.dirs.len())
    }

    /// The directory that the name of this index is in.
    fn before(&self, index: usize) -> BorrowedFd<'_> {
        match index.checked_sub(1).and_then(|before| self.dirs.get(before)) {
            Some((dir, _)) => dir.as_fd(),
            None => self.start,
        }
    }

    /// Brings the new names to the disk, the innermost first.
    fn sync(&self) -> Result<(), Errno> {
        for index in (0..=self.dirs.len()).rev() {
            fsync(openat(self.before(index), ".", READ, Mode::empty())?)?;
        }
        Ok(())
    }
}

impl Drop for Parents<'_> {
    fn drop(&mut self) {
        for index in (0..self.dirs.len()).rev().filter(|_| !self.kept) {
            if self.dirs[index].1 {
                // One that something was put into meanwhile stays.
                let _ = unlinkat(self.before(index), &*self.names[index], AtFlags::REMOVEDIR);
            }
        }
    }
}
