//! Phrases: terms at given distances, or not much further apart.
//!
//! Called by `query` for documents and by the reader for entries, with positions of each term.
//!
//! Threads: pure functions.

/// Terms that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// The terms and where they stand, ascending; at least one.
    pub terms: Vec<(Box<str>, u32)>,
    /// How far they may be from their places, in positions: 0 for an exact phrase. Terms in the
    /// wrong order count twice.
    pub slop: u32,
}

impl Phrase {
    /// How often the phrase stands where its terms have these positions (one ascending list for
    /// each term, in their order).
    #[must_use]
    pub fn count(&self, positions: &[Vec<u32>]) -> u32 {
        if positions.len() != self.terms.len() || positions.iter().any(Vec::is_empty) {
            return 0;
        }
        match self.slop {
            0 => self.count_exact(positions),
            slop => count_near(&self.adjusted(positions), i64::from(slop)),
        }
    }

    /// Where the phrase would begin for each position of each term.
    fn adjusted(&self, positions: &[Vec<u32>]) -> Vec<Vec<i64>> {
        let lists = positions.iter().zip(&self.terms);
        lists
            .map(|(list, (_, place))| {
                let place = i64::from(*place);
                list.iter().map(|&at| i64::from(at) - place).collect()
            })
            .collect()
    }

    /// Positions of the first term at which all others are in their places.
    fn count_exact(&self, positions: &[Vec<u32>]) -> u32 {
        let (Some((first, others)), Some(((_, start), places))) =
            (positions.split_first(), self.terms.split_first())
        else {
            return 0;
        };
        let is_followed = |at: &&u32| {
            let lists = others.iter().zip(places);
            lists.into_iter().all(|(list, (_, place))| {
                let wanted = at.checked_add(place - start);
                wanted.is_some_and(|wanted| list.binary_search(&wanted).is_ok())
            })
        };
        let count = first.iter().filter(is_followed).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

/// Windows that hold a place of every list and are no wider than `slop`: the list with the least
/// place moves on, until one ends.
fn count_near(lists: &[Vec<i64>], slop: i64) -> u32 {
    let mut at = vec![0; lists.len()];
    let mut count = 0_u32;
    loop {
        let (mut least, mut slot, mut most) = (i64::MAX, 0, i64::MIN);
        for (number, (list, &next)) in lists.iter().zip(&at).enumerate() {
            let Some(&place) = list.get(next) else {
                return count;
            };
            if place < least {
                (least, slot) = (place, number);
            }
            most = most.max(place);
        }
        if most - least <= slop {
            count = count.saturating_add(1);
        }
        at[slot] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phrase(words: usize, slop: u32) -> Phrase {
        let places = 0..u32::try_from(words).unwrap();
        Phrase {
            terms: places.map(|place| ("x".into(), place)).collect(),
            slop,
        }
    }

    #[test]
    fn exact_phrases_need_their_places() {
        assert_eq!(phrase(2, 0).count(&[vec![1, 7], vec![2, 5, 8]]), 2);
        assert_eq!(phrase(2, 0).count(&[vec![2], vec![1]]), 0);
        assert_eq!(phrase(3, 0).count(&[vec![1], vec![2], vec![]]), 0);
    }

    #[test]
    fn near_phrases_may_be_apart() {
        // one x two: the second word is one further than in the phrase.
        let apart = [vec![0], vec![2]];
        assert_eq!(phrase(2, 1).count(&apart), 1);
        assert_eq!(phrase(2, 0).count(&apart), 0);
        // The wrong order costs two.
        let swapped = [vec![1], vec![0]];
        assert_eq!(phrase(2, 1).count(&swapped), 0);
        assert_eq!(phrase(2, 2).count(&swapped), 1);
    }
}
