//! The ladder on a clock of its own: whole histories by equality.

use farside_core::{
    ladder::{Action, Ladder},
    wire::{Moment, Signal::*},
};

use Action::{CloseInput, Kill, Signal};

const SECOND: u64 = 1_000_000;

/// Climbs it to its end, always when it is due, with `found` rounds that find something. Times in milliseconds.
fn climb(mut ladder: Ladder, mut found: u32) -> Vec<(u64, Action)> {
    let mut history = Vec::new();
    while let Some(now) = ladder.due() {
        while let Some(action) = ladder.step(now) {
            history.push((now.0 / 1000, action));
            if action == Kill {
                match found {
                    0 => ladder.nothing_left(),
                    _ => found -= 1,
                }
            }
        }
    }
    history
}

#[test]
fn int_term_kill_two_seconds_apart_with_a_cont_after_each() {
    let expected = [
        (10_000, Signal(Int)),
        (10_000, Signal(Cont)),
        (12_000, Signal(Term)),
        (12_000, Signal(Cont)),
        (14_000, Kill),
        (14_001, Kill),
        (14_003, Kill),
    ];
    assert_eq!(climb(Ladder::new(Moment(10 * SECOND)), 2), expected);
}

#[test]
fn a_polite_close_closes_the_input_first() {
    let expected = [
        (0, CloseInput),
        (2000, Signal(Int)),
        (2000, Signal(Cont)),
        (4000, Signal(Term)),
        (4000, Signal(Cont)),
        (6000, Kill),
    ];
    assert_eq!(climb(Ladder::polite(Moment(0)), 0), expected);
}

#[test]
fn what_was_left_is_killed_at_once_round_by_round_for_ten_seconds_at_most() {
    assert_eq!(climb(Ladder::rounds(Moment(0)), 0), [(0, Kill)]);
    let history = climb(Ladder::rounds(Moment(0)), u32::MAX);
    let times: Vec<_> = history.iter().map(|(at, action)| (*action == Kill).then_some(*at).unwrap()).collect();
    assert_eq!(times[..9], [0, 1, 3, 7, 15, 31, 63, 127, 191]);
    assert!(times[7..times.len() - 1].windows(2).all(|pair| pair[1] - pair[0] == 64));
    assert_eq!(times.last(), Some(&10_000));
}

#[test]
fn an_exit_on_the_way_goes_to_the_rounds() {
    let mut ladder = Ladder::new(Moment(0));
    while ladder.step(Moment(0)).is_some() {}
    ladder.exited(Moment(SECOND));
    assert_eq!(climb(ladder, 1), [(1000, Kill), (1001, Kill)]);
}

#[test]
fn an_exit_during_the_rounds_does_not_begin_the_ten_seconds_anew() {
    let mut ladder = Ladder::rounds(Moment(0));
    assert_eq!(ladder.step(Moment(0)), Some(Kill));
    ladder.exited(Moment(9 * SECOND));
    assert_eq!(climb(ladder, u32::MAX).last(), Some(&(10_000, Kill)));
}

/// The machine slept for an hour between INT and TERM, and again: each rung is taken, its time counted from then.
#[test]
fn a_clock_that_jumps_takes_one_rung_and_not_all() {
    let hour = 3600 * SECOND;
    let mut ladder = Ladder::new(Moment(0));
    let mut history = Vec::new();
    for now in [0, hour, hour + SECOND, hour + 2 * SECOND, 2 * hour, 3 * hour] {
        while let Some(action) = ladder.step(Moment(now)) {
            history.push((now / SECOND, action));
        }
    }
    let expected =
        [(0, Signal(Int)), (0, Signal(Cont)), (3600, Signal(Term)), (3600, Signal(Cont)), (3602, Kill), (7200, Kill)];
    assert_eq!(history, expected);
    assert_eq!(ladder.due(), None);
}

#[test]
fn a_clock_that_stands_or_goes_back_takes_nothing() {
    let mut ladder = Ladder::new(Moment(5 * SECOND));
    assert_eq!(ladder.step(Moment(4 * SECOND)), None);
    while ladder.step(Moment(5 * SECOND)).is_some() {}
    assert_eq!(ladder.step(Moment(5 * SECOND)), None);
    assert_eq!(ladder.step(Moment(0)), None);
    assert_eq!(ladder.due(), Some(Moment(7 * SECOND)));
}
