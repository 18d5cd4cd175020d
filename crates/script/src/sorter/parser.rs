//! Reads the declarations of a sorter's source: classes and their members.
//!
//! Called by `Sorter::compile`. Statements are read in `phrases`, expressions in `terms`.
//!
//! Invariants:
//! - Linear but for few bounded looks ahead.
//! - Reading recurses at most [`DEPTH_MAX`] levels. Operators and calls in a row are read in loops
//!   and make trees that are higher than that; no tree is higher than a small multiple of
//!   [`HEIGHT_MAX`], so that translating and dropping it does not recurse further.

use super::tree::{Class, Member, MemberKind, Parameter, TypeName};
use crate::index::CompileError;
use crate::index::linq::lexer::{self, Spanned, Token, position};

/// Deepest nesting of statements and expressions.
pub(super) const DEPTH_MAX: usize = 48;

/// Greatest height of the tree of a member: nesting, and operators, calls and `[]` in a row. Some
/// thousand would not fit on the stack of a thread.
pub(super) const HEIGHT_MAX: usize = 250;

/// Words in front of members that change nothing here.
const MODIFIERS: &[&str] = &[
    "public",
    "private",
    "protected",
    "internal",
    "sealed",
    "readonly",
    "partial",
    "virtual",
];

/// Words that are no names.
const KEYWORDS: &[&str] = &[
    "as",
    "base",
    "break",
    "case",
    "catch",
    "checked",
    "class",
    "const",
    "continue",
    "default",
    "delegate",
    "do",
    "else",
    "enum",
    "event",
    "false",
    "finally",
    "for",
    "foreach",
    "goto",
    "if",
    "in",
    "interface",
    "is",
    "lock",
    "namespace",
    "new",
    "null",
    "out",
    "override",
    "params",
    "ref",
    "return",
    "stackalloc",
    "struct",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "unchecked",
    "unsafe",
    "using",
    "while",
];

pub(super) type Read<T> = Result<T, Refusal>;

/// Why a source is refused. Lines are counted once, at the end: an attempt that fails must be
/// cheap.
#[derive(Debug)]
pub(super) enum Refusal {
    /// By the lexer.
    Lexed(CompileError),
    /// At a byte of the text.
    At(usize, String),
}

impl Refusal {
    /// With line and column in `text`.
    pub(super) fn placed(self, text: &str) -> CompileError {
        match self {
            Refusal::Lexed(error) => error,
            Refusal::At(at, message) => CompileError::new(message, "", position(text, at)),
        }
    }
}

/// See the file head.
pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    tokens: Vec<Spanned>,
    pub(super) next: usize,
    pub(super) depth: usize,
    /// How high the tree is of what was read on this level.
    pub(super) height: usize,
    /// Whether classes may speak of the one they derive from: `base`.
    pub(super) derives: bool,
}

/// An error at a byte of the text.
pub(super) fn refuse<T>(at: usize, message: impl Into<String>) -> Read<T> {
    Err(Refusal::At(at, message.into()))
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, start: usize, end: usize) -> Read<Parser<'t>> {
        let tokens = lexer::tokens(text, start, end).map_err(Refusal::Lexed)?;
        Ok(Parser {
            text,
            tokens,
            next: 0,
            depth: 0,
            height: 0,
            derives: false,
        })
    }

    /// Understands `base`, too.
    pub(super) fn deriving(mut self) -> Self {
        self.derives = true;
        self
    }

    /// All classes of the source.
    pub(super) fn classes(&mut self) -> Read<Vec<Class>> {
        let mut classes = Vec::new();
        while self.is("using") {
            while !self.is(";") {
                if *self.token() == Token::End {
                    return self.expected(";", "CS1002");
                }
                self.next += 1;
            }
            self.next += 1;
        }
        let mut closes = false;
        if self.take("namespace") {
            self.name()?;
            while self.take(".") {
                self.name()?;
            }
            if !self.take(";") {
                self.expect("{")?;
                closes = true;
            }
        }
        while *self.token() != Token::End && !(closes && self.is("}")) {
            classes.push(self.class()?);
        }
        if closes {
            self.expect("}")?;
        }
        match self.token() {
            Token::End => Ok(classes),
            _ => self.refuse("error: only one namespace is understood"),
        }
    }

    fn class(&mut self) -> Read<Class> {
        loop {
            match self.word() {
                Some("static") => self.next += 1,
                Some(word) if MODIFIERS.contains(&word) => self.next += 1,
                Some("class") => break,
                _ => return self.unknown("a class is expected"),
            }
        }
        self.next += 1;
        let at = self.at();
        let name = self.name()?;
        let base = match self.take(":") {
            true => Some(self.type_name()?),
            false => None,
        };
        self.expect("{")?;
        let mut members = Vec::new();
        while !self.is("}") {
            if *self.token() == Token::End {
                return self.expected("}", "CS1513");
            }
            self.member(&name, &mut members)?;
        }
        self.next += 1;
        Ok(Class {
            name,
            base,
            members,
            at,
        })
    }

    fn member(&mut self, class: &str, members: &mut Vec<Member>) -> Read<()> {
        let (mut is_static, mut is_const, mut is_override) = (false, false, false);
        loop {
            match self.word() {
                Some(word) if MODIFIERS.contains(&word) => {}
                Some("static") => is_static = true,
                Some("const") => (is_static, is_const) = (true, true),
                Some("override") => is_override = true,
                _ => break,
            }
            self.next += 1;
        }
        let at = self.at();
        let mut member = |name: &str, type_name, kind| {
            members.push(Member {
                name: name.to_owned(),
                is_static,
                is_const,
                is_override,
                type_name,
                kind,
                at,
            });
        };
        if self.word() == Some(class) && self.is_sign_at(1, "(") {
            self.next += 1;
            let parameters = self.parameters("(", ")")?;
            if self.is(":") {
                self.next += usize::from(self.derives);
                if !self.derives || !self.take("base") {
                    return self.unknown("a constructor that calls another is not understood");
                }
                // What known classes are given there says nothing of their tokens.
                self.given()?;
            }
            let body = self.body(false)?;
            member(class, None, MemberKind::Constructor(parameters, body));
            return Ok(());
        }
        let type_name = self.type_name()?;
        if self.take("this") {
            let parameters = self.parameters("[", "]")?;
            let body = self.getter(true)?;
            member(
                "this",
                Some(type_name),
                MemberKind::Indexer(parameters, body.unwrap_or_default()),
            );
            return Ok(());
        }
        let name = self.name()?;
        if self.is("(") {
            let parameters = self.parameters("(", ")")?;
            let body = self.body(type_name.name != "void")?;
            member(&name, Some(type_name), MemberKind::Method(parameters, body));
            return Ok(());
        }
        if self.is("{") || self.is("=>") {
            match self.getter(false)? {
                Some(body) => member(&name, Some(type_name), MemberKind::Property(body)),
                None => {
                    let value = match self.take("=") {
                        true => {
                            let value = self.initial_value(&type_name)?;
                            self.expect(";")?;
                            Some(value)
                        }
                        false => None,
                    };
                    member(&name, Some(type_name), MemberKind::Field(value));
                }
            }
            return Ok(());
        }
        let mut name = name;
        loop {
            let value = match self.take("=") {
                true => Some(self.initial_value(&type_name)?),
                false => None,
            };
            member(&name, Some(type_name.clone()), MemberKind::Field(value));
            if !self.take(",") {
                break;
            }
            name = self.name()?;
        }
        self.expect(";")
    }

    /// What a property or indexer gives; `None` when it keeps a value: `{ get; set; }`.
    fn getter(&mut self, is_indexer: bool) -> Read<Option<Vec<super::tree::Statement>>> {
        if self.is("=>") {
            return self.body(true).map(Some);
        }
        self.expect("{")?;
        while self.word().is_some_and(|word| MODIFIERS.contains(&word)) {
            self.next += 1;
        }
        if !self.take("get") {
            return self.unknown("`get` is expected");
        }
        if self.take(";") {
            while !self.take("}") {
                match self.word() {
                    Some("set" | "init") => self.next += 1,
                    Some(word) if MODIFIERS.contains(&word) => self.next += 1,
                    _ => self.expect(";")?,
                }
            }
            return match is_indexer {
                true => self.unknown("an indexer needs a body"),
                false => Ok(None),
            };
        }
        let body = self.body(true)?;
        if !self.is("}") {
            return self.unknown("a property with `set { .. }` is not understood");
        }
        self.next += 1;
        Ok(Some(body))
    }

    fn parameters(&mut self, open: &str, close: &'static str) -> Read<Vec<Parameter>> {
        self.expect(open)?;
        let mut parameters = Vec::new();
        while !self.take(close) {
            if !parameters.is_empty() {
                self.expect(",")?;
            }
            if matches!(self.word(), Some("ref" | "out" | "in" | "params")) {
                return self.unknown("parameters are given by value here");
            }
            let type_name = self.type_name()?;
            let name = self.name()?;
            if self.is("=") {
                return self.unknown("parameters without a value are not understood");
            }
            parameters.push(Parameter { type_name, name });
        }
        Ok(parameters)
    }

    /// The name of a type.
    pub(super) fn type_name(&mut self) -> Read<TypeName> {
        self.nested(|parser| {
            let at = parser.at();
            let mut name = parser.name()?;
            while parser.is(".") && matches!(parser.token_at(1), Token::Word | Token::Verbatim) {
                parser.next += 1;
                name = parser.name()?;
            }
            let mut arguments = Vec::new();
            if parser.take("<") {
                loop {
                    arguments.push(parser.type_name()?);
                    if !parser.take(",") {
                        break;
                    }
                }
                parser.expect(">")?;
            }
            let mut ranks = 0;
            while parser.is("[") && parser.is_sign_at(1, "]") {
                parser.next += 2;
                parser.grow()?;
                ranks += 1;
            }
            Ok(TypeName {
                name,
                arguments,
                ranks,
                at,
            })
        })
    }

    /// Runs `read` one level deeper.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= DEPTH_MAX {
            return self.refuse("error: this is nested too deeply");
        }
        self.depth += 1;
        let outcome = self.beside(|parser| {
            let read = read(parser)?;
            parser.grow()?;
            Ok(read)
        });
        self.depth -= 1;
        outcome
    }

    /// Runs `read` for a tree that stands beside those of this level.
    pub(super) fn beside<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let height = std::mem::take(&mut self.height);
        let outcome = read(self);
        self.height = self.height.max(height);
        outcome
    }

    /// Puts a level on top of what was read.
    pub(super) fn grow(&mut self) -> Read<()> {
        self.height += 1;
        match self.height > HEIGHT_MAX {
            true => self.refuse("error: this is too long: put parts of it into variables"),
            false => Ok(()),
        }
    }

    /// Runs `read`; without a result everything is as before.
    pub(super) fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let (next, height) = (self.next, self.height);
        let outcome = read(self);
        if outcome.is_none() {
            (self.next, self.height) = (next, height);
        }
        outcome
    }

    pub(super) fn token(&self) -> &Token {
        self.token_at(0)
    }

    pub(super) fn token_at(&self, ahead: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.next + ahead).min(last)].token
    }

    pub(super) fn spanned(&self) -> &Spanned {
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    /// Where the next token begins.
    pub(super) fn at(&self) -> usize {
        self.spanned().start
    }

    /// The text of the next token.
    pub(super) fn source(&self) -> &'t str {
        let spanned = self.spanned();
        &self.text[spanned.start..spanned.end]
    }

    pub(super) fn word(&self) -> Option<&'t str> {
        matches!(self.token(), Token::Word).then(|| self.source())
    }

    /// Whether the next token is this word or sign.
    pub(super) fn is(&self, what: &str) -> bool {
        match self.token() {
            Token::Word => self.source() == what,
            Token::Sign(sign) => *sign == what,
            _ => false,
        }
    }

    pub(super) fn is_sign_at(&self, ahead: usize, what: &str) -> bool {
        matches!(self.token_at(ahead), Token::Sign(sign) if *sign == what)
    }

    pub(super) fn take(&mut self, what: &str) -> bool {
        let is = self.is(what);
        self.next += usize::from(is);
        is
    }

    pub(super) fn expect(&mut self, what: &str) -> Read<()> {
        match self.take(what) {
            true => Ok(()),
            false => self.expected(what, code_of(what)),
        }
    }

    fn expected<T>(&self, what: &str, code: &str) -> Read<T> {
        self.refuse(format!("error {code}: {what} expected"))
    }

    /// The next token as a name.
    pub(super) fn name(&mut self) -> Read<String> {
        let name = match self.token() {
            Token::Word if !KEYWORDS.contains(&self.source()) => self.source(),
            Token::Verbatim => &self.source()[1..],
            _ => return self.unknown("error CS1001: Identifier expected"),
        };
        self.next += 1;
        Ok(name.to_owned())
    }

    pub(super) fn refuse<T>(&self, message: impl Into<String>) -> Read<T> {
        refuse(self.at(), message)
    }

    /// Refuses the next token by name.
    pub(super) fn unknown<T>(&self, why: &str) -> Read<T> {
        let shown: String = self.source().chars().take(40).collect();
        let why = match why.starts_with("error") {
            true => why.to_owned(),
            false => format!("error: {why}"),
        };
        match shown.is_empty() {
            true => self.refuse(format!("{why}, but the source ends")),
            false => self.refuse(format!("{why}, not '{shown}'")),
        }
    }
}

/// The code that the compiler of C# has for a sign that is missing.
fn code_of(sign: &str) -> &'static str {
    match sign {
        "{" => "CS1514",
        "}" => "CS1513",
        ";" => "CS1002",
        ")" => "CS1026",
        _ => "CS1003",
    }
}
