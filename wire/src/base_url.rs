//! Where a client finds a server.

use crate::error::Error;
use crate::host;
use crate::target::{Scheme, strip_scheme, visible};
use alloc::string::String;

/// The URL of a server, read: every route stands below it (spec, Requests in general).
///
/// ```
/// use farside_wire::{base_url::BaseUrl, target::Scheme};
/// let url = BaseUrl::parse("https://box.example:8443/x/")?;
/// assert_eq!((url.scheme(), url.host(), url.hostname()), (Scheme::Https, "box.example:8443", "box.example"));
/// assert_eq!((url.port(), url.prefix()), (8443, "/x"));
/// # Ok::<(), farside_wire::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BaseUrl {
    scheme: Scheme,
    host: String,
    hostname_len: usize,
    port: u16,
    prefix: String,
}

impl BaseUrl {
    /// Reads `http://host[:port][/prefix][/]`, or the same with `https`; schemes in any case of letters.
    ///
    /// # Errors
    /// `invalid`, with what is wrong; the words never repeat the URL, since it may hold a secret.
    pub fn parse(url: &str) -> Result<Self, Error> {
        let url = visible(url.as_bytes()).ok_or(Error::invalid("a URL is visible ASCII"))?;
        let (scheme, rest) =
            strip_scheme(url).ok_or(Error::invalid("a server's URL begins with http:// or https://"))?;
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(Error::invalid("credentials do not belong in a URL"));
        }
        if path.contains(['?', '#']) {
            return Err(Error::invalid("a server's URL has no query and no fragment"));
        }
        let (name, port) = host::split(authority).ok_or(Error::invalid("the URL's host or port is malformed"))?;
        Ok(Self {
            scheme,
            host: authority.into(),
            hostname_len: name.len(),
            port: port.unwrap_or(scheme.default_port()),
            prefix: path.trim_end_matches('/').into(),
        })
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The text for the Host field: host and port as they were written.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The name or address to connect to; an IPv6 address without its brackets.
    pub fn hostname(&self) -> &str {
        self.host[..self.hostname_len].trim_matches(['[', ']'])
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What stands before `/v1` in every target: empty, or a path that begins with `/` and does not end with it.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}
