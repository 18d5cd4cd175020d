//! Cuts the array of a bulk insert into its elements as it arrives.
//!
//! Driven by `bulk_insert` with the pieces of the body; knows of no memory limits but that of one
//! element.
//!
//! Invariant: what is ready is whole. An element that ends with its text is, one that announces the
//! content of an attachment is when that has come.

use std::sync::LazyLock;

use jackdaw_database::Command;
use jackdaw_document::{Limits, Parser};
use memchr::{memchr2, memmem::Finder};

use crate::routes::{batch, input};
use crate::wire::{WireError, kind};

/// What stands in the text of every element that announces an attachment.
static ATTACHMENT_PUT: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new(b"\"AttachmentPUT\""));

/// Whole elements: their text, and where each ends.
pub(super) struct Batch {
    /// Longest element.
    element_bytes_max: usize,
    text: Vec<u8>,
    ends: Vec<usize>,
    /// Contents of attachments, and the positions of their elements.
    contents: Vec<(usize, Vec<u8>)>,
}

impl Batch {
    fn new(element_bytes_max: usize) -> Batch {
        Batch {
            element_bytes_max,
            text: Vec::new(),
            ends: Vec::new(),
            contents: Vec::new(),
        }
    }

    pub(super) fn len_bytes(&self) -> usize {
        let contents = self.contents.iter().map(|(_, content)| content.len());
        self.text.len() + contents.sum::<usize>()
    }

    /// How many elements.
    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Takes the text behind `start` away, and the memory that it had.
    fn split_off(&mut self, start: usize) -> Vec<u8> {
        let behind = self.text[start..].to_vec();
        self.text.truncate(start);
        self.text.shrink_to_fit();
        behind
    }

    /// What the elements ask for.
    pub(super) fn commands(self) -> Result<Vec<Command>, WireError> {
        let limits = Limits {
            len_bytes_max: self.element_bytes_max,
            ..Limits::default()
        };
        let (mut parser, mut spare) = (Parser::new(limits), Parser::new(limits));
        let mut commands = Vec::with_capacity(self.ends.len());
        let mut start = 0;
        let mut contents = self.contents.into_iter().peekable();
        for (slot, end) in self.ends.iter().enumerate() {
            let text = &self.text[start..*end];
            let element = parser
                .parse(text)
                .map_err(|error| input::refused(&error, text))?;
            let content = contents
                .next_if(|(of, _)| *of == slot)
                .map(|(_, content)| content);
            commands.extend(batch::read_insert(element.root(), content, &mut spare)?);
            start = *end;
        }
        Ok(commands)
    }
}

/// See the file head.
pub(super) struct Elements {
    element_bytes_max: usize,
    ready: Batch,
    /// The beginning of an element that has not ended yet.
    partial: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Whether `[` has been seen.
    begun: bool,
    /// Whether `]` has been seen.
    ended: bool,
    /// The content of an attachment that has not come as a whole.
    content: Option<Content>,
}

struct Content {
    /// The element that announced it.
    text: Vec<u8>,
    bytes: Vec<u8>,
    /// Bytes that are still to come.
    left: usize,
}

impl Elements {
    pub(super) fn new(element_bytes_max: usize) -> Elements {
        Elements {
            element_bytes_max,
            ready: Batch::new(element_bytes_max),
            partial: Vec::new(),
            depth: 0,
            in_string: false,
            escaped: false,
            begun: false,
            ended: false,
            content: None,
        }
    }

    /// Whether `]` has come.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The elements that are whole.
    pub(super) fn ready(&self) -> &Batch {
        &self.ready
    }

    pub(super) fn take(&mut self) -> Batch {
        std::mem::replace(&mut self.ready, Batch::new(self.element_bytes_max))
    }

    /// Bytes of an element that is not whole.
    pub(super) fn unfinished_bytes(&self) -> usize {
        let content = self.content.as_ref();
        let content = content.map_or(0, |content| content.text.len() + content.bytes.len());
        self.partial.len() + content
    }

    pub(super) fn push(&mut self, piece: &[u8]) -> Result<(), WireError> {
        let mut start = None;
        let mut slot = 0;
        while let Some(byte) = piece.get(slot) {
            if self.content.is_some() {
                slot += self.take_content(&piece[slot..]);
                continue;
            }
            if self.in_string && !self.escaped {
                // Strings are most of an element: on to their next byte that means something.
                let plain_bytes = memchr2(b'"', b'\\', &piece[slot..]);
                match plain_bytes {
                    Some(plain_bytes) => slot += plain_bytes,
                    None => break,
                }
                self.inside(piece[slot]);
            } else if self.depth == 0 {
                if self.between(*byte)? {
                    start = Some(slot);
                }
            } else if self.inside(*byte) {
                let begin = start.take().unwrap_or(0);
                // Its memory goes, too: the next element may be small.
                self.ready.text.extend(std::mem::take(&mut self.partial));
                self.ready.text.extend_from_slice(&piece[begin..=slot]);
                self.finish_element()?;
            }
            slot += 1;
        }
        if self.depth > 0 {
            self.partial.extend_from_slice(&piece[start.unwrap_or(0)..]);
        }
        if self.partial.len() > self.element_bytes_max {
            return Err(WireError::body_too_large(self.element_bytes_max));
        }
        Ok(())
    }

    /// The text of an element has ended: it is whole, unless it announces a content.
    fn finish_element(&mut self) -> Result<(), WireError> {
        let start = self.ready.ends.last().copied().unwrap_or(0);
        match content_len(&self.ready.text[start..])? {
            Some(len) if len > self.element_bytes_max => {
                return Err(WireError::body_too_large(self.element_bytes_max));
            }
            Some(left) => {
                let text = self.ready.split_off(start);
                let bytes = Vec::new();
                self.content = Some(Content { text, bytes, left });
                self.take_content(&[]);
            }
            None => self.ready.ends.push(self.ready.text.len()),
        }
        Ok(())
    }

    /// Takes bytes of the content that is awaited; gives how many.
    fn take_content(&mut self, piece: &[u8]) -> usize {
        let Some(content) = &mut self.content else {
            return 0;
        };
        let count = piece.len().min(content.left);
        content.bytes.extend_from_slice(&piece[..count]);
        content.left -= count;
        let Some(content) = self.content.take_if(|content| content.left == 0) else {
            return count;
        };
        let ready = &mut self.ready;
        ready.contents.push((ready.ends.len(), content.bytes));
        ready.text.extend(content.text);
        ready.ends.push(ready.text.len());
        count
    }

    /// A byte between elements; true when it begins one.
    fn between(&mut self, byte: u8) -> Result<bool, WireError> {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ if self.ended => {}
            b'[' if !self.begun => self.begun = true,
            b',' if self.begun => {}
            b']' if self.begun => self.ended = true,
            b'{' if self.begun => {
                self.depth = 1;
                return Ok(true);
            }
            other => {
                let found = char::from(other).escape_default();
                let message = format!("A bulk insert is an array of objects, but got '{found}'.");
                return Err(WireError::new(kind::INVALID_DATA, message));
            }
        }
        Ok(false)
    }

    /// A byte inside an element; true when it ends it.
    fn inside(&mut self, byte: u8) -> bool {
        if self.in_string {
            if std::mem::take(&mut self.escaped) {
                return false;
            }
            self.escaped = byte == b'\\';
            self.in_string = byte != b'"';
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        self.depth == 0
    }

    /// The body has ended: so must the array.
    pub(super) fn finish(&self) -> Result<(), WireError> {
        if self.ended {
            return Ok(());
        }
        let message = "Stream ended without reaching end of json content";
        Err(WireError::new(kind::END_OF_STREAM, message))
    }
}

/// Length of the content of an attachment that follows an element; `None` when none does.
fn content_len(text: &[u8]) -> Result<Option<usize>, WireError> {
    if ATTACHMENT_PUT.find(text).is_none() {
        return Ok(None);
    }
    let mut parser = Parser::default();
    let element = parser
        .parse(text)
        .map_err(|error| input::refused(&error, text))?;
    let element = element.root();
    if element.get("Type").and_then(|name| name.as_str()) != Some("AttachmentPUT") {
        return Ok(None);
    }
    let len = element.get("ContentLength").and_then(|len| len.as_i64());
    match len.and_then(|len| usize::try_from(len).ok()) {
        Some(len) => Ok(Some(len)),
        None => {
            let message = "An attachment of a bulk insert needs its ContentLength.";
            Err(WireError::new(kind::INVALID_DATA, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, size: usize) -> Result<Vec<String>, WireError> {
        let mut elements = Elements::new(1 << 20);
        let mut cut = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            elements.push(piece)?;
            let batch = elements.take();
            let mut start = 0;
            for end in batch.ends {
                cut.push(String::from_utf8(batch.text[start..end].to_vec()).unwrap());
                start = end;
            }
        }
        elements.finish().map(|()| cut)
    }

    #[test]
    fn elements_are_found_whatever_the_pieces() {
        let text = r#" [ {"a":"}\"]{"}, {"b":[{},{"c":{}}],"d":"\\"},{},
            {"e":"\u00e9"} ] rubbish"#;
        let expected = [
            r#"{"a":"}\"]{"}"#,
            r#"{"b":[{},{"c":{}}],"d":"\\"}"#,
            "{}",
            r#"{"e":"\u00e9"}"#,
        ];
        for size in 1..text.len() {
            assert_eq!(cut(text, size).unwrap(), expected, "{size}");
        }
    }

    #[test]
    fn what_is_not_an_array_of_objects_is_refused() {
        for text in [
            "", "[", "[{}", "[{\"a\":", "{}", "[1]", "[[]]", "x", "[{},7",
        ] {
            assert!(cut(text, 3).is_err(), "{text}");
        }
        assert!(cut("[]", 1).unwrap().is_empty());
    }

    #[test]
    fn an_element_is_whole_with_its_content() {
        let put = r#"{"Type":"AttachmentPUT","ContentLength":9}"#;
        let text = format!(r#"[{{"a":1}},{put}[{{"x":2}}],{{"b":"#);
        for size in 1..text.len() {
            let mut elements = Elements::new(64);
            let (mut ends, mut contents) = (0, Vec::new());
            for piece in text.as_bytes().chunks(size) {
                elements.push(piece).unwrap();
                let batch = elements.take();
                ends += batch.ends.len();
                contents.extend(batch.contents.into_iter().map(|(_, content)| content));
            }
            assert_eq!(
                (ends, contents),
                (2, vec![br#"[{"x":2}]"#.to_vec()]),
                "{size}"
            );
            assert_eq!(elements.unfinished_bytes(), r#"{"b":"#.len(), "{size}");
        }
        let mut elements = Elements::new(64);
        let (begun, _) = text.split_at(text.find("2}").unwrap());
        elements.push(begun.as_bytes()).unwrap();
        assert_eq!(elements.ready().len_bytes(), r#"{"a":1}"#.len());
        assert_eq!(elements.unfinished_bytes(), put.len() + r#"[{"x":"#.len());
        let long = put.replace('9', "65");
        assert!(
            Elements::new(64)
                .push(format!("[{long}").as_bytes())
                .is_err()
        );
        let empty = put.replace('9', "0");
        elements = Elements::new(64);
        elements.push(format!("[{empty}]").as_bytes()).unwrap();
        assert_eq!(elements.take().contents, [(0, Vec::new())]);
    }
}
