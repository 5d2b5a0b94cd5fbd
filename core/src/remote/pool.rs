//! Connections that wait for their next request.

use super::{Inner, link::Link};
use crate::{cx::Cx, lock::Lock, wire::Error};
use alloc::vec::Vec;

/// So many idle connections are kept, those that were used last.
const MAX_IDLE: usize = 16;

/// The idle connections, the one that was used last at the end.
pub(super) struct Pool(Lock<Vec<Link>>);

impl Default for Pool {
    fn default() -> Self {
        Self(Lock::new(Vec::new()))
    }
}

impl Inner {
    /// A connection for a request: one that is idle and lives, or a new one. An idle one on which anything was received, its end or a
    /// byte, is dropped: those bytes would be taken for the next reply.
    pub(super) fn connect(&self, cx: &mut Cx<'_>) -> Result<Link, Error> {
        while let Some(mut link) = self.idle.0.with(Vec::pop) {
            if link.is_quiet(cx) {
                return Ok(link);
            }
        }
        self.dial()
    }

    /// A new connection.
    pub(super) fn dial(&self) -> Result<Link, Error> {
        self.dial.dial().map(Link::new)
    }

    /// Takes back a connection whose exchange is over, if it can carry another.
    pub(super) fn give_back(&self, link: Link) {
        let Some(link) = link.rested() else { return };
        // What is dropped is dropped outside of the lock: closing a connection may take a moment.
        let _oldest = self.idle.0.with(|idle| {
            idle.push(link);
            (idle.len() > MAX_IDLE).then(|| idle.remove(0))
        });
    }
}
