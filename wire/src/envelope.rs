//! Errors in JSON: the envelope of a refusal, and the same object inside frames and wait answers (spec, Errors).

use crate::{
    Bounds, Code, Details, Error, Out, bounds, errno,
    json::{self, ObjectWriter, Value, write_escaped},
};
use alloc::string::String;

/// Writes `{"error":{...}}`. Nothing is allocated.
pub fn write_error(out: &mut dyn Out, error: &Error, max_bytes: u64) {
    out.put(b"{\"error\":");
    write_error_object(out, error, max_bytes);
    out.put(b"}");
}

/// Writes `{"code","message","details"?}`, the message cut to `max_bytes` of UTF-8 (before anything is escaped) at the boundary of a
/// character. Nothing is allocated.
///
/// ```
/// use farside_wire::{Code, Error, envelope};
/// let mut out = Vec::new();
/// envelope::write_error_object(&mut out, &Error::limit("maxWriteBytes", 10), 512);
/// let text = r#"{"code":"limit","message":"over a limit: maxWriteBytes","details":{"limit":10,"name":"maxWriteBytes"}}"#;
/// assert_eq!(out, text.as_bytes());
/// ```
pub fn write_error_object(out: &mut dyn Out, error: &Error, max_bytes: u64) {
    let mut object = ObjectWriter::begin(out);
    object.string("code", error.code.name());
    write_message(object.member("message"), error, max_bytes.try_into().unwrap_or(usize::MAX));
    if let Some(details) = error.details.as_deref().filter(|details| say_something(details)) {
        write_details(object.member("details"), details);
    }
    object.end();
}

/// [`Error::message`], in pieces so that it need not be put together.
fn write_message(out: &mut dyn Out, error: &Error, mut left: usize) {
    let own = &*error.words;
    let pieces = match error.code {
        Code::Other if !own.is_empty() => ["", "", own],
        code if own.is_empty() => [code.words(), "", ""],
        code => [code.words(), ": ", own],
    };
    out.put(b"\"");
    // All but the last are ASCII, so that only the last can be cut short of the bound.
    for piece in pieces {
        let cut = cut_at(piece, left);
        write_escaped(out, cut);
        left -= cut.len();
    }
    out.put(b"\"");
}

/// The longest beginning of `text` that has at most `bytes` bytes and ends with a whole character.
fn cut_at(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

fn say_something(details: &Details) -> bool {
    let texts = [&details.name, &details.errno];
    let numbers = [details.limit, details.offset];
    texts.into_iter().flatten().any(|text| !text.is_empty()) || numbers != [None; 2] || details.ran == Some(true)
}

fn write_details(out: &mut dyn Out, details: &Details) {
    let mut object = ObjectWriter::begin(out);
    if let Some(limit) = details.limit {
        object.number("limit", limit);
    }
    object.text("name", details.name.as_deref().unwrap_or_default());
    object.flag("ran", details.ran == Some(true));
    object.text("errno", details.errno.as_deref().unwrap_or_default());
    if let Some(offset) = details.offset {
        object.number("offset", offset);
    }
    object.end();
}

/// Reads the error object (without its envelope) as a client does: what is missing or of another type is left out, a code that is not
/// known is [`Code::Other`].
pub fn parse_error(value: &Value<'_>) -> Error {
    let member = |name| value.as_object().and_then(|object| object.get(name));
    let text = |name| member(name).and_then(Value::as_str);
    let code = text("code").map_or(Code::Other, Code::from_name);
    let mut error = Error::received(code, text("message").unwrap_or_default().into());
    if let Some(details) = member("details").and_then(Value::as_object) {
        let text = |name| details.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let text = |name| text(name).map(|text| String::from(text).into());
        let number = |name| details.get(name).and_then(Value::as_u64);
        let read = Details {
            limit: number("limit"),
            name: text("name"),
            ran: details.get("ran").and_then(Value::as_bool).filter(|ran| *ran),
            errno: text("errno"),
            offset: number("offset"),
        };
        if read != Details::default() {
            error = error.with(|details| *details = read);
        }
    }
    error
}

/// Reads the body of a refusal, `{"error":{...}}`; `None` if it is no such thing, as from a proxy between.
pub fn parse_refusal(body: &[u8]) -> Option<Error> {
    let body = json::parse_object(body).ok()?;
    body.get("error").filter(|error| error.as_object().is_some()).map(parse_error)
}

/// The HTTP status of a refusal where no rule of a route names another (spec, Errors).
pub fn status_of(error: &Error) -> u16 {
    match error.code {
        Code::Limit => match error.details.as_ref().and_then(|details| Bounds::row(details.name.as_deref()?)) {
            Some(bounds::Row { kind: bounds::Kind::Count, .. }) => 429,
            _ => Code::Limit.status(),
        },
        Code::Other => error.errno().and_then(errno::by_name).map_or(Code::Other.status(), |errno| errno.status),
        code => code.status(),
    }
}
