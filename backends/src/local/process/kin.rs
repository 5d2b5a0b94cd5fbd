//! A leader and everything it started: found again wherever it went, and signalled without ever hitting a stranger.

use super::{
    mark::{Carries, Mark},
    procfs::{Stat, each_pid, last_pid, pid_max},
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
    ops::RangeInclusive,
    sync::Arc,
    time::{Duration, Instant},
};

/// So many numbers are looked at one by one, at 0.2 us each; for more, `/proc` is listed.
const PROBED: i32 = 65_536;
/// So far up the parents of one that carries no mark are followed.
const GENERATIONS: u32 = 64;
/// So often a search goes after what was started while it ran.
const CHASES: u32 = 16;

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
    exited: bool,
    reaped: bool,
}

/// Somebody found.
#[derive(Copy, Clone, Debug)]
enum Member {
    Marked(i32),
    /// By its group or its parent: it was never marked, it changed the limit, or it is another user's.
    Stray(i32, Stat),
}

impl Kin {
    /// Those of a leader that was just started.
    pub(super) fn new(leader: Pid, pidfd: Arc<OwnedFd>, mark: Option<Mark>, born: Instant) -> Self {
        Self { leader, pidfd, mark, born, exited: false, reaped: false }
    }

    /// How the leader ended, once it has; it is not reaped by that.
    ///
    /// # Errors
    /// EAGAIN while it runs; ECHILD if somebody else has reaped it, and then nobody is signalled any more.
    pub(super) fn exit(&mut self) -> Result<WaitIdStatus, Errno> {
        let seen = waitid(
            WaitId::PidFd(self.pidfd.as_fd()),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT,
        );
        self.exited |= matches!(seen, Ok(Some(_)));
        self.reaped |= matches!(seen, Err(Errno::CHILD));
        seen?.ok_or(Errno::AGAIN)
    }

    /// Sends a signal to all of them, once to each, while the leader lives.
    pub(super) fn signal(&self, signal: Signal) {
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

    /// Signals all of them; whether anybody beside the leader is alive, or may be.
    fn reach(&self, signal: Sig) -> bool {
        let last = last_pid();
        let alone = self.young(last).is_some_and(|young| young.is_empty());
        // Whether it hit anybody, and whether it was allowed to, is told by what lives on.
        if !(alone && self.exited) {
            let _ = kill_process_group(self.leader, signal);
        }
        if !self.exited && getpgid(Some(self.leader)) != Ok(self.leader) {
            let _ = pidfd_send_signal(&self.pidfd, signal);
        }
        if alone {
            return false;
        }
        let (members, complete) = self.find(last);
        members.into_iter().fold(!complete, |alive, member| self.reach_one(member, signal) || alive)
    }

    /// The numbers of whatever was started since the leader was, if they can be told from `last`, the number given last; else it may be
    /// any. Numbers rise, and could have come round to the leader's again only after half of all were given: nothing gives one a
    /// microsecond, since a start takes 20 of them on one processor and numbers are given under one lock.
    fn young(&self, last: Option<i32>) -> Option<RangeInclusive<i32>> {
        let (leader, last) = (self.number(), last?);
        let half = Duration::from_micros(u64::from(pid_max()?) / 2);
        ((0..=PROBED).contains(&(last - leader)) && self.born.elapsed() < half).then(|| leader + 1..=last)
    }

    /// All but the leader, and whether none can have been missed: whoever starts another while it is looked for, and goes, is found by
    /// the other's number being given.
    fn find(&self, mut last: Option<i32>) -> (Vec<Member>, bool) {
        let mut search = Search { kin: self, marked: Vec::new(), others: Vec::new(), complete: true };
        search.among(self.young(last));
        for _ in 0..CHASES {
            let now = last_pid();
            if now == last {
                return search.end();
            }
            let since = last.zip(now).filter(|(last, now)| (0..=PROBED).contains(&(now - last)));
            search.among(since.map(|(last, now)| last + 1..=now));
            last = now;
        }
        search.complete = false;
        search.end()
    }

    /// Signals one of them, unless it has it with the group; whether it is alive.
    fn reach_one(&self, member: Member, signal: Sig) -> bool {
        let (Member::Marked(pid) | Member::Stray(pid, _)) = member;
        let Some(pid) = Pid::from_raw(pid) else { return false };
        let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            // It cannot be held now; the next round tries again.
            Err(errno) if is_shortage(errno) => return true,
            // It is gone, or a thread of one that is found itself.
            Err(_) => return false,
        };
        if !self.is_still(member) || ended(&pidfd, Duration::ZERO) {
            return false;
        }
        if getpgid(Some(pid)) != Ok(self.leader) {
            let _ = pidfd_send_signal(&pidfd, signal);
        }
        true
    }

    /// Whether what was found is there still, and not another process of its number. Its parents are looked at before it is looked at
    /// itself: if one had gone, it would have another parent now.
    fn is_still(&self, member: Member) -> bool {
        match member {
            Member::Marked(pid) => self.carries(pid) == Ok(Carries::This),
            Member::Stray(pid, stat) => self.is_parent_of(&stat, GENERATIONS) && Stat::read(pid) == Ok(stat),
        }
    }

    fn is_parent_of(&self, stat: &Stat, generations: u32) -> bool {
        let parent = || Stat::read(stat.parent).ok().filter(|parent| generations > 0 && parent.start <= stat.start);
        stat.group == self.number()
            || stat.parent == self.number()
            || self.carries(stat.parent) == Ok(Carries::This)
            || parent().is_some_and(|parent| self.is_parent_of(&parent, generations - 1))
    }

    fn number(&self) -> i32 {
        self.leader.as_raw_nonzero().get()
    }

    fn carries(&self, pid: i32) -> Result<Carries, Errno> {
        self.mark.map_or(Ok(Carries::None), |mark| mark.is_on(pid))
    }
}

/// A search under way.
struct Search<'a> {
    kin: &'a Kin,
    marked: Vec<i32>,
    others: Vec<(i32, Stat)>,
    complete: bool,
}

impl Search<'_> {
    /// Looks among those numbers, or among all there are.
    fn among(&mut self, pids: Option<RangeInclusive<i32>>) {
        let Some(pids) = pids else {
            let listed = each_pid(|pid| self.look(pid));
            return self.note(listed);
        };
        pids.for_each(|pid| self.look(pid));
    }

    /// Without descriptors it has to be tried again. Any other error is of somebody who is gone, or of a `/proc` that is not there, and
    /// then there is nothing but the group.
    fn note(&mut self, done: Result<(), Errno>) {
        self.complete &= !done.is_err_and(is_shortage);
    }

    fn look(&mut self, pid: i32) {
        if pid == self.kin.number() {
            return;
        }
        match self.kin.carries(pid) {
            Ok(Carries::This) => self.marked.push(pid),
            Ok(Carries::Sibling) | Err(Errno::SRCH) => {}
            Ok(Carries::None) | Err(_) => {
                let read = Stat::read(pid).map(|stat| self.others.push((pid, stat)));
                self.note(read);
            }
        }
    }

    /// Who of the others belongs to them by group or parentage is one of them too.
    fn end(mut self) -> (Vec<Member>, bool) {
        self.others.sort_unstable_by_key(|(pid, _)| *pid);
        self.others.dedup_by_key(|(pid, _)| *pid);
        let mut known = self.marked;
        known.sort_unstable();
        known.dedup();
        let mut members: Vec<_> = known.iter().map(|pid| Member::Marked(*pid)).collect();
        let leader = self.kin.number();
        loop {
            let is_theirs = |(_, stat): &(i32, Stat)| {
                stat.group == leader || stat.parent == leader || known.binary_search(&stat.parent).is_ok()
            };
            let (strays, rest): (Vec<_>, Vec<_>) = self.others.into_iter().partition(is_theirs);
            if strays.is_empty() {
                return (members, self.complete);
            }
            known.extend(strays.iter().map(|(pid, _)| *pid));
            known.sort_unstable();
            members.extend(strays.into_iter().map(|(pid, stat)| Member::Stray(pid, stat)));
            self.others = rest;
        }
    }
}

fn is_shortage(errno: Errno) -> bool {
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
