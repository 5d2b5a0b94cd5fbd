//! Every command, in every place it can act: here, and at a server on both runtimes over TCP and over a Unix socket.
#![allow(clippy::unwrap_used, reason = "these are tests")]

mod common;

use common::{Place, SERVERS, Site, done, fed, names, path};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

#[test]
fn ls() {
    for site in Site::everywhere() {
        site.write("b.txt", "12345");
        site.write("a/c/deep", "");
        site.write(".hidden", "");
        symlink("b.txt", site.dir.join("link")).unwrap();
        assert_eq!(site.run(&["ls"]).good().text(), "a\nb.txt\nlink\n");
        assert_eq!(site.run(&["ls", "-a"]).good().text(), ".hidden\na\nb.txt\nlink\n");
        assert_eq!(site.run(&["ls", "./a/"]).good().text(), "c\n");
        assert_eq!(site.run(&["ls", "b.txt"]).good().text(), "b.txt\n");
        assert_eq!(site.run(&["ls", "b.txt", "a", "a/c"]).good().text(), "b.txt\n\na:\nc\n\na/c:\ndeep\n");
        let some = site.run(&["ls", "nope", "a"]);
        assert_eq!(
            (some.code, some.text(), &*some.err),
            (125, "a:\nc\n", "farside: cannot list nope: no such file or directory\n")
        );
        assert_eq!(site.run(&["ls", "-R"]).good().text(), ".:\na\nb.txt\nlink\n\na:\nc\n\na/c:\ndeep\n");
        let long = site.run(&["ls", "-l"]).good();
        let rows: Vec<Vec<&str>> = long.text().lines().map(|line| line.split(' ').collect()).collect();
        assert_eq!((rows[1][0], rows[1][1], rows[1][3]), ("-rw-r--r--", "5", "b.txt"));
        assert_eq!(rows[2][3..], ["link", "->", "b.txt"]);
        assert!(rows[1][2].ends_with('Z') && rows[1][2].contains('T'), "{rows:?}");
        let json = site.run(&["ls", "--json", "-R"]).good();
        let lines: Vec<_> = json.text().lines().collect();
        assert_eq!(lines.len(), 5);
        assert!(
            lines[1].starts_with(r#"{"path":"b.txt","name":"b.txt","kind":"file","size":5,"mode":"0644","modTime":"#)
        );
        assert!(lines[2].ends_with(r#","target":"b.txt"}"#));
        assert!(lines[4].starts_with(r#"{"path":"a/c/deep","name":"deep","#));
    }
}

#[test]
fn stat() {
    for site in Site::everywhere() {
        site.write("f", "x".repeat(1234));
        fs::set_permissions(site.dir.join("f"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink("f", site.dir.join("l")).unwrap();
        let text = site.run(&["stat", "f", "l"]).good();
        let lines: Vec<_> = text.text().lines().collect();
        assert_eq!(lines[..4], ["f", "  kind  file", "  size  1234 (1.2 kB)", "  mode  0750 (-rwxr-x---)"]);
        assert_eq!(lines[5..7], ["l", "  kind  link to f"]);
        let json = site.run(&["stat", "--json", "f"]).good();
        assert!(
            json.text().starts_with(r#"{"path":"f","name":"f","kind":"file","size":1234,"mode":"0750","modTime":""#)
        );
        // The others have their turn.
        let some = site.run(&["stat", "nope", "f"]);
        assert_eq!((some.code, &*some.err), (125, "farside: cannot stat nope: no such file or directory\n"));
        assert!(some.text().starts_with("f\n"));
    }
}

#[test]
fn cat() {
    for site in Site::everywhere() {
        let bytes: Vec<u8> = (0..=255).collect();
        site.write("bytes", &bytes);
        site.write("empty", "");
        let big: Vec<u8> = (0..3_000_000u32).map(|n| (n * 7 / 3) as u8).collect();
        site.write("big", &big);
        assert_eq!(site.run(&["cat", "bytes", "empty", "bytes"]).good().out, [&*bytes, &*bytes].concat());
        assert!(site.run(&["cat", "big"]).good().out == big);
        assert_eq!(fed(&mut site.command(&["cat", "bytes", "-"]), b"tail").good().out, [&*bytes, b"tail"].concat());
        let some = site.run(&["cat", "nope", "bytes"]);
        assert_eq!(
            (some.code, &*some.err, &*some.out),
            (125, "farside: cannot read nope: no such file or directory\n", &*bytes)
        );
    }
}

#[test]
fn rm() {
    for site in Site::everywhere() {
        site.write("f", "");
        site.write("full/x", "");
        fs::create_dir(site.dir.join("empty")).unwrap();
        symlink("f", site.dir.join("l")).unwrap();
        assert_eq!(site.run(&["rm", "l", "empty/"]).good().text(), "");
        assert_eq!(names(&site.dir), ["f", "full"]);
        site.run(&["rm", "full"]).fails(125, "cannot remove full: the directory is not empty");
        site.run(&["rm", "."]).fails(125, "cannot remove .: it is the workspace itself");
        assert_eq!(site.run(&["rm", "--json", "f"]).good().text(), "{\"removed\":\"f\"}\n");
        site.run(&["rm", "f"]).fails(125, "cannot remove f: no such file or directory");
    }
}

#[test]
fn get() {
    for site in Site::everywhere() {
        let to = tempfile::tempdir().unwrap();
        let big: Vec<u8> = (0..2_000_000u32).map(|n| (n * 11 / 5) as u8).collect();
        site.write("d/big", &big);
        site.write("tool", "#!/bin/sh\n");
        fs::set_permissions(site.dir.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        let get = |args: &[&str]| {
            done(site.command(&[&["get"], args].concat()).current_dir(to.path()).env("FARSIDE_URL", at(&site)))
        };
        get(&["d/big"]).good();
        assert!(fs::read(to.path().join("big")).unwrap() == big);
        fs::create_dir(to.path().join("sub")).unwrap();
        get(&["tool", "sub"]).good();
        assert_eq!(fs::metadata(to.path().join("sub/tool")).unwrap().permissions().mode() & 0o111, 0o111);
        // One that is there keeps its mode, a link stays a link.
        fs::set_permissions(to.path().join("big"), fs::Permissions::from_mode(0o600)).unwrap();
        symlink("big", to.path().join("link")).unwrap();
        get(&["tool", "link"]).good();
        assert_eq!(fs::read(to.path().join("big")).unwrap(), b"#!/bin/sh\n");
        assert_eq!(fs::metadata(to.path().join("big")).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(to.path().join("link").is_symlink());
        assert!(get(&["d/big", "-"]).good().out == big);
        assert_eq!(get(&["--json", "tool", "t"]).good().text(), "{\"from\":\"tool\",\"to\":\"t\",\"bytes\":10}\n");
        get(&["d/big", "/dev/null"]).good();
        get(&["d"]).fails(125, "cannot get d: it is a directory; list it with: farside ls d");
        get(&["nope"]).fails(125, "cannot get nope: no such file or directory");
        get(&["tool", "no/such"]).fails(125, "cannot write no/such: no such file or directory");
        assert_eq!(names(to.path()), ["big", "link", "sub", "t"]);
    }
}

/// Where it is, for commands that run elsewhere.
fn at(site: &Site) -> String {
    site.server.as_ref().map_or_else(|| path(&site.dir).to_owned(), |server| server.url.clone())
}

#[test]
fn put() {
    for site in Site::everywhere() {
        let from = tempfile::tempdir().unwrap();
        let big: Vec<u8> = (0..2_000_000u32).map(|n| (n * 13 / 7) as u8).collect();
        let local = |name: &str| path(&from.path().join(name)).to_owned();
        fs::write(local("big"), &big).unwrap();
        fs::write(local("tool"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(local("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(site.dir.join("d")).unwrap();
        site.run(&["put", &local("big")]).good();
        assert!(site.read("big") == big);
        site.run(&["put", &local("tool"), "d"]).good();
        site.run(&["put", &local("tool"), "new/sub/"]).good();
        site.run(&["put", &local("tool"), "other/name"]).good();
        let mode = |name: &str| fs::metadata(site.dir.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!([mode("d/tool"), mode("new/sub/tool"), mode("other/name")], [0o755; 3]);
        // One that is there keeps its mode.
        site.run(&["put", &local("tool"), "big"]).good();
        assert_eq!((mode("big"), site.read("big")), (0o644, b"#!/bin/sh\n".to_vec()));
        fed(&mut site.command(&["put", "-", "piped"]), &big).good();
        assert!(site.read("piped") == big);
        fed(&mut site.command(&["put", "-", "nothing"]), b"").good();
        assert_eq!(site.read("nothing"), b"");
        // A file whose size lies is put whole, and an empty one with its mode.
        site.run(&["put", "/proc/self/status", "status"]).good();
        assert!(site.read("status").starts_with(b"Name:"));
        fs::write(local("empty"), "").unwrap();
        fs::set_permissions(local("empty"), fs::Permissions::from_mode(0o700)).unwrap();
        site.run(&["put", &local("empty")]).good();
        assert_eq!((mode("empty"), site.read("empty")), (0o700, Vec::new()));
        let json = site.run(&["put", "--json", &local("tool"), "t"]).good();
        assert_eq!(json.text(), format!("{{\"from\":\"{}\",\"to\":\"t\",\"bytes\":10}}\n", local("tool")));
        site.run(&["put", "-"]).fails(2, "cannot put standard input: say where to, as in: farside put - NAME");
        let what = format!("cannot put {}", from.path().display());
        site.run(&["put", path(from.path())])
            .fails(125, &format!("{what}: it is a directory, and one file is put at a time"));
        site.run(&["put", &local("nope")]).fails(125, &format!("{what}/nope: no such file or directory"));
        site.run(&["put", &local("tool"), "piped/x"])
            .fails(125, &format!("{what}/tool: piped/x is no regular file, or below something that is no directory"));
        assert!(!names(&site.dir).iter().any(|name| name.starts_with(".farside-")));
    }
}

#[test]
fn info() {
    for site in Site::everywhere() {
        let root = fs::canonicalize(&site.dir).unwrap();
        let text = site.run(&["info"]).good();
        assert!(
            text.text().starts_with(&format!("root        {}\nkind        local on ", root.display())),
            "{}",
            text.text()
        );
        let json = site.run(&["info", "--json"]).good();
        assert!(
            json.text().starts_with(&format!("{{\"root\":\"{}\",\"descriptor\":{{\"kind\":\"local\",", root.display()))
        );
        let extensions =
            json.text().split_once("\"extensions\":[").map(|(_, list)| list.to_owned()).unwrap_or_default();
        assert!(extensions.contains("\"apart\"") && extensions.ends_with("]}\n"), "{}", json.text());
    }
}

/// A place may be named before the command or behind it; what is named wins over FARSIDE_URL.
#[test]
fn at_before_and_behind() {
    let (here, there) = (Site::new(Place::Here), Site::new(SERVERS[0]));
    here.write("here", "");
    there.write("there", "");
    let dir = path(&here.dir);
    assert_eq!(there.run(&["ls"]).good().text(), "there\n");
    assert_eq!(there.run(&["--at", dir, "ls"]).good().text(), "here\n");
    assert_eq!(there.run(&["ls", "--at", dir]).good().text(), "here\n");
    assert_eq!(there.run(&["--at", "../ws", "ls"]).good().text(), "there\n");
    assert_eq!(done(there.command(&["ls"]).env("FARSIDE_URL", dir)).good().text(), "here\n");
}

/// CL-21: a name is what it is, whatever it begins with, and no shell is anywhere.
#[test]
fn odd_names_are_literal() {
    for site in [Site::new(Place::Here), Site::new(SERVERS[0])] {
        let odd = ["-rf", "--at", "@x", "*", "a b", "$HOME", "`id`", ";ls", "~", "%41", "a+b", "é", "?x=1&y#z"];
        for name in odd {
            site.write(name, name);
            assert_eq!(site.run(&["cat", "--", name]).good().text(), name);
            assert_eq!(site.run(&["exec", "--", "cat", "--", name]).good().text(), name);
        }
        site.write("plain", "");
        for name in odd {
            fed(&mut site.command(&["put", "-", "--", &format!("p{name}")]), name.as_bytes()).good();
            assert_eq!(site.read(&format!("p{name}")), name.as_bytes());
            site.run(&["rm", "--", name, &format!("p{name}")]).good();
        }
        assert_eq!(names(&site.dir), ["plain"]);
    }
}

/// CL-10, FS-55: what a name holds is shown, never sent.
#[test]
fn no_name_abuses_a_terminal() {
    for site in [Site::new(Place::Here), Site::new(SERVERS[0])] {
        let evil = [
            "clear\u{1b}[2J",
            "copy\u{1b}]52;c;eA==\u{7}",
            "two\nlines",
            "back\rover",
            "c1\u{9b}31m",
            "bidi\u{202e}gpj.exe",
            "{\"error\":1}",
            "q\"uote",
        ];
        for name in evil {
            site.write(name, "");
            symlink(name, site.dir.join(format!("l{name}"))).unwrap();
        }
        let whole = |args: &[&str]| {
            let shown = site.run(args);
            let text = format!("{}{}", shown.text(), shown.err);
            assert!(
                !text.replace('\n', "").contains(|c: char| c.is_control() || c == '\u{202e}'),
                "{args:?}: {text:?}"
            );
            text
        };
        let listed = whole(&["ls", "--color", "never"]);
        assert_eq!(listed.lines().count(), 2 * evil.len());
        assert!(
            listed.contains("$'clear\\033[2J'\n")
                && listed.contains("$'two\\nlines'\n")
                && listed.contains("\n{\"error\":1}\n")
        );
        assert_eq!(whole(&["ls", "-l"]).lines().count(), 2 * evil.len());
        let json = whole(&["ls", "--json"]);
        assert!(json.contains("\"name\":\"bidi\\u202egpj.exe\""));
        for name in evil {
            assert_eq!(whole(&["stat", name]).lines().count(), 5);
            assert_eq!(whole(&["stat", &format!("no{name}")]).lines().count(), 1);
            assert_eq!(whole(&["exec", "--", name]).lines().count(), 1);
            assert_eq!(whole(&["get", &format!("no{name}")]).lines().count(), 1);
            assert_eq!(whole(&["--at", &format!("no{name}"), "ls"]).lines().count(), 1);
            assert_eq!(whole(&["ls", &format!("--no{name}")]).lines().count(), 1);
        }
        // What a command prints is its own.
        assert_eq!(site.run(&["exec", "--", "printf", "\\033[2J"]).good().out, b"\x1b[2J");
    }
}

/// With -v one line for each request, and nothing of it without.
#[test]
fn verbose() {
    for site in Site::everywhere() {
        site.write("f", "x");
        let seen = site.run(&["-v", "cat", "f"]);
        assert_eq!((seen.code, seen.text()), (0, "x"));
        let words: Vec<_> = seen.err.trim_end().split(' ').collect();
        assert_eq!(
            (words.len(), &words[..4], words[5]),
            (6, &["farside:", "GET", "/v1/fs/file?path=f", "200"][..], "ms")
        );
        let seen = site.run(&["exec", "-v", "--merged", "--", "true"]);
        assert!(seen.err.starts_with("farside: POST /v1/exec 200 "), "{}", seen.err);
    }
}
