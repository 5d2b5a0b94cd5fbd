//! Who is let in (class AU of the public cases), and what one principal can do to another's commands.
#![allow(clippy::unwrap_used, reason = "a test")]

use farside_backends::Memory;
use farside_core::{
    Access, AccessError, Authenticator, Handler, Principal,
    access::{bearer_token, same},
    wire::{Moment, Scope, Scopes, http::RequestHead, route::ROUTES},
};
use farside_tests::{
    recorder::{Notes, Recorder},
    replies::{Answer, replies, statuses},
    requests::Request,
    served::{Served, on_both, rest},
    virtual_time::Wire,
};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

const SECOND: Duration = Duration::from_secs(1);

/// Tokens `NAME:SCOPES`, such as `a:rwes`; `T` is everybody's with all; `fail` cannot be looked up; `nobody` has no name.
struct Tokens;

impl Authenticator for Tokens {
    fn authenticate(&self, head: &RequestHead<'_>) -> Result<Principal, AccessError> {
        let token = bearer_token(head).ok_or(AccessError::Refused)?;
        let token = std::str::from_utf8(token).map_err(|_| AccessError::Refused)?;
        if token == "fail" {
            return Err(AccessError::Failed);
        }
        if same(token.as_bytes(), b"T") {
            return Ok(Principal::new("T", Scopes::ALL));
        }
        let (name, letters) = token.split_once(':').ok_or(AccessError::Refused)?;
        let scopes = Scope::ALL.into_iter().filter(|scope| letters.contains(&scope.name()[..1]));
        Ok(Principal::new(if name == "nobody" { "" } else { name }, scopes.collect()))
    }
}

fn guarded() -> (Arc<Handler>, Notes) {
    let memory = Memory::new();
    memory.put("f", "old").unwrap();
    let (recorder, notes) = Recorder::new(memory);
    let access = Access::Authenticated {
        authenticator: Box::new(Tokens),
        challenge: Some("Bearer realm=\"farside\", error=\"invalid_token\"".into()),
    };
    (Handler::new(recorder, access), notes)
}

fn auth(request: Request, credentials: &str) -> Request {
    request.line(&format!("Authorization: {credentials}"))
}

/// Requests of every sort: good ones, and ones that are wrong at each later step.
fn requests() -> Vec<Request> {
    let mut all = vec![
        Request::get("/v1/fs/file?path=f"),
        Request::get("/v1/fs/stat?path=../../etc"),
        Request::get("/v1/fs/stat?path=%zz"),
        Request::put("new", "x"),
        Request::put("new", vec![0; 100]).without("content-type"),
        Request::exec(&["echo"], ""),
        Request::exec(&[], ""),
        Request::post("/v1/exec", "not json"),
        Request::new("DELETE", "/v1/fs/file?path=f"),
        Request::get("/v1/none"),
        Request::get("/"),
        Request::new("*", "/v1/info"),
        Request::new("OPTIONS", "*"),
    ];
    for route in ROUTES {
        let path = route.pattern.replace(['{', '}'], "");
        all.extend(["GET", "PUT", "POST", "DELETE", "PATCH", "X"].map(|method| Request::new(method, &path)));
    }
    all
}

fn is_challenged(answer: &Answer) {
    assert_eq!((answer.status, answer.code()), (401, "unauthenticated"));
    assert_eq!(answer.fields("www-authenticate"), ["Bearer realm=\"farside\", error=\"invalid_token\""]);
}

#[test]
fn au_02_nothing_is_told_without_credentials() {
    let (handler, notes) = guarded();
    let mut bodies = Vec::new();
    for request in requests() {
        let answer = request.ask(&handler);
        is_challenged(&answer);
        bodies.push(answer.body);
        if request.target == "*" {
            continue;
        }
        let head = Request { method: "HEAD".into(), body: None, ..request }.without("content-type").ask(&handler);
        assert_eq!((head.status, head.fields("www-authenticate").len()), (401, 1));
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]), "one answer for all");
    assert_eq!(notes.take(), [""; 0]);
}

#[test]
fn au_03_04_credentials_are_exact() {
    let (handler, notes) = guarded();
    for good in ["Bearer T", "bearer T", "BEARER T", "bEaReR T", " Bearer T", "Bearer T\t "] {
        // (Blanks around a field's value are not part of it.)
        assert_eq!(auth(Request::get("/v1/info"), good).ask(&handler).status, 200, "{good:?}");
    }
    for bad in [
        // au_03
        "Bearer  T",
        "Bearer\tT",
        "Bearer t",
        "Bearer TT",
        "Bearer T T",
        "Bearer T,",
        // au_04
        "Bearer",
        "Bearer ",
        "Bearer \"T\"",
        "Basic VA==",
        "Basic T",
        "T",
        "",
        "BearerT",
        "Bearer=T",
        "Token T",
        "Bearer T, Bearer T",
        "Bearer \u{c4}",
    ] {
        for request in requests() {
            is_challenged(&auth(request, bad).ask(&handler));
        }
    }
    for (first, second) in
        [("Bearer T", "Bearer x"), ("Bearer x", "Bearer T"), ("Bearer T", "Bearer T"), ("Bearer T", "")]
    {
        is_challenged(&auth(auth(Request::get("/v1/info"), first), second).ask(&handler));
    }
    // The field by another name, or malformed.
    for line in ["X-Authorization: Bearer T", "Proxy-Authorization: Bearer T", "Authorization2: Bearer T"] {
        is_challenged(&Request::get("/v1/info").line(line).ask(&handler));
    }
    for line in ["Authorization : Bearer T", "Authorization: Bearer T\0", "Authorization Bearer T"] {
        assert_eq!(Request::get("/v1/info").line(line).ask(&handler).status, 400, "{line:?}");
    }
    assert_eq!(notes.take(), [""; 0]);
}

#[test]
fn au_03_every_token_but_one_is_refused() {
    let handler = Handler::new(Memory::new(), Access::bearer("s3cret-Token"));
    let right = "s3cret-Token";
    for at in 0..=right.len() {
        for c in ["x", " ", "S", "", "\t", "."] {
            let (before, after) = right.split_at(at);
            for token in [format!("{before}{c}{after}"), format!("{before}{c}{}", after.get(1..).unwrap_or_default())] {
                let status = auth(Request::get("/v1/info"), &format!("Bearer {token}")).ask(&handler).status;
                // (A blank at an end of the value is not part of it.)
                let wanted = if token.trim_end_matches([' ', '\t']) == right { 200 } else { 401 };
                assert_eq!(status, wanted, "{token:?}");
            }
        }
    }
}

#[test]
fn au_06_credentials_elsewhere_are_none() {
    let (handler, notes) = guarded();
    for path in ["/v1/info", "/v1/fs/stat?path=f", "/v1/exec/K/cancel"] {
        for query in ["access_token=T", "token=T", "authorization=Bearer%20T", "api_key=T"] {
            let sign = if path.contains('?') { '&' } else { '?' };
            is_challenged(&Request::get(&format!("{path}{sign}{query}")).ask(&handler));
        }
        for line in ["Cookie: token=T", "Cookie: Authorization=Bearer T", "X-Api-Key: T", "X-Auth-Token: T"] {
            is_challenged(&Request::get(path).line(line).ask(&handler));
        }
    }
    assert_eq!(Request::get("http://T@localhost/v1/info").ask(&handler).status, 400);
    assert_eq!(notes.take(), [""; 0]);
}

/// Everything that was logged.
static LOG: Mutex<String> = Mutex::new(String::new());

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        *LOG.lock().unwrap() += &format!("{} {}\n", record.target(), record.args());
    }

    fn flush(&self) {}
}

#[test]
fn au_06_no_credential_is_logged() {
    let _ = log::set_logger(&Logger).map(|()| log::set_max_level(log::LevelFilter::Trace));
    log::info!("the log is heard");
    on_both(|runner| {
        let (handler, _) = guarded();
        let served = Served::new(runner, handler);
        for bytes in [
            auth(Request::get("/v1/info?access_token=S3CRET-LOGGED"), "Bearer S3CRET-LOGGED").bytes(),
            Request::get("/v1/info").line("Cookie: S3CRET-LOGGED").line("Connection: close").bytes(),
            auth(Request::get("/v1/info"), "Bearer S3CRET-LOGGED\0").bytes(),
            Request::new("S3CRET-LOGGED", "/S3CRET-LOGGED").bytes(),
            b"S3CRET-LOGGED\r\n\r\n".to_vec(),
        ] {
            let sock = served.send(&bytes);
            sock.shutdown(std::net::Shutdown::Write).unwrap();
            assert!(!rest(&sock).windows(13).any(|w| w == b"S3CRET-LOGGED"));
        }
        served.close(SECOND);
    });
    let log = LOG.lock().unwrap();
    assert!(log.contains("the log is heard") && !log.contains("S3CRET-LOGGED"), "{log}");
}

#[test]
fn au_08_a_principal_without_a_name_is_nobody() {
    let (handler, notes) = guarded();
    for token in ["nobody:rwes", "nobody:", "nobody:r"] {
        for request in requests() {
            is_challenged(&auth(request, &format!("Bearer {token}")).ask(&handler));
        }
    }
    assert_eq!(notes.take(), [""; 0]);
}

#[test]
fn an_authenticator_that_fails_is_500_without_words() {
    let (handler, notes) = guarded();
    for request in requests() {
        let answer = auth(request, "Bearer fail").ask(&handler);
        assert_eq!((answer.status, answer.code()), (500, "other"));
        assert!(answer.fields("www-authenticate").is_empty());
        assert!(!answer.text().contains("fail"), "{}", answer.text());
    }
    // What a page could have sent is refused before anybody is asked.
    assert_eq!(auth(Request::get("/v1/info"), "Bearer fail").line("Origin: x").ask(&handler).status, 403);
    assert_eq!(notes.take(), [""; 0]);
}

#[test]
fn a_handler_without_either_lets_nobody_in() {
    let handler = Handler::new(Memory::new(), Access::Refuse);
    for request in requests() {
        let answer = auth(request, "Bearer T").ask(&handler);
        assert_eq!((answer.status, answer.code()), (401, "unauthenticated"));
        // The program gave no challenge.
        assert!(answer.fields("www-authenticate").is_empty());
    }
}

/// The scopes of the reference's table, for the routes that are not a process's: cell by cell, for all sixteen sets.
#[test]
fn au_01_scopes_of_every_route() {
    let (handler, notes) = guarded();
    for set in 0..16 {
        let held: String = "rwes".chars().enumerate().filter(|(n, _)| set & (1 << n) != 0).map(|(_, c)| c).collect();
        let token = format!("Bearer a:{held}");
        for (method, path, needs) in [
            ("GET", "/v1/info", "rs"),
            ("GET", "/v1/fs/stat?path=f", "r"),
            ("GET", "/v1/fs/lstat?path=f", "r"),
            ("GET", "/v1/fs/readlink?path=f", "r"),
            ("GET", "/v1/fs/readdir?path=.", "r"),
            ("GET", "/v1/fs/file?path=f", "r"),
            ("HEAD", "/v1/fs/file?path=f", "r"),
            ("PUT", "/v1/fs/file?path=g", "w"),
            ("DELETE", "/v1/fs/file?path=g", "w"),
            ("POST", "/v1/exec", "e"),
            ("POST", "/v1/exec/K/cancel", "e"),
            ("GET", "/v1/servers", "s"),
            ("POST", "/v1/sessions", "es"),
            ("POST", "/v1/sessions/S/renew", "es"),
            ("DELETE", "/v1/sessions/S", "es"),
            ("POST", "/v1/sessions/S/processes", "e"),
            ("POST", "/v1/sessions/S/connect", "e"),
            ("POST", "/v1/sessions/S/servers/N/start", "s"),
            ("DELETE", "/v1/sessions/S/processes/P", "es"),
            ("GET", "/v1/sessions/S/processes/P/stdout", "es"),
        ] {
            let mut request = Request::new(method, path);
            if method == "PUT" {
                request = Request::put("g", "x");
            } else if path == "/v1/exec" {
                request = Request::exec(&["true"], "");
            }
            let answer = auth(request, &token).ask(&handler);
            let allowed = held.chars().any(|c| needs.contains(c));
            assert_eq!(answer.status != 403, allowed, "{held:?} {method} {path}: {answer:?}");
            if !allowed {
                assert_eq!(notes.take(), [""; 0], "{held:?} {method} {path}");
                // A body of any type and length is not looked at before.
                let large =
                    Request::new(method, path).line("Content-Type: text/plain").line("Content-Length: 999999999");
                if method != "HEAD" {
                    assert_eq!(auth(large, &token).ask(&handler).code(), "forbidden");
                }
            }
            notes.take();
        }
    }
}

#[test]
fn au_27_each_request_of_a_connection_is_authenticated() {
    let (handler, _) = guarded();
    let with = |token: &str| auth(Request::get("/v1/fs/file?path=f"), token).bytes();
    let without = Request::get("/v1/fs/file?path=f").bytes();
    let all =
        [with("Bearer T"), without.clone(), with("Bearer a:"), with("Bearer a:r"), with("Bearer x"), without].concat();
    for piece in [1, 7, all.len()] {
        let mut wire = Wire::new(handler.clone());
        all.chunks(piece).for_each(|piece| wire.send(piece));
        assert_eq!(statuses(&wire.out), [200, 401, 403, 200, 401, 401]);
    }
    on_both(|runner| {
        let served = Served::new(runner, guarded().0);
        let sock = served.send(&all);
        sock.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(statuses(&rest(&sock)), [200, 401, 403, 200, 401, 401]);
    });
}

#[test]
fn au_32_without_authentication_only_this_machine_is_answered_on_any_listener() {
    on_both(|runner| {
        for address in ["0.0.0.0:0", "[::]:0", "127.0.0.1:0", "[::1]:0"] {
            let (recorder, notes) = Recorder::new(Memory::new());
            let handler = Handler::new(recorder, Access::Insecure(Scopes::ALL));
            let served = Served::on(address, runner, handler);
            let port = served.at.port();
            let to = match served.at {
                SocketAddr::V4(_) => SocketAddr::from(([127, 0, 0, 1], port)),
                SocketAddr::V6(_) => SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], port)),
            };
            let ask = |host: &str, request: Request| {
                let request = request.host(host).line("Connection: close");
                statuses(&rest(&farside_tests::served::send(to, &request.bytes())))
            };
            assert_eq!(ask(&format!("localhost:{port}"), Request::get("/v1/info")), [200]);
            for host in ["0.0.0.0", "192.168.0.17", "box.lan", "[::]", "[fe80::1]"] {
                assert_eq!(ask(&format!("{host}:{port}"), Request::exec(&["true"], "")), [403], "{address} {host}");
                assert_eq!(ask(host, Request::put("new", "x")), [403], "{address} {host}");
            }
            assert_eq!(notes.take(), [""; 0]);
        }
    });
}

fn exec(token: &str, key: &str, args: &[&str]) -> Request {
    auth(Request::exec(args, &format!(",\"key\":\"{key}\"")), token)
}

fn cancel(token: &str, key: &str) -> Request {
    auth(Request::new("POST", &format!("/v1/exec/{key}/cancel")), token)
}

#[test]
fn au_25_keys_are_a_principals_own() {
    let (handler, _) = guarded();
    let (a, b) = ("Bearer a:e", "Bearer b:e");
    let mut first = Wire::new(handler.clone());
    first.send(&exec(a, "K", &["sleep", "100"]).bytes());
    let second = exec(a, "K", &["sleep", "100"]).ask(&handler);
    assert_eq!((second.status, second.code()), (409, "exist"));
    assert_eq!(exec("Bearer a:rwes", "K", &["true"]).ask(&handler).status, 409, "another token of the same name");
    // B has not got that exec: its cancel finds none, for any key that is not its own.
    for key in ["K", "L"] {
        let answer = cancel(b, key).ask(&handler);
        assert_eq!((answer.status, answer.code()), (404, "not_exist"));
        assert_eq!(answer.body, cancel(b, "never").ask(&handler).body, "as if there were none");
    }
    // And may use the key.
    let mut other = Wire::new(handler.clone());
    other.send(&exec(b, "K", &["sleep", "100"]).bytes());
    assert_eq!(cancel(b, "K").ask(&handler).status, 204);
    other.pass(SECOND);
    first.pass(SECOND);
    assert!(replies(&other.out, "")[0].as_ref().unwrap().text().contains("\"interrupted\":true"));
    assert_eq!(replies(&first.out, ""), [None], "A's goes on");
    assert_eq!(cancel(a, "K").ask(&handler).status, 204);
    first.pass(SECOND);
    assert!(replies(&first.out, "")[0].as_ref().unwrap().text().contains("\"interrupted\":true"));
}

/// PR-47, and what the key of an exec is after its end.
#[test]
fn pr_47_cancel_before_during_and_after() {
    let (handler, _) = guarded();
    let a = "Bearer a:e";
    let ask = |request: Request, at: u64| {
        let mut wire = Wire::at(Moment(at * 1_000_000), handler.clone());
        wire.send(&request.bytes());
        replies(&wire.out, "")[0].clone().unwrap()
    };
    // Before: there is none, and that spends nothing.
    assert_eq!(ask(cancel(a, "K"), 0).code(), "not_exist");
    for bad in ["x.y", "a%20b", "é", &"k".repeat(129)] {
        let status = cancel(a, bad).ask(&handler).status;
        assert!([404, 400].contains(&status), "{bad}: {status}");
    }
    // A start that fails leaves the key free.
    assert_eq!(ask(exec(a, "K", &["no-such"]), 0).code(), "not_exist");
    assert_eq!(ask(exec(a, "K", &[]), 0).code(), "invalid");
    assert_eq!(ask(cancel(a, "K"), 0).code(), "not_exist");
    for (members, out) in
        [(",\"stream\":true", "{\"data\":\"aGkK\"}\n{\"output\":{"), ("", "{\"output\":{\"stdout\":\"aGkK\",")]
    {
        let key = format!("K{}", members.len());
        let mut wire = Wire::new(handler.clone());
        let keyed = format!(",\"key\":\"{key}\"{members}");
        wire.send(&auth(Request::exec(&["echo", "hi", ";", "sleep", "1000"], &keyed), a).bytes());
        wire.pass(SECOND);
        assert_eq!(replies(&wire.out, ""), [None]);
        // During, any number of times.
        for _ in 0..3 {
            let answer = ask(cancel(a, &key), 1);
            assert_eq!((answer.status, answer.body.len()), (204, 0));
        }
        wire.turn();
        wire.pass(10 * SECOND);
        let answers = replies(&wire.out, "");
        let [Some(answer)] = &answers[..] else { panic!("{answers:?}") };
        let wanted = format!("{out}\"exitCode\":-1,\"interrupted\":true}}}}\n");
        assert_eq!(answer.text(), wanted);
        // After its end it is cancelled, and the key spent, for one lease: then forgotten.
        for at in [1, 30, 60] {
            assert_eq!(ask(cancel(a, &key), at).status, 204, "{key} at {at} s");
            assert_eq!(ask(exec(a, &key, &["true"]), at).code(), "exist");
        }
        assert_eq!(ask(cancel(a, &key), 61).code(), "not_exist");
        assert_eq!(ask(exec(a, &key, &["true"]), 61).status, 200);
    }
}

/// F12: what is stuck or wrong for one is nothing to another.
#[test]
fn f12_one_stuck_command_blocks_no_other() {
    let (handler, _) = guarded();
    let mut stuck: Vec<_> = (0..30)
        .map(|n| {
            let mut wire = Wire::new(handler.clone());
            wire.send(&exec("Bearer a:e", &format!("K{n}"), &["stubborn"]).bytes());
            wire
        })
        .collect();
    for n in 0..30 {
        let token = ["Bearer b:rwe", "Bearer a:rwe"][n % 2];
        let answer = exec(token, &format!("L{n}"), &["echo", "hi"]).ask(&handler);
        assert_eq!(answer.text(), "{\"output\":{\"stdout\":\"aGkK\",\"exitCode\":0}}\n");
        assert_eq!(auth(Request::get("/v1/fs/file?path=f"), token).ask(&handler).status, 200);
        assert_eq!(exec(token, &format!("M{n}"), &["no-such"]).ask(&handler).status, 404);
        assert_eq!(exec(token, &format!("M{n}"), &["true"]).ask(&handler).status, 200, "a failed start left nothing");
    }
    for wire in &mut stuck {
        wire.turn();
        assert_eq!(replies(&wire.out, ""), [None], "and they still run");
        wire.reset();
        wire.pass(10 * SECOND);
        assert!(wire.closed);
    }
}
