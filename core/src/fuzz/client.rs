//! The client: any bytes as what its server sends.

use crate::{
    cx::{Cx, Runtime},
    lock::Lock,
    ops,
    remote::Remote,
    wire::{Error, base_url::BaseUrl},
    workspace::{Command, Delivery, Dial, Exec, Exit, Piece, Transport, Workspace},
};
use alloc::{boxed::Box, sync::Arc, vec, vec::Vec};
use core::task::{Poll, Waker};

/// A client whose server sends `bytes`, whatever it is asked: in pieces whose length the first byte says, over as many connections as
/// the client makes. Every operation ends; what a command or a file came to does not depend on the pieces; and what was taken for whole
/// is none without its last byte.
pub fn client_connection(bytes: &[u8]) {
    let Some((step, bytes)) = bytes.split_first() else { return };
    let step = usize::from(*step).max(1);
    let (ran, used) = exec(bytes, 1, false);
    assert_eq!(ran, exec(bytes, step, false).0, "an exec's output depends on the pieces it came in");
    assert!(ran.is_err() || exec(&bytes[..used - 1], step, false).0.is_err(), "a cut exec has an exit code");
    let (read, used) = read(bytes, 1);
    assert_eq!(read, self::read(bytes, step).0, "a file's content depends on the pieces it came in");
    assert!(read.is_err() || self::read(&bytes[..used - 1], step).0.is_err(), "a cut file is whole");
    exec(bytes, step, true).0.ok();
    series(&Feed::new(bytes, step));
}

/// Any server at all.
#[derive(Clone)]
struct Feed(Arc<Lock<Rest>>);

struct Rest {
    bytes: Vec<u8>,
    at: usize,
    step: usize,
    /// Connections that may still be made.
    dials: usize,
}

impl Feed {
    fn new(bytes: &[u8], step: usize) -> Self {
        Self(Arc::new(Lock::new(Rest { bytes: bytes.into(), at: 0, step, dials: 64 })))
    }

    fn remote(&self) -> Option<Remote> {
        Some(Remote::new(self.clone(), BaseUrl::parse("http://localhost").ok()?))
    }

    fn used(&self) -> usize {
        self.0.with(|rest| rest.at)
    }
}

impl Dial for Feed {
    fn dial(&self) -> Result<Box<dyn Transport>, Error> {
        let left = self.0.with(|rest| {
            rest.dials = rest.dials.saturating_sub(1);
            rest.dials
        });
        if left > 0 { Ok(Box::new(self.clone())) } else { Err(Error::other("no more connections")) }
    }
}

impl Transport for Feed {
    fn poll_read(&mut self, _: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        self.0.with(|rest| {
            let n = (rest.bytes.len() - rest.at).min(rest.step).min(buf.len());
            buf[..n].copy_from_slice(&rest.bytes[rest.at..rest.at + n]);
            rest.at += n;
            Poll::Ready(Ok(n))
        })
    }

    fn poll_write(&mut self, _: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        Poll::Ready(Ok(buf.len()))
    }
}

/// The same bytes each time.
struct Fixed;

impl Runtime for Fixed {
    fn entropy(&mut self, out: &mut [u8]) {
        out.fill(7);
    }
}

fn wait<T>(mut poll: impl FnMut(&mut Cx<'_>) -> Poll<T>) -> T {
    for _ in 0..1_000_000 {
        let mut runtime = Fixed;
        let mut cx = Cx::new(crate::wire::Moment(1), Waker::noop(), &mut runtime);
        if let Poll::Ready(out) = poll(&mut cx) {
            return out;
        }
        assert!(cx.due().is_some(), "it waits for nothing: the server always answers");
    }
    panic!("it goes on for ever");
}

fn run<T: crate::Task>(mut task: T) -> T::Out {
    wait(|cx| task.poll(cx))
}

type Ran = Result<(Vec<u8>, Exit), (Vec<u8>, Error)>;

/// A command whose reply is `bytes`, and how many of them it took.
fn exec(bytes: &[u8], step: usize, interrupt: bool) -> (Ran, usize) {
    let feed = Feed::new(bytes, step);
    let Some(remote) = feed.remote() else { return (Err((Vec::new(), Error::other("no remote"))), 0) };
    let command = Command { output: Delivery::Merged, ..Command::new(["a"]) };
    let ran = match run(ops::exec(&remote, &command)) {
        Ok(mut exec) => {
            if interrupt {
                exec.interrupt();
            }
            drain(&mut *exec)
        }
        Err(error) => Err((Vec::new(), error)),
    };
    (ran, feed.used())
}

fn drain(exec: &mut dyn Exec) -> Ran {
    let (mut out, mut buf) = (Vec::new(), vec![0; 4096]);
    loop {
        match wait(|cx| exec.poll_next(cx, &mut buf)) {
            Ok(Piece::Data(_, n)) => out.extend_from_slice(&buf[..n]),
            Ok(Piece::End(exit)) => return Ok((out, exit)),
            Err(error) => return Err((out, error)),
        }
    }
}

/// A file whose reply is `bytes`, and how many of them it took.
fn read(bytes: &[u8], step: usize) -> (Result<Vec<u8>, Error>, usize) {
    let feed = Feed::new(bytes, step);
    let Some(remote) = feed.remote() else { return (Err(Error::other("no remote")), 0) };
    (run(ops::read(&remote, "a", 1 << 20)), feed.used())
}

/// One operation after the other, each on what the ones before left.
fn series(feed: &Feed) {
    let Some(remote) = feed.remote() else { return };
    let ws: &dyn Workspace = &remote;
    for _ in 0..2 {
        run(ops::about(ws)).ok();
        run(ops::stat(ws, "a")).ok();
        run(ops::readlink(ws, "a")).ok();
        if let Ok(listing) = run(ops::readdir(ws, "a", 3)) {
            assert!(listing.entries.len() <= 3 && listing.entries.iter().all(|entry| !entry.name.contains('/')));
        }
        run(ops::read(ws, "a", 1000)).ok();
        run(ops::write(ws, "a", b"content", None)).ok();
        run(ops::remove(ws, "a")).ok();
        let command = Command { output: Delivery::Apart, ..Command::new(["a"]) };
        run(ops::run(ws, &command, |_, _| {})).ok();
        run(ops::run(ws, &Command::new(["a"]), |_, _| {})).ok();
    }
}
