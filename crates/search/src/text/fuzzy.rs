//! Similar terms: few insertions, deletions and replacements apart.
//!
//! Called by `query` for `fuzzy(...)` and `~`; the reader walks with `similar`. Suggestions count
//! edits with `edits_between`.
//!
//! Threads: pure functions.

/// Keeps the rounding of a similarity like 0.7 from admitting one more edit.
const ROUNDING: f64 = 1e-9;

/// A term, and how different another may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Fuzzy {
    /// The term, analyzed.
    pub term: Box<str>,
    /// Most edits that make another term out of it.
    pub edits: u32,
    /// Edits stay below this share of the characters of the shorter term; `None`: only `edits`
    /// counts.
    share: Option<f64>,
}

impl Fuzzy {
    /// Terms more similar than `similarity`, from 0 to 1: one less the edits divided by the
    /// characters of the shorter term, as in Lucene. From 1 on `similarity` is the number of edits.
    #[must_use]
    pub fn new(term: &str, similarity: f64) -> Fuzzy {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast from a float saturates"
        )]
        let whole = |edits: f64| edits.max(0.0) as u32;
        if similarity >= 1.0 {
            return Fuzzy::within(term, whole(similarity));
        }
        let share = 1.0 - similarity.max(0.0);
        let most = share * term.chars().count() as f64;
        Fuzzy {
            term: term.into(),
            edits: whole((most - ROUNDING).ceil() - 1.0),
            share: Some(share),
        }
    }

    /// Terms at most `edits` edits from `term`, whatever their lengths.
    #[must_use]
    pub fn within(term: &str, edits: u32) -> Fuzzy {
        Fuzzy {
            term: term.into(),
            edits,
            share: None,
        }
    }

    /// Whether `other` is similar.
    #[must_use]
    pub fn matches(&self, other: &str) -> bool {
        if *self.term == *other {
            return true;
        }
        let Some(edits) = distance(&self.term, other, self.edits) else {
            return false;
        };
        self.share.is_none_or(|share| {
            let shorter = self.term.chars().count().min(other.chars().count());
            f64::from(edits) + ROUNDING < share * shorter as f64
        })
    }
}

/// Number of insertions, deletions and replacements of characters that make `b` out of `a`; `None`
/// when there are more than `most`. Memory is linear in the length of the shorter text, time in the
/// length of the longer one times `most`.
fn distance(a: &str, b: &str, most: u32) -> Option<u32> {
    let most = most as usize;
    // One edit changes the length of a text by four bytes at most.
    if a.len().abs_diff(b.len()) > most.saturating_mul(4) {
        return None;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let (short, long) = without_shared_ends(&short, &long);
    let most = most.min(long.len());
    if long.len() - short.len() > most {
        return None;
    }
    // Of each row only what lies so near the diagonal can be reached by the edits.
    let beyond = most + 1;
    let mut row: Vec<usize> = (0..=short.len()).map(|j| j.min(beyond)).collect();
    for (i, x) in long.iter().enumerate() {
        let first = (i + 1).saturating_sub(most).max(1);
        let last = (i + 1 + most).min(short.len());
        let mut diagonal = row[first - 1];
        row[first - 1] = if first == 1 {
            (i + 1).min(beyond)
        } else {
            beyond
        };
        let mut least = row[first - 1];
        for j in first..=last {
            // Behind the band of the row before.
            let above = if j > i + most { beyond } else { row[j] };
            let replaced = diagonal + usize::from(*x != short[j - 1]);
            diagonal = above;
            row[j] = replaced.min(above + 1).min(row[j - 1] + 1).min(beyond);
            least = least.min(row[j]);
        }
        if least > most {
            return None;
        }
    }
    let edits = row[short.len()];
    u32::try_from(edits).ok().filter(|_| edits <= most)
}

/// Both without what they begin and end with alike: no edit is needed there.
fn without_shared_ends<'c>(mut a: &'c [char], mut b: &'c [char]) -> (&'c [char], &'c [char]) {
    while let (Some((x, rest)), Some((y, other))) = (a.split_first(), b.split_first())
        && x == y
    {
        (a, b) = (rest, other);
    }
    while let (Some((x, rest)), Some((y, other))) = (a.split_last(), b.split_last())
        && x == y
    {
        (a, b) = (rest, other);
    }
    (a, b)
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
    use proptest::prelude::*;

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

    fn matching<'t>(term: &str, similarity: f64, others: &[&'t str]) -> Vec<&'t str> {
        let fuzzy = Fuzzy::new(term, similarity);
        let others = others.iter().copied();
        others.filter(|other| fuzzy.matches(other)).collect()
    }

    #[test]
    fn exchanges_of_neighbors_are_two_edits() {
        let words = ["bash", "bsh", "ash", "dash", "bsah", "bsaf"];
        assert_eq!(matching("bsah", 0.5, &words), ["bsh", "bsah", "bsaf"]);
        assert_eq!(distance("ab", "ba", 3), Some(2));
        assert_eq!(distance("kitten", "sitting", 3), Some(3));
        assert_eq!(distance("kitten", "sitting", 2), None);
        assert_eq!(distance("", "ab", 2), Some(2));
        assert_eq!(distance("\u{e4}b", "\u{1f600}b", 1), Some(1));
    }

    #[test]
    fn similarity_is_of_the_shorter_term() {
        // One edit of five characters is a similarity of 0.8, which is not above 0.8.
        assert_eq!(matching("gamna", 0.8, &["gamma", "gamna"]), ["gamna"]);
        assert_eq!(matching("gamna", 0.79, &["gamma", "gamna"]).len(), 2);
        // Three edits of ten, whatever 1 - 0.7 is rounded to.
        assert!(matching("abcdefghij", 0.7, &["xyzdefghij"]).is_empty());
        assert_eq!(matching("abcdefghij", 0.69, &["xyzdefghij"]).len(), 1);
        // The other term is the shorter one.
        assert!(matching("abcd", 0.5, &["ab"]).is_empty());
        assert!(matching("ab", 0.5, &["a", ""]).is_empty());
        assert_eq!(matching("", 0.5, &["", "a"]), [""]);
        assert_eq!(matching("\u{e4}bcd", 0.5, &["abcd"]).len(), 1);
    }

    #[test]
    fn edits_have_no_cap() {
        let term = "a".repeat(100);
        let other = format!("{}{}", "b".repeat(40), "a".repeat(60));
        assert!(Fuzzy::new(&term, 0.5).matches(&other));
        assert!(!Fuzzy::new(&term, 0.6).matches(&other));
        assert_eq!(Fuzzy::new("ab", 1e300).edits, u32::MAX);
        assert!(Fuzzy::new("ab", 1e300).matches("xyz"));
        assert_eq!(Fuzzy::new("gamna", 1.0).edits, 1);
        let long = "x".repeat(20_000);
        assert!(Fuzzy::new(&long, 0.5).matches(&long));
    }
    /// As the definition has it, by a whole table.
    fn by_definition(a: &str, b: &str) -> u32 {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = match (i, j) {
                    (0, edits) | (edits, 0) => u32::try_from(edits).unwrap(),
                    _ => {
                        let replaced = table[i - 1][j - 1] + u32::from(a[i - 1] != b[j - 1]);
                        replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1)
                    }
                };
            }
        }
        table[a.len()][b.len()]
    }

    proptest! {
        #[test]
        fn edits_are_those_of_the_definition(
            a in "[ab\u{e4}]{0,12}",
            b in "[ab\u{e4}]{0,12}",
            most in 0..14_u32,
        ) {
            let edits = by_definition(&a, &b);
            prop_assert_eq!(distance(&a, &b, most), (edits <= most).then_some(edits));
        }
    }
}
