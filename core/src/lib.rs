//! The Farside engine.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod cx;
#[cfg(feature = "std")]
pub mod io;
pub mod ladder;
mod lock;
pub mod process;
pub mod workspace;

pub use cx::{Cx, Due, Runtime, Task};
pub use farside_wire as wire;
#[cfg(feature = "std")]
pub use io::{Interest, Watched};
pub use workspace::*;
