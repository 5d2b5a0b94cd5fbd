//! The system's errors as errors of the wire.

use farside_core::wire::{Code, Error};
use rustix::io::Errno;

/// The error of an operation that failed with `errno` (spec, Error codes). One that has no code of its own says the system's text and
/// name, and nothing else: no path gets into it.
pub(crate) fn failed(errno: Errno) -> Error {
    match errno {
        Errno::NOENT => Code::NotExist.into(),
        Errno::EXIST | Errno::NOTEMPTY => Code::Exist.into(),
        Errno::ACCESS | Errno::PERM | Errno::ROFS => Code::Permission.into(),
        Errno::NOTDIR | Errno::ISDIR | Errno::LOOP | Errno::NAMETOOLONG | Errno::INVAL => Code::Invalid.into(),
        Errno::TOOBIG | Errno::FBIG => Code::Limit.into(),
        _ => other(errno),
    }
}

/// The error of a name that did not resolve. Here, and nowhere else, EXDEV says that it leads out.
pub(crate) fn unresolved(errno: Errno) -> Error {
    if errno == Errno::XDEV { Code::Outside.into() } else { failed(errno) }
}

fn other(errno: Errno) -> Error {
    let text = std::io::Error::from(errno).to_string();
    let text = text.split(" (os error").next().unwrap_or_default().to_owned();
    let error = Error::other(text);
    match name(errno) {
        Some(name) => error.with(|details| details.errno = Some(name.into())),
        None => error,
    }
}

/// Makes [`name`] from the constants' own names.
macro_rules! names {
    ($($errno:ident $name:literal)*) => {
        /// The system's name of `errno`, of those that a workspace meets and that no code stands for.
        fn name(errno: Errno) -> Option<&'static str> {
            match errno {
                $(Errno::$errno => Some($name),)*
                _ => None,
            }
        }
    };
}

names! {
    ADDRNOTAVAIL "EADDRNOTAVAIL" AGAIN "EAGAIN" BADF "EBADF" BUSY "EBUSY" CONNABORTED "ECONNABORTED" CONNREFUSED "ECONNREFUSED"
    CONNRESET "ECONNRESET" DQUOT "EDQUOT" HOSTUNREACH "EHOSTUNREACH" INTR "EINTR" IO "EIO" LIBBAD "ELIBBAD" MFILE "EMFILE"
    MLINK "EMLINK" NETUNREACH "ENETUNREACH" NFILE "ENFILE" NODEV "ENODEV" NOEXEC "ENOEXEC" NOLCK "ENOLCK" NOMEM "ENOMEM"
    NOSPC "ENOSPC" NOSYS "ENOSYS" NOTSUP "ENOTSUP" NXIO "ENXIO" OVERFLOW "EOVERFLOW" PIPE "EPIPE" STALE "ESTALE" TIMEDOUT "ETIMEDOUT"
    TXTBSY "ETXTBSY" XDEV "EXDEV"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unmapped_error_says_its_text_and_its_name() {
        let error = failed(Errno::NOSPC);
        assert_eq!((error.code, &*error.words, error.errno()), (Code::Other, "No space left on device", Some("ENOSPC")));
    }

    #[test]
    fn only_a_resolve_leads_outside() {
        assert_eq!(unresolved(Errno::XDEV).code, Code::Outside);
        assert_eq!(failed(Errno::XDEV).errno(), Some("EXDEV"));
        assert_eq!(unresolved(Errno::LOOP), failed(Errno::LOOP));
    }
}
