//! One connection: a request is written to it, and the head of its reply is read from it.

use super::request::Outgoing;
use crate::{
    buf::RecvBuf,
    cx::Cx,
    guard::essence,
    wire::{
        Code, Error,
        http::{Decoder, Fault, Field, Fields, Framing, HeadScan, MAX_HEAD, ResponseHead},
        info::WIRE,
    },
    workspace::Transport,
};
use alloc::{boxed::Box, format, string::String};
use core::task::{Poll, ready};

/// So many interim replies are skipped before the reply.
const MAX_INTERIM: u8 = 16;

pub(super) struct Link {
    io: Box<dyn Transport>,
    pub(super) rx: RecvBuf,
    scan: HeadScan,
    interims: u8,
    /// It carried an exchange before this one, so the server may have closed it meanwhile.
    reused: bool,
    /// Something of this exchange was written.
    sent: bool,
    /// Something of this exchange's reply was read.
    heard: bool,
    /// Why nothing more can be written.
    broken: Option<Error>,
}

/// What the head of a reply says.
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) framing: Framing,
    /// Whether the connection can carry another exchange.
    pub(super) keep: bool,
}

/// The peer does what no server of this wire does.
pub(super) fn broke(words: &str) -> Error {
    Error::other(format!("the server broke the protocol: {words}"))
}

/// The connection ended inside a reply, of which so many bytes came.
pub(super) fn cut(bytes: u64, cause: Option<&Error>) -> Error {
    caused(Error::other(format!("the reply was cut after {bytes} bytes")), cause)
}

fn caused(error: Error, cause: Option<&Error>) -> Error {
    match cause.and_then(Error::errno) {
        Some(errno) => error.with(|d| d.errno = Some(String::from(errno).into())),
        None => error,
    }
}

impl Link {
    pub(super) fn new(io: Box<dyn Transport>) -> Self {
        let (rx, scan) = (RecvBuf::default(), HeadScan::default());
        Self { io, rx, scan, interims: 0, reused: false, sent: false, heard: false, broken: None }
    }

    /// The link for the next exchange, if it can carry one: what was received beyond a reply belongs to none.
    pub(super) fn rested(mut self) -> Option<Self> {
        let clean = self.rx.is_empty() && !self.rx.is_closed() && self.broken.is_none();
        (self.reused, self.sent, self.heard, self.interims) = (true, false, false, 0);
        clean.then_some(self)
    }

    /// Whether nothing was received on it while it was idle.
    pub(super) fn is_quiet(&mut self, cx: &mut Cx<'_>) -> bool {
        self.io.poll_read(cx, self.rx.spare()).is_pending()
    }

    /// Whether it was closed before this exchange reached the server, as far as can be told from here.
    pub(super) fn was_stale(&self) -> bool {
        self.reused && !self.heard
    }

    /// Whether nothing more can be written. The reply may say why.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Reads past the receive buffer.
    pub(super) fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        self.io.poll_read(cx, buf)
    }

    /// Reads into the receive buffer, which has room.
    pub(super) fn poll_fill(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        match ready!(self.io.poll_read(cx, self.rx.spare()))? {
            0 => self.rx.close(),
            n => {
                self.rx.commit(n);
                self.heard = true;
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Writes some of `buf`; `None` if nothing can be written any more.
    pub(super) fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Option<usize>> {
        if self.broken.is_some() {
            return Poll::Ready(None);
        }
        match ready!(self.io.poll_write(cx, buf)) {
            Ok(n) if n > 0 => {
                self.sent = true;
                return Poll::Ready(Some(n));
            }
            Ok(_) => self.broken = Some(Error::other("the connection takes nothing more")),
            Err(error) => self.broken = Some(error),
        }
        Poll::Ready(None)
    }

    /// Writes all of `out`, or finds out that it cannot.
    pub(super) fn poll_flush(&mut self, cx: &mut Cx<'_>, out: &mut Outgoing) -> Poll<Option<()>> {
        while !out.is_empty() {
            let Some(n) = ready!(self.poll_write(cx, out.left())) else { return Poll::Ready(None) };
            out.sent(n);
        }
        Poll::Ready(Some(()))
    }

    /// Writes `out`, and looks for the head of the reply all the while: a server may refuse before it has everything, and close. A good
    /// reply with a body is of the type `media`.
    pub(super) fn poll_head(
        &mut self,
        cx: &mut Cx<'_>,
        out: &mut Outgoing,
        media: Option<&str>,
    ) -> Poll<Result<Head, Error>> {
        loop {
            // Whether that waits or fails, the reply is looked for.
            let _ = self.poll_flush(cx, out);
            match self.scan.find(self.rx.filled()).map_err(|fault| broke(fault.words()))? {
                Some(end) => {
                    let head = Head::parse(&self.rx.filled()[..end], media);
                    self.rx.consume(end);
                    let Some(head) = head? else {
                        self.interims += 1;
                        if self.interims > MAX_INTERIM {
                            return Poll::Ready(Err(broke("too many interim replies")));
                        }
                        continue;
                    };
                    if head.status < 300 && !out.is_empty() {
                        return Poll::Ready(Err(broke("it answered before it had the request")));
                    }
                    let keep = head.keep && out.is_empty();
                    return Poll::Ready(Ok(Head { keep, ..head }));
                }
                None if self.rx.is_closed() => return Poll::Ready(Err(self.unanswered(None))),
                None => self.rx.grow(MAX_HEAD + 1024),
            }
            if let Err(error) = ready!(self.poll_fill(cx)) {
                return Poll::Ready(Err(self.unanswered(Some(error))));
            }
        }
    }

    /// Why there is no reply. `error` is what reading came to, if it failed.
    fn unanswered(&mut self, error: Option<Error>) -> Error {
        let cause = self.broken.take().or(error);
        match cause {
            // There was no connection yet: its error says where to.
            Some(cause) if !self.sent => cause,
            cause if self.heard => cut(self.rx.filled().len() as u64, cause.as_ref()),
            cause => caused(Error::other("the server closed the connection without a reply"), cause.as_ref()),
        }
    }
}

impl Head {
    /// Reads a head; `None` for an interim reply.
    fn parse(bytes: &[u8], media: Option<&str>) -> Result<Option<Self>, Error> {
        let head = ResponseHead::parse(bytes, false).map_err(|fault: Fault| broke(fault.words()))?;
        match head.status {
            101 => return Err(broke("it switched protocols")),
            100..200 => return Ok(None),
            300..400 => {
                let words =
                    format!("the server answered with a redirect (status {}), and none is followed", head.status);
                return Err(Error::other(words));
            }
            _ => {}
        }
        check_wire(&head.fields)?;
        match head.fields.get("content-encoding") {
            Field::Absent => {}
            Field::One(coding) if coding.eq_ignore_ascii_case(b"identity") => {}
            _ => return Err(broke("Content-Encoding")),
        }
        if let (Some(media), 200..300) = (media, head.status) {
            match head.fields.get("content-type") {
                Field::Absent => {}
                Field::One(value) if essence(value).eq_ignore_ascii_case(media.as_bytes()) => {}
                _ => return Err(broke("Content-Type")),
            }
        }
        Ok(Some(Self { status: head.status, framing: head.framing, keep: head.keep_alive }))
    }

    /// How its body begins to be read.
    pub(super) fn decoder(&self) -> Decoder {
        Decoder::new(self.framing)
    }
}

/// A client that finds another wire number fails and names both (spec, Requests in general).
fn check_wire(fields: &Fields<'_>) -> Result<(), Error> {
    let told = match fields.get("farside-wire") {
        Field::Absent => return Ok(()),
        Field::One(told) => core::str::from_utf8(told).unwrap_or_default(),
        Field::Many => "",
    };
    if told.parse() == Ok(WIRE) {
        return Ok(());
    }
    let number = !told.is_empty() && told.len() <= 20 && told.bytes().all(|b| b.is_ascii_digit());
    let told = if number { told } else { "of no number" };
    Err(Error::new(Code::Unsupported, format!("the server speaks wire {told}, this is wire {WIRE}")))
}
