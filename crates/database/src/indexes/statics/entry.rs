//! What a map or a reduce gave, as entries are kept: an object with one member for each field.
//!
//! Fields that were made by name stand beside the others, values that count more are plain.

use jackdaw_document::{BuildError, Builder, Document, DocumentBuf, Object, Value};
use jackdaw_model::DocumentNumber;
use jackdaw_query::StoredDocument;
use jackdaw_script::index::special;
use jackdaw_search::Shape;

use super::definition::{FieldSettings, Indexing};

/// Fields that maps made by name, with the options they gave.
pub(super) type Made = Vec<(String, FieldSettings)>;

/// What entries of an index have that its programs do not give.
#[derive(Default)]
pub(super) struct EntryForm {
    /// Fields that are null in entries that lack them.
    pub(super) nulls: Vec<String>,
    /// Fields of shapes that are indexed as the boxes around them.
    pub(super) boxed: Vec<String>,
}

/// The entry of what a program gave; `made` takes the fields that were made by name. `None` when it
/// is no object.
pub(super) fn normalize(
    given: Value<'_>,
    form: &EntryForm,
    builder: &mut Builder,
    made: &mut Made,
) -> Result<Option<DocumentBuf>, BuildError> {
    let Value::Object(object) = given else {
        return Ok(None);
    };
    let mut named: Vec<(String, Vec<Value<'_>>)> = Vec::new();
    builder.clear().begin_object();
    for (name, value) in object.iter() {
        match value {
            _ if name == special::BOOST => {}
            Value::Object(form) if form.contains(special::FIELD) => {
                take_named(form, &mut named, made);
            }
            Value::Object(form) if form.contains(special::VALUE) => {
                builder.field(name, plain(form));
            }
            Value::Array(array) if array.iter().any(is_special) => {
                let mut rest = Vec::new();
                for item in array.iter() {
                    match item {
                        Value::Object(form) if form.contains(special::FIELD) => {
                            take_named(form, &mut named, made);
                        }
                        Value::Object(form) if form.contains(special::VALUE) => {
                            rest.push(plain(form));
                        }
                        item => rest.push(item),
                    }
                }
                if !rest.is_empty() {
                    write_array(builder.key(name), &rest);
                }
            }
            value if form.boxed.iter().any(|boxed| boxed == name) => {
                write_boxed(value, builder.key(name));
            }
            value => {
                builder.field(name, value);
            }
        }
    }
    for name in form.nulls.iter().filter(|name| !object.contains(name)) {
        builder.key(name).null();
    }
    for (name, values) in &named {
        match values.as_slice() {
            [value] => builder.field(name, *value),
            values => write_array(builder.key(name), values),
        };
    }
    builder.end_object();
    builder.finish().map(Some)
}

/// Appends a value of a field with the boxes around its shapes in place of them.
fn write_boxed(value: Value<'_>, builder: &mut Builder) {
    if let Value::Array(array) = value {
        builder.begin_array();
        array.iter().for_each(|item| write_boxed(item, builder));
        builder.end_array();
        return;
    }
    let text = value.get(special::SPATIAL).and_then(|text| text.as_str());
    // What is no shape is found nowhere, and told by the index's terms.
    match text.and_then(|text| Shape::parse(text, 1.0).ok()) {
        Some(shape) => {
            builder.begin_object();
            builder.key(special::SPATIAL).string(&shape.envelope());
            builder.end_object();
        }
        None => {
            builder.value(value);
        }
    }
}

fn is_special(value: Value<'_>) -> bool {
    matches!(value, Value::Object(form) if form.contains(special::VALUE))
}

fn plain<'d>(form: Object<'d>) -> Value<'d> {
    form.get(special::VALUE).unwrap_or(Value::Null)
}

fn write_array<'b>(builder: &'b mut Builder, values: &[Value<'_>]) -> &'b mut Builder {
    builder.begin_array();
    for value in values {
        builder.value(*value);
    }
    builder.end_array()
}

/// Takes a field that was made by name out of its form.
fn take_named<'d>(form: Object<'d>, named: &mut Vec<(String, Vec<Value<'d>>)>, made: &mut Made) {
    let Some(name) = form.get(special::FIELD).and_then(|name| name.as_str()) else {
        return;
    };
    let value = plain(form);
    match named.iter_mut().find(|(known, _)| known == name) {
        Some((_, values)) => values.push(value),
        None => named.push((name.to_owned(), vec![value])),
    }
    if made.iter().any(|(known, _)| known == name) {
        return;
    }
    let option = |name: &str| {
        let options = form
            .get(special::OPTIONS)
            .and_then(|options| options.as_object())?;
        options.get(name)?.as_str()
    };
    let settings = FieldSettings {
        indexing: option("Indexing").and_then(Indexing::parse),
        storage: option("Storage").map(|text| text.eq_ignore_ascii_case("yes")),
        term_vector: option("TermVector").map(str::to_owned),
        ..FieldSettings::default()
    };
    made.push((name.to_owned(), settings));
}

/// An entry as conditions and orders read it, under the id of its document.
pub(crate) fn entry_document<'a>(
    number: u64,
    id: &'a str,
    collection: &'a str,
    values: Document<'a>,
) -> StoredDocument<'a> {
    StoredDocument {
        id,
        collection,
        ..StoredDocument::made(DocumentNumber(number), values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jackdaw_document::Limits;

    fn entry(json: &str, nulls: &[&str]) -> (String, Made) {
        let given = DocumentBuf::from_json(json.as_bytes(), &Limits::default()).unwrap();
        let form = EntryForm {
            nulls: nulls.iter().map(|&name| name.to_owned()).collect(),
            boxed: vec!["area".to_owned()],
        };
        let mut made = Made::new();
        let entry = normalize(given.root(), &form, &mut Builder::new(), &mut made).unwrap();
        (entry.unwrap().root().to_json(), made)
    }

    #[test]
    fn shapes_become_boxes_where_the_field_says_so() {
        let shape = r#"{"$spatial":"POLYGON ((0 0, 0 5, 1 5, 1 1, 6 1, 0 0))"}"#;
        let (json, _) = entry(&format!(r#"{{"area":[{shape},7],"other":{shape}}}"#), &[]);
        let boxed = r#"{"$spatial":"ENVELOPE (0, 6, 5, 0)"}"#;
        assert_eq!(json, format!(r#"{{"area":[{boxed},7],"other":{shape}}}"#));
    }

    #[test]
    fn fields_made_by_name_stand_beside_the_others() {
        let (json, made) = entry(
            r#"{"a":1,"_":[
            {"$field":"x","$value":2,"$options":{"Indexing":"Exact","Storage":"Yes"}},
            {"$field":"y","$value":3},{"$field":"x","$value":4}],
            "b":{"$value":"t","$boost":10},"$boost":2}"#,
            &["a", "c"],
        );
        assert_eq!(json, r#"{"a":1,"b":"t","c":null,"x":[2,4],"y":3}"#);
        assert_eq!(made.len(), 2);
        assert_eq!(made[0].1.indexing, Some(Indexing::Exact));
        assert_eq!(made[0].1.storage, Some(true));
        assert_eq!(made[1].1, FieldSettings::default());
    }

    #[test]
    fn plain_values_stay() {
        let json = r#"{"a":[1,{"b":2}],"c":{"$spatial":"POINT (1 2)"},"d":null}"#;
        assert_eq!(entry(json, &[]), (json.to_owned(), Made::new()));
        let (json, _) = entry(r#"{"a":[{"$value":1,"$boost":2},3]}"#, &[]);
        assert_eq!(json, r#"{"a":[1,3]}"#);
    }
}
