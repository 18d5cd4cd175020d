//! `new`: objects, lists, dictionaries, dates.

use super::lexer::Token;
use super::names::type_called;
use super::parser::Parser;
use crate::index::error::CompileError;
use crate::index::native::{Constant, Expression, Function, Suffix, Type};

type Parsed = Result<Expression, CompileError>;

/// Fields of one object.
const FIELDS_MAX: usize = 1000;

impl Parser<'_> {
    /// What follows `new`.
    pub(super) fn creation(&mut self) -> Parsed {
        self.advance();
        if self.is_sign(0, "{") {
            return self.deeper(Self::object);
        }
        if self.take("[") {
            self.expect("]")?;
            return self.deeper(Self::list);
        }
        let start = self.at;
        let name = self.last_name();
        let Some(named) = self.type_name() else {
            return self.refuse("a type or { is expected here");
        };
        let is_array = self.tokens[self.at - 1].token == Token::Sign("]");
        if is_array {
            return self.deeper(Self::list);
        }
        let arguments = match self.is_sign(0, "(") {
            true => Some(self.values()?),
            false => None,
        };
        match (named.target, arguments) {
            (Type::Date, Some(arguments)) => {
                return Ok(Expression::Function(Function::NewDate, arguments));
            }
            (Type::Span, Some(arguments)) => {
                return Ok(Expression::Function(Function::NewSpan, arguments));
            }
            (_, Some(arguments)) if !arguments.is_empty() => {
                return Err(self.error_at(start, "this cannot be made from arguments here"));
            }
            _ => {}
        }
        match name.as_str() {
            "List" | "HashSet" if self.is_sign(0, "{") => self.deeper(Self::list),
            "List" | "HashSet" => Ok(Expression::List(Vec::new())),
            "Dictionary" if self.is_sign(0, "{") => self.deeper(Self::dictionary),
            "Dictionary" | "object" | "Object" => Ok(Expression::Dictionary(Vec::new())),
            _ if type_called(&name).is_none() && self.is_sign(0, "{") => self.deeper(Self::object),
            _ if type_called(&name).is_none() => Ok(Expression::Record(Box::new([]), Vec::new())),
            _ => Err(self.error_at(start, "this cannot be made here")),
        }
    }

    /// The last part of the type name that begins here.
    fn last_name(&self) -> String {
        let mut ahead = 0;
        while self.is_sign(ahead + 1, ".") {
            ahead += 2;
        }
        self.word(ahead).to_owned()
    }

    /// `{ A = x, y.B, c }`.
    fn object(&mut self) -> Parsed {
        self.expect("{")?;
        let mut names: Vec<Box<str>> = Vec::new();
        let mut values = Vec::new();
        while !self.take("}") {
            if names.len() >= FIELDS_MAX {
                return self.refuse(&format!("an object has more than {FIELDS_MAX} fields"));
            }
            let start = self.at;
            let mut name = None;
            if self.is_name(0) && self.is_sign(1, "=") {
                name = Some(self.name()?.to_owned());
                self.advance();
            }
            let value = self.expression()?;
            let name = match name.or_else(|| self.name_of(&value)) {
                Some(name) => name,
                None => {
                    let message = "this field of an object needs a name, as in Name = value";
                    return Err(self.error_at(start, message));
                }
            };
            let name = name.into_boxed_str();
            // Of fields with one name the last counts, as with documents.
            match names.iter().position(|known| *known == name) {
                Some(slot) => values[slot] = value,
                None => {
                    names.push(name);
                    values.push(value);
                }
            }
            if !self.take(",") && !self.is_sign(0, "}") {
                return self.refuse("',' or '}' is expected here");
            }
        }
        Ok(Expression::Record(names.into_boxed_slice(), values))
    }

    /// The name that a field has when none is given: that of the member or variable.
    fn name_of(&self, value: &Expression) -> Option<String> {
        match value {
            Expression::Postfix(_, suffixes) => match suffixes.last()? {
                Suffix::Member(name) => Some(name.to_string()),
                _ => None,
            },
            Expression::Slot(slot) => {
                let variable = self.scope.iter().rev().find(|(_, known)| known == slot);
                variable.map(|(name, _)| name.clone())
            }
            _ => None,
        }
    }

    fn list(&mut self) -> Parsed {
        self.expect("{")?;
        let mut items = Vec::new();
        while !self.take("}") {
            items.push(self.expression()?);
            if !self.take(",") && !self.is_sign(0, "}") {
                return self.refuse("',' or '}' is expected here");
            }
        }
        Ok(Expression::List(items))
    }

    /// `{ { key, value }, .. }` or `{ [key] = value, .. }`.
    fn dictionary(&mut self) -> Parsed {
        self.expect("{")?;
        let mut entries = Vec::new();
        while !self.take("}") {
            let key;
            let value;
            if self.take("{") {
                key = self.expression()?;
                self.expect(",")?;
                value = self.expression()?;
                self.expect("}")?;
            } else {
                self.expect("[")?;
                key = self.expression()?;
                self.expect("]")?;
                self.expect("=")?;
                value = self.expression()?;
            }
            entries.push((key, value));
            if !self.take(",") && !self.is_sign(0, "}") {
                return self.refuse("',' or '}' is expected here");
            }
        }
        Ok(Expression::Dictionary(entries))
    }
}

/// The text of a constant.
pub(super) fn constant_text(expression: &Expression) -> Option<&str> {
    match expression {
        Expression::Constant(Constant::Text(text)) => Some(text),
        _ => None,
    }
}
