//! The body of a reply.

use super::{
    Inner,
    link::{Head, Link, broke, cut},
};
use crate::{
    cx::Cx,
    wire::{
        Bounds, Error,
        envelope::parse_refusal,
        http::{Decoder, Framing, Part},
    },
};
use alloc::{format, sync::Arc, vec::Vec};
use core::task::{Poll, ready};

/// A reply whose body is being read. Read to its end its connection is kept for another; dropped before, the connection is closed, which
/// the server sees as a hang-up.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) framing: Framing,
    inner: Arc<Inner>,
    /// `None` once the body is over.
    link: Option<Link>,
    decoder: Decoder,
    keep: bool,
    got: u64,
}

impl Reply {
    pub(super) fn new(inner: Arc<Inner>, link: Link, head: &Head) -> Self {
        let mut reply = Self {
            status: head.status,
            framing: head.framing,
            inner,
            link: Some(link),
            decoder: head.decoder(),
            keep: head.keep,
            got: 0,
        };
        reply.settle();
        reply
    }

    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// How many bytes of the body were used.
    pub(super) fn got(&self) -> u64 {
        self.got
    }

    /// The length of the body, if it is stated.
    pub(super) fn size(&self) -> Option<u64> {
        match self.framing {
            Framing::Length(n) => Some(n),
            _ => None,
        }
    }

    /// What of the body lies in the receive buffer.
    pub(super) fn received(&self) -> &[u8] {
        match (&self.link, self.size()) {
            (Some(link), Some(size)) => {
                let here = link.rx.filled();
                &here[..usize::try_from(size).map_or(here.len(), |size| size.min(here.len()))]
            }
            _ => &[],
        }
    }

    /// Makes the receive buffer as large as suits what comes.
    pub(super) fn want(&mut self, n: usize) {
        if let Some(link) = &mut self.link {
            link.rx.want(n);
        }
    }

    /// Waits for body in the receive buffer and says how many bytes of it there are; none at its proper end.
    pub(super) fn poll_some(&mut self, cx: &mut Cx<'_>) -> Poll<Result<usize, Error>> {
        loop {
            let Some(link) = &mut self.link else { return Poll::Ready(Ok(0)) };
            match self.decoder.next(link.rx.filled()).map_err(|fault| broke(fault.words()))? {
                Part::Skip(n) => link.rx.consume(n),
                Part::Data(n) => return Poll::Ready(Ok(n)),
                Part::End => self.over(),
                Part::More if link.rx.is_closed() => {
                    self.decoder.at_end_of_input().map_err(|_| cut(self.got, None))?;
                }
                Part::More => {
                    if let Err(error) = ready!(link.poll_fill(cx)) {
                        return Poll::Ready(Err(cut(self.got, Some(&error))));
                    }
                }
            }
        }
    }

    /// The first `n` bytes of what [`Reply::poll_some`] found.
    pub(super) fn some(&self, n: usize) -> &[u8] {
        self.link.as_ref().and_then(|link| link.rx.filled().get(..n)).unwrap_or_default()
    }

    /// They were used.
    pub(super) fn took(&mut self, n: usize) {
        if let Some(link) = &mut self.link {
            link.rx.consume(n);
        }
        self.count(n);
    }

    /// Reads into `buf`, past the receive buffer where it can; 0 at the proper end.
    pub(super) fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let left = match self.framing {
            Framing::UntilClose => Some(u64::MAX),
            _ => self.decoder.remaining(),
        };
        if let (Some(link), Some(left)) = (&mut self.link, left)
            && link.rx.is_empty()
            && !link.rx.is_closed()
        {
            let room = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
            match ready!(link.poll_read(cx, &mut buf[..room])) {
                Ok(0) => link.rx.close(),
                Ok(n) => {
                    self.count(n);
                    return Poll::Ready(Ok(n));
                }
                Err(error) => return Poll::Ready(Err(cut(self.got, Some(&error)))),
            }
        }
        let n = ready!(self.poll_some(cx))?.min(buf.len());
        buf[..n].copy_from_slice(self.some(n));
        self.took(n);
        Poll::Ready(Ok(n))
    }

    fn count(&mut self, n: usize) {
        self.decoder.took(n);
        self.got += n as u64;
        self.settle();
    }

    /// Notices an end that is here already, so that the connection goes back as soon as it can.
    fn settle(&mut self) {
        while let Some(link) = &mut self.link {
            match self.decoder.next(link.rx.filled()) {
                Ok(Part::Skip(n)) => link.rx.consume(n),
                Ok(Part::End) => self.over(),
                // A fault is found again when the next part is asked for.
                _ => return,
            }
        }
    }

    fn over(&mut self) {
        if let Some(link) = self.link.take()
            && self.keep
        {
            self.inner.give_back(link);
        }
    }
}

/// A reply that is taken whole.
pub(super) struct Whole {
    reply: Reply,
    data: Vec<u8>,
    at: usize,
}

impl Whole {
    pub(super) fn new(reply: Reply) -> Self {
        Self { reply, data: Vec::new(), at: 0 }
    }

    /// The body of a good reply, at most `maxReplyBytes`; a refusal is the error it stands for.
    pub(super) fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<Result<Vec<u8>, Error>> {
        let body = ready!(self.poll_body(cx));
        if self.reply.is_success() {
            return Poll::Ready(body);
        }
        let error = body.ok().and_then(|body| parse_refusal(&body));
        Poll::Ready(Err(error.unwrap_or_else(|| {
            Error::other(format!("the server answered with status {} and no error of this wire", self.reply.status))
        })))
    }

    fn poll_body(&mut self, cx: &mut Cx<'_>) -> Poll<Result<Vec<u8>, Error>> {
        let max = Bounds::default().max_reply_bytes;
        loop {
            if self.at as u64 > max || self.reply.size().is_some_and(|size| size > max) {
                return Poll::Ready(Err(Error::limit("maxReplyBytes", max)));
            }
            if self.at == self.data.len() {
                // A stated size is believed only a step at a time: the peer may lie.
                let left = self.reply.size().unwrap_or(max + 1) - self.at as u64;
                let step = left.min((self.at as u64).clamp(2 * 1024, 1024 * 1024)).max(1);
                self.data.resize(self.at + step as usize, 0);
            }
            match ready!(self.reply.poll_read(cx, &mut self.data[self.at..]))? {
                0 => {
                    self.data.truncate(self.at);
                    return Poll::Ready(Ok(core::mem::take(&mut self.data)));
                }
                n => self.at += n,
            }
        }
    }
}
