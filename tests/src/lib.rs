//! Vectors, the conformance suite, interop and benches of Farside.

pub mod conformance;
pub mod disk;
pub mod http1;
pub mod recorder;
pub mod replies;
pub mod requests;
pub mod served;
pub mod spawned;
pub mod virtual_time;

/// The README's examples, as they stand.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}
