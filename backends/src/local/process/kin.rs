//! A leader and everything it started: signalled wherever it went, without ever hitting a stranger.

use super::{
    mark::{Carries, Mark},
    procfs::Stat,
    search::{Search, is_alone},
};
use crate::errno::failed;
use farside_core::wire::{Code, Error, Signal};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::{AsFd, OwnedFd},
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal as Sig, WaitId, WaitIdOptions, WaitIdStatus, getpgid, kill_process_group, pidfd_open,
        pidfd_send_signal, waitid,
    },
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// So far up the parents of one that carries no mark are followed.
const GENERATIONS: u32 = 64;

/// One command's processes: the leader, its group, whatever carries its mark, and the children of all those.
///
/// Until the leader is reaped its number, and that of its group, are nobody else's. Any other process is signalled through a descriptor
/// that was opened first and whose right was checked then.
#[derive(Clone, Debug)]
pub(super) struct Kin {
    leader: Pid,
    pidfd: Arc<OwnedFd>,
    mark: Option<Mark>,
    /// A moment before the leader was there.
    born: Instant,
    /// Those without the mark that were found so far: once their parents are gone, nothing shows any more whose they are.
    strays: Vec<Stray>,
    exited: bool,
    reaped: bool,
}

/// One that belongs to them by its group or its parent: it was never marked, it changed the limit, or it is another user's.
#[derive(Clone, Debug)]
struct Stray {
    pid: i32,
    pidfd: Arc<OwnedFd>,
}

impl Kin {
    /// Those of a leader that was just started.
    pub(super) fn new(leader: Pid, pidfd: Arc<OwnedFd>, mark: Option<Mark>, born: Instant) -> Self {
        Self { leader, pidfd, mark, born, strays: Vec::new(), exited: false, reaped: false }
    }

    /// How the leader ended, once it has; it is not reaped by that.
    ///
    /// # Errors
    /// EAGAIN while it runs; ECHILD if somebody else has reaped it, and then nobody is signalled any more.
    pub(super) fn exit(&mut self) -> Result<WaitIdStatus, Errno> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let seen = waitid(WaitId::PidFd(self.pidfd.as_fd()), look);
        self.exited |= matches!(seen, Ok(Some(_)));
        self.reaped |= matches!(seen, Err(Errno::CHILD));
        seen?.ok_or(Errno::AGAIN)
    }

    /// Sends a signal to all of them, once to each, while the leader lives.
    pub(super) fn signal(&mut self, signal: Signal) {
        if !self.exited && !self.reaped {
            self.reach(Sig::from_named_raw(signal.number()).unwrap_or(Sig::KILL));
        }
    }

    /// Sends a signal to the leader's group, while the leader lives.
    ///
    /// # Errors
    /// `process_done` once it exited.
    pub(super) fn signal_group(&mut self, signal: Signal) -> Result<(), Error> {
        if self.exited || self.reaped || self.exit().is_ok() {
            return Err(Code::ProcessDone.into());
        }
        let signal = Sig::from_named_raw(signal.number()).ok_or(Error::invalid("signal"))?;
        kill_process_group(self.leader, signal).map_err(failed)
    }

    /// Kills all of them, one round. Once a round found nobody alive, the leader is reaped, and it is over.
    pub(super) fn sweep(&mut self) -> bool {
        if !self.exited && !self.reaped {
            let _ = self.exit();
        }
        if !self.reaped && !self.reach(Sig::KILL) && self.exited {
            reap(&self.pidfd);
            self.reaped = true;
        }
        self.reaped
    }

    /// Waits for the leader's exit, so long at most; once it exited, so long for the others.
    pub(super) fn wait(&self, time: Duration) {
        if self.exited {
            std::thread::sleep(time);
        } else {
            ended(&self.pidfd, time);
        }
    }

    /// Signals all of them; whether anybody beside the leader is alive, or may be. All are found before one is signalled: it may be the
    /// parent by which another is found. And again after that: it may have started another before it went.
    fn reach(&mut self, signal: Sig) -> bool {
        let alone = is_alone(self.number(), self.born);
        if alone && self.exited {
            return false;
        }
        self.forget_ended();
        let known = self.strays.iter().map(|stray| stray.pid);
        let mut search = Search::new(self.number(), self.mark, self.born, known);
        let (marked, strays) = if alone { Default::default() } else { search.find() };
        let missed = strays.into_iter().filter(|(pid, stat)| self.keep_stray(*pid, stat).is_err()).count();
        // Whether a signal hit anybody, and whether that was allowed, is told by what lives on.
        let _ = kill_process_group(self.leader, signal);
        if !self.exited && !self.is_in_group(self.leader) {
            let _ = pidfd_send_signal(&self.pidfd, signal);
        }
        let reached = marked.into_iter().filter(|pid| self.reach_marked(*pid, signal)).count();
        self.forget_ended();
        for stray in &self.strays {
            self.send(stray.pid, &stray.pidfd, signal);
        }
        missed + reached > 0 || !self.strays.is_empty() || search.finds_more()
    }

    /// Keeps one that was found without the mark, if it is theirs still.
    fn keep_stray(&mut self, pid: i32, stat: &Stat) -> Result<(), Errno> {
        if let Some(pidfd) = hold(pid)?
            && self.is_stray(pid, stat)
        {
            self.strays.push(Stray { pid, pidfd: Arc::new(pidfd) });
        }
        Ok(())
    }

    fn forget_ended(&mut self) {
        self.strays.retain(|stray| !ended(&stray.pidfd, Duration::ZERO));
    }

    /// Signals one that carries the mark; whether it is alive.
    fn reach_marked(&self, pid: i32, signal: Sig) -> bool {
        match hold(pid) {
            Ok(Some(pidfd)) if self.carries(pid) && !ended(&pidfd, Duration::ZERO) => {
                self.send(pid, &pidfd, signal);
                true
            }
            Ok(_) => false,
            Err(_) => true,
        }
    }

    /// Signals one that is alive, unless it has it with the group.
    fn send(&self, pid: i32, pidfd: &OwnedFd, signal: Sig) {
        if Pid::from_raw(pid).is_some_and(|pid| !self.is_in_group(pid)) {
            let _ = pidfd_send_signal(pidfd, signal);
        }
    }

    /// Whether `pid` is still what it was found as, and theirs. Its parents are looked at before it is looked at itself: if one had
    /// gone, it would have another parent now.
    fn is_stray(&self, pid: i32, stat: &Stat) -> bool {
        self.is_ancestor_of(stat, GENERATIONS) && Stat::read(pid) == Ok(*stat)
    }

    fn is_ancestor_of(&self, stat: &Stat, generations: u32) -> bool {
        let parent = || Stat::read(stat.parent).ok().filter(|parent| generations > 0 && parent.start <= stat.start);
        stat.group == self.number()
            || stat.parent == self.number()
            || self.strays.iter().any(|stray| stray.pid == stat.parent)
            || self.carries(stat.parent)
            || parent().is_some_and(|parent| self.is_ancestor_of(&parent, generations - 1))
    }

    fn is_in_group(&self, pid: Pid) -> bool {
        getpgid(Some(pid)) == Ok(self.leader)
    }

    fn carries(&self, pid: i32) -> bool {
        Mark::on(pid, self.mark) == Ok(Carries::This)
    }

    fn number(&self) -> i32 {
        self.leader.as_raw_nonzero().get()
    }
}

/// A descriptor of the process `pid`; `None` if it is gone, or a thread of one that is found itself.
///
/// # Errors
/// When there is no descriptor to be had now.
fn hold(pid: i32) -> Result<Option<OwnedFd>, Errno> {
    match Pid::from_raw(pid).map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
        Some(Err(errno)) if is_shortage(errno) => Err(errno),
        held => Ok(held.and_then(Result::ok)),
    }
}

/// Whether it will be otherwise once others gave back what they have.
pub(super) fn is_shortage(errno: Errno) -> bool {
    matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM)
}

/// Whether the process has ended, every thread of it; waits so long for that at most.
fn ended(pidfd: &OwnedFd, at_most: Duration) -> bool {
    let wait = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
    poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&wait)).is_ok_and(|ready| ready > 0)
}

/// Takes the status of a child that has ended or is just ending.
pub(super) fn reap(pidfd: &OwnedFd) {
    while matches!(waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED), Err(Errno::INTR)) {}
}
