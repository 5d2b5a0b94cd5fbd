//! Workspaces for Farside: [`Local`], a directory of this machine, and [`Memory`], a tree that lives in the process.
#![deny(unsafe_code)]

mod errno;
#[cfg(target_os = "linux")]
pub mod local;
pub mod memory;
pub mod socket;
mod walk;

#[cfg(target_os = "linux")]
pub use local::Local;
pub use memory::Memory;
