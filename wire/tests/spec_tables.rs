//! The tables of the spec are made from the tables of the code. `UPDATE_SPEC=1` writes them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use farside_wire::{
    Bounds, Code, bounds, errno,
    route::{self, BodyKind},
    times,
};
use std::{fmt::Write, path::PathBuf};

const ABOUT: &str = "Made from the code's own table; a test compares them. **[S]**: stated by the reference. Everything else is chosen.\n\n";

/// Compares a file of the spec with what the code says, or writes it.
fn compare(file: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/spec").join(file);
    if std::env::var_os("UPDATE_SPEC").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "docs/spec/{file} is not what the code says; run this test with UPDATE_SPEC=1");
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

#[test]
fn routes() {
    let mut text = format!("# Routes\n\n{ABOUT}");
    text.push_str("Each route is under the base URL. A principal needs the scope: *either* is `exec` or `servers`, *its own* the scope that the ");
    text.push_str("process was started under. \"HEAD\" marks a GET that HEAD is answered for too. A reply of 204 has no body.\n\n");
    text.push_str(
        "| mark | method | path | query | scope | body | reply | what |\n|---|---|---|---|---|---|---|---|\n",
    );
    for route in route::ROUTES {
        let mark = route.extension.map_or("[S]".into(), |extension| format!("extension `{extension}`"));
        let head = if route.head { ", HEAD" } else { "" };
        let query = route.query.iter().map(|name| code(name)).collect::<Vec<_>>().join(" ");
        let body = match route.body {
            BodyKind::None => "",
            BodyKind::Json { optional: true } => "JSON or none",
            BodyKind::Json { optional: false } => "JSON",
            BodyKind::File => "content",
            BodyKind::Raw => "bytes",
        };
        let reply = route.reply.map_or("204".into(), code);
        let (method, path) = (route.method.name(), code(route.pattern));
        let row = [&mark, &format!("{method}{head}"), &path, &query, route.needs.name(), body, &reply, route.doc];
        writeln!(text, "| {} |", row.join(" | ")).unwrap();
    }
    compare("routes.md", &text);
}

#[test]
fn codes() {
    let mut text = format!("# Codes\n\n{ABOUT}");
    text.push_str("The sentinels are stated, the strings and the statuses chosen, but for the status marked. A rule of a route may name another ");
    text.push_str("status; a client decides by the code alone.\n\n| code | a client also takes | status | words |\n|---|---|---|---|\n");
    for code in Code::ALL {
        let aliases = code.aliases().iter().map(|alias| format!("`{alias}`")).collect::<Vec<_>>().join(" ");
        let status = match code {
            Code::Unauthenticated => format!("{} [S]", code.status()),
            Code::Limit => "413 for a size or a listing, 429 for a count".into(),
            Code::Other => "500, or as below".into(),
            code => code.status().to_string(),
        };
        writeln!(text, "| `{code}` | {aliases} | {status} | {} |", code.words()).unwrap();
    }
    text.push_str("\n## Errors of the system\n\nAll others are `other`, status 500, with the system's words and the name in `details.errno`.\n\n");
    text.push_str("| errno | code | status |\n|---|---|---|\n");
    let told = |row: &&errno::Errno| row.code != Code::Other || row.status != Code::Other.status();
    for row in errno::TABLE.iter().filter(told) {
        writeln!(text, "| {} | `{}` | {} |", row.name, row.code, row.status).unwrap();
    }
    compare("codes.md", &text);
}

#[test]
fn bounds_and_times() {
    let mut text = format!("# Bounds and times\n\n{ABOUT}");
    text.push_str("A marked bound is stated; its key and its number are chosen. Each is an option of the handler, the effective one is in info, ");
    text.push_str("and a client sends no more. A size that is passed is 413, a count 429.\n\n");
    text.push_str("| mark | info key | default | kind | what |\n|---|---|---|---|---|\n");
    for row in Bounds::TABLE {
        let kind = match row.kind {
            bounds::Kind::Size => "size",
            bounds::Kind::Count => "count",
        };
        let mark = if row.stated { "[S]" } else { "" };
        writeln!(text, "| {mark} | `{}` | {} | {kind} | {} |", row.key, row.default, row.doc).unwrap();
    }
    text.push_str("\n## Times\n\n| mark | name | seconds | what |\n|---|---|---|---|\n");
    for (name, time, stated, doc) in times::TABLE {
        let name = name.to_lowercase().replace('_', " ");
        writeln!(text, "| {} | {name} | {} | {doc} |", if *stated { "[S]" } else { "" }, time.as_secs()).unwrap();
    }
    compare("bounds.md", &text);
}
