//! Writes the binary document form, value by value, into one buffer.
//!
//! Called by `parser` and `builder`, which guarantee balanced containers and a name before each
//! field. All memory is kept between documents.
//!
//! Invariants:
//! - `out` holds the version byte and then values only; the shape table is appended at the end, so
//!   closing a container may move its content without touching any reference.
//! - Fields of one object with equal names are written as they come; `duplicates` then says that
//!   the document must be written again before anyone reads it (`complete` does).

use crate::copy::copy_without_duplicates;
use crate::form::{LINEAR_FIELDS_MAX, ROOT, VERSION, Width, tag, value_end};
use crate::intern::{NameId, Names, Shapes, to_u32};
use crate::number::Number;
use crate::value::Document;

/// Contents up to this length are moved to save bytes of their length field. With at most
/// `DEPTH_MAX` levels this bounds the copying hostile nesting can cause.
const MOVED_CONTENT_MAX: usize = 4096;
/// Memory kept between documents.
const KEPT_BYTES_MAX: usize = 4 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Root,
    Array,
    Object,
}

/// A container being written.
#[derive(Clone, Copy, Debug)]
struct Frame {
    kind: Kind,
    /// Width reserved for the length.
    reserved: Width,
    /// Position of the tag.
    start: u32,
    /// Values so far.
    count: u32,
    /// Where the names of this object begin in `pending`.
    names: u32,
    /// One bit per name number modulo 64 seen in this object.
    seen: u64,
}

/// Writer of one document at a time.
pub(crate) struct Encoder {
    out: Vec<u8>,
    names: Names,
    shapes: Shapes,
    current: Frame,
    parents: Vec<Frame>,
    /// Names of the open objects, outer ones first.
    pending: Vec<NameId>,
    last_name: Option<NameId>,
    duplicates: bool,
}

const ROOT_FRAME: Frame = Frame {
    kind: Kind::Root,
    reserved: Width::One,
    start: 0,
    count: 0,
    names: 0,
    seen: 0,
};

impl Encoder {
    pub(crate) fn new() -> Encoder {
        Encoder {
            out: Vec::new(),
            names: Names::new(),
            shapes: Shapes::new(),
            current: ROOT_FRAME,
            parents: Vec::new(),
            pending: Vec::new(),
            last_name: None,
            duplicates: false,
        }
    }

    /// Begins a document of about `len_hint` bytes.
    pub(crate) fn start_document(&mut self, len_hint: usize) {
        self.out.clear();
        if self.out.capacity() > KEPT_BYTES_MAX && len_hint < KEPT_BYTES_MAX / 4 {
            self.out = Vec::new();
        }
        self.out.reserve(len_hint);
        self.out.push(VERSION);
        self.names.start_document();
        self.shapes.start_document();
        self.current = ROOT_FRAME;
        self.parents.clear();
        self.pending.clear();
        self.last_name = None;
        self.duplicates = false;
    }

    /// The innermost open container.
    pub(crate) fn open_kind(&self) -> Kind {
        self.current.kind
    }

    /// Number of values in the innermost open container.
    pub(crate) fn open_count(&self) -> usize {
        self.current.count as usize
    }

    /// Number of open containers.
    pub(crate) fn depth(&self) -> usize {
        self.parents.len()
    }

    /// Bytes of values so far.
    pub(crate) fn len(&self) -> usize {
        self.out.len()
    }

    /// Opens an object or array whose content will be at most about `content_hint` bytes.
    pub(crate) fn begin(&mut self, kind: Kind, content_hint: usize) {
        self.current.count += 1;
        let reserved = match content_hint {
            0..=80 => Width::One,
            81..=0x5000 => Width::Two,
            _ => Width::Four,
        };
        let start = to_u32(self.out.len());
        let names = to_u32(self.pending.len());
        self.out.extend_from_slice(&[0; 5][..1 + reserved.bytes()]);
        self.parents.push(self.current);
        self.current = Frame {
            kind,
            reserved,
            start,
            count: 0,
            names,
            seen: 0,
        };
    }

    /// Names the next value of the open object.
    #[inline]
    pub(crate) fn key(&mut self, name: &[u8]) {
        let id = self.names.intern(name, self.last_name);
        self.last_name = Some(id);
        let bit = 1u64 << (id & 63);
        let fields = &self.pending[self.current.names as usize..];
        if self.current.seen & bit != 0 && fields.len() <= LINEAR_FIELDS_MAX {
            // Longer lists are checked when the object is closed.
            self.duplicates |= fields.contains(&id);
        }
        self.current.seen |= bit;
        self.pending.push(id);
    }

    /// Closes the innermost container.
    pub(crate) fn end(&mut self) {
        let frame = self.current;
        self.current = self.parents.pop().unwrap_or(ROOT_FRAME);
        let content = frame.start as usize + 1 + frame.reserved.bytes();
        let count = frame.count as usize;
        if count == 0 {
            self.out.truncate(frame.start as usize);
            let object = frame.kind == Kind::Object;
            self.out.push(if object {
                tag::EMPTY_OBJECT
            } else {
                tag::EMPTY_ARRAY
            });
            return;
        }
        if frame.kind == Kind::Object {
            self.end_object(&frame, content, count);
        } else {
            let values = self.out.len() - content;
            let width = length_width(frame.reserved, values, |w| values + w.bytes());
            width.push(&mut self.out, count);
            self.set_head(&frame, width, tag::ARRAY + width.class());
        }
    }

    fn end_object(&mut self, frame: &Frame, content: usize, count: usize) {
        let fields = &self.pending[frame.names as usize..];
        let (shape, twice) = self.shapes.intern(fields, &mut self.names);
        self.duplicates |= twice;
        self.pending.truncate(frame.names as usize);
        let shape_width = Width::of(shape);
        let values = self.out.len() - content;
        let indexed = if count > LINEAR_FIELDS_MAX { count } else { 0 };
        let width = length_width(frame.reserved, values, |w| {
            values + indexed * w.bytes() + shape_width.bytes()
        });
        if indexed > 0 {
            self.push_value_positions(content, count, width);
        }
        shape_width.push(&mut self.out, shape);
        let tag = tag::OBJECT + 3 * width.class() + shape_width.class();
        self.set_head(frame, width, tag);
    }

    fn push_value_positions(&mut self, content: usize, count: usize, width: Width) {
        let mut pos = content;
        for _ in 0..count {
            width.push(&mut self.out, pos - content);
            pos = value_end(&self.out, pos).expect("values written here have known lengths");
        }
    }

    /// Writes tag and length, moving the content when another width was reserved.
    fn set_head(&mut self, frame: &Frame, width: Width, tag: u8) {
        let start = frame.start as usize;
        let old = start + 1 + frame.reserved.bytes();
        let new = start + 1 + width.bytes();
        let len = self.out.len() - old;
        if new > old {
            self.out.resize(new + len, 0);
            self.out.copy_within(old..old + len, new);
        } else if new < old {
            self.out.copy_within(old.., new);
            self.out.truncate(new + len);
        }
        self.out[start] = tag;
        width.put(&mut self.out, start + 1, len);
    }

    pub(crate) fn null(&mut self) {
        self.simple(tag::NULL);
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.simple(if value { tag::TRUE } else { tag::FALSE });
    }

    fn simple(&mut self, tag: u8) {
        self.current.count += 1;
        self.out.push(tag);
    }

    #[inline]
    pub(crate) fn string(&mut self, text: &[u8]) {
        self.current.count += 1;
        let len = text.len();
        if len < 0x80 {
            self.out.push(tag::SHORT_STRING | len.to_le_bytes()[0]);
        } else {
            let width = Width::of(len);
            self.out.push(tag::STRING + width.class());
            width.push(&mut self.out, len);
        }
        self.out.extend_from_slice(text);
    }

    #[inline]
    pub(crate) fn long(&mut self, value: i64) {
        self.current.count += 1;
        let b = value.to_le_bytes();
        if (tag::SMALL_LONG_FIRST..=tag::SMALL_LONG_LAST).contains(&value) {
            let step = (value - tag::SMALL_LONG_FIRST).to_le_bytes()[0];
            self.out.push(tag::SMALL_LONG + step);
        } else if i8::try_from(value).is_ok() {
            self.out.extend_from_slice(&[tag::LONG_8, b[0]]);
        } else if i16::try_from(value).is_ok() {
            self.out.extend_from_slice(&[tag::LONG_16, b[0], b[1]]);
        } else if i32::try_from(value).is_ok() {
            self.out
                .extend_from_slice(&[tag::LONG_32, b[0], b[1], b[2], b[3]]);
        } else {
            self.out.push(tag::LONG_64);
            self.out.extend_from_slice(&b);
        }
    }

    /// Writes a number; `text` is its JSON text, used when no exact shorter form exists.
    pub(crate) fn number(&mut self, number: Number, text: &[u8]) {
        match number {
            Number::Long(n) => self.long(n),
            Number::Decimal { mantissa, scale } => self.decimal(mantissa, scale),
            Number::Double(x) => {
                self.current.count += 1;
                self.out.push(tag::DOUBLE);
                self.out.extend_from_slice(&x.to_bits().to_le_bytes());
            }
            Number::Text => self.number_text(text),
        }
    }

    fn decimal(&mut self, mantissa: i32, scale: u8) {
        self.current.count += 1;
        let b = mantissa.to_le_bytes();
        if i8::try_from(mantissa).is_ok() {
            self.out.extend_from_slice(&[tag::DECIMAL_8, scale, b[0]]);
        } else if i16::try_from(mantissa).is_ok() {
            self.out
                .extend_from_slice(&[tag::DECIMAL_16, scale, b[0], b[1]]);
        } else {
            self.out
                .extend_from_slice(&[tag::DECIMAL_32, scale, b[0], b[1], b[2], b[3]]);
        }
    }

    fn number_text(&mut self, text: &[u8]) {
        self.current.count += 1;
        let (tag, width) = match Width::of(text.len()) {
            Width::One => (tag::NUMBER_8, Width::One),
            _ => (tag::NUMBER_32, Width::Four),
        };
        self.out.push(tag);
        width.push(&mut self.out, text.len());
        self.out.extend_from_slice(text);
    }

    /// Appends a value without containers, already in the form.
    pub(crate) fn raw_scalar(&mut self, bytes: &[u8]) {
        self.current.count += 1;
        self.out.extend_from_slice(bytes);
    }

    /// Completes the document; the bytes stay readable until the next one is started. A document
    /// with duplicate fields is written again by `spare`, which changes places with this encoder.
    pub(crate) fn complete(&mut self, spare: &mut Encoder) {
        self.finish();
        if self.duplicates {
            spare.start_document(self.out.len());
            copy_without_duplicates(Document::trusted(&self.out).root(), spare);
            spare.finish();
            std::mem::swap(self, spare);
        }
    }

    /// Completes a document that has no duplicate fields, or is about to be written again.
    pub(crate) fn finish(&mut self) {
        debug_assert!(
            self.parents.is_empty() && self.out.len() > ROOT,
            "one complete root value"
        );
        self.out.reserve(self.shapes.table_len_max());
        self.shapes.write_table(&mut self.out);
    }

    /// The finished document.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// The finished document, taken out.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }
}

/// Width of a length field: the smallest that fits, but the reserved one when moving the content
/// would cost more than the bytes are worth.
fn length_width(reserved: Width, content: usize, len: impl Fn(Width) -> usize) -> Width {
    let smallest = [Width::One, Width::Two, Width::Four]
        .into_iter()
        .find(|&w| len(w) <= w.max())
        .unwrap_or(Width::Four);
    if smallest < reserved && content > MOVED_CONTENT_MAX {
        reserved
    } else {
        smallest
    }
}
