//! The strict JSON reader against serde_json, and against what is meant to hurt it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use farside_wire::{Code, fuzz, json};
use proptest::prelude::*;
use serde_json::Value;

/// What the wire refuses and JSON does not.
const STRICTER: [&str; 2] = ["a repeated member", "JSON is nested too deep"];

fn serde(value: &json::Value<'_>) -> Value {
    match value {
        json::Value::Null => Value::Null,
        json::Value::Bool(truth) => Value::Bool(*truth),
        json::Value::Number(digits) => serde_json::from_str(digits).unwrap_or(Value::Null),
        json::Value::String(text) => Value::String(text.to_string()),
        json::Value::Array(elements) => elements.iter().map(serde).collect(),
        json::Value::Object(object) => {
            Value::Object(object.members().iter().map(|(name, value)| (name.to_string(), serde(value))).collect())
        }
    }
}

/// What is accepted, serde_json accepts as the same value; what is refused alone is refused for a reason of [`STRICTER`].
fn compare(text: &[u8]) {
    let theirs = serde_json::from_slice::<Value>(text);
    match (json::parse(text), theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(serde(&ours), theirs),
        // A number is text to us, and may be larger than their floating point.
        (Ok(_), Err(theirs)) => assert!(theirs.to_string().starts_with("number out of range"), "{theirs}"),
        (Err(ours), Ok(_)) => {
            assert_eq!(ours.code, Code::Invalid);
            assert!(STRICTER.contains(&&*ours.words), "{ours}");
        }
        (Err(ours), Err(_)) => assert_eq!(ours.code, Code::Invalid),
    }
    fuzz::values::json(text);
}

fn values() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_string()),
        any::<bool>().prop_map(|truth| truth.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?",
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        // Every kind of escape, good and bad.
        "\"(a|é|\\\\[\"\\\\/bfnrtux0]|\\\\u[0-9a-fA-F]{4}|\\\\u[dD][89a-fA-F][0-9a-f]{2}){0,5}\"",
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let name = prop_oneof![
            "\"[ab]\"",
            "\"\\\\u006[12]\"",
            any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap())
        ];
        let space = "[ \t\r\n]{0,2}";
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..6), space).prop_map(|(e, s)| format!("[{s}{}{s}]", e.join(","))),
            (prop::collection::vec((name, inner), 0..6), space).prop_map(|(members, s)| {
                let members: Vec<_> =
                    members.into_iter().map(|(name, value)| format!("{name}{s}:{s}{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn agrees_on_json(text in values()) {
        compare(text.as_bytes());
    }

    #[test]
    fn agrees_on_broken_json(
        text in values(),
        wounds in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>(), prop::sample::select(b"{}[]\",:\\u0129d-+.eE tfn\x00\x1f\x7f\x80\xff\xef\xbb\xbf\xed\xa0".to_vec())), 1..4),
    ) {
        let mut text = text.into_bytes();
        for (at, replace, byte) in wounds {
            let at = at.index(text.len() + 1);
            text.splice(at..(at + usize::from(replace)).min(text.len()), [byte]);
        }
        compare(&text);
    }

    #[test]
    fn agrees_on_soup(text in "[\\[\\]{}\",:\\\\ u0-9a-fntl.+eE-]{0,24}") {
        compare(text.as_bytes());
    }

    #[test]
    fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..64)) {
        compare(&text);
    }

    #[test]
    fn strings_survive(text in any::<String>()) {
        let mut out = Vec::new();
        json::write_string(&mut out, &text);
        prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), &text[..]);
        let value = json::parse(&out).unwrap();
        prop_assert_eq!(value.as_str(), Some(&text[..]));
    }

    /// Many members: the way by sorting and the way by searching find the same.
    #[test]
    fn repeated_among_many(count in 0..60usize, twin in any::<prop::sample::Index>()) {
        let mut members: Vec<String> = (0..count).map(|n| format!("\"k{n}\":0")).collect();
        let text = format!("{{{}}}", members.join(","));
        prop_assert!(json::parse(text.as_bytes()).is_ok());
        members.push(format!("\"k{}\":1", if count == 0 { 0 } else { twin.index(count) }));
        let text = format!("{{{}}}", members.join(","));
        prop_assert_eq!(json::parse(text.as_bytes()).is_err(), count > 0);
    }
}

/// Texts that a quadratic or a recursive reader does not survive.
#[test]
fn hostile_sizes() {
    let invalid = |text: &[u8]| json::parse(text).unwrap_err().code == Code::Invalid;
    let mebi = 1 << 20;
    assert!(invalid(&vec![b'['; mebi]));
    assert!(invalid(&b"{\"a\":".repeat(mebi / 5)));
    assert!(invalid(&[b"\"".as_slice(), &b"\\".repeat(mebi)].concat()));
    let keys: String = (0..1_000_000).map(|n| format!("\"{n}\":0,")).collect();
    assert!(invalid(format!("{{{keys}\"777777\":0}}").as_bytes()));
    let prefix = "k".repeat(1000);
    let alike: String = (0..1000).map(|n| format!("\"{prefix}{n}\":0,")).collect();
    assert!(json::parse(format!("{{{alike}\"x\":0}}").as_bytes()).is_ok());
    let array = format!("[{}0]", "0,".repeat(mebi));
    assert!(json::parse(array.as_bytes()).is_ok());
    assert!(json::parse(&vec![b'9'; mebi]).is_ok());
    let escapes = format!("\"{}\"", "\\u0000".repeat(mebi));
    assert_eq!(json::parse(escapes.as_bytes()).unwrap().as_str().unwrap().len(), mebi);
}

#[test]
fn values_are_bounded() {
    let text = b"{\"a\":[1,2,3],\"b\":\"x\"}";
    assert!(json::parse_bounded(text, 6).is_ok());
    assert_eq!(json::parse_bounded(text, 5).unwrap_err().code, Code::Limit);
    let many = format!("[{}0]", "0,".repeat(1_000_000));
    assert_eq!(json::parse_bounded(many.as_bytes(), 1000).unwrap_err().code, Code::Limit);
}

#[test]
fn getters() {
    let object = json::parse_object(br#"{"s":"x","n":7,"t":true,"z":null,"a":["x","y"],"o":{},"m":-3,"f":1.0,"e":1e2,"big":18446744073709551616,"mz":-0}"#).unwrap();
    let invalid = |words: &'static str| farside_wire::Error::invalid(words);
    assert_eq!(object.string("s"), Ok(Some("x")));
    assert_eq!(object.string("n"), Err(invalid("n")));
    assert_eq!(object.string("z"), Ok(None));
    assert_eq!(object.string("nothing"), Ok(None));
    assert_eq!(object.u64("n"), Ok(Some(7)));
    for name in ["m", "f", "e", "big", "mz", "s", "t"] {
        assert_eq!(object.u64(name), Err(invalid(name)));
    }
    assert_eq!(object.within("n", 1..=6), Err(invalid("n")));
    assert_eq!(object.i32("m"), Ok(Some(-3)));
    for name in ["f", "e", "big", "mz"] {
        assert_eq!(object.i32(name), Err(invalid(name)));
    }
    assert_eq!((object.bool("t"), object.bool("z"), object.flag("z")), (Ok(Some(true)), Ok(None), Ok(false)));
    assert_eq!(object.flag("n"), Err(invalid("n")));
    assert_eq!(object.strings("a"), Ok(Some(vec!["x", "y"])));
    assert_eq!(object.strings("o"), Err(invalid("o")));
    assert!(object.object("o").unwrap().is_some() && object.object("a").is_err());
    assert_eq!(object.array("a").unwrap().unwrap().len(), 2);
    let mut taken = object.clone();
    assert_eq!(taken.take_strings("a").unwrap().unwrap(), ["x", "y"]);
    assert_eq!(taken.take_strings("a"), Ok(None));
    assert_eq!(taken.take_string("s").unwrap().as_deref(), Some("x"));
    assert_eq!(taken.take_string("n"), Err(invalid("n")));
}

#[test]
fn what_is_escaped() {
    for c in (0..=0x2100).filter_map(char::from_u32) {
        let mut out = Vec::new();
        json::write_string(&mut out, c.encode_utf8(&mut [0; 4]));
        let must = c < ' ' || c == '"' || c == '\\';
        assert_eq!(out.contains(&b'\\'), must, "{c:?}");
        assert_eq!(json::parse(&out).unwrap().as_str().unwrap(), c.to_string());
        assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), c.to_string());
    }
}

/// Only what has an escape in it is copied.
#[test]
fn strings_borrow() {
    let text = br#"["plain","es\u0063aped"]"#;
    let value = json::parse(text).unwrap();
    let borrowed = |value: &json::Value<'_>| matches!(value, json::Value::String(std::borrow::Cow::Borrowed(_)));
    let elements = value.as_array().unwrap();
    assert!(borrowed(&elements[0]) && !borrowed(&elements[1]));
}
