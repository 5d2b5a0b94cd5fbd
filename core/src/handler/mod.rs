//! What connections share: the workspace, who may use it, the bounds, the execs that run, and the sessions.

mod execs;
#[cfg(feature = "std")]
mod held;
#[cfg(feature = "std")]
mod keeper;
#[cfg(feature = "std")]
mod sessions;

pub(crate) use execs::{Claim, Running};
#[cfg(feature = "std")]
pub use keeper::Keeper;
#[cfg(feature = "std")]
pub(crate) use {
    held::{Held, How},
    sessions::{Begin, Found, Place, Starting},
};

use crate::{
    access::Access,
    cx::{Cx, Task},
    lock::Lock,
    wire::{Bounds, Error, Moment, times},
    workspace::Workspace,
};
use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};
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
    #[cfg(feature = "std")]
    sessions: Lock<sessions::Sessions>,
}

#[derive(Default)]
struct State {
    transfers: u64,
    next: u64,
    running: BTreeMap<u64, Arc<Running>>,
    keys: execs::Keys,
    closers: Vec<Waker>,
}

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
        Arc::new(Self {
            workspace: Arc::new(workspace),
            access,
            bounds,
            lease,
            local: "local".into(),
            closing,
            state,
            #[cfg(feature = "std")]
            sessions: Lock::default(),
        })
    }

    /// Ends every exec and every session's processes, and starts no other (503 `closed`); everything else is answered until the
    /// connections end. The task is done once all have ended and every exec was answered; if one's reader is behind, once its command
    /// has had the time to end.
    pub fn close(self: &Arc<Self>) -> Closed {
        self.closing.store(true, SeqCst);
        let running: Vec<_> = self.state.with(|s| s.running.values().cloned().collect());
        running.iter().for_each(|r| r.cancel());
        #[cfg(feature = "std")]
        self.end_sessions();
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
}

impl Handler {
    fn is_idle(&self) -> bool {
        #[cfg(feature = "std")]
        if !self.sessions.with(|s| s.is_empty()) {
            return false;
        }
        self.state.with(|s| s.running.is_empty())
    }

    /// Whoever waits for the end looks again, if this may have been the last thing it waited for.
    fn wake_closers(&self) {
        if self.is_closing() && self.is_idle() {
            self.state.with(|s| core::mem::take(&mut s.closers)).into_iter().for_each(Waker::wake);
        }
    }
}

#[cfg(feature = "std")]
impl Drop for Handler {
    /// The keeper sees that it is over.
    fn drop(&mut self) {
        self.sessions.with(|s| s.inbox.clone()).wake();
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
        self.handler.state.with(|s| s.closers.push(waker));
        if self.handler.is_idle() || until <= cx.now() { Poll::Ready(()) } else { Poll::Pending }
    }
}
