//! Dates and spans of time: reading, taking apart, adding up.
//!
//! Ticks are 100 ns; dates count from 1970. The calendar is the proleptic Gregorian one.

use jackdaw_base::time::{TICKS_PER_SECOND, UnixTicks};

use super::value::{Date, Value};

pub(crate) const TICKS_PER_MILLISECOND: i64 = TICKS_PER_SECOND / 1000;
pub(crate) const TICKS_PER_MINUTE: i64 = 60 * TICKS_PER_SECOND;
pub(crate) const TICKS_PER_HOUR: i64 = 60 * TICKS_PER_MINUTE;
pub(crate) const TICKS_PER_DAY: i64 = 24 * TICKS_PER_HOUR;
/// Ticks of C# from 0001-01-01 to 1970.
pub(crate) const TICKS_TO_1970: i64 = 719_162 * TICKS_PER_DAY;
/// The last tick of 9999.
pub(crate) const LAST: i64 = 253_402_300_800 * TICKS_PER_SECOND - 1;

/// Parts of a date.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    /// Ticks since midnight.
    pub(crate) of_day: i64,
}

/// Reads a date of JSON: `2024-05-01`, or with a time, perhaps with a zone.
pub(crate) fn parse_date(text: &str) -> Option<Date> {
    let bytes = text.as_bytes();
    let may_be = bytes.len() >= 10 && bytes[4] == b'-' && bytes[0].is_ascii_digit();
    if !may_be {
        return None;
    }
    if bytes.len() == 10 {
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
        if bytes[7] != b'-' {
            return None;
        }
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        return date_of(year.into(), month.into(), day.into(), false);
    }
    let ticks = UnixTicks::parse(text)?.0;
    let is_utc = text.ends_with('Z') || text.len() > 19 && text[19..].contains(['+', '-']);
    Some(Date { ticks, is_utc })
}

/// Midnight of a day; `None` for days that are not in the calendar.
pub(crate) fn date_of(year: i64, month: i64, day: i64, is_utc: bool) -> Option<Date> {
    let is_there = (1..=9999).contains(&year) && (1..=12).contains(&month);
    if !is_there || day < 1 || day > days_in(year, month) {
        return None;
    }
    let ticks = days_from_civil(year, month, day) * TICKS_PER_DAY;
    Some(Date { ticks, is_utc })
}

/// Reads a span of C#: `[-][d.]hh:mm:ss[.fffffff]`.
pub(crate) fn parse_span(text: &str) -> Option<i64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    if rest.len() > 30 {
        return None;
    }
    let mut parts = rest.split(':');
    let (first, minutes, seconds) = (parts.next()?, parts.next()?, parts.next().unwrap_or("0"));
    if parts.next().is_some() {
        return None;
    }
    let (days, hours) = first.split_once('.').unwrap_or(("0", first));
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    if fraction.len() > 7 {
        return None;
    }
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number {
            text.parse::<i64>().ok()
        } else {
            None
        }
    };
    let fraction = number(&format!("{fraction:0<7}"))?;
    let (hours, minutes, seconds) = (number(hours)?, number(minutes)?, number(seconds)?);
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let ticks = number(days)?.checked_mul(TICKS_PER_DAY)?;
    let of_day = hours * TICKS_PER_HOUR + minutes * TICKS_PER_MINUTE + seconds * TICKS_PER_SECOND;
    ticks.checked_add(of_day + fraction)?.checked_mul(sign)
}

/// A span as C# writes it.
pub(crate) fn format_span(ticks: i64) -> String {
    let sign = if ticks < 0 { "-" } else { "" };
    let ticks = ticks.unsigned_abs();
    let unit = |ticks: i64| ticks.unsigned_abs();
    let (days, rest) = (ticks / unit(TICKS_PER_DAY), ticks % unit(TICKS_PER_DAY));
    let days = if days > 0 {
        format!("{days}.")
    } else {
        String::new()
    };
    let (hours, rest) = (rest / unit(TICKS_PER_HOUR), rest % unit(TICKS_PER_HOUR));
    let (minutes, rest) = (rest / unit(TICKS_PER_MINUTE), rest % unit(TICKS_PER_MINUTE));
    let (seconds, rest) = (rest / unit(TICKS_PER_SECOND), rest % unit(TICKS_PER_SECOND));
    let fraction = if rest > 0 {
        format!(".{rest:07}")
    } else {
        String::new()
    };
    format!("{sign}{days}{hours:02}:{minutes:02}:{seconds:02}{fraction}")
}

impl Date {
    /// As documents hold it: with seven digits of fraction, and `Z` when it is of UTC.
    pub(crate) fn to_text(self) -> String {
        let mut text = UnixTicks(self.ticks).to_string();
        if !self.is_utc {
            text.pop();
        }
        text
    }

    pub(crate) fn parts(self) -> Parts {
        let (year, month, day) = civil_from_days(self.ticks.div_euclid(TICKS_PER_DAY));
        Parts {
            year,
            month,
            day,
            of_day: self.ticks.rem_euclid(TICKS_PER_DAY),
        }
    }

    /// Days since the last Sunday.
    pub(crate) fn day_of_week(self) -> usize {
        let days = self.ticks.div_euclid(TICKS_PER_DAY);
        usize::try_from((days + 4).rem_euclid(7)).unwrap_or(0)
    }

    pub(crate) fn day_of_year(self) -> i64 {
        let parts = self.parts();
        let first = days_from_civil(parts.year, 1, 1);
        self.ticks.div_euclid(TICKS_PER_DAY) - first + 1
    }

    /// The date `ticks` later; `None` outside of the years 1 to 9999.
    pub(crate) fn plus(self, ticks: i64) -> Option<Date> {
        let ticks = self.ticks.checked_add(ticks)?;
        (-TICKS_TO_1970..=LAST).contains(&ticks).then_some(Date {
            ticks,
            is_utc: self.is_utc,
        })
    }

    /// The same day of a later month, or its last one.
    pub(crate) fn plus_months(self, months: i64) -> Option<Date> {
        let parts = self.parts();
        let month = (parts.year * 12 + parts.month - 1).checked_add(months)?;
        let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
        if !(1..=9999).contains(&year) {
            return None;
        }
        let day = parts.day.min(days_in(year, month));
        date_of(year, month, day, self.is_utc)?.plus(parts.of_day)
    }
}

/// The date that a value is or says; `None` for anything else.
pub(crate) fn as_date(value: Value<'_>) -> Option<Date> {
    match value {
        Value::Date(date) => Some(date),
        Value::Text(text) => parse_date(text),
        _ => None,
    }
}

/// The span that a value is or says.
pub(crate) fn as_span(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Span(ticks) => Some(ticks),
        Value::Text(text) => parse_span(text),
        _ => None,
    }
}

fn days_in(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970. Years are counted from March, so that the leap day is the last of its year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (cycle, year_of_cycle) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    cycle * 146_097 + day_of_cycle - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (cycle, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_cycle = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    (
        year_of_cycle + cycle * 400 + i64::from(month <= 2),
        month,
        day_of_month,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_read_and_print() {
        for text in [
            "2024-02-29T12:30:00.0000000",
            "1969-12-31T23:59:59.9999999Z",
        ] {
            assert_eq!(parse_date(text).map(Date::to_text).as_deref(), Some(text));
        }
        let day = parse_date("2024-02-29").expect("a day");
        assert_eq!(day.plus_months(12).map(|date| date.parts().day), Some(28));
        assert_eq!((day.day_of_week(), day.day_of_year()), (4, 60));
        for text in [
            "2023-02-29",
            "2024-1-01",
            "hello, you",
            "1234567890",
            "20240229",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }

    #[test]
    fn spans_read_and_print() {
        for text in ["00:10:00", "10.00:00:01", "-1.02:03:04.0500000"] {
            assert_eq!(parse_span(text).map(format_span).as_deref(), Some(text));
        }
        for text in ["1", "24:00:00", "a:b:c", "1:2:3:4", "::"] {
            assert_eq!(parse_span(text), None, "{text}");
        }
    }
}
