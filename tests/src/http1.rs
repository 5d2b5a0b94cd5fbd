//! The public HTTP/1.1 cases: their parser, and a server loop that does nothing but frame.
//!
//! Wire's own tests include this file by its path, so that the cases are read in one way only.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case that cannot be read fails the test")]
#![allow(unreachable_pub, reason = "in wire's tests this is a private module")]

use farside_wire::http::{Decoder, Fault, HeadScan, Part, RequestHead};
use std::path::PathBuf;

/// How many cases there are, so that none is lost unseen.
pub const COUNT: usize = 102;

/// One input with its right outcomes.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name, such as `H1-CL-01`.
    pub id: String,
    /// Every right outcome.
    pub expected: Vec<Outcome>,
    /// The one we take.
    pub taken: Outcome,
    /// What is sent.
    pub bytes: Vec<u8>,
    /// What it is about.
    pub note: String,
    /// Where an Authorization line goes.
    credentials: Vec<usize>,
}

/// What is to happen on the connection.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// `NNN`, `NNNc`: one answer.
    Status {
        /// Its status.
        status: u16,
        /// Whether the connection is closed after it, and nothing was carried out.
        close: bool,
    },
    /// `1`, `20`, `1c`: so many requests are answered, in order.
    Count {
        /// How many.
        requests: usize,
        /// Whether the connection is closed after them.
        close: bool,
    },
    /// `1+body`: one request, whose body is not read as another.
    Body,
    /// `1then400c`: one answer, then a 400, then closed.
    Then400,
    /// `wait-408c`: waits for more until its deadline.
    Wait,
    /// `close`: closed without an answer.
    Close,
    /// `100-or-final`: 100 only if the request would be carried out.
    ContinueOrFinal,
}

impl Outcome {
    /// Reads one word of `expected`.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "1+body" => return Some(Self::Body),
            "1then400c" => return Some(Self::Then400),
            "wait-408c" => return Some(Self::Wait),
            "close" => return Some(Self::Close),
            "100-or-final" => return Some(Self::ContinueOrFinal),
            _ => {}
        }
        let (digits, close) = match word.strip_suffix('c') {
            Some(digits) => (digits, true),
            None => (word, false),
        };
        if digits.is_empty() || digits.len() > 3 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let n: u16 = digits.parse().ok()?;
        match digits.len() {
            3 if (100..600).contains(&n) => Some(Self::Status { status: n, close }),
            1 | 2 if n > 0 => Some(Self::Count { requests: n.into(), close }),
            _ => None,
        }
    }
}

impl Case {
    /// The bytes with `line`, which ends in CRLF, after the Host of every request that needs credentials.
    pub fn authorized(&self, line: &str) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for &at in self.credentials.iter().rev() {
            bytes.splice(at..at, line.bytes());
        }
        bytes
    }
}

/// Reads the committed cases. Panics if they are not the public ones, if a line cannot be read, or if a choice is missing.
pub fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(root().join("tests/vectors/http1.txt")).expect("the cases are there");
    if let Ok(public) = std::fs::read_to_string(root().join("../shared/cases/http1.txt")) {
        assert!(text == public, "tests/vectors/http1.txt is an old copy");
    }
    let choices = choices();
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        assert!(line.is_ascii(), "not ASCII: {line}");
        let &[id, expected, source, note] = &*line.split(" | ").collect::<Vec<_>>() else {
            panic!("not four fields: {line}")
        };
        assert!(cases.iter().all(|case| case.id != id), "{id} stands twice");
        let word = |word| Outcome::parse(word).unwrap_or_else(|| panic!("{id}: unknown outcome {word}"));
        let expected: Vec<Outcome> = expected.split('|').map(word).collect();
        let taken = match (&*expected, choices.iter().find(|(name, _)| name == id)) {
            (&[one], None) => one,
            (_, Some((_, taken))) if expected.len() > 1 && expected.contains(&word(taken)) => word(taken),
            _ => panic!("{id}: the spec's table of outcomes does not fit the case"),
        };
        let mut reader = Reader { rest: source.as_bytes(), bytes: Vec::new(), credentials: Vec::new() };
        reader.read(None, None);
        let Reader { bytes, mut credentials, .. } = reader;
        if credentials.is_empty() {
            credentials.extend(find(&bytes, HOST).map(|at| at + HOST.len()));
        }
        cases.push(Case { id: id.into(), expected, taken, bytes, note: note.into(), credentials });
    }
    assert_eq!(cases.len(), COUNT, "number of cases");
    for (id, _) in &choices {
        assert!(cases.iter().any(|case| case.id == *id), "{id} has an outcome but no case");
    }
    cases
}

/// The project's root.
fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The table at the end of the spec's page: which outcome is taken where a case allows several.
fn choices() -> Vec<(String, String)> {
    let page = std::fs::read_to_string(root().join("docs/spec/framing.md")).expect("the spec is there");
    let rows = page.lines().filter(|line| line.starts_with("| H1-"));
    rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>())
        .map(|row| (row[1].into(), row[2].into()))
        .collect()
}

const HOST: &[u8] = b"Host: localhost\r\n";

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

fn macro_text(name: u8) -> Option<&'static str> {
    match name {
        b'P' => Some("POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"),
        b'G' => Some("GET /v1/info HTTP/1.1\r\nHost: localhost\r\n"),
        b'S' => Some("GET /v1/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        b'T' => Some("Transfer-Encoding: chunked\r\n"),
        _ => None,
    }
}

/// Reads the third field of a case.
struct Reader<'s> {
    rest: &'s [u8],
    bytes: Vec<u8>,
    credentials: Vec<usize>,
}

impl Reader<'_> {
    /// Reads up to `end`, or to the end; `%d` stands for `value`.
    fn read(&mut self, end: Option<&[u8]>, value: Option<u64>) {
        loop {
            match end {
                Some(end) if self.take(end) => return,
                None if self.rest.is_empty() => return,
                _ => {}
            }
            if self.take(b"{{") {
                self.repeat();
            } else if value.is_some() && self.take(b"%d") {
                self.bytes.extend(value.unwrap().to_string().into_bytes());
            } else if let [b'@', name, rest @ ..] = self.rest
                && let Some(text) = macro_text(*name)
            {
                self.rest = rest;
                self.bytes.extend(text.as_bytes());
                if matches!(name, b'P' | b'G') {
                    let request = self.bytes.len() - text.len();
                    self.credentials.push(request + find(text.as_bytes(), HOST).unwrap() + HOST.len());
                }
            } else {
                let byte = self.unit();
                self.bytes.push(byte);
            }
        }
    }

    fn repeat(&mut self) {
        let (values, counts) = if self.take(b"REP ") {
            (1..=self.number(b" '"), false)
        } else if self.take(b"FOR ") {
            let name = self.rest.iter().position(|&b| b == b' ').expect("a name");
            self.rest = &self.rest[name + 1..];
            (self.number(b" ")..=self.number(b" '"), true)
        } else {
            let unit = self.unit();
            assert!(self.take(b"*"), "a count");
            let count = self.number(b"}}");
            self.bytes.extend((0..count).map(|_| unit));
            return;
        };
        let body = self.rest;
        for value in values {
            self.rest = body;
            self.read(Some(b"'}}"), counts.then_some(value));
        }
    }

    fn number(&mut self, end: &[u8]) -> u64 {
        let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let number = std::str::from_utf8(&self.rest[..digits]).unwrap().parse().expect("a number");
        self.rest = &self.rest[digits..];
        assert!(self.take(end), "a repeat goes on");
        number
    }

    /// One escape or literal.
    fn unit(&mut self) -> u8 {
        let (byte, used) = match *self.rest {
            [b'\\', b'r', ..] => (b'\r', 2),
            [b'\\', b'n', ..] => (b'\n', 2),
            [b'\\', b't', ..] => (b'\t', 2),
            [b'\\', b'\\', ..] => (b'\\', 2),
            [b'\\', b'x', ref hex @ ..] => {
                let hex = std::str::from_utf8(hex.get(..2).expect("two hex digits")).unwrap();
                (u8::from_str_radix(hex, 16).expect("two hex digits"), 4)
            }
            [b'\\', ..] => panic!("an unknown escape"),
            [literal @ b' '..=b'~', ..] => (literal, 1),
            _ => panic!("no byte where one is due"),
        };
        self.rest = &self.rest[used..];
        byte
    }

    fn take(&mut self, text: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

/// What framing makes of a connection's bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Framed {
    /// The whole requests, in order.
    pub requests: Vec<Request>,
    /// What comes after them.
    pub end: End,
}

/// A request that was framed as a whole.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Request {
    /// Its method.
    pub method: String,
    /// Its target's path.
    pub path: String,
    /// Its body without what framed it.
    pub body: Vec<u8>,
}

/// How a connection stands.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum End {
    /// Between two requests.
    Idle,
    /// Within one.
    Within {
        /// Whether its sender may wait for 100.
        expects_continue: bool,
    },
    /// The last request said that it is the last.
    Closed,
    /// The peer broke the protocol.
    Fault(Fault),
}

/// Frames `pieces` as a server would that reads them one after the other.
pub fn frame<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> Framed {
    let mut server = Server::default();
    let mut end = End::Idle;
    for piece in pieces {
        server.rx.extend(piece);
        end = server.turn().unwrap_or_else(End::Fault);
        if matches!(end, End::Fault(_) | End::Closed) {
            break;
        }
    }
    Framed { requests: server.requests, end }
}

#[derive(Default)]
struct Server {
    rx: Vec<u8>,
    scan: HeadScan,
    open: Option<Open>,
    requests: Vec<Request>,
}

struct Open {
    request: Request,
    body: Decoder,
    keep_alive: bool,
    expects_continue: bool,
}

impl Server {
    fn turn(&mut self) -> Result<End, Fault> {
        loop {
            let Some(open) = &mut self.open else {
                let Some(end) = self.scan.find(&self.rx)? else {
                    return Ok(match self.scan.at_end_of_input() {
                        Ok(()) => End::Idle,
                        Err(_) => End::Within { expects_continue: false },
                    });
                };
                let head = RequestHead::parse(&self.rx[..end])?;
                self.open = Some(Open {
                    request: Request { method: head.method.into(), path: head.target.path.into(), body: Vec::new() },
                    body: Decoder::new(head.framing),
                    keep_alive: head.keep_alive,
                    expects_continue: head.expect_continue,
                });
                self.rx.drain(..end);
                continue;
            };
            match open.body.next(&self.rx)? {
                Part::Skip(n) => drop(self.rx.drain(..n)),
                Part::Data(n) => {
                    open.request.body.extend(self.rx.drain(..n));
                    open.body.took(n);
                }
                Part::More => return Ok(End::Within { expects_continue: open.expects_continue }),
                Part::End => {
                    let Open { request, keep_alive, .. } = self.open.take().unwrap();
                    self.requests.push(request);
                    if !keep_alive {
                        return Ok(End::Closed);
                    }
                }
            }
        }
    }
}

/// Numbers that look random and come again for the same seed.
#[derive(Clone, Debug)]
pub struct Xorshift(u64);

impl Xorshift {
    /// The numbers of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    /// `bytes` in pieces, cut at `cuts` places.
    pub fn cut<'b>(&mut self, bytes: &'b [u8], cuts: usize) -> Vec<&'b [u8]> {
        let mut places: Vec<usize> = (0..cuts).map(|_| self.below(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
    }
}
