//! Locks of names in file systems without a kernel behind them.
//!
//! `MemoryVfs` and the simulated disk keep one table each.
//!
//! Invariants:
//! - A name has one exclusive holder, or any number of shared ones.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// How a name is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// By one handle alone.
    Exclusive,
    /// By one of several.
    Shared,
}

/// Who holds which name.
#[derive(Clone, Debug)]
pub struct LockTable<K> {
    /// Shared holders of each name; 0 for one exclusive holder.
    holders: BTreeMap<K, u32>,
}

impl<K> Default for LockTable<K> {
    fn default() -> LockTable<K> {
        LockTable {
            holders: BTreeMap::new(),
        }
    }
}

impl<K: Ord> LockTable<K> {
    /// Takes the lock of `name`; false when others forbid it.
    pub fn take(&mut self, name: K, mode: LockMode) -> bool {
        match (self.holders.entry(name), mode) {
            (Entry::Vacant(free), LockMode::Exclusive) => {
                free.insert(0);
                true
            }
            (Entry::Vacant(free), LockMode::Shared) => {
                free.insert(1);
                true
            }
            (Entry::Occupied(mut held), LockMode::Shared) if *held.get() > 0 => {
                *held.get_mut() += 1;
                true
            }
            _ => false,
        }
    }

    /// Gives back what one call of [`LockTable::take`] took.
    pub fn release(&mut self, name: K) {
        if let Entry::Occupied(mut held) = self.holders.entry(name) {
            match held.get() {
                0 | 1 => drop(held.remove()),
                holders => *held.get_mut() = holders - 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writer_or_several_readers() {
        let mut table = LockTable::default();
        assert!(table.take("a", LockMode::Shared));
        assert!(table.take("a", LockMode::Shared));
        assert!(!table.take("a", LockMode::Exclusive));
        assert!(table.take("b", LockMode::Exclusive));
        assert!(!table.take("b", LockMode::Shared));
        table.release("a");
        assert!(!table.take("a", LockMode::Exclusive));
        table.release("a");
        assert!(table.take("a", LockMode::Exclusive));
    }
}
