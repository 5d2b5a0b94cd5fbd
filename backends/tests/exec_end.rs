//! The end of a command: by itself, by its timeout, by its caller; and nothing is left of it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

mod support;

use farside_core::{Command, Exit};
use std::time::Duration;
use support::*;

const SECOND: Duration = Duration::from_secs(1);

/// What starts something and is hard to end, and how long its ladder takes: INT is obeyed, or TERM, or only KILL.
const ZOO: [(&str, u64); 9] = [
    ("sleep 1000 & sleep 1000 & echo on; wait", 0),
    ("setsid sleep 1000 & echo on; wait", 0),
    ("nohup setsid sh -c 'sleep 1000 &' >/dev/null & echo on; sleep 1000", 0),
    ("env -i /bin/sh -c 'exec setsid sleep 1000' & echo on; wait", 0),
    ("(setsid sh -c '(setsid sleep 1000 &) ; exec sleep 1000' &); echo on; sleep 1000", 0),
    ("trap '' INT; echo on; while :; do sleep 1; done", 2),
    ("trap '' INT TERM HUP; echo on; while :; do sleep 1; done", 4),
    ("setsid sh -c 'kill -STOP $$' & echo on; wait", 0),
    ("echo on; kill -STOP $$; sleep 1000", 0),
];

fn interrupted() -> Exit {
    Exit { code: -1, interrupted: true, ..Exit::default() }
}

fn timed_out() -> Exit {
    Exit { code: -1, timed_out: true, ..Exit::default() }
}

#[test]
fn f10_pr_01_02_04_05_an_interrupt_reaches_everything_it_started() {
    std::thread::scope(|scope| {
        for (script, seconds) in ZOO {
            scope.spawn(move || {
                let place = Place::new();
                let mut running = start(&place.ws, &sh(script)).unwrap();
                running.until_output(3);
                assert_eq!(running.go_on(SECOND / 2, 1000), None);
                running.interrupt();
                let ran = running.finish();
                assert_eq!((&*ran.out, ran.exit), (&b"on\n"[..], interrupted()), "{script}");
                // No rung comes early. When each is due to the moment, the core's own tests of the ladder hold.
                assert!(ran.took - SECOND / 2 >= Duration::from_secs(seconds), "{script}: {:?}", ran.took);
                assert_eq!(place.left(), [""; 0], "{script}");
            });
        }
    });
}

#[test]
fn f10_pr_01_02_04_05_a_command_that_is_dropped_leaves_nothing() {
    for (script, _) in ZOO {
        let place = Place::new();
        let mut running = start(&place.ws, &sh(script)).unwrap();
        running.until_output(3);
        assert_eq!(running.go_on(SECOND / 10, 1000), None);
        assert_ne!(place.left(), [""; 0]);
        drop(running);
        assert_eq!(place.left(), [""; 0], "{script}");
    }
    // At once after its start.
    let place = Place::new();
    for _ in 0..50 {
        drop(start(&place.ws, &sh("setsid sleep 1000 & sleep 1000")).unwrap());
    }
    place.assert_gone();
}

#[test]
fn f2_a_timeout_ends_whatever_the_shell_forked() {
    let scripts = ["sleep 20; true", "sleep 20 & wait", "(sleep 20)", "sleep 20 | cat", "echo a; sleep 20"];
    std::thread::scope(|scope| {
        for (shell, script) in ["dash", "bash"].iter().flat_map(|shell| scripts.map(|script| (*shell, script))) {
            scope.spawn(move || {
                let place = Place::new();
                let command = Command { timeout: Some(SECOND), ..Command::new([shell, "-c", script]) };
                let ran = place.run(&command);
                assert_eq!(ran.exit, timed_out(), "{shell} {script}");
                assert_eq!(ran.out, if script.starts_with("echo") { &b"a\n"[..] } else { b"" });
                assert!((SECOND..4 * SECOND).contains(&ran.took), "{shell} {script}: {:?}", ran.took);
                assert_eq!(place.left(), [""; 0], "{shell} {script}");
            });
        }
    });
}

#[test]
fn pr_03_a_double_fork_is_gone_also_when_the_leader_exits_first() {
    let fork = "import os,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(1000)";
    for _ in 0..10 {
        let place = Place::new();
        let ran = place.run(&python(fork));
        assert_eq!(ran.exit.code, 0);
        assert_eq!(place.left(), [""; 0]);
    }
}

#[test]
fn pr_07_a_spawner_does_not_outrun_its_end() {
    let spawner = sh("trap '' INT TERM; while :; do (setsid sleep 1000 &); done");
    for _ in 0..5 {
        let place = Place::new();
        let mut running = start(&place.ws, &spawner).unwrap();
        assert_eq!(running.go_on(SECOND / 2, 1000), None);
        drop(running);
        place.assert_gone();
    }
    let place = Place::new();
    let ran = place.run(&Command { timeout: Some(SECOND / 2), ..spawner });
    assert!(ran.exit == timed_out() && ran.took < SOON, "{ran:?}");
    place.assert_gone();
}

#[test]
fn pr_08_a_bounded_fork_bomb_is_gone() {
    let place = Place::new();
    let bomb = "import os,signal,time\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\nfor i in range(5):\n  os.fork()\n  \
                if os.fork()==0 and i%2: os.setsid()\ntime.sleep(1000)";
    let command = Command { timeout: Some(SECOND), ..python(bomb) };
    let ran = place.run(&command);
    assert!(ran.exit == timed_out() && ran.took < SOON, "{:?} {:?}", ran.exit, ran.took);
    assert_eq!(place.left(), [""; 0]);
}

/// It raises its limit, leaves the group, and is found as the child of a marked one, which goes before it does; a leader may leave its own
/// group too.
#[test]
fn one_that_takes_off_its_mark_is_found_by_its_parent_or_its_group() {
    let unmark = "import os,resource,time\nresource.setrlimit(15, (resource.RLIM_INFINITY,)*2)\n";
    let child = format!(
        "{unmark}import signal\nos.setsid()\nsignal.signal(2, signal.SIG_IGN)\nsignal.signal(15, signal.SIG_IGN)\n\
         if os.fork()==0: os.setsid(); print('on', flush=True)\ntime.sleep(1000)"
    );
    let scripts = [
        format!("import subprocess,time\nsubprocess.Popen(['python3','-c','''{child}'''])\ntime.sleep(1000)"),
        format!(
            "{unmark}import subprocess\nsubprocess.Popen(['sleep','1000'])\nprint('on', flush=True)\ntime.sleep(1000)"
        ),
        "import os,time\nos.setpgid(0, os.getpgid(os.getppid()))\nprint('on', flush=True)\ntime.sleep(1000)".into(),
    ];
    for script in scripts {
        let place = Place::new();
        let mut running = start(&place.ws, &python(&script)).unwrap();
        running.until_output(3);
        assert_eq!(running.go_on(SECOND / 5, 1000), None);
        running.interrupt();
        let ran = running.finish();
        assert_eq!(ran.exit, interrupted());
        assert!(ran.took < SOON, "{:?} {}", ran.took, String::from_utf8_lossy(&ran.err));
        place.assert_gone();
    }
}

/// Each is told once: many programs take a second INT as an order to drop everything.
#[test]
fn a_signal_comes_once_to_each() {
    let place = Place::new();
    let count = "import os,signal,sys,time\nn=[]\nsignal.signal(signal.SIGINT, lambda *_: n.append(1))\nprint('on', flush=True)\n\
                 end=time.time()+1.5\nwhile time.time()<end: time.sleep(0.1)\nprint(len(n), flush=True)";
    std::fs::write(place.dir.path().join("count.py"), count).unwrap();
    let script = "python3 count.py & setsid python3 count.py & trap : INT; wait; wait; wait; sleep 0.2";
    let mut running = start(&place.ws, &sh(script)).unwrap();
    running.until_output(6);
    running.interrupt();
    let ran = running.finish();
    assert_eq!(ran.text().0, "on\non\n1\n1\n");
    place.assert_gone();
}

#[test]
fn pr_24_every_exit_is_told() {
    let place = Place::new();
    for code in (0..=255).step_by(15) {
        assert_eq!(place.sh(&format!("exit {code}")).exit, Exit { code, ..Exit::default() });
    }
    for signal in ["SEGV", "ABRT", "KILL", "TERM", "PIPE", "INT", "SYS"] {
        let exit = Exit { code: -1, signal: Some(signal.into()), ..Exit::default() };
        assert_eq!(place.sh(&format!("kill -{signal} $$; sleep 5")).exit, exit);
    }
    assert_eq!(place.run(&python("import os\nos.kill(os.getpid(), 40)")).exit.signal.as_deref(), Some("40"));
}

#[test]
fn pr_45_a_timeout_is_kept_by_the_clock() {
    let place = Place::new();
    let with = |timeout| Command { timeout: Some(timeout), ..Command::new(["sleep", "30"]) };
    for millis in [1, 50, 700] {
        let ran = place.run(&with(Duration::from_millis(millis)));
        assert_eq!(ran.exit, timed_out());
        assert!(ran.took >= Duration::from_millis(millis) && ran.took < SOON, "{millis}: {:?}", ran.took);
    }
    let ran = place.run(&Command { timeout: Some(Duration::from_millis(1 << 53)), ..sh("exit 4") });
    assert_eq!(ran.exit, Exit { code: 4, ..Exit::default() });
    place.assert_gone();
}

/// The reader is behind and the command waits for it: its timeout comes all the same.
#[test]
fn a_timeout_comes_without_room_too() {
    let place = Place::new();
    let mut running = start(&place.ws, &Command { timeout: Some(SECOND / 2), ..sh("yes") }).unwrap();
    running.until_output(1);
    assert_eq!(running.go_on(2 * SECOND, 0), None);
    assert_eq!(place.left(), [""; 0]);
    assert_eq!(running.finish().exit, timed_out());
}

#[test]
fn what_it_exits_with_after_the_first_reason_is_not_told() {
    let place = Place::new();
    let mut running = start(
        &place.ws,
        &Command { timeout: Some(SECOND), ..sh("trap 'exit 0' INT; echo on; while :; do sleep 0.1; done") },
    )
    .unwrap();
    running.until_output(3);
    running.interrupt();
    assert_eq!(running.finish().exit, interrupted());
}

#[test]
fn f12_a_stuck_command_stops_no_other() {
    let place = Place::new();
    let mut stuck = start(&place.ws, &sh("trap '' INT TERM; echo on; sleep 1000")).unwrap();
    stuck.until_output(3);
    let other = start(&place.ws, &sh("setsid sleep 1 & wait; echo fine")).unwrap();
    assert_eq!(place.run(&Command::new(["sh", "-c", "cat <<'EOF'\nhere\nEOF"])).text(), ("here\n", "", 0));
    drop(stuck);
    assert_eq!(other.finish().text(), ("fine\n", "", 0));
    place.assert_gone();
}

#[test]
fn pr_25_many_commands_leave_no_descriptor_and_no_child() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let place = &place;
            scope.spawn(move || {
                for turn in 0..75 {
                    let mut running = start(&place.ws, &Command::new(["true"])).unwrap();
                    match (thread + turn) % 3 {
                        0 => drop(running),
                        1 => {
                            running.interrupt();
                            let exit = running.finish().exit;
                            assert!(exit == interrupted(), "{exit:?}");
                        }
                        _ => assert_eq!(running.finish().exit, Exit::default()),
                    }
                }
            });
        }
    });
    place.assert_gone();
}
