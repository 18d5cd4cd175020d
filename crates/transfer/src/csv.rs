//! CSV: one document a record, fields named by the first one.
//!
//! Called by the parse threads of `import csv`. Bytes go straight from the record into the binary
//! document: no string per field.
//!
//! What becomes what: an empty field `null`; a decimal number without superfluous zeros a number,
//! with exactly its digits; everything else a string, read as UTF-8 or, where it is not valid,
//! Windows-1252.

use std::sync::Arc;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};
use jackdaw_document::Builder;

use crate::dialect::Dialect;
use crate::json::{id_from_text, numbered_id};
use crate::parse::{DocumentBatch, EntryParser, NewDocument, built, check_id};
use crate::skip::SkipReason;
use crate::text::decode_append;

/// Most fields of a record.
pub const FIELD_COUNT_MAX: usize = 4096;
/// A member of this name is not part of a document's content.
const METADATA: &str = "@metadata";
/// Digits of a whole number that surely fits 64 bits; longer ones are rather ids than quantities.
const NUMBER_BYTES_MAX: usize = 18;

/// What the first record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvHeader {
    /// What divides the file.
    pub dialect: Dialect,
    /// Names of the fields.
    pub names: Vec<String>,
    /// Which of them holds the id.
    pub id_slot: Option<usize>,
}

impl CsvHeader {
    /// Reads the first record.
    ///
    /// # Errors
    /// A sentence for the user: no text, two fields of one name, one that no document can have, or
    /// no field `id_field`.
    pub fn parse(record: &[u8], dialect: Dialect, id_field: Option<&str>) -> Result<Self, String> {
        if record.contains(&0) {
            return Err(
                "its first line has zero bytes, so it is not text in UTF-8; convert it".to_owned(),
            );
        }
        let mut splitter = Splitter::new(dialect);
        splitter
            .split(record)
            .map_err(|reason| format!("in its first line, {reason}"))?;
        let mut names: Vec<String> = Vec::new();
        for field in splitter.fields() {
            let mut name = String::new();
            decode_append(field.trim_ascii(), &mut name);
            if name.is_empty() {
                name = format!("Column{}", names.len() + 1);
            }
            if names.contains(&name) {
                return Err(format!(
                    "its first line names two fields {name:?}; rename one"
                ));
            }
            if name == METADATA {
                return Err(format!(
                    "its first line names a field {METADATA}, which no field of a document may be \
                     called; rename it"
                ));
            }
            names.push(name);
        }
        let id_slot = match id_field {
            None => names
                .iter()
                .position(|name| name.eq_ignore_ascii_case("id")),
            Some(id_field) => {
                let slot = names.iter().position(|name| name == id_field);
                Some(slot.ok_or_else(|| {
                    format!(
                        "its first line has no field {id_field:?}, but {}",
                        names.join(", ")
                    )
                })?)
            }
        };
        Ok(Self {
            dialect,
            names,
            id_slot,
        })
    }
}

/// Splits one record, reusing its buffers.
struct Splitter {
    reader: Reader,
    output: Vec<u8>,
    ends: Vec<usize>,
    field_count: usize,
}

impl Splitter {
    fn new(dialect: Dialect) -> Self {
        let reader = ReaderBuilder::new()
            .delimiter(dialect.delimiter)
            .terminator(Terminator::Any(dialect.line_break))
            .build();
        Self {
            reader,
            output: Vec::new(),
            ends: vec![0; 64],
            field_count: 0,
        }
    }

    fn split(&mut self, record: &[u8]) -> Result<(), SkipReason> {
        self.reader.reset();
        self.field_count = 0;
        // Splitting never makes the fields longer than the record.
        self.output.resize(record.len() + 1, 0);
        let (mut input, mut written, mut ended) = (record, 0, 0);
        loop {
            let (result, read, wrote, ends) = self.reader.read_record(
                input,
                &mut self.output[written..],
                &mut self.ends[ended..],
            );
            input = &input[read..];
            written += wrote;
            ended += ends;
            match result {
                ReadRecordResult::OutputEndsFull if self.ends.len() >= FIELD_COUNT_MAX => {
                    let what = format!("it has more than {FIELD_COUNT_MAX} fields");
                    return Err(SkipReason::Malformed { what });
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 4, 0),
                ReadRecordResult::OutputFull => self.output.resize(self.output.len() * 2, 0),
                // Empty input tells the reader that the record ends here.
                ReadRecordResult::InputEmpty => input = &[],
                ReadRecordResult::Record | ReadRecordResult::End => {
                    self.field_count = ended;
                    return Ok(());
                }
            }
        }
    }

    fn fields(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.field_count).map(|slot| self.field(slot))
    }

    fn field(&self, slot: usize) -> &[u8] {
        let start = if slot == 0 { 0 } else { self.ends[slot - 1] };
        &self.output[start..self.ends[slot]]
    }
}

/// Makes documents of records.
pub struct CsvParser {
    header: Arc<CsvHeader>,
    splitter: Splitter,
    builder: Builder,
    text: String,
    collection: String,
}

impl CsvParser {
    /// A parser for the records behind `header`.
    #[must_use]
    pub fn new(header: Arc<CsvHeader>, collection: &str) -> Self {
        Self {
            splitter: Splitter::new(header.dialect),
            header,
            builder: Builder::new(),
            text: String::new(),
            collection: collection.to_owned(),
        }
    }

    fn id(&mut self, name: &str) -> Result<String, SkipReason> {
        let id = match self.header.id_slot {
            None => numbered_id(&self.collection, name),
            Some(slot) => {
                self.text.clear();
                decode_append(self.splitter.field(slot).trim_ascii(), &mut self.text);
                id_from_text(&self.text, &self.collection)
            }
        };
        check_id(&id).map(|()| id)
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
        self.splitter.split(content)?;
        let (found, expected) = (self.splitter.field_count, self.header.names.len());
        if found != expected {
            let what = format!("it has {found} fields, and the first line names {expected}");
            return Err(SkipReason::Malformed { what });
        }
        let id = self.id(name)?;
        self.builder.clear();
        self.builder.begin_object();
        for (name, field) in self.header.names.iter().zip(self.splitter.fields()) {
            self.builder.key(name);
            if field.is_empty() {
                self.builder.null();
            } else if let Some(number) = number_text(field) {
                self.builder.number(number);
            } else if let Ok(text) = std::str::from_utf8(field) {
                self.builder.string(text);
            } else {
                self.text.clear();
                decode_append(field, &mut self.text);
                self.builder.string(&self.text);
            }
        }
        self.builder.end_object();
        let body = built(&mut self.builder)?;
        batch.put(NewDocument {
            id: &id,
            collection: &self.collection,
            metadata: None,
            body,
        })
    }
}

/// The text of a field that is a number and means nothing else: `-12`, `0.50`, not `007`, `1e5`,
/// `+1` or a row of nineteen digits.
fn number_text(field: &[u8]) -> Option<&str> {
    let digits = field.strip_prefix(b"-").unwrap_or(field);
    if digits.is_empty() || digits.len() > NUMBER_BYTES_MAX {
        return None;
    }
    let whole_len = digits
        .iter()
        .position(|&byte| byte == b'.')
        .unwrap_or(digits.len());
    let (whole, fraction) = digits.split_at(whole_len);
    let all_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let zero_led = whole.len() > 1 && whole[0] == b'0';
    let fraction_good = fraction.is_empty() || all_digits(&fraction[1..]);
    (all_digits(whole) && !zero_led && fraction_good)
        .then(|| std::str::from_utf8(field).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_one;

    fn parse(header: &str, record: &[u8]) -> String {
        let header = Arc::new(
            CsvHeader::parse(
                header.as_bytes(),
                Dialect::of(header.as_bytes(), None),
                None,
            )
            .unwrap(),
        );
        parse_one(&mut CsvParser::new(header, "Cities"), "line 2", record)
    }

    #[test]
    fn fields_become_numbers_strings_and_nulls() {
        assert_eq!(
            parse(
                "Id,Name,Size,Empty",
                "12,\"Qu\u{e9}bec, \"\"City\"\"\",0.50,".as_bytes()
            ),
            "cities/12 {\"Id\":12,\"Name\":\"Qu\u{e9}bec, \\\"City\\\"\",\"Size\":0.50,\
             \"Empty\":null} Cities -"
        );
        assert_eq!(
            parse("a;b", b"x;\"y\nz\""),
            "cities/0000000002 {\"a\":\"x\",\"b\":\"y\\nz\"} Cities -"
        );
        assert_eq!(
            parse("a\tb", b"Qu\xe9bec\t-3"),
            "cities/0000000002 {\"a\":\"Qu\u{e9}bec\",\"b\":-3} Cities -"
        );
        assert_eq!(
            parse("a,b", b"x\ry,\"\r\""),
            "cities/0000000002 {\"a\":\"x\\ry\",\"b\":\"\\r\"} Cities -"
        );
        assert_eq!(
            parse("a", b"\"\""),
            "cities/0000000002 {\"a\":null} Cities -"
        );
    }

    #[test]
    fn only_plain_numbers_are_numbers() {
        for text in ["0", "-1", "10", "0.5", "-0.50", "123456789012345678"] {
            assert_eq!(number_text(text.as_bytes()), Some(text));
        }
        for text in [
            "",
            "-",
            "007",
            "1e5",
            "+1",
            ".5",
            "5.",
            "1.2.3",
            "1234567890123456789",
            " 1",
            "1,5",
        ] {
            assert_eq!(number_text(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn records_that_do_not_fit_are_skipped() {
        assert!(parse("a,b", b"1").starts_with("malformed: it has 1 fields"));
        assert!(parse("a,b", b"1,2,3").starts_with("malformed: it has 3 fields"));
        assert!(parse("a,b", b" ").starts_with("empty"));
        assert!(parse("id,b", b",2").starts_with("unusable id"));
        let wide = "x,".repeat(FIELD_COUNT_MAX + 10);
        assert!(parse("a,b", wide.as_bytes()).starts_with("malformed: it has more than"));
    }

    #[test]
    fn headers() {
        let commas = Dialect::of(b",", None);
        let header = |record: &str, id| CsvHeader::parse(record.as_bytes(), commas, id);
        assert_eq!(header("a,b;c,d", None).unwrap().names, ["a", "b;c", "d"]);
        assert_eq!(
            header("a,,\" c \"", None).unwrap().names,
            ["a", "Column2", "c"]
        );
        assert_eq!(header("x,ID", None).unwrap().id_slot, Some(1));
        assert_eq!(header("x,y", Some("x")).unwrap().id_slot, Some(0));
        assert!(
            header("x,y", Some("z"))
                .unwrap_err()
                .contains("no field \"z\", but x, y")
        );
        assert!(header("x,x", None).unwrap_err().contains("two fields"));
        assert!(
            header("x,@metadata", None)
                .unwrap_err()
                .contains("a field @metadata")
        );
        assert!(header("x\0,y", None).unwrap_err().contains("zero bytes"));
        assert_eq!(header("x,@id", None).unwrap().names, ["x", "@id"]);
    }
}
