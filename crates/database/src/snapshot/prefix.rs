//! Listing documents by the beginning of their ids, with patterns for the rest.
//!
//! Everything compares in lower case. Order is that of the bytes of lower-cased ids.

use std::borrow::Cow;
use std::ops::Bound;

use jackdaw_base::lowercase::lowercase;

/// Which documents to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrefixQuery<'q> {
    /// What ids begin with; empty for all.
    pub prefix: &'q str,
    /// Patterns separated by `|`, of which the rest of an id must match one: `*` stands for any
    /// text, `?` for one character. `None` or empty takes everything.
    pub matches: Option<&'q str>,
    /// Patterns of which the rest of an id must match none.
    pub exclude: Option<&'q str>,
    /// Only ids behind this one.
    pub start_after: Option<&'q str>,
    /// Matches passed before the first is given.
    pub start: u64,
    /// Most matches given; `None` for all.
    pub page_size: Option<u64>,
}

/// The query, folded.
pub(super) struct Filter {
    prefix: String,
    after: Option<String>,
    matches: Vec<Vec<char>>,
    exclude: Vec<Vec<char>>,
}

impl Filter {
    pub(super) fn new(query: &PrefixQuery<'_>) -> Filter {
        let prefix = lowercase(query.prefix).into_owned();
        let after = query.start_after.filter(|id| !id.is_empty());
        Filter {
            after: after
                .map(|id| lowercase(id).into_owned())
                .filter(|id| *id >= prefix),
            prefix,
            matches: patterns(query.matches),
            exclude: patterns(query.exclude),
        }
    }

    /// The range of lower-cased ids to walk.
    pub(super) fn start(&self) -> Bound<&[u8]> {
        match &self.after {
            Some(after) => Bound::Excluded(after.as_bytes()),
            None => Bound::Included(self.prefix.as_bytes()),
        }
    }

    pub(super) fn is_within(&self, folded: &[u8]) -> bool {
        folded.starts_with(self.prefix.as_bytes())
    }

    /// Whether the patterns have to be asked at all.
    pub(super) fn has_patterns(&self) -> bool {
        !(self.matches.is_empty() && self.exclude.is_empty())
    }

    /// Whether the rest of an id passes the patterns.
    pub(super) fn passes(&self, folded: &[u8]) -> bool {
        let rest = folded.get(self.prefix.len()..).unwrap_or_default();
        let rest: Cow<'_, str> = String::from_utf8_lossy(rest);
        let is_any = |patterns: &[Vec<char>]| patterns.iter().any(|one| is_match(one, &rest));
        (self.matches.is_empty() || is_any(&self.matches)) && !is_any(&self.exclude)
    }
}

fn patterns(text: Option<&str>) -> Vec<Vec<char>> {
    let text = text.unwrap_or_default();
    text.split('|')
        .filter(|pattern| !pattern.is_empty())
        .map(|pattern| lowercase(pattern).chars().collect())
        .collect()
}

/// Whether a whole text matches a pattern. Time is at most pattern times text.
fn is_match(pattern: &[char], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // Where to go on when a star has to take one more character.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((after_star, taken)) => {
                    retry = Some((after_star, taken + 1));
                    (p, t) = (after_star, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        let check = |pattern: &str, text: &str| {
            let pattern: Vec<char> = pattern.chars().collect();
            is_match(&pattern, text)
        };
        for (pattern, text) in [
            ("*", ""),
            ("2*", "200"),
            ("*00", "200"),
            ("10?", "101"),
            ("a*b*c", "axxbyybzc"),
            ("?", "\u{e9}"),
            ("***", "x"),
        ] {
            assert!(check(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "x"),
            ("2*", "100"),
            ("10?", "10"),
            ("10?", "1011"),
            ("a*b", "abc"),
            ("?", ""),
        ] {
            assert!(!check(pattern, text), "{pattern} {text}");
        }
    }
}
