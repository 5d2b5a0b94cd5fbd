//! The list of offered MCP servers (spec, Sessions, starts, keys).

use crate::{
    Error, Out, id,
    json::{self, ObjectWriter},
};
use alloc::{string::String, vec::Vec};

/// An offered server.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ServerInfo {
    /// Its name ([`id::is_server_name`]).
    pub name: String,
    /// What it is for; may be empty.
    pub description: String,
    /// The names of the variables that hold its secrets, never their values.
    pub secrets: Vec<String>,
}

/// Writes the reply of the list, `{"servers":[{"name","description"?,"secrets"?}]}`, in the order they are offered in.
pub fn write_servers(out: &mut dyn Out, servers: &[ServerInfo]) {
    let mut object = ObjectWriter::begin(out);
    object.array("servers", servers, |out, server| {
        let mut row = ObjectWriter::begin(out);
        row.string("name", &server.name);
        row.text("description", &server.description);
        row.strings("secrets", &server.secrets);
        row.end();
    });
    object.end();
}

/// Reads the reply of the list.
///
/// # Errors
/// `invalid`, with the member; a name that is none of a server is bad.
pub fn parse_servers(body: &[u8]) -> Result<Vec<ServerInfo>, Error> {
    let object = json::parse_object(body)?;
    let rows = object.array("servers")?.ok_or(Error::invalid("servers"))?;
    let read = |row: &json::Value<'_>| {
        let row = row.as_object().ok_or(Error::invalid("servers"))?;
        let secrets = row.strings("secrets")?.unwrap_or_default();
        Ok(ServerInfo {
            name: row.string("name")?.filter(|name| id::is_server_name(name)).ok_or(Error::invalid("name"))?.into(),
            description: row.string("description")?.unwrap_or_default().into(),
            secrets: secrets.into_iter().map(String::from).collect(),
        })
    };
    rows.iter().map(read).collect()
}
