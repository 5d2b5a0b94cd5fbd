//! What a session's own routes answer (spec, Sessions, starts, keys), and the listing of sessions (spec, Extensions).

use crate::{
    Error, Out, id,
    json::{self, ObjectWriter},
    process::ProcessRow,
};
use alloc::{string::String, vec::Vec};

/// The reply of open and renew.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Lease {
    /// The session's id.
    pub id: String,
    /// How long it lives from the server's receipt of the request, in milliseconds.
    pub lease_ms: u64,
}

impl Lease {
    /// Writes `{"id","leaseMs"}`.
    pub fn write(&self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        object.string("id", &self.id);
        object.number("leaseMs", self.lease_ms);
        object.end();
    }

    /// Reads the reply.
    ///
    /// # Errors
    /// `invalid`, with the member; an id that could not stand in a path is bad, and so is a lease of 0.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        let object = json::parse_object(body)?;
        let id = object.string("id")?.filter(|id| id::is_id(id)).ok_or(Error::invalid("id"))?.into();
        let lease_ms = object.within("leaseMs", 1..=1 << 53)?.ok_or(Error::invalid("leaseMs"))?;
        Ok(Self { id, lease_ms })
    }
}

/// One session in the listing, of the extension `list`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SessionRow {
    /// Its id.
    pub id: String,
    /// Its processes, as their own listing gives them.
    pub processes: Vec<ProcessRow>,
}

/// Writes the reply of the listing of sessions, `{"sessions":[{"id","processes":[...]}]}`, in the order they are in (by id).
pub fn write_sessions(out: &mut dyn Out, sessions: &[SessionRow]) {
    let mut object = ObjectWriter::begin(out);
    object.array("sessions", sessions, |out, session| {
        let mut row = ObjectWriter::begin(out);
        row.string("id", &session.id);
        row.array("processes", &session.processes, |out, process| process.write(out));
        row.end();
    });
    object.end();
}

/// Reads the reply of the listing of sessions.
///
/// # Errors
/// `invalid`, with the member.
pub fn parse_sessions(body: &[u8]) -> Result<Vec<SessionRow>, Error> {
    let object = json::parse_object(body)?;
    let rows = object.array("sessions")?.ok_or(Error::invalid("sessions"))?;
    let read = |row: &json::Value<'_>| {
        let row = row.as_object().ok_or(Error::invalid("sessions"))?;
        let id = row.string("id")?.filter(|id| id::is_id(id)).ok_or(Error::invalid("id"))?.into();
        Ok(SessionRow { id, processes: ProcessRow::read_all(row)? })
    };
    rows.iter().map(read).collect()
}
