//! `farside ls`, `stat`, `cat` and `rm`.

use crate::{
    args::{CatArgs, Common, LsArgs, RmArgs, StatArgs},
    at::At,
    error::{FAILED, Failure, say, tell},
    progress::Progress,
    show::{self, Out},
    stream::Stream,
    transfer::{From, Pump, To},
};
use farside_core::wire::{Code, Error, FileInfo, Meta, json::ObjectWriter, name};
use farside_std::{Blocking, run};
use std::{collections::VecDeque, io};

/// What was done of several: each failure was told when it came.
struct Tally {
    json: bool,
    failed: bool,
}

impl Tally {
    fn new(json: bool) -> Self {
        Self { json, failed: false }
    }

    /// Takes the failure of one, so that the others have their turn; one that nobody can be told of ends all.
    fn note(&mut self, done: Result<(), Failure>) -> Result<(), Failure> {
        match done {
            Err(Failure::Line(FAILED, code, line)) => {
                tell(self.json, code, &line);
                self.failed = true;
                Ok(())
            }
            done => done,
        }
    }

    fn status(&self) -> u8 {
        if self.failed { FAILED } else { 0 }
    }
}

pub(crate) fn ls(common: &Common, args: &LsArgs) -> Result<u8, Failure> {
    let (at, mut tally) = (At::open(common)?, Tally::new(args.json));
    let (colored, columns) = (show::colored(common.color), show::columns(io::stdout()));
    let mut list = List { at: &at, args, colored, columns, began: false, skipped: 0, out: Out::new() };
    for given in &args.paths {
        let mut names = VecDeque::from([at.name("list", given)]);
        while let Some(name) = names.pop_front() {
            match name.and_then(|name| list.dir(&name)) {
                // Each directory's own come before its neighbours.
                Ok(below) => below.into_iter().rev().for_each(|name| names.push_front(Ok(name))),
                Err(failure) => {
                    list.out.finish()?;
                    tally.note(Err(failure))?;
                }
            }
        }
    }
    list.out.finish()?;
    if list.skipped > 0 && !common.quiet {
        say(&format!("{} more whose names are not UTF-8", list.skipped));
    }
    Ok(tally.status())
}

struct List<'a> {
    at: &'a At,
    args: &'a LsArgs,
    colored: bool,
    columns: Option<usize>,
    /// Whether something was listed.
    began: bool,
    skipped: u64,
    out: Out,
}

/// An entry as it is shown.
struct Entry {
    path: String,
    name: String,
    meta: Meta,
    target: Option<String>,
}

impl List<'_> {
    /// Lists one directory, or a file, and says what is to be listed below it.
    fn dir(&mut self, dir: &str) -> Result<Vec<String>, Failure> {
        let what = format!("cannot list {}", show::said(dir));
        let listing = match self.at.ws.readdir(dir, u64::MAX) {
            Ok(listing) => listing,
            Err(error) if error.code == Code::Invalid => {
                let meta = self.at.ws.lstat(dir).map_err(|error| self.at.failure(&what, &error))?;
                let entry = self.entry(dir.into(), dir.into(), meta);
                self.began = true;
                self.print(&[entry])?;
                return Ok(Vec::new());
            }
            Err(error) => return Err(self.at.failure(&what, &error)),
        };
        self.skipped += listing.skipped;
        let seen = listing.entries.into_iter().filter(|entry| self.args.all || !entry.name.starts_with('.'));
        let entries: Vec<_> = seen.map(|FileInfo { name, meta }| self.entry(join(dir, &name), name, meta)).collect();
        let blank = if std::mem::replace(&mut self.began, true) { "\n" } else { "" };
        if (self.args.recursive || self.args.paths.len() > 1) && !self.args.json {
            self.out.line(format!("{blank}{}:", show::name(dir)))?;
        }
        self.print(&entries)?;
        let below = |entry: Entry| (self.args.recursive && entry.meta.mode.is_dir()).then_some(entry.path);
        Ok(entries.into_iter().filter_map(below).collect())
    }

    fn entry(&self, path: String, name: String, meta: Meta) -> Entry {
        let wanted = (self.args.long || self.args.json) && meta.mode.is_symlink();
        // One that cannot be read is shown without.
        let target = if wanted { self.at.ws.readlink(&path).ok() } else { None };
        Entry { path, name, meta, target }
    }

    fn print(&mut self, entries: &[Entry]) -> Result<(), Failure> {
        if self.args.json {
            return entries.iter().try_for_each(|entry| self.out.line(json(entry)));
        }
        if self.args.long {
            return self.table(entries);
        }
        let cells = entries.iter().map(|entry| (self.shown(entry), show::width(&show::name(&entry.name))));
        match self.columns {
            Some(columns) => self.out.put(show::grid(&cells.collect::<Vec<_>>(), columns)),
            None => cells.map(|(name, _)| name).collect::<Vec<_>>().iter().try_for_each(|name| self.out.line(name)),
        }
    }

    /// For people in columns, sizes and times as people say them; else for programs, bytes and RFC 3339.
    fn table(&mut self, entries: &[Entry]) -> Result<(), Failure> {
        let people = self.columns.is_some();
        let cells = |entry: &Entry| match people {
            true => (show::size(entry.meta.size), show::ago(entry.meta.modified)),
            false => (entry.meta.size.to_string(), show::time(entry.meta.modified)),
        };
        let cells: Vec<_> = entries.iter().map(cells).collect();
        let widest =
            |width: fn(&(String, String)) -> usize| if people { cells.iter().map(width).max().unwrap_or(0) } else { 0 };
        let (sizes, times) = (widest(|cell| cell.0.len()), widest(|cell| cell.1.len()));
        let gap = if people { "  " } else { " " };
        for (entry, (size, time)) in entries.iter().zip(&cells) {
            let target =
                entry.target.as_deref().map(|target| format!(" -> {}", show::name(target))).unwrap_or_default();
            let (mode, name) = (show::mode(entry.meta.mode), self.shown(entry));
            self.out.line(format!("{mode}{gap}{size:>sizes$}{gap}{time:<times$}{gap}{name}{target}"))?;
        }
        Ok(())
    }

    fn shown(&self, entry: &Entry) -> String {
        let name = show::name(&entry.name);
        match show::color(entry.meta.mode) {
            color if self.colored && !color.is_empty() => format!("\x1b[{color}m{name}\x1b[0m"),
            _ => name.into_owned(),
        }
    }
}

fn join(dir: &str, name: &str) -> String {
    if dir == "." { name.into() } else { format!("{dir}/{name}") }
}

/// One object: its keys are the same for every entry, and `target` is there for a link.
fn json(entry: &Entry) -> String {
    let mut json = Vec::new();
    let mut object = ObjectWriter::begin(&mut json);
    object.string("path", &entry.path);
    object.string("name", &entry.name);
    object.string("kind", show::kind(entry.meta.mode));
    object.number("size", entry.meta.size);
    object.string("mode", &format!("{:04o}", unix(&entry.meta)));
    object.string("modTime", &show::time(entry.meta.modified));
    if let Some(target) = &entry.target {
        object.string("target", target);
    }
    object.end();
    show::json(json)
}

/// The permission bits as a system has them, set-uid and the like among them.
fn unix(meta: &Meta) -> u32 {
    use farside_core::wire::FileMode as M;
    let special = [(M::SETUID, 0o4000), (M::SETGID, 0o2000), (M::STICKY, 0o1000)];
    special.into_iter().filter(|(bit, _)| meta.mode.0 & bit != 0).fold(meta.mode.perm(), |mode, (_, bit)| mode | bit)
}

pub(crate) fn stat(common: &Common, args: &StatArgs) -> Result<u8, Failure> {
    let (at, mut out, mut tally) = (At::open(common)?, Out::new(), Tally::new(args.json));
    for given in &args.paths {
        let entry = look(&at, given);
        if entry.is_err() {
            out.finish()?;
        }
        tally.note(
            entry.and_then(|entry| if args.json { out.line(json(&entry)) } else { out.put(described(&entry)) }),
        )?;
    }
    out.finish()?;
    Ok(tally.status())
}

fn look(at: &At, given: &str) -> Result<Entry, Failure> {
    let path = at.name("stat", given)?;
    let failed = |error: Error| at.failure(&format!("cannot stat {}", show::said(given)), &error);
    let meta = at.ws.lstat(&path).map_err(failed)?;
    let target = if meta.mode.is_symlink() { Some(at.ws.readlink(&path).map_err(failed)?) } else { None };
    Ok(Entry { name: name::last(&path).into(), path, meta, target })
}

fn described(entry: &Entry) -> String {
    let Entry { path, meta, target, .. } = entry;
    let target = target.as_deref().map(|target| format!(" to {}", show::name(target))).unwrap_or_default();
    let size = if meta.size < 1000 { String::new() } else { format!(" ({})", show::size(meta.size)) };
    format!(
        "{}\n  kind  {}{target}\n  size  {}{size}\n  mode  {:04o} ({})\n  time  {} ({})\n",
        show::name(path),
        show::kind(meta.mode),
        meta.size,
        unix(meta),
        show::mode(meta.mode),
        show::time(meta.modified),
        show::ago(meta.modified),
    )
}

pub(crate) fn cat(common: &Common, args: &CatArgs) -> Result<u8, Failure> {
    let (at, mut tally) = (At::open(common)?, Tally::new(false));
    for given in &args.paths {
        tally.note(print(&at, given))?;
    }
    Ok(tally.status())
}

fn print(at: &At, given: &str) -> Result<(), Failure> {
    let stream = |error| Failure::io("cannot use the standard streams", &error);
    let what = format!("cannot read {}", show::said(given));
    let from = match given {
        "-" => From::Here { stream: Stream::of(io::stdin()).map_err(stream)?, left: None },
        _ => From::There(open(at, &at.name("read", given)?, &what)?),
    };
    let to = To::Here(Stream::of(io::stdout()).map_err(stream)?);
    run(Pump::new(from, to, None, Progress::new(true, given, None)))
        .map(drop)
        .map_err(|fault| fault.failure(at, &what, "cannot write standard output"))
}

/// Opens a file there; what is no file is told apart.
pub(crate) fn open(at: &At, path: &str, what: &str) -> Result<farside_core::Reader, Failure> {
    run(farside_core::ops::open(&at.ws, path)).map_err(|error| {
        if error.code != Code::Invalid {
            return at.failure(what, &error);
        }
        match at.ws.stat(path) {
            Ok(meta) if meta.mode.is_dir() => {
                let hint = format!("list it with: farside ls {}", show::shell(path));
                Failure::of(error.code, format!("{what}: it is a directory; {hint}"))
            }
            Ok(meta) if !meta.mode.is_regular() => {
                Failure::of(error.code, format!("{what}: it is no regular file but a {}", show::kind(meta.mode)))
            }
            _ => at.failure(what, &error),
        }
    })
}

pub(crate) fn rm(common: &Common, args: &RmArgs) -> Result<u8, Failure> {
    let (at, mut out, mut tally) = (At::open(common)?, Out::new(), Tally::new(args.json));
    for given in &args.paths {
        let removed = remove(&at, given);
        if removed.is_ok() && args.json {
            let mut json = Vec::new();
            let mut object = ObjectWriter::begin(&mut json);
            object.string("removed", given);
            object.end();
            out.line(show::json(json))?;
        }
        out.finish()?;
        tally.note(removed)?;
    }
    Ok(tally.status())
}

fn remove(at: &At, given: &str) -> Result<(), Failure> {
    let path = at.name("remove", given)?;
    let what = format!("cannot remove {}", show::said(given));
    at.ws.remove(&path).map_err(|error| match error.code {
        Code::Exist => Failure::of(error.code, format!("{what}: the directory is not empty")),
        Code::Invalid if path == "." => Failure::of(error.code, format!("{what}: it is the workspace itself")),
        _ => at.failure(&what, &error),
    })
}
