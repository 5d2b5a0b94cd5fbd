//! Small answers by one loop over edge-triggered epoll: read, one operation, one write.

use super::open_beneath;
use rustix::{
    event::epoll::{self, EventData, EventFlags},
    fd::OwnedFd,
    fs::{OFlags, fstat, renameat},
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send, sockopt},
};
use std::{collections::HashMap, io::Write, net::TcpListener};

const LISTENER: u64 = 0;

struct Conn {
    sock: OwnedFd,
    input: Vec<u8>,
    output: Vec<u8>,
}

pub(super) fn serve(listener: &TcpListener, root: &OwnedFd) {
    listener.set_nonblocking(true).unwrap();
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    epoll::add(&poll, listener, EventData::new_u64(LISTENER), EventFlags::IN).unwrap();
    let (mut conns, mut next) = (HashMap::new(), LISTENER + 1);
    let mut events = Vec::with_capacity(256);
    let mut room = vec![0; 16 << 10];
    loop {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None).unwrap();
        for event in &events {
            let key = event.data.u64();
            if key == LISTENER {
                while let Ok((sock, _)) = listener.accept() {
                    sock.set_nonblocking(true).unwrap();
                    let sock = OwnedFd::from(sock);
                    sockopt::set_tcp_nodelay(&sock, true).unwrap();
                    epoll::add(&poll, &sock, EventData::new_u64(next), EventFlags::IN | EventFlags::ET).unwrap();
                    conns.insert(next, Conn { sock, input: Vec::new(), output: Vec::new() });
                    next += 1;
                }
            } else if conns.get_mut(&key).is_some_and(|conn| !conn.turn(root, &mut room)) {
                conns.remove(&key);
            }
        }
    }
}

impl Conn {
    /// Answers what is there. `false`: the peer has gone.
    fn turn(&mut self, root: &OwnedFd, room: &mut [u8]) -> bool {
        loop {
            match recv(&self.sock, &mut *room, RecvFlags::empty()) {
                Ok((_, n)) if n > 0 => self.input.extend_from_slice(&room[..n]),
                Err(Errno::AGAIN) => return true,
                _ => return false,
            }
            while let Some(taken) = answer(root, &self.input, &mut self.output) {
                self.input.drain(..taken);
            }
            // An answer is small: the socket has room for it.
            if !self.output.is_empty() && send(&self.sock, &self.output, SendFlags::NOSIGNAL) != Ok(self.output.len()) {
                return false;
            }
            self.output.clear();
        }
    }
}

/// Answers one request, and says how long it was.
fn answer(root: &OwnedFd, input: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let mut fields = [httparse::EMPTY_HEADER; 32];
    let mut head = httparse::Request::new(&mut fields);
    let httparse::Status::Complete(taken) = head.parse(input).unwrap() else { return None };
    let (path, name) = head.path.unwrap().split_once("?path=").unwrap();
    match path {
        "/stat" => {
            let stat = fstat(open_beneath(root, name, OFlags::PATH | OFlags::NOFOLLOW).unwrap()).unwrap();
            let (size, mode, time) = (stat.st_size, stat.st_mode, stat.st_mtime);
            let mut body = Vec::with_capacity(128);
            write!(body, "{{\"name\":\"{name}\",\"size\":{size},\"mode\":{mode},\"mtime\":{time}}}").unwrap();
            write_head(out, "application/json", body.len());
            out.extend_from_slice(&body);
        }
        "/file" => {
            let fd = open_beneath(root, name, OFlags::RDONLY).unwrap();
            let size = fstat(&fd).unwrap().st_size as usize;
            write_head(out, "application/octet-stream", size);
            let at = out.len();
            out.resize(at + size, 0);
            assert_eq!(rustix::io::read(&fd, &mut out[at..]), Ok(size));
        }
        "/put" => {
            let data = input.get(taken..taken + 1024)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            let fd = open_beneath(root, "floor.tmp", flags).unwrap();
            assert_eq!(rustix::io::write(&fd, data), Ok(data.len()));
            renameat(root, "floor.tmp", root, name).unwrap();
            out.extend_from_slice(b"HTTP/1.1 204 No Content\r\n\r\n");
            return Some(taken + data.len());
        }
        other => panic!("no route {other}"),
    }
    Some(taken)
}

fn write_head(out: &mut Vec<u8>, media: &str, length: usize) {
    write!(out, "HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nContent-Length: {length}\r\n\r\n").unwrap();
}
