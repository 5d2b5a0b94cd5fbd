//! What the file routes answer (spec, Info and files), and the body of a rename (spec, Extensions).

use crate::{
    Error, FileMode, Out, Timestamp,
    json::{self, Object, ObjectWriter, write_string},
    name,
};
use alloc::{borrow::Cow, string::String, vec::Vec};

/// What is known of a file.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Meta {
    /// Its length in bytes, as far as the system says the truth.
    pub size: u64,
    /// What it is and who may do what.
    pub mode: FileMode,
    /// When its content last changed.
    pub modified: Timestamp,
}

/// A file's name and what is known of it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FileInfo {
    /// The last element of its name; `.` for the root.
    pub name: String,
    /// What is known of it.
    pub meta: Meta,
}

/// Writes the reply of stat and lstat, `{"info":{...}}`; `name` is the last element of the name that was asked for. Nothing is
/// allocated.
///
/// ```
/// use farside_wire::{FileMode, file::{Meta, write_info}, Timestamp};
/// let meta = Meta { size: 12, mode: FileMode(0o644), modified: Timestamp { seconds: 0, nanos: 500_000_000 } };
/// let mut out = Vec::new();
/// write_info(&mut out, "go.mod", &meta);
/// let text = r#"{"info":{"name":"go.mod","size":12,"mode":420,"modTime":"1970-01-01T00:00:00.5Z"}}"#;
/// assert_eq!(out, text.as_bytes());
/// ```
pub fn write_info(out: &mut dyn Out, name: &str, meta: &Meta) {
    out.put(b"{\"info\":");
    write_row(out, name, meta);
    out.put(b"}");
}

fn write_row(out: &mut dyn Out, name: &str, meta: &Meta) {
    out.put(b"{\"name\":");
    write_string(out, name);
    out.put(b",\"size\":");
    out.put_u64(meta.size);
    out.put(b",\"mode\":");
    out.put_u64(meta.mode.0.into());
    out.put(b",\"modTime\":\"");
    meta.modified.write(out);
    out.put(b"\"}");
}

fn read_row(row: &Object<'_>) -> Result<FileInfo, Error> {
    let absent = Error::invalid;
    let name = row.string("name")?.filter(|name| !matches!(*name, "" | "..") && !name.contains(['/', '\0']));
    let mode = row.within("mode", 0..=u32::MAX.into())?.ok_or(absent("mode"))?;
    Ok(FileInfo {
        name: name.ok_or(absent("name"))?.into(),
        meta: Meta {
            size: row.u64("size")?.ok_or(absent("size"))?,
            mode: FileMode(mode as u32),
            modified: Timestamp::parse(row.string("modTime")?.ok_or(absent("modTime"))?)?,
        },
    })
}

/// Reads the reply of stat and lstat.
///
/// # Errors
/// `invalid`, with the member that is missing or bad; a name that is empty, `..` or holds `/` or NUL is bad.
pub fn parse_info(body: &[u8]) -> Result<FileInfo, Error> {
    read_row(json::parse_object(body)?.object("info")?.ok_or(Error::invalid("info"))?)
}

/// The reply of readdir.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Listing {
    /// What is in the directory, as lstat gives each; sorted by the bytes of the names by whoever makes the listing.
    pub entries: Vec<FileInfo>,
    /// How many were left out because their names are not UTF-8.
    pub skipped: u64,
}

impl Listing {
    /// Writes `{"entries":[...],"skipped":N?}`, the entries in the order they are in.
    pub fn write(&self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        object.array("entries", &self.entries, |out, entry| write_row(out, &entry.name, &entry.meta));
        if self.skipped > 0 {
            object.number("skipped", self.skipped);
        }
        object.end();
    }

    /// Reads the reply of readdir, as a client does.
    ///
    /// # Errors
    /// `invalid`, with the member; also for a name that is empty, `.` or `..`, that holds `/` or NUL, or that is there twice.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        let object = json::parse_object(body)?;
        let rows = object.array("entries")?.ok_or(Error::invalid("entries"))?;
        let read = |row: &json::Value<'_>| read_row(row.as_object().ok_or(Error::invalid("entries"))?);
        let entries = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<&str> = entries.iter().map(|entry| &*entry.name).collect();
        names.sort_unstable();
        if names.contains(&".") || names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::invalid("name"));
        }
        let skipped = object.u64("skipped")?.unwrap_or(0);
        Ok(Self { entries, skipped })
    }
}

/// Writes the reply of readlink, `{"target":"..."}`.
pub fn write_target(out: &mut dyn Out, target: &str) {
    let mut object = ObjectWriter::begin(out);
    object.string("target", target);
    object.end();
}

/// Reads the reply of readlink.
///
/// # Errors
/// `invalid`, with the member.
pub fn parse_target(body: &[u8]) -> Result<String, Error> {
    Ok(json::parse_object(body)?.string("target")?.ok_or(Error::invalid("target"))?.into())
}

/// The body of a rename, of the extension `tree`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Rename<'a> {
    /// What is renamed.
    pub from: Cow<'a, str>,
    /// Its new name.
    pub to: Cow<'a, str>,
    /// Whether what has that name already is replaced.
    pub replace: bool,
}

impl<'a> Rename<'a> {
    /// Writes `{"from","to","replace"?}`.
    pub fn write(&self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        object.string("from", &self.from);
        object.string("to", &self.to);
        object.flag("replace", self.replace);
        object.end();
    }

    /// Reads the body.
    ///
    /// # Errors
    /// `invalid`, with the member; then those of [`name::check`] for either name.
    pub fn parse(body: &'a [u8]) -> Result<Self, Error> {
        let mut object = json::parse_object(body)?;
        let from = object.take_string("from")?.unwrap_or_default();
        let to = object.take_string("to")?.unwrap_or_default();
        let replace = object.flag("replace")?;
        name::check(&from)?;
        name::check(&to)?;
        Ok(Self { from, to, replace })
    }
}
