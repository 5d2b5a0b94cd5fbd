//! An error as it crosses the wire: a code, words, and details that a client must not need.

use crate::code::Code;
use alloc::{borrow::Cow, boxed::Box, string::String};

/// An operation's own failure (spec, Errors). Never a fault of framing ([`crate::http::Fault`]) and never a misuse of this library.
///
/// `words` are what is said beside the code's own words: of a refusal by the protocol itself the name of a member or a bound, of an
/// unmapped error ([`Code::Other`]) its text. A handler sends the words of a workspace's mapped error to nobody, since they may name
/// a path of the server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error {
    /// What went wrong.
    pub code: Code,
    /// What is said beside [`Code::words`]; may be empty.
    pub words: Cow<'static, str>,
    /// What a program may look at.
    pub details: Option<Box<Details>>,
}

/// The `details` of an error; each is absent unless it is known.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Details {
    /// The bound that was passed.
    pub limit: Option<u64>,
    /// Which bound, by its key in info.
    pub name: Option<Cow<'static, str>>,
    /// Whether the command ran.
    pub ran: Option<bool>,
    /// The system's name of its error, such as `ENOSPC`.
    pub errno: Option<Cow<'static, str>>,
    /// An offset of a stream, where an extension says so.
    pub offset: Option<u64>,
}

impl Error {
    /// An error of `code` with words of its own.
    pub fn new(code: Code, words: impl Into<Cow<'static, str>>) -> Self {
        Self { code, words: words.into(), details: None }
    }

    /// [`Code::Invalid`], with what is invalid.
    pub fn invalid(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Invalid, what)
    }

    /// [`Code::Other`], with its text.
    pub fn other(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Other, text)
    }

    /// [`Code::Limit`] of the bound called `name`.
    pub fn limit(name: impl Into<Cow<'static, str>>, limit: u64) -> Self {
        let name = name.into();
        Self::new(Code::Limit, name.clone()).with(|d| (d.name, d.limit) = (Some(name), Some(limit)))
    }

    /// The same error with details set by `set`.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Details)) -> Self {
        set(self.details.get_or_insert_default());
        self
    }

    /// The system's name of the error behind this one, if it is known.
    pub fn errno(&self) -> Option<&str> {
        self.details.as_ref()?.errno.as_deref()
    }

    /// The message that crosses the wire: the code's words, then `: ` and the error's own; of [`Code::Other`] its own alone.
    pub fn message(&self) -> Cow<'_, str> {
        match (&*self.words, self.code) {
            ("", code) => Cow::Borrowed(code.words()),
            (own, Code::Other) => Cow::Borrowed(own),
            (own, code) => Cow::Owned(alloc::format!("{}: {own}", code.words())),
        }
    }

    /// The error a received code and message stand for: [`Error::message`] read backwards.
    pub fn received(code: Code, message: String) -> Self {
        let own = match message.strip_prefix(code.words()) {
            Some("") => String::new(),
            Some(rest) if code != Code::Other && rest.starts_with(": ") => rest[2..].into(),
            _ => message,
        };
        Self::new(code, own)
    }
}

impl From<Code> for Error {
    fn from(code: Code) -> Self {
        Self { code, words: Cow::Borrowed(""), details: None }
    }
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.message())
    }
}

impl core::error::Error for Error {}
