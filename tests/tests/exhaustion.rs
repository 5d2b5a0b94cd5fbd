//! More than there is room for: connections without descriptors, many that are idle, readers that stall. The server runs in a process
//! of its own, whose memory, descriptors and time are counted.
#![allow(clippy::unwrap_used, reason = "a test")]

use farside_core::wire::http::{Decoder, Framing, Part};
use farside_tests::{
    conformance::Runner,
    replies::{replies, statuses},
    requests::Request,
    served::{SOON, eventually, on_both, rest, send},
    spawned::Spawned,
};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// The most that a server may grow by, in KiB, whatever a peer does not read.
const GROWTH: u64 = 8 << 10;

fn spawn(runner: Runner, dir: &Path) -> Spawned {
    Spawned::new(env!("CARGO_BIN_EXE_checked-server"), runner, dir, "{}")
}

fn ask(at: SocketAddr, request: &Request) -> Vec<u16> {
    statuses(&rest(&send(at, &request.clone().line("Connection: close").bytes())))
}

/// One reply on a connection that is kept.
fn ask_on(mut sock: &TcpStream, request: &Request) -> u16 {
    sock.write_all(&request.bytes()).unwrap();
    let mut out = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let n = sock.read(&mut piece).unwrap();
        assert!(n > 0, "cut: {}", String::from_utf8_lossy(&out));
        out.extend_from_slice(&piece[..n]);
        if let [Some(answer)] = &replies(&out, "")[..] {
            return answer.status;
        }
    }
}

#[test]
fn rx_01_without_descriptors_it_waits_and_comes_back() {
    on_both(|runner| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("f"), "old").unwrap();
        let mut server = spawn(runner, dir.path());
        let pid = Pid::from_raw(server.pid() as i32).unwrap();
        prlimit(Some(pid), Resource::Nofile, Rlimit { current: Some(64), maximum: Some(64) }).unwrap();

        let early = send(server.at, b"");
        assert_eq!(ask_on(&early, &Request::get("/v1/info")), 200);
        let held: Vec<_> = (0..200).map(|_| send(server.at, b"")).collect();
        eventually("no descriptor is left", || server.descriptors() >= 60);
        // It does not spin: what is left of a processor's time is for others.
        let before = server.ticks();
        thread::sleep(Duration::from_secs(3));
        let spent = server.ticks() - before;
        assert!(spent < 30, "{runner:?}: {spent} ticks in 3 s");
        // Who is in is answered, a command that cannot be had is refused in words, and nothing hangs.
        for _ in 0..3 {
            assert_eq!(ask_on(&early, &Request::get("/v1/info")), 200);
            let status = ask_on(&early, &Request::exec(&["true"], ""));
            assert!([200, 503].contains(&status), "{runner:?} {status}");
            let status = ask_on(&early, &Request::get("/v1/fs/file?path=f"));
            assert!([200, 503].contains(&status), "{runner:?} {status}");
        }
        assert!(server.is_alive());

        drop(held);
        eventually("descriptors come back", || server.descriptors() < 40);
        for _ in 0..50 {
            assert_eq!(ask(server.at, &Request::get("/v1/fs/file?path=f")), [200], "{runner:?}");
        }
        assert_eq!(ask(server.at, &Request::exec(&["true"], "")), [200], "{runner:?}");
        assert!(server.is_alive());
    });
}

#[test]
fn rx_many_idle_connections_cost_little_and_are_served() {
    const MANY: usize = 1000;
    // A descriptor for each at this end, and two at the other.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    on_both(|runner| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("f"), "old").unwrap();
        let server = spawn(runner, dir.path());
        assert_eq!(ask(server.at, &Request::get("/v1/info")), [200]);
        let before = server.status("VmRSS");
        let idle: Vec<_> = (0..MANY).map(|_| send(server.at, b"")).collect();
        for sock in &idle {
            assert_eq!(ask_on(sock, &Request::get("/v1/fs/file?path=f")), 200);
        }
        let grown = server.status("VmRSS").saturating_sub(before);
        // A thread's stack that was touched is the most one takes.
        assert!(grown < 40 * MANY as u64, "{runner:?}: {grown} KiB for {MANY} connections");
        // Every one is served again, in another order, and so is a new one.
        for sock in idle.iter().rev() {
            assert_eq!(ask_on(sock, &Request::get("/v1/info")), 200);
        }
        assert_eq!(ask(server.at, &Request::exec(&["true"], "")), [200]);
        drop(idle);
        eventually("all have ended", || server.descriptors() < 40);
        assert_eq!(ask(server.at, &Request::get("/v1/info")), [200]);
    });
}

/// Waits until the server has sent all that the kernel takes, and gives how much it has grown meanwhile, in KiB.
fn growth_while_stalled(server: &Spawned, before: u64) -> u64 {
    let mut last = (0, 0);
    let mut calm = 0;
    let until = Instant::now() + SOON;
    while calm < 10 && Instant::now() < until {
        thread::sleep(Duration::from_millis(100));
        let now = (server.ticks(), server.status("VmHWM"));
        calm = if now == last { calm + 1 } else { 0 };
        last = now;
    }
    assert!(calm >= 10, "it goes on and on for a peer that reads nothing");
    server.status("VmHWM").saturating_sub(before)
}

/// Reads a reply of 200 whose body `look` sees piece by piece.
fn read_body(sock: &TcpStream, mut out: Vec<u8>, framing: Framing, mut look: impl FnMut(&[u8])) {
    let end = out.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    assert!(out.starts_with(b"HTTP/1.1 200 "));
    out.drain(..end);
    let (mut decoder, mut sock, mut piece) = (Decoder::new(framing), sock, vec![0; 1 << 18]);
    loop {
        match decoder.next(&out).unwrap() {
            Part::Skip(n) => drop(out.drain(..n)),
            Part::Data(n) => {
                look(&out[..n]);
                decoder.took(n);
                out.drain(..n);
            }
            Part::End => return,
            Part::More => match sock.read(&mut piece) {
                Ok(n) if n > 0 => out.extend_from_slice(&piece[..n]),
                other => panic!("cut: {other:?}"),
            },
        }
    }
}

/// A large file goes out while nobody reads: it waits in its file. Then all of it comes.
#[test]
fn a_download_that_stalls_takes_no_memory_and_loses_nothing() {
    const SIZE: usize = 256 << 20;
    on_both(|runner| {
        let dir = tempfile::tempdir().unwrap();
        let mut file = File::create(dir.path().join("large")).unwrap();
        let block: Vec<u8> = (0..1 << 20).map(|n: u32| (n % 253) as u8).collect();
        (0..SIZE / block.len()).for_each(|_| file.write_all(&block).unwrap());
        let server = spawn(runner, dir.path());
        assert_eq!(ask(server.at, &Request::get("/v1/info")), [200]);
        let before = server.status("VmHWM");
        let mut sock = send(server.at, &Request::get("/v1/fs/file?path=large").bytes());
        let mut out = vec![0; 1000];
        sock.read_exact(&mut out).unwrap();
        let grown = growth_while_stalled(&server, before);
        let mut at = 0;
        read_body(&sock, out, Framing::Length(SIZE as u64), |bytes| {
            for piece in bytes.chunks(1 << 16) {
                let from = at % block.len();
                let n = piece.len().min(block.len() - from);
                assert!(piece[..n] == block[from..from + n] && piece[n..] == block[..piece.len() - n]);
                at += piece.len();
            }
        });
        assert_eq!(at, SIZE);
        let grown = grown.max(server.status("VmHWM").saturating_sub(before));
        assert!(grown < GROWTH, "{runner:?}: {grown} KiB");
    });
}

/// F7, RX-14: a command waits for a reader that stalls; not a byte is lost or made up.
#[test]
fn f7_rx_14_a_stream_that_stalls_takes_no_memory_and_loses_nothing() {
    const SIZE: usize = 256 << 20;
    on_both(|runner| {
        let dir = tempfile::tempdir().unwrap();
        let server = spawn(runner, dir.path());
        assert_eq!(ask(server.at, &Request::exec(&["true"], "")), [200]);
        let before = server.status("VmHWM");
        let exec =
            Request::exec(&["sh", "-c", &format!("yes 0123456789abcde | head -c {SIZE}; exit 7")], ",\"stream\":true");
        let mut sock = send(server.at, &exec.bytes());
        let mut out = vec![0; 1000];
        sock.read_exact(&mut out).unwrap();
        let stalled = growth_while_stalled(&server, before);
        let (mut line, mut last, mut at) = (Vec::new(), Vec::new(), 0);
        read_body(&sock, out, Framing::Chunked, |bytes| {
            for part in bytes.split_inclusive(|b| *b == b'\n') {
                line.extend_from_slice(part);
                if !line.ends_with(b"\n") {
                    continue;
                }
                assert!(last.is_empty(), "nothing follows the last frame");
                match line.strip_prefix(b"{\"data\":\"").and_then(|rest| rest.strip_suffix(b"\"}\n")) {
                    Some(data) => {
                        at += check_frame(data, at);
                        line.clear();
                    }
                    None => last = std::mem::take(&mut line),
                }
            }
        });
        assert_eq!(String::from_utf8_lossy(&last), "{\"output\":{\"exitCode\":7}}\n");
        assert_eq!(at, SIZE, "{runner:?}");
        let grown = stalled.max(server.status("VmHWM").saturating_sub(before));
        assert!(grown < GROWTH, "{runner:?}: {grown} KiB");
    });
}

/// Checks a frame's data, which begins with the byte `at` of the output; gives its length.
fn check_frame(data: &[u8], at: usize) -> usize {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let bytes = STANDARD.decode(data).unwrap();
    assert!(!bytes.is_empty() && bytes.len() <= 32 * 1024);
    let text = b"0123456789abcde\n";
    let block: Vec<u8> = text.iter().copied().cycle().skip(at % text.len()).take(bytes.len()).collect();
    assert!(bytes == block);
    bytes.len()
}

/// A client that sends requests without reading replies is not read any further; once it reads, it has them all.
#[test]
fn pipelined_requests_wait_for_their_reader() {
    const N: usize = 50_000;
    on_both(|runner| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("f"), "old").unwrap();
        let server = spawn(runner, dir.path());
        assert_eq!(ask(server.at, &Request::get("/v1/info")), [200]);
        let before = server.status("VmHWM");
        let mut sock = send(server.at, b"");
        let mut writer = sock.try_clone().unwrap();
        let sent = thread::spawn(move || {
            let one = Request::get("/v1/fs/file?path=f").bytes();
            let two = Request::get("/v1/fs/stat?path=none").bytes();
            let last = Request::get("/v1/fs/stat?path=f").line("Connection: close").bytes();
            let bytes = [one, two].concat().repeat(100);
            (0..N / 200).for_each(|_| writer.write_all(&bytes).unwrap());
            writer.write_all(&last).unwrap();
        });
        let grown = growth_while_stalled(&server, before);
        assert!(grown < GROWTH, "{runner:?}: {grown} KiB");
        let mut out = Vec::new();
        let read = sock.read_to_end(&mut out);
        assert!(read.is_ok() || read.is_err_and(|e| e.kind() == ErrorKind::ConnectionReset));
        sent.join().unwrap();
        let statuses = statuses(&out);
        assert_eq!(statuses.len(), N + 1, "{runner:?}");
        assert!(statuses.chunks(2).all(|pair| matches!(pair, [200, 404] | [200])), "{runner:?}");
    });
}
