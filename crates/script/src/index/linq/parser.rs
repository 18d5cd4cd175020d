//! The parser: tokens, scopes, operators. What stands alone is in `primary`, calls in `calls`.
//!
//! Variables are slots of one array for the whole program, each its own: nothing in a program
//! calls itself.

use std::sync::Arc;

use super::lexer::{Spanned, Token, position, tokens};
use super::sources::Library;
use crate::index::error::CompileError;
use crate::index::native::{Constant, Expression, Lambda, Operator};
use crate::index::program::MapSource;

/// Expressions inside one another. Each takes a few kilobytes of stack while it is compiled.
pub(super) const DEPTH_MAX: usize = 50;
/// Parameters of a lambda, and tokens that are looked at to see one.
const PARAMETERS_MAX: usize = 8;
const LAMBDA_TOKENS_MAX: usize = 4 * PARAMETERS_MAX;
/// Variables of a program.
const SLOTS_MAX: usize = 1000;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Map,
    Reduce,
    /// A function of an additional source.
    Routine,
}

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) tokens: Arc<Vec<Spanned>>,
    pub(super) at: usize,
    pub(super) kind: Kind,
    pub(super) library: Library,
    pub(super) slot_count: usize,
    /// Names of variables, the innermost last.
    pub(super) scope: Vec<(String, usize)>,
    /// What the program goes over, once it was named.
    pub(super) source: Option<MapSource>,
    pub(super) loaded_collections: Vec<String>,
    pub(super) uses_compare_exchange: bool,
    /// Whether `CreateField` was met.
    pub(super) makes_fields: bool,
    pub(super) depth: usize,
}

type Parsed = Result<Expression, CompileError>;

impl<'t> Parser<'t> {
    pub(super) fn new(
        text: &'t str,
        kind: Kind,
        library: Library,
    ) -> Result<Parser<'t>, CompileError> {
        let tokens = Arc::new(tokens(text, 0, text.len())?);
        Ok(Parser::of_tokens(text, tokens, kind, library))
    }

    /// A parser of a text that was taken apart already.
    pub(super) fn of_tokens(
        text: &'t str,
        tokens: Arc<Vec<Spanned>>,
        kind: Kind,
        library: Library,
    ) -> Parser<'t> {
        Parser {
            text,
            tokens,
            at: 0,
            kind,
            library,
            slot_count: 0,
            scope: Vec::new(),
            source: None,
            loaded_collections: Vec::new(),
            uses_compare_exchange: false,
            makes_fields: false,
            depth: 0,
        }
    }

    /// The whole text: one expression, perhaps with a semicolon behind it.
    pub(super) fn program(&mut self) -> Parsed {
        let expression = self.expression()?;
        while self.take(";") {}
        if self.token() != &Token::End {
            return self.refuse("this is not expected here: the query is complete before it");
        }
        if self.source.is_none() && self.kind == Kind::Map {
            return Err(self.error_at(0, "a map goes over docs, counters or timeSeries"));
        }
        Ok(expression)
    }

    // Tokens.

    pub(super) fn token(&self) -> &Token {
        self.peek(0)
    }

    pub(super) fn peek(&self, ahead: usize) -> &Token {
        self.tokens
            .get(self.at + ahead)
            .map_or(&Token::End, |spanned| &spanned.token)
    }

    /// The text of the token `ahead` of the present one.
    pub(super) fn word(&self, ahead: usize) -> &'t str {
        let spanned = self.tokens.get(self.at + ahead);
        spanned.map_or("", |spanned| &self.text[spanned.start..spanned.end])
    }

    /// Whether the token `ahead` is this sign.
    pub(super) fn is_sign(&self, ahead: usize, sign: &str) -> bool {
        matches!(self.peek(ahead), Token::Sign(known) if *known == sign)
    }

    /// Whether the token `ahead` is this word, not behind `@`.
    pub(super) fn is_word(&self, ahead: usize, word: &str) -> bool {
        self.peek(ahead) == &Token::Word && self.word(ahead) == word
    }

    pub(super) fn is_name(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), Token::Word | Token::Verbatim)
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    pub(super) fn take(&mut self, sign: &str) -> bool {
        let is_there = self.is_sign(0, sign);
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let is_there = self.is_word(0, word);
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn expect(&mut self, sign: &'static str) -> Result<(), CompileError> {
        match self.take(sign) {
            true => Ok(()),
            false => self.refuse(&format!("'{sign}' is expected here")),
        }
    }

    pub(super) fn expect_word(&mut self, word: &'static str) -> Result<(), CompileError> {
        match self.take_word(word) {
            true => Ok(()),
            false => self.refuse(&format!("'{word}' is expected here")),
        }
    }

    /// A name, without `@`.
    pub(super) fn name(&mut self) -> Result<&'t str, CompileError> {
        if !self.is_name(0) {
            return self.refuse("a name is expected here");
        }
        let name = self.word(0).trim_start_matches('@');
        self.advance();
        Ok(name)
    }

    // Errors.

    pub(super) fn error_at(&self, slot: usize, message: &str) -> CompileError {
        let (start, end) = match self.tokens.get(slot) {
            Some(spanned) => (spanned.start, spanned.end),
            None => (self.text.len(), self.text.len()),
        };
        let construct = &self.text[start..end];
        let message = match construct {
            "" => format!("{message}, where the text ends"),
            _ => format!("'{construct}': {message}"),
        };
        CompileError::new(message, construct, position(self.text, start))
    }

    pub(super) fn refuse<T>(&self, message: &str) -> Result<T, CompileError> {
        Err(self.error_at(self.at, message))
    }

    // Scopes.

    /// A new variable.
    pub(super) fn declare(&mut self, name: &str) -> Result<usize, CompileError> {
        if self.slot_count >= SLOTS_MAX {
            return self.refuse(&format!("more than {SLOTS_MAX} variables"));
        }
        let slot = self.slot_count;
        self.slot_count += 1;
        self.scope.push((name.to_owned(), slot));
        Ok(slot)
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let found = self.scope.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, slot)| *slot)
    }

    /// Runs `work` one level deeper.
    pub(super) fn deeper<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, CompileError>,
    ) -> Result<T, CompileError> {
        if self.depth >= DEPTH_MAX {
            return self.refuse(&format!(
                "expressions nest deeper than {DEPTH_MAX} levels: make them simpler"
            ));
        }
        self.depth += 1;
        let outcome = work(self);
        self.depth -= 1;
        outcome
    }

    // Expressions.

    pub(super) fn expression(&mut self) -> Parsed {
        self.deeper(Self::conditional)
    }

    fn conditional(&mut self) -> Parsed {
        let condition = self.coalesce()?;
        if !self.take("?") {
            return Ok(condition);
        }
        let then = self.expression()?;
        self.expect(":")?;
        let otherwise = self.expression()?;
        Ok(Expression::Conditional(Box::new([
            condition, then, otherwise,
        ])))
    }

    fn coalesce(&mut self) -> Parsed {
        let first = self.binary(0)?;
        if !self.is_sign(0, "??") {
            return Ok(first);
        }
        let mut list = vec![first];
        while self.take("??") {
            list.push(self.binary(0)?);
        }
        Ok(Expression::Coalesce(list))
    }

    /// Operators that bind at least as tightly as `level`. Those of one level make one chain.
    fn binary(&mut self, level: u8) -> Parsed {
        let mut left = self.unary()?;
        while let Some(first) = self.operator().filter(|operator| operator.level >= level) {
            if first.level == OF_TYPES {
                left = self.of_type(left)?;
                continue;
            }
            let mut rest = Vec::new();
            while let Some(next) = self.operator().filter(|next| next.level == first.level) {
                self.advance();
                rest.push((next.operator, self.binary(first.level + 1)?));
            }
            left = match first.level {
                0 => Expression::Or(joined(left, rest)),
                1 => Expression::And(joined(left, rest)),
                _ => Expression::Chain(Box::new(left), rest),
            };
        }
        Ok(left)
    }

    fn operator(&self) -> Option<Infix> {
        use Operator as O;
        let (level, operator) = match self.token() {
            Token::Sign(sign) => match *sign {
                "||" => (0, O::BitOr),
                "&&" => (1, O::BitAnd),
                "|" => (2, O::BitOr),
                "^" => (3, O::BitXor),
                "&" => (4, O::BitAnd),
                "==" => (5, O::Equal),
                "!=" => (5, O::NotEqual),
                "<" => (6, O::Less),
                "<=" => (6, O::LessOrEqual),
                ">" => (6, O::Greater),
                ">=" => (6, O::GreaterOrEqual),
                "+" => (9, O::Add),
                "-" => (9, O::Subtract),
                "*" => (10, O::Multiply),
                "/" => (10, O::Divide),
                "%" => (10, O::Remainder),
                _ => return None,
            },
            Token::Word if matches!(self.word(0), "is" | "as") => (OF_TYPES, O::Equal),
            _ => return None,
        };
        Some(Infix { level, operator })
    }

    /// `as Type`, `is null` and `is not null` behind a value.
    fn of_type(&mut self, left: Expression) -> Parsed {
        if self.take_word("as") {
            return match self.type_name() {
                Some(_) => Ok(left),
                None => self.refuse("a type is expected here"),
            };
        }
        self.expect_word("is")?;
        let operator = match self.take_word("not") {
            true => Operator::NotEqual,
            false => Operator::Equal,
        };
        if !self.take_word("null") {
            return self.refuse("'is' is supported with null only");
        }
        let null = Expression::Constant(Constant::Null);
        Ok(Expression::Chain(Box::new(left), vec![(operator, null)]))
    }

    fn unary(&mut self) -> Parsed {
        if self.is_sign(0, "!") || self.is_sign(0, "-") || self.is_sign(0, "+") {
            let sign = self.word(0);
            self.advance();
            let operand = self.deeper(Self::unary)?;
            return Ok(match (sign, operand) {
                ("!", operand) => Expression::Not(Box::new(operand)),
                ("-", Expression::Constant(constant)) => negated(constant),
                ("-", operand) => Expression::Negate(Box::new(operand)),
                (_, operand) => operand,
            });
        }
        if self.is_sign(0, "~") || self.is_sign(0, "++") || self.is_sign(0, "--") {
            return self.refuse("this operator is not supported");
        }
        if let Some(target) = self.cast() {
            let operand = self.deeper(Self::unary)?;
            return Ok(Expression::Cast(target, Box::new(operand)));
        }
        self.postfix()
    }

    // Lambdas.

    /// Whether a lambda begins here.
    pub(super) fn is_lambda(&self) -> bool {
        if self.is_name(0) {
            return self.is_sign(1, "=>");
        }
        if !self.is_sign(0, "(") {
            return false;
        }
        for ahead in 1..LAMBDA_TOKENS_MAX {
            match self.peek(ahead) {
                Token::Sign(")") => return self.is_sign(ahead + 1, "=>"),
                Token::Word | Token::Verbatim | Token::Sign("," | "<" | ">" | "?" | "[" | "]") => {}
                _ => return false,
            }
        }
        false
    }

    pub(super) fn lambda(&mut self) -> Result<Lambda, CompileError> {
        let scope = self.scope.len();
        let mut slots = Vec::new();
        if self.take("(") {
            while !self.take(")") {
                // The name is the last word before the comma, behind its type.
                let is_last = self.is_sign(1, ",") || self.is_sign(1, ")");
                match is_last && self.is_name(0) {
                    true => {
                        let name = self.name()?;
                        slots.push(self.declare(name)?);
                        self.take(",");
                    }
                    false => self.advance(),
                }
            }
        } else {
            let name = self.name()?;
            slots.push(self.declare(name)?);
        }
        self.expect("=>")?;
        let body = match self.is_sign(0, "{") {
            true => self.block()?,
            false => self.expression()?,
        };
        self.scope.truncate(scope);
        let body = Box::new(body);
        Ok(Lambda { slots, body })
    }

    /// Statements in braces of which every way ends in `return`.
    pub(super) fn block(&mut self) -> Parsed {
        self.expect("{")?;
        let scope = self.scope.len();
        let result = self.statements()?;
        self.expect("}")?;
        self.scope.truncate(scope);
        Ok(result)
    }

    fn statements(&mut self) -> Parsed {
        self.deeper(|parser| {
            if parser.take_word("return") {
                let result = parser.expression()?;
                parser.expect(";")?;
                return Ok(result);
            }
            if parser.take_word("if") {
                parser.expect("(")?;
                let condition = parser.expression()?;
                parser.expect(")")?;
                let then = parser.branch()?;
                let otherwise = match parser.take_word("else") {
                    true => parser.branch()?,
                    false => parser.statements()?,
                };
                return Ok(Expression::Conditional(Box::new([
                    condition, then, otherwise,
                ])));
            }
            let start = parser.at;
            let is_declared = parser.type_name().is_some() && parser.is_name(0);
            if !(is_declared && parser.is_sign(1, "=")) {
                parser.at = start;
                return parser.refuse(
                    "statements are supported as far as they are variables, if and return",
                );
            }
            let name = parser.name()?;
            parser.advance();
            let value = parser.expression()?;
            parser.expect(";")?;
            let slot = parser.declare(name)?;
            let rest = parser.statements()?;
            Ok(Expression::Let(slot, Box::new((value, rest))))
        })
    }

    fn branch(&mut self) -> Parsed {
        match self.is_sign(0, "{") {
            true => self.block(),
            false => self.statements(),
        }
    }
}

/// Level of `is` and `as`.
const OF_TYPES: u8 = 7;

/// An operator between two operands, and how tightly it binds.
#[derive(Clone, Copy)]
struct Infix {
    level: u8,
    operator: Operator,
}

fn joined(first: Expression, rest: Vec<(Operator, Expression)>) -> Vec<Expression> {
    let rest = rest.into_iter().map(|(_, operand)| operand);
    std::iter::once(first).chain(rest).collect()
}

fn negated(constant: Constant) -> Expression {
    match constant {
        Constant::Long(long) => Expression::Constant(Constant::Long(long.wrapping_neg())),
        Constant::Double(double) => Expression::Constant(Constant::Double(-double)),
        Constant::Decimal(decimal) => Expression::Constant(Constant::Decimal(-decimal)),
        other => Expression::Negate(Box::new(Expression::Constant(other))),
    }
}
