//! SE-04: no error tells where on this machine the workspace is. Every operation on every odd thing there can be in a directory, and
//! every way in which a command does not start.
#![allow(clippy::unwrap_used, reason = "a test")]

use farside_backends::Local;
use farside_core::{
    Access, AccessError, Authenticator, Handler, Principal,
    access::bearer_token,
    wire::{Bounds, Scope, Scopes, http::RequestHead, times},
};
use farside_tests::{
    replies::{Answer, replies},
    requests::Request,
    served::{Served, eventually, on_both, rest},
    virtual_time::Wire,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::PathBuf,
    time::Duration,
};

const CANARY: &str = "CANARYROOT";

/// The whole workspace to a token of scopes, which are its first letters.
struct ByLetters;

impl Authenticator for ByLetters {
    fn authenticate(&self, head: &RequestHead<'_>) -> Result<Principal, AccessError> {
        let letters = String::from_utf8_lossy(bearer_token(head).ok_or(AccessError::Refused)?).into_owned();
        let scopes = Scope::ALL.into_iter().filter(|scope| letters.contains(&scope.name()[..1]));
        Ok(Principal::new("p", scopes.collect()))
    }
}

struct Tree {
    _held: tempfile::TempDir,
    ws: PathBuf,
}

fn tree() -> Tree {
    let held = tempfile::tempdir().unwrap();
    let ws = held.path().join(CANARY).join("ws");
    fs::create_dir_all(ws.join("dir/sub")).unwrap();
    fs::create_dir(ws.join("empty")).unwrap();
    fs::write(ws.join("f"), "content").unwrap();
    for (name, target) in [
        ("abs", "/etc/passwd"),
        ("up", "../out"),
        ("self", &*ws.join("f").to_string_lossy()),
        ("rootl", "/"),
        ("magic", "/proc/self/root"),
        ("loop", "loop"),
        ("dang", "nope"),
        ("dangdir", "nope/nope"),
        ("ldir", "dir"),
        ("lf", "f"),
    ] {
        symlink(target, ws.join(name)).unwrap();
    }
    for n in 0..45 {
        let target = if n == 0 { "f".into() } else { format!("chain{}", n - 1) };
        symlink(target, ws.join(format!("chain{n}"))).unwrap();
    }
    let _ = UnixListener::bind(ws.join("sock")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, ws.join("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for (name, text, mode) in [
        ("script", "#!/no/such/interpreter\n", 0o755),
        ("plain", "not a program\n", 0o644),
        ("garbage", "\x7fELFgarbage", 0o755),
        ("nothing", "", 0o755),
        ("slash", "#!/\n", 0o755),
        ("itself", "#!./itself\n", 0o755),
    ] {
        fs::write(ws.join(name), text).unwrap();
        fs::set_permissions(ws.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(ws.join("empty"), fs::Permissions::from_mode(0o000)).unwrap();
    Tree { _held: held, ws }
}

fn names() -> Vec<String> {
    let things = [
        "f",
        "dir",
        "dir/sub",
        "empty",
        "abs",
        "up",
        "self",
        "rootl",
        "magic",
        "loop",
        "dang",
        "dangdir",
        "ldir",
        "lf",
        "chain39",
        "chain44",
        "sock",
        "fifo",
        "script",
        "plain",
        "nope",
        "nope/nope",
    ];
    let mut names: Vec<String> = things.map(String::from).to_vec();
    for thing in things {
        names.extend(["x", ".", "..", "etc/passwd", "f"].map(|below| format!("{thing}/{below}")));
        names.push(format!("{thing}/"));
        names.push(format!("/{thing}"));
        names.push(format!("../{thing}"));
        names.push(format!("dir/../{thing}"));
    }
    let odd = ["", ".", "..", "/", "%00", "f%00", "%ff", "a%2fb", "%zz", "%", "..%2f..%2fetc", "%2e%2e", "f%0a", "..."];
    names.extend(odd.map(String::from));
    names.push("n".repeat(255));
    names.push("n".repeat(256));
    names.push("n/".repeat(2047) + "n");
    names.push("n/".repeat(2048) + "n");
    names.push(format!("{}/{}", CANARY.to_lowercase(), "x"));
    names
}

fn fs_requests() -> Vec<Request> {
    let mut all = Vec::new();
    for name in names() {
        for op in ["stat", "lstat", "readlink", "readdir", "file"] {
            all.push(Request::get(&format!("/v1/fs/{op}?path={name}")));
        }
        all.push(Request::put(&name, "new"));
        for perm in ["0", "9", "-1", "7777", "0o644", "", "99999999999999"] {
            all.push(Request::put(&format!("{name}&perm={perm}"), "new"));
        }
        all.push(Request::new("DELETE", &format!("/v1/fs/file?path={name}")));
    }
    for query in ["", "?", "?path", "?path=f&path=f", "?Path=f", "?path=f&perm=0&perm=0"] {
        all.extend(["stat", "readdir", "file"].map(|op| Request::get(&format!("/v1/fs/{op}{query}"))));
        all.push(Request { target: format!("/v1/fs/file{query}"), ..Request::put("", "x") });
    }
    all
}

fn exec_requests() -> Vec<Request> {
    let mut all = Vec::new();
    for program in [
        "no-such",
        "./no-such",
        "./f",
        "./dir",
        "dir",
        "./script",
        "./plain",
        "./garbage",
        "./nothing",
        "./slash",
        "./itself",
        "./fifo",
        "./sock",
        "./loop",
        "./dang",
        "./abs",
        "./self",
        "./rootl",
        "../../no-such",
        "/no/such",
        "/",
        ".",
        "./",
        "",
        "f/x",
        "./f/x",
    ] {
        for members in
            ["", ",\"stream\":true", ",\"dir\":\"dir\"", ",\"env\":[\"PATH=.:/nope::dir\"]", ",\"env\":[\"PATH=\"]"]
        {
            all.push(Request::exec(&[program], members));
        }
    }
    for dir in names() {
        let dir = dir.replace('%', "");
        all.push(Request::exec(&["true"], &format!(",\"dir\":{dir:?}")));
    }
    for body in [
        "{}".into(),
        "[]".into(),
        "{\"args\":[]}".into(),
        "{\"args\":[\"true\"],\"env\":[\"A\"]}".into(),
        "{\"args\":[\"true\"],\"stdin\":\"!\"}".into(),
        format!("{{\"args\":[\"true\",{}\"x\"]}}", format!("\"{}\",", "x".repeat(100_000)).repeat(50)),
        format!("{{\"args\":[\"true\",{:?}]}}", "x".repeat(1 << 20)),
        format!("{{\"args\":[\"true\"],\"env\":[\"A={}\"]}}", "x".repeat(1 << 18)),
        format!("{{\"args\":[{:?}]}}", "n".repeat(5000)),
        format!("{{\"args\":[{:?}]}}", format!("./{}", "n".repeat(300))),
    ] {
        all.push(Request::post("/v1/exec", &body));
    }
    all
}

/// A reply that tells nothing of the place, and its code.
fn check(request: &Request, answer: &Answer, codes: &mut BTreeMap<String, usize>) {
    answer.check();
    let all = format!("{}{}", answer.head, String::from_utf8_lossy(&answer.body));
    let error = answer.status >= 400 || answer.body.starts_with(b"{\"error\"");
    // (What a link says is its content, and the workspace's own.)
    assert!(!error || !all.contains(CANARY), "{request:?}: {all}");
    assert!(!all.contains("panicked") && !all.contains(".rs:"), "{request:?}: {all}");
    // What has no code of its own is told by the system's own name for it, and by nothing else.
    assert!(answer.code() != "other" || all.contains("\"errno\":\"E"), "{request:?}: {all}");
    *codes.entry(answer.code().to_owned()).or_default() += 1;
}

#[test]
fn se_04_no_error_tells_the_root() {
    let mut codes = BTreeMap::new();
    for by_hand in [false, true] {
        let tree = tree();
        let env = vec![format!("PATH={}", std::env::var("PATH").unwrap())];
        let make = if by_hand { Local::new_without_openat2 } else { |dir, env| Local::new(dir, env) };
        let handler = Handler::new(make(&tree.ws, env).unwrap(), Access::Insecure(Scopes::ALL));
        for request in fs_requests() {
            check(&request, &request.ask(&handler), &mut codes);
        }
        let served = Served::new(farside_tests::conformance::Runner::Std, handler);
        for request in exec_requests() {
            let sock = served.send(&request.clone().line("Connection: close").bytes());
            let answers = replies(&rest(&sock), "");
            check(&request, answers[0].as_ref().unwrap(), &mut codes);
        }
        served.close(Duration::from_secs(1));
    }
    // Enough of all sorts: a test that provokes nothing shows nothing.
    let wanted = ["exist", "invalid", "limit", "not_exist", "outside", "permission"];
    for code in wanted {
        assert!(codes.get(code).is_some_and(|n| *n >= 2), "{code}: {codes:?}");
    }
    let known: BTreeSet<_> = wanted.into_iter().chain(["", "other", "unsupported"]).collect();
    assert!(codes.keys().all(|code| known.contains(&**code)), "{codes:?}");
}

#[test]
fn se_04_who_may_not_read_is_told_the_last_element_alone() {
    let tree = tree();
    let handler = Handler::with(
        Local::new(&tree.ws, vec!["PATH=/bin:/usr/bin".into()]).unwrap(),
        Access::authenticated(ByLetters),
        Bounds::default(),
        times::LEASE,
    );
    for set in 0..16 {
        let held: String = "rwes".chars().enumerate().filter(|(n, _)| set & (1 << n) != 0).map(|(_, c)| c).collect();
        let token = format!("Authorization: Bearer x{held}");
        for request in [Request::get("/v1/info"), Request::get("/v1/fs/stat?path=nope"), Request::get("/v1/servers")] {
            let answer = request.clone().line(&token).ask(&handler);
            let told = format!("{answer:?}").contains(CANARY) || answer.text().contains(CANARY);
            assert_eq!(
                told,
                held.contains('r') && request.target == "/v1/info",
                "{held} {request:?}: {}",
                answer.text()
            );
            if request.target == "/v1/info" && held.contains('s') && !held.contains('r') {
                assert!(answer.text().contains("\"root\":\"ws\""), "{}", answer.text());
            }
        }
    }
}

/// A directory that vanishes, one that is replaced, and a file that shrinks on its way out.
#[test]
fn se_04_nor_when_it_goes_away() {
    on_both(|runner| {
        let tree = tree();
        let env = vec![format!("PATH={}", std::env::var("PATH").unwrap())];
        let handler = Handler::new(Local::new(&tree.ws, env).unwrap(), Access::Insecure(Scopes::ALL));
        let served = Served::new(runner, handler.clone());
        // A file that shrinks is cut: never padded, never followed by another reply.
        const SIZE: u64 = 64 << 20;
        let large = tree.ws.join("large");
        File::create(&large).unwrap().set_len(SIZE).unwrap();
        let sock = served.send(&Request::get("/v1/fs/file?path=large").bytes());
        let mut first = [0; 1];
        std::io::Read::read_exact(&mut &sock, &mut first).unwrap();
        File::options().write(true).open(&large).unwrap().set_len(1).unwrap();
        let out = [&first[..], &rest(&sock)].concat();
        assert_eq!(replies(&out, ""), [None], "{runner:?}");
        assert!((out.len() as u64) < SIZE && !out.windows(CANARY.len()).any(|w| w == CANARY.as_bytes()));

        let mut wire = Wire::new(handler.clone());
        let put = Request::put("dir/late", "content").bytes();
        wire.send(&put[..put.len() - 1]);
        fs::remove_dir_all(&tree.ws).unwrap();
        wire.send(&put[put.len() - 1..]);
        let mut codes = BTreeMap::new();
        let answers = replies(&wire.out, "");
        let put = Request::put("dir/late", "content");
        assert!(answers[0].as_ref().unwrap().status >= 400);
        check(&put, answers[0].as_ref().unwrap(), &mut codes);
        for request in fs_requests().into_iter().step_by(7) {
            check(&request, &request.ask(&handler), &mut codes);
        }
        for request in exec_requests().into_iter().step_by(5) {
            let sock = served.send(&request.clone().line("Connection: close").bytes());
            check(&request, replies(&rest(&sock), "")[0].as_ref().unwrap(), &mut codes);
        }
        eventually("it is served on", || Request::get("/v1/info").ask(&handler).status == 200);
    });
}
