//! The lines of an exec's reply: NDJSON frames (spec, Exec).
//!
//! `data` is both streams merged, or standard output alone when the request asked for `apart`; exactly one `output` or `error` is
//! last. Blank lines may stand anywhere (the extension `heartbeat` sends them).

use crate::{
    Error, Out, base64,
    envelope::{parse_error, write_error},
    exec::Output,
    json::{self, Object},
};
use alloc::vec::Vec;

/// How many bytes one data frame carries at most.
pub const MAX_FRAME_DATA: usize = 32 * 1024;

/// How many JSON values a frame may hold: an output has seven, and a peer of the future a few more.
const MAX_VALUES: usize = 4096;

/// Which stream a data frame is of.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Channel {
    /// Standard output; without `apart`, both streams as one. `data` on the wire.
    Stdout,
    /// Standard error, with `apart`. `stderr` on the wire.
    Stderr,
}

impl Channel {
    const fn opening(self) -> &'static [u8] {
        match self {
            Self::Stdout => b"{\"data\":\"",
            Self::Stderr => b"{\"stderr\":\"",
        }
    }
}

const CLOSING: &[u8] = b"\"}\n";

/// How long the frame of `n` bytes is, its newline included.
pub const fn data_frame_len(channel: Channel, n: usize) -> usize {
    channel.opening().len() + base64::encoded_len(n) + CLOSING.len()
}

/// Writes a data frame to `room`, which has exactly [`data_frame_len`] bytes, and gives that length. `data` is 1 to
/// [`MAX_FRAME_DATA`] bytes. With anything else nothing is written, and it gives 0. Nothing is allocated.
///
/// ```
/// use farside_wire::frame::{Channel, data_frame_len, write_data_frame};
/// let mut room = vec![0; data_frame_len(Channel::Stdout, 2)];
/// write_data_frame(&mut room, Channel::Stdout, b"hi");
/// assert_eq!(room, b"{\"data\":\"aGk=\"}\n");
/// ```
pub fn write_data_frame(room: &mut [u8], channel: Channel, data: &[u8]) -> usize {
    let length = data_frame_len(channel, data.len());
    if room.len() != length || !(1..=MAX_FRAME_DATA).contains(&data.len()) {
        return 0;
    }
    let (opening, rest) = room.split_at_mut(channel.opening().len());
    let (text, closing) = rest.split_at_mut(base64::encoded_len(data.len()));
    opening.copy_from_slice(channel.opening());
    base64::encode_into(data, text);
    closing.copy_from_slice(CLOSING);
    length
}

/// Writes the last frame of a command that ran to its end.
pub fn write_output(out: &mut dyn Out, output: &Output) {
    out.put(b"{\"output\":");
    output.write(out);
    out.put(b"}\n");
}

/// Writes the last frame of a command that came to nothing; the message is cut to `max_bytes`.
pub fn write_error_frame(out: &mut dyn Out, error: &Error, max_bytes: u64) {
    write_error(out, error, max_bytes);
    out.put(b"\n");
}

/// One frame, as a value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Frame {
    /// Both streams merged, or standard output alone.
    Data(Vec<u8>),
    /// Standard error.
    Stderr(Vec<u8>),
    /// The end of a command that ran.
    Output(Output),
    /// The end of one that came to nothing.
    Error(Error),
}

impl Frame {
    /// Reads a frame from its line, with or without the newline.
    ///
    /// # Errors
    /// `invalid` for what is no frame: bad JSON, no object, no kind that is known, two of them, bad base64; `limit` for more than
    /// [`MAX_FRAME_DATA`] bytes of data. Members that are not known are no matter.
    pub fn parse(line: &[u8]) -> Result<Self, Error> {
        let object = json::parse_object_bounded(line, MAX_VALUES)?;
        let kinds = ["data", "stderr", "output", "error"].map(|kind| object.get(kind).is_some());
        if kinds.into_iter().filter(|is| *is).count() != 1 {
            return Err(Error::invalid("a frame of no known kind, or of several"));
        }
        match kinds {
            [true, ..] => read_data(&object, "data").map(Self::Data),
            [_, true, ..] => read_data(&object, "stderr").map(Self::Stderr),
            [_, _, true, _] => Output::read(object.object("output")?.unwrap_or(&Object::default())).map(Self::Output),
            _ => match object.get("error") {
                Some(error @ json::Value::Object(_)) => Ok(Self::Error(parse_error(error))),
                _ => Err(Error::invalid("error")),
            },
        }
    }
}

fn read_data(object: &Object<'_>, name: &'static str) -> Result<Vec<u8>, Error> {
    let text = object.string(name)?.unwrap_or_default();
    if base64::decoded_len(text) > MAX_FRAME_DATA {
        return Err(Error::limit(name, MAX_FRAME_DATA as u64));
    }
    base64::decode(text, name)
}

/// What one line of a reply is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Line {
    /// So many bytes of that stream, at least one, were put into the buffer.
    Data(Channel, usize),
    /// The last frame: the command ran.
    Output(Output),
    /// The last frame: it came to nothing.
    Error(Error),
    /// Nothing: a blank line, or a data frame without data.
    Blank,
}

/// Reads one line of a reply, with or without its newline (white space after the frame, so CRLF too, is no matter). Data is put into
/// `into`, which should have room for [`MAX_FRAME_DATA`] bytes; for a data frame as [`write_data_frame`] writes it, nothing is
/// allocated.
///
/// # Errors
/// Those of [`Frame::parse`]; `limit` if `into` is too small.
pub fn parse_line(line: &[u8], into: &mut [u8]) -> Result<Line, Error> {
    if let Some(data) = parse_plain(line, into) {
        return Ok(data);
    }
    if line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
        return Ok(Line::Blank);
    }
    let (channel, data) = match Frame::parse(line)? {
        Frame::Data(data) => (Channel::Stdout, data),
        Frame::Stderr(data) => (Channel::Stderr, data),
        Frame::Output(output) => return Ok(Line::Output(output)),
        Frame::Error(error) => return Ok(Line::Error(error)),
    };
    let room = into.get_mut(..data.len()).ok_or(Error::limit("data", MAX_FRAME_DATA as u64))?;
    room.copy_from_slice(&data);
    Ok(if data.is_empty() { Line::Blank } else { Line::Data(channel, data.len()) })
}

/// A data frame without a space or an escape in it. Whatever is not one, good or bad, is for the strict reader.
fn parse_plain(line: &[u8], into: &mut [u8]) -> Option<Line> {
    let line = line.strip_suffix(b"\n").unwrap_or(line).strip_suffix(b"\"}")?;
    let channel = if line.starts_with(Channel::Stdout.opening()) { Channel::Stdout } else { Channel::Stderr };
    let text = line.strip_prefix(channel.opening())?;
    let most = into.len().min(MAX_FRAME_DATA);
    let length = base64::decode_into(text, into.get_mut(..most)?)?;
    (length > 0).then_some(Line::Data(channel, length))
}
