//! A workspace that notes what it is asked to do.

use farside_core::{Called, Op, Room, Workspace};
use std::sync::{Arc, Mutex, PoisonError};

/// Notes every operation but the one that tells what the workspace is, and passes it on.
pub struct Recorder<W> {
    inner: W,
    ops: Notes,
}

/// What was asked for, in order.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    /// What was noted since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<W: Workspace> Recorder<W> {
    /// The workspace, and where its operations are noted.
    pub fn new(inner: W) -> (Self, Notes) {
        let ops = Notes::default();
        (Self { inner, ops: ops.clone() }, ops)
    }
}

impl<W: Workspace> Workspace for Recorder<W> {
    fn call(&self, op: Op<'_>, room: &mut dyn Room) -> Called {
        if op != Op::About {
            self.ops.0.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{op:?}"));
        }
        self.inner.call(op, room)
    }
}
