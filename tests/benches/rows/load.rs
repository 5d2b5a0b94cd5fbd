//! The client's side: one request after another, or many connections kept busy by one thread.

use crate::{proc, servers::Server};
use rustix::{
    event::epoll,
    net::{RecvFlags, SendFlags, recv, send},
};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

/// A connection to a server.
pub(crate) struct Peer {
    sock: TcpStream,
    room: Vec<u8>,
}

pub(crate) fn get(target: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n").into()
}

/// A request for an exec, after whose reply the connection is kept or closed.
pub(crate) fn exec(body: &str, close: bool) -> Vec<u8> {
    let (close, length) = (if close { "Connection: close\r\n" } else { "" }, body.len());
    format!(
        "POST /v1/exec HTTP/1.1\r\nHost: localhost\r\n{close}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into()
}

impl Peer {
    pub(crate) fn connect(addr: SocketAddr) -> Self {
        let sock = TcpStream::connect(addr).unwrap();
        sock.set_nodelay(true).unwrap();
        sock.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { sock, room: vec![0; 256 << 10] }
    }

    /// Sends `request` and takes the whole reply, which states its length, or has no body, or is chunked in one piece. Gives its length.
    pub(crate) fn ask(&mut self, request: &[u8]) -> usize {
        self.sock.write_all(request).unwrap();
        let mut got = 0;
        loop {
            let n = self.sock.read(&mut self.room[got..]).unwrap();
            assert!(n > 0, "closed after {:?}", String::from_utf8_lossy(&self.room[..got]));
            got += n;
            if let Some(whole) = reply_len(&self.room[..got])
                && whole <= got
            {
                assert!(self.room.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&self.room[..got]));
                return whole;
            }
        }
    }

    /// Sends `request` and takes `whole` bytes: the reply is known from the last time.
    fn ask_again(&mut self, request: &[u8], whole: usize) {
        self.sock.write_all(request).unwrap();
        let mut got = 0;
        while got < whole {
            let n = self.sock.read(&mut self.room[got..]).unwrap();
            assert!(n > 0, "closed early");
            got += n;
        }
        assert!(got == whole && self.room.starts_with(b"HTTP/1.1 2"), "another reply than the last time");
    }

    /// The median time of `count` requests whose replies are alike, in microseconds.
    pub(crate) fn time(&mut self, request: &[u8], count: usize) -> f64 {
        let whole = self.ask(request);
        for _ in 0..count / 10 {
            self.ask_again(request, whole);
        }
        let mut times: Vec<f64> = (0..count)
            .map(|_| {
                let start = Instant::now();
                self.ask_again(request, whole);
                start.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }

    /// Sends `head` and then `size` bytes, and takes the reply, which has no large body.
    pub(crate) fn upload(&mut self, head: &[u8], size: usize) {
        self.sock.write_all(head).unwrap();
        let piece = vec![b'u'; 1 << 20];
        let mut left = size;
        while left > 0 {
            let n = left.min(piece.len());
            self.sock.write_all(&piece[..n]).unwrap();
            left -= n;
        }
        self.ask(b"");
    }

    /// Sends `request`, whose reply ends with the connection, and counts its bytes.
    pub(crate) fn drain(&mut self, request: &[u8]) -> usize {
        self.sock.write_all(request).unwrap();
        let mut got = 0;
        loop {
            match self.sock.read(&mut self.room).unwrap() {
                0 => return got,
                n => got += n,
            }
        }
    }

    /// Sends `request` and takes the first `whole` bytes of its reply.
    pub(crate) fn take(&mut self, request: &[u8], whole: usize) {
        self.sock.write_all(request).unwrap();
        let mut got = 0;
        while got < whole {
            let n = self.sock.read(&mut self.room).unwrap();
            assert!(n > 0, "closed early");
            got += n;
        }
    }
}

/// How long the reply is that `bytes` start, once that is known.
fn reply_len(bytes: &[u8]) -> Option<usize> {
    let mut fields = [httparse::EMPTY_HEADER; 32];
    let mut head = httparse::Response::new(&mut fields);
    let httparse::Status::Complete(at) = head.parse(bytes).unwrap() else { return None };
    let value = |name: &str| head.headers.iter().find(|h| h.name.eq_ignore_ascii_case(name)).map(|h| h.value);
    match value("content-length") {
        Some(length) => Some(at + std::str::from_utf8(length).unwrap().parse::<usize>().unwrap()),
        None if value("transfer-encoding").is_some() => bytes.ends_with(b"\r\n0\r\n\r\n").then_some(bytes.len()),
        None => Some(at),
    }
}

/// Keeps `count` connections to `server` busy with the same request for `time`. Gives the requests a second, and the microseconds that
/// each took of the server's CPU time.
pub(crate) fn flood(server: &Server, request: &[u8], count: usize, time: Duration) -> (f64, f64) {
    let mut peers: Vec<Peer> = (0..count).map(|_| server.connect()).collect();
    let whole = peers.iter_mut().map(|peer| peer.ask(request)).max().unwrap();
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    for (n, peer) in peers.iter().enumerate() {
        epoll::add(&poll, &peer.sock, epoll::EventData::new_u64(n as u64), epoll::EventFlags::IN).unwrap();
    }
    let mut left = vec![whole; count];
    let mut room = vec![0; 64 << 10];
    let mut events = Vec::with_capacity(count);
    let (start, before, mut done) = (Instant::now(), proc::cpu(server.pid()), 0);
    for peer in &peers {
        send(&peer.sock, request, SendFlags::NOSIGNAL).unwrap();
    }
    while start.elapsed() < time {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None).unwrap();
        for event in &events {
            let n = event.data.u64() as usize;
            let (_, got) = recv(&peers[n].sock, &mut room, RecvFlags::DONTWAIT).unwrap();
            assert!(got > 0 && got <= left[n], "another reply than the first");
            left[n] -= got;
            if left[n] == 0 {
                left[n] = whole;
                done += 1;
                send(&peers[n].sock, request, SendFlags::NOSIGNAL).unwrap();
            }
        }
    }
    let (rate, spent) = (f64::from(done) / start.elapsed().as_secs_f64(), proc::cpu(server.pid()) - before);
    (rate, spent * 1e6 / f64::from(done))
}
