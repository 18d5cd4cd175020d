//! The query syntax of Lucene, for one field: `lucene(field, text)`.
//!
//! Executed: words with `*` and `?`, `"phrases"` with `~slop`, `word~`, `word~0.7` (a similarity)
//! and `word~2` (from 1 on, a number of edits), `[a TO b]` and `{a TO b}`, `/expressions/`,
//! `AND OR NOT && || !`, `+` and `-`, groups, `^boost`, `\` before a character that would mean
//! something. Refused: names of other fields.
//!
//! Invariants:
//! - Nesting is bounded; time is linear in the text.

use std::iter::Peekable;
use std::ops::Bound;
use std::str::CharIndices;

use super::QUERY_TEXT_BYTES_MAX;
use super::fuzzy::Fuzzy;
use super::query::{Expression, TextError, TextQuery};
use super::search_text::{phrase, wildcard};
use crate::FieldOptions;

/// Deepest nesting of groups.
const DEPTH_MAX: usize = 32;

/// Similarity of `word~` without a number.
const SIMILARITY: f64 = 0.5;

impl TextQuery {
    /// The condition of an expression in Lucene's syntax.
    ///
    /// # Errors
    /// The text is not in the syntax; the message says where.
    pub fn lucene(text: &str, options: FieldOptions) -> Result<TextQuery, TextError> {
        if text.len() > QUERY_TEXT_BYTES_MAX {
            return Err(TextError::new(format!(
                "the text of lucene() has at most {QUERY_TEXT_BYTES_MAX} bytes"
            )));
        }
        let mut parser = Parser {
            text,
            chars: text.char_indices().peekable(),
            options,
            depth: 0,
        };
        let query = parser.clauses()?;
        match parser.chars.next() {
            None => Ok(query),
            Some((at, c)) => Err(parser.error(at, &format!("'{c}' stands alone"))),
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    chars: Peekable<CharIndices<'t>>,
    options: FieldOptions,
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Occur {
    Must,
    Should,
    MustNot,
}

impl Parser<'_> {
    fn error(&self, at: usize, what: &str) -> TextError {
        let column = self.text[..at].chars().count() + 1;
        TextError::new(format!(
            "lucene(): {what}, at character {column} of its text"
        ))
    }

    fn at(&mut self) -> usize {
        self.chars.peek().map_or(self.text.len(), |(at, _)| *at)
    }

    fn peek(&mut self) -> Option<char> {
        self.chars.peek().map(|(_, c)| *c)
    }

    fn skip_blanks(&mut self) {
        while self.chars.next_if(|(_, c)| c.is_whitespace()).is_some() {}
    }

    fn take(&mut self, wanted: char) -> bool {
        self.chars.next_if(|(_, c)| *c == wanted).is_some()
    }

    /// Takes a word of the syntax when it is next and stands alone.
    fn take_word(&mut self, word: &str) -> bool {
        let rest = &self.text[self.at()..];
        let is_next = rest.strip_prefix(word).is_some_and(|behind| {
            !word.chars().all(char::is_alphabetic)
                || !behind.starts_with(|c: char| !c.is_whitespace() && c != '(' && c != ')')
        });
        if is_next {
            for _ in word.chars() {
                self.chars.next();
            }
        }
        is_next
    }

    /// Clauses up to the end or a closing parenthesis.
    fn clauses(&mut self) -> Result<TextQuery, TextError> {
        let mut clauses: Vec<(Occur, Option<TextQuery>)> = Vec::new();
        loop {
            self.skip_blanks();
            if self.peek().is_none_or(|c| c == ')') {
                break;
            }
            let at = self.at();
            let is_and = self.take_word("AND") || self.take_word("&&");
            let is_or = !is_and && (self.take_word("OR") || self.take_word("||"));
            if (is_and || is_or) && clauses.is_empty() {
                return Err(self.error(at, "a condition must stand before AND and OR"));
            }
            self.skip_blanks();
            let mut occur = match is_and {
                true => Occur::Must,
                false => Occur::Should,
            };
            if self.take_word("NOT") || self.take('!') || self.take('-') {
                occur = Occur::MustNot;
            } else if self.take('+') {
                occur = Occur::Must;
            }
            if is_and
                && let Some((before, _)) = clauses.last_mut()
                && *before == Occur::Should
            {
                *before = Occur::Must;
            }
            self.skip_blanks();
            let clause = self.clause()?;
            clauses.push((occur, clause));
        }
        Ok(join(clauses))
    }

    /// One clause; `None` when its text has no tokens.
    fn clause(&mut self) -> Result<Option<TextQuery>, TextError> {
        let at = self.at();
        let query = match self.peek() {
            None | Some(')') => return Err(self.error(at, "a condition is missing")),
            Some('(') => Some(self.group()?),
            Some('"') => self.quoted()?,
            Some('/') => Some(self.expression()?),
            Some('[' | '{') => Some(self.range()?),
            Some(_) => self.word()?,
        };
        if !self.take('^') {
            return Ok(query);
        }
        let at = self.at();
        let boost = self.number().filter(|boost| *boost >= 0.0);
        let boost = boost.ok_or_else(|| self.error(at, "a number must follow '^'"))?;
        Ok(query.map(|query| query.boosted(boost)))
    }

    fn group(&mut self) -> Result<TextQuery, TextError> {
        let at = self.at();
        self.chars.next();
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error(at, "groups are nested too deep"));
        }
        let query = self.clauses()?;
        self.depth -= 1;
        match self.take(')') {
            true => Ok(query),
            false => Err(self.error(at, "this '(' is not closed")),
        }
    }

    fn until(&mut self, end: char, what: &str) -> Result<String, TextError> {
        let at = self.at();
        self.chars.next();
        let mut text = String::new();
        while let Some((_, c)) = self.chars.next() {
            match c {
                '\\' if end == '/' && self.peek() != Some('/') => text.push('\\'),
                '\\' => text.extend(self.chars.next().map(|(_, c)| c)),
                c if c == end => return Ok(text),
                c => text.push(c),
            }
        }
        Err(self.error(at, &format!("this {what} is not closed")))
    }

    fn quoted(&mut self) -> Result<Option<TextQuery>, TextError> {
        let text = self.until('"', "phrase")?;
        let slop = match self.take('~') {
            true => self.number().unwrap_or(0.0),
            false => 0.0,
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a slop beyond a million is as good as any"
        )]
        let slop = slop.clamp(0.0, 1e6) as u32;
        Ok(phrase(&text, slop, self.options))
    }

    fn expression(&mut self) -> Result<TextQuery, TextError> {
        let text = self.until('/', "expression")?;
        // Lucene's expressions are of whole terms.
        let expression = Expression::compile(&format!("^(?:{text})$"))?;
        Ok(TextQuery::Expression(expression))
    }

    /// `[a TO b]`, `{a TO b}`; `*` is no bound.
    fn range(&mut self) -> Result<TextQuery, TextError> {
        let at = self.at();
        let rest = &self.text[at..];
        let wrong = |parser: &Self| parser.error(at, "a range is written [a TO b] or {a TO b}");
        let end = rest.find([']', '}']).ok_or_else(|| wrong(self))?;
        let inside = &rest[1..end];
        let (low, high) = inside.split_once(" TO ").ok_or_else(|| wrong(self))?;
        let bound = |text: &str, is_included: bool| {
            let text = text.trim().trim_matches('"');
            let folded: Box<str> = self.options.analyzer.fold(text).into();
            match (text, is_included) {
                ("*", _) => Bound::Unbounded,
                (_, true) => Bound::Included(folded),
                (_, false) => Bound::Excluded(folded),
            }
        };
        let query = TextQuery::Range(
            bound(low, rest.starts_with('[')),
            bound(high, rest[end..].starts_with(']')),
        );
        while self.at() <= at + end && self.chars.next().is_some() {}
        Ok(query)
    }

    fn number(&mut self) -> Option<f64> {
        let start = self.at();
        let is_digit = |c: char| c.is_ascii_digit() || c == '.';
        while self.chars.next_if(|(_, c)| is_digit(*c)).is_some() {}
        let end = self.at();
        self.text[start..end].parse().ok()
    }

    fn word(&mut self) -> Result<Option<TextQuery>, TextError> {
        let start = self.at();
        let (mut text, mut has_wildcard) = (String::new(), false);
        while let Some((at, c)) = self.chars.peek().copied() {
            match c {
                c if c.is_whitespace() || "()\"[]{}^~".contains(c) => break,
                ':' if text == "*" && self.text[at..].starts_with(":*") => {
                    text.clear();
                    self.chars.next();
                    continue;
                }
                ':' => {
                    return Err(self.error(
                        at,
                        "names of fields mean nothing here: lucene(field, text) has it",
                    ));
                }
                '\\' => {
                    self.chars.next();
                    if let Some((_, escaped)) = self.chars.next() {
                        if "*?\\".contains(escaped) && has_wildcard {
                            text.push('\\');
                        }
                        text.push(escaped);
                    }
                    continue;
                }
                '*' | '?' => has_wildcard = true,
                _ => {}
            }
            text.push(c);
            self.chars.next();
        }
        if text.is_empty() {
            return Err(self.error(start, "this character means nothing here"));
        }
        if self.take('~') {
            let similarity = self.number().unwrap_or(SIMILARITY);
            let term = self.options.analyzer.fold(&text);
            return Ok(Some(TextQuery::Fuzzy(Fuzzy::new(&term, similarity))));
        }
        Ok(match has_wildcard {
            true => wildcard(&text, self.options),
            false => phrase(&text, 0, self.options),
        })
    }
}

fn join(clauses: Vec<(Occur, Option<TextQuery>)>) -> TextQuery {
    let (mut must, mut should, mut must_not) = (Vec::new(), Vec::new(), Vec::new());
    for (occur, clause) in clauses {
        // A stop word neither matches nor prevents.
        let Some(clause) = clause else { continue };
        match occur {
            Occur::Must => must.push(clause),
            Occur::Should => should.push(clause),
            Occur::MustNot => must_not.push(clause),
        }
    }
    match (must.len(), should.len(), must_not.len()) {
        (1, 0, 0) => must.remove(0),
        (0, 1, 0) => should.remove(0),
        _ => TextQuery::Bool {
            must,
            should,
            must_not,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analyzer, FieldTerms};

    #[test]
    fn expressions_mean_what_lucene_says() {
        let options = FieldOptions::new(Analyzer::Standard);
        let mut terms = FieldTerms::new(options);
        terms.add("gamma one two");
        for (text, expected) in [
            ("gam* OR bet?", true),
            ("gamma AND one", true),
            ("gamma AND three", false),
            ("+gamma -one", false),
            ("gamma NOT three", true),
            ("three (one AND two)", true),
            ("(three OR four) AND one", false),
            ("\"gamma one\"", true),
            ("\"gamma two\"", false),
            ("\"gamma two\"~1", true),
            ("gamna~", true),
            ("gamna~0.9", false),
            ("gamna~1", true),
            ("gaxna~1", false),
            ("gaxna~2", true),
            ("gaxna~1.0", false),
            ("[one TO p]", true),
            ("{one TO p}", false),
            ("[* TO a]", false),
            ("/g.*a/", true),
            ("/g/", false),
            ("one^3 three", true),
            ("*:*", true),
            ("*", true),
            ("-three", false),
            ("Gamma", true),
            (r"g\amma", true),
            ("android", false),
            ("", false),
        ] {
            let query = TextQuery::lucene(text, options);
            let query = query.unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(query.matches(&terms), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let options = FieldOptions::new(Analyzer::Standard);
        for (text, part) in [
            ("(a", "this '(' is not closed, at character 1"),
            ("a )", "')' stands alone, at character 3"),
            ("AND a", "before AND and OR, at character 1"),
            ("a AND", "a condition is missing"),
            ("[a b]", "a range is written"),
            ("\"a", "this phrase is not closed"),
            ("name:a", "names of fields"),
            ("a^x", "a number must follow"),
            ("~", "means nothing here"),
            ("/(/", "is no regular expression"),
        ] {
            let error = TextQuery::lucene(text, options).unwrap_err();
            assert!(error.message.contains(part), "{text}: {error}");
        }
        let deep = "(".repeat(40);
        assert!(TextQuery::lucene(&deep, options).is_err());
    }
}
