//! The tree that the cases of confinement are about, and the operations on it in short.
#![allow(dead_code, unreachable_pub, reason = "each test takes of it what it needs")]

use farside_backends::Local;
use farside_core::{
    Answer, Called, Cx, NoRoom, Op, Reader, Room, Runtime, Sink, Workspace,
    wire::{Code, Error, Listing, Meta, Moment},
};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    task::{Poll, Waker},
};

/// What stands in `out/secret`, and nowhere else.
pub const CANARY: &str = "canary-7d0f3b1c9e5a48f2-that-must-not-leak";

/// `T`: the root `ws`, and `out` and `ws-evil` beside it.
pub struct Tree {
    _held: tempfile::TempDir,
    pub top: PathBuf,
    pub ws: PathBuf,
}

impl Tree {
    /// An empty `ws`, and what lies beside it.
    pub fn empty() -> Self {
        let held = tempfile::tempdir().unwrap();
        let top = held.path().canonicalize().unwrap();
        let ws = top.join("ws");
        for dir in ["ws", "out", "ws-evil"] {
            fs::create_dir(top.join(dir)).unwrap();
        }
        fs::write(top.join("out/secret"), CANARY).unwrap();
        fs::write(top.join("ws-evil/x"), CANARY).unwrap();
        Self { _held: held, top, ws }
    }

    /// The tree of the cases, but for FIFO, socket and device.
    pub fn new() -> Self {
        let tree = Self::empty();
        let ws = &tree.ws;
        fs::create_dir_all(ws.join("a/b")).unwrap();
        fs::write(ws.join("f"), "inside").unwrap();
        fs::hard_link(tree.top.join("out/secret"), ws.join("hard")).unwrap();
        let absin = ws.join("f").display().to_string();
        let links = [
            ("abs", "/etc/passwd"),
            ("up", "../out/secret"),
            ("outin", "../ws/f"),
            ("absin", &absin),
            ("rootl", "/"),
            ("magic", "/proc/self/root"),
            ("lf", "f"),
            ("da", "a"),
            ("dd", "a/../f"),
            ("loop", "loop"),
            ("dang", "nope"),
            ("dangout", "../out/new"),
            ("c0", "f"),
        ];
        for (name, target) in links {
            symlink(target, ws.join(name)).unwrap();
        }
        for i in 1..=40 {
            symlink(format!("c{}", i - 1), ws.join(format!("c{i}"))).unwrap();
        }
        tree
    }

    /// The workspace, resolved by the kernel and by hand.
    pub fn both(&self) -> [Local; 2] {
        both(&self.ws)
    }

    /// What lies beside `ws`: it may never change.
    pub fn beside(&self) -> Vec<(String, u32, Vec<u8>)> {
        let mut all = Vec::new();
        for dir in ["out", "ws-evil"] {
            for entry in fs::read_dir(self.top.join(dir)).unwrap() {
                let path = entry.unwrap().path();
                let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
                all.push((path.display().to_string(), mode, fs::read(&path).unwrap_or_default()));
            }
        }
        all.sort();
        all
    }
}

pub fn both(dir: &Path) -> [Local; 2] {
    [Local::new(dir, Vec::new()).unwrap(), Local::new_without_openat2(dir, Vec::new()).unwrap()]
}

pub fn call(ws: &dyn Workspace, op: Op<'_>, room: &mut dyn Room) -> Result<Answer, Error> {
    match ws.call(op, room) {
        Called::Now(answer) => answer.unwrap(),
        Called::Later(_) => panic!("files are done at once"),
    }
}

pub fn stat(ws: &dyn Workspace, name: &str) -> Result<Meta, Code> {
    meta(call(ws, Op::Stat { name, follow: true }, &mut NoRoom))
}

pub fn lstat(ws: &dyn Workspace, name: &str) -> Result<Meta, Code> {
    meta(call(ws, Op::Stat { name, follow: false }, &mut NoRoom))
}

fn meta(answer: Result<Answer, Error>) -> Result<Meta, Code> {
    match answer.map_err(|error| error.code)? {
        Answer::Meta(meta) => Ok(meta),
        _ => panic!("no meta"),
    }
}

pub fn read_link(ws: &dyn Workspace, name: &str) -> Result<String, Code> {
    match call(ws, Op::ReadLink { name }, &mut NoRoom).map_err(|error| error.code)? {
        Answer::Target(target) => Ok(target),
        _ => panic!("no target"),
    }
}

pub fn list(ws: &dyn Workspace, name: &str, max: u64) -> Result<Listing, Error> {
    match call(ws, Op::ReadDir { name, max }, &mut NoRoom)? {
        Answer::Listing(listing) => Ok(listing),
        _ => panic!("no listing"),
    }
}

pub fn read_dir(ws: &dyn Workspace, name: &str) -> Result<Vec<String>, Code> {
    let listing = list(ws, name, 10_000).map_err(|error| error.code)?;
    Ok(listing.entries.into_iter().map(|entry| entry.name).collect())
}

pub fn read(ws: &dyn Workspace, name: &str) -> Result<Vec<u8>, Code> {
    content(ws, name, &mut Vec::new()).map_err(|error| error.code)
}

pub fn open(ws: &dyn Workspace, name: &str, room: &mut dyn Room) -> Result<Answer, Error> {
    call(ws, Op::Open { name }, room)
}

/// The whole content, whichever way it comes.
pub fn content(ws: &dyn Workspace, name: &str, room: &mut Vec<u8>) -> Result<Vec<u8>, Error> {
    match open(ws, name, room)? {
        Answer::Whole(n) => Ok(room[..n].to_vec()),
        Answer::Reader(reader) => drain(reader),
        _ => panic!("no content"),
    }
}

pub fn drain(mut reader: Reader) -> Result<Vec<u8>, Error> {
    let (mut all, mut buf) = (Vec::new(), vec![0; 50_000]);
    loop {
        match piece(&mut reader, &mut buf)? {
            0 => return Ok(all),
            n => all.extend_from_slice(&buf[..n]),
        }
    }
}

pub fn piece(reader: &mut Reader, buf: &mut [u8]) -> Result<usize, Error> {
    now(|cx| reader.bytes.poll_read(cx, buf))
}

pub fn create(ws: &dyn Workspace, name: &str, perm: Option<u32>) -> Result<Box<dyn Sink>, Error> {
    match call(ws, Op::Create { name, perm, size: None }, &mut NoRoom)? {
        Answer::Sink(sink) => Ok(sink),
        _ => panic!("no sink"),
    }
}

pub fn put(sink: &mut dyn Sink, mut data: &[u8]) -> Result<(), Error> {
    while !data.is_empty() {
        let n = now(|cx| sink.poll_write(cx, data))?;
        data = &data[n..];
    }
    Ok(())
}

pub fn finish(sink: &mut dyn Sink) -> Result<(), Error> {
    now(|cx| sink.poll_finish(cx))
}

pub fn write_with(ws: &dyn Workspace, name: &str, data: &[u8], perm: Option<u32>) -> Result<(), Error> {
    let mut sink = create(ws, name, perm)?;
    put(&mut *sink, data)?;
    finish(&mut *sink)
}

pub fn write(ws: &dyn Workspace, name: &str, data: &[u8]) -> Result<(), Code> {
    write_with(ws, name, data, None).map_err(|error| error.code)
}

pub fn remove(ws: &dyn Workspace, name: &str) -> Result<(), Code> {
    match call(ws, Op::Remove { name }, &mut NoRoom).map_err(|error| error.code)? {
        Answer::Done => Ok(()),
        _ => panic!("not done"),
    }
}

/// Every operation on one name, by its code.
pub fn all(ws: &dyn Workspace, name: &str) -> [(&'static str, Result<(), Code>); 7] {
    [
        ("stat", stat(ws, name).map(drop)),
        ("lstat", lstat(ws, name).map(drop)),
        ("readlink", read_link(ws, name).map(drop)),
        ("readdir", read_dir(ws, name).map(drop)),
        ("read", read(ws, name).map(drop)),
        ("write", write(ws, name, b"new")),
        ("delete", remove(ws, name)),
    ]
}

pub fn all_say(ws: &dyn Workspace, name: &str, code: Code) {
    for (op, said) in all(ws, name) {
        assert_eq!(said, Err(code), "{op} {name:?}");
    }
}

/// The names in `dir` that are those of temporary files.
pub fn temps(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(".farside-")).collect()
}

/// One poll of what never waits.
pub fn now<T>(poll: impl FnOnce(&mut Cx<'_>) -> Poll<T>) -> T {
    struct Still;
    impl Runtime for Still {
        fn entropy(&mut self, out: &mut [u8]) {
            out.fill(0);
        }
    }
    match poll(&mut Cx::new(Moment::default(), Waker::noop(), &mut Still)) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("files do not wait"),
    }
}

pub fn root() -> bool {
    rustix::process::geteuid().is_root()
}
