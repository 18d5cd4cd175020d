//! Rows of a stream as CSV (`format=csv`), for spreadsheets and people.
//!
//! Used by `streams`. The columns are those of the first row: `@id`, then its members as they
//! stand, members of objects as `Address.City`, and what it has of metadata of its own last.
//! Members that only later rows have are left out; the first row has left by then. Lists, and
//! objects where the first row had none, stand as JSON.
//!
//! The bytes begin with a byte order mark, without which spreadsheets take UTF-8 for something
//! else, and lines end with CR LF (RFC 4180).

use jackdaw_document::{JsonError, Limits, Object, Parser, Value};

use crate::wire::{WireError, kind};

/// Most columns: what spreadsheets can show.
const COLUMNS_MAX: usize = 16_384;

/// Members of metadata that the server adds to every row, which are no data of it.
const ADDED: [&str; 5] = [
    "@id",
    "@change-vector",
    "@last-modified",
    "@index-score",
    "@flags",
];

const METADATA: &str = jackdaw_document::METADATA;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why a row could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum RowError {
    /// What was to be a row of JSON is none.
    #[error("a row is no JSON: {0}")]
    Json(#[from] JsonError),
    /// More than [`COLUMNS_MAX`].
    #[error(
        "The first row has more than {COLUMNS_MAX} members, which are too many columns for CSV. \
         Select fewer, or ask for 'format=jsonl'."
    )]
    Columns,
}

impl From<RowError> for WireError {
    fn from(error: RowError) -> WireError {
        let kind = match error {
            RowError::Json(_) => kind::UNEXPECTED,
            RowError::Columns => kind::INVALID_OPERATION,
        };
        WireError::new(kind, error.to_string())
    }
}

/// Writes rows; see the file head.
pub(super) struct Table {
    parser: Parser,
    quoting: csv_core::Writer,
    /// Paths into a row. Empty before the first one.
    columns: Vec<Vec<String>>,
    /// Whether the first column is `@id`.
    has_id: bool,
    is_begun: bool,
}

impl Table {
    /// A table without rows, whose rows are JSON of up to `len_bytes_max`.
    pub(super) fn new(len_bytes_max: usize) -> Table {
        Table {
            parser: Parser::new(Limits {
                len_bytes_max,
                ..Limits::default()
            }),
            quoting: csv_core::Writer::new(),
            columns: Vec::new(),
            has_id: false,
            is_begun: false,
        }
    }

    /// Appends a row of JSON to `out`, after the names of the columns if it is the first.
    pub(super) fn push(&mut self, json: &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
        let row = self.parser.parse(json)?.root();
        let quoting = &self.quoting;
        let id = row.get_path(&[METADATA, "@id"]);
        if !self.is_begun {
            self.is_begun = true;
            self.has_id = id.is_some();
            self.columns = columns_of(row)?;
            let names: Vec<String> = self.columns.iter().map(|path| path.join(".")).collect();
            let id_name = self.has_id.then_some("@id");
            out.extend_from_slice(BYTE_ORDER_MARK);
            write_line(
                quoting,
                id_name.into_iter().chain(names.iter().map(String::as_str)),
                out,
            );
        }
        let cells = self.columns.iter().map(|path| {
            let found = path.iter().try_fold(row, |value, name| value.get(name));
            text_of(found)
        });
        let id = self.has_id.then(|| text_of(id));
        write_line(quoting, id.into_iter().chain(cells), out);
        Ok(())
    }
}

/// Paths of all members that are no objects, in the order of the row, metadata last.
fn columns_of(row: Value<'_>) -> Result<Vec<Vec<String>>, RowError> {
    let mut columns = Vec::new();
    let Some(members) = row.as_object() else {
        return Ok(columns);
    };
    let mut path = Vec::new();
    // Objects that are being read, the innermost last; no recursion, because documents may be deep.
    let mut open: Vec<_> = vec![members.iter()];
    let mut metadata: Option<Object<'_>> = None;
    loop {
        let Some(inner) = open.last_mut() else {
            let Some(members) = metadata.take() else {
                return Ok(columns);
            };
            path.push(METADATA.to_owned());
            open.push(members.iter());
            // Below it, the end of metadata is the end of all.
            continue;
        };
        let Some((name, value)) = inner.next() else {
            open.pop();
            path.pop();
            continue;
        };
        let is_of_metadata = path.len() == 1 && path[0] == METADATA;
        if path.is_empty() && name == METADATA {
            metadata = value.as_object();
        } else if is_of_metadata && ADDED.contains(&name) {
            // No data of the row.
        } else if let Some(members) = value.as_object().filter(|members| !members.is_empty()) {
            path.push(name.to_owned());
            open.push(members.iter());
        } else {
            let mut column = path.clone();
            column.push(name.to_owned());
            columns.push(column);
            if columns.len() > COLUMNS_MAX {
                return Err(RowError::Columns);
            }
        }
    }
}

/// A value as a cell: texts as they are, nothing for null, truth values as .NET spells them.
fn text_of(value: Option<Value<'_>>) -> std::borrow::Cow<'_, str> {
    match value {
        None | Some(Value::Null) => "".into(),
        Some(Value::Bool(true)) => "True".into(),
        Some(Value::Bool(false)) => "False".into(),
        Some(Value::String(text)) => text.into(),
        Some(other) => other.to_json().into(),
    }
}

fn write_line<T: AsRef<str>>(
    quoting: &csv_core::Writer,
    cells: impl Iterator<Item = T>,
    out: &mut Vec<u8>,
) {
    for (slot, cell) in cells.enumerate() {
        if slot > 0 {
            out.push(b',');
        }
        let text = cell.as_ref().as_bytes();
        if quoting.should_quote(text) {
            let start = out.len() + 1;
            out.push(b'"');
            // Every byte may be a quote, which is doubled.
            out.resize(start + 2 * text.len(), 0);
            let (_, _, len) = csv_core::quote(text, &mut out[start..], b'"', b'"', true);
            out.truncate(start + len);
            out.push(b'"');
        } else {
            out.extend_from_slice(text);
        }
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(rows: &[&str]) -> String {
        let mut table = Table::new(1 << 20);
        let mut out = Vec::new();
        for row in rows {
            table.push(row.as_bytes(), &mut out).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_those_of_the_first_row_with_metadata_last() {
        let got = written(&[
            r#"{"@metadata":{"@collection":"C","@id":"a/1","@flags":"x"},"F":2.50,
                "A":{"B":{"C":true},"D":null},"E":{}}"#,
            r#"{"A":{"B":7,"D":[1,{"x":"y"}]},"New":1,"E":{"f":1},"@metadata":{"@id":"a/2"}}"#,
        ]);
        let expected = "\u{feff}@id,F,A.B.C,A.D,E,@metadata.@collection\r\n\
                        a/1,2.50,True,,{},C\r\n\
                        a/2,,,\"[1,{\"\"x\"\":\"\"y\"\"}]\",\"{\"\"f\"\":1}\",\r\n";
        assert_eq!(got, expected);
    }

    #[test]
    fn rows_without_an_id_have_no_column_for_it_and_texts_are_quoted() {
        let got = written(&[
            r#"{"G":"a,b","N":"say \"x\"","L":"one\ntwo"}"#,
            r#"{"G":"","N":false,"L":1}"#,
        ]);
        let expected = "\u{feff}G,N,L\r\n\"a,b\",\"say \"\"x\"\"\",\"one\ntwo\"\r\n,False,1\r\n";
        assert_eq!(got, expected);
        assert_eq!(written(&[]), "");
    }

    #[test]
    fn too_many_columns_are_refused() {
        let members: Vec<String> = (0..=COLUMNS_MAX).map(|n| format!("\"{n}\":0")).collect();
        let row = format!("{{{}}}", members.join(","));
        let refused = Table::new(1 << 20).push(row.as_bytes(), &mut Vec::new());
        assert!(matches!(refused, Err(RowError::Columns)));
    }
}
