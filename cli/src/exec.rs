//! `farside exec`: one command, as if it ran here.

use crate::{
    args::{Common, ExecArgs},
    at::{At, RAISE, clean},
    env,
    error::{FAILED, Failure, NOT_EXECUTABLE, NOT_FOUND, TIMED_OUT, say},
    show::{self, Out},
    signals::Signals,
    stream::{self, Stream},
};
use farside_core::{
    Command, Cx, Delivery, Exec, Exit, Piece, Task, ops,
    wire::{Bounds, Channel, Code, Error, base64, frame::MAX_FRAME_DATA, json::ObjectWriter, signal::signal_name},
};
use farside_std::{Blocking, run};
use std::{
    io::{self, Read},
    ops::Range,
    task::{Poll, ready},
    time::Duration,
};

pub(crate) fn exec(common: &Common, args: &ExecArgs) -> Result<u8, Failure> {
    let dir = &*clean("run in", &args.dir)?;
    if args.cmd.first().is_none_or(String::is_empty) {
        return Err(Failure::usage("the program's name is empty"));
    }
    let env = env::for_command(&args.env)?;
    let at = At::open(common)?;
    let stdin = if args.stdin { input(&at)? } else { Vec::new() };
    let command = Command {
        dir: dir.into(),
        env,
        stdin: stdin.into(),
        timeout: Some(args.timeout).filter(|timeout| !timeout.is_zero()),
        // Before streams apart the client asks the server, once, whether it knows them (the request that -v shows): one that does not
        // would pass over that member and mix them.
        output: match (args.json, args.merged) {
            (true, _) => Delivery::Collected,
            (false, true) => Delivery::Merged,
            (false, false) => Delivery::Apart,
        },
        ..Command::new(args.cmd.iter().map(String::as_str))
    };
    let attached = Attached {
        starting: ops::exec(&at.ws, &command),
        running: None,
        buf: Vec::new(),
        pending: Pending::default(),
        out: [To::new(args.json, io::stdout())?, To::new(args.json, io::stderr())?],
        signals: Signals::for_a_command().map_err(|error| Failure::io("cannot wait for signals", &error))?,
        ended_by: None,
        exit: None,
        quiet: common.quiet,
    };
    let ended = run(attached);
    let program = show::said(args.cmd.first().map_or("", String::as_str)).into_owned();
    match ended {
        Ended::Done { exit, out, ended_by } => {
            if args.json {
                print(&exit, &out)?;
            }
            Ok(status(common, args.timeout, &program, &exit, ended_by))
        }
        Ended::AtOnce(signal) => Ok(128 + signal),
        Ended::Failed(error, started) => Err(failure(&at, dir, &args.cmd, &error, started)),
        Ended::Output(error) => Err(Failure::output(error)),
    }
}

/// All of standard input, within what the workspace takes: the wire has it in the request itself.
fn input(at: &At) -> Result<Vec<u8>, Failure> {
    let max = match at.ws.about() {
        // Here only the memory sets it a bound.
        _ if at.is_here() => Bounds::default().max_write_bytes,
        Ok(about) => about.bounds.as_ref().map_or(u64::MAX, |bounds| bounds.max_write_bytes),
        // Who may only run commands is not told; the server refuses what is too much.
        Err(error) if error.code == Code::Forbidden => u64::MAX,
        Err(error) => return Err(at.failure("cannot run a command", &error)),
    };
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(max.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| Failure::io("cannot read standard input", &error))?;
    if bytes.len() as u64 > max {
        let size = show::size(max);
        let line = if at.is_here() {
            format!("standard input is over {size}, the most that a command is given here: all of it is held in memory")
        } else {
            format!("standard input is over the bound maxWriteBytes there ({size}); {RAISE}")
        };
        return Err(Failure::of(Code::Limit, line));
    }
    Ok(bytes)
}

/// A command that is attached to the streams of this process.
struct Attached {
    starting: ops::Ask<Box<dyn Exec>>,
    running: Option<Box<dyn Exec>>,
    buf: Vec<u8>,
    pending: Pending,
    out: [To; 2],
    signals: Signals,
    /// What ends it from here: a signal that came, or that nobody reads its output any more.
    ended_by: Option<u8>,
    /// How it ended; what is pending is still written.
    exit: Option<Exit>,
    quiet: bool,
}

/// Output that was not written yet: a part of the buffer, and where it goes.
#[derive(Default)]
struct Pending {
    to: usize,
    bytes: Range<usize>,
}

enum To {
    Stream(Stream),
    Memory(Vec<u8>),
    /// Its reader has left.
    Nowhere,
}

enum Ended {
    Done {
        exit: Exit,
        out: [Vec<u8>; 2],
        ended_by: Option<u8>,
    },
    /// A second signal, or one before it ran.
    AtOnce(u8),
    /// And whether it had started.
    Failed(Error, bool),
    /// Its output cannot be written here.
    Output(io::Error),
}

const SIGPIPE: u8 = 13;

impl To {
    fn new(json: bool, fd: impl rustix::fd::AsFd) -> Result<Self, Failure> {
        if json {
            return Ok(Self::Memory(Vec::new()));
        }
        Stream::of(fd).map(Self::Stream).map_err(|error| Failure::io("cannot use the standard streams", &error))
    }

    fn poll_write(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Stream(stream) => return stream.poll_write(cx, bytes),
            Self::Memory(memory) => memory.extend_from_slice(bytes),
            Self::Nowhere => {}
        }
        Poll::Ready(Ok(bytes.len()))
    }
}

impl Task for Attached {
    type Out = Ended;

    fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<Ended> {
        while let Poll::Ready(signal) = self.signals.poll(cx) {
            match &mut self.running {
                Some(running) if self.ended_by.is_none_or(|by| by == SIGPIPE) => {
                    running.interrupt();
                    // Where nobody reads, saying it would wait, and the next signal with it.
                    if !self.quiet && stream::has_room(io::stderr()) {
                        say("waiting for the command to end; once more ends it at once");
                    }
                }
                // Dropped it is ended at once, with everything it started.
                _ => return Poll::Ready(Ended::AtOnce(signal)),
            }
            self.ended_by = Some(signal);
        }
        for _ in 0..64 {
            let full = match self.flush(cx) {
                Poll::Ready(Err(error)) => return Poll::Ready(Ended::Output(error)),
                flushed => flushed.is_pending(),
            };
            if let Some(exit) = self.exit.take_if(|_| !full) {
                let out = std::mem::replace(&mut self.out, [To::Nowhere, To::Nowhere]);
                let out = out.map(|to| if let To::Memory(bytes) = to { bytes } else { Vec::new() });
                return Poll::Ready(Ended::Done { exit, out, ended_by: self.ended_by });
            }
            if self.exit.is_some() {
                return Poll::Pending;
            }
            let Some(running) = &mut self.running else {
                match ready!(self.starting.poll(cx)) {
                    Ok(running) => self.running = Some(running),
                    Err(error) => return Poll::Ready(Ended::Failed(error, false)),
                }
                self.buf = vec![0; MAX_FRAME_DATA];
                continue;
            };
            // Without room its time still goes on.
            let room = if full { &mut [] } else { &mut self.buf[..] };
            match ready!(running.poll_next(cx, room)) {
                Ok(Piece::Data(channel, n)) => {
                    self.pending = Pending { to: if channel == Channel::Stdout { 0 } else { 1 }, bytes: 0..n };
                }
                Ok(Piece::End(exit)) => self.exit = Some(exit),
                Err(error) => return Poll::Ready(Ended::Failed(error, true)),
            }
        }
        cx.again();
        Poll::Pending
    }
}

impl Attached {
    /// Writes what is pending. A reader that has left ends the command, as it would here.
    fn flush(&mut self, cx: &mut Cx<'_>) -> Poll<io::Result<()>> {
        while !self.pending.bytes.is_empty() {
            let Pending { to, bytes } = &mut self.pending;
            let to = &mut self.out[*to];
            match ready!(to.poll_write(cx, &self.buf[bytes.clone()])) {
                Ok(n) => bytes.start += n,
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    *to = To::Nowhere;
                    if self.ended_by.is_none()
                        && let Some(running) = &mut self.running
                    {
                        running.interrupt();
                        self.ended_by = Some(SIGPIPE);
                    }
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// The exit code for how it ended. What is to be said is for people alone: programs have the object.
fn status(common: &Common, timeout: Duration, program: &str, exit: &Exit, ended_by: Option<u8>) -> u8 {
    if let Some(signal) = ended_by.filter(|_| exit.interrupted) {
        return 128 + signal;
    }
    if exit.interrupted {
        say(&format!("{program} was ended there, not from here: the server is closing, or somebody canceled it"));
        return FAILED;
    }
    if exit.timed_out {
        if !common.quiet {
            say(&format!("{program} was ended after {timeout:?} (--timeout)"));
        }
        return TIMED_OUT;
    }
    let code = match &exit.signal {
        // Real-time signals go to 64.
        Some(name) => (1..=64).find(|n| signal_name(*n) == *name).map(|n| 128 + n as u8),
        None => u8::try_from(exit.code).ok(),
    };
    code.unwrap_or_else(|| {
        say(&match &exit.signal {
            Some(name) => format!("{program} was ended by a signal that is not known here: {}", show::text(name)),
            None => format!("{program} has ended, but the server tells no exit code that there is: {}", exit.code),
        });
        FAILED
    })
}

/// A command that did not run, or whose end is not known.
fn failure(at: &At, dir: &str, cmd: &[String], error: &Error, started: bool) -> Failure {
    let given = cmd.first().map_or("", String::as_str);
    let program = show::said(given);
    let what = format!("cannot run {program}");
    let cut = error.words.starts_with("the reply was cut");
    let lost = cut || error.words.starts_with("the server closed the connection");
    if lost || started || error.details.as_ref().is_some_and(|details| details.ran == Some(true)) {
        // How much of a reply came says nothing: it is no count of output.
        let why = if cut { "the reply was cut".into() } else { at.why(error) };
        let line = match error.code {
            Code::Limit => format!("{program} ran, but {why}; leave --json out to have it as it comes"),
            _ if lost => format!("{why}; the command may still be running"),
            _ => format!("{program} ran, but how it ended is not known: {why}"),
        };
        return Failure::of(error.code, line);
    }
    if !matches!(error.code, Code::NotExist | Code::Permission | Code::Invalid) && error.errno() != Some("ENOEXEC") {
        return at.failure(&what, error);
    }
    // The same codes tell of the directory.
    if dir != "." {
        match at.ws.stat(dir) {
            Ok(meta) if !meta.mode.is_dir() => {
                return Failure::of(error.code, format!("cannot run in {}: it is no directory", show::said(dir)));
            }
            Err(error) if matches!(error.code, Code::NotExist | Code::Permission | Code::Outside | Code::Invalid) => {
                return at.failure(&format!("cannot run in {}", show::said(dir)), &error);
            }
            _ => {}
        }
    }
    let line = |status, why: &str| Failure::Line(status, error.code, format!("{what}: {why}"));
    match error.code {
        Code::NotExist => {
            let why = if given.contains('/') { "no such file" } else { "not found in the PATH there" };
            if cmd.len() == 1 && given.contains(|c: char| c.is_whitespace() || "|&;<>$*".contains(c)) {
                return line(NOT_FOUND, &format!("{why}; no shell is between; try: sh -c {}", show::shell(given)));
            }
            line(NOT_FOUND, why)
        }
        Code::Permission => line(NOT_EXECUTABLE, "it is not executable"),
        Code::Other => line(NOT_EXECUTABLE, "it is no program this system can run"),
        _ => at.failure(&what, error),
    }
}

/// One object. Both streams are text if both are UTF-8, else both are base64: `encoding` says which.
fn print(exit: &Exit, streams: &[Vec<u8>; 2]) -> Result<(), Failure> {
    let texts = streams.each_ref().map(|bytes| std::str::from_utf8(bytes));
    let mut json = Vec::new();
    let mut object = ObjectWriter::begin(&mut json);
    if let [Ok(stdout), Ok(stderr)] = texts {
        object.string("stdout", stdout);
        object.string("stderr", stderr);
        object.string("encoding", "utf-8");
    } else {
        base64::write(object.member("stdout"), &streams[0]);
        base64::write(object.member("stderr"), &streams[1]);
        object.string("encoding", "base64");
    }
    object.number("exitCode", exit.code);
    match &exit.signal {
        Some(signal) => object.string("signal", signal),
        None => object.member("signal").put(b"null"),
    }
    object.bool("timedOut", exit.timed_out);
    object.bool("interrupted", exit.interrupted);
    object.end();
    let mut out = Out::new();
    out.line(show::json(json))?;
    out.finish()
}
