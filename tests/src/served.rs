//! A handler served over sockets of this machine, by either runtime.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a machine that cannot serve fails the test")]

use crate::conformance::Runner;
use farside_core::Handler;
use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// A server that runs.
pub struct Served {
    /// Where it listens.
    pub at: SocketAddr,
    server: Server,
}

enum Server {
    Std(farside_std::Server),
    Smol { server: farside_smol::Server, executor: Arc<smol::Executor<'static>>, thread: Thread },
}

/// A thread that runs an executor until this goes.
struct Thread {
    stop: Option<smol::channel::Sender<()>>,
    handle: Option<JoinHandle<()>>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.handle.take().map(JoinHandle::join);
    }
}

impl Served {
    /// Serves `handler` on a port of the loopback.
    pub fn new(runner: Runner, handler: Arc<Handler>) -> Self {
        Self::on("127.0.0.1:0", runner, handler)
    }

    /// Serves `handler` there.
    pub fn on(address: &str, runner: Runner, handler: Arc<Handler>) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let at = listener.local_addr().unwrap();
        let server = match runner {
            Runner::Std => Server::Std(farside_std::serve(listener, handler).unwrap()),
            Runner::Smol => {
                let executor = Arc::new(smol::Executor::new());
                let server = farside_smol::serve(listener, handler, &executor).unwrap();
                let (stop, stopped) = smol::channel::bounded::<()>(1);
                let running = executor.clone();
                let run = move || {
                    let _ = smol::block_on(running.run(async move { stopped.recv().await }));
                };
                let thread = Thread { stop: Some(stop), handle: Some(std::thread::spawn(run)) };
                Server::Smol { server, executor, thread }
            }
        };
        Self { at, server }
    }

    /// A connection to it, over which `bytes` were sent.
    pub fn send(&self, bytes: &[u8]) -> TcpStream {
        send(self.at, bytes)
    }

    /// Closes it gracefully.
    pub fn close(self, patience: Duration) {
        match self.server {
            Server::Std(server) => server.close(patience),
            Server::Smol { server, executor, thread } => {
                smol::block_on(executor.run(server.close(patience)));
                drop(thread);
            }
        }
    }
}

/// A connection to `at`, over which `bytes` were sent.
pub fn send(at: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut sock = TcpStream::connect(at).unwrap();
    sock.set_read_timeout(Some(SOON)).unwrap();
    // One that refuses what comes may stop reading it.
    let _ = sock.write_all(bytes);
    sock
}

/// What comes until the end, be it clean or not. A test fails when there is none.
pub fn rest(mut sock: &TcpStream) -> Vec<u8> {
    let mut out = Vec::new();
    if let Err(error) = sock.read_to_end(&mut out) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
    out
}

/// Longer than anything takes that a test waits for, on any machine.
pub const SOON: Duration = Duration::from_secs(60);

/// Waits until `done` says so. A test fails when that does not come.
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + SOON;
    while !done() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a test on both runtimes, side by side.
pub fn on_both(test: impl Fn(Runner) + Sync) {
    std::thread::scope(|scope| {
        scope.spawn(|| test(Runner::Std));
        test(Runner::Smol);
    });
}
