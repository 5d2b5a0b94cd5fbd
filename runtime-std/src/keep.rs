//! The keeper's thread. It looks after many processes and looks at few at a time, so their descriptors stay registered (epoll): a turn
//! costs what happened, not what there is.

use crate::park::{entropy, now};
use farside_core::{Cx, Handler, Interest, Runtime, Task, Watched};
use rustix::{
    event::{
        EventfdFlags, Timespec,
        epoll::{self, CreateFlags, Event, EventData, EventFlags},
        eventfd,
    },
    io::Errno,
};
use std::{
    collections::BTreeMap,
    io,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Mutex, PoisonError},
    task::{Poll, Wake, Waker},
    thread,
};

/// Runs the keeper of `handler` on a thread of its own, until the handler is dropped; once, whatever the number of its listeners.
pub(crate) fn keep(handler: &Arc<Handler>) -> io::Result<()> {
    let Some(mut keeper) = handler.keeper() else { return Ok(()) };
    let mut reactor = Reactor::new()?;
    let waker = Waker::from(reactor.bell.clone());
    thread::Builder::new().name("farside-keeper".into()).stack_size(256 * 1024).spawn(move || {
        loop {
            let mut cx = Cx::new(now(), &waker, &mut reactor);
            if keeper.poll(&mut cx).is_ready() {
                return;
            }
            let due = cx.due().map(|due| due.at.0);
            reactor.wait(due);
        }
    })?;
    Ok(())
}

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

/// Descriptors, and who is woken when one is ready. Each is reported once for each time it is asked for.
struct Reactor {
    epoll: OwnedFd,
    bell: Arc<Bell>,
    next: u64,
    wakers: Arc<Mutex<BTreeMap<u64, Waker>>>,
}

/// A descriptor's place in the reactor, kept by whoever owns the descriptor.
struct Registration {
    token: u64,
    wakers: Arc<Mutex<BTreeMap<u64, Waker>>>,
}

impl Drop for Registration {
    /// The kernel forgets the descriptor itself, which is closed with its owner.
    fn drop(&mut self) {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.token);
    }
}

/// The bell's token.
const BELL: u64 = 0;

impl Reactor {
    fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let bell = Arc::new(Bell(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?));
        epoll::add(&epoll, &bell.0, EventData::new_u64(BELL), EventFlags::IN)?;
        Ok(Self { epoll, bell, next: BELL, wakers: Arc::default() })
    }

    /// Waits for the bell, a descriptor or the moment `due`, and wakes whoever asked for what is ready.
    fn wait(&self, due: Option<u64>) {
        let left = due.map(|at| at.saturating_sub(now().0));
        let left = left.map(|us| Timespec { tv_sec: (us / 1_000_000) as i64, tv_nsec: (us % 1_000_000 * 1000) as i64 });
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; 64];
        // An interrupted wait is a turn too early, which does no harm.
        let n = epoll::wait(&self.epoll, &mut events, left.as_ref()).unwrap_or(0);
        for event in &events[..n] {
            let token = event.data.u64();
            if token == BELL {
                let _ = rustix::io::read(&self.bell.0, &mut [0u8; 8]);
            } else if let Some(waker) = self.wakers.lock().unwrap_or_else(PoisonError::into_inner).remove(&token) {
                waker.wake();
            }
        }
    }
}

impl Runtime for Reactor {
    fn entropy(&mut self, out: &mut [u8]) {
        entropy(out);
    }

    fn poll_ready(&mut self, io: &mut Watched, want: Interest, waker: &Waker) -> Poll<io::Result<()>> {
        let flags = match want {
            Interest::Read => EventFlags::IN,
            Interest::Write => EventFlags::OUT,
        } | EventFlags::ONESHOT;
        let known = io.registration.as_ref().and_then(|r| r.downcast_ref::<Registration>()).map(|r| r.token);
        let token = known.unwrap_or_else(|| {
            self.next += 1;
            self.next
        });
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).insert(token, waker.clone());
        let data = EventData::new_u64(token);
        let armed = match known {
            Some(_) => epoll::modify(&self.epoll, io.as_fd(), data, flags),
            None => epoll::add(&self.epoll, io.as_fd(), data, flags),
        };
        io.registration.get_or_insert_with(|| Box::new(Registration { token, wakers: self.wakers.clone() }));
        match armed {
            Ok(()) => Poll::Pending,
            Err(Errno::INTR) => Poll::Ready(Ok(())),
            Err(e) => Poll::Ready(Err(e.into())),
        }
    }
}
