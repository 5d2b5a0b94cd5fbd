//! Every operation of the client against a handler in the same process.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use farside_core::{
    Access, Answer, Command, Delivery, Handler, NoRoom, Op, Remote, Workspace,
    inprocess::InProcess,
    ops,
    wire::{Bounds, Code, Error, Scope, Scopes},
};
use std::{
    sync::{Arc, Mutex, atomic::Ordering::SeqCst},
    task::Poll,
    time::Duration,
};
use support::{Clock, Counted, Fake, base, drain, run};

fn near(fake: &Fake, access: Access) -> Remote {
    Remote::new(InProcess(Handler::new(fake.clone(), access)), base())
}

fn all(fake: &Fake) -> Remote {
    near(fake, Access::Insecure(Scopes::ALL))
}

#[test]
fn answers_are_those_of_the_served_workspace() {
    let fake = Fake::default();
    fake.put("a", "content");
    fake.put("b c+%é", "x");
    let remote = all(&fake);
    for name in ["a", "b c+%é"] {
        assert_eq!(run(ops::stat(&remote, name)), run(ops::stat(&fake, name)), "{name}");
        assert_eq!(run(ops::lstat(&remote, name)), run(ops::lstat(&fake, name)), "{name}");
        assert_eq!(run(ops::readlink(&remote, name)), run(ops::readlink(&fake, name)), "{name}");
        assert_eq!(run(ops::read(&remote, name, 100)), run(ops::read(&fake, name, 100)), "{name}");
    }
    assert_eq!(run(ops::readdir(&remote, ".", 3)), run(ops::readdir(&fake, ".", 3)));
    assert_eq!(run(ops::readdir(&remote, ".", 2)), Err(Error::limit("max", 2)), "the skipped one counts");
    assert_eq!(run(ops::remove(&remote, "a")), Ok(()));
    assert_eq!(run(ops::remove(&remote, "a")), Err(Code::NotExist.into()));
}

#[test]
fn info_is_the_servers() {
    let fake = Fake::default();
    let about = run(ops::about(&all(&fake))).unwrap();
    assert_eq!((&*about.root, &*about.descriptor.root), ("/root/here", "/root/here"));
    assert_eq!(about.env, ["A=b"]);
    assert_eq!(
        about.bounds,
        Some(Bounds { replay_bytes: about.bounds.as_ref().unwrap().replay_bytes, ..Bounds::default() })
    );
    assert!(about.extensions.contains(&"apart".into()));
    let servers = near(&fake, Access::Insecure(Scopes::NONE.with(Scope::Servers)));
    let about = run(ops::about(&servers)).unwrap();
    assert_eq!((&*about.root, &*about.descriptor.root), ("", ""), "a root that is withheld is no partial path");
    assert_eq!(about.descriptor.host, None);
}

#[test]
fn errors_keep_their_codes_over_two_hops() {
    let fake = Fake::default();
    let hop = all(&fake);
    let two = Remote::new(InProcess(Handler::new(hop, Access::Insecure(Scopes::ALL))), base());
    for code in Code::ALL {
        let name = format!("code/{}", code.name());
        let [direct, far] = [run(ops::stat(&fake, &name)), run(ops::stat(&two, &name))].map(Result::unwrap_err);
        assert_eq!(far.code, direct.code);
        let words = if *code == Code::Other { "words of its own" } else { "" };
        assert_eq!(far.words, words, "a mapped error's own words cross no wire");
    }
    assert_eq!(run(ops::stat(&two, "../x")).unwrap_err().code, Code::Outside);
    assert_eq!(run(ops::stat(&two, "a//b")).unwrap_err().code, Code::Invalid);
}

#[test]
fn contents_of_every_size_come_and_go_whole() {
    for without_size in [false, true] {
        let fake = Fake::default();
        fake.0.unsized_files.store(without_size, SeqCst);
        let remote = all(&fake);
        for n in [0, 1, 1500, 2048, 16_000, 16_385, 65_536, 65_537, 300_000, 3_000_000] {
            let data: Vec<u8> = (0..n).map(|i: u32| (i ^ i >> 8) as u8).collect();
            run(ops::write(&remote, "f", &data, Some(0o600))).unwrap();
            assert!(fake.get("f").unwrap() == data, "written: {n}");
            assert!(run(ops::read(&remote, "f", 4_000_000)).unwrap() == data, "read: {n}");
            let mut sink = run(ops::create(&remote, "g", None, None)).unwrap();
            let mut clock = Clock::default();
            for part in data.chunks(70_001) {
                let mut left = part;
                while !left.is_empty() {
                    let n = clock.wait(|cx| sink.poll_write(cx, left)).unwrap();
                    left = &left[n..];
                }
            }
            clock.wait(|cx| sink.poll_finish(cx)).unwrap();
            assert!(fake.get("g").unwrap() == data, "written in chunks: {n}");
        }
        let error = run(ops::read(&remote, "f", 100)).unwrap_err();
        assert_eq!(error.code, Code::Limit);
    }
}

#[test]
fn a_small_file_comes_with_its_head() {
    let fake = Fake::default();
    fake.put("a", "content");
    let remote = all(&fake);
    let (mut room, mut clock) = (Vec::new(), Clock::default());
    let mut called = remote.call(Op::Open { name: "a" }, &mut room);
    assert!(matches!(clock.wait(|cx| called.poll(cx, &mut room)), Ok(Answer::Whole(7))));
    assert_eq!(room, b"content");
    fake.put("empty", "");
    for name in ["a", "empty"] {
        let mut called = remote.call(Op::Open { name }, &mut NoRoom);
        assert!(matches!(clock.wait(|cx| called.poll(cx, &mut NoRoom)), Ok(Answer::Reader(_))), "without room: {name}");
    }
}

#[test]
fn an_upload_that_is_dropped_changes_nothing() {
    let fake = Fake::default();
    fake.put("f", "old");
    let remote = all(&fake);
    let mut clock = Clock::default();
    for n in [1, 5, 16_384, 16_385, 100_000] {
        let data = vec![7; n];
        for size in [Some(n as u64 + 1), Some(n as u64), None] {
            let mut sink = run(ops::create(&remote, "f", None, size)).unwrap();
            let mut left = &data[..];
            while !left.is_empty() {
                let n = clock.wait(|cx| sink.poll_write(cx, left)).unwrap();
                left = &left[n..];
            }
            drop(sink);
            assert_eq!(
                fake.get("f").unwrap(),
                b"old",
                "all of it was written, but it was not finished: {n} of {size:?}"
            );
        }
    }
    let mut sink = run(ops::create(&remote, "f", None, Some(4))).unwrap();
    assert_eq!(clock.wait(|cx| sink.poll_write(cx, b"12345")).unwrap_err().code, Code::Other, "more than announced");
    let mut sink = run(ops::create(&remote, "f", None, Some(4))).unwrap();
    assert_eq!(clock.wait(|cx| sink.poll_write(cx, b"123")), Ok(3));
    assert_eq!(clock.wait(|cx| sink.poll_finish(cx)).unwrap_err().code, Code::Other, "fewer than announced");
    assert_eq!(fake.get("f").unwrap(), b"old");
}

#[test]
fn an_upload_that_is_refused_says_why() {
    let fake = Fake::default();
    let data = vec![7; 9_000_000];
    let remote = near(&fake, Access::Insecure(Scopes::NONE.with(Scope::Read)));
    assert_eq!(run(ops::write(&remote, "f", &data, None)), Err(Code::Forbidden.into()));
    let error = run(ops::write(&all(&fake), "full", &data, None)).unwrap_err();
    assert_eq!((error.code, error.errno()), (Code::Other, Some("ENOSPC")));
    let bounds = Bounds { max_write_bytes: 1000, ..Bounds::default() };
    let handler = Handler::with(fake.clone(), Access::Insecure(Scopes::ALL), bounds, Duration::from_secs(60));
    let remote = Remote::new(InProcess(handler), base());
    assert_eq!(run(ops::write(&remote, "f", &data, None)), Err(Error::limit("maxWriteBytes", 1000)), "by the server");
    run(ops::about(&remote)).unwrap();
    let refused = run(ops::create(&remote, "f", None, Some(1001))).map(|_| ());
    assert_eq!(refused, Err(Error::limit("maxWriteBytes", 1000)), "by the client, which knows");
    let command = Command { stdin: vec![0; 1001].into(), ..Command::new(["exit:0"]) };
    assert_eq!(run(ops::exec(&remote, &command)).map(|_| ()), Err(Error::limit("maxWriteBytes", 1000)));
    let command = Command::new(["exit:0", &"x".repeat((1 << 20) + 2000)]);
    let max = Bounds::default().max_request_bytes;
    assert_eq!(run(ops::exec(&remote, &command)).map(|_| ()), Err(Error::limit("maxRequestBytes", max)));
    assert_eq!(*fake.0.last.lock().unwrap(), None, "it was not sent");
}

#[test]
fn a_command_gives_what_it_gave_over_there() {
    let fake = Fake::default();
    let remote = all(&fake);
    let mut clock = Clock::default();
    let steps = ["out:one", "err:two", "many:100000", "err:three", "exit:3"];
    let many: Vec<u8> = (0..100_000).map(|i: u32| i as u8).collect();
    for output in [Delivery::Collected, Delivery::Merged, Delivery::Apart] {
        for n in [1, 7, 4096, 32_768, 100_000] {
            let command = Command { output, ..Command::new(steps) };
            let mut exec = run(ops::exec(&remote, &command)).unwrap();
            let (out, err, end) = drain(&mut clock, &mut *exec, n);
            assert_eq!(end.unwrap().code, 3);
            if output == Delivery::Merged {
                assert!(out == [b"onetwo", &many[..], b"three"].concat() && err.is_empty(), "{n}");
            } else {
                assert!(out == [b"one", &many[..]].concat() && err == b"twothree", "{output:?} {n}");
            }
        }
    }
    assert_eq!(run(ops::exec(&remote, &Command::new(["missing"]))).map(|_| ()), Err(Code::NotExist.into()));
    let mut exec = run(ops::exec(&remote, &Command::new(["out:x", "fail:permission"]))).unwrap();
    let error = drain(&mut clock, &mut *exec, 100).2.unwrap_err();
    assert_eq!((error.code, error.details.unwrap().ran), (Code::Permission, Some(true)));
}

#[test]
fn a_command_arrives_as_it_was_given() {
    let fake = Fake::default();
    let command = Command {
        dir: "sub/dir".into(),
        env: vec!["A=\"\\\n=é".into(), "B=".into()],
        stdin: (0..=255).collect::<Vec<u8>>().into(),
        timeout: Some(Duration::from_micros(1)),
        output: Delivery::Merged,
        ..Command::new(["exit:0", "\u{1}", "\u{202e}"])
    };
    run(ops::run(&all(&fake), &command, |_, _| {})).unwrap();
    let got = fake.0.last.lock().unwrap().clone().unwrap();
    assert_eq!(
        got,
        Command { timeout: Some(Duration::from_millis(1)), ..command.clone() },
        "a short timeout is not none"
    );
    for bad in [Command::new([""; 0]), Command::new(["a\0"]), Command { dir: "../x".into(), ..Command::new(["a"]) }] {
        assert!(run(ops::exec(&all(&fake), &bad)).is_err(), "{bad:?}");
    }
}

#[test]
fn an_interrupted_command_goes_on_to_its_output() {
    let fake = Fake::default();
    for output in [Delivery::Collected, Delivery::Merged, Delivery::Apart] {
        let remote = all(&fake);
        let mut clock = Clock::default();
        let command = Command { output, ..Command::new(["out:so far", "wait"]) };
        let mut exec = run(ops::exec(&remote, &command)).unwrap();
        let mut buf = [0; 100];
        if output != Delivery::Collected {
            clock.wait(|cx| exec.poll_next(cx, &mut buf)).unwrap();
        }
        assert!(clock.try_wait(|cx| exec.poll_next(cx, &mut buf)).is_none(), "it waits");
        exec.interrupt();
        let (out, _, end) = drain(&mut clock, &mut *exec, 100);
        let end = end.unwrap();
        assert_eq!((end.code, end.interrupted), (-1, true));
        assert_eq!(out, if output == Delivery::Collected { &b"so far"[..] } else { b"" }, "the output so far is kept");
    }
}

#[test]
fn a_dropped_command_is_hung_up_on() {
    let fake = Fake::default();
    let remote = all(&fake);
    let mut clock = Clock::default();
    let mut exec = run(ops::exec(&remote, &Command::new(["wait"]))).unwrap();
    assert!(clock.try_wait(|cx| exec.poll_next(cx, &mut [])).is_none());
    assert_eq!(*fake.0.running.lock().unwrap(), ["started"]);
    drop(exec);
    assert_eq!(fake.0.running.lock().unwrap().len(), 2, "it ended with its connection");
}

#[test]
fn without_room_only_the_end_comes() {
    let remote = all(&Fake::default());
    let mut clock = Clock::default();
    let command = Command { output: Delivery::Merged, ..Command::new(["out:x", "exit:4"]) };
    let mut exec = run(ops::exec(&remote, &command)).unwrap();
    assert!(clock.try_wait(|cx| exec.poll_next(cx, &mut [])).is_none(), "data waits");
    assert_eq!(drain(&mut clock, &mut *exec, 1).0, b"x");
    let mut exec = run(ops::exec(&remote, &Command::new(["exit:4"]))).unwrap();
    assert!(matches!(clock.try_wait(|cx| exec.poll_next(cx, &mut [])), Some(Ok(_))), "nothing but the end");
}

#[test]
fn connections_are_used_again() {
    let fake = Fake::default();
    fake.put("f", vec![1; 100_000]);
    let dials = Arc::new(Mutex::new(0));
    let handler = Handler::new(fake.clone(), Access::Insecure(Scopes::ALL));
    let remote = Remote::new(Counted(InProcess(handler), dials.clone()), base());
    for _ in 0..3 {
        run(ops::stat(&remote, "f")).unwrap();
        run(ops::read(&remote, "f", 1 << 20)).unwrap();
        run(ops::write(&remote, "g", b"x", None)).unwrap();
        run(ops::remove(&remote, "g")).unwrap();
        run(ops::stat(&remote, "g")).unwrap_err();
        for output in [Delivery::Collected, Delivery::Merged] {
            run(ops::run(&remote, &Command { output, ..Command::new(["out:x"]) }, |_, _| {})).unwrap();
        }
    }
    assert_eq!(*dials.lock().unwrap(), 1);
    let clock = &mut Clock::default();
    let mut execs: Vec<_> = (0..40).map(|_| run(ops::exec(&remote, &Command::new(["exit:0"]))).unwrap()).collect();
    assert_eq!(*dials.lock().unwrap(), 40);
    for exec in &mut execs {
        drain(clock, &mut **exec, 10).2.unwrap();
    }
    let execs: Vec<_> = (0..40).map(|_| run(ops::exec(&remote, &Command::new(["exit:0"]))).unwrap()).collect();
    assert_eq!(*dials.lock().unwrap(), 40 + 40 - 16, "16 idle ones are kept");
    drop(execs);
}

#[test]
fn credentials_go_to_the_server_and_nowhere_else() {
    let fake = Fake::default();
    fake.put("a", "x");
    let server =
        |token: &str| near(&fake, Access::bearer("SECRET")).with_authorization(format!("Bearer {token}")).unwrap();
    let remote = server("SECRET");
    run(ops::stat(&remote, "a")).unwrap();
    assert!(!format!("{remote:?}").contains("SECRET"));
    let wrong = run(ops::stat(&server("GUESS"), "a")).unwrap_err();
    assert_eq!(wrong.code, Code::Unauthenticated);
    assert!(!format!("{wrong:?} {wrong}").contains("GUESS"));
    for bad in ["", "a\r\nX: y", "é", " a", "a\0"] {
        assert!(near(&fake, Access::Refuse).with_authorization(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_call_that_is_polled_again_is_an_error() {
    let remote = all(&Fake::default());
    let mut clock = Clock::default();
    let mut called = remote.call(Op::About, &mut NoRoom);
    assert!(clock.wait(|cx| called.poll(cx, &mut NoRoom)).is_ok());
    assert!(matches!(clock.poll(|cx| called.poll(cx, &mut NoRoom)).0, Poll::Ready(Err(_))));
}
