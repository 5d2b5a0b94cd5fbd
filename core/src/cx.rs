//! What a poll is told and what it may ask for: the time, who to wake, a moment to come back at, a descriptor to wait for.

use crate::wire::Moment;
use core::task::Waker;
#[cfg(feature = "std")]
use {
    crate::io::{Interest, Watched},
    core::task::Poll,
    std::{
        io,
        os::fd::{AsFd, BorrowedFd},
    },
};

/// What a runtime brings to a turn, beside the time.
pub trait Runtime {
    /// Fills `out` with bytes nobody can guess. The same bytes give the same replies: a simulator brings its own.
    fn entropy(&mut self, out: &mut [u8]);

    /// `false` only if the runtime knows that nothing was reported since the last `Pending`: it saves a call that would block.
    #[cfg(feature = "std")]
    fn may_be_ready(&self, _io: &Watched, _want: Interest) -> bool {
        true
    }

    /// How it waits for a descriptor. Asked after the operation would have blocked; the operation is tried again after `Ready`.
    /// `Pending`: the task is polled again once the descriptor was reported.
    ///
    /// # Errors
    /// Of a runtime that cannot wait for descriptors, [`io::ErrorKind::Unsupported`].
    #[cfg(feature = "std")]
    fn poll_ready(&mut self, _io: &mut Watched, _want: Interest, _waker: &Waker) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }
}

/// The context of one poll. It is made anew for each turn, so what it collects is what this turn waits for.
pub struct Cx<'a> {
    now: Moment,
    due: Option<Due>,
    waker: &'a Waker,
    shared: bool,
    runtime: &'a mut dyn Runtime,
}

/// The earliest moment a turn asked to come back at.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Due {
    /// When.
    pub at: Moment,
    /// What for: a word for logs and tests.
    pub why: &'static str,
}

impl<'a> Cx<'a> {
    /// A context at `now`.
    pub fn new(now: Moment, waker: &'a Waker, runtime: &'a mut dyn Runtime) -> Self {
        Self { now, due: None, waker, shared: false, runtime }
    }

    /// The time. It stands still within a turn.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// For whoever will be woken by another task: a pipe in memory, a session, a host's own stream.
    pub fn waker(&mut self) -> &Waker {
        self.shared = true;
        self.waker
    }

    /// Poll again at `at` at the latest.
    pub fn wake_at(&mut self, at: Moment, why: &'static str) {
        if self.due.is_none_or(|due| at < due.at) {
            self.due = Some(Due { at, why });
        }
    }

    /// There is more to do, but this turn has done its share. (Time stands still within a turn, so a loop that never ends a turn
    /// never meets its deadline.)
    pub fn again(&mut self) {
        self.wake_at(self.now, "again");
    }

    /// Fills `out` with bytes nobody can guess.
    pub fn entropy(&mut self, out: &mut [u8]) {
        self.runtime.entropy(out);
    }

    /// A context at the same time for something else to be polled, which wakes `waker`; gives what it asked for beside what came of it.
    pub fn nested<R>(&mut self, waker: &Waker, poll: impl FnOnce(&mut Cx<'_>) -> R) -> (R, Option<Due>) {
        let mut cx = Cx { now: self.now, due: None, waker, shared: false, runtime: &mut *self.runtime };
        let out = poll(&mut cx);
        (out, cx.due)
    }

    /// The earliest moment asked for in this turn.
    pub fn due(&self) -> Option<Due> {
        self.due
    }

    /// Whether this turn handed its waker out. If not, and it waits for one descriptor alone, a thread may simply block on that.
    pub fn shared(&self) -> bool {
        self.shared
    }

    /// Tries `op` until it would block, then waits for the descriptor.
    ///
    /// # Errors
    /// Those of `op` and of [`Runtime::poll_ready`].
    #[cfg(feature = "std")]
    pub fn io<T>(
        &mut self,
        watched: &mut Watched,
        want: Interest,
        mut op: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            if !watched.is_armed(want) || self.runtime.may_be_ready(watched, want) {
                match op(watched.as_fd()) {
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                    done => {
                        watched.arm(want, false);
                        return Poll::Ready(done);
                    }
                }
            }
            watched.arm(want, true);
            match self.runtime.poll_ready(watched, want, self.waker) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(e)) => return Poll::Ready(Err(e)),
                Poll::Ready(Ok(())) => watched.arm(want, false),
            }
        }
    }
}

/// Anything a runtime can run to its end: `run(task)` blocks in one runtime and is a future in the other.
pub trait Task {
    /// What it comes to.
    type Out;

    /// Goes on as far as it can. Must not be called again after `Ready`.
    fn poll(&mut self, cx: &mut Cx<'_>) -> core::task::Poll<Self::Out>;
}

/// A task of one function, called until it is ready.
pub fn poll_task<T, F: FnMut(&mut Cx<'_>) -> core::task::Poll<T>>(f: F) -> PollTask<F> {
    PollTask(f)
}

/// See [`poll_task`].
pub struct PollTask<F>(F);

impl<T, F: FnMut(&mut Cx<'_>) -> core::task::Poll<T>> Task for PollTask<F> {
    type Out = T;

    fn poll(&mut self, cx: &mut Cx<'_>) -> core::task::Poll<T> {
        (self.0)(cx)
    }
}
