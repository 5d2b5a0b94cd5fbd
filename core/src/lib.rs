//! The Farside engine: everything the protocol decides, as pure functions over bytes, values and time.
//!
//! There is no clock, no I/O, no randomness and no thread in here. A runtime moves bytes, waits, and carries out what it is told:
//! [`Connection`] says how. A program calls a [`Workspace`] through [`ops`]; [`Remote`] is one at the far side of a wire.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod access;
mod buf;
pub mod carriage;
pub mod conn;
mod cx;
mod exchange;
#[cfg(feature = "std")]
#[doc(hidden)]
pub mod fuzz;
mod guard;
mod handler;
#[cfg(feature = "std")]
pub mod inprocess;
#[cfg(feature = "std")]
mod io;
pub mod ladder;
mod lock;
pub mod ops;
#[cfg(feature = "std")]
pub mod pipe;
pub mod process;
#[cfg(feature = "std")]
mod remote;
pub mod serve;
mod workspace;

#[cfg(feature = "std")]
pub use buf::FileRange;
pub use farside_wire as wire;
#[cfg(feature = "std")]
pub use handler::Keeper;
#[cfg(feature = "std")]
pub use io::{Interest, Watched};
#[cfg(feature = "std")]
pub use remote::Remote;
pub use {
    access::{Access, AccessError, Authenticator, Principal},
    buf::{RecvBuf, Tx},
    conn::{CloseReason, Connection, Flow},
    cx::{Cx, Due, PollTask, Runtime, Task, poll_task},
    exchange::Exchange,
    handler::{Closed, Handler},
    workspace::*,
};
