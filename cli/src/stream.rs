//! Descriptors of this process that a task copies from or to without blocking in them, so that an interrupt is seen at once.
//!
//! They are shared with others (a terminal, a pipe), so they are not made non-blocking: they are asked whether they are ready.

use farside_core::{Cx, Interest, Watched};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{FileType, fstat},
    io::Errno,
};
use std::{io, task::Poll};

/// So much a pipe that says it is ready takes at once.
const PIPE_BUF: usize = 4096;

pub(crate) struct Stream {
    fd: Watched,
    /// Whether its other side may be slow.
    waits: bool,
}

impl Stream {
    pub(crate) fn new(fd: impl Into<OwnedFd>) -> io::Result<Self> {
        let fd = fd.into();
        let waits = FileType::from_raw_mode(fstat(&fd)?.st_mode) != FileType::RegularFile;
        Ok(Self { fd: Watched::new(fd), waits })
    }

    pub(crate) fn of(fd: impl AsFd) -> io::Result<Self> {
        Self::new(fd.as_fd().try_clone_to_owned()?)
    }

    /// Reads into `buf`, which is not empty; 0 is the end.
    pub(crate) fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let waits = self.waits;
        cx.io(&mut self.fd, Interest::Read, |fd| {
            ready(fd, waits, PollFlags::IN)?;
            Ok(rustix::io::read(fd, &mut *buf)?)
        })
    }

    /// Writes some of `buf`, which is not empty.
    pub(crate) fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let waits = self.waits;
        let most = if waits { buf.len().min(PIPE_BUF) } else { buf.len() };
        cx.io(&mut self.fd, Interest::Write, |fd| {
            ready(fd, waits, PollFlags::OUT)?;
            Ok(rustix::io::write(fd, &buf[..most])?)
        })
    }
}

/// Whether a line can be written without waiting.
pub(crate) fn has_room(fd: impl AsFd) -> bool {
    ready(fd.as_fd(), true, PollFlags::OUT).is_ok()
}

/// Says `WouldBlock` of a descriptor that is not ready; one that has failed is, and its error comes from its use.
fn ready(fd: BorrowedFd<'_>, waits: bool, want: PollFlags) -> io::Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut set = [PollFd::from_borrowed_fd(fd, want)];
    if waits && poll(&mut set, Some(&now))? == 0 { Err(Errno::AGAIN.into()) } else { Ok(()) }
}
