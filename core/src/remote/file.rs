//! A file's content, in and out.

use super::{
    Inner,
    link::{Link, broke},
    reply::{Reply, Whole},
    request::{Content, Outgoing},
};
use crate::{
    cx::Cx,
    wire::{
        Error, Out,
        http::{Framing, LAST_CHUNK, chunk_head},
        route::RouteId,
    },
    workspace::{Answer, Call, Reader, Room, Sink, Source},
};
use alloc::{boxed::Box, format, sync::Arc};
use core::task::{Poll, ready};

/// The answer to a good reply: the content itself, if all of it is here and fits the room, else a reader.
pub(super) fn answer(mut reply: Reply, room: &mut dyn Room) -> Result<Answer, Error> {
    if reply.framing == Framing::UntilClose {
        return Err(broke("a file's content without an end of its own"));
    }
    let size = reply.size();
    let here = reply.received();
    let n = here.len();
    // Of an empty file too: whoever has no room at all wants a reader.
    if size == Some(n as u64)
        && let Some(room) = room.room(n.max(1)).get_mut(..n.max(1))
    {
        room[..n].copy_from_slice(here);
        reply.took(n);
        return Ok(Answer::Whole(n));
    }
    Ok(Answer::Reader(Reader::new(size, Box::new(Download(reply)))))
}

struct Download(Reply);

impl Source for Download {
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        self.0.poll_read(cx, buf)
    }
}

/// So much of the content goes out in one piece with the head, and so much with the end.
const SMALL: usize = 16 * 1024;
/// The longest chunk.
const CHUNK: usize = 64 * 1024;

/// A file's new content on its way.
pub(super) struct Upload {
    inner: Arc<Inner>,
    /// The head, and what was taken but not sent yet.
    out: Outgoing,
    link: Option<Link>,
    /// How many bytes are still to come, if that was stated; else it goes in chunks.
    left: Option<u64>,
    last_chunk: bool,
    reply: Option<Whole>,
    over: bool,
}

/// The answer to a create: nothing is sent before the first bytes are there, so that they go out with the head.
pub(super) struct Creating(pub(super) Option<Upload>);

impl Call for Creating {
    fn poll(&mut self, _: &mut Cx<'_>, _: &mut dyn Room) -> Poll<Result<Answer, Error>> {
        let upload = self.0.take().ok_or(Error::other("polled after its end"))?;
        Poll::Ready(Ok(Answer::Sink(Box::new(upload))))
    }
}

impl Upload {
    pub(super) fn new(inner: Arc<Inner>, name: &str, perm: Option<u32>, size: Option<u64>) -> Result<Self, Error> {
        let max = inner.bounds().map_or(u64::MAX, |bounds| bounds.max_write_bytes);
        if size.is_some_and(|size| size > max) {
            return Err(Error::limit("maxWriteBytes", max));
        }
        let perm = perm.map(|perm| format!("{:o}", perm & 0o777));
        let query = [("path", name), ("perm", perm.as_deref().unwrap_or_default())];
        let query = if perm.is_some() { &query[..] } else { &query[..1] };
        let out = inner.server.request(RouteId::WriteFile, None, query, Content::Octets(size));
        Ok(Self { inner, out, link: None, left: size, last_chunk: false, reply: None, over: false })
    }

    /// Ends it with an error: nothing more goes over its connection, and the server, which has not all of it, changes nothing.
    fn fail(&mut self, error: Error) -> Poll<Error> {
        (self.link, self.reply, self.over) = (None, None, true);
        Poll::Ready(error)
    }

    /// The connection, which is made when it is needed first.
    fn link(&mut self, cx: &mut Cx<'_>) -> Result<&mut Link, Error> {
        if self.link.is_none() {
            self.link = Some(self.inner.connect(cx)?);
        }
        self.link.as_mut().ok_or(Error::other("no connection"))
    }

    /// Takes some of `buf`; `None` if nothing can be written any more.
    ///
    /// The last bytes of a stated length stay here until the content is finished: without them it is cut.
    fn try_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<Option<usize>, Error>> {
        let rest = self.left.map(|left| left.checked_sub(buf.len() as u64));
        if rest == Some(None) {
            return Poll::Ready(Err(Error::other("more bytes were written than were announced")));
        }
        let (first, sized, last) = (self.link.is_none(), rest.is_some(), rest == Some(Some(0)));
        let mut out = core::mem::take(&mut self.out);
        let link = self.link(cx)?;
        let taken = 'taken: {
            if !first {
                match link.poll_flush(cx, &mut out) {
                    Poll::Ready(Some(())) if last && buf.len() > SMALL => {
                        break 'taken link.poll_write(cx, &buf[..buf.len() - SMALL]);
                    }
                    Poll::Ready(Some(())) if sized && !last => break 'taken link.poll_write(cx, buf),
                    Poll::Ready(Some(())) => {}
                    unable => break 'taken unable.map(|_| None),
                }
            }
            let n = buf.len().min(if sized { SMALL } else { CHUNK });
            out.trim();
            if sized {
                out.put(&buf[..n]);
            } else {
                out.put(&chunk_head(n));
                out.put(&buf[..n]);
                out.put(b"\r\n");
            }
            if !(last && n == buf.len()) {
                // What does not go at once goes first next time.
                let _ = link.poll_flush(cx, &mut out);
            }
            Poll::Ready(Some(n))
        };
        self.out = out;
        if let (Poll::Ready(Some(n)), Some(left)) = (taken, &mut self.left) {
            *left -= n as u64;
        }
        taken.map(Ok)
    }

    /// The server answers although it has not everything, or takes nothing more: its reply says why.
    fn poll_refusal(&mut self, cx: &mut Cx<'_>) -> Poll<Error> {
        match ready!(self.poll_reply(cx, false)) {
            Ok(()) => self.fail(broke("it answered before it had the content")),
            Err(error) => self.fail(error),
        }
    }

    /// The reply; `send` sends what is left before.
    fn poll_reply(&mut self, cx: &mut Cx<'_>, send: bool) -> Poll<Result<(), Error>> {
        let mut nothing = Outgoing::default();
        loop {
            if let Some(reply) = &mut self.reply {
                return reply.poll(cx).map_ok(|_| ());
            }
            let Some(link) = &mut self.link else { return Poll::Ready(Err(Error::other("no connection"))) };
            let out = if send { &mut self.out } else { &mut nothing };
            let mut head = ready!(link.poll_head(cx, out, None))?;
            head.keep &= send;
            let Some(link) = self.link.take() else { continue };
            self.reply = Some(Whole::new(Reply::new(self.inner.clone(), link, &head)));
        }
    }
}

impl Sink for Upload {
    fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        if self.over {
            return Poll::Ready(Err(Error::other("written after its end")));
        }
        if self.reply.is_some() || self.link.as_ref().is_some_and(Link::is_broken) {
            return self.poll_refusal(cx).map(Err);
        }
        match self.try_write(cx, buf) {
            Poll::Ready(Ok(Some(n))) => Poll::Ready(Ok(n)),
            Poll::Ready(Err(error)) => self.fail(error).map(Err),
            Poll::Ready(Ok(None)) | Poll::Pending => self.poll_refusal(cx).map(Err),
        }
    }

    fn poll_finish(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        if self.over {
            return Poll::Ready(Err(Error::other("finished after its end")));
        }
        if self.left.is_some_and(|left| left > 0) {
            return self.fail(Error::other("fewer bytes were written than were announced")).map(Err);
        }
        if self.left.is_none() && !core::mem::replace(&mut self.last_chunk, true) {
            self.out.trim();
            self.out.put(LAST_CHUNK);
        }
        if self.reply.is_none()
            && let Err(error) = self.link(cx).map(|_| ())
        {
            return self.fail(error).map(Err);
        }
        let done = ready!(self.poll_reply(cx, true));
        self.over = true;
        Poll::Ready(done)
    }
}
