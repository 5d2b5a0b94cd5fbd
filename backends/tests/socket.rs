//! The sockets that a client dials, against listeners of this machine.
#![allow(clippy::unwrap_used, reason = "tests")]

use farside_backends::socket::{TcpDial, UnixDial, dialer};
use farside_core::{
    Cx, Dial, Interest, Runtime, Transport, Watched,
    wire::{Code, Error, Moment},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener},
    os::{fd::OwnedFd, unix::net::UnixListener},
    sync::Arc,
    task::{Poll, Waker},
    thread,
    time::Instant,
};

/// Waits in poll(2) for whatever the last poll asked for.
#[derive(Default)]
struct Waiting(Vec<(Arc<OwnedFd>, Interest)>);

impl Runtime for Waiting {
    fn entropy(&mut self, _: &mut [u8]) {}

    fn poll_ready(&mut self, io: &mut Watched, want: Interest, _: &Waker) -> Poll<io::Result<()>> {
        self.0.push((io.shared().clone(), want));
        Poll::Pending
    }
}

fn wait<T>(mut f: impl FnMut(&mut Cx<'_>) -> Poll<T>) -> T {
    let start = Instant::now();
    loop {
        let mut waiting = Waiting::default();
        let mut cx = Cx::new(Moment(start.elapsed().as_micros() as u64), Waker::noop(), &mut waiting);
        if let Poll::Ready(out) = f(&mut cx) {
            return out;
        }
        let due = cx.due();
        let flags = |want| if want == Interest::Read { PollFlags::IN } else { PollFlags::OUT };
        let mut set: Vec<_> = waiting.0.iter().map(|(fd, want)| PollFd::new(fd, flags(*want))).collect();
        assert!(!set.is_empty() || due.is_some(), "it waits for nothing");
        let left = due.map_or(10_000_000, |due| due.at.0.saturating_sub(start.elapsed().as_micros() as u64));
        let left = Timespec { tv_sec: (left / 1_000_000) as i64, tv_nsec: (left % 1_000_000 * 1000) as i64 };
        poll(&mut set, Some(&left)).unwrap();
    }
}

fn write_all(io: &mut dyn Transport, mut bytes: &[u8]) -> Result<(), Error> {
    while !bytes.is_empty() {
        let n = wait(|cx| io.poll_write(cx, bytes))?;
        bytes = &bytes[n..];
    }
    Ok(())
}

fn read_all(io: &mut dyn Transport) -> Result<Vec<u8>, Error> {
    let (mut all, mut buf) = (Vec::new(), [0; 5000]);
    loop {
        match wait(|cx| io.poll_read(cx, &mut buf))? {
            0 => return Ok(all),
            n => all.extend_from_slice(&buf[..n]),
        }
    }
}

/// Reads to the end of what it is sent, and then sends it back.
fn echo(mut sock: impl Read + Write) {
    let mut all = Vec::new();
    sock.read_to_end(&mut all).unwrap();
    sock.write_all(&all).unwrap();
}

fn goes_there_and_back(io: &mut dyn Transport) {
    let data: Vec<u8> = (0..3_000_000).map(|i: u32| (i % 251) as u8).collect();
    write_all(io, &data).unwrap();
    io.shut();
    assert!(read_all(io).unwrap() == data);
}

/// An address where nothing listens: it was bound and given back.
fn closed() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn failure(dial: &dyn Dial) -> Error {
    match dial.dial() {
        Err(error) => error,
        Ok(mut io) => wait(|cx| io.poll_write(cx, b"x")).unwrap_err(),
    }
}

#[test]
fn tcp_carries_both_ways_and_shuts_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let server = thread::spawn(move || echo(listener.accept().unwrap().0));
    goes_there_and_back(&mut *TcpDial::new([addr]).dial().unwrap());
    server.join().unwrap();
}

#[test]
fn unix_carries_both_ways_and_shuts_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let server = thread::spawn(move || echo(listener.accept().unwrap().0));
    let (dial, base) = dialer(&format!("unix:{}", path.display())).unwrap();
    assert_eq!(base.host(), "localhost");
    goes_there_and_back(&mut *dial.dial().unwrap());
    server.join().unwrap();
}

#[test]
fn a_refusal_says_where() {
    let addr = closed();
    let error = failure(&TcpDial::new([addr]));
    assert_eq!((error.code, error.errno()), (Code::Other, Some("ECONNREFUSED")));
    assert_eq!(error.message(), format!("nothing listens on {addr}"));
    let mut io = match TcpDial::new([addr]).dial() {
        Ok(io) => io,
        Err(_) => return,
    };
    for _ in 0..2 {
        assert_eq!(wait(|cx| io.poll_read(cx, &mut [0])), Err(error.clone()), "the same each time");
    }
}

#[test]
fn a_socket_that_is_not_there_says_where() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let error = failure(&UnixDial::new(&path).unwrap());
    assert_eq!((error.code, error.errno()), (Code::Other, Some("ENOENT")));
    assert_eq!(error.message(), format!("nothing listens on {}", path.display()));
    drop(UnixListener::bind(&path).unwrap());
    assert_eq!(failure(&UnixDial::new(&path).unwrap()).errno(), Some("ECONNREFUSED"));
    assert!(UnixDial::new("").is_err() && UnixDial::new("x".repeat(200)).is_err());
}

#[test]
fn the_next_address_is_tried() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let server = thread::spawn(move || echo(listener.accept().unwrap().0));
    goes_there_and_back(&mut *TcpDial::new([closed(), closed(), addr]).dial().unwrap());
    server.join().unwrap();
    assert!(TcpDial::new([]).dial().is_err());
}

#[test]
fn a_full_queue_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let fd = rustix::net::socket(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::STREAM, None).unwrap();
    rustix::net::bind(&fd, &rustix::net::SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&fd, 0).unwrap();
    let listener = UnixListener::from(fd);
    let dial = UnixDial::new(&path).unwrap();
    let mut ios: Vec<_> = (0..4).map(|_| dial.dial().unwrap()).collect();
    let server = thread::spawn(move || {
        let kept: Vec<_> = (0..4).map(|_| listener.accept().unwrap()).collect();
        kept.into_iter().for_each(|(mut sock, _)| sock.read_exact(&mut [0]).unwrap());
    });
    for io in &mut ios {
        write_all(&mut **io, b"x").unwrap();
    }
    server.join().unwrap();
}

#[test]
fn a_connection_is_given_up_after_ten_seconds() {
    // The queue of a listener that accepts nothing fills; what comes then is never answered.
    let fd = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None).unwrap();
    rustix::net::bind(&fd, &"127.0.0.1:0".parse::<SocketAddr>().unwrap()).unwrap();
    rustix::net::listen(&fd, 0).unwrap();
    let listener = TcpListener::from(fd);
    let dial = TcpDial::new([listener.local_addr().unwrap()]);
    let mut ios: Vec<_> = (0..8).map(|_| dial.dial().unwrap()).collect();
    let mut waiting = Waiting::default();
    let mut at = |seconds: u64, io: &mut Box<dyn Transport>| {
        let mut cx = Cx::new(Moment(seconds * 1_000_000), Waker::noop(), &mut waiting);
        (io.poll_write(&mut cx, b"x"), cx.due())
    };
    let mut late = 0;
    for io in &mut ios {
        if let (Poll::Pending, due) = at(5, io) {
            assert_eq!(due.unwrap().at, Moment(15_000_000));
            let (Poll::Ready(Err(error)), _) = at(15, io) else { panic!("not given up") };
            assert_eq!(error.errno(), Some("ETIMEDOUT"));
            late += 1;
        }
    }
    assert!(late > 0, "no connection had to wait");
}

#[test]
fn where_to_is_read_from_text() {
    let (_, base) = dialer("http://127.0.0.1:7070/x/").unwrap();
    assert_eq!((base.host(), base.prefix()), ("127.0.0.1:7070", "/x"));
    assert!(dialer("http://[::1]:7070").is_ok() && dialer("http://localhost").is_ok());
    assert_eq!(dialer("https://localhost").err().unwrap().code, Code::Unsupported);
    for bad in ["", "unix:", "localhost:7070", "ftp://x", "http://a@b"] {
        assert_eq!(dialer(bad).err().unwrap().code, Code::Invalid, "{bad}");
    }
}

#[test]
fn a_peer_that_is_gone_is_an_error_and_no_signal() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let mut io = TcpDial::new([addr]).dial().unwrap();
    write_all(&mut *io, b"x").unwrap();
    drop(listener.accept().unwrap());
    let error = loop {
        if let Err(error) = write_all(&mut *io, &[0; 100_000]) {
            break error;
        }
    };
    assert!(matches!(error.errno(), Some("ECONNRESET" | "EPIPE")), "{error:?}");
}
