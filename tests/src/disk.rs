//! A directory that is served, and what is left of the commands that ran in it.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a machine without such a directory fails the test")]

use farside_backends::Local;
use farside_core::{
    Access, Handler,
    wire::{Bounds, Scopes, times},
};
use std::{fs, path::Path, sync::Arc};

/// A directory with a file `f` of content `old`, gone with this.
pub struct Disk {
    dir: tempfile::TempDir,
    /// It, served to everybody.
    pub handler: Arc<Handler>,
}

impl Disk {
    /// With the default bounds.
    pub fn new() -> Self {
        Self::with(Bounds::default())
    }

    /// With other bounds.
    pub fn with(bounds: Bounds) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), "old").unwrap();
        let env = vec![format!("PATH={}", std::env::var("PATH").unwrap()), mark(dir.path())];
        let local = Local::new(dir.path(), env).unwrap();
        Self { dir, handler: Handler::with(local, Access::Insecure(Scopes::ALL), bounds, times::LEASE) }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A file's content; none if there is none.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path().join(name)).ok()
    }

    /// How many uploads to the directory itself are under way, or have left something.
    pub fn temps(&self) -> usize {
        let names = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with(".farside-")).count()
    }

    /// The processes that commands of this workspace are, or have started: all of them keep its environment.
    pub fn running(&self) -> Vec<u32> {
        running(self.path())
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self::new()
    }
}

/// The variable by which the commands of the workspace `dir` are known.
pub fn mark(dir: &Path) -> String {
    format!("WORKSPACE_OF_TEST={}", dir.display())
}

/// The processes that have it.
pub fn running(dir: &Path) -> Vec<u32> {
    let mark = format!("{}\0", mark(dir)).into_bytes();
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    // (Of one that has ended and was not reaped it is empty.)
    let has = |pid: &u32| fs::read(format!("/proc/{pid}/environ")).is_ok_and(|env| contains(&env, &mark));
    pids.filter(has).collect()
}

fn contains(all: &[u8], part: &[u8]) -> bool {
    all.windows(part.len()).any(|w| w == part)
}
