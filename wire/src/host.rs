//! Hosts: what may stand in a Host field, and which of them is this machine.

use core::net::{Ipv4Addr, Ipv6Addr};

/// Whether `host` names this machine and nothing else: what a server without authentication asks of Host, so that no page a browser
/// was lured to can reach it under a name of its own (spec, Requests in general).
///
/// `localhost` in any case of letters, an address of 127/8 in four decimals without leading zeros, or `[::1]`; a port may follow.
///
/// ```
/// use farside_wire::host::is_loopback;
/// assert!(is_loopback("LOCALHOST:8080") && is_loopback("127.0.0.1") && is_loopback("[::1]:1"));
/// assert!(!is_loopback("localhost.") && !is_loopback("127.1") && !is_loopback("0.0.0.0") && !is_loopback("localhost:0"));
/// ```
pub fn is_loopback(host: &str) -> bool {
    let Some((name, _)) = split(host) else { return false };
    name.eq_ignore_ascii_case("localhost")
        || name == "[::1]"
        || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

/// Whether `host` is what framing takes as a Host: a name, an IPv4 address or an IPv6 address in brackets, and an optional port. No
/// user, no zone, no percent sign, never empty; a port is 1 to 65535 without leading zeros (RFC 9110 7.2; spec, Framing).
pub fn is_valid(host: &str) -> bool {
    split(host).is_some()
}

/// Parts a valid host into its name, with any brackets, and its port.
pub(crate) fn split(host: &str) -> Option<(&str, Option<u16>)> {
    let end = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, rest) = host.split_at(end);
    let port = match rest.strip_prefix(':') {
        Some(digits) => Some(port(digits)?),
        None if rest.is_empty() => None,
        None => return None,
    };
    let good = match name.strip_prefix('[').and_then(|n| n.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !name.is_empty() && name.bytes().all(is_name_byte),
    };
    good.then_some((name, port))
}

/// RFC 3986 reg-name without percent-encoding, which no resolver takes.
fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&b)
}

fn port(digits: &str) -> Option<u16> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    if plain { digits.parse().ok() } else { None }
}
