//! What the client makes of replies that a good server would not send, and of good ones in pieces.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use farside_core::{
    Command, Delivery, Exit, Remote, ops,
    wire::{Bounds, Code, Error},
};
use support::{Clock, Ran, STAT, Script, Scripted, Then, drain, json, ndjson, reply, run};

fn stat(bytes: impl Into<Vec<u8>>) -> Result<u64, Error> {
    run(ops::stat(&Scripted::new([Script::new(bytes).then(Then::Eof)]).remote(), "a")).map(|meta| meta.size)
}

fn words(bytes: impl Into<Vec<u8>>) -> String {
    let error = stat(bytes).unwrap_err();
    assert_eq!(error.code, Code::Other);
    error.words.into()
}

#[test]
fn no_redirect_is_followed() {
    for status in [300, 301, 302, 303, 304, 305, 307, 308] {
        for to in [
            "http://evil.example/",
            "https://localhost/",
            "http://localhost:1/",
            "file:///etc/passwd",
            "data:,x",
            "/v1/x",
        ] {
            let redirect = format!("HTTP/1.1 {status} x\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
            for early in [false, true] {
                let script = Script { early, ..Script::new(redirect.clone()) };
                let server = Scripted::new([script.clone(), script.clone(), script]);
                let remote = server.remote().with_authorization("Bearer SECRET").unwrap();
                let errors = [
                    run(ops::stat(&remote, "a")).map(|_| ()).unwrap_err(),
                    run(ops::write(&remote, "a", b"x", None)).unwrap_err(),
                    run(ops::exec(&remote, &Command::new(["a"]))).map(|_| ()).unwrap_err(),
                ];
                for error in errors {
                    let words = format!("the server answered with a redirect (status {status}), and none is followed");
                    assert_eq!((error.code, &*error.words), (Code::Other, &*words));
                }
                assert_eq!(server.requests(), 3, "no second request");
            }
        }
    }
}

#[test]
fn heads_out_of_bounds_or_form_are_refused() {
    let body = format!("Content-Length: {}\r\n\r\n{STAT}", STAT.len());
    let broken = |head: String| {
        assert!(
            words(head.clone()).starts_with("the server broke the protocol: "),
            "{:?}",
            &head[..head.len().min(80)]
        );
    };
    broken(format!("HTTP/1.1 200 OK\r\nX: {}\r\n{body}", "x".repeat(70_000)));
    broken(format!("HTTP/1.1 200 OK\r\n{}{body}", "X: y\r\n".repeat(129)));
    broken(format!("HTTP/1.1 200 OK\r\n{}{body}", "X: y\r\n".repeat(10_000)));
    broken(format!("HTTP/1.1 200 OK\n{body}"));
    broken(format!("HTTP/1.1 200 OK\r\nX: y\r\n folded\r\n{body}"));
    broken(format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n{body}"));
    broken(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{body}"));
    broken(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{body}"));
    for line in
        ["HTTP/1.1 99 x", "HTTP/1.1 1000 x", "HTTP/1.1 2x0 x", "HTTP/2 200 x", "SSH-2.0-x", "HTTP/1.1  200 x", "\0"]
    {
        broken(format!("{line}\r\n{body}"));
    }
    broken(format!("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n{body}"));
    assert_eq!(stat(format!("HTTP/1.1 200\r\n{body}")), Ok(12), "a reason is no matter");
    for end in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Le"] {
        let words = words(end);
        let n = end.len();
        let right = if n == 0 {
            "the server closed the connection without a reply".into()
        } else {
            format!("the reply was cut after {n} bytes")
        };
        assert_eq!(words, right);
    }
}

#[test]
fn interim_replies_are_skipped_up_to_a_bound() {
    let interim = |n: usize, interim: &str| [interim.repeat(n).into_bytes(), json(STAT)].concat();
    for text in ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early\r\nLink: x\r\nContent-Length: 5\r\n\r\n"] {
        assert_eq!(stat(interim(16, text)), Ok(12));
        assert_eq!(words(interim(17, text)), "the server broke the protocol: too many interim replies");
        assert_eq!(words(interim(1000, text)), "the server broke the protocol: too many interim replies");
    }
}

#[test]
fn another_wire_is_named() {
    let told =
        |wire: &str| format!("HTTP/1.1 200 OK\r\nFarside-Wire: {wire}\r\nContent-Length: {}\r\n\r\n{STAT}", STAT.len());
    assert_eq!(stat(told("1")), Ok(12));
    let unsupported = |bytes: String, words: &str| {
        let error = stat(bytes).unwrap_err();
        assert_eq!((error.code, &*error.words), (Code::Unsupported, words));
    };
    unsupported(told("2"), "the server speaks wire 2, this is wire 1");
    unsupported(told("x\u{7f}").replace('\u{7f}', ""), "the server speaks wire of no number, this is wire 1");
    unsupported(told("1\r\nFarside-Wire: 1"), "the server speaks wire of no number, this is wire 1");
    let info = json(r#"{"wire":3,"root":"/"}"#);
    let error = run(ops::about(&Scripted::new([Script::new(info)]).remote())).unwrap_err();
    assert_eq!((error.code, &*error.words), (Code::Unsupported, "the server speaks wire 3, this is wire 1"));
}

#[test]
fn errors_go_by_their_code_and_never_by_the_status() {
    let refused = |status: u16, error: &str| stat(reply(status, "application/json", error)).unwrap_err();
    assert_eq!(
        refused(404, r#"{"error":{"code":"limit","message":"over a limit: maxX"}}"#),
        Error::new(Code::Limit, "maxX")
    );
    assert_eq!(refused(500, r#"{"error":{"code":"notexist"}}"#).code, Code::NotExist);
    assert_eq!(refused(404, r#"{"error":{"code":"of_tomorrow","message":"m"}}"#), Error::other("m"));
    assert_eq!(refused(503, r#"{"error":{"code":"closed"},"x":1}"#).code, Code::Closed);
    let none = |status: u16| format!("the server answered with status {status} and no error of this wire");
    for body in ["<html>Bad Gateway</html>", "", "{}", "[]", r#"{"error":"x"}"#, r#"{"error":{"code":"exist"}}{}"#] {
        assert_eq!(words(reply(502, "text/html", body)), none(502), "{body}");
    }
    assert_eq!(words("HTTP/1.1 404 x\r\nContent-Length: 100\r\n\r\n{"), none(404), "a refusal that was cut");
    let long = format!("HTTP/1.1 404 x\r\nContent-Length: {}\r\n\r\n", u64::MAX / 2);
    assert_eq!(words(long), none(404));
}

#[test]
fn a_json_reply_is_bounded_and_strict() {
    let max = Bounds::default().max_reply_bytes as usize;
    let padded = |n: usize| format!("{STAT}{}", " ".repeat(n - STAT.len()));
    let chunked = |body: &str| {
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
    };
    assert_eq!(stat(json(&padded(max))), Ok(12));
    assert_eq!(stat(json(&padded(max + 1))), Err(Error::limit("maxReplyBytes", max as u64)));
    assert_eq!(stat(chunked(&padded(max))), Ok(12));
    assert_eq!(stat(chunked(&padded(max + 1))), Err(Error::limit("maxReplyBytes", max as u64)));
    assert_eq!(stat(format!("HTTP/1.1 200 OK\r\n\r\n{STAT}")), Ok(12), "its end shows in the JSON itself");
    for coding in ["gzip", "deflate", "br", "identity, gzip", "x\r\nContent-Encoding: identity"] {
        let body =
            format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n{STAT}", STAT.len());
        assert_eq!(words(body), "the server broke the protocol: Content-Encoding");
    }
    assert_eq!(words(reply(200, "text/html", STAT)), "the server broke the protocol: Content-Type");
    assert_eq!(stat(reply(200, "Application/JSON; charset=utf-8", STAT)), Ok(12));
    for bad in ["", "{}", "[]", "null", "{}{}", "\u{feff}{}", "{\"info\":null}", "{\"info\":{\"name\":\"a\"}}"] {
        assert!(words(json(bad)).starts_with("the server broke the protocol: "), "{bad}");
    }
    for size in ["-1", "1.0", "1e1", "01", "+1", "18446744073709551616", "NaN", "\"12\""] {
        assert!(words(json(&STAT.replace("12", size))).starts_with("the server broke the protocol: "), "{size}");
    }
    for name in ["\u{0}", "\\ud800", "\\u0000"] {
        assert!(
            words(json(&STAT.replace("\"a\"", &format!("\"{name}\"")))).starts_with("the server broke"),
            "{name:?}"
        );
    }
    assert!(words(json(&"[".repeat(1_000_000))).starts_with("the server broke the protocol: "));
    assert!(
        words(json(&STAT.replace("\"size\"", "\"size\":1,\"size\""))).starts_with("the server broke the protocol: ")
    );
}

#[test]
fn bounds_of_a_strange_info_are_clamped() {
    let about = |bounds: &str| {
        let info = json(&format!(r#"{{"wire":1,"root":"x","bounds":{bounds},"scopes":["fly"],"reach":"moon"}}"#));
        run(ops::about(&Scripted::new([Script::new(info)]).remote()))
    };
    let bounds = |text: &str| about(text).unwrap().bounds.clone().unwrap();
    let usual = bounds("{}");
    assert_eq!(bounds(r#"{"maxWriteBytes":0,"maxExecOutputBytes":-5}"#), usual);
    assert_eq!(bounds(r#"{"maxWriteBytes":18446744073709551616}"#).max_write_bytes, Bounds::MAX);
    assert_eq!(about("{}").unwrap().root, "", "a root that is not absolute is withheld");
    assert!(about(r#"{"maxWriteBytes":1.5}"#).unwrap_err().words.starts_with("the server broke the protocol: "));
    // An exec after it: nothing overflows.
    let info = json(
        r#"{"root":"/","bounds":{"maxExecOutputBytes":99999999999999999999,"maxRequestBytes":99999999999999999999}}"#,
    );
    let server = Scripted::new([Script::of([info, ndjson(&["{\"output\":{\"exitCode\":0}}\n"])])]);
    let remote = server.remote();
    run(ops::about(&remote)).unwrap();
    run(ops::run(&remote, &Command::new(["a"]), |_, _| {})).unwrap();
}

#[test]
fn a_listing_names_nothing_it_must_not() {
    let row = |name: &str| format!(r#"{{"name":"{name}","size":1,"mode":420,"modTime":"1970-01-01T00:00:00Z"}}"#);
    let list = |names: &[&str], max: u64| {
        let rows: Vec<_> = names.iter().map(|name| row(name)).collect();
        let body = json(&format!("{{\"entries\":[{}]}}", rows.join(",")));
        run(ops::readdir(&Scripted::new([Script::new(body)]).remote(), "d", max)).map(|l| l.entries.len())
    };
    assert_eq!(list(&["b", "a", "..."], 3), Ok(3));
    assert_eq!(list(&["a", "b", "c"], 2), Err(Error::limit("max", 2)));
    for bad in ["", ".", "..", "/", "a/b", "../a", "/a", "a/", "a\\u0000"] {
        assert_eq!(list(&["a", bad], 10), Err(Error::other("the server listed a name it must not")), "{bad:?}");
    }
    assert_eq!(list(&["a", "b", "a"], 10), Err(Error::other("the server listed a name it must not")));
    let many: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(list(&many, 10_000), Err(Error::limit("max", 10_000)));
}

fn read(script: Script) -> Result<Vec<u8>, Error> {
    run(ops::read(&Scripted::new([script]).remote(), "a", 1 << 20))
}

#[test]
fn a_file_is_whole_or_an_error() {
    let octets = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n";
    let content: String = (0..3000).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    let length = format!("{octets}Content-Length: 3000\r\n\r\n{content}");
    let chunks: String = content
        .as_bytes()
        .chunks(700)
        .map(|c| format!("{:x}\r\n{}\r\n", c.len(), std::str::from_utf8(c).unwrap()))
        .collect();
    let chunked = format!("{octets}Transfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n");
    for whole in [length, chunked] {
        for step in [1, 2, 7, 100, usize::MAX] {
            assert!(
                read(Script::new(whole.clone()).step(step).then(Then::Eof)).unwrap() == content.as_bytes(),
                "{step}"
            );
        }
        let near_an_edge = |end: &usize| *end < 120 || whole.len() - end < 30 || end.is_multiple_of(17);
        for end in (0..whole.len()).filter(near_an_edge) {
            for then in [Then::Eof, Then::Reset] {
                let error = read(Script::new(&whole.as_bytes()[..end]).then(then)).unwrap_err();
                assert_eq!(error.code, Code::Other, "{end}");
            }
        }
    }
    let cut = |end| {
        read(Script::new(format!("{octets}Content-Length: 3000\r\n\r\n{}", &content[..end])).then(Then::Reset))
            .unwrap_err()
    };
    assert_eq!((&*cut(2999).words, cut(2999).errno()), ("the reply was cut after 2999 bytes", Some("ECONNRESET")));
    let open = read(Script::new(format!("HTTP/1.0 200 OK\r\n\r\n{content}")).then(Then::Eof)).unwrap_err();
    assert_eq!(open.words, "the server broke the protocol: a file's content without an end of its own");
    let html = read(Script::new(reply(200, "text/html", "<p>log in</p>"))).unwrap_err();
    assert_eq!(html.words, "the server broke the protocol: Content-Type");
    let bad = read(Script::new(format!("{octets}Transfer-Encoding: chunked\r\n\r\nxyz\r\n"))).unwrap_err();
    assert!(bad.words.starts_with("the server broke the protocol: "));
    let long = read(Script::new(format!("{octets}Content-Length: {}\r\n\r\n", u64::MAX / 2))).unwrap_err();
    assert_eq!(long.code, Code::Limit, "no room is made for what is only stated");
}

fn exec(script: Script, output: Delivery, buffer: usize) -> Ran {
    let server = Scripted::new([script]);
    let remote: Remote = server.remote();
    let mut clock = Clock::default();
    match run(ops::exec(&remote, &Command { output, ..Command::new(["a"]) })) {
        Ok(mut exec) => drain(&mut clock, &mut *exec, buffer),
        Err(error) => (Vec::new(), Vec::new(), Err(error)),
    }
}

/// An exec's reply of those lines, to its end.
fn frames(lines: &[&str]) -> Ran {
    exec(Script::new(ndjson(lines)).then(Then::Eof), Delivery::Merged, 32_768)
}

fn broken(lines: &[&str]) -> (Vec<u8>, String) {
    let (out, _, end) = frames(lines);
    let error = end.unwrap_err();
    assert_eq!(error.code, Code::Other, "{lines:?}");
    assert_eq!(error.details.unwrap().ran, Some(true), "{lines:?}");
    assert!(
        error.words.starts_with("the server broke the protocol: ")
            || error.words.starts_with("the reply was cut after "),
        "{lines:?}"
    );
    (out, error.words.into())
}

const A: &str = "{\"data\":\"QQ==\"}\n";
const EXIT: &str = "{\"output\":{\"exitCode\":7}}\n";

#[test]
fn a_reply_of_frames_is_an_output() {
    let seven = Exit { code: 7, ..Exit::default() };
    assert_eq!(frames(&[A, A, EXIT]), (b"AA".to_vec(), vec![], Ok(seven.clone())));
    // Blank lines, CRLF, white space, members of another day, data in another spelling.
    let odd = [
        "\n",
        " \t\r\n",
        "{ \"data\" : \"QQ==\", \"x\": {\"y\":[1.5]} } \r\n",
        "{\"data\":\"\\u0051Q==\"}\n",
        "{\"data\":\"\"}\n",
        EXIT,
    ];
    assert_eq!(frames(&odd), (b"AA".to_vec(), vec![], Ok(seven.clone())));
    // A line in many chunks, many lines in one.
    let bytes: Vec<String> = [A, A, EXIT].concat().chars().map(String::from).collect();
    assert_eq!(
        frames(&bytes.iter().map(String::as_str).collect::<Vec<_>>()),
        (b"AA".to_vec(), vec![], Ok(seven.clone()))
    );
    assert_eq!(frames(&[&[A, A, EXIT].concat()]), (b"AA".to_vec(), vec![], Ok(seven)));
    let killed = frames(&["{\"output\":{\"exitCode\":-1,\"signal\":\"SEGV\"}}\n"]).2.unwrap();
    assert_eq!((killed.code, killed.signal.as_deref()), (-1, Some("SEGV")));
    assert!(frames(&["{\"output\":{\"exitCode\":-1,\"timedOut\":true}}\n"]).2.unwrap().timed_out);
    let error = frames(&[A, "{\"error\":{\"code\":\"limit\",\"message\":\"over a limit: x\"}}\n"]);
    assert_eq!(error.0, b"A");
    assert_eq!(error.2, Err(Error::new(Code::Limit, "x").with(|d| d.ran = Some(true))));
}

#[test]
fn frames_that_are_none_are_refused() {
    for data in ["AAA", "A=A=", "AA==\\n", "-_==", "QQ", "AB==", "Q Q==", "QQ==QQ==", "=", "QQ\u{e9}="] {
        let line = format!("{{\"data\":\"{data}\"}}\n");
        assert_eq!(broken(&[A, &line, EXIT]).0, b"A", "{data}");
    }
    for line in [
        "{}",
        "{\"data\":\"\",\"output\":{}}",
        "{\"x\":1}",
        "[]",
        "null",
        "1",
        "\"data\"",
        "{\"data\":1}",
        "{\"data\":null}",
        "{\"data\":\"QQ==\",\"data\":\"Qg==\"}",
        "{\"output\":{\"exitCode\":0,\"exitCode\":1}}",
        "{\"output\":{}}",
        "{\"output\":[]}",
        "{\"output\":{\"exitCode\":1.0}}",
        "{\"output\":{\"exitCode\":-0}}",
        "{\"output\":{\"exitCode\":4294967296}}",
        "{\"output\":{\"exitCode\":1e400}}",
        "{\"output\":{\"exitCode\":\"0\"}}",
        "{\"output\":{\"exitCode\":0,\"timedOut\":1}}",
        "{\"output\":{\"exitCode\":0,\"stdout\":\"AB==\"}}",
        "{\"error\":\"x\"}",
        "{\"data\":\"QQ==\"} x",
        "{\"data\":\"QQ==\"}{}",
        "\u{feff}{\"data\":\"QQ==\"}",
        "{'data':'QQ=='}",
        "{\"data\":\"QQ==\",}",
        "{\"data\":\"QQ==\"/**/}",
        "{\"data\":\"\\ud800\"}",
        "x",
    ] {
        assert_eq!(broken(&[A, &format!("{line}\n"), EXIT]).0, b"A", "{line}");
    }
    assert_eq!(broken(&[A, &format!("{}\n", "[".repeat(10_000)), EXIT]).0, b"A");
    let bad_utf8 = [&ndjson(&[A])[..ndjson(&[A]).len() - 5], b"e\r\n{\"output\":\"\xff\x0a\r\n0\r\n\r\n"].concat();
    assert!(exec(Script::new(bad_utf8), Delivery::Merged, 100).2.is_err());
}

#[test]
fn there_is_one_last_frame_and_it_is_last() {
    let on = "the server broke the protocol: the reply went on after its last frame";
    let error = "{\"error\":{\"code\":\"other\"}}\n";
    for after in [EXIT, error, A, "\n", "x", "{}\n"] {
        for last in [EXIT, error] {
            assert_eq!(broken(&[A, last, after]).1, on, "{last} {after}");
        }
    }
    assert_eq!(broken(&[A]).1, "the reply was cut after 16 bytes");
    assert_eq!(broken(&[]).1, "the reply was cut after 0 bytes");
    assert_eq!(broken(&[A, "\n\n"]).1, "the reply was cut after 18 bytes");
    assert_eq!(broken(&[A, EXIT.trim_end()]).1, "the reply was cut after 41 bytes", "a line without its end");
}

/// F4: whatever the place where an exec's reply is cut, and however, it is an error and no exit code.
#[test]
fn a_reply_that_was_cut_is_never_an_exit() {
    let lines = [A, "{\"data\":\"aGVsbG8gd29ybGQ=\"}\n", "\n", "{\"output\":{\"exitCode\":0,\"stderr\":\"eA==\"}}\n"];
    let body = lines.concat();
    let whole = ndjson(&lines);
    let fails = |bytes: Vec<u8>, then: Then, note: &str| {
        for step in [usize::MAX, 1] {
            let end = exec(Script::new(bytes.clone()).then(then).step(step), Delivery::Merged, 4096).2;
            assert!(end.is_err(), "{note}: {end:?}");
        }
    };
    for end in 0..whole.len() {
        for then in [Then::Eof, Then::Reset] {
            fails(whole[..end].to_vec(), then, &format!("cut at {end}, {then:?}"));
        }
        // Whole again once the last line's chunk is: then nothing was cut.
        if end < whole.len() - 7 {
            fails([&whole[..end], b"0\r\n\r\n"].concat(), Then::Eof, &format!("cut at {end}, a last chunk forged"));
            fails([&whole[..end], b"\r\n0\r\n\r\n"].concat(), Then::Eof, &format!("cut at {end}, a last chunk forged"));
        }
    }
    // A proxy that frames anew what it got.
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n";
    for end in 0..body.len() {
        let part = &body[..end];
        let chunk = if end > 0 { format!("{end:x}\r\n{part}\r\n") } else { String::new() };
        fails(
            format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n").into(),
            Then::Open,
            "framed anew in chunks",
        );
        fails(format!("{head}Content-Length: {end}\r\n\r\n{part}").into(), Then::Open, "framed anew by a length");
        fails(format!("{head}Content-Length: {}\r\n\r\n{part}", body.len()).into(), Then::Eof, "short of its length");
        fails(format!("{head}\r\n{part}").into(), Then::Eof, "until the end of the connection");
    }
    let second = ndjson(&[A]).len() - b"0\r\n\r\n".len() + b"1e\r\n".len();
    let error = exec(Script::new(&whole[..second + 10]).then(Then::Reset), Delivery::Merged, 4096).2.unwrap_err();
    assert_eq!((&*error.words, error.errno()), ("the reply was cut after 26 bytes", Some("ECONNRESET")));
}

#[test]
fn pieces_of_every_size_are_the_same_output() {
    let data: Vec<u8> = (0..32_768).map(|n: u32| n as u8).collect();
    let frame = |open: &str, data: &[u8]| {
        format!("{{\"{open}\":\"{}\"}}\n", base64::Engine::encode(&base64::engine::general_purpose::STANDARD, data))
    };
    let (full, err) = (frame("data", &data), frame("stderr", b"error"));
    let collected =
        format!("{{\"output\":{{\"stdout\":\"{}\",\"stderr\":\"eA==\",\"exitCode\":7}}}}\n", &full[9..full.len() - 3]);
    for (lines, out, err) in [
        (vec![&*full, A, &err, EXIT], [&data[..], b"A"].concat(), &b"error"[..]),
        (vec![&collected], data.clone(), b"x"),
    ] {
        for step in [1, 3, 1000, usize::MAX] {
            for buffer in [1, 2, 1000, 32_767, 32_768, 100_000] {
                let ran = exec(Script::new(ndjson(&lines)).step(step), Delivery::Collected, buffer);
                assert!(ran.0 == out && ran.1 == err, "{step} {buffer}");
                assert_eq!(ran.2.unwrap().code, 7);
            }
        }
    }
}

#[test]
fn a_line_is_bounded() {
    let frame = |n: usize| {
        let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, vec![7; n]);
        format!("{{\"data\":\"{text}\"}}\n")
    };
    assert_eq!(frames(&[&frame(32_768), EXIT]).0, vec![7; 32_768]);
    for n in [32_769, 10 << 20] {
        for output in [Delivery::Merged, Delivery::Collected] {
            let error = exec(Script::new(ndjson(&[&frame(n), EXIT])), output, 32_768).2.unwrap_err();
            assert_eq!((error.code, error.details.unwrap().ran), (Code::Limit, Some(true)), "{n}");
        }
    }
    // A line without an end, of a server that never stops.
    let endless = Endless::default();
    let remote = Remote::new(endless.clone(), support::base());
    let command = Command { output: Delivery::Merged, ..Command::new(["a"]) };
    let mut running = run(ops::exec(&remote, &command)).unwrap();
    let error = drain(&mut Clock::default(), &mut *running, 4096).2.unwrap_err();
    assert_eq!(error.code, Code::Limit);
    assert!(endless.read() < 1 << 20, "{} bytes were read", endless.read());
}

#[test]
fn a_server_that_never_stops_lets_others_have_their_turn() {
    let endless = Endless { blank: true, ..Endless::default() };
    let remote = Remote::new(endless.clone(), support::base());
    let mut running = run(ops::exec(&remote, &Command::new(["a"]))).unwrap();
    let mut clock = Clock::default();
    for _ in 0..10 {
        let (polled, due) = clock.poll(|cx| running.poll_next(cx, &mut [0; 100]));
        assert!(polled.is_pending() && due.is_some());
    }
}

/// A server whose reply to an exec never ends: blank lines, or one line.
#[derive(Clone, Default)]
struct Endless {
    blank: bool,
    read: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl Endless {
    fn read(&self) -> usize {
        self.read.load(std::sync::atomic::Ordering::SeqCst)
    }
}

impl farside_core::Dial for Endless {
    fn dial(&self) -> Result<Box<dyn farside_core::Transport>, Error> {
        Ok(Box::new(self.clone()))
    }
}

impl farside_core::Transport for Endless {
    fn poll_read(&mut self, _: &mut farside_core::Cx<'_>, buf: &mut [u8]) -> std::task::Poll<Result<usize, Error>> {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 9000000000000\r\n\r\n";
        let before = self.read.fetch_add(buf.len(), std::sync::atomic::Ordering::SeqCst);
        buf.fill(if self.blank { b'\n' } else { b'x' });
        if before == 0 {
            buf[..head.len()].copy_from_slice(head);
        }
        std::task::Poll::Ready(Ok(buf.len()))
    }

    fn poll_write(&mut self, _: &mut farside_core::Cx<'_>, buf: &[u8]) -> std::task::Poll<Result<usize, Error>> {
        std::task::Poll::Ready(Ok(buf.len()))
    }
}
