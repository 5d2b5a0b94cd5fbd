//! BR-24 and BR-25 with a real browser: a page that tries everything it can against a server on another loopback port, and the same
//! page after its name was bound to the server's own address. Run apart, where `chromium` is installed.
#![allow(clippy::unwrap_used, reason = "a test")]

use farside_backends::Memory;
use farside_core::{Access, Handler, wire::Scopes};
use farside_tests::{
    recorder::{Notes, Recorder},
    served::eventually,
};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

/// Everything a page can do with an address. What it could read, or run, it tells its own server in the end.
const PAGE: &str = r#"<!doctype html><body><script>
const at = 'TARGET', said = [], say = (what, how) => said.push(what + ':' + how);
const exec = JSON.stringify({args: ['echo', 'pwned']});
const tries = {
  async no_cors() { const r = await fetch(at + '/v1/exec', {method: 'POST', mode: 'no-cors', body: exec});
    return r.type == 'opaque' ? 'blind' : await read(r); },
  async cors() { return read(await fetch(at + '/v1/exec', {method: 'POST', body: exec, headers: {'Content-Type': 'application/json'}})); },
  async cors_get() { return read(await fetch(at + '/v1/info')); },
  async put() { return read(await fetch(at + '/v1/fs/file?path=new', {method: 'PUT', body: 'x'})); },
  async loopback() { return read(await fetch(at + '/v1/exec', {method: 'POST', body: exec, targetAddressSpace: 'loopback'})); },
  xhr() { return new Promise((done, fail) => { const x = new XMLHttpRequest(); x.open('POST', at + '/v1/exec');
    x.setRequestHeader('Content-Type', 'application/json'); x.onload = () => done(x.status < 400 ? 'READ' : x.status); x.onerror = fail;
    x.send(exec); }); },
  async form() { const f = document.createElement('form'); f.method = 'POST'; f.enctype = 'text/plain'; f.action = at + '/v1/exec';
    const i = document.createElement('input'); i.name = exec.slice(0, -1) + ',"x":"'; i.value = '"}'; f.append(i);
    const w = document.createElement('iframe'); w.name = f.target = 'w'; document.body.append(w, f); f.submit(); return 'blind'; },
  async beacon() { navigator.sendBeacon(at + '/v1/exec', new Blob([exec], {type: 'text/plain'})); return 'blind'; },
  async beacon_json() { navigator.sendBeacon(at + '/v1/exec', new Blob([exec], {type: 'application/json'})); return 'blind'; },
  event_source() { return new Promise((done, fail) => { const e = new EventSource(at + '/v1/info'); e.onopen = () => done('READ');
    e.onerror = fail; }); },
  img() { return element('img', '/v1/fs/file?path=x.svg'); },
  script() { return element('script', '/v1/fs/file?path=x.js'); },
  style() { return element('link', '/v1/fs/file?path=x.css'); },
  async iframe() { const w = document.createElement('iframe'); w.src = at + '/v1/fs/file?path=x.html'; document.body.append(w);
    return 'blind'; },
  async object() { const w = document.createElement('object'); w.data = at + '/v1/fs/file?path=x.html'; document.body.append(w);
    return 'blind'; },
  socket() { return new Promise((done, fail) => { const s = new WebSocket(at.replace('http', 'ws') + '/v1/tunnel');
    s.onopen = () => done('READ'); s.onerror = fail; }); },
  async worker() { const s = await navigator.serviceWorker.register(at + '/v1/fs/file?path=x.js'); return 'READ'; },
};
async function read(r) { return r.status < 400 ? 'READ' : r.status + (await r.text() ? '' : ''); }
function element(name, path) { return new Promise((done, fail) => { const e = document.createElement(name); e.rel = 'stylesheet';
  e.onload = () => done('READ'); e.onerror = fail; e[name == 'link' ? 'href' : 'src'] = at + path; document.body.append(e); }); }
addEventListener('message', e => say('message', e.data));
(async () => { for (const [what, attempt] of Object.entries(tries)) {
  let late = new Promise(done => setTimeout(() => done('late'), 5000));
  try { say(what, await Promise.race([attempt(), late])); } catch (e) { say(what, 'error'); } }
  setTimeout(() => fetch('TOLD/said?' + said.join('&'), {mode: 'no-cors'}), 500); })();
</script>"#;

const ATTEMPTS: usize = 17;

fn page(target: &str, told: u16) -> String {
    PAGE.replace("TARGET", target).replace("TOLD", &format!("http://127.0.0.1:{told}"))
}

/// A port that a page comes from, perhaps the server's own.
struct Front {
    handler: Option<Arc<Handler>>,
    page: Mutex<String>,
    /// The heads of what came for the handler.
    heads: Mutex<Vec<String>>,
    /// What the page said in the end.
    said: Mutex<Option<String>>,
}

impl Front {
    /// Serves the page, what it says, and everything else by the handler.
    fn new(handler: Option<Arc<Handler>>) -> (Arc<Self>, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (page, heads, said) = Default::default();
        let front = Arc::new(Self { handler, page, heads, said });
        let served = front.clone();
        thread::spawn(move || {
            for sock in listener.incoming().flatten() {
                let front = served.clone();
                thread::spawn(move || front.serve(sock));
            }
        });
        (front, port)
    }

    fn serve(&self, mut sock: TcpStream) {
        let mut head = [0; 4096];
        let n = sock.peek(&mut head).unwrap_or(0);
        let head = String::from_utf8_lossy(&head[..n]).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default();
        match &self.handler {
            Some(handler) if !["/attack", "/said"].iter().any(|own| path.starts_with(own)) => {
                self.heads.lock().unwrap().push(head.clone());
                let _ = farside_std::serve_socket(sock, handler.clone());
                return;
            }
            _ => {}
        }
        if let Some(said) = path.strip_prefix("/said?") {
            *self.said.lock().unwrap() = Some(said.into());
        }
        let page = if path == "/attack" { self.page.lock().unwrap().clone() } else { String::new() };
        let fields = format!("Content-Type: text/html\r\nContent-Length: {}\r\nConnection: close", page.len());
        let _ = sock.write_all(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n{page}").as_bytes());
        let _ = sock.read(&mut [0; 8192]);
    }

    /// What the page says after its last attempt.
    fn visit(&self, url: &str) -> String {
        let profile = tempfile::tempdir().unwrap();
        let browser = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"])
            .args(["--disable-breakpad", "--host-resolver-rules=MAP evil.test 127.0.0.1"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(url)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map(Browser)
            .unwrap();
        let mut said = None;
        eventually("the page has tried everything", || {
            said = self.said.lock().unwrap().take();
            said.is_some()
        });
        drop(browser);
        said.unwrap()
    }
}

/// Ends with all its processes.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.0);
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.0.wait();
    }
}

fn target() -> (Arc<Handler>, Notes) {
    let memory = Memory::new();
    for (name, content) in [
        ("x.html", "<script>parent.postMessage('READ', '*')</script>"),
        ("x.js", "self.postMessage && postMessage('READ', '*')"),
        ("x.css", "body { color: red }"),
        ("x.svg", "<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>"),
    ] {
        memory.put(name, content).unwrap();
    }
    let (recorder, notes) = Recorder::new(memory);
    (Handler::new(recorder, Access::Insecure(Scopes::ALL)), notes)
}

fn nothing_came_of_it(said: &str, notes: &Notes, front: &Front) {
    assert_eq!(said.split('&').count(), ATTEMPTS, "{said}");
    assert!(!said.contains("READ"), "{said}");
    assert_eq!(notes.take(), [""; 0], "{said}");
    let heads = std::mem::take(&mut *front.heads.lock().unwrap());
    assert!(heads.len() >= 8, "the browser was let try: {heads:?}");
}

#[test]
#[ignore = "needs chromium"]
fn br_24_a_page_of_another_port_does_and_reads_nothing() {
    let (handler, notes) = target();
    let (server, port) = Front::new(Some(handler));
    for host in ["127.0.0.1", "localhost"] {
        let (pages, from) = Front::new(None);
        *pages.page.lock().unwrap() = page(&format!("http://{host}:{port}"), from);
        for name in ["127.0.0.1", "localhost", "evil.test"] {
            let said = pages.visit(&format!("http://{name}:{from}/attack"));
            nothing_came_of_it(&said, &notes, &server);
        }
    }
}

/// The page comes from the server's own port under a name of its own: to the browser, all of it is one origin.
#[test]
#[ignore = "needs chromium"]
fn br_25_a_name_that_is_bound_anew_does_and_reads_nothing() {
    let (handler, notes) = target();
    let (server, port) = Front::new(Some(handler));
    let (told, at) = Front::new(None);
    *server.page.lock().unwrap() = page(&format!("http://evil.test:{port}"), at);
    let said = told.visit(&format!("http://evil.test:{port}/attack"));
    let own = format!("Host: evil.test:{port}");
    assert!(server.heads.lock().unwrap().iter().all(|head| head.is_empty() || head.contains(&own)));
    nothing_came_of_it(&said, &notes, &server);
}
