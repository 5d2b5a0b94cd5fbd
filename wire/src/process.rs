//! The bodies of starts and of a process's routes (spec, Sessions, starts, keys; A process's streams and end).

use crate::{
    Error, Out,
    envelope::{parse_error, write_error_object},
    exec::{self, MAX_TIMEOUT_MS},
    id,
    json::{self, Object, ObjectWriter, Value},
};
use alloc::{borrow::Cow, string::String, vec::Vec};

/// The size of a terminal, in characters, 1 to 65,535 each.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Size {
    /// How many lines.
    pub rows: u16,
    /// How many columns.
    pub cols: u16,
}

impl Size {
    /// Writes `{"rows","cols"}`: the body of resize, and what `terminal` holds.
    pub fn write(self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        object.number("rows", self.rows);
        object.number("cols", self.cols);
        object.end();
    }

    /// Reads the body of resize.
    ///
    /// # Errors
    /// `invalid`, with the member.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        Self::read(&json::parse_object(body)?)
    }

    fn read(object: &Object<'_>) -> Result<Self, Error> {
        let side = |name| object.within(name, 1..=u16::MAX.into())?.ok_or(Error::invalid(name));
        Ok(Self { rows: side("rows")? as u16, cols: side("cols")? as u16 })
    }
}

/// The body of a command's start. Two are the same start when they are equal.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StartRequest<'a> {
    /// The program and its arguments.
    pub args: Vec<Cow<'a, str>>,
    /// The directory it runs in, a name; empty is the root.
    pub dir: Cow<'a, str>,
    /// Added to the workspace's environment, `NAME=value` each.
    pub env: Vec<Cow<'a, str>>,
    /// After so many milliseconds it is ended; 0 is never.
    pub timeout_ms: u64,
    /// Whether its standard error is wanted.
    pub stderr: bool,
    /// The size of its terminal, if it is to have one.
    pub terminal: Option<Size>,
    /// What becomes its id.
    pub key: Cow<'a, str>,
}

impl<'a> StartRequest<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// `invalid`, with the member; then those of [`crate::name::check`] for `dir`.
    pub fn parse(body: &'a [u8]) -> Result<Self, Error> {
        let mut object = json::parse_object(body)?;
        let start = Self {
            args: exec::args(&mut object)?,
            dir: exec::dir(&mut object)?,
            env: exec::env(&mut object)?,
            timeout_ms: object.within("timeoutMs", 0..=MAX_TIMEOUT_MS)?.unwrap_or(0),
            stderr: object.flag("stderr")?,
            terminal: object.object("terminal")?.map(Size::read).transpose()?,
            key: required_key(&mut object)?,
        };
        exec::check_dir(&start.dir)?;
        Ok(start)
    }

    /// Writes the body.
    pub fn write(&self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        object.strings("args", &self.args);
        object.text("dir", &self.dir);
        object.strings("env", &self.env);
        if self.timeout_ms > 0 {
            object.number("timeoutMs", self.timeout_ms);
        }
        object.flag("stderr", self.stderr);
        if let Some(size) = self.terminal {
            size.write(object.member("terminal"));
        }
        object.string("key", &self.key);
        object.end();
    }

    /// Checks what [`StartRequest::parse`] would refuse: for a client, before it sends.
    ///
    /// # Errors
    /// As [`StartRequest::parse`].
    pub fn check(&self) -> Result<(), Error> {
        exec::check_command(&self.args, &self.env, self.timeout_ms)?;
        exec::check_key(&self.key)?;
        exec::check_dir(&self.dir)
    }

    /// The same request, borrowing from nothing.
    pub fn into_owned(self) -> StartRequest<'static> {
        let owned = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        StartRequest {
            args: self.args.into_iter().map(owned).collect(),
            dir: owned(self.dir),
            env: self.env.into_iter().map(owned).collect(),
            timeout_ms: self.timeout_ms,
            stderr: self.stderr,
            terminal: self.terminal,
            key: owned(self.key),
        }
    }
}

fn required_key<'a>(object: &mut Object<'a>) -> Result<Cow<'a, str>, Error> {
    exec::key(object)?.ok_or(Error::invalid("key"))
}

/// The body of a connect.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ConnectRequest<'a> {
    /// The port on the workspace's loopback, 1 to 65,535.
    pub port: u16,
    /// What becomes the stream's id.
    pub key: Cow<'a, str>,
}

impl<'a> ConnectRequest<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// `invalid`, with the member.
    pub fn parse(body: &'a [u8]) -> Result<Self, Error> {
        let mut object = json::parse_object(body)?;
        let port = object.within("port", 1..=u16::MAX.into())?.ok_or(Error::invalid("port"))?;
        Ok(Self { port: port as u16, key: required_key(&mut object)? })
    }

    /// Writes `{"port","key"}`.
    pub fn write(&self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        object.number("port", self.port);
        object.string("key", &self.key);
        object.end();
    }
}

/// The body of a server's start.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ServerStart<'a> {
    /// Whether its standard error is wanted.
    pub stderr: bool,
    /// What becomes its id.
    pub key: Cow<'a, str>,
}

impl<'a> ServerStart<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// `invalid`, with the member.
    pub fn parse(body: &'a [u8]) -> Result<Self, Error> {
        let mut object = json::parse_object(body)?;
        Ok(Self { stderr: object.flag("stderr")?, key: required_key(&mut object)? })
    }

    /// Writes `{"stderr"?,"key"}`.
    pub fn write(&self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        object.flag("stderr", self.stderr);
        object.string("key", &self.key);
        object.end();
    }
}

/// Writes the reply of the three starts, `{"id":KEY}`.
pub fn write_started(out: &mut dyn Out, id: &str) {
    let mut object = ObjectWriter::begin(out);
    object.string("id", id);
    object.end();
}

/// Reads the reply of the three starts.
///
/// # Errors
/// `invalid`, with the member; an id that could not stand in a path is bad.
pub fn parse_started(body: &[u8]) -> Result<String, Error> {
    let object = json::parse_object(body)?;
    Ok(object.string("id")?.filter(|id| id::is_id(id)).ok_or(Error::invalid("id"))?.into())
}

/// Why a server ended a process.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Ended {
    /// Its timeout.
    Timeout,
    /// A cancel.
    Canceled,
    /// Its close, its session's or the handler's.
    Closed,
    /// Its session's lapse.
    Lapsed,
}

impl Ended {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::Timeout, Self::Canceled, Self::Closed, Self::Lapsed];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Canceled => "canceled",
            Self::Closed => "closed",
            Self::Lapsed => "lapsed",
        }
    }

    /// The reason of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ended| ended.name() == name)
    }
}

/// The wait object: how a process ended. It answers wait and close, and stays the same.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum WaitStatus {
    /// It exited by itself, with that status. `{"status":0}`
    Exited(i32),
    /// A signal that nobody sent from here killed it. `{"status":-1,"signal":"SEGV"}`
    Signaled(Cow<'static, str>),
    /// It was ended from here. `{"status":-1,"ended":"closed"}`
    Ended(Ended),
    /// A stream whose connection failed. `{"status":-1,"error":{...}}`
    Failed(Error),
}

impl WaitStatus {
    /// Its `status`: the exit status, or -1.
    pub const fn status(&self) -> i32 {
        match self {
            Self::Exited(status) => *status,
            _ => -1,
        }
    }

    /// Writes the object; an error's message is cut to `max_error_bytes`.
    pub fn write(&self, out: &mut dyn Out, max_error_bytes: u64) {
        let mut object = ObjectWriter::begin(out);
        self.write_members(&mut object, max_error_bytes);
        object.end();
    }

    /// Writes its members into an object that has more.
    pub fn write_members(&self, object: &mut ObjectWriter<'_>, max_error_bytes: u64) {
        object.number("status", self.status());
        match self {
            Self::Exited(_) => {}
            Self::Signaled(signal) => object.string("signal", signal),
            Self::Ended(ended) => object.string("ended", ended.name()),
            Self::Failed(error) => write_error_object(object.member("error"), error, max_error_bytes),
        }
    }

    /// Reads the reply of wait and close (blank lines of a heartbeat before it are white space).
    ///
    /// # Errors
    /// `invalid`, with the member.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        Self::read(&json::parse_object(body)?)
    }

    /// Reads the members of the object, which may have more.
    ///
    /// # Errors
    /// `invalid`, with the member.
    pub fn read(object: &Object<'_>) -> Result<Self, Error> {
        let status = object.i32("status")?.ok_or(Error::invalid("status"))?;
        if let Some(error) = object.get("error") {
            return match error {
                Value::Object(_) => Ok(Self::Failed(parse_error(error))),
                _ => Err(Error::invalid("error")),
            };
        }
        if let Some(ended) = object.string("ended")? {
            return Ended::from_name(ended).map(Self::Ended).ok_or(Error::invalid("ended"));
        }
        Ok(match object.string("signal")? {
            Some(signal) => Self::Signaled(String::from(signal).into()),
            None => Self::Exited(status),
        })
    }
}

/// What a process is.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum ProcessKind {
    /// A command's start.
    Command,
    /// A server's.
    Server,
    /// A connection to a port.
    Stream,
}

impl ProcessKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Command, Self::Server, Self::Stream];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Server => "server",
            Self::Stream => "stream",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// One process in the listing, of the extension `list`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProcessRow {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: ProcessKind,
    /// A server's name.
    pub name: Option<String>,
    /// Whether it runs.
    pub running: bool,
    /// How many bytes its input has taken.
    pub stdin: u64,
    /// How many bytes of output it has made.
    pub stdout: u64,
    /// How many of standard error, if that was asked for.
    pub stderr: Option<u64>,
}

impl ProcessRow {
    pub(crate) fn write(&self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        object.string("id", &self.id);
        object.string("kind", self.kind.name());
        object.text("name", self.name.as_deref().unwrap_or_default());
        object.bool("running", self.running);
        object.number("stdin", self.stdin);
        object.number("stdout", self.stdout);
        if let Some(stderr) = self.stderr {
            object.number("stderr", stderr);
        }
        object.end();
    }

    fn read(object: &Object<'_>) -> Result<Self, Error> {
        let absent = Error::invalid;
        Ok(Self {
            id: object.string("id")?.filter(|id| id::is_id(id)).ok_or(absent("id"))?.into(),
            kind: object.string("kind")?.and_then(ProcessKind::from_name).ok_or(absent("kind"))?,
            name: object.string("name")?.filter(|name| !name.is_empty()).map(String::from),
            running: object.bool("running")?.ok_or(absent("running"))?,
            stdin: object.u64("stdin")?.ok_or(absent("stdin"))?,
            stdout: object.u64("stdout")?.ok_or(absent("stdout"))?,
            stderr: object.u64("stderr")?,
        })
    }

    pub(crate) fn read_all(object: &Object<'_>) -> Result<Vec<Self>, Error> {
        let rows = object.array("processes")?.ok_or(Error::invalid("processes"))?;
        rows.iter().map(|row| Self::read(row.as_object().ok_or(Error::invalid("processes"))?)).collect()
    }
}

/// Writes the reply of the listing of processes, `{"processes":[...]}`, in the order they are in (by id).
pub fn write_processes(out: &mut dyn Out, processes: &[ProcessRow]) {
    let mut object = ObjectWriter::begin(out);
    object.array("processes", processes, |out, process| process.write(out));
    object.end();
}

/// Reads the reply of the listing of processes.
///
/// # Errors
/// `invalid`, with the member.
pub fn parse_processes(body: &[u8]) -> Result<Vec<ProcessRow>, Error> {
    ProcessRow::read_all(&json::parse_object(body)?)
}
