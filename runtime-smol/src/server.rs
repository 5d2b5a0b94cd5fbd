//! A listener and its connections, a task each.

use crate::{drive::drive, run::run};
use async_executor::{Executor, Task};
use async_io::{Async, Timer};
use farside_core::Handler;
use futures_lite::FutureExt;
use rustix::{
    io::Errno,
    net::{Shutdown, SocketFlags, accept_with, shutdown},
};
use std::{
    collections::BTreeMap,
    future::poll_fn,
    io,
    net::TcpListener,
    os::{fd::OwnedFd, unix::net::UnixListener},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Poll, Waker},
    time::Duration,
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

/// Serves every connection that `listener` accepts, each as a task of `executor`, until the server is closed or dropped.
///
/// The accept loop is a task too: a future given to [`Executor::run`] itself would be polled at every wake-up of its thread.
///
/// # Errors
/// When the listener cannot be waited for.
pub fn serve(
    listener: impl Into<Listener>,
    handler: Arc<Handler>,
    executor: &Arc<Executor<'static>>,
) -> io::Result<Server> {
    let listener = listener.into().0;
    rustix::io::ioctl_fionbio(&listener, true)?;
    let (listener, open) = (Async::new_nonblocking(listener)?, Arc::new(Open::default()));
    if let Some(keeper) = handler.keeper() {
        executor.spawn(run(keeper)).detach();
    }
    let accepting = executor.spawn(accept_all(listener, open.clone(), handler.clone(), Arc::downgrade(executor)));
    Ok(Server { handler, open, accepting: Some(accepting) })
}

/// A running server.
pub struct Server {
    handler: Arc<Handler>,
    open: Arc<Open>,
    accepting: Option<Task<()>>,
}

/// The connections that are open, so that they can be told to end.
#[derive(Default)]
struct Open(Mutex<Sockets>);

#[derive(Default)]
struct Sockets {
    open: BTreeMap<u64, Socket>,
    waiting: Option<Waker>,
}

struct Socket {
    fd: Arc<OwnedFd>,
    /// Whether something is being answered over it.
    busy: Arc<AtomicBool>,
}

impl Open {
    fn lock(&self) -> MutexGuard<'_, Sockets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poll_none(&self, c: &mut Context<'_>) -> Poll<()> {
        let mut sockets = self.lock();
        if sockets.open.is_empty() {
            return Poll::Ready(());
        }
        sockets.waiting = Some(c.waker().clone());
        Poll::Pending
    }

    fn shut_all(&self, how: Shutdown, which: impl Fn(&Socket) -> bool) {
        for sock in self.lock().open.values().filter(|sock| which(sock)) {
            // One that is closed already is what was wanted.
            let _ = shutdown(&sock.fd, how);
        }
    }
}

impl Server {
    /// Accepts nothing more, ends every exec politely and answers it, lets transfers finish for `patience`, and closes all that is
    /// left. Done once every connection has ended.
    pub async fn close(mut self, patience: Duration) {
        if let Some(accepting) = self.accepting.take() {
            accepting.cancel().await;
        }
        run(self.handler.close()).await;
        // An idle connection takes the end of its input for a goodbye; any other ends by itself after its reply.
        self.open.shut_all(Shutdown::Read, |sock| !sock.busy.load(SeqCst));
        let none = || poll_fn(|c| self.open.poll_none(c));
        let late = async {
            Timer::after(patience).await;
        };
        none().or(late).await;
        self.open.shut_all(Shutdown::Both, |_| true);
        none().await;
    }
}

impl Drop for Server {
    /// Accepts nothing more and closes every connection; what runs is ended, but not waited for.
    fn drop(&mut self) {
        self.open.shut_all(Shutdown::Both, |_| true);
    }
}

/// How long accepting rests when the system has nothing left for another connection.
const REST: Duration = Duration::from_millis(100);

async fn accept_all(
    listener: Async<OwnedFd>,
    open: Arc<Open>,
    handler: Arc<Handler>,
    executor: Weak<Executor<'static>>,
) {
    let mut next = 0;
    loop {
        let sock = match accept_with(&listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(sock) => Arc::new(sock),
            Err(Errno::AGAIN) => {
                // It fails only when the reactor is gone, and then nothing could be served.
                if listener.readable().await.is_err() {
                    return;
                }
                continue;
            }
            Err(Errno::INTR | Errno::CONNABORTED) => continue,
            Err(e) => {
                log::warn!("cannot accept a connection: {e}");
                Timer::after(REST).await;
                continue;
            }
        };
        next += 1;
        let busy = Arc::new(AtomicBool::new(false));
        open.lock().open.insert(next, Socket { fd: sock.clone(), busy: busy.clone() });
        let ended = Ended { id: next, open: open.clone() };
        let handler = handler.clone();
        // An executor that is held by its own task would outlive its host's, and every connection with it.
        let Some(executor) = executor.upgrade() else { return };
        executor
            .spawn(async move {
                let _ended = ended;
                if let Err(e) = drive(sock, handler, busy).await {
                    log::warn!("a connection ended early: {e}");
                }
            })
            .detach();
    }
}

/// Takes a connection off the list when its task ends, however it ends.
struct Ended {
    id: u64,
    open: Arc<Open>,
}

impl Drop for Ended {
    fn drop(&mut self) {
        let waiting = {
            let mut sockets = self.open.lock();
            sockets.open.remove(&self.id);
            if sockets.open.is_empty() { sockets.waiting.take() } else { None }
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}
