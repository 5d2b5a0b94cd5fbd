//! Sockets to dial, for both runtimes: whoever polls one brings the waiting.

use crate::errno::failed;
use farside_core::{
    Cx, Dial, Interest, Transport, Watched,
    wire::{Code, Error, Moment, base_url::BaseUrl, errno::by_number, target::Scheme, times},
};
use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, connect, getpeername,
        recv, send, shutdown, socket_with, sockopt,
    },
};
use std::{
    fmt,
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    task::{Poll, ready},
    time::Duration,
};

/// Makes a dialer of `at`, and the base URL that goes with it: `http://host:port/prefix/` over TCP, or `unix:/path/of/socket`.
///
/// A host's name is resolved here, which waits for the system's resolver; every address it has is tried in turn.
///
/// # Errors
/// `invalid` for what is neither, `unsupported` for `https`, since TLS is not built in, and `other` for a name that has no address.
pub fn dialer(at: &str) -> Result<(Box<dyn Dial>, BaseUrl), Error> {
    if let Some(path) = at.strip_prefix("unix:") {
        let dial = UnixDial::new(path)?;
        return Ok((Box::new(dial), BaseUrl::parse("http://localhost")?));
    }
    let base = BaseUrl::parse(at)?;
    if base.scheme() == Scheme::Https {
        return Err(Error::new(Code::Unsupported, "TLS is not built in yet"));
    }
    let resolved = (base.hostname(), base.port()).to_socket_addrs();
    let addrs: Vec<_> =
        resolved.map_err(|e| Error::other(format!("{} has no address: {e}", base.hostname())))?.collect();
    Ok((Box::new(TcpDial::new(addrs)), base))
}

/// Dials over TCP.
#[derive(Clone, Debug)]
pub struct TcpDial {
    addrs: Vec<SocketAddr>,
}

impl TcpDial {
    /// Tries these addresses in turn, each for 10 s at most.
    pub fn new(addrs: impl Into<Vec<SocketAddr>>) -> Self {
        Self { addrs: addrs.into() }
    }
}

impl Dial for TcpDial {
    fn dial(&self) -> Result<Box<dyn Transport>, Error> {
        dial(self.addrs.iter().map(|addr| Place::Tcp(*addr)).collect())
    }
}

/// Dials a Unix socket.
#[derive(Clone, Debug)]
pub struct UnixDial {
    path: PathBuf,
    addr: SocketAddrUnix,
}

impl UnixDial {
    /// Dials the socket at `path`.
    ///
    /// # Errors
    /// `invalid` for a path that is empty, holds NUL, or is longer than the system can dial (107 bytes on Linux).
    pub fn new(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        match SocketAddrUnix::new(&path) {
            Ok(addr) if !path.as_os_str().is_empty() => Ok(Self { path, addr }),
            _ => Err(Error::invalid("a socket's path")),
        }
    }
}

impl Dial for UnixDial {
    fn dial(&self) -> Result<Box<dyn Transport>, Error> {
        dial(vec![Place::Unix(self.path.clone(), self.addr.clone())])
    }
}

/// Where a connection goes.
#[derive(Clone, Debug)]
enum Place {
    Tcp(SocketAddr),
    Unix(PathBuf, SocketAddrUnix),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(addr) => addr.fmt(f),
            Self::Unix(path, _) => path.display().fmt(f),
        }
    }
}

fn dial(mut places: Vec<Place>) -> Result<Box<dyn Transport>, Error> {
    places.reverse();
    let state = State::next(&mut places, Error::other("there is no address to connect to"))?;
    Ok(Box::new(Socket { state, places }))
}

struct Socket {
    state: State,
    /// Where else it may go, the next last.
    places: Vec<Place>,
}

enum State {
    Connecting {
        place: Place,
        io: Watched,
        /// Set by the first poll, which tells the time.
        until: Option<Moment>,
    },
    Open(Watched),
    Failed(Error),
}

/// A listener whose queue is full is asked again after so long: no descriptor tells when it has room.
const FULL: Duration = Duration::from_millis(10);

impl State {
    /// Starts to connect to the next place that does not refuse at once; `error` is what the last one came to.
    fn next(places: &mut Vec<Place>, mut error: Error) -> Result<Self, Error> {
        while let Some(place) = places.pop() {
            match place.socket() {
                Ok(io) => return Ok(Self::Connecting { place, io, until: None }),
                Err(errno) => error = place.unreachable(errno),
            }
        }
        Err(error)
    }
}

impl Place {
    fn socket(&self) -> Result<Watched, Errno> {
        let family = match self {
            Self::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            Self::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
            Self::Unix(..) => AddressFamily::UNIX,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = socket_with(family, SocketType::STREAM, flags, None)?;
        if let Self::Tcp(_) = self {
            sockopt::set_tcp_nodelay(&fd, true)?;
        }
        match self.connect(&fd) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::AGAIN | Errno::INTR) => Ok(Watched::new(fd)),
            Err(errno) => Err(errno),
        }
    }

    fn connect(&self, fd: impl std::os::fd::AsFd) -> Result<(), Errno> {
        match self {
            Self::Tcp(addr) => connect(fd, addr),
            Self::Unix(_, addr) => connect(fd, addr),
        }
    }

    fn unreachable(&self, errno: Errno) -> Error {
        let known = by_number(errno.raw_os_error());
        let nobody = matches!((errno, self), (Errno::CONNREFUSED, _) | (Errno::NOENT, Self::Unix(..)));
        let words = match known {
            _ if nobody => format!("nothing listens on {self}"),
            Some(errno) => format!("cannot connect to {self}: {}", errno.words),
            None => format!("cannot connect to {self}: {errno}"),
        };
        Error::other(words).with(|details| details.errno = known.map(|errno| errno.name.into()))
    }
}

impl Socket {
    fn poll_open(&mut self, cx: &mut Cx<'_>) -> Poll<Result<&mut Watched, Error>> {
        while let State::Connecting { place, io, until } = &mut self.state {
            let until = *until.get_or_insert(cx.now().after(times::CONNECT));
            let connected = match place.poll_connected(cx, io) {
                Poll::Pending if cx.now() < until => {
                    cx.wake_at(until, "connect");
                    return Poll::Pending;
                }
                Poll::Pending => Err(Errno::TIMEDOUT),
                Poll::Ready(connected) => connected,
            };
            let error = connected.map_err(|errno| place.unreachable(errno));
            let last = std::mem::replace(&mut self.state, State::Failed(Code::Closed.into()));
            self.state = match (error, last) {
                (Ok(()), State::Connecting { io, .. }) => State::Open(io),
                (Ok(()), last) => last,
                (Err(error), _) => State::next(&mut self.places, error).unwrap_or_else(State::Failed),
            };
        }
        Poll::Ready(match &mut self.state {
            State::Open(io) => Ok(io),
            State::Failed(error) => Err(error.clone()),
            State::Connecting { .. } => Err(Error::other("not connected")),
        })
    }
}

impl Place {
    fn poll_connected(&self, cx: &mut Cx<'_>, io: &mut Watched) -> Poll<Result<(), Errno>> {
        if let Self::Unix(..) = self {
            // It is connected at once or not at all.
            return match self.connect(&*io) {
                Ok(()) | Err(Errno::ISCONN) => Poll::Ready(Ok(())),
                Err(Errno::AGAIN | Errno::INTR) => {
                    cx.wake_at(cx.now().after(FULL), "connect");
                    Poll::Pending
                }
                Err(errno) => Poll::Ready(Err(errno)),
            };
        }
        let connected = ready!(cx.io(io, Interest::Write, |fd| {
            sockopt::socket_error(fd)??;
            match getpeername(fd) {
                Err(Errno::NOTCONN) => Err(Errno::AGAIN.into()),
                named => named.map(|_| ()).map_err(Into::into),
            }
        }));
        Poll::Ready(connected.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO)))
    }
}

fn broken(e: std::io::Error) -> Error {
    Errno::from_io_error(&e).map_or_else(|| Error::other(e.to_string()), failed)
}

impl Transport for Socket {
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let io = ready!(self.poll_open(cx))?;
        cx.io(io, Interest::Read, |fd| Ok(recv(fd, &mut *buf, RecvFlags::empty())?.1)).map_err(broken)
    }

    fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        let io = ready!(self.poll_open(cx))?;
        cx.io(io, Interest::Write, |fd| Ok(send(fd, buf, SendFlags::NOSIGNAL)?)).map_err(broken)
    }

    fn shut(&mut self) {
        if let State::Open(io) = &self.state {
            // A connection that is gone already is shut.
            let _ = shutdown(io, Shutdown::Write);
        }
    }
}
