//! The writer: members in the order they are given, no spaces, nothing escaped that need not be.

use crate::Out;

/// Writes `text` as a JSON string. Escaped are `"`, `\` and the control characters below U+0020, by their short form where JSON has
/// one (`\b \f \n \r \t`) and as `\u00xx` with lower-case digits otherwise; everything else stands as it is.
///
/// ```
/// let mut out = Vec::new();
/// farside_wire::json::write_string(&mut out, "a\"\n\u{1}é");
/// assert_eq!(out, "\"a\\\"\\n\\u0001é\"".as_bytes());
/// ```
pub fn write_string(out: &mut dyn Out, text: &str) {
    out.put(b"\"");
    write_escaped(out, text);
    out.put(b"\"");
}

/// The inside of a JSON string.
pub(crate) fn write_escaped(out: &mut dyn Out, text: &str) {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        let (plain, special) = rest.split_at(at);
        out.put(plain);
        let Some((byte, after)) = special.split_first() else { break };
        rest = after;
        let hex = |nibble: u8| b"0123456789abcdef"[usize::from(nibble & 15)];
        match byte {
            b'"' => out.put(b"\\\""),
            b'\\' => out.put(b"\\\\"),
            8 => out.put(b"\\b"),
            9 => out.put(b"\\t"),
            10 => out.put(b"\\n"),
            12 => out.put(b"\\f"),
            13 => out.put(b"\\r"),
            byte => out.put(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(*byte)]),
        }
    }
    out.put(rest);
}

/// Writes one object, member by member. [`ObjectWriter::end`] closes it.
pub struct ObjectWriter<'o> {
    out: &'o mut dyn Out,
    first: bool,
}

impl<'o> ObjectWriter<'o> {
    /// Opens an object.
    pub fn begin(out: &'o mut dyn Out) -> Self {
        out.put(b"{");
        Self { out, first: true }
    }

    /// A member's name; its value is written to what is returned. The name stands as it is: it must need no escape.
    pub fn member(&mut self, name: &str) -> &mut dyn Out {
        self.out.put(if core::mem::take(&mut self.first) { b"\"" } else { b",\"" });
        self.out.put(name.as_bytes());
        self.out.put(b"\":");
        self.out
    }

    /// A string.
    pub fn string(&mut self, name: &str, text: &str) {
        write_string(self.member(name), text);
    }

    /// A string that is left out if it is empty.
    pub fn text(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.string(name, text);
        }
    }

    /// Bytes in base64, left out if there are none.
    pub fn bytes(&mut self, name: &str, bytes: &[u8]) {
        if !bytes.is_empty() {
            crate::base64::write(self.member(name), bytes);
        }
    }

    /// A number.
    pub fn number(&mut self, name: &str, n: impl Into<i128>) {
        let n = n.into();
        let out = self.member(name);
        if n < 0 {
            out.put(b"-");
        }
        out.put_u64(n.unsigned_abs().try_into().unwrap_or(u64::MAX));
    }

    /// A boolean.
    pub fn bool(&mut self, name: &str, truth: bool) {
        self.member(name).put(if truth { b"true" } else { b"false" });
    }

    /// A boolean that is left out if it is `false`.
    pub fn flag(&mut self, name: &str, truth: bool) {
        if truth {
            self.bool(name, truth);
        }
    }

    /// An array whose elements `write` writes.
    pub fn array<T>(&mut self, name: &str, elements: impl IntoIterator<Item = T>, write: impl Fn(&mut dyn Out, T)) {
        let out = self.member(name);
        out.put(b"[");
        for (n, element) in elements.into_iter().enumerate() {
            if n > 0 {
                out.put(b",");
            }
            write(out, element);
        }
        out.put(b"]");
    }

    /// An array of strings, left out if it is empty.
    pub fn strings<S: AsRef<str>>(&mut self, name: &str, texts: &[S]) {
        if !texts.is_empty() {
            self.array(name, texts, |out, text| write_string(out, text.as_ref()));
        }
    }

    /// Closes the object.
    pub fn end(self) {
        self.out.put(b"}");
    }
}
