//! Scripts that do nothing but set, count and remove fields of the document: `this.Seen = true;
//! this.Count++; delete this.Draft`. Most patches are such, and run without the engine, at a
//! fraction of its time.
//!
//! Called by whoever runs patches, before a [`Machine`](crate::Machine) is made.
//!
//! Invariant: what this leaves is what the engine would leave, to the byte. Whatever is not sure
//! to be the same (a value that JavaScript would round, a field that holds no number) is left to
//! the engine: reading gives `None`, or applying does. A test runs both on random scripts.

use jackdaw_document::{Builder, DocumentBuf, METADATA, Object, Value};

use crate::input::ScriptDocument;
use crate::machine::Output;
use crate::program::Program;
use crate::tokens::{Kind, Token, tokens};

/// Longer scripts go to the engine, which compiles a text once.
const TEXT_BYTES_MAX: usize = 512;
/// Whole numbers up to here, and their sums, are exact in JavaScript.
const EXACT_MAX: i64 = 1 << 52;
/// Names that JavaScript keeps for itself begin so: `__proto__`.
const RESERVED: &str = "__";
const COLLECTION: &str = "@collection";

/// A script as a list of changes.
#[derive(Debug)]
pub struct Assignments<'t> {
    changes: Vec<Change<'t>>,
}

#[derive(Debug)]
struct Change<'t> {
    field: &'t str,
    what: What<'t>,
}

#[derive(Clone, Copy, Debug)]
enum What<'t> {
    Set(Source<'t>),
    /// Adds the value, or takes it away.
    Add {
        source: Source<'t>,
        is_negative: bool,
    },
    Remove,
}

#[derive(Clone, Copy, Debug)]
enum Source<'t> {
    Value(Value<'t>),
    /// A parameter by its name.
    Parameter(&'t str),
}

impl<'t> Assignments<'t> {
    /// Reads a program; `None` when it does anything else, or may.
    #[must_use]
    pub fn read(program: &'t Program) -> Option<Assignments<'t>> {
        if program.body.len() > TEXT_BYTES_MAX || !program.declarations.is_empty() {
            return None;
        }
        let mut reader = Reader {
            program,
            tokens: tokens(&program.body),
            position: 0,
        };
        let mut changes = Vec::new();
        while reader.peek().is_some() {
            changes.push(reader.statement()?);
        }
        Some(Assignments { changes })
    }

    /// The document as the changes leave it; `None` when that is not sure to be what the engine
    /// would leave.
    #[must_use]
    pub fn apply(
        &self,
        document: &ScriptDocument<'_>,
        parameters: Option<Value<'_>>,
    ) -> Option<Output> {
        let body = document.body.as_object()?;
        if body.contains(METADATA) {
            return None;
        }
        // The field's value, or that it is gone, in the order of the first change.
        let mut changed: Vec<(&str, Option<Value<'_>>)> = Vec::new();
        for Change { field, what } in &self.changes {
            let slot = changed.iter().position(|(name, _)| name == field);
            let before = match slot {
                Some(slot) => changed[slot].1,
                None => body.get(field),
            };
            let after = match *what {
                What::Set(source) => Some(source.value(parameters)?),
                What::Add {
                    source,
                    is_negative,
                } => {
                    let by = exact(source.value(parameters)?)?;
                    let by = if is_negative { -by } else { by };
                    Some(exact_value(exact(before?)? + by)?)
                }
                // A field that comes back would stand last, not where it stood.
                What::Remove if slot.is_some() => return None,
                What::Remove => None,
            };
            match slot {
                Some(slot) if changed[slot].1.is_none() => return None,
                Some(slot) => changed[slot].1 = after,
                None => changed.push((field, after)),
            }
        }
        // The engine leaves a number as it was written when it is set to what it is.
        let is_as_written = |(field, after): &(&str, Option<Value<'_>>)| {
            let before = body.get(field);
            let written = before.filter(|before| !matches!(before, Value::Long(_)));
            let written = written.and_then(|written| written.as_f64());
            after.is_some_and(|after| exact(after).is_some() && after.as_f64() == written)
        };
        if changed.iter().any(is_as_written) {
            return None;
        }
        let mut builder = Builder::new();
        Some(Output {
            value: rebuild(body, &changed, &mut builder)?,
            metadata: metadata(document, &mut builder)?,
            printed: Vec::new(),
        })
    }
}

impl<'a> Source<'a> {
    fn value<'v>(self, parameters: Option<Value<'v>>) -> Option<Value<'v>>
    where
        'a: 'v,
    {
        match self {
            Source::Value(value) => Some(value),
            Source::Parameter(name) => {
                let value = parameters?.get(name)?;
                let is_plain = matches!(value, Value::Null | Value::Bool(_) | Value::String(_));
                (is_plain || exact(value).is_some()).then_some(value)
            }
        }
    }
}

/// A whole number that is the same in JavaScript.
fn exact(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Long(number) if (-EXACT_MAX..=EXACT_MAX).contains(&number) => Some(number),
        _ => None,
    }
}

fn exact_value(number: i64) -> Option<Value<'static>> {
    let value = Value::Long(number);
    exact(value).map(|_| value)
}

/// The fields where they stood, then new ones.
fn rebuild(
    body: Object<'_>,
    changed: &[(&str, Option<Value<'_>>)],
    builder: &mut Builder,
) -> Option<DocumentBuf> {
    builder.begin_object();
    for (name, value) in body.iter() {
        match changed.iter().find(|(field, _)| *field == name) {
            Some((_, Some(value))) => builder.field(name, *value),
            Some((_, None)) => continue,
            None => builder.field(name, value),
        };
    }
    for (name, value) in changed {
        if let Some(value) = value.filter(|_| !body.contains(name)) {
            builder.field(name, value);
        }
    }
    builder.end_object().finish().ok()
}

/// The metadata as a script would give it back: the collection first.
fn metadata(document: &ScriptDocument<'_>, builder: &mut Builder) -> Option<Option<DocumentBuf>> {
    if document.metadata.is_none() && document.collection.is_none() {
        return Some(None);
    }
    builder.begin_object();
    if let Some(collection) = document.collection {
        builder.key(COLLECTION).string(collection);
    }
    for (name, value) in document.metadata.iter().flat_map(Object::iter) {
        if name == COLLECTION {
            return None;
        }
        builder.field(name, value);
    }
    builder.end_object().finish().ok().map(Some)
}

struct Reader<'t> {
    program: &'t Program,
    tokens: Vec<Token>,
    position: usize,
}

impl<'t> Reader<'t> {
    fn text(&self, token: Token) -> &'t str {
        &self.program.body[token.start..token.end]
    }

    fn peek(&self) -> Option<(Kind, &'t str)> {
        let token = *self.tokens.get(self.position)?;
        Some((token.kind, self.text(token)))
    }

    fn next(&mut self) -> Option<(Kind, &'t str)> {
        let token = self.peek();
        self.position += 1;
        token
    }

    fn sign(&mut self, wanted: &str) -> Option<()> {
        let (kind, text) = self.next()?;
        (kind == Kind::Sign && text == wanted).then_some(())
    }

    /// A change, with the semicolon or the end behind it. Statements on lines of their own without
    /// semicolons go to the engine, which knows where they end.
    fn statement(&mut self) -> Option<Change<'t>> {
        let change = self.change()?;
        match self.next() {
            None | Some((Kind::Sign, ";")) => Some(change),
            Some(_) => None,
        }
    }

    fn change(&mut self) -> Option<Change<'t>> {
        if self.peek()? == (Kind::Keyword, "delete") {
            self.position += 1;
            let field = self.field()?;
            let what = What::Remove;
            return Some(Change { field, what });
        }
        let field = self.field()?;
        let (kind, sign) = self.next()?;
        let one = Source::Value(Value::Long(1));
        let what = match (kind, sign) {
            (Kind::Sign, "=") => What::Set(self.source()?),
            (Kind::Sign, "+=" | "-=") => What::Add {
                source: self.source()?,
                is_negative: sign == "-=",
            },
            (Kind::Sign, "++" | "--") => What::Add {
                source: one,
                is_negative: sign == "--",
            },
            _ => return None,
        };
        Some(Change { field, what })
    }

    /// `this.Name`, or with the document's name in the query.
    fn field(&mut self) -> Option<&'t str> {
        let (kind, document) = self.next()?;
        let is_document = document == "this" || self.program.parameters.first()? == document;
        self.sign(".")?;
        let (name_kind, name) = self.next()?;
        let is_field = kind == Kind::Name && name_kind == Kind::Name;
        (is_document && is_field && !name.starts_with(RESERVED)).then_some(name)
    }

    /// A literal, `args.Name` or `$Name`.
    fn source(&mut self) -> Option<Source<'t>> {
        let (kind, text) = self.next()?;
        let value = match (kind, text) {
            (Kind::Keyword, "true") => Value::Bool(true),
            (Kind::Keyword, "false") => Value::Bool(false),
            (Kind::Keyword, "null") => Value::Null,
            (Kind::Literal, _) => literal(text)?,
            (Kind::Name, "args") if self.is_free("args") => {
                self.sign(".")?;
                let (kind, name) = self.next()?;
                return (kind == Kind::Name).then_some(Source::Parameter(name));
            }
            (Kind::Name, name) if self.is_free(name) => {
                return Some(Source::Parameter(name.strip_prefix('$')?));
            }
            _ => return None,
        };
        Some(Source::Value(value))
    }

    /// Whether a name is not that of a document.
    fn is_free(&self, name: &str) -> bool {
        !self.program.parameters.iter().any(|known| known == name)
    }
}

/// A string without escapes, or a whole number as JavaScript would write it.
fn literal(text: &str) -> Option<Value<'_>> {
    let quote = text.chars().next()?;
    if quote == '"' || quote == '\'' {
        let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
        let is_plain = !inside.contains(['\\', '\n', '\r', quote]);
        return is_plain.then_some(Value::String(inside));
    }
    let number: i64 = text.parse().ok()?;
    let is_plain = number.to_string() == text;
    exact_value(number).filter(|_| is_plain)
}
