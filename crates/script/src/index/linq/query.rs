//! Query syntax: `from .. in .. let .. where .. group .. by .. into .. select ..`.

use super::parser::Parser;
use crate::index::error::CompileError;
use crate::index::native::{Clause, Expression, Query, QueryEnd};

/// Clauses of one query; running it recurses once for each.
const CLAUSES_MAX: usize = 50;
/// Continuations by `into` of one query.
const CONTINUATIONS_MAX: usize = 10;

impl Parser<'_> {
    /// Whether `from` begins a query here.
    pub(super) fn is_query(&self) -> bool {
        // A type may stand before the name.
        self.is_name(1) && (1..12).any(|ahead| self.is_word(ahead, "in"))
    }

    pub(super) fn query(&mut self) -> Result<Expression, CompileError> {
        let scope = self.scope.len();
        let mut clauses = vec![self.source_clause()?];
        let mut continuations = 0;
        loop {
            let end = self.body(&mut clauses)?;
            let query = Expression::Query(Box::new(Query { clauses, end }));
            self.scope.truncate(scope);
            if !self.take_word("into") {
                return Ok(query);
            }
            continuations += 1;
            if continuations > CONTINUATIONS_MAX {
                return self.refuse("the query is continued too often");
            }
            let name = self.name()?;
            let slot = self.declare(name)?;
            clauses = vec![Clause::From(slot, query)];
            if !self.goes_on() {
                return self.refuse("a query ends with select or group");
            }
        }
    }

    /// Whether a clause begins here.
    fn goes_on(&self) -> bool {
        let words = ["from", "let", "where", "orderby", "select", "group", "join"];
        words.iter().any(|word| self.is_word(0, word))
    }

    /// Clauses up to `select` or `group`, and that.
    fn body(&mut self, clauses: &mut Vec<Clause>) -> Result<QueryEnd, CompileError> {
        loop {
            if clauses.len() >= CLAUSES_MAX {
                return self.refuse(&format!("a query has more than {CLAUSES_MAX} clauses"));
            }
            if self.is_word(0, "from") {
                let clause = self.source_clause()?;
                clauses.push(clause);
            } else if self.take_word("let") {
                let name = self.name()?;
                self.expect("=")?;
                let value = self.expression()?;
                let slot = self.declare(name)?;
                clauses.push(Clause::Let(slot, value));
            } else if self.take_word("where") {
                let condition = self.expression()?;
                clauses.push(Clause::Where(condition));
            } else if self.take_word("select") {
                return self.expression().map(QueryEnd::Select);
            } else if self.take_word("group") {
                let element = self.expression()?;
                self.expect_word("by")?;
                let key = self.expression()?;
                return Ok(QueryEnd::Group { element, key });
            } else if self.is_word(0, "orderby") {
                let start = self.at;
                self.advance();
                self.expression()?;
                return Err(self.order_error(start));
            } else if self.is_word(0, "join") {
                return self.refuse("'join' is not supported: use LoadDocument");
            } else {
                return self.refuse("a query ends with select or group: that is expected here");
            }
        }
    }

    fn source_clause(&mut self) -> Result<Clause, CompileError> {
        self.expect_word("from")?;
        if !self.is_word(1, "in") && self.type_name().is_none() {
            return self.refuse("a name is expected here");
        }
        let name = self.name()?;
        self.expect_word("in")?;
        let source = self.expression()?;
        let slot = self.declare(name)?;
        Ok(Clause::From(slot, source))
    }
}
