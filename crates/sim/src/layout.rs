//! Compares a table of bytes in docs/format.md with the Rust type that it describes.
//!
//! Called by tests of the crates that write files, through
//! [`assert_layout!`](crate::assert_layout). That rows have no gaps and sum up is checked by
//! `cargo xtask tidy`, for every table.

use std::path::Path;

/// A field of a type: what the code says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name in the type and in the table.
    pub name: String,
    /// Bytes before it.
    pub offset: usize,
    /// Its own length.
    pub len_bytes: usize,
}

/// Asserts that docs/format.md describes a type: same fields, same order, same offsets and sizes.
///
/// The first argument is the path in the heading's `{layout: ...}`. Fields are listed in the order
/// of the table; each must be visible where the macro is used.
#[macro_export]
macro_rules! assert_layout {
    ($path:literal, $type:ty { $($field:ident),+ $(,)? }) => {
        $crate::layout::assert_same($path, ::core::mem::size_of::<$type>(), &[
            $($crate::layout::Field {
                name: stringify!($field).to_owned(),
                offset: ::core::mem::offset_of!($type, $field),
                len_bytes: $crate::layout::field_bytes(|value: &$type| &value.$field),
            }),+
        ])
    };
}

/// Size of the field that a projection gives; the projection is never called.
pub const fn field_bytes<T, F>(_projection: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// The comparison behind [`assert_layout!`](crate::assert_layout).
///
/// # Panics
/// When the page has no such table, or the table and the type differ.
pub fn assert_same(path: &str, type_bytes: usize, fields: &[Field]) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/format.md");
    let text = std::fs::read_to_string(page).expect("docs/format.md can be read");
    if let Err(difference) = compare(&text, path, type_bytes, fields) {
        panic!("docs/format.md and {path} differ: {difference}");
    }
}

fn compare(text: &str, path: &str, type_bytes: usize, fields: &[Field]) -> Result<(), String> {
    let rows = rows(text, path)?;
    for (row, field) in rows.iter().zip(fields) {
        if row != field {
            return Err(format!("the table says {row:?}, the type {field:?}"));
        }
    }
    let table_bytes: usize = rows.iter().map(|row| row.len_bytes).sum();
    if rows.len() != fields.len() || table_bytes != type_bytes {
        return Err(format!(
            "the table has {} rows and {table_bytes} bytes, the type {} fields and {type_bytes} \
             bytes",
            rows.len(),
            fields.len(),
        ));
    }
    Ok(())
}

/// Rows of the table under the heading with `{layout: path}`.
fn rows(text: &str, path: &str) -> Result<Vec<Field>, String> {
    let mark = format!("{{layout: {path}}}");
    let mut lines = text
        .lines()
        .skip_while(|line| !line.starts_with('#') || !line.contains(&mark));
    lines
        .next()
        .ok_or_else(|| format!("no heading says {mark}"))?;
    let table = lines
        .take_while(|line| !line.starts_with('#'))
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    // The head of the table and the line under it.
    table.skip(2).map(row_of).collect()
}

fn row_of(line: &str) -> Result<Field, String> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [offset, len_bytes, name, ..] = cells.as_slice() else {
        return Err(format!("a row with too few cells: {line}"));
    };
    let number = |cell: &str| {
        cell.parse()
            .map_err(|_| format!("`{cell}` is no number: {line}"))
    };
    Ok(Field {
        name: (*name).to_owned(),
        offset: number(offset)?,
        len_bytes: number(len_bytes)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Formats
## Other, 4 bytes {layout: sim::Other}
| offset | bytes | field | type |
|-------:|------:|-------|------|
|      0 |     4 | other | u32  |
## Head, 12 bytes {layout: sim::Head}
Some words.

| offset | bytes | field | type | meaning |
|-------:|------:|-------|------|---------|
|      0 |     8 | hash  | u64  | a hash  |
|      8 |     4 | kind  | u32  | a kind  |

Words after it.
";

    #[repr(C)]
    struct Head {
        hash: [u8; 8],
        kind: [u8; 4],
    }

    fn field(name: &str, offset: usize, len_bytes: usize) -> Field {
        Field {
            name: name.to_owned(),
            offset,
            len_bytes,
        }
    }

    fn fields() -> Vec<Field> {
        vec![
            field(
                "hash",
                core::mem::offset_of!(Head, hash),
                field_bytes(|h: &Head| &h.hash),
            ),
            field(
                "kind",
                core::mem::offset_of!(Head, kind),
                field_bytes(|h: &Head| &h.kind),
            ),
        ]
    }

    #[test]
    fn a_type_like_its_table_passes() {
        assert_eq!(
            compare(PAGE, "sim::Head", size_of::<Head>(), &fields()),
            Ok(())
        );
    }

    #[test]
    fn every_difference_is_found() {
        let differs = |bytes: usize, fields: &[Field]| compare(PAGE, "sim::Head", bytes, fields);
        assert!(differs(16, &fields()).is_err());
        assert!(differs(12, &fields()[..1]).is_err());
        assert!(differs(12, &[field("hash", 0, 8), field("sort", 8, 4)]).is_err());
        assert!(differs(12, &[field("hash", 0, 4), field("kind", 4, 8)]).is_err());
        assert!(compare(PAGE, "sim::Gone", 12, &fields()).is_err());
    }
}
