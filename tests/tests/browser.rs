//! What a page in a browser can send (class BR of the public cases): refused on every route before anything is done.
#![allow(clippy::unwrap_used, reason = "a test")]

use farside_backends::Memory;
use farside_core::{
    Access, Handler,
    wire::{
        Scopes,
        route::{BodyKind, JSON, ROUTES, Route},
    },
};
use farside_tests::{
    conformance::Runner,
    disk::Disk,
    recorder::{Notes, Recorder},
    replies::replies,
    requests::Request,
    served::{Served, rest},
};
use std::{collections::BTreeMap, sync::Arc};

const TOKEN: &str = "Authorization: Bearer t0ken";

fn handler(access: Access) -> (Arc<Handler>, Notes) {
    let memory = Memory::new();
    memory.put("f", "old").unwrap();
    let (recorder, notes) = Recorder::new(memory);
    (Handler::new(recorder, access), notes)
}

fn open() -> (Arc<Handler>, Notes) {
    handler(Access::Insecure(Scopes::ALL))
}

/// A request that the route takes, and that would change something if it changes anything.
fn sample(route: &Route) -> Request {
    let path = route.pattern.replace("{s}", "S").replace("{p}", "P").replace("{n}", "N").replace("{key}", "K");
    let query = if route.query.contains(&"path") { "?path=f" } else { "" };
    let request = Request::new(route.method.name(), &format!("{path}{query}"));
    let json = match path.as_str() {
        "/v1/exec" | "/v1/sessions/S/processes" => r#"{"args":["echo","hi"],"key":"K"}"#,
        "/v1/sessions/S/connect" => r#"{"port":80,"key":"K"}"#,
        "/v1/sessions/S/processes/P/signal" => r#"{"signal":"KILL"}"#,
        "/v1/sessions/S/processes/P/resize" => r#"{"rows":1,"cols":1}"#,
        "/v1/fs/rename" => r#"{"from":"f","to":"g"}"#,
        _ => r#"{"key":"K"}"#,
    };
    match route.body {
        BodyKind::None => request,
        BodyKind::Json { .. } => request.line("Content-Type: application/json").body(json),
        BodyKind::File | BodyKind::Raw => request.line("Content-Type: application/octet-stream").body("new"),
    }
}

/// A request for every route, and two for none.
fn samples() -> Vec<Request> {
    let unknown = [Request::get("/"), Request::post("/v1/none", "{}")];
    ROUTES.iter().map(sample).chain(unknown).collect()
}

/// Every route refuses it with 403 in every mode, whoever asks, and nothing was done.
fn refused_in_every_mode(what: &str, change: impl Fn(Request) -> Request) {
    let modes = [
        (Access::Insecure(Scopes::ALL), false),
        (Access::Insecure(Scopes::NONE), false),
        (Access::bearer("t0ken"), true),
        (Access::bearer("t0ken"), false),
        (Access::Refuse, false),
    ];
    for (access, token) in modes {
        let (handler, notes) = handler(access);
        for request in samples() {
            let request = if token { request.line(TOKEN) } else { request };
            let answer = change(request.clone()).ask(&handler);
            assert_eq!((answer.status, answer.code()), (403, "forbidden"), "{what}: {request:?}");
            assert!(answer.fields("www-authenticate").is_empty(), "{what}: {answer:?}");
        }
        assert_eq!(notes.take(), [""; 0], "{what}");
    }
}

#[test]
fn br_01_hosts_of_this_machine_are_served() {
    let (handler, _) = open();
    for host in [
        "localhost",
        "LOCALHOST",
        "LocalHost:1",
        "localhost:8080",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.255.255.254",
        "[::1]",
        "[::1]:65535",
    ] {
        for path in ["/v1/info", "/v1/fs/stat?path=f", "/v1/fs/file?path=f"] {
            assert_eq!(Request::get(path).host(host).ask(&handler).status, 200, "{host} {path}");
        }
        assert_eq!(Request::put("new", "x").host(host).ask(&handler).status, 204, "{host}");
        assert_eq!(Request::exec(&["true"], "").host(host).ask(&handler).status, 200, "{host}");
    }
}

#[test]
fn br_02_03_04_06_07_other_hosts_are_refused_on_every_route() {
    let (handler, notes) = open();
    let foreign = [
        // br_02
        "evil.example",
        "localhost.evil.example",
        "evil-localhost",
        "127.0.0.1.nip.io",
        "localtest.me",
        "0.0.0.0",
        "0.0.0.0:8080",
        "[::]",
        "10.0.0.1",
        "192.168.1.1",
        "[::ffff:127.0.0.1]",
        "[0:0:0:0:0:0:0:1]",
        "128.0.0.1",
        "126.255.255.255",
        // br_03
        "localhost.",
        "localhost.:80",
        "127.0.0.1.",
        // br_04
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.01",
        "127.000.000.001",
        "127.0.0.256",
        "127.0.0.1.1",
    ];
    let malformed = [
        // br_02
        "localhost:abc",
        "localhost:99999",
        "localhost:65536",
        "localhost:0",
        "localhost:",
        "localhost:080",
        "localhost:+80",
        ":80",
        "",
        // br_06
        "[::1%25lo]",
        "[::1%lo]",
        "[fe80::1%25eth0]",
        "[::1",
        "::1",
        "[::1]x",
        "[127.0.0.1]",
        // br_07
        "user@localhost",
        "localhost@evil.example",
        "localhost:80@evil.example",
        "evil.example#@localhost",
        "localhost/",
        "localhost, localhost",
        "local host",
        "localhost\\",
        "localhost?",
        "lo%63alhost",
        "löcalhost",
    ];
    for (hosts, status) in [(&foreign[..], 403), (&malformed[..], 400)] {
        for host in hosts {
            for request in samples() {
                let answer = request.clone().host(host).ask(&handler);
                assert_eq!(answer.status, status, "{host:?}: {request:?}");
            }
        }
    }
    assert_eq!(notes.take(), [""; 0]);
}

/// The rule in other words than the code's: cut at the port, then compared.
fn is_this_machine(host: &str) -> bool {
    let host = host.trim_matches([' ', '\t']).to_ascii_lowercase();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => {
            let good = !port.starts_with('0') && port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit());
            if !good || !port.parse::<u32>().is_ok_and(|n| n <= 65535) {
                return false;
            }
            name
        }
        _ => &host,
    };
    let parts: Vec<_> = name.split('.').collect();
    let byte = |part: &&str| (0..=255).any(|n: u32| n.to_string() == **part);
    ["localhost", "[::1]"].contains(&name) || parts.len() == 4 && parts[0] == "127" && parts.iter().all(byte)
}

#[test]
fn br_hosts_one_change_away_follow_the_rule() {
    let (handler, _) = open();
    let mut served = 0;
    let mut check = |host: &str| {
        let status = Request::get("/v1/info").host(host).ask(&handler).status;
        let wanted: &[u16] = if is_this_machine(host) { &[200] } else { &[400, 403] };
        assert!(wanted.contains(&status), "{host:?}: {status}");
        served += usize::from(status == 200);
    };
    for host in ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.255.0.9:1", "[::1]", "[::1]:65535"] {
        for at in 0..=host.len() {
            for c in "0179.:[]%@#/?aLx-_~\t ,;".chars() {
                let (before, after) = host.split_at(at);
                check(&format!("{before}{c}{after}"));
                check(&format!("{before}{c}{}", after.get(1..).unwrap_or_default()));
            }
            check(&format!("{}{}", &host[..at], host.get(at + 1..).unwrap_or_default()));
            check(&host[..at]);
        }
    }
    assert!(served > 100, "{served}");
}

#[test]
fn br_host_absent_or_twice() {
    let (handler, notes) = open();
    for request in samples() {
        let none = request.clone().without("host");
        assert_eq!(none.ask(&handler).status, 400);
        for second in ["Host: localhost", "Host: evil.example"] {
            assert_eq!(request.clone().line(second).ask(&handler).status, 400);
        }
        // Decision 14: HTTP/1.0 needs none, but without authentication it does.
        let old = String::from_utf8(none.bytes()).unwrap().replacen("HTTP/1.1", "HTTP/1.0", 1);
        let mut wire = farside_tests::virtual_time::Wire::new(handler.clone());
        wire.send(old.as_bytes());
        assert_eq!(farside_tests::replies::statuses(&wire.out), [403], "{old}");
    }
    assert_eq!(notes.take(), [""; 0]);
}

#[test]
fn br_10_an_absolute_target_names_the_host() {
    let (handler, notes) = open();
    for request in samples() {
        for (target, host, wanted) in [
            ("http://evil.example", "localhost", 400),
            ("http://localhost", "evil.example", 400),
            ("http://evil.example", "evil.example", 403),
            ("http://localhost:1", "localhost:2", 400),
            ("http://user@localhost", "localhost", 400),
            ("http://localhost@evil.example", "localhost", 400),
            ("//evil.example", "localhost", 404),
        ] {
            let mut request = request.clone().host(host);
            request.target.insert_str(0, target);
            let answer = request.ask(&handler);
            assert_eq!(answer.status, wanted, "{request:?}");
        }
    }
    assert_eq!(notes.take(), [""; 0]);
    assert_eq!(Request::get("http://localhost/v1/info").ask(&handler).status, 200);
    assert_eq!(Request::get("http://LOCALHOST:7/v1/info").host("localhost:7").ask(&handler).status, 200);
}

#[test]
fn with_authentication_any_host_is_served() {
    let (handler, _) = handler(Access::bearer("t0ken"));
    for host in ["evil.example", "box.internal:8443", "10.0.0.1", "[fe80::1]"] {
        assert_eq!(Request::get("/v1/info").host(host).line(TOKEN).ask(&handler).status, 200);
        assert_eq!(Request::get("/v1/info").host(host).ask(&handler).status, 401);
    }
}

#[test]
fn br_12_13_any_origin_is_refused_in_every_mode() {
    for origin in [
        // br_12
        "Origin: https://evil.example",
        "Origin: null",
        "Origin: http://localhost:8080",
        "Origin: http://localhost",
        "Origin: http://127.0.0.1",
        // br_13
        "Origin:",
        "Origin: ",
        "ORIGIN: x",
        "origin:y",
        "Origin: http://localhost, http://evil.example",
        "Origin: \u{fc}",
    ] {
        refused_in_every_mode(origin, |request| request.line(origin));
    }
    // br_13
    refused_in_every_mode("two Origins", |request| request.line("Origin: null").line("Origin: null"));
    refused_in_every_mode("Origin in front", |mut request| {
        request.lines.insert(0, "Origin: http://localhost".into());
        request
    });
}

#[test]
fn br_14_requests_of_other_sites_are_refused_in_every_mode() {
    for value in ["cross-site", "same-site", "Same-Origin", "NONE", "none, cross-site", "same-origin;x", "", "x"] {
        refused_in_every_mode(value, |request| request.line(&format!("Sec-Fetch-Site: {value}")));
    }
    refused_in_every_mode("every one counts", |r| r.line("sec-fetch-site: none").line("SEC-FETCH-SITE: cross-site"));
    refused_in_every_mode("in any order", |r| r.line("Sec-Fetch-Site: cross-site").line("Sec-Fetch-Site: none"));
}

#[test]
fn br_15_requests_of_no_page_and_of_the_same_origin_are_served() {
    let (handler, _) = open();
    for lines in [&["Sec-Fetch-Site: same-origin"][..], &["Sec-Fetch-Site: none"], &[], &["sec-fetch-site: none"; 2]] {
        let with = |request: Request| lines.iter().fold(request, |request, line| request.line(line));
        assert_eq!(with(Request::get("/v1/info")).ask(&handler).status, 200);
        assert_eq!(with(Request::put("new", "x")).ask(&handler).status, 204);
        assert_eq!(with(Request::exec(&["true"], "")).ask(&handler).status, 200);
    }
}

/// Whether a route's own type is checked before anything is looked up: a process is found, or not, before.
fn is_of_a_process(route: &Route) -> bool {
    route.pattern.contains("{p}")
}

#[test]
fn br_17_19_a_body_of_another_type_is_refused_and_nothing_runs() {
    let (handler, notes) = open();
    for route in ROUTES.iter().filter(|route| route.extension.is_none() && !is_of_a_process(route)) {
        let sample = Request { body: Some(b"{}".into()), ..sample(route) }.without("content-type");
        let right = route.body.media_type();
        let wrong = if right == JSON { "application/octet-stream" } else { JSON };
        for value in [
            // br_17
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            // br_19
            &format!("text/plain; {right}"),
            &format!("{right}, text/plain"),
            &format!("text/plain, {right}"),
            &format!("{right}p"),
            &format!("x{right}"),
            &format!("{right} x"),
            &format!("\"{right}\""),
            &right.replace('/', " / "),
            "",
            "*/*",
            "application/*",
            wrong,
        ] {
            let answer = sample.clone().line(&format!("Content-Type: {value}")).ask(&handler);
            assert_eq!((answer.status, answer.code()), (415, "invalid"), "{value} {}", route.pattern);
        }
        // br_17: no type; br_19: two lines, a NUL
        assert_eq!(sample.ask(&handler).status, 415, "{}", route.pattern);
        let two = sample.clone().line(&format!("Content-Type: {right}")).line(&format!("content-type: {right}"));
        assert_eq!(two.ask(&handler).status, 415, "{}", route.pattern);
        assert_eq!(sample.clone().line(&format!("Content-Type: {right}\0")).ask(&handler).status, 400);
        // rx_22: a body that would have to be inflated
        for coding in ["gzip", "br", "deflate", "identity, gzip", "x", ""] {
            let coded =
                sample.clone().line(&format!("Content-Type: {right}")).line(&format!("Content-Encoding: {coding}"));
            assert_eq!(coded.ask(&handler).status, 415, "{coding} {}", route.pattern);
        }
    }
    assert_eq!(notes.take(), [""; 0]);
}

/// The same on a process that runs: none of it reaches it.
#[test]
fn br_12_14_17_a_running_process_is_out_of_reach() {
    let disk = Disk::new();
    let served = Served::new(Runner::Std, disk.handler.clone());
    let ask = |request: Request| {
        let bytes = request.line("Connection: close").bytes();
        let answer = replies(&rest(&served.send(&bytes)), "").remove(0).unwrap();
        answer.check();
        answer
    };
    let opened = ask(Request::post("/v1/sessions", "{}"));
    let session = opened.text().split('"').nth(3).unwrap().to_owned();
    let path = format!("/v1/sessions/{session}");
    let start = Request::post(&format!("{path}/processes"), r#"{"args":["cat"],"key":"P","stderr":true}"#);
    assert_eq!(ask(start).status, 200);
    let running = || ask(Request::get(&format!("{path}/processes"))).text().to_owned();
    let before = running();
    assert!(before.contains("\"running\":true,\"stdin\":0,\"stdout\":0"), "{before}");
    for route in ROUTES.iter().filter(|route| route.pattern.contains("{s}")) {
        let mut request = sample(route);
        request.target = request.target.replace("/S", &format!("/{session}"));
        for line in ["Origin: null", "Origin:", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"] {
            assert_eq!(ask(request.clone().line(line)).status, 403, "{line}: {request:?}");
        }
        for host in ["evil.example", "localhost.", "127.1"] {
            assert_eq!(ask(request.clone().host(host)).status, 403, "{host}: {request:?}");
        }
        let form = Request { body: Some(b"{}".into()), ..request.clone() }.without("content-type");
        for media in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
            let answer = ask(form.clone().line(&format!("Content-Type: {media}")));
            assert_eq!((answer.status, answer.code()), (415, "invalid"), "{media}: {request:?}");
        }
        assert_eq!(ask(form).status, 415, "{request:?}");
        // br_22: nor is it reached by a method that a page can choose freely.
        if !matches!(route.method.name(), "GET" | "POST") {
            assert_eq!(ask(Request::new("PUT", &request.target)).status, 405, "{request:?}");
        }
        assert_eq!(running(), before, "{request:?}");
    }
    assert_eq!(disk.running().len(), 1);
}

#[test]
fn br_18_parameters_and_letters_of_a_type_do_not_matter() {
    let (handler, _) = open();
    for value in [
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "application/json ;x=y",
        "application/json;",
        "application/json;charset=\"utf-8, x\"",
        "\tapplication/json\t",
    ] {
        let exec = Request::exec(&["true"], "").without("content-type").line(&format!("Content-Type: {value}"));
        assert_eq!(exec.ask(&handler).status, 200, "{value}");
        let identity = exec.line("Content-Encoding: Identity");
        assert_eq!(identity.ask(&handler).status, 200, "{value}");
    }
}

#[test]
fn br_21_no_preflight_is_granted() {
    for (access, token) in [(Access::Insecure(Scopes::ALL), ""), (Access::bearer("t0ken"), TOKEN)] {
        let (handler, notes) = handler(access);
        for request in samples() {
            let mut preflight = Request::new("OPTIONS", &request.target)
                .line("Access-Control-Request-Method: POST")
                .line("Access-Control-Request-Headers: content-type, authorization")
                .line("Access-Control-Request-Private-Network: true");
            if !token.is_empty() {
                preflight = preflight.line(token);
            }
            // (Each answer is checked for fields that grant anything, as every answer is.)
            let status = preflight.clone().ask(&handler).status;
            assert!([404, 405].contains(&status), "{request:?}: {status}");
            assert_eq!(preflight.line("Origin: https://evil.example").ask(&handler).status, 403);
        }
        assert_eq!(notes.take(), [""; 0]);
    }
}

/// The reference's methods of each path, written out once more.
fn methods() -> BTreeMap<&'static str, &'static [&'static str]> {
    let p = "/v1/sessions/S/processes/P";
    BTreeMap::from([
        ("/v1/info", &["GET", "HEAD"][..]),
        ("/v1/fs/stat", &["GET", "HEAD"]),
        ("/v1/fs/lstat", &["GET", "HEAD"]),
        ("/v1/fs/readlink", &["GET", "HEAD"]),
        ("/v1/fs/readdir", &["GET", "HEAD"]),
        ("/v1/fs/file", &["GET", "HEAD", "PUT", "DELETE"]),
        ("/v1/exec", &["POST"]),
        ("/v1/exec/K/cancel", &["POST"]),
        ("/v1/servers", &["GET", "HEAD"]),
        ("/v1/sessions", &["POST"]),
        ("/v1/sessions/S/renew", &["POST"]),
        ("/v1/sessions/S", &["DELETE"]),
        ("/v1/sessions/S/processes", &["POST"]),
        ("/v1/sessions/S/connect", &["POST"]),
        ("/v1/sessions/S/servers/N/start", &["POST"]),
        (p, &["DELETE"]),
        ("/v1/sessions/S/processes/P/stdin", &["POST"]),
        ("/v1/sessions/S/processes/P/stdout", &["GET"]),
        ("/v1/sessions/S/processes/P/stderr", &["GET"]),
        ("/v1/sessions/S/processes/P/wait", &["GET"]),
        ("/v1/sessions/S/processes/P/signal", &["POST"]),
        ("/v1/sessions/S/processes/P/cancel", &["POST"]),
        ("/v1/sessions/S/processes/P/resize", &["POST"]),
    ])
}

#[test]
fn br_22_every_method_on_every_route() {
    let (handler, notes) = open();
    // Routes of extensions are taken from info: what it does not name is not there.
    let info = Request::get("/v1/info").ask(&handler);
    let has = |extension: &str| info.text().contains(&format!("\"{extension}\""));
    let mut table: BTreeMap<_, Vec<_>> =
        methods().into_iter().map(|(path, methods)| (path, methods.to_vec())).collect();
    if has("list") {
        table.entry("/v1/sessions").or_default().insert(0, "GET");
        table.entry("/v1/sessions/S/processes").or_default().insert(0, "GET");
    }
    for path in ["/v1/fs/mkdir", "/v1/fs/rename", "/v1/fs/chmod"].into_iter().filter(|_| has("tree")) {
        table.insert(path, vec!["POST"]);
    }
    for (path, allowed) in table {
        for method in
            ["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "TRACE", "get", "Post", "PROPFIND", "X"]
        {
            for query in ["?path=f", "?path=f&_method=DELETE", "?path=f&method=PUT&X-HTTP-Method-Override=PUT"] {
                let request = Request::new(method, &format!("{path}{query}"))
                    .line("X-HTTP-Method-Override: DELETE")
                    .line("X-HTTP-Method: DELETE")
                    .line("X-Method-Override: DELETE");
                if allowed.contains(&method) {
                    if matches!(method, "GET" | "HEAD") {
                        request.ask(&handler);
                        let done = notes.take();
                        let changes = |op: &String| ["Create", "Remove", "Exec"].iter().any(|w| op.starts_with(w));
                        assert!(!done.iter().any(changes), "{request:?}: {done:?}");
                    }
                    continue;
                }
                let answer = request.ask(&handler);
                assert_eq!(answer.status, 405, "{request:?}");
                assert_eq!(answer.fields("allow"), [allowed.join(", ")], "{request:?}");
                if method != "HEAD" {
                    assert_eq!(answer.code(), "unsupported");
                }
                assert_eq!(notes.take(), [""; 0], "{request:?}");
            }
        }
        // A body does not make it another request.
        if !allowed.contains(&"POST") {
            let form = Request::new("POST", path).line("Content-Type: application/x-www-form-urlencoded");
            assert_eq!(form.body("_method=DELETE&path=f").ask(&handler).status, 405, "{path}");
        }
        assert_eq!(Request::new("CONNECT", path).ask(&handler).status, 400);
    }
    assert_eq!(Request::get("/v1/fs/file?path=f").ask(&handler).body, b"old");
}

#[test]
fn br_22_another_spelling_of_a_route_is_no_route() {
    let (handler, notes) = open();
    for request in samples() {
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let spellings = [
            format!("{path}/"),
            format!("/{path}"),
            format!("/x{path}"),
            path.replacen("/v1", "/V1", 1),
            path.replacen("/v1", "/%761", 1),
            path.replacen("/v1/", "/v1//", 1),
            path.replacen("/v1/", "/v1/./", 1),
            path.replacen("/v1/", "/v1/x/../", 1),
            format!("{path};x"),
            format!("{path}%00"),
            format!("{path}%2f"),
            path.to_ascii_uppercase(),
        ];
        for spelling in spellings.into_iter().filter(|s| s != path) {
            let other = Request { target: format!("{spelling}?{query}"), ..request.clone() };
            let answer = other.ask(&handler);
            // An id may be any element: what is behind it is not known, or not of this method.
            let wanted: &[u16] = if path.contains("/S") || path.contains("/K/") { &[404, 405, 501] } else { &[404] };
            assert!(wanted.contains(&answer.status), "{other:?}: {answer:?}");
        }
    }
    assert_eq!(notes.take(), [""; 0]);
}

#[test]
fn br_26_file_bodies_are_inert_in_a_browser() {
    let memory = Memory::new();
    let html = "<script>alert(1)</script>";
    let names = ["x.html", "x.svg", "x.js", "x.xhtml", "x.pdf", "x", "x.json", "x.css", "index.html"];
    for name in names {
        memory.put(name, html).unwrap();
    }
    memory.put("large.html", html.repeat(10_000)).unwrap();
    let handler = Handler::new(memory, Access::Insecure(Scopes::ALL));
    for name in names.into_iter().chain(["large.html"]) {
        for method in ["GET", "HEAD"] {
            let request = Request::new(method, &format!("/v1/fs/file?path={name}")).line("Accept: text/html");
            let answer = request.ask(&handler);
            assert_eq!(answer.status, 200, "{name}");
            for (field, value) in [
                ("content-type", "application/octet-stream"),
                ("x-content-type-options", "nosniff"),
                ("content-disposition", "attachment"),
                ("content-security-policy", "sandbox; default-src 'none'"),
            ] {
                assert_eq!(answer.fields(field), [value], "{method} {name}");
            }
        }
    }
    // What a page cannot have a type for is not HTML either: every other body is JSON.
    for request in samples() {
        let answer = request.ask(&handler);
        let types = answer.fields("content-type");
        let good = ["application/json", "application/x-ndjson", "application/octet-stream"];
        assert!(types.iter().all(|media| good.contains(media)), "{answer:?}");
    }
}
