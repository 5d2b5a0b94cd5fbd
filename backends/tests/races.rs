//! Names that change while they are used. Each race runs for a second at most, and for some thousand rounds.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may fail and say why")]

mod common;

use common::*;
use farside_backends::Local;
use farside_core::{NoRoom, Op, Workspace, wire::Code};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

const ROUNDS: usize = 20_000;

/// `round` again and again while `one` and `other` change places.
fn while_exchanged(one: &Path, other: &Path, mut round: impl FnMut()) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                // A rename that meets a write's own may fail; the next one does not.
                let _ = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
            }
        });
        let until = Instant::now() + Duration::from_secs(1);
        let rounds = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (0..ROUNDS).take_while(|_| Instant::now() < until).map(|_| round()).count()
        }));
        over.store(true, Ordering::Relaxed);
        println!("{} rounds", rounds.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
}

/// `a` with a file `secret` of its own, and `evil`, which leads to that outside.
fn evil() -> (Tree, PathBuf, PathBuf) {
    let tree = Tree::empty();
    let (a, evil) = (tree.ws.join("a"), tree.ws.join("evil"));
    fs::create_dir(&a).unwrap();
    fs::write(a.join("secret"), "ours").unwrap();
    symlink("../out", &evil).unwrap();
    (tree, a, evil)
}

/// Every answer that a name may give that leads now inside and now outside.
fn inside_or_outside<T>(said: Result<T, Code>) -> Option<T> {
    match said {
        Ok(inside) => Some(inside),
        Err(Code::Outside) => None,
        Err(code) => panic!("{code}"),
    }
}

fn race_1_and_2(round: impl Fn(&Local)) {
    let (tree, a, evil) = evil();
    let before = tree.beside();
    for ws in tree.both() {
        while_exchanged(&a, &evil, || round(&ws));
    }
    assert_eq!(tree.beside(), before);
    for dir in [&tree.ws, &a, &evil, &tree.top.join("out")] {
        assert_eq!(temps(dir), [""; 0]);
    }
}

#[test]
fn fs_42_race_of_reads() {
    race_1_and_2(|ws| {
        if let Some(content) = inside_or_outside(read(ws, "a/secret")) {
            assert_eq!(content, b"ours");
        }
    });
}

#[test]
fn fs_42_race_of_reads_with_the_end_of_the_name() {
    let tree = Tree::empty();
    let (file, link) = (tree.ws.join("v"), tree.ws.join("vl"));
    fs::write(&file, "ours").unwrap();
    symlink("../out/secret", &link).unwrap();
    for ws in tree.both() {
        while_exchanged(&file, &link, || {
            if let Some(content) = inside_or_outside(read(&ws, "v")) {
                assert_eq!(content, b"ours");
            }
        });
    }
}

#[test]
fn fs_43_race_of_stats_and_listings() {
    race_1_and_2(|ws| {
        if let Some(meta) = inside_or_outside(stat(ws, "a/secret")) {
            assert_eq!(meta.size, 4);
        }
        if let Some(meta) = inside_or_outside(lstat(ws, "a/secret")) {
            assert_eq!(meta.size, 4);
        }
        if let Some(names) = inside_or_outside(read_dir(ws, "a")) {
            assert_eq!(names, ["secret"]);
        }
    });
}

#[test]
fn fs_43_race_of_writes() {
    race_1_and_2(|ws| {
        inside_or_outside(write(ws, "a/secret", b"ours"));
        inside_or_outside(write(ws, "a/new", b"ours"));
    });
}

#[test]
fn fs_43_race_of_writes_that_make_parents() {
    race_1_and_2(|ws| {
        inside_or_outside(write(ws, "a/x/y", b"ours"));
        // Whichever leads there now.
        for dir in ["a", "evil"] {
            let _ = remove(ws, &format!("{dir}/x/y"));
            let _ = remove(ws, &format!("{dir}/x"));
        }
    });
}

#[test]
fn fs_43_race_of_removes() {
    race_1_and_2(|ws| {
        let _ = write(ws, "a/gone", b"");
        for name in ["a/gone", "evil/gone"] {
            match remove(ws, name) {
                Ok(()) | Err(Code::Outside | Code::NotExist) => {}
                Err(code) => panic!("{code}"),
            }
        }
    });
}

/// A final element that is a file now and a link outside then: a write goes to the one or is refused, and never touches the other.
#[test]
fn fs_41_race_of_a_write_with_the_end_of_its_name() {
    let tree = Tree::empty();
    let (file, link) = (tree.ws.join("v"), tree.ws.join("vl"));
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("../out/secret", &link).unwrap();
    let before = tree.beside();
    for ws in tree.both() {
        while_exchanged(&file, &link, || match write_with(&ws, "v", b"new", Some(0o777)) {
            Ok(()) => {}
            // At the end of the write it was a link: then nothing was replaced.
            Err(error) => assert!(matches!(error.code, Code::Outside | Code::Invalid), "{error}"),
        });
        for path in [&file, &link] {
            let meta = path.symlink_metadata().unwrap();
            assert!(meta.is_symlink() || matches!(meta.permissions().mode() & 0o777, 0o640 | 0o777));
        }
        assert_eq!(temps(&tree.ws), [""; 0]);
    }
    assert_eq!(tree.beside(), before);
}

/// The kernel cannot go up a `..` for certain while something is renamed, and says EAGAIN, here about once in a hundred. It is asked
/// again.
#[test]
fn fs_44_race_of_a_rename_with_a_way_up() {
    let tree = Tree::empty();
    fs::write(tree.ws.join("f"), "inside").unwrap();
    for dir in ["r1/x/y", "r2/x/y"] {
        fs::create_dir_all(tree.ws.join(dir)).unwrap();
    }
    symlink("r1/x/y/../../../f", tree.ws.join("way")).unwrap();
    let before = tree.beside();
    for ws in tree.both() {
        while_exchanged(&tree.ws.join("r1/x"), &tree.ws.join("r2/x"), || {
            assert_eq!(read(&ws, "way").unwrap(), b"inside");
            write(&ws, "way", b"inside").unwrap();
        });
    }
    assert_eq!(tree.beside(), before);
}

#[test]
fn fs_47_a_listing_is_of_the_directory_that_was_opened() {
    let (tree, a, evil) = evil();
    for i in 0..40 {
        fs::write(a.join(format!("{i}")), "ours").unwrap();
        fs::write(tree.top.join(format!("out/{i}")), CANARY).unwrap();
    }
    for ws in tree.both() {
        while_exchanged(&a, &evil, || match list(&ws, "a", 100) {
            Ok(listing) => {
                assert!(listing.entries.len() == 41 && listing.entries.iter().all(|entry| entry.meta.size == 4))
            }
            Err(error) => assert_eq!(error.code, Code::Outside),
        });
    }
}

/// An entry that goes away while its directory is listed is left out.
#[test]
fn a_listing_leaves_out_what_vanishes() {
    let tree = Tree::empty();
    for ws in tree.both() {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    for i in 0..20 {
                        let _ = fs::write(tree.ws.join(format!("{i}")), "");
                    }
                    for i in 0..20 {
                        let _ = fs::remove_file(tree.ws.join(format!("{i}")));
                    }
                }
            });
            for _ in 0..2000 {
                let names = read_dir(&ws, ".");
                if !names.as_ref().is_ok_and(|names| names.is_sorted_by(|a, b| a < b)) {
                    over.store(true, Ordering::Relaxed);
                    panic!("{names:?}");
                }
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn a_remove_of_what_is_now_a_file_and_now_a_directory() {
    let tree = Tree::empty();
    for ws in tree.both() {
        let (file, dir) = (tree.ws.join("x"), tree.ws.join("y"));
        while_exchanged(&file, &dir, || {
            let _ = fs::write(&file, "");
            let _ = fs::create_dir(&dir);
            match remove(&ws, "x") {
                Ok(()) | Err(Code::NotExist) => {}
                // Eight times in a row it was the other of the two.
                Err(Code::Other) => {}
                Err(code) => panic!("{code}"),
            }
        });
        let _ = (fs::remove_file(&file), fs::remove_dir(&file), fs::remove_file(&dir), fs::remove_dir(&dir));
    }
}

#[test]
fn fs_60_two_writers_and_a_reader() {
    const SIZE: usize = 1 << 20;
    let tree = Tree::empty();
    for ws in tree.both() {
        write(&ws, "x", &vec![b'0'; SIZE]).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers = [b'1', b'2'].map(|byte| {
                let (ws, over) = (&ws, &over);
                scope.spawn(move || {
                    let until = Instant::now() + Duration::from_secs(1);
                    let data = vec![byte; SIZE];
                    for _ in (0..1000).take_while(|_| Instant::now() < until && !over.load(Ordering::Relaxed)) {
                        write(ws, "x", &data).unwrap();
                    }
                })
            });
            while !writers.iter().all(|writer| writer.is_finished()) {
                let content = read(&ws, "x");
                let whole = |content: &Vec<u8>| content.len() == SIZE && content.iter().all(|byte| *byte == content[0]);
                if !content.as_ref().is_ok_and(whole) {
                    over.store(true, Ordering::Relaxed);
                    panic!("{:?}", content.map(|content| content.len()));
                }
            }
        });
        assert_eq!(temps(&tree.ws), [""; 0]);
    }
}

/// Many workspaces of one directory, each of which sweeps it: no write is swept away.
#[test]
fn fs_62_a_sweep_leaves_a_living_writer_alone() {
    let tree = Tree::empty();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let until = Instant::now() + Duration::from_secs(1);
            let ws = Local::new(&tree.ws, Vec::new()).unwrap();
            for _ in (0..ROUNDS).take_while(|_| Instant::now() < until) {
                write(&ws, "x", b"kept").unwrap();
            }
        });
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let ws = Local::new(&tree.ws, Vec::new()).unwrap();
                drop(ws.call(Op::Create { name: "y", perm: None, size: None }, &mut NoRoom));
            }
        });
        let done = writer.join();
        over.store(true, Ordering::Relaxed);
        done.unwrap();
    });
    assert_eq!(temps(&tree.ws), [""; 0]);
}
