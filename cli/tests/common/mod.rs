//! The real binary, on a directory of its own, in every place a command can act.
#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(unreachable_pub, reason = "it is a part of each test")]
#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

pub const FARSIDE: &str = env!("CARGO_BIN_EXE_farside");
/// What nothing in a test takes, and everything has.
pub const LONG: Duration = Duration::from_secs(30);

/// The binary, with nothing of Farside's own in its environment.
pub fn farside() -> Command {
    // A test that runs in the background has interrupts ignored, and so would its children; what is caught here is not ignored there.
    static CAUGHT: std::sync::Once = std::sync::Once::new();
    CAUGHT.call_once(|| {
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
            signal_hook::flag::register_conditional_default(signal, std::sync::Arc::new(true.into())).unwrap();
        }
    });
    let mut command = Command::new(FARSIDE);
    let own = std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_string_lossy().starts_with("FARSIDE_"));
    for name in own {
        command.env_remove(name);
    }
    command.env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// What a command came to.
#[derive(Debug)]
pub struct Done {
    pub code: i32,
    pub out: Vec<u8>,
    pub err: String,
}

impl Done {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    /// It did what it was asked and said nothing.
    #[track_caller]
    pub fn good(self) -> Self {
        assert_eq!((self.code, &*self.err), (0, ""), "{}", String::from_utf8_lossy(&self.out));
        self
    }

    /// It failed with that code and exactly that line, and put nothing out.
    #[track_caller]
    pub fn fails(self, code: i32, line: &str) {
        assert_eq!((self.code, &*self.err, &*self.out), (code, &*format!("farside: {line}\n"), &b""[..]));
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        let code = output.status.code().unwrap_or(-1);
        Self { code, out: output.stdout, err: String::from_utf8(output.stderr).unwrap() }
    }
}

pub fn done(command: &mut Command) -> Done {
    command.output().unwrap().into()
}

/// Gives it something to read.
pub fn fed(command: &mut Command, input: &[u8]) -> Done {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // It may end before it read everything.
    let feeding = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap();
    output.into()
}

/// Where a command can act.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Place {
    Here,
    Server { runtime: &'static str, unix: bool },
}

pub const SERVERS: [Place; 4] = [
    Place::Server { runtime: "smol", unix: false },
    Place::Server { runtime: "smol", unix: true },
    Place::Server { runtime: "std", unix: false },
    Place::Server { runtime: "std", unix: true },
];

/// A directory that is a workspace, and how it is reached.
pub struct Site {
    /// The workspace.
    pub dir: PathBuf,
    /// The directory that commands run in; the workspace itself when it is here.
    pub home: PathBuf,
    pub server: Option<Server>,
    _temp: tempfile::TempDir,
}

impl Site {
    pub fn new(place: Place) -> Self {
        Self::with(place, &[])
    }

    /// With more options for the server.
    pub fn with(place: Place, options: &[&str]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let (dir, elsewhere) = (temp.path().join("ws"), temp.path().join("home"));
        fs::create_dir(&dir).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        match place {
            Place::Here => Self { home: dir.clone(), dir, server: None, _temp: temp },
            Place::Server { runtime, unix } => {
                let listen =
                    if unix { format!("unix:{}", temp.path().join("s.sock").display()) } else { "127.0.0.1:0".into() };
                let mut command = farside();
                command
                    .args(["serve", "--runtime", runtime, "--listen", &listen])
                    .args(options)
                    .arg(&dir)
                    .env("XDG_RUNTIME_DIR", temp.path());
                let server = Server::start(&mut command);
                Self { dir, home: elsewhere, server: Some(server), _temp: temp }
            }
        }
    }

    /// In every place.
    pub fn everywhere() -> impl Iterator<Item = Self> {
        [Place::Here].into_iter().chain(SERVERS).map(Self::new)
    }

    /// A command that acts on it.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = farside();
        command.args(args).current_dir(&self.home);
        if let Some(server) = &self.server {
            command.env("FARSIDE_URL", &server.url);
            if let Some(file) = &server.token_file {
                command.env("FARSIDE_TOKEN_FILE", file);
            }
        }
        command
    }

    pub fn run(&self, args: &[&str]) -> Done {
        done(&mut self.command(args))
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.dir.join(name)).unwrap()
    }
}

/// `farside serve`, running.
pub struct Server {
    pub child: Child,
    pub url: String,
    pub token_file: Option<PathBuf>,
    /// What it said when it began.
    pub said: Vec<String>,
    rest: Option<thread::JoinHandle<String>>,
}

impl Server {
    /// Starts it and waits until it serves.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut said = Vec::new();
        loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it did not serve: {said:?} {:?}", child.wait());
            said.push(line.trim_end().to_owned());
            if line.starts_with("farside: try: ") {
                break;
            }
        }
        let behind = |word: &str| said.iter().find_map(|line| Some(line.split_once(word)?.1.to_owned()));
        let rest = thread::spawn(move || {
            let mut rest = String::new();
            let _ = lines.read_to_string(&mut rest);
            rest
        });
        let url = behind(" at ").unwrap();
        let token_file = behind("the token is in ").map(PathBuf::from);
        Self { child, url, token_file, said, rest: Some(rest) }
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        signal_to(&self.child, signal);
    }

    /// Waits for its end: its exit code, and what it said since it served.
    pub fn ended(&mut self) -> (i32, String) {
        let status = wait(&mut self.child);
        (status.code().unwrap_or(-1), self.rest.take().unwrap().join().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn signal_to(child: &Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
}

/// Waits for a child, but not for ever.
pub fn wait(child: &mut Child) -> std::process::ExitStatus {
    let until = Instant::now() + LONG;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < until, "it does not end");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !so() {
        assert!(Instant::now() < end, "not within {LONG:?}: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process is there and no zombie.
pub fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

/// A program of this machine, if it is there.
pub fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// The names in a directory.
pub fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A server that is none: to each connection, once its request's head is there, one answer, and then it is closed. Gives its URL.
pub fn answering(answer: impl Fn(&mut std::net::TcpStream, &str) + Copy + Send + 'static) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for sock in listener.incoming() {
            thread::spawn(move || {
                let mut sock = sock.unwrap();
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && sock.read(&mut byte).unwrap_or(0) > 0 {
                    head.push(byte[0]);
                }
                answer(&mut sock, &String::from_utf8_lossy(&head));
            });
        }
    });
    url
}

pub fn path<P: AsRef<OsStr> + ?Sized>(path: &P) -> &str {
    path.as_ref().to_str().unwrap()
}
