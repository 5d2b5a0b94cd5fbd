//! A stream to a port on this machine's loopback, as a process (spec, Sessions, starts, keys: connect).

use crate::errno::failed;
use farside_core::{
    Answer, Call, Cx, Interest, Process, Room, Sink, Source, Watched,
    wire::{
        Code, Error, Moment, Signal, WaitStatus,
        process::{Ended, Size},
        times,
    },
};
use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, connect, recv, send, shutdown,
        socket_with, sockopt,
    },
};
use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker, ready},
    time::Duration,
};

/// Where a port is looked for, the last first.
const LOOPBACK: [IpAddr; 2] = [IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST)];

/// A connection to a port, under way: 127.0.0.1, then ::1; 10 s at most for both.
pub(crate) struct Connecting {
    port: u16,
    left: Vec<IpAddr>,
    socket: Option<Watched>,
    until: Option<Moment>,
}

impl Connecting {
    pub(crate) fn new(port: u16) -> Self {
        Self { port, left: LOOPBACK.to_vec(), socket: None, until: None }
    }

    /// Begins with the next address; what it is refused with if that is known at once.
    fn next(&mut self, address: IpAddr) -> Result<(), Errno> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
        match connect(&socket, &SocketAddr::new(address, self.port)) {
            Ok(()) | Err(Errno::INPROGRESS) => self.socket = Some(Watched::new(socket)),
            Err(errno) => return Err(errno),
        }
        Ok(())
    }

    /// Whether the address that is tried was reached.
    fn poll_reached(&mut self, cx: &mut Cx<'_>) -> Poll<Result<OwnedFd, Errno>> {
        let Some(socket) = &mut self.socket else { return Poll::Ready(Err(Errno::CONNREFUSED)) };
        let reached = cx.io(socket, Interest::Write, |fd| match sockopt::socket_error(fd)? {
            Err(errno) => Err(errno.into()),
            // No error may also mean: not yet.
            Ok(()) => rustix::net::getpeername(fd).map(drop).map_err(|_| io::ErrorKind::WouldBlock.into()),
        });
        if let Err(error) = ready!(reached) {
            return Poll::Ready(Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)));
        }
        Poll::Ready(socket.as_fd().try_clone_to_owned().map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO)))
    }
}

impl Call for Connecting {
    fn poll(&mut self, cx: &mut Cx<'_>, _: &mut dyn Room) -> Poll<Result<Answer, Error>> {
        let until = *self.until.get_or_insert(cx.now().after(times::CONNECT));
        if until <= cx.now() {
            return Poll::Ready(Err(failed(Errno::TIMEDOUT)));
        }
        cx.wake_at(until, "connect");
        let mut refused = Errno::CONNREFUSED;
        loop {
            if self.socket.is_some() {
                match ready!(self.poll_reached(cx)) {
                    Ok(socket) => {
                        return Poll::Ready(Stream::over(socket).map(|s| Answer::Process(Box::new(s))).map_err(failed));
                    }
                    Err(errno) => (self.socket, refused) = (None, errno),
                }
            }
            let Some(address) = self.left.pop() else { return Poll::Ready(Err(failed(refused))) };
            if let Err(errno) = self.next(address) {
                refused = errno;
            }
        }
    }
}

/// An open stream: two halves, and an end.
struct Stream {
    shared: Arc<Shared>,
    /// The peer's end is noticed also where nobody reads.
    watch: Watched,
    stdin: Option<Half>,
    stdout: Option<Half>,
}

/// One direction. Each has a descriptor of its own, since a runtime registers one for one owner.
struct Half {
    shared: Arc<Shared>,
    io: Watched,
}

struct Shared {
    socket: OwnedFd,
    fate: Mutex<Fate>,
}

#[derive(Default)]
struct Fate {
    /// The peer's end came, and the input's.
    ends: [bool; 2],
    status: Option<WaitStatus>,
    waker: Option<Waker>,
}

const PEER: usize = 0;
const INPUT: usize = 1;

impl Stream {
    fn over(socket: OwnedFd) -> Result<Self, Errno> {
        sockopt::set_tcp_nodelay(&socket, true)?;
        let own = || socket.try_clone().map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::MFILE));
        let (watch, reads, writes) = (Watched::new(own()?), Watched::new(own()?), Watched::new(own()?));
        let shared = Arc::new(Shared { socket, fate: Mutex::default() });
        let half = |io| Some(Half { shared: shared.clone(), io });
        Ok(Self { watch, stdin: half(writes), stdout: half(reads), shared })
    }
}

/// While bytes wait for a reader, what is behind them is looked for so often.
const LOOK: Duration = Duration::from_millis(250);

impl Stream {
    /// Looks whether the peer's end has come, without taking any of its bytes.
    fn look(&mut self, cx: &mut Cx<'_>) {
        let fate = self.shared.fate();
        let known = fate.ends[PEER] || fate.status.is_some();
        drop(fate);
        if known {
            return;
        }
        let peek = |fd: BorrowedFd<'_>| Ok(recv(fd, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT)?.1);
        match cx.io(&mut self.watch, Interest::Read, peek) {
            Poll::Pending => {}
            Poll::Ready(Ok(0)) => self.shared.ended(PEER),
            Poll::Ready(Ok(_)) => cx.wake_at(cx.now().after(LOOK), "bytes nobody took"),
            Poll::Ready(Err(error)) => {
                self.shared.failed(Errno::from_io_error(&error).unwrap_or(Errno::IO));
            }
        }
    }
}

impl Shared {
    fn fate(&self) -> MutexGuard<'_, Fate> {
        self.fate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of the two ends came.
    fn ended(&self, which: usize) {
        let mut fate = self.fate();
        fate.ends[which] = true;
        if fate.ends == [true; 2] {
            fate.set(WaitStatus::Exited(0));
        }
    }

    fn failed(&self, errno: Errno) -> Error {
        self.fate().set(WaitStatus::Failed(failed(errno)));
        failed(errno)
    }
}

impl Fate {
    /// The first one stands.
    fn set(&mut self, status: WaitStatus) {
        self.status.get_or_insert(status);
        self.waker.take().into_iter().for_each(Waker::wake);
    }
}

impl Source for Half {
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let read = ready!(cx.io(&mut self.io, Interest::Read, |fd| Ok(recv(fd, &mut *buf, RecvFlags::empty())?.1)));
        Poll::Ready(match read {
            Ok(0) => {
                self.shared.ended(PEER);
                Ok(0)
            }
            Ok(n) => Ok(n),
            Err(error) => Err(self.shared.failed(Errno::from_io_error(&error).unwrap_or(Errno::IO))),
        })
    }
}

impl Sink for Half {
    fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        let wrote = ready!(cx.io(&mut self.io, Interest::Write, |fd| Ok(send(fd, buf, SendFlags::NOSIGNAL)?)));
        Poll::Ready(wrote.map_err(|error| self.shared.failed(Errno::from_io_error(&error).unwrap_or(Errno::IO))))
    }

    fn poll_finish(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let shut = shutdown(&self.io, Shutdown::Write);
        self.shared.ended(INPUT);
        // One that the peer closed whole has no half to shut.
        Poll::Ready(if matches!(shut, Ok(()) | Err(Errno::NOTCONN)) { Ok(()) } else { shut.map_err(failed) })
    }
}

impl Process for Stream {
    fn stdin(&mut self) -> Option<Box<dyn Sink>> {
        Some(Box::new(self.stdin.take()?))
    }

    fn stdout(&mut self) -> Option<Box<dyn Source>> {
        Some(Box::new(self.stdout.take()?))
    }

    fn stderr(&mut self) -> Option<Box<dyn Source>> {
        None
    }

    fn signal(&mut self, _: Signal) -> Result<(), Error> {
        Err(Code::Unsupported.into())
    }

    fn resize(&mut self, _: Size) -> Result<(), Error> {
        Err(Code::Unsupported.into())
    }

    fn end(&mut self, why: Ended, _: bool) {
        let _ = shutdown(&self.shared.socket, Shutdown::Both);
        self.shared.fate().set(WaitStatus::Ended(why));
    }

    fn poll_exit(&mut self, cx: &mut Cx<'_>) -> Poll<WaitStatus> {
        self.look(cx);
        let mut fate = self.shared.fate();
        match &fate.status {
            Some(status) => Poll::Ready(status.clone()),
            None => {
                fate.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let ended = self.shared.fate().status.is_some();
        if !ended {
            let _ = shutdown(&self.shared.socket, Shutdown::Both);
        }
    }
}
