//! Replies of a good server with a few bytes changed, through the body of the fuzz target.

mod support;

use farside_core::fuzz::client_connection;
use support::{STAT, json, ndjson, reply};

/// Good replies, and a few that are not.
fn seeds() -> Vec<Vec<u8>> {
    let a = "{\"data\":\"QQ==\"}\n";
    let exit = "{\"output\":{\"stdout\":\"QQ==\",\"exitCode\":0}}\n";
    let rows = r#"{"entries":[{"name":"a","size":1,"mode":420,"modTime":"1970-01-01T00:00:00Z"}],"skipped":1}"#;
    let parts = [
        json(r#"{"wire":1,"root":"/r","bounds":{"maxWriteBytes":5},"extensions":["apart"]}"#),
        json(STAT),
        json(r#"{"target":"x"}"#),
        json(rows),
        reply(200, "application/octet-stream", "content"),
        b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        ndjson(&[a, exit]),
    ];
    let octets = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: x\r\n\r\n".to_vec();
    let refusal = reply(404, "application/json", r#"{"error":{"code":"not_exist","message":"m"}}"#);
    let open = format!("HTTP/1.0 200 OK\r\n\r\n{a}{exit}").into_bytes();
    let length = reply(200, "application/x-ndjson", &[a, "\n", exit].concat());
    let interim = [b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), ndjson(&[a, a, exit])].concat();
    let series = [&parts[..], &parts[6..]].concat().concat();
    [parts.to_vec(), vec![octets, refusal, open, length, interim, series.clone(), [series.clone(), series].concat()]]
        .concat()
}

/// Numbers that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

#[test]
fn good_replies_hold() {
    for seed in seeds() {
        for step in [0, 1, 2, 3, 50, 255] {
            client_connection(&[&[step], &seed[..]].concat());
        }
    }
    client_connection(&[]);
    client_connection(&[1]);
}

#[test]
fn changed_replies_hold() {
    let (seeds, mut numbers) = (seeds(), Numbers(0x1234_5678_9abc_def1));
    let pieces: [&[u8]; 12] = [
        b"\r\n",
        b"\n",
        b"0\r\n\r\n",
        b"{",
        b"\"",
        b"Content-Length: 5\r\n",
        b"\0",
        b"\xff",
        b"QQ==",
        b"HTTP/1.1 200 OK\r\n",
        b"9",
        b":",
    ];
    for _ in 0..2500 {
        let mut bytes = seeds[numbers.below(seeds.len())].clone();
        for _ in 0..=numbers.below(3) {
            let at = numbers.below(bytes.len().max(1));
            let end = (at + 1 + numbers.below(20)).min(bytes.len());
            match numbers.below(5) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(at..end)),
                2 => bytes.splice(at..at, pieces[numbers.below(pieces.len())].iter().copied()).for_each(drop),
                3 if at < bytes.len() => bytes[at] ^= 1 << numbers.below(8),
                _ => {
                    let other = &seeds[numbers.below(seeds.len())];
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[numbers.below(other.len())..]);
                }
            }
        }
        bytes.insert(0, numbers.below(256) as u8);
        client_connection(&bytes);
    }
}
