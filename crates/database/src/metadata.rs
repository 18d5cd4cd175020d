//! Which parts of `@metadata` are stored: what the user gave, without what the database itself
//! says about a document when it is read.

use std::borrow::Cow;

use jackdaw_document::{Builder, Document, Object, Value};

use crate::error::WriteError;
use crate::names::{EMPTY_COLLECTION, check_collection};

/// Field that names the collection.
const COLLECTION: &str = "@collection";
/// Fields that the database answers for; what a client sends back in them is dropped.
const OWN: &[&str] = &[
    COLLECTION,
    "@id",
    "@etag",
    "@change-vector",
    "@last-modified",
    "@flags",
    "@attachments",
    "@counters",
    "@timeseries",
    "@index-score",
    "@spatial",
    "@projection",
];

/// Fields of stored metadata that list what a document has beside its body.
pub(crate) const LISTED: &[&str] = &["@attachments", "@counters", "@timeseries"];

/// The collection that metadata names.
pub(crate) fn collection<'d>(
    id: &str,
    metadata: Option<Object<'d>>,
) -> Result<Cow<'d, str>, WriteError> {
    let name = match metadata.and_then(|metadata| metadata.get(COLLECTION)) {
        None | Some(Value::Null) => "",
        Some(Value::String(name)) => name,
        Some(_) => {
            return Err(WriteError::InvalidCollection {
                id: id.to_owned(),
                why: "'@collection' is not a string",
            });
        }
    };
    check_collection(id, name)?;
    Ok(Cow::Borrowed(if name.is_empty() {
        EMPTY_COLLECTION
    } else {
        name
    }))
}

/// Appends what is stored of `metadata` to `out`: nothing when nothing is left.
pub(crate) fn push_stored(metadata: Object<'_>, builder: &mut Builder, out: &mut Vec<u8>) {
    let mut is_empty = true;
    builder.clear().begin_object();
    for (name, value) in metadata.iter() {
        if !OWN.contains(&name) {
            builder.key(name).value(value);
            is_empty = false;
        }
    }
    builder.end_object();
    if !is_empty {
        let stored: Result<Document<'_>, _> = builder.finish_borrowed();
        out.extend_from_slice(stored.expect("parts of a document fit").as_bytes());
    }
    builder.clear();
}

#[cfg(test)]
mod tests {
    use jackdaw_document::{DocumentBuf, Limits};

    use super::*;

    fn check(metadata: &str, collection_name: &str, stored: &str) {
        let document = DocumentBuf::from_json(metadata.as_bytes(), &Limits::default()).unwrap();
        let object = document.root().as_object().unwrap();
        assert_eq!(collection("x", Some(object)).unwrap(), collection_name);
        let mut out = Vec::new();
        push_stored(object, &mut Builder::new(), &mut out);
        let text = match out.is_empty() {
            true => String::new(),
            false => Document::open(&out).unwrap().root().to_json(),
        };
        assert_eq!(text, stored);
    }

    #[test]
    fn own_fields_are_dropped_and_the_rest_kept_in_order() {
        check(
            r#"{"Type":"User","@collection":"Users","@id":"x","@nested":{"a":[1]},"@flags":"F"}"#,
            "Users",
            r#"{"Type":"User","@nested":{"a":[1]}}"#,
        );
        check(r#"{"@collection":"Users"}"#, "Users", "");
        check(r#"{"@collection":null}"#, "@empty", "");
        check(r#"{"@collection":"","a":1}"#, "@empty", r#"{"a":1}"#);
    }

    #[test]
    fn a_collection_is_a_string() {
        let document = DocumentBuf::from_json(br#"{"@collection":5}"#, &Limits::default()).unwrap();
        assert!(collection("x", document.root().as_object()).is_err());
        assert_eq!(collection("x", None).unwrap(), "@empty");
    }
}
