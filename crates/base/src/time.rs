//! Points in time as they are stored and printed: 100-nanosecond ticks and their text.
//!
//! Used by `database` (modification times), `query` and `server`. The text is the one the wire
//! protocol asks for: `2026-11-21T00:36:34.8037634Z`, always with seven digits of fraction.
//! There is no clock here: callers bring the time.
//!
//! A day alone (`2026-11-21`) counts as its first moment in UTC where values compare, and keeps its
//! text where texts are listed.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// Ticks in a second.
pub const TICKS_PER_SECOND: i64 = 10_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.9999999Z: the years that the text can show.
const FIRST: i64 = -62_135_596_800 * TICKS_PER_SECOND;
const LAST: i64 = 253_402_300_800 * TICKS_PER_SECOND - 1;

/// A point in time: 100 ns ticks since 1970-01-01T00:00:00Z, negative before.
///
/// `Display` prints UTC with seven digits of fraction and `Z`; points outside the years 1 to 9999
/// print as the first or last that are inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixTicks(pub i64);

impl UnixTicks {
    /// The point `since_epoch` after 1970; parts of a tick are dropped. The distant future
    /// saturates.
    #[must_use]
    pub fn from_unix(since_epoch: Duration) -> UnixTicks {
        UnixTicks(i64::try_from(since_epoch.as_nanos() / 100).unwrap_or(i64::MAX))
    }

    /// Reads the text that `Display` writes. The fraction may have 0 to 9 digits (what is beyond
    /// a tick is dropped), the closing `Z` may be missing, and an offset such as `+02:00` may
    /// stand in its place.
    ///
    /// `None` when the text is not such a date.
    #[must_use]
    pub fn parse(text: &str) -> Option<UnixTicks> {
        let bytes = text.as_bytes();
        let head = bytes.get(..19)?;
        let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if separators.iter().any(|(at, byte)| head[*at] != *byte) {
            return None;
        }
        let part = |from: usize, to: usize| digits(&head[from..to]);
        let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
        let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
        if year < 1 || !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
            return None;
        }
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let (fraction, zone) = split_fraction(&bytes[19..])?;
        let seconds = (hour * 60 + minute) * 60 + second - zone_seconds(zone)?;
        let days = days_from_civil(year, month, day);
        Some(UnixTicks(
            (days * SECONDS_PER_DAY + seconds) * TICKS_PER_SECOND + fraction,
        ))
    }
}

/// Bytes of the text that `Display` of [`UnixTicks`] writes, and of a day alone.
const CANONICAL_BYTES: usize = 28;
const DAY_BYTES: usize = 10;
/// A point in time has between these lengths: a fraction of nine digits and an offset at most.
const INSTANT_BYTES: std::ops::RangeInclusive<usize> = 19..=35;

/// The point in time that a whole text is, in any spelling that [`UnixTicks::parse`] reads and with
/// `T` and `Z` in either case. `None` for a day alone, and outside the years 1 to 9999.
#[must_use]
pub fn instant(text: &str) -> Option<UnixTicks> {
    let bytes = text.as_bytes();
    if !INSTANT_BYTES.contains(&bytes.len()) || bytes[4] != b'-' || !bytes[0].is_ascii_digit() {
        return None;
    }
    let time = match bytes[10] == b't' || bytes.ends_with(b"z") {
        true => UnixTicks::parse(&text.to_ascii_uppercase()),
        false => UnixTicks::parse(text),
    };
    time.filter(|time| (FIRST..=LAST).contains(&time.0))
}

/// As [`instant`], and the first moment of a day alone.
#[must_use]
pub fn instant_or_day(text: &str) -> Option<UnixTicks> {
    let bytes = text.as_bytes();
    if bytes.len() != DAY_BYTES {
        return instant(text);
    }
    match bytes[4] == b'-' && bytes[0].is_ascii_digit() {
        true => UnixTicks::parse(&format!("{text}T00:00:00")),
        false => None,
    }
}

/// The one text of a point in time, whatever its spelling; any other text as it is.
#[must_use]
pub fn canonical(text: &str) -> Cow<'_, str> {
    let is_canonical = text.len() == CANONICAL_BYTES && text.ends_with('Z');
    match instant(text) {
        Some(time) if !is_canonical => Cow::Owned(time.to_string()),
        _ => Cow::Borrowed(text),
    }
}

impl UnixTicks {
    /// The text of the day that begins here, if one does.
    #[must_use]
    pub fn day(self) -> Option<String> {
        let is_start = self.0.rem_euclid(SECONDS_PER_DAY * TICKS_PER_SECOND) == 0;
        is_start.then(|| {
            let mut text = self.to_string();
            text.truncate(DAY_BYTES);
            text
        })
    }
}

impl fmt::Display for UnixTicks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ticks = self.0.clamp(FIRST, LAST);
        let seconds = ticks.div_euclid(TICKS_PER_SECOND);
        let fraction = ticks.rem_euclid(TICKS_PER_SECOND);
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        let second = seconds.rem_euclid(SECONDS_PER_DAY);
        let mut text = *b"0000-00-00T00:00:00.0000000Z";
        let parts = [
            (0..4, year),
            (5..7, month),
            (8..10, day),
            (11..13, second / 3600),
            (14..16, second / 60 % 60),
            (17..19, second % 60),
            (20..27, fraction),
        ];
        for (place, number) in parts {
            write_digits(&mut text[place], number);
        }
        out.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

/// Writes a number that is not negative with as many digits as there is room for. Every document
/// that leaves carries such a time, which is why it is not left to format strings.
fn write_digits(room: &mut [u8], mut number: i64) {
    for digit in room.iter_mut().rev() {
        *digit = b"0123456789"[(number % 10) as usize];
        number /= 10;
    }
}

fn digits(bytes: &[u8]) -> Option<i64> {
    bytes.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + i64::from(byte - b'0'))
    })
}

fn split_fraction(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let Some((b'.', rest)) = bytes.split_first() else {
        return Some((0, bytes));
    };
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 || count > 9 {
        return None;
    }
    let padded = rest[..count].iter().copied().chain(std::iter::repeat(b'0'));
    let fraction = padded
        .take(7)
        .fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    Some((fraction, &rest[count..]))
}

fn zone_seconds(zone: &[u8]) -> Option<i64> {
    match zone {
        [] | [b'Z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let offset = digits(&[*h1, *h2])? * 3600 + digits(&[*m1, *m2])? * 60;
            Some(if *sign == b'+' { offset } else { -offset })
        }
        _ => None,
    }
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970 of a date of the proleptic Gregorian calendar. Years are counted from March so
/// that the leap day is the last of its year; 400 years are one cycle of 146,097 days.
#[must_use]
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let cycle = year.div_euclid(400);
    let year_of_cycle = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    cycle * 146_097 + day_of_cycle - 719_468
}

/// The inverse of [`days_from_civil`]: year, month, day.
#[must_use]
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let cycle = days.div_euclid(146_097);
    let day = days.rem_euclid(146_097);
    let year_of_cycle = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_cycle + cycle * 400 + i64::from(month <= 2);
    (year, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ticks: i64, text: &str) {
        assert_eq!(UnixTicks(ticks).to_string(), text);
        assert_eq!(UnixTicks::parse(text), Some(UnixTicks(ticks)), "{text}");
    }

    #[test]
    fn known_points_print_and_read_back() {
        check(0, "1970-01-01T00:00:00.0000000Z");
        check(-1, "1969-12-31T23:59:59.9999999Z");
        check(17_952_213_948_037_634, "2026-11-21T00:36:34.8037634Z");
        check(9_517_824_000_000_005, "2000-02-29T00:00:00.0000005Z");
        check(FIRST, "0001-01-01T00:00:00.0000000Z");
        check(LAST, "9999-12-31T23:59:59.9999999Z");
        assert_eq!(UnixTicks(i64::MAX).to_string(), UnixTicks(LAST).to_string());
    }

    #[test]
    fn every_day_of_eight_centuries_reads_back() {
        for day in -146_097..146_097 {
            let (year, month, day_of_month) = civil_from_days(day);
            assert_eq!(days_from_civil(year, month, day_of_month), day);
            assert!((1..=days_in(year, month)).contains(&day_of_month));
        }
    }

    #[test]
    fn spellings_of_one_instant_have_one_text() {
        let canonical_text = "2024-05-01T08:00:00.0000000Z";
        for text in [
            canonical_text,
            "2024-05-01T08:00:00Z",
            "2024-05-01T08:00:00",
            "2024-05-01t08:00:00.0z",
            "2024-05-01T10:00:00.0000000+02:00",
            "2024-04-30T23:30:00-08:30",
            "2024-05-01T08:00:00.000000099Z",
        ] {
            assert_eq!(canonical(text), canonical_text, "{text}");
        }
        for text in [
            "",
            "2024-05-01",
            "2024-05-01 08:00:00",
            "2024-99-99T99:99:99.0000000Z",
            "0001-01-01T00:00:00+05:00",
            "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
            "abcd-05-01T08:00:00",
        ] {
            assert_eq!(canonical(text), text);
        }
    }

    #[test]
    fn days_alone_are_their_first_moment() {
        let midnight = instant("2024-05-01T00:00:00Z");
        assert_eq!(instant_or_day("2024-05-01"), midnight);
        assert_eq!(instant("2024-05-01"), None);
        assert_eq!(instant_or_day("2024-02-30"), None);
        assert_eq!(
            midnight.and_then(UnixTicks::day).as_deref(),
            Some("2024-05-01")
        );
        assert_eq!(UnixTicks(1).day(), None);
    }

    #[test]
    fn lenient_and_broken_texts() {
        let noon = UnixTicks::parse("2024-05-01T12:00:00Z");
        assert!(noon.is_some());
        assert_eq!(UnixTicks::parse("2024-05-01T12:00:00"), noon);
        assert_eq!(UnixTicks::parse("2024-05-01T14:00:00.000+02:00"), noon);
        for text in [
            "",
            "2024",
            "2024-13-01T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2024-05-01 12:00:00Z",
            "2024-05-01T24:00:00Z",
            "2024-05-01T12:00:00.Z",
            "2024-05-01T12:00:00ZZ",
            "\u{e9}024-05-01T12:00:00Z",
        ] {
            assert_eq!(UnixTicks::parse(text), None, "{text}");
        }
    }
}
