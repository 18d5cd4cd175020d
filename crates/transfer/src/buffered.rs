//! A stream of text with what was read of it ahead, for sources that cut it into entries.
//!
//! Invariants:
//! - `buffer[start..]` are the bytes that follow the last entry; at least those of the current
//!   entry are kept.

use crate::archive::{ByteSource, SourceError};
use crate::encoding::as_utf8;

/// Bytes taken from the stream at a time.
const READ_BYTES: usize = 256 * 1024;

/// See the file head.
pub(crate) struct Buffered {
    stream: Box<dyn ByteSource>,
    pub(crate) buffer: Vec<u8>,
    /// Where the current entry begins in `buffer`.
    pub(crate) start: usize,
    pub(crate) ended: bool,
    /// A gap behind the buffer, met before the first entry was requested.
    gap: Option<SourceError>,
}

impl Buffered {
    /// Reads the beginning of `stream`. UTF-16 is read as UTF-8; a byte order mark is left out.
    pub(crate) fn new(stream: Box<dyn ByteSource>) -> Result<Self, SourceError> {
        let mut input = Self {
            stream: as_utf8(stream)?,
            buffer: Vec::new(),
            start: 0,
            ended: false,
            gap: None,
        };
        input.read_beginning()?;
        if input.buffer.starts_with(b"\xef\xbb\xbf") {
            input.start = 3;
        }
        Ok(input)
    }

    /// What is buffered and not passed.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Reads more behind what is buffered.
    pub(crate) fn read(&mut self) -> Result<(), SourceError> {
        if let Some(gap) = self.gap.take() {
            return Err(gap);
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let before = self.buffer.len();
        self.buffer.resize(before + READ_BYTES, 0);
        let read = self.stream.read(&mut self.buffer[before..]);
        self.buffer.truncate(before + *read.as_ref().unwrap_or(&0));
        self.ended = read? == 0;
        Ok(())
    }

    /// Reads the beginning of the stream, by which its dialect is chosen.
    fn read_beginning(&mut self) -> Result<(), SourceError> {
        while self.buffer.len() < READ_BYTES && !self.ended {
            match self.read() {
                Err(gap @ SourceError::Gap { .. }) if !self.buffer.is_empty() => {
                    self.gap = Some(gap);
                    return Ok(());
                }
                other => other?,
            }
        }
        Ok(())
    }
}
