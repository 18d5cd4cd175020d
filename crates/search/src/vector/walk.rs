//! Walks over a graph of vectors: from far to near, level by level.
//!
//! Called by `edit`, over what a batch has in memory, and by `nearest`, over a snapshot.
//!
//! Invariants:
//! - Of equal similarities the lesser number comes first, so a walk has one outcome.
//! - A walk visits each vector at most once and keeps as many as it is told: its memory is bounded
//!   by them and by the vectors visited.
//!
//! Threads: one owner.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use rustc_hash::FxHashSet;

use crate::error::IndexError;
use crate::reader::Budget;

/// What a walk asks a graph.
pub(super) trait Graph {
    /// How near a vector is to the one with these bytes.
    fn similarity(&mut self, number: u64, to: &[u8]) -> Result<f32, IndexError>;

    /// Replaces `out` by the vectors linked at a level.
    fn links(&mut self, number: u64, level: u8, out: &mut Vec<u64>) -> Result<(), IndexError>;
}

/// A vector and how near it is. Greater is nearer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) similarity: f32,
    pub(super) number: u64,
}

impl Eq for Found {}

impl Ord for Found {
    fn cmp(&self, other: &Found) -> Ordering {
        let similarity = self.similarity.total_cmp(&other.similarity);
        similarity.then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Found) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The nearest of what was offered, up to a number of them.
pub(super) struct Nearest {
    wanted: usize,
    found: BinaryHeap<Reverse<Found>>,
}

impl Nearest {
    pub(super) fn new(wanted: usize) -> Nearest {
        Nearest {
            wanted,
            found: BinaryHeap::new(),
        }
    }

    /// Whether it would be kept.
    pub(super) fn takes(&self, found: Found) -> bool {
        self.found.len() < self.wanted
            || self
                .found
                .peek()
                .is_some_and(|Reverse(worst)| found > *worst)
    }

    /// Whether as many as are wanted are nearer.
    fn is_beyond(&self, found: Found) -> bool {
        self.found.len() >= self.wanted
            && self
                .found
                .peek()
                .is_some_and(|Reverse(worst)| found < *worst)
    }

    /// Keeps it when it is among the nearest.
    pub(super) fn offer(&mut self, found: Found) {
        if self.takes(found) {
            if self.found.len() >= self.wanted {
                self.found.pop();
            }
            self.found.push(Reverse(found));
        }
    }

    /// The nearest first.
    pub(super) fn finish(self) -> Vec<Found> {
        let mut found: Vec<Found> = self.found.into_iter().map(|Reverse(found)| found).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }
}

/// Memory of walks, used again and again.
#[derive(Default)]
pub(super) struct Walk {
    visited: FxHashSet<u64>,
    pending: BinaryHeap<Found>,
    links: Vec<u64>,
}

impl Walk {
    /// Goes to nearer vectors as long as there are any, at the levels `from` down to `to`.
    pub(super) fn descend<G: Graph>(
        &mut self,
        graph: &mut G,
        target: &[u8],
        start: Found,
        levels: (u8, u8),
    ) -> Result<Found, IndexError> {
        let mut nearest = start;
        for level in (levels.1..=levels.0).rev() {
            loop {
                let at = nearest;
                graph.links(at.number, level, &mut self.links)?;
                for number in &self.links {
                    let similarity = graph.similarity(*number, target)?;
                    nearest = nearest.max(Found {
                        similarity,
                        number: *number,
                    });
                }
                if nearest == at {
                    break;
                }
            }
        }
        Ok(nearest)
    }

    /// The nearest vectors at a level that `accepts` lets pass, the nearest first. The walk ends
    /// when what is left to visit is farther than the farthest of `breadth` that passed.
    pub(super) fn nearest<G: Graph>(
        &mut self,
        graph: &mut G,
        target: &[u8],
        starts: &[Found],
        (level, breadth): (u8, usize),
        accepts: &mut dyn FnMut(&mut G, u64) -> Result<bool, IndexError>,
        budget: &mut Budget<'_>,
    ) -> Result<Vec<Found>, IndexError> {
        self.visited.clear();
        self.pending.clear();
        let mut nearest = Nearest::new(breadth.max(1));
        for start in starts {
            if self.visited.insert(start.number) {
                self.pending.push(*start);
                if accepts(graph, start.number)? {
                    nearest.offer(*start);
                }
            }
        }
        while let Some(at) = self.pending.pop() {
            if nearest.is_beyond(at) {
                break;
            }
            graph.links(at.number, level, &mut self.links)?;
            for &number in &self.links {
                if !self.visited.insert(number) {
                    continue;
                }
                budget.spend()?;
                let similarity = graph.similarity(number, target)?;
                let found = Found { similarity, number };
                if nearest.takes(found) {
                    self.pending.push(found);
                    if accepts(graph, number)? {
                        nearest.offer(found);
                    }
                }
            }
        }
        Ok(nearest.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_are_kept_and_ties_go_to_the_least() {
        let mut nearest = Nearest::new(3);
        for (number, similarity) in [(5, 0.5), (1, 0.1), (9, 0.9), (4, 0.5), (3, 0.5)] {
            nearest.offer(Found { similarity, number });
        }
        let numbers: Vec<u64> = nearest.finish().iter().map(|found| found.number).collect();
        assert_eq!(numbers, [9, 3, 4]);
    }
}
