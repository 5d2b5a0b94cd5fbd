//! The conformance suite on every workspace there is, directly and at every distance.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails; one that is skipped says so"
)]

use farside_backends::{Local, Memory};
use farside_core::{
    Access, Command, Handler, Remote, Workspace,
    inprocess::InProcess,
    wire::{Scopes, base_url::BaseUrl},
};
use farside_tests::conformance::{Home, Program, Runner, Scripted, Subject, Unix, run_all};
use std::{
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    sync::Arc,
};

struct Disk(tempfile::TempDir);

impl Home for Disk {
    fn symlink(&self, target: &str, name: &str) -> bool {
        std::os::unix::fs::symlink(target, self.path().join(name)).is_ok()
    }

    fn program(&self, program: Program<'_>) -> Command {
        Unix::program(program)
    }
}

impl Disk {
    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

struct InMemory(Arc<Memory>);

impl Home for InMemory {
    fn symlink(&self, target: &str, name: &str) -> bool {
        self.0.symlink(target, name).is_ok()
    }

    fn program(&self, program: Program<'_>) -> Command {
        Scripted::program(program)
    }
}

/// A fresh Local or Memory, and what is at home there.
fn fresh(kind: &str) -> (Arc<dyn Workspace>, Arc<dyn Home>) {
    if kind == "memory" {
        let memory = Arc::new(Memory::new());
        return (memory.clone(), Arc::new(InMemory(memory)));
    }
    let disk = Disk(tempfile::tempdir().unwrap());
    let path = std::env::var("PATH").unwrap();
    (Arc::new(Local::new(disk.path(), vec![format!("PATH={path}"), "LANG=C".into()]).unwrap()), Arc::new(disk))
}

/// Serves `ws` for as long as the process lives.
fn serve(runner: Runner, ws: Arc<dyn Workspace>, access: Access) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let handler = Handler::new(ws, access);
    match runner {
        Runner::Std => std::mem::forget(farside_std::serve(listener, handler).unwrap()),
        Runner::Smol => {
            let executor = Arc::new(smol::Executor::new());
            std::mem::forget(farside_smol::serve(listener, handler, &executor).unwrap());
            std::thread::spawn(move || smol::block_on(executor.run(std::future::pending::<()>())));
        }
    }
    address
}

fn remote(to: SocketAddr) -> Arc<dyn Workspace> {
    let (dial, base) = farside_backends::socket::dialer(&format!("http://{to}")).unwrap();
    Arc::new(Remote::new(dial, base).with_authorization("Bearer t0ken").unwrap())
}

fn check(name: &str, ws: Arc<dyn Workspace>, runner: Runner, home: Arc<dyn Home>) {
    run_all(&Subject { name: format!("{name}, called by {runner:?}"), ws, runner, home, apart: true });
}

const RUNNERS: [Runner; 2] = [Runner::Std, Runner::Smol];

fn directly(kind: &str) {
    for runner in RUNNERS {
        let (ws, home) = fresh(kind);
        check(kind, ws, runner, home);
    }
}

fn in_process(kind: &str) {
    for runner in RUNNERS {
        let (ws, home) = fresh(kind);
        let near = InProcess(Handler::new(ws, Access::Insecure(Scopes::ALL)));
        let base = BaseUrl::parse("http://localhost").unwrap();
        check(&format!("{kind} in process"), Arc::new(Remote::new(near, base)), runner, home);
    }
}

fn at_a_distance(kind: &str) {
    for server in RUNNERS {
        for client in RUNNERS {
            let (ws, home) = fresh(kind);
            let ws = remote(serve(server, ws, Access::bearer("t0ken")));
            check(&format!("{kind} served by {server:?}"), ws, client, home);
        }
    }
}

/// A Remote of a Remote.
fn in_a_chain(kind: &str) {
    for (far, near) in [(Runner::Std, Runner::Smol), (Runner::Smol, Runner::Std)] {
        let (ws, home) = fresh(kind);
        let middle = remote(serve(far, ws, Access::bearer("t0ken")));
        let ws = remote(serve(near, middle, Access::bearer("t0ken")));
        check(&format!("{kind} served by {far:?} behind {near:?}"), ws, near, home);
    }
}

macro_rules! suite {
    ($($name:ident: $how:ident($kind:literal);)*) => { $(#[test] fn $name() { $how($kind); })* };
}

suite! {
    memory: directly("memory");
    local: directly("local");
    memory_in_process: in_process("memory");
    local_in_process: in_process("local");
    memory_at_a_distance: at_a_distance("memory");
    local_at_a_distance: at_a_distance("local");
    memory_in_a_chain: in_a_chain("memory");
    local_in_a_chain: in_a_chain("local");
}

/// A server of others, if there is one: `FARSIDE_PEER_URL` and its root directory in `FARSIDE_PEER_ROOT`, and perhaps a token.
#[test]
fn a_peer() {
    let (Ok(url), Ok(root)) = (std::env::var("FARSIDE_PEER_URL"), std::env::var("FARSIDE_PEER_ROOT")) else {
        return println!("skipped: no FARSIDE_PEER_URL and FARSIDE_PEER_ROOT");
    };
    struct Peer(PathBuf);
    impl Home for Peer {
        fn symlink(&self, target: &str, name: &str) -> bool {
            std::os::unix::fs::symlink(target, self.0.join(name)).is_ok()
        }
        fn program(&self, program: Program<'_>) -> Command {
            Unix::program(program)
        }
    }
    for runner in RUNNERS {
        for name in std::fs::read_dir(&root).unwrap() {
            let path = name.unwrap().path();
            if path.file_name().unwrap().to_string_lossy().starts_with("case-") {
                std::fs::remove_dir_all(path).unwrap();
            }
        }
        let (dial, base) = farside_backends::socket::dialer(&url).unwrap();
        let mut ws = Remote::new(dial, base);
        if let Ok(token) = std::env::var("FARSIDE_PEER_TOKEN") {
            ws = ws.with_authorization(format!("Bearer {token}")).unwrap();
        }
        let home = Arc::new(Peer(PathBuf::from(&root)));
        run_all(&Subject { name: format!("{url} by {runner:?}"), ws: Arc::new(ws), runner, home, apart: true });
    }
}
