//! `farside info`.

use crate::{
    args::{Common, InfoArgs},
    at::At,
    error::Failure,
    show::{self, Out},
};
use farside_core::{About, wire::json::ObjectWriter};
use farside_std::Blocking;

pub(crate) fn info(common: &Common, args: &InfoArgs) -> Result<u8, Failure> {
    let at = At::open(common)?;
    let about = at.ws.about().map_err(|error| at.failure("cannot ask what it is", &error))?;
    let mut out = Out::new();
    if args.json {
        out.line(json(&about))?
    } else {
        out.put(described(&about))?
    }
    out.finish()?;
    Ok(0)
}

fn described(about: &About) -> String {
    let or = |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { show::name(text).into_owned() };
    let host = about.descriptor.host.as_deref().map(|host| format!(" on {}", show::name(host))).unwrap_or_default();
    let mut text = format!(
        "root        {}\nkind        {}{host}\nlinks       {}\nreach       {}\nextensions  {}\n",
        or(&about.root, "not told"),
        or(&about.descriptor.kind, "not told"),
        if about.links { "yes" } else { "no" },
        about.reach.name(),
        or(&about.extensions.join(" "), "none"),
    );
    let mut heading = "bounds";
    for (name, value) in bounds(about) {
        let size = if name.ends_with("Bytes") { format!(" ({})", show::size(value)) } else { String::new() };
        text += &format!("{heading:<12}{name} {value}{size}\n");
        heading = "";
    }
    let mut heading = "env";
    for entry in &about.env {
        text += &format!("{heading:<12}{}\n", show::name(entry));
        heading = "";
    }
    text
}

fn bounds(about: &About) -> Vec<(&'static str, u64)> {
    let Some(bounds) = &about.bounds else { return Vec::new() };
    vec![
        ("maxWriteBytes", bounds.max_write_bytes),
        ("maxDirEntries", bounds.max_dir_entries),
        ("maxExecOutputBytes", bounds.max_exec_output_bytes),
        ("maxTransfers", bounds.max_transfers),
    ]
}

/// One object, as the server tells it.
fn json(about: &About) -> String {
    let mut json = Vec::new();
    let mut object = ObjectWriter::begin(&mut json);
    object.string("root", &about.root);
    about.descriptor.write(object.member("descriptor"));
    object.bool("links", about.links);
    object.string("reach", about.reach.name());
    if let Some(bounds) = &about.bounds {
        bounds.write(object.member("bounds"));
    }
    object.array("extensions", &about.extensions, |out, name| farside_core::wire::json::write_string(out, name));
    object.array("env", &about.env, |out, entry| farside_core::wire::json::write_string(out, entry));
    object.end();
    show::json(json)
}
