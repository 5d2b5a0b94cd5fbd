//! What runs in memory: a few programs that are made up.

use crate::command::{check, environment};
use bytes::{Buf, Bytes};
use farside_core::{
    Command, Cx, Exec, Exit, Sink, Source,
    process::{Leader, Run},
    wire::{Code, Error, Moment, Signal, signal::signal_name},
};
use std::{
    borrow::Cow,
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
    time::Duration,
};

/// What a pipe holds.
const PIPE: usize = 64 * 1024;

/// The signals that programs were sent, in order; KILL too, when it ended one.
pub(super) type Signals = Arc<Mutex<Vec<Signal>>>;

/// Starts a program in the directory that has the path `dir`, with the variables `env` and its own.
///
/// # Errors
/// `invalid`; `not_exist` for a program that there is not.
pub(super) fn exec(signals: &Signals, dir: &str, env: &[String], command: &Command) -> Result<Box<dyn Exec>, Error> {
    check(&command.args, &command.env)?;
    let env = environment(env, &command.env);
    let mut steps = VecDeque::new();
    for program in command.args.split(|arg| arg == ";") {
        steps.extend(step(program, dir, &env)?);
    }
    let stubborn = command.args.first().is_some_and(|name| name == "stubborn");
    let program = Program { steps, stubborn, signals: signals.clone(), ..Program::default() };
    Ok(Box::new(Run::new(Leading(Shared(Arc::new(Mutex::new(program)))), command)))
}

/// One thing a program does.
enum Step {
    /// Writes to standard output (0) or standard error (1).
    Write(usize, Bytes),
    /// Writes so many bytes `x`.
    Spew(u64),
    /// Writes what it reads, to the end.
    Copy,
    /// Waits so long.
    Sleep(Duration),
    End(Exit),
}

fn step(program: &[String], dir: &str, env: &[&str]) -> Result<Option<Step>, Error> {
    let mut words = program.iter().map(String::as_str);
    let (name, rest) = (words.next().unwrap_or_default(), words.collect::<Vec<_>>());
    let line = |text: String| Some(Step::Write(0, format!("{text}\n").into()));
    let number = |text: &&str| text.parse::<u64>().ok();
    let exit = |code| Some(Step::End(Exit { code, ..Exit::default() }));
    let step = match (name, &rest[..]) {
        ("true", _) => return Ok(None),
        ("false", _) => exit(1),
        ("exit", [code]) => number(code).and_then(|code| exit((code & 255) as i32)),
        ("echo", words) => line(words.join(" ")),
        ("err", words) => Some(Step::Write(1, format!("{}\n", words.join(" ")).into())),
        ("env", []) => Some(Step::Write(0, env.iter().flat_map(|entry| [entry, "\n"]).collect::<String>().into())),
        ("pwd", []) => line(dir.into()),
        ("cat", []) => Some(Step::Copy),
        ("spew", [n]) => number(n).map(Step::Spew),
        ("sleep", [seconds]) => {
            seconds.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).map(Step::Sleep)
        }
        ("stubborn", []) => Some(Step::Sleep(Duration::MAX)),
        ("signal", [name]) => (1..=64).map(signal_name).find(|known| known == name).map(|name| Step::End(killed(name))),
        _ => return Err(Code::NotExist.into()),
    };
    step.map(Some).ok_or(Error::invalid("args"))
}

fn killed(by: Cow<'static, str>) -> Exit {
    Exit { code: -1, signal: Some(by), ..Exit::default() }
}

/// A program that runs. It goes on when somebody polls one of its streams or its exit.
#[derive(Default)]
struct Program {
    steps: VecDeque<Step>,
    /// When the sleep it is in ends.
    until: Option<Moment>,
    stubborn: bool,
    stdin: VecDeque<u8>,
    stdin_ended: bool,
    out: [VecDeque<u8>; 2],
    exit: Option<Exit>,
    signals: Signals,
    waiting: Vec<Waker>,
}

impl Program {
    /// Does what it can do now.
    fn go_on(&mut self, cx: &mut Cx<'_>) {
        while self.exit.is_none() {
            let Some(step) = self.steps.front_mut() else {
                self.exit = Some(Exit::default());
                break;
            };
            let done = match step {
                Step::Write(stream, bytes) => {
                    let out = &mut self.out[*stream];
                    let n = bytes.len().min(PIPE - out.len());
                    out.extend(&bytes[..n]);
                    bytes.advance(n);
                    bytes.is_empty()
                }
                Step::Spew(left) => {
                    let out = &mut self.out[0];
                    let n = usize::try_from(*left).unwrap_or(PIPE).min(PIPE - out.len());
                    out.extend(std::iter::repeat_n(b'x', n));
                    *left -= n as u64;
                    *left == 0
                }
                Step::Copy => {
                    let n = self.stdin.len().min(PIPE - self.out[0].len());
                    self.out[0].extend(self.stdin.drain(..n));
                    self.stdin.is_empty() && self.stdin_ended
                }
                Step::Sleep(time) => {
                    let until = *self.until.get_or_insert(cx.now().after(*time));
                    if until > cx.now() {
                        cx.wake_at(until, "sleep");
                        return;
                    }
                    self.until = None;
                    true
                }
                Step::End(exit) => {
                    self.exit = Some(std::mem::take(exit));
                    true
                }
            };
            if !done {
                return;
            }
            self.steps.pop_front();
        }
    }

    /// Whoever waits for it looks again.
    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }

    fn wait(&mut self, cx: &mut Cx<'_>) {
        let waker = cx.waker();
        if !self.waiting.iter().any(|waiting| waiting.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }
}

#[derive(Clone)]
struct Shared(Arc<Mutex<Program>>);

/// Who holds a program; it is killed when that goes.
struct Leading(Shared);

/// Our end of one of a program's outputs.
struct Output(Shared, usize);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Program> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leader for Leading {
    fn stdin(&mut self) -> Option<Box<dyn Sink>> {
        Some(Box::new(self.0.clone()))
    }

    fn stdout(&mut self) -> Option<Box<dyn Source>> {
        Some(Box::new(Output(self.0.clone(), 0)))
    }

    fn stderr(&mut self) -> Option<Box<dyn Source>> {
        Some(Box::new(Output(self.0.clone(), 1)))
    }

    fn signal(&mut self, signal: Signal) {
        let mut program = self.0.lock();
        if program.exit.is_some() {
            return;
        }
        program.signals.lock().unwrap_or_else(PoisonError::into_inner).push(signal);
        let ignored = match signal {
            Signal::Int | Signal::Term => program.stubborn,
            Signal::Cont | Signal::Stop | Signal::Tstp | Signal::Winch => true,
            _ => false,
        };
        if !ignored {
            program.exit = Some(killed(signal.name().into()));
            program.wake();
        }
    }

    fn poll_exit(&mut self, cx: &mut Cx<'_>) -> Poll<Result<Exit, Error>> {
        let mut program = self.0.lock();
        program.go_on(cx);
        match &program.exit {
            Some(exit) => Poll::Ready(Ok(exit.clone())),
            None => {
                program.wait(cx);
                Poll::Pending
            }
        }
    }

    fn sweep(&mut self) -> bool {
        let gone = self.0.lock().exit.is_some();
        self.signal(Signal::Kill);
        gone
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        self.sweep();
    }
}

impl Sink for Shared {
    fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        let mut program = self.lock();
        if program.exit.is_some() {
            return Poll::Ready(Err(Code::Closed.into()));
        }
        let n = buf.len().min(PIPE - program.stdin.len());
        if n == 0 {
            program.wait(cx);
            return Poll::Pending;
        }
        program.stdin.extend(&buf[..n]);
        program.wake();
        Poll::Ready(Ok(n))
    }

    fn poll_finish(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let mut program = self.lock();
        program.stdin_ended = true;
        program.wake();
        Poll::Ready(Ok(()))
    }
}

impl Source for Output {
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let mut program = self.0.lock();
        program.go_on(cx);
        let out = &mut program.out[self.1];
        let n = out.len().min(buf.len());
        buf.iter_mut().zip(out.drain(..n)).for_each(|(to, from)| *to = from);
        if n > 0 || program.exit.is_some() {
            program.wake();
            return Poll::Ready(Ok(n));
        }
        program.wait(cx);
        Poll::Pending
    }
}
