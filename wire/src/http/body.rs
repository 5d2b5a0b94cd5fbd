//! Parting a body's bytes from the bytes that frame them.

use super::fault::Fault;
use super::grammar::{is_tchar, is_text};

/// What chunk extensions may take beyond the data they come with, in bytes (spec, Framing).
pub const OVERHEAD: u64 = 4096;
/// The longest trailer section, in bytes, with its last empty line (spec, Framing).
pub const MAX_TRAILER_BYTES: u16 = 8 * 1024;
/// The most trailer fields (spec, Framing).
pub const MAX_TRAILERS: u8 = 64;

/// The longest body that can be stated.
const MAX_BODY: u64 = i64::MAX.unsigned_abs();
/// The most digits of a chunk's size, leading zeros among them.
const MAX_DIGITS: u8 = 16;

/// How a body is delimited.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Framing {
    /// By its stated length in bytes, below 2^63; 0 is no body.
    Length(u64),
    /// By chunks.
    Chunked,
    /// By the end of the connection; only a reply.
    UntilClose,
}

/// What the next bytes of a body are.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Part {
    /// So many bytes only frame: drop them and ask again. At least 1.
    Skip(usize),
    /// So many bytes are body: use any number of them from the first on, say [`Decoder::took`], drop them, and ask again. At least 1.
    Data(usize),
    /// More bytes are needed. Only where none were given.
    More,
    /// The body is over; the bytes belong to what comes next.
    End,
}

/// Reads one body. It keeps no bytes and holds no more than a few numbers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Decoder {
    state: State,
    /// Data bytes of chunks that were used so far.
    data: u64,
    /// Bytes of chunk extensions so far.
    extra: u64,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum State {
    Length(u64),
    UntilClose,
    Size { size: u64, digits: u8 },
    Extension { size: u64, at: Extension },
    SizeLf { size: u64 },
    Data { left: u64 },
    DataCr,
    DataLf,
    Trailers { at: Trailer, fields: u8, bytes: u16 },
    Done,
}

/// Where in `;name=value` or `;name="value"` the next byte stands.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Extension {
    Start,
    Name,
    ValueStart,
    Token,
    Quoted,
    Escaped,
    Closed,
}

/// Where in the trailer section the next byte stands.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Trailer {
    Start,
    Name,
    Value,
    Lf,
    LastLf,
}

impl Decoder {
    /// A decoder for the body of a head with this framing.
    pub const fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Size { size: 0, digits: 0 },
            Framing::UntilClose => State::UntilClose,
        };
        Self { state, data: 0, extra: 0 }
    }

    /// Says what `bytes`, which begin where the last part ended, begin with. Trailers are checked and skipped.
    ///
    /// # Errors
    /// What is wrong with a chunk or a trailer, at the first byte that shows it. How the bytes were cut makes no difference.
    pub fn next(&mut self, bytes: &[u8]) -> Result<Part, Fault> {
        match self.state {
            State::Done | State::Length(0) => return Ok(Part::End),
            _ if bytes.is_empty() => return Ok(Part::More),
            State::UntilClose => return Ok(Part::Data(bytes.len())),
            State::Length(left) | State::Data { left } => {
                return Ok(Part::Data(usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()))));
            }
            _ => {}
        }
        let mut ahead = self.clone();
        let mut skipped = 0;
        for &b in bytes {
            ahead.step(b)?;
            skipped += 1;
            if matches!(ahead.state, State::Data { .. } | State::Done) {
                break;
            }
        }
        *self = ahead;
        Ok(Part::Skip(skipped))
    }

    /// Notes that `n` bytes of the last [`Part::Data`] were used; no more than it had.
    pub fn took(&mut self, n: usize) {
        let n = n as u64;
        match &mut self.state {
            State::Length(left) => {
                debug_assert!(n <= *left, "took more than there was");
                *left = left.saturating_sub(n);
            }
            State::Data { left } => {
                debug_assert!(n <= *left, "took more than there was");
                *left = left.saturating_sub(n);
                self.data = self.data.saturating_add(n);
                if *left == 0 {
                    self.state = State::DataCr;
                }
            }
            State::UntilClose => {}
            _ => debug_assert!(n == 0, "took data where there was none"),
        }
    }

    /// Whether the body is over.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done | State::Length(0))
    }

    /// Judges the end of the input, after every byte before it was used; it is the end of a body that has no other.
    ///
    /// # Errors
    /// [`Fault::CutBody`] where more was to come.
    pub fn at_end_of_input(&mut self) -> Result<(), Fault> {
        match self.state {
            State::UntilClose => self.state = State::Done,
            _ if self.is_done() => {}
            _ => return Err(Fault::CutBody),
        }
        Ok(())
    }

    /// How many bytes of data are still to come, as far as it was stated: of the whole body by its length, or of the current chunk.
    pub fn remaining(&self) -> Option<u64> {
        match self.state {
            State::Length(left) | State::Data { left } => Some(left),
            _ => None,
        }
    }

    /// Takes in one byte that frames.
    fn step(&mut self, b: u8) -> Result<(), Fault> {
        self.state = match self.state {
            State::Size { size, digits } => self.in_size(size, digits, b)?,
            State::Extension { size, at } => self.in_extension(size, at, b)?,
            State::SizeLf { .. } | State::DataLf if b != b'\n' => return Err(Fault::BareCr),
            State::SizeLf { size: 0 } => State::Trailers { at: Trailer::Start, fields: 0, bytes: 0 },
            State::SizeLf { size } => State::Data { left: size },
            State::DataCr if b == b'\r' => State::DataLf,
            State::DataCr => return Err(if b == b'\n' { Fault::BareLf } else { Fault::BadChunkEnd }),
            State::DataLf => State::Size { size: 0, digits: 0 },
            State::Trailers { at, fields, bytes } => in_trailers(at, fields, bytes, b)?,
            State::Length(_) | State::UntilClose | State::Data { .. } | State::Done => return Ok(()),
        };
        Ok(())
    }

    fn in_size(&mut self, size: u64, digits: u8, b: u8) -> Result<State, Fault> {
        let digit = match b {
            b'0'..=b'9' => b - b'0',
            b'a'..=b'f' => b - b'a' + 10,
            b'A'..=b'F' => b - b'A' + 10,
            b'\r' if digits > 0 => return Ok(State::SizeLf { size }),
            b';' if digits > 0 => {
                self.spend()?;
                return Ok(State::Extension { size, at: Extension::Start });
            }
            b'\n' => return Err(Fault::BareLf),
            _ => return Err(Fault::BadChunkSize),
        };
        // The data so far is below 2^63, so is the size so far divided by 16, and nothing here can wrap.
        let size =
            size.checked_mul(16).map(|s| s | u64::from(digit)).filter(|s| *s <= MAX_BODY.saturating_sub(self.data));
        match size {
            Some(size) if digits < MAX_DIGITS => Ok(State::Size { size, digits: digits + 1 }),
            _ => Err(Fault::BadChunkSize),
        }
    }

    /// No blank may stand outside quotes: a sender must not make one (RFC 9110 5.6.3).
    fn in_extension(&mut self, size: u64, at: Extension, b: u8) -> Result<State, Fault> {
        use Extension::{Closed, Escaped, Name, Quoted, Start, Token, ValueStart};
        let at = match (at, b) {
            (Name | Token | Closed, b'\r') => return Ok(State::SizeLf { size }),
            (Name | Token | Closed, b';') => Start,
            (Name, b'=') => ValueStart,
            (Start | Name, b) if is_tchar(b) => Name,
            (ValueStart | Token, b) if is_tchar(b) => Token,
            (ValueStart, b'"') => Quoted,
            (Quoted, b'"') => Closed,
            (Quoted, b'\\') => Escaped,
            (Quoted | Escaped, b) if is_text(b) => Quoted,
            (_, b'\n') => return Err(Fault::BareLf),
            _ => return Err(Fault::BadChunkExtension),
        };
        self.spend()?;
        Ok(State::Extension { size, at })
    }

    /// Counts one byte of an extension. Without this bound a peer keeps a reader busy with a body of nothing.
    fn spend(&mut self) -> Result<(), Fault> {
        self.extra += 1;
        if self.extra > OVERHEAD.saturating_add(self.data) { Err(Fault::ChunkOverhead) } else { Ok(()) }
    }
}

fn in_trailers(at: Trailer, fields: u8, bytes: u16, b: u8) -> Result<State, Fault> {
    let at = match (at, b) {
        (Trailer::LastLf, b'\n') => return Ok(State::Done),
        (Trailer::Lf, b'\n') => Trailer::Start,
        (Trailer::Lf | Trailer::LastLf, _) => return Err(Fault::BareCr),
        (_, b'\n') => return Err(Fault::BareLf),
        (Trailer::Start, b'\r') => Trailer::LastLf,
        (Trailer::Value, b'\r') => Trailer::Lf,
        (Trailer::Start | Trailer::Name, b) if is_tchar(b) => Trailer::Name,
        (Trailer::Name, b':') => Trailer::Value,
        (Trailer::Value, b) if is_text(b) => Trailer::Value,
        (Trailer::Value, _) => return Err(Fault::BadFieldValue),
        (Trailer::Start, b' ' | b'\t') => return Err(Fault::ObsFold),
        (Trailer::Start | Trailer::Name, _) => return Err(Fault::BadFieldName),
    };
    let fields = fields + u8::from(at == Trailer::Lf);
    // The line feed of the last line has to fit as well.
    if fields > MAX_TRAILERS || bytes + 1 >= MAX_TRAILER_BYTES {
        return Err(Fault::TrailersTooLarge);
    }
    Ok(State::Trailers { at, fields, bytes: bytes + 1 })
}
