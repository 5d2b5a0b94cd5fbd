//! A command that runs over there: its reply's frames are its output.

use super::{
    Inner,
    ask::{Ask, Asking, Then, garbled},
    link::{broke, cut},
    reply::{Reply, Whole},
    request::Content,
};
use crate::{
    cx::Cx,
    wire::{
        Channel, Code, Error, ExecRequest, Id, Line, Output,
        exec::MAX_TIMEOUT_MS,
        frame::{MAX_FRAME_DATA, data_frame_len, parse_line},
        route::RouteId,
    },
    workspace::{Answer, Call, Command, Delivery, Exec, Exit, Piece, Room},
};
use alloc::{borrow::Cow, boxed::Box, string::String, sync::Arc, vec::Vec};
use core::{
    task::{Poll, ready},
    time::Duration,
};
use memchr::memchr;

/// The receive buffer of an exec's reply: a whole frame fits.
const RECEIVE: usize = 64 * 1024;
/// What a line may have beside the data it is made for: an error's message, members that are not known.
const SLACK: u64 = 64 * 1024;
/// The longest line, whatever a server says that it may send.
const MAX_LINE: u64 = 1 << 30;
/// So many lines, or parts of one, a poll; then others have their turn.
const LINES: usize = 64;

/// An exec that is asked for at its first poll: its key has to be random.
pub(super) struct Starting {
    inner: Arc<Inner>,
    command: Command,
    state: State,
}

enum State {
    New,
    /// Whether the server can give the streams apart has to be found out first.
    Informing(Asking),
    Asked(Asking),
}

/// What a good reply to an exec is read with.
pub(super) struct Expected {
    key: Id,
    max_line: u64,
}

impl Starting {
    pub(super) fn new(inner: Arc<Inner>, command: Command) -> Self {
        Self { inner, command, state: State::New }
    }

    fn request(&self, cx: &mut Cx<'_>) -> Result<Asking, Error> {
        let about = self.inner.about();
        let has_apart = about.as_ref().is_some_and(|about| about.extensions.iter().any(|name| name == "apart"));
        let (stream, apart) = match self.command.output {
            Delivery::Collected => (false, false),
            Delivery::Merged => (true, false),
            Delivery::Apart => (has_apart, has_apart),
        };
        let told = about.and_then(|about| about.bounds.clone());
        let bounds = told.clone().unwrap_or_default();
        if told.is_some() && self.command.stdin.len() as u64 > bounds.max_write_bytes {
            return Err(Error::limit("maxWriteBytes", bounds.max_write_bytes));
        }
        let mut random = [0; 17];
        cx.entropy(&mut random);
        let key = Id::new(&random);
        let request = ExecRequest {
            args: borrowed(&self.command.args),
            dir: Cow::Borrowed(&*self.command.dir),
            env: borrowed(&self.command.env),
            stdin: Cow::Borrowed(&*self.command.stdin),
            timeout_ms: self.command.timeout.map_or(0, millis),
            stream,
            apart,
            key: Some(Cow::Borrowed(key.as_str())),
        };
        request.check()?;
        let out = self.inner.server.request(RouteId::Exec, None, &[], Content::Json(&|out| request.write(out)));
        if told.is_some() && out.body > bounds.exec_request_bytes() {
            return Err(Error::limit("maxRequestBytes", bounds.max_request_bytes));
        }
        let max_line =
            if stream { data_frame_len(Channel::Stderr, MAX_FRAME_DATA) as u64 } else { bounds.exec_frame_bytes() };
        let expected = Expected { key, max_line: max_line.saturating_add(SLACK).min(MAX_LINE) };
        Ok(Asking::new(Ask::new(self.inner.clone(), RouteId::Exec, out), Then::Exec(expected)))
    }
}

fn borrowed(texts: &[String]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| Cow::Borrowed(&**text)).collect()
}

/// Whole milliseconds, at least one: none at all would mean no timeout.
fn millis(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX).clamp(1, MAX_TIMEOUT_MS)
}

impl Call for Starting {
    fn poll(&mut self, cx: &mut Cx<'_>, room: &mut dyn Room) -> Poll<Result<Answer, Error>> {
        loop {
            self.state = match &mut self.state {
                State::New if self.command.output == Delivery::Apart && self.inner.about().is_none() => {
                    State::Informing(self.inner.info())
                }
                State::New => State::Asked(self.request(cx)?),
                State::Informing(info) => match ready!(info.poll(cx, room)) {
                    // Who may only run commands is told nothing (spec, Info and files).
                    Err(error) if error.code != Code::Forbidden => return Poll::Ready(Err(error)),
                    _ => State::Asked(self.request(cx)?),
                },
                State::Asked(exec) => return exec.poll(cx, room),
            }
        }
    }
}

/// The answer to a good reply.
pub(super) fn answer(inner: Arc<Inner>, mut reply: Reply, expected: &Expected) -> Answer {
    reply.want(RECEIVE);
    Answer::Exec(Box::new(Running {
        inner,
        key: expected.key,
        max_line: expected.max_line,
        stage: Stage::Frames(reply),
        line: Vec::new(),
        held: Held { channel: Channel::Stdout, data: Vec::new(), at: 0 },
        cancel: Cancel::No,
    }))
}

struct Running {
    inner: Arc<Inner>,
    key: Id,
    max_line: u64,
    stage: Stage,
    /// The start of a line whose end has not come.
    line: Vec<u8>,
    held: Held,
    cancel: Cancel,
}

enum Stage {
    /// Frames come.
    Frames(Reply),
    /// The last frame came; the proper end of the reply has to follow.
    Last(Reply, Box<Result<Output, Error>>),
    /// The reply has ended: what is left of the output is given out.
    Ended(Box<Output>),
    /// The connection was closed, which ends the command over there.
    HungUp,
}

/// Data that found no room yet.
struct Held {
    channel: Channel,
    data: Vec<u8>,
    at: usize,
}

/// How far its caller's end is.
enum Cancel {
    No,
    Wanted,
    Asking(Box<Cancelling>),
    Done,
}

impl Exec for Running {
    fn poll_next(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<Piece, Error>> {
        self.poll_cancel(cx);
        for _ in 0..LINES {
            if self.held.at < self.held.data.len() {
                // The time of a command that waits for room is kept over there.
                return if buf.is_empty() { Poll::Pending } else { Poll::Ready(Ok(self.held.give(buf))) };
            }
            match &mut self.stage {
                Stage::Frames(reply) => {
                    match ready!(poll_line(cx, reply, &mut self.line, self.max_line, buf, &mut self.held)) {
                        Err(error) => return self.fail(error),
                        Ok(Line::Blank) => {}
                        Ok(Line::Data(channel, n)) => return Poll::Ready(Ok(Piece::Data(channel, n))),
                        Ok(Line::Output(output)) => self.last(Ok(output)),
                        Ok(Line::Error(error)) => self.last(Err(error)),
                    }
                }
                Stage::Last(reply, last) => match ready!(reply.poll_some(cx)) {
                    Err(error) => return self.fail(error),
                    Ok(n) if n > 0 => return self.fail(broke("the reply went on after its last frame")),
                    Ok(_) => match core::mem::replace(&mut **last, Err(Code::Other.into())) {
                        Err(error) => return self.fail(error),
                        Ok(mut output) => {
                            self.held =
                                Held { channel: Channel::Stdout, data: core::mem::take(&mut output.stdout), at: 0 };
                            self.stage = Stage::Ended(Box::new(output));
                        }
                    },
                },
                Stage::Ended(output) if !output.stderr.is_empty() => {
                    self.held = Held { channel: Channel::Stderr, data: core::mem::take(&mut output.stderr), at: 0 };
                }
                Stage::Ended(output) => {
                    let (timed_out, interrupted) = (output.timed_out, output.interrupted);
                    let exit = Exit { code: output.exit_code, signal: output.signal.take(), timed_out, interrupted };
                    return Poll::Ready(Ok(Piece::End(exit)));
                }
                Stage::HungUp => {
                    return Poll::Ready(Ok(Piece::End(Exit { code: -1, interrupted: true, ..Exit::default() })));
                }
            }
        }
        cx.again();
        Poll::Pending
    }

    fn interrupt(&mut self) {
        if matches!((&self.cancel, &self.stage), (Cancel::No, Stage::Frames(_))) {
            self.cancel = Cancel::Wanted;
        }
    }
}

impl Running {
    fn last(&mut self, last: Result<Output, Error>) {
        if let Stage::Frames(reply) = core::mem::replace(&mut self.stage, Stage::HungUp) {
            self.stage = Stage::Last(reply, Box::new(last));
        }
    }

    /// The command ran, whatever became of it.
    fn fail(&mut self, error: Error) -> Poll<Result<Piece, Error>> {
        self.stage = Stage::HungUp;
        Poll::Ready(Err(error.with(|details| details.ran = Some(true))))
    }

    /// Asks for its end, on another connection: the reply then goes on to its last frame. If that cannot be had, this one is closed.
    fn poll_cancel(&mut self, cx: &mut Cx<'_>) {
        if let Cancel::Wanted = self.cancel {
            let out = self.inner.server.request(RouteId::CancelExec, Some(self.key.as_str()), &[], Content::None);
            let ask = Ask::new(self.inner.clone(), RouteId::CancelExec, out);
            self.cancel = Cancel::Asking(Box::new(Cancelling::Asking(ask)));
        }
        let Cancel::Asking(cancelling) = &mut self.cancel else { return };
        let Poll::Ready(done) = cancelling.poll(cx) else { return };
        self.cancel = Cancel::Done;
        if done.is_err() && matches!(self.stage, Stage::Frames(_)) {
            self.stage = Stage::HungUp;
        }
    }
}

enum Cancelling {
    Asking(Ask),
    Reading(Whole),
}

impl Cancelling {
    fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        loop {
            *self = match self {
                Self::Asking(ask) => Self::Reading(Whole::new(ready!(ask.poll(cx))?)),
                Self::Reading(reply) => return reply.poll(cx).map_ok(|_| ()),
            };
        }
    }
}

impl Held {
    fn give(&mut self, buf: &mut [u8]) -> Piece {
        let rest = &self.data[self.at..];
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        Piece::Data(self.channel, n)
    }
}

/// One line of the reply, or a part of one, which is [`Line::Blank`] too. Its data goes into `buf`, or is held if that is too small.
fn poll_line(
    cx: &mut Cx<'_>,
    reply: &mut Reply,
    line: &mut Vec<u8>,
    max: u64,
    buf: &mut [u8],
    held: &mut Held,
) -> Poll<Result<Line, Error>> {
    let n = ready!(reply.poll_some(cx))?;
    if n == 0 {
        return Poll::Ready(Err(cut(reply.got(), None)));
    }
    let here = reply.some(n);
    let end = memchr(b'\n', here);
    let take = end.map_or(n, |at| at + 1);
    if (line.len() + take) as u64 > max {
        return Poll::Ready(Err(
            Error::new(Code::Limit, "a line of the reply").with(|details| details.limit = Some(max))
        ));
    }
    let read = match end {
        None => {
            line.extend_from_slice(here);
            Ok(Line::Blank)
        }
        Some(_) if line.is_empty() => read_line(&here[..take], buf, held),
        Some(_) => {
            line.extend_from_slice(&here[..take]);
            let read = read_line(line, buf, held);
            *line = Vec::new();
            read
        }
    };
    reply.took(take);
    Poll::Ready(read.map_err(garbled))
}

fn read_line(line: &[u8], buf: &mut [u8], held: &mut Held) -> Result<Line, Error> {
    if buf.len() >= (line.len() / 4 * 3).min(MAX_FRAME_DATA) {
        return parse_line(line, buf);
    }
    held.data.resize(MAX_FRAME_DATA, 0);
    let read = parse_line(line, &mut held.data);
    (held.at, held.channel) = (0, Channel::Stdout);
    let n = if let Ok(Line::Data(channel, n)) = read {
        held.channel = channel;
        n
    } else {
        0
    };
    held.data.truncate(n);
    if n > 0 { Ok(Line::Blank) } else { read }
}
