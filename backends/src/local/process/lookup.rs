//! What a command asks for, made ready to run: its environment, and the program behind its name.

use farside_core::{
    Command,
    wire::{Code, Error},
};
use rustix::{
    fs::{Access, AtFlags, CWD, FileType, accessat, stat},
    io::Errno,
};
use std::{collections::BTreeMap, ffi::CString};

/// Refuses what nothing could run (spec, Exec). Who came by the wire was told so already.
///
/// # Errors
/// `invalid`.
pub(super) fn check(command: &Command) -> Result<(), Error> {
    let has_nul = |text: &String| text.contains('\0');
    if command.args.first().is_none_or(String::is_empty) || command.args.iter().any(has_nul) {
        return Err(Error::invalid("args"));
    }
    let is_variable = |entry: &String| entry.find('=').is_some_and(|at| at > 0) && !has_nul(entry);
    if !command.env.iter().all(is_variable) {
        return Err(Error::invalid("env"));
    }
    if has_nul(&command.dir) { Err(Error::invalid("dir")) } else { Ok(()) }
}

/// The workspace's variables, then the command's; the later of one name stands in the first's place.
pub(super) fn environment<'a>(workspace: &'a [String], command: &'a [String]) -> Vec<&'a str> {
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

/// The path of the program that `name` asks for: itself if it has a `/`, else the first of `PATH` in `env` that can be run.
///
/// # Errors
/// `not_exist`; `permission` if all there was may not be run.
pub(super) fn program(name: &str, env: &[&str]) -> Result<CString, Error> {
    if name.contains('/') {
        return c_string(name);
    }
    let path = env.iter().find_map(|entry| entry.strip_prefix("PATH=")).unwrap_or_default();
    let mut refused = false;
    // An empty or relative element would mean a directory that depends on where the command runs.
    for dir in path.split(':').filter(|dir| dir.starts_with('/')) {
        let file = c_string(&format!("{dir}/{name}"))?;
        match stat(&file).map(|meta| FileType::from_raw_mode(meta.st_mode)) {
            Ok(FileType::RegularFile) if accessat(CWD, &file, Access::EXEC_OK, AtFlags::EACCESS).is_ok() => {
                return Ok(file);
            }
            Ok(FileType::Directory) => {}
            Ok(_) | Err(Errno::ACCESS) => refused = true,
            Err(_) => {}
        }
    }
    Err(if refused { Code::Permission } else { Code::NotExist }.into())
}

/// The text as C has it.
pub(super) fn c_string(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::invalid("NUL"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let command = |args: &[&str], env: &[&str], dir: &str| {
            let command = Command { env: strings(env), dir: dir.into(), ..Command::new(args.iter().copied()) };
            check(&command).map_err(|error| (error.code, error.words))
        };
        let invalid = |what: &'static str| Err((Code::Invalid, what.into()));
        assert_eq!(command(&["a", ""], &["A=b", "C="], "d"), Ok(()));
        assert_eq!(command(&[], &[], ""), invalid("args"));
        assert_eq!(command(&["", "a"], &[], ""), invalid("args"));
        assert_eq!(command(&["a", "b\0"], &[], ""), invalid("args"));
        assert_eq!(command(&["a"], &["A"], ""), invalid("env"));
        assert_eq!(command(&["a"], &["=b"], ""), invalid("env"));
        assert_eq!(command(&["a"], &["A=\0"], ""), invalid("env"));
        assert_eq!(command(&["a"], &[], "\0"), invalid("dir"));
    }
}
