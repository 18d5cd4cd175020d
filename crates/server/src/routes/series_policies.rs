//! Policies of time series: `/databases/*/admin/timeseries/config` and `/policy`.
//!
//! The configuration is a member of the database's record, kept in the form that clients read:
//! policies in the order of their spans, nothing missing. `maintenance` reads from there what
//! [`rule`] gives, and has it carried out.

use std::time::Duration;

use hyper::StatusCode;
use jackdaw_database::{SeriesPolicies, SeriesPolicy, SeriesRules};
use serde_json::{Map, Value, json};

use super::databases;
use super::record::StoredRecord;
use super::settings::{TIME_SERIES, given};
use super::time_value::TimeValue;
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind, parse_time_span};

/// What stands for the entries that clients append, among names of policies.
const RAW: &str = "rawpolicy";
/// Time between two looks when the configuration does not say.
const EVERY_DEFAULT: Duration = Duration::from_secs(300);
/// Most policies of a collection.
const POLICIES_MAX: usize = 64;
/// Longest name of a policy in bytes.
const NAME_BYTES_MAX: usize = 255;
/// Most collections that a configuration may name.
const COLLECTIONS_MAX: usize = 10_000;

/// How the policies of a database are carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeriesRule {
    /// Time between two looks.
    pub(crate) every: Duration,
    pub(crate) policies: SeriesPolicies,
}

/// A configuration that makes sense.
struct Configuration {
    rule: SeriesRule,
    /// In the form that clients read.
    members: Map<String, Value>,
}

/// One policy.
#[derive(Clone, Debug)]
struct Policy {
    name: String,
    /// What entries are rolled up into; none of the raw policy.
    aggregation: Option<TimeValue>,
    retention: TimeValue,
}

/// What the record of a database says of time series; `None` when that is nothing.
pub(crate) fn rule(record: &str) -> Option<SeriesRule> {
    let record = StoredRecord::parse(record).ok()?;
    let configuration = record.member(TIME_SERIES)?.as_object()?;
    Some(read(configuration).ok()?.rule)
}

/// `POST /databases/*/admin/timeseries/config`
pub(super) fn put(call: &Call) -> Outcome {
    let given = given(call)?;
    change(call, |mut members| {
        // Names of values stay when the configuration says nothing of them.
        let names = members.remove("NamedValues");
        let mut given = given;
        if let (Some(names), None | Some(Value::Null)) = (names, given.get("NamedValues")) {
            given.insert("NamedValues".to_owned(), names);
        }
        Ok(given)
    })
}

/// `PUT /databases/*/admin/timeseries/policy?collection=` with a policy: adds it, or puts it in the
/// place of the one with its name.
pub(super) fn put_policy(call: &Call) -> Outcome {
    let collection = required(call, "collection")?;
    let policy = Value::Object(given(call)?);
    let name = policy["Name"].as_str().unwrap_or("").to_owned();
    change(call, |mut members| {
        let settings = settings_of(&mut members, &collection);
        if is_named(&name, RAW) {
            settings.insert("RawPolicy".to_owned(), policy);
            return Ok(members);
        }
        let policies = policies_of(settings);
        policies.retain(|known| !is_named(known["Name"].as_str().unwrap_or(""), &name));
        policies.push(policy);
        Ok(members)
    })
}

/// `DELETE /databases/*/admin/timeseries/policy?collection=&name=`: without the raw policy, entries
/// that clients append are kept for ever. A collection without a configuration is answered without
/// a body, as the protocol does.
pub(super) fn delete_policy(call: &Call) -> Outcome {
    let (collection, name) = (required(call, "collection")?, required(call, "name")?);
    super::database(call)?;
    let (_, configuration) = databases::member(call, TIME_SERIES)?;
    let known = configuration
        .as_ref()
        .and_then(|members| members["Collections"].as_object());
    if !known.is_some_and(|known| known.keys().any(|known| is_named(known, &collection))) {
        return Ok(Reply::empty(StatusCode::OK));
    }
    change(call, |mut members| {
        let settings = settings_of(&mut members, &collection);
        if is_named(&name, RAW) {
            settings.remove("RawPolicy");
        }
        policies_of(settings)
            .retain(|known| !is_named(known["Name"].as_str().unwrap_or(""), &name));
        Ok(members)
    })
}

fn required(call: &Call, name: &str) -> Result<String, WireError> {
    let value = call.query().filled(name);
    let value = value.map(|value| value.into_owned());
    value.ok_or_else(|| WireError::empty_parameter(name))
}

/// Changes the configuration, and the policies of the database with it.
fn change(
    call: &Call,
    change: impl FnOnce(Map<String, Value>) -> Result<Map<String, Value>, WireError>,
) -> Outcome {
    let database = super::database(call)?;
    let mut policies = SeriesPolicies::default();
    let index = databases::change_member(call, TIME_SERIES, |earlier| {
        let earlier = earlier.and_then(Value::as_object).cloned();
        let configuration = read(&change(earlier.unwrap_or_default())?)?;
        policies = configuration.rule.policies;
        Ok(configuration.members.into())
    })?;
    let set = database.set_series_policies(&policies);
    set.map_err(|error| super::failure::write(&error))?;
    Ok(Reply::value(&json!({ "RaftCommandIndex": index })))
}

fn is_named(known: &str, name: &str) -> bool {
    known.to_lowercase() == name.to_lowercase()
}

/// The settings of a collection, which are made when there are none.
fn settings_of<'m>(
    members: &'m mut Map<String, Value>,
    collection: &str,
) -> &'m mut Map<String, Value> {
    let collections = object_at(members, "Collections");
    let known = collections.keys().find(|known| is_named(known, collection));
    let spelling = known.map_or_else(|| collection.to_owned(), Clone::clone);
    object_at(collections, &spelling)
}

fn object_at<'m>(members: &'m mut Map<String, Value>, name: &str) -> &'m mut Map<String, Value> {
    let member = members.entry(name).or_insert(Value::Null);
    if !member.is_object() {
        *member = json!({});
    }
    member.as_object_mut().expect("made one above")
}

fn policies_of(settings: &mut Map<String, Value>) -> &mut Vec<Value> {
    let policies = settings.entry("Policies").or_insert(Value::Null);
    if !policies.is_array() {
        *policies = json!([]);
    }
    policies.as_array_mut().expect("made one above")
}

/// Reads `{Collections, PolicyCheckFrequency, NamedValues}`.
fn read(given: &Map<String, Value>) -> Result<Configuration, WireError> {
    let mut members = given.clone();
    members.entry("PolicyCheckFrequency").or_insert(Value::Null);
    // Clients that read the record want an object.
    object_at(&mut members, "NamedValues");
    let every = match &members["PolicyCheckFrequency"] {
        Value::Null => EVERY_DEFAULT,
        value => {
            let span = value.as_str().and_then(parse_time_span);
            span.filter(|span| !span.is_zero()).ok_or_else(|| {
                let message =
                    "'PolicyCheckFrequency' must be a time such as '00:05:00', more than 0.";
                WireError::new(kind::ARGUMENT, message)
            })?
        }
    };
    let mut policies = SeriesPolicies::default();
    member(given, "Collections", Value::as_object, "an object")?;
    let collections = object_at(&mut members, "Collections");
    if collections.len() > COLLECTIONS_MAX {
        let message = format!("At most {COLLECTIONS_MAX} collections may have policies.");
        return Err(WireError::new(kind::ARGUMENT, message));
    }
    let mut names = std::collections::HashSet::new();
    for (name, settings) in collections.iter_mut() {
        if !names.insert(name.to_lowercase()) {
            let message = format!("The collection '{name}' is there in two spellings.");
            return Err(WireError::new(kind::ARGUMENT, message));
        }
        let what = || not(name, "an object of 'Policies', 'RawPolicy' and 'Disabled'");
        let (rules, shown) = read_collection(settings.as_object().ok_or_else(what)?)?;
        *settings = shown;
        let says_nothing = rules.raw_retention.is_none() && rules.policies.is_empty();
        if settings["Disabled"] != Value::Bool(true) && !says_nothing {
            policies.collections.push((name.clone(), rules));
        }
    }
    Ok(Configuration {
        rule: SeriesRule { every, policies },
        members,
    })
}

/// A member, `None` when it is missing or null; refused when it is not what `what` says.
fn member<'v, T>(
    members: &'v Map<String, Value>,
    name: &str,
    read: impl FnOnce(&'v Value) -> Option<T>,
    what: &str,
) -> Result<Option<T>, WireError> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(value).map(Some).ok_or_else(|| not(name, what)),
    }
}

fn not(name: &str, what: &str) -> WireError {
    WireError::new(kind::ARGUMENT, format!("'{name}' must be {what}."))
}

/// The rules of a collection, and its settings in the form that clients read.
fn read_collection(settings: &Map<String, Value>) -> Result<(SeriesRules, Value), WireError> {
    let mut policies = Vec::new();
    let given = member(settings, "Policies", Value::as_array, "a list of policies")?;
    for policy in given.into_iter().flatten() {
        let policy = policy.as_object();
        let policy = policy.ok_or_else(|| not("Policies", "a list of objects"))?;
        policies.push(read_policy(policy, false)?);
    }
    policies.sort_by_key(|policy| policy.aggregation.map_or((0, 0), TimeValue::days_at_least));
    let raw = member(settings, "RawPolicy", Value::as_object, "an object")?;
    let raw = read_policy(raw.unwrap_or(&Map::new()), true)?;
    let disabled = member(settings, "Disabled", Value::as_bool, "true or false")?;
    let disabled = disabled.unwrap_or(false);
    if policies.len() > POLICIES_MAX {
        let message = format!("A collection has at most {POLICIES_MAX} policies.");
        return Err(WireError::new(kind::ARGUMENT, message));
    }
    let mut names = std::collections::HashSet::new();
    let twice = policies
        .iter()
        .find(|policy| !names.insert(policy.name.to_lowercase()));
    if let Some(policy) = twice {
        let message = format!("There are two policies called '{}'.", policy.name);
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    }
    let coarser = policies.iter();
    for (finer, coarser) in std::iter::once(&raw).chain(&policies).zip(coarser) {
        check_pair(finer, coarser)?;
    }
    let shown = json!({
        "Disabled": disabled,
        "Policies": policies.iter().map(Policy::to_json).collect::<Vec<_>>(),
        "RawPolicy": raw.to_json(),
    });
    let rules = policies.into_iter().map(|policy| {
        let aggregation = policy.aggregation.and_then(TimeValue::period);
        Ok(SeriesPolicy {
            aggregation: aggregation.ok_or_else(|| policy.needs_aggregation())?,
            retention: policy.retention.period(),
            name: policy.name,
        })
    });
    let rules = SeriesRules {
        raw_retention: raw.retention.period(),
        policies: rules.collect::<Result<_, WireError>>()?,
    };
    Ok((rules, shown))
}

fn check_pair(finer: &Policy, coarser: &Policy) -> Result<(), WireError> {
    let Some(aggregation) = coarser.aggregation else {
        return Err(coarser.needs_aggregation());
    };
    let refused = |message: String| Err(WireError::new(kind::INVALID_OPERATION, message));
    if finer.aggregation == Some(aggregation) {
        return refused(format!(
            "The policies '{}' and '{}' have the same aggregation time ({aggregation}).",
            finer.name, coarser.name
        ));
    }
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

fn read_policy(policy: &Map<String, Value>, is_raw: bool) -> Result<Policy, WireError> {
    let named = member(policy, "Name", Value::as_str, "text")?;
    let named = if is_raw { Some(RAW) } else { named };
    let name = named.filter(|name| (1..=NAME_BYTES_MAX).contains(&name.trim().len()));
    let name = name.ok_or_else(|| {
        let message =
            format!("A policy of time series needs a 'Name' of up to {NAME_BYTES_MAX} bytes.");
        WireError::new(kind::ARGUMENT, message)
    })?;
    if !is_raw && is_named(name, RAW) {
        let message = format!("'{RAW}' is the name of what is not rolled up: use 'RawPolicy'.");
        return Err(WireError::new(kind::ARGUMENT, message));
    }
    let span = |of: &str| {
        let what = "an object of 'Value' and 'Unit'";
        let span = member(policy, of, Value::as_object, what)?;
        span.map(|span| TimeValue::read(span, of, name)).transpose()
    };
    Ok(Policy {
        aggregation: if is_raw {
            None
        } else {
            span("AggregationTime")?
        },
        retention: span("RetentionTime")?.unwrap_or(TimeValue::Endless),
        name: name.to_owned(),
    })
}

impl Policy {
    fn needs_aggregation(&self) -> WireError {
        let message = format!(
            "The policy '{}' needs an 'AggregationTime' of up to 10,000 years.",
            self.name
        );
        WireError::new(kind::ARGUMENT, message)
    }

    fn to_json(&self) -> Value {
        let none = json!({ "Value": 0, "Unit": "None" });
        json!({
            "Name": self.name,
            "AggregationTime": self.aggregation.map_or(none, TimeValue::to_json),
            "RetentionTime": self.retention.to_json(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;
    const ENDLESS: i64 = 2_147_483_647;

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
        read_collection(settings.as_object().unwrap())
            .unwrap_err()
            .message
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
        let twice = [hourly.clone(), policy("h", seconds(7_200), months(1))];
        assert!(refused(months(1), &twice).contains("two policies called 'h'"));
        let same = [hourly.clone(), policy("I", seconds(3_600), months(1))];
        assert!(refused(months(1), &same).contains("same aggregation time"));
        assert!(refused(seconds(60), &[hourly]).contains("'60 seconds' but should"));
        assert!(refused(seconds(-1), &[]).contains("more than 0"));
        for wrong in [
            policy("", seconds(1), seconds(1)),
            policy("rawPolicy", seconds(1), seconds(1)),
            policy("P", Value::Null, seconds(1)),
            policy("P", months(ENDLESS - 1), seconds(1)),
            policy("P", seconds(0), seconds(1)),
        ] {
            assert!(
                !refused(json!({}), std::slice::from_ref(&wrong)).is_empty(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_configuration_is_kept_in_order_and_whole() {
        let day = policy("ByDay", seconds(DAY), months(1));
        let hour = policy(
            "ByHour",
            seconds(3_600),
            json!({ "Value": ENDLESS, "Unit": "None" }),
        );
        let given = json!({
            "Collections": {
                "Users": { "Policies": [day, hour] },
                "Orders": { "Disabled": true, "Policies": [day] },
                "Cars": { "Disabled": false, "Policies": null, "RawPolicy": null },
            },
            "PolicyCheckFrequency": "00:00:01.5",
        });
        let read = read(given.as_object().unwrap()).unwrap();
        assert_eq!(read.rule.every, Duration::from_millis(1_500));
        let users = &read.members["Collections"]["Users"];
        assert_eq!(users["Policies"], json!([hour, day]));
        assert_eq!(users["RawPolicy"]["Name"], RAW);
        assert_eq!(users["RawPolicy"]["RetentionTime"]["Value"], ENDLESS);
        assert_eq!(read.members["NamedValues"], json!({}));
        let [(name, rules)] = &read.rule.policies.collections[..] else {
            panic!("{:?}", read.rule.policies);
        };
        assert_eq!((&**name, rules.raw_retention), ("Users", None));
        let names: Vec<_> = rules.policies.iter().map(|policy| &*policy.name).collect();
        assert_eq!(names, ["ByHour", "ByDay"]);
        assert_eq!(rules.policies[0].retention, None);
        for wrong in [
            json!({ "PolicyCheckFrequency": "00:00:00" }),
            json!({ "PolicyCheckFrequency": 5 }),
            json!({ "Collections": { "a": {}, "A": {} } }),
            json!({ "Collections": [] }),
            json!({ "Collections": { "a": 1 } }),
            json!({ "Collections": { "a": { "Disabled": "no" } } }),
            json!({ "Collections": { "a": { "Policies": {} } } }),
            json!({ "Collections": { "a": { "Policies": [1] } } }),
            json!({ "Collections": { "a": { "RawPolicy": [] } } }),
            json!({ "Collections": { "a": { "RawPolicy": { "RetentionTime": 5 } } } }),
            json!({ "Collections": { "a": { "RawPolicy": { "RetentionTime": { "Unit": 5 } } } } }),
        ] {
            assert!(super::read(wrong.as_object().unwrap()).is_err(), "{wrong}");
        }
    }
}
