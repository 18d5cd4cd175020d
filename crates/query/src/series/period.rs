//! Spans of time in queries of time series and in their policies: `'1 hour'`, `3 months`, and where
//! they begin.
//!
//! Months, quarters and years follow the calendar. All others are counted from the first day of
//! the year 1, a Monday, so that seven days begin with one.

use jackdaw_base::time::{civil_from_days, days_from_civil};

use crate::error::QueryError;

const SECOND: i64 = 1_000;
const DAY: i64 = 86_400 * SECOND;
/// The year 1 in milliseconds since 1970.
const YEAR_ONE: i64 = -62_135_596_800 * SECOND;
/// Longest span: 10,000 years, in either unit.
const MONTHS_MAX: i64 = 120_000;
const MILLISECONDS_MAX: i64 = 3_652_425 * DAY;

/// A span of time, more than nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Whole months of the calendar.
    Months(i64),
    /// Milliseconds.
    Milliseconds(i64),
}

impl Period {
    /// Reads `'1 hour'`.
    pub(crate) fn parse(text: &str) -> Result<Period, QueryError> {
        let digits = text.trim().bytes().take_while(u8::is_ascii_digit).count();
        let (count, unit) = text.trim().split_at(digits);
        let count = count.parse().unwrap_or(0);
        Period::new(count, unit.trim()).ok_or_else(|| not_understood(text))
    }

    /// `count` times a unit, which is written as in queries: `second`, `months`.
    ///
    /// # Errors
    /// [`QueryError::Argument`] when the unit is none, or the span nothing or longer than 10,000
    /// years.
    pub fn of(count: i64, unit: &str) -> Result<Period, QueryError> {
        Period::new(count, unit).ok_or_else(|| not_understood(&format!("{count} {unit}")))
    }

    fn new(count: i64, unit: &str) -> Option<Period> {
        let unit = unit.to_ascii_lowercase();
        let months = match unit.as_str() {
            "month" | "months" | "mon" | "mo" => 1,
            "quarter" | "quarters" | "q" => 3,
            "year" | "years" | "y" => 12,
            _ => 0,
        };
        let milliseconds = match unit.as_str() {
            "milliseconds" | "millisecond" | "milli" | "ms" => 1,
            "seconds" | "second" | "s" => SECOND,
            "minutes" | "minute" | "min" => 60 * SECOND,
            "hours" | "hour" | "h" => 3_600 * SECOND,
            "days" | "day" | "d" => DAY,
            _ => 0,
        };
        let span = |unit: i64, max: i64| {
            let span = count.checked_mul(unit);
            span.filter(|span| (1..=max).contains(span))
        };
        match span(months, MONTHS_MAX) {
            Some(months) => Some(Period::Months(months)),
            None => span(milliseconds, MILLISECONDS_MAX).map(Period::Milliseconds),
        }
    }

    /// The beginning of the span that `at` is in, both in milliseconds since 1970.
    #[must_use]
    pub fn floor(self, at: i64) -> i64 {
        match self {
            Period::Milliseconds(len) => {
                at.saturating_sub(at.saturating_sub(YEAR_ONE).rem_euclid(len))
            }
            Period::Months(count) => {
                let (year, month, _) = civil_from_days(at.div_euclid(DAY));
                start_of_month((year * 12 + month - 1 - 12).div_euclid(count) * count + 12)
            }
        }
    }

    /// The end of the span that begins at `start`; of any other time, the time so much later.
    #[must_use]
    pub fn after(self, start: i64) -> i64 {
        self.shifted(start, 1)
    }

    /// The time a span before `at`.
    #[must_use]
    pub fn before(self, at: i64) -> i64 {
        self.shifted(at, -1)
    }

    fn shifted(self, at: i64, times: i64) -> i64 {
        match self {
            Period::Milliseconds(len) => at.saturating_add(len * times),
            Period::Months(count) => {
                let (year, month, day) = civil_from_days(at.div_euclid(DAY));
                let wanted = year * 12 + month - 1 + count * times;
                let (start, next) = (start_of_month(wanted), start_of_month(wanted + 1));
                // The 31st of a shorter month is its last day.
                let day = ((day - 1) * DAY).min(next - start - DAY);
                start + day + at.rem_euclid(DAY)
            }
        }
    }
}

/// Milliseconds since 1970 of the month that is the `months`th since the year 0.
fn start_of_month(months: i64) -> i64 {
    days_from_civil(months.div_euclid(12), months.rem_euclid(12) + 1, 1) * DAY
}

fn not_understood(text: &str) -> QueryError {
    QueryError::Argument(format!("Unable to understand time range: '{text}'"))
}

#[cfg(test)]
mod tests {
    use jackdaw_base::time::UnixTicks;

    use super::*;

    fn at(text: &str) -> i64 {
        UnixTicks::parse(&format!("{text}:00")).unwrap().0 / 10_000
    }

    #[test]
    fn spans_begin_where_the_calendar_has_them() {
        for (period, start, end) in [
            ("1 hour", "2024-05-16T13:00", "2024-05-16T14:00"),
            ("7 days", "2024-05-13T00:00", "2024-05-20T00:00"),
            ("1mo", "2024-05-01T00:00", "2024-06-01T00:00"),
            ("1 Quarter", "2024-04-01T00:00", "2024-07-01T00:00"),
            ("2 years", "2023-01-01T00:00", "2025-01-01T00:00"),
            ("90 min", "2024-05-16T12:00", "2024-05-16T13:30"),
        ] {
            let period = Period::parse(period).unwrap();
            let floor = period.floor(at("2024-05-16T13:20"));
            assert_eq!(floor, at(start), "{period:?}");
            assert_eq!(period.after(floor), at(end), "{period:?}");
        }
        let month = Period::of(1, "month").unwrap();
        assert_eq!(month.before(at("2024-03-31T10:30")), at("2024-02-29T10:30"));
        let hour = Period::of(1, "h").unwrap();
        assert_eq!(hour.floor(at("1969-12-31T23:30")), at("1969-12-31T23:00"));
    }

    #[test]
    fn spans_that_are_none_are_refused() {
        for text in [
            "1 week",
            "0 hours",
            "hours",
            "-1 day",
            "9999999999999999999 d",
            "20000 y",
        ] {
            let error = Period::parse(text).unwrap_err().to_string();
            assert_eq!(error, format!("Unable to understand time range: '{text}'"));
        }
    }
}
