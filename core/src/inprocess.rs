//! Client and server in one process: no socket, no pipe, no thread. Each connection is turned by whoever reads or writes it.

use crate::{
    buf::{RecvBuf, Tx},
    conn::{Connection, Flow},
    cx::Cx,
    handler::Handler,
    wire::Error,
    workspace::{Dial, Transport},
};
use alloc::{boxed::Box, sync::Arc};
use core::task::Poll;

/// Dials a handler of this process.
pub struct InProcess(pub Arc<Handler>);

impl Dial for InProcess {
    fn dial(&self) -> Result<Box<dyn Transport>, Error> {
        Ok(Box::new(Near { handler: self.0.clone(), conn: None, rx: RecvBuf::default(), tx: Tx::default() }))
    }
}

struct Near {
    handler: Arc<Handler>,
    conn: Option<Connection>,
    rx: RecvBuf,
    tx: Tx,
}

impl Near {
    fn turn(&mut self, cx: &mut Cx<'_>) -> Flow {
        let conn = self.conn.get_or_insert_with(|| Connection::new(self.handler.clone(), cx.now()));
        conn.turn(cx, &mut self.rx, &mut self.tx)
    }
}

impl Transport for Near {
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let flow = self.turn(cx);
        let n = buf.len().min(self.tx.filled().len());
        if n == 0 && !flow.close && !flow.shut {
            return Poll::Pending;
        }
        buf[..n].copy_from_slice(&self.tx.filled()[..n]);
        self.tx.sent(n);
        Poll::Ready(Ok(n))
    }

    fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        if !self.rx.has_room() && self.turn(cx).close {
            return Poll::Ready(Err(Error::other("the connection was closed")));
        }
        let room = self.rx.spare();
        let n = room.len().min(buf.len());
        room[..n].copy_from_slice(&buf[..n]);
        self.rx.commit(n);
        if n == 0 { Poll::Pending } else { Poll::Ready(Ok(n)) }
    }
}
