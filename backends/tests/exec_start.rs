//! How a command is started: its program, its directory, its environment, and nothing else.
#![cfg(target_os = "linux")]

mod support;

use farside_core::Command;
use support::*;

#[test]
fn it_runs() {
    let place = Place::new();
    let ran = place.sh("echo out; echo err >&2; exit 3");
    assert_eq!(ran.text(), ("out\n", "err\n", 3));
    let ran = place.run(&Command { stdin: "hello".into(), ..Command::new(["cat"]) });
    assert_eq!(ran.text(), ("hello", "", 0));
    place.assert_gone();
}
