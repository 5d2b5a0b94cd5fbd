//! Numbers of processes that come round: nobody else is ever hit.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

mod support;

use farside_core::Command;
use std::{
    io::Read,
    process::{Command as Process, Stdio},
    time::Duration,
};
use support::*;

/// It runs itself again in a namespace that has 400 numbers, below a shell that takes what has no parent.
#[test]
#[ignore = "needs a privilege: a namespace of processes with a /proc of its own"]
fn pr_44_a_number_that_is_given_again_is_not_signalled() {
    if std::env::var_os("WITH_400_NUMBERS").is_none() {
        let me = std::env::current_exe().unwrap();
        let inner = "echo 400 > /proc/sys/kernel/pid_max; \"$0\" --ignored; exit $?";
        let ran = Process::new("unshare")
            .args(["--pid", "--fork", "--mount-proc", "sh", "-c", inner])
            .arg(me)
            .env("WITH_400_NUMBERS", "1")
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"));
        return;
    }
    assert_eq!(std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap(), "400\n");
    // Strangers, many of them short-lived: each says so if it dies by a signal.
    let stranger = "while :; do sh -c 'sh -c :; exit 3'; [ $? = 3 ] || echo hit; done";
    let mut strangers: Vec<_> =
        (0..2).map(|_| Process::new("sh").args(["-c", stranger]).stdout(Stdio::piped()).spawn().unwrap()).collect();
    let place = Place::new();
    let scripts = [
        "true",
        "true & setsid true &",
        "setsid sleep 1000 & true",
        "(setsid sh -c 'true; sleep 1000' &); sleep 0.002",
    ];
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let place = &place;
            scope.spawn(move || {
                for turn in 0..1000 {
                    let command = Command {
                        timeout: Some(Duration::from_millis(turn % 7 + 1)),
                        ..sh(scripts[(thread + turn as usize) % 4])
                    };
                    // A namespace with so few numbers may have none left for a moment.
                    let Ok(mut running) = start(&place.ws, &command) else { continue };
                    match turn % 3 {
                        0 => drop(running.finish()),
                        1 => drop(running),
                        _ => {
                            running.interrupt();
                            running.finish();
                        }
                    }
                }
            });
        }
    });
    for stranger in &mut strangers {
        assert_eq!(stranger.try_wait().unwrap(), None, "it was killed");
        stranger.kill().unwrap();
        let mut told = String::new();
        stranger.stdout.take().unwrap().read_to_string(&mut told).unwrap();
        assert_eq!(told, "");
        stranger.wait().unwrap();
    }
    place.assert_gone();
}
