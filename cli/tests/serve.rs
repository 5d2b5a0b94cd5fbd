//! `farside serve`: where it listens, what it leaves to whom, and its ends.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests")]

mod common;

use common::{FARSIDE, Place, SERVERS, Server, Site, done, farside, is_alive, path, until, wait, which};
use rustix::process::Signal;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    process::{Child, Command, Stdio},
};

const RUNTIMES: [&str; 2] = ["smol", "std"];

/// What it says is enough to use it.
#[test]
fn it_says_how_to_reach_it() {
    for place in SERVERS {
        let site = Site::new(place);
        site.write("here", "");
        let server = site.server.as_ref().unwrap();
        let (url, file) = (&server.url, server.token_file.as_ref().unwrap());
        let export = format!("export FARSIDE_URL={url} FARSIDE_TOKEN_FILE={}", file.display());
        let said = [
            format!("farside: serving {} at {url}", site.dir.display()),
            format!("farside: the token is in {}", file.display()),
            export.clone(),
            "farside: try: farside ls".into(),
        ];
        assert_eq!(server.said, said);
        let script = format!("{export}; exec {FARSIDE} ls");
        assert_eq!(done(Command::new("sh").args(["-c", &script])).good().text(), "here\n");
    }
}

/// Told to be quiet it still says where a token is that it made, and of one that it was given nothing.
#[test]
fn quiet() {
    let temp = tempfile::tempdir().unwrap();
    for given in [false, true] {
        let mut serve = farside();
        serve.args(["-q", "serve", "--listen", "127.0.0.1:0"]).current_dir(temp.path());
        serve.env("XDG_RUNTIME_DIR", temp.path()).stderr(Stdio::piped());
        if given {
            serve.env("FARSIDE_TOKEN", "given");
        }
        let mut child = serve.spawn().unwrap();
        let mut said = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        if given {
            until("it has its handlers", || {
                let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
                let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
                u64::from_str_radix(caught.trim(), 16).unwrap() >> (Signal::TERM.as_raw() - 1) & 1 == 1
            });
        } else {
            stderr.read_line(&mut said).unwrap();
        }
        common::signal_to(&child, Signal::TERM);
        stderr.read_to_string(&mut said).unwrap();
        assert_eq!(wait(&mut child).code(), Some(0));
        let head = format!("farside: the token is in {}/farside/127.0.0.1:", temp.path().display());
        assert!(if given { said.is_empty() } else { said.starts_with(&head) && said.lines().count() == 1 }, "{said}");
    }
}

/// What one that was killed left behind is in nobody's way.
#[test]
fn what_a_killed_one_left() {
    for unix in [false, true] {
        let temp = tempfile::tempdir().unwrap();
        let sock = temp.path().join("s");
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let listen = if unix { format!("unix:{}", sock.display()) } else { free.to_string() };
        let start = || {
            let mut command = farside();
            command.args(["serve", "--listen", &listen]).arg(temp.path()).env("XDG_RUNTIME_DIR", temp.path());
            Server::start(&mut command)
        };
        let mut killed = start();
        killed.signal(Signal::KILL);
        killed.ended();
        let file = killed.token_file.clone().unwrap();
        let old = fs::read(&file).unwrap();
        let mut again = start();
        assert_eq!(again.token_file.as_ref(), Some(&file));
        assert_ne!(fs::read(&file).unwrap(), old);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let mut ls = farside();
        ls.args(["--at", &again.url, "--token-file", path(&file), "stat", "."]);
        done(&mut ls).good();
        again.signal(Signal::TERM);
        assert_eq!(again.ended().0, 0);
        assert!(!file.exists() && !sock.exists());
    }
}

/// AU-32: without TLS nobody outside this machine.
#[test]
fn it_listens_to_this_machine_alone() {
    for addr in ["0.0.0.0:0", "[::]:0", "10.1.2.3:80", "[fe80::1]:1"] {
        for auth in [&[][..], &["--insecure-no-auth"]] {
            let refused = done(farside().args(["serve", "--listen", addr]).args(auth));
            let why = "others could reach it, and there is no TLS yet; listen on 127.0.0.1 or unix:PATH, and put ssh or a proxy before it";
            refused.fails(2, &format!("will not listen on {addr}: {why}"));
        }
    }
    for odd in ["example.org:80", "7070x", "http://127.0.0.1:1/"] {
        done(farside().args(["serve", "--listen", odd]))
            .fails(2, &format!("cannot listen on {odd}: write PORT, HOST:PORT as 127.0.0.1:7070, or unix:PATH"));
    }
}

#[test]
fn what_cannot_be_served() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("f");
    fs::write(&file, "").unwrap();
    done(farside().args(["serve", "no/such"])).fails(125, "cannot serve no/such: no such directory");
    done(farside().args(["serve", path(&file)]))
        .fails(125, &format!("cannot serve {}: it is no directory", file.display()));
    done(farside().args(["--at", "x", "serve"]))
        .fails(2, "serve takes a directory, not --at; write: farside serve DIR");
    for (option, value, line) in [
        ("--set-env", "A", "--set-env takes NAME=value; write --pass-env A"),
        ("--pass-env", "A=b", "--pass-env takes a name alone; write --set-env A=b"),
        ("--pass-env", "NOT_SET_HERE", "NOT_SET_HERE is not set here, so it cannot be passed on"),
        ("--pass-env", "FARSIDE_TOKEN", "FARSIDE_TOKEN is Farside's own and is given to no command"),
        ("--set-env", "FARSIDE_URL=x", "FARSIDE_URL is Farside's own and is given to no command"),
        ("--set-env", "=x", "=x is no variable: write NAME=value"),
    ] {
        done(farside().args(["serve", option, value])).fails(2, line);
    }
    for (text, why) in [
        ("OK=1\nbad", ":2: no NAME=value"),
        ("export A=1", ":1: leave out export: NAME=value alone"),
        ("A =1", ":1: a name has no blanks"),
        ("\n\nFARSIDE_X=1", ":3: variables that begin with FARSIDE_ are given to no command"),
    ] {
        fs::write(&file, text).unwrap();
        done(farside().args(["serve", "--env-file", path(&file)])).fails(2, &format!("{}{why}", file.display()));
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    done(farside().args(["serve", "--listen", &addr]).env("XDG_RUNTIME_DIR", temp.path()))
        .fails(125, &format!("{addr} is in use; choose another port, or any free one with: --listen 127.0.0.1:0"));
    let mut homeless = farside();
    homeless.args(["serve", "--listen", "127.0.0.1:0"]).env_remove("HOME").env_remove("XDG_RUNTIME_DIR");
    done(&mut homeless).fails(
        125,
        "no place for the token: neither XDG_RUNTIME_DIR nor HOME is set; set one, or give --token-file FILE",
    );
}

#[test]
fn a_unix_socket_is_its_owners() {
    let temp = tempfile::tempdir().unwrap();
    let sock = temp.path().join("s");
    let listen = format!("unix:{}", sock.display());
    let serve = || {
        let mut command = farside();
        command.args(["serve", "--listen", &listen, path(temp.path())]).env("XDG_RUNTIME_DIR", temp.path());
        command
    };
    let mut first = Server::start(&mut serve());
    assert_eq!(fs::metadata(&sock).unwrap().permissions().mode() & 0o777, 0o600);
    done(&mut serve()).fails(125, &format!("cannot listen on {listen}: another server answers there"));
    first.signal(Signal::TERM);
    assert_eq!(first.ended(), (0, "farside: ending; once more ends it at once\n".into()));
    assert!(!sock.exists());
    // What a server that was killed left is nobody's; what somebody else put there is theirs.
    drop(UnixListener::bind(&sock).unwrap());
    drop(Server::start(&mut serve()));
    assert!(sock.exists());
    drop(Server::start(&mut serve()));
    // Another's socket in the place of its own stays at its end.
    let mut older = Server::start(&mut serve());
    fs::remove_file(&sock).unwrap();
    let newer = Server::start(&mut serve());
    older.signal(Signal::TERM);
    assert_eq!(older.ended().0, 0);
    assert!(sock.exists() && newer.token_file.as_ref().unwrap().exists());
    drop(newer);
    fs::remove_file(&sock).unwrap();
    fs::write(&sock, "precious").unwrap();
    done(&mut serve()).fails(125, &format!("cannot listen on {listen}: it is no socket"));
    assert_eq!(fs::read(&sock).unwrap(), b"precious");
    let dir = temp.path().join("no");
    let below = format!("unix:{}/s", dir.display());
    done(farside().args(["serve", "--listen", &below]))
        .fails(125, &format!("cannot listen on {below}: there is no directory {}", dir.display()));
}

/// Without a token only because it was told so, and then by this machine's names alone.
#[test]
fn no_auth() {
    for runtime in RUNTIMES {
        let site = Site::with(Place::Server { runtime, unix: false }, &["--insecure-no-auth"]);
        site.write("f", "x");
        let server = site.server.as_ref().unwrap();
        assert_eq!(
            server.said[1],
            "farside: without a token: whoever reaches it may read, write and run commands here"
        );
        assert_eq!((server.token_file.as_ref(), site.run(&["ls"]).good().text()), (None, "f\n"));
        let addr = server.url.strip_prefix("http://").unwrap().trim_end_matches('/');
        let mut sock = TcpStream::connect(addr).unwrap();
        sock.write_all(b"GET /v1/info HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").unwrap();
        let mut reply = String::new();
        sock.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with("HTTP/1.1 403 "), "{reply}");
    }
    done(farside().args(["serve", "--insecure-no-auth", "--token-file", "x"])).fails(
        2,
        "the argument '--insecure-no-auth' cannot be used with '--token-file <FILE>'; see: farside help serve",
    );
}

/// A command that says `ready` and its number, and then goes on until it is ended.
fn running(site: &Site, script: &str) -> (Child, i32) {
    let script = format!("{script}; echo $$; while :; do sleep 0.01; done");
    let mut child = site
        .command(&["exec", "--", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().parse().unwrap())
}

/// INT and TERM: what runs is ended politely and answered, the token's file and the socket go, and it ends well.
#[test]
fn it_ends_in_order() {
    for (place, signal) in SERVERS.into_iter().zip([Signal::TERM, Signal::INT, Signal::INT, Signal::TERM]) {
        let mut site = Site::new(place);
        let (child, pid) = running(&site, "trap 'echo bye; exit 3' INT");
        // One that is idle holds nobody up.
        let idle = site
            .server
            .as_ref()
            .unwrap()
            .url
            .strip_prefix("http://")
            .map(|url| TcpStream::connect(url.trim_end_matches('/')).unwrap());
        let server = site.server.as_mut().unwrap();
        server.signal(signal);
        let (code, said) = server.ended();
        assert_eq!((code, &*said), (0, "farside: ending; once more ends it at once\n"));
        assert!(!server.token_file.as_ref().unwrap().exists());
        let ended = child.wait_with_output().unwrap();
        let said = "farside: sh was ended there, not from here: the server is closing, or somebody canceled it\n";
        assert_eq!(
            (ended.status.code(), &*ended.stdout, &*String::from_utf8_lossy(&ended.stderr)),
            (Some(125), &b"bye\n"[..], said)
        );
        assert!(!is_alive(pid));
        drop(idle);
    }
}

/// The second signal ends it at once, and nothing it started is left, however stubborn.
#[test]
fn a_second_signal_ends_it_at_once() {
    for place in SERVERS {
        let mut site = Site::new(place);
        let (mut child, pid) = running(
            &site,
            "trap '' INT TERM; setsid sh -c 'trap \"\" INT TERM; while :; do sleep 0.01; done' & echo $! > deep",
        );
        let deep: i32 = String::from_utf8(site.read("deep")).unwrap().trim().parse().unwrap();
        let server = site.server.as_mut().unwrap();
        server.signal(Signal::TERM);
        let begun = std::time::Instant::now();
        std::thread::sleep(std::time::Duration::from_millis(50));
        server.signal(Signal::TERM);
        assert_eq!(server.ended().0, 143);
        // A ladder would take its 4 s at least.
        assert!(begun.elapsed() < std::time::Duration::from_secs(3));
        until("both are gone", || !is_alive(pid) && !is_alive(deep));
        assert!(!server.token_file.as_ref().unwrap().exists());
        wait(&mut child);
    }
}

/// HUP changes nothing, and what it runs starts with the system's own dispositions.
#[test]
fn hang_ups_are_nothing() {
    for runtime in RUNTIMES {
        let site = Site::new(Place::Server { runtime, unix: false });
        site.write("f", "");
        let server = site.server.as_ref().unwrap();
        for _ in 0..3 {
            server.signal(Signal::HUP);
        }
        assert_eq!(site.run(&["ls"]).good().text(), "f\n");
        let own = site.run(&["exec", "--", "cat", "/proc/self/status"]).good();
        for line in own.text().lines().filter(|line| line.starts_with("SigIgn:") || line.starts_with("SigBlk:")) {
            assert!(line.ends_with("\t0000000000000000"), "{line}");
        }
    }
}

/// PR-34: what runs cannot get the token out of the server, also as the same user.
#[test]
fn the_server_keeps_its_token_from_its_children() {
    let temp = tempfile::tempdir().unwrap();
    fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o777)).unwrap();
    // A place that another user can run it from.
    let binary = temp.path().join("farside");
    fs::copy(FARSIDE, &binary).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
    let root = rustix::process::geteuid().is_root();
    let mut command = match which("setpriv") {
        Some(setpriv) if root => {
            let mut command = Command::new(setpriv);
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&binary);
            command
        }
        None if root => return println!("skipped: root, and no setpriv to be somebody else"),
        _ => Command::new(&binary),
    };
    for runtime in RUNTIMES {
        let mut site = Site::new(Place::Here);
        fs::set_permissions(site.dir.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
        command
            .args(["serve", "--runtime", runtime, "--listen", "127.0.0.1:0"])
            .arg(&site.dir)
            .env("FARSIDE_TOKEN", "canary-1234");
        let server = Server::start(&mut command);
        let pid = server.child.id();
        site.home = temp.path().into();
        let mut call = farside();
        let script = format!(
            "id -u; for f in environ mem maps fd/0 task/{pid}/environ; do cat /proc/{pid}/$f 2>&1 | head -c 200; done; ls /proc/{pid}/fd 2>&1; \
             grep -a canary /proc/{pid}/cmdline; tr '\\0' '\\n' < /proc/self/environ"
        );
        call.args(["--at", &server.url, "exec", "--", "sh", "-c", &script]).env("FARSIDE_TOKEN", "canary-1234");
        let seen = done(&mut call);
        assert!(
            !seen.text().contains("canary") && seen.text().matches("Permission denied").count() >= 5,
            "{}",
            seen.text()
        );
        assert!(!root || seen.text().starts_with("65534\n"), "{}", seen.text());
        drop(server);
        command = {
            let mut again = Command::new(command.get_program());
            again.args(command.get_args().take_while(|arg| *arg != "serve"));
            again
        };
    }
}

/// Many at once, of one server.
#[test]
fn many_clients() {
    for runtime in RUNTIMES {
        let site = Site::new(Place::Server { runtime, unix: true });
        let mut children: Vec<_> = (0..24)
            .map(|n| site.command(&["exec", "--", "sh", "-c", &format!("sleep 0.2; exit {n}")]).spawn().unwrap())
            .collect();
        let codes: Vec<_> = children.iter_mut().map(|child| wait(child).code().unwrap()).collect();
        assert_eq!(codes, (0..24).collect::<Vec<_>>());
    }
}
