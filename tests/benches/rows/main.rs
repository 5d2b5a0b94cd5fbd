//! The speed of the servers, row by row, beside minimal servers and nginx in the same job.
//!
//! `cargo bench -p farside-tests --bench rows [-- ROW...]`. A row starts its servers anew, lets them take turns round after round, and
//! prints one line: the medians, the median of the ratios within a round (lowest and highest behind it), and what is aimed at. A ratio
//! to what ran in the same seconds says something on a noisy machine; a single value does not, so no result fails the program.
//!
//! * **P**: client and server pinned to one CPU, one connection, one request after another; the median time.
//! * **C**: what the server's threads spend on the CPU for one request, 16 connections at work.
//! * **W**: bytes or requests a second on all CPUs.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints, and stops at what it did not expect")]

mod floor;
mod footprint;
mod load;
mod proc;
mod servers;
mod speed;
mod table;

use std::{env, path::PathBuf};

type Row = fn(&Bench) -> Vec<table::Line>;

const ROWS: &[(&str, Row)] = &[
    ("stat", speed::stat),
    ("read", speed::read),
    ("put", speed::put_small),
    ("read-cpu", speed::read_cpu),
    ("read-rate", speed::read_rate),
    ("download", speed::download),
    ("upload", speed::upload),
    ("exec", speed::exec_true),
    ("stream", speed::stream),
    ("idle", footprint::idle),
    ("start", footprint::start),
    ("size", footprint::size),
    ("cli", footprint::cli),
    ("conn", footprint::conn),
    ("growth", footprint::growth),
];

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    if let Some((name, rest)) = args.split_first()
        && name == "floor"
    {
        return floor::serve(&rest[0], rest[1].as_ref());
    }
    if !args.iter().any(|arg| arg == "--bench") {
        return println!("cargo bench -p farside-tests --bench rows [-- ROW...]");
    }
    let asked: Vec<_> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let known = ROWS.iter().map(|(name, _)| *name);
    if let Some(unknown) = asked.iter().find(|asked| !known.clone().any(|name| name == **asked)) {
        let known: Vec<_> = known.collect();
        return println!("no row {unknown}; there are {}", known.join(" "));
    }
    proc::raise_descriptors();
    let bench = Bench::new();
    println!("{} CPUs, load {}", proc::cpus(), proc::load());
    table::heading();
    for (_, row) in ROWS.iter().filter(|(name, _)| asked.is_empty() || asked.iter().any(|a| a == name)) {
        for line in row(&bench) {
            line.print();
        }
    }
    println!("load {}", proc::load());
}

/// What all rows share: a directory with the files they ask for.
pub(crate) struct Bench {
    pub(crate) dir: PathBuf,
}

/// The size of the large file, of uploads and of streams.
pub(crate) const LARGE: usize = 256 << 20;
pub(crate) const MIB: usize = 1 << 20;

impl Bench {
    fn new() -> Self {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("rows");
        std::fs::create_dir_all(dir.join("served")).unwrap();
        let bench = Self { dir };
        std::fs::write(bench.served().join("1k.bin"), vec![b'k'; 1024]).unwrap();
        let large = bench.served().join("large.bin");
        if std::fs::metadata(&large).map_or(0, |meta| meta.len()) != LARGE as u64 {
            std::fs::write(large, vec![b'l'; LARGE]).unwrap();
        }
        bench
    }

    /// The directory that all servers serve.
    pub(crate) fn served(&self) -> PathBuf {
        self.dir.join("served")
    }
}
