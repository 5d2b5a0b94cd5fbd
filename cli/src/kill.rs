//! The end at once: what the server started is not left behind when it does not wait for it.

use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group, set_child_subreaper};
use std::{fs, thread, time::Duration};

/// So many rounds: each finds what the one before it orphaned.
const ROUNDS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// Kills every process that comes from this one, as far as they can be found by parentage: their parents die first, and from now on
/// orphans come to this process.
pub(crate) fn everything_of_ours() {
    // Without it the children are reached and what they had made is not.
    let _ = set_child_subreaper(Some(getpid()));
    for _ in 0..ROUNDS {
        let children = children();
        if children.is_empty() {
            return;
        }
        for pid in children {
            // A command leads a group of its own; one that is gone is what was wanted.
            let _ = kill_process_group(pid, Signal::KILL);
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(PAUSE);
    }
}

/// This process's children that are not dead yet.
fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().get().to_string();
    let pids = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let alive = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Its name stands in parentheses and may hold anything; state and parent come behind it.
        let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        fields.next().is_some_and(|state| !matches!(state, "Z" | "X")) && fields.next() == Some(&own)
    };
    pids.filter(alive).filter_map(Pid::from_raw).collect()
}
