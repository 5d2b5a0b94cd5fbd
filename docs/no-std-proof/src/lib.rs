//! A program without `std` that serves one connection out of the wire and the core.
//!
//! If any crate below it used `std`, there would be two panic handlers and no library (`check.sh` sees to it that this is so).
#![no_std]

extern crate alloc;

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::UnsafeCell,
    panic::PanicInfo,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    task::Waker,
};
use farside_core::{
    Access, Answer, Called, Connection, Cx, Handler, Op, RecvBuf, Room, Runtime, Tx, Workspace,
    wire::{
        Channel, Frame, Meta, Moment, Scopes,
        frame::{data_frame_len, write_data_frame},
        http::{HeadScan, RequestHead},
        json,
    },
};

/// Memory that is handed out once and never taken back.
struct Arena {
    bytes: UnsafeCell<[u8; SIZE]>,
    used: AtomicUsize,
}

const SIZE: usize = 1 << 20;

#[global_allocator]
static ARENA: Arena = Arena { bytes: UnsafeCell::new([0; SIZE]), used: AtomicUsize::new(0) };

// SAFETY: `alloc` gives no byte out twice, whoever asks.
unsafe impl Sync for Arena {}

// SAFETY: each layout gets bytes of its own, aligned, inside the arena, or null.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let at = self.used.fetch_add(layout.size() + layout.align(), Relaxed);
        if at + layout.size() + layout.align() > SIZE {
            return core::ptr::null_mut();
        }
        // SAFETY: `at` and the room behind it are inside the arena.
        let start = unsafe { self.bytes.get().cast::<u8>().add(at) };
        // SAFETY: the room asked for is larger than the size by the alignment.
        unsafe { start.add(start.align_offset(layout.align())) }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// Serves one request; 0 if all was as it should be, else the number of what was not.
#[unsafe(no_mangle)]
pub extern "C" fn farside_no_std_proof() -> i32 {
    match (values(), served()) {
        (Some(()), Some(())) => 0,
        (None, _) => 1,
        (_, None) => 2,
    }
}

const REQUEST: &[u8] = b"GET /v1/fs/stat?path=a HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A head, JSON and a frame, there and back.
fn values() -> Option<()> {
    let end = HeadScan::default().find(REQUEST).ok()??;
    let head = RequestHead::parse(&REQUEST[..end]).ok()?;
    let object = json::parse_object(br#"{"timeoutMs":250}"#).ok()?;
    let mut line = [0; data_frame_len(Channel::Stdout, 2)];
    write_data_frame(&mut line, Channel::Stdout, b"hi");
    let frame = Frame::parse(&line).ok()?;
    (head.method == "GET" && object.u64("timeoutMs") == Ok(Some(250)) && frame == Frame::Data(b"hi".into())).then_some(())
}

/// A connection, from a request to its reply.
fn served() -> Option<()> {
    let handler = Handler::new(OneFile, Access::Insecure(Scopes::ALL));
    let (mut rx, mut tx, mut conn) = (RecvBuf::default(), Tx::default(), Connection::new(handler, Moment(0)));
    rx.spare().get_mut(..REQUEST.len())?.copy_from_slice(REQUEST);
    rx.commit(REQUEST.len());
    let flow = conn.turn(&mut Cx::new(Moment(1), Waker::noop(), &mut NoEntropy), &mut rx, &mut tx);
    let reply = tx.filled();
    let body = br#"{"info":{"name":"a","size":12,"mode":420,"modTime":"1970-01-01T00:00:00Z"}}"#;
    (flow.read && reply.starts_with(b"HTTP/1.1 200 OK\r\n") && reply.ends_with(body)).then_some(())
}

/// A workspace of one file, whose content nobody can have.
struct OneFile;

impl Workspace for OneFile {
    fn call(&self, op: Op<'_>, _: &mut dyn Room) -> Called {
        let mut meta = Meta { size: 12, ..Meta::default() };
        meta.mode.0 = 0o644;
        let known = matches!(op, Op::Stat { name: "a", .. });
        let answer = if known { Ok(Answer::Meta(meta)) } else { Err(farside_core::wire::Code::Unsupported.into()) };
        Called::Now(Some(answer))
    }
}

struct NoEntropy;

impl Runtime for NoEntropy {
    fn entropy(&mut self, out: &mut [u8]) {
        out.fill(7);
    }
}
