//! Reads the statements of a sorter.
//!
//! Called by `parser` for the bodies of members; expressions inside are read by `terms`.

use super::parser::{Parser, Read};
use super::tree::{Expr, ExprKind, Statement, StatementKind, TypeName};
use crate::index::linq::lexer::Token;

/// Statements of C# that are refused by name.
const REFUSED: &[&str] = &[
    "try",
    "goto",
    "lock",
    "using",
    "yield",
    "checked",
    "unchecked",
    "unsafe",
    "fixed",
    "await",
];

impl Parser<'_> {
    /// A body in braces, or behind `=>`, which gives its value when `gives` is set.
    pub(super) fn body(&mut self, gives: bool) -> Read<Vec<Statement>> {
        if !self.take("=>") {
            return self.block();
        }
        let statement = self.arrow(gives)?;
        self.expect(";")?;
        Ok(vec![statement])
    }

    /// The expression behind `=>`, as a statement.
    pub(super) fn arrow(&mut self, gives: bool) -> Read<Statement> {
        let at = self.at();
        let value = self.expression()?;
        let kind = match (gives, *value.kind) {
            (_, ExprKind::Throw(inner)) => StatementKind::Throw(inner),
            (true, kind) => {
                let value = Expr {
                    kind: Box::new(kind),
                    at: value.at,
                };
                StatementKind::Return(Some(value))
            }
            (false, kind) => StatementKind::Expression(Expr {
                kind: Box::new(kind),
                at: value.at,
            }),
        };
        Ok(Statement { kind, at })
    }

    /// Statements in braces.
    pub(super) fn block(&mut self) -> Read<Vec<Statement>> {
        self.expect("{")?;
        let mut statements = Vec::new();
        while !self.is("}") {
            if *self.token() == Token::End {
                return self.refuse("error CS1513: } expected");
            }
            statements.push(self.statement()?);
        }
        self.next += 1;
        Ok(statements)
    }

    fn statement(&mut self) -> Read<Statement> {
        self.nested(|parser| {
            let at = parser.at();
            let kind = parser.statement_kind()?;
            Ok(Statement { kind, at })
        })
    }

    fn condition(&mut self) -> Read<Expr> {
        self.expect("(")?;
        let condition = self.expression()?;
        self.expect(")")?;
        Ok(condition)
    }

    fn statement_kind(&mut self) -> Read<StatementKind> {
        if self.is("{") {
            return self.block().map(StatementKind::Block);
        }
        if self.take(";") {
            return Ok(StatementKind::Empty);
        }
        let word = self.word().unwrap_or("");
        if REFUSED.contains(&word) {
            return self.unknown("this statement is not understood");
        }
        let keeps = matches!(
            word,
            "if" | "for"
                | "foreach"
                | "while"
                | "do"
                | "switch"
                | "return"
                | "throw"
                | "break"
                | "continue"
                | "const"
        );
        self.next += usize::from(keeps);
        match word {
            "if" => {
                let mut branches = vec![(self.condition()?, self.statement()?)];
                while self.take("else") {
                    if !self.take("if") {
                        let otherwise = Some(Box::new(self.statement()?));
                        return Ok(StatementKind::If(branches, otherwise));
                    }
                    branches.push((self.condition()?, self.statement()?));
                }
                Ok(StatementKind::If(branches, None))
            }
            "for" => self.for_loop(),
            "foreach" => {
                self.expect("(")?;
                let type_name = match self.take("var") {
                    true => None,
                    false => Some(self.type_name()?),
                };
                let name = self.name()?;
                self.expect("in")?;
                let list = self.expression()?;
                self.expect(")")?;
                let body = Box::new(self.statement()?);
                Ok(StatementKind::ForEach(type_name, name, list, body))
            }
            "while" => {
                let condition = self.condition()?;
                Ok(StatementKind::While(condition, Box::new(self.statement()?)))
            }
            "do" => {
                let body = Box::new(self.statement()?);
                self.expect("while")?;
                let condition = self.condition()?;
                self.expect(";")?;
                Ok(StatementKind::Do(body, condition))
            }
            "switch" => self.switch(),
            "return" => {
                let value = match self.is(";") {
                    true => None,
                    false => Some(self.expression()?),
                };
                self.expect(";")?;
                Ok(StatementKind::Return(value))
            }
            "throw" => {
                let value = self.expression()?;
                self.expect(";")?;
                Ok(StatementKind::Throw(value))
            }
            "break" => self.expect(";").map(|()| StatementKind::Break),
            "continue" => self.expect(";").map(|()| StatementKind::Continue),
            _ => {
                let kind = self.simple(word == "const")?;
                self.expect(";")?;
                Ok(kind)
            }
        }
    }

    /// A declaration of locals, or an expression; without the `;`.
    fn simple(&mut self, is_const: bool) -> Read<StatementKind> {
        if let Some(type_name) = self.attempt(Parser::declared) {
            let mut names = Vec::new();
            loop {
                let at = self.at();
                let name = self.name()?;
                let value = match (self.take("="), &type_name) {
                    (false, _) => None,
                    (true, Some(type_name)) => Some(self.initial_value(type_name)?),
                    (true, None) => Some(self.expression()?),
                };
                names.push((name, value, at));
                if !self.take(",") {
                    return Ok(StatementKind::Local(is_const, type_name, names));
                }
            }
        }
        self.expression().map(StatementKind::Expression)
    }

    /// The type in front of a name that is declared; inside `None` is `var`.
    fn declared(&mut self) -> Option<Option<TypeName>> {
        let type_name = self.type_name().ok()?;
        let is_name = matches!(self.token(), Token::Verbatim)
            || matches!(self.token(), Token::Word) && !self.is("is") && !self.is("as");
        let ends = ["=", ";", ","].iter().any(|sign| self.is_sign_at(1, sign));
        let is_var = type_name.name == "var" && type_name.arguments.is_empty();
        (is_name && ends).then_some((!is_var).then_some(type_name))
    }

    /// A value behind `=`; arrays may leave `new` out.
    pub(super) fn initial_value(&mut self, type_name: &TypeName) -> Read<Expr> {
        if self.is("{") && type_name.ranks > 0 {
            let at = self.at();
            let element = TypeName {
                ranks: type_name.ranks - 1,
                ..type_name.clone()
            };
            let values = self.values_in_braces()?;
            return Ok(Expr {
                kind: Box::new(ExprKind::NewArray(Some(element), None, Some(values))),
                at,
            });
        }
        self.expression()
    }

    fn for_loop(&mut self) -> Read<StatementKind> {
        self.expect("(")?;
        let mut first = Vec::new();
        if !self.is(";") {
            loop {
                let at = self.at();
                let kind = self.simple(false)?;
                first.push(Statement { kind, at });
                if !self.take(",") {
                    break;
                }
            }
        }
        self.expect(";")?;
        let condition = match self.is(";") {
            true => None,
            false => Some(self.expression()?),
        };
        self.expect(";")?;
        let mut steps = Vec::new();
        while !self.take(")") {
            if !steps.is_empty() {
                self.expect(",")?;
            }
            steps.push(self.expression()?);
        }
        let body = Box::new(self.statement()?);
        Ok(StatementKind::For(first, condition, steps, body))
    }

    fn switch(&mut self) -> Read<StatementKind> {
        let value = self.condition()?;
        self.expect("{")?;
        let mut sections = Vec::new();
        while !self.take("}") {
            let (mut labels, mut body) = (Vec::new(), Vec::new());
            loop {
                if self.take("default") {
                    labels.push(None);
                } else if self.take("case") {
                    labels.push(Some(self.expression()?));
                } else {
                    break;
                }
                self.expect(":")?;
            }
            if labels.is_empty() {
                return self.unknown("`case` or `default` is expected");
            }
            while !["}", "case", "default"].iter().any(|end| self.is(end)) {
                body.push(self.statement()?);
            }
            sections.push((labels, body));
        }
        Ok(StatementKind::Switch(value, sections))
    }
}
