//! The Farside protocol as code: what a port to another language has to reproduce, and nothing else.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod base64;
pub mod base_url;
pub mod bounds;
pub mod code;
pub mod envelope;
pub mod errno;
pub mod error;
pub mod exec;
pub mod file;
pub mod frame;
#[doc(hidden)]
pub mod fuzz;
pub mod host;
pub mod http;
pub mod id;
pub mod info;
pub mod json;
pub mod lifecycle;
pub mod mode;
pub mod name;
pub mod out;
pub mod process;
pub mod query;
pub mod route;
pub mod scope;
pub mod servers;
pub mod session;
pub mod signal;
pub mod target;
pub mod time;
pub mod times;

pub use bounds::Bounds;
pub use code::Code;
pub use envelope::{parse_error, status_of, write_error, write_error_object};
pub use errno::from_errno;
pub use error::{Details, Error};
pub use exec::{ExecRequest, Output};
pub use file::{FileInfo, Listing, Meta};
pub use frame::{Channel, Frame, Line};
pub use id::Id;
pub use info::{Descriptor, Info, Reach};
pub use mode::FileMode;
pub use out::Out;
pub use process::WaitStatus;
pub use query::Query;
pub use route::{Route, RouteId};
pub use scope::{Scope, Scopes};
pub use signal::Signal;
pub use time::{Moment, Timestamp};
