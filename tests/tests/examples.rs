//! The runtimes' examples of a transport of one's own: they work as they stand, and they are short.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails; one that is skipped says so"
)]

use std::process::Command;

#[test]
fn a_custom_transport_is_an_example_of_fewer_than_sixty_lines() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    for (package, dir, example) in
        [("farside-std", "runtime-std", "blocking_transport"), ("farside-smol", "runtime-smol", "async_transport")]
    {
        let source = std::fs::read_to_string(format!("{root}/{dir}/examples/{example}.rs")).unwrap();
        assert!(source.lines().count() < 60, "{package}: {} lines", source.lines().count());
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let run = Command::new(cargo)
            .current_dir(root)
            .args(["run", "-q", "-p", package, "--example", example])
            .output()
            .unwrap();
        assert!(run.status.success(), "{package}: {}", String::from_utf8_lossy(&run.stderr));
    }
}
