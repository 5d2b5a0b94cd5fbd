//! Bulk work in a loop, and a command run to its end.

use super::open_beneath;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustix::{fd::OwnedFd, fs::OFlags};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
};

/// Takes one upload after another into the file `Floor.bin`: received and written, 256 KiB at once.
pub(super) fn upload(listener: &TcpListener, root: &OwnedFd) {
    let mut room = vec![0; 256 << 10];
    for sock in listener.incoming() {
        let mut sock = sock.unwrap();
        let (taken, first) = head(&mut sock, &mut room);
        let mut left = length(&room[..taken]);
        let file = open_beneath(root, "Floor.bin", OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL).unwrap();
        let mut piece = taken..first;
        loop {
            left -= piece.len();
            let mut data = &room[piece];
            while !data.is_empty() {
                data = &data[rustix::io::write(&file, data).unwrap()..];
            }
            if left == 0 {
                break;
            }
            piece = 0..sock.read(&mut room).unwrap();
        }
        sock.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    }
}

/// Answers each connection with 256 MiB out of a command, 32 KiB a frame, and closes it.
pub(super) fn stream(listener: &TcpListener) {
    let (mut room, mut frame) = (vec![0; 32 << 10], Vec::with_capacity(64 << 10));
    for sock in listener.incoming() {
        let mut sock = sock.unwrap();
        head(&mut sock, &mut room);
        sock.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        let mut command = Command::new("/usr/bin/head");
        command.args(["-c", &crate::LARGE.to_string(), "/dev/zero"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        loop {
            let n = output.read(&mut room).unwrap();
            if n == 0 {
                break;
            }
            let text = n.div_ceil(3) * 4;
            frame.clear();
            write!(frame, "{:x}\r\n{{\"data\":\"", text + 12).unwrap();
            let at = frame.len();
            frame.resize(at + text, 0);
            STANDARD.encode_slice(&room[..n], &mut frame[at..]).unwrap();
            frame.extend_from_slice(b"\"}\n\r\n");
            sock.write_all(&frame).unwrap();
        }
        child.wait().unwrap();
        sock.write_all(b"0\r\n\r\n").unwrap();
    }
}

/// Reads a head, and perhaps more: how long it is, and all that was read.
fn head(sock: &mut TcpStream, room: &mut [u8]) -> (usize, usize) {
    let mut got = 0;
    loop {
        got += sock.read(&mut room[got..]).unwrap();
        if let Some(at) = room[..got].windows(4).position(|four| four == b"\r\n\r\n") {
            return (at + 4, got);
        }
    }
}

fn length(head: &[u8]) -> usize {
    let text = std::str::from_utf8(head).unwrap();
    text.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap().parse().unwrap()
}

/// One command by posix_spawn with both outputs read to their ends: what an exec costs without a wire.
pub(crate) fn spawn_and_wait() {
    let mut command = Command::new("/bin/true");
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut room = [0; 64];
    assert_eq!(child.stdout.take().unwrap().read(&mut room).unwrap(), 0);
    assert_eq!(child.stderr.take().unwrap().read(&mut room).unwrap(), 0);
    assert!(child.wait().unwrap().success());
}
