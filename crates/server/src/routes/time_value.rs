//! Lengths of time in policies of time series: `{"Value", "Unit"}` with units Second and Month.
//!
//! Months differ in length, so not every two can be compared.

use std::cmp::Ordering;
use std::fmt;

use jackdaw_database::Period;
use serde_json::{Map, Value, json};

use crate::wire::{WireError, kind};

const DAY: i64 = 86_400;
/// What stands for no end.
const ENDLESS: i64 = 2_147_483_647;

/// A length of time, more than nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeValue {
    Months(i64),
    Seconds(i64),
    /// Without an end.
    Endless,
}

impl TimeValue {
    /// Reads `{"Value", "Unit"}`, a member of the policy called `policy`.
    pub(super) fn read(
        span: &Map<String, Value>,
        member: &str,
        policy: &str,
    ) -> Result<TimeValue, WireError> {
        let value = match span.get("Value") {
            None | Some(Value::Null) => Some(0),
            Some(value) => value.as_i64(),
        };
        let unit = match span.get("Unit") {
            None | Some(Value::Null) => "none",
            Some(unit) => unit.as_str().unwrap_or(""),
        };
        match (unit.to_ascii_lowercase().as_str(), value) {
            ("none", Some(0)) | (_, Some(ENDLESS..)) => Ok(TimeValue::Endless),
            ("second", Some(value @ 1..)) => Ok(TimeValue::Seconds(value)),
            ("month", Some(value @ 1..)) => Ok(TimeValue::Months(value)),
            _ => Err(WireError::new(
                kind::ARGUMENT,
                format!(
                    "'{member}' of the policy '{policy}' must be a number of the unit Second or \
                     Month, more than 0."
                ),
            )),
        }
    }

    /// As it was given; without an end when it is longer than 10,000 years.
    pub(super) fn period(self) -> Option<Period> {
        match self {
            TimeValue::Months(count) => Period::of(count, "month").ok(),
            TimeValue::Seconds(count) => Period::of(count, "second").ok(),
            TimeValue::Endless => None,
        }
    }

    /// The form that clients read.
    pub(super) fn to_json(self) -> Value {
        let (value, unit) = match self {
            TimeValue::Months(count) => (count, "Month"),
            TimeValue::Seconds(count) => (count, "Second"),
            TimeValue::Endless => (ENDLESS, "None"),
        };
        json!({ "Value": value, "Unit": unit })
    }

    /// The fewest days, then seconds, that it takes.
    pub(super) fn days_at_least(self) -> (i64, i64) {
        match self {
            TimeValue::Months(months) => (months / 12 * 365 + months % 12 * 28, 0),
            TimeValue::Seconds(seconds) => (seconds / DAY, seconds % DAY),
            TimeValue::Endless => (i64::MAX, 0),
        }
    }

    /// The order of two spans; `None` when it depends on the months.
    pub(super) fn compare(self, other: TimeValue) -> Option<Ordering> {
        let against = |months: i64, seconds: i64| {
            let least = TimeValue::Months(months).days_at_least().0 * DAY;
            let most = (months / 12 * 366 + months % 12 * 31) * DAY;
            match (seconds < least, seconds > most) {
                (true, _) => Some(Ordering::Greater),
                (_, true) => Some(Ordering::Less),
                _ => None,
            }
        };
        match (self, other) {
            (TimeValue::Endless, TimeValue::Endless) => Some(Ordering::Equal),
            (TimeValue::Endless, _) => Some(Ordering::Greater),
            (_, TimeValue::Endless) => Some(Ordering::Less),
            (TimeValue::Months(left), TimeValue::Months(right)) => Some(left.cmp(&right)),
            (TimeValue::Seconds(left), TimeValue::Seconds(right)) => Some(left.cmp(&right)),
            (TimeValue::Months(months), TimeValue::Seconds(seconds)) => against(months, seconds),
            (TimeValue::Seconds(seconds), TimeValue::Months(months)) => {
                against(months, seconds).map(Ordering::reverse)
            }
        }
    }

    /// Whether spans of this length fill `longer` without a rest. Every month has whole days.
    pub(super) fn divides(self, longer: TimeValue) -> bool {
        match (self, longer) {
            (TimeValue::Seconds(one), TimeValue::Seconds(longer)) => longer % one == 0,
            (TimeValue::Months(one), TimeValue::Months(longer)) => longer % one == 0,
            (TimeValue::Seconds(one), TimeValue::Months(_)) => DAY % one == 0,
            _ => false,
        }
    }
}

impl fmt::Display for TimeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A unit is used when there is more than one of it; years also when there is one.
        let (count, unit) = match *self {
            TimeValue::Endless => return f.write_str("no end"),
            TimeValue::Months(months) if months % 12 == 0 => (months / 12, "year"),
            TimeValue::Months(months) => (months, "month"),
            TimeValue::Seconds(seconds) => {
                let units = [(DAY, "day"), (3_600, "hour"), (60, "minute")];
                let fits = |(unit, _): &(i64, &str)| seconds > *unit && seconds % unit == 0;
                let (unit, name) = units.into_iter().find(fits).unwrap_or((1, "second"));
                (seconds / unit, name)
            }
        };
        write!(f, "{count} {unit}{}", if count == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_told_in_the_largest_unit_that_there_is_more_than_one_of() {
        for (value, text) in [
            (TimeValue::Seconds(60), "60 seconds"),
            (TimeValue::Seconds(120), "2 minutes"),
            (TimeValue::Seconds(3_600), "60 minutes"),
            (TimeValue::Seconds(30 * DAY), "30 days"),
            (TimeValue::Months(1), "1 month"),
            (TimeValue::Months(12), "1 year"),
            (TimeValue::Months(24), "2 years"),
        ] {
            assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn months_are_compared_where_their_length_does_not_matter() {
        let month = TimeValue::Months(1);
        let days = |days| month.compare(TimeValue::Seconds(days * DAY));
        assert_eq!(days(27), Some(Ordering::Greater));
        assert_eq!((days(28), days(31)), (None, None));
        assert_eq!(days(32), Some(Ordering::Less));
        assert_eq!(TimeValue::Endless.compare(month), Some(Ordering::Greater));
        assert!(TimeValue::Seconds(3_600).divides(month));
        assert!(!TimeValue::Seconds(7 * DAY).divides(month));
        assert_eq!(TimeValue::Months(200_000).period(), None);
    }
}
