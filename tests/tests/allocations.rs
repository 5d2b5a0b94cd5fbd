//! Small requests allocate nothing once a connection has served its first ones.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test, and what it found is told where it happens")]

use farside_backends::{Local, Memory};
use farside_core::{Access, Connection, Cx, Handler, RecvBuf, Runtime, Tx, wire::Moment};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    backtrace::Backtrace,
    cell::Cell,
    sync::Arc,
    task::Waker,
};

/// The system's allocator, which counts what this thread asks for while it is counted.
struct Counting;

thread_local! {
    static COUNT: Cell<Option<u64>> = const { Cell::new(None) };
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Counts one, and tells where the first came from.
fn count() {
    if let Some(before) = COUNT.take() {
        if before == 0 {
            eprintln!("{}", Backtrace::force_capture());
        }
        COUNT.set(Some(before + 1));
    }
}

struct Nothing;

impl Runtime for Nothing {
    fn entropy(&mut self, _: &mut [u8]) {}
}

/// One connection, turned by hand.
struct Peer {
    conn: Connection,
    rx: RecvBuf,
    tx: Tx,
    reply: Vec<u8>,
}

impl Peer {
    fn new(handler: &Arc<Handler>) -> Self {
        let conn = Connection::new(handler.clone(), Moment(0));
        Self { conn, rx: RecvBuf::default(), tx: Tx::with_files(), reply: Vec::with_capacity(64 * 1024) }
    }

    /// Sends a request and takes its reply. Gives the status, and how many times something was allocated in between, if that is counted.
    fn ask(&mut self, request: &[u8], counted: bool) -> (u16, u64) {
        self.reply.clear();
        COUNT.set(counted.then_some(0));
        self.rx.spare()[..request.len()].copy_from_slice(request);
        self.rx.commit(request.len());
        let mut runtime = Nothing;
        self.conn.turn(&mut Cx::new(Moment(1), Waker::noop(), &mut runtime), &mut self.rx, &mut self.tx);
        self.reply.extend_from_slice(self.tx.filled());
        self.tx.sent(self.tx.len());
        let allocated = COUNT.take().unwrap_or(0);
        assert!(self.conn.is_idle(), "one turn was not enough");
        (std::str::from_utf8(&self.reply[9..12]).unwrap().parse().unwrap(), allocated)
    }
}

/// What is asked, and the status of the reply.
const REQUESTS: &[(&str, u16)] = &[
    ("GET /v1/fs/stat?path=dir/file HTTP/1.1\r\n", 200),
    ("GET /v1/fs/lstat?path=link HTTP/1.1\r\n", 200),
    ("GET /v1/fs/file?path=dir/file HTTP/1.1\r\n", 200),
    ("HEAD /v1/fs/file?path=dir/file HTTP/1.1\r\n", 200),
    ("GET /v1/fs/file?path=dir HTTP/1.1\r\n", 400),
    ("GET /v1/fs/file?path=../x HTTP/1.1\r\n", 403),
    ("GET /v1/fs/file HTTP/1.1\r\n", 400),
    ("GET /v1/nothing HTTP/1.1\r\n", 404),
    ("POST /v1/fs/stat?path=dir HTTP/1.1\r\n", 405),
    ("GET /v1/fs/stat?path=dir HTTP/1.1\r\nOrigin: null\r\n", 403),
    ("DELETE /v1/fs/file?path=absent HTTP/1.1\r\n", 404),
];
/// The same, for a workspace whose names the kernel resolves; one that walks them by hand keeps what it passes.
const RESOLVED: &[(&str, u16)] = &[
    ("GET /v1/fs/stat?path=link HTTP/1.1\r\n", 200),
    ("GET /v1/fs/stat?path=absent HTTP/1.1\r\n", 404),
    ("GET /v1/fs/file?path=absent HTTP/1.1\r\n", 404),
];
const TOKEN: &str = "Host: localhost\r\nAuthorization: Bearer secret\r\n\r\n";

/// Asks everything several times, and checks that the last time nothing was allocated. `make` makes the file `passing`.
fn check(handler: &Arc<Handler>, requests: &[&[(&str, u16)]], make: &dyn Fn()) {
    let mut peer = Peer::new(handler);
    let mut asked: Vec<(String, u16)> =
        requests.concat().iter().map(|(line, status)| (format!("{line}{TOKEN}"), *status)).collect();
    asked.push(("GET /v1/fs/stat?path=dir HTTP/1.1\r\nHost: localhost\r\n\r\n".into(), 401));
    asked.push((format!("DELETE /v1/fs/file?path=passing HTTP/1.1\r\n{TOKEN}"), 204));
    let mut allocating = Vec::new();
    for round in 0..3 {
        for (request, status) in &asked {
            make();
            let (got, allocated) = peer.ask(request.as_bytes(), round == 2);
            assert_eq!(got, *status, "{request}{}", String::from_utf8_lossy(&peer.reply));
            if allocated > 0 {
                allocating.push((allocated, request.lines().next().unwrap_or_default()));
            }
        }
    }
    assert!(allocating.is_empty(), "{allocating:#?}");
}

fn access() -> Access {
    Access::bearer("secret")
}

#[test]
fn small_requests_to_memory() {
    let memory = Arc::new(Memory::new());
    memory.put("dir/file", vec![b'x'; 1024]).unwrap();
    memory.symlink("dir/file", "link").unwrap();
    let handler = Handler::new(memory.clone(), access());
    check(&handler, &[REQUESTS], &|| memory.put("passing", "x").unwrap());
}

#[test]
fn small_requests_to_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("dir")).unwrap();
    std::fs::write(dir.path().join("dir/file"), [b'x'; 1024]).unwrap();
    std::os::unix::fs::symlink("dir/file", dir.path().join("link")).unwrap();
    let handler = Handler::new(Local::new(dir.path(), Vec::new()).unwrap(), access());
    check(&handler, &[REQUESTS, RESOLVED], &|| std::fs::write(dir.path().join("passing"), "x").unwrap());
}

/// A counter that counts nothing would pass everything.
#[test]
fn the_counter_counts() {
    COUNT.set(Some(0));
    drop(std::hint::black_box(vec![0u8; 100]));
    assert_eq!(COUNT.take(), Some(1));
}
