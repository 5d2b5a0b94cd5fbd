//! What connections share: the workspace, who may use it, the bounds, and the execs that run.

use crate::{
    access::Access,
    cx::{Cx, Task},
    lock::Lock,
    wire::{Bounds, Code, Error, Moment, times},
    workspace::Workspace,
};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};
use core::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    task::{Poll, Waker},
    time::Duration,
};

/// Serves one workspace to any number of connections.
///
/// ```
/// # use farside_core::{Access, Handler, Op, Called, Room, Workspace, wire::Scopes};
/// # struct W; impl Workspace for W { fn call(&self, _: Op<'_>, _: &mut dyn Room) -> Called { Called::Now(None) } }
/// # let workspace = W;
/// let handler = Handler::new(workspace, Access::Insecure(Scopes::ALL));
/// # drop(handler);
/// ```
pub struct Handler {
    pub(crate) workspace: Arc<dyn Workspace>,
    pub(crate) access: Access,
    pub(crate) bounds: Bounds,
    pub(crate) lease: Duration,
    /// The name of everybody, where nobody is asked for one.
    pub(crate) local: Arc<str>,
    closing: AtomicBool,
    state: Lock<State>,
}

#[derive(Default)]
struct State {
    transfers: u64,
    next: u64,
    running: BTreeMap<u64, Arc<Running>>,
    keys: BTreeMap<KeyId, Keyed>,
    forget: BTreeSet<(Moment, KeyId)>,
    closers: Vec<Waker>,
}

/// Keys are a principal's: two principals' equal keys are two keys.
type KeyId = (Arc<str>, Box<str>);

enum Keyed {
    Running(u64),
    Ended,
}

/// Ended keys are remembered for one lease, but never more than so many of them (spec, Exec).
const MAX_ENDED_KEYS: usize = 65_536;

impl Handler {
    /// A handler with the default bounds and lease.
    pub fn new(workspace: impl Workspace + 'static, access: Access) -> Arc<Self> {
        Self::with(workspace, access, Bounds::default(), times::LEASE)
    }

    /// A handler that keeps `bounds`, and remembers for `lease` what has to be remembered that long.
    pub fn with(workspace: impl Workspace + 'static, access: Access, bounds: Bounds, lease: Duration) -> Arc<Self> {
        // What the `offset` extension keeps is told by a handler that has it.
        let (bounds, closing, state) =
            (Bounds { replay_bytes: 0, ..bounds }, AtomicBool::new(false), Lock::new(State::default()));
        Arc::new(Self { workspace: Arc::new(workspace), access, bounds, lease, local: "local".into(), closing, state })
    }

    /// Ends every exec politely and starts no other (503 `closed`); everything else is answered until the connections end.
    /// The task is done once all have ended and been answered; if one's reader is behind, once its command has had the time to end.
    pub fn close(self: &Arc<Self>) -> Closed {
        self.closing.store(true, SeqCst);
        let running: Vec<_> = self.state.with(|s| s.running.values().cloned().collect());
        running.iter().for_each(|r| r.cancel());
        Closed { handler: self.clone(), until: None }
    }

    /// Whether [`Handler::close`] was called.
    pub fn is_closing(&self) -> bool {
        self.closing.load(SeqCst)
    }

    /// A place among the transfers: execs, file reads and file writes.
    pub(crate) fn transfer(self: &Arc<Self>) -> Result<Transfer, Error> {
        let max = self.bounds.max_transfers;
        self.state.with(|s| {
            if s.transfers >= max {
                return Err(Error::limit("maxTransfers", max));
            }
            s.transfers += 1;
            Ok(Transfer(self.clone()))
        })
    }

    /// Notes an exec that is about to start, under its key if it has one.
    pub(crate) fn running(self: &Arc<Self>, now: Moment, owner: &Arc<str>, key: Option<&str>) -> Result<Claim, Error> {
        let key = key.map(|k| (owner.clone(), Box::from(k)));
        self.state.with(|s| {
            s.forget_until(now);
            // Looked at under the lock: a close that came before sees no exec, one that comes after sees this one.
            if self.is_closing() {
                return Err(Code::Closed.into());
            }
            let id = s.next;
            if let Some(key) = &key {
                if s.keys.contains_key(key) {
                    return Err(Code::Exist.into());
                }
                s.keys.insert(key.clone(), Keyed::Running(id));
            }
            s.next += 1;
            let running = Arc::new(Running { cancelled: AtomicBool::new(false), waker: Lock::new(None) });
            s.running.insert(id, running.clone());
            Ok(Claim { handler: self.clone(), id, key, running, ran: None })
        })
    }

    /// Cancels the exec that runs under a key of `owner`; one that has ended is cancelled already.
    pub(crate) fn cancel(&self, now: Moment, owner: &Arc<str>, key: &str) -> Result<(), Error> {
        let running = self.state.with(|s| {
            s.forget_until(now);
            match s.keys.get(&(owner.clone(), Box::from(key))) {
                None => Err(Error::from(Code::NotExist)),
                Some(Keyed::Ended) => Ok(None),
                Some(Keyed::Running(id)) => Ok(s.running.get(id).cloned()),
            }
        })?;
        if let Some(running) = running {
            running.cancel();
        }
        Ok(())
    }
}

impl State {
    fn forget_until(&mut self, now: Moment) {
        while let Some((at, key)) = self.forget.first()
            && (*at <= now || self.forget.len() > MAX_ENDED_KEYS)
        {
            self.keys.remove(key);
            self.forget.pop_first();
        }
    }

    fn wake_closers(&mut self) -> Vec<Waker> {
        if self.running.is_empty() { core::mem::take(&mut self.closers) } else { Vec::new() }
    }
}

/// One exec that runs, as others see it.
pub(crate) struct Running {
    cancelled: AtomicBool,
    waker: Lock<Option<Waker>>,
}

impl Running {
    fn cancel(&self) {
        self.cancelled.store(true, SeqCst);
        if let Some(waker) = self.waker.with(Option::take) {
            waker.wake();
        }
    }

    /// Whether it was cancelled; if not, the task is woken when it is.
    pub(crate) fn poll_cancelled(&self, cx: &mut Cx<'_>) -> bool {
        let waker = cx.waker();
        self.waker.with(|w| match w {
            Some(known) if known.will_wake(waker) => {}
            _ => *w = Some(waker.clone()),
        });
        self.cancelled.load(SeqCst)
    }
}

/// An exec's place in the handler, held as long as it runs.
pub(crate) struct Claim {
    handler: Arc<Handler>,
    id: u64,
    key: Option<KeyId>,
    pub(crate) running: Arc<Running>,
    /// When it ended, if it ran: only then its key is spent.
    ran: Option<Moment>,
}

impl Claim {
    /// It runs: from now on its key is spent, for one lease after its end.
    pub(crate) fn ran(&mut self, now: Moment) {
        self.ran = Some(now);
    }

    pub(crate) fn is_keyed(&self) -> bool {
        self.key.is_some()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let wakers = self.handler.state.with(|s| {
            s.running.remove(&self.id);
            if let Some(key) = self.key.take() {
                match self.ran {
                    None => drop(s.keys.remove(&key)),
                    Some(now) => {
                        s.keys.insert(key.clone(), Keyed::Ended);
                        s.forget.insert((now.after(self.handler.lease), key));
                    }
                }
            }
            s.wake_closers()
        });
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// A place among the transfers.
pub(crate) struct Transfer(Arc<Handler>);

impl Drop for Transfer {
    fn drop(&mut self) {
        self.0.state.with(|s| s.transfers -= 1);
    }
}

/// The end of a handler, as a task.
#[must_use = "run it to wait for the end"]
pub struct Closed {
    handler: Arc<Handler>,
    until: Option<Moment>,
}

/// Every rung of a ladder, and then output that others hold open: a command ends sooner.
const LONGEST_END: Duration =
    times::LADDER_STEP.saturating_mul(3).saturating_add(times::KILL_ROUNDS).saturating_add(times::HELD_OUTPUT);

impl Task for Closed {
    type Out = ();

    fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<()> {
        let until = *self.until.get_or_insert(cx.now().after(LONGEST_END));
        cx.wake_at(until, "close");
        let waker = cx.waker().clone();
        self.handler.state.with(|s| {
            if s.running.is_empty() || until <= cx.now() {
                return Poll::Ready(());
            }
            s.closers.push(waker);
            Poll::Pending
        })
    }
}
