//! What a client can do to the sessions of a server, on a virtual clock: processes are puppets, and the keeper is turned by hand.
#![allow(clippy::unwrap_used, reason = "a test")]

use farside_core::{
    Access, Answer, Called, Cx, Handler, Keeper, Op, Process, Room, Sink, Source, Task, Workspace,
    wire::{Bounds, Error, Moment, Scopes, Signal, WaitStatus, process::Ended, process::Size, times},
};
use farside_tests::{
    replies::statuses,
    requests::Request,
    virtual_time::{Counted, Wire},
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Poll, Waker},
    time::Duration,
};

/// Starts processes that write for ever to their output and nothing to the other, and end when they are told to.
#[derive(Clone, Default)]
struct Puppets {
    /// For each that was started, whether it was told to end.
    told: Arc<Mutex<Vec<bool>>>,
    /// Those below this number do not end, and want to be looked at all the time.
    stubborn: Arc<AtomicUsize>,
}

impl Workspace for Puppets {
    fn call(&self, op: Op<'_>, _: &mut dyn Room) -> Called {
        match op {
            Op::Start(_) => {
                let mut told = self.told.lock().unwrap();
                told.push(false);
                Ok(Answer::Process(Box::new(Puppet { number: told.len() - 1, of: self.clone() }))).into()
            }
            _ => Err(Error::other("only processes")).into(),
        }
    }
}

struct Puppet {
    number: usize,
    of: Puppets,
}

impl Process for Puppet {
    fn stdin(&mut self) -> Option<Box<dyn Sink>> {
        None
    }

    fn stdout(&mut self) -> Option<Box<dyn Source>> {
        Some(Box::new(Flood))
    }

    fn stderr(&mut self) -> Option<Box<dyn Source>> {
        Some(Box::new(Silence))
    }

    fn signal(&mut self, _: Signal) -> Result<(), Error> {
        Ok(())
    }

    fn resize(&mut self, _: Size) -> Result<(), Error> {
        Ok(())
    }

    fn end(&mut self, _: Ended, _: bool) {
        self.of.told.lock().unwrap()[self.number] = true;
    }

    fn poll_exit(&mut self, cx: &mut Cx<'_>) -> Poll<WaitStatus> {
        if self.number < self.of.stubborn.load(SeqCst) {
            cx.wake_at(cx.now(), "again");
            return Poll::Pending;
        }
        if self.of.told.lock().unwrap()[self.number] {
            Poll::Ready(WaitStatus::Ended(Ended::Closed))
        } else {
            Poll::Pending
        }
    }
}

struct Flood;

impl Source for Flood {
    fn poll_read(&mut self, _: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        Poll::Ready(Ok(buf.len()))
    }
}

struct Silence;

impl Source for Silence {
    fn poll_read(&mut self, _: &mut Cx<'_>, _: &mut [u8]) -> Poll<Result<usize, Error>> {
        Poll::Pending
    }
}

struct Server {
    handler: Arc<Handler>,
    keeper: Keeper,
    told: Arc<Mutex<Vec<bool>>>,
    stubborn: Arc<AtomicUsize>,
    session: String,
}

impl Server {
    fn new() -> Self {
        let puppets = Puppets::default();
        let (told, stubborn) = (puppets.told.clone(), puppets.stubborn.clone());
        let bounds = Bounds { max_processes: 1_000, ..Bounds::default() };
        let handler = Handler::with(puppets, Access::Insecure(Scopes::ALL), bounds, times::LEASE);
        let keeper = handler.keeper().unwrap();
        let opened = Request::new("POST", "/v1/sessions").ask(&handler);
        let session = opened.text().split('"').nth(3).unwrap().to_owned();
        Self { handler, keeper, told, stubborn, session }
    }

    fn path(&self, rest: &str) -> String {
        format!("/v1/sessions/{}{rest}", self.session)
    }

    fn start(&self, key: &str) -> u16 {
        let body = format!("{{\"args\":[\"x\"],\"stderr\":true,\"key\":{key:?}}}");
        Request::post(&self.path("/processes"), &body).ask(&self.handler).status
    }

    /// What a lapse ends is looked at in the turn after it.
    fn keep(&mut self, now: Moment) {
        let mut runtime = Counted::default();
        for _ in 0..2 {
            assert!(self.keeper.poll(&mut Cx::new(now, Waker::noop(), &mut runtime)).is_pending());
        }
    }

    /// Closes a process, or with "" the session; the reply's status.
    fn delete(&mut self, rest: &str, now: Moment) -> u16 {
        let mut wire = Wire::at(now, self.handler.clone());
        wire.send(&Request::new("DELETE", &self.path(rest)).bytes());
        self.keep(now);
        wire.turn();
        statuses(&wire.out)[0]
    }

    fn close(&mut self, key: &str) -> u16 {
        self.delete(&format!("/processes/{key}"), Moment(0))
    }
}

/// The last 65,536 keys and the last 1,024 closed processes are remembered: a key that was forgotten starts a process like any other,
/// which is not forgotten with the closed one of its name.
#[test]
fn a_process_under_a_forgotten_key_is_not_lost() {
    let mut server = Server::new();
    assert_eq!((server.start("again"), server.close("again"), server.start("again")), (200, 200, 410));
    let mut wire = Wire::new(server.handler.clone());
    for n in 0..65_536 {
        wire.send(&Request::new("DELETE", &server.path(&format!("/processes/never-{n}"))).bytes());
    }
    assert!(statuses(&wire.out).iter().all(|status| *status == 404));
    assert_eq!(server.start("again"), 200);
    for n in 0..1_025 {
        let key = format!("other-{n}");
        assert_eq!((server.start(&key), server.close(&key)), (200, 200));
    }
    let signal = Request::post(&server.path("/processes/again/signal"), "{\"signal\":\"TERM\"}");
    assert_eq!(signal.ask(&server.handler).status, 204);
    assert_eq!(server.delete("", Moment(0)), 204);
    let told = server.told.lock().unwrap();
    assert_eq!(told.iter().filter(|told| !**told).count(), 0, "of {}", told.len());
}

/// A reader that takes nothing is left behind once the process is over, and the end of its session is such an end too: its connection
/// would be held for ever.
#[test]
fn a_reader_that_takes_nothing_is_left_behind_whatever_ended_the_process() {
    let stalled = Moment(0).after(times::LEASE / 2);
    type End = fn(&mut Server, Moment) -> Moment;
    let ends: [(&str, End); 3] = [
        ("a close", |server, now| {
            assert_eq!(server.delete("/processes/k", now), 200);
            now
        }),
        ("its session's close", |server, now| {
            assert_eq!(server.delete("", now), 204);
            now
        }),
        ("its session's lapse", |server, _| {
            let lapse = Moment(0).after(times::LEASE);
            server.keep(lapse);
            lapse
        }),
    ];
    for (what, end) in ends {
        for exited in [false, true] {
            let mut server = Server::new();
            assert_eq!(server.start("k"), 200);
            let mut reader = Wire::new(server.handler.clone());
            reader.window = 1000;
            reader.send(&Request::get(&server.path("/processes/k/stdout")).bytes());
            if exited {
                server.told.lock().unwrap()[0] = true;
                server.keep(Moment(0));
            }
            reader.pass(times::LEASE / 2);
            let over = end(&mut server, stalled).after(times::STDERR_GRACE + times::LEFT_BEHIND);
            while reader.now < over {
                assert!(!reader.closed, "{what}, exited {exited}: it has that much time");
                reader.pass(Duration::from_secs(1));
            }
            reader.pass(Duration::from_secs(1));
            assert!(reader.closed, "{what}, exited {exited}: it is held still");
            assert_eq!(statuses(&reader.out), [0], "{what}: and it sees that it was cut");
        }
    }
}

/// A waiter whose client hung up is freed when that is seen, and a reader of a silent process too, however much the client had sent
/// behind its request.
#[test]
fn whoever_waits_is_heard_leaving_behind_whatever_it_sent() {
    for (route, behind) in [("wait", 0), ("wait", 300_000), ("stderr", 0), ("stderr", 300_000)] {
        let server = Server::new();
        assert_eq!(server.start("k"), 200);
        let request = Request::get(&server.path(&format!("/processes/k/{route}"))).bytes();
        let mut wire = Wire::new(server.handler.clone());
        wire.send(&request);
        wire.send(&vec![b'x'; behind]);
        assert!(!wire.closed, "{route}: it waits");
        wire.hang_up();
        assert!(wire.closed, "{route}: {behind} bytes behind it");
        if route == "wait" {
            let mut wire = Wire::new(server.handler.clone());
            wire.send(&request);
            assert_eq!((wire.out.len(), wire.closed), (0, false), "another may wait");
        }
    }
}

/// Whoever has to be looked at again and again keeps nobody waiting.
#[test]
fn every_process_has_its_turn() {
    let mut server = Server::new();
    for n in 0..300 {
        assert_eq!(server.start(&format!("k{n}")), 200);
    }
    server.stubborn.store(300, SeqCst);
    assert_eq!(server.start("last"), 200);
    let mut wire = Wire::new(server.handler.clone());
    wire.send(&Request::new("DELETE", &server.path("/processes/last")).bytes());
    for _ in 0..300 {
        server.keep(Moment(0));
    }
    wire.turn();
    assert_eq!(statuses(&wire.out), [200]);
}
