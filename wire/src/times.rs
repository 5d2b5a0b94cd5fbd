//! The times of the protocol (spec, Bounds and times): one table, from which the constants and the docs come.

use core::time::Duration;

/// Makes the constants and [`TABLE`] from one list.
macro_rules! times {
    ($($name:ident, $millis:literal, $stated:literal, $doc:literal;)*) => {
        $(#[doc = $doc] pub const $name: Duration = Duration::from_millis($millis);)*

        /// Every time: its name, how long it is, whether the reference states it, and what it is.
        pub const TABLE: &[(&str, Duration, bool, &str)] = &[$((stringify!($name), $name, $stated, $doc),)*];
    };
}

times! {
    LEASE, 60_000, false, "How long a session lives without a renewal.";
    LAPSE, 1_000, false, "Within so long of its deadline a lapse is carried out.";
    MOMENT, 2_000, false, "What the spec calls a moment.";
    CLOSE_GRACE, 2_000, true, "A client's close waits so long for the answer to its standard error request.";
    STDERR_GRACE, 2_000, false, "A closed process's standard error is served so long after the later of its exit and its close.";
    LEFT_BEHIND, 5_000, true, "A stream that takes nothing for so long after the process ended is left behind.";
    HELD_OUTPUT, 2_000, false, "Output held open by others is waited for so long after a command's end.";
    LADDER_STEP, 2_000, false, "Each step of a ladder: input closed, INT, TERM, KILL.";
    KILL_ROUNDS, 10_000, false, "KILL is repeated until a round finds nothing, so long at most.";
    CONNECT, 10_000, false, "A connection to a port is tried so long.";
    HEAD, 10_000, false, "A request's head must be there within so long.";
    IDLE, 75_000, false, "A connection without a request is closed after so long.";
    STALL, 60_000, false, "A body or a reply without progress is given up after so long.";
    HEARTBEAT_MIN, 5_000, false, "The shortest heartbeat that may be asked for.";
    HEARTBEAT_MAX, 300_000, false, "The longest heartbeat that may be asked for.";
}

/// How long after the last renewal a client renews: a third of the lease.
pub const fn renewal(lease: Duration) -> Duration {
    Duration::from_micros((lease.as_micros() / 3) as u64)
}
