//! Vectors of a static index: what the options of a field say about them, and which values of an
//! entry are vectors that a map made.
//!
//! Called when a definition is compiled, and by `terms` for entries. Queries ask how a field is
//! kept through [`StaticDefinition::vector_field`].

use jackdaw_document::{Object, Value};
use jackdaw_query::{Embedding, FieldKind, FieldPath, IndexField};
use jackdaw_script::index::special;
use jackdaw_search::VectorOptions;

use super::definition::{DefinitionError, FieldSettings, StaticDefinition};

impl StaticDefinition {
    /// How the vectors of the field `name` are kept.
    pub(crate) fn vector_field(&self, name: &str) -> IndexField {
        let settings = self.field_settings(name);
        let (embedding, options) = read(&settings).unwrap_or_default();
        IndexField {
            path: FieldPath::of_name(name),
            kind: FieldKind::NamedVector(embedding, options),
        }
    }
}

/// Refuses options of vectors that mean nothing.
pub(super) fn check(definition: &StaticDefinition) -> Result<(), DefinitionError> {
    for (name, settings) in &definition.fields {
        read(settings).map_err(|why| {
            DefinitionError::Invalid(format!("Vector options of field '{name}': {why}"))
        })?;
    }
    Ok(())
}

/// Whether a value is a vector that a map made, or an array with one.
pub(super) fn is_made(value: Value<'_>) -> bool {
    match value {
        Value::Object(object) => object.contains(special::VECTOR),
        Value::Array(array) => array.iter().any(|item| item.get(special::VECTOR).is_some()),
        _ => false,
    }
}

fn read(settings: &FieldSettings) -> Result<(Embedding, VectorOptions), String> {
    let mut options = VectorOptions::default();
    let Some(given) = &settings.vector else {
        return Ok((Embedding::F32, options));
    };
    let Some(given) = given.root().as_object() else {
        return Err("they are an object".to_owned());
    };
    let number = |name: &str, default: u16| match present(given, name) {
        None => Ok(default),
        Some(value) => {
            let number = value.as_i64().and_then(|number| u16::try_from(number).ok());
            number.ok_or_else(|| format!("{name} cannot be {}", value.to_json()))
        }
    };
    options.dimensions = number("Dimensions", options.dimensions)?;
    options.edges = number("NumberOfEdges", options.edges)?;
    // The Node client writes the shorter name.
    let candidates = number("NumberOfCandidates", options.candidates)?;
    options.candidates = number("NumberOfCandidatesForIndexing", candidates)?;
    let kind = |name: &str| match present(given, name) {
        None => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) => Ok(Some(text.to_ascii_lowercase())),
            None => Err(format!("{name} cannot be {}", value.to_json())),
        },
    };
    let source = kind("SourceEmbeddingType")?.unwrap_or_else(|| "single".to_owned());
    let kept = kind("DestinationEmbeddingType")?.unwrap_or_else(|| source.clone());
    let embedding = match (source.as_str(), kept.as_str()) {
        ("single", "single") => Embedding::F32,
        ("single", "int8") => Embedding::F32ToI8,
        ("single", "binary") => Embedding::F32ToI1,
        ("int8", "int8") => Embedding::I8,
        ("binary", "binary") => Embedding::I1,
        ("text", _) => {
            return Err(
                "text needs a model that makes vectors of it, and none can be loaded: store \
                 vectors in the documents and give those to CreateVector()"
                    .to_owned(),
            );
        }
        _ => {
            return Err(format!(
                "vectors of the type '{source}' cannot be kept as '{kept}': the source is Single, \
                 Int8 or Binary, and only Single can be kept in another way"
            ));
        }
    };
    options.storage = embedding.storage();
    options.check().map_err(|error| error.to_string())?;
    Ok((embedding, options))
}

fn present<'d>(object: Object<'d>, name: &str) -> Option<Value<'d>> {
    object.get(name).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use jackdaw_document::{DocumentBuf, Limits};
    use jackdaw_search::VectorStorage;

    use super::*;

    fn options(json: &str) -> Result<(Embedding, VectorOptions), String> {
        let given = DocumentBuf::from_json(json.as_bytes(), &Limits::default()).unwrap();
        read(&FieldSettings {
            vector: Some(given),
            ..FieldSettings::default()
        })
    }

    #[test]
    fn options_are_read_as_clients_write_them() {
        let (embedding, read) = options(
            r#"{"SourceEmbeddingType":"Single","DestinationEmbeddingType":"Int8",
            "Dimensions":128,"NumberOfCandidatesForIndexing":20,"NumberOfEdges":null}"#,
        )
        .unwrap();
        assert_eq!(embedding, Embedding::F32ToI8);
        let expected = VectorOptions {
            storage: VectorStorage::I8,
            dimensions: 128,
            edges: 12,
            candidates: 20,
        };
        assert_eq!(read, expected);
        assert_eq!(options("{}").unwrap(), Default::default());
    }

    #[test]
    fn options_that_mean_nothing_are_refused() {
        for (json, expected) in [
            (r#"{"SourceEmbeddingType":"Text"}"#, "needs a model"),
            (
                r#"{"SourceEmbeddingType":"Int8","DestinationEmbeddingType":"Single"}"#,
                "'int8' cannot be kept as 'single'",
            ),
            (
                r#"{"Dimensions":5000}"#,
                "dimensions of a vector field lie between",
            ),
            (r#"{"NumberOfEdges":-1}"#, "NumberOfEdges cannot be -1"),
            (
                r#"{"SourceEmbeddingType":7}"#,
                "SourceEmbeddingType cannot be 7",
            ),
        ] {
            let error = options(json).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
