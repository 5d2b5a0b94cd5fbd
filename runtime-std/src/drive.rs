//! One connection over a plain socket, on this thread.

use crate::park::{Park, Turn, now};
use farside_core::{Connection, Handler, RecvBuf, Tx, wire::times};
use rustix::{
    event::PollFlags,
    fs::sendfile,
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send, sockopt},
};
use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

/// Serves the connection that comes over `sock`, a TCP or Unix stream socket, until it ends.
///
/// # Errors
/// When this thread cannot get what it waits with. Errors of the socket end the connection and are nobody's news.
pub fn serve_socket(sock: impl Into<OwnedFd>, handler: Arc<Handler>) -> io::Result<()> {
    drive(&sock.into(), handler, &AtomicBool::new(false))
}

/// The most that is sent from a file in one call: the thread comes back to look at deadlines.
const STRETCH: u64 = 1 << 20;
/// Without a deadline a thread still wakes now and then; no turn asks for none while it reads.
const LONG: Duration = Duration::from_secs(3600);

/// Serves it, and tells in `busy` whether something is being answered.
pub(crate) fn drive(sock: &OwnedFd, handler: Arc<Handler>, busy: &AtomicBool) -> io::Result<()> {
    // Of a Unix socket: it has no delay to switch off.
    let _ = sockopt::set_tcp_nodelay(sock, true);
    let (mut rx, mut tx, mut park) = (RecvBuf::default(), Tx::with_files(), Park::new()?);
    let mut conn = Connection::new(handler, now());
    let (mut shut, mut timeout) = (false, Duration::ZERO);
    loop {
        let Turn { out: flow, now, due, shared } = park.turn(|cx| conn.turn(cx, &mut rx, &mut tx));
        busy.store(!conn.is_idle(), SeqCst);
        let alone = park.is_empty() && !shared;
        let sent = write(sock, &mut conn, &mut tx, flow.again)?;
        if sent == Sent::Some && flow.again || sent == Sent::Gone {
            continue;
        }
        let full = !tx.is_empty();
        if flow.shut && !full && !std::mem::replace(&mut shut, true) {
            let _ = rustix::net::shutdown(sock, rustix::net::Shutdown::Write);
        }
        if flow.close && !full {
            return Ok(());
        }
        let got = if flow.read && !full && alone {
            let left = due.map_or(LONG, |due| Duration::from_micros(due.at.0.saturating_sub(now.0)));
            // A socket's own time-out is set seldom: it may come a little late, and early by half.
            if timeout > left + Duration::from_millis(20) || timeout < left / 2 {
                timeout = left.max(Duration::from_millis(1));
                sockopt::set_socket_timeout(sock, sockopt::Timeout::Recv, Some(timeout))?;
            }
            recv(sock, rx.spare(), RecvFlags::empty())
        } else {
            let mut want = PollFlags::empty();
            want.set(PollFlags::IN, flow.read);
            want.set(PollFlags::OUT, full);
            // A socket nothing is wanted of stays out: one that hung up would be reported for ever.
            let seen = park.wait((!want.is_empty()).then_some((sock, want)), due, shared);
            if !flow.read || !seen.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
                continue;
            }
            recv(sock, rx.spare(), RecvFlags::DONTWAIT)
        };
        match got {
            Ok((_, n)) if n > 0 => {
                busy.store(true, SeqCst);
                rx.commit(n);
            }
            Ok(_) => rx.close(),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => conn.hang_up(),
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

/// Writes until it would block; with `once` only until something went, since more comes from the next turn.
fn write(sock: &OwnedFd, conn: &mut Connection, tx: &mut Tx, once: bool) -> io::Result<Sent> {
    let mut sent = Sent::Nothing;
    while !(tx.is_empty() || sent == Sent::Some && once) {
        let bytes = !tx.filled().is_empty();
        let result = match tx.file() {
            Some(f) if !bytes => {
                // sendfile(2) on a blocking socket waits for room; a peer that takes nothing must not hold the thread for ever.
                sockopt::set_socket_timeout(sock, sockopt::Timeout::Send, Some(times::STALL))?;
                sendfile(sock, &f.fd, Some(&mut f.at), f.left.min(STRETCH) as usize)
            }
            _ => send(sock, tx.filled(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT),
        };
        match result {
            Ok(n) if bytes => tx.sent(n),
            Ok(n) if n > 0 => tx.sent_file(n as u64),
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => continue,
            // Nothing left of a file that was longer: it shrank, and the peer must see that it was cut.
            Ok(_) | Err(_) => {
                conn.hang_up();
                tx.clear();
                return Ok(Sent::Gone);
            }
        }
        sent = Sent::Some;
    }
    Ok(sent)
}
