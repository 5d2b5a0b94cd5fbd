//! Vectors, the conformance suite, interop and benches of Farside.

pub mod http1;
