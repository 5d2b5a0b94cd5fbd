//! A runtime of one thread and one poll(2), and what tests of commands need around it.

#![allow(dead_code, reason = "each test takes of it what it needs")]
#![allow(clippy::unwrap_used, reason = "a test")]

use farside_backends::Local;
use farside_core::{
    Answer, Called, Command, Cx, Exec, Exit, Interest, NoRoom, Op, Piece, Runtime, Watched, Workspace,
    wire::{Channel, Error, Moment},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Poll, Waker},
    time::{Duration, Instant},
};

/// Long for whatever ends by itself, on a busy machine too, and short for what would hang: that sleeps for 30 s or more.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// What one thread waits for between two turns.
#[derive(Default)]
pub(crate) struct Turns {
    wants: Vec<(Arc<OwnedFd>, Interest)>,
}

impl Runtime for Turns {
    fn entropy(&mut self, out: &mut [u8]) {
        out.fill(7);
    }

    fn poll_ready(&mut self, io: &mut Watched, want: Interest, _: &Waker) -> Poll<io::Result<()>> {
        self.wants.push((io.shared().clone(), want));
        Poll::Pending
    }
}

pub(crate) fn now() -> Moment {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Moment(time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000)
}

impl Turns {
    /// One turn, and if it is pending the wait after it, at most until `until`.
    pub(crate) fn turn<T>(&mut self, until: Option<Moment>, f: impl FnOnce(&mut Cx<'_>) -> Poll<T>) -> Poll<T> {
        self.wants.clear();
        let mut cx = Cx::new(now(), Waker::noop(), self);
        let polled = f(&mut cx);
        let due = cx.due().map(|due| due.at).into_iter().chain(until).min();
        if polled.is_pending() {
            let mut set: Vec<_> = self
                .wants
                .iter()
                .map(|(fd, want)| PollFd::new(fd, if *want == Interest::Read { PollFlags::IN } else { PollFlags::OUT }))
                .collect();
            let left = due.map(|due| due.since(now()));
            assert!(left.is_some() || !set.is_empty(), "it waits for nothing");
            let left = left.map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
            let _ = poll(&mut set, left.as_ref());
        }
        polled
    }
}

/// A command that runs.
pub(crate) struct Running {
    exec: Box<dyn Exec>,
    turns: Turns,
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
    buf: Vec<u8>,
    since: Instant,
}

/// A command that ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
    pub(crate) exit: Exit,
    pub(crate) took: Duration,
}

impl Ran {
    pub(crate) fn text(&self) -> (&str, &str, i32) {
        (std::str::from_utf8(&self.out).unwrap(), std::str::from_utf8(&self.err).unwrap(), self.exit.code)
    }
}

pub(crate) fn start(ws: &dyn Workspace, command: &Command) -> Result<Running, Error> {
    let since = Instant::now();
    let Called::Now(Some(answer)) = ws.call(Op::Exec(command), &mut NoRoom) else { panic!("it is answered at once") };
    let Answer::Exec(exec) = answer? else { panic!("another answer") };
    Ok(Running { exec, turns: Turns::default(), out: Vec::new(), err: Vec::new(), buf: vec![0; 32 * 1024], since })
}

/// Runs it to its end.
pub(crate) fn run(ws: &dyn Workspace, command: &Command) -> Ran {
    start(ws, command).unwrap().finish()
}

impl Running {
    /// Goes on for so long with so much room, or to the end.
    pub(crate) fn go_on(&mut self, time: Duration, room: usize) -> Option<Exit> {
        let until = now().after(time);
        while now() < until {
            if let Some(exit) = self.step(Some(until), room) {
                return Some(exit);
            }
        }
        None
    }

    /// One turn, and the wait after it.
    pub(crate) fn step(&mut self, until: Option<Moment>, room: usize) -> Option<Exit> {
        let Self { exec, turns, buf, .. } = self;
        match turns.turn(until, |cx| exec.poll_next(cx, &mut buf[..room])) {
            Poll::Pending => {}
            Poll::Ready(Ok(Piece::Data(channel, n))) => {
                assert!((1..=room).contains(&n));
                let stream = if channel == Channel::Stderr { &mut self.err } else { &mut self.out };
                stream.extend_from_slice(&self.buf[..n]);
            }
            Poll::Ready(Ok(Piece::End(exit))) => return Some(exit),
            Poll::Ready(Err(error)) => panic!("{error:?}"),
        }
        None
    }

    pub(crate) fn interrupt(&mut self) {
        self.exec.interrupt();
    }

    pub(crate) fn finish(mut self) -> Ran {
        let exit = loop {
            if let Some(exit) = self.step(None, self.buf.len()) {
                break exit;
            }
        };
        self.ran(exit)
    }

    pub(crate) fn ran(mut self, exit: Exit) -> Ran {
        let (out, err) = (std::mem::take(&mut self.out), std::mem::take(&mut self.err));
        Ran { out, err, exit, took: self.since.elapsed() }
    }

    /// Waits until there is so much output.
    pub(crate) fn until_output(&mut self, n: usize) {
        while self.out.len() < n {
            assert_eq!(self.step(None, self.buf.len()), None, "it ended with {:?} {:?}", self.out, self.err);
        }
    }
}

/// A directory with commands, whose processes are known by a variable nobody else has.
pub(crate) struct Place {
    pub(crate) ws: Local,
    pub(crate) dir: tempfile::TempDir,
    tag: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let tag = format!("YS={}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed), now().0);
        let dir = tempfile::tempdir().unwrap();
        let path = std::env::var("PATH").unwrap();
        let ws = Local::new(dir.path(), vec![format!("PATH={path}"), tag.clone()]).unwrap();
        Self { ws, dir, tag }
    }

    pub(crate) fn run(&self, command: &Command) -> Ran {
        run(&self.ws, command)
    }

    pub(crate) fn sh(&self, script: &str) -> Ran {
        self.run(&sh(script))
    }

    /// Its processes that are there now, by their first arguments.
    pub(crate) fn left(&self) -> Vec<String> {
        let pids =
            std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
        let of = |pid: &String, file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let tagged =
            |pid: &String| of(pid, "environ").split(|byte| *byte == 0).any(|entry| entry == self.tag.as_bytes());
        pids.filter(tagged).map(|pid| format!("{pid} {}", String::from_utf8_lossy(&of(&pid, "cmdline")))).collect()
    }

    /// Fails unless nothing of it is left, not even a child that was not waited for. What was killed may take a moment to go, and so may
    /// children of others that run beside.
    pub(crate) fn assert_gone(&self) {
        let (since, mut zombies) = (Instant::now(), zombies());
        loop {
            let left = self.left();
            if left.is_empty() && zombies.is_empty() {
                return;
            }
            assert!(since.elapsed() < SOON, "left: {left:?}, not waited for: {zombies:?}");
            std::thread::sleep(Duration::from_millis(5));
            let still = self::zombies();
            zombies.retain(|pid| still.contains(pid));
        }
    }
}

/// Children of this process that ended and were not waited for.
pub(crate) fn zombies() -> Vec<u32> {
    let me = std::process::id().to_string();
    let pids =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let is_zombie = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
        fields.next() == Some("Z") && fields.next() == Some(&me)
    };
    pids.filter(is_zombie).collect()
}

/// The command `sh -c SCRIPT`.
pub(crate) fn sh(script: &str) -> Command {
    Command::new(["sh", "-c", script])
}

pub(crate) fn python(script: &str) -> Command {
    Command::new(["python3", "-c", script])
}
