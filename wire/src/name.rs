//! Names of files: relative to the root, `/` between elements, `.` alone for the root (spec, Requests in general).

use crate::{Code, Error};

/// Checks a name's form: elements split by `/`, none empty, `.` or `..`, no `/` at either end; `.` alone is the root.
///
/// # Errors
/// NUL is `invalid` before all else; then `outside` for a name that is absolute or climbs out at any point; every other bad name
/// is `invalid`.
///
/// ```
/// use farside_wire::{Code, name};
/// assert!(name::check("a/b").is_ok());
/// assert_eq!(name::check("a/../../b").unwrap_err().code, Code::Outside);
/// assert_eq!(name::check("a/../b").unwrap_err().code, Code::Invalid);
/// ```
pub fn check(name: &str) -> Result<(), Error> {
    let invalid = || Error::invalid("name");
    if name.bytes().any(|byte| byte == 0) {
        return Err(invalid());
    }
    if name.starts_with('/') {
        return Err(Code::Outside.into());
    }
    let (mut depth, mut good) = (0usize, true);
    for element in name.split('/') {
        match element {
            "" | "." => good = false,
            ".." => (depth, good) = (depth.checked_sub(1).ok_or(Code::Outside)?, false),
            _ => depth += 1,
        }
    }
    if good || name == "." { Ok(()) } else { Err(invalid()) }
}

/// Checks a name that came as bytes.
///
/// # Errors
/// `invalid` for bytes that are not UTF-8, else as [`check`].
pub fn check_bytes(name: &[u8]) -> Result<&str, Error> {
    let name = core::str::from_utf8(name).map_err(|_| Error::invalid("name"))?;
    check(name).map(|()| name)
}

/// The last element of a checked name; of the root, `.`.
pub fn last(name: &str) -> &str {
    split(name).1
}

/// The directory of a checked name and its last element in there: `a/b/c` is `a/b` and `c`, `c` is `.` and `c`, the root `.` and `.`.
pub fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or((".", name))
}
