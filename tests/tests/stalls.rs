//! A reply's progress is what its peer takes: one that takes a little is served for ever, one that takes nothing for 60 s is given up.

use farside_core::{
    Access, Answer, Called, Connection, Cx, Flow, Handler, Op, Reader, RecvBuf, Room, Source, Tx, Workspace,
    wire::{Error, Moment, Scopes, times::STALL},
};
use farside_tests::virtual_time::Counted;
use std::{
    task::{Poll, Waker},
    time::Duration,
};

/// Every file is a terabyte, and always ready.
struct Zeros;

impl Workspace for Zeros {
    fn call(&self, op: Op<'_>, _: &mut dyn Room) -> Called {
        let size = Some(1 << 40);
        match op {
            Op::Open { .. } => Ok(Answer::Reader(Reader::new(size, Box::new(Zeros)))).into(),
            _ => Err(Error::other("only files")).into(),
        }
    }
}

impl Source for Zeros {
    fn poll_read(&mut self, _: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        Poll::Ready(Ok(buf.len()))
    }
}

struct Peer {
    conn: Connection,
    rx: RecvBuf,
    tx: Tx,
    now: Moment,
}

impl Peer {
    fn new(requests: &str) -> Self {
        let conn = Connection::new(Handler::new(Zeros, Access::Insecure(Scopes::ALL)), Moment(0));
        let mut peer = Self { conn, rx: RecvBuf::default(), tx: Tx::default(), now: Moment(0) };
        peer.rx.spare()[..requests.len()].copy_from_slice(requests.as_bytes());
        peer.rx.commit(requests.len());
        peer
    }

    /// A turn, and when it wants to come back.
    fn turn(&mut self) -> (Flow, Option<Moment>) {
        let mut runtime = Counted::default();
        let mut cx = Cx::new(self.now, Waker::noop(), &mut runtime);
        let flow = self.conn.turn(&mut cx, &mut self.rx, &mut self.tx);
        (flow, cx.due().map(|due| due.at))
    }
}

const FILE: &str = "GET /v1/fs/file?path=f HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[test]
fn a_peer_that_takes_something_is_served_for_ever() {
    for (what, takes) in [("all", usize::MAX), ("one byte", 1)] {
        let mut peer = Peer::new(FILE);
        for second in 0..300 {
            assert!(!peer.turn().0.close, "given up after {second} s though {what} was taken each second");
            peer.tx.sent(takes.min(peer.tx.filled().len()));
            peer.now = peer.now.after(Duration::from_secs(1));
        }
    }
}

#[test]
fn a_peer_that_takes_nothing_is_given_up_in_every_state() {
    let bad = "no HTTP\r\n\r\n";
    let idle = "GET /v1/fs/stat HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for requests in [FILE, bad, idle, &format!("{idle}{bad}"), &format!("{idle}GET /")] {
        let mut peer = Peer::new(requests);
        loop {
            let (flow, due) = peer.turn();
            if flow.close && peer.tx.is_empty() {
                break;
            }
            let due = due.unwrap_or_else(|| panic!("{requests:?}: it waits for ever at {:?}", peer.now));
            peer.now = peer.now.max(due);
        }
        assert_eq!(peer.now, Moment(0).after(STALL), "{requests:?}");
    }
}

#[test]
fn a_file_for_a_peer_that_is_gone_ends_at_once() {
    let mut peer = Peer::new(FILE);
    peer.turn();
    peer.conn.hang_up();
    assert!(peer.turn().0.close && peer.tx.is_empty());
}
