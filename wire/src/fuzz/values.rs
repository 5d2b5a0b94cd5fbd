//! Fuzz bodies of the values. Each takes any bytes and panics only where the library is wrong.

use crate::{
    Bounds, Code, Error, ExecRequest, Info, Line, Listing, Out, Signal, WaitStatus, envelope, file, frame, json,
    json::Value,
    name,
    process::{self, ConnectRequest, ServerStart, Size, StartRequest},
    query::Query,
    route, servers, session,
};
use alloc::{vec, vec::Vec};

/// JSON: what is read can be written and is read again as the same.
pub fn json(text: &[u8]) {
    let Ok(value) = json::parse(text) else { return };
    let mut written = Vec::new();
    write_value(&mut written, &value);
    assert_eq!(json::parse(&written).as_ref(), Ok(&value));
    let mut again = Vec::new();
    write_value(&mut again, &value);
    assert_eq!(written, again);
}

fn write_value(out: &mut dyn Out, value: &Value<'_>) {
    match value {
        Value::Null => out.put(b"null"),
        Value::Bool(truth) => out.put(if *truth { b"true" } else { b"false" }),
        Value::Number(digits) => out.put(digits.as_bytes()),
        Value::String(text) => json::write_string(out, text),
        Value::Array(elements) => {
            out.put(b"[");
            for (n, element) in elements.iter().enumerate() {
                out.put(if n > 0 { b"," } else { b"" });
                write_value(out, element);
            }
            out.put(b"]");
        }
        Value::Object(object) => {
            out.put(b"{");
            for (n, (name, value)) in object.members().iter().enumerate() {
                out.put(if n > 0 { b"," } else { b"" });
                json::write_string(out, name);
                out.put(b":");
                write_value(out, value);
            }
            out.put(b"}");
        }
    }
}

/// NDJSON: the fast way through a line and the strict reader agree on every line.
pub fn ndjson(text: &[u8]) {
    for line in text.split(|byte| *byte == b'\n') {
        let mut into = vec![0; frame::MAX_FRAME_DATA];
        let fast = frame::parse_line(line, &mut into);
        let data = |into: &[u8], length: usize| into[..length].to_vec();
        match (frame::Frame::parse(line), fast) {
            (Ok(frame::Frame::Data(slow)), Ok(Line::Data(frame::Channel::Stdout, length))) => {
                assert_eq!(slow, data(&into, length));
            }
            (Ok(frame::Frame::Stderr(slow)), Ok(Line::Data(frame::Channel::Stderr, length))) => {
                assert_eq!(slow, data(&into, length));
            }
            (Ok(frame::Frame::Data(slow) | frame::Frame::Stderr(slow)), Ok(Line::Blank)) => assert!(slow.is_empty()),
            (Ok(frame::Frame::Output(slow)), Ok(Line::Output(fast))) => assert_eq!(slow, fast),
            (Ok(frame::Frame::Error(slow)), Ok(Line::Error(fast))) => assert_eq!(slow, fast),
            (Err(_), Ok(Line::Blank)) => assert!(line.trim_ascii().is_empty()),
            (Err(slow), Err(fast)) => assert_eq!(slow, fast),
            (slow, fast) => panic!("{slow:?} is not {fast:?}"),
        }
    }
}

/// Bodies: whatever a reader takes, its writer writes, and that is read and written as the same. The first byte says which body.
pub fn bodies(text: &[u8]) {
    let Some((kind, text)) = text.split_first() else { return };
    match BODIES.get(usize::from(*kind) % BODIES.len()) {
        Some((_, rewrite)) => same(text, rewrite),
        None => unreachable!("there are bodies"),
    }
}

/// Reads a body and writes it.
type Rewrite = fn(&[u8], &mut Vec<u8>) -> Result<(), Error>;

/// Every body by name, and how it is read and written.
pub const BODIES: &[(&str, Rewrite)] = &[
    ("exec", |text, out| ExecRequest::parse(text, &Bounds::default()).map(|body| body.write(out))),
    ("start", |text, out| StartRequest::parse(text).map(|body| body.write(out))),
    ("connect", |text, out| ConnectRequest::parse(text).map(|body| body.write(out))),
    ("server-start", |text, out| ServerStart::parse(text).map(|body| body.write(out))),
    ("signal", |text, out| Signal::parse(text).map(|body| body.write(out))),
    ("resize", |text, out| Size::parse(text).map(|body| body.write(out))),
    ("rename", |text, out| file::Rename::parse(text).map(|body| body.write(out))),
    ("info", |text, out| Info::parse(text).map(|body| body.write(out))),
    ("stat", |text, out| file::parse_info(text).map(|body| file::write_info(out, &body.name, &body.meta))),
    ("readdir", |text, out| Listing::parse(text).map(|body| body.write(out))),
    ("readlink", |text, out| file::parse_target(text).map(|body| file::write_target(out, &body))),
    ("lease", |text, out| session::Lease::parse(text).map(|body| body.write(out))),
    ("started", |text, out| process::parse_started(text).map(|body| process::write_started(out, &body))),
    ("wait", |text, out| WaitStatus::parse(text).map(|body| body.write(out, 512))),
    ("servers", |text, out| servers::parse_servers(text).map(|body| servers::write_servers(out, &body))),
    ("sessions", |text, out| session::parse_sessions(text).map(|body| session::write_sessions(out, &body))),
    ("processes", |text, out| process::parse_processes(text).map(|body| process::write_processes(out, &body))),
    ("refusal", |text, out| {
        let body = envelope::parse_refusal(text).ok_or(Error::invalid("refusal"))?;
        envelope::write_error(out, &body, 512);
        Ok(())
    }),
];

fn same(text: &[u8], rewrite: &Rewrite) {
    let (mut written, mut again) = (Vec::new(), Vec::new());
    if rewrite(text, &mut written).is_ok() {
        assert!(json::parse_object(&written).is_ok());
        assert_eq!(rewrite(&written, &mut again), Ok(()));
        assert_eq!(written, again);
    }
}

/// Names, queries and paths: names against a plain model, an encoded name through a query, no panic in a path.
pub fn names(text: &[u8]) {
    let code = name::check_bytes(text).map_err(|error| error.code).err();
    assert_eq!(code, model(text));
    let mut raw = b"path=".to_vec();
    crate::query::encode_component(&mut raw, text);
    let raw = core::str::from_utf8(&raw).unwrap_or_default();
    let query = Query::parse(Some(raw), &["path"]).unwrap_or_default();
    assert_eq!(query.get("path").as_deref(), Some(text));
    assert_eq!(query.name("path").map_err(|error| error.code).err(), code);
    let Ok(text) = core::str::from_utf8(text) else { return };
    if let Ok(query) = Query::parse(Some(text), &["path", "perm"]) {
        let _ = (query.name("path"), query.perm("perm"));
    }
    let (method, path) = text.split_once(' ').unwrap_or(("GET", text));
    if let route::Found::Route(_, params) = route::find(method, path, &["list", "tree"]) {
        let ids = [params.session, params.process, params.server, params.key];
        assert!(ids.iter().flatten().all(|id| !id.is_empty() && !id.contains(['/', '%'])));
    }
}

/// The names' rules, as plainly as they can be said.
fn model(name: &[u8]) -> Option<Code> {
    let name = match core::str::from_utf8(name) {
        Ok(name) if !name.contains('\0') => name,
        _ => return Some(Code::Invalid),
    };
    if name.starts_with('/') {
        return Some(Code::Outside);
    }
    let elements: Vec<&str> = name.split('/').collect();
    for end in 0..=elements.len() {
        let here = &elements[..end];
        let up = here.iter().filter(|element| **element == "..").count();
        let down = here.iter().filter(|element| !matches!(**element, "" | "." | "..")).count();
        if up > down {
            return Some(Code::Outside);
        }
    }
    let bad = elements.iter().any(|element| matches!(*element, "" | "." | ".."));
    (bad && name != ".").then_some(Code::Invalid)
}
