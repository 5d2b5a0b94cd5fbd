//! Signals: those that may be sent, and the names of those that kill (spec, A process's streams and end; Exec).

use crate::{
    Error, Out,
    json::{self, ObjectWriter},
};
use alloc::borrow::Cow;

/// Makes [`Signal`] and its table from one list.
macro_rules! signals {
    ($($variant:ident, $name:literal, $number:literal;)*) => {
        /// A signal that may be sent to a process. Numbers are those of Linux on every architecture but alpha, mips, parisc and sparc.
        #[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
        pub enum Signal {
            $(#[doc = concat!("SIG", $name, ", ", stringify!($number), ".")] $variant = $number,)*
        }

        impl Signal {
            /// Every signal that may be sent, in the order of the spec.
            pub const ALL: &[Signal] = &[$(Signal::$variant,)*];

            /// Its name on the wire, without `SIG`.
            pub const fn name(self) -> &'static str {
                match self { $(Signal::$variant => $name,)* }
            }

            /// The signal of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Signal::$variant),)*
                    _ => None,
                }
            }

            /// Its number in Linux.
            pub const fn number(self) -> i32 {
                self as i32
            }
        }
    };
}

signals! {
    Hup, "HUP", 1;
    Int, "INT", 2;
    Quit, "QUIT", 3;
    Kill, "KILL", 9;
    Usr1, "USR1", 10;
    Usr2, "USR2", 12;
    Pipe, "PIPE", 13;
    Alrm, "ALRM", 14;
    Term, "TERM", 15;
    Cont, "CONT", 18;
    Stop, "STOP", 19;
    Tstp, "TSTP", 20;
    Winch, "WINCH", 28;
}

impl Signal {
    /// Writes the body of a request to send it, `{"signal":"TERM"}`.
    pub fn write(self, out: &mut dyn Out) {
        let mut object = ObjectWriter::begin(out);
        object.string("signal", self.name());
        object.end();
    }

    /// Reads the body of a request to send one.
    ///
    /// # Errors
    /// `invalid`, also for a name that is not among the thirteen.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        let object = json::parse_object(body)?;
        object.string("signal")?.and_then(Self::from_name).ok_or(Error::invalid("signal"))
    }
}

impl core::fmt::Display for Signal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// The names of signals 1 to 31 in Linux.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
    "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
    "PWR", "SYS",
];

/// The name of the signal of that number as an exit tells it: as Linux names it, a real-time one by its number.
pub fn signal_name(number: i32) -> Cow<'static, str> {
    let named = usize::try_from(number).ok().and_then(|number| NAMES.get(number.checked_sub(1)?));
    named.map_or_else(|| alloc::format!("{number}").into(), |name| Cow::Borrowed(*name))
}
