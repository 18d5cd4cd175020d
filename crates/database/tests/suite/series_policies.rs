//! Proves that time series are rolled up and that old entries go, as policies say.
//!
//! `rolled_up_series_are_what_a_naive_roll_up_gives` compares with a map of all entries over random
//! changes, late ones too, moves of the clock, restarts, power losses and runs that were broken
//! off. The others prove single facts.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jackdaw_database::{
    Command, Database, Period, SeriesAppend, SeriesChange, SeriesPolicies, SeriesPolicy,
    SeriesRules, WriteError,
};
use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, Rng, SimVfs};

use crate::common::{delete, open, put};

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;
const DAY: i64 = 24 * HOUR;

fn policy(name: &str, aggregation: Period, retention: Option<i64>) -> SeriesPolicy {
    SeriesPolicy {
        name: name.to_owned(),
        aggregation,
        retention: retention.map(Period::Milliseconds),
    }
}

fn policies(raw_retention: Option<i64>, policies: Vec<SeriesPolicy>) -> SeriesPolicies {
    let rules = SeriesRules {
        raw_retention: raw_retention.map(Period::Milliseconds),
        policies,
    };
    SeriesPolicies {
        collections: vec![("users".to_owned(), rules)],
    }
}

fn now(vfs: &Arc<SimVfs>) -> i64 {
    i64::try_from(vfs.unix_nanos() / 1_000_000).unwrap()
}

fn change(id: &str, name: &str, change: SeriesChange) -> Command {
    Command::Series {
        id: id.to_owned(),
        name: name.to_owned(),
        change,
    }
}

fn append(id: &str, name: &str, entries: impl IntoIterator<Item = (i64, Vec<f64>)>) -> Command {
    let entries = entries.into_iter();
    let appends = entries.map(|(at, values)| SeriesAppend {
        at,
        values,
        tag: None,
    });
    let appends = SeriesChange {
        appends: appends.collect(),
        ..SeriesChange::default()
    };
    change(id, name, appends)
}

fn remove(id: &str, name: &str, from: i64, to: i64) -> Command {
    let deletes = SeriesChange {
        deletes: vec![(Some(from), Some(to))],
        ..SeriesChange::default()
    };
    change(id, name, deletes)
}

/// Does all that is due.
fn carry_out(database: &Database) -> u64 {
    database
        .carry_out_series_policies(Duration::ZERO, &|| true)
        .unwrap()
}

fn entries(database: &Database, id: &str, name: &str) -> BTreeMap<i64, Vec<f64>> {
    let snapshot = database.read().unwrap();
    let number = snapshot.number(id).unwrap().unwrap();
    let Some(series) = snapshot.series(number, name).unwrap() else {
        return BTreeMap::new();
    };
    let all = snapshot
        .series_entries(&series, i64::MIN, i64::MAX)
        .unwrap();
    let all: BTreeMap<_, _> = all
        .map(|entry| entry.unwrap())
        .map(|e| (e.at, e.values))
        .collect();
    let (first, last) = (all.keys().next(), all.keys().next_back());
    assert_eq!((first, last), (Some(&series.first), Some(&series.last)));
    assert_eq!(all.len() as u64, series.count);
    all
}

fn length(database: &Database, tree: &str) -> u64 {
    let transaction = database.documents().read().unwrap();
    transaction.tree(tree).unwrap().map_or(0, |tree| tree.len())
}

fn in_years(at: i64) -> String {
    jackdaw_base::time::UnixTicks(at * 10_000).to_string()
}

/// First, last, min, max, sum, count of each position.
fn summary<'e>(entries: impl Iterator<Item = &'e Vec<f64>>) -> Vec<f64> {
    let mut out: Vec<f64> = Vec::new();
    for values in entries {
        for (position, value) in values.iter().enumerate() {
            if out.len() < (position + 1) * 6 {
                out.resize((position + 1) * 6, 0.0);
            }
            let out = &mut out[position * 6..][..6];
            if out[5] == 0.0 {
                out.copy_from_slice(&[*value, *value, *value, *value, 0.0, 0.0]);
            }
            out[1] = *value;
            out[2] = out[2].min(*value);
            out[3] = out[3].max(*value);
            out[4] += value;
            out[5] += 1.0;
        }
    }
    out
}

/// What one series should hold.
#[derive(Default)]
struct Model {
    /// All that was appended and that no client deleted.
    all: BTreeMap<i64, Vec<f64>>,
    /// Times of entries that came when others around them might have been deleted already.
    late: BTreeSet<i64>,
    /// Entries before this may have been deleted as too old.
    until: i64,
}

impl Model {
    /// What a policy should have made: which entries are first and last is left out (NaN) where
    /// late entries came.
    fn rolled_up(&self, period: Period, kept: i64, now: i64) -> BTreeMap<i64, Vec<f64>> {
        let mut spans: BTreeMap<i64, Vec<&Vec<f64>>> = BTreeMap::new();
        for (at, values) in &self.all {
            spans.entry(period.floor(*at)).or_default().push(values);
        }
        spans.retain(|start, _| *start >= kept && period.after(*start) <= now);
        let spans = spans.into_iter().map(|(start, values)| {
            let mut made = summary(values.into_iter());
            if self.late.range(start..period.after(start)).next().is_some() {
                blank(&mut made);
            }
            (start, made)
        });
        spans.collect()
    }
}

/// Leaves out which values are first and last.
fn blank(values: &mut [f64]) {
    for parts in values.chunks_mut(6) {
        (parts[0], parts[1]) = (-1.0, -1.0);
    }
}

/// Tells how to replay a run that fails.
struct Story(u64);

impl Drop for Story {
    #[expect(clippy::print_stderr, reason = "a failed run has to be found again")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "replay with: run({}) in place of the loop over seeds",
                self.0
            );
        }
    }
}

struct Run {
    vfs: Arc<SimVfs>,
    database: Arc<Database>,
    rng: Rng,
    models: BTreeMap<&'static str, Model>,
    chain: Vec<SeriesPolicy>,
    raw_retention: i64,
    has_policies: bool,
}

impl Run {
    fn new(seed: u64) -> Run {
        let vfs = SimVfs::new(seed);
        let database = open(&vfs);
        let names = ["u/1", "u/2"];
        let documents = names.map(|id| put(id, "Users", "{}"));
        database.batch(documents.to_vec()).unwrap();
        let start = now(&vfs) - 60 * DAY;
        let model = || Model {
            until: start,
            ..Model::default()
        };
        Run {
            vfs,
            database,
            rng: Rng::new(seed),
            models: names.map(|name| (name, model())).into(),
            chain: vec![
                policy("ByHour", Period::Milliseconds(HOUR), Some(4 * DAY)),
                policy("ByDay", Period::Milliseconds(DAY), Some(40 * DAY)),
                policy("ByMonth", Period::Months(1), None),
            ],
            raw_retention: 30 * HOUR,
            has_policies: false,
        }
    }

    fn id(&mut self) -> &'static str {
        if self.rng.chance(3) { "u/2" } else { "u/1" }
    }

    fn values(&mut self) -> Vec<f64> {
        let count = 1 + self.rng.below(3);
        (0..count).map(|_| self.rng.below(100) as f64).collect()
    }

    fn time(&mut self, from: i64, to: i64) -> i64 {
        from + i64::try_from(self.rng.below(u64::try_from(to - from).unwrap())).unwrap()
    }

    /// Appends near the present, or long ago.
    fn append(&mut self, is_late: bool) {
        let (id, now) = (self.id(), now(&self.vfs));
        let mut fresh = Vec::new();
        for _ in 0..=self.rng.below(if is_late { 3 } else { 20 }) {
            let at = match is_late {
                true => self.time(now - 50 * DAY, now),
                false => self.time(now - 5 * HOUR, now + HOUR),
            };
            let values = self.values();
            let model = self.models.get_mut(id).unwrap();
            // What was deleted as too old cannot be replaced.
            if at < model.until && model.all.contains_key(&at) {
                continue;
            }
            if at < model.until {
                model.late.insert(at);
            }
            model.all.insert(at, values.clone());
            fresh.push((at, values));
        }
        self.database
            .batch(vec![append(id, "Heart", fresh)])
            .unwrap();
    }

    fn remove(&mut self) {
        let (id, now) = (self.id(), now(&self.vfs));
        let until = self.models[id].until;
        let from = self.time(now - 40 * HOUR, now).max(until);
        let to = from + self.time(0, 3 * HOUR);
        self.database
            .batch(vec![remove(id, "heart", from, to)])
            .unwrap();
        let model = self.models.get_mut(id).unwrap();
        model.all.retain(|at, _| !(from..=to).contains(at));
    }

    fn set_policies(&mut self) {
        let set = policies(Some(self.raw_retention), self.chain.clone());
        self.database.set_series_policies(&set).unwrap();
        self.has_policies = true;
    }

    fn carry_out(&mut self, is_broken_off: bool) {
        if !self.has_policies {
            return;
        }
        let until = now(&self.vfs) - self.raw_retention;
        for model in self.models.values_mut() {
            model.until = until;
        }
        if !is_broken_off {
            carry_out(&self.database);
            return self.check();
        }
        let asked = std::cell::Cell::new(0);
        let few = self.rng.below(3);
        let may_go_on = || asked.replace(asked.get() + 1) < few;
        let done = self
            .database
            .carry_out_series_policies(Duration::ZERO, &may_go_on);
        done.unwrap();
    }

    fn check(&self) {
        let now = now(&self.vfs);
        for (id, model) in &self.models {
            let raw: BTreeMap<_, _> = model.all.range(now - self.raw_retention..).collect();
            let stored = entries(&self.database, id, "Heart");
            assert_eq!(
                stored.iter().collect::<BTreeMap<_, _>>(),
                raw,
                "raw of {id}"
            );
            for policy in &self.chain {
                let kept = policy.retention.map_or(i64::MIN, |retention| {
                    policy.aggregation.floor(retention.before(now))
                });
                let expected = model.rolled_up(policy.aggregation, kept, now);
                let name = format!("Heart@{}", policy.name);
                let mut stored = entries(&self.database, id, &name);
                for (start, values) in &mut stored {
                    if expected.get(start).is_some_and(|values| values[0] < 0.0) {
                        blank(values);
                    }
                }
                for (start, values) in &expected {
                    let at = in_years(*start);
                    assert_eq!(stored.get(start), Some(values), "{id} {name} at {at}");
                }
                assert_eq!(stored.len(), expected.len(), "{id} {name}");
            }
        }
    }
}

fn run(seed: u64) {
    let _story = Story(seed);
    let mut run = Run::new(seed);
    for _ in 0..70 {
        match run.rng.below(12) {
            0..4 => run.append(false),
            4..6 => run.append(true),
            6 => run.remove(),
            7 | 8 => {
                let hours = [1, 5, 20, 50][usize::try_from(run.rng.below(4)).unwrap()];
                let by = run.time(0, hours * HOUR);
                run.vfs
                    .advance_clock(Duration::from_millis(by.unsigned_abs()));
            }
            9 => run.carry_out(true),
            10 => {
                // All handles are gone before it is opened again.
                run.database = open(&SimVfs::new(0));
                if run.rng.chance(2) {
                    // Power is lost.
                    let choice = CrashChoice::Random(run.rng.next_u64());
                    run.vfs = run.vfs.crash(choice);
                }
                run.database = open(&run.vfs);
            }
            _ if !run.has_policies => run.set_policies(),
            _ => run.carry_out(false),
        }
    }
    run.set_policies();
    run.carry_out(false);
    assert!(run.database.verify().unwrap().is_sound());
}

#[test]
fn rolled_up_series_are_what_a_naive_roll_up_gives() {
    for seed in 0..8 {
        run(seed);
    }
}

#[test]
fn a_span_is_rolled_up_when_it_is_over_and_kept_until_all_of_it_is_too_old() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    let six_hours = policy("By6Hours", Period::Milliseconds(6 * HOUR), Some(4 * DAY));
    let set = policies(Some(DAY), vec![six_hours]);
    database.set_series_policies(&set).unwrap();
    // Into the middle of a span.
    vfs.advance_clock(Duration::from_millis((12 * DAY + 2 * HOUR).unsigned_abs()));
    let now = now(&vfs);
    let minutes = (0..=(13 * DAY) / (10 * 60 * SECOND)).map(|n| now - 12 * DAY + n * 600_000);
    let many = minutes.map(|at| (at, vec![1.0]));
    let commands = vec![put("u/1", "Users", "{}"), append("u/1", "Price", many)];
    database.batch(commands).unwrap();
    carry_out(&database);
    let rolled_up = entries(&database, "u/1", "Price@By6Hours");
    assert_eq!(
        rolled_up.len(),
        16,
        "as many as the protocol's own clients expect"
    );
    assert_eq!(
        rolled_up.values().next().unwrap(),
        &[1.0, 1.0, 1.0, 1.0, 36.0, 36.0]
    );
    let raw = entries(&database, "u/1", "Price");
    assert_eq!(raw.keys().next(), Some(&(now - DAY)));
    let snapshot = database.read().unwrap();
    let row = snapshot.get("u/1").unwrap().unwrap();
    let metadata = row.metadata().unwrap().root().to_json();
    assert!(
        metadata.contains(r#""@timeseries":["Price","Price@By6Hours"]"#),
        "{metadata}"
    );
}

#[test]
fn new_policies_take_what_is_there_and_old_ones_leave_what_they_made() {
    let vfs = SimVfs::new(2);
    let database = open(&vfs);
    let start = now(&vfs) - DAY;
    let seconds = (0..3_000).map(|n| (start + n * SECOND, vec![n as f64, 1.0]));
    let mut commands = vec![put("u/1", "Users", "{}"), put("o/1", "Orders", "{}")];
    commands.push(append("u/1", "Heart", seconds));
    commands.push(append("o/1", "Heart", [(start, vec![1.0])]));
    database.batch(commands).unwrap();
    assert_eq!(carry_out(&database), 0);
    let by_second = policy("BySecond", Period::Milliseconds(SECOND), None);
    let by_minute = policy("ByMinute", Period::Milliseconds(60 * SECOND), None);
    let both = policies(None, vec![by_second.clone(), by_minute]);
    database.set_series_policies(&both).unwrap();
    carry_out(&database);
    assert_eq!(entries(&database, "u/1", "heart@bysecond").len(), 3_000);
    let minutes = entries(&database, "u/1", "Heart@ByMinute");
    assert_eq!(minutes.len(), 50);
    let third = [
        120.0, 179.0, 120.0, 179.0, 8_970.0, 60.0, 1.0, 1.0, 1.0, 1.0, 60.0, 60.0,
    ];
    assert_eq!(minutes[&(start + 120 * SECOND)], third);
    assert!(entries(&database, "o/1", "Heart@BySecond").is_empty());
    assert_eq!(length(&database, "time_series_due"), 0);
    let etag = database.read().unwrap().last_etag();
    // The same again changes nothing.
    database
        .set_series_policies(&policies(None, vec![]))
        .unwrap();
    carry_out(&database);
    database.set_series_policies(&both).unwrap();
    carry_out(&database);
    assert_eq!(database.read().unwrap().last_etag(), etag);
    // Longer spans take the place of shorter ones of the same name.
    let longer = policy("ByMinute", Period::Milliseconds(120 * SECOND), None);
    let set = policies(None, vec![by_second, longer]);
    database.set_series_policies(&set).unwrap();
    carry_out(&database);
    let longer = entries(&database, "u/1", "Heart@ByMinute");
    assert_eq!((longer.len(), longer[&start][5]), (25, 120.0));
    database.batch(vec![delete("u/1"), delete("o/1")]).unwrap();
    assert_eq!(length(&database, "time_series_entries"), 0);
}

#[test]
fn policies_put_before_others_and_taken_away_leave_what_these_made() {
    let vfs = SimVfs::new(5);
    let database = open(&vfs);
    let hourly = policy("ByHour", Period::Milliseconds(HOUR), Some(50 * HOUR));
    let daily = policy("ByDay", Period::Milliseconds(DAY), None);
    let short = policies(Some(30 * HOUR), vec![daily.clone()]);
    let long = policies(Some(30 * HOUR), vec![hourly, daily]);
    database.batch(vec![put("u/1", "Users", "{}")]).unwrap();
    let first = now(&vfs);
    assert_eq!(first % DAY, 0, "the simulated clock begins with a day");
    let mut expected = Vec::new();
    for (round, set) in [&short, &long, &long, &short].into_iter().enumerate() {
        database.set_series_policies(set).unwrap();
        for _ in 0..3 {
            // A day's entries, and one more long ago.
            let begin = now(&vfs);
            let day = (0..24).map(|hour| (begin + hour * HOUR, vec![1.0]));
            let late = first + i64::try_from(round).unwrap() * SECOND + 1;
            let late = (!expected.is_empty()).then_some((late, vec![1.0]));
            let commands = vec![append("u/1", "Heart", day.chain(late))];
            database.batch(commands).unwrap();
            if let Some(first) = expected.first_mut() {
                *first += 1.0;
            }
            expected.push(24.0);
            // The end of retention is in the middle of days and of hours.
            vfs.advance_clock(Duration::from_millis((13 * HOUR + 7_000).unsigned_abs()));
            carry_out(&database);
            vfs.advance_clock(Duration::from_millis((11 * HOUR - 7_000).unsigned_abs()));
            carry_out(&database);
            let days = entries(&database, "u/1", "Heart@ByDay");
            let counts: Vec<f64> = days.values().map(|day| day[5]).collect();
            assert_eq!(counts, expected, "round {round}");
        }
    }
}

#[test]
fn clients_change_rolled_up_series_that_are_there_and_make_none() {
    let vfs = SimVfs::new(3);
    let database = open(&vfs);
    let hourly = policy("ByHour", Period::Milliseconds(HOUR), Some(2 * DAY));
    let daily = policy("ByDay", Period::Milliseconds(DAY), Some(2 * DAY));
    database
        .set_series_policies(&policies(Some(DAY), vec![hourly, daily]))
        .unwrap();
    let at = now(&vfs) - DAY;
    let own = |at| {
        append(
            "u/1",
            "Heart@ByHour",
            [(at, vec![2.0, 4.0, 2.0, 4.0, 6.0, 2.0])],
        )
    };
    database.batch(vec![put("u/1", "Users", "{}")]).unwrap();
    let refused = database.batch(vec![own(at)]);
    assert!(
        matches!(refused, Err(WriteError::InvalidEntry { .. })),
        "{refused:?}"
    );
    let raw = append("u/1", "Heart", [(at, vec![1.0])]);
    database.batch(vec![raw]).unwrap();
    carry_out(&database);
    database.batch(vec![own(at + HOUR)]).unwrap();
    carry_out(&database);
    let day = Period::Milliseconds(DAY).floor(at);
    let daily = entries(&database, "u/1", "Heart@ByDay");
    assert_eq!(daily[&day], [1.0, 4.0, 1.0, 4.0, 7.0, 3.0]);
    // Everything goes in the end, and what is remembered of it with the document.
    vfs.advance_clock(Duration::from_millis((10 * DAY).unsigned_abs()));
    carry_out(&database);
    for name in ["Heart", "Heart@ByHour", "Heart@ByDay"] {
        assert!(entries(&database, "u/1", name).is_empty(), "{name}");
    }
    assert_eq!(length(&database, "time_series_due"), 0);
    assert_eq!(length(&database, "time_series_retired"), 2);
    database.batch(vec![delete("u/1")]).unwrap();
    assert_eq!(length(&database, "time_series_retired"), 0);
}

#[test]
fn policies_are_looked_at_as_often_as_is_said() {
    let vfs = SimVfs::new(4);
    let database = open(&vfs);
    let day = policies(Some(DAY), vec![]);
    database.set_series_policies(&day).unwrap();
    let old = now(&vfs) - 2 * DAY;
    let append_old = || append("u/1", "Heart", [(old, vec![1.0])]);
    database
        .batch(vec![put("u/1", "Users", "{}"), append_old()])
        .unwrap();
    let minute = Duration::from_secs(60);
    let look = || {
        database
            .carry_out_series_policies(minute, &|| true)
            .unwrap()
    };
    assert_eq!(look(), 1);
    database.batch(vec![append_old()]).unwrap();
    assert_eq!(look(), 0, "a minute has not passed");
    vfs.advance_clock(minute);
    let broken_off = database.carry_out_series_policies(minute, &|| false);
    assert_eq!(broken_off.unwrap(), 0);
    assert_eq!(look(), 1, "what was broken off goes on");
    assert_eq!(look(), 0);
}
