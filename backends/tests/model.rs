//! Any history of operations comes to the same in Memory, in Local by the kernel, and in Local by hand.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may fail and say why")]

mod common;

use common::*;
use farside_backends::{Local, Memory};
use farside_core::{Workspace, wire::Code};
use proptest::prelude::*;
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

#[derive(Clone, Debug)]
enum Step {
    Stat(String),
    Lstat(String),
    ReadLink(String),
    ReadDir(String, u64),
    Read(String),
    Write(String, Vec<u8>, Option<u32>),
    /// A write that is not finished.
    Cut(String),
    /// Two writes at once, the first begun being the last finished.
    Cross(String, String),
    Remove(String),
    /// From outside: a link of this name to that, a directory.
    Link(String, &'static str),
    Dir(String),
}

const TARGETS: &[&str] = &[
    "a",
    "b",
    "c",
    "a/b",
    "a/c",
    "./a",
    "a/",
    "a/.",
    "b/",
    "..",
    ".",
    "../a",
    "../b",
    "../../a",
    "../../b",
    "../../../a",
    "a/..",
    "a/../b",
    "b/../../a",
    "/",
    "/etc/passwd",
    "c//b",
    "x/../a",
    "../ws/a",
    "a/b/c",
];

fn name() -> impl Strategy<Value = String> {
    let element = prop::sample::select(vec!["a", "b", "c"]);
    prop_oneof![
        20 => prop::collection::vec(element, 1..4).prop_map(|elements| elements.join("/")),
        1 => Just(".".to_owned()),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let content = prop_oneof![Just(0usize), 1..5usize, Just(70_000)].prop_map(|n| vec![b'x'; n]);
    let perm = prop::sample::select(vec![None, Some(0o600), Some(0o4755), Some(0o777)]);
    prop_oneof![
        2 => name().prop_map(Step::Stat),
        1 => name().prop_map(Step::Lstat),
        1 => name().prop_map(Step::ReadLink),
        2 => (name(), prop::sample::select(vec![0, 1, 2, 100])).prop_map(|(name, max)| Step::ReadDir(name, max)),
        3 => name().prop_map(Step::Read),
        5 => (name(), content, perm).prop_map(|(name, content, perm)| Step::Write(name, content, perm)),
        1 => name().prop_map(Step::Cut),
        1 => (name(), name()).prop_map(|(one, other)| Step::Cross(one, other)),
        3 => name().prop_map(Step::Remove),
        5 => (name(), prop::sample::select(TARGETS)).prop_map(|(name, target)| Step::Link(name, target)),
        2 => name().prop_map(Step::Dir),
    ]
}

/// What a step comes to, as far as it must be the same everywhere.
fn carry_out(ws: &dyn Workspace, step: &Step) -> Result<String, Code> {
    let meta = |meta: farside_core::wire::Meta| {
        // A directory's size is its file system's affair.
        format!("{:o} {}", meta.mode.0, if meta.mode.is_dir() { 0 } else { meta.size })
    };
    match step {
        Step::Stat(name) => stat(ws, name).map(meta),
        Step::Lstat(name) => lstat(ws, name).map(meta),
        Step::ReadLink(name) => read_link(ws, name),
        Step::ReadDir(name, max) => {
            let listing = list(ws, name, *max).map_err(|error| error.code)?;
            Ok(listing.entries.into_iter().map(|entry| format!("{} {}\n", entry.name, meta(entry.meta))).collect())
        }
        Step::Read(name) => Ok(format!("{:?}", read(ws, name)?)),
        Step::Write(name, content, perm) => {
            write_with(ws, name, content, *perm).map(|()| String::new()).map_err(|error| error.code)
        }
        Step::Cut(name) => {
            let mut sink = create(ws, name, None).map_err(|error| error.code)?;
            put(&mut *sink, b"cut").map(|()| String::new()).map_err(|error| error.code)
        }
        Step::Cross(one, other) => {
            let mut sinks = Vec::new();
            for name in [one, other] {
                sinks.push(create(ws, name, None).map(|sink| (sink, name)).map_err(|error| error.code));
            }
            let finish = |sink: Result<_, Code>| -> Result<String, Code> {
                let (mut sink, name): (Box<dyn farside_core::Sink>, &String) = sink?;
                put(&mut *sink, name.as_bytes()).and_then(|()| finish(&mut *sink)).map_err(|error| error.code)?;
                Ok(String::new())
            };
            Ok(sinks.into_iter().rev().map(|sink| format!("{:?}", finish(sink))).collect())
        }
        Step::Remove(name) => remove(ws, name).map(|()| String::new()),
        Step::Link(..) | Step::Dir(_) => Ok(String::new()),
    }
}

/// Makes a link or a directory from outside, where nothing but real directories leads to it.
fn seed(memory: &Memory, dirs: [&Path; 2], step: &Step) {
    let (Step::Link(name, _) | Step::Dir(name)) = step else { return };
    let real = |parent: &Path| parent.starts_with(dirs[0]) && !parent.is_symlink() && parent.is_dir();
    let path = dirs[0].join(name);
    let above = path.ancestors().skip(1).take_while(|parent| *parent != dirs[0]);
    if name == "." || !above.into_iter().all(real) || path.symlink_metadata().is_ok() {
        return;
    }
    match step {
        Step::Link(_, target) => memory.symlink(target, name).unwrap(),
        _ => memory.mkdir(name).unwrap(),
    }
    for path in dirs.map(|dir| dir.join(name)) {
        match step {
            Step::Link(_, target) => symlink(target, path).unwrap(),
            _ => {
                fs::create_dir(&path).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_everywhere(steps in prop::collection::vec(step(), 1..40)) {
        let memory = Memory::new();
        let (one, other) = (Tree::empty(), Tree::empty());
        let kernel = Local::new(&one.ws, Vec::new()).unwrap();
        let hand = Local::new_without_openat2(&other.ws, Vec::new()).unwrap();
        for step in &steps {
            seed(&memory, [&one.ws, &other.ws], step);
            let expected = carry_out(&memory, step);
            prop_assert_eq!(&carry_out(&kernel, step), &expected, "by the kernel: {:?}", step);
            prop_assert_eq!(&carry_out(&hand, step), &expected, "by hand: {:?}", step);
        }
        for tree in [&one, &other] {
            prop_assert_eq!(temps(&tree.ws), Vec::<String>::new());
            prop_assert_eq!(tree.beside().len(), 2);
            prop_assert_eq!(fs::read_to_string(tree.top.join("out/secret")).unwrap(), CANARY);
        }
    }
}
