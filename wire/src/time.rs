//! Time: a moment on the driver's clock, and a file's time in words.

use crate::{Error, Out};
use core::time::Duration;

/// Microseconds since a start the driver picks, on a clock that does not go back.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Moment(pub u64);

impl Moment {
    /// The moment `delay` later, in whole microseconds; the last there is instead of one past it.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(delay.as_micros().try_into().unwrap_or(u64::MAX)))
    }

    /// How long after `earlier` it is; zero if it is not.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// A time of the wall clock in UTC: seconds since 1970 and the nanoseconds (under 1,000,000,000) after them.
///
/// ```
/// use farside_wire::Timestamp;
/// let time = Timestamp::parse("2026-11-30T13:00:00.500+01:00").unwrap();
/// let mut out = Vec::new();
/// time.write(&mut out);
/// assert_eq!(out, b"2026-11-30T12:00:00.5Z");
/// ```
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Timestamp {
    /// Seconds since 1970-01-01T00:00:00Z, leap seconds not counted.
    pub seconds: i64,
    /// Nanoseconds after them.
    pub nanos: u32,
}

const DAY: i64 = 86_400;
/// The first and the last second that RFC 3339 has a year of four digits for.
const YEARS: core::ops::RangeInclusive<i64> = -62_167_219_200..=253_402_300_799;

impl Timestamp {
    /// Writes RFC 3339 in UTC with up to 9 decimals, trailing zeros dropped; a time outside the years 0000 to 9999 as the nearest
    /// second inside.
    pub fn write(self, out: &mut dyn Out) {
        let seconds = self.seconds.clamp(*YEARS.start(), *YEARS.end());
        let (year, month, day) = civil(seconds.div_euclid(DAY));
        let of_day = seconds.rem_euclid(DAY);
        let two = |n: i64| [b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8];
        let ([a, b], [c, d]) = (two(year / 100), two(year));
        let ([e, f], [g, h]) = (two(month), two(day));
        let ([i, j], [k, l], [m, n]) = (two(of_day / 3600), two(of_day / 60 % 60), two(of_day % 60));
        out.put(&[a, b, c, d, b'-', e, f, b'-', g, h, b'T', i, j, b':', k, l, b':', m, n]);
        let mut nanos = if seconds == self.seconds { self.nanos.min(999_999_999) } else { 0 };
        if nanos > 0 {
            let mut decimals = [b'.'; 10];
            for digit in decimals.iter_mut().skip(1).rev() {
                *digit = b'0' + (nanos % 10) as u8;
                nanos /= 10;
            }
            let kept = decimals.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
            out.put(decimals.get(..kept).unwrap_or_default());
        }
        out.put(b"Z");
    }

    /// Reads RFC 3339 with any offset. Decimals past the ninth are dropped, a leap second is the second after it.
    ///
    /// # Errors
    /// `invalid`, also for a time that is in the years 0000 to 9999 only by its offset.
    pub fn parse(text: &str) -> Result<Self, Error> {
        read(text.as_bytes()).ok_or(Error::invalid("modTime"))
    }
}

fn read(text: &[u8]) -> Option<Timestamp> {
    let (date, rest) = text.split_at_checked(19)?;
    let shape = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte.eq_ignore_ascii_case(form),
    };
    if !date.iter().zip(b"0000-00-00T00:00:00").all(shape) {
        return None;
    }
    let number = |from: usize, to: usize| digits(date.get(from..to)?);
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let days = days_from_civil(year, month, day);
    // A day that the month does not have comes back as another.
    if civil(days) != (year, month, day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (nanos, zone) = match rest.split_first()? {
        (b'.', fraction) => {
            let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (decimals, zone) = fraction.split_at_checked(length).filter(|_| length > 0)?;
            let nine = decimals.iter().chain(core::iter::repeat(&b'0')).take(9);
            (nine.fold(0, |nanos, digit| nanos * 10 + u32::from(digit - b'0')), zone)
        }
        _ => (0, rest),
    };
    let offset = match zone {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), hours @ .., b':', m, n] if hours.len() == 2 => {
            let (hours, minutes) = (digits(hours)?, digits(&[*m, *n])?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 3600 + minutes * 60) * if *sign == b'-' { -1 } else { 1 }
        }
        _ => return None,
    };
    let seconds = days * DAY + hour * 3600 + minute * 60 + second - offset;
    YEARS.contains(&seconds).then_some(Timestamp { seconds, nanos })
}

/// The value of a few decimal digits.
fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |n, byte| byte.is_ascii_digit().then(|| n * 10 + i64::from(byte - b'0')))
}

/// Year, month and day of a day counted from 1970-01-01. Years are counted from March, so that a leap day is the last of its year,
/// in eras of 400 years, which all have the same days.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// [`civil`] backwards.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}
