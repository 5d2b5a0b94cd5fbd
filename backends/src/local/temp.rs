//! Temporary files: `.farside-*.tmp`, locked as long as their writer lives.

use crate::errno::failed;
use farside_core::wire::{Error, Id};
use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RawDir, flock, fstat, openat, unlinkat},
    io::Errno,
};
use std::{
    collections::BTreeSet,
    ffi::CStr,
    sync::{Mutex, PoisonError},
};

const PREFIX: &str = ".farside-";
const SUFFIX: &str = ".tmp";

/// How many directories are remembered as swept; past it all are forgotten.
const SWEPT: usize = 4096;
/// How many entries of a directory a sweep looks at.
const LOOKED_AT: usize = 10_000;
/// How often a file is made anew that a sweep took for a stale one.
const TRIES: usize = 4;

/// A temporary file in a directory that is held. It goes when this is dropped, unless it was renamed.
pub(super) struct Temp {
    pub(super) dir: OwnedFd,
    pub(super) file: OwnedFd,
    name: Option<String>,
}

impl Temp {
    pub(super) fn new(dir: OwnedFd) -> Result<Self, Error> {
        let (mut file, mut name) = make(&dir)?;
        for _ in 1..TRIES {
            // Between the making and the lock a sweep may have found it without one. Where there are no locks there is no sweep.
            let lost = flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
            if !lost && fstat(&file).map_err(failed)?.st_nlink > 0 {
                break;
            }
            (file, name) = make(&dir)?;
        }
        Ok(Self { dir, file, name: Some(name) })
    }

    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    pub(super) fn renamed(&mut self) {
        self.name = None;
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = unlinkat(&self.dir, name.as_str(), AtFlags::empty());
        }
    }
}

/// Makes a file whose name nobody can have taken, or led elsewhere, before.
fn make(dir: &OwnedFd) -> Result<(OwnedFd, String), Error> {
    let mut random = [0; 17];
    getrandom::fill(&mut random).map_err(|error| Error::other(error.to_string()))?;
    let name = format!("{PREFIX}{}{SUFFIX}", Id::new(&random));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(dir, name.as_str(), flags, Mode::from_raw_mode(0o600)).map_err(failed)?;
    Ok((file, name))
}

/// Removes what writers left that were killed. Each directory is swept once, when a temporary file is first made in it.
#[derive(Debug, Default)]
pub(super) struct Sweeper(Mutex<BTreeSet<(u64, u64)>>);

impl Sweeper {
    pub(super) fn visit(&self, dir: &OwnedFd) -> Result<(), Error> {
        let stat = fstat(dir).map_err(failed)?;
        let mut swept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.len() >= SWEPT {
            swept.clear();
        }
        let first = swept.insert((stat.st_dev, stat.st_ino));
        drop(swept);
        if first {
            // A directory that cannot be read is not swept.
            let _ = sweep(dir);
        }
        Ok(())
    }
}

fn sweep(dir: &OwnedFd) -> Result<(), Errno> {
    let dir = openat(dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut buf = Vec::with_capacity(8 * 1024);
    let mut entries = RawDir::new(&dir, buf.spare_capacity_mut());
    let mut left = LOOKED_AT;
    while let Some(entry) = entries.next().filter(|_| left > 0) {
        left -= 1;
        let entry = entry?;
        let name = entry.file_name();
        if is_ours(name.to_bytes())
            && let Some(_lock) = stale(&dir, name)
        {
            unlinkat(&dir, name, AtFlags::empty())?;
        }
    }
    Ok(())
}

/// The lock of a file whose writer is gone; it is held until the file is.
fn stale(dir: &OwnedFd, name: &CStr) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(dir, name, flags, Mode::empty()).ok()?;
    let regular = FileType::from_raw_mode(fstat(&file).ok()?.st_mode) == FileType::RegularFile;
    (regular && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()).then_some(file)
}

fn is_ours(name: &[u8]) -> bool {
    let id = name.strip_prefix(PREFIX.as_bytes()).and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    id.is_some_and(|id| id.len() == 26 && id.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7')))
}
