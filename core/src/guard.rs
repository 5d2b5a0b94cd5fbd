//! What is refused before anybody is asked who it is from: whatever a page in a browser could have sent (spec, Guard).

use crate::{
    access::Access,
    wire::{
        Code, Error,
        host::is_loopback,
        http::{Field, RequestHead},
    },
};

/// Refuses a request that a browser may have made, and, without authentication, one that names another host.
pub(crate) fn guard(head: &RequestHead<'_>, access: &Access) -> Result<(), Error> {
    let insecure = matches!(access, Access::Insecure(_));
    if insecure && !head.host().is_some_and(is_loopback) {
        return Err(Error::new(Code::Forbidden, "Host"));
    }
    if !matches!(head.fields.get("origin"), Field::Absent) {
        return Err(Error::new(Code::Forbidden, "Origin"));
    }
    let from_a_page = head
        .fields
        .iter()
        .any(|(name, value)| name.eq_ignore_ascii_case("sec-fetch-site") && !matches!(value, b"same-origin" | b"none"));
    if from_a_page { Err(Error::new(Code::Forbidden, "Sec-Fetch-Site")) } else { Ok(()) }
}

/// Checks that a request with a body says that it is of type `want` (spec, Media types).
pub(crate) fn media_type(head: &RequestHead<'_>, want: &str) -> Result<(), Error> {
    let encoded = match head.fields.get("content-encoding") {
        Field::Absent => false,
        Field::One(value) => !value.eq_ignore_ascii_case(b"identity"),
        Field::Many => true,
    };
    let right = match head.fields.get("content-type") {
        Field::One(value) => essence(value).eq_ignore_ascii_case(want.as_bytes()),
        _ => false,
    };
    if encoded {
        Err(Error::invalid("Content-Encoding"))
    } else if !right {
        Err(Error::invalid("Content-Type"))
    } else {
        Ok(())
    }
}

/// A media type without its parameters.
pub(crate) fn essence(value: &[u8]) -> &[u8] {
    value.split(|b| *b == b';').next().unwrap_or_default().trim_ascii()
}
