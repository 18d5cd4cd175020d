//! Names of types, and telling casts from brackets.

use super::lexer::Token;
use super::names::type_called;
use super::parser::Parser;
use crate::index::native::Type;

/// Arguments of a generic type, and such types inside one another.
const ARGUMENTS_MAX: usize = 8;
const DEPTH_MAX: usize = 4;

impl Parser<'_> {
    /// A cast in brackets, if one begins here; taken.
    pub(super) fn cast(&mut self) -> Option<Type> {
        if !self.is_sign(0, "(") || !self.is_name(1) {
            return None;
        }
        let start = self.at;
        let is_variable = self.find(self.word(1)).is_some();
        self.advance();
        let target = self.type_name();
        let is_cast = match target {
            Some(Named { target, is_known }) => {
                is_known && !is_variable && self.take(")") && self.begins_operand(target)
            }
            None => false,
        };
        if !is_cast {
            self.at = start;
            return None;
        }
        target.map(|named| named.target)
    }

    /// Whether a token begins what a cast is applied to.
    fn begins_operand(&self, target: Type) -> bool {
        match self.token() {
            Token::Word => !matches!(
                self.word(0),
                "is" | "as" | "select" | "where" | "into" | "in"
            ),
            Token::Sign("(" | "!") => true,
            Token::Sign("-") => !matches!(target, Type::Any | Type::Text),
            Token::Sign(_) | Token::End => false,
            _ => true,
        }
    }

    /// A type, taken; `None`, and nothing taken, when there is none here.
    pub(super) fn type_name(&mut self) -> Option<Named> {
        let start = self.at;
        let named = self.type_at(0);
        if named.is_none() {
            self.at = start;
        }
        named
    }

    fn type_at(&mut self, depth: usize) -> Option<Named> {
        if depth > DEPTH_MAX || !self.is_name(0) {
            return None;
        }
        let mut name = self.word(0);
        self.advance();
        while self.is_sign(0, ".") && self.is_name(1) {
            name = self.word(1);
            self.at += 2;
        }
        let mut target = type_called(name);
        if self.take("<") {
            for _ in 0..ARGUMENTS_MAX {
                self.type_at(depth + 1)?;
                if !self.take(",") {
                    break;
                }
            }
            if !self.take(">") {
                return None;
            }
            target = Some(Type::Any);
        }
        let mut is_known = target.is_some();
        if self.is_sign(0, "?") && !self.is_sign(1, "[") {
            // `(a ? b : c)` is a condition: a type's question mark closes it.
            let ends = self.is_sign(1, ")") || self.is_sign(1, ">") || self.is_sign(1, ",");
            let is_declaration = matches!(self.peek(1), Token::Word) && self.is_sign(2, "=");
            if ends || is_declaration {
                self.advance();
                is_known = true;
            }
        }
        while self.is_sign(0, "[") && self.is_sign(1, "]") {
            self.at += 2;
            target = Some(Type::Any);
            is_known = true;
        }
        let target = target.unwrap_or(Type::Any);
        Some(Named { target, is_known })
    }
}

/// A type that was named.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub(super) target: Type,
    /// Whether it can be nothing but a type.
    pub(super) is_known: bool,
}
