//! Wildcards: `*` for any run of characters, `?` for one.
//!
//! Called by `query`. Time is bounded by the product of both lengths.
//!
//! Threads: pure functions.

use memchr::memmem::Finder;

/// A text with wildcards, folded as the terms are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wildcard {
    pieces: Vec<Piece>,
    text: Box<str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Run,
    One,
    Char(char),
}

impl Wildcard {
    /// Reads a pattern; `\` before a wildcard takes its meaning away.
    #[must_use]
    pub fn parse(pattern: &str) -> Wildcard {
        let mut pieces = Vec::new();
        let mut chars = pattern.chars();
        while let Some(next) = chars.next() {
            pieces.push(match next {
                '*' if pieces.last() == Some(&Piece::Run) => continue,
                '*' => Piece::Run,
                '?' => Piece::One,
                '\\' => Piece::Char(chars.next().unwrap_or('\\')),
                other => Piece::Char(other),
            });
        }
        Wildcard {
            pieces,
            text: pattern.into(),
        }
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What every match begins with.
    #[must_use]
    pub fn beginning(&self) -> String {
        let literal = self.pieces.iter().map_while(|piece| match piece {
            Piece::Char(c) => Some(*c),
            Piece::Run | Piece::One => None,
        });
        literal.collect()
    }

    /// What fits a pattern without `?`, to compare with many terms; `None` for others.
    pub(crate) fn literals(&self) -> Option<Literals> {
        let mut texts = vec![String::new()];
        for piece in &self.pieces {
            match piece {
                Piece::Run => texts.push(String::new()),
                Piece::One => return None,
                Piece::Char(c) => texts.last_mut()?.push(*c),
            }
        }
        let beginning = texts.remove(0);
        let ending = texts.pop();
        let between = texts.iter().map(|text| Finder::new(text).into_owned());
        Some(Literals {
            between: between.collect(),
            beginning,
            ending,
        })
    }

    /// Whether all of `term` fits.
    #[must_use]
    pub fn matches(&self, term: &str) -> bool {
        let chars: Vec<char> = term.chars().collect();
        let (mut at, mut piece) = (0, 0);
        // Where to go on when what follows the last run does not fit.
        let mut retry: Option<(usize, usize)> = None;
        while at < chars.len() {
            match self.pieces.get(piece) {
                Some(Piece::Run) => {
                    retry = Some((at, piece + 1));
                    piece += 1;
                }
                Some(Piece::One) => (at, piece) = (at + 1, piece + 1),
                Some(Piece::Char(c)) if *c == chars[at] => (at, piece) = (at + 1, piece + 1),
                _ => match &mut retry {
                    Some((from, behind)) => {
                        *from += 1;
                        (at, piece) = (*from, *behind);
                    }
                    None => return false,
                },
            }
        }
        self.pieces[piece..]
            .iter()
            .all(|piece| *piece == Piece::Run)
    }
}

/// A pattern of texts with anything between them.
pub(crate) struct Literals {
    beginning: String,
    between: Vec<Finder<'static>>,
    /// `None`: the beginning is all.
    ending: Option<String>,
}

impl Literals {
    /// The longest text that stands between others: what fits has it somewhere.
    pub(crate) fn longest(&self) -> Option<&Finder<'static>> {
        let texts = self.between.iter().filter(|text| !text.needle().is_empty());
        texts.max_by_key(|text| text.needle().len())
    }

    /// Whether all of `term`, which is UTF-8, fits.
    #[inline]
    pub(crate) fn matches(&self, term: &[u8]) -> bool {
        let Some(mut rest) = term.strip_prefix(self.beginning.as_bytes()) else {
            return false;
        };
        let Some(ending) = &self.ending else {
            return rest.is_empty();
        };
        for text in &self.between {
            match text.find(rest) {
                Some(at) => rest = &rest[at + text.needle().len()..],
                None => return false,
            }
        }
        rest.ends_with(ending.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stand_for_what_they_say() {
        for (pattern, term, expected) in [
            ("a*", "abc", true),
            ("a*", "ba", false),
            ("*c", "abc", true),
            ("*b*", "abc", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("aba*aba", "ababa", false),
            ("*ab*ab*", "xababx", true),
            ("*\u{e4}*", "x\u{e4}x", true),
            ("**", "", true),
            ("", "", true),
            ("", "a", false),
            ("?", "\u{e4}", true),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
        ] {
            let wildcard = Wildcard::parse(pattern);
            assert_eq!(wildcard.matches(term), expected, "{pattern} {term}");
            let literals = wildcard.literals();
            assert_eq!(literals.is_none(), pattern.contains('?'), "{pattern}");
            if let Some(literals) = literals {
                let fits = literals.matches(term.as_bytes());
                assert_eq!(fits, expected, "{pattern} {term}");
            }
        }
        assert_eq!(Wildcard::parse("ab?c*").beginning(), "ab");
    }

    #[test]
    fn many_runs_do_not_explode() {
        let pattern = "*a".repeat(200) + "b";
        assert!(!Wildcard::parse(&pattern).matches(&"a".repeat(400)));
    }
}
