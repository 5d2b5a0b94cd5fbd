//! Ids, keys and names of servers (spec, Requests in general; Sessions, starts, keys).

/// Whether `text` is an id or a key: 1 to 128 of `A-Za-z0-9_-`.
pub fn is_id(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Whether `text` is a server's name: 1 to 64 of `A-Za-z0-9._-`, the first a letter or a digit.
pub fn is_server_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    text.len() <= 64 && text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(fits)
}

/// An id made here: 26 of `A-Z2-7`, 130 bits.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Id([u8; 26]);

impl Id {
    /// The id of the first 130 bits of `random`. Bytes that somebody could guess make an id that somebody can guess.
    pub fn new(random: &[u8; 17]) -> Self {
        let mut bits = random.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
        Self(core::array::from_fn(|_| {
            let five = bits.by_ref().take(5).fold(0, |five, bit| five << 1 | bit);
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[usize::from(five & 31)]
        }))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl core::fmt::Display for Id {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl core::fmt::Debug for Id {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Id({self})")
    }
}
