//! Where a command acts: a directory of this machine, through the real wire inside this process, or a server.

use crate::{
    args::Common,
    env,
    error::Failure,
    show,
    token::{self, Source},
    verbose::Watching,
};
use farside_backends::{Local, socket};
use farside_core::{
    Access, Dial, Handler, Remote,
    inprocess::InProcess,
    wire::{Bounds, Code, Error, Scopes, base_url::BaseUrl, name, times},
};
use farside_std::Blocking;
use std::ffi::OsStr;

/// A workspace, and how its failures are told.
pub(crate) struct At {
    pub(crate) ws: Remote,
    /// The server as it was named; `None` for a directory here.
    server: Option<String>,
    token: Option<Source>,
}

/// What the handler in this process keeps: one user, whose memory and disk it is.
fn bounds() -> Bounds {
    Bounds { max_write_bytes: 1 << 40, max_dir_entries: 1 << 20, max_reply_bytes: 1 << 28, ..Bounds::default() }
}

impl At {
    /// The place that was named, else `FARSIDE_URL`, else the current directory. Nothing is sent yet.
    pub(crate) fn open(common: &Common) -> Result<Self, Failure> {
        let variable = || std::env::var_os("FARSIDE_URL").filter(|at| !at.is_empty());
        let place = common.at.clone().or_else(variable).unwrap_or_else(|| ".".into());
        if place.is_empty() {
            return Err(Failure::usage(format!("cannot work in '': {EMPTY}")));
        }
        let Some(at) = place.to_str() else { return Self::directory(common, &place) };
        if is_server(at) {
            return Self::server(common, at);
        }
        if let Some(kind) = unknown_kind(at) {
            let known = "a directory, http://HOST:PORT/ or unix:PATH";
            return Err(Failure::usage(format!(
                "cannot reach a place of the kind {}; known are {known}",
                show::said(kind)
            )));
        }
        Self::directory(common, &place)
    }

    fn directory(common: &Common, dir: &OsStr) -> Result<Self, Failure> {
        let local = Local::new(dir, env::allowed()).map_err(|error| {
            let shown = dir.to_string_lossy();
            let why = match error.code {
                Code::NotExist => "no such directory".into(),
                Code::Permission => "permission denied".into(),
                Code::Invalid => "it is no directory".into(),
                _ => show::text(&error.message()).into_owned(),
            };
            let looks_like_one = shown.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            let hint = if looks_like_one {
                format!("; a server is named http://{}/", show::text(&shown))
            } else {
                String::new()
            };
            Failure::of(error.code, format!("cannot work in {}: {why}{hint}", show::said(&shown)))
        })?;
        let handler = Handler::with(local, Access::Insecure(Scopes::ALL), bounds(), times::LEASE);
        let base = BaseUrl::parse("http://localhost").map_err(|error| Failure::new(error.to_string()))?;
        Ok(Self { ws: remote(common, Box::new(InProcess(handler)), base), server: None, token: None })
    }

    fn server(common: &Common, at: &str) -> Result<Self, Failure> {
        let (dial, base) = socket::dialer(at).map_err(|error| Failure::usage(bad_url(at, &error)))?;
        let ws = remote(common, dial, base);
        let shown = Some(show::text(at.trim_end_matches('/')).into_owned());
        let Some(token) = token::given(common.token_file.as_deref())? else {
            return Ok(Self { ws, server: shown, token: None });
        };
        let with = ws.with_authorization(format!("Bearer {}", token.text));
        let ws = with.map_err(|_| Failure::new(format!("{} does not hold a token", token.source)))?;
        Ok(Self { ws, server: shown, token: Some(token.source) })
    }

    /// [`clean`]; one that ends with `/` is to be a directory's.
    pub(crate) fn name(&self, verb: &str, given: &str) -> Result<String, Failure> {
        let name = clean(verb, given)?;
        if given.ends_with('/') && name != "." && self.ws.stat(&name).is_ok_and(|meta| !meta.mode.is_dir()) {
            return Err(Failure::of(Code::Invalid, format!("cannot {verb} {}: it is no directory", show::said(given))));
        }
        Ok(name)
    }

    /// Whether it is a directory of this machine, and the handler in this process.
    pub(crate) fn is_here(&self) -> bool {
        self.server.is_none()
    }

    /// What `error` means for `what` (`cannot read docs/x`), in one line that says what to do.
    pub(crate) fn failure(&self, what: &str, error: &Error) -> Failure {
        match self.about_server(error) {
            Some(line) => Failure::Server(error.code, line),
            None => Failure::of(error.code, format!("{what}: {}", self.why(error))),
        }
    }

    /// The whole line, where it is the server and not the operation that failed.
    fn about_server(&self, error: &Error) -> Option<String> {
        let server = self.server.as_deref()?;
        match (error.code, &self.token) {
            (Code::Unauthenticated, Some(source)) => Some(format!("{server} refused the token (401); check {source}")),
            (Code::Unauthenticated, None) => {
                Some(format!("{server} asks for a token (401); give --token-file FILE or set FARSIDE_TOKEN_FILE"))
            }
            (Code::Other, _) if matches!(error.errno(), Some("ECONNREFUSED" | "ENOENT")) => {
                let listen =
                    server.split_once("://").map_or(server, |(_, rest)| rest.split('/').next().unwrap_or(rest));
                let start = format!("start one with: farside serve DIR --listen {}", show::shell(listen));
                Some(format!("nothing listens on {listen}; {start}"))
            }
            (Code::Other, _) if error.errno().is_some() && error.words.starts_with("cannot connect") => {
                Some(show::text(&error.words).into_owned())
            }
            (Code::Unsupported, _) if error.words.starts_with("the server speaks wire") => {
                Some(format!("{server}: {}; use a farside of its version", show::text(&error.words)))
            }
            _ => None,
        }
    }

    /// Why it failed, in words.
    pub(crate) fn why(&self, error: &Error) -> String {
        let own = show::text(&error.words);
        match error.code {
            Code::NotExist => "no such file or directory".into(),
            Code::Outside => "it is a link that leaves the workspace".into(),
            Code::Permission => "permission denied".into(),
            Code::Exist => "it exists already".into(),
            Code::Forbidden if matches!(&*own, "Host" | "Origin" | "Sec-Fetch-Site") => {
                format!("the server refuses requests with this {own}; name it by a loopback address")
            }
            Code::Forbidden => "the token does not allow it; use one with the scope for it".into(),
            Code::Closed => "the server is closing".into(),
            Code::Limit => limit(error, self.server.is_some()),
            Code::Unsupported if own.is_empty() => "it cannot do that there".into(),
            Code::Unsupported => own.into_owned(),
            Code::Invalid if own.is_empty() => "it was refused as invalid".into(),
            Code::Invalid => format!("it was refused as invalid: {own}"),
            _ => cut(&error.words).unwrap_or_else(|| show::text(&error.message()).into_owned()),
        }
    }
}

fn remote(common: &Common, dial: Box<dyn Dial>, base: BaseUrl) -> Remote {
    if common.verbose { Remote::new(Watching(dial), base) } else { Remote::new(dial, base) }
}

fn is_server(at: &str) -> bool {
    let begins = |scheme: &str| at.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    begins("http://") || begins("https://") || at.starts_with("unix:")
}

/// The kind of a place that is no path: `hub:` of `hub:/build-1`, `tcp:` of `tcp://127.0.0.1`.
fn unknown_kind(at: &str) -> Option<&str> {
    let (kind, rest) = at.split_once(':')?;
    let scheme = !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    (scheme && rest.starts_with('/')).then_some(kind)
}

/// What is wrong with a server's URL. It is not repeated: it may hold a secret.
fn bad_url(at: &str, error: &Error) -> String {
    let words = show::text(&error.words);
    match error.code {
        Code::Invalid if words.contains("credentials") || words.contains("query") => {
            format!(
                "the URL is refused: {words}; a token goes in a file: give --token-file FILE or set FARSIDE_TOKEN_FILE"
            )
        }
        Code::Unsupported => {
            format!("cannot use https: {words}; use a tunnel of ssh or a proxy here, and http:// to it")
        }
        Code::Invalid if at.starts_with("unix:") => "unix: takes the path of a socket, at most 107 bytes long".into(),
        Code::Invalid => format!("the URL is refused: {words}; write http://HOST:PORT/"),
        _ => words.into_owned(),
    }
}

fn limit(error: &Error, server: bool) -> String {
    let details = error.details.as_deref();
    let name = details.and_then(|d| d.name.as_deref()).map(|name| format!(" {}", show::text(name))).unwrap_or_default();
    let number = |limit| if name.ends_with("Bytes") { show::size(limit) } else { limit.to_string() };
    let told = match details.and_then(|d| d.limit) {
        Some(limit) => format!("it is over the bound{name} there ({})", number(limit)),
        None => format!("it is over a bound{name} there"),
    };
    if server && name == " maxWriteBytes" { format!("{told}; {RAISE}") } else { told }
}

/// What to do about the bound `maxWriteBytes`.
pub(crate) const RAISE: &str = "its server can raise it: farside serve --max-write";

/// What is wrong with an empty name, wherever one is given.
pub(crate) const EMPTY: &str = "the name is empty";

/// A cut reply, its bytes in a size for people.
fn cut(words: &str) -> Option<String> {
    let bytes = words.strip_prefix("the reply was cut after ")?.strip_suffix(" bytes")?.parse().ok()?;
    Some(format!("the reply was cut after {}", show::size(bytes)))
}

/// A name as the wire has it: `./`, a second `/` and one at the end are taken out; what leaves is refused before it is sent, and so is
/// `..`, which leads elsewhere behind a link. `verb` is for the line, as `read` in `cannot read ../x`.
pub(crate) fn clean(verb: &str, given: &str) -> Result<String, Failure> {
    let refused = |code, why: &str| Err(Failure::of(code, format!("cannot {verb} {}: {why}", show::said(given))));
    let parts: Vec<&str> = given.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let name = if parts.is_empty() { ".".into() } else { parts.join("/") };
    match name::check(&name) {
        _ if given.is_empty() => refused(Code::Invalid, EMPTY),
        _ if given.starts_with('/') => {
            refused(Code::Outside, "it leaves the workspace: names begin at its top, without a /")
        }
        Err(error) if error.code == Code::Outside => refused(error.code, "it leaves the workspace"),
        Err(error) if parts.contains(&"..") => {
            refused(error.code, "behind a link .. leads elsewhere than it seems; write the name without it")
        }
        Err(error) => refused(error.code, "no name has a zero byte"),
        Ok(()) if parts.iter().any(|part| part.len() > 255) => {
            refused(Code::Invalid, "a part of the name is longer than 255 bytes")
        }
        Ok(()) if name.len() >= 4096 => refused(Code::Invalid, "the name is too long"),
        Ok(()) => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cleaned_and_what_leaves_is_refused() {
        for (given, name) in [
            ("./a/b/", "a/b"),
            (".//./a", "a"),
            ("a//b/./c//", "a/b/c"),
            ("./", "."),
            (".", "."),
            ("-odd", "-odd"),
            ("...", "..."),
        ] {
            assert_eq!(clean("read", given).unwrap(), name);
        }
        let long = "x".repeat(256);
        for refused in ["", "/", "/etc/passwd", "..", "../x", "a/../../x", "a/../b", "a\0b", ".//../x", &long] {
            assert!(clean("read", refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn places() {
        assert!(is_server("HTTP://h/") && is_server("https://h/") && is_server("unix:/run/x.sock"));
        assert!(!is_server("docs") && !is_server("127.0.0.1:7070"));
        assert_eq!(unknown_kind("hub:/build-1"), Some("hub"));
        assert_eq!(unknown_kind("session-env+https://h/"), Some("session-env+https"));
        assert_eq!(unknown_kind("a:b"), None);
        assert_eq!(unknown_kind("./hub:/x"), None);
    }

    #[test]
    fn cuts_are_told_in_sizes() {
        assert_eq!(cut("the reply was cut after 3100000 bytes").as_deref(), Some("the reply was cut after 3.1 MB"));
    }
}
