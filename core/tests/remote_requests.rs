//! What the client sends, when it sends it again, and which connection it sends it on.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use farside_core::{
    Command, Delivery, Remote, Task, ops,
    wire::{Code, Error, base_url::BaseUrl},
};
use support::{Clock, STAT, Script, Scripted, Then, drain, json, ndjson, reply, run};

const EXIT: &str = "{\"output\":{\"exitCode\":0}}\n";

fn no_content() -> Vec<u8> {
    b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()
}

fn file(content: &str) -> Vec<u8> {
    reply(200, "application/octet-stream", content)
}

#[test]
fn requests_are_these_bytes() {
    let sent = |replies: Vec<u8>, op: &dyn Fn(&Remote)| {
        let server = Scripted::new([Script::new(replies)]);
        op(&Remote::new(server.clone(), BaseUrl::parse("http://box.example:81/x/").unwrap()));
        server.written().concat()
    };
    let stat = sent(json(STAT), &|r| assert_eq!(run(ops::stat(r, "a b/+%é")).unwrap().size, 12));
    assert_eq!(stat, "GET /x/v1/fs/stat?path=a%20b%2F%2B%25%C3%A9 HTTP/1.1\r\nHost: box.example:81\r\n\r\n");
    let remove = sent(no_content(), &|r| run(ops::remove(r, "a")).unwrap());
    assert_eq!(remove, "DELETE /x/v1/fs/file?path=a HTTP/1.1\r\nHost: box.example:81\r\n\r\n");
    let octets = "HTTP/1.1\r\nHost: box.example:81\r\nContent-Type: application/octet-stream\r\n";
    let write = sent(no_content(), &|r| run(ops::write(r, "a", b"text", Some(0o100_755))).unwrap());
    assert_eq!(write, format!("PUT /x/v1/fs/file?path=a&perm=755 {octets}Content-Length: 4\r\n\r\ntext"));
    let chunks = sent(no_content(), &|r| {
        let (mut sink, mut clock) = (run(ops::create(r, "a", None, None)).unwrap(), Clock::default());
        assert_eq!(clock.wait(|cx| sink.poll_write(cx, b"text")), Ok(4));
        clock.wait(|cx| sink.poll_finish(cx)).unwrap();
    });
    let chunked = "Transfer-Encoding: chunked\r\n\r\n00000004\r\ntext\r\n0\r\n\r\n";
    assert_eq!(chunks, format!("PUT /x/v1/fs/file?path=a {octets}{chunked}"));
    let exec = sent(ndjson(&[EXIT]), &|r| {
        let command = Command { output: Delivery::Merged, ..Command::new(["a"]) };
        run(ops::run(&r.clone().with_authorization("Bearer T").unwrap(), &command, |_, _| {})).unwrap();
    });
    let (head, body) = exec.split_once("\r\n\r\n").unwrap();
    let fields = "Authorization: Bearer T\r\nContent-Type: application/json\r\nContent-Length";
    assert_eq!(head, format!("POST /x/v1/exec HTTP/1.1\r\nHost: box.example:81\r\n{fields}: {}", body.len()));
    assert!(body.starts_with(r#"{"args":["a"],"stream":true,"key":""#) && body.ends_with("\"}"));
}

#[test]
fn keys_are_never_the_same() {
    let server = Scripted::new([Script::of([ndjson(&[EXIT]), ndjson(&[EXIT])])]);
    let remote = server.remote();
    for _ in 0..2 {
        run(ops::run(&remote, &Command::new(["a"]), |_, _| {})).unwrap();
    }
    let written = server.written().concat();
    let keys: Vec<_> = written.match_indices("\"key\":\"").map(|(at, _)| &written[at + 7..at + 33]).collect();
    assert!(keys.len() == 2 && keys[0] != keys[1]);
    assert!(keys.concat().bytes().all(|b| matches!(b, b'A'..=b'Z' | b'2'..=b'7')));
}

/// A server whose connection dies when the second request on it has come, and another that answers it.
fn dying(then: Then, second: &[u8], answer: Vec<u8>) -> Scripted {
    let first = Script { then, ..Script::of([json(STAT), second.to_vec()]) };
    Scripted::new([first, Script::new(answer)])
}

#[test]
fn what_only_reads_is_sent_again_once_when_a_kept_connection_is_dead() {
    for then in [Then::Eof, Then::Reset] {
        let server = dying(then, b"", file("content"));
        let remote = server.remote();
        run(ops::stat(&remote, "a")).unwrap();
        assert_eq!(run(ops::read(&remote, "a", 100)).unwrap(), b"content");
        assert_eq!(server.requests(), 3);
        assert_eq!(server.open(), [false, true]);
        // Once: the new one dies too.
        let first = Script { then, ..Script::of([json(STAT), Vec::new()]) };
        let server = Scripted::new([first.clone(), Script::new("").then(then), Script::new(file("x"))]);
        let remote = server.remote();
        run(ops::stat(&remote, "a")).unwrap();
        assert_eq!(run(ops::read(&remote, "a", 100)).unwrap_err().code, Code::Other);
        assert_eq!(server.requests(), 3);
        // Not after the first byte of a reply.
        let server = dying(then, b"H", file("content"));
        let remote = server.remote();
        run(ops::stat(&remote, "a")).unwrap();
        let error = run(ops::read(&remote, "a", 100)).unwrap_err();
        assert_eq!((&*error.words, server.requests()), ("the reply was cut after 1 bytes", 2));
        // Not on a connection that is new.
        let server = Scripted::new([Script::new("").then(then), Script::new(file("x"))]);
        assert!(run(ops::read(&server.remote(), "a", 100)).is_err());
        assert_eq!(server.requests(), 1);
    }
}

#[test]
fn what_changes_something_is_never_sent_again() {
    type Change = fn(&Remote) -> Result<(), Error>;
    let changes: [Change; 4] = [
        |r| run(ops::exec(r, &Command::new(["a"]))).map(|_| ()),
        |r| run(ops::remove(r, "a")),
        |r| run(ops::write(r, "a", b"x", None)),
        |r| run(ops::write(r, "a", b"", None)),
    ];
    for then in [Then::Eof, Then::Reset] {
        for (n, change) in changes.iter().enumerate() {
            let server = dying(then, b"", no_content());
            let remote = server.remote();
            run(ops::stat(&remote, "a")).unwrap();
            let error = change(&remote).unwrap_err();
            assert_eq!(error.code, Code::Other, "{n}");
            assert_eq!(error.words, "the server closed the connection without a reply", "{n}");
            assert_eq!(error.errno(), (then == Then::Reset).then_some("ECONNRESET"));
            assert_eq!(server.requests(), 2, "{n}");
        }
    }
}

#[test]
fn a_kept_connection_that_ended_meanwhile_is_not_used() {
    for then in [Then::Eof, Then::Reset] {
        let server = Scripted::new([Script::new(json(STAT)).then(then), Script::new(ndjson(&[EXIT]))]);
        let remote = server.remote();
        run(ops::stat(&remote, "a")).unwrap();
        run(ops::run(&remote, &Command::new(["a"]), |_, _| {})).unwrap();
        assert_eq!(server.open(), [false, true]);
    }
}

#[test]
fn bytes_beyond_a_reply_are_never_the_next_one() {
    let poison = json(&STAT.replace("12", "666"));
    for step in [usize::MAX, 1] {
        for first in [json(STAT), no_content(), b"HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\n".to_vec()] {
            let first = [&first[..], &poison].concat();
            let server = Scripted::new([Script::new(first).step(step), Script::new(json(STAT))]);
            let remote = server.remote();
            let _ = run(ops::remove(&remote, "a"));
            assert_eq!(run(ops::stat(&remote, "a")).unwrap().size, 12);
            assert_eq!(server.open(), [false, true]);
        }
    }
    // A body where none may be: its bytes too.
    let server =
        Scripted::new([Script::new("HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\nHTTP/"), Script::new(json(STAT))]);
    let remote = server.remote();
    assert!(run(ops::stat(&remote, "a")).is_err());
    assert_eq!(run(ops::stat(&remote, "a")).unwrap().size, 12);
}

#[test]
fn a_connection_is_kept_only_if_both_sides_let_it() {
    for (head, kept) in [
        ("HTTP/1.1 204 x\r\n\r\n", true),
        ("HTTP/1.1 204 x\r\nConnection: close\r\n\r\n", false),
        ("HTTP/1.0 204 x\r\n\r\n", false),
        ("HTTP/1.0 204 x\r\nConnection: keep-alive\r\n\r\n", true),
    ] {
        let server = Scripted::new([Script::new(head)]);
        let remote = server.remote();
        run(ops::remove(&remote, "a")).unwrap();
        assert_eq!(server.open(), [kept], "{head:?}");
    }
    // After an exec's chunks (ND-16), a download, and a refusal the next reply is in step.
    let refusal = reply(404, "application/json", r#"{"error":{"code":"not_exist","message":"file does not exist"}}"#);
    let server = Scripted::new([Script::of([ndjson(&[EXIT]), file("x"), refusal, json(STAT)]).step(7)]);
    let remote = server.remote();
    run(ops::run(&remote, &Command::new(["a"]), |_, _| {})).unwrap();
    run(ops::read(&remote, "a", 9)).unwrap();
    assert_eq!(run(ops::stat(&remote, "a")), Err(Code::NotExist.into()));
    assert_eq!(run(ops::stat(&remote, "a")).unwrap().size, 12);
    assert_eq!(server.open(), [true]);
}

#[test]
fn a_reader_that_is_dropped_hangs_up() {
    let server = Scripted::new([Script::new(file(&"x".repeat(100_000)))]);
    let remote = server.remote();
    let mut reader = run(ops::open(&remote, "a")).unwrap();
    assert_eq!(Clock::default().wait(|cx| reader.bytes.poll_read(cx, &mut [0; 10])), Ok(10));
    assert_eq!(server.open(), [true]);
    drop(reader);
    assert_eq!(server.open(), [false]);
    // One that has all of it has nothing to hang up on.
    let server = Scripted::new([Script::new(file("0123456789"))]);
    let mut reader = run(ops::open(&server.remote(), "a")).unwrap();
    assert_eq!(Clock::default().wait(|cx| reader.bytes.poll_read(cx, &mut [0; 10])), Ok(10));
    drop(reader);
    assert_eq!(server.open(), [false], "its pool went with the client");
}

#[test]
fn a_refusal_that_comes_early_is_what_the_upload_came_to() {
    let refusal =
        reply(413, "application/json", r#"{"error":{"code":"limit","message":"over a limit: maxWriteBytes"}}"#);
    let data = vec![0; 1_000_000];
    for takes in [0, 1, 300, 5000, 100_000, 500_000] {
        for full in [Then::Open, Then::Reset] {
            for size in [Some(data.len() as u64), None] {
                let script = Script { takes, full, ..Script::new(refusal.clone()).early().step(50).then(Then::Eof) };
                let server = Scripted::new([script]);
                let mut sink = run(ops::create(&server.remote(), "a", None, size)).unwrap();
                let (mut clock, mut left) = (Clock::default(), &data[..]);
                let error = loop {
                    match clock.wait(|cx| {
                        if left.is_empty() { sink.poll_finish(cx).map_ok(|()| 0) } else { sink.poll_write(cx, left) }
                    }) {
                        Ok(n) => left = &left[n..],
                        Err(error) => break error,
                    }
                };
                assert_eq!((error.code, &*error.words), (Code::Limit, "maxWriteBytes"), "{takes} {full:?} {size:?}");
                assert!(clock.wait(|cx| sink.poll_write(cx, b"x")).is_err(), "it is over");
                assert_eq!(server.open(), [false]);
            }
        }
    }
}

#[test]
fn a_refusal_that_comes_early_is_what_the_exec_came_to() {
    let refusal = reply(401, "application/json", r#"{"error":{"code":"auth","message":"unauthenticated"}}"#);
    for full in [Then::Open, Then::Reset] {
        let script = Script { takes: 1000, full, ..Script::new(refusal.clone()).early() };
        let server = Scripted::new([script]);
        let remote = server.remote();
        let command = Command { stdin: vec![0; 100_000].into(), ..Command::new(["a"]) };
        assert_eq!(run(ops::exec(&remote, &command)).map(|_| ()), Err(Code::Unauthenticated.into()));
        assert_eq!(server.open(), [false], "half a request is no place for another");
    }
}

#[test]
fn a_good_reply_to_half_a_request_is_none() {
    let data = vec![0; 100_000];
    for early in [no_content(), reply(200, "application/x-ndjson", EXIT)] {
        let script = || Script { takes: 30_000, ..Script::new(early.clone()).early() };
        let server = Scripted::new([script(), script()]);
        let remote = server.remote();
        assert_eq!(run(ops::write(&remote, "a", &data, None)).unwrap_err().code, Code::Other);
        let command = Command { stdin: data.clone().into(), ..Command::new(["a"]) };
        assert_eq!(run(ops::exec(&remote, &command)).map(|_| ()).unwrap_err().code, Code::Other);
    }
}

#[test]
fn an_upload_without_a_reply_failed() {
    for full in [Then::Eof, Then::Reset] {
        let script = Script { takes: 5000, full, ..Script::new("").early().then(Then::Eof) };
        let error = run(ops::write(&Scripted::new([script]).remote(), "a", &[0; 100_000], None)).unwrap_err();
        assert_eq!(error.words, "the server closed the connection without a reply");
        assert_eq!(error.errno(), Some("EPIPE"));
    }
}

#[test]
fn a_dial_that_fails_says_so() {
    let remote = Scripted::new([]).remote();
    assert_eq!(run(ops::stat(&remote, "a")).unwrap_err().words, "nothing listens there");
    assert_eq!(run(ops::write(&remote, "a", b"x", None)).unwrap_err().words, "nothing listens there");
    assert_eq!(run(ops::write(&remote, "a", b"", None)).unwrap_err().words, "nothing listens there");
}

const DATA: &str = "{\"data\":\"b25l\"}\n";

fn started(server: &Scripted) -> (Clock, Box<dyn farside_core::Exec>) {
    let command = Command { output: Delivery::Merged, ..Command::new(["a"]) };
    (Clock::default(), run(ops::exec(&server.remote(), &command)).unwrap())
}

#[test]
fn a_cancel_that_fails_becomes_a_hang_up() {
    let open = || Script::new(ndjson(&[DATA]).strip_suffix(b"0\r\n\r\n").unwrap());
    let refusal = |code: &str| reply(404, "application/json", &format!(r#"{{"error":{{"code":"{code}"}}}}"#));
    let failing: [Vec<Script>; 4] = [
        vec![Script::new(refusal("not_exist"))],
        vec![Script::new(refusal("unsupported"))],
        vec![Script::new("").then(Then::Eof)],
        vec![],
    ];
    for cancel in failing {
        let server = Scripted::new([vec![open()], cancel].concat());
        let (mut clock, mut exec) = started(&server);
        let mut buf = [0; 100];
        assert!(clock.wait(|cx| exec.poll_next(cx, &mut buf)).is_ok());
        exec.interrupt();
        exec.interrupt();
        let (out, _, end) = drain(&mut clock, &mut *exec, 100);
        let end = end.unwrap();
        assert_eq!((&*out, end.code, end.interrupted), (&b""[..], -1, true));
        assert!(!server.open()[0], "hung up");
    }
}

#[test]
fn a_cancel_goes_by_the_key_on_another_connection() {
    let open = Script::new(ndjson(&[DATA]).strip_suffix(b"0\r\n\r\n").unwrap());
    let server = Scripted::new([open, Script::new(no_content())]);
    let (mut clock, mut exec) = started(&server);
    exec.interrupt();
    assert!(clock.wait(|cx| exec.poll_next(cx, &mut [0; 100])).is_ok());
    assert!(clock.try_wait(|cx| exec.poll_next(cx, &mut [0; 100])).is_none(), "it waits for the last frame");
    let written = server.written();
    let at = written[0].find("\"key\":\"").unwrap() + 7;
    let key = &written[0][at..at + 26];
    assert_eq!(
        written[1],
        format!("POST /v1/exec/{key}/cancel HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
    );
    assert!(server.open()[0]);
}

#[test]
fn a_command_that_is_interrupted_before_it_starts_is_interrupted_then() {
    let open = Script::new(ndjson(&[]).strip_suffix(b"0\r\n\r\n").unwrap());
    let server = Scripted::new([open]);
    let (command, remote) = (Command::new(["a"]), server.remote());
    let mut running = ops::run(&remote, &command, |_, _| {});
    running.interrupt();
    let end = Clock::default().wait(|cx| running.poll(cx)).unwrap();
    assert!(end.interrupted && end.exit_code == -1);
}

#[test]
fn streams_come_apart_only_from_a_server_that_can() {
    let info = |extensions: &str| json(&format!(r#"{{"wire":1,"root":"/r","extensions":[{extensions}]}}"#));
    let refused = reply(403, "application/json", r#"{"error":{"code":"forbidden"}}"#);
    let command = Command { output: Delivery::Apart, ..Command::new(["a"]) };
    for (info, asked) in [
        (info("\"range\",\"apart\""), Some(r#""stream":true,"apart":true"#)),
        (info("\"range\""), None),
        (refused, None),
    ] {
        let server = Scripted::new([Script::of([info, ndjson(&[EXIT])])]);
        run(ops::run(&server.remote(), &command, |_, _| {})).unwrap();
        let written = server.written().concat();
        assert_eq!(written.contains("stream"), asked.is_some());
        assert!(asked.is_none_or(|asked| written.contains(asked)));
    }
    // Info is asked for once.
    let server = Scripted::new([Script::of([info("\"apart\""), ndjson(&[EXIT]), ndjson(&[EXIT])])]);
    let remote = server.remote();
    for _ in 0..2 {
        run(ops::run(&remote, &command, |_, _| {})).unwrap();
    }
    assert_eq!(server.requests(), 3);
    assert!(run(ops::exec(&Scripted::new([Script::new(json("{}"))]).remote(), &command)).is_err());
}

#[test]
fn without_its_finish_an_upload_is_cut() {
    for n in [1, 5, 16_384, 16_385, 100_000] {
        for size in [Some(n), None] {
            let server = Scripted::new([Script::new(no_content())]);
            let (mut sink, mut clock) =
                (run(ops::create(&server.remote(), "a", None, size)).unwrap(), Clock::default());
            let data = vec![b'x'; n as usize];
            let mut left = &data[..];
            while !left.is_empty() {
                let n = clock.wait(|cx| sink.poll_write(cx, left)).unwrap();
                left = &left[n..];
            }
            let body = |written: String| written.split_once("\r\n\r\n").map_or(0, |(_, body)| body.len());
            let before = body(server.written().concat());
            match size {
                Some(n) => assert!(before < n as usize, "all {n} went out"),
                None => assert!(!server.written().concat().ends_with("0\r\n\r\n")),
            }
            clock.wait(|cx| sink.poll_finish(cx)).unwrap();
            assert!(body(server.written().concat()) >= n as usize);
        }
    }
}
