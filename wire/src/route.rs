//! The routes: one table, from which the matcher and the docs come (spec, Wire).

use crate::{Scope, Scopes};

/// The media type of JSON bodies.
pub const JSON: &str = "application/json";
/// The media type of a file's content and of a process's pipes.
pub const OCTETS: &str = "application/octet-stream";
/// The media type of an exec's reply.
pub const NDJSON: &str = "application/x-ndjson";

/// A method of the wire.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Method {
    /// `GET`
    Get,
    /// `HEAD`
    Head,
    /// `PUT`
    Put,
    /// `POST`
    Post,
    /// `DELETE`
    Delete,
}

impl Method {
    const ALL: [Self; 5] = [Self::Get, Self::Head, Self::Put, Self::Post, Self::Delete];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }

    /// The method of that name, letter for letter.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// What a principal needs for a route.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Needs {
    /// `read` or `servers`.
    ReadOrServers,
    /// `read`.
    Read,
    /// `write`.
    Write,
    /// `exec`.
    Exec,
    /// `servers`.
    Servers,
    /// `exec` or `servers`.
    Either,
    /// `exec` or `servers`; then, once the process is found, the scope it was started under.
    Own,
}

impl Needs {
    /// Whether `scopes` are enough, as far as the route alone shows.
    pub const fn allows(self, scopes: Scopes) -> bool {
        match self {
            Self::ReadOrServers => scopes.has(Scope::Read) || scopes.has(Scope::Servers),
            Self::Read => scopes.has(Scope::Read),
            Self::Write => scopes.has(Scope::Write),
            Self::Exec => scopes.has(Scope::Exec),
            Self::Servers => scopes.has(Scope::Servers),
            Self::Either | Self::Own => scopes.has(Scope::Exec) || scopes.has(Scope::Servers),
        }
    }

    /// The word for it in the reference.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOrServers => "read or servers",
            Self::Read => "read",
            Self::Write => "write",
            Self::Exec => "exec",
            Self::Servers => "servers",
            Self::Either => "either",
            Self::Own => "its own",
        }
    }
}

/// What a request's body is.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum BodyKind {
    /// None is needed; one that comes is a JSON object and ignored.
    None,
    /// A JSON object.
    Json {
        /// Whether none is as good as `{}`.
        optional: bool,
    },
    /// A file's content, at most `maxWriteBytes`.
    File,
    /// Bytes without an end of their own.
    Raw,
}

impl BodyKind {
    /// The media type a body must have. (No body, or one of length 0, needs none.)
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::None | Self::Json { .. } => JSON,
            Self::File | Self::Raw => OCTETS,
        }
    }
}

/// One route.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Route {
    /// Which.
    pub id: RouteId,
    /// Its method.
    pub method: Method,
    /// Its path; `{s}`, `{p}`, `{n}` and `{key}` stand for one element each.
    pub pattern: &'static str,
    /// The query parameters it knows.
    pub query: &'static [&'static str],
    /// What a principal needs.
    pub needs: Needs,
    /// What the request's body is.
    pub body: BodyKind,
    /// The media type of a good reply; `None` is 204 without a body.
    pub reply: Option<&'static str>,
    /// Whether HEAD is answered too.
    pub head: bool,
    /// The extension it belongs to; `None` is a route that the reference states.
    pub extension: Option<&'static str>,
    /// What it does.
    pub doc: &'static str,
}

/// Makes [`RouteId`] and [`ROUTES`] from one list.
macro_rules! routes {
    ($($id:ident: $method:ident $pattern:literal [$($query:literal),*], $needs:ident, $body:expr => $reply:expr, $head:literal, $extension:expr;
       $doc:literal;)*) => {
        /// A route, by name.
        #[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
        #[non_exhaustive]
        pub enum RouteId {
            $(#[doc = concat!("`", stringify!($method), " ", $pattern, "`: ", $doc)] $id,)*
        }

        /// Every route, in the order of the reference; those of extensions come last.
        pub static ROUTES: &[Route] = &[$(Route {
            id: RouteId::$id,
            method: Method::$method,
            pattern: $pattern,
            query: &[$($query),*],
            needs: Needs::$needs,
            body: $body,
            reply: $reply,
            head: $head,
            extension: $extension,
            doc: $doc,
        },)*];
    };
}

const NO_BODY: BodyKind = BodyKind::None;
const JSON_BODY: BodyKind = BodyKind::Json { optional: false };

routes! {
    Info: Get "/v1/info" [], ReadOrServers, NO_BODY => Some(JSON), true, None;
        "Root, descriptor, bounds, scopes, and what may be done here.";
    Stat: Get "/v1/fs/stat" ["path"], Read, NO_BODY => Some(JSON), true, None;
        "What is known of a file, links followed.";
    Lstat: Get "/v1/fs/lstat" ["path"], Read, NO_BODY => Some(JSON), true, None;
        "What is known of a file or of a link itself.";
    ReadLink: Get "/v1/fs/readlink" ["path"], Read, NO_BODY => Some(JSON), true, None;
        "Where a link leads.";
    ReadDir: Get "/v1/fs/readdir" ["path"], Read, NO_BODY => Some(JSON), true, None;
        "The entries of a directory.";
    ReadFile: Get "/v1/fs/file" ["path"], Read, NO_BODY => Some(OCTETS), true, None;
        "A regular file's content.";
    WriteFile: Put "/v1/fs/file" ["path", "perm"], Write, BodyKind::File => None, false, None;
        "Makes a file, or gives it new content, whole or not at all.";
    Remove: Delete "/v1/fs/file" ["path", "recursive"], Write, NO_BODY => None, false, None;
        "Removes what is no directory, or an empty directory; with `recursive=1` (extension `tree`) all of it.";
    Exec: Post "/v1/exec" ["heartbeat"], Exec, JSON_BODY => Some(NDJSON), false, None;
        "Runs a command; frames are the reply.";
    CancelExec: Post "/v1/exec/{key}/cancel" [], Exec, NO_BODY => None, false, None;
        "Ends the exec running under the key; its own reply carries the output so far.";
    Servers: Get "/v1/servers" [], Servers, NO_BODY => Some(JSON), true, None;
        "The offered MCP servers, in their order.";
    OpenSession: Post "/v1/sessions" [], Either, BodyKind::Json { optional: true } => Some(JSON), false, None;
        "Opens a session.";
    RenewSession: Post "/v1/sessions/{s}/renew" [], Either, NO_BODY => Some(JSON), false, None;
        "Renews its lease.";
    CloseSession: Delete "/v1/sessions/{s}" [], Either, NO_BODY => None, false, None;
        "Ends every process it started.";
    StartProcess: Post "/v1/sessions/{s}/processes" [], Exec, JSON_BODY => Some(JSON), false, None;
        "Starts a command; the key becomes its id.";
    Connect: Post "/v1/sessions/{s}/connect" [], Exec, JSON_BODY => Some(JSON), false, None;
        "Connects to a port on the workspace's loopback; the stream is a process.";
    StartServer: Post "/v1/sessions/{s}/servers/{n}/start" [], Servers, JSON_BODY => Some(JSON), false, None;
        "Starts an offered server as a process.";
    Stdin: Post "/v1/sessions/{s}/processes/{p}/stdin" ["offset"], Own, BodyKind::Raw => None, false, None;
        "The body is its input; the body's end is end of file.";
    Stdout: Get "/v1/sessions/{s}/processes/{p}/stdout" ["offset"], Own, NO_BODY => Some(OCTETS), false, None;
        "Its output, as it comes.";
    Stderr: Get "/v1/sessions/{s}/processes/{p}/stderr" ["offset"], Own, NO_BODY => Some(OCTETS), false, None;
        "Its standard error, if the start asked for it.";
    Wait: Get "/v1/sessions/{s}/processes/{p}/wait" ["heartbeat"], Own, NO_BODY => Some(JSON), false, None;
        "A long poll for its end, the same each time.";
    Signal: Post "/v1/sessions/{s}/processes/{p}/signal" [], Own, JSON_BODY => None, false, None;
        "Sends a signal to its process group.";
    Cancel: Post "/v1/sessions/{s}/processes/{p}/cancel" [], Own, NO_BODY => None, false, None;
        "Ends it as its context's end does.";
    Resize: Post "/v1/sessions/{s}/processes/{p}/resize" [], Own, JSON_BODY => None, false, None;
        "Its terminal's size.";
    CloseProcess: Delete "/v1/sessions/{s}/processes/{p}" [], Own, NO_BODY => Some(JSON), false, None;
        "Ends it politely; the reply is that of wait.";
    ListSessions: Get "/v1/sessions" [], Either, NO_BODY => Some(JSON), false, Some("list");
        "The principal's sessions, by id.";
    ListProcesses: Get "/v1/sessions/{s}/processes" [], Either, NO_BODY => Some(JSON), false, Some("list");
        "A session's processes that are not closed, by id.";
    Mkdir: Post "/v1/fs/mkdir" ["path", "perm"], Write, NO_BODY => None, false, Some("tree");
        "Makes a directory and its parents.";
    Rename: Post "/v1/fs/rename" [], Write, JSON_BODY => None, false, Some("tree");
        "Gives a file or a directory another name.";
    Chmod: Post "/v1/fs/chmod" ["path", "perm"], Write, NO_BODY => None, false, Some("tree");
        "Changes permission bits.";
}

impl RouteId {
    /// Its row of the table.
    pub fn route(self) -> &'static Route {
        &ROUTES[self as usize]
    }
}

/// What the path holds beside the route.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Params<'p> {
    /// A session's id, `{s}`.
    pub session: Option<&'p str>,
    /// A process's id, `{p}`.
    pub process: Option<&'p str>,
    /// A server's name, `{n}`.
    pub server: Option<&'p str>,
    /// An exec's key, `{key}`.
    pub key: Option<&'p str>,
}

/// What a method and a path are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Found<'p> {
    /// A route. For HEAD, the one of GET.
    Route(&'static Route, Params<'p>),
    /// A path that other methods have: 405.
    Method(Allow),
    /// No route: 404.
    Unknown,
}

/// The methods of a path; displayed as the `Allow` field has them.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Allow(u8);

impl Allow {
    /// What is in it.
    pub fn iter(self) -> impl Iterator<Item = Method> {
        Method::ALL.into_iter().filter(move |method| self.0 & 1 << *method as u8 != 0)
    }

    const fn with(self, method: Method) -> Self {
        Self(self.0 | 1 << method as u8)
    }
}

impl core::fmt::Display for Allow {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for (n, method) in self.iter().enumerate() {
            f.write_str(if n > 0 { ", " } else { "" })?;
            f.write_str(method.name())?;
        }
        Ok(())
    }
}

/// The route of a method and a path, which begins with `/v1` (a base URL's own path is taken off before) and has no query. The path
/// is compared as it stands: a `%`, an empty element or a slash at its end is no route. What stands for an id may be any element;
/// one that fits no id is one that is not known. A route of an extension that is not among `extensions` is not there. Nothing is
/// allocated.
///
/// ```
/// use farside_wire::route::{Found, RouteId, find};
/// let Found::Route(route, params) = find("POST", "/v1/sessions/AB/renew", &[]) else { panic!() };
/// assert_eq!((route.id, params.session), (RouteId::RenewSession, Some("AB")));
/// let Found::Method(allow) = find("PATCH", "/v1/fs/file", &[]) else { panic!() };
/// assert_eq!(allow.to_string(), "GET, HEAD, PUT, DELETE");
/// assert_eq!(find("GET", "/v1/info/", &[]), Found::Unknown);
/// ```
pub fn find<'p>(method: &str, path: &'p str, extensions: &[&str]) -> Found<'p> {
    let method = Method::from_name(method);
    let here = |route: &&Route| route.extension.is_none_or(|extension| extensions.contains(&extension));
    let fits = |route: &&Route| match method {
        Some(Method::Head) => route.head,
        method => method == Some(route.method),
    };
    let candidates = || ROUTES.iter().filter(here).filter(fits);
    // Most requests are for a path without parameters, which is told much sooner.
    let plain = candidates().find(|route| route.pattern == path && !path.contains('{'));
    let found = plain.map(|route| (route, Params::default()));
    let by_pattern = || candidates().find_map(|route| Some((route, matches(route.pattern, path)?)));
    if let Some((route, params)) = found.or_else(by_pattern) {
        return Found::Route(route, params);
    }
    let mut allow = Allow::default();
    for route in ROUTES.iter().filter(here).filter(|route| matches(route.pattern, path).is_some()) {
        allow = if route.head { allow.with(Method::Head) } else { allow }.with(route.method);
    }
    if allow == Allow::default() { Found::Unknown } else { Found::Method(allow) }
}

/// What `path` holds, if it is of `pattern`.
fn matches<'p>(pattern: &str, path: &'p str) -> Option<Params<'p>> {
    let mut params = Params::default();
    let (mut pattern, mut path) = (pattern, path);
    while let Some((fixed, rest)) = pattern.split_once('{') {
        let (name, rest) = rest.split_once('}')?;
        let tail = path.strip_prefix(fixed)?;
        let (element, tail) = tail.split_at(tail.find('/').unwrap_or(tail.len()));
        if element.is_empty() || element.contains('%') {
            return None;
        }
        *match name {
            "s" => &mut params.session,
            "p" => &mut params.process,
            "n" => &mut params.server,
            _ => &mut params.key,
        } = Some(element);
        (pattern, path) = (rest, tail);
    }
    (pattern == path).then_some(params)
}
