//! Help: it fits the screen, and its examples work as they stand.
#![allow(clippy::unwrap_used, reason = "these are tests")]

mod common;

use common::{FARSIDE, Place, Server, Site, done, farside};
use std::{fs, process::Command};

const COMMANDS: [&str; 10] = ["exec", "ls", "stat", "cat", "get", "put", "rm", "serve", "info", "completions"];

#[test]
fn the_whole_is_one_screen() {
    for args in [&["--help"][..], &["-h"], &["help"]] {
        let help = done(farside().args(args)).good();
        assert!(help.text().lines().count() <= 24, "{}", help.text());
        assert!(help.text().lines().all(|line| line.chars().count() < 80), "{}", help.text());
        assert!(COMMANDS.iter().all(|command| help.text().contains(command)), "{}", help.text());
    }
    assert!(done(farside().arg("--version")).good().text().starts_with("farside "));
}

#[test]
fn each_command_is_told() {
    for command in COMMANDS {
        let help = done(farside().args(["help", command])).good();
        assert_eq!(help.text(), done(farside().args([command, "--help"])).good().text());
        let examples = help.text().lines().skip_while(|line| *line != "Examples:").skip(1);
        assert!(examples.take_while(|line| line.starts_with("  ")).count() >= 2, "{}", help.text());
        assert!(
            help.text().contains("Usage: farside ") && help.text().lines().all(|line| line.chars().count() <= 100),
            "{}",
            help.text()
        );
        let nowhere = ["serve", "completions"].contains(&command);
        assert_eq!(help.text().contains("--at <") && help.text().contains("--color <"), !nowhere, "{}", help.text());
        // What is not there yet is not told of.
        assert!(!help.text().contains("mkdir") && !help.text().contains("--token <"));
    }
}

#[test]
fn the_examples_work() {
    let site = Site::new(Place::Here);
    site.write("f", "");
    let examples: Vec<String> = done(farside().arg("--help"))
        .text()
        .lines()
        .skip_while(|line| !line.starts_with("Examples:"))
        .map(|line| line.trim_start_matches("Examples:").trim().to_owned())
        .collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        let line = example.strip_prefix("farside").unwrap();
        let mut command = Command::new("sh");
        if line.contains(" serve ") {
            // The port may be taken on this machine.
            let line = line.replace(":7070", ":0");
            command
                .args(["-c", &format!("exec {FARSIDE}{line}")])
                .current_dir(&site.dir)
                .env("XDG_RUNTIME_DIR", &site.home);
            drop(Server::start(&mut command));
        } else {
            command.args(["-c", &format!("{FARSIDE}{line}")]).current_dir(&site.dir);
            done(&mut command).good();
        }
    }
}

#[test]
fn completions() {
    for (shell, word) in [("bash", "complete -F"), ("zsh", "#compdef farside"), ("fish", "complete -c farside")] {
        let text = done(farside().args(["completions", shell])).good();
        assert!(text.text().contains(word) && COMMANDS.iter().all(|command| text.text().contains(command)));
        if let Some(shell) = common::which(shell) {
            let temp = tempfile::tempdir().unwrap();
            let file = temp.path().join("farside");
            fs::write(&file, text.text()).unwrap();
            done(Command::new(shell).arg("-n").arg(&file)).good();
        }
    }
}
