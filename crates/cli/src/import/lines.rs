//! Text files cut into entries: the lines of NDJSON, the records of CSV.
//!
//! Called by the read stage; the parse threads get whole lines and whole records.
//!
//! Invariants:
//! - An entry's name is its place in the file (`line 17`), whatever is skipped before it.
//! - At most [`ENTRY_BYTES_MAX`] and one read are buffered: an entry beyond that is passed over.

use super::archive::{ByteSource, SourceError};
use super::chunk::{Chunk, Filled, Skipped};
use super::skip::SkipReason;
use super::source::{ChunkSource, ENTRY_BYTES_MAX};

/// Bytes taken from the source at a time.
const READ_BYTES: usize = 256 * 1024;

/// Finds where entries end.
pub trait Splitter: Send {
    /// Looks at `bytes`, which begin where the last call stopped, and gives the length up to and
    /// including the end of the entry, if it is there.
    fn find_end(&mut self, bytes: &[u8]) -> Option<usize>;
    /// Forgets the entry that was begun.
    fn reset(&mut self);
}

/// Every line break ends an entry.
#[derive(Debug, Default)]
pub struct Lines;

impl Splitter for Lines {
    fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        bytes
            .iter()
            .position(|&byte| byte == b'\n')
            .map(|position| position + 1)
    }

    fn reset(&mut self) {}
}

/// A line break outside quotes ends an entry. Quotes count as the CSV reader counts them: they
/// open a field only at its beginning.
#[derive(Debug)]
pub struct Records {
    delimiter: u8,
    state: RecordState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordState {
    FieldStart,
    Unquoted,
    Quoted,
    /// Behind a quote inside quotes: either the end of them or half of a doubled quote.
    QuoteInQuoted,
}

impl Records {
    /// Records whose fields are separated by `delimiter`.
    #[must_use]
    pub fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            state: RecordState::FieldStart,
        }
    }
}

impl Splitter for Records {
    fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        use RecordState::{FieldStart, QuoteInQuoted, Quoted, Unquoted};
        for (position, &byte) in bytes.iter().enumerate() {
            self.state = match (self.state, byte) {
                (Quoted, b'"') => QuoteInQuoted,
                (Quoted, _) => Quoted,
                (FieldStart | QuoteInQuoted, b'"') => Quoted,
                (_, b'\n') => {
                    self.state = FieldStart;
                    return Some(position + 1);
                }
                (_, byte) if byte == self.delimiter => FieldStart,
                _ => Unquoted,
            };
        }
        None
    }

    fn reset(&mut self) {
        self.state = RecordState::FieldStart;
    }
}

/// A stream cut into entries by a [`Splitter`].
pub struct LineSource<S> {
    input: Buffered,
    splitter: S,
    /// Bytes of the current entry that the splitter has seen.
    searched: usize,
    /// Line breaks before the current entry.
    line: u64,
}

/// A stream and what was read from it ahead.
struct Buffered {
    stream: Box<dyn ByteSource>,
    buffer: Vec<u8>,
    /// Where the current entry begins in `buffer`.
    start: usize,
    ended: bool,
}

impl Buffered {
    fn read(&mut self) -> Result<(), SourceError> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let before = self.buffer.len();
        self.buffer.resize(before + READ_BYTES, 0);
        let read = self.stream.read(&mut self.buffer[before..]);
        self.buffer.truncate(before + *read.as_ref().unwrap_or(&0));
        self.ended = read? == 0;
        Ok(())
    }
}

impl<S: Splitter> LineSource<S> {
    /// Cuts `stream` with the splitter that `choose` makes for its first bytes. A byte order mark
    /// at the beginning is left out.
    ///
    /// # Errors
    /// Those of the first read.
    pub fn new(
        stream: Box<dyn ByteSource>,
        choose: impl FnOnce(&[u8]) -> S,
    ) -> Result<Self, SourceError> {
        let mut input = Buffered {
            stream,
            buffer: Vec::new(),
            start: 0,
            ended: false,
        };
        while input.buffer.len() < 3 && !input.ended {
            input.read()?;
        }
        if input.buffer.starts_with(b"\xef\xbb\xbf") {
            input.start = 3;
        }
        let splitter = choose(&input.buffer[input.start..]);
        Ok(Self {
            input,
            splitter,
            searched: 0,
            line: 0,
        })
    }

    /// The next entry without its line break, appended to `out`.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<Filled, SourceError> {
        loop {
            let name = format!("line {}", self.line + 1);
            let unseen = &self.input.buffer[self.input.start + self.searched..];
            if let Some(len) = self.splitter.find_end(unseen) {
                let end = self.input.start + self.searched + len;
                out.extend_from_slice(without_break(&self.input.buffer[self.input.start..end]));
                self.go_to(end);
                return Ok(Filled::Entry(name));
            }
            self.searched = self.input.buffer.len() - self.input.start;
            if self.input.ended {
                if self.searched == 0 {
                    return Ok(Filled::End);
                }
                out.extend_from_slice(&self.input.buffer[self.input.start..]);
                self.go_to(self.input.buffer.len());
                return Ok(Filled::Entry(name));
            }
            if self.searched as u64 > ENTRY_BYTES_MAX {
                let reason = self.pass_over()?;
                return Ok(Filled::Skipped(Skipped { name, reason }));
            }
            match self.input.read() {
                Err(SourceError::Gap { what, .. }) => {
                    self.pass_line()?;
                    let reason = SkipReason::Damaged { what };
                    return Ok(Filled::Skipped(Skipped { name, reason }));
                }
                other => other?,
            }
        }
    }

    /// Leaves out an entry that is too long: one line of it when it began as several, because a
    /// quote that is never closed must not cost the rest of the file.
    fn pass_over(&mut self) -> Result<SkipReason, SourceError> {
        let entry = &self.input.buffer[self.input.start..];
        let reason = if entry.contains(&b'\n') {
            SkipReason::Malformed {
                what: "a quote in it is never closed".to_owned(),
            }
        } else {
            SkipReason::TooLong {
                len_bytes: entry.len() as u64,
                limit: ENTRY_BYTES_MAX,
            }
        };
        self.pass_line()?;
        Ok(reason)
    }

    /// Goes behind the next line break.
    fn pass_line(&mut self) -> Result<(), SourceError> {
        loop {
            let line_break = self.input.buffer[self.input.start..]
                .iter()
                .position(|&byte| byte == b'\n');
            if let Some(position) = line_break {
                self.go_to(self.input.start + position + 1);
                return Ok(());
            }
            self.input.start = self.input.buffer.len();
            if self.input.ended {
                self.go_to(self.input.start);
                return Ok(());
            }
            match self.input.read() {
                Ok(()) | Err(SourceError::Gap { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn go_to(&mut self, end: usize) {
        let passed = &self.input.buffer[self.input.start..end];
        self.line += passed.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.input.start = end;
        self.searched = 0;
        self.splitter.reset();
    }
}

impl<S: Splitter> ChunkSource for LineSource<S> {
    fn fill(&mut self, chunk: &mut Chunk) -> Result<bool, SourceError> {
        while !chunk.is_full() {
            if !chunk.push_with(|bytes| self.next(bytes))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn without_break(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::archive::open_stream;
    use super::*;

    fn list<S: Splitter>(splitter: S, text: &[u8]) -> Vec<String> {
        let stream = open_stream(
            Box::new(std::io::Cursor::new(text.to_vec())),
            Arc::default(),
            1,
        )
        .unwrap();
        let mut source = LineSource::new(stream, |_| splitter).unwrap();
        let mut out = Vec::new();
        loop {
            let mut content = Vec::new();
            out.push(match source.next(&mut content).unwrap() {
                Filled::End => return out,
                Filled::Entry(name) => format!("{name}: {}", String::from_utf8_lossy(&content)),
                Filled::Skipped(skipped) => {
                    format!("{}: skipped, {}", skipped.name, skipped.reason.kind())
                }
            });
        }
    }

    #[test]
    fn lines_end_at_line_breaks_and_at_the_end() {
        assert_eq!(
            list(Lines, b"a\r\n\nb"),
            ["line 1: a", "line 2: ", "line 3: b"]
        );
        assert_eq!(list(Lines, b"\xef\xbb\xbfa\n"), ["line 1: a"]);
        assert_eq!(list(Lines, b""), Vec::<String>::new());
    }

    #[test]
    fn records_may_hold_line_breaks_in_quotes() {
        assert_eq!(
            list(
                Records::new(b','),
                b"a,\"b\nc\"\nd,e\"f\n\"g\"\"\n\",h\n\"\"\n"
            ),
            [
                "line 1: a,\"b\nc\"",
                "line 3: d,e\"f",
                "line 4: \"g\"\"\n\",h",
                "line 6: \"\""
            ]
        );
        assert_eq!(
            list(Records::new(b';'), b"a;\"b;\nc\""),
            ["line 1: a;\"b;\nc\""]
        );
    }

    #[test]
    fn an_entry_beyond_the_limit_costs_itself_alone() {
        let long = vec![b'x'; usize::try_from(ENTRY_BYTES_MAX).unwrap() + 400_000];
        let text = [b"a\n".as_slice(), &long, b"\nb\n"].concat();
        assert_eq!(
            list(Lines, &text),
            ["line 1: a", "line 2: skipped, entry too long", "line 3: b"]
        );
    }

    #[test]
    fn a_quote_that_is_never_closed_costs_its_line_alone() {
        let mut text = b"a,\"b\n".to_vec();
        for _ in 0..600_000 {
            text.extend_from_slice(b"c,d,e,f\n");
        }
        let lines = list(Records::new(b','), &text);
        assert_eq!(lines[0], "line 1: skipped, malformed");
        assert_eq!(lines[1], "line 2: c,d,e,f");
        assert_eq!(lines.len(), 600_001);
    }
}
