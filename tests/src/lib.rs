//! Vectors, the conformance suite, interop and benches of Farside.

pub mod conformance;
pub mod http1;
pub mod replies;
pub mod virtual_time;
