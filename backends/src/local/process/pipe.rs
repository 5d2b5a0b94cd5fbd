//! A command's streams: our ends of its pipes.

use crate::errno::failed;
use farside_core::{Cx, Interest, Sink, Source, Watched, wire::Error};
use rustix::{
    fd::OwnedFd,
    io::{Errno, fcntl_dupfd_cloexec, ioctl_fionbio, ioctl_fionread, read, write},
    pipe::{PipeFlags, pipe_with},
};
use std::{
    io,
    os::fd::AsRawFd,
    task::{Poll, ready},
};

/// A pipe whose ends are closed in every program that is run: the end to read from, the end to write to.
pub(super) fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    pipe_with(PipeFlags::CLOEXEC)
}

/// The same descriptor, numbered 3 or more: a host that closed its own streams has lower ones to give.
pub(super) fn above_streams(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    if fd.as_raw_fd() < 3 { fcntl_dupfd_cloexec(&fd, 3) } else { Ok(fd) }
}

/// Our end of a pipe. The command's end has modes of its own.
pub(super) struct Pipe(Option<Watched>);

impl Pipe {
    pub(super) fn new(fd: OwnedFd) -> Result<Self, Errno> {
        ioctl_fionbio(&fd, true)?;
        Ok(Self(Some(Watched::new(fd))))
    }
}

impl Source for Pipe {
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let Some(pipe) = &mut self.0 else { return Poll::Ready(Ok(0)) };
        cx.io(pipe, Interest::Read, |fd| Ok(read(fd, &mut *buf)?)).map_err(told)
    }

    fn waiting(&self) -> u64 {
        self.0.as_ref().and_then(|pipe| ioctl_fionread(pipe).ok()).unwrap_or(0)
    }
}

impl Sink for Pipe {
    fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        let Some(pipe) = &mut self.0 else { return Poll::Ready(Err(failed(Errno::PIPE))) };
        let wrote = ready!(cx.io(pipe, Interest::Write, |fd| Ok(write(fd, buf)?)));
        Poll::Ready(wrote.map_err(told))
    }

    fn poll_finish(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.0 = None;
        Poll::Ready(Ok(()))
    }
}

/// The error of an operation on a descriptor, or of a runtime that cannot wait for one.
pub(super) fn told(error: io::Error) -> Error {
    Errno::from_io_error(&error).map_or_else(|| Error::other(error.to_string()), failed)
}
