//! The end of a handler and of a server, on both runtimes: what is under way is answered, what is idle ends, and nothing is waited for
//! without a bound.
#![allow(clippy::unwrap_used, reason = "a test")]

use farside_backends::Memory;
use farside_core::{Access, Handler, wire::Scopes};
use farside_tests::{
    disk::Disk,
    replies::{Answer, replies, statuses},
    requests::Request,
    served::{SOON, Served, eventually, on_both, rest},
    virtual_time::Wire,
};
use std::{
    fs::File,
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    thread,
    time::{Duration, Instant},
};

const SECOND: Duration = Duration::from_secs(1);
const LARGE: u64 = 64 << 20;

fn disk() -> Disk {
    let disk = Disk::new();
    File::create(disk.path().join("large")).unwrap().set_len(LARGE).unwrap();
    disk
}

fn asked(served: &Served, request: &Request) -> TcpStream {
    served.send(&request.bytes())
}

/// Closes a server meanwhile; what is given back says how long that took.
fn closing(served: Served, patience: Duration) -> thread::JoinHandle<Duration> {
    thread::spawn(move || {
        let began = Instant::now();
        served.close(patience);
        began.elapsed()
    })
}

fn output(answer: &Answer) -> &str {
    answer.text().lines().last().unwrap_or_default()
}

#[test]
fn idle_connections_end_at_once() {
    on_both(|runner| {
        let disk = disk();
        let served = Served::new(runner, disk.handler.clone());
        let silent: Vec<_> = (0..20).map(|_| served.send(b"")).collect();
        let half = asked(&served, &Request { method: "GE".into(), ..Request::get("/v1/info") });
        half.shutdown(Shutdown::Read).unwrap();
        let mut used: Vec<_> = (0..20).map(|_| asked(&served, &Request::get("/v1/info"))).collect();
        for sock in &mut used {
            assert!(sock.read(&mut [0; 64 * 1024]).unwrap() > 0);
        }
        let closing = closing(served, 600 * SECOND);
        for sock in silent.iter().chain(&used) {
            assert_eq!(rest(sock), b"", "{runner:?}");
        }
        assert!(closing.join().unwrap() < SOON, "{runner:?}");
    });
}

#[test]
fn transfers_under_way_finish() {
    on_both(|runner| {
        let disk = disk();
        let served = Served::new(runner, disk.handler.clone());
        let mut download = asked(&served, &Request::get("/v1/fs/file?path=large"));
        let mut out = vec![0; 1000];
        download.read_exact(&mut out).unwrap();
        let content = vec![b'n'; 1 << 20];
        let put = Request::put("f", content.clone()).bytes();
        let mut upload = served.send(b"");
        upload.write_all(&put[..put.len() / 2]).unwrap();
        let idle = asked(&served, &Request::get("/v1/info"));
        eventually("the upload begins", || disk.temps() == 1);

        let closing = closing(served, 600 * SECOND);
        // The idle one has ended: so far has the closing come, and longer yet it waits.
        rest(&idle);
        thread::sleep(SECOND / 4);
        upload.write_all(&put[put.len() / 2..]).unwrap();
        assert_eq!(statuses(&rest(&upload)), [204], "{runner:?}");
        assert!(disk.read("f") == Some(content), "{runner:?}");
        out.extend(rest(&download));
        let answers = replies(&out, "");
        assert_eq!(answers[0].as_ref().map(|a| a.body.len() as u64), Some(LARGE), "{runner:?}");
        assert!(closing.join().unwrap() < SOON, "{runner:?}");
    });
}

#[test]
fn after_the_patience_transfers_are_cut() {
    on_both(|runner| {
        let disk = disk();
        let served = Served::new(runner, disk.handler.clone());
        let mut stalled = asked(&served, &Request::get("/v1/fs/file?path=large"));
        stalled.read_exact(&mut [0; 1000]).unwrap();
        let put = Request::put("f", vec![b'n'; 1 << 20]).bytes();
        let mut upload = served.send(b"");
        upload.write_all(&put[..put.len() / 2]).unwrap();
        eventually("the upload begins", || disk.temps() == 1);
        let took = closing(served, SECOND).join().unwrap();
        assert!(took >= SECOND && took < SOON, "{runner:?} {took:?}");
        assert!((rest(&stalled).len() as u64) < LARGE, "{runner:?}");
        assert_eq!(rest(&upload), b"", "{runner:?}");
        assert_eq!((disk.read("f"), disk.temps()), (Some(b"old".to_vec()), 0));
    });
}

#[test]
fn execs_are_interrupted_and_answered() {
    on_both(|runner| {
        let disk = disk();
        let served = Served::new(runner, disk.handler.clone());
        let script = "echo begun; trap '' INT TERM; : > \"$0\"; while :; do sleep 1; done";
        let commands = [
            ("streamed", Request::exec(&["sh", "-c", script, "stubborn"], ",\"stream\":true")),
            ("collected", Request::exec(&["sh", "-c", "echo begun; : > \"$0\"; sleep 1000", "collected"], "")),
            ("keyed", Request::exec(&["sh", "-c", "echo begun; : > \"$0\"; sleep 1000", "keyed"], ",\"key\":\"K\"")),
        ];
        let execs: Vec<_> = commands.iter().map(|(what, request)| (what, asked(&served, request))).collect();
        eventually("they run", || ["stubborn", "collected", "keyed"].iter().all(|name| disk.read(name).is_some()));
        let closing = closing(served, 600 * SECOND);
        for (what, sock) in execs {
            let answers = replies(&rest(&sock), "");
            let [Some(answer)] = &answers[..] else { panic!("{runner:?} {what}: {answers:?}") };
            let last = output(answer);
            assert!(last.contains("\"exitCode\":-1") && last.contains("\"interrupted\":true"), "{what}: {last}");
            assert!(answer.text().contains("YmVndW4K"), "what it wrote before is there: {}", answer.text());
        }
        assert!(closing.join().unwrap() < SOON, "{runner:?}");
        assert_eq!(disk.running(), [0; 0], "{runner:?}");
    });
}

#[test]
fn a_reader_that_stalls_holds_up_no_end() {
    on_both(|runner| {
        let disk = disk();
        let served = Served::new(runner, disk.handler.clone());
        let mut exec = asked(&served, &Request::exec(&["yes"], ",\"stream\":true"));
        let mut out = vec![0; 1000];
        exec.read_exact(&mut out).unwrap();
        let pid = disk.running()[0];
        let written = || std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
        eventually("it waits for room", || {
            let before = written();
            thread::sleep(SECOND / 2);
            before == written()
        });
        let took = closing(served, SECOND).join().unwrap();
        assert!(took < SOON, "{runner:?} {took:?}");
        assert_eq!(disk.running(), [0; 0], "{runner:?}");
        out.extend(rest(&exec));
        assert_eq!(replies(&out, ""), [None], "{runner:?}");
    });
}

#[test]
fn processes_of_sessions_end_and_who_waits_is_answered() {
    on_both(|runner| {
        let disk = disk();
        let served = Served::new(runner, disk.handler.clone());
        let ask = |request: Request| {
            let answers = replies(&rest(&asked(&served, &request.line("Connection: close"))), "");
            answers[0].clone().unwrap()
        };
        let opened = ask(Request::post("/v1/sessions", "{}"));
        let path = format!("/v1/sessions/{}/processes", opened.text().split('"').nth(3).unwrap());
        for body in [
            r#"{"args":["sh","-c","echo out; echo err >&2; sleep 1000"],"key":"polite","stderr":true}"#,
            r#"{"args":["sh","-c","trap '' INT TERM; echo out; while :; do sleep 1; done"],"key":"stubborn"}"#,
            r#"{"args":["yes"],"key":"yes"}"#,
        ] {
            assert_eq!(ask(Request::post(&path, body)).status, 200, "{runner:?}");
        }
        let get = |what: &str| asked(&served, &Request::get(&format!("{path}/{what}")));
        let waits = ["polite", "stubborn", "yes"].map(|key| get(&format!("{key}/wait")));
        let outputs = ["polite/stdout", "polite/stderr", "stubborn/stdout"].map(get);
        for mut sock in &outputs {
            let mut out = [0; 400];
            eventually("its output comes", || sock.peek(&mut out).is_ok_and(|n| out[..n].ends_with(b"\n\r\n")));
            sock.read_exact(&mut [0; 1]).unwrap();
        }
        let stalled = get("yes/stdout");
        eventually("it is read", || stalled.peek(&mut [0; 400]).is_ok_and(|n| n == 400));

        let took = closing(served, SECOND).join().unwrap();
        assert!(took < SOON, "{runner:?} {took:?}");
        assert_eq!(disk.running(), [0; 0], "{runner:?}");
        for sock in &waits {
            let answers = replies(&rest(sock), "");
            assert_eq!(answers[0].as_ref().unwrap().text(), r#"{"status":-1,"ended":"closed"}"#, "{runner:?}");
        }
        for (sock, wanted) in outputs.iter().zip(["out\n", "err\n", "out\n"]) {
            let out = [b"H", &rest(sock)[..]].concat();
            assert_eq!(replies(&out, "")[0].as_ref().unwrap().text(), wanted, "{runner:?}");
        }
        // Whole if the connection took it all, and cut if not.
        drop(stalled);
    });
}

/// `closed` for what starts something, the usual answer for all else, to the end.
#[test]
fn a_handler_that_closes_starts_nothing_and_answers_the_rest() {
    let memory = Memory::new();
    memory.put("f", "old").unwrap();
    let handler = Handler::new(memory, Access::Insecure(Scopes::ALL));
    let exec = |members: &str| Request::exec(&["stubborn"], members);
    let mut running = Wire::new(handler.clone());
    running.send(&exec(",\"key\":\"K\"").bytes());
    let mut kept = Wire::new(handler.clone());
    kept.send(&Request::get("/v1/info").bytes());
    let mut silent = Wire::new(handler.clone());
    silent.turn();

    drop(handler.close());
    assert!(handler.is_closing());
    running.turn();
    let good_and_bad = [
        exec(""),
        exec(",\"stream\":true"),
        exec(",\"key\":\"K\""),
        exec(",\"key\":\"L\""),
        Request::exec(&["none"], ""),
    ];
    for request in good_and_bad {
        let answer = request.ask(&handler);
        assert_eq!((answer.status, answer.code()), (503, "closed"), "{request:?}");
        assert_eq!(answer.fields("connection"), ["close"]);
    }
    let open = Request::post("/v1/sessions", "{}").ask(&handler);
    assert_eq!((open.status, open.code()), (503, "closed"));
    // What is wrong is found before: the refusal is the operation's.
    assert_eq!(Request::exec(&[], "").ask(&handler).status, 400);
    assert_eq!(exec("").without("content-type").ask(&handler).status, 415);
    assert_eq!(exec("").host("evil.example").ask(&handler).status, 403);
    // A key that was never taken is still free: nothing of the refused one is left.
    assert_eq!(Request::post("/v1/exec/L/cancel", "{}").ask(&handler).status, 404);
    for (request, status) in [
        (Request::get("/v1/info"), 200),
        (Request::get("/v1/fs/file?path=f"), 200),
        (Request::put("new", "x"), 204),
        (Request::new("DELETE", "/v1/fs/file?path=new"), 204),
        (Request::post("/v1/exec/K/cancel", "{}"), 204),
        (Request::get("/v1/fs/stat?path=none"), 404),
    ] {
        let answer = request.ask(&handler);
        assert_eq!((answer.status, answer.fields("connection")), (status, vec!["close"]), "{request:?}");
    }
    // Connections that were there before have one more reply.
    for wire in [&mut kept, &mut silent] {
        wire.send(&Request::get("/v1/fs/file?path=f").bytes());
        assert_eq!(statuses(&wire.out).last(), Some(&200));
        wire.pass(3 * SECOND);
        assert!(wire.closed);
    }
    running.pass(10 * SECOND);
    let answers = replies(&running.out, "");
    let last = output(answers[0].as_ref().unwrap()).to_owned();
    assert!(last.contains("\"exitCode\":-1,\"interrupted\":true"), "{last}");
    assert!(running.closed);
}

/// A connection that was answering when the handler closed takes no other request.
#[test]
fn what_becomes_idle_meanwhile_ends() {
    let memory = Memory::new();
    memory.put("large", vec![b'x'; 1 << 20]).unwrap();
    let handler = Handler::new(memory, Access::Insecure(Scopes::ALL));
    let mut wire = Wire::new(handler.clone());
    wire.window = 1000;
    wire.send(&Request::get("/v1/fs/file?path=large").bytes());
    drop(handler.close());
    wire.window = usize::MAX;
    wire.turn();
    assert_eq!(replies(&wire.out, "")[0].as_ref().unwrap().body.len(), 1 << 20);
    assert_eq!(wire.ended_at, Some(wire.now), "the peer is told at once");
    wire.pass(3 * SECOND);
    assert!(wire.closed);
}

#[test]
fn a_server_that_is_dropped_closes_all() {
    on_both(|runner| {
        let disk = disk();
        let served = Served::new(runner, disk.handler.clone());
        let exec = asked(&served, &Request::exec(&["sleep", "1000"], ""));
        let mut download = asked(&served, &Request::get("/v1/fs/file?path=large"));
        download.read_exact(&mut [0; 1000]).unwrap();
        eventually("it runs", || disk.running().len() == 1);
        drop(served);
        rest(&exec);
        assert!((rest(&download).len() as u64) < LARGE);
        eventually("the command ends", || disk.running().is_empty());
    });
}
