//! One connection of the server's side.
//!
//! **After every change (bytes in, bytes out, a wake-up, a deadline) call [`Connection::turn`], write what is in `tx`, and then wait
//! for what it asked for.**
//!
//! 1. Read into [`RecvBuf::spare`] if the last [`Flow`] said `read`; [`RecvBuf::commit`] what came, [`RecvBuf::close`] at its end.
//! 2. Make a [`Cx`] with the time, and call `turn`.
//! 3. Write [`Tx::filled`], telling [`Tx::sent`] how much went; behind it, perhaps, a stretch of a file.
//! 4. If something was written and the flow said `again`, go to 2.
//! 5. If the flow said `close` and `tx` is empty, close. If it said `shut` and `tx` is empty, shut the writing side, once.
//! 6. Wait for: bytes (if `read`), room to write (if `tx` is not empty), [`Cx::due`], the descriptors and the waker that the turn asked
//!    for. Go to 1.
//!
//! When writing fails: [`RecvBuf::close`] and [`Connection::hang_up`], and go on until it says `close`: a command that runs is ended first.

use crate::{
    buf::{RecvBuf, Tx},
    carriage::{H1Body, H1Reply, H1State, Mode, Reply, ReplyHead},
    cx::Cx,
    exchange::Exchange,
    handler::Handler,
    wire::{
        Error, Moment, Out,
        http::{CONTINUE, Decoder, Fault, HeadScan, MAX_HEAD, Part, RequestHead, Version},
        times, write_error,
    },
};
use alloc::sync::Arc;

/// What a driver does after a turn. The deadline and the descriptors are in the [`Cx`] of that turn.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Flow {
    /// Read into `rx` when bytes come. (While a command runs: this is how its client's hang-up is seen.)
    pub read: bool,
    /// Turn again as soon as some of `tx` was written: more waits for room.
    pub again: bool,
    /// Nothing more will be written: once `tx` is empty, shut the writing side, and go on reading.
    pub shut: bool,
    /// Nothing follows: write `tx` out and close.
    pub close: bool,
}

/// Why a connection cannot serve another request; computed from both halves of the last one.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum CloseReason {
    /// The peer, its version or the reply's form said so.
    Said,
    /// The reply was sent before the request's body was read.
    BodyUnread,
    /// The reply was cut.
    Cut,
    /// The peer sends no more.
    PeerClosed,
    /// The peer broke the protocol, or let a deadline pass.
    Fault,
}

/// One connection: bytes in, bytes out, time.
pub struct Connection {
    handler: Arc<Handler>,
    state: State,
    closed: Option<CloseReason>,
    gone: bool,
    /// When a peer is gone that takes none of what waits for it.
    untaken: Option<Moment>,
}

#[allow(clippy::large_enum_variant, reason = "a connection has one, and a box would be an allocation for each request")]
enum State {
    /// Between requests, or inside a head.
    Head {
        scan: HeadScan,
        until: Moment,
        idle: bool,
    },
    /// A request is being answered.
    Busy(Busy),
    /// The last reply was put; what still comes is dropped for a while, so that the peer can read it.
    Drain {
        left: usize,
        until: Moment,
    },
    Closed,
}

struct Busy {
    exchange: Exchange,
    decoder: Decoder,
    reply: H1State,
    /// The peer waits to be told to send its body.
    expects: bool,
    body_until: Option<Moment>,
}

/// The largest receive buffer, for a body that is a file.
const BULK: u64 = 256 * 1024;
/// While more than this waits to be written, no other request is looked at.
const BACKLOG: usize = 64 * 1024;
/// How much is dropped behind a last reply.
const DRAIN: usize = 1024 * 1024;
/// So many requests a turn.
const REQUESTS: usize = 32;

impl Connection {
    /// A connection that was accepted at `now`.
    pub fn new(handler: Arc<Handler>, now: Moment) -> Self {
        let state = State::Head { scan: HeadScan::default(), until: now.after(times::HEAD), idle: false };
        Self { handler, state, closed: None, gone: false, untaken: None }
    }

    /// Nothing can be written any more: what is running is ended, and then it is closed.
    pub fn hang_up(&mut self) {
        self.gone = true;
    }

    /// Why it serves no other request, once that is known.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.closed
    }

    /// Whether nothing is being answered: it can be closed without harm.
    pub fn is_idle(&self) -> bool {
        !matches!(self.state, State::Busy(_))
    }

    /// Goes on as far as it can. Its work is bounded by what `rx` holds and by the room in `tx`. What may change its answer: bytes in
    /// `rx`, bytes written from `tx`, the time, a wake-up, [`Connection::hang_up`].
    pub fn turn(&mut self, cx: &mut Cx<'_>, rx: &mut RecvBuf, tx: &mut Tx) -> Flow {
        let patient = matches!(&self.state, State::Busy(busy) if busy.exchange.is_patient());
        if tx.has_moved() || tx.is_empty() || patient {
            self.untaken = None;
        }
        if self.untaken.is_some_and(|until| until <= cx.now()) {
            (self.gone, self.closed) = (true, Some(CloseReason::Fault));
        }
        if self.gone {
            rx.close();
            tx.clear();
        }
        let flow = self.go_on(cx, rx, tx);
        if !(tx.is_empty() || patient) {
            cx.wake_at(*self.untaken.get_or_insert(cx.now().after(times::STALL)), "stall");
        }
        flow
    }

    fn go_on(&mut self, cx: &mut Cx<'_>, rx: &mut RecvBuf, tx: &mut Tx) -> Flow {
        for _ in 0..REQUESTS {
            if self.gone && self.ends_with_its_peer() {
                self.closed(CloseReason::PeerClosed);
            }
            let flow = match &mut self.state {
                State::Head { .. } => self.head(cx, rx, tx),
                State::Busy(_) => self.busy(cx, rx, tx),
                State::Drain { left, until } => {
                    let n = rx.filled().len();
                    *left = left.saturating_sub(n);
                    rx.consume(n);
                    if rx.is_closed() || *left == 0 || *until <= cx.now() {
                        self.state = State::Closed;
                        continue;
                    }
                    cx.wake_at(*until, "drain");
                    Some(Flow { read: true, again: false, shut: true, close: false })
                }
                State::Closed => Some(Flow { read: false, again: false, shut: false, close: true }),
            };
            if let Some(flow) = flow {
                return flow;
            }
        }
        cx.again();
        Flow { read: rx.has_room() && !rx.is_closed(), again: true, shut: false, close: false }
    }

    fn ends_with_its_peer(&self) -> bool {
        match &self.state {
            State::Busy(busy) => busy.exchange.ends_with_its_peer(),
            State::Head { .. } | State::Drain { .. } => true,
            State::Closed => false,
        }
    }

    /// Looks for a head, and begins to answer it.
    fn head(&mut self, cx: &mut Cx<'_>, rx: &mut RecvBuf, tx: &mut Tx) -> Option<Flow> {
        let State::Head { scan, until, idle } = &mut self.state else { return None };
        if tx.len() > BACKLOG {
            return Some(Flow { read: false, again: true, shut: false, close: false });
        }
        let end = match scan.find(rx.filled()) {
            Ok(Some(end)) => end,
            Err(fault) => return self.fault(cx, fault.status(), fault, rx, tx),
            Ok(None) => {
                if *idle && !rx.is_empty() {
                    (*idle, *until) = (false, cx.now().after(times::HEAD));
                }
                if rx.is_closed() {
                    return self.closed(CloseReason::PeerClosed);
                }
                if *idle && rx.is_empty() && self.handler.is_closing() {
                    return self.closed(CloseReason::Said);
                }
                if *until <= cx.now() {
                    return if rx.is_empty() {
                        self.closed(CloseReason::Fault)
                    } else {
                        self.fault(cx, 408, Fault::CutHead, rx, tx)
                    };
                }
                rx.grow(MAX_HEAD + 1024);
                if tx.is_empty() {
                    rx.rest();
                    tx.rest();
                } else if rx.is_large() || tx.is_large() {
                    // Whoever asks again at once gets the same room.
                    cx.wake_at(cx.now().after(times::MOMENT), "rest");
                }
                cx.wake_at(*until, if *idle { "idle" } else { "head" });
                return Some(Flow { read: true, again: false, shut: false, close: false });
            }
        };
        let head = match RequestHead::parse(&rx.filled()[..end]) {
            Ok(head) => head,
            Err(fault) => return self.fault(cx, fault.status(), fault, rx, tx),
        };
        let keep = head.keep_alive && !self.handler.is_closing();
        let mut reply = H1State {
            mode: Mode::Unstarted,
            keep,
            head_only: head.method == "HEAD",
            chunks: head.version == Version::Http11,
        };
        let (decoder, expects) = (Decoder::new(head.framing), head.expect_continue);
        let exchange = Exchange::begin(cx, &self.handler, &head, &mut H1Reply { tx, state: &mut reply });
        rx.consume(end);
        self.state = State::Busy(Busy { exchange, decoder, reply, expects, body_until: None });
        None
    }

    /// Goes on with the answer.
    fn busy(&mut self, cx: &mut Cx<'_>, rx: &mut RecvBuf, tx: &mut Tx) -> Option<Flow> {
        let State::Busy(busy) = &mut self.state else { return None };
        let before = rx.filled().len();
        rx.want(busy.exchange.bulk().min(BULK) as usize);
        let done = {
            let reply = &mut H1Reply { tx, state: &mut busy.reply };
            let body = &mut H1Body { rx, decoder: &mut busy.decoder };
            busy.exchange.poll(cx, &self.handler, body, reply).is_ready()
        };
        if !done {
            if busy.expects && busy.exchange.wants_body() {
                busy.expects = false;
                if rx.is_empty() && busy.reply.mode == Mode::Unstarted {
                    tx.put(CONTINUE);
                }
            }
            if busy.is_stalled(cx, before, rx) {
                busy.exchange.stalled(&self.handler, &mut H1Reply { tx, state: &mut busy.reply });
                return None;
            }
            if busy.exchange.hears_its_peer_leave() {
                rx.grow(MAX_HEAD);
                if !rx.has_room() {
                    // What leaves no room to hear it is dropped, and nothing behind it is answered.
                    rx.consume(rx.filled().len());
                    busy.reply.keep = false;
                }
            }
            let read = rx.has_room() && !rx.is_closed();
            return Some(Flow { read, again: !tx.is_empty(), shut: false, close: false });
        }
        let close = match (busy.reply, busy.decoder.is_done()) {
            (H1State { mode: Mode::Cut, .. }, _) => Some(CloseReason::Cut),
            (_, false) => match busy.decoder.next(rx.filled()) {
                Ok(Part::End) => None,
                _ => Some(CloseReason::BodyUnread),
            },
            (H1State { keep: false, .. }, true) => Some(CloseReason::Said),
            // What was kept for more requests before the handler began to close is not any longer.
            _ if self.handler.is_closing() => Some(CloseReason::Said),
            _ => None,
        };
        // What came behind is not looked at, whether it is here by now or not.
        if close.is_none() && self.handler.is_closing() {
            return if rx.is_empty() { self.closed(CloseReason::Said) } else { self.drain(cx, CloseReason::Said) };
        }
        match close {
            None => {
                self.state = State::Head { scan: HeadScan::default(), until: cx.now().after(times::IDLE), idle: true };
                None
            }
            Some(CloseReason::Cut) => self.closed(CloseReason::Cut),
            Some(why) => self.drain(cx, why),
        }
    }

    /// The peer broke the protocol: the one reply that says so, and then nothing.
    fn fault(&mut self, cx: &mut Cx<'_>, status: u16, fault: Fault, rx: &RecvBuf, tx: &mut Tx) -> Option<Flow> {
        let head_only = rx.filled().trim_ascii_start().starts_with(b"HEAD ");
        let mut state = H1State { mode: Mode::Unstarted, keep: false, head_only, chunks: true };
        let error = Error::new(fault.code(), fault.words());
        let max = self.handler.bounds.max_error_bytes;
        let head = ReplyHead { close: true, ..ReplyHead::new(status, Some("application/json")) };
        H1Reply { tx, state: &mut state }.whole(&head, &mut |o| write_error(o, &error, max));
        self.drain(cx, CloseReason::Fault)
    }

    fn drain(&mut self, cx: &Cx<'_>, why: CloseReason) -> Option<Flow> {
        self.closed = Some(why);
        self.state = State::Drain { left: DRAIN, until: cx.now().after(times::MOMENT) };
        None
    }

    fn closed(&mut self, why: CloseReason) -> Option<Flow> {
        self.closed.get_or_insert(why);
        self.state = State::Closed;
        None
    }
}

impl Busy {
    /// Whether the peer has sent nothing for too long of a body that is waited for.
    fn is_stalled(&mut self, cx: &mut Cx<'_>, before: usize, rx: &RecvBuf) -> bool {
        let waits = self.exchange.wants_body() && rx.is_empty() && !self.exchange.is_patient();
        if !waits || before > 0 {
            self.body_until = None;
        }
        if !waits {
            return false;
        }
        let until = *self.body_until.get_or_insert(cx.now().after(times::STALL));
        cx.wake_at(until, "stall");
        until <= cx.now()
    }
}
