//! A program without anything behind it: its arguments are what it does, one after the other, at times that nobody's polling changes.

use super::fake::WHILE;
use crate::{
    Cx, Exit, Sink, Source,
    lock::Lock,
    process::Leader,
    wire::{Code, Error, Moment, Signal},
};
use alloc::{
    boxed::Box,
    string::String,
    sync::{Arc, Weak},
    vec::Vec,
};
use core::{
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    task::{Poll, Waker},
};

/// What no buffer holds.
pub(super) const MUCH: usize = 1 << 20;
/// What a pipe to it holds.
const PIPE: usize = 64;

/// `wait` lets a while pass, `never` all time, `cat` copies the input to its end, `large` is more than any buffer holds, `err:` goes to
/// standard error, `deaf` hears no signal but KILL from then on, `fail` exits with 3; all else is said.
pub(super) struct Program {
    state: Arc<Lock<State>>,
    stderr: bool,
    /// How many there are that were not dropped.
    alive: Arc<AtomicUsize>,
}

struct State {
    script: Vec<String>,
    next: usize,
    /// Until when it has run.
    at: Option<Moment>,
    due: Option<Moment>,
    deaf: bool,
    input: Vec<u8>,
    input_ended: bool,
    output: [Vec<u8>; 2],
    ended: Option<Exit>,
    wakers: Vec<Waker>,
}

impl Program {
    pub(super) fn new(script: &[String], stderr: bool, alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, SeqCst);
        let state = State {
            script: script.to_vec(),
            next: 0,
            at: None,
            due: None,
            deaf: false,
            input: Vec::new(),
            input_ended: false,
            output: Default::default(),
            ended: None,
            wakers: Vec::new(),
        };
        Self { state: Arc::new(Lock::new(state)), stderr, alive: alive.clone() }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.sweep();
        self.alive.fetch_sub(1, SeqCst);
    }
}

impl State {
    /// Does what is to be done until `now`.
    fn run(&mut self, now: Moment) {
        let mut at = self.at.unwrap_or(now);
        self.due = None;
        while self.ended.is_none() {
            let Some(word) = self.script.get(self.next) else {
                self.ended = Some(Exit::default());
                break;
            };
            match word.as_str() {
                "never" => break,
                "wait" if now < at.after(WHILE) => {
                    self.due = Some(at.after(WHILE));
                    break;
                }
                "wait" => at = at.after(WHILE),
                "cat" => {
                    self.output[0].append(&mut self.input);
                    if !self.input_ended {
                        break;
                    }
                    at = now;
                }
                "large" => self.output[0].resize(MUCH, b'.'),
                "deaf" => self.deaf = true,
                "fail" => self.ended = Some(Exit { code: 3, ..Exit::default() }),
                word => self.output[usize::from(word.starts_with("err:"))].extend_from_slice(word.as_bytes()),
            }
            self.next += 1;
        }
        self.at = Some(at);
    }

    fn killed(&mut self, signal: Signal) {
        let code = -1;
        self.ended.get_or_insert(Exit { code, signal: Some(signal.name().into()), ..Exit::default() });
    }
}

/// Runs the program until now, then looks with `f`; whoever waits is woken, or waits too.
fn look<R>(state: &Lock<State>, cx: &mut Cx<'_>, f: impl FnOnce(&mut State) -> Option<R>) -> Poll<R> {
    let waker = cx.waker().clone();
    let (seen, due, wakers) = state.with(|s| {
        s.run(cx.now());
        let seen = f(s);
        s.run(cx.now());
        let wakers = if seen.is_some() { core::mem::take(&mut s.wakers) } else { Vec::new() };
        if seen.is_none() && !s.wakers.iter().any(|known| known.will_wake(&waker)) {
            s.wakers.push(waker);
        }
        (seen, s.due, wakers)
    });
    wakers.into_iter().for_each(Waker::wake);
    match (seen, due) {
        (Some(seen), _) => return Poll::Ready(seen),
        (None, Some(due)) => cx.wake_at(due, "a slow program"),
        (None, None) => {}
    }
    Poll::Pending
}

impl Leader for Program {
    fn stdin(&mut self) -> Option<Box<dyn Sink>> {
        Some(Box::new(Input(Arc::downgrade(&self.state))))
    }

    fn stdout(&mut self) -> Option<Box<dyn Source>> {
        Some(Box::new(Output(self.state.clone(), 0)))
    }

    fn stderr(&mut self) -> Option<Box<dyn Source>> {
        self.stderr.then(|| Box::new(Output(self.state.clone(), 1)) as Box<dyn Source>)
    }

    fn signal(&mut self, signal: Signal) {
        let wakers = self.state.with(|s| {
            match signal {
                Signal::Cont | Signal::Stop | Signal::Winch => {}
                Signal::Kill => s.killed(signal),
                _ if s.deaf => {}
                _ => s.killed(signal),
            }
            core::mem::take(&mut s.wakers)
        });
        wakers.into_iter().for_each(Waker::wake);
    }

    fn poll_exit(&mut self, cx: &mut Cx<'_>) -> Poll<Result<Exit, Error>> {
        look(&self.state, cx, |s| s.ended.clone().map(Ok))
    }

    fn sweep(&mut self) -> bool {
        let was_alive = self.state.with(|s| s.ended.is_none());
        self.signal(Signal::Kill);
        !was_alive
    }
}

struct Input(Weak<Lock<State>>);

impl Sink for Input {
    fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        let Some(state) = self.0.upgrade() else { return Poll::Ready(Err(Code::Closed.into())) };
        look(&state, cx, |s| {
            let n = buf.len().min(PIPE - s.input.len());
            if s.ended.is_some() {
                return Some(Err(Code::Closed.into()));
            }
            s.input.extend_from_slice(&buf[..n]);
            (n > 0).then_some(Ok(n))
        })
    }

    fn poll_finish(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let Some(state) = self.0.upgrade() else { return Poll::Ready(Ok(())) };
        look(&state, cx, |s| {
            s.input_ended = true;
            Some(Ok(()))
        })
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        let Some(state) = self.0.upgrade() else { return };
        let wakers = state.with(|s| {
            s.input_ended = true;
            core::mem::take(&mut s.wakers)
        });
        wakers.into_iter().for_each(Waker::wake);
    }
}

struct Output(Arc<Lock<State>>, usize);

impl Source for Output {
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        look(&self.0, cx, |s| {
            let ready = &mut s.output[self.1];
            let n = ready.len().min(buf.len());
            buf[..n].copy_from_slice(&ready[..n]);
            ready.drain(..n);
            (n > 0 || s.ended.is_some()).then_some(Ok(n))
        })
    }
}
