//! Reading what a server said on one connection.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a reply that cannot be read fails the test")]

use farside_core::wire::http::{Decoder, HeadScan, Part, ResponseHead};

/// One reply.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its head, as text.
    pub head: String,
    /// Its body.
    pub body: Vec<u8>,
}

/// Every reply in `out`, interim ones among them. `None` for a last one that is not whole.
pub fn replies(mut out: &[u8]) -> Vec<Option<Answer>> {
    let mut all = Vec::new();
    while !out.is_empty() {
        let Some(end) = HeadScan::default().find(out).expect("a reply's head") else {
            all.push(None);
            return all;
        };
        let head = ResponseHead::parse(&out[..end], false).expect("a reply's head");
        let text = String::from_utf8(out[..end].to_vec()).unwrap();
        let (mut decoder, mut body) = (Decoder::new(head.framing), Vec::new());
        out = &out[end..];
        loop {
            match decoder.next(out).expect("a reply's body") {
                Part::Skip(n) => out = &out[n..],
                Part::Data(n) => {
                    body.extend_from_slice(&out[..n]);
                    decoder.took(n);
                    out = &out[n..];
                }
                Part::End => break,
                Part::More => {
                    all.push(None);
                    return all;
                }
            }
        }
        all.push(Some(Answer { status: head.status, head: text, body }));
    }
    all
}

/// The statuses of every reply in `out`; 0 for one that is not whole.
pub fn statuses(out: &[u8]) -> Vec<u16> {
    replies(out).into_iter().map(|r| r.map_or(0, |r| r.status)).collect()
}
