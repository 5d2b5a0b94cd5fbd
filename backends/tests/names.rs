//! Which names are served, and which are not: the cases FS-01 to FS-17 and their like, with the kernel's resolver and by hand.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may fail and say why")]

mod common;

use common::*;
use farside_backends::Memory;
use farside_core::{NoRoom, Op, Workspace, wire::Code};
use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path};

#[test]
fn fs_01_02_04_names_that_climb_out() {
    let tree = Tree::new();
    let before = tree.beside();
    for ws in tree.both() {
        for name in ["..", "../out/secret", "a/../../out/secret", "/etc/passwd", "//etc/passwd", "/", "/../out"] {
            all_say(&ws, name, Code::Outside);
        }
    }
    assert_eq!(tree.beside(), before);
}

#[test]
fn fs_03_names_of_a_bad_form() {
    let tree = Tree::new();
    for ws in tree.both() {
        for name in ["a/../f", "./f", "a//b", "a/", "", "./", "f/."] {
            all_say(&ws, name, Code::Invalid);
        }
    }
}

#[test]
fn fs_03_the_root_is_a_directory_and_no_file() {
    let tree = Tree::new();
    for ws in tree.both() {
        assert!(stat(&ws, ".").unwrap().mode.is_dir());
        assert!(lstat(&ws, ".").unwrap().mode.is_dir());
        assert!(read_dir(&ws, ".").unwrap().contains(&"lf".to_owned()));
        for said in [read_link(&ws, ".").map(drop), read(&ws, ".").map(drop), write(&ws, ".", b""), remove(&ws, ".")] {
            assert_eq!(said, Err(Code::Invalid));
        }
    }
}

#[test]
fn fs_05_06_odd_names_are_literal() {
    let tree = Tree::new();
    for ws in tree.both() {
        for name in ["%2e%2e%2fout", "..\\out\\secret", "...", ".. ", "~", "$HOME", "-rf", "f\u{202e}"] {
            assert_eq!(stat(&ws, name).map(drop), Err(Code::NotExist), "{name:?}");
            write(&ws, name, b"x").unwrap();
            assert_eq!(fs::read(tree.ws.join(name)).unwrap(), b"x");
            remove(&ws, name).unwrap();
        }
    }
}

#[test]
fn fs_07_nul() {
    let tree = Tree::new();
    for ws in tree.both() {
        for name in ["f\0.txt", "\0", "f\0"] {
            all_say(&ws, name, Code::Invalid);
        }
    }
}

#[test]
fn fs_11_long_names() {
    let tree = Tree::new();
    let (longest, longer) = ("x".repeat(255), "x".repeat(256));
    let path = |n: usize| format!("{}{}", "y/".repeat((n - 1) / 2), "z".repeat(n - (n - 1) / 2 * 2));
    let memory = Memory::new();
    let [kernel, hand] = tree.both();
    for ws in [&kernel as &dyn Workspace, &hand, &memory] {
        for name in [&longest, &path(4095)] {
            assert_eq!(read(ws, name).map(drop), Err(Code::NotExist));
            assert_eq!(stat(ws, name).map(drop), Err(Code::NotExist));
        }
        for name in [&longer, &path(4096)] {
            all_say(ws, name, Code::Invalid);
        }
        assert_eq!(write(ws, &format!("new/{longer}"), b""), Err(Code::Invalid));
        assert_eq!(lstat(ws, "new").map(drop), Err(Code::NotExist), "nothing is made on the way to it");
        write(ws, &longest, b"x").unwrap();
        assert_eq!(read(ws, &longest).unwrap(), b"x");
        remove(ws, &longest).unwrap();
    }
}

#[test]
fn fs_13_14_links_that_lead_out() {
    let tree = Tree::new();
    let before = tree.beside();
    for ws in tree.both() {
        for name in ["abs", "up", "rootl/etc/passwd", "magic/etc/passwd", "outin", "absin", "rootl/x", "up/x", "magic"]
        {
            for said in [stat(&ws, name).map(drop), read_dir(&ws, name).map(drop), read(&ws, name).map(drop)] {
                assert_eq!(said, Err(Code::Outside), "{name}");
            }
            assert_eq!(write(&ws, name, b"new"), Err(Code::Outside), "{name}");
        }
        for name in ["rootl/etc/passwd", "magic/etc/passwd", "up/x"] {
            assert_eq!(lstat(&ws, name).map(drop), Err(Code::Outside), "{name}");
            assert_eq!(read_link(&ws, name), Err(Code::Outside), "{name}");
            assert_eq!(remove(&ws, name), Err(Code::Outside), "{name}");
        }
        for (name, target) in [("abs", "/etc/passwd"), ("up", "../out/secret"), ("outin", "../ws/f"), ("rootl", "/")] {
            assert!(lstat(&ws, name).unwrap().mode.is_symlink());
            assert_eq!(lstat(&ws, name).unwrap().size, target.len() as u64);
            assert_eq!(read_link(&ws, name).unwrap(), target);
        }
    }
    assert_eq!(tree.beside(), before);
    assert_eq!(fs::read(tree.ws.join("f")).unwrap(), b"inside");
}

#[test]
fn fs_15_links_that_stay_inside() {
    let tree = Tree::new();
    fs::write(tree.ws.join("a/b/x"), "x").unwrap();
    for ws in tree.both() {
        assert_eq!(read(&ws, "lf").unwrap(), b"inside");
        assert_eq!(read(&ws, "dd").unwrap(), b"inside");
        assert_eq!(read(&ws, "da/b/x").unwrap(), b"x");
        assert_eq!(read_dir(&ws, "da").unwrap(), ["b"]);
        assert!(stat(&ws, "da").unwrap().mode.is_dir());
        assert!(stat(&ws, "da/b").unwrap().mode.is_dir());
        assert!(lstat(&ws, "da/b").unwrap().mode.is_dir());
        assert!(lstat(&ws, "da").unwrap().mode.is_symlink());
        assert_eq!(read_link(&ws, "f"), Err(Code::Invalid));
        assert_eq!(read_link(&ws, "a"), Err(Code::Invalid));
    }
}

#[test]
fn fs_16_forty_links_are_followed() {
    let tree = Tree::new();
    for ws in tree.both() {
        assert_eq!(read(&ws, "c39").unwrap(), b"inside");
        write(&ws, "c39", b"inside").unwrap();
        assert!(stat(&ws, "c39").unwrap().mode.is_regular());
        for name in ["c40", "loop", "loop/x"] {
            for said in [stat(&ws, name).map(drop), read(&ws, name).map(drop), write(&ws, name, b"new")] {
                assert_eq!(said, Err(Code::Invalid), "{name}");
            }
        }
        assert!(lstat(&ws, "c40").unwrap().mode.is_symlink());
        assert_eq!(read_link(&ws, "loop").unwrap(), "loop");
    }
    assert!(tree.ws.join("c39").is_symlink());
}

#[test]
fn fs_17_a_link_and_a_slash() {
    let tree = Tree::new();
    for ws in tree.both() {
        for name in ["abs/", "up/", "rootl/", "lf/", "f/", "da/"] {
            all_say(&ws, name, Code::Invalid);
        }
    }
}

#[test]
fn fs_24_a_hard_link_is_a_file() {
    let tree = Tree::new();
    for ws in tree.both() {
        assert_eq!(read(&ws, "hard").unwrap(), CANARY.as_bytes());
    }
}

#[test]
fn fs_49_the_root_is_moved() {
    let tree = Tree::new();
    let [kernel, hand] = tree.both();
    fs::rename(&tree.ws, tree.top.join("ws2")).unwrap();
    std::os::unix::fs::symlink("out", &tree.ws).unwrap();
    let before = tree.beside();
    for ws in [kernel, hand] {
        assert_eq!(read(&ws, "f").unwrap(), b"inside");
        assert_eq!(read(&ws, "secret"), Err(Code::NotExist));
        write(&ws, "new/file", b"new").unwrap();
        assert_eq!(fs::read(tree.top.join("ws2/new/file")).unwrap(), b"new");
        assert_eq!(read_dir(&ws, "new").unwrap(), ["file"]);
        remove(&ws, "new/file").unwrap();
        remove(&ws, "new").unwrap();
    }
    assert_eq!(tree.beside(), before);
}

#[test]
fn fs_51_a_root_that_is_a_prefix() {
    let tree = Tree::new();
    std::os::unix::fs::symlink("../ws-evil/x", tree.ws.join("twin")).unwrap();
    for ws in tree.both() {
        assert_eq!(read(&ws, "twin"), Err(Code::Outside));
        all_say(&ws, "../ws-evil/x", Code::Outside);
    }
}

#[test]
fn fs_54_names_that_are_not_utf8() {
    let tree = Tree::empty();
    for name in [&b"\xff"[..], b"\xfe", b"\xff\xfe", b"good"] {
        fs::write(tree.ws.join(OsStr::from_bytes(name)), "x").unwrap();
    }
    std::os::unix::fs::symlink(OsStr::from_bytes(b"\xff"), tree.ws.join("to")).unwrap();
    for ws in tree.both() {
        let listing = list(&ws, ".", 5).unwrap();
        let names: Vec<_> = listing.entries.iter().map(|entry| &*entry.name).collect();
        assert_eq!((names, listing.skipped), (vec!["good", "to"], 3));
        assert_eq!(list(&ws, ".", 4).unwrap_err().code, Code::Limit);
        assert_eq!(read_link(&ws, "to"), Err(Code::Invalid));
        assert_eq!(read(&ws, "to").unwrap(), b"x");
        assert_eq!(stat(&ws, "\u{fffd}").map(drop), Err(Code::NotExist));
    }
}

#[test]
fn fs_55_f18_names_with_control_characters_and_their_like() {
    let names = [
        "\n",
        "\"",
        "\u{1b}[31m",
        "\u{202e}x",
        "{\"error\":1}",
        " a b",
        "100%",
        "%2e",
        "a#b",
        "a?b",
        "a&b=c",
        "🤣",
        "a\\b",
        ".",
    ];
    let tree = Tree::empty();
    for ws in tree.both() {
        for name in &names[..names.len() - 1] {
            write(&ws, name, name.as_bytes()).unwrap();
            assert_eq!(read(&ws, name).unwrap(), name.as_bytes());
        }
        let mut sorted = names[..names.len() - 1].to_vec();
        sorted.sort_unstable();
        assert_eq!(read_dir(&ws, ".").unwrap(), sorted);
    }
}

#[test]
fn an_error_names_no_path_of_the_server() {
    let tree = Tree::new();
    fs::set_permissions(&tree.ws, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let top = tree.top.display().to_string();
    for ws in tree.both() {
        for name in ["abs", "up", "nope", "loop", "f/x", "a", "fifo"] {
            for op in [Op::Open { name }, Op::ReadDir { name, max: 0 }, Op::Create { name, perm: None, size: None }] {
                if let Err(error) = call(&ws, op, &mut NoRoom) {
                    assert!(!format!("{error:?} {error}").contains(&top));
                }
            }
        }
    }
}

#[test]
fn a_workspace_of_what_is_no_directory() {
    let tree = Tree::new();
    let error = farside_backends::Local::new(tree.ws.join("f"), Vec::new()).unwrap_err();
    assert_eq!(error.code, Code::Invalid);
    assert_eq!(error.message(), format!("invalid argument: {}: not a directory", tree.ws.join("f").display()));
    let error = farside_backends::Local::new(Path::new("/nowhere"), Vec::new()).unwrap_err();
    assert_eq!(error.message(), "file does not exist: /nowhere: no such file or directory");
    for bad in ["", "=x", "NAME", "A=\0"] {
        let error = farside_backends::Local::new(&tree.ws, vec![bad.into()]).unwrap_err();
        assert_eq!(error.code, Code::Invalid);
    }
}
