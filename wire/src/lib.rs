//! The Farside protocol as code: what a port to another language has to reproduce, and nothing else.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod base_url;
pub mod code;
pub mod error;
#[doc(hidden)]
pub mod fuzz;
pub mod host;
pub mod http;
pub mod out;
pub mod target;

pub use code::Code;
pub use error::{Details, Error};
pub use out::Out;
