//! A task of the core as a future.

use async_io::{Async, Timer};
use farside_core::{Cx, Due, Interest, Runtime, Task, Watched, wire::Moment};
use rustix::time::{ClockId, clock_gettime};
use std::{
    future::{Future, poll_fn},
    io,
    os::fd::OwnedFd,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

/// The time by the clock that counts suspend (CLOCK_BOOTTIME), so that leases end for a machine that slept.
pub fn now() -> Moment {
    let t = clock_gettime(ClockId::Boottime);
    Moment(t.tv_sec as u64 * 1_000_000 + t.tv_nsec as u64 / 1000)
}

/// Runs a task to its end. Dropping the future cancels it.
pub async fn run<T: Task>(mut task: T) -> T::Out {
    let mut alarm = Alarm::default();
    poll_fn(|c| {
        let mut reactor = Reactor;
        let mut cx = Cx::new(now(), c.waker(), &mut reactor);
        let polled = task.poll(&mut cx);
        let due = cx.due();
        if polled.is_pending() && alarm.poll(due, c).is_ready() {
            // It is to go on at once, after whatever else this thread has to do.
            c.waker().wake_by_ref();
        }
        polled
    })
    .await
}

/// Waits for descriptors by async-io's reactor: the handle that is waited for keeps its registration.
pub(crate) struct Reactor;

impl Runtime for Reactor {
    #[allow(clippy::expect_used, reason = "a system without entropy can make no key that nobody guesses")]
    fn entropy(&mut self, out: &mut [u8]) {
        getrandom::fill(out).expect("the system's entropy");
    }

    /// Whether something was reported, `poll_ready` tells without a call to the system.
    fn may_be_ready(&self, _: &Watched, _: Interest) -> bool {
        false
    }

    fn poll_ready(&mut self, io: &mut Watched, want: Interest, waker: &Waker) -> Poll<io::Result<()>> {
        type Registered = Async<Arc<OwnedFd>>;
        let known = io.registration.take().and_then(|r| r.downcast::<Registered>().ok());
        let registered = match known {
            Some(registered) => registered,
            None => Box::new(Async::new_nonblocking(io.shared().clone())?),
        };
        let mut c = Context::from_waker(waker);
        let ready = match want {
            Interest::Read => registered.poll_readable(&mut c),
            Interest::Write => registered.poll_writable(&mut c),
        };
        io.registration = Some(registered);
        ready
    }
}

/// One timer, moved only when it would come too late; one that comes too early costs a turn.
pub(crate) struct Alarm {
    timer: Timer,
    at: Option<Moment>,
}

impl Default for Alarm {
    fn default() -> Self {
        Self { timer: Timer::never(), at: None }
    }
}

impl Alarm {
    /// `Ready` at `due`, or a little early.
    pub(crate) fn poll(&mut self, due: Option<Due>, c: &mut Context<'_>) -> Poll<()> {
        let (Some(Due { at, .. }), now) = (due, now()) else { return Poll::Pending };
        if at <= now {
            return Poll::Ready(());
        }
        if self.at.is_none_or(|set| set > at || set <= now) {
            self.timer.set_after(Duration::from_micros(at.0 - now.0));
            self.at = Some(at);
        }
        let _ = ready!(Pin::new(&mut self.timer).poll(c));
        self.at = None;
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A task that always has something to do.
    struct Busy<'a> {
        polls: u32,
        until: &'a Cell<bool>,
    }

    impl Task for Busy<'_> {
        type Out = ();

        fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<()> {
            self.polls += 1;
            assert!(self.polls < 1000, "it keeps the thread to itself");
            if self.until.get() {
                return Poll::Ready(());
            }
            cx.again();
            Poll::Pending
        }
    }

    #[test]
    fn a_busy_task_lets_others_have_their_turn() {
        let until = Cell::new(false);
        let other = async { until.set(true) };
        futures_lite::future::block_on(futures_lite::future::zip(run(Busy { polls: 0, until: &until }), other));
    }
}
