//! Rates made from successive readings of a database's counters.
//!
//! Used by `live` once a second.

use std::time::Instant;

use jackdaw_database::Counters;

/// Counters per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rates {
    pub(crate) writes: f64,
    pub(crate) reads: f64,
    pub(crate) queries: f64,
}

/// Turns successive readings of one database into rates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    last: Counters,
    at: Instant,
}

impl Meter {
    pub(crate) fn new(counts: Counters, at: Instant) -> Meter {
        Meter { last: counts, at }
    }

    /// Rates since the last reading; zero when no time has passed.
    pub(crate) fn advance(&mut self, counts: Counters, at: Instant) -> Rates {
        let seconds = at.saturating_duration_since(self.at).as_secs_f64();
        let before = std::mem::replace(self, Meter { last: counts, at });
        if seconds == 0.0 {
            return Rates::default();
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate for people, not a count")]
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        Rates {
            writes: rate(counts.writes, before.last.writes),
            reads: rate(counts.reads, before.last.reads),
            queries: rate(counts.queries, before.last.queries),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn rates_are_differences_by_time() {
        let start = Instant::now();
        let mut meter = Meter::new(Counters::default(), start);
        let counters = Counters {
            writes: 30,
            reads: 4,
            queries: 1,
        };
        let rates = meter.advance(counters, start + Duration::from_secs(2));
        assert_eq!(
            rates,
            Rates {
                writes: 15.0,
                reads: 2.0,
                queries: 0.5
            }
        );
        let again = meter.advance(counters, start + Duration::from_secs(3));
        assert_eq!(again, Rates::default());
        assert_eq!(meter.advance(counters, start), Rates::default());
    }
}
