//! The bytes of a request: its line, the few fields it needs, and a body that is there already.

use crate::wire::{
    Out,
    base_url::BaseUrl,
    query::encode_component,
    route::{JSON, Method, OCTETS, RouteId},
};
use alloc::{string::String, vec::Vec};

/// Where requests go, and what each of them carries.
pub(super) struct Server {
    pub(super) base: BaseUrl,
    /// A secret.
    pub(super) authorization: Option<String>,
}

/// How a request's body comes.
pub(super) enum Content<'a> {
    /// There is none.
    None,
    /// What is written by this, as JSON.
    Json(&'a dyn Fn(&mut dyn Out)),
    /// Bytes that follow, so many if that is known.
    Octets(Option<u64>),
}

/// Bytes on their way to the server.
#[derive(Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    start: usize,
    at: usize,
    /// How long the body is, if it is JSON.
    pub(super) body: u64,
}

impl Outgoing {
    /// What is still to be sent.
    pub(super) fn left(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The first `n` bytes of what was left are sent.
    pub(super) fn sent(&mut self, n: usize) {
        self.at = (self.at + n).min(self.bytes.len());
    }

    /// All of it is to be sent again, on another connection.
    pub(super) fn rewind(&mut self) {
        self.at = self.start;
    }

    /// Forgets what was sent, before more is put.
    pub(super) fn trim(&mut self) {
        self.bytes.drain(..self.at);
        (self.start, self.at) = (0, 0);
    }
}

impl Out for Outgoing {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.put(bytes);
    }
}

/// Room for the longest Content-Length line and the empty line behind it.
const LENGTH: usize = b"Content-Length: 18446744073709551615\r\n\r\n".len();

impl Server {
    /// A request, with `key` in its path, if the route has one there, and `query` behind it.
    pub(super) fn request(
        &self,
        route: RouteId,
        key: Option<&str>,
        query: &[(&str, &str)],
        content: Content<'_>,
    ) -> Outgoing {
        let route = route.route();
        let mut bytes = Vec::with_capacity(512);
        bytes.put(route.method.name().as_bytes());
        bytes.put(b" ");
        bytes.put(self.base.prefix().as_bytes());
        let (before, after) = route.pattern.split_once("{key}").unwrap_or((route.pattern, ""));
        bytes.put(before.as_bytes());
        bytes.put(key.unwrap_or_default().as_bytes());
        bytes.put(after.as_bytes());
        for (n, (key, value)) in query.iter().enumerate() {
            bytes.put(if n == 0 { b"?" } else { b"&" });
            bytes.put(key.as_bytes());
            bytes.put(b"=");
            encode_component(&mut bytes, value.as_bytes());
        }
        bytes.put(b" HTTP/1.1\r\n");
        field(&mut bytes, "Host", self.base.host());
        if let Some(credentials) = &self.authorization {
            field(&mut bytes, "Authorization", credentials);
        }
        let (mut start, mut body) = (0, 0);
        match content {
            Content::None if route.method == Method::Post => bytes.put(b"Content-Length: 0\r\n\r\n"),
            Content::None => bytes.put(b"\r\n"),
            Content::Json(write) => {
                field(&mut bytes, "Content-Type", JSON);
                (start, body) = with_length(&mut bytes, write);
            }
            Content::Octets(size) => {
                field(&mut bytes, "Content-Type", OCTETS);
                match size {
                    Some(n) => length(&mut bytes, n),
                    None => bytes.put(b"Transfer-Encoding: chunked\r\n\r\n"),
                }
            }
        }
        Outgoing { bytes, start, at: start, body }
    }
}

fn field(out: &mut Vec<u8>, name: &str, value: &str) {
    out.put(name.as_bytes());
    out.put(b": ");
    out.put(value.as_bytes());
    out.put(b"\r\n");
}

/// The last field, and the end of the head.
fn length(out: &mut Vec<u8>, n: u64) {
    out.put(b"Content-Length: ");
    out.put_u64(n);
    out.put(b"\r\n\r\n");
}

/// Puts a body behind its length, which is known only afterwards: the head, which is short, is moved up to it. Says where that begins,
/// and how long the body is.
fn with_length(bytes: &mut Vec<u8>, write: &dyn Fn(&mut dyn Out)) -> (usize, u64) {
    let head = bytes.len();
    let body = head + LENGTH;
    bytes.resize(body, 0);
    write(bytes);
    let body_len = (bytes.len() - body) as u64;
    let mut line = Vec::with_capacity(LENGTH);
    length(&mut line, body_len);
    let start = LENGTH - line.len();
    bytes.copy_within(..head, start);
    bytes[start + head..body].copy_from_slice(&line);
    (start, body_len)
}
