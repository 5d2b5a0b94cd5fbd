//! Scopes: what a principal may do (spec, Scopes).

use crate::{Out, json};

/// One scope.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Scope {
    /// Info and the file system's reads.
    Read,
    /// Writes and removals of files.
    Write,
    /// Commands, their processes and sessions, and the environment.
    Exec,
    /// The offered MCP servers, their processes and sessions.
    Servers,
}

impl Scope {
    /// Every scope, in the order they are told.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Exec, Self::Servers];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Exec => "exec",
            Self::Servers => "servers",
        }
    }

    /// The scope of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

impl core::fmt::Display for Scope {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of scopes.
///
/// ```
/// use farside_wire::{Scope, Scopes};
/// let scopes = Scopes::from_names(["exec", "read", "fly"]);
/// assert!(scopes.iter().eq([Scope::Read, Scope::Exec]));
/// assert_eq!(scopes, Scopes::NONE.with(Scope::Exec).with(Scope::Read));
/// ```
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Hash)]
pub struct Scopes(u8);

impl Scopes {
    /// All of them.
    pub const ALL: Self = Self(15);
    /// None: forbidden everywhere.
    pub const NONE: Self = Self(0);

    /// The set with `scope` in it.
    #[must_use]
    pub const fn with(self, scope: Scope) -> Self {
        Self(self.0 | 1 << scope as u8)
    }

    /// Whether `scope` is in it.
    pub const fn has(self, scope: Scope) -> bool {
        self.0 & 1 << scope as u8 != 0
    }

    /// Whether it is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in it, in the order read, write, exec, servers.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.has(*scope))
    }

    /// The scopes of those names; unknown ones are dropped.
    pub fn from_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        names.into_iter().filter_map(Scope::from_name).collect()
    }

    /// Writes the JSON array of the names.
    pub fn write(self, out: &mut dyn Out) {
        out.put(b"[");
        for (n, scope) in self.iter().enumerate() {
            if n > 0 {
                out.put(b",");
            }
            json::write_string(out, scope.name());
        }
        out.put(b"]");
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        scopes.into_iter().fold(Self::NONE, Self::with)
    }
}
