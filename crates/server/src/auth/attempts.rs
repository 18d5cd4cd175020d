//! Failed exchanges of keys, counted by address and by key, so that guessing is slow.
//!
//! Used by `routes::tokens`. A token that was handed out is not touched by failures of others:
//! there is no locking out.
//!
//! Invariant: the memory is bounded; when it is full, the oldest entries are forgotten.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::http::subscriber;

/// Failures are counted over so long.
const WINDOW: Duration = Duration::from_secs(60);
const OF_ADDRESS_MAX: u32 = 20;
const OF_KEY_MAX: u32 = 5;
/// Addresses, and keys, that are remembered.
const REMEMBERED_MAX: usize = 10_000;

#[derive(Debug)]
struct Counts<K>(HashMap<K, (Instant, u32)>);

impl<K> Default for Counts<K> {
    fn default() -> Counts<K> {
        Counts(HashMap::new())
    }
}

impl<K: Clone + Eq + Hash> Counts<K> {
    /// How long to wait when there were too many.
    fn wait(&self, who: &K, max: u32, now: Instant) -> Option<Duration> {
        let (since, count) = self.0.get(who)?;
        let left = WINDOW.checked_sub(now.saturating_duration_since(*since))?;
        (*count >= max && !left.is_zero()).then_some(left)
    }

    fn count(&mut self, who: K, now: Instant) {
        if self.0.len() >= REMEMBERED_MAX && !self.0.contains_key(&who) {
            self.0
                .retain(|_, (since, _)| now.saturating_duration_since(*since) < WINDOW);
            let oldest = self.0.iter().min_by_key(|(_, (since, _))| *since);
            let oldest = oldest.map(|(who, _)| who.clone());
            if let Some(oldest) = oldest.filter(|_| self.0.len() >= REMEMBERED_MAX) {
                self.0.remove(&oldest);
            }
        }
        let entry = self.0.entry(who).or_insert((now, 0));
        if now.saturating_duration_since(entry.0) >= WINDOW {
            *entry = (now, 0);
        }
        entry.1 += 1;
    }
}

/// See the file head.
#[derive(Debug, Default)]
pub(crate) struct Attempts(Mutex<(Counts<IpAddr>, Counts<String>)>);

impl Attempts {
    /// How long somebody has to wait before the next attempt; `None` when they may try.
    pub(crate) fn wait(&self, from: IpAddr, key: &str, now: Instant) -> Option<Duration> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_address = counts.0.wait(&subscriber(from), OF_ADDRESS_MAX, now);
        of_address.max(counts.1.wait(&key.to_owned(), OF_KEY_MAX, now))
    }

    /// Counts a failure.
    pub(crate) fn failed(&self, from: IpAddr, key: &str, now: Instant) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.0.count(subscriber(from), now);
        counts.1.count(key.to_owned(), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_and_a_key_wait_after_their_failures_and_others_do_not() {
        let attempts = Attempts::default();
        let start = Instant::now();
        let address = |last| IpAddr::from([10, 0, 0, last]);
        for _ in 0..OF_KEY_MAX {
            assert_eq!(attempts.wait(address(1), "a", start), None);
            attempts.failed(address(1), "a", start);
        }
        assert_eq!(attempts.wait(address(2), "a", start), Some(WINDOW));
        assert_eq!(attempts.wait(address(1), "b", start), None);
        assert_eq!(attempts.wait(address(2), "a", start + WINDOW), None);
        for slot in 0..OF_ADDRESS_MAX {
            attempts.failed(address(3), &format!("key{slot}"), start);
        }
        assert_eq!(attempts.wait(address(3), "new", start), Some(WINDOW));
    }

    #[test]
    fn the_memory_is_bounded_and_the_oldest_are_forgotten() {
        let mut counts = Counts::default();
        let start = Instant::now();
        for who in 0..REMEMBERED_MAX + 3 {
            let later = Duration::from_micros(who as u64);
            counts.count(who, start + later);
        }
        assert_eq!(counts.0.len(), REMEMBERED_MAX);
        let is_there = |who| counts.0.contains_key(&who);
        assert!((0..3).all(|who| !is_there(who)) && is_there(3));
    }
}
