//! Framing against two other readers. We may refuse what they take; what we take they must take and read alike, or the difference
//! stands in the list below with its reason.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../tests/src/http1.rs"]
#[allow(dead_code, reason = "only the cases, the loop and the numbers are used here")]
mod http1;

use farside_wire::http::{Decoder, Fields, HeadScan, MAX_FIELDS, Part, RequestHead, ResponseHead, Version};
use farside_wire::target::Target;
use http1::{End, Request, Xorshift, cases, frame};
use shiguredo_http11::{DecoderLimits, RequestDecoder, ResponseDecoder};
use std::collections::BTreeSet;

const ROUNDS: u64 = 40_000;

/// A reason, and whether it can be the reason for what was seen of these bytes.
type Reviewed = (&'static str, fn(&[u8]) -> bool);

/// Where shiguredo_http11 refuses what we take, and why we take it.
const REVIEWED: &[Reviewed] = &[
    ("it wants UTF-8 everywhere; RFC 9110 5.5 has opaque bytes in values", |bytes| std::str::from_utf8(bytes).is_err()),
    ("it takes no empty line before a request; RFC 9112 2.2 asks for that", |bytes| bytes.starts_with(b"\r\n")),
    ("it checks a target as RFC 3986 has it; we leave that to the routes and to the query", |bytes| {
        let mut lines = bytes.split(|&b| b == b'\n').filter(|line| line.windows(8).any(|w| w == b" HTTP/1."));
        lines.any(|line| line.iter().any(|b| b"\"<>\\^`{|}[]%".contains(b)))
    }),
    ("it refuses a trailer that was not announced; we drop every trailer", |bytes| {
        bytes.windows(3).enumerate().any(|(at, w)| w == b"0\r\n" && bytes.get(at + 3).is_some_and(|b| *b != b'\r'))
    }),
];

/// Every public case and every vector of one role.
fn seeds(role: &str) -> Vec<Vec<u8>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/framing.json");
    let vectors: Vec<serde_json::Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let hex =
        |hex: &str| (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    let given = vectors.iter().map(|vector| &vector["given"]).filter(|given| given["role"] == role);
    let mut seeds: Vec<Vec<u8>> = given.filter_map(|given| given["bytes_hex"].as_str().map(hex)).collect();
    if role == "server" {
        seeds.extend(cases().into_iter().map(|case| case.bytes).filter(|bytes| bytes.len() < 4096));
    }
    seeds
}

/// A seed with up to four small changes.
fn mutant(seeds: &[Vec<u8>], round: u64) -> Vec<u8> {
    const ODD: &[u8] = b"\r\n\t\0 :;,=\"\\0159aAfFxX+-_/?#@[]%*\x7f\x80\xff";
    let mut random = Xorshift::new(round + 1);
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..random.below(5) {
        let at = random.below(bytes.len() + 1);
        let to = bytes.len().min(at + random.below(24));
        let odd = ODD[random.below(ODD.len())];
        match random.below(5) {
            0 => bytes.insert(at, odd),
            1 if at < bytes.len() => bytes[at] = odd,
            2 => drop(bytes.drain(at..to.min(at + 3))),
            3 => drop(bytes.splice(at..at, bytes[at..to].to_vec())),
            _ => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                let part = other[from..other.len().min(from + 40)].to_vec();
                drop(bytes.splice(at..at, part));
            }
        }
    }
    bytes
}

fn same_fields(ours: Fields<'_>, theirs: &[httparse::Header<'_>]) -> bool {
    ours.iter().eq(theirs.iter().map(|header| (header.name, header.value)))
}

fn minor(version: Version) -> Option<u8> {
    Some(if version == Version::Http11 { 1 } else { 0 })
}

/// The target without what `Target` has parted off.
fn rest_of<'b>(target: &Target<'_>, whole: &'b str) -> &'b str {
    let Some(authority) = target.authority else { return whole };
    whole.split_once("://").unwrap().1.strip_prefix(authority).unwrap()
}

fn agrees_with_httparse_on_a_request(head: &[u8], ours: &RequestHead<'_>) -> bool {
    let mut headers = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut theirs = httparse::Request::new(&mut headers);
    let complete = theirs.parse(head) == Ok(httparse::Status::Complete(head.len()));
    let query = ours.target.query.map(|query| format!("?{query}")).unwrap_or_default();
    complete
        && theirs.method == Some(ours.method)
        && theirs.version == minor(ours.version)
        && theirs.path.is_some_and(|path| match rest_of(&ours.target, path) {
            rest if rest.starts_with('/') || rest == "*" => rest == format!("{}{query}", ours.target.path),
            rest => ours.target.path == "/" && rest == query,
        })
        && same_fields(ours.fields, theirs.headers)
}

#[test]
fn httparse_reads_requests_alike() {
    let seeds = seeds("server");
    let mut taken = 0;
    for round in 0..ROUNDS {
        let bytes = mutant(&seeds, round);
        let Ok(Some(end)) = HeadScan::default().find(&bytes) else { continue };
        let Ok(ours) = RequestHead::parse(&bytes[..end]) else { continue };
        taken += 1;
        let alike = agrees_with_httparse_on_a_request(&bytes[..end], &ours);
        assert!(alike, "round {round}: {}", bytes.escape_ascii());
    }
    assert!(taken > ROUNDS / 8, "only {taken} heads were compared");
}

#[test]
fn httparse_reads_replies_alike() {
    let seeds = seeds("client");
    let mut taken = 0;
    for round in 0..ROUNDS {
        let bytes = mutant(&seeds, round);
        let Ok(Some(end)) = HeadScan::default().find(&bytes) else { continue };
        let Ok(ours) = ResponseHead::parse(&bytes[..end], false) else { continue };
        taken += 1;
        let mut headers = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut theirs = httparse::Response::new(&mut headers);
        let complete = theirs.parse(&bytes[..end]) == Ok(httparse::Status::Complete(end));
        let alike = complete
            && theirs.code == Some(ours.status)
            && theirs.version == minor(ours.version)
            && same_fields(ours.fields, theirs.headers);
        assert!(alike, "round {round}: {}", bytes.escape_ascii());
    }
    assert!(taken > ROUNDS / 8, "only {taken} heads were compared");
}

/// The whole requests that shiguredo_http11 sees, up to its first refusal.
fn their_requests(bytes: &[u8]) -> Vec<Request> {
    let mut decoder = RequestDecoder::with_limits(DecoderLimits::unlimited());
    let mut requests = Vec::new();
    decoder.feed(bytes).unwrap();
    while let Ok(Some(request)) = decoder.decode() {
        requests.push(Request {
            method: request.method().into(),
            path: request.uri().into(),
            body: request.body_bytes().unwrap_or_default().into(),
        });
    }
    requests
}

#[test]
fn shiguredo_frames_requests_alike() {
    let seeds = seeds("server");
    let (mut taken, mut used) = (0, BTreeSet::new());
    for round in 0..ROUNDS {
        let bytes = mutant(&seeds, round);
        let (ours, theirs) = (frame([&*bytes]), their_requests(&bytes));
        let said = || format!("round {round}: {}\n{ours:?}\n{theirs:?}", bytes.escape_ascii());
        taken += ours.requests.len();
        for (ours, theirs) in ours.requests.iter().zip(&theirs) {
            assert!(ours.method == theirs.method && ours.body == theirs.body, "{}", said());
        }
        if theirs.len() < ours.requests.len() {
            used.insert(REVIEWED.iter().position(|(_, is)| is(&bytes)).unwrap_or_else(|| panic!("{}", said())));
        } else if theirs.len() > ours.requests.len() {
            assert!(matches!(ours.end, End::Fault(_) | End::Closed), "{}", said());
        }
    }
    assert!(taken as u64 > ROUNDS / 8, "only {taken} requests were compared");
    assert_eq!(used.len(), REVIEWED.len(), "a reviewed difference is none any more: {used:?}");
}

/// The first final reply of `bytes`, its status and body, after which the connection ends.
fn our_reply(bytes: &[u8]) -> Option<(u16, Vec<u8>)> {
    let mut rest = bytes;
    loop {
        let end = HeadScan::default().find(rest).ok()??;
        let head = ResponseHead::parse(&rest[..end], false).ok()?;
        rest = &rest[end..];
        if head.status < 200 {
            continue;
        }
        let (mut decoder, mut body) = (Decoder::new(head.framing), Vec::new());
        loop {
            match decoder.next(rest).ok()? {
                Part::Skip(n) => rest = &rest[n..],
                Part::Data(n) => {
                    body.extend(&rest[..n]);
                    rest = &rest[n..];
                    decoder.took(n);
                }
                Part::More => decoder.at_end_of_input().ok()?,
                Part::End => return Some((head.status, body)),
            }
        }
    }
}

fn their_reply(bytes: &[u8]) -> Option<(u16, Vec<u8>)> {
    let mut decoder = ResponseDecoder::with_limits(DecoderLimits::unlimited());
    decoder.feed(bytes).ok()?;
    loop {
        let mut reply = decoder.decode().ok()?;
        if reply.is_none() && decoder.is_close_delimited() {
            decoder.mark_eof();
            reply = decoder.decode().ok()?;
        }
        let reply = reply?;
        if reply.status_code() >= 200 {
            return Some((reply.status_code(), reply.body_bytes().unwrap_or_default().into()));
        }
    }
}

#[test]
fn shiguredo_frames_replies_alike() {
    let seeds = seeds("client");
    let mut taken = 0;
    for round in 0..ROUNDS {
        let bytes = mutant(&seeds, round);
        let Some(ours) = our_reply(&bytes) else { continue };
        taken += 1;
        let theirs = their_reply(&bytes);
        let reviewed = REVIEWED.iter().any(|(_, is)| is(&bytes));
        assert!(
            theirs.as_ref() == Some(&ours) || reviewed,
            "round {round}: {}\n{ours:?}\n{theirs:?}",
            bytes.escape_ascii()
        );
    }
    assert!(taken > ROUNDS / 8, "only {taken} replies were compared");
}
