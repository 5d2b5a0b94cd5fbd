//! A pipe in memory with two ends: a connection without a socket, between two tasks of one process.

use crate::{cx::Cx, lock::Lock, wire::Error, workspace::Transport};
use alloc::{collections::VecDeque, sync::Arc};
use core::task::{Poll, Waker};

/// How much one direction holds, in bytes.
const CAPACITY: usize = 64 * 1024;

/// One end of a [`pipe`].
pub struct PipeEnd {
    reads: Arc<Lock<Direction>>,
    writes: Arc<Lock<Direction>>,
}

#[derive(Default)]
struct Direction {
    bytes: VecDeque<u8>,
    /// The writer will write no more.
    ended: bool,
    /// The reader is gone.
    unread: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Two ends: what is written to one is read from the other, 64 KiB each way.
pub fn pipe() -> (PipeEnd, PipeEnd) {
    let (a, b) = (Arc::new(Lock::new(Direction::default())), Arc::new(Lock::new(Direction::default())));
    (PipeEnd { reads: a.clone(), writes: b.clone() }, PipeEnd { reads: b, writes: a })
}

impl Transport for PipeEnd {
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let (polled, woken) = self.reads.with(|d| {
            if d.bytes.is_empty() && !d.ended {
                d.reader = Some(cx.waker().clone());
                return (Poll::Pending, None);
            }
            let mut n = 0;
            while n < buf.len() && !d.bytes.is_empty() {
                let (front, _) = d.bytes.as_slices();
                let m = front.len().min(buf.len() - n);
                buf[n..n + m].copy_from_slice(&front[..m]);
                d.bytes.drain(..m);
                n += m;
            }
            (Poll::Ready(Ok(n)), d.writer.take())
        });
        woken.into_iter().for_each(Waker::wake);
        polled
    }

    fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        let (polled, woken) = self.writes.with(|d| {
            if d.unread || d.ended {
                return (Poll::Ready(Err(Error::other("the other end of the pipe is gone"))), None);
            }
            let n = buf.len().min(CAPACITY - d.bytes.len());
            if n == 0 {
                d.writer = Some(cx.waker().clone());
                return (Poll::Pending, None);
            }
            d.bytes.extend(&buf[..n]);
            (Poll::Ready(Ok(n)), d.reader.take())
        });
        woken.into_iter().for_each(Waker::wake);
        polled
    }

    fn shut(&mut self) {
        let woken = self.writes.with(|d| {
            d.ended = true;
            d.reader.take()
        });
        woken.into_iter().for_each(Waker::wake);
    }
}

impl Drop for PipeEnd {
    fn drop(&mut self) {
        self.shut();
        let woken = self.reads.with(|d| {
            d.unread = true;
            d.bytes.clear();
            d.writer.take()
        });
        woken.into_iter().for_each(Waker::wake);
    }
}
