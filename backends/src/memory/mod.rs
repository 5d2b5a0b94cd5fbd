//! A workspace that lives in this process.

mod files;
mod programs;

use self::files::{Files, Target};
use crate::errno::failed;
use bytes::Bytes;
use farside_core::{
    About, Answer, Called, Command, Cx, Op, Reader, Room, Sink, Source, Workspace,
    wire::{Code, Descriptor, Error, Reach, Signal, name},
};
use rustix::io::Errno;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

/// A file of this size comes by a reader.
const AT_ONCE: usize = 64 * 1024;

/// A tree of files, directories and links in memory as a workspace (spec, Workspace), for tests, examples and what needs no disk.
///
/// Its answers are those of `Local`, for all that can be seen over the wire, with these differences: nobody is refused for want of a
/// permission, a directory's size is 0, and time is counted in changes: the first is a millisecond after the start of 2026, each other
/// one a millisecond after the one before.
///
/// **Commands** are these programs, whatever `PATH` says; `;` between two runs one after the other, up to the first that fails:
/// `true`, `false`, `exit N`, `echo WORD...`, `err WORD...` (to standard error), `cat` (its input), `env`, `pwd`, `spew N` (bytes `x`),
/// `sleep SECONDS` (of the clock that the caller brings, so a virtual one will do), `signal NAME` (dies by it), `stubborn` (ignores INT
/// and TERM). Timeouts, ends and what is due to output are the same code as `Local`'s; [`Memory::signals`] tells what was sent.
///
/// ```
/// use farside_backends::Memory;
/// use farside_core::{Answer, Called, NoRoom, Op, Workspace};
/// let ws = Memory::new();
/// ws.put("src/main.rs", "fn main() {}")?;
/// ws.symlink("src", "code")?;
/// let Called::Now(Some(Ok(Answer::Meta(meta)))) = ws.call(Op::Stat { name: "code/main.rs", follow: true }, &mut NoRoom) else { panic!() };
/// assert_eq!((meta.size, meta.mode.perm()), (12, 0o644));
/// # Ok::<(), farside_core::wire::Error>(())
/// ```
pub struct Memory {
    files: Arc<Mutex<Files>>,
    about: Arc<About>,
    signals: programs::Signals,
}

impl Memory {
    /// An empty directory.
    pub fn new() -> Self {
        let descriptor = Descriptor { kind: "memory".into(), root: "/memory".into(), ..Descriptor::default() };
        let mut about = About::new("/memory", descriptor);
        about.reach = Reach::Descendants;
        Self {
            files: Arc::new(Mutex::new(Files::new())),
            about: Arc::new(about),
            signals: programs::Signals::default(),
        }
    }

    /// The same whose commands start from the environment `env`, `NAME=value` each.
    #[must_use]
    pub fn with_env(mut self, env: Vec<String>) -> Self {
        Arc::make_mut(&mut self.about).env = env;
        self
    }

    /// Every signal that a command was sent, in order, and KILL for each that was killed.
    pub fn signals(&self) -> Vec<Signal> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes a file, as [`Op::Create`] does: its directories are made, a link is followed, an existing file keeps its mode.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn put(&self, name: &str, content: impl Into<Bytes>) -> Result<(), Error> {
        name::check(name)?;
        let mut files = lock(&self.files);
        let target = files.target(name)?;
        files.write(&target, content.into(), 0o644)
    }

    /// Makes a directory, and those above it. One that is there is fine.
    ///
    /// # Errors
    /// `exist` for what is no directory, and those of resolving the name.
    pub fn mkdir(&self, name: &str) -> Result<(), Error> {
        name::check(name)?;
        lock(&self.files).make_dir(name)
    }

    /// Makes a link to `target`, which may be anything, and the directories above the link.
    ///
    /// # Errors
    /// `exist` if there is something, and those of resolving the name.
    pub fn symlink(&self, target: &str, name: &str) -> Result<(), Error> {
        name::check(name)?;
        if target.is_empty() || target.contains('\0') {
            return Err(Error::invalid("target"));
        }
        lock(&self.files).make_link(target, name)
    }

    fn open(&self, name: &str, room: &mut dyn Room) -> Result<Answer, Error> {
        let content = lock(&self.files).read(name)?;
        // A byte more than is needed, as Local asks for it: with no room at all even an empty file comes by a reader.
        if content.len() < AT_ONCE
            && let Some((to, [_, ..])) = room.room(content.len() + 1).split_at_mut_checked(content.len())
        {
            to.copy_from_slice(&content);
            return Ok(Answer::Whole(content.len()));
        }
        Ok(Answer::Reader(Reader::new(Some(content.len() as u64), Box::new(Content(content)))))
    }

    fn exec(&self, command: &Command) -> Result<Answer, Error> {
        let dir = if command.dir.is_empty() { "." } else { &command.dir };
        name::check(dir)?;
        if !lock(&self.files).stat(dir, true)?.mode.is_dir() {
            return Err(failed(Errno::NOTDIR));
        }
        let path = if dir == "." { self.about.root.clone() } else { format!("{}/{dir}", self.about.root) };
        programs::exec(&self.signals, &path, &self.about.env, command).map(Answer::Exec)
    }

    fn create(&self, name: &str, perm: Option<u32>) -> Result<Answer, Error> {
        let target = lock(&self.files).target(name)?;
        let perm = perm.unwrap_or(0o644) & 0o777;
        Ok(Answer::Sink(Box::new(Put { files: self.files.clone(), target, perm, content: Vec::new() })))
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Workspace for Memory {
    fn call(&self, op: Op<'_>, room: &mut dyn Room) -> Called {
        if let Err(error) = op.check() {
            return Err(error).into();
        }
        match op {
            Op::About => Ok(Answer::About(self.about.clone())),
            Op::Stat { name, follow } => lock(&self.files).stat(name, follow).map(Answer::Meta),
            Op::ReadLink { name } => lock(&self.files).read_link(name).map(Answer::Target),
            Op::ReadDir { name, max } => lock(&self.files).read_dir(name, max).map(Answer::Listing),
            Op::Open { name } => self.open(name, room),
            Op::Create { name, perm, .. } => self.create(name, perm),
            Op::Remove { name } => lock(&self.files).remove(name).map(|()| Answer::Done),
            Op::Exec(command) => self.exec(command),
            _ => Err(Code::Unsupported.into()),
        }
        .into()
    }
}

fn lock(files: &Mutex<Files>) -> MutexGuard<'_, Files> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is left to read of a file. It stays as it was when it was opened.
struct Content(Bytes);

impl Source for Content {
    fn poll_read(&mut self, _: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let piece = self.0.split_to(self.0.len().min(buf.len()));
        for (to, from) in buf.iter_mut().zip(&piece) {
            *to = *from;
        }
        Poll::Ready(Ok(piece.len()))
    }
}

struct Put {
    files: Arc<Mutex<Files>>,
    target: Target,
    perm: u32,
    content: Vec<u8>,
}

impl Sink for Put {
    fn poll_write(&mut self, _: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        self.content.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_finish(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let content = std::mem::take(&mut self.content);
        Poll::Ready(lock(&self.files).write(&self.target, content.into(), self.perm))
    }
}
