//! The vectors of framing, targets, hosts and base URLs. Framing runs whole, byte by byte, and split at every place.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use farside_wire::base_url::BaseUrl;
use farside_wire::host::{is_loopback, is_valid};
use farside_wire::http::{Decoder, Fault, Fields, Framing, HeadScan, Part, RequestHead, ResponseHead, Version};
use farside_wire::target::{Scheme, Target};
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};

/// Above this many bytes a vector is split at some places only: every place would be quadratic.
const SPLIT_ALL: usize = 4096;

fn vectors(file: &str) -> Vec<Value> {
    let path = format!("{}/../tests/vectors/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let vectors: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut names = BTreeSet::new();
    for vector in &vectors {
        let members: Vec<&str> = vector.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["about", "can_fail", "given", "must_fail", "name", "out", "spec"], "{vector}");
        assert!(names.insert(vector["name"].as_str().unwrap()), "{} stands twice", vector["name"]);
    }
    vectors
}

fn from_hex(hex: &Value) -> Vec<u8> {
    let digits = hex.as_str().unwrap().as_bytes();
    assert!(digits.len().is_multiple_of(2));
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// `bytes_hex`, or `parts_hex`: pairs of bytes and how often they come.
fn bytes(given: &Value) -> Vec<u8> {
    let Some(parts) = given.get("parts_hex") else { return from_hex(&given["bytes_hex"]) };
    let pair = |part: &Value| from_hex(&part[0]).repeat(part[1].as_u64().unwrap() as usize);
    parts.as_array().unwrap().iter().flat_map(pair).collect()
}

/// One side of a connection that only frames.
struct Peer {
    /// Of a client: the methods whose replies are awaited.
    awaited: Option<VecDeque<String>>,
    rx: Vec<u8>,
    scan: HeadScan,
    open: Option<Decoder>,
    messages: Vec<Value>,
    pending: Value,
}

impl Peer {
    fn new(given: &Value) -> Self {
        let awaited = match given["role"].as_str().unwrap() {
            "server" => None,
            "client" => Some(serde_json::from_value(given["requests"].clone()).unwrap()),
            role => panic!("unknown role {role}"),
        };
        Self {
            awaited,
            rx: Vec::new(),
            scan: HeadScan::default(),
            open: None,
            messages: Vec::new(),
            pending: Value::Null,
        }
    }

    /// Frames what there is; the answer is the vector's `end`.
    fn turn(&mut self) -> Result<&'static str, Fault> {
        loop {
            let Some(decoder) = &mut self.open else {
                let Some(end) = self.scan.find(&self.rx)? else {
                    return Ok(if self.scan.at_end_of_input().is_ok() { "idle" } else { "within" });
                };
                let (framing, message) = self.head(end)?;
                self.open = Some(Decoder::new(framing));
                self.pending = message;
                self.rx.drain(..end);
                continue;
            };
            match decoder.next(&self.rx)? {
                Part::Skip(n) => drop(self.rx.drain(..n)),
                Part::Data(n) => {
                    let data: Vec<u8> = self.rx.drain(..n).collect();
                    decoder.took(n);
                    let body = self.pending["body_hex"].as_str().unwrap().to_owned() + &hex(&data);
                    self.pending["body_hex"] = body.into();
                }
                Part::More => return Ok("within"),
                Part::End => {
                    self.open = None;
                    let message = self.pending.take();
                    let goes_on = message["keep_alive"] == true;
                    self.messages.push(message);
                    if !goes_on {
                        return Ok("closed");
                    }
                }
            }
        }
    }

    fn at_end_of_input(&mut self, end: &'static str) -> Result<&'static str, Fault> {
        match &mut self.open {
            None => self.scan.at_end_of_input().map(|()| end),
            Some(decoder) => {
                decoder.at_end_of_input()?;
                self.turn()
            }
        }
    }

    fn head(&mut self, end: usize) -> Result<(Framing, Value), Fault> {
        let (framing, mut message) = match &mut self.awaited {
            None => {
                let head = RequestHead::parse(&self.rx[..end])?;
                let Target { path, query, authority } = head.target;
                let message = json!({
                    "method": head.method, "path": path, "query": query, "authority": authority, "host": head.host(),
                    "version": version(head.version), "fields": fields(head.fields), "keep_alive": head.keep_alive,
                    "expect_continue": head.expect_continue,
                });
                (head.framing, message)
            }
            Some(awaited) => {
                let head = ResponseHead::parse(&self.rx[..end], awaited.front().unwrap() == "HEAD")?;
                if head.status >= 200 {
                    awaited.pop_front();
                }
                let message = json!({
                    "status": head.status, "version": version(head.version), "fields": fields(head.fields),
                    "keep_alive": head.keep_alive,
                });
                (head.framing, message)
            }
        };
        let (name, length) = match framing {
            Framing::Length(length) => ("length", Some(length.to_string())),
            Framing::Chunked => ("chunked", None),
            Framing::UntilClose => ("until_close", None),
        };
        message["framing"] = name.into();
        message["length"] = length.into();
        message["body_hex"] = "".into();
        Ok((framing, message))
    }
}

fn version(version: Version) -> &'static str {
    match version {
        Version::Http10 => "1.0",
        Version::Http11 => "1.1",
    }
}

fn fields(fields: Fields<'_>) -> Value {
    fields.iter().map(|(name, value)| json!([name, hex(value)])).collect()
}

/// Runs one vector with its bytes in `pieces`.
fn run<'p>(given: &Value, pieces: impl IntoIterator<Item = &'p [u8]>) -> (Value, Value) {
    let mut peer = Peer::new(given);
    let mut end = peer.turn();
    for piece in pieces {
        if matches!(end, Ok("closed") | Err(_)) {
            break;
        }
        peer.rx.extend(piece);
        end = peer.turn();
    }
    if given["closed"] == true {
        end = end.and_then(|end| peer.at_end_of_input(end));
    }
    let fault = end.err().map(Fault::name);
    (json!({"messages": peer.messages, "end": end.unwrap_or("fault")}), fault.into())
}

#[test]
fn framing() {
    for vector in vectors("framing") {
        let (name, given) = (vector["name"].as_str().unwrap(), &vector["given"]);
        let bytes = bytes(given);
        let due = (vector["out"].clone(), vector["must_fail"].clone());
        assert_eq!(run(given, [&*bytes]), due, "{name} whole");
        assert_eq!(run(given, bytes.chunks(1)), due, "{name} byte by byte");
        let step = if bytes.len() <= SPLIT_ALL { 1 } else { bytes.len() / 97 };
        let ends = bytes.len().saturating_sub(9)..bytes.len();
        for at in (0..bytes.len()).step_by(step).chain(ends) {
            let (a, b) = bytes.split_at(at);
            assert_eq!(run(given, [a, b]), due, "{name} split at {at}");
        }
    }
}

/// Bytes after a fault change nothing, and bytes after a good message are not part of it.
#[test]
fn trailing_bytes() {
    for vector in vectors("framing") {
        let (name, given) = (vector["name"].as_str().unwrap(), &vector["given"]);
        if vector["out"]["end"] == "fault" && given["closed"] != true {
            let more = [&*bytes(given), b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"].concat();
            assert_eq!(run(given, [&*more]), (vector["out"].clone(), vector["must_fail"].clone()), "{name}");
        } else if vector["out"]["end"] == "idle" && given["role"] == "server" {
            let more = [&*bytes(given), b"GET /next HTTP/1.0\r\n\r\nrest"].concat();
            let (mut out, fault) = run(given, [&*more]);
            assert_eq!((&out["end"], fault), (&json!("closed"), Value::Null), "{name}");
            let next = out["messages"].as_array_mut().unwrap().pop().unwrap();
            assert_eq!(next["path"], "/next", "{name}");
            assert_eq!(out["messages"], vector["out"]["messages"], "{name}");
        }
    }
}

#[test]
fn every_fault_has_a_vector() {
    let seen: BTreeSet<String> =
        vectors("framing").iter().filter_map(|v| v["must_fail"].as_str().map(String::from)).collect();
    let known: BTreeSet<String> = Fault::ALL.iter().map(|fault| fault.name().into()).collect();
    assert_eq!(seen, known);
}

#[test]
fn targets() {
    for vector in vectors("targets") {
        let bytes = bytes(&vector["given"]);
        let (out, fault) = match Target::parse(&bytes) {
            Ok(Target { path, query, authority }) => {
                (json!({"path": path, "query": query, "authority": authority}), Value::Null)
            }
            Err(fault) => (Value::Null, fault.name().into()),
        };
        assert_eq!((out, fault), (vector["out"].clone(), vector["must_fail"].clone()), "{}", vector["name"]);
    }
}

/// BR-01 to BR-07 and the rule behind them.
#[test]
fn hosts() {
    for vector in vectors("hosts") {
        let host = vector["given"]["host"].as_str().unwrap();
        let out = json!({"valid": is_valid(host), "loopback": is_loopback(host)});
        assert_eq!(out, vector["out"], "{}", vector["name"]);
    }
}

#[test]
fn base_urls() {
    for vector in vectors("base_urls") {
        let (out, code) = match BaseUrl::parse(vector["given"]["url"].as_str().unwrap()) {
            Ok(url) => {
                let scheme = match url.scheme() {
                    Scheme::Http => "http",
                    Scheme::Https => "https",
                };
                let out = json!({
                    "scheme": scheme, "host": url.host(), "hostname": url.hostname(), "port": url.port(), "prefix": url.prefix(),
                });
                (out, Value::Null)
            }
            Err(error) => {
                assert!(!error.to_string().contains("secret"), "{}: {error}", vector["name"]);
                (Value::Null, error.code.name().into())
            }
        };
        assert_eq!((out, code), (vector["out"].clone(), vector["must_fail"].clone()), "{}", vector["name"]);
    }
}

#[test]
fn a_token_in_a_url_is_named_as_such() {
    let error = BaseUrl::parse("https://token@box.example/").unwrap_err();
    assert_eq!(error.words, "credentials do not belong in a URL");
}

/// The spec's table of faults is the code's.
#[test]
fn the_spec_lists_the_faults() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/spec/framing.md")).unwrap();
    let row = |fault: &Fault| format!("| `{}` | {} | {} |", fault.name(), fault.status(), fault.words());
    let due: Vec<String> = Fault::ALL.iter().map(row).collect();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows, due);
}
