//! The fuzz bodies over every vector, whole, cut and wounded at each place.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use farside_wire::fuzz::values;

fn texts(file: &str, key: &str) -> Vec<Vec<u8>> {
    let path = format!("{}/../tests/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let cases: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let short = |case: &serde_json::Value| case["given"][key].as_str().map(|text| text.as_bytes().to_vec());
    let texts: Vec<_> = cases.as_array().unwrap().iter().filter_map(short).filter(|text| text.len() < 200).collect();
    assert!(texts.len() > 30, "{file}");
    texts
}

fn wounded(texts: &[Vec<u8>], run: impl Fn(&[u8])) {
    for text in texts {
        run(text);
        for at in 0..text.len() {
            run(&text[..at]);
            for byte in [b'"', b'\\', b'{', b'}', b',', b'0', b'=', b' ', b'%', b'/', b'.', 0, 0xff] {
                let mut wounded = text.clone();
                wounded[at] = byte;
                run(&wounded);
                wounded.insert(at, text[at]);
                run(&wounded);
            }
        }
    }
}

#[test]
fn json() {
    wounded(&texts("json.json", "text"), values::json);
}

#[test]
fn ndjson() {
    wounded(&texts("frames.json", "line"), values::ndjson);
}

#[test]
fn bodies() {
    let texts = texts("bodies.json", "text");
    let whole: Vec<_> = texts.into_iter().step_by(3).collect();
    wounded(&whole, |text| {
        for kind in 0..values::BODIES.len() {
            values::bodies(&[&[kind as u8], text].concat());
        }
    });
}

#[test]
fn names() {
    let mut all = texts("names.json", "name");
    all.extend(texts("query.json", "query"));
    all.extend(texts("routes.json", "path").into_iter().map(|path| [b"GET ".as_slice(), &path].concat()));
    wounded(&all, values::names);
}
