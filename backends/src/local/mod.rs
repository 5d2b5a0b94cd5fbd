//! A directory of this machine.

mod connect;
mod list;
mod process;
mod read;
mod remove;
mod resolve;
mod temp;
mod write;

use self::{
    resolve::Root,
    temp::Sweeper,
    write::{Put, Target},
};
use crate::command::is_variable;
use farside_core::{
    About, Answer, Called, Op, Room, Workspace,
    wire::{Code, Descriptor, Error, errno::by_number, from_errno},
};
use std::{path::Path, sync::Arc};

/// A directory of this machine as a workspace (spec, Workspace).
///
/// **Files.** The kernel confines every name to the directory that was opened: `openat2` with `RESOLVE_BENEATH` and
/// `RESOLVE_NO_MAGICLINKS`, and after it descriptors only. A link that is absolute or climbs out is `outside`, also one that leads back
/// in. What is mounted below the directory is part of it; a hard link cannot be told from a file. Where `openat2` is missing (Linux
/// before 5.6, some filters) the same rules are walked by hand. The directory may be moved; it stays the workspace.
///
/// **Writing.** New content goes into a file `.farside-*.tmp` in the target's directory and takes its name when it is whole: old content
/// or new, never a mix. Such a file can be seen in a listing meanwhile. It is locked (`flock`) as long as its writer lives; one that is
/// not is left from a writer that was killed, and goes when something is next written in that directory by a workspace that is new. So
/// nobody else should use such names. It is a new file: hard links, owner and extended attributes are not kept, and a file that is
/// read-only is replaced too. An existing one keeps its permission bits; set-uid, set-gid and sticky are never on what is written.
///
/// **Commands** are processes of this machine, with the workspace's environment, their own, and nothing else of this process: no other
/// descriptor than their three streams, no signal blocked or ignored. They keep its user, umask and limits. One limit is used as a mark
/// and differs: the soft one of real-time CPU time (`RLIMIT_RTTIME`) is a number of each command's own, over 146,000 years. Whatever a
/// command starts inherits it, and is found by it; one that takes the mark off is found as long as it is in the command's group or its
/// parent is found. So the end of a command reaches its descendants; beyond reach is what it has others start (a service manager, a
/// container's daemon), and what became another user's. Without `/proc` it reaches the group alone.
///
/// A start takes as long as `posix_spawn` does, whatever this process's size; a program that is open for writing just then is tried for
/// 127 ms. Dropping a command waits for its death, mostly a millisecond
/// and 63 ms at most; a thread goes on with what does not die. The program must not reap children that are not its own (`waitpid(-1)`),
/// nor ignore SIGCHLD, and must ignore SIGPIPE, as Rust programs do unless told otherwise. Needs Linux 5.4.
///
/// **Every call is done at once**, on the caller's thread. No call waits for anybody: a FIFO or a device is refused.
#[derive(Debug)]
pub struct Local {
    root: Arc<Root>,
    env: Arc<[String]>,
    about: Arc<About>,
    sync: bool,
    sweeper: Sweeper,
}

impl Local {
    /// The directory `dir`, whose commands start from the environment `env` (`NAME=value` each) and nothing else.
    ///
    /// # Errors
    /// When `dir` is no directory that can be opened, or `env` has something else in it. The words name `dir` and say why.
    pub fn new(dir: impl AsRef<Path>, env: Vec<String>) -> Result<Self, Error> {
        Self::with(dir.as_ref(), env, false)
    }

    /// As [`Local::new`], but its names are resolved without `openat2`.
    #[doc(hidden)]
    pub fn new_without_openat2(dir: impl AsRef<Path>, env: Vec<String>) -> Result<Self, Error> {
        Self::with(dir.as_ref(), env, true)
    }

    fn with(dir: &Path, env: Vec<String>, by_hand: bool) -> Result<Self, Error> {
        if let Some(entry) = env.iter().find(|entry| !is_variable(entry)) {
            let name = entry.split('=').next().unwrap_or_default();
            return Err(Error::invalid(format!("environment: {name:?} is no NAME=value")));
        }
        let failed = |number| Error::new(from_errno(number).code, format!("{}: {}", dir.display(), words(number)));
        let root = Root::new(dir, by_hand).map_err(|errno| failed(errno.raw_os_error()))?;
        let path = std::fs::canonicalize(dir).map_err(|error| failed(error.raw_os_error().unwrap_or_default()))?;
        let path = path.to_string_lossy().into_owned();
        let descriptor = Descriptor {
            kind: "local".into(),
            host: Some(rustix::system::uname().nodename().to_string_lossy().into_owned()),
            root: path.clone(),
            ..Descriptor::default()
        };
        let mut about = About::new(path, descriptor);
        about.env = env.clone();
        (about.start, about.connect) = (true, true);
        about.reach = process::reach();
        Ok(Self {
            root: Arc::new(root),
            env: env.into(),
            about: Arc::new(about),
            sync: false,
            sweeper: Sweeper::default(),
        })
    }

    /// The same with another name of the machine in its descriptor than the system's.
    #[must_use]
    pub fn with_host(mut self, name: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.about).descriptor.host = Some(name.into());
        self
    }

    /// Whether a file that was written is on the disk, and its name too, before the write is answered. It is not, if nothing is said.
    #[must_use]
    pub fn with_sync(mut self, sync: bool) -> Self {
        self.sync = sync;
        self
    }

    fn create(&self, name: &str, perm: Option<u32>) -> Result<Answer, Error> {
        let target = Target::find(&self.root, name)?;
        self.sweeper.visit(&target.dir)?;
        Ok(Answer::Sink(Box::new(Put::new(target, perm, self.sync)?)))
    }
}

impl Workspace for Local {
    fn call(&self, op: Op<'_>, room: &mut dyn Room) -> Called {
        if let Err(error) = op.check() {
            return Err(error).into();
        }
        match op {
            Op::About => Ok(Answer::About(self.about.clone())),
            Op::Stat { name, follow } => read::stat(&self.root, name, follow),
            Op::ReadLink { name } => read::read_link(&self.root, name),
            Op::ReadDir { name, max } => list::read_dir(&self.root, name, max),
            Op::Open { name } => read::open(&self.root, name, room),
            Op::Create { name, perm, .. } => self.create(name, perm),
            Op::Remove { name } => remove::remove(&self.root, name),
            Op::Exec(command) => process::exec(&self.root, &self.env, command).map(Answer::Exec),
            Op::Connect { port } => return Called::Later(Box::new(connect::Connecting::new(port))),
            Op::Start(start) => process::start(&self.root, &self.env, start).map(Answer::Process),
            _ => Err(Code::Unsupported.into()),
        }
        .into()
    }
}

/// What the system says of its error.
fn words(number: i32) -> &'static str {
    by_number(number).map_or("unknown error", |errno| errno.words)
}
