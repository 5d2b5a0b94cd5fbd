//! The system's errors: one table from which come their names, their words, their codes and the statuses of unmapped ones.

use crate::{Code, Error};

/// One error of the system.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Errno {
    /// Its number in Linux's generic table (that of every architecture but alpha, mips, parisc and sparc).
    pub number: i32,
    /// Its name, such as `ENOSPC`.
    pub name: &'static str,
    /// What it says.
    pub words: &'static str,
    /// The code it crosses the wire as (spec, Errors).
    pub code: Code,
    /// The status of one that is [`Code::Other`].
    pub status: u16,
}

/// Makes [`TABLE`]; a row without a status has that of its code.
macro_rules! errnos {
    ($($number:literal, $name:literal, $words:literal, $code:ident $(, $status:literal)?;)*) => {
        /// Every error, in the order of the numbers.
        pub const TABLE: &[Errno] = &[$(Errno {
            number: $number,
            name: $name,
            words: $words,
            code: Code::$code,
            status: errnos!(@status $code $($status)?),
        },)*];
    };
    (@status $code:ident) => { Code::$code.status() };
    (@status $code:ident $status:literal) => { $status };
}

errnos! {
    1, "EPERM", "operation not permitted", Permission;
    2, "ENOENT", "no such file or directory", NotExist;
    3, "ESRCH", "no such process", Other;
    4, "EINTR", "interrupted system call", Other;
    5, "EIO", "input/output error", Other;
    6, "ENXIO", "no such device or address", Other;
    7, "E2BIG", "argument list too long", Limit;
    8, "ENOEXEC", "exec format error", Other;
    9, "EBADF", "bad file descriptor", Other;
    10, "ECHILD", "no child processes", Other;
    11, "EAGAIN", "resource temporarily unavailable", Other, 503;
    12, "ENOMEM", "cannot allocate memory", Other, 503;
    13, "EACCES", "permission denied", Permission;
    14, "EFAULT", "bad address", Other;
    15, "ENOTBLK", "block device required", Other;
    16, "EBUSY", "device or resource busy", Other;
    17, "EEXIST", "file exists", Exist;
    18, "EXDEV", "invalid cross-device link", Other;
    19, "ENODEV", "no such device", Other;
    20, "ENOTDIR", "not a directory", Invalid;
    21, "EISDIR", "is a directory", Invalid;
    22, "EINVAL", "invalid argument", Invalid;
    23, "ENFILE", "too many open files in system", Other, 503;
    24, "EMFILE", "too many open files", Other, 503;
    25, "ENOTTY", "inappropriate ioctl for device", Other;
    26, "ETXTBSY", "text file busy", Other;
    27, "EFBIG", "file too large", Limit;
    28, "ENOSPC", "no space left on device", Other, 507;
    29, "ESPIPE", "illegal seek", Other;
    30, "EROFS", "read-only file system", Permission;
    31, "EMLINK", "too many links", Other;
    32, "EPIPE", "broken pipe", Other;
    33, "EDOM", "numerical argument out of domain", Other;
    34, "ERANGE", "numerical result out of range", Other;
    35, "EDEADLK", "resource deadlock avoided", Other;
    36, "ENAMETOOLONG", "file name too long", Invalid;
    37, "ENOLCK", "no locks available", Other;
    38, "ENOSYS", "function not implemented", Other;
    39, "ENOTEMPTY", "directory not empty", Exist;
    40, "ELOOP", "too many levels of symbolic links", Invalid;
    42, "ENOMSG", "no message of desired type", Other;
    43, "EIDRM", "identifier removed", Other;
    44, "ECHRNG", "channel number out of range", Other;
    45, "EL2NSYNC", "level 2 not synchronized", Other;
    46, "EL3HLT", "level 3 halted", Other;
    47, "EL3RST", "level 3 reset", Other;
    48, "ELNRNG", "link number out of range", Other;
    49, "EUNATCH", "protocol driver not attached", Other;
    50, "ENOCSI", "no CSI structure available", Other;
    51, "EL2HLT", "level 2 halted", Other;
    52, "EBADE", "invalid exchange", Other;
    53, "EBADR", "invalid request descriptor", Other;
    54, "EXFULL", "exchange full", Other;
    55, "ENOANO", "no anode", Other;
    56, "EBADRQC", "invalid request code", Other;
    57, "EBADSLT", "invalid slot", Other;
    59, "EBFONT", "bad font file format", Other;
    60, "ENOSTR", "device not a stream", Other;
    61, "ENODATA", "no data available", Other;
    62, "ETIME", "timer expired", Other;
    63, "ENOSR", "out of streams resources", Other;
    64, "ENONET", "machine is not on the network", Other;
    65, "ENOPKG", "package not installed", Other;
    66, "EREMOTE", "object is remote", Other;
    67, "ENOLINK", "link has been severed", Other;
    68, "EADV", "advertise error", Other;
    69, "ESRMNT", "srmount error", Other;
    70, "ECOMM", "communication error on send", Other;
    71, "EPROTO", "protocol error", Other;
    72, "EMULTIHOP", "multihop attempted", Other;
    73, "EDOTDOT", "RFS specific error", Other;
    74, "EBADMSG", "bad message", Other;
    75, "EOVERFLOW", "value too large for defined data type", Other;
    76, "ENOTUNIQ", "name not unique on network", Other;
    77, "EBADFD", "file descriptor in bad state", Other;
    78, "EREMCHG", "remote address changed", Other;
    79, "ELIBACC", "can not access a needed shared library", Other;
    80, "ELIBBAD", "accessing a corrupted shared library", Other;
    81, "ELIBSCN", ".lib section in a.out corrupted", Other;
    82, "ELIBMAX", "attempting to link in too many shared libraries", Other;
    83, "ELIBEXEC", "cannot exec a shared library directly", Other;
    84, "EILSEQ", "invalid or incomplete multibyte or wide character", Other;
    85, "ERESTART", "interrupted system call should be restarted", Other;
    86, "ESTRPIPE", "streams pipe error", Other;
    87, "EUSERS", "too many users", Other;
    88, "ENOTSOCK", "socket operation on non-socket", Other;
    89, "EDESTADDRREQ", "destination address required", Other;
    90, "EMSGSIZE", "message too long", Other;
    91, "EPROTOTYPE", "protocol wrong type for socket", Other;
    92, "ENOPROTOOPT", "protocol not available", Other;
    93, "EPROTONOSUPPORT", "protocol not supported", Other;
    94, "ESOCKTNOSUPPORT", "socket type not supported", Other;
    95, "EOPNOTSUPP", "operation not supported", Other;
    96, "EPFNOSUPPORT", "protocol family not supported", Other;
    97, "EAFNOSUPPORT", "address family not supported by protocol", Other;
    98, "EADDRINUSE", "address already in use", Other;
    99, "EADDRNOTAVAIL", "cannot assign requested address", Other;
    100, "ENETDOWN", "network is down", Other;
    101, "ENETUNREACH", "network is unreachable", Other;
    102, "ENETRESET", "network dropped connection on reset", Other;
    103, "ECONNABORTED", "software caused connection abort", Other;
    104, "ECONNRESET", "connection reset by peer", Other;
    105, "ENOBUFS", "no buffer space available", Other;
    106, "EISCONN", "transport endpoint is already connected", Other;
    107, "ENOTCONN", "transport endpoint is not connected", Other;
    108, "ESHUTDOWN", "cannot send after transport endpoint shutdown", Other;
    109, "ETOOMANYREFS", "too many references: cannot splice", Other;
    110, "ETIMEDOUT", "connection timed out", Other;
    111, "ECONNREFUSED", "connection refused", Other;
    112, "EHOSTDOWN", "host is down", Other;
    113, "EHOSTUNREACH", "no route to host", Other;
    114, "EALREADY", "operation already in progress", Other;
    115, "EINPROGRESS", "operation now in progress", Other;
    116, "ESTALE", "stale file handle", Other;
    117, "EUCLEAN", "structure needs cleaning", Other;
    118, "ENOTNAM", "not a XENIX named type file", Other;
    119, "ENAVAIL", "no XENIX semaphores available", Other;
    120, "EISNAM", "is a named type file", Other;
    121, "EREMOTEIO", "remote I/O error", Other;
    122, "EDQUOT", "disk quota exceeded", Other, 507;
    123, "ENOMEDIUM", "no medium found", Other;
    124, "EMEDIUMTYPE", "wrong medium type", Other;
    125, "ECANCELED", "operation canceled", Other;
    126, "ENOKEY", "required key not available", Other;
    127, "EKEYEXPIRED", "key has expired", Other;
    128, "EKEYREVOKED", "key has been revoked", Other;
    129, "EKEYREJECTED", "key was rejected by service", Other;
    130, "EOWNERDEAD", "owner died", Other;
    131, "ENOTRECOVERABLE", "state not recoverable", Other;
    132, "ERFKILL", "operation not possible due to RF-kill", Other;
    133, "EHWPOISON", "memory page has hardware error", Other;
}

/// The error of that number.
pub fn by_number(number: i32) -> Option<&'static Errno> {
    TABLE.binary_search_by_key(&number, |errno| errno.number).ok().and_then(|at| TABLE.get(at))
}

/// The error of that name.
pub fn by_name(name: &str) -> Option<&'static Errno> {
    TABLE.iter().find(|errno| errno.name == name)
}

/// What a Linux error number crosses the wire as: a mapped one as its code alone, any other with the system's words and its name in
/// the details. (`EXDEV` is an unmapped one here: only who resolves a name knows that it means `outside`.)
///
/// ```
/// use farside_wire::{Code, errno};
/// assert_eq!(errno::from_errno(2), Code::NotExist.into());
/// let full = errno::from_errno(28);
/// assert_eq!((full.code, &*full.message(), full.errno()), (Code::Other, "no space left on device", Some("ENOSPC")));
/// ```
pub fn from_errno(number: i32) -> Error {
    match by_number(number) {
        None => Error::other(alloc::format!("errno {number}")),
        Some(errno) if errno.code != Code::Other => errno.code.into(),
        Some(errno) => Error::other(errno.words).with(|details| details.errno = Some(errno.name.into())),
    }
}
