//! What a command asks for, whatever runs it.

use farside_core::wire::Error;
use std::collections::BTreeMap;

/// Refuses what nothing could run (spec, Exec). Who came by the wire was told so already.
///
/// # Errors
/// `invalid`.
pub(crate) fn check(args: &[String], env: &[String]) -> Result<(), Error> {
    if args.first().is_none_or(String::is_empty) || args.iter().any(|arg| arg.contains('\0')) {
        return Err(Error::invalid("args"));
    }
    if env.iter().all(|entry| is_variable(entry)) { Ok(()) } else { Err(Error::invalid("env")) }
}

/// Whether `entry` is `NAME=value`, NAME not empty, without NUL.
pub(crate) fn is_variable(entry: &str) -> bool {
    entry.find('=').is_some_and(|at| at > 0) && !entry.contains('\0')
}

/// The workspace's variables, then the command's; the later of one name stands in the first's place.
pub(crate) fn environment<'a>(workspace: &'a [String], command: &'a [String]) -> Vec<&'a str> {
    let mut places = BTreeMap::new();
    let mut env: Vec<&str> = Vec::with_capacity(workspace.len() + command.len());
    for entry in workspace.iter().chain(command) {
        let place = *places.entry(name(entry)).or_insert(env.len());
        match env.get_mut(place) {
            Some(earlier) => *earlier = entry,
            None => env.push(entry),
        }
    }
    env
}

fn name(entry: &str) -> &str {
    entry.split_once('=').map_or(entry, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farside_core::wire::Code;

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).into()).collect()
    }

    #[test]
    fn the_later_of_one_name_wins_in_the_first_s_place() {
        let (workspace, command) = (strings(&["A=1", "B=2", "A=3"]), strings(&["C==", "B=4", "B=", "a=5"]));
        assert_eq!(environment(&workspace, &command), ["A=3", "B=", "C==", "a=5"]);
        assert_eq!(environment(&[], &[]), [""; 0]);
    }

    #[test]
    fn what_nothing_could_run_is_invalid() {
        let command = |args: &[&str], env: &[&str]| {
            check(&strings(args), &strings(env)).map_err(|error| (error.code, error.words))
        };
        let invalid = |what: &'static str| Err((Code::Invalid, what.into()));
        assert_eq!(command(&["a", ""], &["A=b", "C="]), Ok(()));
        assert_eq!(command(&[], &[]), invalid("args"));
        assert_eq!(command(&["", "a"], &[]), invalid("args"));
        assert_eq!(command(&["a", "b\0"], &[]), invalid("args"));
        assert_eq!(command(&["a"], &["A"]), invalid("env"));
        assert_eq!(command(&["a"], &["=b"]), invalid("env"));
        assert_eq!(command(&["a"], &["A=\0"]), invalid("env"));
    }
}
