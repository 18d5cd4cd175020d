//! Similar terms: few insertions, deletions and replacements apart.
//!
//! Called by `query` for `fuzzy(...)` and `~`, and by the reader for suggestions.
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

/// What a text is to a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// It is similar.
    Similar,
    /// It is not.
    Different,
    /// No text is that begins with these bytes of it.
    Beyond(usize),
}

/// Compares one term with texts that come in order: what a text shares with the one before is not
/// compared again.
pub(crate) struct Comparison {
    term: Vec<char>,
    most: usize,
    /// The beginning of the text before that was compared.
    text: Vec<char>,
    /// A row of `term.len() + 1` for each beginning of `text`, the empty one first: the edits
    /// between it and each beginning of `term`.
    rows: Vec<usize>,
}

impl Comparison {
    pub(crate) fn new(fuzzy: &Fuzzy) -> Comparison {
        let term: Vec<char> = fuzzy.term.chars().collect();
        Comparison {
            rows: (0..=term.len()).collect(),
            most: fuzzy.edits as usize,
            text: Vec::new(),
            term,
        }
    }

    /// What `text` is to the term.
    pub(crate) fn compare(&mut self, text: &str) -> Likeness {
        let width = self.term.len() + 1;
        let known = text.chars().zip(&self.text);
        let shared = known.take_while(|(c, before)| c == *before).count();
        self.text.truncate(shared);
        self.rows.truncate((shared + 1) * width);
        if self.is_beyond() {
            let len_bytes = self.text.iter().map(|c| c.len_utf8()).sum();
            return Likeness::Beyond(len_bytes);
        }
        for (at, c) in text.char_indices().skip(shared) {
            self.push(c);
            if self.is_beyond() {
                return Likeness::Beyond(at + c.len_utf8());
            }
        }
        match self.rows.last() {
            Some(edits) if *edits <= self.most => Likeness::Similar,
            _ => Likeness::Different,
        }
    }

    /// Whether every text that begins like this needs too many edits.
    fn is_beyond(&self) -> bool {
        let width = self.term.len() + 1;
        let row = &self.rows[self.rows.len() - width..];
        row.iter().all(|&edits| edits > self.most)
    }

    /// Adds the row of one more character.
    fn push(&mut self, c: char) {
        let width = self.term.len() + 1;
        let last = self.rows.len() - width;
        self.rows.push(self.text.len() + 1);
        for (j, y) in self.term.iter().enumerate() {
            let replaced = self.rows[last + j] + usize::from(c != *y);
            let inserted = self.rows[last + j + 1].min(self.rows[last + width + j]) + 1;
            let mut least = replaced.min(inserted);
            let before = self.text.last();
            if j > 0 && before == Some(y) && self.term[j - 1] == c {
                least = least.min(self.rows[last - width + j - 1] + 1);
            }
            self.rows.push(least);
        }
        self.text.push(c);
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
    fn texts_in_order_are_compared_like_single_ones() {
        let mut texts = vec![String::new()];
        for len in 1..=5_usize {
            for code in 0..3_usize.pow(u32::try_from(len).unwrap()) {
                let letter = |at: usize| {
                    ['a', 'b', '\u{e4}'][code / 3_usize.pow(u32::try_from(at).unwrap()) % 3]
                };
                texts.push((0..len).map(letter).collect());
            }
        }
        texts.sort_unstable();
        for (term, edits) in [
            ("", 1),
            ("ab", 0),
            ("abba", 1),
            ("b\u{e4}a", 2),
            ("aaaa", 3),
        ] {
            let fuzzy = Fuzzy {
                term: term.into(),
                edits,
            };
            let mut comparison = Comparison::new(&fuzzy);
            for text in &texts {
                let likeness = comparison.compare(text);
                let expected = fuzzy.matches(text);
                assert_eq!(likeness == Likeness::Similar, expected, "{term} {text}");
                if let Likeness::Beyond(len_bytes) = likeness {
                    let beginning = &text[..len_bytes];
                    let alike = texts.iter().filter(|text| text.starts_with(beginning));
                    assert!(
                        alike.clone().all(|text| !fuzzy.matches(text)),
                        "{term} {beginning}"
                    );
                }
            }
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
