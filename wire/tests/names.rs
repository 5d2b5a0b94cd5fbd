//! Names, queries, ids and paths against plain models.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use farside_wire::{Code, Id, Query, fuzz, id, name, query, route};
use proptest::prelude::*;
use std::borrow::Cow;

/// The rules of forms, as plainly as they can be said.
fn model(raw: &str, known: &[&str]) -> Option<Vec<(String, Vec<u8>)>> {
    fn decode(text: &str) -> Option<Vec<u8>> {
        let mut out = vec![];
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            out.push(match byte {
                b'+' => b' ',
                b'%' => {
                    let digits = [bytes.next()?, bytes.next()?];
                    let digits = std::str::from_utf8(&digits).ok()?;
                    digits.chars().all(|c| c.is_ascii_hexdigit()).then_some(())?;
                    u8::from_str_radix(digits, 16).ok()?
                }
                byte => byte,
            });
        }
        Some(out)
    }
    let mut out: Vec<(String, Vec<u8>)> = vec![];
    for part in raw.split('&') {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let (key, value) = (decode(key)?, decode(value)?);
        let Some(key) = known.iter().find(|name| name.as_bytes() == key) else { continue };
        if out.iter().any(|(other, _)| other == key) {
            return None;
        }
        out.push((key.to_string(), value));
    }
    Some(out)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn names_keep_their_rules(name in "(/|\\.|\\.\\.|a|b\\.|é|\x00){0,12}") {
        fuzz::values::names(name.as_bytes());
    }

    #[test]
    fn any_name(name in prop::collection::vec(any::<u8>(), 0..24)) {
        fuzz::values::names(&name);
    }

    #[test]
    fn a_checked_name_splits(elements in prop::collection::vec("[a-z.]{3,5}", 1..5)) {
        let whole = elements.join("/");
        prop_assert!(name::check(&whole).is_ok());
        let (parent, last) = name::split(&whole);
        prop_assert_eq!(last, elements.last().unwrap());
        prop_assert_eq!(name::last(&whole), last);
        let expected = elements[..elements.len() - 1].join("/");
        prop_assert_eq!(parent, if expected.is_empty() { "." } else { &*expected });
    }

    #[test]
    fn queries_keep_their_rules(raw in "(path|perm|p%61th|x|=|&|\\+|%|%4|%41|%zz|;|a|/){0,10}") {
        let known = ["path", "perm"];
        let query = Query::parse(Some(&raw), &known);
        match model(&raw, &known) {
            None => prop_assert_eq!(query.unwrap_err().code, Code::Invalid),
            Some(expected) => {
                let query = query.unwrap();
                for key in known {
                    let value = expected.iter().find(|(name, _)| name == key).map(|(_, value)| Cow::Borrowed(&value[..]));
                    prop_assert_eq!(query.get(key), value);
                }
            }
        }
    }

    #[test]
    fn any_query(raw in any::<String>()) {
        prop_assert_eq!(Query::parse(Some(&raw), &["path"]).is_ok(), model(&raw, &["path"]).is_some());
    }

    #[test]
    fn what_is_encoded_is_decoded(value in prop::collection::vec(any::<u8>(), 0..40), perm in "0?[0-7]{1,12}") {
        let mut raw = b"perm=".to_vec();
        query::encode_component(&mut raw, perm.as_bytes());
        raw.extend(b"&path=");
        query::encode_component(&mut raw, &value);
        let raw = String::from_utf8(raw).unwrap();
        prop_assert!(raw.bytes().all(|byte| byte.is_ascii_graphic()));
        let query = Query::parse(Some(&raw), &["path", "perm"]).unwrap();
        prop_assert_eq!(&*query.get("path").unwrap(), &value[..]);
        let bits = u64::from_str_radix(&perm, 8).unwrap() & 0o777;
        prop_assert_eq!(query.perm("perm").unwrap(), Some(bits as u32));
    }

    #[test]
    fn ids(random in any::<[u8; 17]>(), text in any::<String>()) {
        let made = Id::new(&random);
        prop_assert!(id::is_id(made.as_str()) && made.as_str().len() == 26);
        prop_assert!(made.as_str().bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7')));
        // Each of the first 130 bits shows.
        for bit in 0..130 {
            let mut other = random;
            other[bit / 8] ^= 128 >> (bit % 8);
            prop_assert_ne!(Id::new(&other), made);
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        prop_assert_eq!(id::is_id(&text), !text.is_empty() && text.len() <= 128 && text.chars().all(fits));
    }

    #[test]
    fn paths(extensions in prop::sample::subsequence(vec!["list", "tree"], 0..=2), method in "GET|HEAD|PUT|POST|DELETE|OPTIONS", path in "/v1(/|sessions|processes|fs|file|stat|info|exec|servers|start|stdin|cancel|renew|x|%|\\.){0,9}") {
        let here = |route: &&route::Route| route.extension.is_none_or(|name| extensions.contains(&name));
        let routes: Vec<_> = route::ROUTES.iter().filter(here).filter(|route| path_model(route.pattern, &path)).collect();
        let takes = |route: &&&route::Route| route.method.name() == method || method == "HEAD" && route.head;
        match route::find(&method, &path, &extensions) {
            route::Found::Route(found, params) => {
                prop_assert_eq!(routes.iter().filter(takes).map(|route| route.id).collect::<Vec<_>>(), [found.id]);
                let ids = [("{s}", params.session), ("{p}", params.process), ("{n}", params.server), ("{key}", params.key)];
                let filled = ids.iter().fold(found.pattern.to_string(), |path, (name, id)| path.replace(name, id.unwrap_or(name)));
                prop_assert_eq!(filled, path);
            }
            route::Found::Method(allow) => {
                prop_assert!(routes.iter().find(takes).is_none());
                let mut methods: Vec<_> = routes.iter().flat_map(|route| [Some(route.method.name()), route.head.then_some("HEAD")]).flatten().collect();
                let mut allowed: Vec<_> = allow.iter().map(route::Method::name).collect();
                methods.sort();
                allowed.sort();
                prop_assert_eq!(allowed, methods);
            }
            route::Found::Unknown => prop_assert!(routes.is_empty()),
        }
    }
}

fn path_model(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), path.split('/').collect());
    let fits = |(form, element): (&&str, &&str)| {
        form == element || form.starts_with('{') && !element.is_empty() && !element.contains('%')
    };
    pattern.len() == path.len() && pattern.iter().zip(&path).all(fits)
}

#[test]
fn server_names() {
    for good in ["a", "A.b_c-9", "0", &"x".repeat(64)] {
        assert!(id::is_server_name(good), "{good}");
    }
    for bad in ["", ".", "-a", "_a", ".a", "a/b", "a b", "é", "aé", "a%", &"x".repeat(65)] {
        assert!(!id::is_server_name(bad), "{bad}");
    }
}

#[test]
fn the_alphabet_of_ids() {
    assert_eq!(Id::new(&[0; 17]).as_str(), "A".repeat(26));
    assert_eq!(Id::new(&[255; 17]).as_str(), "7".repeat(26));
    let mut counting = [0; 17];
    // 00001 00010 00011 0...
    (counting[0], counting[1]) = (0b0000_1000, 0b1000_0110);
    assert_eq!(Id::new(&counting).as_str()[..4], *"BCDA");
}

#[test]
fn numbers_and_flags() {
    let query = |raw| Query::parse(Some(raw), &["offset", "recursive"]).unwrap();
    assert_eq!(query("").number("offset", 0..=9), Ok(None));
    assert_eq!(query("offset=7").number("offset", 0..=9), Ok(Some(7)));
    assert_eq!(query("offset=007").number("offset", 0..=9), Ok(Some(7)));
    for bad in [
        "offset=",
        "offset=+7",
        "offset=-1",
        "offset=10",
        "offset=1.0",
        "offset=%207",
        "offset=18446744073709551616",
        "offset=x",
    ] {
        assert_eq!(query(bad).number("offset", 0..=9).unwrap_err().code, Code::Invalid, "{bad}");
    }
    assert_eq!((query("").flag("recursive"), query("recursive=1").flag("recursive")), (Ok(false), Ok(true)));
    assert!(query("recursive=0").flag("recursive").is_err() && query("recursive").flag("recursive").is_err());
}
