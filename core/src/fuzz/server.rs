//! The server's side of one connection on a virtual clock, for any bytes and any times.
#![allow(clippy::expect_used, reason = "what cannot be read fails the target")]

use super::fake::Fake;
use crate::{
    Access, Connection, Cx, Flow, Handler, Keeper, RecvBuf, Runtime, Task, Tx,
    wire::{
        Bounds, Frame, Moment, Scopes,
        http::{CONTINUE, Decoder, Field, HeadScan, Part, ResponseHead},
        json, times,
    },
};
use alloc::{sync::Arc, task::Wake, vec::Vec};
use core::{
    mem,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    task::Waker,
    time::Duration,
};

/// A connection for which `input` is what its peer and its driver do. The bytes that UTF-8 never has are steps; all others come in.
///
/// It answers, and ends, whatever comes; its buffers stay bounded; each reply can be read; and how the bytes were cut makes no
/// difference to what is said when.
pub fn server_connection(input: &[u8]) {
    let whole = run(input, usize::MAX);
    // Only who asked knows that a reply has no body for want of its request's.
    if !input.windows(5).any(|w| w == b"HEAD ") {
        replies(&whole.iter().flat_map(|(_, said)| said).copied().collect::<Vec<_>>());
    }
    // A buffer that holds all of it hides no end of input behind bytes that wait. A handler that closes ends a connection between two
    // requests, and so not one whose next request is there.
    if input.len() <= FITS && !input.contains(&CLOSE) {
        assert_eq!(finals(run(input, 1)), finals(whole), "cut at every byte");
    }
}

/// What comes next comes apart from what came.
const APART: u8 = 0xf8;
/// The handler is closed.
const CLOSE: u8 = 0xf9;
/// The peer takes nothing any more.
const BLOCK: u8 = 0xfa;
/// The peer takes what there is.
const TAKE: u8 = 0xfb;
/// Time goes on to the next moment it waits for.
const WAIT: u8 = 0xfc;
/// A second passes.
const SECOND: u8 = 0xfd;
/// The peer sends no more.
const FINISH: u8 = 0xfe;
/// Nothing can be written any more.
const GONE: u8 = 0xff;

/// What any receive buffer holds.
const FITS: usize = 2 * 1024;
/// The most that ever waits to be written: a backlog, and then one reply or one piece of one.
const MOST_TX: usize = 512 * 1024;
/// The most that ever waits to be looked at.
const MOST_RX: usize = 256 * 1024;
/// So many turns without a change of time are a loop.
const TURNS: usize = 20_000;

/// What was said at each moment at which something was.
type Said = Vec<(Moment, Vec<u8>)>;

/// Runs `input`, its bytes at most `piece` at a time.
fn run(input: &[u8], piece: usize) -> Said {
    let mut driver = Driver::new(credentials(input), piece);
    for part in input.chunk_by(|a, b| *a < APART && *b < APART) {
        match part {
            [APART] => {}
            [CLOSE] => drop(driver.handler.close()),
            [BLOCK] => driver.blocked = true,
            [TAKE] => driver.blocked = false,
            [WAIT] => driver.pass(driver.next().unwrap_or_default()),
            [SECOND] => driver.pass(driver.now.after(Duration::from_secs(1))),
            [FINISH] => driver.finished = true,
            [GONE] => driver.conn.hang_up(),
            bytes if !driver.finished => driver.incoming.extend_from_slice(bytes),
            _ => {}
        }
        driver.touched |= !matches!(part, [WAIT | SECOND | CLOSE]);
        driver.settle();
    }
    driver.end(for_ever(input));
    driver.said
}

/// A command may run that only its client's leaving ends.
fn for_ever(input: &[u8]) -> bool {
    input.windows(5).any(|w| w == b"never")
}

/// A request with credentials is for a handler that asks for them.
fn credentials(input: &[u8]) -> Access {
    let asks = input.windows(14).any(|w| w.eq_ignore_ascii_case(b"authorization:"));
    if asks { Access::bearer("t") } else { Access::Insecure(Scopes::ALL) }
}

/// Does what the contract of [`Connection`] says, and runs the keeper beside it.
struct Driver {
    handler: Arc<Handler>,
    conn: Connection,
    keeper: Keeper,
    runtime: Counted,
    /// The connection's and the keeper's.
    bells: [Arc<Bell>; 2],
    wakers: [Waker; 2],
    /// How many programs there are.
    alive: Arc<AtomicUsize>,
    rx: RecvBuf,
    tx: Tx,
    now: Moment,
    due: Option<Moment>,
    kept_due: Option<Moment>,
    /// Something came, or there is room again.
    touched: bool,
    /// What the peer has sent and nobody has read yet.
    incoming: Vec<u8>,
    finished: bool,
    blocked: bool,
    closed: bool,
    piece: usize,
    said: Said,
}

impl Driver {
    fn new(access: Access, piece: usize) -> Self {
        let bounds = Bounds {
            max_request_bytes: 512,
            max_write_bytes: 256,
            max_exec_output_bytes: 64,
            max_reply_bytes: 1024,
            ..Bounds::default()
        };
        let (alive, bells, now) = (Arc::<AtomicUsize>::default(), [(); 2].map(|()| Arc::<Bell>::default()), Moment(0));
        let handler = Handler::with(Fake { alive: alive.clone() }, access, bounds, times::LEASE);
        Self {
            conn: Connection::new(handler.clone(), now),
            keeper: handler.keeper().expect("a handler has one keeper"),
            handler,
            runtime: Counted(0),
            wakers: bells.each_ref().map(|bell| bell.clone().into()),
            bells,
            alive,
            rx: RecvBuf::default(),
            tx: Tx::default(),
            now,
            due: None,
            kept_due: Some(now),
            touched: true,
            incoming: Vec::new(),
            finished: false,
            blocked: false,
            closed: false,
            piece,
            said: Vec::new(),
        }
    }

    fn pass(&mut self, to: Moment) {
        self.now = self.now.max(to);
    }

    /// Goes on until nothing changes unless something comes or time passes. Each is polled for a cause alone: what comes or goes on the
    /// connection, a moment it asked for, its own bell.
    fn settle(&mut self) {
        for _ in 0..TURNS {
            let is_due = |due: Option<Moment>| due.is_some_and(|due| due <= self.now);
            let connection = self.bells[0].rang() || is_due(self.due) || mem::take(&mut self.touched);
            let keeper = self.bells[1].rang() || is_due(self.kept_due);
            if connection && !self.closed {
                self.settle_connection();
            }
            if keeper {
                let mut cx = Cx::new(self.now, &self.wakers[1], &mut self.runtime);
                assert!(self.keeper.poll(&mut cx).is_pending(), "the keeper left before its handler");
                self.kept_due = cx.due().map(|due| due.at);
            }
            if !connection && !keeper {
                return;
            }
        }
        panic!("they wake each other on and on at {:?}", self.now);
    }

    fn settle_connection(&mut self) {
        for _ in 0..TURNS {
            let flow = self.turn();
            let wrote = !self.blocked && !self.tx.is_empty();
            if wrote {
                self.take();
            }
            self.closed = flow.close && self.tx.is_empty();
            self.due = self.due.filter(|_| !self.closed);
            let due = self.due.is_some_and(|due| due <= self.now);
            if self.closed || !(wrote && flow.again || flow.read && self.read() || due) {
                return;
            }
        }
        panic!("it goes on and on at {:?}", self.now);
    }

    fn turn(&mut self) -> Flow {
        let mut cx = Cx::new(self.now, &self.wakers[0], &mut self.runtime);
        let flow = self.conn.turn(&mut cx, &mut self.rx, &mut self.tx);
        self.due = cx.due().map(|due| due.at);
        assert!(self.tx.len() <= MOST_TX, "{} bytes wait to be written", self.tx.len());
        assert!(self.rx.filled().len() <= MOST_RX, "{} bytes wait to be looked at", self.rx.filled().len());
        let waits = self.due.is_some() || !self.conn.is_idle() || flow.close && self.tx.is_empty();
        assert!(waits, "an idle connection without a deadline");
        flow
    }

    /// The peer takes all there is.
    fn take(&mut self) {
        let bytes = self.tx.filled();
        match self.said.last_mut() {
            Some((at, said)) if *at == self.now => said.extend_from_slice(bytes),
            _ => self.said.push((self.now, bytes.to_vec())),
        }
        self.tx.sent(self.tx.filled().len());
    }

    /// Reads what there is; whether that was something, the end among it.
    fn read(&mut self) -> bool {
        let room = self.rx.spare();
        assert!(!room.is_empty(), "reading is wanted without room for it");
        let n = room.len().min(self.incoming.len()).min(self.piece);
        room[..n].copy_from_slice(&self.incoming[..n]);
        self.rx.commit(n);
        self.incoming.drain(..n);
        if n == 0 && self.finished && !self.rx.is_closed() {
            self.rx.close();
            return true;
        }
        n > 0
    }

    /// When it or the keeper wants to come back.
    fn next(&self) -> Option<Moment> {
        self.due.into_iter().chain(self.kept_due).min()
    }

    /// The peer is silent: in the end the connection is closed, or a command runs that ends when its client goes away; and then nothing
    /// is left of any program.
    fn end(&mut self, runs_for_ever: bool) {
        self.settle();
        self.wait_for_all();
        assert!(self.closed || runs_for_ever, "it waits for ever");
        self.conn.hang_up();
        self.touched = true;
        self.settle();
        self.wait_for_all();
        assert!(self.closed, "it does not end");
        assert_eq!(self.alive.load(SeqCst), 0, "programs are left");
    }

    /// Time goes on until nothing is waited for.
    fn wait_for_all(&mut self) {
        for _ in 0..TURNS {
            let Some(due) = self.next() else { return };
            self.pass(due);
            self.settle();
        }
        panic!("it waits again and again until {:?}", self.now);
    }
}

#[derive(Default)]
struct Bell(AtomicBool);

impl Bell {
    fn rang(&self) -> bool {
        self.0.swap(false, SeqCst)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

struct Counted(u8);

impl Runtime for Counted {
    fn entropy(&mut self, out: &mut [u8]) {
        out.fill_with(|| {
            self.0 = self.0.wrapping_add(1);
            self.0
        });
    }
}

/// Every reply can be read, up to one that was cut.
fn replies(mut out: &[u8]) {
    while let Some(end) = HeadScan::default().find(out).expect("where a reply's head ends") {
        let head = ResponseHead::parse(&out[..end], false).expect("a reply's head");
        out = &out[end..];
        let (mut decoder, mut body) = (Decoder::new(head.framing), Vec::new());
        let whole = loop {
            match decoder.next(out).expect("a reply's body") {
                Part::Skip(n) => out = &out[n..],
                Part::Data(n) => {
                    body.extend_from_slice(&out[..n]);
                    decoder.took(n);
                    out = &out[n..];
                }
                Part::End => break true,
                Part::More => break false,
            }
        };
        match head.fields.get("content-type") {
            Field::One(b"application/json") if whole => assert!(json::parse(&body).is_ok(), "a body that is no JSON"),
            Field::One(b"application/x-ndjson") => frames(&body, whole),
            _ => {}
        }
    }
}

/// Every line is a frame, and the last one of a whole reply is a last one.
fn frames(body: &[u8], whole: bool) {
    let mut last = false;
    for line in body.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        assert!(!last, "a frame after the last");
        last = matches!(Frame::parse(line).expect("a frame"), Frame::Output(_) | Frame::Error(_));
    }
    assert!(last || !whole, "no last frame");
}

/// What was said without the interim replies: whether one is due depends on how much came with the head.
fn finals(mut said: Said) -> Said {
    for (_, bytes) in &mut said {
        while let Some(at) = bytes.windows(CONTINUE.len()).position(|w| w == CONTINUE) {
            bytes.drain(at..at + CONTINUE.len());
        }
    }
    said.retain(|(_, bytes)| !bytes.is_empty());
    said
}
