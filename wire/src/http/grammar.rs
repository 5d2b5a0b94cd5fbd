//! The few classes of bytes that HTTP/1.1 is made of (RFC 9110 5.6).

use super::fault::Fault;

const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 128u8 {
        table[b as usize] = b.is_ascii_alphanumeric();
        b += 1;
    }
    let marks = b"!#$%&'*+-.^_`|~";
    let mut i = 0;
    while i < marks.len() {
        table[marks[i] as usize] = true;
        i += 1;
    }
    table
};

/// Whether `b` may stand in a token.
pub(super) const fn is_tchar(b: u8) -> bool {
    TOKEN[b as usize]
}

/// Whether `bytes` are a token.
pub(super) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&b| is_tchar(b))
}

/// Whether `b` may stand in a field's value, a reason or a quoted string: no control character but HTAB. Bytes above 0x7f are opaque.
pub(super) const fn is_text(b: u8) -> bool {
    (b >= b' ' || b == b'\t') && b != 0x7f
}

/// Whether all of `bytes` is text. Looks at every byte instead of stopping at the first bad one: that is what the compiler can vectorize.
pub(super) fn is_all_text(bytes: &[u8]) -> bool {
    bytes.iter().fold(true, |good, &b| good & is_text(b))
}

/// `bytes` without the blanks at both ends.
pub(super) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// The elements of a list value, in order; empty ones too.
pub(super) fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|&b| b == b',').map(trim)
}

/// The first line of `bytes` without its CRLF, and what follows.
pub(super) fn line(bytes: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let end = memchr::memchr(b'\n', bytes).ok_or(Fault::CutHead)?;
    let (line, rest) = bytes.split_at(end);
    Ok((line.strip_suffix(b"\r").ok_or(Fault::BareLf)?, &rest[1..]))
}

/// Text that was checked to be ASCII.
pub(super) fn ascii(bytes: &[u8]) -> &str {
    debug_assert!(bytes.is_ascii());
    core::str::from_utf8(bytes).unwrap_or_default()
}
