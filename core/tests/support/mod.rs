//! What the client's tests run on: a clock that jumps, a workspace out of a map, and a server that sends what it is told.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests; each file uses its part"
)]

use farside_core::{
    About, Answer, Called, Command, Cx, Delivery, Dial, Exec, Exit, Op, Piece, Reader, Remote, Room, Runtime, Sink,
    Source, Task, Transport, Workspace,
    wire::{Channel, Code, Descriptor, Error, FileInfo, FileMode, Listing, Meta, Moment, Timestamp, base_url::BaseUrl},
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    task::{Poll, Wake, Waker},
};

/// Bytes that anybody can guess, and never the same again.
#[derive(Default)]
pub struct Counting;

impl Runtime for Counting {
    fn entropy(&mut self, out: &mut [u8]) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        out.fill(0);
        out[..8].copy_from_slice(&NEXT.fetch_add(1, SeqCst).to_ne_bytes());
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

/// A thread whose clock jumps to the next moment that was asked for.
pub struct Clock {
    now: Moment,
    runtime: Counting,
    flag: Arc<Flag>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { now: Moment(1), runtime: Counting, flag: Arc::new(Flag(AtomicBool::new(false))) }
    }
}

impl Clock {
    /// One poll; says when to come back if nothing wakes it before.
    pub fn poll<T>(&mut self, f: impl FnOnce(&mut Cx<'_>) -> Poll<T>) -> (Poll<T>, Option<Moment>) {
        let waker = Waker::from(self.flag.clone());
        let mut cx = Cx::new(self.now, &waker, &mut self.runtime);
        let polled = f(&mut cx);
        (polled, cx.due().map(|due| due.at))
    }

    /// Polls until it is ready; `None` when nothing would ever make it so.
    pub fn try_wait<T>(&mut self, mut f: impl FnMut(&mut Cx<'_>) -> Poll<T>) -> Option<T> {
        for _ in 0..1_000_000 {
            match self.poll(&mut f) {
                (Poll::Ready(out), _) => return Some(out),
                _ if self.flag.0.swap(false, SeqCst) => {}
                (_, Some(at)) => self.now = self.now.max(at),
                (_, None) => return None,
            }
        }
        panic!("it goes on for ever");
    }

    pub fn wait<T>(&mut self, f: impl FnMut(&mut Cx<'_>) -> Poll<T>) -> T {
        self.try_wait(f).expect("it waits for nothing")
    }

    pub fn run<T: Task>(&mut self, mut task: T) -> T::Out {
        self.wait(|cx| task.poll(cx))
    }
}

/// Runs a task to its end.
pub fn run<T: Task>(task: T) -> T::Out {
    Clock::default().run(task)
}

/// What an exec gave: its data by stream, and its end.
pub type Ran = (Vec<u8>, Vec<u8>, Result<Exit, Error>);

/// Reads an exec to its end with a buffer of `n` bytes.
pub fn drain(clock: &mut Clock, exec: &mut dyn Exec, n: usize) -> Ran {
    let (mut out, mut err, mut buf) = (Vec::new(), Vec::new(), vec![0; n]);
    loop {
        match clock.wait(|cx| exec.poll_next(cx, &mut buf)) {
            Ok(Piece::Data(Channel::Stdout, n)) => out.extend_from_slice(&buf[..n]),
            Ok(Piece::Data(Channel::Stderr, n)) => err.extend_from_slice(&buf[..n]),
            Ok(Piece::End(exit)) => return (out, err, Ok(exit)),
            Err(error) => return (out, err, Err(error)),
        }
    }
}

pub fn base() -> BaseUrl {
    BaseUrl::parse("http://localhost").unwrap()
}

/// A tree out of a map. A name `code/NAME` fails with that code; an exec does what its arguments say.
#[derive(Clone, Default)]
pub struct Fake(pub Arc<FakeState>);

#[derive(Default)]
pub struct FakeState {
    pub files: Mutex<BTreeMap<String, Vec<u8>>>,
    pub last: Mutex<Option<Command>>,
    /// Files come without a size.
    pub unsized_files: AtomicBool,
    pub running: Mutex<Vec<&'static str>>,
}

impl Fake {
    pub fn put(&self, name: &str, data: impl Into<Vec<u8>>) {
        self.0.files.lock().unwrap().insert(name.into(), data.into());
    }

    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.0.files.lock().unwrap().get(name).cloned()
    }

    fn answer(&self, op: Op<'_>) -> Result<Answer, Error> {
        let name = match &op {
            Op::Stat { name, .. } | Op::ReadLink { name } | Op::ReadDir { name, .. } | Op::Open { name } => *name,
            Op::Create { name, .. } | Op::Remove { name } => *name,
            _ => "",
        };
        if let Some(code) = name.strip_prefix("code/") {
            return Err(Error::new(Code::from_name(code), "words of its own"));
        }
        let missing = || Error::from(Code::NotExist);
        let meta = |data: &Vec<u8>| Meta {
            size: data.len() as u64,
            mode: FileMode(0o644),
            modified: Timestamp { seconds: 7, nanos: 5 },
        };
        Ok(match op {
            Op::About => {
                let mut descriptor =
                    Descriptor { kind: "fake".into(), root: "/root/here".into(), ..Descriptor::default() };
                descriptor.host = Some("machine".into());
                let mut about = About::new("/root/here", descriptor);
                about.env = vec!["A=b".into()];
                Answer::About(Arc::new(about))
            }
            Op::Stat { name, .. } => Answer::Meta(self.get(name).as_ref().map(meta).ok_or_else(missing)?),
            Op::ReadLink { name } => {
                Answer::Target(self.get(name).map(|d| String::from_utf8(d).unwrap()).ok_or_else(missing)?)
            }
            Op::ReadDir { .. } => {
                let files = self.0.files.lock().unwrap();
                let entry = |(name, data): (&String, &Vec<u8>)| FileInfo { name: name.clone(), meta: meta(data) };
                Answer::Listing(Listing { entries: files.iter().map(entry).collect(), skipped: 1 })
            }
            Op::Open { name } => {
                let data = self.get(name).ok_or_else(missing)?;
                let size = (!self.0.unsized_files.load(SeqCst)).then_some(data.len() as u64);
                Answer::Reader(Reader::new(size, Box::new(Bytes(data.into()))))
            }
            Op::Create { name, .. } => {
                Answer::Sink(Box::new(Filling { to: self.clone(), name: name.into(), data: Vec::new() }))
            }
            Op::Remove { name } => {
                self.0.files.lock().unwrap().remove(name).ok_or_else(missing)?;
                Answer::Done
            }
            Op::Exec(command) => {
                *self.0.last.lock().unwrap() = Some(command.clone());
                if command.args[0] == "missing" {
                    return Err(missing());
                }
                self.0.running.lock().unwrap().push("started");
                Answer::Exec(Box::new(Acting {
                    state: self.0.clone(),
                    steps: command.args.clone().into(),
                    merged: command.output == Delivery::Merged,
                    left: Vec::new(),
                    channel: Channel::Stdout,
                    interrupted: false,
                    waker: None,
                }))
            }
            _ => return Err(Code::Unsupported.into()),
        })
    }
}

impl Workspace for Fake {
    fn call(&self, op: Op<'_>, _: &mut dyn Room) -> Called {
        self.answer(op).into()
    }
}

struct Bytes(VecDeque<u8>);

impl Source for Bytes {
    fn poll_read(&mut self, _: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let n = buf.len().min(self.0.len());
        for (to, from) in buf.iter_mut().zip(self.0.drain(..n)) {
            *to = from;
        }
        Poll::Ready(Ok(n))
    }
}

struct Filling {
    to: Fake,
    name: String,
    data: Vec<u8>,
}

impl Sink for Filling {
    fn poll_write(&mut self, _: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        if self.name == "full" && self.data.len() > 100_000 {
            return Poll::Ready(Err(farside_core::wire::from_errno(28)));
        }
        self.data.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_finish(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.to.put(&self.name, std::mem::take(&mut self.data));
        Poll::Ready(Ok(()))
    }
}

/// `out:TEXT`, `err:TEXT`, `many:N` (N bytes), `exit:N`, `fail:CODE`, `wait` (for its interruption).
struct Acting {
    state: Arc<FakeState>,
    steps: VecDeque<String>,
    merged: bool,
    left: Vec<u8>,
    channel: Channel,
    interrupted: bool,
    waker: Option<Waker>,
}

impl Exec for Acting {
    fn poll_next(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<Piece, Error>> {
        loop {
            if !self.left.is_empty() {
                if buf.is_empty() {
                    return Poll::Pending;
                }
                let n = buf.len().min(self.left.len());
                buf[..n].copy_from_slice(&self.left[..n]);
                self.left.drain(..n);
                return Poll::Ready(Ok(Piece::Data(if self.merged { Channel::Stdout } else { self.channel }, n)));
            }
            let end = |code, interrupted| Poll::Ready(Ok(Piece::End(Exit { code, interrupted, ..Exit::default() })));
            let Some(step) = self.steps.front().cloned() else { return end(0, false) };
            match step.split_once(':').unwrap_or((&step, "")) {
                ("out", text) => (self.channel, self.left) = (Channel::Stdout, text.into()),
                ("err", text) => (self.channel, self.left) = (Channel::Stderr, text.into()),
                ("many", n) => {
                    (self.channel, self.left) =
                        (Channel::Stdout, (0..n.parse().unwrap()).map(|i: u32| i as u8).collect());
                }
                ("exit", code) => return end(code.parse().unwrap(), false),
                ("fail", code) => return Poll::Ready(Err(Error::new(Code::from_name(code), "its words"))),
                ("wait", _) if self.interrupted => return end(-1, true),
                ("wait", _) => {
                    self.waker = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                _ => panic!("no such step: {step}"),
            }
            self.steps.pop_front();
        }
    }

    fn interrupt(&mut self) {
        self.interrupted = true;
        self.waker.take().into_iter().for_each(Waker::wake);
    }
}

impl Drop for Acting {
    fn drop(&mut self) {
        self.state.running.lock().unwrap().push(if self.interrupted { "interrupted" } else { "dropped" });
    }
}

/// Counts the connections that another dial makes.
pub struct Counted<D>(pub D, pub Arc<Mutex<usize>>);

impl<D: Dial> Dial for Counted<D> {
    fn dial(&self) -> Result<Box<dyn Transport>, Error> {
        *self.1.lock().unwrap() += 1;
        self.0.dial()
    }
}

/// What one connection of a scripted server does.
#[derive(Clone)]
pub struct Script {
    /// The n-th is sent once n requests have come.
    pub replies: Vec<Vec<u8>>,
    /// Replies do not wait for a request.
    pub early: bool,
    /// At most so many bytes come at once.
    pub step: usize,
    /// What follows the last reply.
    pub then: Then,
    /// After so many bytes nothing more is taken.
    pub takes: usize,
    /// What happens to a writer then.
    pub full: Then,
}

#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Then {
    /// The connection stays open.
    Open,
    /// Its end.
    Eof,
    /// An error.
    Reset,
}

impl Script {
    pub fn new(reply: impl Into<Vec<u8>>) -> Self {
        Self::of([reply.into()])
    }

    pub fn of<const N: usize>(replies: [Vec<u8>; N]) -> Self {
        Self {
            replies: replies.into(),
            early: false,
            step: usize::MAX,
            then: Then::Open,
            takes: usize::MAX,
            full: Then::Open,
        }
    }

    pub fn step(self, step: usize) -> Self {
        Self { step, ..self }
    }

    pub fn then(self, then: Then) -> Self {
        Self { then, ..self }
    }

    pub fn early(self) -> Self {
        Self { early: true, ..self }
    }
}

/// A server whose connections follow scripts, one after the other, and that keeps what they were sent.
#[derive(Clone, Default)]
pub struct Scripted(Arc<Mutex<ScriptedState>>);

#[derive(Default)]
struct ScriptedState {
    scripts: VecDeque<Script>,
    written: Vec<Vec<u8>>,
    open: Vec<bool>,
}

impl Scripted {
    pub fn new(scripts: impl IntoIterator<Item = Script>) -> Self {
        let state = ScriptedState { scripts: scripts.into_iter().collect(), ..ScriptedState::default() };
        Self(Arc::new(Mutex::new(state)))
    }

    pub fn remote(&self) -> Remote {
        Remote::new(self.clone(), base())
    }

    /// What each connection was sent.
    pub fn written(&self) -> Vec<String> {
        self.0.lock().unwrap().written.iter().map(|w| String::from_utf8_lossy(w).into_owned()).collect()
    }

    /// How many requests came on all connections.
    pub fn requests(&self) -> usize {
        self.0.lock().unwrap().written.iter().map(|w| heads(w)).sum()
    }

    /// Which connections the client holds open.
    pub fn open(&self) -> Vec<bool> {
        self.0.lock().unwrap().open.clone()
    }
}

fn heads(written: &[u8]) -> usize {
    written.windows(11).filter(|w| w == b" HTTP/1.1\r\n").count()
}

impl Dial for Scripted {
    fn dial(&self) -> Result<Box<dyn Transport>, Error> {
        let mut state = self.0.lock().unwrap();
        let script = state.scripts.pop_front().ok_or(Error::other("nothing listens there"))?;
        state.written.push(Vec::new());
        state.open.push(true);
        let id = state.written.len() - 1;
        Ok(Box::new(Line { server: self.0.clone(), id, script, asked: 0, reply: 0, at: 0 }))
    }
}

struct Line {
    server: Arc<Mutex<ScriptedState>>,
    id: usize,
    script: Script,
    /// How many requests came.
    asked: usize,
    /// Which reply is being sent, and how much of it was.
    reply: usize,
    at: usize,
}

impl Transport for Line {
    fn poll_read(&mut self, _: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let asked = if self.script.early { usize::MAX } else { self.asked };
        while self.reply < self.script.replies.len().min(asked) {
            let left = &self.script.replies[self.reply][self.at..];
            if left.is_empty() {
                (self.reply, self.at) = (self.reply + 1, 0);
                continue;
            }
            let n = left.len().min(buf.len()).min(self.script.step);
            buf[..n].copy_from_slice(&left[..n]);
            self.at += n;
            return Poll::Ready(Ok(n));
        }
        match self.script.then {
            _ if self.reply < self.script.replies.len() => Poll::Pending,
            Then::Open => Poll::Pending,
            Then::Eof => Poll::Ready(Ok(0)),
            Then::Reset => Poll::Ready(Err(farside_core::wire::from_errno(104))),
        }
    }

    fn poll_write(&mut self, _: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        let written = &mut self.server.lock().unwrap().written[self.id];
        let n = buf.len().min(self.script.takes - written.len().min(self.script.takes));
        let seen = written.len().saturating_sub(10);
        written.extend_from_slice(&buf[..n]);
        self.asked += heads(&written[seen..]);
        match self.script.full {
            _ if n > 0 => Poll::Ready(Ok(n)),
            Then::Open => Poll::Pending,
            _ => Poll::Ready(Err(farside_core::wire::from_errno(32))),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.server.lock().unwrap().open[self.id] = false;
    }
}

/// A reply of that status, type and body.
pub fn reply(status: u16, media: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} x\r\nContent-Type: {media}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into()
}

/// A good JSON reply.
pub fn json(body: &str) -> Vec<u8> {
    reply(200, "application/json", body)
}

/// An exec's reply in chunks, a line each.
pub fn ndjson(lines: &[&str]) -> Vec<u8> {
    let mut out =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for line in lines {
        out.extend_from_slice(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes());
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

pub const STAT: &str = r#"{"info":{"name":"a","size":12,"mode":420,"modTime":"1970-01-01T00:00:07Z"}}"#;
