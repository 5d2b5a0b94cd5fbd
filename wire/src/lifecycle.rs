//! What may happen to a process and its streams, as one pure machine (spec, A process's streams and end).
//!
//! Every rule of who may claim what, and of what is answered when, is in [`Lifecycle::step`]; whoever owns the process carries out what
//! is granted, and tells the machine what came of it.

use crate::{Code, Error, WaitStatus};
use alloc::vec::Vec;

/// What is asked of a process, or became of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Event {
    /// A body for its input begins.
    Stdin,
    /// The body ended, and the input was closed.
    StdinEnded,
    /// The body was cut: the input stays open, and claimed.
    StdinCut,
    /// The process closed its input.
    StdinRefused,
    /// Its output is to be read.
    Stdout,
    /// Its standard error is to be read.
    Stderr,
    /// Its end is waited for.
    Wait,
    /// Who waited is gone.
    WaiterLeft,
    /// A signal, a cancel or a new size.
    Control,
    /// It is to be ended politely: its input is closed first.
    Close,
    /// It ended, with everything it started.
    Exited(WaitStatus),
    /// So long after the later of its exit and its close that nothing is served any more.
    Forgotten,
}

/// What is to be done, beside the answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Effect {
    /// The input is closed, whoever was at it.
    CloseInput,
    /// Whoever waits is answered.
    AnswerWaiter(WaitStatus),
    /// Every close is answered.
    AnswerClosers(WaitStatus),
    /// The streams nobody claimed are let go.
    DropStreams,
}

/// What an event comes to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Granted {
    /// It is so.
    Yes,
    /// The answer is there.
    Status(WaitStatus),
    /// The answer comes by an [`Effect`].
    Later,
}

#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Input {
    Free,
    Body,
    Cut,
    Ended,
}

#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Claim {
    None,
    Free,
    Taken,
}

/// One process, from its start to when it is forgotten.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lifecycle {
    input: Input,
    stdout: Claim,
    stderr: Claim,
    waited: bool,
    closing: bool,
    forgotten: bool,
    status: Option<WaitStatus>,
}

impl Lifecycle {
    /// A process that runs. Its standard error can be read only if it was asked for.
    pub fn new(stderr: bool) -> Self {
        let stderr = if stderr { Claim::Free } else { Claim::None };
        Self {
            input: Input::Free,
            stdout: Claim::Free,
            stderr,
            waited: false,
            closing: false,
            forgotten: false,
            status: None,
        }
    }

    /// How it ended, once it has.
    pub fn status(&self) -> Option<&WaitStatus> {
        self.status.as_ref()
    }

    /// Whether a close was asked for.
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Takes in one event; what is to be done beside the answer is added to `effects`, in order.
    ///
    /// # Errors
    /// What the event is refused with; nothing is changed then.
    pub fn step(&mut self, event: Event, effects: &mut Vec<Effect>) -> Result<Granted, Error> {
        match event {
            Event::Stdin => {
                self.input = match (&self.status, self.closing, self.input) {
                    (Some(_), ..) => return Err(Code::ProcessDone.into()),
                    (None, true, _) | (None, _, Input::Ended) => return Err(Code::Closed.into()),
                    (None, _, Input::Body | Input::Cut) => return Err(Code::Exist.into()),
                    (None, _, Input::Free) => Input::Body,
                };
            }
            Event::StdinEnded | Event::StdinRefused => self.input = Input::Ended,
            Event::StdinCut if self.input == Input::Body => self.input = Input::Cut,
            Event::StdinCut => {}
            Event::Stdout if self.closing => return Err(Code::Closed.into()),
            Event::Stdout => claim(&mut self.stdout)?,
            Event::Stderr if self.forgotten && self.stderr != Claim::None => return Err(Code::Closed.into()),
            Event::Stderr => claim(&mut self.stderr)?,
            Event::Wait => match &self.status {
                Some(status) => return Ok(Granted::Status(status.clone())),
                None if self.waited => return Err(Error::invalid("another waits")),
                None => {
                    self.waited = true;
                    return Ok(Granted::Later);
                }
            },
            Event::WaiterLeft => self.waited = false,
            Event::Control if self.status.is_some() => return Err(Code::ProcessDone.into()),
            Event::Control => {}
            Event::Close => {
                let first = !core::mem::replace(&mut self.closing, true);
                if let Some(status) = &self.status {
                    return Ok(Granted::Status(status.clone()));
                }
                if first {
                    effects.push(Effect::CloseInput);
                }
                return Ok(Granted::Later);
            }
            Event::Exited(status) if self.status.is_none() => {
                effects.push(Effect::CloseInput);
                if core::mem::take(&mut self.waited) {
                    effects.push(Effect::AnswerWaiter(status.clone()));
                }
                if self.closing {
                    effects.push(Effect::AnswerClosers(status.clone()));
                }
                self.status = Some(status);
            }
            Event::Exited(_) => {}
            Event::Forgotten => {
                self.forgotten = true;
                effects.push(Effect::DropStreams);
            }
        }
        Ok(Granted::Yes)
    }
}

fn claim(stream: &mut Claim) -> Result<(), Error> {
    match stream {
        Claim::None => Err(Code::Unsupported.into()),
        Claim::Taken => Err(Code::Exist.into()),
        Claim::Free => {
            *stream = Claim::Taken;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Ended;
    use alloc::vec;

    fn running() -> Lifecycle {
        Lifecycle::new(true)
    }

    fn step(life: &mut Lifecycle, event: Event) -> (Result<Granted, Code>, Vec<Effect>) {
        let mut effects = Vec::new();
        let granted = life.step(event, &mut effects).map_err(|e| e.code);
        (granted, effects)
    }

    #[test]
    fn the_input_has_one_body() {
        let mut life = running();
        assert_eq!(step(&mut life, Event::Stdin).0, Ok(Granted::Yes));
        assert_eq!(step(&mut life, Event::Stdin).0, Err(Code::Exist));
        step(&mut life, Event::StdinCut).0.unwrap();
        assert_eq!(step(&mut life, Event::Stdin).0, Err(Code::Exist), "a cut is no end");
        step(&mut life, Event::StdinEnded).0.unwrap();
        assert_eq!(step(&mut life, Event::Stdin).0, Err(Code::Closed));
        step(&mut life, Event::Exited(WaitStatus::Exited(0))).0.unwrap();
        assert_eq!(step(&mut life, Event::Stdin).0, Err(Code::ProcessDone));
    }

    #[test]
    fn a_close_takes_the_input_and_answers_when_it_ended() {
        let mut life = running();
        step(&mut life, Event::Stdin).0.unwrap();
        assert_eq!(step(&mut life, Event::Close), (Ok(Granted::Later), vec![Effect::CloseInput]));
        assert_eq!(step(&mut life, Event::Close), (Ok(Granted::Later), vec![]));
        assert_eq!(step(&mut life, Event::Stdin).0, Err(Code::Closed));
        assert_eq!(step(&mut life, Event::Stdout).0, Err(Code::Closed));
        assert_eq!(step(&mut life, Event::Stderr).0, Ok(Granted::Yes), "standard error is served on");
        let status = WaitStatus::Ended(Ended::Closed);
        assert_eq!(
            step(&mut life, Event::Exited(status.clone())).1,
            [Effect::CloseInput, Effect::AnswerClosers(status.clone())]
        );
        assert_eq!(step(&mut life, Event::Close).0, Ok(Granted::Status(status.clone())));
        assert_eq!(step(&mut life, Event::Wait).0, Ok(Granted::Status(status)), "the same each time");
    }

    #[test]
    fn one_waits_at_a_time() {
        let mut life = running();
        assert_eq!(step(&mut life, Event::Wait).0, Ok(Granted::Later));
        assert_eq!(step(&mut life, Event::Wait).0, Err(Code::Invalid));
        step(&mut life, Event::WaiterLeft).0.unwrap();
        assert_eq!(step(&mut life, Event::Wait).0, Ok(Granted::Later));
        let status = WaitStatus::Exited(3);
        assert_eq!(
            step(&mut life, Event::Exited(status.clone())).1,
            [Effect::CloseInput, Effect::AnswerWaiter(status)]
        );
    }

    #[test]
    fn outputs_are_claimed_once_for_ever() {
        let mut life = Lifecycle::new(false);
        assert_eq!(step(&mut life, Event::Stderr).0, Err(Code::Unsupported));
        assert_eq!(step(&mut life, Event::Stdout).0, Ok(Granted::Yes));
        assert_eq!(step(&mut life, Event::Stdout).0, Err(Code::Exist));
        step(&mut life, Event::Exited(WaitStatus::Exited(0))).0.unwrap();
        assert_eq!(step(&mut life, Event::Stdout).0, Err(Code::Exist));
        assert_eq!(step(&mut life, Event::Control).0, Err(Code::ProcessDone));
    }

    #[test]
    fn nothing_is_served_of_what_is_forgotten() {
        let mut life = running();
        step(&mut life, Event::Close).0.unwrap();
        step(&mut life, Event::Exited(WaitStatus::Exited(0))).0.unwrap();
        assert_eq!(step(&mut life, Event::Forgotten).1, [Effect::DropStreams]);
        assert_eq!(step(&mut life, Event::Stderr).0, Err(Code::Closed));
    }

    #[test]
    fn the_first_exit_stands() {
        let mut life = running();
        step(&mut life, Event::Exited(WaitStatus::Exited(7))).0.unwrap();
        assert_eq!(step(&mut life, Event::Exited(WaitStatus::Exited(8))).1, []);
        assert_eq!(life.status(), Some(&WaitStatus::Exited(7)));
    }
}
