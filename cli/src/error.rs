//! How a command ends that did not do what it was asked: one line, and an exit code.

use crate::show;
use farside_core::wire::{Code, json::ObjectWriter};
use std::{io, io::Write, process::ExitCode};

/// Farside could not do it.
pub(crate) const FAILED: u8 = 125;
/// A timeout ended the command.
pub(crate) const TIMED_OUT: u8 = 124;
/// Found, but not executable.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// Not found.
pub(crate) const NOT_FOUND: u8 = 127;

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// With that exit code; all that was to be said was said, or nobody listens.
    Quiet(u8),
    /// With that exit code and this line, of an error of that code.
    Line(u8, Code, String),
    /// It is the server: whatever else is asked of it will fail too.
    Server(Code, String),
}

impl Failure {
    /// Farside could not do it.
    pub(crate) fn new(line: impl Into<String>) -> Self {
        Self::of(Code::Other, line)
    }

    /// Farside could not do it, for an error of that code.
    pub(crate) fn of(code: Code, line: impl Into<String>) -> Self {
        Self::Line(FAILED, code, line.into())
    }

    /// It was asked for what cannot be.
    pub(crate) fn usage(line: impl Into<String>) -> Self {
        Self::Line(2, Code::Invalid, line.into())
    }

    /// What a file or descriptor of this machine came to.
    pub(crate) fn io(what: impl std::fmt::Display, error: &io::Error) -> Self {
        Self::new(format!("{what}: {}", system(error)))
    }

    /// Standard output takes nothing: a reader that has left is no news.
    pub(crate) fn output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Quiet(0)
        } else {
            Self::io("cannot write standard output", &error)
        }
    }

    /// Says it, if there is something to say; for programs (`json`) on standard output too.
    pub(crate) fn report(self, json: bool) -> ExitCode {
        let (status, code, line) = match self {
            Self::Quiet(status) => return ExitCode::from(status),
            Self::Line(status, code, line) => (status, code, line),
            Self::Server(code, line) => (FAILED, code, line),
        };
        tell(json, code, &line);
        ExitCode::from(status)
    }
}

/// One line for people, and for programs the same as one object, `{"error":{"code","message"}}`.
pub(crate) fn tell(json: bool, code: Code, line: &str) {
    say(line);
    if json {
        let mut text = Vec::new();
        let mut object = ObjectWriter::begin(&mut text);
        let mut error = ObjectWriter::begin(object.member("error"));
        error.string("code", code.name());
        error.string("message", line);
        error.end();
        object.end();
        // Nobody is left to be told that standard output is gone.
        let _ = writeln!(io::stdout().lock(), "{}", show::json(text));
    }
}

/// One line for people.
pub(crate) fn say(line: &str) {
    // Nobody is left to be told that standard error is gone.
    let _ = writeln!(io::stderr().lock(), "farside: {line}");
}

/// What the system says, without its number.
pub(crate) fn system(error: &io::Error) -> String {
    let text = error.to_string();
    let mut text = text.split(" (os error").next().unwrap_or_default().to_owned();
    if error.raw_os_error().is_some()
        && let Some(first) = text.get_mut(..1)
    {
        first.make_ascii_lowercase();
    }
    show::text(&text).into_owned()
}

/// A fault of ours is one line too.
pub(crate) fn hook_panics() {
    std::panic::set_hook(Box::new(|info| {
        let told = info.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        say(&show::text(&format!("a fault of farside itself, please report it: {told}")));
        std::process::exit(FAILED.into());
    }));
}
