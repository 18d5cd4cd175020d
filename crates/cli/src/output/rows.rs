//! Rows of a query in the format that the user wants: a table, JSON, NDJSON or CSV.
//!
//! Rows come as JSON text. They are read with the exact numbers kept, and never as types of one
//! shape: rows of a document database need not look alike.

use jackdaw_document::{Document, Limits, Object, Parser, Value};

use super::table::{Align, Table};

/// Where a document's metadata stand in a row.
const METADATA: &str = "@metadata";
/// Column of the document's id.
const ID: &str = "@id";
/// Most columns of a table; a row with more shows how many are missing.
const TABLE_COLUMNS_MAX: usize = 12;

/// A format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RowFormat {
    /// Columns for people, cut to the terminal.
    Table,
    /// One JSON array.
    Json,
    /// One JSON object a line.
    Ndjson,
    /// Comma separated values with a header; nested values as JSON.
    Csv,
}

/// Writes `rows` in a format; `width` is the terminal's, for tables.
///
/// # Errors
/// A row that is not JSON: the answer of something that is no server of this protocol.
pub fn render<T: AsRef<[u8]>>(
    rows: &[T],
    format: RowFormat,
    width: Option<usize>,
) -> anyhow::Result<String> {
    let mut out = Vec::new();
    match format {
        RowFormat::Json => {
            out.push(b'[');
            for (number, row) in rows.iter().enumerate() {
                out.extend_from_slice(if number == 0 { b"\n" } else { b",\n" });
                out.extend_from_slice(row.as_ref());
            }
            out.extend_from_slice(if rows.is_empty() { b"]\n" } else { b"\n]\n" });
        }
        RowFormat::Ndjson => {
            for row in rows {
                out.extend_from_slice(row.as_ref());
                out.push(b'\n');
            }
        }
        RowFormat::Table => return Ok(table(&parse(rows)?, width)),
        RowFormat::Csv => return Ok(csv(&parse(rows)?)),
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Rows as documents.
fn parse<T: AsRef<[u8]>>(rows: &[T]) -> anyhow::Result<Vec<jackdaw_document::DocumentBuf>> {
    let mut parser = Parser::new(Limits::default());
    rows.iter()
        .map(|row| {
            let document: Document<'_> = parser.parse(row.as_ref())?;
            Ok(document.to_buf())
        })
        .collect()
}

/// Names of all fields, in the order in which they first occur; the id first.
fn column_names(rows: &[jackdaw_document::DocumentBuf]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    if rows.iter().any(|row| id_of(row.root()).is_some()) {
        names.push(ID.to_owned());
    }
    for row in rows {
        for (name, _) in row.root().as_object().iter().flat_map(Object::iter) {
            if name != METADATA && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

fn id_of(row: Value<'_>) -> Option<&str> {
    row.get_path(&[METADATA, ID])?.as_str()
}

/// The text of one field of a row: strings as they are, absent ones and null empty.
fn cell(row: Value<'_>, name: &str) -> String {
    let value = match name {
        ID => return id_of(row).unwrap_or_default().to_owned(),
        _ => row.get(name),
    };
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.to_owned(),
        Some(other) => other.to_json(),
    }
}

fn table(rows: &[jackdaw_document::DocumentBuf], width: Option<usize>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut names = column_names(rows);
    let left_out = names.len().saturating_sub(TABLE_COLUMNS_MAX);
    names.truncate(TABLE_COLUMNS_MAX);
    let is_number = |value: Option<Value<'_>>| {
        matches!(
            value,
            None | Some(Value::Null | Value::Long(_) | Value::Double(_) | Value::Number(_))
        )
    };
    let columns: Vec<(&str, Align)> = names
        .iter()
        .map(|name| {
            let numbers = name != ID && rows.iter().all(|row| is_number(row.root().get(name)));
            (
                name.as_str(),
                if numbers { Align::Right } else { Align::Left },
            )
        })
        .collect();
    let mut table = Table::new(&columns);
    for row in rows {
        table.row(names.iter().map(|name| cell(row.root(), name)));
    }
    let mut out = table.render(width);
    if left_out > 0 {
        out.push_str(&format!(
            "({left_out} more fields; --format ndjson shows them)\n"
        ));
    }
    out
}

fn csv(rows: &[jackdaw_document::DocumentBuf]) -> String {
    let names = column_names(rows);
    let mut out = String::new();
    push_record(&mut out, names.iter().cloned());
    for row in rows {
        push_record(&mut out, names.iter().map(|name| cell(row.root(), name)));
    }
    out
}

fn push_record(out: &mut String, cells: impl Iterator<Item = String>) {
    for (slot, cell) in cells.enumerate() {
        if slot > 0 {
            out.push(',');
        }
        if cell.contains([',', '"', '\n', '\r']) {
            out.push('"');
            out.push_str(&cell.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&cell);
        }
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [&str; 3] = [
        r#"{"Title":"Silver","Year":1998,"@metadata":{"@id":"albums/1"}}"#,
        r#"{"Title":"a \"b\", c","Price":1.10,"@metadata":{"@id":"albums/2"}}"#,
        r#"{"Year":null,"Tracks":["x",1]}"#,
    ];

    fn shown(format: RowFormat) -> String {
        render(&ROWS, format, None).unwrap()
    }

    #[test]
    fn a_table_has_a_column_per_field() {
        assert_eq!(
            shown(RowFormat::Table),
            "@id       Title     Year  Price  Tracks\n\
             --------  --------  ----  -----  -------\n\
             albums/1  Silver    1998\n\
             albums/2  a \"b\", c         1.10\n\
             \u{20}                                [\"x\",1]\n"
        );
    }

    #[test]
    fn no_rows_are_no_table() {
        assert_eq!(render::<&str>(&[], RowFormat::Table, None).unwrap(), "");
    }

    #[test]
    fn a_table_leaves_out_what_has_no_room() {
        let fields: Vec<String> = (0..20).map(|n| format!("\"f{n}\":{n}")).collect();
        let row = format!("{{{}}}", fields.join(","));
        let text = render(&[row], RowFormat::Table, None).unwrap();
        assert!(text.contains("8 more fields"), "{text}");
    }

    #[test]
    fn json_keeps_the_rows_as_they_are() {
        assert_eq!(shown(RowFormat::Ndjson), ROWS.join("\n") + "\n");
        assert_eq!(
            shown(RowFormat::Json),
            format!("[\n{}\n]\n", ROWS.join(",\n"))
        );
        assert_eq!(render::<&str>(&[], RowFormat::Json, None).unwrap(), "[]\n");
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        assert_eq!(
            shown(RowFormat::Csv),
            "@id,Title,Year,Price,Tracks\r\n\
             albums/1,Silver,1998,,\r\n\
             albums/2,\"a \"\"b\"\", c\",,1.10,\r\n\
             ,,,,\"[\"\"x\"\",1]\"\r\n"
        );
    }

    #[test]
    fn rows_that_are_not_json_are_an_error() {
        assert!(render(&["<html>"], RowFormat::Table, None).is_err());
    }
}
