//! What a server tells of itself (spec, Info and files).

use crate::{
    Bounds, Code, Error, Out, Scope, Scopes,
    json::{self, Object, ObjectWriter, Value, write_string},
};
use alloc::{borrow::ToOwned, string::String, vec::Vec};

/// The version of the wire, as in `Farside-Wire` and info.
pub const WIRE: u64 = 1;

/// Where a workspace is, for a record of where tools ran.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Descriptor {
    /// What kind of workspace it is, such as `local`.
    pub kind: String,
    /// What it was made from. `ref` on the wire.
    pub reference: Option<String>,
    /// The machine's name.
    pub host: Option<String>,
    /// Which of several of its kind.
    pub instance: Option<String>,
    /// Its root there.
    pub root: String,
}

/// How far the end of a command reaches.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Reach {
    /// The command itself.
    None,
    /// Its process group.
    Group,
    /// Every process that comes from it.
    Descendants,
    /// Every process in a control group of its own.
    Cgroup,
}

impl Reach {
    /// Every reach, the least first.
    pub const ALL: [Self; 4] = [Self::None, Self::Group, Self::Descendants, Self::Cgroup];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Group => "group",
            Self::Descendants => "descendants",
            Self::Cgroup => "cgroup",
        }
    }

    /// The reach of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reach| reach.name() == name)
    }
}

/// The reply of info. A server fills everything in and sends [`Info::for_scopes`]; a client finds absent what it was not told.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Info {
    /// The root there, absolute; without `read` its last element alone.
    pub root: String,
    /// Where the workspace is.
    pub descriptor: Descriptor,
    /// Whether links can be told from their targets.
    pub links: Option<bool>,
    /// The bounds the server keeps.
    pub bounds: Bounds,
    /// How far the end of a command reaches.
    pub reach: Option<Reach>,
    /// The scopes of whoever asked.
    pub scopes: Option<Scopes>,
    /// Whether whoever asked may start processes.
    pub start: Option<bool>,
    /// Whether whoever asked may connect to ports.
    pub connect: Option<bool>,
    /// Whether MCP servers are offered to whoever asked.
    pub servers: Option<bool>,
    /// The environment every command starts from.
    pub env: Option<Vec<String>>,
    /// The extensions the server has.
    pub extensions: Vec<String>,
}

impl Info {
    /// What a principal of those scopes is told. `self` is the whole: `start`, `connect` and `servers` say what the workspace can.
    ///
    /// # Errors
    /// `forbidden` without `read` and without `servers`.
    pub fn for_scopes(&self, scopes: Scopes) -> Result<Self, Error> {
        let [read, exec, servers] = [Scope::Read, Scope::Exec, Scope::Servers].map(|scope| scopes.has(scope));
        if !read && !servers {
            return Err(Code::Forbidden.into());
        }
        let mut told = self.clone();
        told.scopes = Some(scopes);
        told.servers = Some(servers && self.servers == Some(true));
        told.links = (read || exec).then_some(self.links == Some(true));
        told.start = (read || exec).then_some(exec && self.start == Some(true));
        told.connect = (read || exec).then_some(exec && self.connect == Some(true));
        if !exec {
            told.env = None;
        }
        if !read {
            told.root = last_element(&self.root).to_owned();
            let (kind, root) = (self.descriptor.kind.clone(), last_element(&self.descriptor.root).to_owned());
            told.descriptor = Descriptor { kind, root, ..Descriptor::default() };
        }
        if !read && !exec {
            told.reach = None;
        }
        Ok(told)
    }

    /// Writes the reply.
    pub fn write(&self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        object.number("wire", WIRE);
        object.string("root", &self.root);
        self.descriptor.write(object.member("descriptor"));
        let truth = |object: &mut ObjectWriter<'_>, name, truth: Option<bool>| {
            if let Some(truth) = truth {
                object.bool(name, truth);
            }
        };
        truth(&mut object, "links", self.links);
        self.bounds.write(object.member("bounds"));
        object.text("reach", self.reach.map_or("", Reach::name));
        if let Some(scopes) = self.scopes {
            scopes.write(object.member("scopes"));
        }
        truth(&mut object, "start", self.start);
        truth(&mut object, "connect", self.connect);
        truth(&mut object, "servers", self.servers);
        object.strings("env", self.env.as_deref().unwrap_or_default());
        object.strings("extensions", &self.extensions);
        object.end();
    }

    /// Reads the reply as a client does: scopes and a reach that are not known are dropped, bounds are clamped ([`Bounds::parse`]), and
    /// only `root` has to be there.
    ///
    /// # Errors
    /// `invalid`, with the member; `unsupported` for another version of the wire, naming both.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        let object = json::parse_object(body)?;
        if let Some(wire) = object.u64("wire")?.filter(|wire| *wire != WIRE) {
            let words = alloc::format!("the server speaks wire {wire}, this is wire {WIRE}");
            return Err(Error::new(Code::Unsupported, words));
        }
        Ok(Self {
            root: object.string("root")?.ok_or(Error::invalid("root"))?.into(),
            descriptor: object.object("descriptor")?.map(Descriptor::read).transpose()?.unwrap_or_default(),
            links: object.bool("links")?,
            bounds: Bounds::parse(object.get("bounds").unwrap_or(&Value::Object(Object::default())))?,
            reach: object.string("reach")?.and_then(Reach::from_name),
            scopes: object.strings("scopes")?.map(Scopes::from_names),
            start: object.bool("start")?,
            connect: object.bool("connect")?,
            servers: object.bool("servers")?,
            env: owned(&object, "env")?.filter(|env| !env.is_empty()),
            extensions: owned(&object, "extensions")?.unwrap_or_default(),
        })
    }
}

impl Descriptor {
    /// Writes the object that stands in info.
    pub fn write(&self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        object.string("kind", &self.kind);
        for (name, text) in [("ref", &self.reference), ("host", &self.host), ("instance", &self.instance)] {
            if let Some(text) = text.as_ref().filter(|text| !text.is_empty()) {
                write_string(object.member(name), text);
            }
        }
        object.string("root", &self.root);
        object.end();
    }

    fn read(object: &Object<'_>) -> Result<Self, Error> {
        let text = |name| object.string(name).map(|text| text.filter(|text| !text.is_empty()).map(String::from));
        Ok(Self {
            kind: text("kind")?.unwrap_or_default(),
            reference: text("ref")?,
            host: text("host")?,
            instance: text("instance")?,
            root: text("root")?.unwrap_or_default(),
        })
    }
}

fn owned(object: &Object<'_>, name: &'static str) -> Result<Option<Vec<String>>, Error> {
    Ok(object.strings(name)?.map(|texts| texts.into_iter().map(String::from).collect()))
}

/// The last element of a path; of the root of a file system `.`, since a client takes what begins with `/` as the whole root.
fn last_element(path: &str) -> &str {
    match path.trim_end_matches('/').rsplit('/').next() {
        None | Some("") => ".",
        Some(last) => last,
    }
}
