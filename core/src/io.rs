//! Descriptors that somebody waits for, and the place where a runtime keeps its registration of one.

use alloc::{boxed::Box, sync::Arc};
use core::any::Any;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Which way a descriptor is to become ready.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Interest {
    /// Something to read, or its end.
    Read,
    /// Room to write.
    Write,
}

/// A descriptor in non-blocking mode. The handle that polls it owns both it and its registration; nothing is global.
pub struct Watched {
    fd: Arc<OwnedFd>,
    /// Filled by the first runtime that has to wait for it.
    pub registration: Option<Box<dyn Any + Send + Sync>>,
    armed: [bool; 2],
}

impl Watched {
    /// Takes a descriptor that is in non-blocking mode already.
    pub fn new(fd: OwnedFd) -> Self {
        Self { fd: Arc::new(fd), registration: None, armed: [false; 2] }
    }

    /// The descriptor, for a registration that outlives a turn.
    pub fn shared(&self) -> &Arc<OwnedFd> {
        &self.fd
    }

    pub(crate) fn is_armed(&self, want: Interest) -> bool {
        self.armed[want as usize]
    }

    pub(crate) fn arm(&mut self, want: Interest, on: bool) {
        self.armed[want as usize] = on;
    }
}

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
