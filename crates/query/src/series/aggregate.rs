//! What is made of the values of many entries, each position of their values by itself.

use jackdaw_document::ObjectWriter;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Aggregate {
    First,
    Last,
    Min,
    Max,
    Sum,
    Average,
    /// The value that so many of a hundred do not exceed.
    Percentile(f64),
    /// From the first to the last value, in units a millisecond of the span.
    Slope,
    /// Of a sample.
    StandardDeviation,
}

/// What a query without `select` gives of each group.
pub(crate) const ALL: [Aggregate; 6] = [
    Aggregate::First,
    Aggregate::Last,
    Aggregate::Min,
    Aggregate::Max,
    Aggregate::Sum,
    Aggregate::Average,
];

impl Aggregate {
    /// The one that is called so in queries.
    pub(crate) fn named(name: &str) -> Option<Aggregate> {
        Some(match name.to_ascii_lowercase().as_str() {
            "first" => Aggregate::First,
            "last" => Aggregate::Last,
            "min" => Aggregate::Min,
            "max" => Aggregate::Max,
            "sum" => Aggregate::Sum,
            "avg" | "average" => Aggregate::Average,
            "slope" => Aggregate::Slope,
            "stddev" | "standarddeviation" => Aggregate::StandardDeviation,
            _ => return None,
        })
    }

    pub(crate) fn output_name(self) -> &'static str {
        match self {
            Aggregate::First => "First",
            Aggregate::Last => "Last",
            Aggregate::Min => "Min",
            Aggregate::Max => "Max",
            Aggregate::Sum => "Sum",
            Aggregate::Average => "Average",
            Aggregate::Percentile(_) => "Percentile",
            Aggregate::Slope => "Slope",
            Aggregate::StandardDeviation => "StandardDeviation",
        }
    }
}

/// The values at one position.
#[derive(Clone, Debug, Default)]
struct Position {
    count: u64,
    first: f64,
    last: f64,
    min: f64,
    max: f64,
    sum: f64,
    /// Mean, and sum of squared distances from it, kept as values come (Welford).
    mean: f64,
    squares: f64,
    /// All values, where a percentile is wanted.
    values: Vec<f64>,
}

/// The values of one group.
#[derive(Clone, Debug, Default)]
pub(super) struct Accumulator {
    positions: Vec<Position>,
}

impl Accumulator {
    /// Adds the values of an entry; how many bytes that keeps.
    pub(super) fn add(&mut self, values: &[f64], keeps_all: bool) -> usize {
        if self.positions.len() < values.len() {
            self.positions.resize_with(values.len(), Position::default);
        }
        for (position, value) in self.positions.iter_mut().zip(values) {
            let value = *value;
            if position.count == 0 {
                (position.first, position.min, position.max) = (value, value, value);
            }
            position.count += 1;
            position.last = value;
            position.min = position.min.min(value);
            position.max = position.max.max(value);
            position.sum += value;
            let distance = value - position.mean;
            position.mean += distance / to_f64(position.count);
            position.squares += distance * (value - position.mean);
            if keeps_all {
                position.values.push(value);
            }
        }
        if keeps_all { size_of_val(values) } else { 0 }
    }

    /// Adds an entry that a policy rolled up: six values for each position, of which the last is
    /// the count. Percentiles and deviations take it for one value, its average.
    pub(super) fn add_rolled_up(&mut self, values: &[f64], keeps_all: bool) -> usize {
        let (parts, _) = values.as_chunks::<6>();
        if self.positions.len() < parts.len() {
            self.positions.resize_with(parts.len(), Position::default);
        }
        for (position, parts) in self.positions.iter_mut().zip(parts) {
            let [first, last, min, max, sum, count] = *parts;
            // A position that no entry of the span had.
            if count < 1.0 {
                continue;
            }
            if position.count == 0 {
                (position.first, position.min, position.max) = (first, min, max);
            }
            position.count += whole(count);
            position.last = last;
            position.min = position.min.min(min);
            position.max = position.max.max(max);
            position.sum += sum;
            let average = sum / count;
            let distance = average - position.mean;
            position.mean += distance * count / to_f64(position.count);
            position.squares += count * distance * (average - position.mean);
            if keeps_all {
                position.values.push(average);
            }
        }
        if keeps_all { size_of_val(values) } else { 0 }
    }

    /// The results over a span of so many milliseconds.
    pub(super) fn finish(
        mut self,
        aggregates: &[Aggregate],
        span: i64,
        scale: Option<f64>,
    ) -> Numbers {
        for position in &mut self.positions {
            position.values.sort_unstable_by(f64::total_cmp);
        }
        let factor = scale.unwrap_or(1.0);
        let each = |value: &dyn Fn(&Position) -> f64| self.positions.iter().map(value).collect();
        let results = aggregates.iter().map(|aggregate| {
            let value = |position: &Position| factor * position.result(*aggregate, span);
            (aggregate.output_name(), each(&value))
        });
        Numbers {
            count: self.positions.first().map_or(0, |position| position.count),
            counts: each(&|position| to_f64(position.count)),
            results: results.collect(),
        }
    }
}

impl Position {
    fn result(&self, aggregate: Aggregate, span: i64) -> f64 {
        match aggregate {
            Aggregate::First => self.first,
            Aggregate::Last => self.last,
            Aggregate::Min => self.min,
            Aggregate::Max => self.max,
            Aggregate::Sum => self.sum,
            Aggregate::Average => self.sum / to_f64(self.count),
            Aggregate::Percentile(percent) => {
                // The first value below which so many of a hundred lie.
                let wanted = percent / 100.0 * to_f64(self.count);
                let ranks = self.values.iter().zip(1..);
                let mut reached = ranks.filter(|(_, rank)| to_f64(*rank) >= wanted);
                reached.next().map_or(0.0, |(value, _)| *value)
            }
            Aggregate::Slope if span > 0 => (self.last - self.first) / span as f64,
            Aggregate::StandardDeviation if self.count > 1 => {
                (self.squares / to_f64(self.count - 1)).sqrt()
            }
            Aggregate::Slope | Aggregate::StandardDeviation => 0.0,
        }
    }
}

/// Counts are far below 2^53.
fn to_f64(count: u64) -> f64 {
    count as f64
}

/// A stored count, which is a whole number of at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are far below 2^53, and what is not saturates"
)]
fn whole(count: f64) -> u64 {
    count as u64
}

/// The results of one group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Numbers {
    count: u64,
    counts: Vec<f64>,
    results: Vec<(&'static str, Vec<f64>)>,
}

impl Numbers {
    /// Number of entries.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The results at `part` of the way from these to `next`.
    pub(super) fn between(&self, next: &Numbers, part: f64) -> Numbers {
        let mix = |from: &[f64], to: &[f64]| {
            let pairs = from.iter().zip(to);
            pairs.map(|(from, to)| from + (to - from) * part).collect()
        };
        let pairs = self.results.iter().zip(&next.results);
        Numbers {
            count: self.count,
            counts: mix(&self.counts, &next.counts),
            results: pairs
                .map(|((name, from), (_, to))| (*name, mix(from, to)))
                .collect(),
        }
    }

    pub(super) fn push(&self, row: &mut ObjectWriter<'_>) {
        let results = self.results.iter();
        let results = results.map(|(name, values)| (*name, values));
        for (name, values) in std::iter::once(("Count", &self.counts)).chain(results) {
            row.array(name, |list| {
                values.iter().for_each(|value| list.double(*value))
            });
        }
    }
}
