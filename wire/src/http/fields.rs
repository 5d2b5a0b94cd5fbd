//! The fields of a head, and the facts that framing takes from them.

use super::body::Framing;
use super::fault::Fault;
use super::grammar::{ascii, elements, is_all_text, is_tchar, is_token, line, trim};
use super::request::Version;

/// The most fields of a head (spec, Framing).
pub const MAX_FIELDS: usize = 128;

/// The fields of a head, in order: checked bytes that are parted again each time they are asked for.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Fields<'b> {
    /// Whole field lines, each with its CRLF, without the empty line.
    lines: &'b [u8],
}

/// What a head has under one name.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum Field<'b> {
    /// No such field.
    #[default]
    Absent,
    /// One field; its value, without the blanks around it, may be empty and need not be UTF-8.
    One(&'b [u8]),
    /// More than one field.
    Many,
}

impl<'b> Fields<'b> {
    /// Checks the lines of `section`, which ends with the empty line, and hands each field to `see` on the way.
    pub(super) fn parse(section: &'b [u8], mut see: impl FnMut(&'b [u8], &'b [u8])) -> Result<Self, Fault> {
        let mut rest = section;
        for _ in 0..=MAX_FIELDS {
            let (field, after) = line(rest)?;
            if field.is_empty() {
                let lines = &section[..section.len() - rest.len()];
                return if after.is_empty() { Ok(Self { lines }) } else { Err(Fault::CutHead) };
            }
            let (name, value) = split(field)?;
            see(name, value);
            rest = after;
        }
        Err(Fault::TooManyFields)
    }

    /// Every field: its name as it was written, and its value without the blanks around it.
    pub fn iter(&self) -> impl Iterator<Item = (&'b str, &'b [u8])> + use<'b> {
        let mut rest = self.lines;
        core::iter::from_fn(move || {
            let (field, after) = line(rest).ok()?;
            rest = after;
            let colon = memchr::memchr(b':', field)?;
            Some((ascii(&field[..colon]), trim(&field[colon + 1..])))
        })
    }

    /// What stands under `name`, in any case of letters. One walk over the fields.
    pub fn get(&self, name: &str) -> Field<'b> {
        let mut found = Field::Absent;
        let mut rest = self.lines;
        while let Ok((field, after)) = line(rest) {
            rest = after;
            if let Some((start, [b':', value @ ..])) = field.split_at_checked(name.len())
                && start.eq_ignore_ascii_case(name.as_bytes())
            {
                found.add(trim(value));
            }
        }
        found
    }

    /// The stated length, also where it frames nothing, as in the reply to a HEAD request.
    ///
    /// # Errors
    /// [`Fault::BadContentLength`].
    pub fn content_length(&self) -> Result<Option<u64>, Fault> {
        self.get("content-length").length()
    }
}

impl<'b> Field<'b> {
    fn add(&mut self, value: &'b [u8]) {
        *self = if let Field::Absent = self { Field::One(value) } else { Field::Many };
    }

    /// The value as a Content-Length: one run of decimal digits, below 2^63.
    fn length(self) -> Result<Option<u64>, Fault> {
        let digits = match self {
            Field::Absent => return Ok(None),
            Field::One(digits @ [_, ..]) => digits,
            Field::One(_) | Field::Many => return Err(Fault::BadContentLength),
        };
        let mut length = 0i64;
        for &b in digits {
            let digit = if b.is_ascii_digit() { i64::from(b - b'0') } else { return Err(Fault::BadContentLength) };
            length = length.checked_mul(10).and_then(|n| n.checked_add(digit)).ok_or(Fault::BadContentLength)?;
        }
        Ok(Some(length.unsigned_abs()))
    }
}

/// Parts one field line and checks both sides.
fn split(field: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let end = field.iter().position(|&b| !is_tchar(b)).unwrap_or(field.len());
    let (name, rest) = field.split_at(end);
    match (name, rest) {
        ([_, ..], [b':', value @ ..]) if is_all_text(value) => Ok((name, trim(value))),
        ([_, ..], [b':', value @ ..]) if value.contains(&b'\r') => Err(Fault::BareCr),
        ([_, ..], [b':', ..]) => Err(Fault::BadFieldValue),
        ([], [b' ' | b'\t', ..]) => Err(Fault::ObsFold),
        _ => Err(Fault::BadFieldName),
    }
}

/// What framing has to know of the fields, gathered while they are checked.
#[derive(Default)]
pub(super) struct Facts<'b> {
    pub(super) host: Field<'b>,
    pub(super) expect_continue: bool,
    pub(super) to_websocket: bool,
    pub(super) upgrade: bool,
    length: Field<'b>,
    coding: Field<'b>,
    close: bool,
    keep_alive: bool,
}

impl<'b> Facts<'b> {
    /// Takes in one field.
    pub(super) fn see(&mut self, name: &'b [u8], value: &'b [u8]) {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let lists = |word: &str| elements(value).any(|e| e.eq_ignore_ascii_case(word.as_bytes()));
        match name.len() {
            4 if is("host") => self.host.add(value),
            6 if is("expect") => self.expect_continue |= lists("100-continue"),
            7 if is("upgrade") => self.to_websocket |= lists("websocket"),
            10 if is("connection") => {
                self.close |= lists("close");
                self.keep_alive |= lists("keep-alive");
                self.upgrade |= lists("upgrade");
            }
            14 if is("content-length") => self.length.add(value),
            17 if is("transfer-encoding") => self.coding.add(value),
            _ => {}
        }
    }

    /// Whether the connection goes on after this message, as far as its sender says.
    pub(super) fn keeps_alive(&self, version: Version) -> bool {
        !self.close && (version == Version::Http11 || self.keep_alive)
    }

    /// How the body is delimited, if the fields say so (RFC 9112 6.3).
    pub(super) fn framing(&self, version: Version) -> Result<Option<Framing>, Fault> {
        match (self.coding, self.length) {
            (Field::Absent, length) => Ok(length.length()?.map(Framing::Length)),
            (_, Field::One(_) | Field::Many) => Err(Fault::BothLengths),
            (Field::One(codings), _) if version == Version::Http11 => chunked(codings).map(Some),
            _ => Err(Fault::BadTransferEncoding),
        }
    }
}

/// Reads a Transfer-Encoding: `chunked` and nothing else is taken.
fn chunked(codings: &[u8]) -> Result<Framing, Fault> {
    if codings.eq_ignore_ascii_case(b"chunked") {
        return Ok(Framing::Chunked);
    }
    let mut list = elements(codings).peekable();
    while let Some(coding) = list.next() {
        let name = trim(coding.split(|&b| b == b';').next().unwrap_or_default());
        let is_chunked = name.eq_ignore_ascii_case(b"chunked");
        if !is_token(name) || is_chunked && (list.peek().is_some() || name.len() < coding.len()) {
            return Err(Fault::BadTransferEncoding);
        }
    }
    Err(Fault::UnknownCoding)
}
