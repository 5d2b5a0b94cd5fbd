//! Finding the end of a head in bytes that come bit by bit.

use super::fault::Fault;
use super::grammar::is_tchar;
use memchr::memchr2;

/// The longest head that is read, in bytes, with its last empty line (spec, Requests in general).
pub const MAX_HEAD: usize = 64 * 1024;

/// The most bytes of empty lines that are skipped before a head (RFC 9112 2.2).
const MAX_LEADING: usize = 8;

/// Finds where a head ends. It remembers how far it looked, so a head that comes a byte at a time costs as much as one that comes whole.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct HeadScan {
    /// Up to here everything was looked at.
    at: usize,
    /// Where the line that holds `at` begins.
    line: usize,
    /// The first byte of the message was seen, at `line` or before it.
    begun: bool,
}

impl HeadScan {
    /// Looks for the end of the head that `bytes` begin with. Between calls `bytes` may only grow at their end.
    ///
    /// `Some(end)`: `bytes[..end]` are the head for [`RequestHead::parse`](super::RequestHead::parse) or
    /// [`ResponseHead::parse`](super::ResponseHead::parse), and the scan is ready for the next head, which begins at 0 again. A head
    /// may begin with up to 8 bytes of empty lines. `None`: more bytes are needed; never once there are [`MAX_HEAD`] of them.
    ///
    /// # Errors
    /// What can be known before the end, as soon as it can: [`Fault::NotHttp`], [`Fault::BareLf`], [`Fault::BareCr`],
    /// [`Fault::HeadTooLarge`]. How the bytes were cut makes no difference.
    pub fn find(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        let window = &bytes[..bytes.len().min(MAX_HEAD)];
        if !self.begun {
            self.begin(window)?;
        }
        while let Some(i) = memchr2(b'\r', b'\n', window.get(self.at..).unwrap_or_default()) {
            self.at += i;
            match (window[self.at], window.get(self.at + 1)) {
                (b'\r', Some(b'\n')) if self.at == self.line => {
                    let end = self.at + 2;
                    *self = Self::default();
                    return Ok(Some(end));
                }
                (b'\r', Some(b'\n')) => {
                    self.at += 2;
                    self.line = self.at;
                }
                (b'\r', Some(_)) => return Err(Fault::BareCr),
                (b'\r', None) => return self.more(window),
                _ => return Err(Fault::BareLf),
            }
        }
        self.at = window.len();
        self.more(window)
    }

    /// Judges the end of the input after [`find`](Self::find) asked for more: between messages it is a clean end.
    ///
    /// # Errors
    /// [`Fault::CutHead`] where a message had begun.
    pub fn at_end_of_input(&self) -> Result<(), Fault> {
        if self.begun { Err(Fault::CutHead) } else { Ok(()) }
    }

    /// Skips empty lines and looks at the first byte of the message, if it has come.
    fn begin(&mut self, window: &[u8]) -> Result<(), Fault> {
        while self.at < MAX_LEADING && window[self.at..].starts_with(b"\r\n") {
            self.at += 2;
        }
        self.line = self.at;
        match window.get(self.at) {
            Some(&first) if is_tchar(first) => self.begun = true,
            None | Some(b'\n') => {}
            // Half of an empty line, or a bare CR.
            Some(b'\r') if self.at < MAX_LEADING => {}
            Some(_) => return Err(Fault::NotHttp),
        }
        Ok(())
    }

    fn more(&self, window: &[u8]) -> Result<Option<usize>, Fault> {
        if window.len() < MAX_HEAD { Ok(None) } else { Err(Fault::HeadTooLarge) }
    }
}
