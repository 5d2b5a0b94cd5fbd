//! A process's streams, as bodies of requests and replies (spec, A process's streams and end).

use super::{State, reply::Refusal};
use crate::{
    carriage::{Body, Part, Reply, ReplyHead},
    cx::Cx,
    handler::Held,
    wire::{
        Code, Error, Moment,
        lifecycle::Event,
        times::{HELD_OUTPUT, LEFT_BEHIND, STDERR_GRACE},
    },
    workspace::{Sink, Source},
};
use alloc::{boxed::Box, sync::Arc};
use core::{
    sync::atomic::Ordering::Relaxed,
    task::{Poll, ready},
    time::Duration,
};

/// While more than this waits to be written, nothing more is read.
const BACKLOG: usize = 16 * 1024;
/// The first room for output; it grows while output fills it, and a stream that waits holds no more than this.
const FIRST: usize = 2 * 1024;
/// The most that is read at once.
const PIECE: usize = 256 * 1024;
/// So many pieces a turn; then others have theirs.
const PIECES: usize = 16;
/// A process that closes its input has often just exited: so long its exit is waited for, to tell the two apart.
const LOOK: Duration = Duration::from_millis(100);
/// While a reader takes nothing, it is looked after so often whether it is to be left behind.
const WATCH: Duration = Duration::from_secs(1);

/// A body that goes into a process's input.
pub(super) struct Input {
    held: Arc<Held>,
    /// `None` where the process has no input at all.
    to: Option<Box<dyn Sink>>,
    /// The process closed its input; until then its exit is waited for.
    refused: Option<Moment>,
    ended: bool,
}

impl Input {
    pub(super) fn new(held: Arc<Held>) -> Result<Self, Error> {
        let to = held.claim_stdin()?;
        Ok(Self { held, to, refused: None, ended: false })
    }

    /// `Ok(false)`: the body was cut.
    pub(super) fn poll(
        &mut self,
        cx: &mut Cx<'_>,
        body: &mut dyn Body,
        out: &mut dyn Reply,
        body_read: &mut bool,
    ) -> Poll<Result<bool, Refusal>> {
        for _ in 0..PIECES {
            if let Err(error) = self.held.poll_input(cx) {
                // The close of the input is what whoever ends the process waits for.
                (self.to, self.ended) = (None, true);
                return Poll::Ready(Err(error.into()));
            }
            if let Some(until) = self.refused {
                if cx.now() < until {
                    cx.wake_at(until, "exit after a closed input");
                    return Poll::Pending;
                }
                return Poll::Ready(Err(Error::from(Code::Closed).into()));
            }
            let Some(to) = &mut self.to else { return Poll::Ready(Err(Error::from(Code::Closed).into())) };
            let taken = match if *body_read { Part::End } else { body.part() } {
                Part::More => return Poll::Pending,
                Part::Cut => return Poll::Ready(Ok(false)),
                Part::Fault(fault) => return Poll::Ready(Err(Refusal::fault(fault))),
                Part::Data(bytes) => ready!(to.poll_write(cx, bytes)),
                Part::End => {
                    *body_read = true;
                    ready!(to.poll_finish(cx)).map(|()| 0)
                }
            };
            match taken {
                Ok(_) if *body_read => {
                    self.end(Event::StdinEnded);
                    super::reply::no_content(out);
                    return Poll::Ready(Ok(true));
                }
                Ok(n) => {
                    self.held.taken.fetch_add(n as u64, Relaxed);
                    body.consume(n);
                }
                Err(_) => {
                    self.end(Event::StdinRefused);
                    self.refused = Some(cx.now().after(LOOK));
                }
            }
        }
        cx.again();
        Poll::Pending
    }

    fn end(&mut self, how: Event) {
        (self.to, self.ended) = (None, true);
        self.held.input(how);
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if !self.ended {
            self.held.input(Event::StdinCut);
            if let Some(to) = self.to.take() {
                self.held.keep_input(to);
            }
        }
    }
}

/// A process's output on its way.
pub(super) struct Output {
    held: Arc<Held>,
    from: Option<Box<dyn Source>>,
    /// 0 for output, 1 for standard error.
    which: usize,
    room: usize,
    /// When bytes last went.
    moved: Option<(Moment, usize)>,
}

/// The head goes at once: a reader knows then that it has the stream.
pub(super) fn output(
    from: Option<Box<dyn Source>>,
    which: usize,
    held: Arc<Held>,
    out: &mut dyn Reply,
) -> Result<State, Refusal> {
    out.start(&ReplyHead::new(200, Some("application/octet-stream")));
    Ok(State::Output(Output { held, from, which, room: FIRST, moved: None }))
}

impl Output {
    /// `Ok(false)`: the reply is cut.
    pub(super) fn poll(&mut self, cx: &mut Cx<'_>, out: &mut dyn Reply) -> Poll<bool> {
        for _ in 0..PIECES {
            if out.backlog() > BACKLOG {
                if !self.is_left_behind(cx, out.backlog()) {
                    return Poll::Pending;
                }
                // The connection would wait for it to be taken.
                out.discard();
                return Poll::Ready(false);
            }
            self.moved = None;
            let Some(from) = &mut self.from else {
                out.end();
                return Poll::Ready(true);
            };
            match from.poll_read(cx, out.room(self.room)) {
                Poll::Pending => {
                    self.room = FIRST;
                    let Some(ended) = self.held.poll_ended(cx) else { return Poll::Pending };
                    let until = ended.after(HELD_OUTPUT);
                    if cx.now() < until {
                        cx.wake_at(until, "output held open");
                        return Poll::Pending;
                    }
                    // Others hold it open, and have had their time; it has nothing more.
                    self.from = None;
                }
                Poll::Ready(Ok(0)) => self.from = None,
                Poll::Ready(Ok(n)) => {
                    self.held.made[self.which].fetch_add(n as u64, Relaxed);
                    out.commit(n);
                    if n == self.room {
                        self.room = (n * 8).min(PIECE);
                    }
                }
                Poll::Ready(Err(_)) => return Poll::Ready(false),
            }
        }
        cx.again();
        Poll::Pending
    }

    /// A reader that takes nothing any more, of a process that is over.
    fn is_left_behind(&mut self, cx: &mut Cx<'_>, backlog: usize) -> bool {
        let now = cx.now();
        let moved = match self.moved {
            Some((at, before)) if backlog >= before => at,
            _ => now,
        };
        self.moved = Some((moved, backlog));
        let Some(over) = self.held.over_since() else {
            cx.wake_at(now.after(WATCH), "stream watch");
            return false;
        };
        let until = moved.max(over.after(STDERR_GRACE)).after(LEFT_BEHIND);
        cx.wake_at(until, "stream left behind");
        until <= now
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(from) = self.from.take() {
            self.held.abandon(from);
        }
    }
}
