//! One connection over a plain socket, as a future.

use crate::run::{Alarm, Reactor, now};
use async_io::Async;
use farside_core::{Connection, Cx, Handler, RecvBuf, Tx};
use rustix::{
    fs::sendfile,
    io::Errno,
    net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt},
};
use std::{
    cell::RefCell,
    future::poll_fn,
    io,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Poll, ready},
};

/// Serves the connection that comes over `sock`, a TCP or Unix stream socket, until it ends. Dropping the future closes it and ends
/// what it runs.
///
/// # Errors
/// When the socket cannot be waited for. Errors of the connection end it and are nobody's news.
pub async fn serve_socket(sock: impl Into<OwnedFd>, handler: Arc<Handler>) -> io::Result<()> {
    drive(Arc::new(sock.into()), handler, Arc::default()).await
}

/// Serves it, and tells in `busy` whether something is being answered.
pub(crate) async fn drive(sock: Arc<OwnedFd>, handler: Arc<Handler>, busy: Arc<AtomicBool>) -> io::Result<()> {
    // Of a Unix socket: it has no delay to switch off.
    let _ = sockopt::set_tcp_nodelay(&sock, true);
    rustix::io::ioctl_fionbio(&sock, true)?;
    let (sock, conn) = (Async::new_nonblocking(sock)?, Connection::new(handler, now()));
    let mut driver = Driver { sock, conn, busy, held: None, alarm: Alarm::default(), waits: false, shut: false };
    poll_fn(|c| driver.poll(c)).await
}

struct Driver {
    sock: Async<Arc<OwnedFd>>,
    conn: Connection,
    busy: Arc<AtomicBool>,
    /// Buffers with something in them; a connection that waits with empty ones holds none.
    held: Option<(RecvBuf, Tx)>,
    alarm: Alarm,
    /// Nothing was there to read: before the next try the reactor is asked, which is no call to the system.
    waits: bool,
    shut: bool,
}

/// The most that is sent from a file in one call: others have their turn between.
const STRETCH: u64 = 1 << 20;
/// So many turns a poll; then others have theirs.
const TURNS: usize = 64;
/// So many pairs of buffers a thread keeps for whoever comes next.
const POOL: usize = 4;

thread_local!(static BUFFERS: RefCell<Vec<(RecvBuf, Tx)>> = const { RefCell::new(Vec::new()) });

impl Driver {
    fn poll(&mut self, c: &mut Context<'_>) -> Poll<io::Result<()>> {
        let lent = || BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_else(|| (RecvBuf::default(), Tx::with_files()));
        let (mut rx, mut tx) = self.held.take().unwrap_or_else(lent);
        let polled = self.turns(c, &mut rx, &mut tx);
        if !(rx.is_empty() && tx.is_empty()) || rx.is_closed() {
            self.held = Some((rx, tx));
        } else {
            BUFFERS.with_borrow_mut(|pool| {
                if pool.len() < POOL {
                    pool.push((rx, tx));
                }
            });
        }
        polled
    }

    fn turns(&mut self, c: &mut Context<'_>, rx: &mut RecvBuf, tx: &mut Tx) -> Poll<io::Result<()>> {
        for _ in 0..TURNS {
            let mut reactor = Reactor;
            let mut cx = Cx::new(now(), c.waker(), &mut reactor);
            let flow = self.conn.turn(&mut cx, rx, tx);
            let due = cx.due();
            self.busy.store(!self.conn.is_idle(), SeqCst);
            let sent = self.write(c, tx, flow.again)?;
            if sent == Sent::Some && flow.again || sent == Sent::Gone {
                continue;
            }
            if flow.shut && tx.is_empty() && !std::mem::replace(&mut self.shut, true) {
                let _ = shutdown(&self.sock, Shutdown::Write);
            }
            if flow.close && tx.is_empty() {
                return Poll::Ready(Ok(()));
            }
            if flow.read && self.poll_read(c, rx)?.is_ready() {
                continue;
            }
            if self.alarm.poll(due, c).is_ready() {
                continue;
            }
            return Poll::Pending;
        }
        c.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes until it would block; with `once` only until something went, since more comes from the next turn.
    fn write(&mut self, c: &mut Context<'_>, tx: &mut Tx, once: bool) -> io::Result<Sent> {
        let mut sent = Sent::Nothing;
        while !(tx.is_empty() || sent == Sent::Some && once) {
            let bytes = !tx.filled().is_empty();
            let result = match tx.file() {
                Some(f) if !bytes => sendfile(&self.sock, &f.fd, Some(&mut f.at), f.left.min(STRETCH) as usize),
                _ => send(&self.sock, tx.filled(), SendFlags::NOSIGNAL),
            };
            match result {
                Ok(n) if bytes => tx.sent(n),
                Ok(n) if n > 0 => tx.sent_file(n as u64),
                Err(Errno::AGAIN) if self.sock.poll_writable(c)?.is_pending() => break,
                Err(Errno::AGAIN | Errno::INTR) => continue,
                // Nothing left of a file that was longer: it shrank, and the peer must see that it was cut.
                Ok(_) | Err(_) => {
                    self.conn.hang_up();
                    tx.clear();
                    return Ok(Sent::Gone);
                }
            }
            sent = Sent::Some;
        }
        Ok(sent)
    }

    fn poll_read(&mut self, c: &mut Context<'_>, rx: &mut RecvBuf) -> Poll<io::Result<()>> {
        loop {
            if self.waits {
                ready!(self.sock.poll_readable(c))?;
                self.waits = false;
            }
            match recv(&self.sock, rx.spare(), RecvFlags::empty()) {
                Ok((_, n)) if n > 0 => {
                    self.busy.store(true, SeqCst);
                    rx.commit(n);
                }
                Ok(_) => rx.close(),
                Err(Errno::AGAIN) => {
                    self.waits = true;
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(_) => self.conn.hang_up(),
            }
            return Poll::Ready(Ok(()));
        }
    }
}

#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Sent {
    Nothing,
    Some,
    /// The peer takes nothing any more.
    Gone,
}
