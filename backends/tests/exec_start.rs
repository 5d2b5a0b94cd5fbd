//! How a command is started: its program, its directory, its environment, and nothing else.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

mod support;

use farside_core::{
    Command, Workspace,
    wire::{Code, Error},
};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};
use support::*;

fn refused(place: &Place, command: &Command) -> Error {
    start(&place.ws, command).err().expect("it ran")
}

fn code(place: &Place, args: &[&str]) -> Code {
    refused(place, &Command::new(args.iter().copied())).code
}

fn put(place: &Place, name: &str, content: &str, mode: u32) {
    let path = place.dir.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn it_runs_with_its_streams_apart() {
    let place = Place::new();
    assert_eq!(place.sh("echo out; echo err >&2; exit 3").text(), ("out\n", "err\n", 3));
    place.assert_gone();
}

#[test]
fn pr_27_what_cannot_be_run_is_told_by_its_code() {
    let place = Place::new();
    put(&place, "text", "no program\n", 0o755);
    put(&place, "plain", "#!/bin/sh\n", 0o644);
    put(&place, "nope", "#!/nope\n", 0o755);
    put(&place, "here", "#!/bin/sh\necho here $0 $1\n", 0o755);
    fs::create_dir(place.dir.path().join("sub")).unwrap();
    assert_eq!(code(&place, &["no-such-program"]), Code::NotExist);
    assert_eq!(code(&place, &["./no-such-program"]), Code::NotExist);
    assert_eq!(code(&place, &["./nope"]), Code::NotExist);
    assert_eq!(code(&place, &["./plain"]), Code::Permission);
    assert_eq!(code(&place, &["./sub"]), Code::Permission);
    assert_eq!(code(&place, &["./here/x"]), Code::Invalid);
    let error = refused(&place, &Command::new(["./text"]));
    assert_eq!((error.code, error.errno(), &*error.words), (Code::Other, Some("ENOEXEC"), "exec format error"));
    assert_eq!(place.run(&Command::new(["./here", "a b"])).text(), ("here ./here a b\n", "", 0));
    place.assert_gone();
}

#[test]
fn a_name_is_looked_up_in_the_path_of_its_own_environment() {
    let place = Place::new();
    let root = place.dir.path().display().to_string();
    for (name, mode) in [("a/p", 0o644), ("b/p/x", 0o755), ("c/p", 0o755), ("d/p", 0o755), ("a/q", 0o644), ("s", 0o755)]
    {
        put(&place, name, &format!("#!/bin/sh\necho {name}\n"), mode);
    }
    fs::create_dir_all(place.dir.path().join("c/q")).unwrap();
    let with = |path: &str, name: &str| {
        let path = path.replace('@', &root);
        Command { env: vec![format!("PATH={path}")], ..Command::new([name]) }
    };
    // What may not be run and directories are passed by, and so are elements that are empty or relative.
    assert_eq!(place.run(&with("a:@/no:@/a:@/b:@/c:@/d", "p")).text(), ("c/p\n", "", 0));
    assert_eq!(refused(&place, &with("@/a:@/c", "q")).code, Code::Permission);
    assert_eq!(refused(&place, &with("@/c", "q")).code, Code::NotExist);
    assert_eq!(refused(&place, &with(":.::c:", "p")).code, Code::NotExist);
    assert_eq!(refused(&place, &with("", "s")).code, Code::NotExist);
    assert_eq!(refused(&place, &with("@/s:@/c", "r")).code, Code::NotExist);
    let none = farside_backends::Local::new(place.dir.path(), Vec::new()).unwrap();
    assert_eq!(start(&none, &Command::new(["sh"])).err().unwrap().code, Code::NotExist);
}

#[test]
fn it_runs_in_its_directory_and_a_program_with_a_slash_is_relative_to_that() {
    let place = Place::new();
    put(&place, "sub/p", "#!/bin/sh\npwd; echo $0\n", 0o755);
    put(&place, "p", "#!/bin/sh\necho wrong\n", 0o755);
    symlink("sub", place.dir.path().join("link")).unwrap();
    symlink("/tmp", place.dir.path().join("out")).unwrap();
    let root = fs::canonicalize(place.dir.path()).unwrap().display().to_string();
    let run = |dir: &str| place.run(&Command { dir: dir.into(), ..Command::new(["./p"]) });
    assert_eq!(run("sub").text().0, format!("{root}/sub\n./p\n"));
    assert_eq!(run("link").text().0, format!("{root}/sub\n./p\n"));
    assert_eq!(run("").text().0, "wrong\n");
    assert_eq!(run(".").text().0, "wrong\n");
    let refused = |dir: &str| refused(&place, &Command { dir: dir.into(), ..Command::new(["true"]) }).code;
    assert_eq!(refused("out"), Code::Outside);
    assert_eq!(refused(".."), Code::Outside);
    assert_eq!(refused("none"), Code::NotExist);
    assert_eq!(refused("p"), Code::Invalid);
    assert_eq!(refused("sub\0"), Code::Invalid);
}

#[test]
fn its_directory_is_the_one_that_was_checked_wherever_it_moves() {
    let place = Place::new();
    let inner = place.dir.path().join("root");
    fs::create_dir(&inner).unwrap();
    let ws = farside_backends::Local::new(&inner, vec!["PATH=/usr/bin:/bin".into()]).unwrap();
    fs::rename(&inner, place.dir.path().join("moved")).unwrap();
    fs::create_dir(&inner).unwrap();
    put(&place, "moved/f", "right", 0o644);
    assert_eq!(run(&ws, &Command::new(["cat", "f"])).text(), ("right", "", 0));
}

#[test]
fn pr_28_what_is_too_long_is_limit_and_what_is_malformed_invalid() {
    let place = Place::new();
    let code = |args: Vec<String>| refused(&place, &Command { args, ..Command::default() }).code;
    assert_eq!(code(vec!["true".into(), "x".repeat(3 << 20)]), Code::Limit);
    assert_eq!(code(vec!["true".into(), "x".repeat(200_000)]), Code::Limit);
    assert_eq!(code(vec![]), Code::Invalid);
    assert_eq!(code(vec![String::new()]), Code::Invalid);
    assert_eq!(code(vec!["true".into(), "a\0b".into()]), Code::Invalid);
    let many = place.run(&Command {
        args: [vec!["sh".into(), "-c".into(), "echo $#".into()], vec!["x".into(); 100_001]].concat(),
        ..Command::default()
    });
    assert_eq!(many.text(), ("100000\n", "", 0));
    let env = |entry: &str| refused(&place, &Command { env: vec![entry.into()], ..Command::new(["true"]) }).code;
    assert_eq!(
        (env("A"), env("=b"), env("A=\0"), env("")),
        (Code::Invalid, Code::Invalid, Code::Invalid, Code::Invalid)
    );
    place.assert_gone();
}

/// No test can set a variable of this process in safety; the build system has set some, which stand for a server's secrets.
#[test]
fn pr_33_its_environment_is_what_was_asked_for_in_that_order() {
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some() || std::env::vars_os().count() > 1);
    let place = Place::new();
    let ws =
        farside_backends::Local::new(place.dir.path(), vec!["B=1".into(), "PATH=/usr/bin:/bin".into(), "A=2".into()])
            .unwrap();
    let env = ["B=3", "Z==", "A=", "Z=4 5", "é=ü"].map(String::from).to_vec();
    let ran = run(&ws, &Command { env, ..Command::new(["cat", "/proc/self/environ"]) });
    assert_eq!(ran.text(), ("B=3\0PATH=/usr/bin:/bin\0A=\0Z=4 5\0é=ü\0", "", 0));
}

#[test]
fn pr_31_it_has_three_descriptors_and_no_other() {
    let place = Place::new();
    // One that a careless library left open for everybody to inherit.
    let careless = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).unwrap();
    // The shell's builtin opens nothing itself.
    let fds = sh("echo /proc/$$/fd/*");
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let ran = place.run(&fds);
                    let names: Vec<_> =
                        ran.text().0.split_whitespace().filter_map(|path| path.rsplit('/').next()).collect();
                    // The directory that the shell reads is open while it does.
                    assert!(names == ["0", "1", "2"] || names == ["0", "1", "2", "3"], "{names:?}");
                }
            });
        }
    });
    let ran = place.sh("readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2 | cut -d: -f1");
    assert_eq!(ran.text(), ("/dev/null\npipe\npipe\n", "", 0));
    drop(careless);
    place.assert_gone();
}

#[test]
fn pr_32_no_signal_is_blocked_or_ignored_and_its_limits_are_the_server_s() {
    let place = Place::new();
    let ran = place.run(&Command::new(["cat", "/proc/self/status"]));
    let signals: Vec<_> =
        ran.text().0.lines().filter(|line| line.starts_with("Sig") && !line.starts_with("SigQ")).collect();
    let none = ["SigPnd", "SigBlk", "SigIgn", "SigCgt"].map(|set| format!("{set}:\t{:016}", 0));
    assert_eq!(signals, none);
    // Of its limits one differs, which limits nothing: the mark by which it is found.
    let ran = place.run(&Command::new(["cat", "/proc/self/limits"]));
    let own = fs::read_to_string("/proc/self/limits").unwrap();
    let differ: Vec<_> =
        ran.text().0.lines().zip(own.lines()).filter(|(its, own)| its != own).map(|(its, _)| its).collect();
    let [line] = differ[..] else { panic!("{differ:?}") };
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!((&words[..3], words[4]), (&["Max", "realtime", "timeout"][..], "unlimited"));
    assert!(words[3].parse::<u64>().unwrap() >= 1 << 62);
    // It leads a group of its own, in the server's session.
    let ran = place.sh("cut -d' ' -f5 /proc/$$/stat; echo $$; cut -d' ' -f6 /proc/$$/stat");
    let ids: Vec<_> = ran.text().0.lines().collect();
    let own = fs::read_to_string("/proc/self/stat").unwrap();
    assert_eq!((ids[0], ids[2]), (ids[1], own.rsplit(')').next().unwrap().split_whitespace().nth(3).unwrap()));
}

/// Its pipes are blocking, as a program expects; only our ends are not.
#[test]
fn its_pipes_block() {
    let place = Place::new();
    let script = "import fcntl,os\nprint([fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK for fd in range(3)])";
    let ran = place.run(&Command { stdin: "x".into(), ..python(script) });
    assert_eq!(ran.text(), ("[0, 0, 0]\n", "", 0));
}

/// Another start holds every descriptor of this process for a moment, also one that writes the program: "text file busy".
#[test]
fn a_program_that_was_just_written_can_be_run_beside_other_starts() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let place = &place;
            scope.spawn(move || {
                for turn in 0..25 {
                    let name = format!("p{thread}-{turn}");
                    put(place, &name, "#!/bin/sh\necho ok\n", 0o755);
                    assert_eq!(place.run(&Command::new([format!("./{name}")])).text(), ("ok\n", "", 0));
                }
            });
        }
    });
}

#[test]
fn f12_a_start_that_fails_leaves_nothing() {
    let place = Place::new();
    let fds = || fs::read_dir("/proc/self/fd").unwrap().count();
    let ws: &dyn Workspace = &place.ws;
    let _ = start(ws, &Command::new(["./none"]));
    let before = fds();
    for _ in 0..50 {
        let failed = start(ws, &Command { stdin: "x".into(), ..Command::new(["./none"]) });
        assert_eq!(failed.err().unwrap().code, Code::NotExist);
    }
    // Others run beside this one and have some open.
    assert!(fds() < before + 50);
    place.assert_gone();
}
