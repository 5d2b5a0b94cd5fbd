//! The contract. **A workspace is one method that takes a value ([`Op`]) and answers now or later; whatever lives on is an owned
//! handle that is polled with a [`Cx`].** Dropping a handle cancels what it stands for.

use crate::{
    cx::Cx,
    wire::{
        Bounds, Channel, Descriptor, Error, Listing, Meta, Reach, Signal, WaitStatus, name,
        process::{Ended, Size},
    },
};
use alloc::{borrow::Cow, boxed::Box, string::String, sync::Arc, vec::Vec};
use bytes::Bytes;
use core::{task::Poll, time::Duration};

/// Where an agent's tools act: a file tree and commands (spec, Workspace).
///
/// Names are those of the wire: relative to the root, `/` between elements, `.` alone for the root. A workspace refuses any other
/// ([`Op::check`]), and every name that a link leads out of it.
pub trait Workspace: Send + Sync {
    /// Starts one operation. `room` is where [`Op::Open`] may put the content of a small file; everything else ignores it.
    fn call(&self, op: Op<'_>, room: &mut dyn Room) -> Called;
}

impl<W: Workspace + ?Sized> Workspace for Arc<W> {
    fn call(&self, op: Op<'_>, room: &mut dyn Room) -> Called {
        (**self).call(op, room)
    }
}

/// One operation, as a value: it is logged, compared, filtered, printed as a request and parsed from one.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Op<'a> {
    /// What the workspace is. Answered by [`Answer::About`].
    About,
    /// Size, mode and time of a name; of a link itself unless `follow`. Answered by [`Answer::Meta`].
    Stat {
        /// The name.
        name: &'a str,
        /// Whether a link at the end is followed.
        follow: bool,
    },
    /// Where a link leads, as it stands. Answered by [`Answer::Target`]; `invalid` for what is no link.
    ReadLink {
        /// The link's name.
        name: &'a str,
    },
    /// A directory's entries, sorted by the bytes of their names. Answered by [`Answer::Listing`].
    ReadDir {
        /// The directory's name.
        name: &'a str,
        /// At most so many entries, those that are skipped or vanish counted; one past it is read and then it is `limit`.
        max: u64,
    },
    /// A regular file's content. Answered by [`Answer::Whole`] or [`Answer::Reader`]. It never blocks; whatever is no regular file
    /// is `invalid`.
    Open {
        /// The file's name.
        name: &'a str,
    },
    /// A file's new content: whole or nothing. Answered by [`Answer::Sink`].
    Create {
        /// The file's name; its parents are made when the content is whole.
        name: &'a str,
        /// The permission bits of a file that is made (0o644 if absent); one that exists keeps its own.
        perm: Option<u32>,
        /// How many bytes will come, if that is known.
        size: Option<u64>,
    },
    /// Removes what is no directory, or an empty directory. Answered by [`Answer::Done`].
    Remove {
        /// The name.
        name: &'a str,
    },
    /// Runs a command. Answered by [`Answer::Exec`] once it runs.
    Exec(&'a Command),
    /// Starts a process that outlives the call. Answered by [`Answer::Process`] once it runs.
    Start(&'a Start),
    /// Opens a stream to a TCP port on the workspace's loopback: a process whose streams are the stream's, without standard error and
    /// without a ladder. Answered by [`Answer::Process`].
    Connect {
        /// The port, from 1.
        port: u16,
    },
}

impl Op<'_> {
    /// Checks the form of the name it is about, if it is about one.
    ///
    /// # Errors
    /// Those of [`name::check`].
    pub fn check(&self) -> Result<(), Error> {
        match self {
            Self::About => Ok(()),
            Self::Stat { name, .. } | Self::ReadLink { name } | Self::ReadDir { name, .. } => name::check(name),
            Self::Open { name } | Self::Create { name, .. } | Self::Remove { name } => name::check(name),
            Self::Connect { .. } => Ok(()),
            Self::Exec(Command { dir, .. }) | Self::Start(Start { dir, .. }) if dir.is_empty() => Ok(()),
            Self::Exec(Command { dir, .. }) | Self::Start(Start { dir, .. }) => name::check(dir),
        }
    }
}

/// What an operation came to.
#[non_exhaustive]
pub enum Answer {
    /// To [`Op::About`].
    About(Arc<About>),
    /// To [`Op::Stat`].
    Meta(Meta),
    /// To [`Op::ReadLink`].
    Target(String),
    /// To [`Op::ReadDir`].
    Listing(Listing),
    /// To [`Op::Open`]: the content is the first so many bytes of the slice that [`Room::room`] gave last.
    Whole(usize),
    /// To [`Op::Open`]: the content is longer than the room, or comes piece by piece.
    Reader(Reader),
    /// To [`Op::Create`].
    Sink(Box<dyn Sink>),
    /// To [`Op::Remove`].
    Done,
    /// To [`Op::Exec`].
    Exec(Box<dyn Exec>),
    /// To [`Op::Start`] and [`Op::Connect`].
    Process(Box<dyn Process>),
}

/// What a workspace is (spec, Info). The handler adds bounds of its own, scopes and extensions.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct About {
    /// Its root directory there, absolute; empty if that is withheld.
    pub root: String,
    /// Where it is, for a record of where tools ran.
    pub descriptor: Descriptor,
    /// Whether links can be told from their targets (lstat, readlink).
    pub links: bool,
    /// How far the end of a command reaches.
    pub reach: Reach,
    /// Whether it can start processes that outlive a call.
    pub start: bool,
    /// Whether it can open streams to ports on its loopback.
    pub connect: bool,
    /// The environment every command starts from, `NAME=value` each.
    pub env: Vec<String>,
    /// Bounds it keeps itself, if it is a remote one: no more is sent to it.
    pub bounds: Option<Bounds>,
    /// Extensions of the wire that it has; a workspace here has none of its own to name.
    pub extensions: Vec<String>,
}

impl About {
    /// A workspace of that kind with links, no environment, and nothing known of its ends.
    pub fn new(root: impl Into<String>, descriptor: Descriptor) -> Self {
        let root = root.into();
        Self {
            root,
            descriptor,
            links: true,
            reach: Reach::None,
            start: false,
            connect: false,
            env: Vec::new(),
            bounds: None,
            extensions: Vec::new(),
        }
    }
}

/// A command to run (spec, Exec).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Command {
    /// The program and its arguments; the first is looked up in the `PATH` of the command's environment unless it has a `/`.
    pub args: Vec<String>,
    /// The directory it runs in, a name of the workspace; empty is the root.
    pub dir: String,
    /// Added to the workspace's environment, `NAME=value` each; the later of one name wins.
    pub env: Vec<String>,
    /// What it reads; empty is an input that has ended.
    pub stdin: Bytes,
    /// After so long it is ended, and the output says so.
    pub timeout: Option<Duration>,
    /// How its output is wanted.
    pub output: Delivery,
}

impl Command {
    /// A command of these arguments, in the root, with nothing to read.
    pub fn new<S: Into<String>>(args: impl IntoIterator<Item = S>) -> Self {
        Self { args: args.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

/// A process to start (spec, Sessions, starts, keys).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Start {
    /// The program and its arguments, as of [`Command::args`].
    pub args: Vec<String>,
    /// The directory it runs in, a name of the workspace; empty is the root.
    pub dir: String,
    /// Added to the workspace's environment, `NAME=value` each; the later of one name wins.
    pub env: Vec<String>,
    /// After so long it is ended.
    pub timeout: Option<Duration>,
    /// Whether its standard error is wanted; otherwise it goes nowhere. On a terminal it is part of the output.
    pub stderr: bool,
    /// The size of the terminal it runs on, if it runs on one.
    pub terminal: Option<Size>,
}

impl Start {
    /// A process of these arguments, in the root, on pipes, without its standard error.
    pub fn new<S: Into<String>>(args: impl IntoIterator<Item = S>) -> Self {
        Self { args: args.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

/// How a command's output is wanted.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum Delivery {
    /// At the end, each stream apart, each at most `maxExecOutputBytes`.
    #[default]
    Collected,
    /// As it comes, both streams as one.
    Merged,
    /// As it comes, each stream apart. A server without the `apart` extension gives it at the end.
    Apart,
}

/// A place that lends room for bytes.
pub trait Room {
    /// `n` bytes to write into, or fewer when it has not that much; what they hold before is of no meaning.
    fn room(&mut self, n: usize) -> &mut [u8];
}

/// No room at all: a file's content then always comes by a [`Reader`].
#[derive(Debug)]
pub struct NoRoom;

impl Room for NoRoom {
    fn room(&mut self, _: usize) -> &mut [u8] {
        &mut []
    }
}

impl Room for Vec<u8> {
    fn room(&mut self, n: usize) -> &mut [u8] {
        self.clear();
        self.resize(n, 0);
        self
    }
}

/// An operation that was started.
#[must_use = "dropping it cancels the operation"]
pub enum Called {
    /// It is done; `None` once the answer was taken.
    Now(Option<Result<Answer, Error>>),
    /// It is polled to its end.
    Later(Box<dyn Call>),
}

/// An operation under way.
pub trait Call: Send {
    /// Goes on; `Ready` once.
    fn poll(&mut self, cx: &mut Cx<'_>, room: &mut dyn Room) -> Poll<Result<Answer, Error>>;
}

impl Called {
    /// Polls it to its end.
    pub fn poll(&mut self, cx: &mut Cx<'_>, room: &mut dyn Room) -> Poll<Result<Answer, Error>> {
        match self {
            Self::Now(answer) => {
                Poll::Ready(answer.take().unwrap_or_else(|| Err(Error::other("polled after its end"))))
            }
            Self::Later(call) => call.poll(cx, room),
        }
    }
}

impl From<Result<Answer, Error>> for Called {
    fn from(answer: Result<Answer, Error>) -> Self {
        Self::Now(Some(answer))
    }
}

/// A file's content.
pub struct Reader {
    /// Its length; `None` when only its end will tell.
    pub size: Option<u64>,
    /// Its bytes. With a size, an end before it is the reader's error to report: the file shrank.
    pub bytes: Box<dyn Source>,
    /// A plain file's descriptor, when its first `size` bytes are the content: a carriage may send from it directly.
    #[cfg(feature = "std")]
    pub file: Option<Arc<std::os::fd::OwnedFd>>,
}

impl Reader {
    /// A reader of `bytes` that no carriage may pass by.
    pub fn new(size: Option<u64>, bytes: Box<dyn Source>) -> Self {
        Self {
            size,
            bytes,
            #[cfg(feature = "std")]
            file: None,
        }
    }
}

/// Bytes out of a workspace.
pub trait Source: Send {
    /// Reads into `buf`, which is not empty. `Ready(Ok(0))` is the end.
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>>;
}

/// Bytes into a workspace. Dropped before [`Sink::poll_finish`] was `Ready` it is cut, and changes nothing.
pub trait Sink: Send {
    /// Takes some of `buf`, which is not empty.
    fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>>;

    /// It is whole: a file appears under its name, a pipe is closed. Called until `Ready`, then never again.
    fn poll_finish(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>>;
}

/// A command that runs for one caller. Dropped, it is ended at once with everything it started.
pub trait Exec: Send {
    /// The next piece of output, at most `buf.len()` bytes of one stream, or the end. An empty `buf` means: no room. No data comes
    /// then, but its time, its input and its exit go on. After `End` or an error it is not polled again.
    ///
    /// # Errors
    /// Of a command that ran, with `ran` in the details.
    fn poll_next(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<Piece, Error>>;

    /// The caller's end (cancel, hang-up): the command is ended politely. Pieces go on to `End`, which comes once all has ended.
    fn interrupt(&mut self);
}

/// A process that outlives the call that started it. Its streams are taken once, each by one owner; what is left controls it. Dropped,
/// it is ended at once with everything it started.
pub trait Process: Send {
    /// Its input, once.
    fn stdin(&mut self) -> Option<Box<dyn Sink>>;

    /// Its output, once.
    fn stdout(&mut self) -> Option<Box<dyn Source>>;

    /// Its standard error, once; `None` if it was not asked for.
    fn stderr(&mut self) -> Option<Box<dyn Source>>;

    /// Sends a signal to its process group.
    ///
    /// # Errors
    /// `unsupported` for a stream, `process_done` after its exit.
    fn signal(&mut self, signal: Signal) -> Result<(), Error>;

    /// Changes the size of its terminal.
    ///
    /// # Errors
    /// `unsupported` without a terminal, `process_done` after its exit.
    fn resize(&mut self, size: Size) -> Result<(), Error>;

    /// Begins to end it, for the first reason that is given; [`Process::poll_exit`] goes on with it. Polite (`closed` alone): its input
    /// is closed first, which its owner does, and it has a moment to leave by itself.
    fn end(&mut self, why: Ended, polite: bool);

    /// How it ended, once it has, with everything it started. The same each time.
    fn poll_exit(&mut self, cx: &mut Cx<'_>) -> Poll<WaitStatus>;
}

/// What a running command gives.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Piece {
    /// So many bytes of that stream stand in the buffer; at least one.
    Data(Channel, usize),
    /// It has ended, with everything it started.
    End(Exit),
}

/// How a command ended.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Exit {
    /// Its exit status; -1 when a signal killed it, when it was timed out, and when it was interrupted.
    pub code: i32,
    /// The signal that killed it, as Linux names it (`SEGV`), unless it was ended from here.
    pub signal: Option<Cow<'static, str>>,
    /// Its timeout ended it.
    pub timed_out: bool,
    /// Its caller ended it.
    pub interrupted: bool,
}

/// A byte stream that carries the wire: a socket, a pipe in memory, a host's own.
pub trait Transport: Send {
    /// Reads into `buf`, which is not empty. `Ready(Ok(0))` is the end.
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>>;

    /// Takes some of `buf`, which is not empty.
    fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>>;

    /// Nothing more will be written: the peer sees the end of what was, and the other direction goes on. A transport without
    /// half-closing does nothing.
    fn shut(&mut self) {}
}

/// Makes connections for a client.
pub trait Dial: Send + Sync {
    /// Starts a connection; what has to be waited for is waited for by its first read or write.
    ///
    /// # Errors
    /// When none can be had; its words name where to.
    fn dial(&self) -> Result<Box<dyn Transport>, Error>;
}

impl<D: Dial + ?Sized> Dial for Box<D> {
    fn dial(&self) -> Result<Box<dyn Transport>, Error> {
        (**self).dial()
    }
}
