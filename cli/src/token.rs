//! Tokens: where they come from and where they are kept. Never on a command line, never in a URL.

use crate::{
    error::{Failure, system},
    show,
};
use farside_core::wire::Id;
use rustix::{
    fs::{FileType, fstat},
    process::{DumpableBehavior, geteuid, set_dumpable_behavior},
};
use std::{
    env,
    ffi::OsString,
    fs::{self, DirBuilder, File},
    io::{Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The longest token that is read, in bytes.
const MAX: u64 = 4096;

/// What `FARSIDE_TOKEN` held.
static VARIABLE: OnceLock<Option<OsString>> = OnceLock::new();

/// Takes the token's variable out of the environment, and the process out of the reach of others of the same user. To be called first
/// of all.
pub(crate) fn harden() {
    // What cannot be had here (a kernel without it) is no reason to stop.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let taken = env::var_os("FARSIDE_TOKEN");
    if taken.is_some() {
        #[allow(unsafe_code, reason = "there is no other way to take a variable out of the environment")]
        // SAFETY: this is the first thing that main does, and no other thread runs yet.
        unsafe {
            env::remove_var("FARSIDE_TOKEN");
        }
    }
    let _ = VARIABLE.set(taken);
}

/// A token, and where it came from.
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) source: Source,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Source {
    Flag(PathBuf),
    FileVariable(PathBuf),
    Variable,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = |path: &PathBuf| show::said(&path.to_string_lossy()).into_owned();
        match self {
            Self::Flag(file) => write!(f, "--token-file ({})", path(file)),
            Self::FileVariable(file) => write!(f, "FARSIDE_TOKEN_FILE ({})", path(file)),
            Self::Variable => write!(f, "FARSIDE_TOKEN"),
        }
    }
}

/// The token that was given: by the flag's file, else the variable's file, else the variable.
pub(crate) fn given(flag: Option<&Path>) -> Result<Option<Token>, Failure> {
    let file = env::var_os("FARSIDE_TOKEN_FILE").filter(|file| !file.is_empty()).map(PathBuf::from);
    let source = match (flag, file) {
        (Some(file), _) => Source::Flag(file.into()),
        (None, Some(file)) => Source::FileVariable(file),
        (None, None) => Source::Variable,
    };
    let text = match &source {
        Source::Flag(file) | Source::FileVariable(file) => read(file)?,
        Source::Variable => match VARIABLE.get().and_then(Option::as_ref).filter(|token| !token.is_empty()) {
            None => return Ok(None),
            Some(token) => token.to_str().map(String::from).unwrap_or_default(),
        },
    };
    if !is_token(&text) {
        return Err(Failure::new(format!("{source} does not hold a token: one word of visible ASCII")));
    }
    Ok(Some(Token { text: text.trim_ascii().into(), source }))
}

fn is_token(text: &str) -> bool {
    let word = text.trim_ascii();
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_graphic())
}

fn read(path: &Path) -> Result<String, Failure> {
    let shown = show::said(&path.to_string_lossy()).into_owned();
    let failed =
        |error: std::io::Error| Failure::new(format!("cannot read the token file {shown}: {}", system(&error)));
    let file = File::open(path).map_err(failed)?;
    let there = fstat(&file).map_err(|errno| failed(errno.into()))?;
    let kind = FileType::from_raw_mode(there.st_mode);
    // A pipe is as good: a token that comes by one is in no file at all.
    if !matches!(kind, FileType::RegularFile | FileType::Fifo) {
        return Err(Failure::new(format!("the token file {shown} is no regular file")));
    }
    let mut bytes = Vec::new();
    file.take(MAX).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    // Whose mode is to be mended is a token's file and nothing else.
    let mode = there.st_mode & 0o777;
    if mode & 0o077 != 0 && is_token(&text) {
        let mend = if kind == FileType::RegularFile && there.st_uid == geteuid().as_raw() {
            format!("run: chmod 600 {}", show::shell(&path.to_string_lossy()))
        } else {
            "keep it in a file that only you can read".into()
        };
        return Err(Failure::new(format!("the token file {shown} is open to others (mode {mode:04o}); {mend}")));
    }
    Ok(text)
}

/// A new token that nobody can guess.
pub(crate) fn new() -> Result<String, Failure> {
    let mut random = [0; 17];
    getrandom::fill(&mut random).map_err(|error| Failure::new(format!("the system gives no entropy: {error}")))?;
    Ok(Id::new(&random).as_str().into())
}

/// Keeps a server's token in a file that only this user can read, and says where. `server` names it among this user's servers.
pub(crate) fn keep(token: &str, server: &str) -> Result<PathBuf, Failure> {
    let dir = directory().ok_or_else(|| {
        Failure::new(
            "no place for the token: neither XDG_RUNTIME_DIR nor HOME is set; set one, or give --token-file FILE",
        )
    })?;
    let path = dir.join(format!("{}.token", server.replace('/', "-")));
    write(&dir, &path, token).map_err(|error| {
        Failure::new(format!(
            "cannot keep the token in {}: {}; give --token-file FILE",
            show::said(&path.to_string_lossy()),
            system(&error)
        ))
    })?;
    Ok(path)
}

fn directory() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let runtime = absolute("XDG_RUNTIME_DIR").map(|dir| dir.join("farside"));
    runtime.or_else(|| absolute("HOME").map(|home| home.join(".local/state/farside")))
}

fn write(dir: &Path, path: &Path, token: &str) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    // Under a name of its own until it is whole: a client may read it while a server begins anew.
    let temp = path.with_extension(format!("{}.new", std::process::id()));
    // One of this number that was killed in between has left it.
    let _ = fs::remove_file(&temp);
    let written = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temp)
        .and_then(|mut file| file.write_all(format!("{token}\n").as_bytes()))
        .and_then(|()| fs::rename(&temp, path));
    if written.is_err() {
        // Nothing may be left of it, and nothing may be there.
        let _ = fs::remove_file(&temp);
    }
    written
}
