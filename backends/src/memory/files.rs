//! A tree of files, directories and links.

use crate::{
    errno::{failed, unresolved},
    walk::{ELEMENT, PATH, Place, Seen, Tree, walk},
};
use bytes::Bytes;
use farside_core::wire::{Error, FileInfo, FileMode, Listing, Meta, Timestamp, name};
use rustix::io::Errno;
use std::collections::BTreeMap;

/// The time of a tree that was not changed yet: the start of 2026. Each change is a millisecond after the one before.
const START: i64 = 1_767_225_600;

/// All there is, by number. A directory that was removed is gone for those too who hold its number.
pub(super) struct Files {
    nodes: BTreeMap<u64, Node>,
    next: u64,
    changes: u64,
}

struct Node {
    perm: u32,
    /// The change it was changed by.
    changed: u64,
    kind: Kind,
}

enum Kind {
    Dir(BTreeMap<String, u64>),
    File(Bytes),
    Link(String),
}

const ROOT: u64 = 0;

/// Where a file goes: a directory, the directories missing below it, and the last name.
pub(super) struct Target {
    dir: u64,
    missing: Vec<Vec<u8>>,
    last: Vec<u8>,
}

impl Files {
    pub(super) fn new() -> Self {
        let root = Node { perm: 0o755, changed: 0, kind: Kind::Dir(BTreeMap::new()) };
        Self { nodes: BTreeMap::from([(ROOT, root)]), next: ROOT + 1, changes: 0 }
    }

    pub(super) fn stat(&self, name: &str, follow: bool) -> Result<Meta, Error> {
        self.resolve(name, follow).map(Node::meta)
    }

    pub(super) fn read_link(&self, name: &str) -> Result<String, Error> {
        match &self.resolve(name, false)?.kind {
            Kind::Link(target) => Ok(target.clone()),
            _ => Err(Error::invalid("no link")),
        }
    }

    pub(super) fn read_dir(&self, name: &str, max: u64) -> Result<Listing, Error> {
        let Kind::Dir(names) = &self.resolve(name, true)?.kind else { return Err(failed(Errno::NOTDIR)) };
        if names.len() as u64 > max {
            return Err(Error::limit("maxDirEntries", max));
        }
        let entry = |(name, number): (&String, &u64)| {
            let meta = self.nodes.get(number)?.meta();
            Some(FileInfo { name: name.clone(), meta })
        };
        Ok(Listing { entries: names.iter().filter_map(entry).collect(), skipped: 0 })
    }

    pub(super) fn read(&self, name: &str) -> Result<Bytes, Error> {
        match &self.resolve(name, true)?.kind {
            Kind::File(content) => Ok(content.clone()),
            _ => Err(Error::invalid("no regular file")),
        }
    }

    pub(super) fn target(&self, name: &str) -> Result<Target, Error> {
        let Place { dirs, mut rest, seen, slash } = walk(self, name.as_bytes(), true).map_err(unresolved)?;
        let regular = match &seen {
            Seen::Nothing => !slash && rest.iter().all(|name| name.len() <= ELEMENT),
            seen => matches!(seen, Seen::Other(_)),
        };
        match rest.pop() {
            Some(last) if regular => Ok(Target { dir: dirs.last().copied().unwrap_or(ROOT), missing: rest, last }),
            _ => Err(Error::invalid("no regular file")),
        }
    }

    /// Puts a whole file at its target.
    pub(super) fn write(&mut self, target: &Target, content: Bytes, perm: u32) -> Result<(), Error> {
        let dir = self.make_dirs(target.dir, &target.missing).map_err(failed)?;
        match self.child(dir, &target.last).map_err(failed)? {
            None => self.add(dir, &target.last, perm, Kind::File(content)).map_err(failed),
            Some(number) => {
                let changed = self.change(dir);
                match self.nodes.get_mut(&number) {
                    Some(Node { changed: when, kind: Kind::File(old), .. }) => {
                        (*when, *old) = (changed, content);
                        Ok(())
                    }
                    _ => Err(Error::invalid("no regular file")),
                }
            }
        }
    }

    pub(super) fn remove(&mut self, path: &str) -> Result<(), Error> {
        let (parent, last) = name::split(path);
        if path.len() > PATH || matches!(last, "" | "." | "..") {
            return Err(Error::invalid("name"));
        }
        let dir = self.resolve_dir(parent)?;
        let number = self.child(dir, last.as_bytes()).map_err(failed)?.ok_or_else(|| failed(Errno::NOENT))?;
        if let Some(Kind::Dir(names)) = self.nodes.get(&number).map(|node| &node.kind)
            && !names.is_empty()
        {
            return Err(failed(Errno::NOTEMPTY));
        }
        self.names(dir).map_err(failed)?.remove(last);
        self.nodes.remove(&number);
        self.change(dir);
        Ok(())
    }

    /// Makes a directory and those above it; one that is there is fine.
    pub(super) fn make_dir(&mut self, name: &str) -> Result<(), Error> {
        let Place { dirs, rest, seen, .. } = walk(self, name.as_bytes(), true).map_err(unresolved)?;
        match seen {
            Seen::Nothing => self.make_dirs(dirs.last().copied().unwrap_or(ROOT), &rest).map(drop).map_err(failed),
            Seen::Dir(_) => Ok(()),
            _ => Err(failed(Errno::EXIST)),
        }
    }

    /// Makes a link, and the directories above it.
    pub(super) fn make_link(&mut self, target: &str, name: &str) -> Result<(), Error> {
        let Place { dirs, mut rest, seen, .. } = walk(self, name.as_bytes(), false).map_err(unresolved)?;
        let (Seen::Nothing, Some(last)) = (seen, rest.pop()) else { return Err(failed(Errno::EXIST)) };
        let dir = self.make_dirs(dirs.last().copied().unwrap_or(ROOT), &rest).map_err(failed)?;
        self.add(dir, &last, 0o777, Kind::Link(target.to_owned())).map_err(failed)
    }

    fn resolve(&self, name: &str, follow: bool) -> Result<&Node, Error> {
        if let Some(node) = self.plain(name, follow) {
            return Ok(node);
        }
        let Place { dirs, rest, seen, .. } = walk(self, name.as_bytes(), follow).map_err(unresolved)?;
        let number = match (seen, rest.is_empty()) {
            (Seen::Dir(number) | Seen::Link(number) | Seen::Other(number), _) => number,
            (Seen::Nothing, true) => dirs.last().copied().unwrap_or(ROOT),
            (Seen::Nothing, false) => return Err(failed(Errno::NOENT)),
        };
        self.nodes.get(&number).ok_or_else(|| failed(Errno::NOENT))
    }

    /// The usual case, in which nothing is allocated: all elements are there and no link is to be followed.
    fn plain(&self, name: &str, follow: bool) -> Option<&Node> {
        let mut elements = Some(name).filter(|name| name.len() <= PATH)?.split('/');
        let number = elements.try_fold(ROOT, |dir, element| self.child(dir, element.as_bytes()).ok()?)?;
        self.nodes.get(&number).filter(|node| !(follow && matches!(node.kind, Kind::Link(_))))
    }

    fn resolve_dir(&self, name: &str) -> Result<u64, Error> {
        let Place { dirs, rest, seen, .. } = walk(self, name.as_bytes(), true).map_err(unresolved)?;
        match (seen, rest.is_empty()) {
            (Seen::Dir(number), _) => Ok(number),
            (Seen::Nothing, true) => Ok(dirs.last().copied().unwrap_or(ROOT)),
            (Seen::Nothing, false) => Err(failed(Errno::NOENT)),
            _ => Err(failed(Errno::NOTDIR)),
        }
    }

    /// Makes the directories `names`, each in the one before; those that are there are fine.
    fn make_dirs(&mut self, mut dir: u64, names: &[Vec<u8>]) -> Result<u64, Errno> {
        for name in names {
            if self.child(dir, name)?.is_none() {
                self.add(dir, name, 0o755, Kind::Dir(BTreeMap::new()))?;
            }
            dir = self.child(dir, name)?.ok_or(Errno::NOENT)?;
        }
        Ok(dir)
    }

    fn add(&mut self, dir: u64, name: &[u8], perm: u32, kind: Kind) -> Result<(), Errno> {
        let name = String::from_utf8(name.to_vec()).map_err(|_| Errno::INVAL)?;
        let number = self.next;
        self.names(dir)?.insert(name, number);
        self.next += 1;
        let changed = self.change(dir);
        self.nodes.insert(number, Node { perm, changed, kind });
        Ok(())
    }

    /// Counts a change of the directory `dir`.
    fn change(&mut self, dir: u64) -> u64 {
        self.changes += 1;
        if let Some(node) = self.nodes.get_mut(&dir) {
            node.changed = self.changes;
        }
        self.changes
    }

    fn child(&self, dir: u64, name: &[u8]) -> Result<Option<u64>, Errno> {
        match self.nodes.get(&dir).map(|node| &node.kind) {
            Some(Kind::Dir(_)) if name.len() > ELEMENT => Err(Errno::NAMETOOLONG),
            Some(Kind::Dir(_)) if name.contains(&0) => Err(Errno::INVAL),
            Some(Kind::Dir(names)) => Ok(std::str::from_utf8(name).ok().and_then(|name| names.get(name)).copied()),
            Some(_) => Err(Errno::NOTDIR),
            None => Err(Errno::NOENT),
        }
    }

    fn names(&mut self, dir: u64) -> Result<&mut BTreeMap<String, u64>, Errno> {
        match self.nodes.get_mut(&dir).map(|node| &mut node.kind) {
            Some(Kind::Dir(names)) => Ok(names),
            Some(_) => Err(Errno::NOTDIR),
            None => Err(Errno::NOENT),
        }
    }
}

impl Tree for Files {
    type Node = u64;

    fn look(&self, dir: Option<&u64>, name: &[u8]) -> Result<Seen<u64>, Errno> {
        let Some(number) = self.child(dir.copied().unwrap_or(ROOT), name)? else { return Ok(Seen::Nothing) };
        Ok(match self.nodes.get(&number).map(|node| &node.kind) {
            Some(Kind::Dir(_)) => Seen::Dir(number),
            Some(Kind::Link(_)) => Seen::Link(number),
            Some(Kind::File(_)) => Seen::Other(number),
            None => Seen::Nothing,
        })
    }

    fn target(&self, link: &u64) -> Result<Vec<u8>, Errno> {
        match self.nodes.get(link).map(|node| &node.kind) {
            Some(Kind::Link(target)) => Ok(target.as_bytes().to_vec()),
            _ => Err(Errno::NOENT),
        }
    }
}

impl Node {
    fn meta(&self) -> Meta {
        let (kind, size) = match &self.kind {
            Kind::Dir(_) => (FileMode::DIR, 0),
            Kind::File(content) => (0, content.len()),
            Kind::Link(target) => (FileMode::SYMLINK, target.len()),
        };
        let modified = Timestamp {
            seconds: START + (self.changed / 1000) as i64,
            nanos: (self.changed % 1000) as u32 * 1_000_000,
        };
        Meta { size: size as u64, mode: FileMode(self.perm | kind), modified }
    }
}
