//! Similar terms: few insertions, deletions and replacements apart.
//!
//! Called by `query` for `fuzzy(...)`, `~` and suggestions; the reader walks with `similar`.
//!
//! Threads: pure functions.

/// Most edits of a short term: more would make nearly every one similar.
const EDITS_MAX: usize = 2;
/// A longer term may have an edit for so many of its characters.
const CHARS_FOR_AN_EDIT: usize = 4;
/// Most edits of any term.
const EDITS_OF_LONG_MAX: usize = 16;

/// A term, and how different another may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Fuzzy {
    /// The term, analyzed.
    pub term: Box<str>,
    /// Most edits that make another term out of it.
    pub edits: u32,
}

impl Fuzzy {
    /// Similarity between 0 and 1, as Lucene has it: edits are at most (1 - similarity) times the
    /// characters of the term, and two, or a fourth of the characters of a longer term. From 1 on
    /// `similarity` is the number of edits itself.
    #[must_use]
    pub fn new(term: &str, similarity: f64) -> Fuzzy {
        let chars = term.chars().count();
        let edits = match similarity {
            s if s >= 1.0 => s,
            s => (1.0 - s.max(0.0)) * chars as f64,
        };
        let most = (chars / CHARS_FOR_AN_EDIT).clamp(EDITS_MAX, EDITS_OF_LONG_MAX);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 16 after clamping"
        )]
        let edits = edits.clamp(0.0, most as f64) as u32;
        Fuzzy {
            term: term.into(),
            edits,
        }
    }

    /// Whether `other` is similar.
    #[must_use]
    pub fn matches(&self, other: &str) -> bool {
        edits_between(&self.term, other, self.edits).is_some()
    }
}

/// Number of insertions, deletions and replacements of characters, and exchanges of neighbors, that
/// make `b` out of `a`; `None` when there are more than `most`.
#[must_use]
pub fn edits_between(a: &str, b: &str, most: u32) -> Option<u32> {
    // One edit changes the length of a text by four bytes at most.
    if a.len().abs_diff(b.len()) > 4 * most as usize {
        return None;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let most = most as usize;
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let width = b.len() + 1;
    let mut before = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    let mut row = vec![0; width];
    for (i, x) in a.iter().enumerate() {
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(x != y);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            row[j + 1] = least;
        }
        if row.iter().all(|&edits| edits > most) {
            return None;
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    let edits = last[b.len()];
    u32::try_from(edits).ok().filter(|_| edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, edits) in [
            ("gamna", "gamma", 1),
            ("owen", "oren", 1),
            ("kitten", "sitting", 3),
            ("ab", "ba", 1),
            ("", "ab", 2),
            ("\u{e4}b", "ab", 1),
        ] {
            assert_eq!(edits_between(a, b, 3), Some(edits), "{a} {b}");
            assert_eq!(edits_between(a, b, edits - 1), None, "{a} {b}");
        }
    }

    #[test]
    fn similarity_gives_edits() {
        assert_eq!(Fuzzy::new("gamna", 0.5).edits, 2);
        assert_eq!(Fuzzy::new("gamna", 0.81).edits, 0);
        assert_eq!(Fuzzy::new("gamna", 0.79).edits, 1);
        assert_eq!(Fuzzy::new("gamna", 1.0).edits, 1);
        assert!(Fuzzy::new("gamna", 0.5).matches("gamma"));
        assert!(Fuzzy::new("hiberanting rinhos", 0.5).matches("hibernating rhinos"));
        assert_eq!(Fuzzy::new("hiberanting rinhos", 0.99).edits, 0);
    }
}
