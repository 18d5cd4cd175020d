//! What a program is given: documents, lists of them, values.

use jackdaw_document::{METADATA, Object, Value, write_object};

/// A document as a script sees it: its fields, `@metadata`, and what the database says of it.
#[derive(Clone, Copy, Debug)]
pub struct ScriptDocument<'a> {
    /// The document without its metadata.
    pub body: Value<'a>,
    /// Metadata the user gave.
    pub metadata: Option<Object<'a>>,
    /// The collection, when it names one.
    pub collection: Option<&'a str>,
    /// Its id.
    pub id: &'a str,
    /// Its change vector; `None` for one that is not stored yet.
    pub change_vector: Option<&'a str>,
    /// When it was last changed, in text.
    pub last_modified: Option<&'a str>,
}

impl ScriptDocument<'_> {
    /// Appends the document with what the database says of it, in the form of the host's answers.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_object(out, |both| {
            let mut document = Vec::new();
            self.write_document(&mut document);
            both.raw("d", &document);
            both.object("a", |about| {
                if let Some(change_vector) = self.change_vector {
                    about.string("@change-vector", change_vector);
                }
                about.string("@id", self.id);
                if let Some(last_modified) = self.last_modified {
                    about.string("@last-modified", last_modified);
                }
            });
        });
    }

    /// Appends the document as the script sees it: its fields and `@metadata`, if it has any.
    pub fn write_document(&self, out: &mut Vec<u8>) {
        write_object(out, |document| {
            if let Value::Object(body) = self.body {
                document.fields_except(body, METADATA);
            }
            if self.metadata.is_none() && self.collection.is_none() {
                return;
            }
            document.object(METADATA, |metadata| {
                if let Some(collection) = self.collection {
                    metadata.string("@collection", collection);
                }
                if let Some(own) = self.metadata {
                    metadata.fields(own);
                }
            });
        });
    }
}

/// One argument of a program.
#[derive(Clone, Debug)]
pub enum Argument<'a> {
    /// A document.
    Document(ScriptDocument<'a>),
    /// A document that is not there.
    Nothing,
    /// Several documents.
    Documents(Vec<Option<ScriptDocument<'a>>>),
    /// Any other value.
    Value(Value<'a>),
}

impl Argument<'_> {
    /// Appends the argument in the form that the prelude reads.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Argument::Document(document) => document.write(out),
            Argument::Nothing => out.extend_from_slice(b"null"),
            Argument::Value(value) => {
                out.extend_from_slice(b"{\"v\":");
                value.write_json(out);
                out.push(b'}');
            }
            Argument::Documents(list) => {
                out.extend_from_slice(b"{\"l\":[");
                for (slot, document) in list.iter().enumerate() {
                    if slot > 0 {
                        out.push(b',');
                    }
                    match document {
                        Some(document) => document.write(out),
                        None => out.extend_from_slice(b"null"),
                    }
                }
                out.extend_from_slice(b"]}");
            }
        }
    }

    /// Calls `visit` with each value that the script sees.
    pub(crate) fn for_each_value<'s>(&'s self, visit: &mut dyn FnMut(Value<'s>)) {
        let mut document = |document: &ScriptDocument<'s>| {
            visit(document.body);
            if let Some(metadata) = document.metadata {
                visit(Value::Object(metadata));
            }
        };
        match self {
            Argument::Document(one) => document(one),
            Argument::Documents(list) => list.iter().flatten().for_each(document),
            Argument::Value(value) => visit(*value),
            Argument::Nothing => {}
        }
    }
}
