//! Content: what is read, written and removed, and what is refused.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may fail and say why")]

mod common;

use common::*;
use farside_backends::Memory;
use farside_core::{Answer, NoRoom, Op, Reader, Room, Workspace, wire::Code};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixListener,
    },
    path::Path,
    sync::mpsc,
    time::Duration,
};

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
}

#[test]
fn a_small_file_is_read_at_once_and_a_large_one_by_a_reader() {
    let tree = Tree::empty();
    let memory = Memory::new();
    for size in [0, 1, 1024, 65_535, 65_536, 65_537, 1_000_000] {
        let data: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
        fs::write(tree.ws.join("x"), &data).unwrap();
        memory.put("x", data.clone()).unwrap();
        let [kernel, hand] = tree.both();
        for ws in [&kernel as &dyn Workspace, &hand, &memory] {
            let mut room = Vec::new();
            match open(ws, "x", &mut room).unwrap() {
                Answer::Whole(n) => assert!(size < 65_536 && room[..n] == data),
                Answer::Reader(reader) => {
                    assert!(size >= 65_536);
                    assert_eq!(reader.size, Some(size));
                    assert_eq!(drain(reader).unwrap(), data);
                }
                _ => panic!("no content"),
            }
            let Answer::Reader(reader) = open(ws, "x", &mut NoRoom).unwrap() else { panic!("there was no room") };
            assert_eq!(reader.size, Some(size));
            assert_eq!(drain(reader).unwrap(), data);
        }
    }
}

#[test]
fn a_carriage_may_send_from_the_descriptor_of_a_reader() {
    let tree = Tree::empty();
    fs::write(tree.ws.join("x"), vec![7; 100_000]).unwrap();
    for ws in tree.both() {
        let Answer::Reader(mut reader) = open(&ws, "x", &mut NoRoom).unwrap() else { panic!("there was no room") };
        assert_eq!(piece(&mut reader, &mut [0; 10]).unwrap(), 10);
        // Its own offset was not moved by that.
        let mut all = vec![0; 100_000];
        let fd = reader.file.as_ref().unwrap();
        assert!(rustix::io::read(&**fd, &mut all).unwrap() > 99_000);
    }
}

/// Files whose size lies, as the kernel's own do.
#[test]
fn a_size_that_lies() {
    let proc = farside_backends::Local::new("/proc/self", Vec::new()).unwrap();
    assert_eq!(stat(&proc, "status").unwrap().size, 0);
    let mut room = Vec::new();
    let Answer::Whole(n) = open(&proc, "status", &mut room).unwrap() else { panic!("it fits") };
    assert!(room[..n].starts_with(b"Name:") && room[..n].ends_with(b"\n"));
    let Answer::Reader(reader) = open(&proc, "status", &mut NoRoom).unwrap() else { panic!("there was no room") };
    assert!(reader.size.is_some_and(|size| size > 100) && reader.file.is_none());
    let size = reader.size;
    let content = drain(reader).unwrap();
    assert!(content.starts_with(b"Name:") && size == Some(content.len() as u64));
    // Long, and the kernel gives it a page at a time.
    let top = farside_backends::Local::new("/proc", Vec::new()).unwrap();
    let expected = fs::read("/proc/kallsyms").unwrap();
    if expected.len() > 200_000 {
        let Answer::Reader(reader) = open(&top, "kallsyms", &mut room).unwrap() else { panic!("it is long") };
        assert!(reader.size.is_none());
        assert!(drain(reader).unwrap() == expected);
    }
    if Path::new("/sys/kernel/mm/transparent_hugepage/enabled").exists() {
        let sys = farside_backends::Local::new("/sys/kernel/mm", Vec::new()).unwrap();
        assert_eq!(stat(&sys, "transparent_hugepage/enabled").unwrap().size, 4096);
        let Answer::Whole(n) = open(&sys, "transparent_hugepage/enabled", &mut room).unwrap() else {
            panic!("it fits")
        };
        assert!(n > 0 && n < 100);
    }
}

/// A room that changes the file when it is asked for, so between the size and the read.
struct Meddler<'a> {
    room: Vec<u8>,
    then: Option<Box<dyn FnOnce() + 'a>>,
}

impl Room for Meddler<'_> {
    fn room(&mut self, n: usize) -> &mut [u8] {
        if let Some(then) = self.then.take() {
            then();
        }
        self.room.room(n)
    }
}

#[test]
fn fs_59_a_small_file_that_changes_has_the_length_that_was_read() {
    let tree = Tree::empty();
    let path = tree.ws.join("x");
    for ws in tree.both() {
        for becomes in [0, 5, 11, 500, 65_535, 65_536, 200_000] {
            fs::write(&path, "0123456789").unwrap();
            let data: Vec<u8> = (0..becomes).map(|i| (i % 251) as u8).collect();
            let then = || fs::write(&path, &data).unwrap();
            let mut room = Meddler { room: Vec::new(), then: Some(Box::new(then)) };
            match open(&ws, "x", &mut room).unwrap() {
                Answer::Whole(n) => assert!(n < 65_536 && room.room[..n] == data, "{becomes}"),
                Answer::Reader(reader) => {
                    assert!(becomes >= 65_536 && reader.size.is_none());
                    assert_eq!(drain(reader).unwrap(), data);
                }
                _ => panic!("no content"),
            }
        }
    }
}

#[test]
fn fs_59_a_large_file_that_changes_never_gives_more_than_was_promised() {
    let tree = Tree::empty();
    let path = tree.ws.join("x");
    let opened = |ws: &dyn Workspace| -> Reader {
        fs::write(&path, vec![b'x'; 100_000]).unwrap();
        match open(ws, "x", &mut Vec::new()).unwrap() {
            Answer::Reader(reader) => reader,
            _ => panic!("it is large"),
        }
    };
    for ws in tree.both() {
        let reader = opened(&ws);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more").unwrap();
        assert_eq!(drain(reader).unwrap().len(), 100_000);

        let mut reader = opened(&ws);
        assert_eq!(piece(&mut reader, &mut [0; 1000]).unwrap(), 1000);
        File::options().write(true).open(&path).unwrap().set_len(500).unwrap();
        let error = piece(&mut reader, &mut [0; 1000]).unwrap_err();
        assert_eq!((error.code, &*error.words), (Code::Other, "the file shrank while it was read"));
    }
}

#[test]
fn fs_58_a_sparse_file_is_streamed() {
    let tree = Tree::empty();
    // As large as this file system can have one.
    let file = File::create(tree.ws.join("big")).unwrap();
    let size = [1 << 40, 1 << 33].into_iter().find(|size| file.set_len(*size).is_ok()).unwrap();
    for ws in tree.both() {
        let Answer::Reader(mut reader) = open(&ws, "big", &mut Vec::new()).unwrap() else { panic!("it is large") };
        assert_eq!(reader.size, Some(size));
        let mut buf = vec![1; 64 * 1024];
        for _ in 0..16 {
            assert_eq!(piece(&mut reader, &mut buf).unwrap(), buf.len());
            assert!(buf.iter().all(|byte| *byte == 0));
        }
    }
}

#[test]
fn fs_25_a_hard_links_other_name_keeps_its_content() {
    let tree = Tree::new();
    let before = tree.beside();
    for ws in tree.both() {
        let _ = fs::remove_file(tree.ws.join("hard"));
        fs::hard_link(tree.top.join("out/secret"), tree.ws.join("hard")).unwrap();
        write(&ws, "hard", b"new").unwrap();
        assert_eq!(fs::read(tree.ws.join("hard")).unwrap(), b"new");
    }
    assert_eq!(tree.beside(), before);
}

#[test]
fn fs_27_f19_a_fifo_blocks_nobody() {
    let tree = Tree::new();
    fifo(&tree.ws.join("fifo"));
    for ws in tree.both() {
        let ws = std::sync::Arc::new(ws);
        let (done, all) = mpsc::channel();
        for i in 0..100 {
            let (ws, done) = (ws.clone(), done.clone());
            std::thread::spawn(move || {
                let said = if i % 2 == 0 { read(&*ws, "fifo").map(drop) } else { write(&*ws, "fifo", b"x") };
                done.send(said).unwrap();
            });
        }
        for _ in 0..100 {
            assert_eq!(all.recv_timeout(Duration::from_secs(30)).expect("blocked"), Err(Code::Invalid));
        }
        assert!(stat(&*ws, "fifo").unwrap().mode.0 & farside_core::wire::FileMode::NAMED_PIPE != 0);
        assert_eq!(read_dir(&*ws, "fifo"), Err(Code::Invalid));
        assert_eq!(read_link(&*ws, "fifo"), Err(Code::Invalid));
        remove(&*ws, "fifo").unwrap();
        fifo(&tree.ws.join("fifo"));
    }
}

#[test]
fn fs_30_sockets_and_devices() {
    let tree = Tree::new();
    let socket = UnixListener::bind(tree.ws.join("sock")).unwrap();
    let null = rustix::fs::makedev(1, 3);
    let made = mknodat(CWD, tree.ws.join("null"), FileType::CharacterDevice, Mode::from_raw_mode(0o666), null);
    if let Err(error) = &made {
        println!("skipped: the device node ({error}; it takes root)");
    }
    for ws in tree.both() {
        for name in ["sock"].into_iter().chain(made.is_ok().then_some("null")) {
            assert_eq!(read(&ws, name), Err(Code::Invalid), "{name}");
            assert_eq!(write(&ws, name, b"x"), Err(Code::Invalid), "{name}");
            assert!(!stat(&ws, name).unwrap().mode.is_regular());
        }
        assert_eq!(temps(&tree.ws), [""; 0]);
    }
    let [ws, _] = tree.both();
    remove(&ws, "sock").unwrap();
    assert!(!tree.ws.join("sock").exists());
    drop(socket);
}

#[test]
fn decision_15_fs_32_33_a_write_through_a_link() {
    let tree = Tree::new();
    let before = tree.beside();
    symlink("a/b/dang", tree.ws.join("dang2")).unwrap();
    symlink("deep/er/file", tree.ws.join("dang3")).unwrap();
    symlink("../lf", tree.ws.join("a/lf")).unwrap();
    symlink("gone/../f", tree.ws.join("updown")).unwrap();
    symlink("new/", tree.ws.join("slash")).unwrap();
    for ws in tree.both() {
        write(&ws, "lf", b"replaced").unwrap();
        assert!(tree.ws.join("lf").is_symlink());
        assert_eq!(fs::read(tree.ws.join("f")).unwrap(), b"replaced");
        write(&ws, "da/lf", b"again").unwrap();
        assert!(tree.ws.join("a/lf").is_symlink() && tree.ws.join("lf").is_symlink());
        assert_eq!(fs::read(tree.ws.join("f")).unwrap(), b"again");

        for (name, target) in [("dang", "nope"), ("dang2", "a/b/dang"), ("dang3", "deep/er/file")] {
            write(&ws, name, name.as_bytes()).unwrap();
            assert!(tree.ws.join(name).is_symlink());
            assert_eq!(fs::read(tree.ws.join(target)).unwrap(), name.as_bytes());
            remove(&ws, target).unwrap();
        }
        remove(&ws, "deep/er").unwrap();
        remove(&ws, "deep").unwrap();

        assert_eq!(write(&ws, "dangout", b"x"), Err(Code::Outside));
        assert_eq!(write(&ws, "up", b"x"), Err(Code::Outside));
        assert_eq!(write(&ws, "updown", b"x"), Err(Code::NotExist));
        assert_eq!(write(&ws, "slash", b"x"), Err(Code::Invalid));
        assert_eq!(write(&ws, "da", b"x"), Err(Code::Invalid));
        assert!(!tree.ws.join("new").exists());
        assert_eq!((temps(&tree.ws), temps(&tree.top.join("out"))), (vec![], vec![]));
    }
    assert_eq!(tree.beside(), before);
}

#[test]
fn fs_34_a_write_to_what_is_no_file() {
    let tree = Tree::new();
    for ws in tree.both() {
        for name in ["new/", "f/", "a", ".", "f/x", "lf/x", "a/b"] {
            assert_eq!(write(&ws, name, b"x"), Err(Code::Invalid), "{name}");
        }
        assert!(!tree.ws.join("new").exists());
        assert_eq!(temps(&tree.ws), [""; 0]);
    }
}

#[test]
fn fs_35_36_removing() {
    for by in 0..2 {
        let tree = Tree::new();
        let before = tree.beside();
        let ws = &tree.both()[by];
        for name in ["abs", "da", "dang", "up", "rootl", "magic", "outin", "loop"] {
            remove(ws, name).unwrap();
            assert!(!tree.ws.join(name).is_symlink());
            assert_eq!(remove(ws, name), Err(Code::NotExist));
        }
        assert_eq!(remove(ws, "."), Err(Code::Invalid));
        assert_eq!(remove(ws, ".."), Err(Code::Outside));
        assert_eq!(remove(ws, "a"), Err(Code::Exist));
        remove(ws, "a/b").unwrap();
        remove(ws, "a").unwrap();
        assert_eq!(remove(ws, "f/x"), Err(Code::Invalid));
        assert_eq!(remove(ws, "nope/x"), Err(Code::NotExist));
        remove(ws, "f").unwrap();
        assert_eq!(read_dir(ws, ".").unwrap().len(), tree.ws.read_dir().unwrap().count());
        assert_eq!(tree.beside(), before);
    }
}

#[test]
fn fs_37_f17_modes() {
    let tree = Tree::empty();
    for ws in tree.both() {
        for (perm, is) in [(0o4755, 0o755), (0o2755, 0o755), (0o1777, 0o777), (0o7777, 0o777), (0, 0), (0o600, 0o600)] {
            write_with(&ws, "x", b"", Some(perm)).unwrap();
            assert_eq!(mode(tree.ws.join("x")), is, "{perm:o}");
            remove(&ws, "x").unwrap();
        }
        write_with(&ws, "x", b"", None).unwrap();
        assert_eq!(mode(tree.ws.join("x")), 0o644);
        // One that exists keeps its own, the executable bit and all, but never those beyond the permissions.
        for (has, keeps) in [(0o750, 0o750), (0o400, 0o400), (0o6751, 0o751)] {
            fs::set_permissions(tree.ws.join("x"), fs::Permissions::from_mode(has)).unwrap();
            write_with(&ws, "x", b"new", Some(0o666)).unwrap();
            assert_eq!(mode(tree.ws.join("x")), keeps, "{has:o}");
            assert_eq!(stat(&ws, "x").unwrap().mode.0, keeps);
        }
        remove(&ws, "x").unwrap();
    }
}

#[test]
fn a_listing_and_a_stat_say_the_same() {
    let tree = Tree::new();
    fs::set_permissions(tree.ws.join("f"), fs::Permissions::from_mode(0o6751)).unwrap();
    fs::set_permissions(tree.ws.join("a"), fs::Permissions::from_mode(0o1777)).unwrap();
    for ws in tree.both() {
        let listing = list(&ws, ".", 10_000).unwrap();
        assert!(listing.entries.is_sorted_by(|a, b| a.name.as_bytes() < b.name.as_bytes()));
        for entry in listing.entries {
            assert_eq!(Ok(entry.meta), lstat(&ws, &entry.name), "{}", entry.name);
        }
        let meta = stat(&ws, "f").unwrap();
        assert_eq!((meta.size, meta.mode.0 & 0o777), (6, 0o751));
        assert_eq!(meta.mode, farside_core::wire::FileMode::from_unix(0o106_751));
        assert_eq!(meta.modified.seconds, fs::metadata(tree.ws.join("f")).unwrap().mtime());
        assert_eq!(i64::from(meta.modified.nanos), fs::metadata(tree.ws.join("f")).unwrap().mtime_nsec());
    }
}

#[test]
fn parents_are_made_once_the_content_is_whole() {
    let tree = Tree::empty();
    for ws in tree.both() {
        let mut sink = create(&ws, "x/y/z", None).unwrap();
        put(&mut *sink, b"deep").unwrap();
        assert!(!tree.ws.join("x").exists());
        assert_eq!(temps(&tree.ws).len(), 1);
        drop(sink);
        assert_eq!(fs::read_dir(&tree.ws).unwrap().count(), 0);

        write(&ws, "x/y/z", b"deep").unwrap();
        assert_eq!(fs::read(tree.ws.join("x/y/z")).unwrap(), b"deep");
        assert_eq!((mode(tree.ws.join("x")), mode(tree.ws.join("x/y"))), (0o755, 0o755));
        assert_eq!((temps(&tree.ws), temps(&tree.ws.join("x/y"))), (vec![], vec![]));
        fs::remove_dir_all(tree.ws.join("x")).unwrap();

        // Made by another meanwhile.
        let mut sink = create(&ws, "x/y/z", None).unwrap();
        fs::create_dir(tree.ws.join("x")).unwrap();
        finish(&mut *sink).unwrap();
        assert!(tree.ws.join("x/y/z").exists());
        fs::remove_dir_all(tree.ws.join("x")).unwrap();
    }
}

#[test]
fn a_failure_at_the_end_leaves_nothing() {
    let tree = Tree::empty();
    for ws in tree.both() {
        let mut sink = create(&ws, "x/y/z", None).unwrap();
        put(&mut *sink, b"deep").unwrap();
        fs::create_dir(tree.ws.join("x")).unwrap();
        fs::write(tree.ws.join("x/y"), "in the way").unwrap();
        assert_eq!(finish(&mut *sink).unwrap_err().code, Code::Invalid);
        drop(sink);
        assert_eq!(fs::read(tree.ws.join("x/y")).unwrap(), b"in the way");
        fs::remove_dir_all(tree.ws.join("x")).unwrap();

        // The parents that it made go with it.
        let mut sink = create(&ws, "p/q", None).unwrap();
        fs::remove_file(tree.ws.join(&temps(&tree.ws)[0])).unwrap();
        assert_eq!(finish(&mut *sink).unwrap_err().code, Code::NotExist);
        drop(sink);
        assert_eq!(fs::read_dir(&tree.ws).unwrap().count(), 0);

        // What took the name meanwhile and is no file stays.
        for make in
            [|path: &Path| fs::create_dir(path).unwrap(), |path: &Path| symlink("../out/secret", path).unwrap(), fifo]
        {
            let mut sink = create(&ws, "x", None).unwrap();
            make(&tree.ws.join("x"));
            assert_eq!(finish(&mut *sink).unwrap_err().code, Code::Invalid);
            drop(sink);
            assert_eq!(fs::read_dir(&tree.ws).unwrap().count(), 1);
            remove(&ws, "x").unwrap();
        }
    }
    assert_eq!(fs::read_to_string(tree.top.join("out/secret")).unwrap(), CANARY);
}

#[test]
fn fs_48_temporary_files_cannot_be_guessed() {
    let tree = Tree::empty();
    for ws in tree.both() {
        let sinks: Vec<_> = (0..50).map(|i| create(&ws, &format!("x{i}"), Some(0o777)).unwrap()).collect();
        let names = temps(&tree.ws);
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 50);
        for name in names {
            let id = name.strip_prefix(".farside-").unwrap().strip_suffix(".tmp").unwrap();
            assert!(id.len() == 26 && id.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7')));
            assert_eq!(mode(tree.ws.join(name)), 0o600, "nobody else reads what is not whole");
        }
        drop(sinks);
        assert_eq!(temps(&tree.ws), [""; 0]);
    }
}

#[test]
fn fs_57_a_listing_has_a_bound() {
    let tree = Tree::empty();
    let memory = Memory::new();
    for i in 0..51 {
        fs::write(tree.ws.join(format!("{i}")), "").unwrap();
        memory.put(&format!("{i}"), "").unwrap();
    }
    let [kernel, hand] = tree.both();
    for ws in [&kernel as &dyn Workspace, &hand, &memory] {
        assert_eq!(list(ws, ".", 51).unwrap().entries.len(), 51);
        let error = list(ws, ".", 50).unwrap_err();
        let details = error.details.as_deref().unwrap();
        assert_eq!(
            (error.code, details.limit, details.name.as_deref()),
            (Code::Limit, Some(50), Some("maxDirEntries"))
        );
        assert_eq!(list(ws, ".", 0).unwrap_err().code, Code::Limit);
    }
}

#[test]
fn fs_61_f17_a_write_that_is_cut_changes_nothing() {
    let tree = Tree::empty();
    let data = vec![b'n'; 300_000];
    for ws in tree.both() {
        for old in [None, Some("old")] {
            for cut in [0, 1, data.len() / 2, data.len() - 1, data.len()] {
                if let Some(old) = old {
                    fs::write(tree.ws.join("x"), old).unwrap();
                }
                let mut sink = create(&ws, "x", None).unwrap();
                put(&mut *sink, &data[..cut]).unwrap();
                let seen = read(&ws, "x").ok();
                assert_eq!(seen.as_deref(), old.map(str::as_bytes), "while it goes on");
                drop(sink);
                assert_eq!(read(&ws, "x").ok().as_deref(), old.map(str::as_bytes), "cut at {cut}");
                assert_eq!(temps(&tree.ws), [""; 0]);
            }
        }
        fs::remove_file(tree.ws.join("x")).unwrap();
    }
}

#[test]
fn f17_sizes() {
    let tree = Tree::empty();
    for ws in tree.both().map(|ws| ws.with_sync(true)) {
        for size in [0, 18_000, 8 << 20] {
            let data = vec![b's'; size];
            for name in ["x", "new/dir/x"] {
                write(&ws, name, &data).unwrap();
                write(&ws, name, &data).unwrap();
                assert_eq!(read(&ws, name).unwrap(), data);
            }
            fs::remove_dir_all(tree.ws.join("new")).unwrap();
        }
    }
}

#[test]
fn fs_62_what_a_killed_writer_left_is_swept() {
    let tree = Tree::empty();
    fs::create_dir(tree.ws.join("d")).unwrap();
    let stale = format!(".farside-{}.tmp", "A".repeat(26));
    let kept = [
        ".farside-x.tmp".to_owned(),
        format!(".farside-{}.tmp", "a".repeat(26)),
        format!("farside-{}.tmp", "A".repeat(26)),
    ];
    for dir in ["", "d/"] {
        for name in kept.iter().chain([&stale]) {
            fs::write(tree.ws.join(format!("{dir}{name}")), "left").unwrap();
        }
    }
    // One that is nothing of ours, whatever it is called.
    let link = format!(".farside-{}.tmp", "B".repeat(26));
    symlink(&kept[0], tree.ws.join(&link)).unwrap();
    let [kernel, hand] = tree.both();
    let alive = create(&kernel, "x", None).unwrap();
    let mut expected = [kept.to_vec(), vec![link]].concat();
    expected.retain(|name| name.starts_with('.'));
    expected.push(temps(&tree.ws).into_iter().find(|name| !expected.contains(name)).unwrap());
    expected.sort();
    let mut there = temps(&tree.ws);
    there.sort();
    assert_eq!(there, expected);
    assert!(tree.ws.join(format!("d/{stale}")).exists(), "only where something is written");
    // Another workspace, as of another process, leaves alone what is being written.
    write(&hand, "y", b"").unwrap();
    let mut there = temps(&tree.ws);
    there.sort();
    assert_eq!(there, expected);
    let mut alive = alive;
    finish(&mut *alive).unwrap();
    write(&hand, "d/y", b"").unwrap();
    assert!(!tree.ws.join(format!("d/{stale}")).exists());
}

/// As another user than root, whom permissions mean something to.
#[test]
fn fs_64_permissions() {
    if root() {
        if std::env::var_os("FARSIDE_AS_NOBODY").is_none() {
            as_nobody("fs_64_permissions");
        }
        return;
    }
    let tree = Tree::new();
    let set = |name: &str, mode| fs::set_permissions(tree.ws.join(name), fs::Permissions::from_mode(mode)).unwrap();
    fs::write(tree.ws.join("a/b/x"), "x").unwrap();
    for ws in tree.both() {
        set("f", 0o000);
        assert_eq!(read(&ws, "f"), Err(Code::Permission));
        write(&ws, "f", b"inside").unwrap();
        set("f", 0o400);
        write(&ws, "f", b"inside").unwrap();
        assert_eq!(read(&ws, "f").unwrap(), b"inside");

        set("a/b", 0o555);
        assert_eq!(write(&ws, "a/b/new", b""), Err(Code::Permission));
        assert_eq!(write(&ws, "a/b/x", b""), Err(Code::Permission));
        assert_eq!(remove(&ws, "a/b/x"), Err(Code::Permission));
        set("a/b", 0o444);
        for said in [read(&ws, "a/b/x").map(drop), stat(&ws, "a/b/x").map(drop), read_dir(&ws, "a/b").map(drop)] {
            assert_eq!(said, Err(Code::Permission));
        }
        set("a/b", 0o333);
        assert_eq!(read_dir(&ws, "a/b").map(drop), Err(Code::Permission));
        write(&ws, "a/b/x", b"x").unwrap();
        set("a/b", 0o755);
        assert_eq!(temps(&tree.ws.join("a/b")), [""; 0]);
    }
    assert!(matches!(
        call(&tree.both()[0], Op::Stat { name: "f", follow: true }, &mut NoRoom),
        Ok(Answer::Meta(meta)) if meta.mode.perm() == 0o400
    ));
}

/// Runs one test of this program as the user nobody.
fn as_nobody(test: &str) {
    let run = |exe: &Path| {
        let ids = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        let mut command = std::process::Command::new("setpriv");
        command
            .args(ids)
            .arg(exe)
            .args(["--exact", test, "--nocapture"])
            .env("FARSIDE_AS_NOBODY", "1")
            .env_remove("TMPDIR");
        command.output()
    };
    // Where nobody may run it from.
    let held = tempfile::tempdir().unwrap();
    fs::set_permissions(held.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let exe = held.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
    match run(&exe) {
        Err(error) => println!("skipped: setpriv: {error}"),
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
    }
}
