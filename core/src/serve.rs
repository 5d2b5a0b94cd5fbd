//! A connection driven over any [`Transport`], as a task: what a host's own byte streams are served with. The runtimes drive plain
//! sockets themselves, with fewer calls; this is also the shortest example of a driver.

use crate::{
    buf::{RecvBuf, Tx},
    conn::Connection,
    cx::{Cx, Task},
    handler::Handler,
    workspace::Transport,
};
use alloc::{boxed::Box, sync::Arc};
use core::task::Poll;

/// Serves one connection to its end; see [`serve`].
pub struct Serve {
    io: Box<dyn Transport>,
    handler: Arc<Handler>,
    /// Made at the first poll, which tells the time.
    conn: Option<Connection>,
    rx: RecvBuf,
    tx: Tx,
    shut: bool,
}

/// Serves what comes over `io` until it ends.
pub fn serve(io: impl Transport + 'static, handler: Arc<Handler>) -> Serve {
    Serve { io: Box::new(io), handler, conn: None, rx: RecvBuf::default(), tx: Tx::default(), shut: false }
}

/// So many turns a poll; then others have theirs.
const TURNS: usize = 64;

impl Task for Serve {
    type Out = ();

    fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<()> {
        let now = cx.now();
        let conn = self.conn.get_or_insert_with(|| Connection::new(self.handler.clone(), now));
        for _ in 0..TURNS {
            let flow = conn.turn(cx, &mut self.rx, &mut self.tx);
            let mut wrote = false;
            while !(self.tx.is_empty() || wrote && flow.again) {
                match self.io.poll_write(cx, self.tx.filled()) {
                    Poll::Pending => break,
                    Poll::Ready(Ok(n)) if n > 0 => self.tx.sent(n),
                    Poll::Ready(_) => {
                        self.tx.clear();
                        conn.hang_up();
                    }
                }
                wrote = true;
            }
            if wrote && flow.again {
                continue;
            }
            if flow.shut && self.tx.is_empty() && !core::mem::replace(&mut self.shut, true) {
                self.io.shut();
            }
            if flow.close && self.tx.is_empty() {
                return Poll::Ready(());
            }
            if !flow.read {
                return Poll::Pending;
            }
            match self.io.poll_read(cx, self.rx.spare()) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(n)) if n > 0 => self.rx.commit(n),
                Poll::Ready(Ok(_)) => self.rx.close(),
                Poll::Ready(Err(_)) => conn.hang_up(),
            }
        }
        cx.again();
        Poll::Pending
    }
}
