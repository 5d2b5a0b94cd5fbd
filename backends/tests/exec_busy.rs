//! A machine that has no time for this process: its commands run on before it does.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use support::*;

/// The shell has started a daemon and is gone before its starter has a processor again, in a quarter of the rounds.
#[test]
fn pr_02_what_is_started_at_once_is_found_on_a_busy_machine() {
    let busy = AtomicBool::new(true);
    let left = std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while busy.load(Relaxed) {
                    spin_loop();
                }
            });
        }
        let place = Place::new();
        let round = |_| {
            let ran = place.sh("(setsid sleep 1000 >/dev/null 2>&1 &)");
            (ran.exit.code, place.left())
        };
        let left: Vec<_> = (0..50).map(round).filter(|round| *round != (0, Vec::new())).collect();
        busy.store(false, Relaxed);
        left
    });
    assert_eq!(left, []);
}
