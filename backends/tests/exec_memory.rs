//! Programs that are made up, on a clock of their own.

#![allow(clippy::unwrap_used, reason = "a test")]

use farside_backends::Memory;
use farside_core::{
    Answer, Called, Command, Cx, Exec, NoRoom, Op, Piece, Runtime, Workspace,
    wire::{Channel, Code, Error, Moment, Signal},
};
use std::{
    task::{Poll, Waker},
    time::Duration,
};

struct NoRuntime;

impl Runtime for NoRuntime {
    fn entropy(&mut self, _: &mut [u8]) {}
}

struct Running {
    exec: Box<dyn Exec>,
    now: u64,
    out: Vec<u8>,
    err: Vec<u8>,
}

fn start(ws: &Memory, command: &Command) -> Result<Running, Error> {
    let Called::Now(Some(answer)) = ws.call(Op::Exec(command), &mut NoRoom) else { panic!("it is answered at once") };
    let Answer::Exec(exec) = answer? else { panic!("another answer") };
    Ok(Running { exec, now: 0, out: Vec::new(), err: Vec::new() })
}

impl Running {
    /// Goes on until it ends or its clock is at `until`, in milliseconds. What it came to, and when.
    fn until(&mut self, until: u64) -> Option<String> {
        let mut buf = [0; 1000];
        loop {
            let mut runtime = NoRuntime;
            let mut cx = Cx::new(Moment(self.now * 1000), Waker::noop(), &mut runtime);
            match self.exec.poll_next(&mut cx, &mut buf) {
                Poll::Ready(Ok(Piece::Data(Channel::Stdout, n))) => self.out.extend(&buf[..n]),
                Poll::Ready(Ok(Piece::Data(Channel::Stderr, n))) => self.err.extend(&buf[..n]),
                Poll::Ready(Ok(Piece::End(exit))) => {
                    let words = [
                        exit.timed_out.then_some("timed out"),
                        exit.interrupted.then_some("interrupted"),
                        exit.signal.as_deref(),
                    ];
                    let words: Vec<_> = words.into_iter().flatten().collect();
                    return Some(format!("{} {} {}", self.now, exit.code, words.join(" ")).trim().into());
                }
                Poll::Ready(Err(error)) => panic!("{error}"),
                Poll::Pending => {
                    let due = cx.due().map_or(until, |due| due.at.0.div_ceil(1000));
                    if due >= until {
                        self.now = until;
                        return None;
                    }
                    self.now = due;
                }
            }
        }
    }
}

/// Its end, its output and its standard error.
fn run(ws: &Memory, command: &Command) -> (String, String, String) {
    let mut running = start(ws, command).unwrap();
    let end = running.until(u64::MAX).unwrap();
    (end, String::from_utf8(running.out).unwrap(), String::from_utf8(running.err).unwrap())
}

fn words(line: &str) -> Command {
    Command::new(line.split(' '))
}

fn told(end: &str, out: &str, err: &str) -> (String, String, String) {
    (end.into(), out.into(), err.into())
}

#[test]
fn they_do_what_their_names_say() {
    let ws = Memory::new().with_env(vec!["A=1".into(), "B=2".into()]);
    ws.mkdir("sub").unwrap();
    let run = |line| run(&ws, &words(line));
    assert_eq!(run("true"), told("0 0", "", ""));
    assert_eq!(run("false"), told("0 1", "", ""));
    assert_eq!(run("exit 259"), told("0 3", "", ""));
    assert_eq!(run("echo a b"), told("0 0", "a b\n", ""));
    assert_eq!(run("err c"), told("0 0", "", "c\n"));
    assert_eq!(run("pwd"), told("0 0", "/memory\n", ""));
    assert_eq!(run("env"), told("0 0", "A=1\nB=2\n", ""));
    assert_eq!(run("signal SEGV"), told("0 -1 SEGV", "", ""));
    assert_eq!(run("signal 40"), told("0 -1 40", "", ""));
    assert_eq!(run("echo a ; sleep 2.5 ; err b ; exit 4 ; echo never"), told("2500 4", "a\n", "b\n"));
}

#[test]
fn its_directory_and_its_variables_are_its_own() {
    let ws = Memory::new().with_env(vec!["A=1".into(), "B=2".into()]);
    ws.mkdir("sub").unwrap();
    ws.put("f", "").unwrap();
    ws.symlink("/", "out").unwrap();
    let pwd = |dir: &str| start(&ws, &Command { dir: dir.into(), ..words("pwd") }).map_err(|error| error.code);
    assert_eq!(run(&ws, &Command { dir: "sub".into(), ..words("pwd") }), told("0 0", "/memory/sub\n", ""));
    assert_eq!(pwd("none").err(), Some(Code::NotExist));
    assert_eq!(pwd("f").err(), Some(Code::Invalid));
    assert_eq!(pwd("out").err(), Some(Code::Outside));
    let env = vec!["C=3".into(), "A=4".into()];
    assert_eq!(run(&ws, &Command { env, ..words("env") }), told("0 0", "A=4\nB=2\nC=3\n", ""));
}

#[test]
fn what_it_cannot_run_is_refused() {
    let ws = Memory::new();
    let code = |command: &Command| start(&ws, command).err().map(|error| error.code);
    assert_eq!(code(&words("ls")), Some(Code::NotExist));
    assert_eq!(code(&words("echo a ; ls")), Some(Code::NotExist));
    assert_eq!(code(&words("cat f")), Some(Code::NotExist));
    assert_eq!(code(&words("sleep -1")), Some(Code::Invalid));
    assert_eq!(code(&words("signal NOPE")), Some(Code::Invalid));
    assert_eq!(code(&Command::default()), Some(Code::Invalid));
    assert_eq!(code(&Command { env: vec!["A".into()], ..words("true") }), Some(Code::Invalid));
}

#[test]
fn what_goes_into_cat_comes_out_of_it() {
    let ws = Memory::new();
    let data: Vec<u8> = (0..1_000_000u32).map(|i| (i % 251) as u8).collect();
    let mut running = start(&ws, &Command { stdin: data.clone().into(), ..words("cat") }).unwrap();
    assert_eq!(running.until(u64::MAX).as_deref(), Some("0 0"));
    assert!(running.out == data);
    // What it does not read is no error.
    assert_eq!(run(&ws, &Command { stdin: data.into(), ..words("sleep 1") }), told("1000 0", "", ""));
}

#[test]
fn spew_gives_as_much_as_was_asked_for() {
    let mut running = start(&Memory::new(), &words("spew 300001")).unwrap();
    assert_eq!(running.until(u64::MAX).as_deref(), Some("0 0"));
    assert!(running.out == vec![b'x'; 300_001]);
}

#[test]
fn a_stubborn_one_has_the_whole_ladder() {
    let ws = Memory::new();
    let command = Command { timeout: Some(Duration::from_secs(10)), ..words("stubborn") };
    assert_eq!(run(&ws, &command), told("14000 -1 timed out", "", ""));
    assert_eq!(ws.signals(), [Signal::Int, Signal::Cont, Signal::Term, Signal::Cont, Signal::Kill]);
}

#[test]
fn an_interrupt_is_obeyed_and_the_output_so_far_is_there() {
    let ws = Memory::new();
    let mut running = start(&ws, &words("echo a ; sleep 100 ; echo b")).unwrap();
    assert_eq!(running.until(3000), None);
    running.exec.interrupt();
    assert_eq!(running.until(u64::MAX).as_deref(), Some("3000 -1 interrupted"));
    assert_eq!(running.out, b"a\n");
    assert_eq!(ws.signals(), [Signal::Int]);
}

#[test]
fn one_that_is_dropped_is_killed() {
    let ws = Memory::new();
    drop(start(&ws, &words("sleep 1000")).unwrap());
    assert_eq!(ws.signals(), [Signal::Kill]);
    let mut running = start(&ws, &words("true")).unwrap();
    assert_eq!(running.until(u64::MAX).as_deref(), Some("0 0"));
    drop(running);
    assert_eq!(ws.signals(), [Signal::Kill]);
}
