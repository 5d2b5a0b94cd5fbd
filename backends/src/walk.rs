//! A path walked by hand, with the answers that Linux gives under `RESOLVE_BENEATH`.
//!
//! Memory resolves all its names so. Local needs it where the kernel cannot: on one without `openat2`, and for a file that is to be
//! made, whose place is the directory at the end of the links and not the file.

use rustix::io::Errno;

/// How many links are followed, as in Linux.
const LINKS: usize = 40;
/// The longest path, as in Linux.
pub(crate) const PATH: usize = 4095;
/// The longest element, as in most file systems.
pub(crate) const ELEMENT: usize = 255;

/// A tree of files that can be walked.
pub(crate) trait Tree {
    /// Something that was found and is held, whatever becomes of its name.
    type Node;

    /// What stands in `dir` (the root if absent) under `name`, which is no `.` or `..`. A link is not followed.
    fn look(&self, dir: Option<&Self::Node>, name: &[u8]) -> Result<Seen<Self::Node>, Errno>;

    /// Where a link leads.
    fn target(&self, link: &Self::Node) -> Result<Vec<u8>, Errno>;
}

/// What stands under a name.
pub(crate) enum Seen<N> {
    Dir(N),
    Link(N),
    Other(N),
    Nothing,
}

/// Where a walk ended.
pub(crate) struct Place<N> {
    /// The directories that lead there, outermost first, without the root.
    pub(crate) dirs: Vec<N>,
    /// What is below the last of them: nothing if it is that directory itself, one name, or more where a directory is missing. None
    /// is `.` or `..`.
    pub(crate) rest: Vec<Vec<u8>>,
    /// What stands under the name, if `rest` is one. A link only if it was not to be followed.
    pub(crate) seen: Seen<N>,
    /// The path asks for a directory: it, or a link's target, ends in `/` or `/.`.
    pub(crate) slash: bool,
}

/// Walks `path` from the root; a link at its end is followed if `follow`. Nothing missing is an error here unless the path goes up
/// from there.
///
/// # Errors
/// `XDEV` for a path or a link that is absolute or climbs out, `LOOP` past 40 links, `NOTDIR`, `NAMETOOLONG`, and those of the tree.
pub(crate) fn walk<T: Tree>(tree: &T, path: &[u8], follow: bool) -> Result<Place<T::Node>, Errno> {
    let mut todo = Todo::default();
    todo.add(path)?;
    let (mut dirs, mut links) = (Vec::new(), 0);
    while let Some(name) = todo.names.pop() {
        if name == b".." {
            dirs.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let last = todo.names.is_empty();
        match tree.look(dirs.last(), &name)? {
            Seen::Link(link) if !last || follow || todo.slash => {
                links += 1;
                if links > LINKS {
                    return Err(Errno::LOOP);
                }
                todo.add(&tree.target(&link)?)?;
            }
            Seen::Dir(dir) if !last => dirs.push(dir),
            Seen::Nothing => {
                let rest: Vec<_> = std::iter::once(name).chain(todo.names.into_iter().rev()).collect();
                if rest.iter().any(|name| name == b"..") {
                    return Err(Errno::NOENT);
                }
                return Ok(Place { dirs, rest, seen: Seen::Nothing, slash: todo.slash });
            }
            Seen::Other(_) if !last || todo.slash => return Err(Errno::NOTDIR),
            seen => return Ok(Place { dirs, rest: vec![name], seen, slash: todo.slash }),
        }
    }
    Ok(Place { dirs, rest: Vec::new(), seen: Seen::Nothing, slash: true })
}

/// What is still to be walked.
#[derive(Default)]
struct Todo {
    /// The next name last.
    names: Vec<Vec<u8>>,
    slash: bool,
}

impl Todo {
    /// Puts `path` before all that is left.
    fn add(&mut self, path: &[u8]) -> Result<(), Errno> {
        match path {
            [] => return Err(Errno::NOENT),
            path if path.len() > PATH => return Err(Errno::NAMETOOLONG),
            [b'/', ..] => return Err(Errno::XDEV),
            _ => {}
        }
        let mut names = path.split(|byte| *byte == b'/').rev().peekable();
        // Only the end of the whole path can ask for a directory so: everything before it is one anyway.
        self.slash |= self.names.is_empty() && names.peek().is_some_and(|last| matches!(last, [] | [b'.']));
        self.names.extend(names.filter(|name| !matches!(name, [] | [b'.'])).map(<[u8]>::to_vec));
        Ok(())
    }
}
