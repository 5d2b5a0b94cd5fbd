//! The environment that commands start from: a list of what is allowed, never all that is here.

use crate::{
    args::EnvArgs,
    error::{Failure, system},
    show,
};
use std::{ffi::OsString, path::Path};

/// What of this environment commands have without being told; and every `LC_*`.
const ALLOWED: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TERM", "TMPDIR"];

/// The allowed part of this environment, as `NAME=value`. What is not UTF-8 cannot cross the wire and stays out.
pub(crate) fn allowed() -> Vec<String> {
    let allowed = |name: &str| ALLOWED.contains(&name) || name.starts_with("LC_");
    let text = |text: OsString| text.into_string().ok();
    let pairs = std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    pairs.filter(|(name, _)| allowed(name)).map(|(name, value)| format!("{name}={value}")).collect()
}

/// The environment a server was told to give its commands.
pub(crate) fn served(args: &EnvArgs) -> Result<Vec<String>, Failure> {
    let mut env = allowed();
    for name in &args.pass_env {
        if name.contains('=') {
            return Err(Failure::usage(format!(
                "--pass-env takes a name alone; write --set-env {}",
                show::shell(name)
            )));
        }
        set(&mut env, passed(name)?);
    }
    for file in &args.env_file {
        for entry in from_file(file)? {
            set(&mut env, entry);
        }
    }
    for entry in &args.set_env {
        if !entry.contains('=') {
            return Err(Failure::usage(format!("--set-env takes NAME=value; write --pass-env {}", show::shell(entry))));
        }
        set(&mut env, checked(entry)?);
    }
    Ok(env)
}

/// One command's own variables: `NAME=value`, or a `NAME` whose value is taken from here.
pub(crate) fn for_command(entries: &[String]) -> Result<Vec<String>, Failure> {
    entries.iter().map(|entry| if entry.contains('=') { checked(entry) } else { passed(entry) }).collect()
}

/// `NAME=value` of a variable of this environment.
fn passed(name: &str) -> Result<String, Failure> {
    let entry = checked(&format!("{name}="))?;
    match std::env::var(name) {
        Ok(value) => Ok(entry + &value),
        Err(std::env::VarError::NotPresent) => {
            Err(Failure::usage(format!("{} is not set here, so it cannot be passed on", show::said(name))))
        }
        Err(_) => {
            Err(Failure::usage(format!("the value of {} is not UTF-8, so it cannot be passed on", show::said(name))))
        }
    }
}

fn checked(entry: &str) -> Result<String, Failure> {
    let name = entry.split('=').next().unwrap_or_default();
    if name.is_empty() || entry.contains('\0') {
        return Err(Failure::usage(format!("{} is no variable: write NAME=value", show::said(entry))));
    }
    if name.starts_with("FARSIDE_") {
        return Err(Failure::usage(format!("{} is Farside's own and is given to no command", show::said(name))));
    }
    Ok(entry.into())
}

/// Sets a variable in place of one of the same name.
fn set(env: &mut Vec<String>, entry: String) {
    let name = |entry: &str| entry.split('=').next().map(String::from);
    match env.iter_mut().find(|known| name(known) == name(&entry)) {
        Some(known) => *known = entry,
        None => env.push(entry),
    }
}

fn from_file(path: &Path) -> Result<Vec<String>, Failure> {
    let shown = show::said(&path.to_string_lossy()).into_owned();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {shown}: {}", system(&error))))?;
    let mut entries = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // The line itself may be a secret: only where it is is told.
        let wrong = |why: &str| Failure::usage(format!("{shown}:{}: {why}", n + 1));
        if line.find('=').is_none_or(|at| at == 0) {
            return Err(wrong("no NAME=value"));
        }
        let name = line.split('=').next().unwrap_or_default();
        if name.starts_with("export ") {
            return Err(wrong("leave out export: NAME=value alone"));
        }
        if name.contains(char::is_whitespace) {
            return Err(wrong("a name has no blanks"));
        }
        if line.starts_with("FARSIDE_") {
            return Err(wrong("variables that begin with FARSIDE_ are given to no command"));
        }
        entries.push(checked(line)?);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_of_one_name_wins_in_the_firsts_place() {
        let mut env = vec!["A=1".to_owned(), "B=2".to_owned()];
        set(&mut env, "A=3".into());
        set(&mut env, "C=4".into());
        assert_eq!(env, ["A=3", "B=2", "C=4"]);
    }

    #[test]
    fn what_is_no_variable_or_farsides_own_is_refused() {
        for wrong in ["=x", "FARSIDE_TOKEN=x", "FARSIDE_X", "", "A=\0", "FARSIDE_TEST_NOT_SET"] {
            assert!(for_command(&[wrong.to_owned()]).is_err(), "{wrong:?}");
        }
        assert_eq!(for_command(&["A=b=c".to_owned()]).unwrap(), ["A=b=c"]);
    }
}
