//! A connection of the server on a virtual clock: bytes and moments in, bytes out, nothing else.

use farside_core::{Connection, Cx, Flow, Handler, RecvBuf, Runtime, Tx, wire::Moment};
use std::{sync::Arc, task::Waker, time::Duration};

/// Entropy of a test: the same bytes each run.
#[derive(Debug, Default)]
pub struct Counted(u8);

impl Runtime for Counted {
    fn entropy(&mut self, out: &mut [u8]) {
        out.fill_with(|| {
            self.0 = self.0.wrapping_add(1);
            self.0
        });
    }
}

/// The server's side of one connection, and what it has said so far.
pub struct Wire {
    conn: Connection,
    rx: RecvBuf,
    tx: Tx,
    runtime: Counted,
    incoming: Vec<u8>,
    /// How many of those were read.
    taken: usize,
    finished: bool,
    /// The time.
    pub now: Moment,
    /// Everything that was written.
    pub out: Vec<u8>,
    /// How many bytes its peer still takes.
    pub window: usize,
    /// When the writing side was shut, or the connection closed.
    pub ended_at: Option<Moment>,
    /// Whether the connection was closed.
    pub closed: bool,
    due: Option<Moment>,
}

impl Wire {
    /// A connection that was just accepted.
    pub fn new(handler: Arc<Handler>) -> Self {
        Self::at(Moment(0), handler)
    }

    /// A connection that was accepted then.
    pub fn at(now: Moment, handler: Arc<Handler>) -> Self {
        let (rx, tx) = (RecvBuf::default(), Tx::default());
        let conn = Connection::new(handler, now);
        Self {
            conn,
            rx,
            tx,
            runtime: Counted::default(),
            incoming: Vec::new(),
            taken: 0,
            finished: false,
            now,
            out: Vec::new(),
            window: usize::MAX,
            ended_at: None,
            closed: false,
            due: None,
        }
    }

    /// Gives it bytes, as it has room for them and wants them.
    pub fn send(&mut self, bytes: &[u8]) {
        self.incoming.extend_from_slice(bytes);
        self.turn();
    }

    /// The peer sends no more, once what it sent was read.
    pub fn hang_up(&mut self) {
        self.finished = true;
        self.turn();
    }

    /// Writing to the peer failed.
    pub fn reset(&mut self) {
        self.rx.close();
        self.tx.clear();
        self.conn.hang_up();
        self.turn();
    }

    /// How many bytes wait for the peer to take them.
    pub fn waiting(&self) -> usize {
        self.tx.len()
    }

    /// How many bytes were sent to it that it did not read.
    pub fn unread(&self) -> usize {
        self.incoming.len() - self.taken
    }

    /// Lets so much time pass, and every moment in it that it waits for.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now.after(time);
        while self.due.is_some_and(|due| due <= end) && self.wait() {}
        self.now = end;
        self.turn();
    }

    /// Lets time pass to the next moment it waits for; false when it waits for none.
    pub fn wait(&mut self) -> bool {
        let Some(due) = self.due.filter(|_| !self.closed) else { return false };
        self.now = self.now.max(due);
        self.turn();
        true
    }

    /// Turns until nothing is left to do at this moment.
    pub fn turn(&mut self) -> Flow {
        loop {
            let mut cx = Cx::new(self.now, Waker::noop(), &mut self.runtime);
            let flow = self.conn.turn(&mut cx, &mut self.rx, &mut self.tx);
            let due = cx.due().map(|due| due.at);
            let n = self.tx.filled().len().min(self.window);
            let wrote = n > 0;
            self.out.extend_from_slice(&self.tx.filled()[..n]);
            self.tx.sent(n);
            self.window -= n;
            self.due = due;
            if (flow.shut || flow.close) && self.tx.is_empty() && self.ended_at.is_none() {
                self.ended_at = Some(self.now);
            }
            self.closed |= flow.close && self.tx.is_empty();
            let goes_on = flow.read && !self.closed && self.read() || wrote && flow.again;
            if self.closed || !goes_on && due != Some(self.now) {
                return flow;
            }
        }
    }

    /// Whether something was read: bytes, or their end.
    fn read(&mut self) -> bool {
        if self.incoming.is_empty() {
            let ends = self.finished && !self.rx.is_closed();
            if ends {
                self.rx.close();
            }
            return ends;
        }
        let room = self.rx.spare();
        let incoming = &self.incoming[self.taken..];
        let n = room.len().min(incoming.len());
        room[..n].copy_from_slice(&incoming[..n]);
        self.rx.commit(n);
        self.taken += n;
        if self.taken == self.incoming.len() {
            self.incoming.clear();
            self.taken = 0;
        }
        n > 0
    }
}
