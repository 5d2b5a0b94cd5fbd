//! Commands as processes of this machine.

mod kin;
mod lookup;
mod mark;
mod pipe;
mod procfs;
mod search;
mod sys;
mod terminal;

use self::{
    kin::Kin,
    lookup::c_string,
    mark::Mark,
    pipe::{Pipe, above_streams, pipe, told},
    sys::{Plan, Started},
};
use super::resolve::Root;
use crate::{
    command::{check, environment},
    errno::failed,
};
use farside_core::{
    Command, Cx, Exec, Exit, Interest, Process, Sink, Source, Start, Watched,
    process::{Leader, Managed, Run},
    wire::{Code, Error, Reach, Signal, process::Size, signal::signal_name},
};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{CWD, Mode, OFlags, openat},
    io::{Errno, fcntl_dupfd_cloexec},
    process::WaitIdStatus,
};
use std::{
    ffi::{CStr, CString},
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

/// Starts a command in a directory of `root`, with the variables `env` and its own.
///
/// # Errors
/// Of a command that did not run: nothing of it is left.
pub(crate) fn exec(root: &Root, env: &Arc<[String]>, command: &Command) -> Result<Box<dyn Exec>, Error> {
    check(&command.args, &command.env)?;
    let streams = Streams::Pipes { input: !command.stdin.is_empty(), error: true };
    let processes = launch(root, env, (&command.args, &command.dir, &command.env), streams)?;
    Ok(Box::new(Run::new(processes, command)))
}

/// Starts a process that outlives the call, as [`exec`] starts a command.
///
/// # Errors
/// Of a process that did not run: nothing of it is left.
pub(crate) fn start(root: &Root, env: &Arc<[String]>, start: &Start) -> Result<Box<dyn Process>, Error> {
    check(&start.args, &start.env)?;
    let pipes = Streams::Pipes { input: true, error: start.stderr };
    let streams = start.terminal.map_or(pipes, Streams::Terminal);
    let processes = launch(root, env, (&start.args, &start.dir, &start.env), streams)?;
    Ok(Box::new(Managed::new(processes, start.timeout)))
}

/// What a process's streams are.
enum Streams {
    /// Pipes; those that are not wanted lead nowhere.
    Pipes { input: bool, error: bool },
    /// A terminal of that size, which it leads a session with.
    Terminal(Size),
}

fn launch(
    root: &Root,
    env: &Arc<[String]>,
    (args, dir, own): (&[String], &str, &[String]),
    streams: Streams,
) -> Result<Processes, Error> {
    let dir = root.open_dir(if dir.is_empty() { "." } else { dir })?;
    let env = environment(env, own);
    let program = lookup::program(args.first().map_or("", String::as_str), &env)?;
    let args = args.iter().map(|arg| c_string(arg)).collect::<Result<Vec<_>, _>>()?;
    let env = env.into_iter().map(c_string).collect::<Result<Vec<_>, _>>()?;
    Processes::start(&dir, &program, &args, &env, streams).map_err(failed)
}

/// How far the end of a command reaches here: without `/proc` nobody outside its group is found.
pub(crate) fn reach() -> Reach {
    if procfs::last_pid().is_some() { Reach::Descendants } else { Reach::Group }
}

/// A command's leader and everything it started.
struct Processes {
    kin: Kin,
    exit: Watched,
    ours: Ours,
}

/// Our ends of a process's streams.
struct Ours {
    stdin: Option<Box<dyn Sink>>,
    stdout: Option<Box<dyn Source>>,
    stderr: Option<Box<dyn Source>>,
    terminal: Option<OwnedFd>,
}

impl Streams {
    /// The process's three streams, and our ends of them.
    fn open(&self) -> Result<([OwnedFd; 3], Ours), Errno> {
        match self {
            Self::Pipes { input, error } => pipes(*input, *error),
            Self::Terminal(size) => {
                let (master, theirs) = terminal::open(*size)?;
                let (keys, screen) = terminal::halves(&master)?;
                let own = || fcntl_dupfd_cloexec(&theirs, 3);
                let theirs = [own()?, own()?, own()?];
                let (stdin, stdout): (Box<dyn Sink>, Box<dyn Source>) = (Box::new(keys), Box::new(screen));
                Ok((theirs, Ours { stdin: Some(stdin), stdout: Some(stdout), stderr: None, terminal: Some(master) }))
            }
        }
    }
}

fn pipes(input: bool, error: bool) -> Result<([OwnedFd; 3], Ours), Errno> {
    let nowhere = |way| openat(CWD, "/dev/null", way | OFlags::CLOEXEC, Mode::empty());
    let (stdin, feed) = match input {
        true => pipe().map(|(read, write)| (read, Some(write)))?,
        false => (nowhere(OFlags::RDONLY)?, None),
    };
    let (out, stdout) = pipe()?;
    let (err, stderr) = match error {
        true => pipe().map(|(read, write)| (Some(read), write))?,
        false => (None, nowhere(OFlags::WRONLY)?),
    };
    let theirs = [above_streams(stdin)?, above_streams(stdout)?, above_streams(stderr)?];
    let source = |fd| Pipe::new(fd).map(|pipe| Box::new(pipe) as Box<dyn Source>);
    let stdin = feed.map(Pipe::new).transpose()?.map(|pipe| Box::new(pipe) as Box<dyn Sink>);
    Ok((theirs, Ours { stdin, stdout: Some(source(out)?), stderr: err.map(source).transpose()?, terminal: None }))
}

/// A program that was just written is busy while another start that was under way then still has the writer's descriptor, up to the
/// moment it runs its own. After each of these pauses, in milliseconds, it is tried again.
const BUSY: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];

impl Processes {
    fn start(
        dir: &OwnedFd,
        program: &CStr,
        args: &[CString],
        env: &[CString],
        streams: Streams,
    ) -> Result<Self, Errno> {
        let (theirs, ours) = streams.open()?;
        let mark = Mark::new();
        let stdio = theirs.each_ref().map(|fd| fd.as_fd());
        let terminal = ours.terminal.is_some();
        let plan = Plan { program, args, env, dir: dir.as_fd(), stdio, terminal, mark: mark.map(Mark::limit) };
        let born = Instant::now();
        let mut started = sys::start(&plan);
        for pause in BUSY {
            if !matches!(started, Err(Errno::TXTBSY)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(pause));
            started = sys::start(&plan);
        }
        let Started { pid, pidfd, marked } = started?;
        let exit = Watched::new(pidfd);
        let kin = Kin::new(pid, exit.shared().clone(), mark.filter(|_| marked), born);
        Ok(Self { kin, exit, ours })
    }
}

impl Leader for Processes {
    fn stdin(&mut self) -> Option<Box<dyn Sink>> {
        self.ours.stdin.take()
    }

    fn stdout(&mut self) -> Option<Box<dyn Source>> {
        self.ours.stdout.take()
    }

    fn stderr(&mut self) -> Option<Box<dyn Source>> {
        self.ours.stderr.take()
    }

    fn signal(&mut self, signal: Signal) {
        self.kin.signal(signal);
    }

    fn signal_group(&mut self, signal: Signal) -> Result<(), Error> {
        self.kin.signal_group(signal)
    }

    fn resize(&mut self, size: Size, exited: bool) -> Result<(), Error> {
        let master = self.ours.terminal.as_ref().ok_or(Error::from(Code::Unsupported))?;
        if exited { Err(Code::ProcessDone.into()) } else { terminal::resize(master, size).map_err(failed) }
    }

    fn poll_exit(&mut self, cx: &mut Cx<'_>) -> Poll<Result<Exit, Error>> {
        let kin = &mut self.kin;
        cx.io(&mut self.exit, Interest::Read, |_| Ok(kin.exit()?)).map(|exit| exit.map(how).map_err(told))
    }

    fn sweep(&mut self) -> bool {
        self.kin.sweep()
    }
}

fn how(status: WaitIdStatus) -> Exit {
    Exit {
        code: status.exit_status().unwrap_or(-1),
        signal: status.terminating_signal().map(signal_name),
        ..Exit::default()
    }
}

/// An owner that goes waits so many milliseconds, round by round, for the death of what it had.
const PATIENCE: [u64; 6] = [1, 2, 4, 8, 16, 32];
/// After that a thread goes on, with pauses that grow from the first of these to the second: for a process that waits for a disk, or one
/// of another user.
const PAUSES: (Duration, Duration) = (Duration::from_millis(64), Duration::from_secs(8));

impl Drop for Processes {
    fn drop(&mut self) {
        for pause in PATIENCE {
            if self.kin.sweep() {
                return;
            }
            self.kin.wait(Duration::from_millis(pause));
        }
        let mut kin = self.kin.clone();
        let go_on = move || {
            let mut pause = PAUSES.0;
            while !kin.sweep() {
                kin.wait(pause);
                pause = (pause * 2).min(PAUSES.1);
            }
        };
        // Without a thread all that is left to do is left: what was killed dies, and its leader is not reaped.
        let _ = std::thread::Builder::new().name("farside-reaper".into()).stack_size(128 * 1024).spawn(go_on);
    }
}
