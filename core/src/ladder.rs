//! How a command is ended: rung after rung, as a pure machine (spec, A process's streams and end).

use crate::wire::{
    Moment, Signal,
    times::{KILL_ROUNDS, LADDER_STEP},
};
use core::time::Duration;

/// What one rung asks for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Action {
    /// Its input is closed.
    CloseInput,
    /// The signal is sent to everything it started.
    Signal(Signal),
    /// One round: what is left is killed. If a round found nothing, [`Ladder::nothing_left`] is told so.
    Kill,
}

/// Each rung below the last, and how long the next one waits. A stopped process takes no signal until it is continued.
const RUNGS: [(Action, Duration); 5] = [
    (Action::CloseInput, LADDER_STEP),
    (Action::Signal(Signal::Int), Duration::ZERO),
    (Action::Signal(Signal::Cont), LADDER_STEP),
    (Action::Signal(Signal::Term), Duration::ZERO),
    (Action::Signal(Signal::Cont), LADDER_STEP),
];
const INT: usize = 1;

/// The first pause between two rounds, and the longest; each is twice the one before.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(64));

/// The end of a command, under way: (input closed, 2 s,) INT, 2 s, TERM, 2 s, then KILL until a round finds nothing, 10 s at most.
///
/// A rung's time counts from when the one before was taken. So after a clock that jumped (the machine slept) one rung is taken and
/// not all that were missed: the command has its time to obey, of which it had nothing while it slept.
///
/// ```
/// use farside_core::{ladder::{Action, Ladder}, wire::{Moment, Signal}};
/// let mut ladder = Ladder::new(Moment(0));
/// assert_eq!(ladder.step(Moment(0)), Some(Action::Signal(Signal::Int)));
/// assert_eq!(ladder.step(Moment(0)), Some(Action::Signal(Signal::Cont)));
/// assert_eq!(ladder.step(Moment(0)), None);
/// assert_eq!(ladder.due(), Some(Moment(2_000_000)));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ladder {
    /// The next of [`RUNGS`]; past them, the rounds.
    rung: usize,
    due: Moment,
    pause: Duration,
    /// When the rounds end, once they began.
    until: Option<Moment>,
    over: bool,
}

impl Ladder {
    /// A ladder that starts with INT: of a timeout, a cancel, a hang-up, a lapse.
    pub fn new(now: Moment) -> Self {
        Self { rung: INT, due: now, pause: PAUSES.0, until: None, over: false }
    }

    /// A ladder that starts by closing the input: of a polite close.
    pub fn polite(now: Moment) -> Self {
        Self { rung: 0, ..Self::new(now) }
    }

    /// The rounds alone: of what a command left when it exited.
    pub fn rounds(now: Moment) -> Self {
        Self { rung: RUNGS.len(), ..Self::new(now) }
    }

    /// The command exited meanwhile: what is left of it is killed at once. The rounds' end stays where it is if they began.
    pub fn exited(&mut self, now: Moment) {
        (self.rung, self.due, self.pause) = (RUNGS.len(), now, PAUSES.0);
    }

    /// The next action that is due; it is asked until it says none.
    pub fn step(&mut self, now: Moment) -> Option<Action> {
        if self.due()? > now {
            return None;
        }
        if let Some((action, wait)) = RUNGS.get(self.rung) {
            (self.rung, self.due) = (self.rung + 1, now.after(*wait));
            return Some(*action);
        }
        let until = *self.until.get_or_insert(now.after(KILL_ROUNDS));
        self.over = now >= until;
        self.due = now.after(self.pause).min(until);
        self.pause = (self.pause * 2).min(PAUSES.1);
        Some(Action::Kill)
    }

    /// What a round found: nothing. That is the end.
    pub fn nothing_left(&mut self) {
        self.over = true;
    }

    /// When to come back; `None` at its end.
    pub fn due(&self) -> Option<Moment> {
        (!self.over).then_some(self.due)
    }
}
