//! A command on a leader that is made up, on a clock of its own: whole histories by equality.

#![allow(clippy::unwrap_used, reason = "a test")]

use farside_core::{
    Command, Cx, Exec, Exit, Piece, Runtime, Sink, Source,
    process::{Leader, Run},
    wire::{Channel, Error, Moment, Signal},
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
    time::Duration,
};

const SECOND: u64 = 1_000_000;

struct NoRuntime;

impl Runtime for NoRuntime {
    fn entropy(&mut self, _: &mut [u8]) {}
}

/// What the leader does, and what was done to it.
#[derive(Default)]
struct Script {
    now: u64,
    /// When it exits by itself, and how.
    exits: Option<(u64, Exit)>,
    /// What kills it, and how long that takes.
    dies_of: Option<(Signal, u64)>,
    /// What it writes, and when.
    output: [VecDeque<(u64, Vec<u8>)>; 2],
    /// When its outputs end; with its exit if nothing is said.
    held_until: Option<u64>,
    /// Output without end.
    floods: bool,
    /// So many rounds find something, after the exit.
    leftovers: u32,
    /// It takes so much input, and then closes it.
    takes: usize,
    history: Vec<String>,
}

type Shared = Arc<Mutex<Script>>;

impl Script {
    fn note(&mut self, what: impl AsRef<str>) {
        self.history.push(format!("{}.{:03} {}", self.now / SECOND, self.now % SECOND / 1000, what.as_ref()));
    }

    fn has_exited(&self) -> bool {
        self.exits.as_ref().is_some_and(|(at, _)| *at <= self.now)
    }
}

struct Fake(Shared);
struct Output(Shared, usize);
struct Input(Shared);

impl Leader for Fake {
    fn stdin(&mut self) -> Option<Box<dyn Sink>> {
        Some(Box::new(Input(self.0.clone())))
    }

    fn stdout(&mut self) -> Option<Box<dyn Source>> {
        Some(Box::new(Output(self.0.clone(), 0)))
    }

    fn stderr(&mut self) -> Option<Box<dyn Source>> {
        Some(Box::new(Output(self.0.clone(), 1)))
    }

    fn signal(&mut self, signal: Signal) {
        let mut script = self.0.lock().unwrap();
        script.note(signal.name());
        if let Some((of, after)) = script.dies_of.filter(|(of, _)| *of == signal) {
            let exit = Exit { code: -1, signal: Some(of.name().into()), ..Exit::default() };
            script.exits = Some((script.now + after, exit));
        }
    }

    fn poll_exit(&mut self, cx: &mut Cx<'_>) -> Poll<Result<Exit, Error>> {
        let mut script = self.0.lock().unwrap();
        if script.has_exited() {
            script.note("exited");
            return Poll::Ready(Ok(script.exits.as_ref().unwrap().1.clone()));
        }
        if let Some((at, _)) = &script.exits {
            cx.wake_at(Moment(*at), "exit");
        }
        Poll::Pending
    }

    fn sweep(&mut self) -> bool {
        let mut script = self.0.lock().unwrap();
        script.note("sweep");
        if !script.has_exited() {
            if let Some((Signal::Kill, after)) = script.dies_of {
                script.exits =
                    Some((script.now + after, Exit { code: -1, signal: Some("KILL".into()), ..Exit::default() }));
            }
            return false;
        }
        let nothing = script.leftovers == 0;
        script.leftovers = script.leftovers.saturating_sub(1);
        nothing
    }
}

impl Source for Output {
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let mut script = self.0.lock().unwrap();
        let (now, floods) = (script.now, script.floods);
        if floods {
            return Poll::Ready(Ok(buf.len()));
        }
        let end = script.held_until.or(script.exits.as_ref().map(|(at, _)| *at));
        match script.output[self.1].front_mut() {
            Some((at, bytes)) if *at <= now => {
                let n = bytes.len().min(buf.len());
                buf[..n].copy_from_slice(&bytes[..n]);
                bytes.drain(..n);
                if bytes.is_empty() {
                    script.output[self.1].pop_front();
                }
                return Poll::Ready(Ok(n));
            }
            Some((at, _)) => cx.wake_at(Moment(*at), "output"),
            None if end.is_some_and(|end| end <= now) => return Poll::Ready(Ok(0)),
            None => end.into_iter().for_each(|end| cx.wake_at(Moment(end), "end of output")),
        }
        Poll::Pending
    }
}

impl Sink for Input {
    fn poll_write(&mut self, _: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        let mut script = self.0.lock().unwrap();
        if script.takes == 0 {
            script.note("input closed by it");
            return Poll::Ready(Err(Error::other("broken pipe")));
        }
        let n = buf.len().min(script.takes).min(64 * 1024);
        script.takes -= n;
        Poll::Ready(Ok(n))
    }

    fn poll_finish(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.0.lock().unwrap().note("input ended");
        Poll::Ready(Ok(()))
    }
}

/// A command under way, on its clock.
struct Play {
    run: Run<Fake>,
    script: Shared,
    polls: u32,
}

impl Play {
    fn new(command: &Command, script: Script) -> Self {
        let script = Arc::new(Mutex::new(script));
        Self { run: Run::new(Fake(script.clone()), command), script, polls: 0 }
    }

    fn poll(&mut self, room: usize) -> (Poll<Piece>, Option<u64>) {
        self.polls += 1;
        let now = self.script.lock().unwrap().now;
        let mut runtime = NoRuntime;
        let mut cx = Cx::new(Moment(now), Waker::noop(), &mut runtime);
        let mut buf = vec![0; room];
        let polled = self.run.poll_next(&mut cx, &mut buf).map(Result::unwrap);
        let mut script = self.script.lock().unwrap();
        match &polled {
            Poll::Ready(Piece::Data(channel, n)) => {
                let name = if *channel == Channel::Stderr { "err" } else { "out" };
                script.note(format!("{name} {:?}", String::from_utf8_lossy(&buf[..*n])));
            }
            Poll::Ready(Piece::End(exit)) => {
                let mut told = format!("end {}", exit.code);
                told.extend(exit.signal.iter().map(|signal| format!(" {signal}")));
                told.extend(exit.timed_out.then_some(" timed out"));
                told.extend(exit.interrupted.then_some(" interrupted"));
                script.note(told);
            }
            Poll::Pending => {}
        }
        (polled, cx.due().map(|due| due.at.0))
    }

    /// Goes on, from one due moment to the next, until it ends or the time is `until`.
    fn until(&mut self, until: u64, room: usize) -> bool {
        loop {
            match self.poll(room) {
                (Poll::Ready(Piece::End(_)), _) => return true,
                (Poll::Ready(_), _) => {}
                (Poll::Pending, due) => {
                    let next = due.unwrap_or(u64::MAX).min(until);
                    assert!(next < u64::MAX, "it waits for nothing: {:?}", self.history());
                    self.script.lock().unwrap().now = next;
                    if next == until {
                        return false;
                    }
                }
            }
        }
    }

    fn history(&self) -> Vec<String> {
        self.script.lock().unwrap().history.clone()
    }

    fn end(mut self) -> Vec<String> {
        assert!(self.until(u64::MAX, 100));
        self.history()
    }
}

fn with_timeout(seconds: u64) -> Command {
    Command { timeout: Some(Duration::from_secs(seconds)), ..Command::new(["x"]) }
}

fn exit(code: i32) -> Exit {
    Exit { code, ..Exit::default() }
}

fn play(command: &Command, script: Script) -> Vec<String> {
    Play::new(command, script).end()
}

#[test]
fn it_runs_and_its_outputs_are_told_apart() {
    let output = [vec![(0, b"a".to_vec()), (SECOND, b"b".to_vec())].into(), vec![(0, b"x".to_vec())].into()];
    let script = Script { exits: Some((2 * SECOND, exit(3))), output, ..Script::default() };
    let expected = [
        "0.000 input ended",
        "0.000 out \"a\"",
        "0.000 err \"x\"",
        "1.000 out \"b\"",
        "2.000 exited",
        "2.000 sweep",
        "2.000 end 3",
    ];
    assert_eq!(play(&Command::new(["x"]), script), expected);
}

#[test]
fn a_timeout_that_is_ignored_ends_with_kill() {
    let script = Script { dies_of: Some((Signal::Kill, 500)), ..Script::default() };
    let expected = [
        "0.000 input ended",
        "10.000 INT",
        "10.000 CONT",
        "12.000 TERM",
        "12.000 CONT",
        "14.000 sweep",
        "14.000 exited",
        "14.000 sweep",
        "14.000 end -1 timed out",
    ];
    let mut play = Play::new(&with_timeout(10), script);
    assert!(play.until(u64::MAX, 100));
    assert_eq!(play.history(), expected);
}

#[test]
fn a_timeout_that_is_obeyed_has_no_status_of_its_own() {
    let output = [vec![(0, b"a".to_vec())].into(), VecDeque::new()];
    let script = Script { dies_of: Some((Signal::Int, 100_000)), output, leftovers: 1, ..Script::default() };
    let expected = [
        "0.000 input ended",
        "0.000 out \"a\"",
        "2.000 INT",
        "2.000 CONT",
        "2.100 exited",
        "2.100 sweep",
        "2.101 sweep",
        "2.101 end -1 timed out",
    ];
    assert_eq!(play(&with_timeout(2), script), expected);
}

#[test]
fn an_interrupt_stands_before_a_timeout_that_comes_on_the_way() {
    let mut play = Play::new(&with_timeout(3), Script { dies_of: Some((Signal::Term, 0)), ..Script::default() });
    assert!(!play.until(2 * SECOND, 100));
    play.run.interrupt();
    let expected = [
        "0.000 input ended",
        "2.000 INT",
        "2.000 CONT",
        "4.000 TERM",
        "4.000 CONT",
        "4.000 exited",
        "4.000 sweep",
        "4.000 end -1 interrupted",
    ];
    assert_eq!(play.end(), expected);
}

#[test]
fn what_is_due_is_done_before_an_interrupt_of_the_same_turn() {
    let mut play = Play::new(&with_timeout(2), Script { dies_of: Some((Signal::Int, 0)), ..Script::default() });
    assert!(!play.until(2 * SECOND, 100));
    play.run.interrupt();
    assert_eq!(play.end().last().unwrap(), "2.000 end -1 timed out");
}

#[test]
fn after_its_exit_was_seen_nothing_else_is_the_reason() {
    let script = Script { exits: Some((SECOND, exit(7))), held_until: Some(2 * SECOND), ..Script::default() };
    let mut play = Play::new(&with_timeout(2), script);
    assert!(!play.until(SECOND + 1, 100));
    play.run.interrupt();
    let expected = ["0.000 input ended", "1.000 exited", "1.000 sweep", "2.000 end 7"];
    assert_eq!(play.end(), expected);
}

#[test]
fn pr_12_output_held_open_is_waited_for_two_seconds() {
    let output = [
        vec![(0, b"done".to_vec()), (SECOND, b"late".to_vec()), (4 * SECOND, b"never".to_vec())].into(),
        VecDeque::new(),
    ];
    let script = Script { exits: Some((0, exit(0))), held_until: Some(1000 * SECOND), output, ..Script::default() };
    let expected =
        ["0.000 input ended", "0.000 out \"done\"", "0.000 exited", "0.000 sweep", "1.000 out \"late\"", "2.000 end 0"];
    assert_eq!(play(&Command::new(["x"]), script), expected);
}

/// A reader that stops for longer than every grace, from just before the exit on: what is in the pipe is still there.
#[test]
fn f3_a_slow_reader_gets_every_byte() {
    let output =
        [vec![(0, b"12".to_vec()), (0, b"34".to_vec()), (0, b"56".to_vec())].into(), vec![(0, b"e".to_vec())].into()];
    let script =
        Script { exits: Some((SECOND, exit(0))), held_until: Some(1000 * SECOND), output, ..Script::default() };
    let mut play = Play::new(&Command::new(["x"]), script);
    assert!(matches!(play.poll(2), (Poll::Ready(Piece::Data(_, 2)), _)));
    assert!(!play.until(60 * SECOND, 0), "no room");
    assert!(play.until(u64::MAX, 2));
    let expected = [
        "0.000 input ended",
        "0.000 out \"12\"",
        "1.000 exited",
        "1.000 sweep",
        "60.000 err \"e\"",
        "60.000 out \"34\"",
        "60.000 out \"56\"",
        "60.000 end 0",
    ];
    assert_eq!(play.history(), expected);
}

/// What was left of it writes on for ever: its end is seen beside the output, and the output ends after the grace and a pipe's content.
#[test]
fn a_flood_hides_no_exit_and_has_an_end() {
    let script = Script { exits: Some((0, exit(0))), floods: true, ..Script::default() };
    let mut play = Play::new(&Command::new(["x"]), script);
    let mut bytes = 0u64;
    for second in 0..4 {
        play.script.lock().unwrap().now = second * SECOND;
        for _ in 0..1000 {
            match play.poll(4096) {
                (Poll::Ready(Piece::Data(_, n)), _) => bytes += n as u64,
                (Poll::Ready(Piece::End(exit)), _) => {
                    assert_eq!((exit.code, second), (0, 2));
                    assert_eq!(bytes, 2 * 1000 * 4096 + 2 * (1 << 20));
                    return;
                }
                (Poll::Pending, _) => panic!("there is always more"),
            }
        }
    }
    panic!("it goes on for ever");
}

#[test]
fn without_room_its_time_goes_on_and_nothing_is_read() {
    let output = [vec![(0, b"a".to_vec())].into(), VecDeque::new()];
    let mut play =
        Play::new(&with_timeout(5), Script { dies_of: Some((Signal::Term, 0)), output, ..Script::default() });
    assert!(!play.until(20 * SECOND, 0));
    let so_far =
        ["0.000 input ended", "5.000 INT", "5.000 CONT", "7.000 TERM", "7.000 CONT", "7.000 exited", "7.000 sweep"];
    assert_eq!(play.history(), so_far);
    assert!(play.until(u64::MAX, 10));
    assert_eq!(play.history()[7..], ["20.000 out \"a\"", "20.000 end -1 timed out"]);
}

#[test]
fn what_cannot_be_killed_is_left_after_ten_seconds() {
    let mut play = Play::new(&with_timeout(1), Script { held_until: Some(1000 * SECOND), ..Script::default() });
    assert!(play.until(u64::MAX, 100));
    let history = play.history();
    assert_eq!(history[1..6], ["1.000 INT", "1.000 CONT", "3.000 TERM", "3.000 CONT", "5.000 sweep"]);
    assert_eq!(history[history.len() - 2..], ["15.000 sweep", "17.000 end -1 timed out"]);
}

#[test]
fn both_outputs_have_their_turn() {
    let many = || (0..3).map(|_| (0, vec![b'x'; 2])).collect();
    let script = Script { exits: Some((0, exit(0))), output: [many(), many()], ..Script::default() };
    let history = play(&Command::new(["x"]), script);
    let turns: Vec<_> =
        history.iter().filter_map(|line| line.split(' ').nth(1)).filter(|word| word.len() == 3).collect();
    assert_eq!(turns, ["out", "err", "out", "err", "out", "err", "end"]);
}

#[test]
fn pr_17_input_that_is_not_taken_is_no_error() {
    let command = Command { stdin: vec![0; 1 << 20].into(), ..Command::new(["x"]) };
    let script = Script { exits: Some((SECOND, exit(5))), takes: 1000, ..Script::default() };
    assert_eq!(play(&command, script), ["0.000 input closed by it", "1.000 exited", "1.000 sweep", "1.000 end 5"]);
}

/// A turn has an end, however much there is to write.
#[test]
fn a_long_input_takes_many_turns_and_no_time() {
    let command = Command { stdin: vec![0; 64 << 20].into(), ..Command::new(["x"]) };
    let mut play =
        Play::new(&command, Script { exits: Some((SECOND, exit(0))), takes: usize::MAX, ..Script::default() });
    assert!(play.until(u64::MAX, 100));
    assert_eq!(play.history(), ["0.000 input ended", "1.000 exited", "1.000 sweep", "1.000 end 0"]);
    assert!((64..80).contains(&play.polls), "{}", play.polls);
}

#[test]
fn a_timeout_longer_than_time_is_none() {
    let command = Command { timeout: Some(Duration::MAX), ..Command::new(["x"]) };
    let script = Script { exits: Some((3600 * SECOND, exit(0))), ..Script::default() };
    assert_eq!(play(&command, script).last().unwrap(), "3600.000 end 0");
}

/// Its exit cannot be known: that is told, with the fact that it ran, and no status is made up.
#[test]
fn an_exit_that_cannot_be_known_is_an_error() {
    struct Stolen(Fake);
    impl Leader for Stolen {
        fn stdin(&mut self) -> Option<Box<dyn Sink>> {
            None
        }
        fn stdout(&mut self) -> Option<Box<dyn Source>> {
            None
        }
        fn stderr(&mut self) -> Option<Box<dyn Source>> {
            None
        }
        fn signal(&mut self, signal: Signal) {
            self.0.signal(signal);
        }
        fn poll_exit(&mut self, _: &mut Cx<'_>) -> Poll<Result<Exit, Error>> {
            Poll::Ready(Err(Error::other("no child processes")))
        }
        fn sweep(&mut self) -> bool {
            true
        }
    }
    let mut run = Run::new(Stolen(Fake(Shared::default())), &Command::new(["x"]));
    let mut runtime = NoRuntime;
    let mut cx = Cx::new(Moment(0), Waker::noop(), &mut runtime);
    let Poll::Ready(Err(error)) = run.poll_next(&mut cx, &mut [0; 8]) else { panic!("no error") };
    assert_eq!(error, Error::other("no child processes").with(|details| details.ran = Some(true)));
}
