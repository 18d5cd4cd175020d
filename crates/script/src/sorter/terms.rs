//! Reads the expressions of a sorter.
//!
//! Called by `parser` and `phrases`. Operators of one level are read in a loop, tighter ones by
//! calling itself.

use super::parser::{Parser, Read, refuse};
use super::tree::{Element, Expr, ExprKind, Given, Piece, Statement, StatementKind, TypeName};
use crate::index::linq::lexer::{Token, unescape};

/// Operators of two sides from the loosest to the tightest; all bind to the left.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["+", "-"],
    &["*", "/", "%"],
];
/// The level of `is` and `as`.
const TESTS: usize = 6;
const ASSIGNMENTS: &[(&str, &str)] = &[
    ("=", ""),
    ("+=", "+"),
    ("-=", "-"),
    ("*=", "*"),
    ("/=", "/"),
    ("??=", "??"),
];
/// Names of types that are words of the language.
pub(super) const BUILT_IN: &[&str] = &[
    "int", "long", "double", "float", "string", "bool", "char", "object",
];

fn made(at: usize, kind: ExprKind) -> Expr {
    Expr {
        kind: Box::new(kind),
        at,
    }
}

impl Parser<'_> {
    /// An expression.
    pub(super) fn expression(&mut self) -> Read<Expr> {
        self.nested(Parser::assignment)
    }

    fn assignment(&mut self) -> Read<Expr> {
        let at = self.at();
        if self.take("throw") {
            let value = self.expression()?;
            return Ok(made(at, ExprKind::Throw(value)));
        }
        if let Some(names) = self.attempt(Parser::lambda_head) {
            let body = match self.is("{") {
                true => self.block()?,
                // Whether the value is given depends on the type of the lambda.
                false => vec![self.arrow(true)?],
            };
            return Ok(made(at, ExprKind::Lambda(names, body)));
        }
        let left = self.choice()?;
        for (sign, operator) in ASSIGNMENTS {
            if self.is(sign) {
                let at = self.at();
                self.next += 1;
                let right = self.expression()?;
                return Ok(made(at, ExprKind::Assign(operator, left, right)));
            }
        }
        Ok(left)
    }

    fn lambda_head(&mut self) -> Option<Vec<(Option<TypeName>, String)>> {
        if self.is_sign_at(1, "=>") {
            let name = self.name().ok()?;
            self.next += 1;
            return Some(vec![(None, name)]);
        }
        if !self.take("(") {
            return None;
        }
        let mut names = Vec::new();
        while !self.take(")") {
            if !names.is_empty() && !self.take(",") {
                return None;
            }
            let is_bare = self.is_sign_at(1, ",") || self.is_sign_at(1, ")");
            let type_name = match is_bare {
                true => None,
                false => Some(self.type_name().ok()?),
            };
            names.push((type_name, self.name().ok()?));
        }
        self.take("=>").then_some(names)
    }

    fn choice(&mut self) -> Read<Expr> {
        let condition = self.coalesced()?;
        let at = self.at();
        if !self.take("?") {
            return Ok(condition);
        }
        let then = self.expression()?;
        self.expect(":")?;
        let otherwise = self.expression()?;
        Ok(made(at, ExprKind::Choice(condition, then, otherwise)))
    }

    fn coalesced(&mut self) -> Read<Expr> {
        let left = self.binary(0)?;
        let at = self.at();
        if !self.take("??") {
            return Ok(left);
        }
        let right = self.nested(|parser| match parser.is("throw") {
            true => parser.assignment(),
            false => parser.coalesced(),
        })?;
        Ok(made(at, ExprKind::Binary("??", left, right)))
    }

    fn binary(&mut self, level: usize) -> Read<Expr> {
        let Some(signs) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        loop {
            let at = self.at();
            if level == TESTS && self.take("is") {
                let negated = self.take("not");
                let tested = match self.take("null") {
                    true => None,
                    false => Some(self.type_name()?),
                };
                if matches!(self.token(), Token::Word) && !self.is("and") && !self.is("or") {
                    return self.unknown("a pattern that declares a name is not understood");
                }
                left = made(at, ExprKind::Is(left, negated, tested));
                self.grow()?;
                continue;
            }
            if level == TESTS && self.take("as") {
                left = made(at, ExprKind::As(left, self.type_name()?));
                self.grow()?;
                continue;
            }
            let Some(sign) = signs.iter().find(|sign| self.is_operator(sign)) else {
                return Ok(left);
            };
            self.next += 1;
            let right = self.beside(|parser| parser.binary(level + 1))?;
            left = made(at, ExprKind::Binary(sign, left, right));
            self.grow()?;
        }
    }

    fn is_operator(&self, sign: &str) -> bool {
        matches!(self.token(), Token::Sign(found) if *found == sign)
    }

    fn unary(&mut self) -> Read<Expr> {
        self.nested(|parser| {
            let at = parser.at();
            for sign in ["-", "+", "!", "~"] {
                if parser.take(sign) {
                    let inner = parser.unary()?;
                    return Ok(made(at, ExprKind::Unary(sign, inner)));
                }
            }
            for (sign, goes_up) in [("++", true), ("--", false)] {
                if parser.take(sign) {
                    let inner = parser.unary()?;
                    return Ok(made(at, ExprKind::Step(true, goes_up, inner)));
                }
            }
            if let Some(type_name) = parser.attempt(Parser::cast) {
                let inner = parser.unary()?;
                return Ok(made(at, ExprKind::Cast(type_name, inner)));
            }
            let start = parser.primary()?;
            parser.postfix(start)
        })
    }

    /// `(int)` in front of a value.
    fn cast(&mut self) -> Option<TypeName> {
        if !self.take("(") {
            return None;
        }
        let type_name = self.type_name().ok()?;
        if !self.take(")") {
            return None;
        }
        let is_built_in = BUILT_IN.contains(&type_name.name.as_str());
        let begins = match self.token() {
            Token::Word => !self.is("is") && !self.is("as"),
            Token::Sign("(" | "!" | "~") => true,
            Token::Sign("-" | "+" | "++" | "--") => is_built_in,
            Token::Sign(_) | Token::End => false,
            _ => true,
        };
        begins.then_some(type_name)
    }

    /// Members, calls and indexes behind `start`.
    fn postfix(&mut self, start: Expr) -> Read<Expr> {
        let mut expr = start;
        loop {
            let at = self.at();
            if self.take(".") {
                expr = made(self.at(), ExprKind::Member(expr, self.name()?));
            } else if self.is("?.") {
                self.next += 1;
                return self.nested(|parser| {
                    let receiver = made(at, ExprKind::Receiver);
                    let member = made(parser.at(), ExprKind::Member(receiver, parser.name()?));
                    let rest = parser.postfix(member)?;
                    Ok(made(at, ExprKind::Safe(expr, rest)))
                });
            } else if self.is("(") {
                let given = self.given()?;
                expr = made(expr.at, ExprKind::Call(expr, given));
            } else if self.take("[") {
                let place = self.expression()?;
                self.expect("]")?;
                expr = made(at, ExprKind::Index(expr, place));
            } else if self.take("++") {
                expr = made(at, ExprKind::Step(false, true, expr));
            } else if self.take("--") {
                expr = made(at, ExprKind::Step(false, false, expr));
            } else {
                return Ok(expr);
            }
            self.grow()?;
        }
    }

    pub(super) fn given(&mut self) -> Read<Vec<Given>> {
        self.expect("(")?;
        let mut given = Vec::new();
        while !self.take(")") {
            if !given.is_empty() {
                self.expect(",")?;
            }
            if matches!(self.token(), Token::Word) && self.is_sign_at(1, ":") {
                return self.unknown("values are given in order here, without names");
            }
            if !self.take("out") {
                given.push(Given::Value(self.expression()?));
                continue;
            }
            let new = self.attempt(|parser| {
                let type_name = parser.type_name().ok()?;
                let at = parser.at();
                let name = parser.name().ok()?;
                let type_name = (type_name.name != "var").then_some(type_name);
                Some(Given::OutNew(type_name, name, at))
            });
            given.push(match new {
                Some(new) => new,
                None => Given::Out(self.expression()?),
            });
        }
        Ok(given)
    }

    pub(super) fn values_in_braces(&mut self) -> Read<Vec<Expr>> {
        self.expect("{")?;
        let mut values = Vec::new();
        while !self.take("}") {
            if !values.is_empty() {
                self.expect(",")?;
                if self.take("}") {
                    break;
                }
            }
            values.push(self.expression()?);
        }
        Ok(values)
    }

    fn primary(&mut self) -> Read<Expr> {
        let at = self.at();
        let source = self.source();
        let token = self.token().clone();
        self.next += 1;
        let kind = match token {
            Token::Long(_) if source.contains(['u', 'U']) => {
                return refuse(at, "error: numbers without a sign are not understood");
            }
            Token::Long(value) => match source.ends_with(['l', 'L']) {
                true => ExprKind::Long(value),
                false => ExprKind::Int(value),
            },
            Token::Double(value) if !is_finite(value, source) => {
                let message =
                    "error CS0594: Floating-point constant is outside the range of its type";
                return refuse(at, message);
            }
            Token::Double(value) => match source.ends_with(['f', 'F']) {
                true => {
                    let value = made(at, ExprKind::Double(value));
                    ExprKind::Cast(named("float", at), value)
                }
                false => ExprKind::Double(value),
            },
            Token::Text(text) if source.starts_with('\'') => {
                let mut units = text.encode_utf16();
                match (units.next(), units.next()) {
                    (Some(unit), None) => ExprKind::Char(unit),
                    _ => {
                        return refuse(at, "error: a character is one letter in quotes");
                    }
                }
            }
            Token::Text(text) => ExprKind::Text(text.into()),
            Token::Interpolated(start, end, is_verbatim) => {
                ExprKind::Interpolated(self.pieces(start, end, is_verbatim)?)
            }
            Token::Sign("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Word => match source {
                "true" | "false" => ExprKind::Bool(source == "true"),
                "null" => ExprKind::Null,
                "this" => ExprKind::This,
                "base" if self.derives => ExprKind::Name("base".to_owned()),
                "new" => self.creation()?,
                "nameof" if self.is("(") => self.name_of()?,
                word if BUILT_IN.contains(&word) => ExprKind::Type(named(word, at)),
                _ => {
                    self.next -= 1;
                    ExprKind::Name(self.name()?)
                }
            },
            Token::Verbatim => ExprKind::Name(source[1..].to_owned()),
            _ => {
                self.next -= 1;
                return self.unknown("a value is expected");
            }
        };
        Ok(made(at, kind))
    }

    fn name_of(&mut self) -> Read<ExprKind> {
        self.expect("(")?;
        let mut name = self.name()?;
        while self.take(".") {
            name = self.name()?;
        }
        self.expect(")")?;
        Ok(ExprKind::NameOf(name))
    }

    /// What stands behind `new`.
    fn creation(&mut self) -> Read<ExprKind> {
        if self.take("[") {
            self.expect("]")?;
            let values = self.values_in_braces()?;
            return Ok(ExprKind::NewArray(None, None, Some(values)));
        }
        let mut type_name = self.type_name()?;
        if self.take("[") {
            let len = self.expression()?;
            self.expect("]")?;
            while self.is("[") && self.is_sign_at(1, "]") {
                self.next += 2;
                self.grow()?;
                type_name.ranks += 1;
            }
            if self.is("{") {
                return self.unknown("give an array its length or its values");
            }
            return Ok(ExprKind::NewArray(Some(type_name), Some(len), None));
        }
        if type_name.ranks > 0 {
            type_name.ranks -= 1;
            let values = self.values_in_braces()?;
            return Ok(ExprKind::NewArray(Some(type_name), None, Some(values)));
        }
        let given = match self.is("(") {
            true => self.given()?,
            false if self.is("{") => Vec::new(),
            false => return self.unknown("( is expected"),
        };
        let mut values = Vec::new();
        if self.take("{") {
            while !self.take("}") {
                if !values.is_empty() {
                    self.expect(",")?;
                    if self.take("}") {
                        break;
                    }
                }
                values.push(self.element()?);
            }
        }
        Ok(ExprKind::New(type_name, given, values))
    }

    /// An element of a list or a dictionary: `a`, `{ k, v }` or `[k] = v`.
    fn element(&mut self) -> Read<Element> {
        if self.take("{") {
            let key = self.expression()?;
            self.expect(",")?;
            let value = self.expression()?;
            self.expect("}")?;
            return Ok(Element::Add(key, value));
        }
        if self.take("[") {
            let key = self.expression()?;
            self.expect("]")?;
            self.expect("=")?;
            return Ok(Element::Put(key, self.expression()?));
        }
        let at = self.at();
        let value = self.expression()?;
        match *value.kind {
            ExprKind::Assign(..) => refuse(at, "error: members are not set behind `new` here"),
            _ => Ok(Element::One(value)),
        }
    }

    /// The pieces of an interpolated text between two bytes.
    fn pieces(&mut self, start: usize, end: usize, is_verbatim: bool) -> Read<Vec<Piece>> {
        let text = self.text;
        let (mut pieces, mut plain) = (Vec::new(), String::new());
        let mut letters = text[start..end].char_indices();
        while let Some((offset, letter)) = letters.next() {
            let rest = &text[start + offset + letter.len_utf8()..end];
            match letter {
                '{' | '}' if rest.starts_with(letter) => {
                    letters.next();
                    plain.push(letter);
                }
                '"' if is_verbatim && rest.starts_with('"') => {
                    letters.next();
                    plain.push('"');
                }
                '\\' if !is_verbatim => match unescape(&mut letters) {
                    Some(letter) => plain.push(letter),
                    None => {
                        return refuse(start + offset, "error: this escape is not part of C#");
                    }
                },
                '{' => {
                    let from = start + offset + 1;
                    let len = hole_len(rest);
                    let Some(len) = len else {
                        return refuse(from, "error CS1513: } expected");
                    };
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    pieces.push(Piece::Hole(self.hole(from, from + len)?));
                    while letters
                        .clone()
                        .next()
                        .is_some_and(|(at, _)| start + at <= from + len)
                    {
                        letters.next();
                    }
                }
                '}' => return refuse(start + offset, "error: write }} for a brace"),
                other => plain.push(other),
            }
        }
        pieces.push(Piece::Text(plain));
        Ok(pieces)
    }

    fn hole(&mut self, from: usize, to: usize) -> Read<Expr> {
        let mut inner = Parser::new(self.text, from, to)?;
        inner.depth = self.depth;
        let value = inner.expression()?;
        self.height = self.height.max(inner.height);
        match inner.token() {
            Token::End => Ok(value),
            _ => inner.unknown("formats in interpolated texts are not understood"),
        }
    }
}

/// Whether a number has a value in its type, which its last letter tells.
fn is_finite(number: f64, source: &str) -> bool {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it rounds, and what is too large becomes infinite"
    )]
    let is_finite = (number as f32).is_finite();
    match source.ends_with(['f', 'F']) {
        true => is_finite,
        false => number.is_finite(),
    }
}

/// Bytes up to the brace that ends a hole.
fn hole_len(rest: &str) -> Option<usize> {
    let (mut depth, mut is_text) = (0_u32, false);
    for (at, letter) in rest.char_indices() {
        match letter {
            '"' => is_text = !is_text,
            '{' if !is_text => depth += 1,
            '}' if !is_text && depth == 0 => return Some(at),
            '}' if !is_text => depth -= 1,
            _ => {}
        }
    }
    None
}

pub(super) fn named(name: &str, at: usize) -> TypeName {
    TypeName {
        name: name.to_owned(),
        arguments: Vec::new(),
        ranks: 0,
        at,
    }
}

impl Statement {
    /// A lambda's value as a statement of its own, for lambdas that give nothing.
    pub(super) fn given_value(&self) -> Option<&Expr> {
        match &self.kind {
            StatementKind::Return(Some(value)) => Some(value),
            _ => None,
        }
    }
}
