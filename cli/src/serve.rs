//! `farside serve`.

use crate::{
    args::{Common, Runtime, ServeArgs},
    env,
    error::{Failure, say},
    kill, show,
    signals::Signals,
    token,
};
use farside_backends::Local;
use farside_core::{
    Access, Handler, poll_task,
    wire::{Bounds, Code, Scopes, times},
};
use rustix::{fs::Mode, process::umask};
use std::{
    fs,
    io::{self, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener},
    os::unix::{
        fs::{FileTypeExt, MetadataExt},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

/// So long transfers may go on once it was told to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// More threads than this only get in each other's way.
const MAX_THREADS: usize = 4;

pub(crate) fn serve(common: &Common, args: &ServeArgs) -> Result<u8, Failure> {
    if common.at.is_some() {
        return Err(Failure::usage("serve takes a directory, not --at; write: farside serve DIR"));
    }
    log_to_stderr(common);
    let workspace = Local::new(&args.dir, env::served(&args.env)?).map_err(|error| {
        let why = match error.code {
            Code::NotExist => "no such directory".into(),
            Code::Permission => "permission denied".into(),
            Code::Invalid => "it is no directory".into(),
            _ => show::text(&error.message()).into_owned(),
        };
        Failure::of(error.code, format!("cannot serve {}: {why}", show::said(&args.dir.to_string_lossy())))
    })?;
    let given = if args.insecure_no_auth { None } else { token::given(common.token_file.as_deref())? };
    let mut signals = Signals::for_a_server().map_err(|error| Failure::io("cannot wait for signals", &error))?;
    let (listener, place) = listen(&args.listen)?;
    let mut left = Left::default();
    place.path.iter().for_each(|path| left.add(path));
    let (access, kept) = match (args.insecure_no_auth, given) {
        (true, _) => (Access::Insecure(Scopes::ALL), Kept::Nowhere),
        (false, Some(given)) => {
            let kept = match given.source {
                token::Source::Flag(file) | token::Source::FileVariable(file) => Kept::Given(file),
                token::Source::Variable => Kept::Variable,
            };
            (Access::bearer(&given.text), kept)
        }
        (false, None) => {
            let token = token::new()?;
            let file = token::keep(&token, &place.key)?;
            left.add(&file);
            (Access::bearer(&token), Kept::Made(file))
        }
    };
    announce(common.quiet, &args.dir, &place.url, &kept);
    let bounds = Bounds { max_write_bytes: args.max_write, ..Bounds::default() };
    let handler = Handler::with(workspace, access, bounds, times::LEASE);
    let started = match args.runtime {
        Runtime::Smol => on_smol(listener, handler),
        Runtime::Std => on_threads(listener, handler),
    };
    let close = started.map_err(|error| Failure::io("cannot serve", &error))?;
    farside_std::run(poll_task(|cx| signals.poll(cx)));
    if !common.quiet {
        say("ending; once more ends it at once");
    }
    let left = Arc::new(left);
    let ours = left.clone();
    let ending = thread::Builder::new().name("farside-end".into()).spawn(move || {
        close();
        // Told once more meanwhile, the other thread ends it.
        if !FORCED.load(SeqCst) {
            ours.remove();
            std::process::exit(0);
        }
    });
    ending.map_err(|error| Failure::io("cannot end in order", &error))?;
    let signal = farside_std::run(poll_task(|cx| signals.poll(cx)));
    FORCED.store(true, SeqCst);
    kill::everything_of_ours();
    left.remove();
    Ok(128 + signal)
}

/// Whether it is ended at once.
static FORCED: AtomicBool = AtomicBool::new(false);

/// Ends a server in order; returns when it has ended.
type Close = Box<dyn FnOnce() + Send>;

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

fn on_threads(listener: Listener, handler: Arc<Handler>) -> io::Result<Close> {
    let server = match listener {
        Listener::Tcp(listener) => farside_std::serve(listener, handler)?,
        Listener::Unix(listener) => farside_std::serve(listener, handler)?,
    };
    Ok(Box::new(move || server.close(PATIENCE)))
}

fn on_smol(listener: Listener, handler: Arc<Handler>) -> io::Result<Close> {
    let executor = Arc::new(async_executor::Executor::new());
    let server = match listener {
        Listener::Tcp(listener) => farside_smol::serve(listener, handler, &executor)?,
        Listener::Unix(listener) => farside_smol::serve(listener, handler, &executor)?,
    };
    // A call of the workspace is done on the thread it came on: others go on meanwhile.
    let threads = thread::available_parallelism().map_or(1, usize::from).clamp(2, MAX_THREADS);
    for _ in 0..threads {
        let executor = executor.clone();
        let run = move || async_io::block_on(executor.run(std::future::pending::<()>()));
        thread::Builder::new().name("farside-smol".into()).spawn(run)?;
    }
    Ok(Box::new(move || async_io::block_on(server.close(PATIENCE))))
}

/// Where it is reached.
struct Place {
    url: String,
    /// What names it among this user's servers.
    key: String,
    /// Of a Unix socket.
    path: Option<PathBuf>,
}

fn listen(at: &str) -> Result<(Listener, Place), Failure> {
    if let Some(path) = at.strip_prefix("unix:") {
        let path = std::path::absolute(path)
            .map_err(|error| Failure::io(format!("cannot listen on {}", show::said(at)), &error))?;
        let shown = show::said(&path.to_string_lossy()).into_owned();
        let listener = listen_unix(&path).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse if is_socket(&path) => {
                Failure::new(format!("cannot listen on unix:{shown}: another server answers there"))
            }
            io::ErrorKind::AddrInUse => Failure::new(format!("cannot listen on unix:{shown}: it is no socket")),
            io::ErrorKind::NotFound => {
                let dir = path.parent().map(Path::to_string_lossy).unwrap_or_default();
                Failure::new(format!("cannot listen on unix:{shown}: there is no directory {}", show::said(&dir)))
            }
            io::ErrorKind::InvalidInput => Failure::new(format!(
                "cannot listen on unix:{shown}: the path is longer than a socket's may be (107 bytes)"
            )),
            _ => Failure::io(format!("cannot listen on unix:{shown}"), &error),
        })?;
        let url = format!("unix:{}", path.to_string_lossy());
        return Ok((Listener::Unix(listener), Place { key: url.clone(), url, path: Some(path) }));
    }
    let addr = address(at).ok_or_else(|| {
        Failure::usage(format!(
            "cannot listen on {}: write PORT, HOST:PORT as 127.0.0.1:7070, or unix:PATH",
            show::said(at)
        ))
    })?;
    if !addr.ip().is_loopback() {
        return Err(Failure::usage(format!(
            "will not listen on {addr}: others could reach it, and there is no TLS yet; listen on 127.0.0.1 or unix:PATH, and put ssh or a proxy before it"
        )));
    }
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => Failure::new(format!(
            "{addr} is in use; choose another port, or any free one with: --listen {}:0",
            ip(addr.ip())
        )),
        _ => Failure::io(format!("cannot listen on {addr}"), &error),
    };
    let listener = TcpListener::bind(addr).map_err(failed)?;
    let addr = listener.local_addr().map_err(failed)?;
    Ok((Listener::Tcp(listener), Place { url: format!("http://{addr}/"), key: addr.to_string(), path: None }))
}

fn ip(ip: IpAddr) -> String {
    if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() }
}

/// `127.0.0.1:7070`, `[::1]:7070`, `localhost:7070`, `:7070` or `7070`.
fn address(at: &str) -> Option<SocketAddr> {
    if let Ok(addr) = at.parse() {
        return Some(addr);
    }
    let (host, port) = at.rsplit_once(':').unwrap_or(("", at));
    let port = port.parse().ok().filter(|_| port.bytes().all(|b| b.is_ascii_digit()))?;
    (host.is_empty() || host.eq_ignore_ascii_case("localhost")).then_some((Ipv4Addr::LOCALHOST, port).into())
}

/// A socket that this user alone can connect to. One that is left from a server that is gone is replaced.
fn listen_unix(path: &Path) -> io::Result<UnixListener> {
    let bind = || {
        // It is made with the mode it is to have: there is no moment when others could connect.
        let mask = umask(Mode::from_raw_mode(0o177));
        let listener = UnixListener::bind(path);
        umask(mask);
        listener
    };
    match bind() {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_stale(path) => {
            fs::remove_file(path)?;
            bind()
        }
        bound => bound,
    }
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket())
}

/// Whether a socket is there and nobody listens on it.
fn is_stale(path: &Path) -> bool {
    is_socket(path) && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Where the token is.
enum Kept {
    Given(PathBuf),
    Made(PathBuf),
    Variable,
    /// There is none.
    Nowhere,
}

/// Says what others need to reach it: one line of it can be pasted into their shell. A token that was made is told in any case.
fn announce(quiet: bool, dir: &Path, url: &str, kept: &Kept) {
    let path = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.into()).to_string_lossy().into_owned();
    let file = match kept {
        Kept::Given(file) | Kept::Made(file) => Some(path(file)),
        Kept::Variable | Kept::Nowhere => None,
    };
    if !quiet {
        let dir = fs::canonicalize(dir).map_or_else(|_| path(dir), |dir| path(&dir));
        say(&format!("serving {} at {}", show::name(&dir), show::text(url)));
    }
    match (&file, kept) {
        (Some(file), _) if !quiet || matches!(kept, Kept::Made(_)) => {
            say(&format!("the token is in {}", show::name(file)));
        }
        (None, Kept::Variable) if !quiet => say("the token is the one in FARSIDE_TOKEN"),
        (None, Kept::Nowhere) if !quiet => {
            say("without a token: whoever reaches it may read, write and run commands here");
        }
        _ => {}
    }
    if !quiet {
        let token = file.map(|file| format!(" FARSIDE_TOKEN_FILE={}", show::shell(&file))).unwrap_or_default();
        // Nobody is left to be told that standard error is gone.
        let _ = writeln!(io::stderr().lock(), "export FARSIDE_URL={}{token}", show::shell(url));
        say("try: farside ls");
    }
}

/// What a server that has ended leaves to nobody: its socket, the token it made. Each is known by its number, so that what another
/// server put in its place stays.
#[derive(Default)]
struct Left(Vec<(PathBuf, (u64, u64))>);

impl Left {
    fn add(&mut self, path: &Path) {
        self.0.extend(number(path).map(|number| (path.into(), number)));
    }

    fn remove(&self) {
        for (path, own) in &self.0 {
            if number(path).as_ref() == Some(own) {
                // One that is gone meanwhile is what was wanted.
                let _ = fs::remove_file(path);
            }
        }
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        self.remove();
    }
}

fn number(path: &Path) -> Option<(u64, u64)> {
    let there = fs::symlink_metadata(path).ok()?;
    Some((there.dev(), there.ino()))
}

struct Stderr;

static STDERR: Stderr = Stderr;

/// What the runtimes have to say goes to standard error, as lines of ours.
fn log_to_stderr(common: &Common) {
    // There is one logger, and nobody else has set it.
    let _ = log::set_logger(&STDERR);
    log::set_max_level(match (common.quiet, common.verbose) {
        (true, _) => log::LevelFilter::Error,
        (false, false) => log::LevelFilter::Warn,
        (false, true) => log::LevelFilter::Debug,
    });
}

impl log::Log for Stderr {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.target().starts_with("farside") {
            say(&show::text(&record.args().to_string()));
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let at = |text| address(text).map(|addr| addr.to_string());
        assert_eq!(at("127.0.0.1:7070").as_deref(), Some("127.0.0.1:7070"));
        assert_eq!(at("[::1]:0").as_deref(), Some("[::1]:0"));
        assert_eq!(at("localhost:7070").as_deref(), Some("127.0.0.1:7070"));
        assert_eq!(at(":7070").as_deref(), Some("127.0.0.1:7070"));
        assert_eq!(at("7070").as_deref(), Some("127.0.0.1:7070"));
        assert_eq!(at("0.0.0.0:1").as_deref(), Some("0.0.0.0:1"));
        for wrong in ["", "host:1", "127.0.0.1", "::1:7070x", "localhost:+1", "localhost:70000", "http://127.0.0.1:1/"]
        {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
