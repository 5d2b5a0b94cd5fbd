//! The public HTTP/1.1 cases against the whole server: the core on a virtual clock in three cuts, and both runtimes over sockets.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails; one that is skipped says so"
)]

use farside_backends::Memory;
use farside_core::{
    Access, Handler,
    wire::{Moment, Scopes},
};
use farside_tests::{
    http1::{Case, Outcome, cases},
    replies::statuses,
    virtual_time::Wire,
};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    time::Duration,
};

const TOKEN: &str = "t0ken";
const LINE: &str = "Authorization: Bearer t0ken\r\n";

fn insecure() -> Arc<Handler> {
    Handler::new(Memory::new(), Access::Insecure(Scopes::ALL))
}

fn authenticated() -> Arc<Handler> {
    Handler::new(Memory::new(), Access::bearer(TOKEN))
}

/// What was seen: the statuses in order, and whether the connection ended by itself right after.
#[derive(Debug)]
struct Seen {
    statuses: Vec<u16>,
    ended: bool,
    ended_late: bool,
}

fn judge(outcome: Outcome, seen: &Seen) -> bool {
    let interim = seen.statuses.contains(&100);
    let finals: Vec<_> = seen.statuses.iter().copied().filter(|s| *s != 100).collect();
    match outcome {
        Outcome::Status { status, close } => finals == [status] && (seen.ended || !close),
        Outcome::Count { requests, close } => {
            finals.len() == requests && !finals.contains(&0) && (seen.ended || !close)
        }
        Outcome::Body => finals.len() == 1,
        Outcome::Then400 => finals.len() == 2 && finals[1] == 400 && seen.ended,
        Outcome::Wait => (finals == [408] || finals.is_empty()) && seen.ended_late,
        Outcome::Close => finals.is_empty() && seen.ended,
        Outcome::ContinueOrFinal => interim || finals.len() == 1 && seen.ended,
    }
}

fn check(case: &Case, how: &str, seen: &Seen) {
    assert!(judge(case.taken, seen), "{} ({}) {how}: wanted {:?}, saw {seen:?}", case.id, case.note, case.taken);
}

fn in_process<'p>(handler: Arc<Handler>, pieces: impl Iterator<Item = &'p [u8]>) -> Seen {
    let mut wire = Wire::new(handler);
    pieces.for_each(|piece| wire.send(piece));
    let ended = wire.ended_at == Some(Moment(0));
    while !ended && wire.ended_at.is_none() && wire.wait() {}
    Seen { statuses: statuses(&wire.out), ended, ended_late: wire.ended_at.is_some() && !ended }
}

/// A seed that a failure prints, and cuts that follow from it.
fn cuts(seed: u64, len: usize) -> Vec<usize> {
    let mut x = seed | 1;
    let mut at: Vec<_> = (0..20)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x as usize % (len + 1)
        })
        .collect();
    at.extend([0, len]);
    at.sort_unstable();
    at
}

#[test]
fn in_process_in_three_cuts() {
    let (open, guarded) = (insecure(), authenticated());
    for (n, case) in cases().iter().enumerate() {
        for (handler, bytes, access) in
            [(&open, case.bytes.clone(), "open"), (&guarded, case.authorized(LINE), "guarded")]
        {
            check(case, &format!("{access}, whole"), &in_process(handler.clone(), [&bytes[..]].into_iter()));
            check(case, &format!("{access}, bytewise"), &in_process(handler.clone(), bytes.chunks(1)));
            let at = cuts(n as u64 * 77 + 5, bytes.len());
            let pieces = at.windows(2).map(|w| &bytes[w[0]..w[1]]);
            check(case, &format!("{access}, cut at {at:?}"), &in_process(handler.clone(), pieces));
        }
    }
}

fn over_a_socket(to: SocketAddr, bytes: &[u8]) -> Seen {
    let mut sock = TcpStream::connect(to).unwrap();
    let mut writer = sock.try_clone().unwrap();
    let sent = bytes.to_vec();
    // A server that has refused may stop reading: what is left unsent is nobody's loss.
    let sender = std::thread::spawn(move || drop(writer.write_all(&sent)));
    let (mut out, mut ended, mut piece) = (Vec::new(), false, [0; 4096]);
    // A second of silence on a loaded machine is a server that waits.
    sock.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    loop {
        match sock.read(&mut piece) {
            Ok(0) => ended = true,
            Ok(n) => {
                out.extend_from_slice(&piece[..n]);
                continue;
            }
            Err(e) => ended |= e.kind() == std::io::ErrorKind::ConnectionReset,
        }
        break;
    }
    drop(sock);
    sender.join().unwrap();
    Seen { statuses: statuses(&out), ended, ended_late: !ended }
}

fn all_over_sockets(to: SocketAddr, line: Option<&str>, what: &str) {
    std::thread::scope(|scope| {
        for case in cases() {
            scope.spawn(move || {
                let bytes = line.map_or_else(|| case.bytes.clone(), |line| case.authorized(line));
                check(&case, what, &over_a_socket(to, &bytes));
            });
        }
    });
}

#[test]
fn over_sockets_of_the_blocking_runtime() {
    for (handler, line) in [(insecure(), None), (authenticated(), Some(LINE))] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let server = farside_std::serve(listener, handler).unwrap();
        all_over_sockets(to, line, "std");
        server.close(Duration::from_secs(1));
    }
}

#[test]
fn over_sockets_of_the_smol_runtime() {
    for (handler, line) in [(insecure(), None), (authenticated(), Some(LINE))] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let executor = Arc::new(smol::Executor::new());
        let server = farside_smol::serve(listener, handler, &executor).unwrap();
        smol::block_on(executor.run(async {
            smol::unblock(move || all_over_sockets(to, line, "smol")).await;
            server.close(Duration::from_secs(1)).await;
        }));
    }
}
