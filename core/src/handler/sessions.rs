//! Sessions: whose they are, how long they live, and the keys of what they started (spec, Sessions, starts, keys).

use super::{
    Handler,
    held::{Held, How},
    keeper::{Inbox, Keeper},
};
use crate::{
    cx::Cx,
    lock::Lock,
    wire::{
        Code, Error, Id, Moment, Scopes, WaitStatus,
        process::{Ended, ProcessRow},
        session::{Lease, SessionRow},
    },
    workspace::Process,
};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet, VecDeque},
    string::String,
    sync::Arc,
    vec::Vec,
};
use core::{
    mem,
    task::{Poll, Waker},
    time::Duration,
};

/// How many keys whose process is no more a session remembers.
const MAX_SPENT_KEYS: usize = 65_536;
/// How many closed processes of a session still answer.
const MAX_CLOSED: usize = 1_024;

/// The sessions of a handler.
pub(super) struct Sessions {
    all: BTreeMap<Arc<str>, Session>,
    of_owner: BTreeMap<Arc<str>, u64>,
    due: BTreeSet<(Moment, Arc<str>)>,
    next: u64,
    /// Processes the keeper need not keep any more.
    gone: Vec<u64>,
    /// Whether the keeper was given out.
    kept: bool,
    pub(super) inbox: Arc<Inbox>,
}

struct Session {
    owner: Arc<str>,
    until: Moment,
    entries: BTreeMap<Arc<str>, Entry>,
    spent: VecDeque<Arc<str>>,
    closed: VecDeque<Arc<str>>,
    /// Starts under way, and processes that were not closed.
    live: u64,
    /// Why it is ending, once it is: then it is known to nobody but another close.
    end: Option<Ended>,
    closers: Vec<Waker>,
}

/// What a key stands for.
enum Entry {
    Starting { print: Box<[u8]>, start: Arc<Starting>, doomed: bool },
    Process { print: Box<[u8]>, held: Arc<Held>, closed: bool, released: bool },
    Spent,
}

/// A start under way, for whoever asks for the same.
pub(crate) struct Starting(Lock<Outcome>);

#[derive(Default)]
struct Outcome {
    done: Option<Result<(), Error>>,
    wakers: Vec<Waker>,
}

impl Starting {
    fn done(&self, outcome: Result<(), Error>) {
        let wakers = self.0.with(|o| {
            o.done = Some(outcome);
            mem::take(&mut o.wakers)
        });
        wakers.into_iter().for_each(Waker::wake);
    }

    /// What became of it.
    pub(crate) fn poll(&self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.0.with(|o| match &o.done {
            Some(outcome) => Poll::Ready(outcome.clone()),
            None => {
                o.wakers.push(cx.waker().clone());
                Poll::Pending
            }
        })
    }
}

/// What a keyed start comes to.
pub(crate) enum Begin {
    /// It is new: whoever asked starts it.
    New(Place),
    /// It runs already.
    Same,
    /// It is being started for somebody else.
    Wait(Arc<Starting>),
}

/// What a process's id stands for.
pub(crate) enum Found {
    Process(Arc<Held>),
    Starting(Arc<Starting>),
}

impl Default for Sessions {
    fn default() -> Self {
        let (all, of_owner, due) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { all, of_owner, due, next: 0, gone: Vec::new(), kept: false, inbox: Inbox::new() }
    }
}

impl Sessions {
    /// A session that is alive at `now` and whose owner asks.
    fn alive(&mut self, now: Moment, owner: &str, id: &str) -> Result<&mut Session, Error> {
        let session = self.all.get_mut(id).filter(|s| &*s.owner == owner && s.end.is_none() && now < s.until);
        session.ok_or(Code::NoSession.into())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Forgets a session whose processes have all ended.
    fn remove_if_over(&mut self, id: &str) -> Vec<Waker> {
        let over = self.all.get(id).is_some_and(|s| s.end.is_some() && !s.entries.values().any(Entry::is_alive));
        let Some((id, session)) = over.then(|| self.all.remove_entry(id)).flatten() else { return Vec::new() };
        self.due.remove(&(session.until, id));
        if let Some(n) = self.of_owner.get_mut(&session.owner) {
            *n -= 1;
            if *n == 0 {
                self.of_owner.remove(&session.owner);
            }
        }
        let held = session.entries.values().filter_map(Entry::held);
        self.gone.extend(held.map(|held| held.number));
        session.closers
    }
}

impl Sessions {
    /// A process has ended: if it was closed too, it holds no place any more.
    fn release(&mut self, held: &Held) {
        let Some(session) = self.all.get_mut(&held.session) else { return };
        match session.entries.get_mut(&held.key) {
            Some(Entry::Process { closed: true, released, .. }) if !*released => *released = true,
            _ => return,
        }
        session.live -= 1;
        session.closed.push_back(held.key.clone());
        session.spend(held.key.clone());
        if session.closed.len() > MAX_CLOSED
            && let Some(oldest) = session.closed.pop_front()
            && let Some(entry) = session.entries.get_mut(&oldest)
        {
            *entry = Entry::Spent;
        }
    }
}

impl Entry {
    fn held(&self) -> Option<&Arc<Held>> {
        if let Self::Process { held, .. } = self { Some(held) } else { None }
    }

    fn is_alive(&self) -> bool {
        matches!(self, Self::Starting { .. }) || self.held().is_some_and(|held| held.is_running())
    }
}

impl Session {
    fn spend(&mut self, key: Arc<str>) {
        self.spent.push_back(key);
        if self.spent.len() > MAX_SPENT_KEYS
            && let Some(oldest) = self.spent.pop_front()
            && let Some(Entry::Process { .. }) = self.entries.remove(&oldest)
        {
            // Forgotten altogether: the key may start another, which must not be taken for this one.
            self.closed.retain(|key| *key != oldest);
        }
    }

    /// Those of its processes that were not closed and whose scope is held.
    fn listed(&self, scopes: Scopes) -> Vec<Arc<Held>> {
        let open = self.entries.values().filter_map(|entry| match entry {
            Entry::Process { held, closed: false, .. } if scopes.has(held.scope()) => Some(held),
            _ => None,
        });
        open.cloned().collect()
    }

    /// Its processes, to end them.
    fn processes(&self) -> Vec<Arc<Held>> {
        self.entries.values().filter_map(Entry::held).cloned().collect()
    }
}

impl Handler {
    /// What looks after sessions and processes, once: run it beside the connections, whichever listeners they come from.
    pub fn keeper(self: &Arc<Self>) -> Option<Keeper> {
        let inbox = self.sessions.with(|s| (!mem::replace(&mut s.kept, true)).then(|| s.inbox.clone()))?;
        Some(Keeper::new(self, inbox))
    }

    pub(crate) fn open_session(&self, cx: &mut Cx<'_>, owner: &Arc<str>) -> Result<Lease, Error> {
        let mut entropy = [0; 17];
        cx.entropy(&mut entropy);
        let id: Arc<str> = Id::new(&entropy).as_str().into();
        let until = cx.now().after(self.lease);
        let inbox = self.sessions.with(|s| {
            if self.is_closing() {
                return Err(Error::from(Code::Closed));
            }
            if s.all.len() as u64 >= self.bounds.max_sessions {
                return Err(Error::limit("maxSessions", self.bounds.max_sessions));
            }
            let count = s.of_owner.entry(owner.clone()).or_default();
            if *count >= self.bounds.max_sessions_per_principal {
                return Err(Error::limit("maxSessionsPerPrincipal", self.bounds.max_sessions_per_principal));
            }
            *count += 1;
            let session = Session {
                owner: owner.clone(),
                until,
                entries: BTreeMap::new(),
                spent: VecDeque::new(),
                closed: VecDeque::new(),
                live: 0,
                end: None,
                closers: Vec::new(),
            };
            s.all.insert(id.clone(), session);
            s.due.insert((until, id.clone()));
            Ok(s.inbox.clone())
        })?;
        inbox.wake();
        Ok(self.told(&id))
    }

    /// At the deadline it is too late.
    pub(crate) fn renew_session(&self, now: Moment, owner: &str, id: &str) -> Result<Lease, Error> {
        let until = now.after(self.lease);
        self.sessions.with(|s| {
            let session = s.alive(now, owner, id)?;
            let before = mem::replace(&mut session.until, until);
            if let Some((before, id)) = s.due.take(&(before, id.into())) {
                debug_assert!(before <= until, "time went back");
                s.due.insert((until, id));
            }
            Ok::<_, Error>(())
        })?;
        Ok(self.told(id))
    }

    fn told(&self, id: &str) -> Lease {
        Lease { id: id.into(), lease_ms: u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX) }
    }

    /// Begins to end a session; a second close waits with the first. [`Handler::poll_session_closed`] goes on.
    pub(crate) fn close_session(&self, now: Moment, owner: &str, id: &str) -> Result<(), Error> {
        self.sessions.with(|s| {
            let session = s.all.get_mut(id).filter(|s| &*s.owner == owner).ok_or(Error::from(Code::NoSession))?;
            match session.end {
                Some(Ended::Lapsed) => Err(Error::from(Code::NoSession)),
                None if now >= session.until => Err(Code::NoSession.into()),
                _ => Ok(()),
            }
        })?;
        self.end_session(id, Ended::Closed);
        Ok(())
    }

    /// Whether a session that is ending is gone.
    pub(crate) fn poll_session_closed(&self, cx: &mut Cx<'_>, id: &str) -> Poll<()> {
        self.sessions.with(|s| match s.all.get_mut(id) {
            None => Poll::Ready(()),
            Some(session) => {
                session.closers.push(cx.waker().clone());
                Poll::Pending
            }
        })
    }

    /// Ends every process of a session, side by side.
    fn end_session(&self, id: &str, why: Ended) {
        let processes = self.sessions.with(|s| {
            let Some(session) = s.all.get_mut(id).filter(|s| s.end.is_none()) else { return Vec::new() };
            session.end = Some(why);
            let until = session.until;
            let processes = session.processes();
            s.due.remove(&(until, id.into()));
            processes
        });
        processes.iter().for_each(|held| held.end(why));
        let (wakers, inbox) = self.sessions.with(|s| (s.remove_if_over(id), s.inbox.clone()));
        wakers.into_iter().for_each(Waker::wake);
        // Whose processes had all ended is gone already, and the keeper has to hear of that.
        inbox.wake();
        self.wake_closers();
    }

    /// Ends every session.
    pub(super) fn end_sessions(&self) {
        let ids: Vec<_> = self.sessions.with(|s| s.all.keys().cloned().collect());
        ids.iter().for_each(|id| self.end_session(id, Ended::Closed));
    }

    /// Lets the leases that are due lapse; says when the next one is.
    pub(super) fn lapse(&self, now: Moment) -> Option<Moment> {
        loop {
            let due = self.sessions.with(|s| s.due.first().cloned())?;
            if due.0 > now {
                return Some(due.0);
            }
            self.end_session(&due.1, Ended::Lapsed);
        }
    }

    /// A process has ended.
    pub(super) fn process_ended(&self, held: &Arc<Held>) {
        let wakers = self.sessions.with(|s| {
            s.release(held);
            s.remove_if_over(&held.session)
        });
        wakers.into_iter().for_each(Waker::wake);
        self.wake_closers();
    }

    pub(super) fn gone(&self) -> Vec<u64> {
        self.sessions.with(|s| mem::take(&mut s.gone))
    }

    /// Whether a session is alive and its owner asks.
    pub(crate) fn alive(&self, now: Moment, owner: &str, id: &str) -> Result<(), Error> {
        self.sessions.with(|s| s.alive(now, owner, id).map(drop))
    }

    /// A start under a key of a session; `print` is what was asked, so that the same again is the same start.
    pub(crate) fn begin(
        self: &Arc<Self>,
        now: Moment,
        owner: &str,
        id: &str,
        key: &str,
        print: Box<[u8]>,
    ) -> Result<Begin, Error> {
        let max = self.bounds.max_processes;
        self.sessions.with(|s| {
            let session = s.alive(now, owner, id)?;
            match session.entries.get(key) {
                Some(Entry::Spent | Entry::Process { closed: true, .. } | Entry::Starting { doomed: true, .. }) => {
                    Err(Code::Closed.into())
                }
                Some(Entry::Starting { print: known, .. } | Entry::Process { print: known, .. }) if *known != print => {
                    Err(Code::Exist.into())
                }
                Some(Entry::Process { .. }) => Ok(Begin::Same),
                Some(Entry::Starting { start, .. }) => Ok(Begin::Wait(start.clone())),
                None if session.live >= max => Err(Error::limit("maxProcesses", max)),
                None => {
                    let start = Arc::new(Starting(Lock::default()));
                    let entry = Entry::Starting { print, start: start.clone(), doomed: false };
                    let key: Arc<str> = key.into();
                    session.entries.insert(key.clone(), entry);
                    session.live += 1;
                    let place =
                        Place { handler: self.clone(), session: id.into(), key, start: Some(start), error: None };
                    Ok(Begin::New(place))
                }
            }
        })
    }

    /// The process under an id. With `close` a key never seen is spent, so that a close can overtake its start.
    pub(crate) fn process(&self, now: Moment, owner: &str, id: &str, key: &str, close: bool) -> Result<Found, Error> {
        self.sessions.with(|s| {
            let session = s.alive(now, owner, id)?;
            match session.entries.get_mut(key) {
                Some(Entry::Process { held, .. }) => Ok(Found::Process(held.clone())),
                Some(Entry::Starting { start, doomed, .. }) => {
                    *doomed |= close;
                    Ok(Found::Starting(start.clone()))
                }
                Some(Entry::Spent) => Err(Code::NotExist.into()),
                None => {
                    if close && crate::wire::id::is_id(key) {
                        session.entries.insert(key.into(), Entry::Spent);
                        session.spend(key.into());
                    }
                    Err(Code::NotExist.into())
                }
            }
        })
    }

    /// The processes of a session that were not closed and whose scope the asker holds, by id.
    pub(crate) fn processes(
        &self,
        now: Moment,
        owner: &str,
        id: &str,
        scopes: Scopes,
    ) -> Result<Vec<ProcessRow>, Error> {
        let held = self.sessions.with(|s| s.alive(now, owner, id).map(|session| session.listed(scopes)))?;
        Ok(held.iter().map(|held| held.row()).collect())
    }

    /// The asker's sessions, by id, each with its processes.
    pub(crate) fn session_rows(&self, now: Moment, owner: &str, scopes: Scopes) -> Vec<SessionRow> {
        let own = |s: &Session| &*s.owner == owner && s.end.is_none() && now < s.until;
        let all: Vec<_> = self.sessions.with(|s| {
            s.all.iter().filter(|(_, session)| own(session)).map(|(id, s)| (id.clone(), s.listed(scopes))).collect()
        });
        let row = |(id, held): (Arc<str>, Vec<Arc<Held>>)| SessionRow {
            id: (&*id).into(),
            processes: held.iter().map(|held| held.row()).collect(),
        };
        all.into_iter().map(row).collect()
    }

    /// A process's close begins: its key starts nothing again, and once it has ended it holds no place. It answers on for a while.
    pub(crate) fn close_process(&self, now: Moment, held: &Held) -> Option<WaitStatus> {
        self.sessions.with(|s| {
            let entry = s.all.get_mut(&held.session).and_then(|s| s.entries.get_mut(&held.key));
            if let Some(Entry::Process { closed, .. }) = entry {
                *closed = true;
            }
        });
        let status = held.close(now);
        if status.is_some() {
            self.sessions.with(|s| s.release(held));
        }
        status
    }

    /// How long a lease is.
    pub fn lease(&self) -> Duration {
        self.lease
    }
}

/// A place for a process that is being started. Dropped before it is taken, the start failed.
pub(crate) struct Place {
    handler: Arc<Handler>,
    session: Arc<str>,
    key: Arc<str>,
    start: Option<Arc<Starting>>,
    error: Option<Error>,
}

impl Place {
    /// It runs.
    ///
    /// # Errors
    /// `closed` when its key was closed meanwhile, `no_session` when its session is ending: it is ended at once then.
    pub(crate) fn started(mut self, how: How, process: Box<dyn Process>) -> Result<String, Error> {
        let Some(start) = self.start.take() else { return Err(Error::other("started twice")) };
        let (handler, names) = (self.handler.clone(), (self.session.clone(), self.key.clone()));
        let (held, inbox, fate) = handler.sessions.with(|s| {
            s.next += 1;
            let (number, inbox) = (s.next, s.inbox.clone());
            let held = Arc::new(Held::new(number, names, how, process, inbox.clone()));
            let mut fate = Ok(());
            if let Some(session) = s.all.get_mut(&self.session) {
                if session.end.is_some() {
                    fate = Err(Error::from(Code::NoSession));
                }
                if let Some(entry) = session.entries.get_mut(&self.key) {
                    let Entry::Starting { print, doomed, .. } = entry else { return (held, inbox, fate) };
                    let closed = *doomed;
                    if closed {
                        fate = Err(Code::Closed.into());
                    }
                    *entry = Entry::Process { print: mem::take(print), held: held.clone(), closed, released: false };
                }
            }
            (held, inbox, fate)
        });
        inbox.add(held.clone());
        if let Err(error) = &fate {
            held.end(if error.code == Code::Closed { Ended::Closed } else { Ended::Lapsed });
        }
        start.done(fate.clone());
        fate.map(|()| (&*self.key).into())
    }

    /// It did not start.
    pub(crate) fn failed(mut self, error: Error) -> Error {
        self.error = Some(error.clone());
        error
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(start) = self.start.take() else { return };
        let wakers = self.handler.sessions.with(|s| {
            if let Some(session) = s.all.get_mut(&self.session) {
                session.live -= 1;
                if let Some(Entry::Starting { doomed: true, .. }) = session.entries.remove(&self.key) {
                    session.entries.insert(self.key.clone(), Entry::Spent);
                    session.spend(self.key.clone());
                }
            }
            s.remove_if_over(&self.session)
        });
        wakers.into_iter().for_each(Waker::wake);
        self.handler.wake_closers();
        start.done(Err(self.error.take().unwrap_or_else(|| Error::other("the start was given up"))));
    }
}
