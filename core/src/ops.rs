//! The operations a program calls, as tasks: `run(read(&ws, "go.mod", 1 << 20))` on a thread, `run(..).await` on an executor.

use crate::{
    cx::{Cx, Task},
    wire::{Channel, Error, Listing, Meta, Output, frame::MAX_FRAME_DATA},
    workspace::{About, Answer, Called, Command, Exec, NoRoom, Op, Piece, Reader, Sink, Workspace},
};
use alloc::{boxed::Box, string::String, sync::Arc, vec, vec::Vec};
use core::task::{Poll, ready};

/// Waits for an answer and takes out of it what the operation must have given.
pub struct Ask<T> {
    called: Called,
    take: fn(Answer) -> Option<T>,
}

impl<T> Task for Ask<T> {
    type Out = Result<T, Error>;

    fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<Self::Out> {
        self.called.poll(cx, &mut NoRoom).map(|answer| taken(answer?, self.take))
    }
}

fn taken<T>(answer: Answer, take: fn(Answer) -> Option<T>) -> Result<T, Error> {
    take(answer).ok_or_else(|| Error::other("the workspace answered another operation"))
}

fn ask<T>(ws: &dyn Workspace, op: Op<'_>, take: fn(Answer) -> Option<T>) -> Ask<T> {
    Ask { called: ws.call(op, &mut NoRoom), take }
}

/// Takes one kind out of an answer.
macro_rules! take {
    ($kind:ident) => {
        |answer| if let Answer::$kind(it) = answer { Some(it) } else { None }
    };
}

/// What the workspace is.
pub fn about(ws: &dyn Workspace) -> Ask<Arc<About>> {
    ask(ws, Op::About, take!(About))
}

/// Size, mode and time of `name`; a link at its end is followed.
pub fn stat(ws: &dyn Workspace, name: &str) -> Ask<Meta> {
    ask(ws, Op::Stat { name, follow: true }, take!(Meta))
}

/// Size, mode and time of `name`, of a link itself.
pub fn lstat(ws: &dyn Workspace, name: &str) -> Ask<Meta> {
    ask(ws, Op::Stat { name, follow: false }, take!(Meta))
}

/// Where the link `name` leads, as it stands.
pub fn readlink(ws: &dyn Workspace, name: &str) -> Ask<String> {
    ask(ws, Op::ReadLink { name }, take!(Target))
}

/// The entries of the directory `name`, at most `max`.
pub fn readdir(ws: &dyn Workspace, name: &str, max: u64) -> Ask<Listing> {
    ask(ws, Op::ReadDir { name, max }, take!(Listing))
}

/// Removes what is no directory, or an empty directory.
pub fn remove(ws: &dyn Workspace, name: &str) -> Ask<()> {
    ask(ws, Op::Remove { name }, |answer| matches!(answer, Answer::Done).then_some(()))
}

/// The content of the file `name`, piece by piece.
pub fn open(ws: &dyn Workspace, name: &str) -> Ask<Reader> {
    ask(ws, Op::Open { name }, take!(Reader))
}

/// A new content for the file `name`, piece by piece.
pub fn create(ws: &dyn Workspace, name: &str, perm: Option<u32>, size: Option<u64>) -> Ask<Box<dyn Sink>> {
    ask(ws, Op::Create { name, perm, size }, take!(Sink))
}

/// Starts a command.
pub fn exec(ws: &dyn Workspace, command: &Command) -> Ask<Box<dyn Exec>> {
    ask(ws, Op::Exec(command), take!(Exec))
}

/// The whole content of a file; see [`read`].
pub struct Read {
    called: Called,
    from: Option<Reader>,
    data: Vec<u8>,
    at: usize,
    max: u64,
}

/// The content of the file `name`, at most `max` bytes; a longer one is `limit`, and no more of it is read.
pub fn read(ws: &dyn Workspace, name: &str, max: u64) -> Read {
    let mut data = Vec::new();
    let called = ws.call(Op::Open { name }, &mut data);
    Read { called, from: None, data, at: 0, max }
}

impl Read {
    fn over(&self) -> Poll<Result<Vec<u8>, Error>> {
        Poll::Ready(Err(Error::limit("max", self.max)))
    }
}

impl Task for Read {
    type Out = Result<Vec<u8>, Error>;

    fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<Self::Out> {
        loop {
            let Some(from) = &mut self.from else {
                match ready!(self.called.poll(cx, &mut self.data))? {
                    Answer::Whole(n) if n as u64 > self.max => return self.over(),
                    Answer::Whole(n) => {
                        self.data.truncate(n);
                        return Poll::Ready(Ok(core::mem::take(&mut self.data)));
                    }
                    answer => {
                        let from = taken(answer, take!(Reader))?;
                        if from.size.is_some_and(|size| size > self.max) {
                            return self.over();
                        }
                        self.data.clear();
                        self.from = Some(from);
                    }
                }
                continue;
            };
            if self.at as u64 > self.max {
                return self.over();
            }
            if self.at == self.data.len() {
                if from.size == Some(self.at as u64) {
                    return Poll::Ready(Ok(core::mem::take(&mut self.data)));
                }
                // A stated size is believed only a step at a time: the peer may lie.
                let step = (self.at * 2).clamp(PIECE, 64 * PIECE);
                let left = from.size.map_or(usize::MAX, |size| usize::try_from(size).unwrap_or(usize::MAX) - self.at);
                self.data.resize(self.at + step.min(left), 0);
            }
            match ready!(from.bytes.poll_read(cx, &mut self.data[self.at..]))? {
                0 => {
                    self.data.truncate(self.at);
                    return Poll::Ready(Ok(core::mem::take(&mut self.data)));
                }
                n => self.at += n,
            }
        }
    }
}

const PIECE: usize = 64 * 1024;

/// A file's new content out of memory; see [`write()`].
pub struct Write<'d> {
    create: Ask<Box<dyn Sink>>,
    to: Option<Box<dyn Sink>>,
    data: &'d [u8],
}

/// Makes `data` the content of the file `name`: whole or not at all.
pub fn write<'d>(ws: &dyn Workspace, name: &str, data: &'d [u8], perm: Option<u32>) -> Write<'d> {
    Write { create: create(ws, name, perm, Some(data.len() as u64)), to: None, data }
}

impl Task for Write<'_> {
    type Out = Result<(), Error>;

    fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<Self::Out> {
        loop {
            match &mut self.to {
                None => self.to = Some(ready!(self.create.poll(cx))?),
                Some(to) if self.data.is_empty() => return to.poll_finish(cx),
                Some(to) => {
                    let n = ready!(to.poll_write(cx, self.data))?;
                    self.data = &self.data[n..];
                }
            }
        }
    }
}

/// A command run to its end; see [`run`].
pub struct Run<F> {
    exec: Ask<Box<dyn Exec>>,
    running: Option<Box<dyn Exec>>,
    scratch: Vec<u8>,
    each: F,
    interrupted: bool,
}

/// Runs a command to its end; each piece of its output goes to `each` as it comes. The [`Output`] at the end holds none of it.
pub fn run<F: FnMut(Channel, &[u8])>(ws: &dyn Workspace, command: &Command, each: F) -> Run<F> {
    Run { exec: exec(ws, command), running: None, scratch: Vec::new(), each, interrupted: false }
}

impl<F> Run<F> {
    /// Ends the command politely; the task goes on to its output, marked as interrupted.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
        if let Some(running) = &mut self.running {
            running.interrupt();
        }
    }
}

impl<F: FnMut(Channel, &[u8])> Task for Run<F> {
    type Out = Result<Output, Error>;

    fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<Self::Out> {
        for _ in 0..64 {
            let Some(running) = &mut self.running else {
                let running = self.running.insert(ready!(self.exec.poll(cx))?);
                if self.interrupted {
                    running.interrupt();
                }
                self.scratch = vec![0; MAX_FRAME_DATA];
                continue;
            };
            match ready!(running.poll_next(cx, &mut self.scratch))? {
                Piece::Data(channel, n) => (self.each)(channel, &self.scratch[..n]),
                Piece::End(exit) => {
                    let (timed_out, interrupted) = (exit.timed_out, exit.interrupted);
                    let end = Output {
                        exit_code: exit.code,
                        signal: exit.signal,
                        timed_out,
                        interrupted,
                        ..Output::default()
                    };
                    return Poll::Ready(Ok(end));
                }
            }
        }
        cx.again();
        Poll::Pending
    }
}
