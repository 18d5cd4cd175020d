//! Tokens of full text: how each analyzer divides it, and at which positions.
//!
//! Called by `batch` for values and by `text` for queries and for documents that are evaluated
//! directly; all three agree because they call this.
//!
//! Invariants:
//! - Positions ascend. Tokens that stand for the same piece of text (n-grams) share one. Stop words
//!   leave no gap: what stands around one follows each other, as in RavenDB.
//! - A token has at most [`TOKEN_BYTES_MAX`] bytes: longer words are divided. So tokens are never
//!   cut as terms.
//!
//! Threads: pure functions.

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::{Analyzer, Chain, classic};

/// Most tokens of one field of one entry. What is behind them is not searchable.
pub const TOKENS_PER_FIELD_MAX: u32 = 1 << 20;

/// Positions between the values of an array, so that a phrase does not reach from one into another.
pub const VALUE_GAP: u32 = 100;

/// Longest token, in bytes.
const TOKEN_BYTES_MAX: usize = 255;

/// Characters of n-grams, at least and at most.
const GRAM_CHARS: (usize, usize) = (2, 6);

/// Words too frequent to search for: those of Lucene's standard analyzer.
const STOP_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
];

impl Analyzer {
    /// Calls `visit` with each token of `text` and its position, counted from `first`; gives the
    /// position behind the last one. For analyzers that are not of full text the token is all of
    /// the text.
    pub fn tokens(self, text: &str, first: u32, visit: &mut dyn FnMut(&str, u32)) -> u32 {
        let mut tokens = Tokens {
            analyzer: self,
            position: first,
            visit,
        };
        match self {
            Analyzer::LowercaseKeyword | Analyzer::Keyword => {
                (tokens.visit)(&self.fold(text), first);
                tokens.position += 1;
            }
            Analyzer::Chain(chain) => {
                chain.words(text, &mut |_, word| tokens.chained(&chain, &word))
            }
            _ => self.words(text, &mut |_, word| tokens.word(&word)),
        }
        tokens.position
    }

    /// Calls `visit` with where each word of `text` stands, and the word as it is divided into
    /// tokens: not folded, stop words too. For analyzers that are not of full text the word is all
    /// of the text.
    pub fn words<'t>(self, text: &'t str, visit: &mut dyn FnMut(Range<usize>, Cow<'t, str>)) {
        let mut piece = |word: &'t str| {
            if !word.is_empty() {
                let start = word.as_ptr().addr() - text.as_ptr().addr();
                visit(start..start + word.len(), word.into());
            }
        };
        match self {
            Analyzer::LowercaseKeyword | Analyzer::Keyword => piece(text),
            Analyzer::Whitespace => text.split_whitespace().for_each(piece),
            Analyzer::Chain(chain) => chain.words(text, visit),
            Analyzer::Standard | Analyzer::NGram => classic::words(text, visit),
            // To Unicode `a_b` is one word; a search for `b` means this one, too.
            Analyzer::Unicode => {
                let words = text.unicode_words().flat_map(|word| word.split('_'));
                words.for_each(piece);
            }
            Analyzer::Simple | Analyzer::Stop => {
                text.split(|c: char| !c.is_alphabetic()).for_each(piece)
            }
        }
    }
}

struct Tokens<'v> {
    analyzer: Analyzer,
    position: u32,
    visit: &'v mut dyn FnMut(&str, u32),
}

impl Tokens<'_> {
    fn word(&mut self, word: &str) {
        let folded = self.analyzer.fold(word);
        let is_stopped = match self.analyzer {
            Analyzer::Standard | Analyzer::Stop | Analyzer::NGram | Analyzer::Unicode => {
                is_stop_word(&folded)
            }
            _ => false,
        };
        if is_stopped {
            return;
        }
        let mut rest = &*folded;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(TOKEN_BYTES_MAX));
            match self.analyzer {
                Analyzer::NGram => self.grams(piece),
                _ => (self.visit)(piece, self.position),
            }
            self.position = self.position.saturating_add(1);
            rest = behind;
        }
    }

    /// What the filters of a chain leave of a word; nothing takes no position.
    fn chained(&mut self, chain: &Chain, word: &str) {
        let mut last = None;
        chain.filtered(word, &mut |token| {
            let mut rest = token;
            let mut position = self.position;
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(rest.floor_char_boundary(TOKEN_BYTES_MAX));
                (self.visit)(piece, position);
                last = last.max(Some(position));
                position = position.saturating_add(1);
                rest = behind;
            }
        });
        if let Some(last) = last {
            self.position = last.saturating_add(1);
        }
    }

    /// All runs of a word that are short enough; a word that is too short for any stands itself.
    fn grams(&mut self, word: &str) {
        let (least, most) = GRAM_CHARS;
        let mut ends: Vec<usize> = word.char_indices().map(|(at, _)| at).collect();
        ends.push(word.len());
        let chars = ends.len() - 1;
        if chars < least {
            return (self.visit)(word, self.position);
        }
        for from in 0..=chars - least {
            for to in from + least..=chars.min(from + most) {
                (self.visit)(&word[ends[from]..ends[to]], self.position);
            }
        }
    }
}

/// Whether a folded word is too frequent to search for.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(analyzer: Analyzer, text: &str) -> Vec<(String, u32)> {
        let mut out = Vec::new();
        analyzer.tokens(text, 0, &mut |token, position| {
            out.push((token.to_owned(), position));
        });
        out
    }

    fn check(analyzer: Analyzer, text: &str, expected: &[(&str, u32)]) {
        let found = tokens(analyzer, text);
        let found: Vec<(&str, u32)> = found.iter().map(|(t, p)| (t.as_str(), *p)).collect();
        assert_eq!(found, expected, "{analyzer:?} of {text:?}");
    }

    #[test]
    fn each_analyzer_divides_in_its_way() {
        let text = "The Quick-Brown FOX's 12.5 x@y.org";
        check(
            Analyzer::Standard,
            text,
            &[
                ("quick", 0),
                ("brown", 1),
                ("fox", 2),
                ("12.5", 3),
                ("x@y.org", 4),
            ],
        );
        check(
            Analyzer::Unicode,
            text,
            &[
                ("quick", 0),
                ("brown", 1),
                ("fox's", 2),
                ("12.5", 3),
                ("x", 4),
                ("y.org", 5),
            ],
        );
        check(
            Analyzer::Unicode,
            "_red_fox 1_000",
            &[("red", 0), ("fox", 1), ("1", 2), ("000", 3)],
        );
        check(
            Analyzer::Whitespace,
            text,
            &[
                ("The", 0),
                ("Quick-Brown", 1),
                ("FOX's", 2),
                ("12.5", 3),
                ("x@y.org", 4),
            ],
        );
        check(
            Analyzer::Simple,
            "The a1b",
            &[("the", 0), ("a", 1), ("b", 2)],
        );
        check(Analyzer::Stop, "The a1b the c", &[("b", 0), ("c", 1)]);
        check(Analyzer::Keyword, "The A", &[("The A", 0)]);
        check(Analyzer::LowercaseKeyword, "The A", &[("the a", 0)]);
        check(
            Analyzer::NGram,
            "x Abc",
            &[("x", 0), ("ab", 1), ("abc", 1), ("bc", 1)],
        );
    }

    #[test]
    fn long_words_are_divided_at_characters() {
        let word = "\u{e4}".repeat(200);
        let found = tokens(Analyzer::Whitespace, &word);
        assert_eq!(found.len(), 2);
        assert!(
            found
                .iter()
                .all(|(token, _)| token.len() <= TOKEN_BYTES_MAX)
        );
        assert_eq!(format!("{}{}", found[0].0, found[1].0), word);
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && !is_stop_word("cat"));
    }
}
