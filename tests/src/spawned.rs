//! A server in a process of its own, so that its memory and its descriptors can be counted.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a machine that cannot serve fails the test")]

use crate::{conformance::Runner, disk::mark};
use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

/// A process that serves a directory to everybody.
pub struct Spawned {
    /// Where it listens.
    pub at: SocketAddr,
    child: Child,
    /// It serves until this ends.
    _until: ChildStdin,
}

impl Spawned {
    /// Starts `exe`, which is `checked-server`, with `bounds` in JSON.
    pub fn new(exe: &str, runner: Runner, dir: &Path, bounds: &str) -> Self {
        let config = tempfile::NamedTempFile::new().unwrap();
        let path = format!("PATH={}", std::env::var("PATH").unwrap());
        fs::write(&config, format!("{{\"bounds\":{bounds},\"env\":[{path:?},{:?}]}}", mark(dir))).unwrap();
        let mut child = Command::new(exe)
            .arg(if matches!(runner, Runner::Std) { "std" } else { "smol" })
            .arg(dir)
            .args(["--insecure", "--config"])
            .arg(config.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let at = line.trim().strip_prefix("listening http://").unwrap().parse().unwrap();
        Self { at, _until: child.stdin.take().unwrap(), child }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// A number of `/proc/PID/status`, such as `VmRSS` in KiB.
    pub fn status(&self, name: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// How long it ran on a processor, in hundredths of a second.
    pub fn ticks(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let fields: Vec<_> = text.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    /// How many descriptors it holds.
    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
