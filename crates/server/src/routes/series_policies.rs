//! `POST /databases/*/admin/timeseries/config`: policies of time series, checked for sense.
//!
//! A policy rolls the entries of a series up into spans, and says how long they are kept. Policies
//! are not carried out by this version: those that make sense are refused by name, so that nobody
//! waits for rollups, and a configuration without any is stored.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Value, json};

use super::databases;
use super::settings::{TIME_SERIES, given};
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

const DAY: i64 = 86_400;
/// What stands for no end.
const ENDLESS: i64 = 2_147_483_647;

/// A span of time: months, or seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    Months(i64),
    Seconds(i64),
    /// Without an end.
    Endless,
}

/// One policy.
struct Policy {
    name: String,
    /// What entries are rolled up into; none of the raw policy.
    aggregation: Option<Span>,
    retention: Span,
}

/// See the file head.
pub(super) fn put(call: &Call) -> Outcome {
    super::database(call)?;
    let mut configuration = given(call)?;
    let collections = configuration.get("Collections").and_then(Value::as_object);
    for (collection, settings) in collections.into_iter().flatten() {
        if check(settings)? && settings["Disabled"] != Value::Bool(true) {
            let message = format!(
                "Rollups and retention of time series are not carried out by this version. Remove \
                 the policies of '{collection}', or disable them."
            );
            return Err(WireError::new(kind::NOT_SUPPORTED, message));
        }
    }
    // Names of values stay when the configuration says nothing of them.
    let index = databases::change_member(call, TIME_SERIES, |earlier| {
        let names = earlier.map(|earlier| &earlier["NamedValues"]);
        if let (Some(names), None | Some(Value::Null)) = (names, configuration.get("NamedValues")) {
            configuration.insert("NamedValues".to_owned(), names.clone());
        }
        Ok(configuration.into())
    })?;
    Ok(Reply::value(&json!({ "RaftCommandIndex": index })))
}

/// Whether the settings of a collection have a policy that would do something.
fn check(settings: &Value) -> Result<bool, WireError> {
    let mut policies = Vec::new();
    for policy in settings["Policies"].as_array().into_iter().flatten() {
        policies.push(read(policy, None)?);
    }
    policies.sort_by_key(|policy| policy.aggregation.map_or((0, 0), Span::days_at_least));
    if let Some(raw) = settings["RawPolicy"].as_object() {
        policies.insert(0, read(&Value::Object(raw.clone()), Some("rawpolicy"))?);
    }
    for pair in policies.windows(2) {
        let [finer, coarser] = pair else {
            continue;
        };
        check_pair(finer, coarser)?;
    }
    Ok(policies
        .iter()
        .any(|policy| policy.aggregation.is_some() || policy.retention != Span::Endless))
}

fn check_pair(finer: &Policy, coarser: &Policy) -> Result<(), WireError> {
    let Some(aggregation) = coarser.aggregation else {
        return Ok(());
    };
    let refused = |message: String| Err(WireError::new(kind::INVALID_OPERATION, message));
    let Some(order) = finer.retention.compare(aggregation) else {
        return refused(format!(
            "Unable to compare {} with {aggregation}, since a month might have different number \
             of days.",
            finer.retention
        ));
    };
    if order.is_lt() {
        return refused(format!(
            "The policy '{}' has a retention time of '{}' but should be aggregated by policy '{}' \
             with the aggregation time frame of {aggregation}",
            finer.name, finer.retention, coarser.name
        ));
    }
    match finer.aggregation {
        Some(inner) if !inner.divides(aggregation) => refused(format!(
            "The aggregation time of the policy '{}' ({aggregation}) must be divided by the \
             aggregation time of '{}' ({inner}) without a remainder.",
            coarser.name, finer.name
        )),
        _ => Ok(()),
    }
}

fn read(policy: &Value, fixed_name: Option<&str>) -> Result<Policy, WireError> {
    let named = fixed_name.or_else(|| policy["Name"].as_str());
    let name = named.filter(|name| !name.is_empty()).ok_or_else(|| {
        let message = "A policy of time series needs a 'Name'.";
        WireError::new(kind::ARGUMENT, message.to_owned())
    })?;
    let span = |member: &str| match policy[member].as_object() {
        Some(span) => Span::read(span, member, name).map(Some),
        None => Ok(None),
    };
    Ok(Policy {
        aggregation: match fixed_name {
            Some(_) => None,
            None => span("AggregationTime")?,
        },
        retention: span("RetentionTime")?.unwrap_or(Span::Endless),
        name: name.to_owned(),
    })
}

impl Span {
    /// Reads `{"Value", "Unit"}`.
    fn read(span: &Map<String, Value>, member: &str, policy: &str) -> Result<Span, WireError> {
        let value = span.get("Value").and_then(Value::as_i64).unwrap_or(0);
        let unit = span.get("Unit").and_then(Value::as_str).unwrap_or("None");
        let is_none = unit.eq_ignore_ascii_case("none");
        if value >= ENDLESS || (is_none && value == 0) {
            return Ok(Span::Endless);
        }
        match unit.to_ascii_lowercase().as_str() {
            "second" if value > 0 => Ok(Span::Seconds(value)),
            "month" if value > 0 => Ok(Span::Months(value)),
            _ => Err(WireError::new(
                kind::ARGUMENT,
                format!(
                    "'{member}' of the policy '{policy}' must be a number of the unit Second or \
                     Month, more than 0."
                ),
            )),
        }
    }

    /// The fewest days, then seconds, that it takes.
    fn days_at_least(self) -> (i64, i64) {
        match self {
            Span::Months(months) => (months / 12 * 365 + months % 12 * 28, 0),
            Span::Seconds(seconds) => (seconds / DAY, seconds % DAY),
            Span::Endless => (i64::MAX, 0),
        }
    }

    /// The order of two spans; `None` when it depends on the months.
    fn compare(self, other: Span) -> Option<Ordering> {
        let against = |months: i64, seconds: i64| {
            let least = Span::Months(months).days_at_least().0 * DAY;
            let most = (months / 12 * 366 + months % 12 * 31) * DAY;
            match (seconds < least, seconds > most) {
                (true, _) => Some(Ordering::Greater),
                (_, true) => Some(Ordering::Less),
                _ => None,
            }
        };
        match (self, other) {
            (Span::Endless, Span::Endless) => Some(Ordering::Equal),
            (Span::Endless, _) => Some(Ordering::Greater),
            (_, Span::Endless) => Some(Ordering::Less),
            (Span::Months(left), Span::Months(right)) => Some(left.cmp(&right)),
            (Span::Seconds(left), Span::Seconds(right)) => Some(left.cmp(&right)),
            (Span::Months(months), Span::Seconds(seconds)) => against(months, seconds),
            (Span::Seconds(seconds), Span::Months(months)) => {
                against(months, seconds).map(Ordering::reverse)
            }
        }
    }

    /// Whether spans of this length fill `longer` without a rest. Every month has whole days.
    fn divides(self, longer: Span) -> bool {
        match (self, longer) {
            (Span::Seconds(one), Span::Seconds(longer)) => longer % one == 0,
            (Span::Months(one), Span::Months(longer)) => longer % one == 0,
            (Span::Seconds(one), Span::Months(_)) => DAY % one == 0,
            _ => false,
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A unit is used when there is more than one of it; years also when there is one.
        let (count, unit) = match *self {
            Span::Endless => return f.write_str("no end"),
            Span::Months(months) if months % 12 == 0 => (months / 12, "year"),
            Span::Months(months) => (months, "month"),
            Span::Seconds(seconds) => {
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

    fn seconds(value: i64) -> Value {
        json!({ "Value": value, "Unit": "Second" })
    }

    fn months(value: i64) -> Value {
        json!({ "Value": value, "Unit": "Month" })
    }

    fn policy(name: &str, aggregation: Value, retention: Value) -> Value {
        json!({ "Name": name, "AggregationTime": aggregation, "RetentionTime": retention })
    }

    fn refused(raw: Value, policies: &[Value]) -> String {
        let settings = json!({ "Policies": policies, "RawPolicy": { "RetentionTime": raw } });
        check(&settings).unwrap_err().message
    }

    #[test]
    fn policies_that_cannot_follow_each_other_are_refused() {
        let by_days = |days: i64| policy("P", seconds(days * DAY), months(60));
        assert_eq!(
            refused(months(1), &[by_days(30)]),
            "Unable to compare 1 month with 30 days, since a month might have different number of \
             days."
        );
        assert!(refused(months(12), &[by_days(365)]).contains("1 year with 365 days"));
        let finer = policy("By27", seconds(27 * DAY), months(12));
        assert_eq!(
            refused(months(1), &[by_days(364), finer]),
            "The aggregation time of the policy 'P' (364 days) must be divided by the aggregation \
             time of 'By27' (27 days) without a remainder."
        );
        let hourly = policy("H", seconds(3_600), months(1));
        assert!(refused(seconds(60), &[hourly]).contains("'60 seconds' but should"));
        assert!(refused(seconds(-1), &[]).contains("more than 0"));
    }

    #[test]
    fn what_does_nothing_is_no_policy() {
        let endless = json!({ "RetentionTime": { "Value": ENDLESS, "Unit": "None" } });
        assert!(!check(&json!({ "Policies": [], "RawPolicy": endless })).unwrap());
        assert!(!check(&json!({ "Policies": null, "RawPolicy": null })).unwrap());
        let day = policy("D", seconds(DAY), months(1));
        assert!(check(&json!({ "Policies": [day], "RawPolicy": null })).unwrap());
    }
}
