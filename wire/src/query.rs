//! A request's query, by the rules of forms (spec, Requests in general).

use crate::{Error, Out, name};
use alloc::{borrow::Cow, string::String};
use core::ops::RangeInclusive;
use memchr::memchr2;

/// How many known parameters a query may be asked for; more are as unknown ones.
pub const MAX_KNOWN: usize = 4;

/// The known parameters of a query. `+` is a space, `%XX` is decoded exactly once, `;` separates nothing, unknown parameters are
/// ignored.
///
/// ```
/// use farside_wire::query::Query;
/// let query = Query::parse(Some("path=a%2Bb+c&x=1"), &["path", "perm"]).unwrap();
/// assert_eq!(&*query.get("path").unwrap(), b"a+b c");
/// assert_eq!(query.get("perm"), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Query<'q> {
    known: [Option<(&'q str, &'q str)>; MAX_KNOWN],
}

impl<'q> Query<'q> {
    /// Reads what stands after the `?`; `None` is a target without one. Nothing is allocated.
    ///
    /// # Errors
    /// `invalid` for a bad escape anywhere, and for a known parameter that is given twice.
    pub fn parse(raw: Option<&'q str>, known: &[&'q str]) -> Result<Self, Error> {
        let mut query = Self::default();
        for part in raw.unwrap_or_default().split('&') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            check_escapes(key)?;
            check_escapes(value)?;
            let slots = query.known.iter_mut().zip(known);
            for (slot, name) in slots.filter(|(_, name)| key == **name || decoded(key).eq(name.bytes())) {
                if slot.replace((*name, value)).is_some() {
                    return Err(Error::invalid("a repeated parameter"));
                }
            }
        }
        Ok(query)
    }

    /// The value of a known parameter. Nothing is allocated unless it has an escape in it.
    pub fn get(&self, key: &str) -> Option<Cow<'q, [u8]>> {
        let (_, value) = self.known.iter().flatten().find(|(name, _)| *name == key)?;
        Some(match memchr2(b'%', b'+', value.as_bytes()) {
            None => Cow::Borrowed(value.as_bytes()),
            Some(_) => Cow::Owned(decoded(value).collect()),
        })
    }

    /// A parameter that is a file's name, checked.
    ///
    /// # Errors
    /// Those of [`name::check_bytes`]; absent is as empty: `invalid`.
    pub fn name(&self, key: &str) -> Result<Cow<'q, str>, Error> {
        match self.get(key).unwrap_or_default() {
            Cow::Borrowed(bytes) => name::check_bytes(bytes).map(Cow::Borrowed),
            Cow::Owned(bytes) => {
                name::check_bytes(&bytes)?;
                String::from_utf8(bytes).map(Cow::Owned).map_err(|_| Error::invalid("name"))
            }
        }
    }

    /// A parameter that is permission bits; absent is `None`.
    ///
    /// # Errors
    /// Those of [`perm`].
    pub fn perm(&self, key: &str) -> Result<Option<u32>, Error> {
        self.get(key).map(perm).transpose()
    }

    /// A parameter that is a decimal number within `range`; absent is `None`.
    ///
    /// # Errors
    /// `invalid`, with the key.
    pub fn number(&self, key: &'static str, range: RangeInclusive<u64>) -> Result<Option<u64>, Error> {
        let read = |text: Cow<'q, [u8]>| {
            let digits =
                core::str::from_utf8(&text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
            digits.parse().ok().filter(|n| range.contains(n))
        };
        self.get(key).map(|text| read(text).ok_or(Error::invalid(key))).transpose()
    }

    /// A parameter that is `1` for yes; absent is no.
    ///
    /// # Errors
    /// `invalid`, with the key, for any other value.
    pub fn flag(&self, key: &'static str) -> Result<bool, Error> {
        Ok(self.number(key, 1..=1)?.is_some())
    }
}

/// Reads permission bits: 1 to 12 octal digits, an `0` or `0o` before them allowed; masked to 0777.
///
/// # Errors
/// `invalid`.
pub fn perm(text: impl AsRef<[u8]>) -> Result<u32, Error> {
    let text = text.as_ref();
    let digits = match text.strip_prefix(b"0o") {
        Some(digits) => digits,
        None if text.len() == 13 => text.strip_prefix(b"0").unwrap_or(text),
        None => text,
    };
    if !(1..=12).contains(&digits.len()) || !digits.iter().all(|digit| matches!(digit, b'0'..=b'7')) {
        return Err(Error::invalid("perm"));
    }
    Ok(digits.iter().fold(0, |bits, digit| (bits << 3 | u32::from(digit - b'0')) & 0o777))
}

/// Writes `value` for use in a query: every byte but `A-Za-z0-9-._~` percent-encoded with upper-case digits.
pub fn encode_component(out: &mut dyn Out, value: &[u8]) {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    let mut rest = value;
    while let Some(at) = rest.iter().position(|byte| !plain(byte)) {
        let (run, special) = rest.split_at(at);
        out.put(run);
        let Some((byte, after)) = special.split_first() else { break };
        rest = after;
        let hex = |nibble: u8| b"0123456789ABCDEF"[usize::from(nibble & 15)];
        out.put(&[b'%', hex(byte >> 4), hex(*byte)]);
    }
    out.put(rest);
}

fn check_escapes(text: &str) -> Result<(), Error> {
    let mut escapes = text.as_bytes();
    while let Some(at) = memchr::memchr(b'%', escapes) {
        match escapes.get(at + 1..at + 3) {
            Some([high, low]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {}
            _ => return Err(Error::invalid("a percent escape")),
        }
        escapes = escapes.get(at + 3..).unwrap_or_default();
    }
    Ok(())
}

/// The bytes that `text` stands for; its escapes have been checked.
fn decoded(text: &str) -> impl Iterator<Item = u8> {
    let digit = |byte: Option<u8>| byte.and_then(|byte| (byte as char).to_digit(16)).unwrap_or_default() as u8;
    let mut bytes = text.bytes();
    core::iter::from_fn(move || {
        Some(match bytes.next()? {
            b'+' => b' ',
            b'%' => digit(bytes.next()) << 4 | digit(bytes.next()),
            byte => byte,
        })
    })
}
