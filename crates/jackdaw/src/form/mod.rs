//! Values of serde in the binary form of documents, without JSON text in between.
//!
//! `serialize` drives the document builder, `deserialize` reads stored values in place, `keys` are
//! the names of map entries both ways.
//!
//! Invariants:
//! - A value has the same document here as through its JSON text, and reads back from either.
//! - Strings of a document are borrowed, never copied, where the type borrows.

mod deserialize;
mod error;
mod keys;
mod serialize;

#[cfg(test)]
mod tests;

use jackdaw_document::{Builder, DocumentBuf, Value};
use serde::{Deserialize, Serialize};

pub use error::ValueError;

/// The binary form of a value. `builder` lends its memory.
pub(crate) fn to_document<T: Serialize + ?Sized>(
    value: &T,
    builder: &mut Builder,
) -> Result<DocumentBuf, ValueError> {
    builder.clear();
    value.serialize(&mut serialize::Writer::new(builder))?;
    builder.finish().map_err(ValueError::of)
}

/// A value read from its binary form.
pub(crate) fn from_value<'de, T: Deserialize<'de>>(value: Value<'de>) -> Result<T, ValueError> {
    T::deserialize(deserialize::Reader(value))
}
