//! What an automatic index is about: its name, the documents and the fields. Stored with the
//! documents.

use jackdaw_document::{Builder, Document, DocumentBuf, Value};
use jackdaw_model::Scope;
use jackdaw_query::{Embedding, FieldKind, FieldPath, IndexField, IndexRequirement};

use crate::error::ReadError;

const VERSION: i64 = 1;

/// An automatic index, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoDefinition {
    /// Its name: `Auto/Albums/ByArtistAndTitle`.
    pub name: String,
    /// Which documents are in it.
    pub scope: Scope,
    /// Which fields of them.
    pub fields: Vec<IndexField>,
}

impl AutoDefinition {
    pub(crate) fn new(requirement: IndexRequirement) -> AutoDefinition {
        AutoDefinition {
            name: requirement.name(),
            scope: requirement.scope,
            fields: requirement.fields,
        }
    }

    /// Whether every query that `other` answers can be answered by this one too.
    pub(crate) fn supersedes(&self, other: &AutoDefinition) -> bool {
        self.is_of(&other.scope)
            && other.fields.len() < self.fields.len()
            && other.fields.iter().all(|field| self.fields.contains(field))
    }

    /// Whether it is about exactly these documents.
    pub(crate) fn is_of(&self, scope: &Scope) -> bool {
        match (&self.scope, scope) {
            (Scope::All, Scope::All) => true,
            (own @ Scope::Collection(_), Scope::Collection(name)) => own.contains(name),
            _ => false,
        }
    }

    pub(crate) fn encode(&self) -> DocumentBuf {
        let mut builder = Builder::new();
        builder.begin_object().key("Version").long(VERSION);
        builder.key("Name").string(&self.name).key("Collection");
        match &self.scope {
            Scope::All => builder.null(),
            Scope::Collection(name) => builder.string(name),
        };
        builder.key("Fields").begin_array();
        for field in &self.fields {
            builder
                .begin_object()
                .key("Path")
                .string(field.path.as_str());
            let kind = match &field.kind {
                FieldKind::Plain | FieldKind::Named(_) => None,
                FieldKind::Exact => Some("Exact"),
                FieldKind::Search => Some("Search"),
                FieldKind::Point(_) => Some("Point"),
                FieldKind::Shape => Some("Shape"),
                FieldKind::Vector(_) | FieldKind::NamedVector(..) => Some("Vector"),
            };
            if let Some(kind) = kind {
                builder.key("Kind").string(kind);
            }
            if let FieldKind::Point(longitude) = &field.kind {
                builder.key("Longitude").string(longitude.as_str());
            }
            if let FieldKind::Vector(embedding) = &field.kind
                && let Some(method) = embedding.method()
            {
                builder.key("Embedding").string(method);
            }
            builder.end_object();
        }
        builder.end_array().end_object();
        builder.finish().expect("the calls are balanced")
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<AutoDefinition, ReadError> {
        let damaged = || ReadError::damaged("the definition of an index");
        let document = Document::open(bytes).map_err(|_| damaged())?;
        read(document.root()).ok_or_else(damaged)
    }
}

fn read(root: Value<'_>) -> Option<AutoDefinition> {
    (root.get("Version")?.as_i64()? == VERSION).then_some(())?;
    let scope = match root.get("Collection")? {
        Value::Null => Scope::All,
        name => Scope::Collection(name.as_str()?.to_owned()),
    };
    let field = |value: Value<'_>| {
        Some(IndexField {
            path: FieldPath::parse(value.get("Path")?.as_str()?),
            kind: read_kind(value)?,
        })
    };
    let fields = root.get("Fields")?.as_array()?;
    Some(AutoDefinition {
        name: root.get("Name")?.as_str()?.to_owned(),
        scope,
        fields: fields.iter().map(field).collect::<Option<_>>()?,
    })
}

fn read_kind(field: Value<'_>) -> Option<FieldKind> {
    match field.get("Kind") {
        // Earlier versions knew two kinds.
        None => Some(match field.get("Exact").and_then(|exact| exact.as_bool()) {
            Some(true) => FieldKind::Exact,
            _ => FieldKind::Plain,
        }),
        Some(kind) => match kind.as_str()? {
            "Exact" => Some(FieldKind::Exact),
            "Search" => Some(FieldKind::Search),
            "Shape" => Some(FieldKind::Shape),
            "Point" => {
                let longitude = field.get("Longitude")?.as_str()?;
                Some(FieldKind::Point(FieldPath::parse(longitude)))
            }
            "Vector" => match field.get("Embedding") {
                None => Some(FieldKind::Vector(Embedding::F32)),
                Some(method) => Embedding::of_method(method.as_str()?).map(FieldKind::Vector),
            },
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(scope: Scope, fields: &[&str]) -> AutoDefinition {
        let field = |path: &&str| IndexField {
            path: FieldPath::parse(path),
            kind: match path.len() {
                1 => FieldKind::Exact,
                2 => FieldKind::Search,
                3 => FieldKind::Vector(Embedding::F32),
                4 => FieldKind::Vector(Embedding::F32ToI1),
                _ => FieldKind::Plain,
            },
        };
        AutoDefinition::new(IndexRequirement {
            scope,
            fields: fields.iter().map(field).collect(),
        })
    }

    #[test]
    fn definitions_read_back() {
        for definition in [
            definition(Scope::All, &["Lines[].Product", "N", "Ab", "Emb", "Embs"]),
            definition(Scope::Collection("Albums".to_owned()), &["@metadata.@id"]),
        ] {
            let bytes = definition.encode().into_bytes();
            assert_eq!(AutoDefinition::decode(&bytes).unwrap(), definition);
            assert!(AutoDefinition::decode(&bytes[..bytes.len() - 1]).is_err());
        }
    }

    #[test]
    fn a_larger_index_of_the_same_documents_supersedes() {
        let albums = || Scope::Collection("Albums".to_owned());
        let small = definition(albums(), &["Artist"]);
        let large = definition(Scope::Collection("albums".to_owned()), &["Artist", "Title"]);
        assert!(large.supersedes(&small));
        assert!(!small.supersedes(&large) && !small.supersedes(&small));
        assert!(!definition(Scope::All, &["Artist", "Title"]).supersedes(&small));
    }
}
