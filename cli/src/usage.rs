//! What a command line is told that cannot be understood.

use crate::{args::definition, at::EMPTY, show};
use clap::{
    Command, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// One line out of what clap says in a paragraph.
pub(crate) fn line(error: &Error) -> String {
    let told = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let argument = told(ContextKind::InvalidArg);
    let verb = std::env::args_os()
        .skip(1)
        .find_map(|arg| arg.into_string().ok().filter(|arg| definition().find_subcommand(arg).is_some()));
    let verb = verb.as_deref().filter(|_| error.kind() != ErrorKind::InvalidSubcommand);
    match (error.kind(), verb) {
        (ErrorKind::UnknownArgument, _) if argument == "--token" => {
            return "a token does not belong on the command line, where all can read it; put it in a file and give --token-file FILE".into();
        }
        (ErrorKind::UnknownArgument, Some("rm"))
            if ["-r", "-R", "-f", "--recursive", "--force"].contains(&argument) =>
        {
            return format!("rm {argument} is not there yet; try: farside exec -- rm {argument} DIR");
        }
        (ErrorKind::InvalidSubcommand, _) => return unknown(told(ContextKind::InvalidSubcommand)),
        // One that is missing is the same to clap.
        (ErrorKind::InvalidValue, _) if told(ContextKind::InvalidValue).is_empty() && is_empty_given() => {
            return format!("{argument}: {EMPTY}");
        }
        _ => {}
    }
    let rendered = error.render().to_string();
    let text = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    // What begins with a dash is a misspelt option far more often than a value.
    let lines = text
        .split("\n\n")
        .take_while(|paragraph| !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more"))
        .flat_map(str::lines)
        .filter(|line| !line.trim_start().starts_with("tip: to pass "));
    let mut said = String::new();
    for line in lines.map(str::trim) {
        match line.strip_prefix("tip: ") {
            Some(tip) => said.extend(["; ", tip]),
            None if said.is_empty() => said += line,
            None => said.extend([" ", line]),
        }
    }
    let hint = match verb {
        _ if argument.starts_with("--color") => "; see: farside --help".into(),
        Some("exec") if error.kind() == ErrorKind::MissingRequiredArgument || !argument.starts_with('-') => {
            "; the command goes behind --, as in: farside exec -- uname -a".into()
        }
        Some(verb) => format!("; see: farside help {verb}"),
        None => "; see: farside help".into(),
    };
    show::text(&(said + &hint)).into_owned()
}

fn is_empty_given() -> bool {
    std::env::args_os().any(|arg| arg.is_empty() || arg.as_encoded_bytes().ends_with(b"="))
}

/// What to do instead of a command that is none.
fn unknown(verb: &str) -> String {
    let instead = match verb {
        "mkdir" => "mkdir -p DIR",
        "mv" => "mv FROM TO",
        "cp" => "cp FROM TO",
        _ => {
            let known = definition();
            let near = known.get_subcommands().map(Command::get_name).min_by_key(|known| distance(verb, known));
            // Half of a short word is another word.
            let near = near.filter(|near| distance(verb, near) <= if verb.chars().count() < 5 { 1 } else { 2 });
            let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            return format!("there is no command {}{hint}; see: farside help", show::said(verb));
        }
    };
    format!("{verb} is not there yet; try: farside exec -- {instead}")
}

/// How many letters are to be put in, taken out, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(32).collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words() {
        assert_eq!(distance("exec", "exec"), 0);
        assert_eq!(distance("exce", "exec"), 1);
        assert_eq!(distance("srvie", "serve"), 2);
        assert_eq!(distance("", "ls"), 2);
        assert_eq!(distance("cpy", "put"), 3);
    }
}
