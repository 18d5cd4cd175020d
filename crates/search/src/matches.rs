//! Matches: the entries a condition surely has, and those only their documents can tell.
//!
//! Returned by every look-up of `reader`, combined by query execution.
//!
//! Terms longer than 504 bytes are kept by their beginning and a hash, so a few look-ups cannot
//! be answered by the index alone. Their candidates are kept apart, through `and`, `or` and
//! `and_not`, and the caller evaluates the condition on those documents. Results stay exact, and
//! indexes without such terms pay nothing.
//!
//! Invariants:
//! - The two sets are disjoint.
//! - Every entry that matches is in one of the two; every entry of `certain` matches.
//!
//! Threads: plain data.

use crate::EntrySet;

/// Entries that match, and entries that may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    certain: EntrySet,
    uncertain: EntrySet,
}

impl Matches {
    /// Nothing matches.
    #[must_use]
    pub fn none() -> Matches {
        Matches::default()
    }

    /// Exactly these match.
    #[must_use]
    pub fn exactly(certain: EntrySet) -> Matches {
        Matches {
            certain,
            uncertain: EntrySet::new(),
        }
    }

    /// `certain` match; the rest of `possible` may.
    #[must_use]
    pub fn new(certain: EntrySet, possible: &EntrySet) -> Matches {
        let uncertain = possible.and_not(&certain);
        Matches { certain, uncertain }
    }

    /// Entries that match.
    #[must_use]
    pub fn certain(&self) -> &EntrySet {
        &self.certain
    }

    /// Entries whose documents must be looked at: mostly empty.
    #[must_use]
    pub fn uncertain(&self) -> &EntrySet {
        &self.uncertain
    }

    /// Whether the index alone gives the answer.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.uncertain.is_empty()
    }

    /// Entries that match, and those whose documents must be looked at.
    #[must_use]
    pub fn into_parts(self) -> (EntrySet, EntrySet) {
        (self.certain, self.uncertain)
    }

    /// All entries that match or may.
    #[must_use]
    pub fn possible(&self) -> EntrySet {
        if self.is_exact() {
            self.certain.clone()
        } else {
            self.certain.or(&self.uncertain)
        }
    }

    /// Both conditions hold.
    #[must_use]
    pub fn and(&self, other: &Matches) -> Matches {
        let certain = self.certain.and(&other.certain);
        if self.is_exact() && other.is_exact() {
            return Matches::exactly(certain);
        }
        Matches::new(certain, &self.possible().and(&other.possible()))
    }

    /// Either condition holds.
    #[must_use]
    pub fn or(&self, other: &Matches) -> Matches {
        let certain = self.certain.or(&other.certain);
        if self.is_exact() && other.is_exact() {
            return Matches::exactly(certain);
        }
        Matches::new(certain, &self.uncertain.or(&other.uncertain))
    }

    /// This condition holds, the other does not.
    #[must_use]
    pub fn and_not(&self, other: &Matches) -> Matches {
        if self.is_exact() && other.is_exact() {
            return Matches::exactly(self.certain.and_not(&other.certain));
        }
        let certain = self.certain.and_not(&other.possible());
        Matches::new(certain, &self.possible().and_not(&other.certain))
    }
}

impl From<EntrySet> for Matches {
    fn from(certain: EntrySet) -> Matches {
        Matches::exactly(certain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EntryId;

    /// Entry `3 * a + b` stands for the states (0 no, 1 unknown, 2 yes) of two conditions.
    fn conditions() -> (Matches, Matches) {
        let of = |keep: &dyn Fn(u64) -> bool| {
            EntrySet::from_ascending((0..9).filter(|&entry| keep(entry)).map(EntryId))
        };
        let a = Matches::new(of(&|entry| entry / 3 == 2), &of(&|entry| entry / 3 == 1));
        let b = Matches::new(of(&|entry| entry % 3 == 2), &of(&|entry| entry % 3 == 1));
        (a, b)
    }

    fn state(matches: &Matches, entry: u64) -> u64 {
        match (
            matches.certain.contains(EntryId(entry)),
            matches.uncertain.contains(EntryId(entry)),
        ) {
            (true, false) => 2,
            (false, true) => 1,
            (false, false) => 0,
            (true, true) => panic!("the sets meet at {entry}"),
        }
    }

    #[test]
    fn three_states_combine_as_logic_has_it() {
        let (a, b) = conditions();
        for entry in 0..9 {
            let (left, right) = (entry / 3, entry % 3);
            assert_eq!(state(&a.and(&b), entry), left.min(right), "and {entry}");
            assert_eq!(state(&a.or(&b), entry), left.max(right), "or {entry}");
            assert_eq!(
                state(&a.and_not(&b), entry),
                left.min(2 - right),
                "and not {entry}"
            );
        }
    }

    #[test]
    fn exact_answers_stay_exact() {
        let (a, b) = conditions();
        assert!(!a.is_exact());
        let (a, b) = (
            Matches::exactly(a.possible()),
            Matches::exactly(b.possible()),
        );
        for result in [a.and(&b), a.or(&b), a.and_not(&b)] {
            assert!(result.into_parts().1.is_empty());
        }
    }
}
