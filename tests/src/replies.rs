//! Reading what a server said on one connection.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a reply that cannot be read fails the test")]
#![allow(clippy::missing_panics_doc, reason = "so does one that breaks a rule")]

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

impl Answer {
    /// The values of every field of that name.
    pub fn fields(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The code of an error's envelope; empty for another body.
    pub fn code(&self) -> &str {
        let text = std::str::from_utf8(&self.body).unwrap_or_default();
        let code = text.strip_prefix("{\"error\":{\"code\":\"").and_then(|rest| rest.split_once('"'));
        code.map_or("", |(code, _)| code)
    }

    /// Checks what holds for every reply (spec, Requests in general): the fixed fields, no field that lets a page of another origin
    /// read it, and no redirect.
    pub fn check(&self) {
        if self.status == 100 {
            return;
        }
        for (name, value) in
            [("cache-control", "no-store"), ("x-content-type-options", "nosniff"), ("farside-wire", "1")]
        {
            assert_eq!(self.fields(name), [value], "{name}: {self:?}");
        }
        let head = self.head.to_ascii_lowercase();
        for never in ["\naccess-control-", "\nlocation:", "\nset-cookie:", "\nserver:", "\nrefresh:", "text/html"] {
            assert!(!head.contains(never), "{never}: {head}");
        }
        assert!(!(300..400).contains(&self.status), "{self:?}");
        assert_eq!(self.status == 405, !self.fields("allow").is_empty(), "{self:?}");
        // (A last frame of an exec may be an error too.)
        let frames = self.fields("content-type") == ["application/x-ndjson"];
        assert!(frames || (self.status >= 400 && !self.body.is_empty()) != self.code().is_empty(), "{self:?}");
    }
}

/// Every reply in `out` to requests of `method`, interim ones among them. `None` for a last one that is not whole.
pub fn replies(mut out: &[u8], method: &str) -> Vec<Option<Answer>> {
    let mut all = Vec::new();
    while !out.is_empty() {
        let Some(end) = HeadScan::default().find(out).expect("a reply's head") else {
            all.push(None);
            return all;
        };
        let head = ResponseHead::parse(&out[..end], method == "HEAD").expect("a reply's head");
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
    replies(out, "").into_iter().map(|r| r.map_or(0, |r| r.status)).collect()
}
