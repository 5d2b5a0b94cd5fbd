//! What the system tells of a process.

use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};
use std::{fs, sync::OnceLock};

/// Where a row's client and servers run: what is started inherits it.
pub(crate) enum Place {
    OneCpu,
    AllCpus,
}

/// Moves this thread, and what it starts from now on.
pub(crate) fn stay(place: Place) {
    static ALL: OnceLock<CpuSet> = OnceLock::new();
    let all = ALL.get_or_init(|| sched_getaffinity(None).unwrap());
    let mut one = CpuSet::new();
    one.set((0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).unwrap());
    let set = match place {
        Place::OneCpu => &one,
        Place::AllCpus => all,
    };
    sched_setaffinity(None, set).unwrap();
}

pub(crate) fn cpus() -> u32 {
    sched_getaffinity(None).unwrap().count()
}

pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// A thousand connections need more than the usual soft limit.
pub(crate) fn raise_descriptors() {
    let hard = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard });
}

/// What the threads of a process that live have spent on a CPU, in seconds.
pub(crate) fn cpu(pid: u32) -> f64 {
    let mut nanos = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
        // A thread may have ended since.
        let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        nanos += text.split(' ').next().and_then(|first| first.parse::<u64>().ok()).unwrap_or(0);
    }
    nanos as f64 / 1e9
}

/// `VmRSS` or `VmHWM` of a process, in KiB.
pub(crate) fn status_kib(pid: u32, key: &str) -> f64 {
    kib(&format!("/proc/{pid}/status"), key)
}

/// `VmHWM` of a process that may have ended.
pub(crate) fn peak_kib(pid: u32) -> Option<f64> {
    find_kib(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?, "VmHWM")
}

/// The proportional share of memory of a process, in KiB.
pub(crate) fn pss_kib(pid: u32) -> f64 {
    kib(&format!("/proc/{pid}/smaps_rollup"), "Pss")
}

/// Forgets the highest `VmHWM` so far.
pub(crate) fn forget_peak(pid: u32) {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
}

fn kib(path: &str, key: &str) -> f64 {
    find_kib(&fs::read_to_string(path).unwrap(), key).unwrap()
}

fn find_kib(text: &str, key: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
