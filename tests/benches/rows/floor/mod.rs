//! The least that does the same work: no routing, no checks, no errors. What a server could reach at best.

mod epoll;
mod loops;

pub(crate) use loops::spawn_and_wait;

use rustix::{
    fd::OwnedFd,
    fs::{Mode, OFlags, ResolveFlags, openat2},
};
use std::{net::TcpListener, path::Path};

/// Serves `dir` in one of these ways, for ever.
pub(crate) fn serve(kind: &str, dir: &Path) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("listening http://{}", listener.local_addr().unwrap());
    let root = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(dir, root, Mode::empty()).unwrap();
    match kind {
        "small" => epoll::serve(&listener, &root),
        "upload" => loops::upload(&listener, &root),
        "stream" => loops::stream(&listener),
        other => panic!("no minimal server {other}"),
    }
}

fn open_beneath(root: &OwnedFd, name: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let mode = if flags.contains(OFlags::CREATE) { Mode::from(0o644) } else { Mode::empty() };
    openat2(root, name, flags | OFlags::CLOEXEC, mode, ResolveFlags::BENEATH)
}
