//! What must hold of HTTP/1.1 framing for any bytes.

use crate::http::{Decoder, Fault, Framing, HeadScan, MAX_FIELDS, MAX_HEAD, Part, RequestHead, ResponseHead, Version};
use crate::out::Out as _;
use alloc::vec::Vec;

/// A head is found at one place however its bytes come, and what was read from it can be written and read again.
pub fn head(bytes: &[u8]) {
    let whole = HeadScan::default().find(bytes);
    let mut scan = HeadScan::default();
    let mut dripped = Ok(None);
    for len in 0..=bytes.len() {
        dripped = scan.find(&bytes[..len]);
        if let Ok(Some(end)) = dripped {
            assert_eq!(len, end, "an end was seen late");
            assert_eq!(scan, HeadScan::default(), "the scan is not ready for the next head");
        }
        if dripped != Ok(None) {
            break;
        }
    }
    assert_eq!(dripped, whole);
    assert!(whole != Ok(None) || bytes.len() < MAX_HEAD, "a head over the bound is waited for");
    let Ok(Some(end)) = whole else { return };
    assert!(end <= MAX_HEAD.min(bytes.len()));
    if let Ok(head) = RequestHead::parse(&bytes[..end]) {
        request(&head);
    }
    for to_head_request in [false, true] {
        if let Ok(head) = ResponseHead::parse(&bytes[..end], to_head_request) {
            assert!((100..600).contains(&head.status));
            assert!(!(head.keep_alive && head.framing == Framing::UntilClose));
        }
    }
}

fn request(head: &RequestHead<'_>) {
    assert_ne!(head.framing, Framing::UntilClose);
    assert!(head.fields.iter().count() <= MAX_FIELDS);
    assert!(head.host().is_none_or(crate::host::is_valid));
    assert!(head.target.path.starts_with('/') || head.target.path == "*");
    let mut written = Vec::new();
    for part in [head.method, " "] {
        written.put(part.as_bytes());
    }
    if let Some(authority) = head.target.authority {
        written.put(b"http://");
        written.put(authority.as_bytes());
    }
    written.put(head.target.path.as_bytes());
    if let Some(query) = head.target.query {
        written.put(b"?");
        written.put(query.as_bytes());
    }
    written.put(if head.version == Version::Http11 { b" HTTP/1.1\r\n" } else { b" HTTP/1.0\r\n" });
    for (name, value) in head.fields.iter() {
        for part in [name.as_bytes(), b":", value, b"\r\n"] {
            written.put(part);
        }
    }
    written.put(b"\r\n");
    if written.len() <= MAX_HEAD {
        assert_eq!(HeadScan::default().find(&written), Ok(Some(written.len())));
    }
    let again = RequestHead::parse(&written);
    assert!(again.is_ok_and(|again| {
        (again.method, again.target, again.version) == (head.method, head.target, head.version)
            && (again.framing, again.keep_alive, again.expect_continue)
                == (head.framing, head.keep_alive, head.expect_continue)
            && again.host() == head.host()
            && again.fields.iter().eq(head.fields.iter())
    }));
}

/// A chunked body has one reading however its bytes come; it takes no more than was given, in no more steps than there are bytes.
pub fn chunked(bytes: &[u8]) {
    let whole = decode(bytes, bytes.len());
    for piece in [1, 2, 7] {
        assert_eq!(decode(bytes, piece), whole, "in pieces of {piece}");
    }
}

#[derive(Debug, PartialEq)]
struct Decoded {
    data: Vec<u8>,
    /// How many bytes the body had, if it was over.
    end: Result<Option<usize>, Fault>,
}

/// Decodes bytes that come `piece` at a time.
fn decode(bytes: &[u8], piece: usize) -> Decoded {
    let mut decoder = Decoder::new(Framing::Chunked);
    let (mut used, mut given, mut steps, mut data) = (0, 0, 0, Vec::new());
    let end = loop {
        let window = &bytes[used..given];
        let before = (decoder.remaining(), decoder.is_done());
        steps += 1;
        match decoder.next(window) {
            Ok(Part::Skip(n)) => {
                assert!((1..=window.len()).contains(&n) && before.0.is_none());
                used += n;
            }
            Ok(Part::Data(n)) => {
                assert!((1..=window.len()).contains(&n) && before.0.is_some_and(|left| n as u64 <= left));
                data.put(&window[..n]);
                decoder.took(n);
                used += n;
            }
            Ok(Part::More) => {
                assert!(window.is_empty() && !before.1);
                if given == bytes.len() {
                    assert_eq!(decoder.at_end_of_input(), Err(Fault::CutBody));
                    break Ok(None);
                }
                given = bytes.len().min(given + piece);
            }
            Ok(Part::End) => {
                assert!(decoder.is_done() && decoder.at_end_of_input() == Ok(()));
                break Ok(Some(used));
            }
            Err(fault) => {
                assert_eq!(decoder.next(window), Err(fault), "a fault went away");
                break Err(fault);
            }
        }
    };
    assert!(steps <= used + given.div_ceil(piece.max(1)) + 2, "more steps than bytes");
    Decoded { data, end }
}
