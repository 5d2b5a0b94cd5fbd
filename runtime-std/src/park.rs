//! What one thread waits for between two turns.

use farside_core::{Cx, Due, Interest, Runtime, Task, Watched, wire::Moment};
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    time::{ClockId, clock_gettime},
};
use std::{
    cell::Cell,
    io,
    os::fd::OwnedFd,
    sync::Arc,
    task::{Poll, Wake, Waker},
};

/// The time by the clock that counts suspend (CLOCK_BOOTTIME), so that leases end for a machine that slept.
pub fn now() -> Moment {
    let t = clock_gettime(ClockId::Boottime);
    Moment(t.tv_sec as u64 * 1_000_000 + t.tv_nsec as u64 / 1000)
}

/// Runs a task to its end on this thread.
///
/// # Panics
/// When the system has no descriptor left for this thread's bell.
pub fn run<T: Task>(mut task: T) -> T::Out {
    thread_local!(static PARK: Cell<Option<Park>> = const { Cell::new(None) });
    #[allow(clippy::expect_used, reason = "documented: without a bell nothing could ever wake this thread")]
    let mut park = PARK.take().or_else(|| Park::new().ok()).expect("a descriptor for an eventfd");
    loop {
        let Turn { out, due, shared, .. } = park.turn(|cx| task.poll(cx));
        if let Poll::Ready(out) = out {
            PARK.set(Some(park));
            return out;
        }
        park.wait(None, due, shared);
    }
}

/// One thread's descriptors, and the bell that others wake it with.
pub(crate) struct Park {
    wants: Vec<Want>,
    fired: Vec<Want>,
    bell: Arc<Bell>,
    waker: Waker,
}

type Want = (Arc<OwnedFd>, Interest);

struct Bell(OwnedFd);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A full counter rings already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

/// What came of a turn, and what it waits for beside descriptors.
pub(crate) struct Turn<T> {
    pub(crate) out: T,
    /// When it began.
    pub(crate) now: Moment,
    pub(crate) due: Option<Due>,
    pub(crate) shared: bool,
}

/// What a turn of this thread may ask for.
struct Turning<'a> {
    wants: &'a mut Vec<Want>,
    fired: &'a [Want],
}

/// Fills `out` from the system.
#[allow(clippy::expect_used, reason = "a system without entropy can make no key that nobody guesses")]
pub(crate) fn entropy(out: &mut [u8]) {
    getrandom::fill(out).expect("the system's entropy");
}

impl Runtime for Turning<'_> {
    fn entropy(&mut self, out: &mut [u8]) {
        entropy(out);
    }

    fn may_be_ready(&self, io: &Watched, want: Interest) -> bool {
        self.fired.iter().any(|(fd, w)| Arc::ptr_eq(fd, io.shared()) && *w == want)
    }

    fn poll_ready(&mut self, io: &mut Watched, want: Interest, _: &Waker) -> Poll<io::Result<()>> {
        if !self.wants.iter().any(|(fd, w)| Arc::ptr_eq(fd, io.shared()) && *w == want) {
            self.wants.push((io.shared().clone(), want));
        }
        Poll::Pending
    }
}

impl Park {
    pub(crate) fn new() -> io::Result<Self> {
        let bell = Arc::new(Bell(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?));
        let waker = Waker::from(bell.clone());
        Ok(Self { wants: Vec::new(), fired: Vec::new(), bell, waker })
    }

    /// Whether the last turn asked for no descriptor.
    pub(crate) fn is_empty(&self) -> bool {
        self.wants.is_empty()
    }

    pub(crate) fn turn<T>(&mut self, f: impl FnOnce(&mut Cx<'_>) -> T) -> Turn<T> {
        self.wants.clear();
        let mut turning = Turning { wants: &mut self.wants, fired: &self.fired };
        let now = now();
        let mut cx = Cx::new(now, &self.waker, &mut turning);
        let out = f(&mut cx);
        let turn = Turn { out, now, due: cx.due(), shared: cx.shared() };
        // What the turn let go of has to be closed now: a peer may be waiting for just that.
        self.fired.clear();
        let mut at = 0;
        while let Some((fd, _)) = self.wants.get(at) {
            let held_here = self.wants.iter().filter(|(other, _)| Arc::ptr_eq(other, fd)).count();
            if Arc::strong_count(fd) == held_here {
                self.wants.swap_remove(at);
            } else {
                at += 1;
            }
        }
        turn
    }

    /// One poll(2) over what the last turn asked for; a socket, if any, comes first and what was seen of it is returned.
    pub(crate) fn wait(&mut self, sock: Option<(&OwnedFd, PollFlags)>, due: Option<Due>, shared: bool) -> PollFlags {
        let flags = |want: &Interest| if *want == Interest::Read { PollFlags::IN } else { PollFlags::OUT };
        let bell = if shared { PollFlags::IN } else { PollFlags::empty() };
        let (fd, wanted) = sock.unwrap_or((&self.bell.0, PollFlags::empty()));
        let first = [PollFd::new(fd, wanted), PollFd::new(&self.bell.0, bell)];
        let rest = self.wants.iter().map(|(fd, want)| PollFd::new(fd, flags(want)));
        let n = first.len() + self.wants.len();
        let mut few = [const { None }; 6].map(|_: Option<()>| PollFd::new(&self.bell.0, PollFlags::empty()));
        let mut many = Vec::new();
        let set = if n <= few.len() {
            few.iter_mut().zip(first.into_iter().chain(rest)).for_each(|(slot, want)| *slot = want);
            &mut few[..n]
        } else {
            many.extend(first.into_iter().chain(rest));
            &mut many[..]
        };
        let left = due.map(|due| due.at.0.saturating_sub(now().0));
        let left = left.map(|us| Timespec { tv_sec: (us / 1_000_000) as i64, tv_nsec: (us % 1_000_000 * 1000) as i64 });
        // An interrupted wait is a turn too early, which does no harm.
        let _ = poll(set, left.as_ref());
        let seen = set[2..].iter().zip(&self.wants).filter(|(p, _)| !p.revents().is_empty());
        self.fired.extend(seen.map(|(_, want)| want.clone()));
        if !set[1].revents().is_empty() {
            let _ = rustix::io::read(&self.bell.0, &mut [0u8; 8]);
        }
        if sock.is_some() { set[0].revents() } else { PollFlags::empty() }
    }
}
