//! What stands alone: constants, names, brackets, interpolated texts, sources of documents.

use std::sync::Arc;

use super::lexer::{Token, tokens, unescape};
use super::names;
use super::parser::{Kind, Parser};
use crate::index::error::CompileError;
use crate::index::native::{Constant, Expression, Function, Part, Suffix, Type};
use crate::index::program::MapSource;

type Parsed = Result<Expression, CompileError>;

/// Name spaces in front of known classes.
const NAME_SPACES: [&str; 4] = ["System", "Linq", "Collections", "Generic"];
/// Ticks from 0001-01-01 to 1970, and the last one of 9999.
const TICKS_FIRST: i64 = -621_355_968_000_000_000;
const TICKS_LAST: i64 = 2_534_023_007_999_999_999;

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parsed {
        let constant = match self.token() {
            Token::Text(text) => Some(Constant::Text(text.clone())),
            Token::Long(long) => Some(Constant::Long(*long)),
            Token::Double(double) => Some(Constant::Double(*double)),
            Token::Decimal(decimal) => Some(Constant::Decimal(*decimal)),
            _ => None,
        };
        if let Some(constant) = constant {
            self.advance();
            return Ok(Expression::Constant(constant));
        }
        match *self.token() {
            Token::Interpolated(start, end, is_verbatim) => {
                self.advance();
                self.deeper(|parser| parser.interpolated(start, end, is_verbatim))
            }
            Token::Sign("(") => {
                self.advance();
                let inside = self.expression()?;
                self.expect(")")?;
                Ok(inside)
            }
            Token::Word => self.named(),
            Token::Verbatim => self.variable(),
            Token::End => self.refuse("a value is expected"),
            _ => self.refuse("a value is expected here"),
        }
    }

    fn named(&mut self) -> Parsed {
        let word = self.word(0);
        if self.find(word).is_some() {
            return self.variable();
        }
        let constant = match word {
            "true" => Some(Constant::Bool(true)),
            "false" => Some(Constant::Bool(false)),
            "null" => Some(Constant::Null),
            _ => None,
        };
        if let Some(constant) = constant {
            self.advance();
            return Ok(Expression::Constant(constant));
        }
        match word {
            "new" => self.creation(),
            "from" if self.is_query() => self.query(),
            "typeof" => self.type_of(),
            "default" => self.default_value(),
            "this" | "NoTracking" if self.is_sign(1, ".") => {
                self.at += 2;
                self.named()
            }
            "docs" | "counters" | "timeSeries" | "timeseries" | "results" => self.source(),
            "Recurse" if self.is_sign(1, "(") => self.recurse(),
            _ if NAME_SPACES.contains(&word) && self.is_sign(1, ".") => {
                self.at += 2;
                self.named()
            }
            _ if names::is_class(word) && self.is_sign(1, ".") => self.static_member(),
            _ if self.library.is_class(word) && self.is_sign(1, ".") => {
                self.at += 2;
                self.routine_call()
            }
            _ => self.function_call(),
        }
    }

    fn variable(&mut self) -> Parsed {
        let slot = self.find(self.word(0).trim_start_matches('@'));
        match slot {
            Some(slot) => {
                self.advance();
                Ok(Expression::Slot(slot))
            }
            None => self.refuse("this name is not known here"),
        }
    }

    /// `typeof(A.B.C).Name`.
    fn type_of(&mut self) -> Parsed {
        self.advance();
        self.expect("(")?;
        let start = self.at;
        if self.type_name().is_none() {
            return self.refuse("a type is expected here");
        }
        let name = (start..self.at).map(|slot| {
            let spanned = &self.tokens[slot];
            &self.text[spanned.start..spanned.end]
        });
        let name: String = name.collect();
        self.expect(")")?;
        self.expect(".")?;
        let text = match self.name()? {
            "Name" => name.rsplit('.').next().unwrap_or_default().to_owned(),
            "FullName" => name,
            _ => {
                let message = "of a type only Name and FullName are supported";
                return Err(self.error_at(self.at - 1, message));
            }
        };
        Ok(Expression::Constant(Constant::Text(text.into_boxed_str())))
    }

    fn default_value(&mut self) -> Parsed {
        self.advance();
        let mut constant = Constant::Null;
        if self.take("(") {
            let is_nullable = (0..8).any(|ahead| self.is_sign(ahead, "?"));
            let Some(named) = self.type_name() else {
                return self.refuse("a type is expected here");
            };
            self.expect(")")?;
            constant = match named.target {
                _ if is_nullable => Constant::Null,
                Type::Bool => Constant::Bool(false),
                Type::Int | Type::Long => Constant::Long(0),
                Type::Double | Type::Float => Constant::Double(0.0),
                Type::Decimal => Constant::Decimal(0.into()),
                Type::Date => Constant::Date(TICKS_FIRST, false),
                Type::Span => Constant::Span(0),
                Type::Any | Type::Text => Constant::Null,
            };
        }
        Ok(Expression::Constant(constant))
    }

    /// What the program goes over: `docs.Users`, `counters.Users.Likes`, `results`.
    fn source(&mut self) -> Parsed {
        let word = self.word(0);
        let is_wrong = match self.kind {
            Kind::Map => word == "results",
            Kind::Reduce => word != "results",
            Kind::Routine => true,
        };
        if is_wrong {
            return self.refuse(match self.kind {
                Kind::Map => "a map goes over docs, counters or timeSeries",
                Kind::Reduce => "a reduce goes over results",
                Kind::Routine => "functions of additional sources get what they work on",
            });
        }
        if self.source.is_some() {
            return self.refuse("a program goes over its documents once");
        }
        self.advance();
        let count = match word {
            "docs" => 1,
            "results" => 0,
            _ => 2,
        };
        let mut named = Vec::new();
        while named.len() < count {
            if self.is_sign(0, "[") && matches!(self.peek(1), Token::Text(_)) {
                if let Token::Text(text) = self.peek(1) {
                    named.push(text.to_string());
                }
                self.at += 2;
                self.expect("]")?;
            } else if self.is_sign(0, ".") && self.is_name(1) && !self.is_sign(2, "(") {
                named.push(self.word(1).trim_start_matches('@').to_owned());
                self.at += 2;
            } else {
                break;
            }
        }
        let mut named = named.into_iter();
        let collections: Vec<String> = named.next().into_iter().collect();
        let names: Vec<String> = named.collect();
        self.source = Some(match word {
            "counters" => MapSource::Counters { collections, names },
            "docs" | "results" => MapSource::Documents { collections },
            _ => MapSource::TimeSeries { collections, names },
        });
        Ok(Expression::Root)
    }

    /// `Class.Name` and `Class.Name(..)` of known classes.
    fn static_member(&mut self) -> Parsed {
        let class = self.word(0);
        self.at += 2;
        let start = self.at;
        let name = self.name()?;
        self.skip_generic_arguments();
        if self.is_sign(0, "(") {
            if matches!(class, "Enumerable" | "DynamicEnumerable") {
                if name == "Empty" {
                    self.expect("(")?;
                    self.expect(")")?;
                    return Ok(Expression::List(Vec::new()));
                }
                if names::static_function(class, name).is_none() {
                    return self.sequence_function(name, start);
                }
            }
            let Some(function) = names::static_function(class, name) else {
                return Err(self.error_at(start, "this function is not supported"));
            };
            let arguments = self.values()?;
            return Ok(Expression::Function(function, arguments));
        }
        constant_of(class, name)
            .map(Expression::Constant)
            .ok_or_else(|| self.error_at(start, "this member is not supported"))
    }

    /// A function of the index or of an additional source.
    fn function_call(&mut self) -> Parsed {
        let start = self.at;
        let name = self.word(0);
        if !(self.is_sign(1, "(") || self.is_sign(1, "<")) {
            return self.refuse("this name is not known here");
        }
        if self.library.has_routine(name) {
            return self.routine_call();
        }
        let Some((function, counts)) = names::index_function(name) else {
            return self.refuse("this function is not supported");
        };
        self.advance();
        self.skip_generic_arguments();
        let arguments = self.values()?;
        if !counts.contains(&arguments.len()) {
            return Err(self.error_at(start, "the number of arguments is wrong"));
        }
        match function {
            Function::LoadDocument => {
                let collection = match arguments.get(1) {
                    Some(Expression::Constant(Constant::Text(name))) => name.to_string(),
                    _ => {
                        let message = "the collection of the document is its second argument, as \
                                       in LoadDocument(id, \"Users\")";
                        return Err(self.error_at(start, message));
                    }
                };
                if !self.loaded_collections.contains(&collection) {
                    self.loaded_collections.push(collection);
                }
            }
            Function::LoadCompareExchange => self.uses_compare_exchange = true,
            Function::CreateField => self.makes_fields = true,
            _ => {}
        }
        Ok(Expression::Function(function, arguments))
    }

    /// Takes `<A, B>` in front of a bracket.
    pub(super) fn skip_generic_arguments(&mut self) {
        if !self.is_sign(0, "<") {
            return;
        }
        let start = self.at;
        self.advance();
        for _ in 0..4 {
            if self.type_name().is_none() {
                break;
            }
            if !self.take(",") {
                break;
            }
        }
        if !(self.take(">") && self.is_sign(0, "(")) {
            self.at = start;
        }
    }

    /// `Recurse(start, x => x.Next)`.
    fn recurse(&mut self) -> Parsed {
        self.advance();
        self.expect("(")?;
        let start = self.expression()?;
        self.expect(",")?;
        let Some(step) = self.lambda_argument()? else {
            return self.refuse("a function is expected here, as in x => x.Next");
        };
        self.expect(")")?;
        Ok(Expression::Recurse(Box::new(start), step))
    }

    /// The inside of an interpolated text.
    fn interpolated(&mut self, start: usize, end: usize, is_verbatim: bool) -> Parsed {
        let text = self.text;
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut at = start;
        while at < end {
            let rest = &text[at..end];
            let first = rest.chars().next().unwrap_or(' ');
            let is_doubled = rest[first.len_utf8()..].starts_with(first);
            match first {
                '{' | '}' if is_doubled => {
                    plain.push(first);
                    at += 2;
                }
                '"' if is_verbatim => {
                    plain.push('"');
                    at += 2;
                }
                '{' => {
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain).into_boxed_str()));
                    }
                    let len = hole_len(&rest[1..]).unwrap_or(rest.len() - 1);
                    parts.push(self.hole(at + 1, at + 1 + len)?);
                    at += len + 2;
                }
                '\\' if !is_verbatim => {
                    let mut characters = rest[1..].char_indices();
                    let Some(escaped) = unescape(&mut characters) else {
                        return self.refuse("the text before has an escape C# does not know");
                    };
                    plain.push(escaped);
                    at += rest.len() - characters.as_str().len();
                }
                other => {
                    plain.push(other);
                    at += other.len_utf8();
                }
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain.into_boxed_str()));
        }
        Ok(Expression::Text(parts))
    }

    /// An expression in a text: `{value,width:format}`.
    fn hole(&mut self, start: usize, end: usize) -> Result<Part, CompileError> {
        let format_at = format_start(&self.text[start..end]);
        let value_end = format_at.map_or(end, |at| start + at);
        let format = format_at.map(|at| &self.text[start + at + 1..end]);
        let inside = Arc::new(tokens(self.text, start, value_end)?);
        let outside = std::mem::replace(&mut self.tokens, inside);
        let at = std::mem::replace(&mut self.at, 0);
        let part = self.hole_value(format);
        self.tokens = outside;
        self.at = at;
        part
    }

    fn hole_value(&mut self, format: Option<&str>) -> Result<Part, CompileError> {
        let value = self.expression()?;
        let mut width = 0;
        if self.take(",") {
            let is_left = self.take("-");
            let Token::Long(wide @ 0..=1000) = *self.token() else {
                return self.refuse("a width of at most 1000 characters is expected here");
            };
            self.advance();
            let wide = i32::try_from(wide).unwrap_or(0);
            width = if is_left { -wide } else { wide };
        }
        if self.token() != &Token::End {
            return self.refuse("the end of the hole is expected here");
        }
        Ok(Part::Value(value, width, format.map(Box::from)))
    }

    /// Members, calls and indexes behind a value.
    pub(super) fn postfix(&mut self) -> Parsed {
        let base = self.primary()?;
        let mut suffixes: Vec<Suffix> = Vec::new();
        loop {
            if self.take(".") || self.take("?.") {
                self.member(&base, &mut suffixes)?;
            } else if self.is_sign(0, "[") || self.is_sign(0, "?") && self.is_sign(1, "[") {
                self.take("?");
                self.advance();
                suffixes.push(Suffix::Index(self.expression()?));
                self.expect("]")?;
            } else if !(self.is_sign(0, "!") && self.forgives()) {
                break;
            } else {
                self.advance();
            }
        }
        Ok(match suffixes.is_empty() {
            true => base,
            false => Expression::Postfix(Box::new(base), suffixes),
        })
    }

    /// Whether a `!` behind a value is C#'s promise that it is not null.
    fn forgives(&self) -> bool {
        matches!(
            self.peek(1),
            Token::Sign("." | "?." | "[" | ")" | "," | "}" | ";")
        )
    }
}

/// Length of a hole up to its closing brace; texts in it count.
fn hole_len(rest: &str) -> Option<usize> {
    let mut depth = 0_u32;
    let mut is_text = false;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Where the format of a hole begins: a colon outside of brackets and texts.
fn format_start(hole: &str) -> Option<usize> {
    let mut depth = 0_i32;
    let mut is_text = false;
    for (at, byte) in hole.bytes().enumerate() {
        match byte {
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b':' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// A constant of a known class.
fn constant_of(class: &str, name: &str) -> Option<Constant> {
    Some(match (class, name) {
        ("string" | "String", "Empty") => Constant::Text(Box::from("")),
        ("DateTime" | "DateTimeOffset", "MinValue") => Constant::Date(TICKS_FIRST, false),
        ("DateTime" | "DateTimeOffset", "MaxValue") => Constant::Date(TICKS_LAST, false),
        ("DateTime", "UnixEpoch") => Constant::Date(0, true),
        ("TimeSpan", "Zero") => Constant::Span(0),
        ("TimeSpan", "MinValue") => Constant::Span(i64::MIN),
        ("TimeSpan", "MaxValue") => Constant::Span(i64::MAX),
        ("int" | "Int32", "MaxValue") => Constant::Long(i32::MAX.into()),
        ("int" | "Int32", "MinValue") => Constant::Long(i32::MIN.into()),
        ("long" | "Int64", "MaxValue") => Constant::Long(i64::MAX),
        ("long" | "Int64", "MinValue") => Constant::Long(i64::MIN),
        ("decimal" | "Decimal", "Zero") => Constant::Decimal(0.into()),
        ("decimal" | "Decimal", "One") => Constant::Decimal(1.into()),
        ("decimal" | "Decimal", "MaxValue") => Constant::Decimal(rust_decimal::Decimal::MAX),
        ("decimal" | "Decimal", "MinValue") => Constant::Decimal(rust_decimal::Decimal::MIN),
        ("double" | "Double", "MaxValue") => Constant::Double(f64::MAX),
        ("double" | "Double", "MinValue") => Constant::Double(f64::MIN),
        ("Math", "PI") => Constant::Double(std::f64::consts::PI),
        ("Math", "E") => Constant::Double(std::f64::consts::E),
        (
            "FieldStorage" | "FieldIndexing" | "FieldTermVector" | "StringComparison"
            | "StringSplitOptions" | "MidpointRounding" | "DateTimeKind" | "CultureInfo"
            | "StringComparer",
            _,
        ) => Constant::Text(Box::from(name)),
        _ => return None,
    })
}
