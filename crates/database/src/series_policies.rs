//! Policies of time series: what entries are rolled up into, how long they are kept, and doing it.
//!
//! The server calls [`Database::carry_out_series_policies`] again and again; the database's own
//! clock decides what is due. Policies are stored with the documents and read by each operation
//! that changes a series, so that it can note what its change makes due: `store::series_due`.
//! `store::rollup` does it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::time::UnixTicks;
use jackdaw_document::{Builder, Document, DocumentBuf, Object, Value};
use jackdaw_query::Period;

use crate::database::Database;
use crate::error::{ReadError, WriteError};
use crate::store::{Applied, carry_out_series, store_series_policies};

/// What stands between the name of a series and that of the policy which rolled it up.
pub(crate) const SEPARATOR: char = '@';
const TICKS_PER_MILLISECOND: i64 = 10_000;

/// One span that entries of the series of a collection are rolled up into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesPolicy {
    /// What its series are called behind `@`; in any letter case.
    pub name: String,
    /// The span of time that becomes one entry.
    pub aggregation: Period,
    /// How long such entries are kept; `None` for ever.
    pub retention: Option<Period>,
}

/// The policies of one collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesRules {
    /// How long the entries that clients append are kept; `None` for ever.
    pub raw_retention: Option<Period>,
    /// From the shortest span to the longest. Each rolls up what the one before made, the first
    /// what clients appended, and fills its spans with whole spans of that one.
    pub policies: Vec<SeriesPolicy>,
}

/// The policies of all collections that have some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesPolicies {
    /// By name of the collection, in any letter case.
    pub collections: Vec<(String, SeriesRules)>,
}

/// What the policies of its collection mean for one series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeriesPlace<'p> {
    /// How many policies come before: 0 for what clients append.
    pub(crate) level: usize,
    /// The span of its own entries; `None` for what clients append.
    pub(crate) own: Option<Period>,
    pub(crate) retention: Option<Period>,
    /// What it is rolled up by.
    pub(crate) next: Option<&'p SeriesPolicy>,
}

impl SeriesPolicies {
    /// What they mean for a series of a document in `collection`; `None` when nothing.
    pub(crate) fn place(&self, collection: &str, series: &str) -> Option<SeriesPlace<'_>> {
        let folded = lowercase(collection);
        let mut all = self.collections.iter();
        let (_, rules) = all.find(|(name, _)| lowercase(name) == folded)?;
        let Some((_, policy)) = series.split_once(SEPARATOR) else {
            return Some(SeriesPlace {
                level: 0,
                own: None,
                retention: rules.raw_retention,
                next: rules.policies.first(),
            });
        };
        let policy = lowercase(policy);
        let mut named = rules.policies.iter();
        let slot = named.position(|known| lowercase(&known.name) == policy)?;
        Some(SeriesPlace {
            level: slot + 1,
            own: Some(rules.policies[slot].aggregation),
            retention: rules.policies[slot].retention,
            next: rules.policies.get(slot + 1),
        })
    }

    /// The form that is stored. Bytes: docs/format.md, setting `series_policies`.
    pub(crate) fn to_document(&self) -> DocumentBuf {
        let mut builder = Builder::new();
        builder.begin_object().key("Collections").begin_object();
        for (name, rules) in &self.collections {
            builder.key(name).begin_object();
            write_period(&mut builder, "RawRetention", rules.raw_retention);
            builder.key("Policies").begin_array();
            for policy in &rules.policies {
                builder.begin_object().key("Name").string(&policy.name);
                write_period(&mut builder, "Aggregation", Some(policy.aggregation));
                write_period(&mut builder, "Retention", policy.retention);
                builder.end_object();
            }
            builder.end_array().end_object();
        }
        builder.end_object().end_object();
        builder.finish().expect("the calls are balanced")
    }

    /// Reads what [`SeriesPolicies::to_document`] made; none when nothing is stored.
    pub(crate) fn decode(stored: Option<&[u8]>) -> Result<SeriesPolicies, ReadError> {
        let Some(bytes) = stored else {
            return Ok(SeriesPolicies::default());
        };
        let read = || {
            let document = Document::open(bytes).ok()?;
            let root = document.root().as_object()?;
            let mut policies = SeriesPolicies::default();
            for (name, rules) in root.get("Collections")?.as_object()?.iter() {
                let rules = read_rules(rules.as_object()?)?;
                policies.collections.push((name.to_owned(), rules));
            }
            Some(policies)
        };
        read().ok_or_else(|| ReadError::damaged("the policies of time series"))
    }
}

fn read_rules(rules: Object<'_>) -> Option<SeriesRules> {
    let mut policies = Vec::new();
    for policy in rules.get("Policies")?.as_array()?.iter() {
        let policy = policy.as_object()?;
        policies.push(SeriesPolicy {
            name: policy.get("Name")?.as_str()?.to_owned(),
            aggregation: read_period(policy.get("Aggregation")?)??,
            retention: read_period(policy.get("Retention")?)?,
        });
    }
    Some(SeriesRules {
        raw_retention: read_period(rules.get("RawRetention")?)?,
        policies,
    })
}

/// Writes `{"Months": n}`, `{"Milliseconds": n}`, or null.
fn write_period(builder: &mut Builder, name: &str, period: Option<Period>) {
    builder.key(name);
    match period {
        None => builder.null(),
        Some(Period::Months(count)) => builder.begin_object().key("Months").long(count),
        Some(Period::Milliseconds(count)) => builder.begin_object().key("Milliseconds").long(count),
    };
    if period.is_some() {
        builder.end_object();
    }
}

/// `None` for what is no period, `Some(None)` for null.
fn read_period(value: Value<'_>) -> Option<Option<Period>> {
    if matches!(value, Value::Null) {
        return Some(None);
    }
    let (unit, count) = value.as_object()?.iter().next()?;
    let count = count.as_i64().filter(|count| *count > 0)?;
    match unit {
        "Months" => Some(Some(Period::Months(count))),
        "Milliseconds" => Some(Some(Period::Milliseconds(count))),
        _ => None,
    }
}

/// When all that the policies of a database asked for was last done since it was opened.
#[derive(Debug, Default)]
pub(crate) struct SeriesClock(Mutex<Option<UnixTicks>>);

impl SeriesClock {
    /// Whether it is time to look again.
    fn is_time(&self, every: Duration, now: UnixTicks) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let every = i64::try_from(every.as_nanos() / 100).unwrap_or(i64::MAX);
        // A clock that was set back must not keep it from happening.
        last.is_none_or(|last| now < last || now.0 - last.0 >= every)
    }

    fn note_done(&self, at: UnixTicks) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
    }
}

impl Database {
    /// Says which policies time series have from now on. Other ones than before are applied to all
    /// entries that are there when [`Database::carry_out_series_policies`] is called next; what
    /// policies made that are no more stays.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn set_series_policies(&self, policies: &SeriesPolicies) -> Result<(), WriteError> {
        if self.read()?.series_policies()? == *policies {
            return Ok(());
        }
        let policies = policies.clone();
        self.run(move |transaction, _| {
            store_series_policies(transaction, &policies)?;
            Ok(((), Applied::default()))
        })
    }

    /// Rolls up and deletes what is due, if `every` has passed since that was last done; gives how
    /// many spans and entries that were. A span is due when it is over, an entry when it is older
    /// than its policy keeps it. Each transaction reads about 200,000 entries at most, unless one
    /// span has more, and changes 16 MiB of pages; before each, `may_go_on` is asked. What was
    /// broken off goes on with the next call, whatever `every` says.
    ///
    /// # Errors
    /// See [`WriteError`]; what was done before stays.
    pub fn carry_out_series_policies(
        &self,
        every: Duration,
        may_go_on: &dyn Fn() -> bool,
    ) -> Result<u64, WriteError> {
        let now = self.now();
        if !self.series_clock().is_time(every, now) {
            return Ok(0);
        }
        let until = now.0.div_euclid(TICKS_PER_MILLISECOND);
        let mut total = 0;
        while self.read()?.has_due_series(until)? {
            if !may_go_on() {
                return Ok(total);
            }
            let carry_out =
                move |transaction: &mut _, core: &_| carry_out_series(transaction, core, until);
            total += self.run(carry_out)?;
        }
        self.series_clock().note_done(now);
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policies() -> SeriesPolicies {
        let policy = |name: &str, aggregation, retention| SeriesPolicy {
            name: name.to_owned(),
            aggregation,
            retention,
        };
        let rules = SeriesRules {
            raw_retention: Some(Period::Milliseconds(86_400_000)),
            policies: vec![
                policy("ByHour", Period::Milliseconds(3_600_000), None),
                policy("ByMonth", Period::Months(1), Some(Period::Months(12))),
            ],
        };
        SeriesPolicies {
            collections: vec![("Users".to_owned(), rules)],
        }
    }

    #[test]
    fn stored_policies_read_back_and_damage_is_an_error() {
        let stored = policies().to_document();
        let text = stored.root().to_json();
        assert!(text.contains(r#""Aggregation":{"Months":1},"Retention":{"Months":12}"#));
        let read = SeriesPolicies::decode(Some(stored.as_bytes())).unwrap();
        assert_eq!(read, policies());
        assert!(SeriesPolicies::decode(Some(b"x")).is_err());
        assert_eq!(
            SeriesPolicies::decode(None).unwrap(),
            SeriesPolicies::default()
        );
    }

    #[test]
    fn a_series_has_its_place_by_the_policy_in_its_name() {
        let policies = policies();
        let raw = policies.place("users", "Heart").unwrap();
        assert_eq!((raw.level, raw.own), (0, None));
        assert_eq!(raw.next.unwrap().name, "ByHour");
        let hourly = policies.place("USERS", "Heart@byhour").unwrap();
        assert_eq!(hourly.own, Some(Period::Milliseconds(3_600_000)));
        assert_eq!(hourly.next.unwrap().name, "ByMonth");
        assert_eq!(policies.place("Users", "Heart@ByMonth").unwrap().next, None);
        assert_eq!(policies.place("Users", "Heart@ByYear"), None);
        assert_eq!(policies.place("Orders", "Heart"), None);
    }
}
