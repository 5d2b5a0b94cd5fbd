//! The routes of sessions and of their processes, but for the bodies of streams (spec, Sessions, starts, keys).

use super::{
    Job, State,
    reply::{self, Refusal, json_reply},
    stream,
};
use crate::{
    carriage::Reply,
    cx::Cx,
    handler::{Begin, Found, Handler, Held, How, Place, Starting},
    wire::{
        Code, Error, Out, Route, RouteId, Scopes, Signal, WaitStatus,
        process::{ConnectRequest, ProcessKind, ServerStart, Size, StartRequest, write_started},
    },
    workspace::{Answer, Called, NoRoom, Op, Start},
};
use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};
use core::{task::Poll, time::Duration};

/// What a process's route is about.
pub(super) enum Target {
    Process(Arc<Held>),
    /// It is being started for somebody.
    Starting(Arc<Starting>),
}

/// Something that takes a while.
pub(super) enum Waiting {
    /// The same start is under way for somebody else.
    Start(Arc<Starting>, String),
    /// A process's routes come after its start.
    Started(Arc<Starting>, Job),
    /// A session is ending.
    Session(String),
    /// A process is to end.
    Wait(Waiter),
    /// It is being closed.
    Closing(Arc<Held>),
}

/// Whoever waits for a process: one at a time.
pub(super) struct Waiter(Arc<Held>);

impl Drop for Waiter {
    fn drop(&mut self) {
        self.0.waiter_left();
    }
}

/// A process that is being started.
pub(super) struct Launch {
    place: Place,
    how: How,
}

/// The scope step of a process's routes: the session, the process, and its own scope.
pub(super) fn target(
    cx: &Cx<'_>,
    handler: &Handler,
    route: &Route,
    owner: &str,
    scopes: Scopes,
    (session, process): (&str, &str),
) -> Result<Target, Error> {
    match handler.process(cx.now(), owner, session, process, route.id == RouteId::CloseProcess)? {
        Found::Process(held) if !scopes.has(held.scope()) => Err(Code::Forbidden.into()),
        Found::Process(held) => Ok(Target::Process(held)),
        Found::Starting(start) => Ok(Target::Starting(start)),
    }
}

/// Checks a route's JSON, before its query and before anything is looked up.
pub(super) fn check(route: RouteId, body: &[u8]) -> Result<(), Error> {
    match route {
        RouteId::StartProcess => StartRequest::parse(body).map(drop),
        RouteId::Connect => ConnectRequest::parse(body).map(drop),
        RouteId::StartServer => ServerStart::parse(body).map(drop),
        RouteId::Signal => Signal::parse(body).map(drop),
        RouteId::Resize => Size::parse(body).map(drop),
        _ => Ok(()),
    }
}

/// Answers a request whose body is there.
pub(super) fn operate(
    cx: &mut Cx<'_>,
    handler: &Arc<Handler>,
    job: &mut Job,
    body: &[u8],
    out: &mut dyn Reply,
) -> Result<State, Refusal> {
    let owner = job.principal.name.clone();
    let session = job.session.as_deref().unwrap_or_default();
    match job.route.id {
        RouteId::OpenSession => {
            let lease = handler.open_session(cx, &owner).map_err(Refusal::mapped_closing)?;
            return json_reply(&mut |o| lease.write(o), out);
        }
        RouteId::RenewSession => {
            let lease = handler.renew_session(cx.now(), &owner, session)?;
            return json_reply(&mut |o| lease.write(o), out);
        }
        RouteId::CloseSession => {
            handler.close_session(cx.now(), &owner, session)?;
            return Ok(State::Waiting(Waiting::Session(session.into())));
        }
        RouteId::StartProcess | RouteId::Connect | RouteId::StartServer => return start(cx, handler, job, body, out),
        _ => {}
    }
    match job.target.take() {
        Some(Target::Process(held)) => process(cx, handler, job.route.id, held, body, out),
        Some(Target::Starting(start)) => {
            let mut job = job.take();
            job.body = body.into();
            Ok(State::Waiting(Waiting::Started(start, job)))
        }
        None => Err(Error::from(Code::Unsupported).into()),
    }
}

fn process(
    cx: &mut Cx<'_>,
    handler: &Arc<Handler>,
    route: RouteId,
    held: Arc<Held>,
    body: &[u8],
    out: &mut dyn Reply,
) -> Result<State, Refusal> {
    match route {
        RouteId::Stdin => return Ok(State::Input(stream::Input::new(held)?)),
        RouteId::Stdout => return stream::output(held.claim_stdout()?, held, out),
        RouteId::Stderr => return stream::output(held.claim_stderr()?, held, out),
        RouteId::Wait => {
            return match held.wait()? {
                Some(status) => answer(handler, &status, out),
                None => Ok(State::Waiting(Waiting::Wait(Waiter(held)))),
            };
        }
        RouteId::CloseProcess => {
            return match handler.close_process(cx.now(), &held) {
                Some(status) => answer(handler, &status, out),
                None => Ok(State::Waiting(Waiting::Closing(held))),
            };
        }
        RouteId::Signal => held.signal(Signal::parse(body)?)?,
        RouteId::Resize => held.resize(Size::parse(body)?)?,
        RouteId::Cancel => held.cancel()?,
        _ => return Err(Error::from(Code::Unsupported).into()),
    }
    reply::no_content(out);
    Ok(State::Done)
}

fn answer(handler: &Handler, status: &WaitStatus, out: &mut dyn Reply) -> Result<State, Refusal> {
    json_reply(&mut |o| status.write(o, handler.bounds.max_error_bytes), out)
}

/// A start that was read: what it asks of the workspace, and what tells it from another.
enum Asked {
    Command(Start),
    Port(u16),
}

/// The three keyed starts.
fn start(
    cx: &mut Cx<'_>,
    handler: &Arc<Handler>,
    job: &Job,
    body: &[u8],
    out: &mut dyn Reply,
) -> Result<State, Refusal> {
    let mut print = Vec::from([job.route.id as u8]);
    let (asked, key, how) = match job.route.id {
        RouteId::StartProcess => {
            let mut request = StartRequest::parse(body)?;
            let key = String::from(core::mem::take(&mut request.key));
            if request.dir == "." {
                request.dir = "".into();
            }
            request.write(&mut print);
            let how = How { kind: ProcessKind::Command, stderr: request.stderr, terminal: request.terminal.is_some() };
            (Asked::Command(command(request)), key, how)
        }
        RouteId::Connect => {
            let request = ConnectRequest::parse(body)?;
            print.put_u64(request.port.into());
            let how = How { kind: ProcessKind::Stream, stderr: false, terminal: false };
            (Asked::Port(request.port), request.key.into(), how)
        }
        _ => {
            ServerStart::parse(body)?;
            handler.alive(cx.now(), &job.principal.name, job.session.as_deref().unwrap_or_default())?;
            return Err(Error::from(Code::Unsupported).into());
        }
    };
    if handler.is_closing() {
        return Err(Refusal::closing());
    }
    let session = job.session.as_deref().unwrap_or_default();
    let place = match handler.begin(cx.now(), &job.principal.name, session, &key, print.into())? {
        Begin::New(place) => place,
        Begin::Same => return json_reply(&mut |o| write_started(o, &key), out),
        Begin::Wait(start) => return Ok(State::Waiting(Waiting::Start(start, key))),
    };
    let op = match &asked {
        Asked::Command(start) => Op::Start(start),
        Asked::Port(port) => Op::Connect { port: *port },
    };
    let launch = Launch { place, how };
    let mut call = handler.workspace.call(op, &mut NoRoom);
    match call.poll(cx, &mut NoRoom) {
        Poll::Pending => Ok(State::Launching { call, launch: Box::new(launch) }),
        Poll::Ready(answer) => launched(answer, launch, out),
    }
}

fn command(request: StartRequest<'_>) -> Start {
    Start {
        args: request.args.into_iter().map(Into::into).collect(),
        dir: request.dir.into(),
        env: request.env.into_iter().map(Into::into).collect(),
        timeout: (request.timeout_ms > 0).then(|| Duration::from_millis(request.timeout_ms)),
        stderr: request.stderr,
        terminal: request.terminal,
    }
}

/// The workspace has answered a start.
pub(super) fn launched(answer: Result<Answer, Error>, launch: Launch, out: &mut dyn Reply) -> Result<State, Refusal> {
    let Launch { place, how } = launch;
    let process = match answer {
        Ok(Answer::Process(process)) => process,
        Ok(_) => return Err(place.failed(Error::other("the workspace answered another operation")).into()),
        Err(error) if how.kind == ProcessKind::Stream => return Err(Refusal::unreachable(place.failed(error))),
        Err(error) => return Err(Refusal::mapped(place.failed(error))),
    };
    let id = place.started(how, process)?;
    json_reply(&mut |o| write_started(o, &id), out)
}

/// Goes on with what takes a while.
pub(super) fn poll(
    cx: &mut Cx<'_>,
    handler: &Arc<Handler>,
    waiting: &mut Waiting,
    out: &mut dyn Reply,
) -> Poll<Result<State, Refusal>> {
    let ready = match waiting {
        Waiting::Start(start, key) => match start.poll(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) => json_reply(&mut |o| write_started(o, key), out),
            Poll::Ready(Err(error)) => Err(Refusal::mapped(error)),
        },
        Waiting::Started(start, job) => match start.poll(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(_)) => Err(Error::from(Code::NotExist).into()),
            Poll::Ready(Ok(())) => again(cx, handler, job, out),
        },
        Waiting::Session(id) => match handler.poll_session_closed(cx, id) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(()) => {
                reply::no_content(out);
                Ok(State::Done)
            }
        },
        Waiting::Wait(Waiter(held)) => match held.poll_wait(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(status) => answer(handler, &status, out),
        },
        Waiting::Closing(held) => match held.poll_closed(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(status) => answer(handler, &status, out),
        },
    };
    Poll::Ready(ready)
}

/// The process is there now.
fn again(cx: &mut Cx<'_>, handler: &Arc<Handler>, job: &mut Job, out: &mut dyn Reply) -> Result<State, Refusal> {
    let names = (job.session.as_deref().unwrap_or_default(), job.process.as_deref().unwrap_or_default());
    let target = target(cx, handler, job.route, &job.principal.name, job.principal.scopes, names)?;
    job.target = Some(target);
    let body = core::mem::take(&mut job.body);
    operate(cx, handler, job, &body, out)
}

/// Starting something takes its time elsewhere.
pub(super) fn poll_launch(cx: &mut Cx<'_>, call: &mut Called) -> Poll<Result<Answer, Error>> {
    call.poll(cx, &mut NoRoom)
}
