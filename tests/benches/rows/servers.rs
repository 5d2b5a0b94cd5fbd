//! The servers that are compared, each a process of its own that ends with its value.

use crate::{Bench, load::Peer};
use std::{
    env, fs,
    io::{BufRead, BufReader},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Who is measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Who {
    Smol,
    Std,
    /// The least that does it: see [`crate::floor`].
    Floor,
    Nginx,
}

pub(crate) struct Server {
    pub(crate) who: Who,
    pub(crate) addr: SocketAddr,
    child: Child,
}

pub(crate) const RUNTIMES: [Who; 2] = [Who::Smol, Who::Std];
/// The program whose servers are measured.
const OURS: &str = env!("CARGO_BIN_EXE_checked-server");

impl Server {
    /// Farside on one of its runtimes, open to everybody on this machine.
    pub(crate) fn ours(who: Who, bench: &Bench) -> Self {
        Self::ours_with(who, bench, &[])
    }

    pub(crate) fn ours_with(who: Who, bench: &Bench, more: &[&str]) -> Self {
        let config = bench.dir.join("config.json");
        fs::write(&config, r#"{"bounds":{"maxWriteBytes":4294967296}}"#).unwrap();
        let mut command = Command::new(OURS);
        command.arg(if who == Who::Smol { "smol" } else { "std" }).arg(bench.served());
        command.arg("--config").arg(config).arg("--insecure").args(more);
        Self::told(who, command)
    }

    /// The program that people have; `None`, and a word about it, if it is not built.
    pub(crate) fn program(who: Who, bench: &Bench) -> Option<Self> {
        let mut command = Command::new(built("farside")?);
        command.arg("serve").arg(bench.served()).args(["--insecure-no-auth", "--listen", "127.0.0.1:0", "--runtime"]);
        command.arg(if who == Who::Smol { "smol" } else { "std" }).stderr(Stdio::piped());
        Some(Self::told(who, command))
    }

    /// A minimal server, which is this program again.
    pub(crate) fn floor(kind: &str, bench: &Bench) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.arg("floor").arg(kind).arg(bench.served());
        Self::told(Who::Floor, command)
    }

    /// One whose first line says where it listens.
    fn told(who: Who, mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        match &mut child.stderr {
            Some(stderr) => BufReader::new(stderr).read_line(&mut line).unwrap(),
            None => BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap(),
        };
        let (_, url) = line.trim().split_once("http://").unwrap();
        let addr = url.trim_end_matches('/').parse().unwrap();
        Self { who, addr, child }
    }

    /// nginx with one process; `None`, and a word about it, where it is not installed.
    pub(crate) fn nginx(bench: &Bench) -> Option<Self> {
        let Some(program) = find("nginx") else {
            println!("nginx is not installed: the next row goes without it");
            return None;
        };
        let dir = bench.dir.join("nginx");
        fs::create_dir_all(&dir).unwrap();
        let addr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        fs::write(dir.join("nginx.conf"), nginx_conf(addr, &dir, &bench.served())).unwrap();
        let mut command = Command::new(program);
        command.arg("-p").arg(&dir).arg("-c").arg(dir.join("nginx.conf")).arg("-e").arg(dir.join("error.log"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let (server, start) = (Self { who: Who::Nginx, addr, child }, Instant::now());
        while TcpStream::connect(addr).is_err() {
            assert!(start.elapsed() < Duration::from_secs(5), "nginx does not start: see {}", dir.display());
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(server)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The target of a request about the file `name`.
    pub(crate) fn target(&self, what: &str, name: &str) -> String {
        match self.who {
            Who::Smol | Who::Std => format!("/v1/fs/{what}?path={name}"),
            Who::Floor => format!("/{what}?path={name}"),
            Who::Nginx => format!("/{name}"),
        }
    }

    pub(crate) fn connect(&self) -> Peer {
        Peer::connect(self.addr)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program of the workspace, built in the same way as what is measured.
pub(crate) fn built(name: &str) -> Option<PathBuf> {
    let program = Path::new(OURS).with_file_name(name);
    if !program.is_file() {
        println!("the next row needs the program: cargo build --release -p {name}");
        return None;
    }
    Some(program)
}

/// A program of the usual places.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    dirs.map(|dir| dir.join(name)).find(|program| program.is_file())
}

fn nginx_conf(addr: SocketAddr, dir: &Path, root: &Path) -> String {
    let (dir, root) = (dir.display(), root.display());
    format!(
        "daemon off; master_process off; worker_processes 1; pid {dir}/pid;
events {{ worker_connections 2048; }}
http {{
    access_log off; sendfile on; tcp_nodelay on; keepalive_requests 1000000000;
    client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
    server {{ listen {addr}; root {root}; }}
}}
"
    )
}
