//! The contract of a workspace, as a suite: one list of cases, run on every workspace there is, here and at any distance.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc, reason = "a case that fails panics")]

use farside_core::{
    Command, Delivery, Task, Workspace, ops,
    wire::{Channel, Code, Error, Output},
};
use std::{sync::Arc, time::Duration};

/// How tasks are run.
#[derive(Copy, Clone, Debug)]
pub enum Runner {
    /// On this thread.
    Std,
    /// As a future of smol's.
    Smol,
}

/// What only the far end can do, or does in its own way.
pub trait Home: Send + Sync {
    /// Makes a link, which no operation of the wire can; false where it cannot be done.
    fn symlink(&self, target: &str, name: &str) -> bool;

    /// The command that does a thing there.
    fn program(&self, program: Program<'_>) -> Command;
}

/// What a command is to do.
#[derive(Copy, Clone, Debug)]
pub enum Program<'a> {
    /// Exits with this status.
    Exit(i32),
    /// Writes a line to its output.
    Echo(&'a str),
    /// Writes a line to its error output.
    Err(&'a str),
    /// Copies its input to its output.
    Cat,
    /// Lasts so many seconds.
    Sleep(u32),
    /// Writes so many bytes.
    Spew(usize),
    /// Dies by the signal of that name.
    Die(&'a str),
    /// Writes its environment.
    Env,
    /// Is not there.
    Missing,
}

/// Programs of a usual system.
#[derive(Copy, Clone, Debug)]
pub struct Unix;

impl Unix {
    /// The command that does it.
    pub fn program(program: Program<'_>) -> Command {
        let sh = |script: String| Command::new(["sh", "-c", &script]);
        match program {
            Program::Exit(status) => sh(format!("exit {status}")),
            Program::Echo(text) => Command::new(["echo", text]),
            Program::Err(text) => sh(format!("echo {text} >&2")),
            Program::Cat => Command::new(["cat"]),
            Program::Sleep(seconds) => Command::new(["sleep", &seconds.to_string()]),
            Program::Spew(n) => sh(format!("head -c {n} /dev/zero")),
            Program::Die(signal) => sh(format!("kill -{signal} $$; sleep 5")),
            Program::Env => Command::new(["env"]),
            Program::Missing => Command::new(["no-such-program-here"]),
        }
    }
}

/// Programs of Memory.
#[derive(Copy, Clone, Debug)]
pub struct Scripted;

impl Scripted {
    /// The command that does it.
    pub fn program(program: Program<'_>) -> Command {
        match program {
            Program::Exit(status) => Command::new(["exit", &status.to_string()]),
            Program::Err(text) => Command::new(["err", text]),
            Program::Spew(n) => Command::new(["spew", &n.to_string()]),
            Program::Die(signal) => Command::new(["signal", signal]),
            other => Unix::program(other),
        }
    }
}

/// One workspace under test.
#[derive(Clone)]
pub struct Subject {
    /// What it is, for a failure's message.
    pub name: String,
    /// The workspace.
    pub ws: Arc<dyn Workspace>,
    /// How its calls are run.
    pub runner: Runner,
    /// What is at its far end.
    pub home: Arc<dyn Home>,
    /// Whether output streams come apart as they come; otherwise they are collected.
    pub apart: bool,
}

type Case = (&'static str, fn(&Subject, &str));

/// Every case; each works in a directory of its own.
pub const CASES: &[Case] = &[
    ("about", about),
    ("write_read_stat", write_read_stat),
    ("sizes", sizes),
    ("readers_stream", readers_stream),
    ("sinks_stream", sinks_stream),
    ("a_sink_that_is_dropped_changes_nothing", a_dropped_sink),
    ("permissions", permissions),
    ("listing", listing),
    ("listing_is_bounded", listing_is_bounded),
    ("names", names),
    ("odd_names", odd_names),
    ("links", links),
    ("remove", remove),
    ("not_a_file", not_a_file),
    ("exec_output", exec_output),
    ("exec_streams_apart", exec_streams_apart),
    ("exec_merged", exec_merged),
    ("exec_stdin", exec_stdin),
    ("exec_exit_codes", exec_exit_codes),
    ("exec_signal", exec_signal),
    ("exec_timeout", exec_timeout),
    ("exec_interrupt", exec_interrupt),
    ("exec_large", exec_large),
    ("exec_missing", exec_missing),
    ("exec_dir_and_env", exec_dir_and_env),
    ("exec_bad_commands", exec_bad_commands),
];

/// Runs every case.
pub fn run_all(subject: &Subject) {
    for (case, run) in CASES {
        let dir = format!("case-{case}");
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(subject, &dir)));
        if let Err(panic) = caught {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            panic!("{}: {case}: {}", subject.name, text.unwrap_or_default());
        }
    }
}

impl Subject {
    fn run<T: Task>(&self, task: T) -> T::Out {
        match self.runner {
            Runner::Std => farside_std::run(task),
            Runner::Smol => smol::block_on(farside_smol::run(task)),
        }
    }

    fn write(&self, name: &str, data: &[u8]) -> Result<(), Error> {
        self.run(ops::write(&*self.ws, name, data, None))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        self.run(ops::read(&*self.ws, name, 64 << 20))
    }

    fn list(&self, name: &str) -> Result<Vec<String>, Error> {
        let listing = self.run(ops::readdir(&*self.ws, name, 10_000))?;
        Ok(listing.entries.into_iter().map(|e| e.name).collect())
    }

    /// Runs a command as it stands, and gives its output and how it ended.
    fn exec(&self, command: &Command) -> Result<Output, Error> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let end = self.run(ops::run(&*self.ws, command, |channel, bytes| match channel {
            Channel::Stdout => stdout.extend_from_slice(bytes),
            Channel::Stderr => stderr.extend_from_slice(bytes),
        }))?;
        Ok(Output { stdout, stderr, ..end })
    }

    fn program(&self, program: Program<'_>) -> Command {
        self.home.program(program)
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> Code {
    result.expect_err("it must be refused").code
}

fn pattern(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i.wrapping_mul(31) >> 3) as u8).collect()
}

fn about(s: &Subject, _: &str) {
    let about = s.run(ops::about(&*s.ws)).unwrap();
    assert!(about.root.starts_with('/'), "{:?}", about.root);
    assert_eq!(about.descriptor.root, about.root);
    assert!(!about.descriptor.kind.is_empty());
    let env = s.exec(&s.program(Program::Env)).unwrap();
    let mut told: Vec<_> = String::from_utf8(env.stdout).unwrap().lines().map(String::from).collect();
    let mut said = about.env.clone();
    told.sort();
    said.sort();
    assert_eq!(told, said, "what info says of the environment is what a command finds");
}

fn write_read_stat(s: &Subject, dir: &str) {
    let name = format!("{dir}/sub/a.txt");
    assert_eq!(code(s.read(&name)), Code::NotExist);
    s.write(&name, b"one").unwrap();
    assert_eq!(s.read(&name).unwrap(), b"one");
    let meta = s.run(ops::stat(&*s.ws, &name)).unwrap();
    assert_eq!((meta.size, meta.mode.perm(), meta.mode.is_regular()), (3, 0o644, true));
    assert_eq!(s.run(ops::lstat(&*s.ws, &name)).unwrap(), meta);
    assert!(s.run(ops::stat(&*s.ws, dir)).unwrap().mode.is_dir());
    assert_eq!(s.run(ops::stat(&*s.ws, &format!("{dir}/sub"))).unwrap().mode.perm(), 0o755);
    s.write(&name, b"another, longer").unwrap();
    assert_eq!(s.read(&name).unwrap(), b"another, longer");
    s.write(&name, b"").unwrap();
    assert_eq!(s.read(&name).unwrap(), b"");
    assert!(s.run(ops::stat(&*s.ws, ".")).unwrap().mode.is_dir());
    assert_eq!(code(s.run(ops::read(&*s.ws, &format!("{dir}/none"), 9))), Code::NotExist);
    s.write(&name, b"0123456789").unwrap();
    assert_eq!(code(s.run(ops::read(&*s.ws, &name, 9))), Code::Limit);
    assert_eq!(s.run(ops::read(&*s.ws, &name, 10)).unwrap().len(), 10);
}

/// Around every buffer there is.
fn sizes(s: &Subject, dir: &str) {
    let name = format!("{dir}/f");
    for size in
        [0, 1, 511, 512, 2047, 2048, 4096, 32767, 32768, 65535, 65536, 65537, 262_143, 262_144, 262_145, 1_000_003]
    {
        let data = pattern(size);
        s.write(&name, &data).unwrap();
        assert!(s.read(&name).unwrap() == data, "{size} bytes");
    }
}

fn readers_stream(s: &Subject, dir: &str) {
    let (name, data) = (format!("{dir}/f"), pattern(300_000));
    s.write(&name, &data).unwrap();
    let mut reader = s.run(ops::open(&*s.ws, &name)).unwrap();
    assert_eq!(reader.size, Some(300_000));
    let (mut all, mut piece) = (Vec::new(), [0; 7001]);
    loop {
        let n = s.run(farside_core::poll_task(|cx| reader.bytes.poll_read(cx, &mut piece))).unwrap();
        if n == 0 {
            break;
        }
        all.extend_from_slice(&piece[..n]);
    }
    assert!(all == data);
    // One that is dropped in the middle disturbs nothing.
    let mut reader = s.run(ops::open(&*s.ws, &name)).unwrap();
    s.run(farside_core::poll_task(|cx| reader.bytes.poll_read(cx, &mut piece))).unwrap();
    drop(reader);
    assert!(s.read(&name).unwrap() == data);
}

fn sinks_stream(s: &Subject, dir: &str) {
    let data = pattern(200_000);
    for (size, name) in [(Some(200_000), "stated"), (None, "open")] {
        let name = format!("{dir}/{name}");
        let mut sink = s.run(ops::create(&*s.ws, &name, None, size)).unwrap();
        for piece in data.chunks(6007) {
            let mut left = piece;
            while !left.is_empty() {
                let n = s.run(farside_core::poll_task(|cx| sink.poll_write(cx, left))).unwrap();
                left = &left[n..];
            }
        }
        s.run(farside_core::poll_task(|cx| sink.poll_finish(cx))).unwrap();
        assert!(s.read(&name).unwrap() == data, "{name}");
    }
}

fn a_dropped_sink(s: &Subject, dir: &str) {
    let name = format!("{dir}/f");
    s.write(&name, b"old").unwrap();
    for size in [Some(100_000), None] {
        let mut sink = s.run(ops::create(&*s.ws, &name, None, size)).unwrap();
        s.run(farside_core::poll_task(|cx| sink.poll_write(cx, &[7; 5000]))).unwrap();
        drop(sink);
        let fresh = s.run(ops::create(&*s.ws, &format!("{dir}/new/f"), None, size)).unwrap();
        drop(fresh);
    }
    assert_eq!(s.read(&name).unwrap(), b"old");
    // Whoever is at a distance hears of it a little later; then nothing of it is left.
    for round in 0.. {
        let left = s.list(dir).unwrap();
        if left == ["f"] {
            break;
        }
        assert!(round < 200, "left behind: {left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn permissions(s: &Subject, dir: &str) {
    let name = format!("{dir}/f");
    let perm = |name: &str| s.run(ops::stat(&*s.ws, name)).unwrap().mode.perm();
    s.run(ops::write(&*s.ws, &name, b"x", Some(0o751))).unwrap();
    assert_eq!(perm(&name), 0o751);
    // One that exists keeps its own.
    s.run(ops::write(&*s.ws, &name, b"y", Some(0o600))).unwrap();
    assert_eq!(perm(&name), 0o751);
    s.run(ops::write(&*s.ws, &format!("{dir}/g"), b"x", Some(0o000))).unwrap();
    assert_eq!(perm(&format!("{dir}/g")), 0);
}

fn listing(s: &Subject, dir: &str) {
    assert_eq!(code(s.list(dir)), Code::NotExist);
    for name in ["b", "a", "B", "a.b", "sub/x", "\u{e9}", "z\u{1F923}"] {
        s.write(&format!("{dir}/{name}"), name.as_bytes()).unwrap();
    }
    let listing = s.run(ops::readdir(&*s.ws, dir, 100)).unwrap();
    let names: Vec<_> = listing.entries.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["B", "a", "a.b", "b", "sub", "z\u{1F923}", "\u{e9}"]);
    assert_eq!(listing.skipped, 0);
    let of = |name: &str| listing.entries.iter().find(|e| e.name == name).unwrap().meta;
    assert_eq!((of("a.b").size, of("a.b").mode.is_regular(), of("sub").mode.is_dir()), (3, true, true));
    assert!(s.list(".").unwrap().contains(&dir.to_owned()));
    assert_eq!(code(s.list(&format!("{dir}/a"))), Code::Invalid);
}

fn listing_is_bounded(s: &Subject, dir: &str) {
    for i in 0..5 {
        s.write(&format!("{dir}/{i}"), b"").unwrap();
    }
    assert_eq!(s.run(ops::readdir(&*s.ws, dir, 5)).unwrap().entries.len(), 5);
    assert_eq!(code(s.run(ops::readdir(&*s.ws, dir, 4))), Code::Limit);
}

fn names(s: &Subject, _: &str) {
    for (name, want) in [
        ("..", Code::Outside),
        ("/etc/passwd", Code::Outside),
        ("a/../../b", Code::Outside),
        ("", Code::Invalid),
        ("a//b", Code::Invalid),
        ("./a", Code::Invalid),
        ("a/", Code::Invalid),
        ("a/../b", Code::Invalid),
        ("a\0b", Code::Invalid),
    ] {
        assert_eq!(code(s.run(ops::stat(&*s.ws, name))), want, "stat {name:?}");
        assert_eq!(code(s.read(name)), want, "read {name:?}");
        assert_eq!(code(s.write(name, b"x")), want, "write {name:?}");
        assert_eq!(code(s.list(name)), want, "list {name:?}");
        assert_eq!(code(s.run(ops::remove(&*s.ws, name))), want, "remove {name:?}");
        assert_eq!(code(s.run(ops::readlink(&*s.ws, name))), want, "readlink {name:?}");
    }
    for name in [".", "x".repeat(256).as_str()] {
        assert_eq!(code(s.write(name, b"x")), Code::Invalid, "{name:?}");
    }
}

/// F18: each is decoded exactly once, and is good in every operation.
fn odd_names(s: &Subject, dir: &str) {
    let long = "n".repeat(255);
    for name in [
        " a b",
        "100%",
        "%2e",
        "a#b",
        "a?b",
        "a&b=c",
        "\u{1F923}",
        "a\\b",
        "\"",
        "a+b",
        "a;b",
        "...",
        "-rf",
        "@x",
        "nl\nx",
        &long,
    ] {
        let name = format!("{dir}/{name}");
        s.write(&name, name.as_bytes()).unwrap();
        assert_eq!(s.read(&name).unwrap(), name.as_bytes());
        assert_eq!(s.run(ops::stat(&*s.ws, &name)).unwrap().size, name.len() as u64);
        let listed = s.list(dir).unwrap();
        assert_eq!(listed, [name.split_once('/').unwrap().1]);
        s.run(ops::remove(&*s.ws, &name)).unwrap();
        assert!(s.list(dir).unwrap().is_empty());
    }
}

fn links(s: &Subject, dir: &str) {
    s.write(&format!("{dir}/f"), b"target").unwrap();
    for (target, name) in
        [("f", "in"), ("../../etc", "up"), ("/etc/passwd", "abs"), ("new", "dangling"), ("loop", "loop")]
    {
        if !s.home.symlink(target, &format!("{dir}/{name}")) {
            return;
        }
    }
    let name = |n: &str| format!("{dir}/{n}");
    assert_eq!(s.run(ops::readlink(&*s.ws, &name("in"))).unwrap(), "f");
    assert_eq!(s.run(ops::readlink(&*s.ws, &name("abs"))).unwrap(), "/etc/passwd");
    assert_eq!(code(s.run(ops::readlink(&*s.ws, &name("f")))), Code::Invalid);
    assert!(s.run(ops::lstat(&*s.ws, &name("in"))).unwrap().mode.is_symlink());
    assert_eq!(s.read(&name("in")).unwrap(), b"target");
    for out in ["up", "abs"] {
        assert_eq!(code(s.run(ops::stat(&*s.ws, &name(out)))), Code::Outside);
        assert_eq!(code(s.read(&name(out))), Code::Outside);
        assert_eq!(code(s.write(&name(out), b"x")), Code::Outside);
        assert!(s.run(ops::lstat(&*s.ws, &name(out))).unwrap().mode.is_symlink());
        let command = Command { dir: name(out), ..s.program(Program::Exit(0)) };
        assert_eq!(code(s.exec(&command)), Code::Outside);
    }
    assert_eq!(code(s.read(&name("loop"))), Code::Invalid);
    // The target is replaced or made, and the link stays.
    s.write(&name("in"), b"changed").unwrap();
    s.write(&name("dangling"), b"made").unwrap();
    assert_eq!((s.read(&name("f")).unwrap(), s.read(&name("new")).unwrap()), (b"changed".to_vec(), b"made".to_vec()));
    assert!(s.run(ops::lstat(&*s.ws, &name("in"))).unwrap().mode.is_symlink());
    s.run(ops::remove(&*s.ws, &name("in"))).unwrap();
    assert_eq!(s.read(&name("f")).unwrap(), b"changed");
}

fn remove(s: &Subject, dir: &str) {
    let name = format!("{dir}/sub/f");
    s.write(&name, b"x").unwrap();
    assert_eq!(code(s.run(ops::remove(&*s.ws, dir))), Code::Exist);
    s.run(ops::remove(&*s.ws, &name)).unwrap();
    assert_eq!(code(s.run(ops::remove(&*s.ws, &name))), Code::NotExist);
    s.run(ops::remove(&*s.ws, &format!("{dir}/sub"))).unwrap();
    assert_eq!(s.list(dir).unwrap(), [""; 0]);
    assert_eq!(code(s.run(ops::remove(&*s.ws, "."))), Code::Invalid);
}

fn not_a_file(s: &Subject, dir: &str) {
    s.write(&format!("{dir}/f"), b"x").unwrap();
    assert_eq!(code(s.read(dir)), Code::Invalid);
    assert_eq!(code(s.write(dir, b"x")), Code::Invalid);
    assert_eq!(code(s.read(&format!("{dir}/f/g"))), Code::Invalid);
    assert_eq!(code(s.write(&format!("{dir}/f/g"), b"x")), Code::Invalid);
}

fn exec_output(s: &Subject, _: &str) {
    let out = s.exec(&s.program(Program::Echo("hello"))).unwrap();
    assert_eq!(out, Output { stdout: b"hello\n".into(), ..Output::default() });
    let out = s.exec(&s.program(Program::Err("oops"))).unwrap();
    assert_eq!(out, Output { stderr: b"oops\n".into(), ..Output::default() });
}

fn exec_streams_apart(s: &Subject, _: &str) {
    for (program, want) in [(Program::Echo("x"), Channel::Stdout), (Program::Err("x"), Channel::Stderr)] {
        let command = Command { output: Delivery::Apart, ..s.program(program) };
        let mut seen = Vec::new();
        let end = s.run(ops::run(&*s.ws, &command, |channel, bytes| seen.push((channel, bytes.to_vec())))).unwrap();
        assert_eq!(seen, [(want, b"x\n".to_vec())]);
        assert_eq!(end, Output::default());
    }
}

fn exec_merged(s: &Subject, _: &str) {
    let command = Command { output: Delivery::Merged, ..s.program(Program::Spew(200_000)) };
    let (mut n, mut largest) = (0, 0);
    s.run(ops::run(&*s.ws, &command, |_, bytes| (n, largest) = (n + bytes.len(), largest.max(bytes.len())))).unwrap();
    assert_eq!(n, 200_000);
    assert!(largest <= 32 * 1024);
    let command = Command { output: Delivery::Merged, ..s.program(Program::Err("e")) };
    let mut all = Vec::new();
    s.run(ops::run(&*s.ws, &command, |_, bytes| all.extend_from_slice(bytes))).unwrap();
    assert_eq!(all, b"e\n");
}

fn exec_stdin(s: &Subject, _: &str) {
    for size in [0, 1, 65_535, 65_537, 1_000_000] {
        let stdin = pattern(size);
        let command = Command { stdin: stdin.clone().into(), ..s.program(Program::Cat) };
        assert!(s.exec(&command).unwrap().stdout == stdin, "{size} bytes");
    }
    // A program that does not read is not harmed.
    let command = Command { stdin: pattern(1_000_000).into(), ..s.program(Program::Exit(0)) };
    assert_eq!(s.exec(&command).unwrap(), Output::default());
}

fn exec_exit_codes(s: &Subject, _: &str) {
    for status in [0, 1, 2, 42, 126, 255] {
        let out = s.exec(&s.program(Program::Exit(status))).unwrap();
        assert_eq!(out, Output { exit_code: status, ..Output::default() });
    }
}

fn exec_signal(s: &Subject, _: &str) {
    for signal in ["TERM", "KILL", "SEGV"] {
        let out = s.exec(&s.program(Program::Die(signal))).unwrap();
        assert_eq!((out.exit_code, out.signal.as_deref()), (-1, Some(signal)));
    }
}

fn exec_timeout(s: &Subject, _: &str) {
    let command = Command { timeout: Some(Duration::from_millis(100)), ..s.program(Program::Sleep(60)) };
    let out = s.exec(&command).unwrap();
    assert_eq!(out, Output { exit_code: -1, timed_out: true, ..Output::default() });
}

fn exec_interrupt(s: &Subject, _: &str) {
    for output in [Delivery::Collected, Delivery::Merged] {
        let command = Command { output, ..s.program(Program::Sleep(60)) };
        let mut exec = s.run(ops::exec(&*s.ws, &command)).unwrap();
        exec.interrupt();
        let end = s.run(farside_core::poll_task(|cx| exec.poll_next(cx, &mut [0; 100]))).unwrap();
        let farside_core::Piece::End(exit) = end else { panic!("{end:?}") };
        assert_eq!((exit.code, exit.interrupted, exit.timed_out, exit.signal), (-1, true, false, None));
    }
}

fn exec_large(s: &Subject, _: &str) {
    let out = s.exec(&s.program(Program::Spew(3_000_000))).unwrap();
    assert_eq!(out.stdout.len(), 3_000_000);
    if s.apart {
        let command = Command { output: Delivery::Apart, ..s.program(Program::Spew(3_000_000)) };
        assert_eq!(s.exec(&command).unwrap().stdout.len(), 3_000_000);
    }
}

fn exec_missing(s: &Subject, _: &str) {
    assert_eq!(code(s.exec(&s.program(Program::Missing))), Code::NotExist);
}

fn exec_dir_and_env(s: &Subject, dir: &str) {
    s.write(&format!("{dir}/here"), b"").unwrap();
    let command = Command { env: vec!["A=1".into(), "B=two words".into(), "A=2".into()], ..s.program(Program::Env) };
    let out = String::from_utf8(s.exec(&command).unwrap().stdout).unwrap();
    let named = |name: &str| out.lines().filter(|l| l.starts_with(name)).collect::<Vec<_>>();
    assert_eq!((named("A="), named("B=")), (vec!["A=2"], vec!["B=two words"]));
    assert_eq!(s.exec(&Command { dir: dir.into(), ..s.program(Program::Exit(0)) }).unwrap(), Output::default());
    assert_eq!(code(s.exec(&Command { dir: format!("{dir}/none"), ..s.program(Program::Exit(0)) })), Code::NotExist);
    assert_eq!(code(s.exec(&Command { dir: format!("{dir}/here"), ..s.program(Program::Exit(0)) })), Code::Invalid);
    assert_eq!(code(s.exec(&Command { dir: "..".into(), ..s.program(Program::Exit(0)) })), Code::Outside);
}

fn exec_bad_commands(s: &Subject, _: &str) {
    let bad = |command: Command| assert_eq!(code(s.exec(&command)), Code::Invalid, "{command:?}");
    bad(Command::default());
    bad(Command::new([""]));
    bad(Command::new(["echo", "a\0b"]));
    for entry in ["A", "=x", "", "A=\0"] {
        bad(Command { env: vec![entry.into()], ..s.program(Program::Exit(0)) });
    }
}
