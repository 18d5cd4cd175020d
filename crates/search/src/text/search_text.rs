//! The text of `search(field, text)`: words, phrases in quotes, wildcards.
//!
//! Called by query execution, which knows the field's options.
//!
//! Rules: white space separates pieces; `"..."` is a phrase; `*` and `?` are wildcards. A piece
//! that the analyzer divides into several tokens (`one-two`) is a phrase too, where positions
//! are kept. Stop words are left out.

use super::QUERY_TEXT_BYTES_MAX;
use super::pattern::Wildcard;
use super::phrase::Phrase;
use super::query::{TextError, TextQuery};
use crate::FieldOptions;

impl TextQuery {
    /// The condition of a search: all pieces must match, or any.
    ///
    /// # Errors
    /// The text is too long, or a phrase has no words.
    pub fn search(text: &str, all: bool, options: FieldOptions) -> Result<TextQuery, TextError> {
        if text.len() > QUERY_TEXT_BYTES_MAX {
            return Err(TextError::new(format!(
                "the text of a search has at most {QUERY_TEXT_BYTES_MAX} bytes"
            )));
        }
        let mut queries = Vec::new();
        for piece in pieces(text) {
            match piece {
                Piece::Quoted(text) => {
                    if !text.chars().any(char::is_alphanumeric) {
                        return Err(TextError::new("a phrase in quotes has no words"));
                    }
                    queries.extend(phrase(text, 0, options));
                }
                Piece::Bare(text) if text.contains(['*', '?']) => {
                    queries.extend(wildcard(text, options));
                }
                Piece::Bare(text) => queries.extend(word(text, all, options)),
            }
        }
        Ok(match all && !queries.is_empty() {
            true => TextQuery::all(queries),
            false => TextQuery::any(queries),
        })
    }

    /// The words of a search near each other: `proximity(search(field, text), slop)`.
    ///
    /// # Errors
    /// The text has wildcards or fewer than two words.
    pub fn near(text: &str, slop: u32, options: FieldOptions) -> Result<TextQuery, TextError> {
        if text.contains(['*', '?']) {
            return Err(TextError::new(
                "Proximity search works only on simple string terms, not wildcard or prefix ones",
            ));
        }
        let text = text.replace('"', " ");
        let near = phrase(&text, slop, options);
        // Words that are left out as stop words were written all the same.
        let is_single = matches!(near, None | Some(TextQuery::Term(_)));
        if is_single && text.split_whitespace().count() < 2 {
            return Err(TextError::new(
                "Proximity search works only on multiple search terms",
            ));
        }
        Ok(near.unwrap_or_else(TextQuery::nothing))
    }
}

enum Piece<'t> {
    Bare(&'t str),
    Quoted(&'t str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('"') {
        // A quote that nothing closes is no quote.
        let Some((inside, behind)) = after.split_once('"') else {
            pieces.extend(before.split_whitespace().map(Piece::Bare));
            rest = after;
            break;
        };
        pieces.extend(before.split_whitespace().map(Piece::Bare));
        pieces.push(Piece::Quoted(inside));
        rest = behind;
    }
    pieces.extend(rest.split_whitespace().map(Piece::Bare));
    pieces
}

/// The tokens of a text; `None` when it has none.
pub(super) fn phrase(text: &str, slop: u32, options: FieldOptions) -> Option<TextQuery> {
    let mut terms: Vec<(Box<str>, u32)> = Vec::new();
    options.analyzer.tokens(text, 0, &mut |token, position| {
        terms.push((token.into(), position));
    });
    let first = terms.first()?.1;
    terms
        .iter_mut()
        .for_each(|(_, position)| *position -= first);
    match terms.as_mut_slice() {
        [(term, _)] => Some(TextQuery::Term(std::mem::take(term))),
        _ if options.positions => Some(TextQuery::Phrase(Phrase { terms, slop })),
        // Without positions all words is the closest there is.
        _ => Some(TextQuery::all(
            terms
                .into_iter()
                .map(|(term, _)| TextQuery::Term(term))
                .collect(),
        )),
    }
}

/// A piece without wildcards. Tokens of one position, n-grams, are as if written apart.
fn word(text: &str, all: bool, options: FieldOptions) -> Option<TextQuery> {
    let mut terms: Vec<(Box<str>, u32)> = Vec::new();
    options.analyzer.tokens(text, 0, &mut |token, position| {
        terms.push((token.into(), position));
    });
    if !terms.windows(2).any(|pair| pair[0].1 == pair[1].1) {
        return phrase(text, 0, options);
    }
    let grams = terms
        .into_iter()
        .map(|(term, _)| TextQuery::Term(term))
        .collect();
    Some(match all {
        true => TextQuery::all(grams),
        false => TextQuery::any(grams),
    })
}

/// A piece with wildcards: one pattern, or the words between its punctuation with the stars at
/// their ends.
pub(super) fn wildcard(text: &str, options: FieldOptions) -> Option<TextQuery> {
    let analyzer = options.analyzer;
    let core = text.trim_matches('*');
    if core.is_empty() {
        return Some(TextQuery::Anything);
    }
    let mut tokens: Vec<Box<str>> = Vec::new();
    if analyzer.is_full_text() && !core.contains(['*', '?']) {
        analyzer.tokens(core, 0, &mut |token, _| tokens.push(token.into()));
    }
    let folded = analyzer.fold(text);
    if tokens.len() < 2 || tokens.iter().any(|token| **token == *analyzer.fold(core)) {
        let is_prefix = text.strip_suffix('*') == Some(core) && !core.contains(['*', '?', '\\']);
        return Some(match is_prefix {
            true => TextQuery::Prefix(analyzer.fold(core).into()),
            false => TextQuery::Wildcard(Wildcard::parse(&folded)),
        });
    }
    let last = tokens.len() - 1;
    let queries = tokens.into_iter().enumerate().map(|(at, token)| {
        let (before, after) = (
            at == 0 && text.starts_with('*'),
            at == last && text.ends_with('*'),
        );
        match (before, after) {
            (false, false) => TextQuery::Term(token),
            (false, true) => TextQuery::Prefix(token),
            (true, false) => TextQuery::Wildcard(Wildcard::parse(&format!("*{token}"))),
            (true, true) => TextQuery::Wildcard(Wildcard::parse(&format!("*{token}*"))),
        }
    });
    Some(TextQuery::all(queries.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analyzer, FieldTerms};

    fn finds(text: &str, all: bool, value: &str) -> bool {
        let options = FieldOptions::new(Analyzer::Standard);
        let mut terms = FieldTerms::new(options);
        terms.add(value);
        let query = TextQuery::search(text, all, options).unwrap();
        query.matches(&terms)
    }

    #[test]
    fn searches_find_words_phrases_and_wildcards() {
        let value = "Alpha one, the second TWO-three";
        for (text, any, all) in [
            ("one", true, true),
            ("one none", true, false),
            ("ONE alpha", true, true),
            ("\"alpha one\"", true, true),
            ("\"one alpha\"", false, false),
            ("\"one the second\"", true, true),
            ("\"one second\"", true, true),
            ("\"one of the second\"", true, true),
            ("\"alpha second\"", false, false),
            ("two-three", true, true),
            ("three-two", false, false),
            ("al*", true, true),
            ("*pha", true, true),
            ("*lph*", true, true),
            ("a?pha", true, true),
            ("a*a", true, true),
            ("*", true, true),
            ("one -two", true, true),
            ("", false, false),
            ("the", false, false),
            ("two-thr*", true, true),
            ("\"alpha", true, true),
        ] {
            assert_eq!(finds(text, false, value), any, "any of {text}");
            assert_eq!(finds(text, true, value), all, "all of {text}");
        }
    }

    #[test]
    fn bad_searches_are_refused() {
        let options = FieldOptions::new(Analyzer::Standard);
        assert!(TextQuery::search("\"\"", false, options).is_err());
        assert!(TextQuery::search(&"x ".repeat(40_000), false, options).is_err());
        for text in ["fluent", "*luent frenc*"] {
            let error = TextQuery::near(text, 1, options).unwrap_err();
            assert!(
                error.message.starts_with("Proximity search works only"),
                "{error}"
            );
        }
    }

    #[test]
    fn near_words_may_be_apart() {
        let options = FieldOptions::new(Analyzer::Standard);
        let mut terms = FieldTerms::new(options);
        terms.add("gamma one two");
        let near = |terms: &FieldTerms, text: &str, slop| {
            let near = TextQuery::near(text, slop, options);
            near.unwrap().matches(terms)
        };
        for text in ["gamma two", "gamma_two"] {
            let found = (near(&terms, text, 0), near(&terms, text, 1));
            assert_eq!(found, (false, true), "{text}");
        }
        // With 0 the words stand in this order, one directly behind the other.
        for (value, distance) in [
            ("red fox", 0),
            ("red and fox", 0),
            ("the Red, Fox", 0),
            ("blue, then red. Fox red", 0),
            ("red big fox", 1),
            ("fox red", 2),
            ("red x big fox", 2),
        ] {
            let mut terms = FieldTerms::new(options);
            terms.add(value);
            for slop in 0..4 {
                let found = near(&terms, "red fox", slop);
                assert_eq!(found, slop >= distance, "{value} within {slop}");
            }
        }
        // Stop words keep nothing apart.
        let mut terms = FieldTerms::new(options);
        terms.add("the fox is quick");
        assert!(near(&terms, "fox quick", 0));
        assert_eq!(
            (near(&terms, "quick fox", 1), near(&terms, "quick fox", 2)),
            (false, true)
        );
    }
}
