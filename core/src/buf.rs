//! Buffers of the caller. Both keep their bytes initialised, so room is handed out without clearing it again.

use crate::{wire::Out, workspace::Room};
use alloc::{vec, vec::Vec};
#[cfg(feature = "std")]
use {alloc::sync::Arc, std::os::fd::OwnedFd};

/// What was received and not used yet. Full means: stop reading.
#[derive(Default)]
pub struct RecvBuf {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    closed: bool,
}

/// What a receive buffer holds at first and when it rests.
const SMALL: usize = 2 * 1024;

impl RecvBuf {
    /// Room to read into; empty: stop reading.
    pub fn spare(&mut self) -> &mut [u8] {
        if self.bytes.is_empty() {
            self.bytes = vec![0; SMALL];
        }
        let tight = self.bytes.len() - self.end < SMALL / 2;
        if self.start > 0 && (self.start == self.end || tight) {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        &mut self.bytes[self.end..]
    }

    /// The first `n` bytes of [`RecvBuf::spare`] were filled.
    pub fn commit(&mut self, n: usize) {
        self.end = (self.end + n).min(self.bytes.len());
    }

    /// The peer sends no more.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether the peer sends no more.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// What was received and not used yet.
    pub fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether [`RecvBuf::spare`] would give room.
    pub fn has_room(&self) -> bool {
        self.bytes.is_empty() || self.end - self.start < self.bytes.len()
    }

    /// Drops the first `n` bytes.
    pub fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
    }

    /// Grows to hold at least `n` bytes.
    pub(crate) fn want(&mut self, n: usize) {
        if self.bytes.len() < n {
            self.bytes.resize(n, 0);
        }
    }

    /// A full buffer doubles, up to `max`.
    pub(crate) fn grow(&mut self, max: usize) {
        if !self.has_room() && self.bytes.len() < max {
            self.want((self.bytes.len() * 2).min(max));
        }
    }

    /// Gives large room back once nothing is in it.
    pub(crate) fn rest(&mut self) {
        if self.is_empty() && self.is_large() {
            *self = Self { closed: self.closed, ..Self::default() };
        }
    }

    /// Whether it holds more room than one that rests.
    pub(crate) fn is_large(&self) -> bool {
        self.bytes.len() > 2 * SMALL
    }
}

/// Bytes to write, and behind them, perhaps, a stretch of a file that the driver may send without looking at it.
#[derive(Default)]
pub struct Tx {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Something was written since that was last asked.
    moved: bool,
    #[cfg(feature = "std")]
    file: Option<FileRange>,
    #[cfg(feature = "std")]
    takes_files: bool,
}

/// As much as a head takes.
const ROOM_BEFORE: usize = 768;

/// A stretch of a file.
#[cfg(feature = "std")]
pub struct FileRange {
    /// The file.
    pub fd: Arc<OwnedFd>,
    /// Where the next byte stands in it.
    pub at: u64,
    /// How many bytes are left; more than none.
    pub left: u64,
}

impl Tx {
    /// For a driver that can send stretches of files: a plain socket can; TLS and a pipe in memory cannot.
    #[cfg(feature = "std")]
    pub fn with_files() -> Self {
        Self { takes_files: true, ..Self::default() }
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes are to be written, a file's included.
    pub fn len(&self) -> usize {
        let bytes = self.end - self.start;
        #[cfg(feature = "std")]
        let bytes =
            bytes.saturating_add(self.file.as_ref().map_or(0, |f| usize::try_from(f.left).unwrap_or(usize::MAX)));
        bytes
    }

    /// The bytes to write next; empty when a file's come next, or nothing.
    pub fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// The first `n` bytes of [`Tx::filled`] were written.
    pub fn sent(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
        self.moved |= n > 0;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Whether something was written since this was last asked.
    pub(crate) fn has_moved(&mut self) -> bool {
        core::mem::take(&mut self.moved)
    }

    /// The stretch to send once [`Tx::filled`] is empty.
    #[cfg(feature = "std")]
    pub fn file(&mut self) -> Option<&mut FileRange> {
        self.file.as_mut()
    }

    /// `n` bytes of the file were sent.
    #[cfg(feature = "std")]
    pub fn sent_file(&mut self, n: u64) {
        if let Some(f) = &mut self.file {
            f.left = f.left.saturating_sub(n);
            self.moved |= n > 0;
            if f.left == 0 {
                self.file = None;
            }
        }
    }

    /// Puts a stretch of a file behind the bytes, if this driver takes files.
    #[cfg(feature = "std")]
    pub(crate) fn put_file(&mut self, fd: &Arc<OwnedFd>, left: u64) -> bool {
        if self.takes_files && left > 0 {
            self.file = Some(FileRange { fd: fd.clone(), at: 0, left });
        }
        self.takes_files
    }

    /// Drops everything: nobody will read it.
    pub fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
        #[cfg(feature = "std")]
        {
            self.file = None;
        }
    }

    pub(crate) fn commit(&mut self, n: usize) {
        self.end = (self.end + n).min(self.bytes.len());
    }

    /// How far the bytes reach: a mark for [`Tx::insert`], good until bytes are sent.
    pub(crate) fn mark(&self) -> usize {
        self.end - self.start
    }

    /// Leaves room before what is put next, if that is the first: for a head that can be made only after it.
    pub(crate) fn leave_room(&mut self) {
        if self.start == self.end {
            self.bytes.resize(self.bytes.len().max(ROOM_BEFORE), 0);
            (self.start, self.end) = (ROOM_BEFORE, ROOM_BEFORE);
        }
    }

    /// Puts `bytes` at a mark, before what was put since.
    pub(crate) fn insert(&mut self, mark: usize, bytes: &[u8]) {
        if mark == 0 && bytes.len() <= self.start {
            self.start -= bytes.len();
            self.bytes[self.start..self.start + bytes.len()].copy_from_slice(bytes);
            return;
        }
        let tail = self.mark() - mark;
        self.room(bytes.len());
        let at = self.start + mark;
        self.bytes.copy_within(at..at + tail, at + bytes.len());
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Takes back what was put since a mark.
    pub(crate) fn truncate(&mut self, mark: usize) {
        self.end = self.start + mark;
    }

    /// The `n` bytes that lie `back` before the end: where a size is filled in afterwards.
    pub(crate) fn back(&mut self, back: usize, n: usize) -> &mut [u8] {
        &mut self.bytes[self.end - back..self.end - back + n]
    }

    /// Gives large room back once nothing is in it.
    pub(crate) fn rest(&mut self) {
        if self.is_empty() && self.is_large() {
            self.bytes = Vec::new();
            (self.start, self.end) = (0, 0);
        }
    }

    /// Whether it holds more room than one that rests.
    pub(crate) fn is_large(&self) -> bool {
        self.bytes.len() > 2 * SMALL
    }
}

impl Room for Tx {
    /// Room behind the bytes; what is written there counts once it is committed.
    fn room(&mut self, n: usize) -> &mut [u8] {
        if self.bytes.len() - self.end < n {
            if self.start > ROOM_BEFORE {
                self.bytes.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            let whole = (self.end + n).next_multiple_of(512);
            self.bytes.resize(whole.max(self.bytes.len()), 0);
        }
        &mut self.bytes[self.end..self.end + n]
    }
}

impl Out for Tx {
    fn put(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
        self.end += bytes.len();
    }
}
