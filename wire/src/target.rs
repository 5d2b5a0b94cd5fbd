//! What a request is for.

use crate::host;
use crate::http::Fault;

/// A request's target, parted but not decoded (RFC 9112 3.2; spec, Framing).
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Target<'b> {
    /// The path as it stands: begins with `/`, or is `*`. `//evil/x` is only a path; no dot segment is resolved.
    pub path: &'b str,
    /// What follows the first `?`.
    pub query: Option<&'b str>,
    /// The host and port of an absolute target.
    pub authority: Option<&'b str>,
}

impl<'b> Target<'b> {
    /// Reads a target: a path with an optional query, a whole `http` or `https` URL, or `*`. All of it is visible ASCII without `#`.
    ///
    /// ```
    /// # use farside_wire::target::Target;
    /// let target = Target::parse(b"HTTP://localhost:80/v1/info?x=1")?;
    /// assert_eq!(target, Target { path: "/v1/info", query: Some("x=1"), authority: Some("localhost:80") });
    /// # Ok::<(), farside_wire::http::Fault>(())
    /// ```
    ///
    /// # Errors
    /// [`Fault::BadTarget`] for everything else, the target of CONNECT among it.
    pub fn parse(target: &'b [u8]) -> Result<Self, Fault> {
        let target = visible(target).filter(|t| !t.contains('#')).ok_or(Fault::BadTarget)?;
        if target.starts_with('/') || target == "*" {
            return Ok(Self::from_path(target, None));
        }
        let rest = strip_scheme(target).ok_or(Fault::BadTarget)?.1;
        let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if !host::is_valid(authority) {
            return Err(Fault::BadTarget);
        }
        Ok(Self::from_path(rest, Some(authority)))
    }

    fn from_path(text: &'b str, authority: Option<&'b str>) -> Self {
        let (path, query) = match text.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (text, None),
        };
        Self { path: if path.is_empty() { "/" } else { path }, query, authority }
    }
}

/// The schemes of a URL that leads to a server.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Scheme {
    /// `http`, port 80.
    Http,
    /// `https`, port 443.
    Https,
}

impl Scheme {
    /// The port where a URL names none.
    pub const fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// `text`, if all of it is visible ASCII.
pub(crate) fn visible(text: &[u8]) -> Option<&str> {
    if text.iter().all(u8::is_ascii_graphic) { core::str::from_utf8(text).ok() } else { None }
}

/// Parts a URL into its scheme, in any case of letters, and what follows the `//`.
pub(crate) fn strip_scheme(url: &str) -> Option<(Scheme, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    match scheme {
        _ if scheme.eq_ignore_ascii_case("http") => Some((Scheme::Http, rest)),
        _ if scheme.eq_ignore_ascii_case("https") => Some((Scheme::Https, rest)),
        _ => None,
    }
}
