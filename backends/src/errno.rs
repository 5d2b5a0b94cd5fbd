//! The system's errors as errors of the wire.

use farside_core::wire::{Error, from_errno};
use rustix::io::Errno;

/// The error of an operation that failed with `errno` (spec, Error codes).
pub(crate) fn failed(errno: Errno) -> Error {
    from_errno(errno.raw_os_error())
}

/// The error of a name that did not resolve. Here, and nowhere else, EXDEV says that it leads out.
#[cfg(feature = "local")]
pub(crate) fn unresolved(errno: Errno) -> Error {
    if errno == Errno::XDEV { farside_core::wire::Code::Outside.into() } else { failed(errno) }
}
