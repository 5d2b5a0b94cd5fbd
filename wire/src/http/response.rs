//! Reading a reply's head.

use super::body::Framing;
use super::fault::Fault;
use super::fields::{Facts, Fields};
use super::grammar::{is_all_text, line};
use super::request::Version;

/// The head of a reply, read and checked.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct ResponseHead<'b> {
    /// The status, 100 to 599. Below 200 it is an interim reply, and another one follows, except for 101.
    pub status: u16,
    /// The sender's version.
    pub version: Version,
    /// All fields.
    pub fields: Fields<'b>,
    /// How the body is delimited.
    pub framing: Framing,
    /// Whether the connection can carry another request after this reply. False for 101 and for a body that ends with the connection.
    pub keep_alive: bool,
}

impl<'b> ResponseHead<'b> {
    /// Reads `head`, which is exactly what [`HeadScan::find`](super::HeadScan::find) found. A reply to a HEAD request, an interim reply,
    /// 204 and 304 have no body, whatever the fields say (RFC 9112 6.3).
    ///
    /// # Errors
    /// The first thing that is wrong: the status line, then the fields in their order, then the lengths.
    pub fn parse(head: &'b [u8], to_head_request: bool) -> Result<Self, Fault> {
        let (line, section) = line(head)?;
        let (version, status) = status_line(line)?;
        let mut facts = Facts::default();
        let fields = Fields::parse(section, |name, value| facts.see(name, value))?;
        let framing = match status {
            _ if to_head_request => Framing::Length(0),
            100..=199 | 204 | 304 => Framing::Length(0),
            _ => facts.framing(version)?.unwrap_or(Framing::UntilClose),
        };
        let keep_alive = facts.keeps_alive(version) && status != 101 && framing != Framing::UntilClose;
        Ok(Self { status, version, fields, framing, keep_alive })
    }
}

fn status_line(line: &[u8]) -> Result<(Version, u16), Fault> {
    let (version, rest) = line.split_at_checked(8).ok_or(Fault::BadStatusLine)?;
    let version = Version::parse(version, Fault::BadStatusLine)?;
    let (digits, reason) = rest.split_at_checked(4).ok_or(Fault::BadStatusLine)?;
    match digits {
        &[b' ', a @ b'1'..=b'5', b @ b'0'..=b'9', c @ b'0'..=b'9']
            if reason.first().is_none_or(|&b| b == b' ') && is_all_text(reason) =>
        {
            Ok((version, [a, b, c].iter().fold(0, |n, d| n * 10 + u16::from(d - b'0'))))
        }
        _ => Err(Fault::BadStatusLine),
    }
}
