//! The small routes and the hot frames allocate nothing.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use farside_wire::{
    Channel, Error, FileMode, Meta, Query, Timestamp, envelope, errno, file, frame, name,
    route::{Found, find},
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

struct Counting;

thread_local!(static COUNT: Cell<usize> = const { Cell::new(0) });

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(run: impl FnOnce()) -> usize {
    let before = COUNT.with(Cell::get);
    run();
    COUNT.with(Cell::get) - before
}

#[test]
fn none_where_it_counts() {
    let mut out = Vec::with_capacity(4096);
    assert_eq!(allocations(|| drop(vec![1])), 1, "they are counted");

    let meta = Meta { size: u64::MAX, mode: FileMode(0o644), modified: Timestamp { seconds: 1_796_040_000, nanos: 1 } };
    let stat = allocations(|| {
        let Found::Route(route, _) = find("GET", "/v1/fs/stat", &["list", "tree"]) else { panic!() };
        let query = Query::parse(Some("path=src/lib.rs"), route.query).unwrap();
        let path = query.name("path").unwrap();
        file::write_info(&mut out, name::last(&path), &meta);
    });
    assert_eq!(stat, 0);

    let error = Error::limit("maxWriteBytes", 10).with(|details| details.ran = Some(true));
    let unmapped = errno::from_errno(28);
    let refusals = allocations(|| {
        envelope::write_error(&mut out, &error, 512);
        envelope::write_error(&mut out, &unmapped, 5);
        assert_eq!((envelope::status_of(&error), envelope::status_of(&unmapped)), (413, 507));
        assert!(name::check("../x").is_err());
    });
    assert_eq!(refusals, 0);

    let data = vec![7; frame::MAX_FRAME_DATA];
    let mut room = vec![0; frame::data_frame_len(Channel::Stderr, data.len())];
    let mut into = vec![0; frame::MAX_FRAME_DATA];
    let frames = allocations(|| {
        frame::write_data_frame(&mut room, Channel::Stderr, &data);
        frame::parse_line(&room, &mut into).unwrap();
        assert_eq!(frame::parse_line(b"\n", &mut into), Ok(frame::Line::Blank));
    });
    assert_eq!((frames, into), (0, data));
}
