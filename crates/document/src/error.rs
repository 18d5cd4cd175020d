//! Error types of this crate: JSON text, stored bytes, programmatic building.
//!
//! Messages are sentences for the person who sent the text; none of them repeats document content
//! beyond one character.

use thiserror::Error;

/// Why a JSON text was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// The text ends inside a value. More input may complete it.
    UnexpectedEnd,
    /// A character that cannot stand here.
    UnexpectedCharacter {
        /// The first byte of it.
        found: u8,
        /// What could have stood here.
        expected: &'static str,
    },
    /// Something other than white space follows the value.
    TrailingData,
    /// A byte order mark at the beginning.
    ByteOrderMark,
    /// A control character inside a string.
    ControlCharacter(u8),
    /// A backslash followed by something JSON does not define.
    InvalidEscape,
    /// `\u` that names half of a surrogate pair alone.
    LoneSurrogate,
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// A number JSON does not allow, such as `01`, `1.` or `-`.
    InvalidNumber,
    /// Nesting deeper than the limit.
    TooDeep(usize),
    /// More values than the limit.
    TooManyElements(usize),
    /// A field name longer than the limit, in bytes.
    KeyTooLong(usize),
    /// A number of more digits than the limit.
    TooManyDigits(usize),
    /// A text longer than the limit, in bytes.
    TooLong(usize),
    /// `@metadata` of the document is not an object.
    MetadataNotObject,
}

impl std::fmt::Display for JsonErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            JsonErrorKind::UnexpectedEnd => f.write_str("The JSON text ends inside a value"),
            JsonErrorKind::UnexpectedCharacter { found, expected } => {
                if found.is_ascii_graphic() {
                    write!(f, "Expected {expected} but found '{}'", char::from(found))
                } else {
                    write!(f, "Expected {expected} but found byte 0x{found:02X}")
                }
            }
            JsonErrorKind::TrailingData => f.write_str("Only one JSON value may stand here"),
            JsonErrorKind::ByteOrderMark => {
                f.write_str("The text begins with a byte order mark; send plain UTF-8 without it")
            }
            JsonErrorKind::ControlCharacter(b) => {
                write!(
                    f,
                    "A string holds the control character 0x{b:02X}; write it as \\u{b:04X}"
                )
            }
            JsonErrorKind::InvalidEscape => {
                f.write_str("A backslash in a string starts an escape that JSON does not define")
            }
            JsonErrorKind::LoneSurrogate => {
                f.write_str("An escape names half of a surrogate pair, which is not a character")
            }
            JsonErrorKind::InvalidUtf8 => f.write_str("The text is not valid UTF-8"),
            JsonErrorKind::InvalidNumber => f.write_str("This is not a number JSON allows"),
            JsonErrorKind::TooDeep(max) => {
                write!(
                    f,
                    "The document is nested deeper than the limit of {max} levels"
                )
            }
            JsonErrorKind::TooManyElements(max) => {
                write!(f, "The document holds more values than the limit of {max}")
            }
            JsonErrorKind::KeyTooLong(max) => {
                write!(f, "A field name is longer than the limit of {max} bytes")
            }
            JsonErrorKind::TooManyDigits(max) => {
                write!(f, "A number has more digits than the limit of {max}")
            }
            JsonErrorKind::TooLong(max) => {
                write!(f, "The text is longer than the limit of {max} bytes")
            }
            JsonErrorKind::MetadataNotObject => f.write_str("'@metadata' must be an object"),
        }
    }
}

/// A JSON text that was refused, and where. Nothing of the text has been kept.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind} (line {line}, column {column}).")]
#[non_exhaustive]
pub struct JsonError {
    /// What is wrong.
    pub kind: JsonErrorKind,
    /// Where, in bytes from the beginning of the text.
    pub offset: usize,
    /// Line, counted from 1.
    pub line: usize,
    /// Character in that line, counted from 1.
    pub column: usize,
}

impl JsonError {
    /// Builds the error for byte `offset` of `text`; counts lines, so it costs one pass.
    pub(crate) fn at(kind: JsonErrorKind, text: &[u8], offset: usize) -> JsonError {
        let offset = offset.min(text.len());
        let before = &text[..offset];
        let line_start = before
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |p| p + 1);
        let line = 1 + before[..line_start].iter().filter(|&&b| b == b'\n').count();
        // Continuation bytes of UTF-8 do not begin a character.
        let column = 1 + before[line_start..]
            .iter()
            .filter(|&&b| b & 0xC0 != 0x80)
            .count();
        JsonError {
            kind,
            offset,
            line,
            column,
        }
    }
}

/// Stored bytes that are not a document of this form: damage, or a newer version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// No bytes at all.
    #[error("A stored document is empty.")]
    Empty,
    /// The version byte is not one this program knows.
    #[error("A stored document has form version {0}, which this program does not know.")]
    UnknownVersion(u8),
    /// The structure does not hold together.
    #[error("A stored document is damaged at byte {offset}: {what}.")]
    Damaged {
        /// Where, in bytes from the beginning of the document.
        offset: usize,
        /// What does not hold.
        what: &'static str,
    },
}

/// Wrong use of a [`Builder`](crate::Builder); the first mistake is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// `key` outside an object, or twice in a row.
    #[error("A field name was given where no field can begin.")]
    MisplacedKey,
    /// A value in an object without a `key` before it, or a second root value.
    #[error("A value was given where a field name or nothing was expected.")]
    MisplacedValue,
    /// `end_object` or `end_array` that closes nothing, or the wrong thing.
    #[error("An object or array was closed that is not open.")]
    MisplacedEnd,
    /// `finish` before the root value was complete.
    #[error("The document is not complete.")]
    Incomplete,
    /// Nesting deeper than [`DEPTH_MAX`](crate::DEPTH_MAX).
    #[error("The document is nested deeper than {0} levels.")]
    TooDeep(usize),
    /// A document larger than 1 GiB.
    #[error("The document is larger than {0} bytes.")]
    TooLarge(usize),
    /// A number text JSON does not allow.
    #[error("A number text is not a JSON number.")]
    InvalidNumber,
}

/// A text that is not a path into documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("The path is not valid from byte {offset} on.")]
#[non_exhaustive]
pub struct PathError {
    /// Where the text stops being a path, in bytes.
    pub offset: usize,
}
