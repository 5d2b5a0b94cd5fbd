//! `farside get` and `put`: one file across, whole or not at all.

use crate::{
    args::{Common, GetArgs, PutArgs},
    at::{At, clean},
    error::{Failure, system},
    files::open,
    progress::Progress,
    show::{self, Out},
    signals::Signals,
    stream::Stream,
};
use farside_core::{
    Cx, Reader, Sink, Task, ops,
    wire::{Code, Error, json::ObjectWriter, name},
};
use farside_std::{Blocking, run};
use rustix::fs::{Mode, fchmod};
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    ops::Range,
    os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    task::{Poll, ready},
};

/// Where bytes come from.
pub(crate) enum From {
    There(Reader),
    Here {
        stream: Stream,
        /// How many are still to come, of what has a size.
        left: Option<u64>,
    },
}

/// Where they go.
pub(crate) enum To {
    There(Box<dyn Sink>),
    Here(Stream),
}

/// Why they did not.
pub(crate) enum Fault {
    There(Error),
    Read(io::Error),
    Write(io::Error),
    Shrank,
    /// The signal that came.
    Ended(u8),
}

impl Fault {
    /// `what` (`cannot get x`) is for a failure of the workspace or of reading, `write` for one of writing here.
    pub(crate) fn failure(self, at: &At, what: &str, write: &str) -> Failure {
        match self {
            Self::There(error) => at.failure(what, &error),
            Self::Read(error) => Failure::io(what, &error),
            Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => Failure::output(error),
            Self::Write(error) => Failure::io(write, &error),
            Self::Shrank => Failure::new(format!("{what}: it shrank while it was read")),
            Self::Ended(signal) => Failure::Quiet(128 + signal),
        }
    }
}

/// Copies until the end, or until a signal comes. Dropped before its end it has changed nothing there.
pub(crate) struct Pump {
    from: From,
    to: To,
    buf: Vec<u8>,
    held: Range<usize>,
    ended: bool,
    signals: Option<Signals>,
    progress: Progress,
}

const BUFFER: usize = 256 * 1024;

impl Pump {
    pub(crate) fn new(from: From, to: To, signals: Option<Signals>, progress: Progress) -> Self {
        Self { from, to, buf: vec![0; BUFFER], held: 0..0, ended: false, signals, progress }
    }

    fn poll_read(&mut self, cx: &mut Cx<'_>) -> Poll<Result<usize, Fault>> {
        match &mut self.from {
            From::There(reader) => reader.bytes.poll_read(cx, &mut self.buf).map_err(Fault::There),
            From::Here { left: Some(0), .. } => Poll::Ready(Ok(0)),
            From::Here { stream, left } => {
                let most = left.map_or(BUFFER, |left| usize::try_from(left).unwrap_or(BUFFER).min(BUFFER));
                let n = ready!(stream.poll_read(cx, &mut self.buf[..most])).map_err(Fault::Read)?;
                if n == 0 && left.is_some() {
                    return Poll::Ready(Err(Fault::Shrank));
                }
                *left = left.map(|left| left - n as u64);
                Poll::Ready(Ok(n))
            }
        }
    }

    fn poll_write(&mut self, cx: &mut Cx<'_>) -> Poll<Result<usize, Fault>> {
        let bytes = &self.buf[self.held.clone()];
        match &mut self.to {
            To::There(sink) => sink.poll_write(cx, bytes).map_err(Fault::There),
            To::Here(stream) => stream.poll_write(cx, bytes).map_err(Fault::Write),
        }
    }
}

impl Task for Pump {
    /// How many bytes that were.
    type Out = Result<u64, Fault>;

    fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<Self::Out> {
        if let Some(signals) = &mut self.signals
            && let Poll::Ready(signal) = signals.poll(cx)
        {
            return Poll::Ready(Err(Fault::Ended(signal)));
        }
        self.progress.turn(cx);
        for _ in 0..16 {
            if !self.held.is_empty() {
                let n = ready!(self.poll_write(cx))?;
                self.held.start += n;
                self.progress.bytes += n as u64;
            } else if !self.ended {
                self.held = 0..ready!(self.poll_read(cx))?;
                self.ended = self.held.is_empty();
            } else {
                if let To::There(sink) = &mut self.to {
                    ready!(sink.poll_finish(cx)).map_err(Fault::There)?;
                }
                return Poll::Ready(Ok(self.progress.bytes));
            }
        }
        cx.again();
        Poll::Pending
    }
}

fn signals() -> Result<Option<Signals>, Failure> {
    Signals::for_a_command().map(Some).map_err(|error| Failure::io("cannot wait for signals", &error))
}

fn shown(path: &Path) -> String {
    show::said(&path.to_string_lossy()).into_owned()
}

pub(crate) fn get(common: &Common, args: &GetArgs) -> Result<u8, Failure> {
    let at = At::open(common)?;
    let from = &*at.name("get", &args.from)?;
    let what = format!("cannot get {}", show::said(&args.from));
    let local = match &args.to {
        Some(to) if to.is_dir() || to.as_os_str().as_encoded_bytes().ends_with(b"/") => to.join(name::last(from)),
        Some(to) => to.clone(),
        None => name::last(from).into(),
    };
    if args.to.as_ref().is_some_and(|to| to.as_os_str() == "-") {
        let to = Stream::of(io::stdout()).map_err(|error| Failure::io("cannot use the standard streams", &error))?;
        let reader = open(&at, from, &what)?;
        let progress = Progress::new(common.quiet, name::last(from), reader.size);
        let pumped = run(Pump::new(From::There(reader), To::Here(to), None, progress));
        return pumped.map(|_| 0).map_err(|fault| fault.failure(&at, &what, "cannot write standard output"));
    }
    let write = format!("cannot write {}", shown(&local));
    let failed = |error: io::Error| Failure::io(&write, &error);
    let target = match Target::find(&local) {
        Ok(target) => target,
        // What cannot be got goes before where it cannot go.
        Err(error) => return Err(open(&at, from, &what).err().unwrap_or_else(|| failed(error))),
    };
    // A new file can be run here if it can be run there.
    let perm = target.perm().or_else(|| at.ws.stat(from).ok().map(|meta| meta.mode.perm() & !umask()));
    let reader = open(&at, from, &what)?;
    let progress = Progress::new(common.quiet, name::last(from), reader.size);
    // From here on there is something to take away.
    let signals = signals()?;
    let (to, beside) = target.begin().map_err(failed)?;
    let pumped = run(Pump::new(From::There(reader), To::Here(to), signals, progress));
    let bytes = pumped.map_err(|fault| fault.failure(&at, &what, &write))?;
    beside.map_or(Ok(()), |beside| beside.finish(perm)).map_err(failed)?;
    told(args.json, &args.from, &local.to_string_lossy(), bytes)
}

fn umask() -> u32 {
    // It can only be asked by setting it; nothing else of this process makes a file meanwhile.
    let mask = rustix::process::umask(Mode::from_raw_mode(0o077));
    rustix::process::umask(mask);
    mask.as_raw_mode()
}

/// What a content goes to here.
struct Target {
    path: PathBuf,
    there: Option<fs::Metadata>,
}

impl Target {
    fn find(path: &Path) -> io::Result<Self> {
        // Through a link its target is replaced, and the link stays.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.into());
        match fs::metadata(&path) {
            Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(there) => Ok(Self { path, there: Some(there) }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self { path, there: None }),
            Err(error) => Err(error),
        }
    }

    /// The permission bits of what is there.
    fn perm(&self) -> Option<u32> {
        self.there.as_ref().map(|there| there.mode() & 0o777)
    }

    /// A file gets its content beside it; a device or a pipe as it comes.
    fn begin(self) -> io::Result<(Stream, Option<Beside>)> {
        if self.there.is_some_and(|there| !there.is_file()) {
            let file = OpenOptions::new().write(true).open(&self.path)?;
            return Ok((Stream::new(file)?, None));
        }
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let temp = self.path.with_file_name(format!(".farside-get-{:016x}", u64::from_ne_bytes(random)));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temp)?;
        let beside = Beside { file, temp, path: self.path };
        Ok((Stream::of(&beside.file)?, Some(beside)))
    }
}

/// A file until it is whole and takes its name; dropped before it is gone.
struct Beside {
    file: File,
    temp: PathBuf,
    path: PathBuf,
}

impl Beside {
    fn finish(self, perm: Option<u32>) -> io::Result<()> {
        fchmod(&self.file, Mode::from_raw_mode(perm.unwrap_or(0o666 & !umask())))?;
        fs::rename(&self.temp, &self.path)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It is not there under this name when all went well; and else why it failed is told already.
        let _ = fs::remove_file(&self.temp);
    }
}

pub(crate) fn put(common: &Common, args: &PutArgs) -> Result<u8, Failure> {
    let local = Some(&args.from).filter(|from| from.as_os_str() != "-");
    let what = match local {
        Some(local) => format!("cannot put {}", shown(local)),
        None => "cannot put standard input".into(),
    };
    let own = match local.map(|local| local.file_name().map(OsString::from)) {
        None => None,
        Some(own) => Some(
            own.and_then(|own| own.into_string().ok())
                .ok_or_else(|| Failure::usage(format!("{what}: it has no name of UTF-8")))?,
        ),
    };
    let (stream, meta) = input(local).map_err(|error| Failure::new(format!("{what}: {}", system(&error))))?;
    if meta.is_dir() {
        return Err(Failure::new(format!("{what}: it is a directory, and one file is put at a time")));
    }
    let at = At::open(common)?;
    let to = remote(&at, &what, args.to.as_deref(), own.as_deref())?;
    let file = local.is_some() && meta.is_file();
    // One that says it has nothing may have something, as in procfs: it is read to its end.
    let size = (file && meta.len() > 0).then_some(meta.len());
    let perm = file.then(|| meta.mode() & 0o777);
    let refused = |error: Error| {
        let put_to = |why: &str| Failure::of(error.code, format!("{what}: {} is {why}", show::said(&to)));
        match error.code {
            Code::Invalid if error.words.is_empty() => {
                put_to("no regular file, or below something that is no directory")
            }
            Code::NotExist => put_to("below a link that leads nowhere"),
            Code::Outside if at.ws.lstat(&to).is_ok_and(|meta| meta.mode.is_symlink()) => {
                put_to("a link that leaves the workspace")
            }
            Code::Outside => put_to("behind a link that leaves the workspace"),
            _ => at.failure(&what, &error),
        }
    };
    // From here on there is something to take away.
    let signals = signals()?;
    let sink = run(ops::create(&at.ws, &to, perm, size)).map_err(refused)?;
    let progress = Progress::new(common.quiet, name::last(&to), size);
    let pump = Pump::new(From::Here { stream, left: size }, To::There(sink), signals, progress);
    let bytes = run(pump).map_err(|fault| match fault {
        Fault::There(error) => refused(error),
        fault => fault.failure(&at, &what, &what),
    })?;
    told(args.json, &args.from.to_string_lossy(), &to, bytes)
}

fn input(local: Option<&PathBuf>) -> io::Result<(Stream, fs::Metadata)> {
    match local {
        None => {
            let stdin = File::from(rustix::stdio::stdin().try_clone_to_owned()?);
            let meta = stdin.metadata()?;
            Ok((Stream::new(stdin)?, meta))
        }
        // A pipe with a name might never be written to: opening it would wait. (One that a shell made for this has none.)
        Some(local) if fs::metadata(local)?.file_type().is_fifo() && fs::canonicalize(local).is_ok() => {
            Err(io::Error::other("it is a pipe; give it as standard input: farside put - NAME < PIPE"))
        }
        Some(local) => {
            let file = File::open(local)?;
            let meta = file.metadata()?;
            Ok((Stream::new(file)?, meta))
        }
    }
}

/// The name there: one that ends with `/`, or is a directory's, gets the file's own behind it.
fn remote(at: &At, what: &str, given: Option<&str>, own: Option<&str>) -> Result<String, Failure> {
    let Some(given) = given else {
        let own = own.ok_or_else(|| Failure::usage(format!("{what}: say where to, as in: farside put - NAME")))?;
        return clean("put", own);
    };
    let to = clean("put", given)?;
    let directory = || match at.ws.stat(&to) {
        Ok(meta) => Ok(meta.mode.is_dir()),
        // Why it cannot be there is told by the attempt.
        Err(error)
            if matches!(
                error.code,
                Code::NotExist | Code::Forbidden | Code::Invalid | Code::Outside | Code::Permission
            ) =>
        {
            Ok(false)
        }
        Err(error) => Err(at.failure(what, &error)),
    };
    if !given.ends_with('/') && to != "." && !directory()? {
        return Ok(to);
    }
    let own =
        own.ok_or_else(|| Failure::new(format!("{what}: {} is a directory; say the name in it", show::said(given))))?;
    Ok(if to == "." { own.into() } else { format!("{to}/{own}") })
}

fn told(json: bool, from: &str, to: &str, bytes: u64) -> Result<u8, Failure> {
    if json {
        let mut line = Vec::new();
        let mut object = ObjectWriter::begin(&mut line);
        object.string("from", from);
        object.string("to", to);
        object.number("bytes", bytes);
        object.end();
        let mut out = Out::new();
        out.line(show::json(line))?;
        out.finish()?;
    }
    Ok(0)
}
