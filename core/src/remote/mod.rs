//! The client: a workspace whose operations are requests. It is written once, over [`Dial`] and [`Transport`]: a runtime only gives it
//! byte streams.
//!
//! [`Transport`]: crate::Transport

mod ask;
mod exec;
mod file;
mod link;
mod pool;
mod reply;
mod request;

use crate::{
    lock::Lock,
    wire::{Bounds, Code, Error, base_url::BaseUrl, route::RouteId},
    workspace::{About, Answer, Call, Called, Dial, Op, Room, Workspace},
};
use alloc::{boxed::Box, string::String, sync::Arc};
use ask::{Ask, Asking, Then};
use request::{Content, Server};

/// The workspace that a server serves, as one here: what it answers, its errors too, is what the served one answered.
///
/// Clones share their connections, of which 16 that are idle are kept. A request that only reads is sent again, once, when a kept
/// connection turns out to be dead; nothing else is ever sent twice, least of all an exec. No redirect is followed, no cookie kept, no
/// content coding taken. What a server sends is bounded and checked; a reply that was cut is an error, never a short content and never
/// an exit code.
///
/// ```
/// use farside_core::{Access, Handler, Remote, inprocess::InProcess, wire::{Scopes, base_url::BaseUrl}};
/// # use farside_core::{Op, Called, Room, Workspace};
/// # struct W; impl Workspace for W { fn call(&self, _: Op<'_>, _: &mut dyn Room) -> Called { Called::Now(None) } }
/// # let workspace = W;
/// let handler = Handler::new(workspace, Access::Insecure(Scopes::ALL));
/// let remote = Remote::new(InProcess(handler), BaseUrl::parse("http://localhost")?);
/// # drop(remote);
/// # Ok::<(), farside_core::wire::Error>(())
/// ```
#[derive(Clone)]
pub struct Remote(Arc<Inner>);

struct Inner {
    dial: Arc<dyn Dial>,
    server: Server,
    idle: pool::Pool,
    about: Lock<Option<Arc<About>>>,
}

impl Remote {
    /// A client of the server at `base`, over connections that `dial` makes. Nothing is sent yet.
    pub fn new(dial: impl Dial + 'static, base: BaseUrl) -> Self {
        Self::of(Arc::new(dial), Server { base, authorization: None })
    }

    /// The same, and every request carries `Authorization: credentials`, such as `Bearer TOKEN`. They are in no URL, no error, and
    /// nothing that is printed.
    ///
    /// # Errors
    /// `invalid` for what cannot stand in a field: it is visible ASCII with blanks between.
    pub fn with_authorization(self, credentials: impl Into<String>) -> Result<Self, Error> {
        let credentials = credentials.into();
        let visible = !credentials.is_empty() && credentials.trim() == credentials;
        if !visible || !credentials.bytes().all(|b| b.is_ascii_graphic() || b == b' ') {
            return Err(Error::invalid("Authorization"));
        }
        let server = Server { base: self.0.server.base.clone(), authorization: Some(credentials) };
        Ok(Self::of(self.0.dial.clone(), server))
    }

    /// Where the server is.
    pub fn base_url(&self) -> &BaseUrl {
        &self.0.server.base
    }

    fn of(dial: Arc<dyn Dial>, server: Server) -> Self {
        Self(Arc::new(Inner { dial, server, idle: pool::Pool::default(), about: Lock::new(None) }))
    }
}

impl core::fmt::Debug for Remote {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Remote").field("base", &self.0.server.base).finish_non_exhaustive()
    }
}

impl Workspace for Remote {
    fn call(&self, op: Op<'_>, _: &mut dyn Room) -> Called {
        self.start(op).map_or_else(|error| Err(error).into(), Called::Later)
    }
}

impl Remote {
    fn start(&self, op: Op<'_>) -> Result<Box<dyn Call>, Error> {
        op.check()?;
        let (route, name, then) = match op {
            Op::About => return Ok(Box::new(self.0.info())),
            Op::Exec(command) => return Ok(Box::new(exec::Starting::new(self.0.clone(), command.clone()))),
            Op::Create { name, perm, size } => {
                return Ok(Box::new(file::Creating(Some(file::Upload::new(self.0.clone(), name, perm, size)?))));
            }
            Op::Stat { name, follow: true } => (RouteId::Stat, name, Then::Meta),
            Op::Stat { name, follow: false } => (RouteId::Lstat, name, Then::Meta),
            Op::ReadLink { name } => (RouteId::ReadLink, name, Then::Target),
            Op::ReadDir { name, max } => (RouteId::ReadDir, name, Then::Listing(max)),
            Op::Open { name } => (RouteId::ReadFile, name, Then::Reader),
            Op::Remove { name } => (RouteId::Remove, name, Then::Done),
            Op::Start(_) | Op::Connect { .. } => return Err(Code::Unsupported.into()),
        };
        let out = self.0.server.request(route, None, &[("path", name)], Content::None);
        Ok(Box::new(Asking::new(Ask::new(self.0.clone(), route, out), then)))
    }
}

impl Inner {
    /// What is known of the server, once it was asked.
    fn about(&self) -> Option<Arc<About>> {
        self.about.with(|about| about.clone())
    }

    /// The bounds the server keeps, once it was asked: a client sends no more.
    fn bounds(&self) -> Option<Bounds> {
        self.about()?.bounds.clone()
    }

    /// Asks for info, and keeps the answer.
    fn info(self: &Arc<Self>) -> Asking {
        let out = self.server.request(RouteId::Info, None, &[], Content::None);
        Asking::new(Ask::new(self.clone(), RouteId::Info, out), Then::About)
    }

    fn keep(&self, about: Arc<About>) -> Answer {
        self.about.with(|known| *known = Some(about.clone()));
        Answer::About(about)
    }
}
