//! CSV: one document a record, fields named by the first one.
//!
//! Called by the parse threads of an import. Bytes go straight from the record into the binary
//! document: no string per field.
//!
//! What becomes what, unless the options say otherwise: an empty field `null`; a decimal number
//! without superfluous zeros a number, with exactly its digits; everything else a string, read as
//! UTF-8 or, where it is not valid, Windows-1252.

mod date;
mod header;
mod number;
mod open;
mod options;
mod record;

pub use date::DatePattern;
pub use header::{Column, CsvHeader};
pub use open::{OpenError, Opened, open};
pub use options::{CellType, ColumnNames, CsvOptions, IdSource};
pub use record::FIELD_COUNT_MAX;

use std::borrow::Cow;
use std::sync::Arc;

use jackdaw_document::{Builder, Limits, Parser};

use self::header::{IdPiece, IdPlan, Node};
use self::number::{NumberForm, number_text, typed_number};
use self::record::FieldSplitter;
use crate::json::{check_metadata, id_from_text, numbered_id};
use crate::parse::{DocumentBatch, EntryParser, NewDocument, built, check_id};
use crate::skip::SkipReason;
use crate::text::decode_append;

/// Characters shown of a cell that has not the type of its column.
const CELL_SHOWN_CHARS: usize = 60;

/// Makes documents of records.
pub struct CsvParser {
    header: Arc<CsvHeader>,
    splitter: FieldSplitter,
    cells: Cells,
    body: Builder,
    metadata: Builder,
    collection: String,
    /// Records before this file, for ids by number.
    number_offset: u64,
}

impl CsvParser {
    /// A parser for the records behind `header`.
    #[must_use]
    pub fn new(header: Arc<CsvHeader>, collection: &str) -> Self {
        Self {
            splitter: FieldSplitter::new(header.dialect),
            cells: Cells::new(&header),
            header,
            body: Builder::new(),
            metadata: Builder::new(),
            collection: collection.to_owned(),
            number_offset: 0,
        }
    }

    /// The same, with ids by number that follow `offset` records of other files.
    #[must_use]
    pub fn numbered_from(self, offset: u64) -> Self {
        Self {
            number_offset: offset,
            ..self
        }
    }

    fn id(&self, name: &str) -> Result<String, SkipReason> {
        let pieces = match &self.header.id {
            IdPlan::Numbered => {
                return Ok(numbered_id(&self.collection, name, self.number_offset));
            }
            IdPlan::OfDatabase => return Ok(format!("{}/", self.collection)),
            IdPlan::Pieces(pieces) => pieces,
        };
        let mut id = String::new();
        for piece in pieces {
            match piece {
                IdPiece::Text(text) => id.push_str(text),
                IdPiece::Cell(slot) => {
                    let field = self.splitter.field(*slot).trim_ascii();
                    if field.is_empty() && pieces.len() > 1 {
                        let column = &self.header.columns[*slot].name;
                        let what = format!("its {column}, a part of its id, is empty");
                        return Err(SkipReason::BadId { what });
                    }
                    decode_append(field, &mut id);
                }
            }
        }
        let id = id_from_text(&id, &self.collection);
        check_id(&id).map(|()| id)
    }

    /// Refuses a record whose lines each look like a record: a quote of the first is probably
    /// never closed.
    fn check_lines(&self, name: &str, content: &[u8]) -> Result<(), SkipReason> {
        let header = &self.header;
        let (dialect, wanted) = (header.dialect, header.columns.len());
        if header.options.multiline || wanted < 2 || !content.contains(&dialect.line_break) {
            return Ok(());
        }
        let mut line_count = 0;
        for line in content.split(|&byte| byte == dialect.line_break) {
            line_count += 1;
            let delimiters = memchr::memchr_iter(dialect.delimiter, line).count();
            if delimiters + 1 != wanted {
                return Ok(());
            }
        }
        let what = format!(
            "it spans {line_count} lines, and each of them looks like a record: a quote in {name} \
             is probably never closed. Close it, or use --multiline"
        );
        Err(SkipReason::Malformed { what })
    }
}

impl EntryParser for CsvParser {
    fn parse(
        &mut self,
        name: &str,
        content: &[u8],
        batch: &mut dyn DocumentBatch,
    ) -> Result<(), SkipReason> {
        if content.iter().all(u8::is_ascii_whitespace) {
            return Err(SkipReason::Empty);
        }
        let first = content.first().copied();
        if first.is_some() && first == self.header.dialect.comment {
            return Err(SkipReason::Comment);
        }
        self.splitter.split(content)?;
        let (found, expected) = (self.splitter.field_count(), self.header.columns.len());
        if found != expected {
            if self.header.has_comments && first == Some(b'#') {
                return Err(SkipReason::Comment);
            }
            let what = format!("it has {found} fields, and the first line names {expected}");
            return Err(SkipReason::Malformed { what });
        }
        self.check_lines(name, content)?;
        let id = self.id(name)?;
        let header = &self.header;
        self.body.clear();
        self.cells
            .object(&header.body, header, &self.splitter, &mut self.body)?;
        let metadata = if header.metadata.is_empty() {
            None
        } else {
            self.metadata.clear();
            self.cells
                .object(&header.metadata, header, &self.splitter, &mut self.metadata)?;
            let metadata = built(&mut self.metadata)?;
            check_metadata(metadata.root())?;
            Some(metadata)
        };
        batch.put(NewDocument {
            id: &id,
            collection: &self.collection,
            metadata,
            body: built(&mut self.body)?,
        })
    }
}

/// Writes cells as values.
struct Cells {
    numbers: NumberForm,
    json: Parser,
    text: String,
    bytes: Vec<u8>,
}

impl Cells {
    fn new(header: &CsvHeader) -> Self {
        Self {
            numbers: NumberForm {
                decimal_comma: header.options.decimal_comma,
                thousands: header.options.thousands,
            },
            json: Parser::new(Limits::default()),
            text: String::new(),
            bytes: Vec::new(),
        }
    }

    fn object(
        &mut self,
        members: &[(String, Node)],
        header: &CsvHeader,
        record: &FieldSplitter,
        out: &mut Builder,
    ) -> Result<(), SkipReason> {
        out.begin_object();
        for (name, node) in members {
            out.key(name);
            match node {
                Node::Cell(slot) => self.cell(*slot, header, record.field(*slot), out)?,
                Node::Object(members) => self.object(members, header, record, out)?,
            }
        }
        out.end_object();
        Ok(())
    }

    fn cell(
        &mut self,
        slot: usize,
        header: &CsvHeader,
        field: &[u8],
        out: &mut Builder,
    ) -> Result<(), SkipReason> {
        let options = &header.options;
        let field = if options.trim {
            field.trim_ascii()
        } else {
            field
        };
        if options.nulls.iter().any(|null| null.as_bytes() == field) {
            out.null();
            return Ok(());
        }
        let column = &header.columns[slot];
        let unfit = |kind: &str| {
            let mut shown = String::new();
            decode_append(field, &mut shown);
            let shown: String = shown.chars().take(CELL_SHOWN_CHARS).collect();
            let what = format!("its {} is {shown:?}, which is no {kind}", column.name);
            Err(SkipReason::Malformed { what })
        };
        match &column.cell_type {
            CellType::Auto => {
                self.auto(options, field, out);
            }
            CellType::String => self.string(field, out),
            CellType::Number => match self
                .normal(field.trim_ascii())
                .as_deref()
                .and_then(typed_number)
            {
                Some(number) => {
                    out.number(&number);
                }
                None => return unfit("number"),
            },
            CellType::Boolean => match boolean(field.trim_ascii()) {
                Some(value) => {
                    out.bool(value);
                }
                None => return unfit("boolean"),
            },
            CellType::Json => match self.json.parse(field) {
                Ok(document) => {
                    out.value(document.root());
                }
                Err(_) => return unfit("JSON"),
            },
            CellType::Date(pattern) => {
                self.text.clear();
                let text = std::str::from_utf8(field.trim_ascii()).unwrap_or("");
                if !pattern.convert(text, &mut self.text) {
                    return unfit("date of the form that --type gives");
                }
                out.string(&self.text);
            }
        }
        Ok(())
    }

    /// A cell of a column without a type.
    fn auto(&mut self, options: &CsvOptions, field: &[u8], out: &mut Builder) {
        if self.numbers.is_plain() {
            if let Some(number) = number_text(field) {
                out.number(number);
                return;
            }
        } else if let Some(normal) = self.normal(field)
            && let Some(number) = number_text(&normal)
        {
            out.number(number);
            return;
        }
        if options.booleans && (field == b"true" || field == b"false") {
            out.bool(field == b"true");
            return;
        }
        if options.arrays
            && field.first() == Some(&b'[')
            && let Ok(document) = self.json.parse(field)
        {
            out.value(document.root());
            return;
        }
        if let Some(pattern) = &options.date {
            self.text.clear();
            let text = std::str::from_utf8(field).unwrap_or("");
            if pattern.convert(text, &mut self.text) {
                out.string(&self.text);
                return;
            }
        }
        self.string(field, out);
    }

    fn string(&mut self, field: &[u8], out: &mut Builder) {
        if let Ok(text) = std::str::from_utf8(field) {
            out.string(text);
            return;
        }
        self.text.clear();
        decode_append(field, &mut self.text);
        out.string(&self.text);
    }

    /// The number with a decimal point and without groups.
    fn normal<'f>(&mut self, field: &'f [u8]) -> Option<Cow<'f, [u8]>> {
        if self.numbers.is_plain() {
            return Some(Cow::Borrowed(field));
        }
        self.bytes.clear();
        let has_form = self.numbers.normalize(field, &mut self.bytes);
        has_form.then(|| Cow::Owned(self.bytes.clone()))
    }
}

fn boolean(field: &[u8]) -> Option<bool> {
    let is_one_of = |words: [&str; 4]| {
        words
            .iter()
            .any(|word| field.eq_ignore_ascii_case(word.as_bytes()))
    };
    if is_one_of(["true", "yes", "1", "t"]) {
        return Some(true);
    }
    is_one_of(["false", "no", "0", "f"]).then_some(false)
}

#[cfg(test)]
mod tests;
