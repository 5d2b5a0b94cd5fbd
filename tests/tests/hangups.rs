//! Clients that go away, over sockets of both runtimes: a command ends with its request, a cut upload changes nothing, and what was
//! held comes back.
#![allow(clippy::unwrap_used, reason = "a test")]

use farside_core::wire::Bounds;
use farside_tests::{
    disk::Disk,
    replies::{replies, statuses},
    requests::Request,
    served::{SOON, Served, eventually, on_both, rest, send},
};
use rustix::net::sockopt::set_socket_linger;
use std::{
    fs::{self, File},
    io::Read,
    net::{Shutdown, SocketAddr, TcpStream},
    os::unix::fs::PermissionsExt,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::Duration,
};

/// One place among the transfers, so that it is seen when it is not given back.
fn disk() -> Disk {
    Disk::with(Bounds { max_transfers: 1, ..Bounds::default() })
}

fn status(at: SocketAddr, request: &Request) -> u16 {
    let sock = send(at, &request.clone().line("Connection: close").bytes());
    let answers = replies(&rest(&sock), &request.method);
    answers.last().unwrap().as_ref().unwrap().status
}

fn is_free(at: SocketAddr) -> bool {
    match status(at, &Request::get("/v1/fs/file?path=f")) {
        200 => true,
        429 => false,
        other => panic!("{other}"),
    }
}

/// How a client leaves.
#[derive(Copy, Clone, Debug)]
enum Leave {
    /// It closes its socket: with a reset if something was left unread.
    Close,
    Reset,
    /// It ends its sending side, and goes on reading.
    HalfClose,
}

const LEAVES: [Leave; 3] = [Leave::Close, Leave::Reset, Leave::HalfClose];

/// What is held must be dropped later: a half-closed socket is kept.
fn leave(sock: TcpStream, how: Leave) -> Option<TcpStream> {
    match how {
        Leave::Close => return None,
        Leave::Reset => {
            set_socket_linger(&sock, Some(Duration::ZERO)).unwrap();
            return None;
        }
        Leave::HalfClose => sock.shutdown(Shutdown::Write).unwrap(),
    }
    Some(sock)
}

/// Everything that an ended command may not leave: a child, one in a session of its own, and itself.
const TREE: &str = "sleep 1000 & setsid sleep 1000 & echo begun; wait";
const STUBBORN: &str = "trap '' INT TERM; sleep 1000 & setsid sleep 1000 & echo begun; while :; do sleep 1000; done";

#[test]
fn pr_46_a_command_and_all_it_started_end_with_its_client() {
    on_both(|runner| {
        let disk = disk();
        let served = Served::new(runner, disk.handler.clone());
        for (script, streams) in [(TREE, &[",\"stream\":true", ""][..]), (STUBBORN, &[",\"stream\":true"])] {
            for members in streams {
                for how in LEAVES {
                    let exec = Request::exec(&["sh", "-c", script], members);
                    let mut sock = served.send(&exec.bytes());
                    eventually("all of it runs", || disk.running().len() >= 3);
                    if !members.is_empty() {
                        // At any byte of the reply: nothing of it read, some, all there is.
                        let mut some = vec![0; [0, 1, 100][how as usize]];
                        sock.read_exact(&mut some).unwrap();
                    }
                    let kept = leave(sock, how);
                    eventually("nothing of it is left", || disk.running().is_empty());
                    eventually("its place is free", || is_free(served.at));
                    if let Some(sock) = kept {
                        // There is no last frame for one who has hung up: it must not take that for an end.
                        assert!(!rest(&sock).windows(10).any(|w| w == b"{\"output\":"), "{runner:?} {members}");
                    }
                }
            }
        }
    });
}

#[test]
fn pr_46_a_command_that_floods_ends_with_its_client() {
    on_both(|runner| {
        let disk = disk();
        let served = Served::new(runner, disk.handler.clone());
        for how in LEAVES {
            for read in [0, 1, 5000, 3_000_000] {
                let mut sock = served.send(&Request::exec(&["yes"], ",\"stream\":true").bytes());
                sock.read_exact(&mut vec![0; read]).unwrap();
                eventually("it runs", || !disk.running().is_empty());
                let kept = leave(sock, how);
                eventually("it ends", || disk.running().is_empty());
                drop(kept);
                eventually("its place is free", || is_free(served.at));
            }
        }
    });
}

#[test]
fn pr_46_a_hang_up_is_heard_behind_pipelined_requests() {
    on_both(|runner| {
        let disk = disk();
        let served = Served::new(runner, disk.handler.clone());
        for how in LEAVES {
            for more in [1, 100, 5000] {
                let mut bytes = Request::exec(&["sleep", "1000"], "").bytes();
                bytes.extend(Request::get("/v1/info").bytes().repeat(more));
                let sock = served.send(&bytes);
                eventually("it runs", || !disk.running().is_empty());
                let kept = leave(sock, how);
                eventually("it ends", || disk.running().is_empty());
                drop(kept);
                eventually("its place is free", || is_free(served.at));
            }
        }
    });
}

/// In a process of its own, for the next test: runs a command on the server and waits for it.
#[test]
#[ignore = "a client that is killed, not a test"]
fn client() {
    let Ok(at) = std::env::var("SERVER_OF_CLIENT") else { return };
    let exec = Request::exec(&["sh", "-c", TREE], ",\"stream\":true");
    let mut sock = send(at.parse().unwrap(), &exec.bytes());
    sock.set_read_timeout(None).unwrap();
    let _ = sock.read_to_end(&mut Vec::new());
}

fn spawn_client(at: SocketAddr) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "client", "--ignored", "--test-threads=1"])
        .env("SERVER_OF_CLIENT", at.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn f11_a_client_that_is_killed_takes_its_command_with_it() {
    on_both(|runner| {
        let disk = Disk::new();
        let served = Served::new(runner, disk.handler.clone());
        for round in 0..50 {
            let mut client = spawn_client(served.at);
            // In mid exec; and at whatever moment it is at after a while.
            match round % 4 {
                0 => thread::sleep(Duration::from_millis(round)),
                some => eventually("some of it runs", || disk.running().len() as u64 >= some),
            }
            client.kill().unwrap();
            client.wait().unwrap();
            eventually("nothing of it is left", || disk.running().is_empty());
        }
    });
}

/// The bytes of an upload up to the `k`th of its content, sent as stated or in chunks.
fn part_of_put(name: &str, content: &[u8], chunked: bool, k: usize) -> Vec<u8> {
    let put = Request::put(name, content);
    if !chunked {
        let bytes = put.bytes();
        return bytes[..bytes.len() - content.len() + k].to_vec();
    }
    let mut bytes = Request { body: None, ..put.line("Transfer-Encoding: chunked") }.bytes();
    for chunk in content[..k].chunks(10_000) {
        bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        bytes.extend(chunk);
        bytes.extend(b"\r\n");
    }
    // (All of the content without the last chunk is still a cut body.)
    bytes
}

#[test]
fn f17_a_cut_upload_changes_nothing() {
    const N: usize = 300_000;
    on_both(|runner| {
        let disk = Disk::new();
        let served = Served::new(runner, disk.handler.clone());
        let content = vec![b'n'; N];
        for name in ["f", "new", "dir/new"] {
            for (chunked, cuts) in [(false, &[0, 1, N / 2, N - 1][..]), (true, &[0, 1, N / 2, N - 1, N])] {
                for &k in cuts {
                    for how in LEAVES {
                        let sock = served.send(&part_of_put(name, &content, chunked, k));
                        let kept = leave(sock, how);
                        if let Some(sock) = kept {
                            assert_eq!(rest(&sock), b"", "nobody is there to be told");
                        }
                        eventually("nothing is left", || disk.temps() == 0);
                        let what = format!("{runner:?} {name} {chunked} {k} {how:?}");
                        assert_eq!(disk.read("f"), Some(b"old".to_vec()), "{what}");
                        assert!(!disk.path().join("new").exists() && !disk.path().join("dir").exists(), "{what}");
                    }
                }
            }
        }
        served.close(SOON);
        assert_eq!((disk.read("f"), disk.temps()), (Some(b"old".to_vec()), 0));
    });
}

#[test]
fn f17_uploads_of_every_size_are_there_when_answered() {
    on_both(|runner| {
        let disk = Disk::with(Bounds { max_write_bytes: 8 << 20, ..Bounds::default() });
        let served = Served::new(runner, disk.handler.clone());
        for name in ["f", "new"] {
            for size in [0, 1, 18 << 10, 2 << 20, (8 << 20) - 1, 8 << 20] {
                let content: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
                assert_eq!(status(served.at, &Request::put(name, content.clone())), 204, "{size}");
                assert!(disk.read(name) == Some(content), "{runner:?} {name} {size}");
            }
            let before = disk.read(name);
            assert_eq!(status(served.at, &Request::put(name, vec![0; (8 << 20) + 1])), 413);
            assert!(disk.read(name) == before && disk.temps() == 0);
        }
        // An executable file that is written without a mode stays one.
        fs::set_permissions(disk.path().join("f"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(status(served.at, &Request::put("f", "#!/bin/sh\n")), 204);
        assert_eq!(fs::metadata(disk.path().join("f")).unwrap().permissions().mode() & 0o7777, 0o755);
    });
}

#[test]
fn f17_a_reader_sees_old_or_new_and_never_a_mix() {
    on_both(|runner| {
        let disk = Disk::new();
        let served = Served::new(runner, disk.handler.clone());
        let content = |n: usize| vec![b'a' + (n % 26) as u8; 20_000];
        assert_eq!(status(served.at, &Request::put("f", content(0))), 204);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..1000 {
                    let out = rest(&send(served.at, &Request::put("f", content(n)).line("Connection: close").bytes()));
                    assert_eq!(statuses(&out), [204]);
                }
                done.store(true, SeqCst);
            });
            let get = Request::get("/v1/fs/file?path=f").line("Connection: close").bytes();
            while !done.load(SeqCst) {
                let answers = replies(&rest(&send(served.at, &get)), "");
                let body = &answers[0].as_ref().unwrap().body;
                assert!(body.len() == 20_000 && body.iter().all(|b| *b == body[0]), "{runner:?}");
                assert_eq!(disk.read("f").map(|content| content.len()), Some(20_000));
            }
        });
    });
}

#[test]
fn rx_10_a_download_that_nobody_reads_gives_its_place_back() {
    on_both(|runner| {
        let disk = disk();
        File::create(disk.path().join("huge")).unwrap().set_len(1 << 40).unwrap();
        let served = Served::new(runner, disk.handler.clone());
        for how in [Leave::Close, Leave::Reset] {
            for read in [0, 1, 1 << 20] {
                let mut sock = served.send(&Request::get("/v1/fs/file?path=huge").bytes());
                sock.read_exact(&mut vec![0; read]).unwrap();
                eventually("it is sent", || !is_free(served.at));
                leave(sock, how);
                eventually("its place is free", || is_free(served.at));
                // fs_58: nothing holds the file either.
                let holds = |fd: fs::DirEntry| fs::read_link(fd.path()).is_ok_and(|to| to == disk.path().join("huge"));
                let held = || fs::read_dir("/proc/self/fd").unwrap().any(|fd| holds(fd.unwrap()));
                eventually("it is closed", || !held());
            }
        }
    });
}

#[test]
fn a_client_that_only_ends_its_sending_side_has_its_download() {
    on_both(|runner| {
        let disk = disk();
        File::create(disk.path().join("large")).unwrap().set_len(16 << 20).unwrap();
        let served = Served::new(runner, disk.handler.clone());
        for request in [Request::get("/v1/fs/file?path=large"), Request::get("/v1/info"), Request::put("f", "new")] {
            let sock = served.send(&request.bytes());
            sock.shutdown(Shutdown::Write).unwrap();
            let answers = replies(&rest(&sock), "");
            assert!(matches!(&answers[..], [Some(answer)] if answer.status < 300), "{runner:?} {request:?}");
        }
    });
}
