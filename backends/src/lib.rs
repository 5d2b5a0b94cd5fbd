//! Workspaces for Farside: [`Local`], a directory of this machine, and [`Memory`], a tree that lives in the process; and the
//! sockets that a client dials ([`socket`]).
#![deny(unsafe_code)]

#[cfg(feature = "local")]
mod command;
mod errno;
#[cfg(all(feature = "local", target_os = "linux"))]
pub mod local;
#[cfg(feature = "local")]
pub mod memory;
pub mod socket;
#[cfg(feature = "local")]
mod walk;

#[cfg(all(feature = "local", target_os = "linux"))]
pub use local::Local;
#[cfg(feature = "local")]
pub use memory::Memory;
