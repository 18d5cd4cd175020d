//! JSON values to documents.
//!
//! Called by the parse threads of an import. Reads what `jackdaw export` writes, and what
//! other programs write without metadata.

use jackdaw_base::time::UnixTicks;
use jackdaw_database::DueKind;
use jackdaw_document::{Builder, Document, Limits, Parser, Value};

use crate::lines::LINE_BYTES_MAX;
use crate::parse::{DocumentBatch, EntryParser, NewDocument, OWN_METADATA, check_id, id_prefix};
use crate::skip::SkipReason;

/// Bytes of JSON that a database accepts for one document.
const DOCUMENT_BYTES_MAX: usize = 64 << 20;
/// Characters shown of a date that is none.
const DATE_SHOWN_CHARS: usize = 100;
/// Fields that hold the id when no other is named.
const USUAL_ID_FIELDS: [&str; 2] = ["Id", "id"];

/// Makes documents of JSON lines.
pub struct JsonParser {
    json: Parser,
    builder: Builder,
    collection: Option<String>,
    id_field: Option<String>,
    /// Documents before this file, for ids by number.
    number_offset: u64,
}

impl JsonParser {
    /// `collection` holds for lines whose metadata name none; `id_field` is where the id stands
    /// instead of the metadata.
    #[must_use]
    pub fn new(collection: Option<&str>, id_field: Option<&str>) -> Self {
        Self {
            json: Parser::new(Limits {
                len_bytes_max: usize::try_from(LINE_BYTES_MAX).unwrap_or(usize::MAX),
                ..Limits::default()
            }),
            builder: Builder::new(),
            collection: collection.map(str::to_owned),
            id_field: id_field.map(str::to_owned),
            number_offset: 0,
        }
    }

    /// The same, with ids by number that follow `offset` documents of other files.
    #[must_use]
    pub fn numbered_from(self, offset: u64) -> Self {
        Self {
            number_offset: offset,
            ..self
        }
    }
}

impl EntryParser for JsonParser {
    fn parse(
        &mut self,
        name: &str,
        content: &[u8],
        batch: &mut dyn DocumentBatch,
    ) -> Result<(), SkipReason> {
        if content.iter().all(u8::is_ascii_whitespace) {
            return Err(SkipReason::Empty);
        }
        let split = self
            .json
            .parse_split(content)
            .map_err(|error| SkipReason::Malformed {
                what: error.to_string(),
            })?;
        let body = split.body.root();
        if body.as_object().is_none() {
            let what = "it is JSON, but no object".to_owned();
            return Err(SkipReason::Malformed { what });
        }
        let metadata = split.metadata.as_ref().map(|metadata| metadata.root());
        let metadata = metadata.filter(|metadata| !matches!(metadata, Value::Null));
        if let Some(metadata) = metadata {
            check_metadata(metadata)?;
        }
        let text_of = |name| metadata.and_then(|metadata| metadata.get(name)?.as_str());
        let Some(collection) = text_of("@collection").or(self.collection.as_deref()) else {
            let what = "it names no @collection; --collection gives one to all".to_owned();
            return Err(SkipReason::Malformed { what });
        };
        let id = match (&self.id_field, text_of("@id")) {
            (None, Some(id)) => id.to_owned(),
            (None, None) => {
                let usual = USUAL_ID_FIELDS.iter().find_map(|name| body.get(name));
                id_of(usual, collection)
                    .unwrap_or_else(|| numbered_id(collection, name, self.number_offset))
            }
            (Some(field), _) => {
                id_of(body.get(field), collection).ok_or_else(|| SkipReason::BadId {
                    what: format!("its field {field} is not a string or a whole number"),
                })?
            }
        };
        check_id(&id)?;
        if content.len() > DOCUMENT_BYTES_MAX {
            check_len(body)?;
        }
        let metadata = match metadata {
            None => None,
            Some(metadata) => keep_metadata(&mut self.builder, metadata)?,
        };
        batch.put(NewDocument {
            id: &id,
            collection,
            metadata,
            body: split.body,
        })
    }
}

/// Refuses a document that is too long for the database without the metadata that an export adds.
fn check_len(body: Value<'_>) -> Result<(), SkipReason> {
    let mut text = Vec::new();
    body.write_json(&mut text);
    if text.len() <= DOCUMENT_BYTES_MAX {
        return Ok(());
    }
    Err(SkipReason::TooLong {
        len_bytes: text.len() as u64,
        limit: DOCUMENT_BYTES_MAX as u64,
    })
}

/// Refuses what the database would refuse together with every document of its batch.
pub(crate) fn check_metadata(metadata: Value<'_>) -> Result<(), SkipReason> {
    let malformed = |what: String| Err(SkipReason::Malformed { what });
    for name in ["@id", "@collection"] {
        if !matches!(
            metadata.get(name),
            None | Some(Value::Null | Value::String(_))
        ) {
            return malformed(format!("its {name} is no text"));
        }
    }
    for name in DueKind::ALL.map(DueKind::field) {
        if let Some(text) = metadata.get(name).and_then(|date| date.as_str())
            && UnixTicks::parse(text).is_none()
        {
            let text: String = text.chars().take(DATE_SHOWN_CHARS).collect();
            return malformed(format!(
                "its {name} is '{text}', which is no date: write it as \
                 2030-01-31T12:00:00.0000000Z"
            ));
        }
    }
    Ok(())
}

/// The id that a field gives: whole when it has a slash, else behind the collection's name.
pub(crate) fn id_of(value: Option<Value<'_>>, collection: &str) -> Option<String> {
    match value? {
        Value::String(text) => Some(id_from_text(text, collection)),
        Value::Long(number) => Some(format!("{}{number}", id_prefix(collection))),
        _ => None,
    }
}

/// See [`id_of`].
pub(crate) fn id_from_text(text: &str, collection: &str) -> String {
    if text.contains('/') || text.is_empty() {
        text.to_owned()
    } else {
        id_prefix(collection) + text
    }
}

/// The id of a document that has none: its place in the file (`line 7`, or `line 7, value 2`),
/// `offset` added, so that a second run makes it again.
pub(crate) fn numbered_id(collection: &str, name: &str, offset: u64) -> String {
    let mut numbers = name
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|part| part.parse::<u64>().ok());
    let line = numbers.next().unwrap_or(0) + offset;
    let prefix = id_prefix(collection);
    match numbers.next() {
        None => format!("{prefix}{line:0>10}"),
        Some(value) => format!("{prefix}{line:0>10}-{value}"),
    }
}

/// What of the metadata is the user's; `None` when nothing is.
fn keep_metadata<'b>(
    builder: &'b mut Builder,
    metadata: Value<'_>,
) -> Result<Option<Document<'b>>, SkipReason> {
    let fields = metadata.as_object();
    let is_kept = |name: &str| !OWN_METADATA.contains(&name);
    let mut kept = fields
        .iter()
        .flat_map(|fields| fields.iter())
        .filter(|(name, _)| is_kept(name));
    let Some((name, value)) = kept.next() else {
        return Ok(None);
    };
    builder.clear();
    builder.begin_object().field(name, value);
    for (name, value) in kept {
        builder.field(name, value);
    }
    builder.end_object();
    builder
        .finish_borrowed()
        .map(Some)
        .map_err(|error| SkipReason::Malformed {
            what: format!("its metadata make no document: {error}"),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_one;

    fn parse(collection: Option<&str>, id_field: Option<&str>, line: &str) -> String {
        parse_one(
            &mut JsonParser::new(collection, id_field),
            "line 7",
            line.as_bytes(),
        )
    }

    #[test]
    fn exported_documents_come_back() {
        assert_eq!(
            parse(
                None,
                None,
                "{\"a\":1.10,\"@metadata\":{\"@id\":\"Albums/1\",\"@collection\":\"Albums\",\
                 \"@change-vector\":\"x\",\"Keep\":true}}"
            ),
            r#"Albums/1 {"a":1.10} Albums {"Keep":true}"#
        );
    }

    #[test]
    fn ids_come_from_metadata_fields_or_the_place() {
        let check = |field, line, expected: &str| {
            let shown = parse(Some("Albums"), field, line);
            assert_eq!(shown.split(' ').next(), Some(expected), "{shown}");
        };
        check(None, r#"{"Id":"albums/5"}"#, "albums/5");
        check(None, r#"{"id":5}"#, "albums/5");
        check(None, r#"{"id":"abc"}"#, "albums/abc");
        check(None, r#"{"a":1}"#, "albums/0000000007");
        check(Some("sku"), r#"{"sku":"x-1","Id":"y"}"#, "albums/x-1");
        check(Some("sku"), r#"{"Id":"y"}"#, "unusable");
        check(Some("sku"), r#"{"sku":1.5}"#, "unusable");
        check(None, r#"{"Id":""}"#, "unusable");
        let second = parse_one(
            &mut JsonParser::new(Some("As"), None).numbered_from(100),
            "line 7, value 2",
            b"{}",
        );
        assert!(second.starts_with("as/0000000107-2 "), "{second}");
    }

    #[test]
    fn what_is_no_document_is_skipped_with_its_reason() {
        let check = |line: &str, expected: &str| {
            let shown = parse(Some("Albums"), None, line);
            assert!(shown.starts_with(expected), "{shown}");
        };
        check("", "empty");
        check("[1]", "malformed: it is JSON, but no object");
        check("{\"a\":", "malformed: ");
        check(&format!("{{\"a\":{}", "[".repeat(10_000)), "malformed: ");
        check("{\"a\":\"\u{1}\"}", "malformed: ");
        assert!(parse(None, None, "{}").contains("--collection"));
    }

    #[test]
    fn metadata_that_a_database_refuses_costs_its_line_alone() {
        let check = |metadata: &str, expected: &str| {
            let line = format!("{{\"id\":1,\"@metadata\":{metadata}}}");
            let shown = parse(Some("As"), None, &line);
            assert!(shown.starts_with(expected), "{metadata}: {shown}");
        };
        for field in ["@expires", "@refresh", "@archive-at"] {
            for bad in ["\"\"", "\"tomorrow\"", "\"2030-13-01\""] {
                check(&format!("{{\"{field}\":{bad}}}"), "malformed: its @");
            }
            for good in ["\"2030-01-31T12:00:00.0000000Z\"", "5", "null", "{}"] {
                check(&format!("{{\"{field}\":{good}}}"), "as/1 ");
            }
        }
        for bad in ["5", "\"x\"", "[]", "true"] {
            check(bad, "malformed: '@metadata' must be an object");
        }
        check("null", "as/1 ");
        check("{\"@id\":5}", "malformed: its @id is no text");
        check("{\"@id\":null,\"@collection\":null}", "as/1 ");
        check(
            "{\"@collection\":[]}",
            "malformed: its @collection is no text",
        );
    }
}
