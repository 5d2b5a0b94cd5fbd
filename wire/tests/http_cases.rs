//! The public HTTP/1.1 cases against framing alone: whole, byte by byte, and cut at random.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../tests/src/http1.rs"]
mod http1;

use http1::{Case, End, Framed, Outcome, Xorshift, cases, frame};

/// Says why what was seen is not the outcome we take, as far as framing decides it.
fn judge(case: &Case, seen: &Framed) -> Result<(), String> {
    let between = matches!(seen.end, End::Idle | End::Closed);
    let requests = seen.requests.len();
    let good = match case.taken {
        // A request that the guard or the routes refuse has to be framed like any other.
        Outcome::Status { status: 403 | 404 | 405 | 421, .. } => requests == 1 && between,
        Outcome::Status { status, .. } => {
            requests == 0 && matches!(seen.end, End::Fault(fault) if fault.status() == status)
        }
        Outcome::Count { requests: n, close: false } => requests == n && between,
        Outcome::Count { requests: n, close: true } => requests == n && seen.end == End::Closed,
        Outcome::Body => requests == 1 && between && !seen.requests[0].body.is_empty(),
        Outcome::Then400 => requests == 1 && matches!(seen.end, End::Fault(fault) if fault.status() == 400),
        Outcome::Wait => requests == 0 && matches!(seen.end, End::Within { .. }),
        Outcome::ContinueOrFinal => requests == 0 && seen.end == End::Within { expects_continue: true },
        Outcome::Close => false,
    };
    if good { Ok(()) } else { Err(format!("{} ({}): {:?} was due, seen {seen:?}", case.id, case.note, case.taken)) }
}

#[test]
fn every_case_is_framed_as_the_spec_says() {
    let mut wrong = Vec::new();
    for case in cases() {
        wrong.extend(judge(&case, &frame([&*case.bytes])).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn cuts_change_nothing() {
    for case in cases() {
        let whole = frame([&*case.bytes]);
        assert_eq!(frame(case.bytes.chunks(1)), whole, "{} byte by byte", case.id);
        for seed in 1..=20 {
            assert_eq!(frame(Xorshift::new(seed).cut(&case.bytes, 20)), whole, "{} with seed {seed}", case.id);
        }
    }
}

/// What comes after a fault or a last request is never looked at, so it cannot become a request.
#[test]
fn what_follows_is_not_looked_at() {
    for case in cases() {
        let whole = frame([&*case.bytes]);
        if matches!(whole.end, End::Fault(_) | End::Closed) {
            let more = [&*case.bytes, b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n"].concat();
            assert_eq!(frame([&*more]), whole, "{}", case.id);
        }
    }
}

#[test]
fn credentials_go_into_each_request_but_the_smuggled_one() {
    let line = "Authorization: Bearer x\r\n";
    for case in cases() {
        let (bare, full) = (case.bytes.len(), case.authorized(line));
        let lines = (full.len() - bare) / line.len();
        let due = match &*case.id {
            "H1-PI-01" => 20,
            "H1-LN-02" | "H1-RL-03" | "H1-RL-17" | "H1-RL-32" | "H1-RL-33" | "H1-HO-01" | "H1-HO-05" | "H1-HO-07" => 0,
            // Its Host line ends in LF alone.
            "H1-LN-01" => 0,
            _ => 1,
        };
        assert_eq!(lines, due, "{}: {}", case.id, String::from_utf8_lossy(&full));
        assert!(
            !String::from_utf8_lossy(&full).contains("/v1/smuggled HTTP/1.1\r\nHost: localhost\r\nAuth"),
            "{}",
            case.id
        );
    }
}

#[test]
fn outcomes_are_read_strictly() {
    for word in
        ["", "c", "0", "00", "099", "600", "1000", "1x", "+1", "1+bod", "400C", "400cc", " 1", "wait", "1then400"]
    {
        assert_eq!(Outcome::parse(word), None, "{word:?}");
    }
    assert_eq!(Outcome::parse("20"), Some(Outcome::Count { requests: 20, close: false }));
    assert_eq!(Outcome::parse("431c"), Some(Outcome::Status { status: 431, close: true }));
    for case in cases() {
        assert!(case.expected.contains(&case.taken));
    }
}

/// The macro's text is what some Content-Length fields count.
#[test]
fn the_smuggled_request_has_46_bytes() {
    let case = cases().into_iter().find(|case| case.id == "H1-EX-02").unwrap();
    let seen = frame([&*case.bytes]);
    assert_eq!(seen.requests[0].body, b"GET /v1/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!((seen.requests[0].method.as_str(), seen.requests[0].path.as_str()), ("POST", "/v1/sessions"));
}
