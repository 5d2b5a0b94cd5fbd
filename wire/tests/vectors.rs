//! The value vectors: every port to another language has to pass them, so this one does too.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use farside_wire::{
    Bounds, Code, Details, Error, ExecRequest, FileMode, Info, Line, Out, Query, RouteId, Scopes, Timestamp, envelope,
    errno, frame,
    frame::{Channel, Frame},
    fuzz, json, name, query,
    route::{self, Found},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Reads a file of vectors and runs each, collecting every failure before it fails.
fn each(file: &str, run: impl Fn(&Value, &Value) -> Result<(), Code>) -> Vec<Value> {
    let path = format!("{}/../tests/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert!(cases.len() > 10);
    let mut names = BTreeSet::new();
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        assert!(names.insert(name), "{name} is there twice");
        assert!(!case["about"].as_str().unwrap().is_empty() && !case["spec"].as_str().unwrap().is_empty());
        let code = run(&case["given"], &case["expect"]).err().map(Code::name);
        assert_eq!(code, case["must_fail"].as_str(), "{name}: the code");
    }
    cases
}

fn code(error: Error) -> Code {
    error.code
}

/// Bytes given as `KEY`, `KEY_hex`, or `parts` of text and count.
fn bytes(given: &Value, key: &str) -> Vec<u8> {
    let parts = given.get("line_parts").or(given.get("parts"));
    if let Some(parts) = parts {
        let part = |part: &Value| part[0].as_str().unwrap().repeat(part[1].as_u64().unwrap() as usize);
        return parts.as_array().unwrap().iter().map(part).collect::<String>().into();
    }
    match given.get(key) {
        Some(text) => text.as_str().unwrap().into(),
        None => unhex(given[format!("{key}_hex")].as_str().unwrap()),
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn put(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn names() {
    each("names.json", |given, _| name::check_bytes(&bytes(given, "name")).map(|_| ()).map_err(code));
}

#[test]
fn queries() {
    each("query.json", |given, expect| {
        if let Some(text) = given["perm"].as_str() {
            let perm = query::perm(text).map_err(code)?;
            assert_eq!(json!(perm), expect["perm"], "{given}");
            return Ok(());
        }
        if let Some(hex) = given["encode_hex"].as_str() {
            let text = put(|out| query::encode_component(out, &unhex(hex)));
            assert_eq!(json!(text), expect["text"], "{given}");
            return Ok(());
        }
        let known: Vec<&str> = given["known"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let query = Query::parse(given["query"].as_str(), &known).map_err(code)?;
        for key in &known {
            let value = query.get(key).map(|value| value.into_owned());
            let expected = expect.get(key).map(|value| match value.as_str() {
                Some(text) => text.as_bytes().to_vec(),
                None => unhex(value["hex"].as_str().unwrap()),
            });
            assert_eq!(value, expected, "{given}: {key}");
        }
        Ok(())
    });
}

#[test]
fn routes() {
    let cases = each("routes.json", |given, expect| {
        let extensions: Vec<&str> = match given["extensions"].as_array() {
            Some(names) => names.iter().map(|name| name.as_str().unwrap()).collect(),
            None => vec!["list", "tree"],
        };
        match route::find(given["method"].as_str().unwrap(), given["path"].as_str().unwrap(), &extensions) {
            Found::Route(route, params) => {
                let mut told = json!({});
                let ids = [("session", params.session), ("process", params.process), ("server", params.server)];
                for (name, id) in ids.into_iter().chain([("key", params.key)]).filter(|(_, id)| id.is_some()) {
                    told[name] = json!(id);
                }
                let found = json!({"route": format!("{:?}", route.id), "params": told, "needs": route.needs.name(),
                    "body": route.body.media_type(), "reply": route.reply});
                assert_eq!(&found, expect, "{given}");
                assert_eq!(route.id.route(), route);
                Ok(())
            }
            Found::Method(allow) => {
                assert_eq!(&json!({"status": 405, "allow": allow.to_string()}), expect, "{given}");
                Err(Code::Unsupported)
            }
            Found::Unknown => {
                assert_eq!(&json!({"status": 404}), expect, "{given}");
                Err(Code::Unsupported)
            }
        }
    });
    let named: BTreeSet<_> =
        cases.iter().filter_map(|case| case["expect"]["route"].as_str()).map(String::from).collect();
    let all: BTreeSet<_> = route::ROUTES.iter().map(|route| format!("{:?}", route.id)).collect();
    assert_eq!(named, all, "every route has a vector");
    assert_eq!(route::ROUTES.iter().filter(|route| route.extension.is_none()).count(), 25);
}

fn error(given: &Value) -> Error {
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let number = |value: &Value| value.as_str().unwrap().parse().unwrap();
    let mut error = Error::from(Code::from_name(given["code"].as_str().unwrap()));
    error.words = given.get("words").map(text).unwrap_or_default().into();
    if let Some(given) = given.get("details") {
        let details = Details {
            limit: given.get("limit").map(number),
            name: given.get("name").map(text).map(Into::into),
            ran: given.get("ran").map(|ran| ran.as_bool().unwrap()),
            errno: given.get("errno").map(text).map(Into::into),
            offset: given.get("offset").map(number),
        };
        error = error.with(|d| *d = details);
    }
    error
}

#[test]
fn codes() {
    let cases = each("codes.json", |given, expect| {
        if let Some(number) = given["errno"].as_i64() {
            assert_eq!(errno::from_errno(number as i32), error(&expect["error"]), "{given}");
        } else if let Some(body) = given["body"].as_str() {
            let expected = (!expect["error"].is_null()).then(|| error(&expect["error"]));
            assert_eq!(envelope::parse_refusal(body.as_bytes()), expected, "{given}");
        } else {
            let error = error(&given["error"]);
            let body = put(|out| envelope::write_error(out, &error, given["max_bytes"].as_u64().unwrap()));
            assert_eq!(json!({"status": envelope::status_of(&error), "body": body}), *expect, "{given}");
        }
        Ok(())
    });
    let sent: BTreeSet<_> = cases.iter().filter_map(|case| case["given"]["error"]["code"].as_str()).collect();
    assert_eq!(sent, Code::ALL.iter().map(|code| code.name()).collect(), "every code has a vector");
    let told = serde_json::to_string(&cases).unwrap();
    for code in Code::ALL {
        for alias in code.aliases() {
            assert!(told.contains(&format!("\\\"{alias}\\\"")), "{alias} has a vector");
        }
    }
    for name in Bounds::NAMES {
        let is = |case: &Value| case["given"]["error"]["details"]["name"] == *name;
        assert!(cases.iter().any(is), "{name} has a vector");
    }
}

#[test]
fn json_texts() {
    each("json.json", |given, expect| {
        let text = bytes(given, "text");
        let value = json::parse(&text).map_err(code)?;
        if let Some(expected) = expect.get("value") {
            assert_eq!(&serde(&value), expected, "{given}");
        }
        fuzz::values::json(&text);
        Ok(())
    });
}

fn serde(value: &json::Value<'_>) -> Value {
    match value {
        json::Value::Null => Value::Null,
        json::Value::Bool(truth) => json!(truth),
        json::Value::Number(digits) => serde_json::from_str(digits).unwrap(),
        json::Value::String(text) => json!(text),
        json::Value::Array(elements) => elements.iter().map(serde).collect(),
        json::Value::Object(object) => {
            Value::Object(object.members().iter().map(|(name, value)| (name.to_string(), serde(value))).collect())
        }
    }
}

#[test]
fn bodies() {
    let cases = each("bodies.json", |given, expect| {
        let (kind, text) = (given["kind"].as_str().unwrap(), bytes(given, "text"));
        let mut out = Vec::new();
        if let Some(scopes) = given.get("scopes") {
            let scopes = Scopes::from_names(scopes.as_array().unwrap().iter().map(|name| name.as_str().unwrap()));
            Info::parse(&text).and_then(|info| info.for_scopes(scopes)).map_err(code)?.write(&mut out);
        } else if let Some(limits) = given.get("limits") {
            let bound =
                |key: &str, default: u64| limits.get(key).map_or(default, |n| n.as_str().unwrap().parse().unwrap());
            let mut bounds = Bounds::default();
            bounds.max_write_bytes = bound("maxWriteBytes", bounds.max_write_bytes);
            bounds.max_request_bytes = bound("maxRequestBytes", bounds.max_request_bytes);
            ExecRequest::parse(&text, &bounds).map_err(code)?.write(&mut out);
        } else {
            let (_, rewrite) = fuzz::values::BODIES.iter().find(|(name, _)| *name == kind).unwrap();
            rewrite(&text, &mut out).map_err(code)?;
        }
        let expected = match expect["text"].as_str() {
            Some(text) => text.as_bytes().to_vec(),
            None => bytes(&expect["text"], "text"),
        };
        assert_eq!(out.escape_ascii().to_string(), expected.escape_ascii().to_string());
        Ok(())
    });
    let kinds: BTreeSet<_> = cases.iter().map(|case| case["given"]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, fuzz::values::BODIES.iter().map(|(name, _)| *name).collect(), "every body has a vector");
    let info = cases.iter().find(|case| case["name"] == "bodies/info/most").unwrap();
    let info: Value = serde_json::from_str(info["given"]["text"].as_str().unwrap()).unwrap();
    for row in Bounds::TABLE {
        assert_eq!(info["bounds"][row.key], row.default, "the default of {}", row.key);
    }
}

#[test]
fn frames() {
    let cases = each("frames.json", |given, expect| {
        let line = bytes(given, "line");
        let mut into = vec![0; frame::MAX_FRAME_DATA];
        let read = frame::parse_line(&line, &mut into);
        fuzz::values::ndjson(&line);
        let (kind, written) = match read.map_err(code)? {
            Line::Blank => ("blank", vec![]),
            Line::Data(channel, length) => {
                let data = &into[..length];
                let expected = match expect.get("data_repeat") {
                    Some(repeat) => unhex(repeat[0].as_str().unwrap()).repeat(repeat[1].as_u64().unwrap() as usize),
                    None => unhex(expect["data_hex"].as_str().unwrap()),
                };
                assert_eq!(data, expected, "{given}");
                let mut room = vec![0; frame::data_frame_len(channel, length)];
                assert_eq!(frame::write_data_frame(&mut room, channel, data), room.len());
                (if channel == Channel::Stderr { "stderr" } else { "data" }, room)
            }
            Line::Output(output) => ("output", put(|out| frame::write_output(out, &output)).into()),
            Line::Error(error) => ("error", put(|out| frame::write_error_frame(out, &error, 512)).into()),
        };
        assert_eq!(kind, expect["kind"], "{given}");
        if expect["written"] == true {
            assert!(written == line, "{given}: written again");
        }
        Ok(())
    });
    for kind in [
        Frame::Data(vec![]),
        Frame::Stderr(vec![]),
        Frame::Output(Default::default()),
        Frame::Error(Code::Other.into()),
    ] {
        let kind = match kind {
            Frame::Data(_) => "data",
            Frame::Stderr(_) => "stderr",
            Frame::Output(_) => "output",
            Frame::Error(_) => "error",
        };
        assert!(cases.iter().any(|case| case["expect"]["kind"] == kind), "{kind} has a vector");
    }
}

#[test]
fn modes_and_times() {
    each("modes.json", |given, expect| {
        if let Some(octal) = given["st_mode"].as_str() {
            let mode = FileMode::from_unix(u32::from_str_radix(octal, 8).unwrap());
            assert_eq!(json!({"mode": mode.0, "letter": mode.type_letter().to_string()}), *expect, "{given}");
            return Ok(());
        }
        let time = match given["time"].as_str() {
            Some(text) => Timestamp::parse(text).map_err(code)?,
            None => Timestamp {
                seconds: given["seconds"].as_str().unwrap().parse().unwrap(),
                nanos: given["nanos"].as_u64().unwrap() as u32,
            },
        };
        if let Some(seconds) = expect.get("seconds") {
            assert_eq!(json!([time.seconds.to_string(), time.nanos]), json!([seconds, expect["nanos"]]), "{given}");
        }
        assert_eq!(json!(put(|out| time.write(out))), expect["text"], "{given}");
        Ok(())
    });
}

#[test]
fn route_ids_are_rows() {
    for route in route::ROUTES {
        assert_eq!(route.id.route().id, route.id);
    }
    assert_eq!(RouteId::Info.route().pattern, "/v1/info");
    let mut out: Vec<u8> = Vec::new();
    out.put_u64(u64::MAX);
    assert_eq!(out, b"18446744073709551615");
}
