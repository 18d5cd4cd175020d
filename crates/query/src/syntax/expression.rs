//! Parser of conditions, calls, paths and values.
//!
//! Which form may stand where is decided here only as far as the grammar goes; that a bare field
//! is no condition, or that two fields cannot be compared in `where`, is said by `bind`, because
//! clients of the protocol expect another kind of error for it.

use super::error::SyntaxError;
use super::lexer::{Token, is_plain_word};
use super::parser::{IN_ITEM_COUNT_MAX, Parser, RESERVED, is_one_of};
use super::tree::{Argument, Call, Comparison, Expression, Join, Path, PathPart, Value};

impl Parser<'_> {
    /// A condition: operands joined by `and` and `or`.
    pub(super) fn expression(&mut self) -> Result<Expression, SyntaxError> {
        self.nested(|parser| {
            let first = parser.operand()?;
            parser.expression_from(first)
        })
    }

    /// The rest of a condition whose first operand was already read.
    fn expression_from(&mut self, first: Expression) -> Result<Expression, SyntaxError> {
        let mut alternatives = vec![self.conjunction_from(first)?];
        while self.eat_word("or")? {
            let next = self.operand()?;
            alternatives.push(self.conjunction_from(next)?);
        }
        Ok(single_or(alternatives, Expression::Or))
    }

    fn conjunction_from(&mut self, first: Expression) -> Result<Expression, SyntaxError> {
        let mut operands = vec![first];
        while self.eat_word("and")? {
            operands.push(self.operand()?);
        }
        Ok(single_or(operands, Expression::And))
    }

    /// `[not] ( condition )` or `[not] predicate`.
    fn operand(&mut self) -> Result<Expression, SyntaxError> {
        if self.is_word("not") && !self.next_is_comparison()? {
            self.advance()?;
            let operand = self.nested(Parser::positive_operand)?;
            return Ok(Expression::Not(Box::new(operand)));
        }
        self.positive_operand()
    }

    fn positive_operand(&mut self) -> Result<Expression, SyntaxError> {
        if self.eat_symbol("(")? {
            let inner = self.expression()?;
            self.need_symbol(")", "Expected ) after a condition")?;
            return Ok(inner);
        }
        self.count_clause()?;
        match self.token() {
            Token::Word(word)
                if word.eq_ignore_ascii_case("true") && !self.next_is_comparison()? =>
            {
                self.advance()?;
                Ok(Expression::Value(Value::Bool(true)))
            }
            Token::Word(word)
                if is_one_of(word, &["false", "null"]) && !self.next_is_comparison()? =>
            {
                Err(self.expected_with(
                    "Unable to parse WHERE clause",
                    "The only literal that is a condition is true; write not true for none.",
                ))
            }
            Token::Parameter(name) => {
                let left = Expression::Value(Value::Parameter(name.to_owned()));
                self.advance()?;
                self.predicate_from(left)
            }
            _ => {
                let left = self.path_or_call("Unable to parse WHERE clause")?;
                self.predicate_from(left)
            }
        }
    }

    /// What may follow a field or call: a comparison, `between`, `in`, or nothing.
    fn predicate_from(&mut self, left: Expression) -> Result<Expression, SyntaxError> {
        if let Some(operator) = comparison(self.token()) {
            self.advance()?;
            let right = Box::new(self.right_side("Unable to parse WHERE clause")?);
            return Ok(Expression::Compare {
                left: Box::new(left),
                operator,
                right,
            });
        }
        if self.eat_word("between")? {
            let low = self.right_side("Expected a value after BETWEEN")?;
            self.need_word("and", "Expected AND between the two values of BETWEEN")?;
            let high = self.right_side("Expected a second value of BETWEEN")?;
            let (value, low, high) = (Box::new(left), Box::new(low), Box::new(high));
            return Ok(Expression::Between { value, low, high });
        }
        if self.is_word("not") && self.next_is_word("in")? {
            return Err(self.expected_with(
                "Expected operator after a field",
                "Write not before the field: where true and not F in (...).",
            ));
        }
        let all = self.is_word("all") && self.next_is_word("in")?;
        if all {
            self.advance()?;
        }
        if self.eat_word("in")? {
            let items = self.in_items()?;
            return Ok(Expression::In {
                value: Box::new(left),
                all,
                items,
            });
        }
        if let Expression::Path(path) = &left
            && let Some(error) = self.operator_missing(path)
        {
            return Err(error);
        }
        Ok(left)
    }

    fn in_items(&mut self) -> Result<Vec<Value>, SyntaxError> {
        self.need_symbol("(", "Expected ( after IN")?;
        let mut items = Vec::new();
        if self.eat_symbol(")")? {
            return Ok(items);
        }
        loop {
            if items.len() == IN_ITEM_COUNT_MAX {
                return Err(self.expected(&format!(
                    "Expected at most {IN_ITEM_COUNT_MAX} values of IN"
                )));
            }
            items.push(self.need_value("Expected a value in the list of IN")?);
            if !self.eat_symbol(",")? {
                break;
            }
        }
        self.need_symbol(")", "Expected , or ) in the list of IN")?;
        Ok(items)
    }

    /// A value, a call with an optional member, or a path.
    fn right_side(&mut self, expected: &str) -> Result<Expression, SyntaxError> {
        if let Some(value) = self.value()? {
            return Ok(Expression::Value(value));
        }
        self.path_or_call(expected)
    }

    /// A path, a call, or a call followed by `.path`.
    pub(super) fn path_or_call(&mut self, expected: &str) -> Result<Expression, SyntaxError> {
        let first_token = self.token();
        let path = self.path(expected)?;
        if !self.is_symbol("(") {
            return Ok(Expression::Path(path));
        }
        let mut names = Vec::with_capacity(path.parts.len());
        for part in &path.parts {
            match part {
                PathPart::Name(name) if is_plain_word(name) => names.push(name.as_str()),
                _ => return Err(self.expected("Expected an operator after a field")),
            }
        }
        if matches!(first_token, Token::Text { .. }) {
            return Err(self.expected("Expected an operator after a field"));
        }
        let call = Call {
            name: names.join("."),
            arguments: self.arguments()?,
        };
        if self.eat_symbol(".")? {
            let member = self.path("Expected a field after .")?;
            return Ok(Expression::CallMember(call, member));
        }
        Ok(Expression::Call(call))
    }

    /// A path; the first part may not be a reserved word.
    pub(super) fn path(&mut self, expected: &str) -> Result<Path, SyntaxError> {
        let first = match self.token() {
            Token::Word(word) if is_one_of(word, &RESERVED) => {
                return Err(self.expected_with(expected, "Quote a field with a reserved name."));
            }
            Token::Word(word) | Token::AtWord(word) => word.to_owned(),
            Token::Text { raw, quote } => Self::unescaped(raw, quote),
            _ => return Err(self.expected(expected)),
        };
        self.advance()?;
        let mut parts = vec![PathPart::Name(first)];
        loop {
            if self.eat_symbol(".")? {
                let name = match self.token() {
                    Token::Word(word) | Token::AtWord(word) => word.to_owned(),
                    Token::Text { raw, quote } => Self::unescaped(raw, quote),
                    _ => return Err(self.expected("Expected a field after .")),
                };
                self.advance()?;
                parts.push(PathPart::Name(name));
            } else if self.eat_symbol("[")? {
                parts.push(self.path_slot()?);
            } else {
                return Ok(Path { parts });
            }
        }
    }

    /// `]` or `n]`.
    fn path_slot(&mut self) -> Result<PathPart, SyntaxError> {
        let part = match self.token() {
            Token::Number {
                raw,
                is_integer: true,
            } => match raw.replace('_', "").parse() {
                Ok(slot) => {
                    self.advance()?;
                    PathPart::At(slot)
                }
                Err(_) => return Err(self.expected("Expected a position below 4294967296")),
            },
            _ => PathPart::Each,
        };
        self.need_symbol("]", "Expected ] or a position")?;
        Ok(part)
    }

    /// `( [argument {, argument}] )`.
    pub(super) fn arguments(&mut self) -> Result<Vec<Argument>, SyntaxError> {
        self.need_symbol("(", "Expected (")?;
        let mut arguments = Vec::new();
        if self.eat_symbol(")")? {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.nested(Parser::argument)?);
            if !self.eat_symbol(",")? {
                break;
            }
        }
        self.need_symbol(")", "parsing method, expected , or )")?;
        Ok(arguments)
    }

    fn argument(&mut self) -> Result<Argument, SyntaxError> {
        let ends_next = matches!(self.next_token()?, Token::Symbol("," | ")"));
        match self.token() {
            Token::Word(word) if ends_next && is_one_of(word, &["and", "or"]) => {
                let join = if word.eq_ignore_ascii_case("and") {
                    Join::And
                } else {
                    Join::Or
                };
                self.advance()?;
                return Ok(Argument::Join(join));
            }
            Token::Word(word) if !ends_next && is_one_of(word, &["not", "true"]) => {
                return Ok(Argument::Expression(self.expression()?));
            }
            Token::Symbol("(") => return Ok(Argument::Expression(self.expression()?)),
            _ => {}
        }
        let first = self.path_or_value("parsing method, expected an argument")?;
        match (self.token(), first) {
            (Token::Symbol("," | ")"), first) => Ok(Argument::Expression(first)),
            (Token::Word(word), Expression::Call(call)) if word.eq_ignore_ascii_case("as") => {
                self.advance()?;
                Ok(Argument::Aliased(
                    call,
                    self.name("Expected a name after AS")?,
                ))
            }
            (_, first) => {
                self.count_clause()?;
                let first = match first {
                    Expression::Value(Value::String(name)) => Expression::Path(Path::name(name)),
                    first => first,
                };
                let first = self.predicate_from(first)?;
                Ok(Argument::Expression(self.expression_from(first)?))
            }
        }
    }

    /// Whether the token after the cursor makes the one under it a left-hand side.
    fn next_is_comparison(&self) -> Result<bool, SyntaxError> {
        Ok(comparison(self.next_token()?).is_some())
    }

    /// Whether the token after the cursor is this word, in any case.
    pub(super) fn next_is_word(&self, word: &str) -> Result<bool, SyntaxError> {
        Ok(matches!(self.next_token()?, Token::Word(w) if w.eq_ignore_ascii_case(word)))
    }

    /// A literal or parameter, when the cursor is on one.
    pub(super) fn value(&mut self) -> Result<Option<Value>, SyntaxError> {
        let value = match self.token() {
            Token::Text { raw, quote } => Value::String(Self::unescaped(raw, quote)),
            Token::Parameter(name) => Value::Parameter(name.to_owned()),
            Token::Number { raw, is_integer } => self.number(raw, is_integer, "")?,
            Token::Symbol("-") => {
                let Token::Number { raw, is_integer } = self.next_token()? else {
                    return Ok(None);
                };
                let value = self.number(raw, is_integer, "-")?;
                self.advance()?;
                value
            }
            Token::Word(word) if word.eq_ignore_ascii_case("null") => Value::Null,
            Token::Word(word) if word.eq_ignore_ascii_case("true") => Value::Bool(true),
            Token::Word(word) if word.eq_ignore_ascii_case("false") => Value::Bool(false),
            _ => return Ok(None),
        };
        self.advance()?;
        Ok(Some(value))
    }

    /// A literal or parameter.
    pub(super) fn need_value(&mut self, expected: &str) -> Result<Value, SyntaxError> {
        match self.value()? {
            Some(value) => Ok(value),
            None => Err(self.expected(expected)),
        }
    }

    /// The value of a number token. An integer beyond 64 bits is a double.
    fn number(&self, raw: &str, is_integer: bool, sign: &str) -> Result<Value, SyntaxError> {
        let digits: String = sign
            .chars()
            .chain(raw.chars().filter(|c| *c != '_'))
            .collect();
        if is_integer && let Ok(long) = digits.parse() {
            return Ok(Value::Long(long));
        }
        match digits.parse::<f64>() {
            Ok(double) if double.is_finite() => Ok(Value::Double(double)),
            _ => Err(self.expected("Expected a number of at most 1.8e308")),
        }
    }

    /// A name: a word that is not reserved, a word with `@`, or a string.
    pub(super) fn name(&mut self, expected: &str) -> Result<String, SyntaxError> {
        let name = match self.token() {
            Token::Word(word) if is_one_of(word, &RESERVED) => {
                return Err(self.expected_with(expected, "Quote a reserved name."));
            }
            Token::Word(word) | Token::AtWord(word) => word.to_owned(),
            Token::Text { raw, quote } => Self::unescaped(raw, quote),
            _ => return Err(self.expected(expected)),
        };
        self.advance()?;
        Ok(name)
    }
}

fn comparison(token: Token<'_>) -> Option<Comparison> {
    Some(match token {
        Token::Symbol("=" | "==") => Comparison::Equal,
        Token::Symbol("!=" | "<>") => Comparison::NotEqual,
        Token::Symbol("<") => Comparison::Less,
        Token::Symbol("<=") => Comparison::LessOrEqual,
        Token::Symbol(">") => Comparison::Greater,
        Token::Symbol(">=") => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

/// The only element, or the list made into one expression.
fn single_or(mut list: Vec<Expression>, join: fn(Vec<Expression>) -> Expression) -> Expression {
    match list.len() {
        1 => list.swap_remove(0),
        _ => join(list),
    }
}
