//! What takes a process of its own: mounts, a umask, a kill, a kernel that fails. Each runs [`child`] again, in the way it needs.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may fail and say why")]

mod common;

use common::*;
use farside_backends::Local;
use farside_core::wire::{Code, Error};
use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::ExitStatusExt,
    },
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
};

/// Runs `scenario` in a child, started through `through`, on `dir`. `None`: it could not be started.
fn run(scenario: &str, through: &[&str], dir: &Path) -> Option<()> {
    let exe = std::env::current_exe().unwrap();
    let own = [exe.to_str().unwrap(), "--exact", "child", "--ignored", "--nocapture"];
    let argv = [through, &own].concat();
    let (program, args) = argv.split_first().unwrap();
    let output = Command::new(program).args(args).env("SCENARIO", scenario).env("DIR", dir).output();
    match output {
        Err(error) => {
            println!("skipped: {scenario}: {program}: {error}");
            None
        }
        Ok(output) => {
            let said =
                format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            println!("{said}");
            assert!(output.status.success(), "{scenario}: {}: {said}", output.status);
            Some(())
        }
    }
}

#[test]
#[ignore = "the others run it, in a process of its own"]
fn child() {
    let (Ok(scenario), Some(dir)) = (std::env::var("SCENARIO"), std::env::var_os("DIR")) else { return };
    let dir = Path::new(&dir);
    match &*scenario {
        "umask" => umask(dir),
        "full" => full(dir),
        "mounts" => mounts(dir),
        "write for ever" => write_for_ever(dir),
        "names" => names(dir),
        "renames fail" => renames_fail(dir),
        "reads" => reads(dir),
        "slow locks" => slow_locks(dir),
        _ => panic!("{scenario}"),
    }
}

#[test]
fn fs_40_the_umask_means_nothing() {
    let tree = Tree::empty();
    run("umask", &[], &tree.ws).unwrap();
}

fn umask(dir: &Path) {
    use rustix::{fs::Mode, process::umask};
    for mask in [0o077, 0o000, 0o277] {
        umask(Mode::from_raw_mode(mask));
        for ws in both(dir) {
            std::thread::scope(|scope| {
                for i in 0..64 {
                    let ws = &ws;
                    scope.spawn(move || write_with(ws, &format!("x{i}"), b"", Some(i * 8 + 7)).unwrap());
                }
            });
            for i in 0..64 {
                let name = format!("x{i}");
                assert_eq!(stat(&ws, &name).unwrap().mode.0, i * 8 + 7, "{mask:o}");
                remove(&ws, &name).unwrap();
            }
            write(&ws, "p/q/x", b"").unwrap();
            for dir in ["p", "p/q"] {
                assert_eq!(stat(&ws, dir).unwrap().mode.perm(), 0o755, "{mask:o}");
            }
            for name in ["p/q/x", "p/q", "p"] {
                remove(&ws, name).unwrap();
            }
        }
        assert_eq!(umask(Mode::from_raw_mode(mask)).as_raw_mode(), mask, "it is as it was");
    }
}

/// In a mount name space of its own, with what `mount` says done.
fn mounted(scenario: &str, dir: &Path, mount: &str) {
    if !root() {
        return println!("skipped: {scenario}: mounts take root");
    }
    let script = format!("cd '{}' && {mount} && exec \"$@\"", dir.display());
    run(scenario, &["unshare", "-m", "--propagation", "private", "sh", "-ec", &script, "sh"], dir);
}

#[test]
fn fs_63_a_full_disk() {
    let tree = Tree::empty();
    fs::create_dir(tree.ws.join("bytes")).unwrap();
    fs::create_dir(tree.ws.join("inodes")).unwrap();
    mounted("full", &tree.ws, "mount -t tmpfs -o size=1m none bytes && mount -t tmpfs -o nr_inodes=8 none inodes");
}

fn full(dir: &Path) {
    let no_space = |said: Result<(), Error>| {
        let error = said.unwrap_err();
        assert_eq!(
            (error.code, error.errno(), &*error.message()),
            (Code::Other, Some("ENOSPC"), "no space left on device")
        );
    };
    for ws in both(dir) {
        write(&ws, "bytes/x", b"old").unwrap();
        for name in ["bytes/x", "bytes/new"] {
            no_space(write_with(&ws, name, &vec![1; 2 << 20], None));
            assert_eq!(temps(&dir.join("bytes")), [""; 0]);
        }
        assert_eq!(read(&ws, "bytes/x").unwrap(), b"old");
        write(&ws, "bytes/y", b"the next small one").unwrap();
        assert_eq!(read_dir(&ws, "bytes").unwrap(), ["x", "y"]);

        let made = (0..9).take_while(|i| write(&ws, &format!("inodes/{i}"), b"").is_ok()).count();
        assert!(made < 9);
        no_space(write_with(&ws, "inodes/more", b"", None));
        // Its directories would need an inode each.
        no_space(write_with(&ws, "inodes/p/q/more", b"", None));
        assert_eq!(read_dir(&ws, "inodes").unwrap().len(), made);
        assert_eq!(temps(&dir.join("inodes")), [""; 0]);
        for i in 0..made {
            remove(&ws, &format!("inodes/{i}")).unwrap();
        }
        write(&ws, "inodes/x", b"").unwrap();
        for name in ["inodes/x", "bytes/x", "bytes/y"] {
            remove(&ws, name).unwrap();
        }
    }
}

#[test]
fn fs_22_64_mounts_below_the_root() {
    let tree = Tree::new();
    for dir in ["m", "ro", "proc"] {
        fs::create_dir(tree.ws.join(dir)).unwrap();
    }
    fs::write(tree.ws.join("ro/x"), "old").unwrap();
    symlink("m/../f", tree.ws.join("over")).unwrap();
    let mount = "mount -t tmpfs none m && mount --bind ro ro && mount -o remount,bind,ro ro && mount -t proc proc proc";
    mounted("mounts", &tree.ws, mount);
}

fn mounts(dir: &Path) {
    symlink("../f", dir.join("m/up")).unwrap();
    symlink("../../out/secret", dir.join("m/out")).unwrap();
    for ws in both(dir) {
        for name in ["m/x", "m/p/q/x"] {
            write(&ws, name, b"there").unwrap();
            assert_eq!(read(&ws, name).unwrap(), b"there");
        }
        assert_eq!(read_dir(&ws, "m").unwrap(), ["out", "p", "up", "x"]);
        assert_eq!(read(&ws, "m/up").unwrap(), b"inside");
        assert_eq!(read(&ws, "over").unwrap(), b"inside");
        write(&ws, "m/up", b"inside").unwrap();
        write(&ws, "over", b"inside").unwrap();
        assert_eq!(read(&ws, "m/out"), Err(Code::Outside));
        assert_eq!(write(&ws, "m/out", b""), Err(Code::Outside));
        for name in ["m/p/q/x", "m/p/q", "m/p", "m/x"] {
            remove(&ws, name).unwrap();
        }

        assert_eq!(read(&ws, "ro/x").unwrap(), b"old");
        for said in [write(&ws, "ro/x", b"new"), write(&ws, "ro/p/y", b"new"), remove(&ws, "ro/x")] {
            assert_eq!(said, Err(Code::Permission));
        }
        assert_eq!(remove(&ws, "m"), Err(Code::Other), "what is mounted is busy");

        // The links of procfs that are none lead nowhere.
        for name in ["proc/self/root/etc/passwd", "proc/self/cwd/f", "proc/self/exe"] {
            for said in [read(&ws, name).map(drop), stat(&ws, name).map(drop), write(&ws, name, b"")] {
                assert!(matches!(said, Err(Code::Invalid | Code::Outside)), "{name}: {said:?}");
            }
        }
        assert!(!read(&ws, "proc/self/status").unwrap().is_empty());
    }
}

#[test]
fn fs_62_a_writer_is_killed() {
    let tree = Tree::empty();
    let exe = std::env::current_exe().unwrap();
    let mut left = 0;
    for round in 0..40 {
        let mut child = Command::new(&exe)
            .args(["--exact", "child", "--ignored"])
            .env("SCENARIO", "write for ever")
            .env("DIR", &tree.ws)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // It has begun; then a while that is another each time.
        while fs::remove_file(tree.ws.join("begun")).is_err() {
            std::thread::yield_now();
        }
        (0..round * 200).for_each(|_| drop(fs::metadata(&tree.ws)));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        left += temps(&tree.ws).len();
        let content = fs::read(tree.ws.join("x")).unwrap();
        assert!(content.len() == 1 << 20 && content.iter().all(|byte| *byte == content[0]), "round {round}");
        write(&tree.both()[round % 2], "y", b"").unwrap();
        assert_eq!(temps(&tree.ws), [""; 0], "round {round}");
    }
    println!("{left} temporary files were left by 40 kills");
}

fn write_for_ever(dir: &Path) {
    let ws = Local::new(dir, Vec::new()).unwrap();
    write(&ws, "x", &vec![0; 1 << 20]).unwrap();
    write(&ws, "begun", b"").unwrap();
    for byte in (0..=255).cycle() {
        write(&ws, "x", &vec![byte; 1 << 20]).unwrap();
    }
}

/// The kernel fails as `inject` says, at the calls of the child.
fn injected(scenario: &str, inject: &str, dir: &Path) {
    let able = Command::new("strace").args(["-qq", "-e", "trace=none", "true"]).output();
    match able {
        Ok(output) if output.status.success() => {}
        _ => return println!("skipped: {scenario}: no strace that may trace"),
    }
    let inject = format!("inject={inject}");
    run(scenario, &["strace", "-f", "-qq", "-o", "/dev/null", "-e", &inject], dir);
}

#[test]
fn fs_65_a_kernel_without_openat2() {
    for error in ["ENOSYS", "EPERM"] {
        let tree = Tree::new();
        let before = tree.beside();
        injected("names", &format!("openat2:error={error}"), &tree.ws);
        assert_eq!(tree.beside(), before);
    }
}

fn names(dir: &Path) {
    let ws = Local::new(dir, Vec::new()).unwrap();
    for (name, said) in [
        ("f", Ok(())),
        ("lf", Ok(())),
        ("dd", Ok(())),
        ("c39", Ok(())),
        ("c40", Err(Code::Invalid)),
        ("a", Err(Code::Invalid)),
        ("up", Err(Code::Outside)),
        ("abs", Err(Code::Outside)),
        ("outin", Err(Code::Outside)),
        ("rootl/etc/passwd", Err(Code::Outside)),
        ("nope", Err(Code::NotExist)),
        ("f/x", Err(Code::Invalid)),
    ] {
        assert_eq!(read(&ws, name).map(drop), said, "{name}");
    }
    assert_eq!(write(&ws, "dangout", b""), Err(Code::Outside));
    write(&ws, "p/q", b"").unwrap();
    remove(&ws, "p/q").unwrap();
    assert_eq!(read_dir(&ws, "da").unwrap(), ["b"]);
}

#[test]
fn fs_64_a_disk_that_fails() {
    for inject in [
        "renameat,renameat2:error=EIO",
        "fsync:error=EIO:when=1",
        "renameat,renameat2:error=EDQUOT",
        "fchmod:error=EROFS",
    ] {
        let tree = Tree::new();
        injected("renames fail", inject, &tree.ws);
        assert_eq!(fs::read(tree.ws.join("f")).unwrap(), b"inside");
        assert_eq!(temps(&tree.ws), [""; 0]);
        assert!(!tree.ws.join("p").exists(), "{inject}");
    }
}

fn renames_fail(dir: &Path) {
    let ws = Local::new(dir, Vec::new()).unwrap().with_sync(true);
    let error = write_with(&ws, "p/q/x", b"new", None).unwrap_err();
    assert!(matches!(error.errno(), Some("EIO" | "EDQUOT")) || error.code == Code::Permission, "{error:?}");
    if error.errno() != Some("EIO") {
        write_with(&ws, "f", b"new", None).unwrap_err();
    }
}

/// Where there are no locks, files are written without.
#[test]
fn a_file_system_without_locks() {
    let tree = Tree::new();
    injected("names", "flock:error=ENOLCK", &tree.ws);
}

/// A sweep may find a file between its making and its lock.
#[test]
fn fs_62_a_writer_that_is_slow_to_lock() {
    let tree = Tree::new();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                drop(create(&Local::new(&tree.ws, Vec::new()).unwrap(), "y", None).unwrap());
            }
        });
        let done = std::panic::catch_unwind(|| injected("slow locks", "flock:delay_enter=5000", &tree.ws));
        over.store(true, Ordering::Relaxed);
        done.unwrap();
    });
    assert_eq!(temps(&tree.ws), [""; 0]);
}

fn slow_locks(dir: &Path) {
    let ws = Local::new(dir, Vec::new()).unwrap();
    // Now and then all tries are in vain, and it is told so.
    let written = (0..20).filter(|_| match write(&ws, "x", b"") {
        Ok(()) => true,
        Err(code) => code != Code::NotExist,
    });
    let written = written.count();
    println!("{written} of 20 writes");
    assert!(written > 0);
}

/// A small read is four system calls, and a stat three.
#[test]
fn system_calls() {
    let tree = Tree::new();
    fs::set_permissions(&tree.ws, fs::Permissions::from_mode(0o755)).unwrap();
    let trace = tree.top.join("trace");
    let through = ["strace", "-f", "-qq", "-o", trace.to_str().unwrap()];
    if run("reads", &through, &tree.ws).is_none() {
        return;
    }
    let trace = fs::read_to_string(trace).unwrap();
    let calls: Vec<&str> = trace
        .lines()
        .skip_while(|line| !line.contains("\"begin\""))
        .skip(1)
        .take_while(|line| !line.contains("\"end\""))
        .filter_map(|line| line.split_once(' ')?.1.trim_start().split('(').next())
        // With debug assertions the standard library asks whether a descriptor is open before it closes it.
        .filter(|call| *call != "fcntl")
        .collect();
    assert_eq!(calls, ["openat2", "fstat", "read", "close", "openat2", "fstat", "close"]);
}

fn reads(dir: &Path) {
    let ws = Local::new(dir, Vec::new()).unwrap();
    let mut room = vec![0; 64 * 1024];
    stat(&ws, "begin").unwrap_err();
    open(&ws, "f", &mut room).map(drop).unwrap();
    stat(&ws, "f").unwrap();
    stat(&ws, "end").unwrap_err();
}
