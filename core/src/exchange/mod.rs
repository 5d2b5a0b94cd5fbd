//! One request and its reply, whatever carries it. The order of checks is the spec's: guard, authenticator, route and method, scope,
//! media type, stated size, JSON, query and names, the operation; a refusal at one step shows nothing of the later ones.

mod beat;
mod exec;
mod file;
mod reply;
#[cfg(feature = "std")]
mod session;
#[cfg(feature = "std")]
mod stream;

use crate::{
    access::{Access, AccessError, Principal},
    carriage::{Body, Part, Reply},
    cx::Cx,
    guard::{guard, media_type},
    handler::Handler,
    wire::{
        Code, Error, ExecRequest, Info, Query, Route, RouteId, Scopes,
        file::write_target,
        http::{Framing, RequestHead},
        json, name,
        route::{BodyKind, Found, Needs, find},
    },
    workspace::{About, Answer, Called, Op},
};
use alloc::{string::String, sync::Arc, vec::Vec};
use beat::Beat;
use core::task::Poll;
use reply::Refusal;

/// The extensions of the wire that this handler has (spec, Extensions).
#[cfg(feature = "std")]
const EXTENSIONS: &[&str] = &["list", "apart", "heartbeat"];
/// Without sessions there is nothing to list.
#[cfg(not(feature = "std"))]
const EXTENSIONS: &[&str] = &["apart", "heartbeat"];

/// A request that is being answered.
pub struct Exchange {
    state: State,
    /// Whether the request's body was read to its end: if not, nothing may follow on its connection.
    body_read: bool,
    gone: bool,
}

enum State {
    /// The body is collected before anything is done.
    Collect {
        job: Job,
        data: Vec<u8>,
        max: u64,
        bound: &'static str,
    },
    /// The workspace was asked.
    Calling {
        call: Called,
        then: Then,
    },
    /// A file goes out.
    Sending(file::Sending),
    /// A file comes in.
    Receiving(file::Receiving),
    /// A command runs.
    Exec(exec::Running),
    /// A process is being started.
    #[cfg(feature = "std")]
    Launching {
        call: Called,
        launch: alloc::boxed::Box<session::Launch>,
    },
    /// Something of a session takes a while.
    #[cfg(feature = "std")]
    Waiting(session::Waiting),
    /// A process's input comes in.
    #[cfg(feature = "std")]
    Input(stream::Input),
    /// A process's output goes out.
    #[cfg(feature = "std")]
    Output(stream::Output),
    Done,
}

/// What is done once the body is there.
struct Job {
    route: &'static Route,
    principal: Principal,
    query: Option<String>,
    key: Option<String>,
    session: Option<String>,
    process: Option<String>,
    /// The process that a process's route is about, once it was looked up.
    #[cfg(feature = "std")]
    target: Option<session::Target>,
    /// The body, if it has to wait with the rest.
    body: Vec<u8>,
}

#[cfg(feature = "std")]
impl Job {
    fn take(&mut self) -> Self {
        let (route, principal) = (self.route, self.principal.clone());
        Self {
            route,
            principal,
            query: self.query.take(),
            key: self.key.take(),
            session: self.session.take(),
            process: self.process.take(),
            target: self.target.take(),
            body: core::mem::take(&mut self.body),
        }
    }
}

/// What becomes of an answer.
enum Then {
    Info(Scopes),
    /// `{"info":..}` under the asked name's last element.
    Info1(String),
    Entries,
    Target,
    File(crate::handler::Transfer),
    /// And the size of the body, if it was stated.
    Put(crate::handler::Transfer, Option<u64>),
    Done,
    Exec(exec::Starting),
}

impl Exchange {
    /// Runs as far as it can while the head is still in the receive buffer: a `stat` copies and allocates nothing.
    pub fn begin(cx: &mut Cx<'_>, handler: &Arc<Handler>, head: &RequestHead<'_>, out: &mut dyn Reply) -> Self {
        let body_read = matches!(head.framing, Framing::Length(0));
        let mut exchange = Self { state: State::Done, body_read, gone: false };
        exchange.state = match route(cx, handler, head, out) {
            Ok(state) => state,
            Err(refusal) => exchange.refuse(&refusal, handler, out),
        };
        exchange
    }

    /// Goes on; `Ready` when the reply is whole (or cut) and nothing of it is left running.
    pub fn poll(
        &mut self,
        cx: &mut Cx<'_>,
        handler: &Arc<Handler>,
        body: &mut dyn Body,
        out: &mut dyn Reply,
    ) -> Poll<()> {
        if !self.gone && body.hung_up() {
            self.gone = true;
            if let State::Exec(run) = &mut self.state {
                run.interrupt();
            }
        }
        loop {
            let next = match &mut self.state {
                State::Done => return Poll::Ready(()),
                State::Collect { job, data, max, bound } => match body.part() {
                    Part::More => return Poll::Pending,
                    Part::Cut => return self.cut(out),
                    Part::Fault(fault) => Err(Refusal::fault(fault)),
                    Part::Data(bytes) if (data.len() + bytes.len()) as u64 > *max => {
                        Err(Error::limit(*bound, *max).into())
                    }
                    Part::Data(bytes) => {
                        data.extend_from_slice(bytes);
                        let n = bytes.len();
                        body.consume(n);
                        continue;
                    }
                    Part::End => {
                        self.body_read = true;
                        collected(cx, handler, job, data, out)
                    }
                },
                State::Calling { call, .. } => match call.poll(cx, out.draft()) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(answer) => {
                        let State::Calling { then, .. } = core::mem::replace(&mut self.state, State::Done) else {
                            continue;
                        };
                        answered(cx, handler, answer, then, out)
                    }
                },
                State::Sending(sending) => match sending.poll(cx, out) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(())) => Ok(State::Done),
                    Poll::Ready(Err(_)) => return self.cut(out),
                },
                State::Receiving(receiving) => match receiving.poll(cx, handler, body, out, &mut self.body_read) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(true)) => Ok(State::Done),
                    Poll::Ready(Ok(false)) => return self.cut(out),
                    Poll::Ready(Err(refusal)) => Err(refusal),
                },
                State::Exec(run) => match run.poll(cx, handler, self.gone, out) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(()) => Ok(State::Done),
                },
                #[cfg(feature = "std")]
                State::Launching { call, .. } => match session::poll_launch(cx, call) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(answer) => {
                        let State::Launching { launch, .. } = core::mem::replace(&mut self.state, State::Done) else {
                            continue;
                        };
                        session::launched(answer, *launch, out)
                    }
                },
                // Whoever asked is gone: what it waited for goes on without it.
                #[cfg(feature = "std")]
                State::Waiting(_) | State::Output(_) if self.gone => return self.cut(out),
                #[cfg(feature = "std")]
                State::Waiting(waiting) => match session::poll(cx, handler, waiting, out) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(next) => next,
                },
                #[cfg(feature = "std")]
                State::Input(input) => match input.poll(cx, body, out, &mut self.body_read) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(true)) => Ok(State::Done),
                    Poll::Ready(Ok(false)) => return self.cut(out),
                    Poll::Ready(Err(refusal)) => Err(refusal),
                },
                #[cfg(feature = "std")]
                State::Output(output) => match output.poll(cx, out) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(true) => Ok(State::Done),
                    Poll::Ready(false) => return self.cut(out),
                },
            };
            self.state = match next {
                Ok(state) => state,
                Err(refusal) => self.refuse(&refusal, handler, out),
            };
        }
    }

    /// Whether more of the request's body is waited for.
    pub fn wants_body(&self) -> bool {
        #[cfg(feature = "std")]
        if matches!(self.state, State::Input(_)) {
            return !self.body_read;
        }
        matches!(self.state, State::Collect { .. } | State::Receiving(_)) && !self.body_read
    }

    /// Whether neither half has to make progress: a process's streams take the time that the process and its owner take.
    pub(crate) fn is_patient(&self) -> bool {
        #[cfg(feature = "std")]
        return matches!(self.state, State::Input(_) | State::Output(_) | State::Waiting(_));
        #[cfg(not(feature = "std"))]
        false
    }

    /// How much of a body that is a file is coming, at most: a buffer that large serves it best.
    pub fn bulk(&self) -> u64 {
        match &self.state {
            State::Receiving(receiving) => receiving.size.unwrap_or(u64::MAX),
            _ => 0,
        }
    }

    /// Whether something that may take for ever ends with its peer's leaving, a command or a wait: it has to be heard.
    pub fn hears_its_peer_leave(&self) -> bool {
        #[cfg(feature = "std")]
        if matches!(self.state, State::Waiting(_) | State::Output(_)) {
            return true;
        }
        matches!(self.state, State::Exec(_))
    }

    /// Whether it is of no use to a peer that can be sent nothing; anything else is brought to its end.
    pub fn ends_with_its_peer(&self) -> bool {
        matches!(self.state, State::Collect { .. } | State::Sending(_) | State::Receiving(_))
    }

    /// The body makes no progress: 408.
    pub(crate) fn stalled(&mut self, handler: &Arc<Handler>, out: &mut dyn Reply) {
        self.state = self.refuse(&Refusal::stalled(), handler, out);
    }

    fn refuse(&self, refusal: &Refusal, handler: &Handler, out: &mut dyn Reply) -> State {
        refusal.reply(handler, !self.body_read, out);
        State::Done
    }

    fn cut(&mut self, out: &mut dyn Reply) -> Poll<()> {
        out.cut();
        self.state = State::Done;
        Poll::Ready(())
    }
}

/// The checks on the head, and as much of the operation as can be done at once.
fn route(
    cx: &mut Cx<'_>,
    handler: &Arc<Handler>,
    head: &RequestHead<'_>,
    out: &mut dyn Reply,
) -> Result<State, Refusal> {
    guard(head, &handler.access)?;
    let principal = principal(handler, head)?;
    let (route, params) = match find(head.method, head.target.path, EXTENSIONS) {
        Found::Route(route, params) => (route, params),
        Found::Method(allow) => return Err(Refusal::method(allow)),
        Found::Unknown => return Err(Refusal::unknown()),
    };
    if !route.needs.allows(principal.scopes) {
        return Err(Error::from(Code::Forbidden).into());
    }
    #[cfg(feature = "std")]
    let target = match (route.needs, params.session, params.process) {
        (Needs::Own, Some(session), Some(process)) => {
            let names = (session, process);
            Some(session::target(cx, handler, route, &principal.name, principal.scopes, names)?)
        }
        _ => None,
    };
    let job = |principal: Principal| Job {
        route,
        principal,
        query: head.target.query.map(String::from),
        key: params.key.map(String::from),
        session: params.session.map(String::from),
        process: params.process.map(String::from),
        #[cfg(feature = "std")]
        target,
        body: Vec::new(),
    };
    let (max, bound) = body_bound(handler, route);
    if head.framing != Framing::Length(0) {
        media_type(head, route.body.media_type()).map_err(Refusal::media_type)?;
        if route.body != BodyKind::Raw && matches!(head.framing, Framing::Length(n) if n > max) {
            return Err(Error::limit(bound, max).into());
        }
        if !matches!(route.body, BodyKind::File | BodyKind::Raw) {
            return Ok(State::Collect { job: job(principal), data: Vec::new(), max, bound });
        }
    } else if route.body == (BodyKind::Json { optional: false }) {
        return Err(Error::invalid("the body is empty").into());
    }
    #[cfg(feature = "std")]
    if route.pattern.starts_with("/v1/sessions") {
        return session(cx, handler, &mut job(principal), &[], out);
    }
    let size = match head.framing {
        Framing::Length(n) => Some(n),
        _ => None,
    };
    operate(cx, handler, route, principal, head.target.query, params.key, size, out)
}

fn principal(handler: &Handler, head: &RequestHead<'_>) -> Result<Principal, Refusal> {
    let principal = match &handler.access {
        Access::Refuse => Err(AccessError::Refused),
        Access::Insecure(scopes) => Ok(Principal { name: handler.local.clone(), scopes: *scopes }),
        Access::Authenticated { authenticator, .. } => authenticator.authenticate(head),
    };
    match principal {
        Ok(principal) if !principal.name.is_empty() => Ok(principal),
        Ok(_) | Err(AccessError::Refused) => Err(Error::from(Code::Unauthenticated).into()),
        Err(AccessError::Failed) => Err(Error::from(Code::Other).into()),
    }
}

/// How long a route's body may be, and the bound that says so.
fn body_bound(handler: &Handler, route: &Route) -> (u64, &'static str) {
    match route.id {
        RouteId::WriteFile => (handler.bounds.max_write_bytes, "maxWriteBytes"),
        RouteId::Exec => (handler.bounds.exec_request_bytes(), "maxRequestBytes"),
        _ => (handler.bounds.max_request_bytes, "maxRequestBytes"),
    }
}

/// The body of a route that takes JSON, or none, is there.
fn collected(
    cx: &mut Cx<'_>,
    handler: &Arc<Handler>,
    job: &mut Job,
    data: &[u8],
    out: &mut dyn Reply,
) -> Result<State, Refusal> {
    if job.route.id == RouteId::Exec {
        let request = ExecRequest::parse(data, &handler.bounds)?;
        let beat = Beat::asked(cx, &Query::parse(job.query.as_deref(), job.route.query)?)?;
        return exec::start(cx, handler, &job.principal, &request, beat, out);
    }
    if !(data.is_empty() && job.route.body != (BodyKind::Json { optional: false })) {
        let value = json::parse(data)?;
        value.as_object().ok_or(Error::invalid("not a JSON object"))?;
    }
    #[cfg(feature = "std")]
    if job.route.pattern.starts_with("/v1/sessions") {
        return session(cx, handler, job, data, out);
    }
    let principal = job.principal.clone();
    operate(cx, handler, job.route, principal, job.query.as_deref(), job.key.as_deref(), None, out)
}

/// A session's route: its JSON, then its query, then the operation.
#[cfg(feature = "std")]
fn session(
    cx: &mut Cx<'_>,
    handler: &Arc<Handler>,
    job: &mut Job,
    data: &[u8],
    out: &mut dyn Reply,
) -> Result<State, Refusal> {
    session::check(job.route.id, data)?;
    Query::parse(job.query.as_deref(), job.route.query)?;
    session::operate(cx, handler, job, data, out)
}

/// Everything that needs no JSON.
#[allow(clippy::too_many_arguments, reason = "the parts of a request whose head may be gone by now")]
fn operate(
    cx: &mut Cx<'_>,
    handler: &Arc<Handler>,
    route: &'static Route,
    principal: Principal,
    query: Option<&str>,
    key: Option<&str>,
    size: Option<u64>,
    out: &mut dyn Reply,
) -> Result<State, Refusal> {
    let call = |cx: &mut Cx<'_>, op: Op<'_>, then: Then, out: &mut dyn Reply| {
        let mut call = handler.workspace.call(op, out.draft());
        match call.poll(cx, out.draft()) {
            Poll::Pending => Ok(State::Calling { call, then }),
            Poll::Ready(answer) => answered(cx, handler, answer, then, out),
        }
    };
    let query = Query::parse(query, route.query)?;
    match route.id {
        RouteId::Info => return call(cx, Op::About, Then::Info(principal.scopes), out),
        RouteId::CancelExec => {
            handler.cancel(cx.now(), &principal.name, key.unwrap_or_default())?;
            reply::no_content(out);
            return Ok(State::Done);
        }
        // A row of the table that this build answers for nobody.
        _ if !route.pattern.starts_with("/v1/fs/") => return Err(Error::from(Code::Unsupported).into()),
        _ => {}
    }
    let name = &*query.name("path")?;
    match route.id {
        RouteId::Stat | RouteId::Lstat => {
            let op = Op::Stat { name, follow: route.id == RouteId::Stat };
            let mut called = handler.workspace.call(op, out.draft());
            match called.poll(cx, out.draft()) {
                Poll::Pending => Ok(State::Calling { call: called, then: Then::Info1(name::last(name).into()) }),
                Poll::Ready(answer) => reply::stat(answer, name::last(name), out),
            }
        }
        RouteId::ReadLink => call(cx, Op::ReadLink { name }, Then::Target, out),
        RouteId::ReadDir => call(cx, Op::ReadDir { name, max: handler.bounds.max_dir_entries }, Then::Entries, out),
        RouteId::ReadFile => call(cx, Op::Open { name }, Then::File(handler.transfer()?), out),
        RouteId::WriteFile => {
            call(cx, Op::Create { name, perm: query.perm("perm")?, size }, Then::Put(handler.transfer()?, size), out)
        }
        RouteId::Remove => call(cx, Op::Remove { name }, Then::Done, out),
        _ => Err(Error::from(Code::Unsupported).into()),
    }
}

/// The workspace has answered.
fn answered(
    cx: &mut Cx<'_>,
    handler: &Arc<Handler>,
    answer: Result<Answer, Error>,
    then: Then,
    out: &mut dyn Reply,
) -> Result<State, Refusal> {
    let answer = match (answer, then) {
        (Ok(answer), Then::Exec(starting)) => return exec::started(cx, answer, starting, out),
        (Err(error), _) => return Err(Refusal::mapped(error)),
        (Ok(answer), then) => (answer, then),
    };
    match answer {
        (Answer::About(about), Then::Info(scopes)) => reply::info(&info(&about, handler, scopes)?, out),
        (Answer::Meta(meta), Then::Info1(name)) => reply::stat(Ok(Answer::Meta(meta)), &name, out),
        (Answer::Listing(listing), Then::Entries) => reply::json(handler, &mut |o| listing.write(o), out),
        (Answer::Target(target), Then::Target) => reply::json(handler, &mut |o| write_target(o, &target), out),
        (Answer::Whole(n), Then::File(_)) => {
            out.whole_from_room(&reply::file_head(None), n);
            Ok(State::Done)
        }
        (Answer::Reader(reader), Then::File(transfer)) => Ok(file::send(reader, transfer, out)),
        (Answer::Sink(sink), Then::Put(transfer, size)) => {
            Ok(State::Receiving(file::Receiving::new(sink, size, transfer)))
        }
        (Answer::Done, Then::Done) => {
            reply::no_content(out);
            Ok(State::Done)
        }
        _ => Err(Error::other("the workspace answered another operation").into()),
    }
}

/// What info says of a workspace to a principal that holds `scopes`.
fn info(about: &About, handler: &Handler, scopes: Scopes) -> Result<Info, Error> {
    let whole = Info {
        root: about.root.clone(),
        descriptor: about.descriptor.clone(),
        links: Some(about.links),
        start: Some(about.start),
        connect: Some(about.connect),
        bounds: handler.bounds.clone(),
        reach: Some(about.reach),
        scopes: Some(scopes),
        env: Some(about.env.clone()),
        extensions: EXTENSIONS.iter().map(|&e| e.into()).collect(),
        ..Info::default()
    };
    whole.for_scopes(scopes)
}
