//! The form of entries, and bringing what JavaScript returned into it.

use jackdaw_document::{BuildError, Builder, DocumentBuf, Object, Value};

/// Names in entries that mean more than a field. A field whose value the document does not have is
/// left out of its entry; one that is null is null. A value of a field may be:
/// - `{"$field": name, "$value": v, "$options": {"Indexing", "Storage", "TermVector"}}`: an entry's
///   own field of another name; also inside an array. Options that were not given are missing;
///   `Indexing` is one of `No`, `Search`, `Exact`, `Default`, `Storage` of `Yes`, `No`.
/// - `{"$spatial": {"Latitude": .., "Longitude": ..}}` or `{"$spatial": "WKT"}`; also inside an
///   array, for several places.
/// - `{"$vector": v}`: a vector, or an array of several; also inside an array.
/// - `{"$value": v, "$boost": n}`: a value that counts `n` times. An entry of which every field
///   counts more has `$boost` beside its fields.
/// - `{"$text": t, "$number": n}`: a value of C# that clients get as text and that compares as a
///   number too: a span of time in ticks, or a decimal. Only programs that were asked for it make
///   them, because a reduce computes with plain values.
pub mod special {
    /// The text of a value that is a number too.
    pub const TEXT: &str = "$text";
    /// The number.
    pub const NUMBER: &str = "$number";
    /// Name of a field made by `CreateField`.
    pub const FIELD: &str = "$field";
    /// Its value, or a boosted value.
    pub const VALUE: &str = "$value";
    /// Options of a field.
    pub const OPTIONS: &str = "$options";
    /// A point or a shape.
    pub const SPATIAL: &str = "$spatial";
    /// A vector: numbers, base64, or `{"@vector": [...]}`.
    pub const VECTOR: &str = "$vector";
    /// How much more a value or entry counts.
    pub const BOOST: &str = "$boost";
}

/// Name of a field's name as JavaScript may write it.
const SCRIPT_FIELD: &str = "$name";
/// Options of fields, lowered, and the names they have here.
const OPTIONS: [(&str, &str); 3] = [
    ("indexing", "Indexing"),
    ("storage", "Storage"),
    ("termvector", "TermVector"),
];

/// The object as an entry: forms of JavaScript in that of [`special`].
pub(crate) fn of_script(
    object: Object<'_>,
    builder: &mut Builder,
) -> Result<DocumentBuf, BuildError> {
    builder.begin_object();
    for (name, value) in object.iter() {
        builder.key(name);
        write_field(value, builder);
    }
    builder.end_object().finish()
}

fn write_field(value: Value<'_>, builder: &mut Builder) {
    match value {
        Value::Object(object) if object.contains(special::VALUE) => write_special(object, builder),
        Value::Array(array) if array.iter().any(|item| is_special(item)) => {
            builder.begin_array();
            for item in array.iter() {
                match item {
                    Value::Object(object) if is_special(item) => write_special(object, builder),
                    _ => {
                        builder.value(item);
                    }
                }
            }
            builder.end_array();
        }
        _ => {
            builder.value(value);
        }
    }
}

fn is_special(value: Value<'_>) -> bool {
    value.get(special::VALUE).is_some()
}

fn write_special(object: Object<'_>, builder: &mut Builder) {
    builder.begin_object();
    let field = object.get(special::FIELD);
    if let Some(field) = field.or_else(|| object.get(SCRIPT_FIELD)) {
        builder.key(special::FIELD).value(field);
    }
    for (name, value) in object.iter() {
        match name {
            special::FIELD | SCRIPT_FIELD => {}
            special::OPTIONS => {
                builder.key(special::OPTIONS).begin_object();
                for (name, value) in value.as_object().iter().flat_map(Object::iter) {
                    write_option(name, value, builder);
                }
                builder.end_object();
            }
            _ => {
                builder.key(name).value(value);
            }
        }
    }
    builder.end_object();
}

/// Appends an option of a field; those that are null or unknown are left out.
pub(crate) fn write_option(name: &str, value: Value<'_>, builder: &mut Builder) {
    let lowered = name.to_ascii_lowercase();
    let Some((_, name)) = OPTIONS.iter().find(|(known, _)| *known == lowered) else {
        return;
    };
    match value {
        Value::Null => {}
        Value::Bool(is_set) => {
            builder.key(name).string(if is_set { "Yes" } else { "No" });
        }
        other => {
            builder.key(name).value(other);
        }
    }
}
