//! Reading: what a name is, where a link leads, a file's content.

use super::resolve::Root;
use crate::errno::failed;
use farside_core::{
    Answer, Cx, Reader, Room, Source,
    wire::{Error, FileMode, Meta, Timestamp},
};
use rustix::{
    fd::OwnedFd,
    fs::{FileType, OFlags, Stat, fstat, readlinkat_raw},
    io::{Errno, pread, read, retry_on_intr},
};
use std::{mem::MaybeUninit, sync::Arc, task::Poll};

/// A file shorter than this is read at once (spec, Info and files).
const AT_ONCE: usize = 64 * 1024;
/// The longest link there is, with a byte to spare.
const LINK: usize = 4096;

pub(super) fn stat(root: &Root, name: &str, follow: bool) -> Result<Answer, Error> {
    let link = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    let fd = root.open(name, OFlags::PATH | link)?;
    let stat = fstat(&fd).map_err(failed)?;
    Ok(Answer::Meta(meta(&stat)))
}

pub(super) fn meta(stat: &Stat) -> Meta {
    Meta {
        size: size(stat),
        mode: FileMode::from_unix(stat.st_mode),
        modified: Timestamp { seconds: stat.st_mtime, nanos: stat.st_mtime_nsec as u32 },
    }
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Not inlined: its buffer would stand on the stack of every other operation too.
#[inline(never)]
pub(super) fn read_link(root: &Root, name: &str) -> Result<Answer, Error> {
    let fd = root.open(name, OFlags::PATH | OFlags::NOFOLLOW)?;
    let mut buf = [MaybeUninit::uninit(); LINK];
    let target = match readlinkat_raw(&fd, "", &mut buf) {
        // What the kernel says of an empty path that is no link.
        Err(Errno::NOENT) => return Err(Error::invalid("no link")),
        target => target.map_err(failed)?.0,
    };
    let target = std::str::from_utf8(target).map_err(|_| Error::invalid("target"))?;
    Ok(Answer::Target(target.into()))
}

/// Opens a regular file; four system calls for a small one.
///
/// What it is can only be asked of the open descriptor, so a FIFO or a device is opened before it is refused. `NONBLOCK` and `NOCTTY`
/// see to it that this waits for nobody and changes no terminal of ours; no byte of it is read. A device node's driver does see an open
/// and a close: who may put device nodes or a mounted `/dev` below the root answers for that.
pub(super) fn open(root: &Root, name: &str, room: &mut dyn Room) -> Result<Answer, Error> {
    let fd = match root.open(name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY) {
        // A socket, a device without a driver.
        Err(error) if matches!(error.errno(), Some("ENXIO" | "ENODEV")) => return Err(no_file()),
        fd => fd?,
    };
    let stat = fstat(&fd).map_err(failed)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(no_file());
    }
    let size = size(&stat);
    match usize::try_from(size) {
        Ok(small) if small < AT_ONCE => read_small(fd, small, room),
        _ => Ok(Answer::Reader(stated(fd, size))),
    }
}

fn no_file() -> Error {
    Error::invalid("no regular file")
}

/// Reads a file whose size is said to be `size`, which is not always so: in sysfs and procfs it is 4096 or 0, and others are changed
/// meanwhile. So the content is what was read up to its end, and only if 64 KiB end first a reader of the rest.
fn read_small(fd: OwnedFd, size: usize, room: &mut dyn Room) -> Result<Answer, Error> {
    let buf = room.room(size + 1);
    if buf.len() <= size {
        return read_without_room(fd, size);
    }
    let n = fill(&fd, buf, size)?;
    if n < buf.len() {
        return Ok(Answer::Whole(n));
    }
    let first = buf.to_vec();
    let buf = room.room(AT_ONCE);
    let Some((head, tail)) = buf.split_at_mut_checked(first.len()) else {
        return Ok(Answer::Reader(held(first, None, Some(fd))));
    };
    head.copy_from_slice(&first);
    let n = n + fill(&fd, tail, usize::MAX)?;
    if n < buf.len() { Ok(Answer::Whole(n)) } else { Ok(Answer::Reader(held(buf.to_vec(), None, Some(fd)))) }
}

fn read_without_room(fd: OwnedFd, size: usize) -> Result<Answer, Error> {
    let mut own = Vec::new();
    match read_small(fd, size, &mut own)? {
        Answer::Whole(n) => {
            own.truncate(n);
            Ok(Answer::Reader(held(own, Some(n as u64), None)))
        }
        reader => Ok(reader),
    }
}

/// Reads until `buf` is full or the file ends; a single read of just `expected` bytes is taken for all of it.
fn fill(fd: &OwnedFd, buf: &mut [u8], expected: usize) -> Result<usize, Error> {
    let mut n = 0;
    while let Some(free) = buf.get_mut(n..).filter(|free| !free.is_empty()) {
        match retry_on_intr(|| read(fd, &mut *free)).map_err(failed)? {
            0 => break,
            more => n += more,
        }
        if n == expected {
            break;
        }
    }
    Ok(n)
}

/// A reader of the first `size` bytes.
fn stated(fd: OwnedFd, size: u64) -> Reader {
    let fd = Arc::new(fd);
    let bytes = Box::new(Stated { fd: fd.clone(), at: 0, size });
    Reader { size: Some(size), bytes, file: Some(fd) }
}

struct Stated {
    fd: Arc<OwnedFd>,
    at: u64,
    size: u64,
}

impl Source for Stated {
    fn poll_read(&mut self, _: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let left = usize::try_from(self.size - self.at).unwrap_or(usize::MAX).min(buf.len());
        if left == 0 {
            return Poll::Ready(Ok(0));
        }
        let n = retry_on_intr(|| pread(&self.fd, &mut buf[..left], self.at)).map_err(failed)?;
        if n == 0 {
            return Poll::Ready(Err(Error::other("the file shrank while it was read")));
        }
        self.at += n as u64;
        Poll::Ready(Ok(n))
    }
}

/// A reader of `first`, and then of all that is left of `rest`, however much.
fn held(first: Vec<u8>, size: Option<u64>, rest: Option<OwnedFd>) -> Reader {
    Reader::new(size, Box::new(Held { first, given: 0, rest }))
}

struct Held {
    first: Vec<u8>,
    given: usize,
    rest: Option<OwnedFd>,
}

impl Source for Held {
    fn poll_read(&mut self, _: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let first = &self.first[self.given..];
        if let ([], Some(rest)) = (first, &self.rest) {
            return Poll::Ready(retry_on_intr(|| read(rest, &mut *buf)).map_err(failed));
        }
        let n = first.len().min(buf.len());
        buf[..n].copy_from_slice(&first[..n]);
        self.given += n;
        if self.given == self.first.len() {
            (self.first, self.given) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(n))
    }
}
