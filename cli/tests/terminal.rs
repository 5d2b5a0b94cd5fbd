//! What a person sees on a terminal: colour, columns, progress. The terminal is one of script(1); without it these are skipped.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests")]

mod common;

use common::{FARSIDE, Place, Site, answering, done, farside, which};
use std::{
    fs,
    io::Write,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// Runs a line of shell on a terminal of 24 lines of 80 columns: what came out of it.
fn on_a_terminal(dir: &Path, line: &str, env: &[(&str, &str)]) -> Option<String> {
    let Some(script) = which("script") else {
        println!("skipped: no script(1) here");
        return None;
    };
    let mut command = Command::new(script);
    command.args(["-qec", &format!("stty rows 24 cols 80; {line}"), "/dev/null"]).current_dir(dir).stdin(Stdio::null());
    command
        .env("TERM", "xterm")
        .env("F", FARSIDE)
        .env_remove("NO_COLOR")
        .env_remove("FARSIDE_URL")
        .env("SHELL", "/bin/sh")
        .envs(env.iter().copied());
    Some(String::from_utf8(command.output().unwrap().stdout).unwrap().replace("\r\n", "\n"))
}

fn site() -> Site {
    let site = Site::new(Place::Here);
    site.write("file", "12345");
    site.write("tool", "x".repeat(1500));
    site.write("dir/x", "");
    fs::set_permissions(site.dir.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("file", site.dir.join("link")).unwrap();
    site
}

#[test]
fn colour_and_columns() {
    let site = site();
    let shown = |line: &str, env: &[(&str, &str)]| on_a_terminal(&site.dir, line, env);
    let colored = "\x1b[1;34mdir\x1b[0m  file  \x1b[36mlink\x1b[0m  \x1b[32mtool\x1b[0m\n";
    let plain = "dir  file  link  tool\n";
    let Some(text) = shown("$F ls", &[]) else { return };
    assert_eq!(text, colored);
    assert_eq!(shown("$F ls", &[("NO_COLOR", "1")]).unwrap(), plain);
    assert_eq!(shown("$F ls", &[("NO_COLOR", "")]).unwrap(), colored);
    assert_eq!(shown("$F ls", &[("TERM", "dumb")]).unwrap(), plain);
    assert_eq!(shown("$F ls --color never", &[]).unwrap(), plain);
    assert_eq!(shown("$F ls | cat", &[]).unwrap(), "dir\nfile\nlink\ntool\n");
    assert_eq!(
        done(farside().args(["ls", "--color", "always"]).current_dir(&site.dir)).good().text().lines().next().unwrap(),
        "\x1b[1;34mdir\x1b[0m"
    );
    let long = shown("$F ls -l --color never", &[]).unwrap();
    let rows: Vec<_> = long.lines().map(|line| line.split_once("  ").unwrap()).collect();
    assert_eq!(rows[1].0, "-rw-r--r--");
    assert_eq!(rows[1].1, "   5 B  just now  file");
    assert_eq!(rows[2].1, "   4 B  just now  link -> file");
    assert_eq!(rows[3], ("-rwxr-xr-x", "1.5 kB  just now  tool"));
}

/// A server that sends a file of 300,000 bytes in a bit more than two seconds.
fn slow() -> String {
    answering(|sock, head| {
        if head.starts_with("GET /v1/fs/stat") {
            let info = br#"{"info":{"name":"x","size":300000,"mode":420,"modTime":"2026-11-30T12:00:00Z"}}"#;
            drop(write!(
                sock,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                info.len()
            ));
            return drop(sock.write_all(info));
        }
        drop(
            sock.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 300000\r\n\r\n",
            ),
        );
        for _ in 0..30 {
            drop(sock.write_all(&[b'x'; 10_000]));
            thread::sleep(Duration::from_millis(75));
        }
    })
}

#[test]
fn progress() {
    let site = site();
    let url = slow();
    let env = [("FARSIDE_URL", &*url)];
    let Some(text) = on_a_terminal(&site.dir, "$F get x; echo $?", &env) else { return };
    let (bar, rest) = text.rsplit_once("\r\x1b[K").unwrap();
    assert_eq!(rest, "0\n", "it is gone when it is done");
    let last = bar.rsplit('\r').next().unwrap().trim_end_matches("\x1b[K");
    assert!(
        last.starts_with("x  ")
            && last.contains(" % [#")
            && last.contains(" kB of 300.0 kB  ")
            && last.contains("/s  "),
        "{last:?}"
    );
    assert!(last.ends_with(" s left") && bar.matches('\r').count() >= 3, "{bar:?}");
    assert_eq!(site.read("x").len(), 300_000);
    // Nobody looks.
    assert_eq!(on_a_terminal(&site.dir, "$F -q get x; echo $?", &env).unwrap(), "0\n");
    assert_eq!(on_a_terminal(&site.dir, "$F get x 2>&1 | cat; echo $?", &env).unwrap(), "0\n");
    // What is soon over is not worth it.
    assert_eq!(on_a_terminal(&site.dir, "$F put file copy; echo $?", &[]).unwrap(), "0\n");
}

/// CL-10: what goes to a terminal from a command is its own; of us it is safe.
#[test]
fn names_on_a_terminal() {
    let site = Site::new(Place::Here);
    site.write("a\u{1b}]0;owned\u{7}", "");
    let Some(text) = on_a_terminal(&site.dir, "$F ls; $F cat 'b\u{1b}[2J'", &[]) else { return };
    assert_eq!(text, "$'a\\033]0;owned\\007'\nfarside: cannot read $'b\\033[2J': no such file or directory\n");
}
