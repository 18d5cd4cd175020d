//! Parser of the clauses around the conditions: sources, keys, projections, includes, paging.

use super::error::SyntaxError;
use super::lexer::Token;
use super::parser::{Parser, RESERVED, is_one_of};
use super::tree::{
    Declaration, DeclarationBody, Direction, Expression, From, GroupItem, Limit, LoadItem,
    NullsPlace, OrderItem, Ordering, Paging, Path, PathPart, Script, Select, SelectItem,
    SelectItems, SelectValue, SourceName, Value,
};

impl Parser<'_> {
    /// After `declare`: a function or a time series query.
    pub(super) fn declaration(&mut self) -> Result<Declaration, SyntaxError> {
        let is_function = self.eat_word("function")?;
        if !is_function {
            self.need_word(
                "timeseries",
                "Expected FUNCTION or TIMESERIES after DECLARE",
            )?;
        }
        let Token::Word(name) = self.token() else {
            return Err(self.expected("Expected the name of the declaration"));
        };
        self.advance()?;
        let parameters = self.declared_parameters()?;
        let body = if is_function {
            let script = self.script("Expected a function body in braces")?;
            DeclarationBody::Function(script)
        } else {
            self.need_symbol("{", "Expected { before a time series query")?;
            let query = self.time_series_query()?;
            self.need_symbol("}", "Expected } after a time series query")?;
            DeclarationBody::TimeSeries(Box::new(query))
        };
        Ok(Declaration {
            name: name.to_owned(),
            parameters,
            body,
        })
    }

    fn declared_parameters(&mut self) -> Result<Vec<String>, SyntaxError> {
        self.need_symbol("(", "Expected ( after the name of a declaration")?;
        let mut parameters = Vec::new();
        if self.eat_symbol(")")? {
            return Ok(parameters);
        }
        loop {
            let Token::Word(name) = self.token() else {
                return Err(self.expected("Expected a parameter name"));
            };
            parameters.push(name.to_owned());
            self.advance()?;
            if !self.eat_symbol(",")? {
                break;
            }
        }
        self.need_symbol(")", "Expected , or ) after a parameter name")?;
        Ok(parameters)
    }

    pub(super) fn source_clause(&mut self) -> Result<From, SyntaxError> {
        if !self.is_word("from") {
            let mut error = self.expected("Expected FROM clause");
            error.hint = match self.token() {
                Token::Word(word) if is_one_of(word, &["with", "match"]) => {
                    Some("Graph queries are not supported.".into())
                }
                Token::Parameter(_) => Some("Parameters go beside the query.".into()),
                _ => Some("A query begins like this: from Orders where Total > 5".into()),
            };
            return Err(error);
        }
        self.advance()?;
        const EXPECTED: &str = "Unable to parse identifier in FROM clause";
        if self.is_word("index") && self.next_is_name()? {
            self.advance()?;
            let source = SourceName::Index(self.name(EXPECTED)?);
            return Ok(From {
                source,
                options: None,
                alias: self.source_alias()?,
            });
        }
        let source = SourceName::Collection(self.name(EXPECTED)?);
        let mut options = None;
        if self.eat_symbol("(")? {
            options = Some(Box::new(self.expression()?));
            self.need_symbol(")", "Expected ) after the options of a collection")?;
        }
        Ok(From {
            source,
            options,
            alias: self.source_alias()?,
        })
    }

    fn next_is_name(&self) -> Result<bool, SyntaxError> {
        Ok(match self.next_token()? {
            Token::Text { .. } | Token::AtWord(_) => true,
            Token::Word(word) => {
                !is_one_of(word, &RESERVED) && !is_one_of(word, &["filter", "filter_limit"])
            }
            _ => false,
        })
    }

    fn source_alias(&mut self) -> Result<Option<String>, SyntaxError> {
        if self.eat_word("as")? {
            return Ok(Some(self.name("Expected an alias after AS")?));
        }
        match self.token() {
            Token::Word(word) if word.eq_ignore_ascii_case("filter") => {
                let ends_alias = match self.next_token()? {
                    Token::Word(next) => {
                        is_one_of(next, &RESERVED) || is_one_of(next, &["filter", "filter_limit"])
                    }
                    _ => false,
                };
                if !ends_alias {
                    return Ok(None);
                }
            }
            Token::Word(word) => {
                if self.is_clause_word() || is_one_of(word, &RESERVED) {
                    return Ok(None);
                }
                self.set_bare_alias(word);
            }
            Token::Text { .. } => {}
            _ => return Ok(None),
        }
        Ok(Some(self.name("Expected an alias")?))
    }

    pub(super) fn group_by_clause(&mut self) -> Result<Vec<GroupItem>, SyntaxError> {
        let mut items = Vec::new();
        if !self.eat_word("group")? {
            return Ok(items);
        }
        self.need_word("by", "Expected BY after GROUP")?;
        loop {
            let expression = self.field_or_value("Unable to get field for GROUP BY")?;
            let alias = if self.eat_word("as")? {
                Some(self.name("Expected an alias after AS")?)
            } else if matches!(self.token(), Token::Word(_)) && !self.is_clause_word() {
                Some(self.name("Expected an alias")?)
            } else {
                None
            };
            items.push(GroupItem { expression, alias });
            if !self.eat_symbol(",")? {
                return Ok(items);
            }
        }
    }

    /// A path or call; a number or parameter as it is; a string as the path it quotes.
    fn field_or_value(&mut self, expected: &str) -> Result<Expression, SyntaxError> {
        if matches!(
            self.token(),
            Token::Number { .. } | Token::Parameter(_) | Token::Symbol("-")
        ) {
            return Ok(Expression::Value(self.need_value(expected)?));
        }
        self.path_or_call(expected)
    }

    /// `where` and `filter`.
    pub(super) fn condition_clause(
        &mut self,
        word: &str,
    ) -> Result<Option<Expression>, SyntaxError> {
        match self.eat_word(word)? {
            true => Ok(Some(self.expression()?)),
            false => Ok(None),
        }
    }

    pub(super) fn order_by_clause(&mut self) -> Result<Vec<OrderItem>, SyntaxError> {
        let mut items = Vec::new();
        if !self.eat_word("order")? {
            return Ok(items);
        }
        self.need_word("by", "Expected BY after ORDER")?;
        loop {
            let expression = self.path_or_call("Unable to get field for ORDER BY")?;
            let ordering = match self.eat_word("as")? {
                true => Some(self.ordering()?),
                false => None,
            };
            let direction = match self.token() {
                Token::Word(word) if is_one_of(word, &["asc", "ascending"]) => {
                    Some(Direction::Ascending)
                }
                Token::Word(word) if is_one_of(word, &["desc", "descending"]) => {
                    Some(Direction::Descending)
                }
                _ => None,
            };
            if direction.is_some() {
                self.advance()?;
            }
            let nulls = self.nulls_place()?;
            items.push(OrderItem {
                expression,
                ordering,
                direction,
                nulls,
            });
            if !self.eat_symbol(",")? {
                return Ok(items);
            }
        }
    }

    fn ordering(&mut self) -> Result<Ordering, SyntaxError> {
        let ordering = match self.token() {
            Token::Word(word) if word.eq_ignore_ascii_case("string") => Ordering::String,
            Token::Word(word) if word.eq_ignore_ascii_case("long") => Ordering::Long,
            Token::Word(word) if word.eq_ignore_ascii_case("double") => Ordering::Double,
            Token::Word(word) if word.eq_ignore_ascii_case("alphanumeric") => {
                Ordering::AlphaNumeric
            }
            _ => {
                return Err(self.expected_with(
                    "Invalid field type for ORDER BY",
                    "The types are string, long, double and alphaNumeric.",
                ));
            }
        };
        self.advance()?;
        Ok(ordering)
    }

    fn nulls_place(&mut self) -> Result<Option<NullsPlace>, SyntaxError> {
        if !self.eat_word("nulls")? {
            return Ok(None);
        }
        if self.eat_word("first")? {
            return Ok(Some(NullsPlace::First));
        }
        self.need_word("last", "Expected FIRST or LAST after NULLS")?;
        Ok(Some(NullsPlace::Last))
    }

    pub(super) fn load_clause(&mut self) -> Result<Vec<LoadItem>, SyntaxError> {
        let mut items = Vec::new();
        if !self.eat_word("load")? {
            return Ok(items);
        }
        loop {
            let expression = self.path_or_value("Unable to get field for LOAD")?;
            self.eat_word("as")?;
            let alias = match self.token() {
                Token::Word(word) if !self.is_clause_word() => word.to_owned(),
                _ => return Err(self.expected("Expected an alias for the loaded document")),
            };
            self.advance()?;
            let many = self.eat_symbol("[")?;
            if many {
                self.need_symbol("]", "Expected ] after [")?;
            }
            items.push(LoadItem {
                expression,
                alias,
                many,
            });
            if !self.eat_symbol(",")? {
                return Ok(items);
            }
        }
    }

    /// A literal, or a path or call; a string is a literal unless a path goes on after it.
    pub(super) fn path_or_value(&mut self, expected: &str) -> Result<Expression, SyntaxError> {
        let is_path = matches!(self.token(), Token::Text { .. })
            && matches!(self.next_token()?, Token::Symbol("." | "["));
        if !is_path && let Some(value) = self.value()? {
            return Ok(Expression::Value(value));
        }
        self.path_or_call(expected)
    }

    pub(super) fn select_clause(&mut self) -> Result<Option<Select>, SyntaxError> {
        if !self.eat_word("select")? {
            return Ok(None);
        }
        let distinct = self.eat_word("distinct")?;
        let items = if self.eat_symbol("*")? {
            SelectItems::All
        } else if self.is_symbol("{") {
            SelectItems::Object(self.script("Select clause must have a single object literal")?)
        } else {
            SelectItems::List(self.select_items()?)
        };
        Ok(Some(Select { distinct, items }))
    }

    fn select_items(&mut self) -> Result<Vec<SelectItem>, SyntaxError> {
        let mut items = Vec::new();
        loop {
            let is_series =
                self.is_word("timeseries") && matches!(self.next_token()?, Token::Symbol("("));
            let value = if is_series {
                self.advance()?;
                self.advance()?;
                let query = self.time_series_query()?;
                self.need_symbol(")", "Expected ) after a time series query")?;
                SelectValue::TimeSeries(Box::new(query))
            } else {
                SelectValue::Expression(self.path_or_value("Unable to get field for SELECT")?)
            };
            let alias = match self.eat_word("as")? {
                true => Some(self.name("Expected an alias after AS")?),
                false => None,
            };
            items.push(SelectItem { value, alias });
            if !self.eat_symbol(",")? {
                return Ok(items);
            }
        }
    }

    pub(super) fn include_clause(&mut self) -> Result<Vec<Expression>, SyntaxError> {
        match self.eat_word("include")? {
            true => self.include_items(),
            false => Ok(Vec::new()),
        }
    }

    fn include_items(&mut self) -> Result<Vec<Expression>, SyntaxError> {
        let mut items = Vec::new();
        loop {
            let expression = match self.token() {
                Token::Parameter(_) => {
                    Expression::Value(self.need_value("Unable to get field for INCLUDE")?)
                }
                _ => self.path_or_call("Unable to get field for INCLUDE")?,
            };
            // A quoted path as a whole is one path: its dots separate properties.
            items.push(split_quoted_path(expression));
            if !self.eat_symbol(",")? {
                return Ok(items);
            }
        }
    }

    /// `include` after the paging, where `earlier` are the items of one before it.
    pub(super) fn late_include(
        &mut self,
        earlier: Vec<Expression>,
    ) -> Result<Vec<Expression>, SyntaxError> {
        self.advance()?;
        if !earlier.is_empty() {
            return Err(self
                .expected("Query already has an include statement, but encountered a second one"));
        }
        self.include_items()
    }

    pub(super) fn update_clause(&mut self) -> Result<Script, SyntaxError> {
        if !self.eat_word("update")? {
            return Err(self.expected_with(
                "Update operations must end with UPDATE clause",
                "Write: from Orders where ... update { this.Field = value; }",
            ));
        }
        self.script("Update clause must have a single function body")
    }

    pub(super) fn paging_clause(&mut self) -> Result<Paging, SyntaxError> {
        let mut paging = Paging::default();
        self.limit_and_offset(&mut paging)?;
        if self.eat_word("filter_limit")? {
            paging.filter_limit = Some(self.count("Filter limit must contain a value")?);
            self.limit_and_offset(&mut paging)?;
        }
        Ok(paging)
    }

    fn limit_and_offset(&mut self, paging: &mut Paging) -> Result<(), SyntaxError> {
        if paging.limit.is_none() && self.eat_word("limit")? {
            let first = self.count("Limit must contain a value")?;
            paging.limit = Some(match self.eat_symbol(",")? {
                true => Limit::SkipTake(first, self.count("Limit must contain a second value")?),
                false => Limit::Take(first),
            });
        }
        if paging.offset.is_none() && self.eat_word("offset")? {
            paging.offset = Some(self.count("Offset must contain a value")?);
        }
        Ok(())
    }

    /// The value of a paging clause.
    fn count(&mut self, missing: &str) -> Result<Value, SyntaxError> {
        match self.value()? {
            Some(value) => Ok(value),
            None => Err(self.incomplete(missing.to_owned())),
        }
    }
}

/// `'Lines[].Product'` in quotes means the path it spells, not a property of that name.
fn split_quoted_path(expression: Expression) -> Expression {
    let Expression::Path(path) = &expression else {
        return expression;
    };
    let Some(name) = path.as_name() else {
        return expression;
    };
    let mut parts = Vec::new();
    for piece in name.split('.') {
        let bare = piece.trim_end_matches("[]");
        let each_count = (piece.len() - bare.len()) / 2;
        if bare.is_empty() || bare.contains(['[', ']', '(', ')', '{', '}', ' ']) {
            return expression;
        }
        parts.push(PathPart::Name(bare.to_owned()));
        parts.extend(std::iter::repeat_n(PathPart::Each, each_count));
    }
    Expression::Path(Path { parts })
}
