//! Replies that are made in one piece: refusals, JSON, no content.

use super::State;
use crate::{
    access::Access,
    carriage::{Reply, ReplyHead},
    handler::Handler,
    wire::{Code, Error, Info, Out, file::write_info, http::Fault, route::Allow, status_of, write_error},
    workspace::Answer,
};

const JSON: &str = "application/json";

/// An error with what a refusal says beside it.
pub(crate) struct Refusal {
    error: Error,
    status: u16,
    allow: Option<Allow>,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = status_of(&error);
        Self { error, status, allow: None }
    }
}

impl Refusal {
    /// A workspace's own error: its words go to nobody, since they may name a path of this machine. An unmapped error is its words.
    pub(crate) fn mapped(mut error: Error) -> Self {
        if error.code != Code::Other {
            error.words = "".into();
        }
        match error.code {
            Code::Closed => Self { status: 503, ..error.into() },
            _ => error.into(),
        }
    }

    /// A connection to a port failed.
    pub(crate) fn unreachable(error: Error) -> Self {
        let refusal = Self::mapped(error);
        if refusal.error.code == Code::Other { Self { status: 502, ..refusal } } else { refusal }
    }

    /// An error of the handler's own: `closed` is 503 while it closes.
    pub(crate) fn mapped_closing(error: Error) -> Self {
        if error.code == Code::Closed { Self::closing() } else { error.into() }
    }

    pub(crate) fn closing() -> Self {
        Self { status: 503, ..Error::from(Code::Closed).into() }
    }

    pub(crate) fn media_type(error: Error) -> Self {
        Self { status: 415, ..error.into() }
    }

    pub(crate) fn method(allow: Allow) -> Self {
        Self { status: 405, allow: Some(allow), ..Error::new(Code::Unsupported, "method").into() }
    }

    pub(crate) fn unknown() -> Self {
        Self { status: 404, ..Error::new(Code::Unsupported, "route").into() }
    }

    pub(crate) fn stalled() -> Self {
        Self { status: 408, ..Error::invalid("the body makes no progress").into() }
    }

    pub(crate) fn fault(fault: Fault) -> Self {
        Self { error: Error::new(fault.code(), fault.words()), status: fault.status(), allow: None }
    }

    pub(crate) fn into_error(self) -> Error {
        self.error
    }

    /// Answers with it. A reply that has begun can only be cut.
    pub(crate) fn reply(&self, handler: &Handler, close: bool, out: &mut dyn Reply) {
        if out.started() {
            return out.cut();
        }
        let challenge = match &handler.access {
            Access::Authenticated { challenge, .. } if self.status == 401 => challenge.as_deref(),
            _ => None,
        };
        let head = ReplyHead { allow: self.allow, challenge, close, ..ReplyHead::new(self.status, Some(JSON)) };
        let max = handler.bounds.max_error_bytes;
        out.whole(&head, &mut |o| write_error(o, &self.error, max));
    }
}

pub(crate) fn no_content(out: &mut dyn Reply) {
    out.whole(&ReplyHead::new(204, None), &mut |_| {});
}

pub(crate) fn info(info: &Info, out: &mut dyn Reply) -> Result<State, Refusal> {
    out.whole(&ReplyHead::new(200, Some(JSON)), &mut |o| info.write(o));
    Ok(State::Done)
}

/// The answer to a stat under `name`.
pub(crate) fn stat(answer: Result<Answer, Error>, name: &str, out: &mut dyn Reply) -> Result<State, Refusal> {
    match answer {
        Ok(Answer::Meta(meta)) => out.whole(&ReplyHead::new(200, Some(JSON)), &mut |o| write_info(o, name, &meta)),
        Ok(_) => return Err(Error::other("the workspace answered another operation").into()),
        Err(error) => return Err(Refusal::mapped(error)),
    }
    Ok(State::Done)
}

/// A short JSON reply.
pub(crate) fn json_reply(body: &mut dyn FnMut(&mut dyn Out), out: &mut dyn Reply) -> Result<State, Refusal> {
    out.whole(&ReplyHead::new(200, Some(JSON)), body);
    Ok(State::Done)
}

/// A JSON reply of any length; past `maxReplyBytes` it is `limit`.
pub(crate) fn json(
    handler: &Handler,
    body: &mut dyn FnMut(&mut dyn Out),
    out: &mut dyn Reply,
) -> Result<State, Refusal> {
    let max = handler.bounds.max_reply_bytes;
    let mut measure = Measure(0);
    body(&mut measure);
    if measure.0 > max {
        return Err(Error::limit("maxReplyBytes", max).into());
    }
    out.whole(&ReplyHead::new(200, Some(JSON)), body);
    Ok(State::Done)
}

/// Counts what would be written.
struct Measure(u64);

impl Out for Measure {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

/// The head of a file's content.
pub(crate) fn file_head(length: Option<u64>) -> ReplyHead<'static> {
    ReplyHead { length, attachment: true, ..ReplyHead::new(200, Some("application/octet-stream")) }
}
