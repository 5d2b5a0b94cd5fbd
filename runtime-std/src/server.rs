//! A listener and its connections, a thread each.

use crate::{drive::drive, keep::keep, park};
use farside_core::Handler;
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    io::Errno,
    net::{Shutdown, SocketFlags, accept_with, shutdown},
};
use std::{
    collections::BTreeMap,
    io,
    net::TcpListener,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixListener,
    },
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// What [`serve`] accepts from: a TCP or a Unix listener.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl From<TcpListener> for Listener {
    fn from(l: TcpListener) -> Self {
        Self(l.into())
    }
}

impl From<UnixListener> for Listener {
    fn from(l: UnixListener) -> Self {
        Self(l.into())
    }
}

/// Serves every connection that `listener` accepts, until the server is closed or dropped.
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// # let handler: std::sync::Arc<farside_core::Handler> = unimplemented!();
/// let server = farside_std::serve(std::net::TcpListener::bind("127.0.0.1:0")?, handler)?;
/// server.close(std::time::Duration::from_secs(5));
/// # Ok(()) }
/// ```
///
/// # Errors
/// When no thread or descriptor can be had.
pub fn serve(listener: impl Into<Listener>, handler: Arc<Handler>) -> io::Result<Server> {
    let listener = listener.into().0;
    rustix::io::ioctl_fionbio(&listener, true)?;
    keep(&handler)?;
    let stop = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
    let open = Arc::new(Open::default());
    let accepting = {
        let (stop, open, handler) = (stop.clone(), open.clone(), handler.clone());
        thread::Builder::new()
            .name("farside-accept".into())
            .spawn(move || accept_all(&listener, &stop, &open, &handler))?
    };
    Ok(Server { handler, stop, open, accepting: Some(accepting) })
}

/// A running server.
pub struct Server {
    handler: Arc<Handler>,
    stop: Arc<OwnedFd>,
    open: Arc<Open>,
    accepting: Option<JoinHandle<()>>,
}

/// The connections that are open, so that they can be told to end.
#[derive(Default)]
struct Open {
    sockets: Mutex<BTreeMap<u64, Arc<Socket>>>,
    changed: Condvar,
}

struct Socket {
    fd: OwnedFd,
    /// Whether something is being answered over it.
    busy: AtomicBool,
}

impl Open {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Socket>>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Accepts nothing more, ends every exec politely and answers it, lets transfers finish for `patience`, and closes all that is
    /// left. Returns once every connection has ended.
    pub fn close(mut self, patience: Duration) {
        self.stop_accepting();
        park::run(self.handler.close());
        // An idle connection takes the end of its input for a goodbye; any other ends by itself after its reply.
        self.shut_all(Shutdown::Read, |sock| !sock.busy.load(SeqCst));
        let until = Instant::now() + patience;
        let mut open = self.open.lock();
        while !open.is_empty() {
            let Some(left) = until.checked_duration_since(Instant::now()) else { break };
            open = self.open.changed.wait_timeout(open, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(open);
        self.shut_all(Shutdown::Both, |_| true);
        let mut open = self.open.lock();
        while !open.is_empty() {
            open = self.open.changed.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn stop_accepting(&mut self) {
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.accepting.take() {
            let _ = thread.join();
        }
    }

    fn shut_all(&self, how: Shutdown, which: impl Fn(&Socket) -> bool) {
        for sock in self.open.lock().values().filter(|sock| which(sock)) {
            // One that is closed already is what was wanted.
            let _ = shutdown(&sock.fd, how);
        }
    }
}

impl Drop for Server {
    /// Accepts nothing more and closes every connection; what runs is ended, but not waited for.
    fn drop(&mut self) {
        self.stop_accepting();
        self.shut_all(Shutdown::Both, |_| true);
    }
}

/// A connection's thread: its calls go little deep, and only what it touches counts.
const STACK: usize = 256 * 1024;
/// How long accepting rests when the system has nothing left for another connection.
const REST: Duration = Duration::from_millis(100);

fn accept_all(listener: &OwnedFd, stop: &OwnedFd, open: &Arc<Open>, handler: &Arc<Handler>) {
    let mut next = 0;
    loop {
        let mut set = [PollFd::new(stop, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
        let _ = poll(&mut set, None);
        if !set[0].revents().is_empty() {
            return;
        }
        let sock = match accept_with(listener, SocketFlags::CLOEXEC) {
            Ok(fd) => Arc::new(Socket { fd, busy: AtomicBool::new(false) }),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => continue,
            Err(e) => {
                log::warn!("cannot accept a connection: {e}");
                rest(stop);
                continue;
            }
        };
        next += 1;
        open.lock().insert(next, sock.clone());
        let ended = Ended { id: next, open: open.clone() };
        let handler = handler.clone();
        let spawned = thread::Builder::new().name("farside-conn".into()).stack_size(STACK).spawn(move || {
            let _ended = ended;
            if let Err(e) = drive(&sock.fd, handler, &sock.busy) {
                log::warn!("a connection ended early: {e}");
            }
        });
        if let Err(e) = spawned {
            log::warn!("no thread for a connection: {e}");
            rest(stop);
        }
    }
}

fn rest(stop: &OwnedFd) {
    let rest = Timespec { tv_sec: 0, tv_nsec: REST.as_nanos() as i64 };
    let _ = poll(&mut [PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN)], Some(&rest));
}

/// Takes a connection off the list when its thread ends, however it ends.
struct Ended {
    id: u64,
    open: Arc<Open>,
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.open.lock().remove(&self.id);
        self.open.changed.notify_all();
    }
}
