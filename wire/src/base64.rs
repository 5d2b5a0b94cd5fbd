//! Base64 as the wire has it: the standard alphabet, padded, canonical, no line breaks (spec, Exec).

use crate::{Error, Out};
use alloc::vec::Vec;
use base64::{Engine as _, engine::general_purpose::STANDARD};

/// The length of `n` bytes in base64.
pub const fn encoded_len(n: usize) -> usize {
    n.div_ceil(3).saturating_mul(4)
}

/// How many bytes `text` stands for if it is base64.
pub fn decoded_len(text: &str) -> usize {
    let padding = text.bytes().rev().take(2).take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// Decodes `text`.
///
/// # Errors
/// `invalid`, with the member's `name`.
pub fn decode(text: &str, name: &'static str) -> Result<Vec<u8>, Error> {
    STANDARD.decode(text).map_err(|_| Error::invalid(name))
}

/// Decodes `text` to the front of `into` and says how many bytes; `None` if it is not base64 or does not fit.
pub(crate) fn decode_into(text: &[u8], into: &mut [u8]) -> Option<usize> {
    STANDARD.decode_slice(text, into).ok()
}

/// Encodes `bytes` to the front of `room` and says how long that is; 0 if it does not fit.
pub(crate) fn encode_into(bytes: &[u8], room: &mut [u8]) -> usize {
    STANDARD.encode_slice(bytes, room).unwrap_or(0)
}

/// Writes `bytes` as a JSON string.
pub fn write(out: &mut dyn Out, bytes: &[u8]) {
    let mut room = [0; encoded_len(768)];
    out.put(b"\"");
    for piece in bytes.chunks(768) {
        let length = encode_into(piece, &mut room);
        out.put(room.get(..length).unwrap_or_default());
    }
    out.put(b"\"");
}
