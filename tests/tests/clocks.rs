//! The runtimes keep the times that the core asks for. (What those times are is tested on a virtual clock.)
#![allow(clippy::unwrap_used, reason = "a test")]

use farside_tests::{
    disk::Disk,
    replies::{replies, statuses},
    requests::Request,
    served::{SOON, Served, on_both, rest},
};
use std::{
    io::Write,
    thread,
    time::{Duration, Instant},
};

const SECOND: Duration = Duration::from_secs(1);

/// What it took is what it should, with whatever a busy machine puts on top.
fn about(what: &str, began: Instant, wanted: Duration) {
    let took = began.elapsed();
    assert!(took >= wanted - SECOND / 10 && took < wanted + SOON / 2, "{what}: {took:?}");
}

#[test]
fn rx_05_a_head_that_does_not_come_or_drips_is_given_up() {
    on_both(|runner| {
        let disk = Disk::new();
        let served = Served::new(runner, disk.handler.clone());
        thread::scope(|scope| {
            for start in ["", "GET /v1/info HTTP/1.1\r\nHost: localhost\r\nX: "] {
                scope.spawn(|| {
                    let began = Instant::now();
                    let out = rest(&served.send(start.as_bytes()));
                    about(start, began, 10 * SECOND);
                    assert_eq!(statuses(&out), if start.is_empty() { vec![] } else { vec![408] });
                });
            }
            scope.spawn(|| {
                let (began, mut sock) = (Instant::now(), served.send(b"GET /v1/info HTTP/1.1\r\nX: "));
                while began.elapsed() < 40 * SECOND && sock.write_all(b"x").is_ok() {
                    thread::sleep(SECOND / 2);
                }
                assert_eq!(statuses(&rest(&sock)), [408], "{runner:?}");
                about("drips", began, 10 * SECOND);
            });
            // The last reply of a connection, behind which what still comes is dropped for a while.
            scope.spawn(|| {
                let began = Instant::now();
                let mut sock = served.send(b"not http at all\r\n\r\n");
                while began.elapsed() < 40 * SECOND && sock.write_all(b"x").is_ok() {
                    thread::sleep(SECOND / 20);
                }
                about("drained", began, 2 * SECOND);
                assert_eq!(statuses(&rest(&sock)), [400], "{runner:?}");
            });
        });
    });
}

#[test]
fn f4_a_command_without_input_that_pauses_gives_all_its_output() {
    on_both(|runner| {
        let disk = Disk::new();
        let served = Served::new(runner, disk.handler.clone());
        for (members, wanted) in [
            ("", "{\"output\":{\"stdout\":\"YQpiCg==\",\"exitCode\":0}}\n"),
            (",\"stream\":true", "{\"data\":\"YQo=\"}\n{\"data\":\"Ygo=\"}\n{\"output\":{\"exitCode\":0}}\n"),
        ] {
            let began = Instant::now();
            let exec = Request::exec(&["sh", "-c", "echo a; sleep 1; echo b"], members).line("Connection: close");
            let answers = replies(&rest(&served.send(&exec.bytes())), "");
            assert_eq!(answers[0].as_ref().unwrap().text(), wanted, "{runner:?}");
            about("a pause", began, SECOND);
        }
    });
}

#[test]
fn a_commands_timeout_and_ladder_are_kept() {
    on_both(|runner| {
        let disk = Disk::new();
        let served = Served::new(runner, disk.handler.clone());
        for (script, wanted) in [
            ("exec sleep 1000", SECOND / 2),
            ("trap '' INT TERM; while :; do sleep 1000; done", SECOND / 2 + 4 * SECOND),
        ] {
            let began = Instant::now();
            let exec = Request::exec(&["sh", "-c", script], ",\"timeoutMs\":500").line("Connection: close");
            let answers = replies(&rest(&served.send(&exec.bytes())), "");
            assert_eq!(
                answers[0].as_ref().unwrap().text(),
                "{\"output\":{\"exitCode\":-1,\"timedOut\":true}}\n",
                "{runner:?}"
            );
            about(script, began, wanted);
            assert_eq!(disk.running(), [0; 0]);
        }
    });
}
