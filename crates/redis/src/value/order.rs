//! The order of a sorted set: members by score, then by bytes, in sorted blocks.
//!
//! A position is found by adding up the lengths of the blocks before it, so ranks and ranges by
//! position, score and bytes are all ranges of positions. A million members are some 3,000 blocks.
//!
//! Invariants: no block is empty, none is longer than `BLOCK_MAX`, all entries are in order.

use std::cmp::Ordering;
use std::sync::Arc;

/// Entries of a block before it is split in two.
const BLOCK_MAX: usize = 512;
/// Neighbours that are together shorter than this become one block.
const MERGE_MAX: usize = BLOCK_MAX / 4;

type Member = Arc<[u8]>;

/// See the file head.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    blocks: Vec<Vec<(f64, Member)>>,
}

fn compare(entry: &(f64, Member), score: f64, member: &[u8]) -> Ordering {
    let by_score = entry.0.total_cmp(&score);
    by_score.then_with(|| (*entry.1).cmp(member))
}

impl Order {
    pub(crate) fn len(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// The block in which the entry lies or belongs, and its position there.
    fn find(&self, score: f64, member: &[u8]) -> (usize, Result<usize, usize>) {
        let before = self.blocks.partition_point(|block| {
            block
                .last()
                .is_some_and(|last| compare(last, score, member) == Ordering::Less)
        });
        let block = before.min(self.blocks.len().saturating_sub(1));
        let place = match self.blocks.get(block) {
            None => Err(0),
            Some(entries) => entries.binary_search_by(|entry| compare(entry, score, member)),
        };
        (block, place)
    }

    pub(crate) fn insert(&mut self, score: f64, member: Member) {
        let (block, place) = self.find(score, &member);
        let Err(position) = place else {
            return;
        };
        if self.blocks.is_empty() {
            self.blocks.push(Vec::new());
        }
        let entries = &mut self.blocks[block];
        entries.insert(position, (score, member));
        if entries.len() > BLOCK_MAX {
            // Ascending scores fill blocks rather than leaving them half empty.
            let is_end = position + 1 == entries.len() && block + 1 == self.blocks.len();
            let at = if is_end { BLOCK_MAX } else { BLOCK_MAX / 2 };
            let upper = self.blocks[block].split_off(at);
            self.blocks.insert(block + 1, upper);
        }
    }

    pub(crate) fn remove(&mut self, score: f64, member: &[u8]) {
        let (block, Ok(position)) = self.find(score, member) else {
            return;
        };
        self.blocks[block].remove(position);
        let len = self.blocks[block].len();
        if len == 0 {
            self.blocks.remove(block);
            return;
        }
        let next = self.blocks.get(block + 1).map_or(BLOCK_MAX, Vec::len);
        if len + next < MERGE_MAX {
            let upper = self.blocks.remove(block + 1);
            self.blocks[block].extend(upper);
        }
    }

    /// The position of an entry that is there.
    pub(crate) fn rank(&self, score: f64, member: &[u8]) -> Option<usize> {
        let (block, place) = self.find(score, member);
        let before: usize = self.blocks[..block.min(self.blocks.len())]
            .iter()
            .map(Vec::len)
            .sum();
        place.ok().map(|position| before + position)
    }

    /// How many entries satisfy `is_before`, which holds for a first part of the order only.
    pub(crate) fn count_before(&self, is_before: impl Fn(f64, &[u8]) -> bool) -> usize {
        let holds = |entry: &(f64, Member)| is_before(entry.0, &entry.1);
        let full = self
            .blocks
            .partition_point(|block| block.last().is_some_and(holds));
        let counted: usize = self.blocks[..full].iter().map(Vec::len).sum();
        let rest = self.blocks.get(full);
        counted + rest.map_or(0, |block| block.partition_point(holds))
    }

    /// Entries from `start` on, at most `count`.
    pub(crate) fn from(
        &self,
        start: usize,
        count: usize,
    ) -> impl Iterator<Item = (f64, &Arc<[u8]>)> {
        let mut rest = start;
        let mut block = 0;
        while block < self.blocks.len() && rest >= self.blocks[block].len() {
            rest -= self.blocks[block].len();
            block += 1;
        }
        let entries = self.blocks[block..].iter().flatten();
        entries.skip(rest).take(count).map(|(score, m)| (*score, m))
    }

    /// Entries from position `last` down, at most `count`.
    pub(crate) fn back_from(
        &self,
        last: usize,
        count: usize,
    ) -> impl Iterator<Item = (f64, &Arc<[u8]>)> {
        let skipped = self.len().saturating_sub(last.saturating_add(1));
        let mut rest = skipped;
        let mut end = self.blocks.len();
        while end > 0 && rest >= self.blocks[end - 1].len() {
            rest -= self.blocks[end - 1].len();
            end -= 1;
        }
        let entries = self.blocks[..end].iter().rev();
        let entries = entries.flat_map(|block| block.iter().rev());
        entries.skip(rest).take(count).map(|(score, m)| (*score, m))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_agrees_with_a_sorted_list() {
        let seed = 7_u64;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut order = Order::default();
        let mut model: Vec<(f64, Vec<u8>)> = Vec::new();
        for step in 0..20_000 {
            let score = f64::from(random.i32(-50..50));
            let member = format!("{}", random.u32(0..3_000)).into_bytes();
            let found = model.binary_search_by(|e| e.0.total_cmp(&score).then(e.1.cmp(&member)));
            let shrink = (step / 4_000) % 2 == 1;
            match found {
                Err(at) if !shrink || random.u8(0..4) == 0 => {
                    model.insert(at, (score, member.clone()));
                    order.insert(score, member.into());
                }
                Ok(at) => {
                    assert_eq!(order.rank(score, &member), Some(at), "seed {seed}");
                    model.remove(at);
                    order.remove(score, &member);
                }
                Err(at) => {
                    assert_eq!(order.rank(score, &member), None, "seed {seed}");
                    if let Some((score, member)) = model.get(at).cloned() {
                        model.remove(at);
                        order.remove(score, &member);
                    }
                }
            }
            assert_eq!(order.len(), model.len());
        }
        assert!(model.len() > 1_000);
        let below = model.partition_point(|e| e.0 < 3.0);
        assert_eq!(order.count_before(|score, _| score < 3.0), below);
        for start in [0, 1, 511, 512, 513, 900, model.len() - 1, model.len()] {
            let forward: Vec<_> = order.from(start, 5).map(|(_, m)| m.to_vec()).collect();
            let expected: Vec<_> = model
                .iter()
                .skip(start)
                .take(5)
                .map(|e| e.1.clone())
                .collect();
            assert_eq!(forward, expected, "seed {seed} from {start}");
            let back: Vec<_> = order.back_from(start, 5).map(|(_, m)| m.to_vec()).collect();
            let top = model.iter().take(start.saturating_add(1)).rev();
            let expected: Vec<_> = top.take(5).map(|e| e.1.clone()).collect();
            assert_eq!(back, expected, "seed {seed} back from {start}");
        }
    }
}
