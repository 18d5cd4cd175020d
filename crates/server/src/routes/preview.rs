//! Documents cut short for lists: a few members of the top level, long values only in part.
//!
//! Called by `documents` for `?preview=true`. A row costs at most about 20 KiB, however large the
//! document is. It is JSON of the same kinds as the document: a cut text is its beginning, a cut
//! array or object has its first parts, a number of too many digits becomes a text. `@metadata`
//! has no more than what the database says itself, and
//!
//! - `@cut`: names of members whose values are not whole;
//! - `@members`: how many the document has, when not all are here.

use jackdaw_database::DocumentRow;
use jackdaw_document::{METADATA, Object, ObjectWriter, Value, write_object, write_string};

use crate::wire::QueryString;

/// Members of one row.
const MEMBERS_MAX: usize = 64;
/// Bytes of one value, and of one name.
const BYTES_MAX: usize = 256;

/// What a list shows of its documents.
pub(super) enum Shown {
    /// All of it.
    Whole,
    /// `metadataOnly=true`
    Metadata,
    /// `preview=true`: the members named by `field=`, or the first ones.
    Preview(Vec<String>),
}

impl Shown {
    /// As the parameters of a request ask for it.
    pub(super) fn asked(query: QueryString<'_>) -> Shown {
        if query.flag("metadataOnly") {
            Shown::Metadata
        } else if query.flag("preview") {
            let fields = query.all("field").map(|name| name.into_owned());
            Shown::Preview(fields.take(MEMBERS_MAX).collect())
        } else {
            Shown::Whole
        }
    }

    /// Appends what is shown of a document.
    pub(super) fn push(&self, out: &mut Vec<u8>, document: &DocumentRow<'_>) {
        match self {
            Shown::Whole => document.write_json(out),
            Shown::Metadata => document.write_metadata_json(out),
            Shown::Preview(fields) => push_preview(out, document, fields),
        }
    }
}

fn push_preview(out: &mut Vec<u8>, document: &DocumentRow<'_>, fields: &[String]) {
    write_object(out, |row| {
        let Value::Object(body) = document.body().root() else {
            return row.object(METADATA, |metadata| push_own(metadata, document));
        };
        let mut cut = Vec::new();
        let mut json = Vec::new();
        let mut written = 0;
        for (name, value) in chosen(body, fields) {
            json.clear();
            let mut left = BYTES_MAX;
            if !push_value(value, &mut left, &mut json) {
                cut.push(name);
            }
            row.raw(name, &json);
            written += 1;
        }
        row.object(METADATA, |metadata| {
            push_own(metadata, document);
            if !cut.is_empty() {
                metadata.array("@cut", |names| {
                    for name in &cut {
                        names.string(name);
                    }
                });
            }
            if written < body.len() {
                metadata.long("@members", i64::try_from(body.len()).unwrap_or(i64::MAX));
            }
        });
    });
}

fn chosen<'a>(
    body: Object<'a>,
    fields: &'a [String],
) -> Box<dyn Iterator<Item = (&'a str, Value<'a>)> + 'a> {
    if fields.is_empty() {
        let fits = |(name, _): &(&str, Value<'_>)| name.len() <= BYTES_MAX;
        return Box::new(body.iter().filter(fits).take(MEMBERS_MAX));
    }
    let named = move |name: &'a String| Some((name.as_str(), body.get(name)?));
    Box::new(fields.iter().filter_map(named))
}

fn push_own(metadata: &mut ObjectWriter<'_>, document: &DocumentRow<'_>) {
    let stored = document.stored();
    metadata.string("@collection", stored.collection);
    metadata.string("@change-vector", &document.change_vector());
    metadata.string("@id", document.id());
    metadata.string("@last-modified", &document.last_modified().to_string());
}

/// Writes a value, or its beginning when it has more than `left` bytes; returns whether it is
/// whole.
fn push_value(value: Value<'_>, left: &mut usize, out: &mut Vec<u8>) -> bool {
    match value {
        Value::String(text) => push_text(text, left, out),
        Value::Number(number) if number.as_str().len() > *left => {
            push_text(number.as_str(), left, out)
        }
        Value::Array(items) => push_parts(out, b"[]", left, items.iter(), |item, left, out| {
            push_value(item, left, out)
        }),
        Value::Object(members) => {
            push_parts(
                out,
                b"{}",
                left,
                members.iter(),
                |(name, value), left, out| {
                    // A name is never cut: it would be another one.
                    write_string(out, name);
                    out.push(b':');
                    *left = left.saturating_sub(name.len());
                    push_value(value, left, out)
                },
            )
        }
        scalar => {
            let before = out.len();
            scalar.write_json(out);
            *left = left.saturating_sub(out.len() - before);
            true
        }
    }
}

fn push_text(text: &str, left: &mut usize, out: &mut Vec<u8>) -> bool {
    let end = text.floor_char_boundary(*left);
    write_string(out, &text[..end]);
    *left -= end;
    end == text.len()
}

fn push_parts<T: Part>(
    out: &mut Vec<u8>,
    brackets: &[u8; 2],
    left: &mut usize,
    parts: impl Iterator<Item = T>,
    mut push: impl FnMut(T, &mut usize, &mut Vec<u8>) -> bool,
) -> bool {
    out.push(brackets[0]);
    let mut is_whole = true;
    for (slot, part) in parts.enumerate() {
        if *left == 0 || part.name_len() > *left {
            is_whole = false;
            break;
        }
        if slot > 0 {
            out.push(b',');
        }
        *left -= 1;
        is_whole &= push(part, left, out);
    }
    out.push(brackets[1]);
    is_whole
}

/// A part of an array or an object.
trait Part {
    /// Bytes of its name.
    fn name_len(&self) -> usize;
}

impl Part for Value<'_> {
    fn name_len(&self) -> usize {
        0
    }
}

impl Part for (&str, Value<'_>) {
    fn name_len(&self) -> usize {
        self.0.len()
    }
}
