//! How a name becomes a descriptor: by the kernel, from the root that is held, and never out of it.

use crate::{
    errno::unresolved,
    walk::{PATH, Place, Seen, Tree, walk},
};
use farside_core::wire::{Error, name};
use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat},
    io::Errno,
};
use std::path::Path;

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// How often a resolve is tried that was disturbed by a rename. The kernel says EAGAIN when any directory of the system was renamed
/// while it went up a `..`; one such try in some thousands fails beside a busy renamer.
const TRIES: usize = 128;

/// The directory that a workspace is. It is held open, so it stays the same one wherever it is moved.
#[derive(Debug)]
pub(crate) struct Root {
    fd: OwnedFd,
    by_hand: bool,
}

impl Root {
    /// Opens `dir`, and finds out whether the kernel can resolve beneath it. `by_hand` goes without the kernel in any case.
    pub(crate) fn new(dir: &Path, by_hand: bool) -> Result<Self, Errno> {
        let fd = openat(CWD, dir, DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let by_hand = match openat2(&fd, ".", DIRECTORY | OFlags::CLOEXEC, Mode::empty(), BENEATH) {
            Ok(_) => by_hand,
            // A kernel before 5.6, or a filter (seccomp) that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => true,
            Err(errno) => return Err(errno),
        };
        Ok(Self { fd, by_hand })
    }

    /// Opens what `name` leads to inside the root; what a link leads to, unless `flags` have `NOFOLLOW`. No file is made.
    pub(crate) fn open(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Error> {
        self.resolve(|| match self.by_hand {
            true => self.open_by_hand(name, flags | OFlags::CLOEXEC),
            false => openat2(&self.fd, name, flags | OFlags::CLOEXEC, Mode::empty(), BENEATH),
        })
    }

    /// Holds the directory called `name`, to work in and not to read.
    pub(crate) fn open_dir(&self, name: &str) -> Result<OwnedFd, Error> {
        self.open(name, DIRECTORY)
    }

    /// Holds the directory that `name` is in, to act on its last element there.
    pub(crate) fn open_parent<'a>(&self, name: &'a str) -> Result<(OwnedFd, &'a str), Error> {
        let (parent, last) = name::split(name);
        if name.len() > PATH || matches!(last, "" | "." | "..") {
            return Err(Error::invalid("name"));
        }
        Ok((self.open_dir(parent)?, last))
    }

    /// Whether it does without the kernel's resolver.
    pub(crate) fn by_hand(&self) -> bool {
        self.by_hand
    }

    /// The place that `name` leads to when links are followed, there or not.
    pub(crate) fn place(&self, name: &str) -> Result<Place<OwnedFd>, Error> {
        self.resolve(|| walk(self, name.as_bytes(), true))
    }

    /// A descriptor of the last of `dirs`, or of the root.
    pub(crate) fn last(&self, mut dirs: Vec<OwnedFd>) -> Result<OwnedFd, Error> {
        dirs.pop().map_or_else(|| self.open_dir("."), Ok)
    }

    fn resolve<T>(&self, mut attempt: impl FnMut() -> Result<T, Errno>) -> Result<T, Error> {
        let mut tries = 0;
        loop {
            match attempt() {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if tries < TRIES => tries += 1,
                done => return done.map_err(unresolved),
            }
        }
    }

    fn open_by_hand(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let Place { dirs, rest, seen, .. } = walk(self, name.as_bytes(), !flags.contains(OFlags::NOFOLLOW))?;
        let dir = self.or_root(dirs.last());
        let flags = flags | OFlags::NOFOLLOW;
        match (seen, rest.first()) {
            (Seen::Nothing, None) => openat(dir, ".", flags, Mode::empty()),
            (Seen::Nothing, _) => Err(Errno::NOENT),
            (Seen::Link(_) | Seen::Other(_), _) if flags.contains(OFlags::DIRECTORY) => Err(Errno::NOTDIR),
            // What was looked at is what is given: it may have another name by now.
            (Seen::Dir(fd) | Seen::Link(fd) | Seen::Other(fd), _) if flags.contains(OFlags::PATH) => Ok(fd),
            (Seen::Dir(fd), _) => openat(fd, ".", flags, Mode::empty()),
            (_, None) => Err(Errno::NOENT),
            // It was no link a moment ago; if it is one now, the walk starts anew.
            (_, Some(last)) => openat(dir, last, flags, Mode::empty()).map_err(again_if(Errno::LOOP)),
        }
    }

    fn or_root<'a>(&'a self, dir: Option<&'a OwnedFd>) -> BorrowedFd<'a> {
        dir.unwrap_or(&self.fd).as_fd()
    }
}

fn again_if(moved: Errno) -> impl Fn(Errno) -> Errno {
    move |errno| if errno == moved { Errno::AGAIN } else { errno }
}

/// The walk looks at each element by a descriptor that it keeps, so nothing is judged that is not then used.
impl Tree for Root {
    type Node = OwnedFd;

    fn look(&self, dir: Option<&OwnedFd>, name: &[u8]) -> Result<Seen<OwnedFd>, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = match openat(self.or_root(dir), name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(Seen::Nothing),
            fd => fd?,
        };
        Ok(match FileType::from_raw_mode(fstat(&fd)?.st_mode) {
            FileType::Directory => Seen::Dir(fd),
            FileType::Symlink => Seen::Link(fd),
            _ => Seen::Other(fd),
        })
    }

    fn target(&self, link: &OwnedFd) -> Result<Vec<u8>, Errno> {
        readlinkat(link, "", Vec::new()).map(std::ffi::CString::into_bytes)
    }
}

/// Names of every form, also those that no workspace takes: what confines is not the check of their form.
#[cfg(test)]
mod tests {
    use super::{super::write::Target, *};
    use farside_core::wire::Code;
    use std::{fs, os::unix::fs::symlink};

    fn tree() -> (tempfile::TempDir, [Root; 2]) {
        let top = tempfile::tempdir().unwrap();
        let ws = top.path().join("ws");
        for dir in ["ws/a/b", "out"] {
            fs::create_dir_all(top.path().join(dir)).unwrap();
        }
        fs::write(top.path().join("out/secret"), "S").unwrap();
        fs::write(ws.join("f"), "").unwrap();
        for (link, target) in [("up", "../out"), ("magic", "/proc/self/root"), ("da", "a"), ("lf", "f")] {
            symlink(target, ws.join(link)).unwrap();
        }
        let roots = [Root::new(&ws, false).unwrap(), Root::new(&ws, true).unwrap()];
        (top, roots)
    }

    #[test]
    fn fs_01_02_17_nothing_leads_out() {
        let (_top, roots) = tree();
        for root in roots {
            let out = [
                "..",
                "../out/secret",
                "a/../../out/secret",
                "/etc/passwd",
                "//etc/passwd",
                "/",
                "up/",
                "up/secret",
                "magic/",
                "up/..",
            ];
            for name in out {
                for flags in
                    [OFlags::PATH, OFlags::PATH | OFlags::NOFOLLOW, OFlags::RDONLY, OFlags::RDONLY | OFlags::DIRECTORY]
                {
                    assert_eq!(root.open(name, flags).unwrap_err().code, Code::Outside, "{name} {flags:?}");
                }
                assert_eq!(Target::find(&root, name).err().unwrap().code, Code::Outside, "{name}");
                assert!(root.open_parent(name).is_err(), "{name}");
            }
        }
    }

    #[test]
    fn forms_that_stay_inside() {
        let (_top, roots) = tree();
        for root in roots {
            for (name, said) in [
                ("a/..", Ok(())),
                ("da/../f", Ok(())),
                ("./a//b/.", Ok(())),
                ("lf", Ok(())),
                ("da/", Ok(())),
                ("lf/", Err(Code::Invalid)),
                ("f/", Err(Code::Invalid)),
                ("f/.", Err(Code::Invalid)),
                ("f/..", Err(Code::Invalid)),
                ("nope/..", Err(Code::NotExist)),
                ("nope/", Err(Code::NotExist)),
                ("", Err(Code::NotExist)),
                ("f\0", Err(Code::Invalid)),
            ] {
                for flags in [OFlags::PATH, OFlags::PATH | OFlags::NOFOLLOW, OFlags::RDONLY] {
                    let opened = root.open(name, flags);
                    assert_eq!(opened.map(drop).map_err(|error| error.code), said, "{name:?} {flags:?}");
                }
            }
        }
    }

    #[test]
    fn fs_52_the_directory_of_a_command() {
        let (_top, roots) = tree();
        for root in roots {
            for name in [".", "a", "a/b", "da"] {
                root.open_dir(name).unwrap();
            }
            for (name, code) in [
                ("..", Code::Outside),
                ("up", Code::Outside),
                ("magic", Code::Outside),
                ("f", Code::Invalid),
                ("nope", Code::NotExist),
            ] {
                assert_eq!(root.open_dir(name).unwrap_err().code, code, "{name}");
            }
        }
    }
}
