//! What `/proc` says of the processes there are.

use rustix::{
    fd::OwnedFd,
    fs::{CWD, Mode, OFlags, RawDir, openat},
    io::{Errno, pread, read},
};
use std::{mem::MaybeUninit, str::FromStr, sync::OnceLock};

/// As much of `/proc/PID/stat` as is looked at. A process is told from a later one of its number by its start.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Stat {
    pub(super) parent: i32,
    pub(super) group: i32,
    /// In ticks since the system's start.
    pub(super) start: u64,
}

impl Stat {
    /// That of the process `pid`.
    ///
    /// # Errors
    /// Those of reading the file: ENOENT or ESRCH if there is no such process.
    pub(super) fn read(pid: i32) -> Result<Self, Errno> {
        let mut room = [0; 1024];
        let n = read(open(&format!("/proc/{pid}/stat"), OFlags::RDONLY)?, &mut room)?;
        room.get(..n).and_then(Self::parse).ok_or(Errno::SRCH)
    }

    /// The second field is the program's name in parentheses, and may have anything in it.
    fn parse(text: &[u8]) -> Option<Self> {
        let name = text.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(text.get(name + 1..)?).ok()?.split_ascii_whitespace().skip(1);
        Some(Self { parent: next(&mut fields)?, group: next(&mut fields)?, start: next(fields.skip(16))? })
    }
}

fn next<'a, T: FromStr>(mut fields: impl Iterator<Item = &'a str>) -> Option<T> {
    fields.next()?.parse().ok()
}

/// The number that was given last to a process or thread, in the namespace of this process. Numbers are given in rising order, and
/// start over at [`pid_max`].
pub(super) fn last_pid() -> Option<i32> {
    static LOADAVG: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let file = LOADAVG.get_or_init(|| open("/proc/loadavg", OFlags::RDONLY).ok()).as_ref()?;
    let mut room = [0; 128];
    let n = pread(file, &mut room, 0).ok()?;
    next(std::str::from_utf8(room.get(..n)?).ok()?.split_ascii_whitespace().skip(4))
}

/// Numbers of processes are less than this.
pub(super) fn pid_max() -> Option<u32> {
    static PID_MAX: OnceLock<Option<u32>> = OnceLock::new();
    *PID_MAX.get_or_init(|| next(std::fs::read_to_string("/proc/sys/kernel/pid_max").ok()?.split_ascii_whitespace()))
}

/// Calls `each` with the number of every process, in rising order.
///
/// # Errors
/// Those of listing `/proc`.
pub(super) fn each_pid(mut each: impl FnMut(i32)) -> Result<(), Errno> {
    let dir = open("/proc", OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut room = [const { MaybeUninit::uninit() }; 8192];
    let mut entries = RawDir::new(dir, &mut room);
    while let Some(entry) = entries.next() {
        if let Some(pid) = entry?.file_name().to_str().ok().and_then(|name| name.parse().ok()) {
            each(pid);
        }
    }
    Ok(())
}

fn open(path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_s_name_may_have_anything_in_it() {
        let text = b"42 (a) b (c)) S 7 9 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 999 1\n";
        assert_eq!(Stat::parse(text), Some(Stat { parent: 7, group: 9, start: 12345 }));
        assert_eq!(Stat::parse(b"42 (a) S 7"), None);
        assert_eq!(Stat::parse(b""), None);
    }

    #[test]
    fn this_process_is_among_all() {
        let me = std::process::id() as i32;
        let mut seen = Vec::new();
        each_pid(|pid| seen.push(pid)).unwrap();
        assert!(seen.contains(&me));
        assert_eq!(Stat::read(me).map(|stat| stat.parent), Ok(std::os::unix::process::parent_id() as i32));
        assert!(last_pid().unwrap() > 0 && pid_max().unwrap() > 300);
    }
}
