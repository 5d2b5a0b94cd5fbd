//! The one task beside the connections: it waits for exits, climbs ladders, and lets leases lapse.

use super::{Handler, held::Held};
use crate::{
    cx::{Cx, Task},
    lock::Lock,
    wire::{Moment, times::STDERR_GRACE},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Weak},
    task::Wake,
    vec::Vec,
};
use core::task::{Poll, Waker};

/// What the keeper is to look at.
pub(crate) struct Inbox(Lock<Mail>);

#[derive(Default)]
struct Mail {
    new: Vec<Arc<Held>>,
    ready: Vec<u64>,
    /// A lease is due sooner than the keeper knows.
    waker: Option<Waker>,
}

impl Inbox {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Lock::new(Mail::default())))
    }

    /// A process to look after.
    pub(super) fn add(&self, held: Arc<Held>) {
        self.change(|mail| mail.new.push(held));
    }

    /// A process has a reason to be looked at.
    pub(super) fn ring(&self, number: u64) {
        self.change(|mail| mail.ready.push(number));
    }

    /// Something else changed: a lease.
    pub(super) fn wake(&self) {
        self.change(|_| {});
    }

    fn change(&self, change: impl FnOnce(&mut Mail)) {
        let waker = self.0.with(|mail| {
            change(mail);
            mail.waker.take()
        });
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Wakes the keeper for one process.
struct Bell {
    number: u64,
    inbox: Weak<Inbox>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        if let Some(inbox) = self.inbox.upgrade() {
            inbox.ring(self.number);
        }
    }
}

/// Looks after the sessions of a handler and their processes, until the handler is dropped. Whoever drives connections runs it beside
/// them: without it no process is seen to end, and no lease lapses.
///
/// What it costs grows with what happens, not with how many processes and sessions there are.
#[must_use = "a task does nothing until it is run"]
pub struct Keeper {
    handler: Weak<Handler>,
    inbox: Arc<Inbox>,
    kept: BTreeMap<u64, Kept>,
    due: BTreeSet<(Moment, u64)>,
    /// From which number on the next poll looks.
    turn: u64,
}

struct Kept {
    held: Arc<Held>,
    bell: Waker,
    due: Option<Moment>,
    ended: bool,
}

/// So many processes are looked at in one poll, each in milliseconds where many run; then others have theirs, and leases that are due.
const BATCH: usize = 16;

impl Keeper {
    pub(super) fn new(handler: &Arc<Handler>, inbox: Arc<Inbox>) -> Self {
        Self { handler: Arc::downgrade(handler), inbox, kept: BTreeMap::new(), due: BTreeSet::new(), turn: 0 }
    }

    /// Looks after one process.
    fn look(&mut self, cx: &mut Cx<'_>, handler: &Handler, number: u64) {
        let Some(kept) = self.kept.get_mut(&number) else { return };
        if let Some(at) = kept.due.take() {
            self.due.remove(&(at, number));
        }
        if !kept.ended {
            let Kept { held, bell, .. } = kept;
            let (ended, due) = cx.nested(bell, |cx| held.poll_exit(cx));
            kept.due = due.map(|due| due.at);
            if ended {
                kept.ended = true;
                kept.due = None;
                handler.process_ended(&kept.held);
            }
        }
        if kept.ended
            && let Some(since) = kept.held.over_since()
        {
            let until = since.after(STDERR_GRACE);
            if until <= cx.now() {
                kept.held.forget();
                self.kept.remove(&number);
                return;
            }
            kept.due = Some(until);
        }
        if let Some(at) = kept.due {
            self.due.insert((at, number));
        }
    }
}

impl Task for Keeper {
    type Out = ();

    fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<()> {
        let Some(handler) = self.handler.upgrade() else { return Poll::Ready(()) };
        let waker = cx.waker().clone();
        let (new, mut ready) = self.inbox.0.with(|mail| {
            mail.waker = Some(waker);
            (core::mem::take(&mut mail.new), core::mem::take(&mut mail.ready))
        });
        for held in new {
            let number = held.number;
            let bell = Waker::from(Arc::new(Bell { number, inbox: Arc::downgrade(&self.inbox) }));
            self.kept.insert(number, Kept { held, bell, due: None, ended: false });
            ready.push(number);
        }
        let lease = handler.lapse(cx.now());
        while let Some((at, number)) = self.due.first().copied()
            && at <= cx.now()
        {
            self.due.pop_first();
            ready.push(number);
        }
        ready.sort_unstable();
        ready.dedup();
        // In turn: those that are due again and again keep nobody waiting.
        let first = ready.partition_point(|number| *number < self.turn);
        ready.rotate_left(first);
        let rest = ready.split_off(ready.len().min(BATCH));
        self.turn = ready.last().map_or(0, |last| last + 1);
        for number in ready {
            self.look(cx, &handler, number);
        }
        if !rest.is_empty() {
            self.inbox.0.with(|mail| mail.ready.extend(rest));
            cx.again();
        }
        for number in handler.gone() {
            let Some(kept) = self.kept.remove(&number) else { continue };
            kept.held.session_over(cx.now());
            if let Some(at) = kept.due {
                self.due.remove(&(at, number));
            }
        }
        for (at, why) in [(lease, "lease"), (self.due.first().map(|d| d.0), "process")] {
            if let Some(at) = at {
                cx.wake_at(at, why);
            }
        }
        Poll::Pending
    }
}
