//! Binary document form, JSON in and out.
//!
//! Documents arrive as JSON text and are turned, in one pass, into one contiguous byte string that
//! is stored as it is and read without parsing or copying. This crate knows nothing of storage.
//!
//! - [`Parser`]: JSON text to binary form; [`Builder`]: programs to binary form.
//! - [`Document`], [`Value`], [`Object`], [`Array`], [`Path`]: reading.
//! - [`write_json`] and its relatives: binary form to JSON text.
//! - [`compare`]: the one order of values.
//!
//! Bytes: docs/format.md, "Document form". Decision: docs/decisions/0009-document-form.md.

#![forbid(unsafe_code)]

mod builder;
mod compare;
mod container;
mod copy;
mod decimal;
mod encoder;
mod error;
mod form;
mod intern;
mod limits;
mod number;
mod parser;
mod path;
mod scan;
mod shape;
mod validate;
mod value;
mod write;

pub use builder::Builder;
pub use compare::compare;
pub use container::{Array, ArrayIter, Object, ObjectIter};
pub use error::{BuildError, DocumentError, JsonError, JsonErrorKind, PathError};
pub use form::DEPTH_MAX;
pub use limits::{Limits, TEXT_LEN_MAX};
pub use number::push_double;
pub use parser::{METADATA, Parser, Split, split_metadata};
pub use path::{Path, PathValues, Step};
pub use value::{Document, DocumentBuf, NumberText, Value, ValueKind};
pub use write::{
    ArrayWriter, ObjectWriter, write_array, write_document, write_json, write_json_pretty,
    write_object, write_string,
};
