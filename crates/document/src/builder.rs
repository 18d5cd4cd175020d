//! Builds documents from a program, without JSON text.
//!
//! Called by importers, scripts and tests.

use crate::copy::copy;
use crate::encoder::{Encoder, Kind};
use crate::error::BuildError;
use crate::form::{DEPTH_MAX, ROOT};
use crate::limits::TEXT_LEN_MAX;
use crate::number::{self, Number};
use crate::value::{Document, DocumentBuf, Value};

/// Expected bytes of one container, unless the program says otherwise: decides only whether its
/// content moves by a byte or two at the end.
const CONTENT_HINT: usize = 1024;

/// Writes one document at a time: `begin_object`, `key`, a value, ..., `end_object`, `finish`.
///
/// Calls chain. The first mistake is kept, makes the calls behind it do nothing, and is reported
/// by [`Builder::finish`]. Of fields with equal names the last wins, as in JSON text. Memory is
/// kept from document to document.
///
/// ```
/// use jackdaw_document::Builder;
///
/// let mut builder = Builder::new();
/// builder.begin_object().key("Title").string("Homogenic").key("Year").long(1997).end_object();
/// let album = builder.finish().expect("the calls are balanced");
/// assert_eq!(album.root().to_json(), r#"{"Title":"Homogenic","Year":1997}"#);
/// ```
pub struct Builder {
    encoder: Encoder,
    spare: Encoder,
    /// Whether the open object has a name waiting for its value.
    named: bool,
    mistake: Option<BuildError>,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// An empty builder.
    pub fn new() -> Builder {
        let mut encoder = Encoder::new();
        encoder.start_document(0);
        Builder {
            encoder,
            spare: Encoder::new(),
            named: false,
            mistake: None,
        }
    }

    /// Drops what was built so far.
    pub fn clear(&mut self) -> &mut Builder {
        self.encoder.start_document(0);
        self.named = false;
        self.mistake = None;
        self
    }

    /// Opens an object as the next value.
    pub fn begin_object(&mut self) -> &mut Builder {
        self.begin(Kind::Object)
    }

    /// Closes the innermost object.
    pub fn end_object(&mut self) -> &mut Builder {
        self.end(Kind::Object)
    }

    /// Opens an array as the next value.
    pub fn begin_array(&mut self) -> &mut Builder {
        self.begin(Kind::Array)
    }

    /// Closes the innermost array.
    pub fn end_array(&mut self) -> &mut Builder {
        self.end(Kind::Array)
    }

    /// Names the next value of the innermost object.
    pub fn key(&mut self, name: &str) -> &mut Builder {
        if self.named || self.encoder.open_kind() != Kind::Object {
            self.fail(BuildError::MisplacedKey);
        }
        if self.mistake.is_none() {
            self.encoder.key(name.as_bytes());
            self.named = true;
        }
        self
    }

    /// A string.
    pub fn string(&mut self, text: &str) -> &mut Builder {
        self.scalar(text.len(), |encoder| encoder.string(text.as_bytes()))
    }

    /// An integer.
    pub fn long(&mut self, value: i64) -> &mut Builder {
        self.scalar(0, |encoder| encoder.long(value))
    }

    /// A number. What is not finite has no JSON number and becomes null, as in JavaScript.
    pub fn double(&mut self, value: f64) -> &mut Builder {
        self.scalar(0, |encoder| match number::of_double(value) {
            Some(number) => encoder.number(number, b""),
            None => encoder.null(),
        })
    }

    /// A number with exactly this JSON text.
    pub fn number(&mut self, text: &str) -> &mut Builder {
        match number::scan(text.as_bytes(), 0) {
            Ok(scanned) if scanned.end == text.len() => self.scalar(text.len(), |encoder| {
                encoder.number(scanned.number, text.as_bytes());
            }),
            _ => self.fail(BuildError::InvalidNumber),
        }
    }

    /// `true` or `false`.
    pub fn bool(&mut self, value: bool) -> &mut Builder {
        self.scalar(0, |encoder| encoder.bool(value))
    }

    /// `null`.
    pub fn null(&mut self) -> &mut Builder {
        self.scalar(0, Encoder::null)
    }

    /// A copy of a value of any document, with all it holds.
    pub fn value(&mut self, value: Value<'_>) -> &mut Builder {
        // A value and its document are smaller than the limit; the sum is checked here.
        self.scalar(0, |encoder| {
            let number = if let Value::Number(text) = value {
                Some(text.as_str())
            } else {
                None
            };
            match number {
                Some(text) => encoder.number(Number::Text, text.as_bytes()),
                None => copy(value, encoder),
            }
        })
    }

    /// A field in one call: [`Builder::key`] and [`Builder::value`].
    pub fn field(&mut self, name: &str, value: Value<'_>) -> &mut Builder {
        self.key(name).value(value)
    }

    /// Completes the document and makes the builder empty again.
    ///
    /// # Errors
    /// The first mistake in the calls since the last document; nothing has been built.
    pub fn finish(&mut self) -> Result<DocumentBuf, BuildError> {
        self.finish_borrowed()?;
        let bytes = self.encoder.take();
        self.clear();
        Ok(DocumentBuf::from_written(bytes))
    }

    /// As [`Builder::finish`], but the document stays in the builder, which keeps its memory: to
    /// build many documents without allocating, call this, then [`Builder::clear`].
    ///
    /// # Errors
    /// As [`Builder::finish`].
    pub fn finish_borrowed(&mut self) -> Result<Document<'_>, BuildError> {
        let complete = self.encoder.open_kind() == Kind::Root && self.encoder.open_count() == 1;
        if !complete {
            self.fail(BuildError::Incomplete);
        }
        if self.encoder.len() > TEXT_LEN_MAX {
            self.fail(BuildError::TooLarge(TEXT_LEN_MAX));
        }
        if let Some(mistake) = self.mistake {
            self.clear();
            return Err(mistake);
        }
        self.encoder.complete(&mut self.spare);
        // Whatever comes before `clear` belongs to no document.
        self.mistake = Some(BuildError::MisplacedValue);
        Ok(Document::trusted(self.encoder.bytes()))
    }

    fn begin(&mut self, kind: Kind) -> &mut Builder {
        if self.encoder.depth() >= DEPTH_MAX {
            return self.fail(BuildError::TooDeep(DEPTH_MAX));
        }
        self.scalar(0, |encoder| encoder.begin(kind, CONTENT_HINT))
    }

    fn end(&mut self, kind: Kind) -> &mut Builder {
        if self.named || self.encoder.open_kind() != kind {
            return self.fail(BuildError::MisplacedEnd);
        }
        if self.mistake.is_none() {
            self.encoder.end();
        }
        self
    }

    /// Writes a value where one may stand.
    fn scalar(&mut self, len: usize, write: impl FnOnce(&mut Encoder)) -> &mut Builder {
        let expected = match self.encoder.open_kind() {
            Kind::Root => self.encoder.len() == ROOT,
            Kind::Array => true,
            Kind::Object => self.named,
        };
        if !expected {
            return self.fail(BuildError::MisplacedValue);
        }
        if self.encoder.len() + len > TEXT_LEN_MAX {
            return self.fail(BuildError::TooLarge(TEXT_LEN_MAX));
        }
        if self.mistake.is_none() {
            self.named = false;
            write(&mut self.encoder);
        }
        self
    }

    fn fail(&mut self, mistake: BuildError) -> &mut Builder {
        self.mistake.get_or_insert(mistake);
        self
    }
}
