//! Who belongs to a leader, among all the processes there are.

use super::{
    kin::is_shortage,
    mark::{Carries, Mark},
    procfs::{Stat, each_pid, last_pid, pid_max},
};
use rustix::io::Errno;
use std::{
    ops::RangeInclusive,
    time::{Duration, Instant},
};

/// So many numbers are looked at one by one, at 0.2 us each; for more, `/proc` is listed.
const PROBED: i32 = 65_536;
/// So often a search goes after what was started while it looked.
const CHASES: u32 = 64;

/// Whether nobody was started since the leader was: then there is nobody to look for.
pub(super) fn is_alone(leader: i32, born: Instant) -> bool {
    young(leader, born, last_pid()).is_some_and(|young| young.is_empty())
}

/// The numbers of whatever was started since the leader was, if they can be told from `last`, the number given last; else it may be any.
/// Numbers rise, and could have come round to the leader's again only after half of all were given: nothing gives one a microsecond,
/// since a start takes 20 of them on one processor and numbers are given under one lock.
fn young(leader: i32, born: Instant, last: Option<i32>) -> Option<RangeInclusive<i32>> {
    let half = Duration::from_micros(u64::from(pid_max()?) / 2);
    since(Some(leader), last).filter(|_| born.elapsed() < half)
}

/// The numbers given after `before`, up to `last`, unless they came round or are too many.
fn since(before: Option<i32>, last: Option<i32>) -> Option<RangeInclusive<i32>> {
    let (before, last) = before.zip(last)?;
    (0..=PROBED).contains(&(last - before)).then_some(before + 1..=last)
}

/// A search for all that belong to a leader.
///
/// Whoever starts another while it is looked for, and goes before it is looked at, is found by the other: its number is given by then, and
/// the search goes on until no new number was given since it looked.
pub(super) struct Search {
    leader: i32,
    mark: Option<Mark>,
    born: Instant,
    /// Whose children belong to them, in order.
    parents: Vec<i32>,
    /// The number that was given last when it looked.
    last: Option<i32>,
    marked: Vec<i32>,
    others: Vec<(i32, Stat)>,
    complete: bool,
}

impl Search {
    /// A search that need not find the strays that are `known`, but their children.
    pub(super) fn new(leader: i32, mark: Option<Mark>, born: Instant, known: impl Iterator<Item = i32>) -> Self {
        let mut parents: Vec<_> = known.chain([leader]).collect();
        parents.sort_unstable();
        let (marked, others) = (Vec::new(), Vec::new());
        Self { leader, mark, born, parents, last: last_pid(), marked, others, complete: true }
    }

    /// All that are there: those that carry the mark, and strays, that are of the leader's group or children of one of them all.
    pub(super) fn find(&mut self) -> (Vec<i32>, Vec<(i32, Stat)>) {
        self.among(young(self.leader, self.born, self.last));
        self.chase();
        self.take()
    }

    /// Whether there are more, or may be: found since, or missed.
    pub(super) fn finds_more(&mut self) -> bool {
        self.chase();
        let (marked, strays) = self.take();
        !self.complete || !marked.is_empty() || !strays.is_empty()
    }

    fn chase(&mut self) {
        for _ in 0..CHASES {
            let now = last_pid();
            if now == self.last {
                return;
            }
            self.among(since(self.last, now));
            self.last = now;
        }
        self.complete = false;
    }

    /// Looks among those numbers, or among all there are.
    fn among(&mut self, pids: Option<RangeInclusive<i32>>) {
        let Some(pids) = pids else {
            let listed = each_pid(|pid| self.look(pid));
            return self.note(listed);
        };
        pids.for_each(|pid| self.look(pid));
    }

    fn look(&mut self, pid: i32) {
        match Mark::on(pid, self.mark) {
            _ if self.parents.binary_search(&pid).is_ok() => {}
            Ok(Carries::This) => self.marked.push(pid),
            Ok(Carries::Sibling) | Err(Errno::SRCH) => {}
            Ok(Carries::None) | Err(_) => {
                let read = Stat::read(pid).map(|stat| self.others.push((pid, stat)));
                self.note(read);
            }
        }
    }

    /// Without descriptors it has to be tried again. Any other error is of somebody who is gone, or of a `/proc` that is not there, and
    /// then there is nothing but the group.
    fn note(&mut self, done: Result<(), Errno>) {
        self.complete &= !done.is_err_and(is_shortage);
    }

    /// Takes what was found. Who of the others belongs to them by group or parent is one of them too, and then its children are.
    fn take(&mut self) -> (Vec<i32>, Vec<(i32, Stat)>) {
        let (mut marked, mut others) = (std::mem::take(&mut self.marked), std::mem::take(&mut self.others));
        marked.sort_unstable();
        marked.dedup();
        others.sort_unstable_by_key(|(pid, _)| *pid);
        others.dedup_by_key(|(pid, _)| *pid);
        self.parents.extend(&marked);
        let mut strays = Vec::new();
        loop {
            self.parents.sort_unstable();
            let is_theirs =
                |(_, stat): &(i32, Stat)| stat.group == self.leader || self.parents.binary_search(&stat.parent).is_ok();
            let (more, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(is_theirs);
            if more.is_empty() {
                return (marked, strays);
            }
            self.parents.extend(more.iter().map(|(pid, _)| *pid));
            strays.extend(more);
            others = rest;
        }
    }
}
