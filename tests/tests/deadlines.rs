//! Times and places that a peer can hold (classes RX and PR of the public cases), on a virtual clock.
#![allow(clippy::unwrap_used, reason = "a test")]

use farside_backends::Memory;
use farside_core::{
    Access, Handler,
    wire::{Bounds, Moment, Scopes, times},
};
use farside_tests::{
    recorder::{Notes, Recorder},
    replies::{replies, statuses},
    requests::Request,
    virtual_time::Wire,
};
use std::{sync::Arc, time::Duration};

const SECOND: Duration = Duration::from_secs(1);
const LARGE: usize = 1 << 20;

fn open() -> (Arc<Handler>, Notes) {
    let memory = Memory::new();
    memory.put("f", "old").unwrap();
    memory.put("large", vec![b'x'; LARGE]).unwrap();
    for n in 0..2000 {
        memory.put(&format!("many/{n:0200}"), "").unwrap();
    }
    let (recorder, notes) = Recorder::new(memory);
    let bounds = Bounds { max_transfers: 1, ..Bounds::default() };
    (Handler::with(recorder, Access::Insecure(Scopes::ALL), bounds, times::LEASE), notes)
}

/// Whether the one place among the transfers is free.
fn is_free(handler: &Arc<Handler>) -> bool {
    match Request::get("/v1/fs/file?path=f").ask(handler).status {
        200 => true,
        429 => false,
        other => panic!("{other}"),
    }
}

fn seconds(at: Option<Moment>) -> Option<u64> {
    at.map(|at| at.0 / 1_000_000)
}

/// Lets time pass until it ends, at most `most`.
fn ends_at(wire: &mut Wire, most: Duration) -> Option<u64> {
    let end = wire.now.after(most);
    while !wire.closed && wire.now < end {
        wire.pass(SECOND);
    }
    seconds(wire.ended_at)
}

const DAY: Duration = Duration::from_secs(24 * 3600);

#[test]
fn rx_05_a_head_has_ten_seconds_however_it_drips() {
    let (handler, _) = open();
    let head = Request::get("/v1/info").line(&format!("X: {}", "x".repeat(60_000))).bytes();
    for every in [1, 5, 9, 10] {
        let mut wire = Wire::new(handler.clone());
        for byte in head.chunks(1) {
            wire.send(byte);
            wire.pass(every * SECOND);
            if wire.ended_at.is_some() {
                break;
            }
        }
        assert_eq!((seconds(wire.ended_at), statuses(&wire.out)), (Some(10), vec![408]), "a byte each {every} s");
    }
    // Nothing at all: nobody is answered.
    let mut wire = Wire::new(handler.clone());
    assert_eq!((ends_at(&mut wire, DAY), wire.out.len()), (Some(10), 0));
    // The second head has as long, from its first byte on.
    let mut wire = Wire::new(handler);
    wire.send(&Request::get("/v1/info").bytes());
    wire.pass(70 * SECOND);
    for byte in head.chunks(1) {
        wire.send(byte);
        wire.pass(SECOND);
        if wire.ended_at.is_some() {
            break;
        }
    }
    assert_eq!((seconds(wire.ended_at), statuses(&wire.out)), (Some(80), vec![200, 408]));
}

#[test]
fn an_honest_head_that_is_slow_is_served() {
    let (handler, _) = open();
    let mut wire = Wire::new(handler);
    for byte in Request::get("/v1/info").bytes().chunks(5) {
        wire.send(byte);
        wire.pass(SECOND / 2);
    }
    assert_eq!(statuses(&wire.out), [200]);
}

#[test]
fn an_idle_connection_has_seventy_five_seconds() {
    let (handler, _) = open();
    let mut wire = Wire::new(handler);
    for n in 1..20 {
        wire.send(&Request::get("/v1/info").bytes());
        assert_eq!(statuses(&wire.out), vec![200; n]);
        wire.pass(74 * SECOND);
        assert!(!wire.closed);
    }
    assert_eq!(ends_at(&mut wire, DAY), Some(19 * 74 + 1));
    assert_eq!(statuses(&wire.out), [200; 19], "an idle connection is closed without a word");
}

#[test]
fn a_body_without_progress_is_given_up_after_a_minute() {
    let (handler, notes) = open();
    for request in [
        Request::put("f", "0123456789"),
        Request::exec(&["true"], ""),
        Request::new("DELETE", "/v1/fs/file?path=f").line("Content-Type: application/json").body("{}"),
        Request::new("GET", "/v1/fs/file?path=f").line("Content-Type: application/json").body("{}"),
    ] {
        let bytes = request.bytes();
        let body = request.body.as_ref().unwrap().len();
        for sent in [bytes.len() - body, bytes.len() - 1] {
            let mut wire = Wire::new(handler.clone());
            wire.send(&bytes[..sent]);
            assert_eq!(ends_at(&mut wire, DAY), Some(60), "{request:?}");
            let answers = replies(&wire.out, "");
            let answer = answers[0].as_ref().unwrap();
            assert_eq!((answers.len(), answer.status, answer.code()), (1, 408, "invalid"), "{request:?}");
            assert_eq!(answer.fields("connection"), ["close"]);
            assert!(wire.closed && wire.now <= Moment(0).after(60 * SECOND + times::MOMENT + SECOND));
            assert!(is_free(&handler), "{request:?}");
            // A slow body that makes progress is served.
            let mut wire = Wire::new(handler.clone());
            wire.send(&bytes[..bytes.len() - body]);
            for byte in bytes[bytes.len() - body..].chunks(1) {
                wire.pass(59 * SECOND);
                wire.send(byte);
            }
            wire.pass(SECOND);
            assert!(matches!(statuses(&wire.out)[..], [200 | 204]), "{request:?}: {:?}", statuses(&wire.out));
            Request::put("f", "old").ask(&handler);
        }
    }
    notes.take();
}

/// Requests whose replies are larger than anything a socket holds by itself.
fn large_replies() -> [(&'static str, Vec<u8>); 4] {
    let pipelined = Request::get("/v1/info").bytes().repeat(1000);
    [
        ("a file", Request::get("/v1/fs/file?path=large").bytes()),
        ("an exec", Request::exec(&["spew", "10000000"], ",\"stream\":true").bytes()),
        ("a listing", Request::get("/v1/fs/readdir?path=many").bytes()),
        ("many replies", pipelined),
    ]
}

#[test]
fn a_reply_that_nobody_takes_is_given_up_after_a_minute() {
    let (handler, _) = open();
    for (what, bytes) in large_replies() {
        for window in [0, 1, 100, 5000, 50_000] {
            let mut wire = Wire::new(handler.clone());
            wire.window = window;
            wire.send(&bytes);
            assert!(wire.waiting() > 0, "{what}");
            let ended = ends_at(&mut wire, DAY);
            assert!(wire.closed, "{what} after {window} bytes");
            // (What is running is ended first.)
            assert!(ended.unwrap() <= 65, "{what} after {window} bytes: {ended:?}");
            assert!(is_free(&handler), "{what} after {window} bytes");
        }
    }
}

#[test]
fn a_last_reply_that_nobody_takes_is_given_up_too() {
    let (handler, _) = open();
    let long = format!("/v1/fs/stat?path={}", "x".repeat(300));
    for bytes in [
        b"not http\r\n\r\n".to_vec(),
        Request::put("f", vec![b'x'; 100_000]).without("content-type").bytes(),
        Request::get("/v1/info").line("Connection: close").bytes(),
        Request::get("/v1/fs/readdir?path=many").line("Connection: close").bytes(),
        Request::get(&long).bytes(),
    ] {
        let mut wire = Wire::new(handler.clone());
        wire.window = 0;
        wire.send(&bytes);
        wire.hang_up();
        assert!(
            ends_at(&mut wire, DAY).is_some_and(|at| at <= 80),
            "{}",
            String::from_utf8_lossy(&bytes[..40.min(bytes.len())])
        );
    }
}

/// Takes a reply at a steady pace: so many bytes each second, for so long.
fn at_a_pace(handler: &Arc<Handler>, request: &Request, each_second: usize, most: u64) -> (Wire, u64) {
    let mut wire = Wire::new(handler.clone());
    wire.window = 0;
    wire.send(&request.bytes());
    for second in 1..=most {
        wire.window = each_second;
        wire.pass(SECOND);
        if wire.window == each_second && wire.waiting() == 0 || wire.closed {
            return (wire, second);
        }
    }
    (wire, most)
}

#[test]
fn a_reply_that_is_taken_slowly_comes_whole() {
    let (handler, _) = open();
    for pace in [5000, 16 * 1024, 43_700, 43_733, 64 * 1024, 256 * 1024] {
        let spew = (pace * 150).to_string();
        let exec = Request::exec(&["spew", &spew], ",\"stream\":true");
        let (wire, seconds) = at_a_pace(&handler, &exec, pace, 1000);
        let answers = replies(&wire.out, "");
        let [Some(answer)] = &answers[..] else { panic!("{pace} B/s: cut after {seconds} s") };
        assert!(answer.text().ends_with("{\"output\":{\"exitCode\":0}}\n"), "{pace} B/s");
        assert!(seconds > 100);
    }
    let (wire, seconds) = at_a_pace(&handler, &Request::get("/v1/fs/file?path=large"), 1000, 2000);
    assert_eq!(replies(&wire.out, "")[0].as_ref().unwrap().body.len(), LARGE, "after {seconds} s");
}

/// A peer that takes each piece at once, and always finds another: for it a reply of any length is no stall.
#[test]
fn a_reply_that_never_pauses_comes_whole() {
    let (handler, _) = open();
    let mut wire = Wire::new(handler);
    // Each turn puts as much as the one before; a millisecond passes between two.
    let exec = Request::exec(&["spew", "8000000000"], ",\"stream\":true");
    wire.window = 0;
    wire.send(&exec.bytes());
    let mut taken = 0;
    while wire.now < Moment(0).after(200 * SECOND) {
        let n = wire.waiting();
        assert!(n > 0 && !wire.closed, "cut after {:?} and {taken} bytes", wire.now);
        (taken, wire.window) = (taken + n, n);
        wire.now = wire.now.after(SECOND / 2);
        wire.turn();
        wire.out.clear();
    }
}

#[test]
fn rx_10_one_transfer_too_many_is_refused_at_once_and_places_come_back() {
    let (handler, _) = open();
    let transfers = [
        Request::get("/v1/fs/file?path=large"),
        Request::put("new", "0123456789"),
        Request::exec(&["sleep", "100000"], ",\"stream\":true"),
        Request::exec(&["spew", "10000000"], ",\"stream\":true"),
    ];
    for held in &transfers {
        for end in ["reset", "hang up"] {
            let mut wire = Wire::new(handler.clone());
            wire.window = 1000;
            let bytes = held.bytes();
            wire.send(&bytes[..bytes.len() - usize::from(held.method == "PUT")]);
            assert!(!is_free(&handler));
            for more in &transfers {
                let answer = more.ask(&handler);
                assert_eq!((answer.status, answer.code()), (429, "limit"), "{more:?}");
                assert!(answer.text().contains("\"name\":\"maxTransfers\""), "{}", answer.text());
            }
            // Not a transfer.
            assert_eq!(Request::get("/v1/fs/stat?path=f").ask(&handler).status, 200);
            if end == "reset" {
                wire.reset();
            } else if held.method == "GET" {
                // A download goes on for a peer that only sends no more.
                continue;
            } else {
                wire.hang_up();
                wire.window = usize::MAX;
            }
            // (A command is ended before its place is free: at once, for one that does not ignore INT.)
            wire.pass(Duration::from_millis(100));
            assert!(is_free(&handler), "{end}: {held:?}");
            assert!(wire.closed, "{end}: {held:?}");
        }
    }
}

#[test]
fn pr_46_a_hang_up_is_heard_behind_whatever_was_sent_before() {
    let (handler, _) = open();
    for members in ["", ",\"stream\":true", ",\"key\":\"K"] {
        for behind in [0, 1, 2000, 2048, 10_000, 65_536, 300_000] {
            for request in [Request::get("/v1/info"), Request::put("f", vec![b'x'; 100_000])] {
                let key = format!("K{behind}{}", request.method);
                let members = members.replace("\"K", &format!("\"{key}\""));
                let mut wire = Wire::new(handler.clone());
                wire.send(&Request::exec(&["sleep", "100000"], &members).bytes());
                let pipelined = request.bytes().repeat(1 + behind / request.bytes().len());
                wire.send(&pipelined[..behind]);
                wire.pass(SECOND);
                assert!(!wire.closed && !is_free(&handler));
                wire.hang_up();
                wire.pass(SECOND);
                assert!(wire.closed && is_free(&handler), "{behind} bytes behind {members}");
                // A key stays spent for a while.
                let cancelled = Request::post(&format!("/v1/exec/{key}/cancel"), "{}").ask(&handler).status;
                assert_eq!(cancelled, if members.contains("key") { 204 } else { 404 });
            }
        }
    }
}

/// What is sent behind a command that ends is answered, as far as it is little.
#[test]
fn nd_16_the_next_request_is_answered_in_step() {
    let (handler, _) = open();
    for members in ["", ",\"stream\":true"] {
        for args in [&["echo", "hi"][..], &["sleep", "5"], &["spew", "1000000"], &["exit", "3"]] {
            let mut bytes = Request::exec(args, members).bytes();
            bytes.extend(Request::get("/v1/fs/file?path=f").bytes());
            bytes = bytes.repeat(3);
            bytes.extend(Request::get("/v1/info").bytes());
            for piece in [1, 100, usize::MAX] {
                let mut wire = Wire::new(handler.clone());
                bytes.chunks(piece.min(bytes.len())).for_each(|piece| wire.send(piece));
                wire.pass(20 * SECOND);
                let answers = replies(&wire.out, "");
                assert_eq!(statuses(&wire.out), [200; 7], "{args:?}");
                for pair in answers[..6].chunks(2) {
                    let [Some(exec), Some(file)] = pair else { panic!("{answers:?}") };
                    assert_eq!(exec.fields("content-type"), ["application/x-ndjson"]);
                    assert!(exec.body.ends_with(b"}}\n"));
                    assert_eq!(file.body, b"old");
                }
            }
        }
    }
    // More than a buffer holds is not: the command's own reply comes whole, and then the connection ends.
    let mut wire = Wire::new(handler);
    wire.send(&Request::exec(&["sleep", "5"], "").bytes());
    wire.send(&Request::get("/v1/info").bytes().repeat(10_000));
    wire.pass(10 * SECOND);
    assert_eq!(statuses(&wire.out), [200]);
    assert!(wire.closed);
}

/// F4: a command that is silent for longer than anybody on the way waits. A client that asks for it hears something all the time.
#[test]
fn f4_a_silent_command_is_kept_open_by_heartbeats() {
    let (handler, _) = open();
    let exec = |every: &str, args: &[&str], members: &str| {
        let request = Request::exec(args, members);
        Request { target: format!("/v1/exec?heartbeat={every}"), ..request }
    };
    for members in ["", ",\"stream\":true", ",\"key\":\"K\""] {
        for every in [5, 7, 300] {
            let key = format!("K{every}");
            let members = members.replace("\"K\"", &format!("\"{key}\""));
            let args = ["sleep", "1000", ";", "echo", "a", ";", "sleep", "1000", ";", "echo", "b"];
            let mut wire = Wire::new(handler.clone());
            wire.send(&exec(&every.to_string(), &args, &members).bytes());
            assert!(wire.out.starts_with(b"HTTP/1.1 200 "), "the head comes at once");
            let (mut heard, mut silent) = (wire.out.len(), 0);
            for second in 1..2000 {
                wire.pass(SECOND);
                silent = if wire.out.len() > heard { 0 } else { silent + 1 };
                heard = wire.out.len();
                assert!(silent < every, "{every} s: silent at {second} s");
            }
            wire.pass(2 * SECOND);
            let answers = replies(&wire.out, "");
            let text = answers[0].as_ref().unwrap().text();
            let beats = text.lines().filter(|line| line.is_empty()).count() as u64;
            // A beat is put off by what is said in between, and none comes early.
            assert!((2000 / every - 2..=2000 / every).contains(&beats), "{every} s: {beats}");
            let frames: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
            assert_eq!(frames.len(), if members.contains("stream") { 3 } else { 1 });
            assert!(text.ends_with("\"exitCode\":0}}\n"), "nothing comes after the last frame");
        }
    }
    for bad in ["4", "301", "0", "", "x", "5.0", "-5", "+5", "5&heartbeat=5", "99999999999999999999"] {
        let answer = exec(bad, &["true"], "").ask(&handler);
        assert_eq!((answer.status, answer.code()), (400, "invalid"), "{bad}");
    }
    // Who did not ask hears nothing of it.
    let mut wire = Wire::new(handler);
    wire.send(&Request::exec(&["sleep", "1000"], ",\"stream\":true").bytes());
    let head = wire.out.len();
    wire.pass(999 * SECOND);
    assert_eq!(wire.out.len(), head);
}
