//! The program behind a name.

use farside_core::wire::{Code, Error};
use rustix::{
    fs::{Access, AtFlags, CWD, FileType, accessat, stat},
    io::Errno,
};
use std::ffi::CString;

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
