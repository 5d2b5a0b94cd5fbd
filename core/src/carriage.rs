//! What carries one request and its reply: HTTP/1.1 here, a stream of another protocol elsewhere, a test's own.

use crate::{
    buf::{RecvBuf, Tx},
    wire::{
        Out,
        http::{self, CHUNK_HEAD, Decoder, Fault, LAST_CHUNK, chunk_head, reason},
        route::Allow,
    },
    workspace::Room,
};
#[cfg(feature = "std")]
use {alloc::sync::Arc, std::os::fd::OwnedFd};

/// The start of a reply.
#[derive(Clone, Copy, Debug)]
pub struct ReplyHead<'a> {
    /// The status.
    pub status: u16,
    /// The type of the body; none without a body.
    pub media: Option<&'static str>,
    /// The body's length; `None`: it streams. (A body given whole states its own.)
    pub length: Option<u64>,
    /// A file's content, which a browser must not take for anything else.
    pub attachment: bool,
    /// The methods of a route that was asked with another.
    pub allow: Option<Allow>,
    /// What a refusal for want of credentials asks for.
    pub challenge: Option<&'a str>,
    /// Nothing may follow on this connection: the request's body was not read.
    pub close: bool,
}

impl ReplyHead<'_> {
    /// A reply of `status` with a body of type `media`.
    pub fn new(status: u16, media: Option<&'static str>) -> Self {
        Self { status, media, length: None, attachment: false, allow: None, challenge: None, close: false }
    }
}

/// Where an exchange puts its reply.
pub trait Reply {
    /// A whole reply in one piece; `body` writes its body.
    fn whole(&mut self, head: &ReplyHead<'_>, body: &mut dyn FnMut(&mut dyn Out));
    /// Room for the body of [`Reply::whole_from_room`].
    fn draft(&mut self) -> &mut dyn Room;
    /// A whole reply whose body is the first `n` bytes of the room that was drafted last.
    fn whole_from_room(&mut self, head: &ReplyHead<'_>, n: usize);
    /// The start of a reply whose body follows.
    fn start(&mut self, head: &ReplyHead<'_>);
    /// Room for `n` bytes of body.
    fn room(&mut self, n: usize) -> &mut [u8];
    /// The first `n` bytes of the room are body.
    fn commit(&mut self, n: usize);
    /// Sends the first `n` bytes of a file as body, if this carriage can do that without copying.
    #[cfg(feature = "std")]
    fn file(&mut self, _fd: &Arc<OwnedFd>, _n: u64) -> bool {
        false
    }
    /// The body is whole.
    fn end(&mut self);
    /// The reply cannot be finished: the peer must see that it was cut.
    fn cut(&mut self);
    /// Drops what waits to be written to a peer that takes nothing; then the reply can only be cut.
    fn discard(&mut self);
    /// Whether anything of the final reply was put.
    fn started(&self) -> bool;
    /// Whether the request was for the head alone.
    fn head_only(&self) -> bool;
    /// How many bytes wait to be written.
    fn backlog(&self) -> usize;
}

/// Where an exchange takes its request's body from.
pub trait Body {
    /// What is there.
    fn part(&mut self) -> Part<'_>;
    /// Drops the first `n` bytes of the data that is there.
    fn consume(&mut self, n: usize);
    /// The whole request came, and then the peer went away.
    fn hung_up(&self) -> bool;
}

/// What is there of a request's body.
#[derive(Debug)]
pub enum Part<'b> {
    /// Some of it.
    Data(&'b [u8]),
    /// Nothing yet.
    More,
    /// Its proper end.
    End,
    /// The peer went away before its end.
    Cut,
    /// The peer broke its framing.
    Fault(Fault),
}

/// How far an HTTP/1.1 reply is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mode {
    Unstarted,
    Plain,
    Chunked,
    /// The request was a HEAD: what is put as body is dropped.
    Dropped,
    Ended,
    Cut,
}

/// A reply over HTTP/1.1, into a transmit buffer.
pub(crate) struct H1Reply<'a> {
    pub(crate) tx: &'a mut Tx,
    pub(crate) state: &'a mut H1State,
}

/// What an HTTP/1.1 reply has to know of its request, and how far it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct H1State {
    pub(crate) mode: Mode,
    pub(crate) keep: bool,
    pub(crate) head_only: bool,
    /// HTTP/1.0 knows no chunks: a body that streams ends with the connection.
    pub(crate) chunks: bool,
}

impl H1Reply<'_> {
    /// Writes the head before what was put since `mark`.
    fn head(&mut self, head: &ReplyHead<'_>, length: Option<u64>, mark: usize) {
        self.state.keep &= !head.close;
        let mut text = HeadText { bytes: [0; 768], len: 0 };
        text.put(b"HTTP/1.1 ");
        text.put_u64(u64::from(head.status));
        text.put(b" ");
        text.put(reason(head.status).as_bytes());
        text.put(b"\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nFarside-Wire: 1\r\n");
        if let Some(media) = head.media {
            text.put(b"Content-Type: ");
            text.put(media.as_bytes());
            text.put(b"\r\n");
        }
        if head.attachment {
            text.put(b"Content-Disposition: attachment\r\nContent-Security-Policy: sandbox; default-src 'none'\r\n");
        }
        if let Some(allow) = head.allow {
            text.put(b"Allow: ");
            for (n, method) in allow.iter().enumerate() {
                text.put(if n > 0 { b", " } else { b"" });
                text.put(method.name().as_bytes());
            }
            text.put(b"\r\n");
        }
        if let Some(challenge) = head.challenge {
            text.put(b"WWW-Authenticate: ");
            text.put(challenge.as_bytes());
            text.put(b"\r\n");
        }
        self.state.mode = match length {
            Some(n) => {
                if head.status != 204 {
                    text.put(b"Content-Length: ");
                    text.put_u64(n);
                    text.put(b"\r\n");
                }
                Mode::Plain
            }
            None if self.state.chunks => {
                text.put(b"Transfer-Encoding: chunked\r\n");
                Mode::Chunked
            }
            None => {
                self.state.keep = false;
                Mode::Plain
            }
        };
        if !self.state.keep {
            text.put(b"Connection: close\r\n");
        }
        text.put(b"\r\n");
        self.tx.insert(mark, &text.bytes[..text.len]);
        if self.state.head_only {
            self.state.mode = Mode::Dropped;
        }
    }
}

/// A head is short: it is made on the stack and put in one piece. A challenge too long for it is cut off.
struct HeadText {
    bytes: [u8; 768],
    len: usize,
}

impl Out for HeadText {
    fn put(&mut self, bytes: &[u8]) {
        // The fixed lines take 420 bytes at most; a challenge is checked to be shorter than the rest when a handler is made.
        let n = bytes.len().min(self.bytes.len() - self.len);
        self.bytes[self.len..self.len + n].copy_from_slice(&bytes[..n]);
        self.len += n;
    }
}

impl Reply for H1Reply<'_> {
    fn whole(&mut self, head: &ReplyHead<'_>, body: &mut dyn FnMut(&mut dyn Out)) {
        self.tx.leave_room();
        let mark = self.tx.mark();
        body(self.tx);
        let n = self.tx.mark() - mark;
        if self.state.head_only {
            self.tx.truncate(mark);
        }
        self.head(head, Some(n as u64), mark);
        self.state.mode = Mode::Ended;
    }

    fn draft(&mut self) -> &mut dyn Room {
        self.tx.leave_room();
        self.tx
    }

    fn whole_from_room(&mut self, head: &ReplyHead<'_>, n: usize) {
        let mark = self.tx.mark();
        if !self.state.head_only {
            self.tx.commit(n);
        }
        self.head(head, Some(n as u64), mark);
        self.state.mode = Mode::Ended;
    }

    fn start(&mut self, head: &ReplyHead<'_>) {
        let mark = self.tx.mark();
        self.head(head, head.length, mark);
    }

    fn room(&mut self, n: usize) -> &mut [u8] {
        match self.state.mode {
            Mode::Chunked => &mut self.tx.room(CHUNK_HEAD + n + 2)[CHUNK_HEAD..CHUNK_HEAD + n],
            _ => self.tx.room(n),
        }
    }

    fn commit(&mut self, n: usize) {
        match self.state.mode {
            Mode::Chunked if n > 0 => {
                self.tx.commit(CHUNK_HEAD + n);
                let head = chunk_head(n);
                self.tx.back(CHUNK_HEAD + n, CHUNK_HEAD).copy_from_slice(&head);
                self.tx.put(b"\r\n");
            }
            Mode::Plain => self.tx.commit(n),
            _ => {}
        }
    }

    #[cfg(feature = "std")]
    fn file(&mut self, fd: &Arc<OwnedFd>, n: u64) -> bool {
        self.state.mode == Mode::Plain && self.tx.put_file(fd, n)
    }

    fn end(&mut self) {
        if self.state.mode == Mode::Chunked {
            self.tx.put(LAST_CHUNK);
        }
        self.state.mode = Mode::Ended;
    }

    fn cut(&mut self) {
        self.state.mode = Mode::Cut;
    }

    fn discard(&mut self) {
        self.tx.clear();
    }

    fn started(&self) -> bool {
        self.state.mode != Mode::Unstarted
    }

    fn head_only(&self) -> bool {
        self.state.head_only
    }

    fn backlog(&self) -> usize {
        self.tx.len()
    }
}

/// A request's body over HTTP/1.1, out of a receive buffer.
pub(crate) struct H1Body<'a> {
    pub(crate) rx: &'a mut RecvBuf,
    pub(crate) decoder: &'a mut Decoder,
}

impl Body for H1Body<'_> {
    fn part(&mut self) -> Part<'_> {
        loop {
            match self.decoder.next(self.rx.filled()) {
                Ok(http::Part::Skip(n)) => self.rx.consume(n),
                Ok(http::Part::Data(n)) => return Part::Data(&self.rx.filled()[..n]),
                Ok(http::Part::End) => return Part::End,
                Ok(http::Part::More) if self.rx.is_closed() => return Part::Cut,
                Ok(http::Part::More) => {
                    // A line of framing longer than the buffer could otherwise never become whole.
                    self.rx.grow(http::MAX_HEAD);
                    return Part::More;
                }
                Err(fault) => return Part::Fault(fault),
            }
        }
    }

    fn consume(&mut self, n: usize) {
        self.decoder.took(n);
        self.rx.consume(n);
    }

    fn hung_up(&self) -> bool {
        self.rx.is_closed() && self.decoder.is_done()
    }
}
