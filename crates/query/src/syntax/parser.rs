//! Recursive descent parser of RQL: the cursor, and the order of the clauses.
//!
//! Called through [`parse`] and [`parse_patch`]. Single clauses are in `clauses`, conditions and
//! calls in `expression`, time series bodies in `time_series`.
//!
//! Invariants:
//! - Nesting is bounded by [`DEPTH_MAX`], so neither the parser nor anything that walks the tree
//!   can run out of stack.
//! - The parser never goes back over what it consumed: time is linear in the text.

use super::error::{SyntaxError, SyntaxErrorKind, line_and_column};
use super::lexer::{Spanned, Token, token_at, unescape};
use super::script::block_len;
use super::tree::{Path, Query, Script};

/// Longest query text in bytes: longer ones are programs that forgot to use parameters.
pub const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// Deepest nesting of parentheses, calls and `not`: 128 levels of the parser fit a 2 MiB stack.
pub const DEPTH_MAX: u32 = 128;
/// Most predicates of one query: planning looks at each.
pub const CLAUSE_COUNT_MAX: usize = 4_096;
/// Most items of one `in (...)`; lists in parameters count too.
pub const IN_ITEM_COUNT_MAX: usize = 65_536;

/// Words that cannot stand bare as a field, collection or alias.
pub(crate) const RESERVED: [&str; 11] = [
    "as", "select", "where", "load", "group", "order", "include", "update", "offset", "limit",
    "scale",
];
/// Words that begin a clause: none is taken for an alias.
const CLAUSES: [&str; 11] = [
    "select",
    "where",
    "load",
    "group",
    "order",
    "include",
    "update",
    "offset",
    "limit",
    "filter",
    "filter_limit",
];

/// Parses a query that reads: everything but `update`.
///
/// # Errors
/// The text is not a query, or exceeds a limit ([`TEXT_BYTES_MAX`], [`DEPTH_MAX`],
/// [`CLAUSE_COUNT_MAX`], [`IN_ITEM_COUNT_MAX`]).
pub fn parse(text: &str) -> Result<Query, SyntaxError> {
    Parser::new(text)?.query(Kind::Read)
}

/// Parses a query that ends with `update { ... }`.
///
/// # Errors
/// As [`parse`], and when `update` is missing or `select` or `include` is there.
pub fn parse_patch(text: &str) -> Result<Query, SyntaxError> {
    Parser::new(text)?.query(Kind::Patch)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Patch,
}

/// The cursor: a text and the token under it.
pub(super) struct Parser<'t> {
    text: &'t str,
    current: Spanned<'t>,
    depth: u32,
    clause_count: usize,
    /// Bare word taken as alias of the source: a likely misspelled keyword.
    bare_alias: Option<&'t str>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Result<Parser<'t>, SyntaxError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(SyntaxError {
                line: 1,
                column: 1,
                message: format!(
                    "Expected at most {TEXT_BYTES_MAX} bytes of query but got: {}",
                    text.len()
                ),
                hint: Some("Pass long values as parameters: where F in ($list).".into()),
                kind: SyntaxErrorKind::Unparsable,
            });
        }
        let current = token_at(text, 0)?;
        Ok(Parser {
            text,
            current,
            depth: 0,
            clause_count: 0,
            bare_alias: None,
        })
    }

    fn query(mut self, kind: Kind) -> Result<Query, SyntaxError> {
        let mut declarations = Vec::new();
        while self.eat_word("declare")? {
            declarations.push(self.declaration()?);
        }
        let from = self.source_clause()?;
        let group_by = self.group_by_clause()?;
        let condition = self.condition_clause("where")?;
        let order_by = self.order_by_clause()?;
        let load = self.load_clause()?;
        let filter = self.condition_clause("filter")?;
        let mut query = Query {
            declarations,
            from,
            group_by,
            condition,
            order_by,
            load,
            filter,
            select: None,
            include: Vec::new(),
            update: None,
            paging: Default::default(),
        };
        match kind {
            Kind::Read => {
                query.select = self.select_clause()?;
                query.include = self.include_clause()?;
                query.paging = self.paging_clause()?;
                if self.is_word("include") {
                    query.include = self.late_include(query.include)?;
                }
            }
            Kind::Patch => {
                query.update = Some(self.update_clause()?);
                query.paging = self.paging_clause()?;
            }
        }
        match self.current.token {
            Token::End => Ok(query),
            _ => Err(self.error_after_query()),
        }
    }

    fn error_after_query(&self) -> SyntaxError {
        let mut error = self.expected("Expected end of query");
        error.hint = match (self.bare_alias, self.current.token) {
            (Some(alias), _) if similar_clause(alias).is_some() => similar_clause(alias)
                .map(|clause| format!("{alias} was read as an alias. Did you mean {clause}?")),
            (_, Token::Word(word)) if is_one_of(word, &["update"]) => {
                Some("Only a patch by query may update documents.".into())
            }
            (_, Token::Word(word)) if is_one_of(word, &CLAUSES) => Some(
                "Clauses stand in this order: declare, from, group by, where, order by, load, \
                 filter, select, include, limit, offset, filter_limit."
                    .into(),
            ),
            (_, Token::Symbol("{")) => Some("Parameters go beside the query, not after it.".into()),
            (_, Token::Word(word)) => similar_clause(word).map(|c| format!("Did you mean {c}?")),
            _ => None,
        };
        error
    }

    // The cursor.

    /// The token under the cursor.
    pub(super) fn token(&self) -> Token<'t> {
        self.current.token
    }

    /// The token after the one under the cursor.
    pub(super) fn next_token(&self) -> Result<Token<'t>, SyntaxError> {
        Ok(token_at(self.text, self.current.end)?.token)
    }

    pub(super) fn advance(&mut self) -> Result<(), SyntaxError> {
        self.current = token_at(self.text, self.current.end)?;
        Ok(())
    }

    /// Whether the cursor is on this word, in any case.
    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.current.token, Token::Word(found) if found.eq_ignore_ascii_case(word))
    }

    /// Consumes the word when the cursor is on it.
    pub(super) fn eat_word(&mut self, word: &str) -> Result<bool, SyntaxError> {
        let found = self.is_word(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Consumes the word.
    pub(super) fn need_word(&mut self, word: &str, expected: &str) -> Result<(), SyntaxError> {
        match self.eat_word(word)? {
            true => Ok(()),
            false => Err(self.expected(expected)),
        }
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.current.token, Token::Symbol(found) if found == symbol)
    }

    /// Consumes the symbol when the cursor is on it.
    pub(super) fn eat_symbol(&mut self, symbol: &str) -> Result<bool, SyntaxError> {
        let found = self.is_symbol(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Consumes the symbol.
    pub(super) fn need_symbol(&mut self, symbol: &str, expected: &str) -> Result<(), SyntaxError> {
        match self.eat_symbol(symbol)? {
            true => Ok(()),
            false => Err(self.expected(expected)),
        }
    }

    /// Whether the cursor is where an expression, list or query may end a clause item.
    pub(super) fn is_clause_word(&self) -> bool {
        matches!(self.current.token, Token::Word(word) if is_one_of(word, &CLAUSES))
    }

    /// Consumes `{ ... }` and gives the text between the braces.
    pub(super) fn script(&mut self, expected: &str) -> Result<Script, SyntaxError> {
        let start = self.current.start;
        if !self.is_symbol("{") {
            return Err(self.expected(expected));
        }
        let Some(len) = block_len(&self.text[start..]) else {
            let mut error = self.expected(expected);
            error.hint = Some("The closing } of this block is missing.".into());
            return Err(error);
        };
        let script = Script(self.text[start + 1..start + len - 1].to_owned());
        self.current = token_at(self.text, start + len)?;
        Ok(script)
    }

    /// Runs `inner` one level deeper.
    pub(super) fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<T, SyntaxError> {
        if self.depth == DEPTH_MAX {
            let mut error = self.expected("Query is too complex");
            error.hint = Some(format!(
                "At most {DEPTH_MAX} levels of nesting are allowed."
            ));
            return Err(error);
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Counts one predicate.
    pub(super) fn count_clause(&mut self) -> Result<(), SyntaxError> {
        self.clause_count += 1;
        if self.clause_count > CLAUSE_COUNT_MAX {
            let mut error = self.expected("Query is too complex");
            error.hint = Some(format!(
                "At most {CLAUSE_COUNT_MAX} conditions are allowed; where F in ($list) takes \
                 {IN_ITEM_COUNT_MAX} values."
            ));
            return Err(error);
        }
        Ok(())
    }

    pub(super) fn set_bare_alias(&mut self, alias: &'t str) {
        self.bare_alias = Some(alias);
    }

    /// The string the text token under the cursor stands for.
    pub(super) fn unescaped(raw: &str, quote: char) -> String {
        unescape(raw, quote)
    }

    // Errors.

    /// An error at the cursor: `expected`, then what stands there.
    pub(super) fn expected(&self, expected: &str) -> SyntaxError {
        let (line, column) = line_and_column(self.text, self.current.start);
        let message = match self.current.token {
            Token::End => format!("{expected} but got to the end of the query"),
            _ => format!("{expected} but got: {}", self.found()),
        };
        SyntaxError {
            line,
            column,
            message,
            hint: None,
            kind: SyntaxErrorKind::Unparsable,
        }
    }

    /// [`Parser::expected`] with a hint.
    pub(super) fn expected_with(&self, expected: &str, hint: &str) -> SyntaxError {
        SyntaxError {
            hint: Some(hint.to_owned()),
            ..self.expected(expected)
        }
    }

    /// An error whose message stands alone.
    pub(super) fn incomplete(&self, message: String) -> SyntaxError {
        SyntaxError {
            message,
            kind: SyntaxErrorKind::Incomplete,
            ..self.expected("")
        }
    }

    /// The error of a condition that is a field alone; `None` where a condition may end.
    pub(super) fn operator_missing(&self, field: &Path) -> Option<SyntaxError> {
        let ends = match self.token() {
            Token::End | Token::Symbol(")" | "," | "}") => true,
            Token::Word(word) => {
                is_one_of(word, &CLAUSES)
                    || is_one_of(word, &RESERVED)
                    || is_one_of(word, &["and", "or", "not", "all", "with"])
            }
            _ => false,
        };
        (!ends).then(|| {
            self.incomplete(format!(
                "Expected operator after '{field}' field, but found '{}'. Valid operators are: \
                 'in', 'between', =, <, >, <=, >=, !=",
                self.found()
            ))
        })
    }

    /// The text under the cursor: a token, or a run of operator characters with what follows.
    fn found(&self) -> &'t str {
        /// Longest part of a token that is quoted in a message.
        const FOUND_CHARACTERS_MAX: usize = 64;
        let rest = &self.text[self.current.start..];
        let token_len = self.current.end - self.current.start;
        let len = match self.current.token {
            Token::Symbol("+" | "-" | "/" | "*" | "=" | "==") => rest
                .find(|c: char| !(c.is_alphanumeric() || "_+-/*=".contains(c)))
                .unwrap_or(rest.len()),
            _ => token_len,
        };
        let found = &rest[..len];
        match found.char_indices().nth(FOUND_CHARACTERS_MAX) {
            Some((end, _)) => &found[..end],
            None => found,
        }
    }
}

/// Whether `word` is one of `words`, in any case.
pub(super) fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// The clause word that `word` is one typing error away from.
fn similar_clause(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    CLAUSES
        .into_iter()
        .find(|clause| *clause != word && is_one_edit_apart(&word, clause))
}

/// Whether one insertion, removal, replacement or swap of neighbors makes `a` into `b`.
fn is_one_edit_apart(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let prefix = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[prefix..], &b[prefix..]);
    let suffix = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(x, y)| x == y)
        .count();
    let (a, b) = (&a[..a.len() - suffix], &b[..b.len() - suffix]);
    match (a, b) {
        (a, b) if a.len() + b.len() == 1 => true,
        ([_], [_]) => true,
        ([x, y], [v, w]) => x == w && y == v,
        _ => false,
    }
}
