//! Vectors in documents and in parameters: how they are written, and how an index keeps them.
//!
//! Called by `bind` for what a query gives, by `fields` for what documents have, and by
//! `nearest`.
//!
//! Rules:
//! - A vector is an array of numbers, an object `{"@vector": [...]}`, or base64 of its bytes; an
//!   array of those is several vectors.
//! - Numbers of eight bits are followed by the four bytes of their scale, as clients write them.
//!   The scale does not change a cosine.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jackdaw_document::{Array, Value};
use jackdaw_search::{Vector, VectorStorage};

use crate::fields::{FieldKind, FieldPath, IndexField, to_number, visit_whole};
use crate::source::StoredDocument;

/// The property that clients write a vector under.
const VECTOR: &str = "@vector";

/// The property that maps of named indexes write a vector under.
const MADE_VECTOR: &str = jackdaw_script::index::special::VECTOR;

/// Bytes of the scale behind numbers of eight bits.
const SCALE_BYTES: usize = 4;

/// What the vectors of a field are, and what is kept of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Embedding {
    /// Floats, kept as they are.
    #[default]
    F32,
    /// Floats, kept in eight bits each.
    F32ToI8,
    /// Floats, of which the signs are kept.
    F32ToI1,
    /// Numbers of eight bits.
    I8,
    /// Signs, eight a byte.
    I1,
}

impl Embedding {
    /// All of them, with the methods that they are written with.
    const ALL: [(Embedding, &'static str); 5] = [
        (Embedding::F32, "embedding.f32"),
        (Embedding::F32ToI8, "embedding.f32_i8"),
        (Embedding::F32ToI1, "embedding.f32_i1"),
        (Embedding::I8, "embedding.i8"),
        (Embedding::I1, "embedding.i1"),
    ];

    /// The embedding of a method, in any case.
    #[must_use]
    pub fn of_method(name: &str) -> Option<Embedding> {
        let is = |known: &&(Embedding, &str)| known.1.eq_ignore_ascii_case(name);
        Embedding::ALL
            .iter()
            .find(is)
            .map(|(embedding, _)| *embedding)
    }

    /// The method that it is written with; floats that stay floats need none.
    #[must_use]
    pub fn method(self) -> Option<&'static str> {
        let known = Embedding::ALL.iter().find(|(known, _)| *known == self);
        known
            .map(|(_, name)| *name)
            .filter(|_| self != Embedding::F32)
    }

    /// What is kept.
    #[must_use]
    pub fn storage(self) -> VectorStorage {
        match self {
            Embedding::F32 => VectorStorage::F32,
            Embedding::F32ToI8 | Embedding::I8 => VectorStorage::I8,
            Embedding::F32ToI1 | Embedding::I1 => VectorStorage::I1,
        }
    }

    /// A field as it stands in names of indexes: `embedding.f32_i8(F)`.
    pub(crate) fn wrap(self, path: &FieldPath) -> String {
        match self.method() {
            Some(method) => format!("{method}({path})"),
            None => path.to_string(),
        }
    }
}

/// Calls `add` with each vector that a value holds, or with a sentence about what is none.
pub(crate) fn read_vectors(
    value: Value<'_>,
    embedding: Embedding,
    add: &mut dyn FnMut(Result<Vector, String>),
) {
    match value {
        Value::Null => {}
        Value::String(text) => add(of_base64(text, embedding)),
        Value::Array(array)
            if array
                .iter()
                .next()
                .is_none_or(|first| to_number(first).is_some()) =>
        {
            // An empty array holds no vectors rather than an empty one.
            if !array.is_empty() {
                add(of_numbers(array, embedding));
            }
        }
        Value::Array(array) => {
            for element in array.iter() {
                match element {
                    // Arrays in arrays in arrays are no vectors.
                    Value::Array(inner) => add(of_numbers(inner, embedding)),
                    Value::Null => {}
                    other => read_vectors(other, embedding, add),
                }
            }
        }
        Value::Object(object) => match (object.get(VECTOR), object.get(MADE_VECTOR)) {
            (Some(Value::Object(_)), _) | (None, None) => add(Err(no_vector(value))),
            (Some(inner), _) | (None, Some(inner)) => read_vectors(inner, embedding, add),
        },
        other => add(Err(no_vector(other))),
    }
}

fn no_vector(value: Value<'_>) -> String {
    const SHOWN_MAX: usize = 60;
    let shown: String = value.to_json().chars().take(SHOWN_MAX).collect();
    format!(
        "a vector is an array of numbers, base64, or {{\"@vector\": [...]}}, but this is {shown}"
    )
}

fn of_numbers(array: Array<'_>, embedding: Embedding) -> Result<Vector, String> {
    let number = |value: Value<'_>| -> Result<f64, String> {
        let number = to_number(value).ok_or_else(|| no_vector(value))?;
        Ok(number.to_f64())
    };
    match embedding {
        Embedding::F32 | Embedding::F32ToI8 | Embedding::F32ToI1 => {
            #[expect(clippy::cast_possible_truncation, reason = "rounds to a float")]
            let floats = array.iter().map(|value| Ok(number(value)? as f32));
            let floats = floats.collect::<Result<Vec<f32>, String>>()?;
            let vector = Vector::from_floats(&floats, embedding.storage());
            vector.map_err(|error| error.to_string())
        }
        Embedding::I8 | Embedding::I1 => {
            let bytes = array.iter().map(|value| byte(number(value)?));
            of_bytes(&bytes.collect::<Result<Vec<u8>, String>>()?, embedding)
        }
    }
}

/// A byte, written with a sign or without.
fn byte(number: f64) -> Result<u8, String> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within the range that is checked"
    )]
    match number.fract() == 0.0 && (-128.0..=255.0).contains(&number) {
        true => Ok((number as i16 & 0xff) as u8),
        false => Err(format!(
            "a vector of bytes has whole numbers from -128 to 255, but this has {number}"
        )),
    }
}

fn of_base64(text: &str, embedding: Embedding) -> Result<Vector, String> {
    let bytes = STANDARD
        .decode(text)
        .map_err(|_| no_vector(Value::String(text)))?;
    match embedding {
        Embedding::F32 | Embedding::F32ToI8 | Embedding::F32ToI1 => {
            let (floats, rest) = bytes.as_chunks::<4>();
            if !rest.is_empty() {
                return Err(format!(
                    "a vector of floats in base64 has four bytes for each, but this has {} bytes",
                    bytes.len()
                ));
            }
            let floats: Vec<f32> = floats
                .iter()
                .map(|float| f32::from_le_bytes(*float))
                .collect();
            let vector = Vector::from_floats(&floats, embedding.storage());
            vector.map_err(|error| error.to_string())
        }
        Embedding::I8 | Embedding::I1 => of_bytes(&bytes, embedding),
    }
}

fn of_bytes(bytes: &[u8], embedding: Embedding) -> Result<Vector, String> {
    let vector = match embedding {
        Embedding::I1 => Vector::from_bits(bytes),
        _ => {
            let numbers = bytes.len().saturating_sub(SCALE_BYTES);
            let numbers = bytes[..numbers].iter().map(|byte| byte.cast_signed());
            Vector::from_bytes(&numbers.collect::<Vec<i8>>())
        }
    };
    vector.map_err(|error| match embedding {
        Embedding::I8 => format!("{error}; the last {SCALE_BYTES} bytes are its scale"),
        _ => error.to_string(),
    })
}

/// Calls `add` with each vector that `document` has at `path`, or with what is wrong with it.
pub(crate) fn vectors_of(
    document: &StoredDocument<'_>,
    path: &FieldPath,
    embedding: Embedding,
    add: &mut dyn FnMut(Result<Vector, String>),
) {
    visit_whole(document, path, &mut |value| {
        read_vectors(value, embedding, add)
    });
}

/// What the vectors of a field are, when it is one of vectors.
pub(crate) fn embedding_of(field: &IndexField) -> Option<Embedding> {
    match &field.kind {
        FieldKind::Vector(embedding) | FieldKind::NamedVector(embedding, _) => Some(*embedding),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_source::json;

    fn read(text: &str, embedding: Embedding) -> Vec<Result<u16, String>> {
        let mut found = Vec::new();
        read_vectors(json(text).root(), embedding, &mut |vector| {
            found.push(vector.map(|vector| vector.dimensions()));
        });
        found
    }

    #[test]
    fn vectors_are_read_in_every_form() {
        assert_eq!(read("[1, 0.5, -2]", Embedding::F32), [Ok(3)]);
        assert_eq!(read(r#"{"@vector": [1, 2]}"#, Embedding::F32ToI8), [Ok(2)]);
        assert_eq!(read("[[1, 2], [3, 4]]", Embedding::F32ToI1), [Ok(2), Ok(2)]);
        assert_eq!(read(r#""AACAPwAAAEA=""#, Embedding::F32), [Ok(2)]);
        assert_eq!(read(r#""AQIDBAUGBwg=""#, Embedding::I1), [Ok(64)]);
        // Three numbers, and the four bytes of their scale.
        assert_eq!(
            read("[127, -127, 0, 0, 0, 128, 63]", Embedding::I8),
            [Ok(3)]
        );
        assert_eq!(
            read(r#"[{"@vector": [1]}, "AACAPw=="]"#, Embedding::F32),
            [Ok(1), Ok(1)]
        );
        for nothing in ["null", "[]", "[null]"] {
            assert_eq!(read(nothing, Embedding::F32), []);
        }
    }

    #[test]
    fn what_is_no_vector_is_said() {
        for (text, embedding) in [
            ("7", Embedding::F32),
            ("true", Embedding::F32),
            (r#"{"a": 1}"#, Embedding::F32),
            (r#"{"@vector": {"@vector": [1]}}"#, Embedding::F32),
            ("[1, null]", Embedding::F32),
            ("[1, 1e300]", Embedding::F32),
            ("[[[1]]]", Embedding::F32),
            (r#""no base64""#, Embedding::F32),
            (r#""AAAA""#, Embedding::F32),
            ("[300]", Embedding::I1),
            ("[1.5]", Embedding::I1),
            ("[1, 2, 3, 4]", Embedding::I8),
        ] {
            let found = read(text, embedding);
            assert!(matches!(found.as_slice(), [Err(_)]), "{text}: {found:?}");
        }
    }
}
