//! The execs that run, and their keys.

use super::Handler;
use crate::{
    cx::Cx,
    lock::Lock,
    wire::{Code, Error, Moment},
};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use core::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    task::Waker,
};

/// Keys are a principal's: two principals' equal keys are two keys.
type KeyId = (Arc<str>, Box<str>);

/// The keys that are known, and when those that ended are forgotten.
#[derive(Default)]
pub(super) struct Keys {
    known: BTreeMap<KeyId, Keyed>,
    forget: BTreeSet<(Moment, KeyId)>,
}

enum Keyed {
    Running(u64),
    Ended,
}

/// Ended keys are remembered for one lease, but never more than so many of them (spec, Exec).
const MAX_ENDED_KEYS: usize = 65_536;

impl Handler {
    /// Notes an exec that is about to start, under its key if it has one.
    pub(crate) fn running(self: &Arc<Self>, now: Moment, owner: &Arc<str>, key: Option<&str>) -> Result<Claim, Error> {
        let key = key.map(|k| (owner.clone(), Box::from(k)));
        self.state.with(|s| {
            s.keys.forget_until(now);
            // Looked at under the lock: a close that came before sees no exec, one that comes after sees this one.
            if self.is_closing() {
                return Err(Code::Closed.into());
            }
            let id = s.next;
            if let Some(key) = &key {
                if s.keys.known.contains_key(key) {
                    return Err(Code::Exist.into());
                }
                s.keys.known.insert(key.clone(), Keyed::Running(id));
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
            s.keys.forget_until(now);
            match s.keys.known.get(&(owner.clone(), Box::from(key))) {
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

impl Keys {
    fn forget_until(&mut self, now: Moment) {
        while let Some((at, key)) = self.forget.first()
            && (*at <= now || self.forget.len() > MAX_ENDED_KEYS)
        {
            self.known.remove(key);
            self.forget.pop_first();
        }
    }
}

/// One exec that runs, as others see it.
pub(crate) struct Running {
    cancelled: AtomicBool,
    waker: Lock<Option<Waker>>,
}

impl Running {
    pub(super) fn cancel(&self) {
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
        self.handler.state.with(|s| {
            s.running.remove(&self.id);
            if let Some(key) = self.key.take() {
                match self.ran {
                    None => drop(s.keys.known.remove(&key)),
                    Some(now) => {
                        s.keys.known.insert(key.clone(), Keyed::Ended);
                        s.keys.forget.insert((now.after(self.handler.lease), key));
                    }
                }
            }
        });
        self.handler.wake_closers();
    }
}
