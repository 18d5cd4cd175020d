//! A large array of lazily made values: memory is paid for what is used, addresses never move.
//!
//! Two levels of 256, so at most 65,536 values. Reading is two loads and no lock.

use std::sync::OnceLock;

const FAN_OUT: usize = 256;

type Group<T> = Box<[OnceLock<T>]>;

/// See the file head.
pub struct LazyArray<T> {
    groups: Box<[OnceLock<Group<T>>]>,
}

impl<T> LazyArray<T> {
    /// Positions are below this.
    pub const LEN: usize = FAN_OUT * FAN_OUT;

    /// An array in which no value exists yet; about 6 KiB.
    #[must_use]
    pub fn new() -> LazyArray<T> {
        LazyArray {
            groups: (0..FAN_OUT).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The value at `position`, if it was made. `None` for positions out of range.
    #[inline]
    #[must_use]
    pub fn get(&self, position: usize) -> Option<&T> {
        self.groups.get(position / FAN_OUT)?.get()?[position % FAN_OUT].get()
    }

    /// The value at `position`, made by `init` when there is none. `None` when out of range.
    pub fn get_or_init(&self, position: usize, init: impl FnOnce() -> T) -> Option<&T> {
        let group = self.groups.get(position / FAN_OUT)?;
        let group = group.get_or_init(|| (0..FAN_OUT).map(|_| OnceLock::new()).collect());
        Some(group[position % FAN_OUT].get_or_init(init))
    }

    /// All values made so far, by position.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.groups
            .iter()
            .filter_map(OnceLock::get)
            .flat_map(|group| group.iter().filter_map(OnceLock::get))
    }
}

impl<T> Default for LazyArray<T> {
    fn default() -> LazyArray<T> {
        LazyArray::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_made_once_and_stay() {
        let array = LazyArray::new();
        assert_eq!(array.get(70), None);
        assert_eq!(array.get_or_init(70, || 1), Some(&1));
        assert_eq!(array.get_or_init(70, || 2), Some(&1));
        assert_eq!(array.get_or_init(65_535, || 3), Some(&3));
        assert_eq!(array.get_or_init(65_536, || 4), None);
        assert_eq!(array.iter().copied().collect::<Vec<_>>(), [1, 3]);
    }
}
