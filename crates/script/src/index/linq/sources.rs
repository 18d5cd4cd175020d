//! Additional sources in C#: static methods, also extension methods, compiled when they are called.
//!
//! A method is an expression (`=> ..`) or a block of variables, `if` and `return`. What else stands
//! in a source is refused when the index is compiled.

use std::collections::HashMap;
use std::sync::Arc;

use super::lexer::{Spanned, Token, position, tokens};
use super::parser::{Kind, Parser};
use crate::index::error::CompileError;
use crate::index::native::{Constant, Expression, Routine};

/// Methods that call one another.
const CALLS_MAX: usize = 8;
const MODIFIERS: [&str; 8] = [
    "public",
    "private",
    "internal",
    "protected",
    "static",
    "sealed",
    "partial",
    "abstract",
];

/// The methods of all additional sources.
#[derive(Default)]
pub(super) struct Library {
    sources: Vec<Arc<Source>>,
    classes: Vec<String>,
    methods: HashMap<String, Declared>,
    compiled: HashMap<String, Arc<Routine>>,
    /// Methods that are being compiled, the outermost first.
    open: Vec<String>,
}

struct Source {
    name: String,
    text: String,
    tokens: Arc<Vec<Spanned>>,
}

/// A method before it is compiled.
#[derive(Clone)]
struct Declared {
    source: Arc<Source>,
    parameters: Vec<Parameter>,
    /// The token at which its body begins.
    body: usize,
}

#[derive(Clone)]
struct Parameter {
    name: String,
    default: Option<Constant>,
}

impl Library {
    pub(super) fn new(sources: &[(String, String)]) -> Result<Library, CompileError> {
        let mut library = Library::default();
        for (name, text) in sources {
            let in_source = |error: CompileError| of_source(error, name);
            let source = Source {
                name: name.clone(),
                text: text.clone(),
                tokens: Arc::new(tokens(text, 0, text.len()).map_err(in_source)?),
            };
            library.sources.push(Arc::new(source));
        }
        for source in library.sources.clone() {
            let mut reader = Reader {
                source: &source,
                at: 0,
            };
            let read = reader.read(&mut library);
            read.map_err(|error| of_source(error, &source.name))?;
        }
        Ok(library)
    }

    pub(super) fn has_routine(&self, name: &str) -> bool {
        self.methods.contains_key(name)
    }

    pub(super) fn is_class(&self, name: &str) -> bool {
        self.classes.iter().any(|class| class == name)
    }
}

fn of_source(error: CompileError, name: &str) -> CompileError {
    let message = format!("in the additional source '{name}': {}", error.message);
    CompileError::new(message, &error.construct, error.position)
}

impl Parser<'_> {
    /// `Method(..)` of an additional source; the name stands here.
    pub(super) fn routine_call(&mut self) -> Result<Expression, CompileError> {
        let start = self.at;
        let name = self.name()?;
        let routine = self.routine(name, start)?;
        self.skip_generic_arguments();
        let arguments = self.values()?;
        self.check_routine(&routine, arguments.len(), start)?;
        Ok(Expression::Invoke(routine, arguments))
    }

    pub(super) fn check_routine(
        &self,
        routine: &Routine,
        count: usize,
        start: usize,
    ) -> Result<(), CompileError> {
        let needed = routine
            .defaults
            .iter()
            .filter(|default| default.is_none())
            .count();
        match (needed..=routine.slots.len()).contains(&count) {
            true => Ok(()),
            false => Err(self.error_at(start, "the number of arguments is wrong")),
        }
    }

    /// The method called `name`, compiled.
    pub(super) fn routine(&mut self, name: &str, at: usize) -> Result<Arc<Routine>, CompileError> {
        if let Some(known) = self.library.compiled.get(name) {
            return Ok(Arc::clone(known));
        }
        let Some(declared) = self.library.methods.get(name).cloned() else {
            return Err(self.error_at(at, "this function is not known"));
        };
        if self.library.open.iter().any(|open| open == name) {
            return Err(self.error_at(at, "functions that call themselves are not supported"));
        }
        if self.library.open.len() >= CALLS_MAX {
            return Err(self.error_at(at, "functions call one another too deep"));
        }
        self.library.open.push(name.to_owned());
        let source = Arc::clone(&declared.source);
        let library = std::mem::take(&mut self.library);
        let tokens = Arc::clone(&source.tokens);
        let mut parser = Parser::of_tokens(&source.text, tokens, Kind::Routine, library);
        parser.at = declared.body;
        parser.slot_count = self.slot_count;
        parser.depth = self.depth;
        let compiled = parser.routine_body(&declared);
        let (library, slot_count) = (parser.library, parser.slot_count);
        let (loads, exchange) = (parser.loaded_collections, parser.uses_compare_exchange);
        let makes_fields = parser.makes_fields;
        self.library = library;
        self.slot_count = slot_count;
        self.uses_compare_exchange |= exchange;
        self.makes_fields |= makes_fields;
        for collection in loads {
            if !self.loaded_collections.contains(&collection) {
                self.loaded_collections.push(collection);
            }
        }
        let routine = Arc::new(compiled.map_err(|error| of_source(error, &source.name))?);
        self.library.open.pop();
        let known = Arc::clone(&routine);
        self.library.compiled.insert(name.to_owned(), known);
        Ok(routine)
    }

    fn routine_body(&mut self, declared: &Declared) -> Result<Routine, CompileError> {
        let mut slots = Vec::new();
        for parameter in &declared.parameters {
            slots.push(self.declare(&parameter.name)?);
        }
        let body = match self.is_sign(0, "{") {
            true => self.deeper(Self::block)?,
            false => {
                self.expect("=>")?;
                self.expression()?
            }
        };
        let defaults = declared.parameters.iter();
        Ok(Routine {
            slots,
            defaults: defaults
                .map(|parameter| parameter.default.clone())
                .collect(),
            body,
        })
    }
}

/// Finds the methods of a source.
struct Reader<'s> {
    source: &'s Arc<Source>,
    at: usize,
}

impl<'s> Reader<'s> {
    fn token(&self, ahead: usize) -> &'s Token {
        let spanned = self.source.tokens.get(self.at + ahead);
        spanned.map_or(&Token::End, |spanned| &spanned.token)
    }

    fn word(&self, ahead: usize) -> &'s str {
        let spanned = self.source.tokens.get(self.at + ahead);
        spanned.map_or("", |spanned| &self.source.text[spanned.start..spanned.end])
    }

    fn refuse<T>(&self, message: &str) -> Result<T, CompileError> {
        let spanned = self.source.tokens.get(self.at);
        let (start, end) = spanned.map_or((0, 0), |spanned| (spanned.start, spanned.end));
        let construct = &self.source.text[start..end];
        let message = format!("'{construct}': {message}");
        Err(CompileError::new(
            message,
            construct,
            position(&self.source.text, start),
        ))
    }

    fn read(&mut self, library: &mut Library) -> Result<(), CompileError> {
        loop {
            match self.word(0) {
                "using" => self.skip_past(";"),
                "namespace" => {
                    while !matches!(self.word(0), "{" | ";" | "") {
                        self.at += 1;
                    }
                    self.at += 1;
                }
                "class" => {
                    library.classes.push(self.word(1).to_owned());
                    self.at += 2;
                    if self.word(0) != "{" {
                        return self.refuse("'{' is expected here");
                    }
                    self.at += 1;
                }
                "}" | ";" => self.at += 1,
                word if MODIFIERS.contains(&word) => self.at += 1,
                "[" => self.skip_past("]"),
                _ if *self.token(0) == Token::End => return Ok(()),
                _ => self.method(library)?,
            }
        }
    }

    fn skip_past(&mut self, sign: &str) {
        while *self.token(0) != Token::End && self.word(0) != sign {
            self.at += 1;
        }
        self.at += 1;
    }

    /// `Type Name(Type a, Type b = 1) { .. }` or `=> ..;`.
    fn method(&mut self, library: &mut Library) -> Result<(), CompileError> {
        let start = self.at;
        // The name is the last word before the bracket.
        while self.word(0) != "(" {
            let is_type = match self.token(0) {
                Token::Word | Token::Verbatim => true,
                Token::Sign(sign) => matches!(*sign, "<" | ">" | "," | "?" | "[" | "]" | "."),
                _ => false,
            };
            if !is_type {
                self.at = start;
                return self.refuse("additional sources may have static methods only");
            }
            self.at += 1;
        }
        let mut name = self.at.saturating_sub(1);
        // Behind a generic name stand its parameters.
        if self.source.tokens[name].token == Token::Sign(">") {
            while name > start && self.source.tokens[name].token != Token::Sign("<") {
                name -= 1;
            }
            name = name.saturating_sub(1);
        }
        let spanned = &self.source.tokens[name];
        let name = self.source.text[spanned.start..spanned.end].to_owned();
        self.at += 1;
        let parameters = self.parameters()?;
        let body = self.at;
        match self.word(0) {
            "{" => self.skip_block()?,
            "=>" => self.skip_past(";"),
            _ => return self.refuse("'{' or '=>' is expected here"),
        }
        let source = Arc::clone(self.source);
        library.methods.insert(
            name,
            Declared {
                source,
                parameters,
                body,
            },
        );
        Ok(())
    }

    fn parameters(&mut self) -> Result<Vec<Parameter>, CompileError> {
        let mut parameters = Vec::new();
        let mut last = "";
        let mut default = None;
        loop {
            match self.token(0) {
                Token::End => return self.refuse("')' is expected here"),
                Token::Sign("," | ")") => {
                    let is_end = self.word(0) == ")";
                    if !last.is_empty() {
                        let name = last.to_owned();
                        parameters.push(Parameter {
                            name,
                            default: default.take(),
                        });
                    }
                    last = "";
                    self.at += 1;
                    if is_end {
                        return Ok(parameters);
                    }
                }
                Token::Sign("<") => self.skip_generic()?,
                Token::Sign("=") => {
                    default = Some(match (self.token(1), self.word(1)) {
                        (Token::Text(text), _) => Constant::Text(text.clone()),
                        (Token::Long(long), _) => Constant::Long(*long),
                        (Token::Double(double), _) => Constant::Double(*double),
                        (Token::Decimal(decimal), _) => Constant::Decimal(*decimal),
                        (_, "true") => Constant::Bool(true),
                        (_, "false") => Constant::Bool(false),
                        (_, "null") => Constant::Null,
                        _ => return self.refuse("this default is not supported"),
                    });
                    self.at += 2;
                }
                Token::Word | Token::Verbatim => {
                    last = self.word(0).trim_start_matches('@');
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
    }

    fn skip_generic(&mut self) -> Result<(), CompileError> {
        let mut depth = 0;
        loop {
            match self.token(0) {
                Token::End => return self.refuse("'>' is expected here"),
                Token::Sign("<") => depth += 1,
                Token::Sign(">") => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn skip_block(&mut self) -> Result<(), CompileError> {
        let mut depth = 0;
        loop {
            match self.token(0) {
                Token::End => return self.refuse("'}' is expected here"),
                Token::Sign("{") => depth += 1,
                Token::Sign("}") => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }
}
