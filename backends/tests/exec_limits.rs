//! A start when there is nothing left to start with. Alone in its process: it takes all descriptors away.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

mod support;

use farside_core::{Command, wire::Code};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use support::*;

fn fds() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Takes all descriptors but so many away meanwhile.
fn with_spare<T>(spare: usize, f: impl FnOnce() -> T) -> T {
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), ..before }).unwrap();
    let mut taken: Vec<_> = std::iter::from_fn(|| fs::File::open("/dev/null").ok()).collect();
    taken.truncate(taken.len() - spare);
    let done = f();
    drop(taken);
    setrlimit(Resource::Nofile, before).unwrap();
    done
}

#[test]
fn rx_02_without_descriptors_it_is_refused_and_nothing_is_left() {
    let place = Place::new();
    let command = Command { stdin: "x".into(), ..Command::new(["cat"]) };
    assert_eq!(place.run(&command).text(), ("x", "", 0));
    let before = fds();
    let mut refused = 0;
    for spare in 0.. {
        match with_spare(spare, || start(&place.ws, &command)) {
            Ok(running) => {
                assert_eq!(running.finish().text(), ("x", "", 0));
                break;
            }
            Err(error) => {
                assert_eq!(
                    (error.code, error.errno(), &*error.words),
                    (Code::Other, Some("EMFILE"), "too many open files")
                );
                refused += 1;
            }
        }
        assert_eq!(fds(), before);
        assert_eq!(place.left(), [""; 0]);
        assert_eq!(zombies(), []);
    }
    // A directory, three pipes and the process: each was the one that failed.
    assert!((6..=9).contains(&refused), "{refused}");

    // A command that is ended while there is no descriptor to hold its processes by: it is ended when there is one again.
    let mut running = start(&place.ws, &sh("setsid sh -c 'echo on; exec sleep 1000' & wait")).unwrap();
    running.until_output(3);
    with_spare(0, || {
        running.interrupt();
        assert_eq!(running.go_on(std::time::Duration::from_millis(300), 1000), None);
    });
    let ran = running.finish();
    assert!(ran.exit.interrupted && ran.took < SOON, "{ran:?}");
    place.assert_gone();
    assert_eq!(fds(), before);
}
