//! Reading a request's head.

use super::body::Framing;
use super::fault::Fault;
use super::fields::{Facts, Field, Fields};
use super::grammar::{ascii, is_token, line};
use crate::host;
use crate::target::Target;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The longest method, in bytes (spec, Framing).
pub const MAX_METHOD: usize = 32;

/// The versions that are spoken.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
}

/// The head of a request, read and checked.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct RequestHead<'b> {
    /// The method: a token of up to [`MAX_METHOD`] bytes, in its own case of letters.
    pub method: &'b str,
    /// What the request is for.
    pub target: Target<'b>,
    /// The sender's version.
    pub version: Version,
    /// All fields.
    pub fields: Fields<'b>,
    /// How the body is delimited; never [`Framing::UntilClose`].
    pub framing: Framing,
    /// Whether the sender lets the connection go on after this exchange: `Connection: close` wins, HTTP/1.0 has to ask for it.
    pub keep_alive: bool,
    /// Whether the sender may be waiting for 100 before it sends the body. False where there is no body, and in HTTP/1.0.
    pub expect_continue: bool,
    host: Option<&'b str>,
}

impl<'b> RequestHead<'b> {
    /// Reads `head`, which is exactly what [`HeadScan::find`](super::HeadScan::find) found.
    ///
    /// # Errors
    /// The first thing that is wrong: the request line, then the fields in their order, then Host, then the lengths, then the upgrade.
    pub fn parse(head: &'b [u8]) -> Result<Self, Fault> {
        let (method, target, version, section) = request_line(head)?;
        let mut facts = Facts::default();
        let fields = Fields::parse(section, |name, value| facts.see(name, value))?;
        let host = authority(&facts.host, &target, version)?;
        let framing = facts.framing(version)?.unwrap_or(Framing::Length(0));
        if facts.to_websocket && !(facts.upgrade && is_websocket_handshake(method, version, &fields)) {
            return Err(Fault::BadUpgrade);
        }
        Ok(Self {
            method,
            target,
            version,
            fields,
            framing,
            keep_alive: facts.keeps_alive(version),
            expect_continue: facts.expect_continue && version == Version::Http11 && framing != Framing::Length(0),
            host,
        })
    }

    /// The authority the request is for: Host, which an absolute target's authority must equal. None in HTTP/1.0 without either.
    pub fn host(&self) -> Option<&'b str> {
        self.host
    }
}

impl Version {
    /// Reads a version; `other` is the fault of what is none at all.
    pub(super) fn parse(text: &[u8], other: Fault) -> Result<Self, Fault> {
        match text {
            b"HTTP/1.1" => Ok(Version::Http11),
            b"HTTP/1.0" => Ok(Version::Http10),
            [b'H', b'T', b'T', b'P', b'/', major, b'.', minor] if major.is_ascii_digit() && minor.is_ascii_digit() => {
                Err(Fault::BadVersion)
            }
            _ => Err(other),
        }
    }
}

/// Parts the request line, after any leading empty lines; what follows is the field section.
fn request_line(mut head: &[u8]) -> Result<(&str, Target<'_>, Version, &[u8]), Fault> {
    while let [b'\r', b'\n', rest @ ..] = head {
        head = rest;
    }
    let (line, section) = line(head)?;
    let (first, last) = memchr::memchr(b' ', line).zip(memchr::memrchr(b' ', line)).ok_or(Fault::BadRequestLine)?;
    let (method, version) = (&line[..first], &line[last + 1..]);
    if first == last || method.len() > MAX_METHOD || !is_token(method) {
        return Err(Fault::BadRequestLine);
    }
    let version = Version::parse(version, Fault::BadRequestLine)?;
    let target = Target::parse(&line[first + 1..last])?;
    // The asterisk stands for the server as a whole, which only OPTIONS can ask about; CONNECT has a target of its own, and what
    // follows it is no HTTP (RFC 9112 3.2.3, 3.2.4).
    if target.path == "*" && method != b"OPTIONS" || method == b"CONNECT" {
        return Err(Fault::BadTarget);
    }
    Ok((ascii(method), target, version, section))
}

/// The one authority that Host and the target agree on.
fn authority<'b>(host: &Field<'b>, target: &Target<'b>, version: Version) -> Result<Option<&'b str>, Fault> {
    let host = match *host {
        Field::Absent if version == Version::Http11 => return Err(Fault::NoHost),
        Field::Absent => return Ok(target.authority),
        Field::One(host) => core::str::from_utf8(host).ok().filter(|h| host::is_valid(h)).ok_or(Fault::BadHost)?,
        Field::Many => return Err(Fault::TwoHosts),
    };
    match target.authority {
        Some(authority) if !authority.eq_ignore_ascii_case(host) => Err(Fault::AuthorityMismatch),
        _ => Ok(Some(host)),
    }
}

/// The request's side of RFC 6455 4.1, `Connection` aside.
fn is_websocket_handshake(method: &str, version: Version, fields: &Fields<'_>) -> bool {
    let Field::One(key) = fields.get("sec-websocket-key") else { return false };
    let mut nonce = [0; 18];
    method == "GET"
        && version == Version::Http11
        && fields.get("sec-websocket-version") == Field::One(b"13")
        && key.len() == 24
        && STANDARD.decode_slice(key, &mut nonce) == Ok(16)
}
