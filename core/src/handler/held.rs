//! One process of a session: its machine, its handle, and the streams nobody has claimed yet.

use super::keeper::Inbox;
use crate::{
    cx::Cx,
    lock::Lock,
    wire::{
        Code, Error, Moment, Scope, Signal, WaitStatus,
        lifecycle::{Effect, Event, Granted, Lifecycle},
        process::{Ended, ProcessKind, ProcessRow, Size},
    },
    workspace::{Process, Sink, Source},
};
use alloc::{boxed::Box, sync::Arc, vec::Vec};
use core::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    task::{Poll, Waker},
};

/// A process that a session holds. Routes claim its streams and ask for its end; the keeper alone polls its exit.
pub(crate) struct Held {
    /// The keeper's number for it.
    pub(crate) number: u64,
    pub(crate) session: Arc<str>,
    pub(crate) key: Arc<str>,
    pub(crate) how: How,
    /// How many bytes its input took.
    pub(crate) taken: AtomicU64,
    /// How many bytes of output, and of standard error, were read.
    pub(crate) made: [AtomicU64; 2],
    inbox: Arc<Inbox>,
    inner: Lock<Inner>,
}

/// How a process was started.
#[derive(Copy, Clone, Debug)]
pub(crate) struct How {
    /// What started it, which decides the scope its routes take.
    pub(crate) kind: ProcessKind,
    /// Whether its standard error was asked for.
    pub(crate) stderr: bool,
    /// Whether it has a terminal.
    pub(crate) terminal: bool,
}

struct Inner {
    life: Lifecycle,
    process: Option<Box<dyn Process>>,
    stdin: Option<Box<dyn Sink>>,
    stdout: Option<Box<dyn Source>>,
    stderr: Option<Box<dyn Source>>,
    abandoned: Vec<Box<dyn Source>>,
    /// Whoever streams a body into the input: woken when that may not go on.
    at_input: Option<Waker>,
    waiter: Option<Waker>,
    /// How many have waited: the last one's turn.
    waits: u64,
    /// Whoever reads its outputs: what others hold open has an end of its own then.
    readers: Vec<Waker>,
    closers: Vec<Waker>,
    exited_at: Option<Moment>,
    closed_at: Option<Moment>,
}

impl Held {
    pub(crate) fn new(
        number: u64,
        (session, key): (Arc<str>, Arc<str>),
        how: How,
        mut process: Box<dyn Process>,
        inbox: Arc<Inbox>,
    ) -> Self {
        let (stdin, stdout, err) = (process.stdin(), process.stdout(), process.stderr());
        let inner = Inner {
            life: Lifecycle::new(how.stderr),
            process: Some(process),
            stdin,
            stdout,
            stderr: err,
            abandoned: Vec::new(),
            at_input: None,
            waiter: None,
            waits: 0,
            readers: Vec::new(),
            closers: Vec::new(),
            exited_at: None,
            closed_at: None,
        };
        let (taken, made) = (AtomicU64::new(0), [AtomicU64::new(0), AtomicU64::new(0)]);
        Self { number, session, key, how, taken, made, inbox, inner: Lock::new(inner) }
    }

    /// The scope that its routes take.
    pub(crate) fn scope(&self) -> Scope {
        if self.how.kind == ProcessKind::Server { Scope::Servers } else { Scope::Exec }
    }

    /// Takes in an event, and carries out what it comes to.
    fn step(&self, event: Event) -> Result<Granted, Error> {
        self.inner.with(|inner| inner.step(event))
    }

    pub(crate) fn claim_stdin(&self) -> Result<Option<Box<dyn Sink>>, Error> {
        self.inner.with(|inner| inner.step(Event::Stdin).map(|_| inner.stdin.take()))
    }

    /// Whether a body may go on into the input; if it may, its task is woken when it may not any more.
    pub(crate) fn poll_input(&self, cx: &mut Cx<'_>) -> Result<(), Error> {
        self.inner.with(|inner| {
            if inner.life.status().is_some() {
                return Err(Code::ProcessDone.into());
            }
            if inner.life.is_closing() {
                return Err(Code::Closed.into());
            }
            inner.at_input = Some(cx.waker().clone());
            Ok(())
        })
    }

    /// A body was cut: the input stays open.
    pub(crate) fn keep_input(&self, sink: Box<dyn Sink>) {
        self.inner.with(|inner| {
            if inner.life.status().is_none() && !inner.life.is_closing() {
                inner.stdin = Some(sink);
            }
        });
    }

    /// How the body at the input ended.
    pub(crate) fn input(&self, event: Event) {
        // None of these can be refused.
        let _ = self.step(event);
    }

    pub(crate) fn claim_stdout(&self) -> Result<Option<Box<dyn Source>>, Error> {
        self.inner.with(|inner| inner.step(Event::Stdout).map(|_| inner.stdout.take()))
    }

    /// Also of a process that was closed, until it is forgotten. `None`: there is nothing in it, as on a terminal.
    pub(crate) fn claim_stderr(&self) -> Result<Option<Box<dyn Source>>, Error> {
        self.inner.with(|inner| inner.step(Event::Stderr).map(|_| inner.stderr.take()))
    }

    /// Begins to wait, one at a time: the answer, or the turn to wait with.
    pub(crate) fn wait(&self, takes_over: bool) -> Result<Result<WaitStatus, u64>, Error> {
        self.inner.with(|inner| match inner.step(Event::Wait { takes_over })? {
            Granted::Status(status) => Ok(Ok(status)),
            _ => {
                inner.waits += 1;
                Ok(Err(inner.waits))
            }
        })
    }

    /// Goes on waiting; `None` if another took over.
    pub(crate) fn poll_wait(&self, cx: &mut Cx<'_>, turn: u64) -> Poll<Option<WaitStatus>> {
        self.inner.with(|inner| match inner.life.status() {
            Some(status) => Poll::Ready(Some(status.clone())),
            None if inner.waits != turn => Poll::Ready(None),
            None => {
                inner.waiter = Some(cx.waker().clone());
                Poll::Pending
            }
        })
    }

    /// Whoever waited is gone before the end.
    pub(crate) fn waiter_left(&self, turn: u64) {
        self.inner.with(|inner| {
            if inner.waits == turn {
                let _ = inner.step(Event::WaiterLeft);
            }
        });
    }

    /// What a listing says of it.
    pub(crate) fn row(&self) -> ProcessRow {
        let count = |n: &AtomicU64| n.load(Relaxed);
        let waiting = |source: &Option<Box<dyn Source>>| source.as_ref().map_or(0, |source| source.waiting());
        let unread = self.inner.with(|inner| [waiting(&inner.stdout), waiting(&inner.stderr)]);
        ProcessRow {
            id: (&*self.key).into(),
            kind: self.how.kind,
            name: None,
            running: self.is_running(),
            stdin: count(&self.taken),
            stdout: count(&self.made[0]) + unread[0],
            stderr: self.how.stderr.then(|| count(&self.made[1]) + unread[1]),
        }
    }

    /// Sends a signal to its group.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Error> {
        if self.how.kind == ProcessKind::Stream {
            return Err(Code::Unsupported.into());
        }
        self.control(|process| process.signal(signal))
    }

    pub(crate) fn resize(&self, size: Size) -> Result<(), Error> {
        if !self.how.terminal {
            return Err(Code::Unsupported.into());
        }
        self.control(|process| process.resize(size))
    }

    /// Ends it as its context's end does.
    pub(crate) fn cancel(&self) -> Result<(), Error> {
        self.control(|_| Ok(()))?;
        self.end(Ended::Canceled);
        Ok(())
    }

    /// Does something to the process while it runs.
    fn control(&self, act: impl FnOnce(&mut dyn Process) -> Result<(), Error>) -> Result<(), Error> {
        self.inner.with(|inner| match &mut inner.process {
            Some(process) => act(&mut **process),
            None => inner.step(Event::Control).map(drop),
        })
    }

    /// A reader left: its claim stands, and the process meets a pipe that nobody empties.
    pub(crate) fn abandon(&self, source: Box<dyn Source>) {
        self.inner.with(|inner| {
            if inner.process.is_some() {
                inner.abandoned.push(source);
            }
        });
    }

    /// Begins its end; the keeper goes on with it.
    pub(crate) fn end(&self, why: Ended) {
        self.inner.with(|inner| {
            if let Some(process) = &mut inner.process {
                process.end(why, false);
            }
        });
        self.inbox.ring(self.number);
    }

    /// Ends it politely. `Ready` at once if it ended before.
    pub(crate) fn close(&self, now: Moment) -> Option<WaitStatus> {
        let granted = self.inner.with(|inner| {
            inner.closed_at.get_or_insert(now);
            let granted = inner.step(Event::Close);
            if let Some(process) = &mut inner.process {
                process.end(Ended::Closed, true);
            }
            granted
        });
        self.inbox.ring(self.number);
        match granted {
            Ok(Granted::Status(status)) => Some(status),
            _ => None,
        }
    }

    /// Goes on waiting for the end that a close began.
    pub(crate) fn poll_closed(&self, cx: &mut Cx<'_>) -> Poll<WaitStatus> {
        self.inner.with(|inner| match inner.life.status() {
            Some(status) => Poll::Ready(status.clone()),
            None => {
                inner.closers.push(cx.waker().clone());
                Poll::Pending
            }
        })
    }

    /// Looks after its exit: the keeper's. `true` once it has ended.
    pub(super) fn poll_exit(&self, cx: &mut Cx<'_>) -> bool {
        self.inner.with(|inner| {
            let Some(process) = &mut inner.process else { return true };
            let Poll::Ready(status) = process.poll_exit(cx) else { return false };
            (inner.process, inner.abandoned) = (None, Vec::new());
            inner.exited_at = Some(cx.now());
            inner.readers.drain(..).for_each(Waker::wake);
            let _ = inner.step(Event::Exited(status));
            true
        })
    }

    /// Whether it runs.
    pub(crate) fn is_running(&self) -> bool {
        self.inner.with(|inner| inner.process.is_some())
    }

    /// When it ended; a reader's task is woken when it does.
    pub(crate) fn poll_ended(&self, cx: &mut Cx<'_>) -> Option<Moment> {
        self.inner.with(|inner| {
            if inner.exited_at.is_none() {
                let waker = cx.waker();
                if !inner.readers.iter().any(|known| known.will_wake(waker)) {
                    inner.readers.push(waker.clone());
                }
            }
            inner.exited_at
        })
    }

    /// Its session is over, which closes what was not closed by itself.
    pub(super) fn session_over(&self, now: Moment) {
        self.inner.with(|inner| *inner.closed_at.get_or_insert(now));
    }

    /// When it ended and was closed: the later of the two.
    pub(crate) fn over_since(&self) -> Option<Moment> {
        self.inner.with(|inner| Some(inner.exited_at?.max(inner.closed_at?)))
    }

    /// Nothing of it is served any more.
    pub(super) fn forget(&self) {
        let _ = self.step(Event::Forgotten);
    }
}

impl Inner {
    fn step(&mut self, event: Event) -> Result<Granted, Error> {
        let mut effects = Vec::new();
        let granted = self.life.step(event, &mut effects)?;
        for effect in effects {
            match effect {
                Effect::CloseInput => {
                    self.stdin = None;
                    self.at_input.take().into_iter().for_each(Waker::wake);
                }
                Effect::AnswerWaiter(_) | Effect::CutWaiter => self.waiter.take().into_iter().for_each(Waker::wake),
                Effect::AnswerClosers(_) => self.closers.drain(..).for_each(Waker::wake),
                Effect::DropStreams => (self.stdout, self.stderr) = (None, None),
            }
        }
        Ok(granted)
    }
}
