//! The two things that no safe crate has: a child that carries a mark before it runs, and a look at the mark of a process.
//!
//! `posix_spawn` gives no chance to set a limit in the child, and setting it right after is too late: on a busy machine a shell had
//! started a daemon and was gone before its parent ran again in a quarter of all starts. So the child is made here as `posix_spawn`
//! makes it (`CLONE_VM | CLONE_VFORK`, a stack of its own, all signals blocked), at the same price whatever the caller's size.

#![allow(unsafe_code, reason = "system calls without a safe wrapper; each block says why it is sound")]

use rustix::{io::Errno, process::Pid};
use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    mem::MaybeUninit,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr,
};

/// What is to run, made ready: the child can allocate nothing.
pub(super) struct Plan<'a> {
    /// A path; relative to `dir` unless it is absolute.
    pub(super) program: &'a CStr,
    pub(super) args: &'a [CString],
    pub(super) env: &'a [CString],
    pub(super) dir: BorrowedFd<'a>,
    /// Its three streams. Each descriptor is 3 or more, so that none is written over before it is used.
    pub(super) stdio: [BorrowedFd<'a>; 3],
    /// The streams are a terminal: it leads a session whose terminal that is.
    pub(super) terminal: bool,
    /// The soft limit of real-time CPU time that it starts with, in microseconds.
    pub(super) mark: Option<u64>,
}

/// A child that runs its program.
pub(super) struct Started {
    pub(super) pid: Pid,
    pub(super) pidfd: OwnedFd,
    /// Whether it has its mark: the hard limit may be lower.
    pub(super) marked: bool,
}

/// What the child reads and writes, in memory it has in common with its parent.
struct Shared {
    program: *const c_char,
    args: *const *const c_char,
    env: *const *const c_char,
    dir: c_int,
    stdio: [c_int; 3],
    terminal: bool,
    mark: Option<u64>,
    marked: bool,
    failed: c_int,
}

/// Enough for `execve` and the calls before it, which keep little on the stack; `posix_spawn` takes as much.
const STACK: usize = 32 * 1024;
/// The kernel's signals, real-time ones among them.
const SIGNALS: std::ops::RangeInclusive<c_int> = 1..=64;

/// What the kernel takes for "as a system starts it", with room for its form on every architecture, and the size of a set of signals.
const DEFAULT_ACTION: [u64; 8] = [0; 8];
const SIGNAL_SET: usize = 8;

/// Starts a child in a process group of its own with every signal as a system starts it, nothing blocked, and no descriptor but its
/// three streams.
///
/// # Errors
/// Those of making a process and of running its program. Nothing is left then.
pub(super) fn start(plan: &Plan<'_>) -> Result<Started, Errno> {
    let (args, env) = (pointers(plan.args), pointers(plan.env));
    let mut shared = Shared {
        program: plan.program.as_ptr(),
        args: args.as_ptr(),
        env: env.as_ptr(),
        dir: plan.dir.as_raw_fd(),
        stdio: plan.stdio.map(|fd| fd.as_raw_fd()),
        terminal: plan.terminal,
        mark: plan.mark,
        marked: false,
        failed: 0,
    };
    let mut stack = Box::<[u128]>::new_uninit_slice(STACK / size_of::<u128>());
    let mut pidfd: c_int = -1;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: With CLONE_VFORK this thread does not go on before the child has run its program or is gone, so `shared`, `stack` and what
    // the plan borrows outlive the child's use of them, and nobody uses them at the same time. The stack is the child's alone, and grows
    // down from its end, which is aligned to 16. All signals are blocked meanwhile, so no handler of the caller runs in the child, on
    // memory that is not its own. `in_child` does only what is sound there. The kernel writes the descriptor to `pidfd`.
    let (pid, errno) = unsafe {
        let (mut all, mut before) = (MaybeUninit::<libc::sigset_t>::uninit(), MaybeUninit::<libc::sigset_t>::uninit());
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let top = stack.as_mut_ptr_range().end.cast::<c_void>();
        let pid = libc::clone(in_child, top, flags, (&raw mut shared).cast(), &raw mut pidfd);
        let errno = errno();
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        (pid, errno)
    };
    let Some(pid) = Pid::from_raw(pid.max(0)) else { return Err(Errno::from_raw_os_error(errno)) };
    // SAFETY: The kernel has just made this descriptor for this call.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    if shared.failed == 0 {
        return Ok(Started { pid, pidfd, marked: shared.marked });
    }
    super::kin::reap(&pidfd);
    Err(Errno::from_raw_os_error(shared.failed))
}

/// The strings as C wants a list of them. They must outlive it.
fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or_default()
}

/// Where the child begins. It has its parent's memory, so it allocates nothing, takes no lock, unwinds nowhere and leaves by `_exit`.
extern "C" fn in_child(shared: *mut c_void) -> c_int {
    // SAFETY: It is the `Shared` of `start`, whose thread waits.
    let shared = unsafe { &mut *shared.cast::<Shared>() };
    shared.failed = run(shared);
    // SAFETY: It ends this process and touches no memory.
    unsafe { libc::_exit(127) }
}

/// Runs the program; comes back with the error if it cannot.
fn run(shared: &mut Shared) -> c_int {
    // SAFETY: System calls on the child's own state, with pointers to values that live here or in `shared`. The lists and strings are
    // those of `start`, each ended by a null.
    unsafe {
        for signal in SIGNALS {
            // Not by the C library's `sigaction`, which keeps two to itself that may be ignored too. KILL and STOP cannot be set.
            let none = ptr::null_mut::<c_void>();
            libc::syscall(libc::SYS_rt_sigaction, signal, DEFAULT_ACTION.as_ptr(), none, SIGNAL_SET);
        }
        let leads = if shared.terminal { libc::setsid() >= 0 } else { libc::setpgid(0, 0) == 0 };
        if !leads {
            return errno();
        }
        shared.marked = shared.mark.is_some_and(set_mark);
        if libc::fchdir(shared.dir) != 0 {
            return errno();
        }
        for (to, from) in (0..).zip(shared.stdio) {
            if libc::dup2(from, to) < 0 {
                return errno();
            }
        }
        if shared.terminal && libc::ioctl(0, libc::TIOCSCTTY, 0) != 0 {
            return errno();
        }
        // What others in this process left open without close-on-exec. Where the call is missing (Linux before 5.11), ours are closed still.
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
        let mut none = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
        libc::execve(shared.program, shared.args, shared.env);
    }
    errno()
}

/// A limit as the kernel takes it everywhere.
#[repr(C)]
struct Limit {
    soft: u64,
    hard: u64,
}

/// Sets the soft limit of this process; the hard one stays.
fn set_mark(mark: u64) -> bool {
    let mut limit = Limit { soft: 0, hard: 0 };
    prlimit(0, ptr::null(), &mut limit) == 0 && mark <= limit.hard && {
        limit.soft = mark;
        prlimit(0, &limit, ptr::null_mut()) == 0
    }
}

/// The soft limit of the process or thread `pid`.
///
/// # Errors
/// ESRCH if there is none, EPERM if it is another user's.
pub(super) fn mark_of(pid: i32) -> Result<u64, Errno> {
    let mut limit = Limit { soft: 0, hard: 0 };
    match prlimit(pid, ptr::null(), &mut limit) {
        0 => Ok(limit.soft),
        _ => Err(Errno::from_raw_os_error(errno())),
    }
}

fn prlimit(pid: i32, new: *const Limit, old: *mut Limit) -> libc::c_long {
    // SAFETY: Both are null or point to a limit that outlives the call, in the form of this call on every architecture.
    unsafe { libc::syscall(libc::SYS_prlimit64, pid, libc::RLIMIT_RTTIME, new, old) }
}
