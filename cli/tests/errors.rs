//! What is said when it does not work: one line, exactly, and what to do.
#![allow(clippy::unwrap_used, reason = "these are tests")]

mod common;

use common::{Done, Place, SERVERS, Site, answering, done, fed, names, path, signal_to, until, wait};
use rustix::process::Signal;
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    os::unix::fs::{PermissionsExt, symlink},
    process::Stdio,
};

fn at(place: &str, args: &[&str]) -> Done {
    done(common::farside().args(["--at", place]).args(args))
}

#[test]
fn of_names() {
    done(common::farside().args(["--at", "", "ls"])).fails(2, "cannot work in '': the name is empty");
    done(common::farside().args(["put", "", "x"])).fails(2, "<LOCAL>: the name is empty");
    for site in Site::everywhere() {
        site.write("d/f", "");
        symlink("/etc/passwd", site.dir.join("x")).unwrap();
        symlink("x", site.dir.join("d/x")).unwrap();
        let mkfifo = site.run(&["exec", "--", "mkfifo", "p"]);
        assert_eq!(mkfifo.code, 0);
        let long = "x".repeat(256);
        let cut = format!("cannot list {}...: a part of the name is longer than 255 bytes", "x".repeat(80));
        let lines: [(&[&str], &str); 23] = [
            (&["cat", "nope"], "cannot read nope: no such file or directory"),
            (&["cat", "x"], "cannot read x: it is a link that leaves the workspace"),
            (&["cat", "../x"], "cannot read ../x: it leaves the workspace"),
            (&["cat", "a/../../x"], "cannot read a/../../x: it leaves the workspace"),
            (
                &["cat", "/etc/passwd"],
                "cannot read /etc/passwd: it leaves the workspace: names begin at its top, without a /",
            ),
            (
                &["cat", "a/../b"],
                "cannot read a/../b: behind a link .. leads elsewhere than it seems; write the name without it",
            ),
            (&["cat", ""], "cannot read '': the name is empty"),
            (&["ls", ""], "cannot list '': the name is empty"),
            (&["exec", "--dir", "", "--", "true"], "cannot run in '': the name is empty"),
            (&["ls", &long], &cut),
            (&["cat", "d/f/"], "cannot read d/f/: it is no directory"),
            (&["rm", "d/f/"], "cannot remove d/f/: it is no directory"),
            (&["get", "d/f/"], "cannot get d/f/: it is no directory"),
            (&["get", "d"], "cannot get d: it is a directory; list it with: farside ls d"),
            (&["cat", "no such"], "cannot read 'no such': no such file or directory"),
            (&["cat", "a\nb"], "cannot read $'a\\nb': no such file or directory"),
            (&["cat", "d"], "cannot read d: it is a directory; list it with: farside ls d"),
            (&["cat", "p"], "cannot read p: it is no regular file but a pipe"),
            (&["ls", "nope"], "cannot list nope: no such file or directory"),
            (&["ls", "x/"], "cannot list x: it is a link that leaves the workspace"),
            (&["stat", "d/f/x"], "cannot stat d/f/x: it was refused as invalid"),
            (&["rm", "../d"], "cannot remove ../d: it leaves the workspace"),
            (&["rm", "nope"], "cannot remove nope: no such file or directory"),
        ];
        for (args, line) in lines {
            site.run(args).fails(125, line);
        }
        assert_eq!(site.run(&["cat", "d//./f"]).good().text(), "");
        let local = path(&site.dir.join("d/f")).to_owned();
        let put = format!("cannot put {local}");
        site.run(&["put", &local, "x"]).fails(125, &format!("{put}: x is a link that leaves the workspace"));
        site.run(&["put", &local, "d/f/x"])
            .fails(125, &format!("{put}: d/f/x is no regular file, or below something that is no directory"));
        let pipe = path(&site.dir.join("p")).to_owned();
        let line = "it is a pipe; give it as standard input: farside put - NAME < PIPE";
        site.run(&["put", &pipe, "q"]).fails(125, &format!("cannot put {pipe}: {line}"));
    }
}

#[test]
fn nobody_there() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let line = format!("nothing listens on {free}; start one with: farside serve DIR --listen {free}");
    for args in [
        &["ls"][..],
        &["exec", "--", "true"],
        &["info"],
        &["cat", "x", "y", "z"],
        &["rm", "x", "y"],
        &["get", "x"],
        &["exec", "--merged", "--", "true"],
    ] {
        at(&format!("http://{free}/"), args).fails(125, &line);
    }
    let temp = tempfile::tempdir().unwrap();
    let sock = format!("unix:{}", temp.path().join("s").display());
    at(&sock, &["ls"])
        .fails(125, &format!("nothing listens on {sock}; start one with: farside serve DIR --listen {sock}"));
    assert_eq!(names(temp.path()), [""; 0]);
}

#[test]
fn places() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("f");
    fs::write(&file, "").unwrap();
    at("no/such", &["ls"]).fails(125, "cannot work in no/such: no such directory");
    at("127.0.0.1:7070", &["ls"])
        .fails(125, "cannot work in 127.0.0.1:7070: no such directory; a server is named http://127.0.0.1:7070/");
    at(path(&file), &["ls"]).fails(125, &format!("cannot work in {}: it is no directory", file.display()));
    at("hub:/build-1", &["ls"])
        .fails(2, "cannot reach a place of the kind hub; known are a directory, http://HOST:PORT/ or unix:PATH");
    at("https://h/", &["ls"])
        .fails(2, "cannot use https: TLS is not built in yet; use a tunnel of ssh or a proxy here, and http:// to it");
    at("http://", &["ls"]).fails(2, "the URL is refused: the URL's host or port is malformed; write http://HOST:PORT/");
    at("unix:", &["ls"]).fails(2, "unix: takes the path of a socket, at most 107 bytes long");
    at(&format!("unix:/{}", "x".repeat(200)), &["ls"])
        .fails(2, "unix: takes the path of a socket, at most 107 bytes long");
}

/// SE-02, CL-15: a token is never in a command line or a URL, and a file with one is its owner's alone.
#[test]
fn tokens() {
    let line = "a token does not belong on the command line, where all can read it; put it in a file and give --token-file FILE";
    done(common::farside().args(["--token", "secret", "ls"])).fails(2, line);
    done(common::farside().args(["ls", "--token=secret"])).fails(2, line);
    done(common::farside().args(["serve", "--token=secret"])).fails(2, line);
    let tail = "; a token goes in a file: give --token-file FILE or set FARSIDE_TOKEN_FILE";
    at("http://user:secret@h/", &["ls"])
        .fails(2, &format!("the URL is refused: credentials do not belong in a URL{tail}"));
    at("http://h/?token=secret", &["ls"])
        .fails(2, &format!("the URL is refused: a server's URL has no query and no fragment{tail}"));
    for place in SERVERS {
        let site = Site::new(place);
        site.write("f", "x");
        let server = site.server.as_ref().unwrap();
        let (url, good) = (server.url.trim_end_matches('/'), server.token_file.as_ref().unwrap());
        let temp = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &str, mode: u32| {
            let file = temp.path().join(name);
            fs::write(&file, content).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            path(&file).to_owned()
        };
        let token = fs::read_to_string(good).unwrap();
        assert_eq!(fs::metadata(good).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(
            token.len() == 27 && token.trim_end().bytes().all(|b| matches!(b, b'A'..=b'Z' | b'2'..=b'7')),
            "{token}"
        );
        let call = |args: &[&str], env: &[(&str, &str)]| {
            let mut command = common::farside();
            command.args(["--at", &server.url]).args(args).envs(env.iter().copied());
            done(&mut command)
        };
        call(&["ls"], &[])
            .fails(125, &format!("{url} asks for a token (401); give --token-file FILE or set FARSIDE_TOKEN_FILE"));
        let wrong = file("wrong", "not-it\n", 0o600);
        call(&["--token-file", &wrong, "ls"], &[])
            .fails(125, &format!("{url} refused the token (401); check --token-file ({wrong})"));
        call(&["ls"], &[("FARSIDE_TOKEN_FILE", &wrong)])
            .fails(125, &format!("{url} refused the token (401); check FARSIDE_TOKEN_FILE ({wrong})"));
        call(&["exec", "--", "true"], &[("FARSIDE_TOKEN", "no")])
            .fails(125, &format!("{url} refused the token (401); check FARSIDE_TOKEN"));
        assert_eq!(call(&["ls"], &[("FARSIDE_TOKEN", token.trim_end())]).good().text(), "f\n");
        // The flag goes before the variables, the file before the token.
        assert_eq!(
            call(&["--token-file", path(good), "ls"], &[("FARSIDE_TOKEN_FILE", &wrong), ("FARSIDE_TOKEN", "no")])
                .good()
                .text(),
            "f\n"
        );
        assert_eq!(call(&["ls"], &[("FARSIDE_TOKEN_FILE", path(good)), ("FARSIDE_TOKEN", "no")]).good().text(), "f\n");
        for mode in [0o644, 0o640, 0o604, 0o660] {
            let loose = file("loose", &token, mode);
            let line = format!("the token file {loose} is open to others (mode {mode:04o}); run: chmod 600 {loose}");
            call(&["--token-file", &loose, "ls"], &[]).fails(125, &line);
            done(common::farside().args(["serve", "--token-file", &loose])).fails(125, &line);
        }
        let gone = path(&temp.path().join("gone")).to_owned();
        call(&["--token-file", &gone, "ls"], &[])
            .fails(125, &format!("cannot read the token file {gone}: no such file or directory"));
        for content in ["", "\n", "two words", "caf\u{e9}"] {
            let bad = file("bad", content, 0o600);
            call(&["--token-file", &bad, "ls"], &[])
                .fails(125, &format!("--token-file ({bad}) does not hold a token: one word of visible ASCII"));
        }
        // What holds no token is nothing to change the mode of.
        for odd in ["/", "/dev/null"] {
            call(&["--token-file", odd, "ls"], &[]).fails(125, &format!("the token file {odd} is no regular file"));
        }
        call(&["--token-file", "/etc/passwd", "ls"], &[])
            .fails(125, "--token-file (/etc/passwd) does not hold a token: one word of visible ASCII");
        // By standard input it is in no file at all.
        let mut command = common::farside();
        command.args(["--at", &server.url, "--token-file", "/dev/stdin", "ls"]);
        assert_eq!(fed(&mut command, token.as_bytes()).good().text(), "f\n");
    }
}

/// What a server sends that is none.
#[test]
fn bad_servers() {
    let html = answering(|sock, _| drop(sock.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\n<p>\n")));
    let failed = at(&html, &["ls"]);
    assert_eq!((failed.code, failed.err.lines().count()), (125, 1));
    assert!(failed.err.contains("502"), "{}", failed.err);
    let moved = answering(|sock, _| {
        drop(sock.write_all(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"))
    });
    at(&moved, &["cat", "x"])
        .fails(125, "cannot read x: the server answered with a redirect (status 302), and none is followed");
    let ssh = answering(|sock, _| drop(sock.write_all(b"SSH-2.0-OpenSSH_9.9\r\n")));
    let failed = at(&ssh, &["ls"]);
    assert_eq!((failed.code, failed.err.lines().count()), (125, 1));
    let other =
        answering(|sock, _| drop(sock.write_all(b"HTTP/1.1 200 OK\r\nFarside-Wire: 9\r\nContent-Length: 2\r\n\r\n{}")));
    let url = other.trim_end_matches('/');
    at(&other, &["info"])
        .fails(125, &format!("{url}: the server speaks wire 9, this is wire 1; use a farside of its version"));
    // CL-10: what it says is shown, never sent.
    let evil = answering(|sock, _| {
        let body = "{\"error\":{\"code\":\"other\",\"message\":\"a\u{1b}]52;c;x\u{7}\\nb\u{9b}\u{202e}\"}}";
        drop(write!(
            sock,
            "HTTP/1.1 500 X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
    });
    let failed = at(&evil, &["cat", "x"]);
    assert!(
        failed.code == 125 && !failed.err.trim_end().contains(|c: char| c.is_control() || c == '\u{202e}'),
        "{:?}",
        failed.err
    );
}

/// A reply that is cut is said to be, and nothing of it counts.
#[test]
fn cut_replies() {
    let file = answering(|sock, _| {
        drop(sock.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 5000000\r\n\r\n",
        ));
        drop(sock.write_all(&vec![b'x'; 3_100_000]));
    });
    let to = tempfile::tempdir().unwrap();
    let get = |args: &[&str]| done(common::farside().args(["--at", &file]).args(args).current_dir(to.path()));
    fs::write(to.path().join("old"), "old").unwrap();
    get(&["get", "x"]).fails(125, "cannot get x: the reply was cut after 3.1 MB");
    get(&["get", "x", "old"]).fails(125, "cannot get x: the reply was cut after 3.1 MB");
    assert_eq!((names(to.path()), fs::read(to.path().join("old")).unwrap()), (vec!["old".to_owned()], b"old".to_vec()));
    let shown = get(&["cat", "x"]);
    assert_eq!(
        (shown.code, shown.out.len(), &*shown.err),
        (125, 3_100_000, "farside: cannot read x: the reply was cut after 3.1 MB\n")
    );
    let exec = answering(|sock, head| {
        if head.starts_with("GET /v1/info") {
            let info = br#"{"wire":1,"root":"/x","extensions":["apart"]}"#;
            drop(write!(
                sock,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                info.len()
            ));
            return drop(sock.write_all(info));
        }
        let frame = b"{\"data\":\"aGkK\"}\n";
        drop(write!(
            sock,
            "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n",
            frame.len()
        ));
        drop(sock.write_all(frame));
        drop(sock.write_all(b"\r\n"));
    });
    let cut = at(&exec, &["exec", "--", "true"]);
    assert_eq!((cut.code, cut.text()), (125, "hi\n"));
    assert_eq!(cut.err, "farside: the reply was cut; the command may still be running\n");
    let silent = answering(|_, _| {});
    at(&silent, &["exec", "--merged", "--", "true"])
        .fails(125, "the server closed the connection without a reply; the command may still be running");
}

/// An end that no command has here is told: nothing else would tell it from a command's own 125.
#[test]
fn strange_ends() {
    for (end, told) in [
        (r#""exitCode":256"#, "true has ended, but the server tells no exit code that there is: 256"),
        (r#""exitCode":-1"#, "true has ended, but the server tells no exit code that there is: -1"),
        (r#""exitCode":-1,"signal":"WAT\u001b""#, "true was ended by a signal that is not known here: WAT\\u001b"),
    ] {
        let frame = format!("{{\"output\":{{{end}}}}}\n");
        let frame: &'static str = frame.leak();
        let server = answering(move |sock, _| {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson";
            drop(write!(sock, "{head}\r\nContent-Length: {}\r\n\r\n{frame}", frame.len()));
        });
        at(&server, &["exec", "--merged", "--", "true"]).fails(125, told);
    }
}

/// A server that is killed in the middle of it.
#[test]
fn a_server_that_dies() {
    for place in SERVERS {
        let mut site = Site::new(place);
        site.write("f", "");
        let mut child = site
            .command(&["exec", "--", "sh", "-c", "echo begun; sleep 100"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let server = site.server.as_mut().unwrap();
        server.signal(Signal::KILL);
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(125));
        assert_eq!(said, "farside: the reply was cut; the command may still be running\n");
        let killed = server.ended();
        assert_eq!(killed.0, -1);
    }
}

/// An interrupt leaves nothing half done, here or there.
#[test]
fn interrupted_transfers() {
    let stuck = answering(|sock, head| {
        if head.starts_with("GET /v1/fs/stat") {
            return;
        }
        drop(sock.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 5000000\r\n\r\nbegun",
        ));
        std::thread::sleep(common::LONG);
    });
    let to = tempfile::tempdir().unwrap();
    let mut child = common::farside().args(["--at", &stuck, "get", "x"]).current_dir(to.path()).spawn().unwrap();
    until("it has begun", || names(to.path()).iter().any(|name| name.starts_with(".farside-get-")));
    signal_to(&child, Signal::INT);
    assert_eq!(wait(&mut child).code(), Some(130));
    assert_eq!(names(to.path()), [""; 0]);
    for site in [Site::new(Place::Here), Site::new(SERVERS[0]), Site::new(SERVERS[2])] {
        let mut child = site.command(&["put", "-", "x"]).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(&vec![b'x'; 1 << 20]).unwrap();
        until("it has begun", || !names(&site.dir).is_empty());
        signal_to(&child, Signal::TERM);
        assert_eq!(wait(&mut child).code(), Some(143));
        until("nothing is left", || names(&site.dir).is_empty());
    }
}

#[test]
fn usage() {
    let line = |args: &[&str], line: &str| done(common::farside().args(args)).fails(2, line);
    line(
        &["exec", "ls"],
        "unexpected argument 'ls' found; the command goes behind --, as in: farside exec -- uname -a",
    );
    line(&["exce", "--", "ls"], "there is no command exce; did you mean exec?; see: farside help");
    for odd in ["banana", "touch", "", "chmod"] {
        line(&[odd], &format!("there is no command {}; see: farside help", if odd.is_empty() { "''" } else { odd }));
    }
    line(&["mkdir", "-p", "x"], "mkdir is not there yet; try: farside exec -- mkdir -p DIR");
    line(&["mv", "a", "b"], "mv is not there yet; try: farside exec -- mv FROM TO");
    line(&["cp", "a", "b"], "cp is not there yet; try: farside exec -- cp FROM TO");
    line(&["rm", "-r", "x"], "rm -r is not there yet; try: farside exec -- rm -r DIR");
    line(
        &["ls", "--color", "blah"],
        "invalid value 'blah' for '--color <WHEN>' [possible values: auto, always, never]; see: farside --help",
    );
    line(&["ls", "--at"], "a value is required for '--at <WHERE>' but none was supplied; see: farside help ls");
    line(&["get", "x", ""], "[LOCAL]: the name is empty");
    line(&["exec", "--", ""], "the program's name is empty");
    line(
        &["exec", "--timeout", "-1", "--", "ls"],
        "invalid value '-1' for '--timeout <TIME>': \"-1\" is no time; write 30s, 1m30s, 500ms or 2h; see: farside help exec",
    );
    line(&["exec", "--bogus", "--", "ls"], "unexpected argument '--bogus' found; see: farside help exec");
    line(
        &["serve", "--max-write", "1.5G"],
        "invalid value '1.5G' for '--max-write <SIZE>': \"1.5G\" is no size; write bytes, or 512M or 8G; see: farside help serve",
    );
    line(
        &["ls", "--jsn"],
        "unexpected argument '--jsn' found; a similar argument exists: '--json'; see: farside help ls",
    );
    line(&["get"], "the following required arguments were not provided: <REMOTE>; see: farside help get");
    line(
        &["exec", "--timeout", "1x", "--", "ls"],
        "invalid value '1x' for '--timeout <TIME>': \"1x\" is no time; write 30s, 1m30s, 500ms or 2h; see: farside help exec",
    );
    line(
        &["serve", "--runtime", "tokio"],
        "invalid value 'tokio' for '--runtime <RUNTIME>' [possible values: smol, std]; see: farside help serve",
    );
    let bare = done(&mut common::farside());
    assert!(bare.code == 2 && bare.out.is_empty() && bare.err.contains("Usage: farside"), "{bare:?}");
}

/// For programs what failed is on standard output too, one object each, and the line stays.
#[test]
fn json() {
    let object = |code: &str, line: &str| format!("{{\"error\":{{\"code\":\"{code}\",\"message\":\"{line}\"}}}}\n");
    for site in [Site::new(Place::Here), Site::new(SERVERS[0])] {
        site.write("f", "");
        let fails = |args: &[&str], status: i32, code: &str, line: &str| {
            let done = site.run(args);
            assert_eq!(
                (done.code, done.text(), &*done.err),
                (status, &*object(code, line), &*format!("farside: {line}\n"))
            );
        };
        fails(&["ls", "--json", "nope"], 125, "not_exist", "cannot list nope: no such file or directory");
        fails(&["stat", "--json", "../x"], 125, "outside", "cannot stat ../x: it leaves the workspace");
        fails(&["get", "--json", "nope"], 125, "not_exist", "cannot get nope: no such file or directory");
        fails(&["put", "--json", "no/pe", "x"], 125, "other", "cannot put no/pe: no such file or directory");
        fails(&["rm", "--json", "nope"], 125, "not_exist", "cannot remove nope: no such file or directory");
        fails(&["exec", "--json", "--", "./nope"], 127, "not_exist", "cannot run ./nope: no such file");
        let some = site.run(&["stat", "--json", "nope", "f"]);
        assert!(some.text().lines().count() == 2 && some.text().contains("\"path\":\"f\""), "{some:?}");
        // What goes to standard output itself is the file and nothing else.
        site.run(&["get", "--json", "nope", "-"]).fails(125, "cannot get nope: no such file or directory");
    }
    let refused = at("http://127.0.0.1:1/", &["ls", "--json"]);
    assert!(
        refused.text().starts_with("{\"error\":{\"code\":\"other\",\"message\":\"nothing listens on "),
        "{refused:?}"
    );
}
