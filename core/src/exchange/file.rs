//! A file's content, out and in.

use super::{
    State,
    reply::{self, Refusal},
};
use crate::{
    carriage::{Body, Part, Reply},
    cx::Cx,
    handler::{Handler, Transfer},
    wire::Error,
    workspace::{Reader, Sink, Source},
};
use alloc::boxed::Box;
use core::task::{Poll, ready};

/// How much is read from a file at once: large enough that a call costs little beside the copy.
const PIECE: usize = 256 * 1024;
/// While more than this waits to be written, nothing more is read.
const BACKLOG: usize = 16 * 1024;
/// A file shorter than this is copied: sending from its descriptor would cost more calls.
#[cfg(feature = "std")]
const DIRECT: u64 = 64 * 1024;

/// A file that goes out.
pub(crate) struct Sending {
    /// `None` when the carriage sends from the file itself.
    from: Option<Box<dyn Source>>,
    left: Option<u64>,
    _transfer: Transfer,
}

/// Starts to send what `reader` gives.
pub(crate) fn send(reader: Reader, transfer: Transfer, out: &mut dyn Reply) -> State {
    out.start(&reply::file_head(reader.size));
    if out.head_only() {
        out.end();
        return State::Done;
    }
    #[cfg(feature = "std")]
    if let (Some(fd), Some(n)) = (&reader.file, reader.size)
        && n >= DIRECT
        && out.file(fd, n)
    {
        return State::Sending(Sending { from: None, left: Some(0), _transfer: transfer });
    }
    State::Sending(Sending { from: Some(reader.bytes), left: reader.size, _transfer: transfer })
}

impl Sending {
    /// An error means that the reply cannot be finished.
    pub(crate) fn poll(&mut self, cx: &mut Cx<'_>, out: &mut dyn Reply) -> Poll<Result<(), Error>> {
        loop {
            // The place among the transfers is held until the last byte is on its way.
            if out.backlog() > if self.left == Some(0) { 0 } else { BACKLOG } {
                return Poll::Pending;
            }
            let max = self.left.map_or(PIECE as u64, |left| left.min(PIECE as u64)) as usize;
            let Some(from) = self.from.as_mut().filter(|_| max > 0) else {
                out.end();
                return Poll::Ready(Ok(()));
            };
            match (ready!(from.poll_read(cx, out.room(max)))?, &mut self.left) {
                (0, None) => self.left = Some(0),
                (0, Some(_)) => return Poll::Ready(Err(Error::other("the file shrank while it was read"))),
                (n, left) => {
                    out.commit(n);
                    if let Some(left) = left {
                        *left = left.saturating_sub(n as u64);
                    }
                }
            }
        }
    }
}

/// A file that comes in.
pub(crate) struct Receiving {
    to: Box<dyn Sink>,
    pub(crate) size: Option<u64>,
    taken: u64,
    _transfer: Transfer,
}

impl Receiving {
    pub(crate) fn new(to: Box<dyn Sink>, size: Option<u64>, transfer: Transfer) -> Self {
        Self { to, size, taken: 0, _transfer: transfer }
    }

    /// `Ok(false)`: the upload was cut; it has changed nothing and nobody is there to be told.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Cx<'_>,
        handler: &Handler,
        body: &mut dyn Body,
        out: &mut dyn Reply,
        body_read: &mut bool,
    ) -> Poll<Result<bool, Refusal>> {
        loop {
            let max = handler.bounds.max_write_bytes;
            match if *body_read { Part::End } else { body.part() } {
                Part::More => return Poll::Pending,
                Part::Cut => return Poll::Ready(Ok(false)),
                Part::Fault(fault) => return Poll::Ready(Err(Refusal::fault(fault))),
                Part::Data(bytes) if self.taken + bytes.len() as u64 > max => {
                    return Poll::Ready(Err(Error::limit("maxWriteBytes", max).into()));
                }
                Part::Data(bytes) => {
                    let n = ready!(self.to.poll_write(cx, bytes)).map_err(Refusal::mapped)?;
                    self.taken += n as u64;
                    body.consume(n);
                }
                Part::End => {
                    *body_read = true;
                    ready!(self.to.poll_finish(cx)).map_err(Refusal::mapped)?;
                    reply::no_content(out);
                    return Poll::Ready(Ok(true));
                }
            }
        }
    }
}
