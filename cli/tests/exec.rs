//! `farside exec`: streams, exit codes, signals, and the ends of it.
#![allow(clippy::unwrap_used, reason = "these are tests")]

mod common;

use common::{Place, SERVERS, Site, done, fed, is_alive, path, signal_to, until, wait, which};
use rustix::process::Signal;
use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::Stdio,
};

#[test]
fn streams_are_apart_and_exact() {
    for site in Site::everywhere() {
        let ran = site.run(&["exec", "--", "sh", "-c", "echo out; printf 'e\\0\\377r' | tr -d '\\377' >&2; exit 3"]);
        assert_eq!((ran.code, ran.text(), &*ran.err), (3, "out\n", "e\0r"));
        let ran = site.run(&["exec", "--merged", "--", "sh", "-c", "echo 1; echo 2 >&2; echo 3"]).good();
        let mut lines: Vec<_> = ran.text().lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["1", "2", "3"]);
        let big = site.run(&["exec", "--", "sh", "-c", "head -c 3000000 /dev/zero; head -c 100000 /dev/zero >&2"]);
        assert_eq!((big.code, big.out.len(), big.err.len()), (0, 3_000_000, 100_000));
    }
}

#[test]
fn stdin_dir_env() {
    for site in Site::everywhere() {
        site.write("sub/x", "");
        let input = "line\n".repeat(100_000);
        assert_eq!(
            fed(&mut site.command(&["exec", "--stdin", "--", "wc", "-l"]), input.as_bytes()).good().text().trim(),
            "100000"
        );
        // Without being told it reads nothing.
        assert_eq!(fed(&mut site.command(&["exec", "--", "wc", "-c"]), b"not for it").good().text().trim(), "0");
        assert_eq!(fed(&mut site.command(&["exec", "--stdin", "--", "true"]), &vec![0; 1 << 20]).code, 0);
        let pwd = site.run(&["exec", "--dir", "./sub/", "--", "pwd"]).good();
        assert_eq!(pwd.text().trim_end(), path(&fs::canonicalize(site.dir.join("sub")).unwrap()));
        let env = site
            .command(&[
                "exec",
                "--env",
                "A=b=c",
                "--env",
                "PASSED",
                "--env",
                "A=last",
                "--",
                "sh",
                "-c",
                "echo $A $PASSED",
            ])
            .env("PASSED", "on")
            .output();
        assert_eq!(env.unwrap().stdout, b"last on\n");
        site.run(&["exec", "--env", "NOT_SET_HERE", "--", "true"])
            .fails(2, "NOT_SET_HERE is not set here, so it cannot be passed on");
        site.run(&["exec", "--env", "FARSIDE_TOKEN=x", "--", "true"])
            .fails(2, "FARSIDE_TOKEN is Farside's own and is given to no command");
    }
}

/// CL-14.
#[test]
fn exit_codes_are_the_commands_own() {
    for site in Site::everywhere() {
        for code in [0, 1, 2, 3, 42, 124, 125, 126, 127, 128, 129, 130, 137, 143, 254, 255] {
            let ran = site.run(&["exec", "--", "sh", "-c", &format!("exit {code}")]);
            assert_eq!((ran.code, &*ran.err), (code, ""));
        }
        for signal in [1, 2, 3, 6, 9, 11, 13, 15, 34, 64] {
            let ran = site.run(&["exec", "--", "sh", "-c", &format!("ulimit -c 0; kill -{signal} $$")]);
            assert_eq!((ran.code, &*ran.err), (128 + signal, ""));
        }
    }
}

#[test]
fn what_did_not_run() {
    for site in Site::everywhere() {
        site.write("script", "#!/bin/sh\n");
        site.write("dir/x", "");
        site.write("junk", "\u{1}junk");
        let chmod = site.run(&["exec", "--", "chmod", "755", "junk"]);
        assert_eq!(chmod.code, 0);
        site.run(&["exec", "--", "no-such-program"])
            .fails(127, "cannot run no-such-program: not found in the PATH there");
        site.run(&["exec", "--", "ls -l"])
            .fails(127, "cannot run 'ls -l': not found in the PATH there; no shell is between; try: sh -c 'ls -l'");
        site.run(&["exec", "--", "./nope"]).fails(127, "cannot run ./nope: no such file");
        site.run(&["exec", "--", "./script"]).fails(126, "cannot run ./script: it is not executable");
        site.run(&["exec", "--", "./junk"]).fails(126, "cannot run ./junk: it is no program this system can run");
        site.run(&["exec", "--dir", "nope", "--", "true"]).fails(125, "cannot run in nope: no such file or directory");
        site.run(&["exec", "--dir", "script", "--", "true"]).fails(125, "cannot run in script: it is no directory");
        site.run(&["exec", "--dir", "../x", "--", "true"]).fails(125, "cannot run in ../x: it leaves the workspace");
    }
}

#[test]
fn timeouts() {
    for site in Site::everywhere() {
        let ran = site.run(&["exec", "--timeout", "100ms", "--", "sh", "-c", "echo before; exec sleep 100"]);
        assert_eq!(
            (ran.code, ran.text(), &*ran.err),
            (124, "before\n", "farside: sh was ended after 100ms (--timeout)\n")
        );
        assert_eq!(site.run(&["-q", "exec", "--timeout", "100ms", "--", "sleep", "100"]).err, "");
        assert_eq!(site.run(&["exec", "--timeout", "1m", "--", "true"]).code, 0);
        let ran = site.run(&["exec", "--timeout", "0.1", "--", "sleep", "100"]);
        assert_eq!((ran.code, &*ran.err), (124, "farside: sleep was ended after 100ms (--timeout)\n"));
    }
}

#[test]
fn json() {
    for site in Site::everywhere() {
        let ran = site.run(&["exec", "--json", "--", "sh", "-c", "echo \"a\\\"b\"; echo e >&2; exit 9"]);
        let text = r#"{"stdout":"a\"b\n","stderr":"e\n","encoding":"utf-8","exitCode":9,"signal":null,"timedOut":false,"interrupted":false}"#;
        assert_eq!((ran.code, ran.text(), &*ran.err), (9, &*format!("{text}\n"), ""));
        let ran = site.run(&["exec", "--json", "--", "sh", "-c", "printf '\\377'; echo e >&2; kill -9 $$"]);
        let text = r#"{"stdout":"/w==","stderr":"ZQo=","encoding":"base64","exitCode":-1,"signal":"KILL","timedOut":false,"interrupted":false}"#;
        assert_eq!((ran.code, ran.text(), &*ran.err), (137, &*format!("{text}\n"), ""));
        let ran = site.run(&["-q", "exec", "--json", "--timeout", "50ms", "--", "sleep", "9"]);
        assert!(ran.code == 124 && ran.text().contains(r#""timedOut":true"#), "{ran:?}");
        // Over the bound it is an error, and it ran.
        let ran = site.run(&["exec", "--json", "--", "head", "-c", "20000000", "/dev/zero"]);
        let line = "head ran, but it is over the bound maxExecOutputBytes there (16.8 MB); leave --json out to have it as it comes";
        let object = format!("{{\"error\":{{\"code\":\"limit\",\"message\":\"{line}\"}}}}\n");
        assert_eq!((ran.code, ran.text(), &*ran.err), (125, &*object, &*format!("farside: {line}\n")));
    }
}

/// Output comes as it is made, not at the end.
#[test]
fn output_streams() {
    for site in Site::everywhere() {
        site.write("go", "");
        let mut child = site
            .command(&["exec", "--", "sh", "-c", "echo first; while [ -e go ]; do sleep 0.01; done; echo last"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "first");
        fs::remove_file(site.dir.join("go")).unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "last");
        assert_eq!(wait(&mut child).code(), Some(0));
    }
}

/// The command has ended while its last bytes still wait for a reader.
#[test]
fn a_slow_reader_gets_everything() {
    for site in Site::everywhere() {
        let script = "head -c 65536 /dev/zero; sleep 0.1; printf last";
        let mut child = site.command(&["exec", "--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(400));
        let mut all = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut all).unwrap();
        assert_eq!((all.len(), &all[65536..], wait(&mut child).code()), (65540, &b"last"[..], Some(0)));
    }
}

/// The first signal ends it politely, and what it still says is heard.
#[test]
fn an_interrupt_is_polite() {
    for site in Site::everywhere() {
        for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
            let script = "trap 'echo bye; exit 5' INT; echo ready; while :; do sleep 0.01; done";
            let mut child = site
                .command(&["exec", "--", "sh", "-c", script])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut out = BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            out.read_line(&mut line).unwrap();
            signal_to(&child, signal);
            let mut rest = String::new();
            out.read_to_string(&mut rest).unwrap();
            let ended = child.wait_with_output().unwrap();
            assert_eq!(
                (&*line, &*rest, ended.status.code(), &*String::from_utf8_lossy(&ended.stderr)),
                (
                    "ready\n",
                    "bye\n",
                    Some(code),
                    "farside: waiting for the command to end; once more ends it at once\n"
                )
            );
        }
    }
}

/// The second ends it at once, also what ignores the first; so does one while its output is stuck.
#[test]
fn a_second_interrupt_is_at_once() {
    // A server that was hung up on takes its time for it.
    std::thread::scope(|scope| Site::everywhere().for_each(|site| drop(scope.spawn(move || twice(&site)))));
}

fn twice(site: &Site) {
    let script = "trap '' INT TERM; echo $$; yes";
    let mut child = site.command(&["exec", "--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let pid = line.trim().parse().unwrap();
    assert!(is_alive(pid));
    // Nobody reads on: everything between is full.
    signal_to(&child, Signal::INT);
    std::thread::sleep(std::time::Duration::from_millis(100));
    signal_to(&child, Signal::INT);
    assert_eq!(wait(&mut child).code(), Some(130));
    if site.server.is_none() {
        assert!(!is_alive(pid), "it goes with the process that ran it");
    }
    until("the command is gone", || !is_alive(pid));
}

/// Of a background job, whose interrupt is ignored, it stays ignored; and so does a hang-up under `nohup`.
#[test]
fn what_is_ignored_stays_ignored() {
    let site = Site::new(Place::Here);
    site.write("go", "");
    let script = format!(
        "trap '' INT; exec {} exec -- sh -c 'echo ready; while [ -e go ]; do sleep 0.01; done; exit 4'",
        common::FARSIDE
    );
    let mut child = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(&site.home)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    signal_to(&child, Signal::INT);
    signal_to(&child, Signal::INT);
    fs::remove_file(site.dir.join("go")).unwrap();
    assert_eq!(wait(&mut child).code(), Some(4));
}

/// CL-13: a reader that leaves ends it, as it would here, and nothing is said about that.
#[test]
fn a_reader_that_leaves() {
    for site in Site::everywhere() {
        let mut child = site
            .command(&["exec", "--", "sh", "-c", "echo $$; exec yes"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = line.trim().parse().unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), &*ended.stderr), (Some(141), &b""[..]));
        assert!(!is_alive(pid));
    }
}

/// CL-13: whatever is missing around it.
#[test]
fn poor_surroundings() {
    let sh = which("sh").unwrap();
    for site in [Site::new(Place::Here), Site::new(SERVERS[0])] {
        site.write("f", "x\n");
        let sh = |script: &str| {
            let mut command = std::process::Command::new(&sh);
            command
                .args(["-c", script])
                .current_dir(&site.home)
                .env_clear()
                .env("F", common::FARSIDE)
                .env("PATH", std::env::var("PATH").unwrap());
            if let Some(server) = &site.server {
                command.env("FARSIDE_URL", &server.url).env("FARSIDE_TOKEN_FILE", server.token_file.as_ref().unwrap());
            }
            done(&mut command)
        };
        for odd in ["", "TERM=", "LANG=C LC_ALL=garbage", "HOME=/nonexistent", "TERM=dumb NO_COLOR=1"] {
            assert_eq!(sh(&format!("{odd} $F cat f")).good().text(), "x\n");
            assert_eq!(sh(&format!("{odd} $F exec -- echo é")).good().text(), "é\n");
        }
        assert_eq!(sh("$F exec -- cat <&-").good().text(), "");
        assert_eq!(sh("$F exec --stdin -- cat <&-").good().text(), "");
        assert_eq!(sh("$F ls >&-").code, 0);
        assert_eq!(sh("$F exec -- sh -c 'echo x >&2' 2>&-").code, 0);
        assert_eq!(sh("$F cat nope 2>&-; echo $?").text(), "125\n");
        assert_eq!(sh("$F exec -- seq 1000000 | head -1").good().text(), "1\n");
        assert_eq!(sh("seq 300000 > big; $F put big; $F cat big | head -1").good().text(), "1\n");
        assert_eq!(sh("$F --help | head -1").good().text().lines().count(), 1);
        assert_eq!(
            sh("$F ls > /dev/full; echo $?; $F cat f >/dev/full; echo $?; $F exec -- echo x > /dev/full; echo $?")
                .text(),
            "125\n125\n125\n"
        );
        assert_eq!(sh("$F ls > /dev/full").err, "farside: cannot write standard output: no space left on device\n");
    }
}

/// PR-33: commands have what was allowed, and nothing of the server's own.
#[test]
fn the_environment_is_a_list() {
    let site = Site::new(Place::Here);
    let mut command = site.command(&["exec", "--", "sh", "-c", "env; cat /proc/self/environ | tr '\\0' '\\n'"]);
    let env = done(
        command.env("FARSIDE_TOKEN", "canary-1234").env("SECRET", "canary-1234").env("LC_TIME", "C").env("TZ", "UTC"),
    )
    .good();
    assert!(!env.text().contains("canary") && !env.text().contains("FARSIDE"), "{}", env.text());
    assert!(env.text().contains("LC_TIME=C\n") && env.text().contains("TZ=UTC\n"));
    for place in SERVERS {
        let mut site = Site::new(place);
        drop(site.server.take());
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("env");
        fs::write(&file, "# a comment\n\nFROM_FILE=a b\nBOTH=file\n").unwrap();
        let Place::Server { runtime, .. } = place else { unreachable!() };
        let mut serve = common::farside();
        serve.args([
            "serve",
            "--runtime",
            runtime,
            "--listen",
            "127.0.0.1:0",
            "--pass-env",
            "WANTED",
            "--set-env",
            "BOTH=set",
        ]);
        serve
            .arg("--env-file")
            .arg(&file)
            .arg(&site.dir)
            .env("FARSIDE_TOKEN", "canary-1234")
            .env("SECRET", "canary-1234")
            .env("WANTED", "yes");
        site.server = Some(common::Server::start(&mut serve));
        let call = |args: &[&str]| done(site.command(args).env("FARSIDE_TOKEN", "canary-1234"));
        let env = call(&["exec", "--", "sh", "-c", "env; tr '\\0' '\\n' < /proc/self/environ"]).good();
        assert!(!env.text().contains("canary") && !env.text().contains("FARSIDE"), "{}", env.text());
        for wanted in ["WANTED=yes\n", "FROM_FILE=a b\n", "BOTH=set\n", "PATH="] {
            assert!(env.text().contains(wanted), "{wanted} in {}", env.text());
        }
    }
}

/// What a command is given is bounded, and the line says what to do about it.
#[test]
fn too_much_input() {
    let zeros = |site: &Site, args: &[&str], mib: usize| {
        let mut command = site.command(args);
        let zero = fs::File::open("/dev/zero").unwrap();
        let mut head = std::process::Command::new("head")
            .args(["-c", &(mib << 20).to_string()])
            .stdin(zero)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let ended = done(command.stdin(head.stdout.take().unwrap()));
        // With it goes the end that nobody reads.
        drop(command);
        head.wait().unwrap();
        ended
    };
    let cat = ["exec", "--stdin", "--", "wc", "-c"];
    let here = Site::new(Place::Here);
    zeros(&here, &cat, 65).fails(
        125,
        "standard input is over 67.1 MB, the most that a command is given here: all of it is held in memory",
    );
    let raise = "its server can raise it: farside serve --max-write";
    for place in [SERVERS[0], SERVERS[2]] {
        let site = Site::with(place, &["--max-write", "1M"]);
        zeros(&site, &cat, 2)
            .fails(125, &format!("standard input is over the bound maxWriteBytes there (1.0 MB); {raise}"));
        zeros(&site, &["put", "-", "x"], 2).fails(
            125,
            &format!("cannot put standard input: it is over the bound maxWriteBytes there (1.0 MB); {raise}"),
        );
        assert_eq!(common::names(&site.dir), [""; 0]);
    }
    let site = Site::with(SERVERS[0], &["--max-write", "66M"]);
    assert_eq!(zeros(&site, &cat, 65).good().text().trim(), (65 << 20).to_string());
    zeros(&site, &["put", "-", "x"], 65).good();
    assert_eq!(fs::metadata(site.dir.join("x")).unwrap().len(), 65 << 20);
}
