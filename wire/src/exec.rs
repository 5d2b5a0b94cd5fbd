//! The body of an exec, and what comes of it (spec, Exec).

use crate::{
    Bounds, Error, Out, base64, id,
    json::{self, Object, ObjectWriter},
    name,
};
use alloc::{borrow::Cow, string::String, vec::Vec};

/// The body of an exec.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ExecRequest<'a> {
    /// The program and its arguments.
    pub args: Vec<Cow<'a, str>>,
    /// The directory it runs in, a name; empty is the root.
    pub dir: Cow<'a, str>,
    /// Added to the workspace's environment, `NAME=value` each.
    pub env: Vec<Cow<'a, str>>,
    /// What it reads, decoded.
    pub stdin: Cow<'a, [u8]>,
    /// After so many milliseconds it is ended; 0 is never.
    pub timeout_ms: u64,
    /// Whether its output is wanted as it comes.
    pub stream: bool,
    /// Whether its two streams are wanted apart, with `stream` (the extension `apart`).
    pub apart: bool,
    /// What it is to be cancelled by.
    pub key: Option<Cow<'a, str>>,
}

/// The longest timeout, in milliseconds.
pub const MAX_TIMEOUT_MS: u64 = 1 << 53;

impl<'a> ExecRequest<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// `invalid`, with the member; `limit` for a standard input over `maxWriteBytes`, and for more JSON than a body within
    /// `maxRequestBytes` could hold; then those of [`name::check`] for `dir`.
    pub fn parse(body: &'a [u8], bounds: &Bounds) -> Result<Self, Error> {
        let mut object = json::parse_object_bounded(body, max_values(bounds))?;
        let (args, env, dir) = (args(&mut object)?, env(&mut object)?, dir(&mut object)?);
        let text = object.take_string("stdin")?.unwrap_or_default();
        let timeout_ms = object.within("timeoutMs", 0..=MAX_TIMEOUT_MS)?.unwrap_or(0);
        let (stream, apart, key) = (object.flag("stream")?, object.flag("apart")?, key(&mut object)?);
        if base64::decoded_len(&text) as u64 > bounds.max_write_bytes {
            return Err(Error::limit("maxWriteBytes", bounds.max_write_bytes));
        }
        let stdin = base64::decode(&text, "stdin")?.into();
        check_dir(&dir)?;
        Ok(Self { args, dir, env, stdin, timeout_ms, stream, apart, key })
    }

    /// Writes the body.
    pub fn write(&self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        object.strings("args", &self.args);
        object.text("dir", &self.dir);
        object.strings("env", &self.env);
        object.bytes("stdin", &self.stdin);
        if self.timeout_ms > 0 {
            object.number("timeoutMs", self.timeout_ms);
        }
        object.flag("stream", self.stream);
        object.flag("apart", self.apart);
        object.text("key", self.key.as_deref().unwrap_or_default());
        object.end();
    }

    /// Checks what [`ExecRequest::parse`] would refuse, bounds aside: for a client, before it sends.
    ///
    /// # Errors
    /// As [`ExecRequest::parse`].
    pub fn check(&self) -> Result<(), Error> {
        check_command(&self.args, &self.env, self.timeout_ms)?;
        self.key.as_deref().map_or(Ok(()), check_key)?;
        check_dir(&self.dir)
    }
}

/// As many values as a body within the bound can hold: each takes two bytes, its comma included.
fn max_values(bounds: &Bounds) -> usize {
    usize::try_from(bounds.max_request_bytes / 2).unwrap_or(usize::MAX).saturating_add(1)
}

pub(crate) fn check_command(args: &[Cow<'_, str>], env: &[Cow<'_, str>], timeout_ms: u64) -> Result<(), Error> {
    check_args(args)?;
    check_env(env)?;
    if timeout_ms > MAX_TIMEOUT_MS { Err(Error::invalid("timeoutMs")) } else { Ok(()) }
}

pub(crate) fn args<'a>(object: &mut Object<'a>) -> Result<Vec<Cow<'a, str>>, Error> {
    let args = object.take_strings("args")?.unwrap_or_default();
    check_args(&args).map(|()| args)
}

fn check_args(args: &[Cow<'_, str>]) -> Result<(), Error> {
    let good = args.first().is_some_and(|program| !program.is_empty()) && args.iter().all(|arg| !arg.contains('\0'));
    if good { Ok(()) } else { Err(Error::invalid("args")) }
}

pub(crate) fn env<'a>(object: &mut Object<'a>) -> Result<Vec<Cow<'a, str>>, Error> {
    let env = object.take_strings("env")?.unwrap_or_default();
    check_env(&env).map(|()| env)
}

fn check_env(env: &[Cow<'_, str>]) -> Result<(), Error> {
    let good = |entry: &Cow<'_, str>| entry.find('=').is_some_and(|at| at > 0) && !entry.contains('\0');
    if env.iter().all(good) { Ok(()) } else { Err(Error::invalid("env")) }
}

/// The directory, not yet checked: names come after everything else in the JSON. The root is empty, however it was said.
pub(crate) fn dir<'a>(object: &mut Object<'a>) -> Result<Cow<'a, str>, Error> {
    Ok(object.take_string("dir")?.filter(|dir| dir != ".").unwrap_or_default())
}

pub(crate) fn check_dir(dir: &str) -> Result<(), Error> {
    if dir.is_empty() { Ok(()) } else { name::check(dir) }
}

pub(crate) fn key<'a>(object: &mut Object<'a>) -> Result<Option<Cow<'a, str>>, Error> {
    let key = object.take_string("key")?;
    key.as_deref().map_or(Ok(()), check_key).map(|()| key)
}

pub(crate) fn check_key(key: &str) -> Result<(), Error> {
    if id::is_id(key) { Ok(()) } else { Err(Error::invalid("key")) }
}

/// What a command came to, and its output unless that was streamed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Output {
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
    /// Its exit status; -1 when a signal killed it, when it was timed out, and when it was interrupted.
    pub exit_code: i32,
    /// The signal that killed it, as Linux names it (`SEGV`), unless it was ended from here.
    pub signal: Option<Cow<'static, str>>,
    /// Its timeout ended it.
    pub timed_out: bool,
    /// Its caller ended it.
    pub interrupted: bool,
}

impl Output {
    pub(crate) fn write(&self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        object.bytes("stdout", &self.stdout);
        object.bytes("stderr", &self.stderr);
        object.number("exitCode", self.exit_code);
        object.text("signal", self.signal.as_deref().unwrap_or_default());
        object.flag("timedOut", self.timed_out);
        object.flag("interrupted", self.interrupted);
        object.end();
    }

    pub(crate) fn read(object: &Object<'_>) -> Result<Self, Error> {
        let bytes = |name| base64::decode(object.string(name)?.unwrap_or_default(), name);
        Ok(Self {
            stdout: bytes("stdout")?,
            stderr: bytes("stderr")?,
            exit_code: object.i32("exitCode")?.ok_or(Error::invalid("exitCode"))?,
            signal: object
                .string("signal")?
                .filter(|signal| !signal.is_empty())
                .map(|signal| String::from(signal).into()),
            timed_out: object.flag("timedOut")?,
            interrupted: object.flag("interrupted")?,
        })
    }
}
