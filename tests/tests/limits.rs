//! Sizes that are passed (class RX of the public cases): refused at the bound, without reading on, and nothing was done. And what is
//! said of errors that nobody foresaw.
#![allow(clippy::unwrap_used, reason = "a test")]

use farside_backends::Memory;
use farside_core::{
    Access, Answer, Called, Cx, Exec, Handler, Op, Piece, Reader, Room, Sink, Source, Workspace,
    wire::{
        Bounds, Code, Error, Scopes,
        json::{self, Value},
        status_of, times,
    },
};
use farside_tests::{
    recorder::{Notes, Recorder},
    replies::{replies, statuses},
    requests::Request,
    virtual_time::Wire,
};
use std::{
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

/// What is dropped behind a refusal so that it can be read, and what a buffer may hold besides.
const DRAINED: usize = (1 << 20) + (512 << 10);
/// Far longer than anything linear takes here, and shorter than anything that is not.
const LINEAR: Duration = Duration::from_secs(20);

fn open(bounds: Bounds) -> (Arc<Handler>, Notes) {
    let memory = Memory::new();
    memory.put("f", "old").unwrap();
    let (recorder, notes) = Recorder::new(memory);
    (Handler::with(recorder, Access::Insecure(Scopes::ALL), bounds, times::LEASE), notes)
}

fn small() -> Bounds {
    Bounds { max_request_bytes: 1000, max_write_bytes: 3000, max_exec_output_bytes: 5000, ..Bounds::default() }
}

#[test]
fn rx_06_a_head_that_drips_is_read_once() {
    let (handler, _) = open(Bounds::default());
    let many: String = (0..120).map(|n| format!("X-{n}: {}\r\n", "y".repeat(500))).collect();
    for fields in [format!("X: {}\r\n", "x".repeat(65_000)), many, format!("{}: x\r\n", "x".repeat(65_000))] {
        let head = format!("GET /v1/info HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n");
        assert!((60_000..64 * 1024).contains(&head.len()), "{}", head.len());
        let began = Instant::now();
        let mut wire = Wire::new(handler.clone());
        head.as_bytes().chunks(1).for_each(|byte| wire.send(byte));
        assert_eq!(statuses(&wire.out), [200]);
        assert!(began.elapsed() < LINEAR, "{:?}", began.elapsed());
    }
    // And so is a body.
    for request in [Request::put("f", vec![b'x'; 60_000]), Request::exec(&["true", &"x".repeat(60_000)], "")] {
        let began = Instant::now();
        let mut wire = Wire::new(handler.clone());
        request.bytes().chunks(1).for_each(|byte| wire.send(byte));
        assert!(matches!(statuses(&wire.out)[..], [200 | 204]));
        assert!(began.elapsed() < LINEAR, "{:?}", began.elapsed());
    }
}

#[test]
fn rx_07_a_head_or_framing_without_end_is_refused_at_the_bound() {
    const MUCH: usize = 20 << 20;
    let (handler, notes) = open(Bounds::default());
    let get = "GET /v1/info HTTP/1.1\r\nHost: localhost\r\n";
    let chunked = "PUT /v1/fs/file?path=f HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\
                   Content-Type: application/octet-stream\r\n\r\n";
    for (start, unit, wanted) in [
        (format!("{get}X: "), "x", 431),
        (format!("{get}X"), "x", 431),
        (get.into(), "X: y\r\n", 431),
        ("GET /".into(), "x", 431),
        ("G".into(), "G", 400),
        (format!("{get}X:"), " ", 431),
        (format!("{chunked}1;x="), "x", 400),
        (format!("{chunked}1;x=\""), "x", 400),
        (chunked.to_string(), "0", 400),
        (format!("{chunked}1\r\nx\r\n0\r\n"), "X: y\r\n", 431),
        (format!("{chunked}1\r\nx\r\n0\r\nX: "), "y", 431),
        (format!("{chunked}1\r\nx\r\n0\r\nX"), "y", 431),
        ("".into(), "\r\n", 400),
    ] {
        let mut wire = Wire::new(handler.clone());
        let bytes = [start.as_bytes(), &unit.as_bytes().repeat(MUCH / unit.len())].concat();
        wire.send(&bytes);
        let got = statuses(&wire.out);
        assert!(got == [wanted] || wanted == 400 && got == [431], "{start:?} {unit:?}: {got:?}");
        let read = bytes.len() - wire.unread();
        assert!(read < DRAINED, "{start:?} {unit:?}: {read} bytes were read");
        wire.pass(Duration::from_secs(3));
        assert!(wire.closed);
    }
    assert!(notes.take().iter().all(|op| op.starts_with("Create")), "a sink that was never finished");
    assert_eq!(Request::get("/v1/fs/file?path=f").ask(&handler).body, b"old");
}

/// A request with a body of `n` bytes, and what a good one is answered.
type Bodied = (&'static str, fn(usize) -> Request, u16);

/// JSON of exactly `n` bytes.
fn padded(start: &str, n: usize) -> String {
    format!("{start}{:n$}", "", n = n - start.len())
}

const BODIED: [Bodied; 4] = [
    ("maxWriteBytes", |n| Request::put("new", vec![b'x'; n]), 204),
    ("maxRequestBytes", |n| Request::post("/v1/exec", &padded("{\"args\":[\"echo\"]}", n)), 200),
    ("maxRequestBytes", |n| Request::post("/v1/exec/K/cancel", &padded("{}", n)), 404),
    (
        "maxRequestBytes",
        |n| Request { method: "DELETE".into(), ..Request::post("/v1/fs/file?path=none", &padded("{}", n)) },
        404,
    ),
];

fn bound_of(handler: &Bounds, name: &str, request: &Request) -> usize {
    let bound = match name {
        "maxWriteBytes" => handler.max_write_bytes,
        // An exec's standard input comes on top, in base64.
        _ if request.target == "/v1/exec" => handler.max_request_bytes + handler.max_write_bytes.div_ceil(3) * 4,
        _ => handler.max_request_bytes,
    };
    bound as usize
}

fn chunked(request: &Request, chunk: usize) -> Vec<u8> {
    let body = request.body.clone().unwrap();
    let mut bytes = Request { body: None, ..request.clone() }.line("Transfer-Encoding: chunked").bytes();
    for chunk in body.chunks(chunk) {
        bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        bytes.extend([chunk, b"\r\n"].concat());
    }
    [&bytes[..], b"0\r\n\r\n"].concat()
}

#[test]
fn rx_15_a_body_of_the_bound_is_taken_and_one_byte_more_is_not() {
    let (handler, notes) = open(small());
    let ask = |bytes: &[u8]| {
        let mut wire = Wire::new(handler.clone());
        wire.send(bytes);
        let answers = replies(&wire.out, "");
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers[0].clone().unwrap()
    };
    for (name, make, good) in BODIED {
        let bound = bound_of(&small(), name, &make(100));
        for request in [make(bound), make(bound - 1)] {
            assert_eq!(ask(&request.bytes()).status, good, "{name}");
            for chunk in [1, 7, 1000, bound] {
                assert_eq!(ask(&chunked(&request, chunk)).status, good, "{name} in chunks of {chunk}");
            }
        }
        Request::new("DELETE", "/v1/fs/file?path=new").ask(&handler);
        notes.take();
        let stated = make(bound + 1);
        for expect in [false, true] {
            // A length that is too much is refused before a byte of it came, and never asked for.
            let stated = if expect { stated.clone().line("Expect: 100-continue") } else { stated.clone() };
            let answer = ask(&Request { body: None, ..stated.line(&format!("Content-Length: {}", bound + 1)) }.bytes());
            assert_eq!((answer.status, answer.code(), answer.fields("connection")), (413, "limit", vec!["close"]));
            assert!(answer.text().contains(&format!("\"name\":\"{name}\"")), "{}", answer.text());
        }
        assert_eq!(ask(&stated.bytes()).status, 413);
        assert_eq!(notes.take(), [""; 0], "{name}");
        for length in ["9223372036854775807", "1000000000000"] {
            let huge = Request { body: None, ..make(100) }.line(&format!("Content-Length: {length}"));
            assert_eq!(ask(&huge.bytes()).status, 413);
        }
        for chunk in [1, 7, 1000, bound + 1] {
            assert_eq!(ask(&chunked(&stated, chunk)).status, 413, "{name} in chunks of {chunk}");
        }
        let chunked_endless = chunked(&make(100), 100);
        let mut wire = Wire::new(handler.clone());
        wire.send(&chunked_endless[..chunked_endless.len() - 5]);
        let much = b"3e8\r\n".iter().copied().chain([b' '; 1000]).chain(*b"\r\n").collect::<Vec<_>>().repeat(20_000);
        wire.send(&much);
        assert_eq!(statuses(&wire.out), [413], "{name}");
        assert!(wire.unread() > much.len() - DRAINED, "{name}: it reads on");
        let done = |op: &String| !op.starts_with("Create");
        assert!(!notes.take().iter().any(done));
        // Nothing was written.
        assert_eq!(Request::get("/v1/fs/stat?path=new").ask(&handler).status, 404);
        notes.take();
    }
}

#[test]
fn rx_15_a_length_that_lies() {
    let (handler, _) = open(small());
    for (_, make, good) in BODIED {
        let request = make(100);
        let body = request.body.clone().unwrap();
        let with = |length: usize| {
            let head = Request { body: None, ..request.clone() }.line(&format!("Content-Length: {length}"));
            [head.bytes(), body.clone()].concat()
        };
        // Low: what is left is another request, and no good one. (The cut body may be one.)
        let mut wire = Wire::new(handler.clone());
        wire.send(&with(99));
        wire.send(b"\r\n\r\n");
        let got = statuses(&wire.out);
        assert!(matches!(got[..], [first, 400] if first == good || first == 400), "{got:?}");
        // High: it waits for more, and gives up. Cut, it is nobody's.
        let mut wire = Wire::new(handler.clone());
        wire.send(&with(101));
        assert_eq!(wire.out, b"");
        wire.pass(times::STALL);
        assert_eq!(statuses(&wire.out), [408]);
        let mut wire = Wire::new(handler.clone());
        wire.send(&with(101));
        wire.hang_up();
        assert!(wire.closed && wire.out.is_empty());
    }
    assert_eq!(Request::get("/v1/fs/stat?path=new").ask(&handler).status, 200, "only the low one");
}

#[test]
fn rx_14_output_over_the_bound_is_a_limit_after_the_run() {
    let bound = 5000;
    let (handler, _) = open(small());
    for (n, over) in [(0, false), (bound, false), (bound + 1, true), (1_000_000, true)] {
        let spew = n.to_string();
        // What it writes afterwards, and that it is still waited for, does not change that.
        for args in [&["spew", &spew][..], &["spew", &spew, ";", "err", "more", ";", "sleep", "5", ";", "exit", "3"]] {
            let mut wire = Wire::new(handler.clone());
            wire.send(&Request::exec(args, "").bytes());
            wire.pass(Duration::from_secs(1));
            assert_eq!(replies(&wire.out, "") == [None], args.len() > 2, "it runs to its end");
            wire.pass(Duration::from_secs(10));
            let answers = replies(&wire.out, "");
            let answer = answers[0].as_ref().unwrap();
            assert_eq!(answer.status, 200);
            if over {
                let wanted = "{\"error\":{\"code\":\"limit\",\"message\":\"over a limit: maxExecOutputBytes\",\
                              \"details\":{\"limit\":5000,\"name\":\"maxExecOutputBytes\",\"ran\":true}}}\n";
                assert_eq!(answer.text(), wanted);
            } else {
                assert!(answer.text().contains("\"exitCode\":"), "{}", answer.text());
            }
        }
        // A stream has no such bound.
        let answer = Request::exec(&["spew", &spew], ",\"stream\":true").ask(&handler);
        assert!(answer.text().ends_with("{\"output\":{\"exitCode\":0}}\n"));
    }
    // Each stream has its own.
    let both = Request::exec(&["spew", "5000", ";", "err", &"x".repeat(4000)], "").ask(&handler);
    assert!(both.text().contains("\"exitCode\":0"), "{}", both.text());
}

#[test]
fn rx_16_json_that_is_a_bomb() {
    let (handler, notes) = open(Bounds::default());
    let mib = 1 << 20;
    let keys: String = (0..1_000_000).map(|n| format!("\"k{n}\":0,")).collect();
    let same: String = "\"k\":0,".repeat(1_000_000);
    for (what, body) in [
        ("open arrays", "[".repeat(mib)),
        ("nested arrays", format!("{{\"x\":{}{}}}", "[".repeat(400_000), "]".repeat(400_000))),
        ("nested objects", "{\"x\":".repeat(200_000)),
        ("open in a member", format!("{{\"args\":{}", "[".repeat(mib))),
        ("members", format!("{{{keys}\"args\":[\"true\"]}}")),
        ("one member", format!("{{{same}\"args\":[\"true\"]}}")),
        ("arguments", format!("{{\"args\":[{}\"x\"]}}", "\"x\",".repeat(1_000_000))),
        ("numbers", format!("{{\"args\":[\"true\"],\"x\":[{}0]}}", "0,".repeat(5_000_000))),
        ("digits", format!("{{\"args\":[\"true\"],\"timeoutMs\":{}}}", "9".repeat(1_000_000))),
        ("zeros", format!("{{\"args\":[\"true\"],\"timeoutMs\":0.{}}}", "0".repeat(1_000_000))),
        ("exponent", "{\"args\":[\"true\"],\"timeoutMs\":1e400}".into()),
        ("negative", "{\"args\":[\"true\"],\"timeoutMs\":-1}".into()),
        ("NULs", format!("{{\"args\":[\"true\",\"{}\"]}}", "\\u0000".repeat(mib / 6))),
        ("lone surrogates", format!("{{\"args\":[\"true\",\"{}\"]}}", "\\ud800".repeat(mib / 6))),
        ("a string without end", format!("{{\"args\":[\"{}", "x".repeat(mib))),
        ("backslashes", format!("{{\"args\":[\"{}", "\\\\".repeat(mib / 2))),
        ("blanks", " ".repeat(mib)),
        ("not UTF-8", "{\"args\":[\"true\"]}".to_owned() + &" ".repeat(mib) + "\u{feff}"),
    ] {
        let began = Instant::now();
        let answer = Request::post("/v1/exec", &body).ask(&handler);
        assert!(matches!((answer.status, answer.code()), (400, "invalid") | (413, "limit")), "{what}: {answer:?}");
        assert!(began.elapsed() < LINEAR, "{what}: {:?}", began.elapsed());
        assert!(answer.body.len() < 2000);
        // On a route that ignores its body it is looked at all the same.
        if body.len() <= mib {
            let cancel = Request::post("/v1/exec/K/cancel", &body).ask(&handler);
            assert!([400, 404, 413].contains(&cancel.status), "{what}");
        }
    }
    assert_eq!(notes.take(), [""; 0]);
    // Large and honest: 40 MiB of standard input.
    let stdin = "QUFB".repeat(10 << 20);
    let answer = Request::exec(&["true"], &format!(",\"stdin\":\"{stdin}\"")).ask(&handler);
    assert_eq!(answer.status, 200);
}

/// A workspace that fails in its own words, at whatever it is asked to do, or a step later.
struct Failing {
    error: Error,
    late: bool,
}

impl Workspace for Failing {
    fn call(&self, op: Op<'_>, _: &mut dyn Room) -> Called {
        let late = || Box::new(Late(self.error.clone()));
        match op {
            Op::Open { .. } if self.late => Ok(Answer::Reader(Reader::new(None, late()))),
            Op::Create { .. } if self.late => Ok(Answer::Sink(late())),
            Op::Exec(_) if self.late => Ok(Answer::Exec(late())),
            _ => Err(self.error.clone()),
        }
        .into()
    }
}

struct Late(Error);

impl Source for Late {
    fn poll_read(&mut self, _: &mut Cx<'_>, _: &mut [u8]) -> Poll<Result<usize, Error>> {
        Poll::Ready(Err(self.0.clone()))
    }
}

impl Sink for Late {
    fn poll_write(&mut self, _: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_finish(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Err(self.0.clone()))
    }
}

impl Exec for Late {
    fn poll_next(&mut self, _: &mut Cx<'_>, _: &mut [u8]) -> Poll<Result<Piece, Error>> {
        Poll::Ready(Err(self.0.clone()))
    }

    fn interrupt(&mut self) {}
}

/// The error in a refusal or a last frame.
fn error_in(body: &str) -> (String, String) {
    let object = json::parse(body.trim_end().as_bytes()).unwrap();
    let error = object.as_object().unwrap().get("error").and_then(Value::as_object).unwrap();
    (error.string("code").unwrap().unwrap().into(), error.string("message").unwrap().unwrap().into())
}

/// Every request that asks the workspace for something.
fn asking() -> [Request; 9] {
    [
        Request::get("/v1/info"),
        Request::get("/v1/fs/stat?path=f"),
        Request::get("/v1/fs/lstat?path=f"),
        Request::get("/v1/fs/readlink?path=f"),
        Request::get("/v1/fs/readdir?path=f"),
        Request::put("f", "x"),
        Request::new("DELETE", "/v1/fs/file?path=f"),
        Request::exec(&["true"], ""),
        Request::exec(&["true"], ",\"stream\":true"),
    ]
}

#[test]
fn se_06_an_unforeseen_error_is_cut_and_escaped() {
    let secret = "S3CRET at the end";
    for text in [
        "x".repeat(1 << 20) + secret,
        "\u{1b}[2J\0\r\n\u{7f}\u{9b}\u{202e}".repeat(1000) + secret,
        "é".repeat(1 << 19) + secret,
        "€".repeat(1 << 18) + secret,
        "🤣".repeat(1 << 18) + secret,
        "\"}},\\".repeat(1 << 18) + secret,
        "y".to_owned() + &"🤣".repeat(1 << 18),
    ] {
        for max_error_bytes in [512, 511, 510, 509, 1, 0] {
            let bounds = Bounds { max_error_bytes, ..Bounds::default() };
            for late in [false, true] {
                let failing = Failing { error: Error::other(text.clone()), late };
                let handler = Handler::with(failing, Access::Insecure(Scopes::ALL), bounds.clone(), times::LEASE);
                for request in asking() {
                    let answer = request.ask(&handler);
                    let (code, message) = error_in(answer.text());
                    assert_eq!(code, "other");
                    assert!(message.len() as u64 <= max_error_bytes, "{}", message.len());
                    assert!(text.starts_with(&message), "cut at a character's border");
                    assert!(message.len() as u64 + 4 > max_error_bytes, "and no sooner");
                    let frames = answer.body.iter().filter(|b| **b == b'\n').count();
                    assert!(frames <= 1 && answer.body.iter().all(|b| *b >= b' ' || *b == b'\n'), "{}", answer.text());
                }
            }
        }
    }
}

/// The words of a workspace's mapped errors may name a path of this machine: only the code's own cross the wire.
#[test]
fn se_04_words_of_mapped_errors_stay_here() {
    let codes = [
        Code::Forbidden,
        Code::Outside,
        Code::NotExist,
        Code::Exist,
        Code::Permission,
        Code::Invalid,
        Code::Unsupported,
        Code::ProcessDone,
        Code::Closed,
        Code::NoServer,
        Code::NoSession,
        Code::Limit,
    ];
    for code in codes {
        for late in [false, true] {
            let error = Error::new(code, "/srv/CANARYROOT/ws/f").with(|d| d.errno = Some("EIO".into()));
            let handler = Handler::new(Failing { error: error.clone(), late }, Access::Insecure(Scopes::ALL));
            for request in asking() {
                let answer = request.ask(&handler);
                assert!(!format!("{answer:?}").contains("CANARYROOT"), "{request:?}: {answer:?}");
                let (told, message) = error_in(answer.text());
                assert_eq!((&*told, &*message), (code.name(), code.words()), "{request:?}");
                let wanted = if code == Code::Closed { 503 } else { status_of(&Error::from(code)) };
                let frame = answer.fields("content-type") == ["application/x-ndjson"];
                assert_eq!(answer.status, if frame { 200 } else { wanted }, "{request:?}");
            }
            // What fails while it is sent can only be cut.
            let mut wire = Wire::new(handler);
            wire.send(&Request::get("/v1/fs/file?path=f").bytes());
            let answers = replies(&wire.out, "");
            assert!(wire.closed || !late, "{code:?}");
            assert_eq!(answers[0].is_none(), late, "{code:?}: {answers:?}");
            assert!(!String::from_utf8_lossy(&wire.out).contains("CANARYROOT"));
        }
    }
}
