//! The mark that a command and everything it starts carry, by which it is found again.

use super::sys;
use rustix::io::Errno;
use std::sync::OnceLock;

/// A soft limit of real-time CPU time (`RLIMIT_RTTIME`, microseconds) that nobody else has.
///
/// A limit is inherited by whatever is started, however: in the background, in a session of its own, with an empty environment. It can
/// be read of any process of the same user. This one limits nothing: it is over 146,000 years, and counts only for real-time scheduling.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Mark(u64);

/// Marks are 2^62 and more, below what stands for "no limit".
const BASE: u64 = 1 << 62;
/// Above this many bits of a mark, what all marks of this process have in common.
const OWN_BITS: u32 = 32;

impl Mark {
    /// A new one; `None` if the system has no entropy. (No counter: a process that was forked would count on as its parent does.)
    pub(super) fn new() -> Option<Self> {
        static COMMON: OnceLock<Option<u32>> = OnceLock::new();
        let common = u64::from((*COMMON.get_or_init(|| getrandom::u32().ok()))? >> 2);
        Some(Self(BASE | common << OWN_BITS | u64::from(getrandom::u32().ok()?)))
    }

    /// The limit it is.
    pub(super) fn limit(self) -> u64 {
        self.0
    }

    /// Whether the process or thread `pid` carries `mark`.
    ///
    /// # Errors
    /// ESRCH if there is none, EPERM if it is another user's.
    pub(super) fn on(pid: i32, mark: Option<Self>) -> Result<Carries, Errno> {
        let limit = sys::mark_of(pid)?;
        Ok(match mark {
            Some(mark) if limit == mark.0 => Carries::This,
            Some(mark) if limit >> OWN_BITS == mark.0 >> OWN_BITS => Carries::Sibling,
            _ => Carries::None,
        })
    }
}

/// Which mark a process carries.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Carries {
    /// The one asked for.
    This,
    /// That of another command of this process.
    Sibling,
    /// None, or one that is not known here.
    None,
}
