//! From the least a backend must give, a [`Leader`], to the whole contract of a command that runs: timeout, ladder, leftovers, and
//! output to its last byte.

use crate::{
    cx::Cx,
    ladder::{Action, Ladder},
    wire::{
        Channel, Code, Error, Moment, Signal, WaitStatus,
        process::{Ended, Size},
        times::HELD_OUTPUT,
    },
    workspace::{Command, Exec, Exit, Piece, Process, Sink, Source},
};
use alloc::boxed::Box;
use bytes::{Buf, Bytes};
use core::{task::Poll, time::Duration};

/// A process that runs, and with it everything it started. Dropped, all of that is killed at once.
pub trait Leader: Send {
    /// Its input, once; `None` if it has none.
    fn stdin(&mut self) -> Option<Box<dyn Sink>>;

    /// Its output, once.
    fn stdout(&mut self) -> Option<Box<dyn Source>>;

    /// Its standard error, once.
    fn stderr(&mut self) -> Option<Box<dyn Source>>;

    /// Sends a signal to it and to everything it started, once to each. Nothing after its exit was seen.
    fn signal(&mut self, signal: Signal);

    /// How it ended, of [`Exit`] the code and the signal; what it started may live on, and is within reach until [`Leader::sweep`]
    /// found nothing.
    ///
    /// # Errors
    /// When that cannot be known. It is not polled again.
    fn poll_exit(&mut self, cx: &mut Cx<'_>) -> Poll<Result<Exit, Error>>;

    /// Sends a signal to its process group, before its exit was seen.
    ///
    /// # Errors
    /// `process_done` when it was gone.
    fn signal_group(&mut self, signal: Signal) -> Result<(), Error> {
        self.signal(signal);
        Ok(())
    }

    /// Changes the size of its terminal; `exited` says that its exit was seen.
    ///
    /// # Errors
    /// `unsupported` without a terminal, then `process_done`.
    fn resize(&mut self, _size: Size, _exited: bool) -> Result<(), Error> {
        Err(Code::Unsupported.into())
    }

    /// Kills it and everything it started, one round. Whether the round found nothing alive: then nothing is left, and it is over.
    fn sweep(&mut self) -> bool;
}

/// The two outputs as a piece of output names them.
const CHANNELS: [Channel; 2] = [Channel::Stdout, Channel::Stderr];
/// So many pieces are given before the exit is looked at, if there is always another.
const BURST: u32 = 16;
/// So many writes of input in one poll.
const WRITES: u32 = 16;
/// What a pipe holds at most, if nobody with privileges made it larger.
const PIPE: usize = 1 << 20;

/// A command that runs for one caller, on any [`Leader`] (spec, Exec; A process's streams and end).
///
/// * Its input is fed as it takes it. That it closes it, or exits before, is no error.
/// * Its timeout counts from the first poll. The first reason to end it stands; after its exit was seen there is none. What is due is
///   done before anything else that one poll sees.
/// * When it exits, what it left is killed at once, and then its output is read to the end. If others hold the output open, that is
///   waited for 2 s from then on, and what the pipe holds is still read: a slow reader gets every byte.
pub struct Run<L> {
    leader: L,
    input: Option<(Box<dyn Sink>, Bytes)>,
    output: [Option<Box<dyn Source>>; 2],
    /// Which of the outputs is read first.
    turn: usize,
    burst: u32,
    timeout: Option<Duration>,
    timeout_at: Option<Moment>,
    interrupted: bool,
    /// How it ends: by the first reason there was, its exit among them.
    end: Option<Exit>,
    exited: bool,
    ladder: Option<Ladder>,
    held: Option<Held>,
}

/// Nothing is left of the command but its output.
struct Held {
    until: Moment,
    /// What is still read of each output after that.
    left: [usize; 2],
}

impl<L: Leader> Run<L> {
    /// The command that `leader` runs.
    pub fn new(mut leader: L, command: &Command) -> Self {
        let input = leader.stdin().map(|sink| (sink, command.stdin.clone()));
        let output = [leader.stdout(), leader.stderr()];
        Self {
            leader,
            input,
            output,
            turn: 0,
            burst: 0,
            timeout: command.timeout,
            timeout_at: None,
            interrupted: false,
            end: None,
            exited: false,
            ladder: None,
            held: None,
        }
    }

    /// What its times ask for.
    fn keep_time(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if let Some(timeout) = self.timeout.take() {
            self.timeout_at = Some(now.after(timeout));
        }
        if self.end.is_none() {
            let timed_out = self.timeout_at.is_some_and(|at| at <= now);
            if timed_out || self.interrupted {
                self.end = Some(Exit { code: -1, signal: None, timed_out, interrupted: !timed_out });
                self.ladder = Some(Ladder::new(now));
            } else if let Some(at) = self.timeout_at {
                cx.wake_at(at, "exec timeout");
            }
        }
        let Some(ladder) = &mut self.ladder else { return };
        while let Some(action) = ladder.step(now) {
            match action {
                Action::CloseInput => self.input = None,
                Action::Signal(signal) => self.leader.signal(signal),
                Action::Kill if self.leader.sweep() => ladder.nothing_left(),
                Action::Kill => {}
            }
        }
        match ladder.due() {
            Some(due) => cx.wake_at(due, "exec ladder"),
            None if self.held.is_none() => self.held = Some(Held { until: now.after(HELD_OUTPUT), left: [PIPE; 2] }),
            None => {}
        }
    }

    fn feed(&mut self, cx: &mut Cx<'_>) {
        for _ in 0..WRITES {
            let Some((sink, rest)) = &mut self.input else { return };
            let ended = rest.is_empty();
            let taken = if ended { sink.poll_finish(cx).map_ok(|()| 0) } else { sink.poll_write(cx, rest) };
            match taken {
                Poll::Pending => return,
                Poll::Ready(Ok(n)) if n > 0 && !ended => rest.advance(n.min(rest.len())),
                // It is closed, by the end of what there was or by the command.
                Poll::Ready(_) => self.input = None,
            }
        }
        cx.again();
    }

    /// A piece of the one output or the other, in turn.
    fn read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Result<Option<Piece>, Error> {
        if buf.is_empty() {
            return Ok(None);
        }
        for _ in 0..self.output.len() {
            let at = self.turn;
            self.turn = 1 - at;
            let Some(source) = &mut self.output[at] else { continue };
            let late = self.held.as_mut().filter(|held| held.until <= cx.now()).map(|held| &mut held.left[at]);
            let room = late.as_ref().map_or(buf.len(), |left| buf.len().min(**left));
            let read = if room == 0 { Poll::Ready(Ok(0)) } else { source.poll_read(cx, &mut buf[..room]) };
            match read {
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Ready(Ok(n)) if n > 0 => {
                    if let Some(left) = late {
                        *left = left.saturating_sub(n);
                    }
                    return Ok(Some(Piece::Data(CHANNELS[at], n)));
                }
                Poll::Pending if late.is_none() => {}
                // Its end, or nothing more and no time left to wait for it.
                Poll::Ready(Ok(_)) | Poll::Pending => self.output[at] = None,
            }
        }
        Ok(None)
    }

    /// Looks whether it exited; what it left is killed at once then.
    fn look(&mut self, cx: &mut Cx<'_>) -> Result<(), Error> {
        self.burst = 0;
        let Poll::Ready(exit) = self.leader.poll_exit(cx) else { return Ok(()) };
        self.end.get_or_insert(exit?);
        self.exited = true;
        self.input = None;
        self.ladder.get_or_insert_with(|| Ladder::rounds(cx.now())).exited(cx.now());
        self.keep_time(cx);
        Ok(())
    }

    fn go_on(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Result<Option<Piece>, Error> {
        self.keep_time(cx);
        self.feed(cx);
        if self.burst >= BURST && !self.exited {
            self.look(cx)?;
        }
        let mut piece = self.read(cx, buf)?;
        if piece.is_none() && !self.exited && self.held.is_none() {
            self.look(cx)?;
            if self.exited {
                piece = self.read(cx, buf)?;
            }
        }
        self.burst += 1;
        let Some(held) = &self.held else { return Ok(piece) };
        if piece.is_none() && self.output.iter().all(Option::is_none) {
            return Ok(self.end.take().map(Piece::End));
        }
        // Without room there is nothing to wait for but room.
        if !buf.is_empty() {
            cx.wake_at(held.until, "exec output held open");
        }
        Ok(piece)
    }
}

impl<L: Leader> Exec for Run<L> {
    fn poll_next(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<Piece, Error>> {
        match self.go_on(cx, buf) {
            Ok(None) => Poll::Pending,
            Ok(Some(piece)) => Poll::Ready(Ok(piece)),
            Err(error) => Poll::Ready(Err(error.with(|details| details.ran = Some(true)))),
        }
    }

    fn interrupt(&mut self) {
        self.interrupted = true;
    }
}

/// A process that outlives the call that started it, on any [`Leader`].
pub struct Managed<L> {
    leader: L,
    timeout: Option<Duration>,
    timeout_at: Option<Moment>,
    /// Why it is to be ended, and whether politely.
    asked: Option<(Ended, bool)>,
    ladder: Option<Ladder>,
    /// Set once a signal was sent for that reason: a process that left at its input's end has its own status.
    ended: Option<Ended>,
    exited: Option<WaitStatus>,
    done: bool,
}

impl<L: Leader> Managed<L> {
    /// The process that `leader` runs.
    pub fn new(leader: L, timeout: Option<Duration>) -> Self {
        Self { leader, timeout, timeout_at: None, asked: None, ladder: None, ended: None, exited: None, done: false }
    }

    /// What its times ask for.
    fn keep_time(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if let Some(timeout) = self.timeout.take() {
            self.timeout_at = Some(now.after(timeout));
        }
        if let (None, None, Some(at)) = (self.asked, &self.ladder, self.timeout_at) {
            if at <= now {
                self.asked = Some((Ended::Timeout, false));
            } else {
                cx.wake_at(at, "process timeout");
            }
        }
        if let (None, Some((_, polite))) = (&self.ladder, self.asked) {
            self.ladder = Some(if polite { Ladder::polite(now) } else { Ladder::new(now) });
        }
        let Some(ladder) = &mut self.ladder else { return };
        while let Some(action) = ladder.step(now) {
            match action {
                // Whoever holds the input closes it.
                Action::CloseInput => {}
                Action::Signal(signal) => {
                    self.ended = self.asked.map(|(why, _)| why);
                    self.leader.signal(signal);
                }
                Action::Kill if self.leader.sweep() => ladder.nothing_left(),
                Action::Kill => {}
            }
        }
        match ladder.due() {
            Some(due) => cx.wake_at(due, "process ladder"),
            None => self.done = true,
        }
    }
}

impl<L: Leader> Process for Managed<L> {
    fn stdin(&mut self) -> Option<Box<dyn Sink>> {
        self.leader.stdin()
    }

    fn stdout(&mut self) -> Option<Box<dyn Source>> {
        self.leader.stdout()
    }

    fn stderr(&mut self) -> Option<Box<dyn Source>> {
        self.leader.stderr()
    }

    fn signal(&mut self, signal: Signal) -> Result<(), Error> {
        if self.exited.is_some() { Err(Code::ProcessDone.into()) } else { self.leader.signal_group(signal) }
    }

    fn resize(&mut self, size: Size) -> Result<(), Error> {
        self.leader.resize(size, self.exited.is_some())
    }

    fn end(&mut self, why: Ended, polite: bool) {
        if self.exited.is_none() {
            self.asked.get_or_insert((why, polite));
        }
    }

    fn poll_exit(&mut self, cx: &mut Cx<'_>) -> Poll<WaitStatus> {
        self.keep_time(cx);
        if self.exited.is_none()
            && let Poll::Ready(exit) = self.leader.poll_exit(cx)
        {
            self.exited = Some(match (exit, self.ended) {
                (_, Some(why)) => WaitStatus::Ended(why),
                (Ok(Exit { signal: Some(signal), .. }), _) => WaitStatus::Signaled(signal),
                (Ok(exit), _) => WaitStatus::Exited(exit.code),
                (Err(error), _) => WaitStatus::Failed(error),
            });
            self.ladder.get_or_insert_with(|| Ladder::rounds(cx.now())).exited(cx.now());
            self.keep_time(cx);
        }
        match &self.exited {
            Some(status) if self.done => Poll::Ready(status.clone()),
            _ => Poll::Pending,
        }
    }
}
