//! Walking over all keys in steps, while others change them.
//!
//! The order of a walk is that of the hashes, shard by shard, so a cursor is a place among hashes:
//! tables may grow and shrink, and every key that stays is seen exactly once.

use super::{Entry, SHARD_BITS, Space, order_of};

/// Keys looked at in one step, beyond which it ends although it found too few.
const LOOKED_AT_MAX: usize = 100_000;

impl Space {
    /// Keys of a database from `cursor` on, about `count` of them, that `accepts`; ended ones too.
    /// Gives the cursor to go on from, 0 at the end.
    pub(crate) fn scan(
        &mut self,
        database: u16,
        cursor: u64,
        count: usize,
        accepts: impl Fn(&Entry) -> bool,
        found: &mut Vec<Vec<u8>>,
    ) -> u64 {
        let mut cursor = cursor;
        let mut seen = 0;
        loop {
            let position = jackdaw_base::width::to_usize(cursor >> (u64::BITS - SHARD_BITS));
            let shard = self.shard_at(position);
            let mut orders = shard.orders(database, cursor);
            let wanted = count.max(1).saturating_sub(seen).min(LOOKED_AT_MAX);
            let is_cut = orders.len() > wanted;
            if is_cut {
                orders.select_nth_unstable(wanted - 1);
                let last = orders[wanted - 1];
                shard.keys_between(database, cursor, last, &accepts, found);
                return last.wrapping_add(1);
            }
            seen += orders.len();
            shard.keys_between(database, cursor, u64::MAX, &accepts, found);
            let next = (position as u64 + 1).checked_shl(u64::BITS - SHARD_BITS);
            cursor = match next {
                Some(next) if position + 1 < super::SHARD_COUNT => next,
                _ => return 0,
            };
            if seen >= count.max(1) {
                return cursor;
            }
        }
    }
}

impl super::Shard {
    /// Places of the keys from `cursor` on, unordered.
    fn orders(&self, database: u16, cursor: u64) -> Vec<u64> {
        let orders = self.entries(database).map(|e| self.order(e));
        orders.filter(|&order| order >= cursor).collect()
    }

    fn keys_between(
        &self,
        database: u16,
        first: u64,
        last: u64,
        accepts: &impl Fn(&Entry) -> bool,
        found: &mut Vec<Vec<u8>>,
    ) {
        for entry in self.entries(database) {
            if (first..=last).contains(&self.order(entry)) && accepts(entry) {
                found.push(entry.key().to_vec());
            }
        }
    }

    fn order(&self, entry: &Entry) -> u64 {
        order_of(self.hash(entry.key()))
    }
}
