//! Every input of the fuzz corpora through its target's body, on a stable compiler.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails; one that is skipped says so"
)]

use std::{collections::BTreeSet, fs, path::PathBuf};

/// Every fuzz target and its body.
/// A target's name and its body.
type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] = &[
    ("bodies", farside_wire::fuzz::values::bodies),
    ("client_connection", farside_core::fuzz::client_connection),
    ("http_chunked", farside_wire::fuzz::http::chunked),
    ("http_head", farside_wire::fuzz::http::head),
    ("json", farside_wire::fuzz::values::json),
    ("names", farside_wire::fuzz::values::names),
    ("ndjson", farside_wire::fuzz::values::ndjson),
    ("server_connection", farside_core::fuzz::server_connection),
];

fn fuzz() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz"))
}

fn names(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(fuzz().join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn every_target_has_a_body_here_and_a_corpus() {
    let known: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names("fuzz_targets"), known);
    assert_eq!(names("corpus"), known);
}

#[test]
fn every_input_replays() {
    std::thread::scope(|scope| {
        for (name, body) in TARGETS {
            let inputs = || fs::read_dir(fuzz().join("corpus").join(name)).unwrap();
            assert!(inputs().count() >= 10, "{name} has hardly a corpus");
            for entry in inputs() {
                let path = entry.unwrap().path();
                let input = fs::read(&path).unwrap();
                let replayed = scope.spawn(move || body(&input)).join();
                assert!(replayed.is_ok(), "{}", path.display());
            }
        }
    });
}
