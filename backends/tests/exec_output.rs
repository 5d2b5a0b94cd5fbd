//! A command's streams: every byte, in order, to the end, and no longer.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

mod support;

use farside_core::Command;
use std::time::{Duration, Instant};
use support::*;

const SECOND: Duration = Duration::from_secs(1);

fn with_stdin(script: &str, stdin: impl Into<bytes::Bytes>) -> Command {
    Command { stdin: stdin.into(), ..sh(script) }
}

/// Numbers that say where they stand.
fn sample(n: usize) -> Vec<u8> {
    (0u32..).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).take(n).collect()
}

#[test]
fn f1_pr_12_a_child_that_holds_the_output_is_killed_at_the_exit() {
    for script in ["sleep 30 & echo done", "setsid sleep 30 & echo done", "nohup setsid sh -c 'sleep 30 &' & echo done"]
    {
        let place = Place::new();
        let ran = place.sh(script);
        assert_eq!((ran.text().0, ran.exit.code), ("done\n", 0), "{script}");
        assert!(ran.took < SOON, "{script}: {:?}", ran.took);
        place.assert_gone();
        assert!(place.sh("true").took < SOON);
    }
}

#[test]
fn pr_13_also_one_that_holds_standard_error_or_both() {
    for script in ["sleep 30 >&- & echo done", "sleep 30 2>&- & echo done", "sleep 30 2>&1 | cat & echo done"] {
        let place = Place::new();
        let ran = place.sh(script);
        assert_eq!(ran.text(), ("done\n", "", 0), "{script}");
        assert!(ran.took < SOON, "{script}: {:?}", ran.took);
        place.assert_gone();
    }
}

/// Somebody who is not of the command holds its output: that is waited for, not for ever, and what is there then is taken.
#[test]
fn output_that_a_stranger_holds_is_waited_for_two_seconds() {
    let place = Place::new();
    let mut running = start(&place.ws, &sh("echo $$; sleep 0.5")).unwrap();
    running.until_output(2);
    let pid: u32 = String::from_utf8_lossy(&running.out).trim().parse().unwrap();
    let mut stranger = std::fs::File::options().write(true).open(format!("/proc/{pid}/fd/1")).unwrap();
    let since = Instant::now();
    assert_eq!(running.go_on(SECOND + SECOND / 2, 1000), None);
    std::io::Write::write_all(&mut stranger, b"late").unwrap();
    let ran = running.finish();
    assert!((2 * SECOND..5 * SECOND).contains(&since.elapsed()), "{:?}", since.elapsed());
    assert!(ran.out.ends_with(b"\nlate") && ran.exit.code == 0, "{ran:?}");
}

#[test]
fn f3_pr_23_a_throttled_reader_gets_everything() {
    let place = Place::new();
    // 2 MB at 32 KiB every 10 ms; the pipe is full when it exits.
    let mut running = start(&place.ws, &sh("seq 1 300000")).unwrap();
    let exit = loop {
        if let Some(exit) = running.go_on(Duration::from_millis(4), 32 * 1024) {
            break exit;
        }
        assert_eq!(running.go_on(Duration::from_millis(6), 0), None);
    };
    let ran = running.ran(exit);
    assert_eq!(ran.exit.code, 0);
    assert!(ran.out.ends_with(b"\n300000\n") && ran.out.len() == 1_988_895, "{}", ran.out.len());
}

/// It stops just before the command exits, or is just short of its exit when its pipe is full.
#[test]
fn f3_a_reader_that_stops_for_longer_than_every_grace_gets_everything() {
    std::thread::scope(|scope| {
        for (script, last, size) in [
            ("seq 1 10000; echo e >&2", "\n10000\n", 48_894),
            ("seq 1 20000; echo e >&2", "\n20000\n", 108_894),
            ("seq 1 20000; echo e >&2; setsid sleep 30 &", "\n20000\n", 108_894),
        ] {
            scope.spawn(move || {
                let place = Place::new();
                let mut running = start(&place.ws, &sh(script)).unwrap();
                running.until_output(1);
                assert_eq!(running.go_on(5 * SECOND, 0), None);
                let ran = running.finish();
                assert!(ran.out.ends_with(last.as_bytes()) && ran.out.len() == size, "{script}: {}", ran.out.len());
                assert_eq!((ran.err, ran.exit.code), (b"e\n".to_vec(), 0), "{script}");
                assert_eq!(place.left(), [""; 0], "{script}");
            });
        }
    });
}

#[test]
fn f4b_a_pause_is_not_the_end() {
    assert_eq!(Place::new().sh("echo a; sleep 1; echo b").text(), ("a\nb\n", "", 0));
}

#[test]
fn f5_an_absent_input_has_ended() {
    let place = Place::new();
    for _ in 0..100 {
        assert_eq!(place.run(&Command::new(["cat"])).text(), ("", "", 0));
    }
    assert_eq!(place.sh("read x; echo $?").text(), ("1\n", "", 0));
    assert_eq!(place.sh("readlink /proc/self/fd/0").text(), ("/dev/null\n", "", 0));
    place.assert_gone();
}

#[test]
fn f6_the_end_of_its_input_is_not_its_end() {
    assert_eq!(Place::new().run(&with_stdin("cat >/dev/null; sleep 1; echo late", "x")).text(), ("late\n", "", 0));
}

#[test]
fn f7_a_burst_waits_for_a_reader_that_stalls() {
    let place = Place::new();
    let mut running =
        start(&place.ws, &sh("head -c 8M /dev/zero | tr '\\0' x; echo; head -c 4194304 /dev/zero | tr '\\0' y"))
            .unwrap();
    running.until_output(1);
    assert_eq!(running.go_on(SECOND, 0), None);
    let ran = running.finish();
    let (x, y) = ran.out.split_at(8 << 20);
    assert!(x.iter().all(|byte| *byte == b'x') && y[0] == b'\n' && y[1..].iter().all(|byte| *byte == b'y'));
    assert_eq!((y.len(), ran.exit.code), (1 + (4 << 20), 0));
}

#[test]
fn f8_f9_bytes_are_bytes() {
    let place = Place::new();
    for at in [8191, 32767, 65535] {
        let ran = place.sh(&format!("head -c {at} /dev/zero | tr '\\0' x; printf '\\342\\202\\254'"));
        assert_eq!(ran.out, [vec![b'x'; at], "€".into()].concat());
    }
    for bytes in
        [&b"a\0b\0"[..], b"a", b"\x01\x01\x01x\x02\x02\x02y", b"a\rb\n", b"\xff", &(0..=255).collect::<Vec<u8>>()]
    {
        let ran = place.run(&with_stdin("cat; echo e >&2", bytes.to_vec()));
        assert_eq!((&*ran.out, &*ran.err), (bytes, &b"e\n"[..]));
    }
    let line = place.sh("head -c 20000000 /dev/zero | tr '\\0' z");
    assert!(line.out.len() == 20_000_000 && line.out.iter().all(|byte| *byte == b'z'));
}

#[test]
fn pr_16_what_goes_in_comes_out() {
    let place = Place::new();
    for size in [1, 65_535, 65_536, 65_537, 8 << 20] {
        let data = sample(size);
        let ran = place.run(&Command { stdin: data.clone().into(), ..Command::new(["cat"]) });
        assert!(ran.out == data && ran.exit.code == 0, "{size}");
    }
}

/// Its output is full and nobody reads for a while, and it reads no more meanwhile.
#[test]
fn pr_16_a_full_output_is_no_deadlock() {
    let place = Place::new();
    let data = sample(4 << 20);
    let mut running = start(&place.ws, &Command { stdin: data.clone().into(), ..Command::new(["cat"]) }).unwrap();
    assert_eq!(running.go_on(SECOND / 2, 0), None);
    assert_eq!(running.finish().out, data);
}

#[test]
fn pr_17_input_that_is_not_read_is_no_error() {
    let place = Place::new();
    for script in ["exit 3", "exec <&-; sleep 0.2; exit 3", "head -c 1 >/dev/null; exit 3"] {
        let ran = place.run(&with_stdin(script, vec![0; 16 << 20]));
        assert_eq!(ran.text(), ("", "", 3), "{script}");
    }
    place.assert_gone();
}

#[test]
fn pr_22_nothing_is_lost_at_the_exit() {
    let place = Place::new();
    let data = sample(1 << 20);
    std::fs::write(place.dir.path().join("f"), &data).unwrap();
    let mut running = start(&place.ws, &sh("for i in $(seq 64); do cat f; done")).unwrap();
    let mut blocks = 0;
    let exit = loop {
        if let Some(exit) = running.step(None, 32 * 1024) {
            break exit;
        }
        while running.out.len() >= data.len() {
            assert!(running.out[..data.len()] == data[..]);
            running.out.drain(..data.len());
            blocks += 1;
        }
    };
    assert_eq!((blocks, running.out.len(), exit.code), (64, 0, 0));
}

/// Small pieces of room, both streams full at once.
#[test]
fn both_streams_come_through_any_room() {
    let place = Place::new();
    for room in [1, 7, 4096] {
        let n = if room == 1 { 20_000 } else { 300_000 };
        let script = format!("head -c {n} /dev/zero | tr '\\0' o & head -c {n} /dev/zero | tr '\\0' e >&2; wait");
        let mut running = start(&place.ws, &sh(&script)).unwrap();
        let exit = loop {
            if let Some(exit) = running.step(None, room) {
                break exit;
            }
        };
        let ran = running.ran(exit);
        assert!(ran.out == vec![b'o'; n] && ran.err == vec![b'e'; n], "{room}: {} {}", ran.out.len(), ran.err.len());
    }
}
