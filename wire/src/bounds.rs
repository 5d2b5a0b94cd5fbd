//! The bounds a server keeps and tells: one table, from which the type, its keys, its defaults and the docs come.

use crate::{
    Error, Out,
    base64::encoded_len,
    json::{ObjectWriter, Value},
};

/// What a bound counts, which decides the status of passing it.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Kind {
    /// How large one thing may be, in bytes or entries: 413.
    Size,
    /// How many things there may be at once: 429.
    Count,
}

/// Makes [`Bounds`] and its table from one list.
macro_rules! bounds {
    ($($field:ident, $key:literal, $default:expr, $kind:ident, $stated:literal, $doc:literal;)*) => {
        /// The bounds of a handler (spec, Bounds and times). Sizes in bytes where nothing else is said.
        #[derive(Clone, Debug, Eq, PartialEq)]
        pub struct Bounds {
            $(#[doc = concat!($doc, " `", $key, "` in info.")] pub $field: u64,)*
        }

        /// One row of the table of bounds.
        #[derive(Clone, Debug, Eq, PartialEq)]
        pub struct Row {
            /// Its key in info.
            pub key: &'static str,
            /// Its value where a program says nothing.
            pub default: u64,
            /// What it counts.
            pub kind: Kind,
            /// Whether the reference states the bound; keys and numbers are chosen.
            pub stated: bool,
            /// What it bounds.
            pub doc: &'static str,
        }

        impl Bounds {
            /// The keys in info, in the order they are written.
            pub const NAMES: &[&str] = &[$($key,)*];

            /// The table, in the order the bounds are written.
            pub const TABLE: &[Row] =
                &[$(Row { key: $key, default: $default, kind: Kind::$kind, stated: $stated, doc: $doc },)*];

            fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$(($key, self.$field),)*].into_iter()
            }
        }

        impl Default for Bounds {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        fn field<'b>(bounds: &'b mut Bounds, key: &str) -> Option<&'b mut u64> {
            match key {
                $($key => Some(&mut bounds.$field),)*
                _ => None,
            }
        }
    };
}

bounds! {
    max_request_bytes, "maxRequestBytes", 1 << 20, Size, true, "A JSON body; an exec's may be longer by its standard input in base64.";
    max_write_bytes, "maxWriteBytes", 64 << 20, Size, true, "A file's new content; an exec's standard input, decoded.";
    max_dir_entries, "maxDirEntries", 10_000, Size, true, "The entries of a listing, those skipped or vanished counted.";
    max_sessions, "maxSessions", 256, Count, true, "Sessions of a handler, those that are ending counted.";
    max_sessions_per_principal, "maxSessionsPerPrincipal", 16, Count, true, "Sessions of one principal.";
    max_processes, "maxProcesses", 64, Count, true, "Processes of a session, those that exited but were not closed counted.";
    max_transfers, "maxTransfers", 64, Count, true, "Execs, file reads and file writes of a handler at once.";
    max_exec_output_bytes, "maxExecOutputBytes", 16 << 20, Size, true, "Each output stream of an exec without `stream`.";
    stderr_bytes, "stderrBytes", 64 << 10, Size, true, "Standard error held for a client that is behind.";
    max_reply_bytes, "maxReplyBytes", 16 << 20, Size, true, "A JSON reply.";
    max_error_bytes, "maxErrorBytes", 512, Size, true, "An error's message.";
    replay_bytes, "replayBytes", 256 << 10, Size, false, "Output already sent that the `offset` extension keeps; 0, and then not told, without it.";
}

impl Bounds {
    /// The largest bound that a client takes for what it says (2^53), so that sums and products of them stay within 64 bits.
    pub const MAX: u64 = 1 << 53;

    /// The row of the bound with that key.
    pub fn row(key: &str) -> Option<&'static Row> {
        Self::TABLE.iter().find(|row| row.key == key)
    }

    /// How long the body of an exec may be: a JSON body, and its standard input in base64.
    pub const fn exec_request_bytes(&self) -> u64 {
        self.max_request_bytes.saturating_add(base64_bytes(self.max_write_bytes))
    }

    /// How long a client lets one line of an exec's reply become: both streams in base64, a message with every byte escaped, and
    /// 4 KiB for the rest.
    pub const fn exec_frame_bytes(&self) -> u64 {
        let frame = encoded_len(crate::frame::MAX_FRAME_DATA) as u64;
        let output = base64_bytes(self.max_exec_output_bytes).saturating_mul(2);
        let message = self.max_error_bytes.saturating_mul(6);
        (if output > frame { output } else { frame }).saturating_add(message).saturating_add(4096)
    }

    /// Writes the object that stands in info.
    pub fn write(&self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        for (key, value) in self.rows().filter(|row| *row != ("replayBytes", 0)) {
            object.number(key, value);
        }
        object.end();
    }

    /// Reads the object of a server's info as a client does. Whatever a server says, nothing overflows: a bound that is absent, 0 or
    /// negative is the default (of `replayBytes`, 0), one over [`Bounds::MAX`] is that.
    ///
    /// # Errors
    /// `invalid` with the key, for what is no integer, and for what is no object.
    pub fn parse(value: &Value<'_>) -> Result<Self, Error> {
        let object = value.as_object().ok_or(Error::invalid("bounds"))?;
        let mut bounds = Self { replay_bytes: 0, ..Self::default() };
        for row in Self::TABLE {
            let Some(value) = object.get(row.key) else { continue };
            let told = match value {
                Value::Number(digits) => integer(digits).ok_or(Error::invalid(row.key))?,
                _ => return Err(Error::invalid(row.key)),
            };
            if let Some(field) = field(&mut bounds, row.key).filter(|_| told > 0) {
                *field = told.min(Self::MAX);
            }
        }
        Ok(bounds)
    }
}

/// The value of an integer's digits, as large as fits; 0 for a negative one; `None` with a fraction or an exponent.
fn integer(digits: &str) -> Option<u64> {
    let (negative, digits) = digits.strip_prefix('-').map_or((false, digits), |digits| (true, digits));
    let sum = |n: u64, digit: u8| n.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    let integer = digits.bytes().all(|byte| byte.is_ascii_digit());
    integer.then(|| if negative { 0 } else { digits.bytes().fold(0, sum) })
}

const fn base64_bytes(n: u64) -> u64 {
    n.div_ceil(3).saturating_mul(4)
}
