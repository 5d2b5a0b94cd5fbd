//! The strict reader. What it refuses beyond the grammar: a member named twice at any level, a lone surrogate, more than
//! [`MAX_DEPTH`] levels, bytes that are not UTF-8, anything before or after the one value (a byte order mark too).

use super::{Object, Value};
use crate::{Code, Error};
use alloc::{borrow::Cow, string::String, vec::Vec};
use memchr::memchr2;

/// How deep arrays and objects may nest; the outermost is 1 (spec, Requests in general).
pub const MAX_DEPTH: usize = 32;

/// Objects of up to so many members are searched for a repeated name as they grow, larger ones sorted at their end.
const FEW: usize = 16;

/// Reads one JSON value and nothing else, in time linear in `text` but for the sorting of large objects' names.
///
/// # Errors
/// `invalid`, with what is wrong.
///
/// ```
/// use farside_wire::json;
/// let value = json::parse(br#"{"args":["a"],"x":null}"#).unwrap();
/// let object = value.as_object().unwrap();
/// assert_eq!(object.strings("args").unwrap().unwrap(), ["a"]);
/// assert_eq!(object.get("x"), None);
/// assert!(json::parse(br#"{"a":1,"a":1}"#).is_err());
/// ```
pub fn parse(text: &[u8]) -> Result<Value<'_>, Error> {
    parse_bounded(text, usize::MAX)
}

/// Reads one JSON value of at most `max_values` values in all: what it takes in memory grows with their number (some 32 bytes
/// each, where two bytes of text can make one), while the contents of strings are borrowed.
///
/// # Errors
/// As [`parse`], and `limit` past the bound.
pub fn parse_bounded(text: &[u8], max_values: usize) -> Result<Value<'_>, Error> {
    let text = core::str::from_utf8(text).map_err(|_| Error::invalid("JSON is not UTF-8"))?;
    let mut reader = Reader { text, at: 0, values_left: max_values };
    reader.space();
    let value = reader.value(1)?;
    reader.space();
    if reader.at == text.len() { Ok(value) } else { Err(Error::invalid("bytes after the JSON")) }
}

/// Reads a body: one object and nothing else.
///
/// # Errors
/// As [`parse`], and `invalid` for another value.
pub fn parse_object(text: &[u8]) -> Result<Object<'_>, Error> {
    parse_object_bounded(text, usize::MAX)
}

/// Reads a body of at most `max_values` values.
///
/// # Errors
/// As [`parse_bounded`] and [`parse_object`].
pub fn parse_object_bounded(text: &[u8], max_values: usize) -> Result<Object<'_>, Error> {
    match parse_bounded(text, max_values)? {
        Value::Object(object) => Ok(object),
        _ => Err(Error::invalid("JSON is not an object")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    values_left: usize,
}

fn syntax() -> Error {
    Error::invalid("JSON syntax")
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Result<(), Error> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(syntax())
    }

    /// A value whose arrays and objects are at level `depth`.
    fn value(&mut self, depth: usize) -> Result<Value<'a>, Error> {
        self.values_left = self.values_left.checked_sub(1).ok_or(Error::new(Code::Limit, "values in the JSON"))?;
        match self.peek() {
            Some(b'{' | b'[') if depth > MAX_DEPTH => Err(Error::invalid("JSON is nested too deep")),
            Some(b'{') => self.object(depth).map(Value::Object),
            Some(b'[') => self.array(depth).map(Value::Array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(syntax()),
        }
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Result<Value<'a>, Error> {
        if self.rest().starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(value);
        }
        Err(syntax())
    }

    fn object(&mut self, depth: usize) -> Result<Object<'a>, Error> {
        let mut members: Vec<(Cow<'a, str>, Value<'a>)> = Vec::new();
        self.take(b'{')?;
        self.space();
        if self.peek() != Some(b'}') {
            loop {
                self.space();
                let name = self.string()?;
                if members.len() < FEW && members.iter().any(|(other, _)| *other == name) {
                    return Err(repeated());
                }
                self.space();
                self.take(b':')?;
                self.space();
                let value = self.value(depth + 1)?;
                members.push((name, value));
                self.space();
                if self.peek() != Some(b',') {
                    break;
                }
                self.at += 1;
            }
        }
        self.take(b'}')?;
        if members.len() > FEW {
            let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
            names.sort_unstable();
            if names.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(repeated());
            }
        }
        Ok(Object { members })
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Value<'a>>, Error> {
        let mut elements = Vec::new();
        self.take(b'[')?;
        self.space();
        if self.peek() != Some(b']') {
            loop {
                self.space();
                elements.push(self.value(depth + 1)?);
                self.space();
                if self.peek() != Some(b',') {
                    break;
                }
                self.at += 1;
            }
        }
        self.take(b']')?;
        Ok(elements)
    }

    fn digits(&mut self) -> Result<(), Error> {
        let count = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count > 0 { Ok(()) } else { Err(syntax()) }
    }

    fn number(&mut self) -> Result<&'a str, Error> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        self.text.get(start..self.at).ok_or_else(syntax)
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        self.take(b'"')?;
        let mut decoded: Option<String> = None;
        loop {
            let plain = memchr2(b'"', b'\\', self.rest()).ok_or_else(syntax)?;
            let run = self.text.get(self.at..self.at + plain).ok_or_else(syntax)?;
            // Folded rather than `any`, so that it runs at the speed of memory over megabytes of base64.
            if run.bytes().fold(false, |found, byte| found | (byte < 0x20)) {
                return Err(Error::invalid("a control character in a JSON string"));
            }
            self.at += plain;
            let end = self.peek() == Some(b'"');
            self.at += 1;
            match (&mut decoded, end) {
                (None, true) => return Ok(Cow::Borrowed(run)),
                (Some(text), _) => text.push_str(run),
                (None, false) => decoded = Some(run.into()),
            }
            match decoded.as_mut() {
                Some(text) if !end => text.push(self.escape()?),
                _ => return Ok(Cow::Owned(decoded.unwrap_or_default())),
            }
        }
    }

    /// What stands after a backslash.
    fn escape(&mut self) -> Result<char, Error> {
        let byte = self.peek().ok_or_else(syntax)?;
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => byte as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return Err(syntax()),
        })
    }

    fn unicode_escape(&mut self) -> Result<char, Error> {
        let lone = || Error::invalid("a lone surrogate in the JSON");
        let unit = self.hex4()?;
        if (0xd800..0xdc00).contains(&unit) {
            if !self.rest().starts_with(b"\\u") {
                return Err(lone());
            }
            self.at += 2;
            let low = self.hex4()?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err(lone());
            }
            return char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)).ok_or_else(lone);
        }
        char::from_u32(unit).ok_or_else(lone)
    }

    fn hex4(&mut self) -> Result<u32, Error> {
        let digits = self.rest().get(..4).ok_or_else(syntax)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | (*digit as char).to_digit(16)?)).ok_or_else(syntax)
    }
}

fn repeated() -> Error {
    Error::invalid("a repeated member")
}
