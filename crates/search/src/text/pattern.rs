//! Wildcards: `*` for any run of characters, `?` for one.
//!
//! Called by `query`. Time is bounded by the product of both lengths.
//!
//! Threads: pure functions.

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
            ("**", "", true),
            ("", "", true),
            ("", "a", false),
            ("?", "\u{e4}", true),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
        ] {
            assert_eq!(
                Wildcard::parse(pattern).matches(term),
                expected,
                "{pattern} {term}"
            );
        }
        assert_eq!(Wildcard::parse("ab?c*").beginning(), "ab");
    }

    #[test]
    fn many_runs_do_not_explode() {
        let pattern = "*a".repeat(200) + "b";
        assert!(!Wildcard::parse(&pattern).matches(&"a".repeat(400)));
    }
}
