//! Framing against a model: what is written is what is read, however it is cut; and nothing that is sent does harm.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../tests/src/http1.rs"]
#[allow(dead_code, reason = "only the loop and the cuts are used here")]
mod http1;

use farside_wire::fuzz;
use farside_wire::http::{
    CHUNK_HEAD, Decoder, Fault, Field, Framing, HeadScan, LAST_CHUNK, Part, RequestHead, ResponseHead, chunk_head,
    reason,
};
use http1::{End, Xorshift, cases, frame};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A message as its sender means it.
#[derive(Clone, Debug)]
struct Message {
    fields: Vec<Line>,
    body: Body,
}

/// A field: name, blanks, value, blanks.
type Line = (String, &'static str, Vec<u8>, &'static str);

#[derive(Clone, Debug)]
enum Body {
    None,
    Length(Vec<u8>),
    Chunked(Vec<Chunk>, Vec<Line>),
    UntilClose(Vec<u8>),
}

/// The data, the leading zeros and the extension of one chunk; not empty.
#[derive(Clone, Debug)]
struct Chunk {
    data: Vec<u8>,
    zeros: usize,
    extension: Vec<u8>,
}

impl Message {
    fn write(&self, first_line: &str, out: &mut Vec<u8>) {
        out.extend(first_line.as_bytes());
        self.fields.iter().for_each(|field| write_line(field, out));
        match &self.body {
            Body::None | Body::UntilClose(_) => {}
            Body::Length(data) => out.extend(format!("content-LENGTH: {}\r\n", data.len()).as_bytes()),
            Body::Chunked(..) => out.extend(b"transfer-Encoding: Chunked\r\n"),
        }
        out.extend(b"\r\n");
        self.write_body(out);
    }

    fn write_body(&self, out: &mut Vec<u8>) {
        let Body::Chunked(chunks, trailers) = &self.body else { return out.extend(self.data()) };
        for Chunk { data, zeros, extension } in chunks {
            out.extend(format!("{}{:X}", "0".repeat(*zeros), data.len()).as_bytes());
            out.extend([extension, &b"\r\n"[..], data, b"\r\n"].concat());
        }
        out.extend(b"00\r\n");
        trailers.iter().for_each(|trailer| write_line(trailer, out));
        out.extend(b"\r\n");
    }

    fn data(&self) -> Vec<u8> {
        match &self.body {
            Body::None => Vec::new(),
            Body::Length(data) | Body::UntilClose(data) => data.clone(),
            Body::Chunked(chunks, _) => chunks.iter().flat_map(|chunk| chunk.data.clone()).collect(),
        }
    }

    fn framing(&self) -> Framing {
        match &self.body {
            Body::None => Framing::Length(0),
            Body::Length(data) => Framing::Length(data.len() as u64),
            Body::Chunked(..) => Framing::Chunked,
            Body::UntilClose(_) => Framing::UntilClose,
        }
    }

    /// Whether `seen` begins with the fields this message has; those that frame come last.
    fn has_fields<'b>(&self, mut seen: impl Iterator<Item = (&'b str, &'b [u8])>) -> bool {
        self.fields.iter().all(|(name, _, value, _)| seen.next() == Some((name, value)))
    }
}

fn write_line((name, before, value, after): &Line, out: &mut Vec<u8>) {
    out.extend([name.as_bytes(), b":", before.as_bytes(), value, after.as_bytes(), b"\r\n"].concat());
}

fn token(len: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let letters = b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".to_vec();
    vec(select(letters), len).prop_map(|letters| String::from_utf8(letters).unwrap())
}

/// Any bytes that may stand in a value.
fn text() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![4 => b' '..=b'~', 1 => Just(b'\t'), 1 => 0x80..=0xffu8], 0..24)
}

fn line() -> impl Strategy<Value = Line> {
    let blanks = || select(vec!["", " ", "\t", " \t "]);
    // The prefix keeps it from being a field that framing knows.
    (token(0..12), blanks(), text(), blanks()).prop_map(|(name, before, value, after)| {
        let value = value.trim_ascii_start().trim_ascii_end().to_vec();
        (format!("x{name}"), before, value, after)
    })
}

fn quoted() -> impl Strategy<Value = Vec<u8>> {
    text().prop_map(|text| {
        let mut quoted = vec![b'"'];
        for b in text {
            if matches!(b, b'"' | b'\\') {
                quoted.push(b'\\');
            }
            quoted.push(b);
        }
        quoted.push(b'"');
        quoted
    })
}

fn extension() -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![token(1..8).prop_map(String::into_bytes), quoted()];
    vec((token(1..8), proptest::option::of(value)), 0..3).prop_map(|list| {
        let one = |(name, value): (String, Option<Vec<u8>>)| {
            let value = value.map(|value| [b"=", &*value].concat()).unwrap_or_default();
            [b";", name.as_bytes(), &value].concat()
        };
        list.into_iter().flat_map(one).collect()
    })
}

fn data(len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    // Bytes that frame, as well as any others.
    vec(prop_oneof![select(b"\r\n0;:".to_vec()), any::<u8>()], len)
}

fn chunks() -> impl Strategy<Value = Body> {
    let chunk = (data(1..80), 0usize..8, extension());
    let chunk = chunk.prop_map(|(data, zeros, extension)| Chunk { data, zeros, extension });
    (vec(chunk, 0..8), vec(line(), 0..4)).prop_map(|(chunks, trailers)| Body::Chunked(chunks, trailers))
}

fn message(body: impl Strategy<Value = Body>) -> impl Strategy<Value = Message> {
    (vec(line(), 0..10), body).prop_map(|(fields, body)| Message { fields, body })
}

fn request_body() -> impl Strategy<Value = Body> {
    prop_oneof![Just(Body::None), data(0..200).prop_map(Body::Length), chunks()]
}

fn reply_body() -> impl Strategy<Value = Body> {
    prop_oneof![data(0..200).prop_map(Body::Length), chunks(), data(0..200).prop_map(Body::UntilClose)]
}

/// A method, a path and perhaps a query.
fn request_line() -> impl Strategy<Value = (String, String, Option<String>)> {
    let visible = |but: &'static [u8]| {
        let letters: Vec<u8> = (b'!'..=b'~').filter(|b| !but.contains(b)).collect();
        vec(select(letters), 0..20).prop_map(|letters| String::from_utf8(letters).unwrap())
    };
    (token(1..33), visible(b"#?"), proptest::option::of(visible(b"#")))
}

/// Decodes a body that comes in `pieces`; its data, and how many bytes it took if it was over before the input.
fn decode<'p>(framing: Framing, pieces: impl IntoIterator<Item = &'p [u8]>) -> Result<(Vec<u8>, usize), Fault> {
    let (mut decoder, mut rx, mut data, mut used) = (Decoder::new(framing), Vec::new(), Vec::new(), 0);
    let mut pieces = pieces.into_iter();
    loop {
        match decoder.next(&rx)? {
            Part::Skip(n) => {
                rx.drain(..n);
                used += n;
            }
            Part::Data(n) => {
                // Less than there is may be used.
                let n = n.div_ceil(2);
                data.extend(rx.drain(..n));
                decoder.took(n);
                used += n;
            }
            Part::End => return Ok((data, used)),
            Part::More => match pieces.next() {
                Some(piece) => rx.extend(piece),
                None => decoder.at_end_of_input()?,
            },
        }
    }
}

proptest! {
    #[test]
    fn requests_are_read_as_they_were_written(
        requests in vec((request_line(), message(request_body())), 1..4),
        seed in any::<u64>(),
    ) {
        let mut bytes = Vec::new();
        for ((method, path, query), message) in &requests {
            let query = query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
            message.write(&format!("{method} /{path}{query} HTTP/1.1\r\nHost: localhost\r\n"), &mut bytes);
        }
        let mut rest = &*bytes;
        for ((method, path, query), message) in &requests {
            let end = HeadScan::default().find(rest).unwrap().unwrap();
            let head = RequestHead::parse(&rest[..end]).unwrap();
            prop_assert_eq!((head.method, &head.target.path[1..]), (&**method, &**path));
            prop_assert_eq!(head.target.query, query.as_deref());
            prop_assert_eq!((head.host(), head.framing), (Some("localhost"), message.framing()));
            prop_assert!(message.has_fields(head.fields.iter().skip(1)));
            let (data, used) = decode(head.framing, [&rest[end..]]).unwrap();
            prop_assert_eq!(data, message.data());
            rest = &rest[end + used..];
        }
        prop_assert!(rest.is_empty());

        let whole = frame([&*bytes]);
        prop_assert_eq!((whole.end, whole.requests.len()), (End::Idle, requests.len()));
        prop_assert_eq!(&frame(Xorshift::new(seed).cut(&bytes, 12)), &whole);
        prop_assert_eq!(&frame(bytes.chunks(1)), &whole);
    }

    #[test]
    fn replies_are_read_as_they_were_written(
        status in 200u16..600, message in message(reply_body()), to_head in any::<bool>(), seed in any::<u64>(),
    ) {
        let mut bytes = Vec::new();
        message.write(&format!("HTTP/1.1 {status} {}\r\n", reason(status)), &mut bytes);
        let end = HeadScan::default().find(&bytes).unwrap().unwrap();
        let head = ResponseHead::parse(&bytes[..end], to_head).unwrap();
        prop_assert_eq!(head.status, status);
        prop_assert!(message.has_fields(head.fields.iter()));
        if to_head || matches!(status, 204 | 304) {
            prop_assert_eq!(head.framing, Framing::Length(0));
            return Ok(());
        }
        prop_assert_eq!(head.framing, message.framing());
        prop_assert_eq!(head.keep_alive, !matches!(message.body, Body::UntilClose(_)));
        for pieces in [vec![&bytes[end..]], bytes[end..].chunks(1).collect(), Xorshift::new(seed).cut(&bytes[end..], 12)] {
            prop_assert_eq!(decode(head.framing, pieces).unwrap(), (message.data(), bytes.len() - end));
        }
    }

    /// A body that is cut anywhere is never taken for a whole one.
    #[test]
    fn a_cut_body_is_no_body(message in message(request_body()), at in any::<prop::sample::Index>()) {
        let mut body = Vec::new();
        message.write_body(&mut body);
        if !body.is_empty() {
            prop_assert_eq!(decode(message.framing(), [&body[..at.index(body.len())]]), Err(Fault::CutBody));
        }
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in vec(any::<u8>(), 0..300)) {
        fuzz::http::head(&bytes);
        fuzz::http::chunked(&bytes);
    }

    /// Bytes that look like HTTP get further than random ones.
    #[test]
    fn near_misses_do_no_harm(
        pieces in vec(prop_oneof![
            8 => select(vec![
                "GET ", "POST / HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n", "Host: a\r\n", "Content-Length: ", "Transfer-Encoding: chunked\r\n",
                "\r\n", "\r", "\n", ": ", " ", "\t", ",", ";", "a=b", "\"", "\\", "0", "5", "ffffffffffffffff", "hello", "\r\n\r\n", "\0", "http://",
                "Connection: close\r\n", "Upgrade: websocket\r\n", "Expect: 100-continue\r\n", "0\r\n\r\n", "5\r\nhello\r\n", "*", "?", "#",
            ]).prop_map(|text| text.as_bytes().to_vec()),
            1 => vec(any::<u8>(), 1..4),
        ], 0..24),
    ) {
        let bytes = pieces.concat();
        fuzz::http::head(&bytes);
        fuzz::http::chunked(&bytes);
        prop_assert_eq!(frame(bytes.chunks(1)), frame([&*bytes]));
    }

    #[test]
    fn chunks_are_written_as_they_are_read(data in vec(data(1..300), 0..6)) {
        let mut bytes = Vec::new();
        for data in &data {
            bytes.extend([&chunk_head(data.len()), &**data, b"\r\n"].concat());
        }
        bytes.extend(LAST_CHUNK);
        let size = bytes.len();
        prop_assert_eq!(decode(Framing::Chunked, [&*bytes]).unwrap(), (data.concat(), size));
    }
}

#[test]
fn the_cases_do_no_harm() {
    for case in cases() {
        fuzz::http::head(&case.bytes);
        let body = case.bytes.windows(4).position(|w| w == b"\r\n\r\n").map_or(0, |at| at + 4);
        fuzz::http::chunked(&case.bytes[body..]);
    }
}

#[test]
fn a_chunk_head_has_one_length() {
    assert_eq!(&chunk_head(1), b"00000001\r\n");
    assert_eq!(&chunk_head(0xdead_beef), b"deadbeef\r\n");
    assert_eq!(chunk_head(usize::try_from(u32::MAX).unwrap()).len(), CHUNK_HEAD);
}

/// The scan is linear: what it has seen it does not look at again, so that changing it changes nothing.
#[test]
fn the_scan_does_not_look_back() {
    let mut bytes = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ".to_vec();
    let mut scan = HeadScan::default();
    assert_eq!(scan.find(&bytes), Ok(None));
    let seen = bytes.len();
    bytes[..seen].fill(b'\n');
    for _ in 0..100 {
        bytes.push(b'a');
        assert_eq!(scan.find(&bytes), Ok(None));
    }
    bytes[seen..].fill(b'\r');
    bytes.extend(b"\r\n\r\n");
    assert_eq!(scan.find(&bytes), Ok(Some(bytes.len())));
}

/// Every status has its three digits read, and no other text is one.
#[test]
fn every_status() {
    for status in 0..1000u16 {
        let head = format!("HTTP/1.1 {status:03} \r\n\r\n");
        let read = ResponseHead::parse(head.as_bytes(), true).map(|head| head.status);
        assert_eq!(read, if (100..600).contains(&status) { Ok(status) } else { Err(Fault::BadStatusLine) });
    }
}

#[test]
fn fields_are_found_in_any_case() {
    let head = b"GET / HTTP/1.1\r\nHOST: a\r\nX-One: 1\r\nx-two: 1\r\nX-TWO:\r\nContent-Length: 7\r\n\r\n";
    let fields = RequestHead::parse(head).unwrap().fields;
    assert_eq!(fields.get("x-one"), Field::One(b"1"));
    assert_eq!(fields.get("x-two"), Field::Many);
    assert_eq!(fields.get("x-three"), Field::Absent);
    assert_eq!(fields.content_length(), Ok(Some(7)));
}

/// A head goes into `parse` whole and alone: what is more or less than that is a fault and no panic.
#[test]
fn a_head_is_parsed_whole_and_alone() {
    let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for end in 0..head.len() {
        assert!(RequestHead::parse(&head[..end]).is_err(), "cut at {end}");
    }
    assert_eq!(RequestHead::parse(&[head, &b"x"[..]].concat()), Err(Fault::CutHead));
    assert_eq!(RequestHead::parse(b"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n"), Err(Fault::BareCr));
    assert_eq!(RequestHead::parse(b"GET / HTTP/1.1\r\nHost: a\nX: a\r\n\r\n"), Err(Fault::BareLf));
}
