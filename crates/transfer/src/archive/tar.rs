//! tar archives as a stream of entries: ustar, GNU long names, pax headers, old V7 headers.
//!
//! An own reader rather than the usual crate, for what happens to twenty-year-old archives: every
//! error names the entry and the position, an entry that is too long costs no memory, and behind
//! damage the reader finds the next header and goes on.
//!
//! Called by the read stage of the imports.
//!
//! Invariants:
//! - An entry's content is handed out whole or not at all.
//! - At most `limit + READ_BYTES` bytes are buffered, whatever the headers claim.

use super::{ByteSource, SourceError};

/// Unit of the format.
const BLOCK_BYTES: usize = 512;
/// Bytes taken from the source at a time.
const READ_BYTES: usize = 256 * 1024;
/// Longest name and longest pax header taken; Linux paths end at 4,096 bytes.
const NAME_BYTES_MAX: u64 = 64 * 1024;

/// What the archive holds next.
#[derive(Debug, PartialEq, Eq)]
pub enum TarItem {
    /// A file, whose content was appended.
    File {
        /// Path in the archive; bytes that are not UTF-8 are replaced.
        name: String,
    },
    /// A file longer than the limit; it was passed over.
    TooLong {
        /// Path in the archive.
        name: String,
        /// Its length.
        len_bytes: u64,
    },
    /// Bytes that are no tar archive, or a file that damage cut in two; reading goes on behind.
    Damaged {
        /// The file that was lost, or the last one before the damage.
        name: String,
        /// What is wrong, and where.
        what: String,
    },
    /// The end.
    End,
}

/// Reads a tar archive. `S` is the decompressed stream.
pub struct TarReader<S> {
    source: S,
    buffer: Vec<u8>,
    /// The bytes of `buffer` that are not taken yet begin here.
    taken: usize,
    /// Position of `buffer[taken]` in the decompressed stream.
    position: u64,
    ended: bool,
    last_name: String,
    saw_end_mark: bool,
}

/// What one header says.
struct Header {
    name: Vec<u8>,
    len_bytes: u64,
    kind: u8,
}

/// What the headers before an entry say about it.
#[derive(Default)]
struct Extensions {
    name: Option<Vec<u8>>,
    len_bytes: Option<u64>,
}

/// Why an entry could not be read; decides whether to look for the next header.
enum Trouble {
    /// Bytes are missing here, of unknown number.
    Gap(String),
    /// The header is not one, but the blocks still stand at multiples of 512.
    BadHeader(String),
    Fatal(SourceError),
}

impl From<SourceError> for Trouble {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Gap { .. } => Self::Gap(error.to_string()),
            SourceError::Fatal { .. } => Self::Fatal(error),
        }
    }
}

impl<S: ByteSource> TarReader<S> {
    /// Reads from the start of `source`.
    pub fn new(source: S) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            taken: 0,
            position: 0,
            ended: false,
            last_name: String::new(),
            saw_end_mark: false,
        }
    }

    /// The next file of at most `limit` bytes; its content is appended to `content`.
    ///
    /// # Errors
    /// [`SourceError::Fatal`] when the stream cannot be read on; its sentence names the entry.
    pub fn next_item(&mut self, content: &mut Vec<u8>, limit: u64) -> Result<TarItem, SourceError> {
        let start = content.len();
        let trouble = match self.read_item(content, limit) {
            Ok(item) => return Ok(item),
            Err(trouble) => trouble,
        };
        content.truncate(start);
        let name = self.last_name.clone();
        let (what, step) = match trouble {
            Trouble::Fatal(error) => return Err(self.name_entry(error)),
            Trouble::Gap(what) => (what, 1),
            Trouble::BadHeader(what) => (what, BLOCK_BYTES),
        };
        let position = self.position;
        self.find_header(step)?;
        let lost = self.position - position;
        Ok(TarItem::Damaged {
            name,
            what: format!("{what}; {lost} bytes were passed over"),
        })
    }

    fn read_item(&mut self, content: &mut Vec<u8>, limit: u64) -> Result<TarItem, Trouble> {
        let mut extensions = Extensions::default();
        loop {
            if !self.ensure(BLOCK_BYTES)? {
                return self.end();
            }
            let block = &self.buffer[self.taken..self.taken + BLOCK_BYTES];
            if block.iter().all(|&byte| byte == 0) {
                self.saw_end_mark = true;
                self.take(BLOCK_BYTES);
                continue;
            }
            let Some(header) = parse_header(block) else {
                if self.saw_end_mark {
                    // Garbage behind the end mark is no part of the archive.
                    self.ended = true;
                    self.taken = self.buffer.len();
                    return Ok(TarItem::End);
                }
                let position = self.position;
                return Err(Trouble::BadHeader(format!(
                    "there is no tar header at byte {position} of the unpacked archive"
                )));
            };
            self.saw_end_mark = false;
            self.take(BLOCK_BYTES);
            match header.kind {
                b'L' => {
                    let mut name = self.small_content(header.len_bytes)?;
                    name.truncate(name.iter().position(|&b| b == 0).unwrap_or(name.len()));
                    extensions.name = Some(name);
                }
                b'x' => {
                    let records = self.small_content(header.len_bytes)?;
                    read_pax(&records, &mut extensions);
                }
                b'0' | b'7' | 0 => return self.file(header, extensions, content, limit),
                _ => {
                    // Directories, links and devices hold nothing that could be imported.
                    self.pass_over(padded(header.len_bytes))?;
                    extensions = Extensions::default();
                }
            }
        }
    }

    fn file(
        &mut self,
        header: Header,
        extensions: Extensions,
        content: &mut Vec<u8>,
        limit: u64,
    ) -> Result<TarItem, Trouble> {
        let name = extensions.name.unwrap_or(header.name);
        let name = String::from_utf8_lossy(&name).into_owned();
        self.last_name.clone_from(&name);
        let len_bytes = extensions.len_bytes.unwrap_or(header.len_bytes);
        if len_bytes > limit {
            self.pass_over(padded(len_bytes))?;
            return Ok(TarItem::TooLong { name, len_bytes });
        }
        self.copy_content(len_bytes, content)?;
        Ok(TarItem::File { name })
    }

    /// The end of the stream: complete, or cut at an entry's end.
    fn end(&mut self) -> Result<TarItem, Trouble> {
        let rest = self.buffer.len() - self.taken;
        self.taken = self.buffer.len();
        self.position += rest as u64;
        if self.saw_end_mark || (self.position == 0 && rest == 0) {
            return Ok(TarItem::End);
        }
        if rest > 0 {
            return Err(Trouble::Fatal(self.too_early()));
        }
        self.saw_end_mark = true;
        Ok(TarItem::Damaged {
            name: self.last_name.clone(),
            what: "the archive ends behind this entry without the end mark of a tar archive; \
                   it may be cut short"
                .to_owned(),
        })
    }

    /// Content of a header that describes the next entry.
    fn small_content(&mut self, len_bytes: u64) -> Result<Vec<u8>, Trouble> {
        if len_bytes > NAME_BYTES_MAX {
            return Err(Trouble::BadHeader(format!(
                "the header at byte {} of the unpacked archive is {len_bytes} bytes long",
                self.position
            )));
        }
        let mut content = Vec::new();
        self.copy_content(len_bytes, &mut content)?;
        Ok(content)
    }

    /// Appends `len_bytes` of content and passes over the padding behind it.
    fn copy_content(&mut self, len_bytes: u64, content: &mut Vec<u8>) -> Result<(), Trouble> {
        let mut left = len_bytes;
        while left > 0 {
            let available = self.available(1)?;
            let len = usize::try_from(left).unwrap_or(usize::MAX).min(available);
            content.extend_from_slice(&self.buffer[self.taken..self.taken + len]);
            self.take(len);
            left -= len as u64;
        }
        self.pass_over(padded(len_bytes) - len_bytes)
    }

    fn pass_over(&mut self, len_bytes: u64) -> Result<(), Trouble> {
        let mut left = len_bytes;
        while left > 0 {
            let available = self.available(1)?;
            let len = usize::try_from(left).unwrap_or(usize::MAX).min(available);
            self.take(len);
            left -= len as u64;
        }
        Ok(())
    }

    /// Makes at least `len` bytes available or fails: the archive promised them.
    fn available(&mut self, len: usize) -> Result<usize, Trouble> {
        if self.ensure(len)? {
            return Ok(self.buffer.len() - self.taken);
        }
        Err(Trouble::Fatal(self.too_early()))
    }

    fn too_early(&self) -> SourceError {
        SourceError::Fatal {
            file_position: self.position,
            what: "the archive ends too early".to_owned(),
        }
    }

    /// Whether `len` bytes are available, reading on as needed.
    fn ensure(&mut self, len: usize) -> Result<bool, SourceError> {
        while self.buffer.len() - self.taken < len {
            if self.ended {
                return Ok(false);
            }
            self.buffer.drain(..self.taken);
            self.taken = 0;
            let before = self.buffer.len();
            self.buffer.resize(before + READ_BYTES, 0);
            let read = self.source.read(&mut self.buffer[before..]);
            self.buffer.truncate(before + *read.as_ref().unwrap_or(&0));
            self.ended = read? == 0;
        }
        Ok(true)
    }

    fn take(&mut self, len: usize) {
        self.taken += len;
        self.position += len as u64;
    }

    /// Goes on to the next header, or to the end. After a gap headers may stand anywhere, else at
    /// multiples of `step`.
    fn find_header(&mut self, step: usize) -> Result<(), SourceError> {
        // What stands here is no header, or was taken already.
        let mut step_next = if step == 1 { 0 } else { step };
        let mut step = step;
        loop {
            match self.ensure(step_next + BLOCK_BYTES) {
                Ok(true) => {}
                Ok(false) => {
                    self.position += (self.buffer.len() - self.taken) as u64;
                    self.taken = self.buffer.len();
                    self.saw_end_mark = true;
                    return Ok(());
                }
                Err(SourceError::Gap { .. }) => {
                    step = 1;
                    continue;
                }
                Err(error) => return Err(self.name_entry(error)),
            }
            self.take(step_next);
            step_next = step;
            let block = &self.buffer[self.taken..self.taken + BLOCK_BYTES];
            let marked = block[257..262] == *b"ustar";
            if (marked || step > 1) && parse_header(block).is_some() {
                return Ok(());
            }
        }
    }

    /// Adds to an error what was being read.
    fn name_entry(&self, error: SourceError) -> SourceError {
        match error {
            SourceError::Fatal {
                file_position,
                what,
            } if !self.last_name.is_empty() => SourceError::Fatal {
                file_position,
                what: format!("{what}, in or behind entry {}", self.last_name),
            },
            other => other,
        }
    }
}

/// Whether `head` (the first 512 bytes) begins a tar archive.
#[must_use]
pub fn looks_like_tar(head: &[u8]) -> bool {
    head.len() >= BLOCK_BYTES && parse_header(&head[..BLOCK_BYTES]).is_some()
}

/// A length rounded up to whole blocks.
fn padded(len_bytes: u64) -> u64 {
    len_bytes.saturating_add(BLOCK_BYTES as u64 - 1) / BLOCK_BYTES as u64 * BLOCK_BYTES as u64
}

/// Reads a header block; `None` when its checksum or its numbers are wrong.
fn parse_header(block: &[u8]) -> Option<Header> {
    let stated = parse_octal(&block[148..156])?;
    let (mut unsigned, mut signed) = (0u64, 0i64);
    for (position, &byte) in block.iter().enumerate() {
        let byte = if (148..156).contains(&position) {
            b' '
        } else {
            byte
        };
        unsigned += u64::from(byte);
        signed += i64::from(byte.cast_signed());
    }
    // Old tools summed signed characters.
    if stated != unsigned && i64::try_from(stated) != Ok(signed) {
        return None;
    }
    let mut name = Vec::new();
    if &block[257..263] == b"ustar\0" && block[345] != 0 {
        name.extend_from_slice(until_nul(&block[345..500]));
        name.push(b'/');
    }
    name.extend_from_slice(until_nul(&block[..100]));
    Some(Header {
        name,
        len_bytes: parse_size(&block[124..136])?,
        kind: block[156],
    })
}

fn until_nul(field: &[u8]) -> &[u8] {
    &field[..field.iter().position(|&b| b == 0).unwrap_or(field.len())]
}

/// A size: octal digits, or for large files a binary number marked by its first bit.
fn parse_size(field: &[u8]) -> Option<u64> {
    match field {
        [0x80, 0, 0, 0, number @ ..] => Some(u64::from_be_bytes(number.try_into().ok()?)),
        [first, ..] if first & 0x80 != 0 => None,
        _ => parse_octal(field),
    }
}

/// Octal digits between blanks and NULs; an empty field is 0.
fn parse_octal(field: &[u8]) -> Option<u64> {
    let digits = until_nul(field).trim_ascii();
    if digits.len() > 21 {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| match digit {
        b'0'..=b'7' => number.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

/// The records `path` and `size` of a pax header: `<length> <key>=<value>\n`.
fn read_pax(records: &[u8], extensions: &mut Extensions) {
    let mut rest = records;
    while let Some(blank) = rest.iter().position(|&b| b == b' ') {
        let Some(len) = std::str::from_utf8(&rest[..blank])
            .ok()
            .and_then(|t| t.parse().ok())
        else {
            return;
        };
        let Some(record) = rest.get(blank + 1..len) else {
            return;
        };
        let record = record.strip_suffix(b"\n").unwrap_or(record);
        if let Some(path) = record.strip_prefix(b"path=") {
            extensions.name = Some(path.to_vec());
        } else if let Some(size) = record.strip_prefix(b"size=") {
            extensions.len_bytes = std::str::from_utf8(size).ok().and_then(|t| t.parse().ok());
        }
        rest = &rest[len..];
    }
}

#[cfg(test)]
mod tests;
