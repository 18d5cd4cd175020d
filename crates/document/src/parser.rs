//! JSON text to binary form in one pass: no recursion, no string per field, no memory per value.
//!
//! Called by everything that receives documents. A [`Parser`] keeps its memory, so that parsing
//! one document after another allocates nothing.
//!
//! Rules beyond RFC 8259, the same wherever the product reads JSON:
//! - Of fields with equal names in one object the last value wins, at the place of the first.
//! - A byte order mark is refused. So is half of a surrogate pair, written as an escape or raw.
//! - Nothing but white space may follow the value, except with [`Parser::parse_prefix`].

use crate::encoder::{Encoder, Kind};
use crate::error::{JsonError, JsonErrorKind};
use crate::limits::Limits;
use crate::number;
use crate::scan::{plain_run, skip_space};
use crate::value::{Document, Value};

/// Name of the field that [`Parser::parse_split`] takes out of a document.
pub const METADATA: &str = "@metadata";

/// Memory for unescaped strings that is kept between documents.
const KEPT_TEXT_MAX: usize = 1 << 20;

/// Reusable JSON parser.
pub struct Parser {
    limits: Limits,
    body: Encoder,
    metadata: Encoder,
    /// Receives the rare document that has to be written again because of duplicate fields.
    rewritten: Encoder,
    text: Vec<u8>,
}

/// A document whose `@metadata` has been taken out.
#[derive(Clone, Copy, Debug)]
pub struct Split<'p> {
    /// The document without `@metadata`.
    pub body: Document<'p>,
    /// The object that was called `@metadata`; `None` when absent or null.
    pub metadata: Option<Document<'p>>,
}

impl Default for Parser {
    fn default() -> Parser {
        Parser::new(Limits::default())
    }
}

impl Parser {
    /// A parser that refuses what exceeds `limits`.
    pub fn new(limits: Limits) -> Parser {
        Parser {
            limits: limits.clamped(),
            body: Encoder::new(),
            metadata: Encoder::new(),
            rewritten: Encoder::new(),
            text: Vec::new(),
        }
    }

    /// Parses a text that is one JSON value. The document lives in the parser until its next use.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn parse(&mut self, json: &[u8]) -> Result<Document<'_>, JsonError> {
        self.run(json, false, false)?;
        Ok(Document::trusted(self.body.bytes()))
    }

    /// Parses a text that is one JSON value and takes a top-level `@metadata` object out of it, in
    /// the same pass.
    ///
    /// # Errors
    /// As [`Parser::parse`]; also when `@metadata` is neither an object nor null.
    pub fn parse_split(&mut self, json: &[u8]) -> Result<Split<'_>, JsonError> {
        let (_, found) = self.run(json, true, false)?;
        Ok(self.split(found))
    }

    /// Parses the JSON value at the beginning of `json` and gives the length of what it read. For
    /// streams of values: [`JsonErrorKind::UnexpectedEnd`] means that more input is needed.
    ///
    /// # Errors
    /// As [`Parser::parse`].
    pub fn parse_prefix(&mut self, json: &[u8]) -> Result<(Document<'_>, usize), JsonError> {
        let (end, _) = self.run(json, false, true)?;
        Ok((Document::trusted(self.body.bytes()), end))
    }

    /// [`Parser::parse_prefix`] and [`Parser::parse_split`] in one.
    ///
    /// # Errors
    /// As [`Parser::parse_split`].
    pub fn parse_split_prefix(&mut self, json: &[u8]) -> Result<(Split<'_>, usize), JsonError> {
        let (end, found) = self.run(json, true, true)?;
        Ok((self.split(found), end))
    }

    fn split(&self, found: bool) -> Split<'_> {
        let body = Document::trusted(self.body.bytes());
        let metadata = found.then(|| Document::trusted(self.metadata.bytes()));
        // `"@metadata": null` has been read as a document of its own.
        Split {
            body,
            metadata: metadata.filter(|m| !m.root().is_null()),
        }
    }

    /// Parses; gives the position behind the value and whether `@metadata` was found.
    fn run(&mut self, json: &[u8], split: bool, prefix: bool) -> Result<(usize, bool), JsonError> {
        let len_max = self.limits.len_bytes_max;
        let too_long = json.len() > len_max;
        if too_long && !prefix {
            return Err(JsonError::at(
                JsonErrorKind::TooLong(len_max),
                json,
                len_max,
            ));
        }
        let text = if too_long { &json[..len_max] } else { json };
        if self.text.capacity() > KEPT_TEXT_MAX {
            self.text = Vec::new();
        }
        self.body
            .start_document(if prefix { 0 } else { text.len() });
        let mut pass = Pass {
            text,
            pos: 0,
            elements: 0,
            limits: &self.limits,
            encoder: &mut self.body,
            other: &mut self.metadata,
            unescaped: &mut self.text,
            split,
            diverted: false,
            found: false,
        };
        let done = pass.document(prefix);
        let (pos, found) = (pass.pos, pass.found);
        if let Err(Fault { kind, at }) = done {
            let cut = too_long && kind == JsonErrorKind::UnexpectedEnd;
            let kind = if cut {
                JsonErrorKind::TooLong(len_max)
            } else {
                kind
            };
            return Err(JsonError::at(kind, text, at));
        }
        self.body.complete(&mut self.rewritten);
        if found {
            self.metadata.complete(&mut self.rewritten);
        }
        Ok((pos, found))
    }
}

/// Why and where parsing stopped.
struct Fault {
    kind: JsonErrorKind,
    at: usize,
}

fn fault<T>(kind: JsonErrorKind, at: usize) -> Result<T, Fault> {
    Err(Fault { kind, at })
}

/// One pass over one text.
struct Pass<'t, 'p> {
    text: &'t [u8],
    pos: usize,
    elements: usize,
    limits: &'p Limits,
    /// Receives values.
    encoder: &'p mut Encoder,
    /// The one of body and metadata that is not being written.
    other: &'p mut Encoder,
    unescaped: &'p mut Vec<u8>,
    split: bool,
    /// Whether `encoder` is the metadata one at present.
    diverted: bool,
    found: bool,
}

impl<'t> Pass<'t, '_> {
    fn document(&mut self, prefix: bool) -> Result<(), Fault> {
        if self.text.starts_with(b"\xEF\xBB\xBF") {
            return fault(JsonErrorKind::ByteOrderMark, 0);
        }
        while {
            self.value()?;
            self.after_value()?
        } {}
        if !prefix {
            self.pos = skip_space(self.text, self.pos);
            if self.pos < self.text.len() {
                return fault(JsonErrorKind::TrailingData, self.pos);
            }
        }
        Ok(())
    }

    /// Reads a scalar, an empty container, or the beginning of a container up to its first value.
    #[inline]
    fn value(&mut self) -> Result<(), Fault> {
        loop {
            self.pos = skip_space(self.text, self.pos);
            let Some(&b) = self.text.get(self.pos) else {
                return fault(JsonErrorKind::UnexpectedEnd, self.pos);
            };
            self.elements += 1;
            if self.elements > self.limits.elements_max {
                let kind = JsonErrorKind::TooManyElements(self.limits.elements_max);
                return fault(kind, self.pos);
            }
            match b {
                b'"' => {
                    match self.string()? {
                        Some(plain) => self.encoder.string(plain),
                        None => self.encoder.string(self.unescaped),
                    }
                    return Ok(());
                }
                b'-' | b'0'..=b'9' => return self.number(),
                b'{' | b'[' => {
                    if self.open(b)? {
                        return Ok(());
                    }
                }
                _ => return self.literal(b),
            }
        }
    }

    /// Opens a container; answers whether it was empty and is closed again.
    fn open(&mut self, bracket: u8) -> Result<bool, Fault> {
        let depth = self.encoder.depth() + usize::from(self.diverted);
        if depth >= self.limits.depth_max {
            return fault(JsonErrorKind::TooDeep(self.limits.depth_max), self.pos);
        }
        let object = bracket == b'{';
        let kind = if object { Kind::Object } else { Kind::Array };
        self.encoder.begin(kind, self.text.len() - self.pos);
        self.pos = skip_space(self.text, self.pos + 1);
        let close = if object { b'}' } else { b']' };
        if self.text.get(self.pos) == Some(&close) {
            self.pos += 1;
            self.encoder.end();
            return Ok(true);
        }
        if object {
            self.field("a field name or '}'")?;
        }
        Ok(false)
    }

    /// Goes on behind a value, closing containers; answers whether another value must follow.
    #[inline]
    fn after_value(&mut self) -> Result<bool, Fault> {
        loop {
            let kind = self.encoder.open_kind();
            if kind == Kind::Root {
                if !self.diverted {
                    return Ok(false);
                }
                std::mem::swap(self.encoder, self.other);
                self.diverted = false;
                continue;
            }
            self.pos = skip_space(self.text, self.pos);
            match (self.text.get(self.pos), kind) {
                (Some(b','), Kind::Array) => {
                    self.pos += 1;
                    return Ok(true);
                }
                (Some(b','), _) => {
                    self.pos = skip_space(self.text, self.pos + 1);
                    self.field("a field name")?;
                    return Ok(true);
                }
                (Some(b']'), Kind::Array) | (Some(b'}'), Kind::Object) => {
                    self.pos += 1;
                    self.encoder.end();
                }
                (_, Kind::Array) => return self.unexpected("',' or ']'"),
                _ => return self.unexpected("',' or '}'"),
            }
        }
    }

    /// Reads a field name and the colon behind it.
    fn field(&mut self, expected: &'static str) -> Result<(), Fault> {
        if self.text.get(self.pos) != Some(&b'"') {
            return self.unexpected(expected);
        }
        let start = self.pos;
        let name = match self.string()? {
            Some(plain) => plain,
            None => self.unescaped.as_slice(),
        };
        let len_max = self.limits.key_len_bytes_max;
        if name.len() > len_max {
            return fault(JsonErrorKind::KeyTooLong(len_max), start);
        }
        let divert = self.split
            && !self.diverted
            && self.encoder.depth() == 1
            && name == METADATA.as_bytes();
        if !divert {
            self.encoder.key(name);
        }
        self.pos = skip_space(self.text, self.pos);
        if self.text.get(self.pos) != Some(&b':') {
            return self.unexpected("':'");
        }
        self.pos += 1;
        if divert { self.divert() } else { Ok(()) }
    }

    /// Sends the value of `@metadata` to its own document.
    fn divert(&mut self) -> Result<(), Fault> {
        self.pos = skip_space(self.text, self.pos);
        if !matches!(self.text.get(self.pos), Some(b'{' | b'n') | None) {
            return fault(JsonErrorKind::MetadataNotObject, self.pos);
        }
        std::mem::swap(self.encoder, self.other);
        self.encoder.start_document(0);
        self.diverted = true;
        self.found = true;
        Ok(())
    }

    fn number(&mut self) -> Result<(), Fault> {
        let start = self.pos;
        let scanned = match number::scan(self.text, start) {
            Ok(scanned) => scanned,
            Err(at) if at >= self.text.len() => return fault(JsonErrorKind::UnexpectedEnd, at),
            Err(at) => return fault(JsonErrorKind::InvalidNumber, at),
        };
        if scanned.digits > self.limits.number_digits_max {
            let kind = JsonErrorKind::TooManyDigits(self.limits.number_digits_max);
            return fault(kind, start);
        }
        self.encoder
            .number(scanned.number, &self.text[start..scanned.end]);
        self.pos = scanned.end;
        Ok(())
    }

    fn literal(&mut self, first: u8) -> Result<(), Fault> {
        let word: &[u8] = match first {
            b't' => b"true",
            b'f' => b"false",
            b'n' => b"null",
            _ => return self.unexpected("a value"),
        };
        let rest = &self.text[self.pos..];
        if !rest.starts_with(word) {
            let same = rest.iter().zip(word).take_while(|(a, b)| a == b).count();
            self.pos += same;
            return self.unexpected("'true', 'false' or 'null'");
        }
        self.pos += word.len();
        match first {
            b'n' => self.encoder.null(),
            _ => self.encoder.bool(first == b't'),
        }
        Ok(())
    }

    #[cold]
    fn unexpected<T>(&self, expected: &'static str) -> Result<T, Fault> {
        match self.text.get(self.pos) {
            None => fault(JsonErrorKind::UnexpectedEnd, self.pos),
            Some(&found) => fault(
                JsonErrorKind::UnexpectedCharacter { found, expected },
                self.pos,
            ),
        }
    }

    /// Reads the string at the quote. A string without escapes is given as it stands in the text;
    /// `None` means that it is in `unescaped`.
    #[inline]
    fn string(&mut self) -> Result<Option<&'t [u8]>, Fault> {
        let start = self.pos + 1;
        let run = plain_run(self.text, start);
        if self.text.get(run.end) == Some(&b'"') {
            if run.wide {
                check_utf8(self.text, start, run.end)?;
            }
            self.pos = run.end + 1;
            return Ok(Some(&self.text[start..run.end]));
        }
        self.escaped_string(start)?;
        Ok(None)
    }

    #[cold]
    fn escaped_string(&mut self, start: usize) -> Result<(), Fault> {
        self.unescaped.clear();
        let mut pos = start;
        let mut wide = false;
        loop {
            let run = plain_run(self.text, pos);
            wide |= run.wide;
            self.unescaped.extend_from_slice(&self.text[pos..run.end]);
            pos = match self.text.get(run.end) {
                Some(b'"') => {
                    if wide {
                        check_utf8(self.text, start, run.end)?;
                    }
                    self.pos = run.end + 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape(run.end)?,
                Some(&b) => return fault(JsonErrorKind::ControlCharacter(b), run.end),
                None => return fault(JsonErrorKind::UnexpectedEnd, run.end),
            };
        }
    }

    /// Appends the character of the escape at `at`; gives the position behind it.
    fn escape(&mut self, at: usize) -> Result<usize, Fault> {
        let plain = match self.text.get(at + 1) {
            Some(&b @ (b'"' | b'\\' | b'/')) => b,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode_escape(at),
            Some(_) => return fault(JsonErrorKind::InvalidEscape, at),
            None => return fault(JsonErrorKind::UnexpectedEnd, at + 1),
        };
        self.unescaped.push(plain);
        Ok(at + 2)
    }

    fn unicode_escape(&mut self, at: usize) -> Result<usize, Fault> {
        let first = self.hex4(at)?;
        let mut end = at + 6;
        let code = match first {
            0xD800..0xDC00 => {
                match (self.text.get(end), self.text.get(end + 1)) {
                    (Some(b'\\'), Some(b'u')) => {}
                    (None, _) | (Some(b'\\'), None) => {
                        return fault(JsonErrorKind::UnexpectedEnd, self.text.len());
                    }
                    _ => return fault(JsonErrorKind::LoneSurrogate, at),
                }
                let second = self.hex4(end)?;
                if !(0xDC00..0xE000).contains(&second) {
                    return fault(JsonErrorKind::LoneSurrogate, at);
                }
                end += 6;
                0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            }
            code => code,
        };
        let Some(c) = char::from_u32(code) else {
            return fault(JsonErrorKind::LoneSurrogate, at);
        };
        self.unescaped
            .extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(end)
    }

    /// The four hexadecimal digits of the `\u` escape at `at`.
    fn hex4(&self, at: usize) -> Result<u32, Fault> {
        let mut code = 0;
        for i in at + 2..at + 6 {
            let Some(&b) = self.text.get(i) else {
                return fault(JsonErrorKind::UnexpectedEnd, i);
            };
            let Some(digit) = char::from(b).to_digit(16) else {
                return fault(JsonErrorKind::InvalidEscape, at);
            };
            code = code * 16 + digit;
        }
        Ok(code)
    }
}

fn check_utf8(text: &[u8], start: usize, end: usize) -> Result<(), Fault> {
    match std::str::from_utf8(&text[start..end]) {
        Ok(_) => Ok(()),
        Err(e) => fault(JsonErrorKind::InvalidUtf8, start + e.valid_up_to()),
    }
}

/// Takes a top-level `@metadata` out of a value that has been parsed already, such as the document
/// inside a batch command; `spare` lends its memory and holds the result.
///
/// # Errors
/// [`JsonErrorKind::MetadataNotObject`] when `@metadata` is neither an object nor null.
pub fn split_metadata<'p>(
    document: Value<'_>,
    spare: &'p mut Parser,
) -> Result<Split<'p>, JsonErrorKind> {
    let mut metadata = Value::Null;
    spare.body.start_document(0);
    if let Value::Object(object) = document {
        metadata = object.get(METADATA).unwrap_or(Value::Null);
        crate::copy::copy_object_except(object, METADATA.as_bytes(), &mut spare.body);
    } else {
        crate::copy::copy(document, &mut spare.body);
    }
    if !matches!(metadata, Value::Null | Value::Object(_)) {
        return Err(JsonErrorKind::MetadataNotObject);
    }
    spare.metadata.start_document(0);
    crate::copy::copy(metadata, &mut spare.metadata);
    spare.body.finish();
    spare.metadata.finish();
    Ok(spare.split(true))
}
