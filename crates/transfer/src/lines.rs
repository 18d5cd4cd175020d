//! Text files cut into entries: the lines of NDJSON, the records of CSV.
//!
//! Called by the read stage; the parse threads get whole lines and whole records.
//!
//! Invariants:
//! - An entry's name is its place in the file (`line 17`), whatever is skipped before it.
//! - At most [`LINE_BYTES_MAX`] and one read are buffered: an entry beyond that is passed over.
//! - An unclosed quote costs its line alone: the lines behind it are entries of their own.

use crate::archive::{ByteSource, SourceError};
use crate::buffered::Buffered;
use crate::chunk::{Chunk, Filled, Skipped};
use crate::dialect::Dialect;
use crate::skip::SkipReason;
use crate::source::ChunkSource;

/// Longest line or record: as much JSON as a database accepts for one document, and room for the
/// metadata that an export adds. Longer ones are skipped, as the database would refuse them.
pub const LINE_BYTES_MAX: u64 = 65 << 20;

/// Finds where entries end.
pub trait Splitter: Send {
    /// Looks at `bytes`, which begin where the last call stopped, for the end of the entry.
    fn find_end(&mut self, bytes: &[u8]) -> Option<Found>;
    /// Whether the entry, which the end of the input cuts off, has a quote that is not closed.
    fn is_open(&self) -> bool;
    /// The byte that ends lines.
    fn line_break(&self) -> u8;
    /// Forgets the entry that was begun.
    fn reset(&mut self);
}

/// What a [`Splitter`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The entry ends behind so many bytes, its line break included.
    End(usize),
    /// A quote of the entry's first line is not closed before the quote of another line.
    Unclosed,
}

/// Every line break ends an entry.
#[derive(Debug)]
pub struct Lines {
    /// The byte that ends lines.
    pub line_break: u8,
}

impl Splitter for Lines {
    fn find_end(&mut self, bytes: &[u8]) -> Option<Found> {
        bytes
            .iter()
            .position(|&byte| byte == self.line_break)
            .map(|position| Found::End(position + 1))
    }

    fn is_open(&self) -> bool {
        false
    }

    fn line_break(&self) -> u8 {
        self.line_break
    }

    fn reset(&mut self) {}
}

/// A line break outside quotes ends an entry. Quotes count as the CSV reader counts them: they
/// open a field only at its beginning.
#[derive(Debug)]
pub struct Records {
    dialect: Dialect,
    state: RecordState,
    /// Whether a line break stands between quotes.
    spans_lines: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordState {
    RecordStart,
    FieldStart,
    Unquoted,
    Quoted,
    /// Behind an escape character inside quotes.
    Escaped,
    /// Behind a quote inside quotes: either the end of them or half of a doubled quote.
    QuoteInQuoted,
    Comment,
}

impl Records {
    /// Records of `dialect`.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            state: RecordState::RecordStart,
            spans_lines: false,
        }
    }
}

impl Splitter for Records {
    fn find_end(&mut self, bytes: &[u8]) -> Option<Found> {
        use RecordState::{
            Comment, Escaped, FieldStart, QuoteInQuoted, Quoted, RecordStart, Unquoted,
        };
        let Dialect {
            delimiter,
            line_break,
            quote,
            escape,
            comment,
        } = self.dialect;
        for (position, &byte) in bytes.iter().enumerate() {
            self.state = match (self.state, byte) {
                (Escaped, byte) => {
                    self.spans_lines |= byte == line_break;
                    Quoted
                }
                (Quoted, byte) if Some(byte) == escape && byte != quote => Escaped,
                (Quoted, byte) if byte == quote => QuoteInQuoted,
                (Quoted, byte) => {
                    self.spans_lines |= byte == line_break;
                    Quoted
                }
                (RecordStart, byte) if Some(byte) == comment => Comment,
                (RecordStart | FieldStart | QuoteInQuoted, byte) if byte == quote => Quoted,
                (_, byte) if byte == line_break => {
                    self.reset();
                    return Some(Found::End(position + 1));
                }
                (Comment, _) => Comment,
                (_, byte) if byte == delimiter => FieldStart,
                // The quote that seemed to close one of an earlier line opens a field.
                (QuoteInQuoted, byte) if self.spans_lines && byte != b'\r' => {
                    return Some(Found::Unclosed);
                }
                _ => Unquoted,
            };
        }
        None
    }

    fn is_open(&self) -> bool {
        matches!(self.state, RecordState::Quoted | RecordState::Escaped)
    }

    fn line_break(&self) -> u8 {
        self.dialect.line_break
    }

    fn reset(&mut self) {
        self.state = RecordState::RecordStart;
        self.spans_lines = false;
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
    /// An entry that was looked at, with its name.
    put_back: Option<(String, Vec<u8>)>,
}

impl<S: Splitter> LineSource<S> {
    /// Cuts `stream` with the splitter that `choose` makes for its first bytes. UTF-16 is read as
    /// UTF-8; a byte order mark at the beginning is left out.
    ///
    /// # Errors
    /// Those of the first read; also UTF-32, which is not read.
    pub fn new(
        stream: Box<dyn ByteSource>,
        choose: impl FnOnce(&[u8]) -> S,
    ) -> Result<Self, SourceError> {
        let input = Buffered::new(stream)?;
        let splitter = choose(input.unread());
        Ok(Self {
            input,
            splitter,
            searched: 0,
            line: 0,
            put_back: None,
        })
    }

    /// Makes an entry the next one once more.
    pub(crate) fn put_back(&mut self, name: String, content: Vec<u8>) {
        self.put_back = Some((name, content));
    }

    /// The next entry without its line break, appended to `out`.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<Filled, SourceError> {
        if let Some((name, content)) = self.put_back.take() {
            out.extend_from_slice(&content);
            return Ok(Filled::Entry(name));
        }
        loop {
            let name = format!("line {}", self.line + 1);
            let unseen = &self.input.buffer[self.input.start + self.searched..];
            match self.splitter.find_end(unseen) {
                Some(Found::End(len)) => {
                    let end = self.input.start + self.searched + len;
                    out.extend_from_slice(self.without_break(end));
                    self.go_to(end);
                    return Ok(Filled::Entry(name));
                }
                Some(Found::Unclosed) => return self.skip_unclosed(name),
                None => {}
            }
            self.searched = self.input.buffer.len() - self.input.start;
            if self.input.ended {
                if self.searched == 0 {
                    return Ok(Filled::End);
                }
                if self.splitter.is_open() {
                    return self.skip_unclosed(name);
                }
                let end = self.input.buffer.len();
                out.extend_from_slice(self.without_break(end));
                self.go_to(end);
                return Ok(Filled::Entry(name));
            }
            if self.searched as u64 > LINE_BYTES_MAX {
                return self.skip_too_long(name);
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

    /// Leaves out the first line of an entry with a quote that is not closed.
    fn skip_unclosed(&mut self, name: String) -> Result<Filled, SourceError> {
        self.pass_line()?;
        let what = "a quote in it is never closed".to_owned();
        let reason = SkipReason::Malformed { what };
        Ok(Filled::Skipped(Skipped { name, reason }))
    }

    /// Leaves out an entry that is too long: one line of it when it began as several, because
    /// then a quote in it is not closed.
    fn skip_too_long(&mut self, name: String) -> Result<Filled, SourceError> {
        let entry = &self.input.buffer[self.input.start..];
        if entry.contains(&self.splitter.line_break()) {
            return self.skip_unclosed(name);
        }
        let reason = SkipReason::TooLong {
            len_bytes: entry.len() as u64,
            limit: LINE_BYTES_MAX,
        };
        self.pass_line()?;
        Ok(Filled::Skipped(Skipped { name, reason }))
    }

    /// The entry up to `end`, without its line break.
    fn without_break(&self, end: usize) -> &[u8] {
        let entry = &self.input.buffer[self.input.start..end];
        let entry = match entry.split_last() {
            Some((last, rest)) if *last == self.splitter.line_break() => rest,
            _ => entry,
        };
        entry.strip_suffix(b"\r").unwrap_or(entry)
    }

    /// Goes behind the next line break.
    pub(crate) fn pass_line(&mut self) -> Result<(), SourceError> {
        loop {
            let line_break = self.input.buffer[self.input.start..]
                .iter()
                .position(|&byte| byte == self.splitter.line_break());
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
        let line_break = self.splitter.line_break();
        self.line += passed.iter().filter(|&&byte| byte == line_break).count() as u64;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::archive::open_stream;

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

    const LF: Lines = Lines { line_break: b'\n' };

    fn records(delimiter: u8, line_break: u8) -> Records {
        Records::new(Dialect {
            delimiter,
            line_break,
            quote: b'"',
            escape: None,
            comment: None,
        })
    }

    fn commas() -> Records {
        records(b',', b'\n')
    }

    #[test]
    fn lines_end_at_line_breaks_and_at_the_end() {
        assert_eq!(
            list(LF, b"a\r\n\nb"),
            ["line 1: a", "line 2: ", "line 3: b"]
        );
        assert_eq!(list(LF, b"\xef\xbb\xbfa\n"), ["line 1: a"]);
        assert_eq!(list(LF, b""), Vec::<String>::new());
        let cr = Lines { line_break: b'\r' };
        assert_eq!(list(cr, b"a\r\rb"), ["line 1: a", "line 2: ", "line 3: b"]);
    }

    #[test]
    fn utf16_is_read() {
        assert_eq!(list(LF, b"\xff\xfea\0\n\0b\0"), ["line 1: a", "line 2: b"]);
        assert_eq!(list(LF, b"\0a\0\n\0b"), ["line 1: a", "line 2: b"]);
    }

    #[test]
    fn records_may_hold_line_breaks_in_quotes() {
        assert_eq!(
            list(commas(), b"a,\"b\nc\"\nd,e\"f\n\"g\"\"\n\",h\n\"\"\n"),
            [
                "line 1: a,\"b\nc\"",
                "line 3: d,e\"f",
                "line 4: \"g\"\"\n\",h",
                "line 6: \"\""
            ]
        );
        assert_eq!(
            list(records(b';', b'\n'), b"a;\"b;\nc\""),
            ["line 1: a;\"b;\nc\""]
        );
        assert_eq!(
            list(records(b',', b'\r'), b"a,\"b\nc\"\rd,\"e\rf\"\rg"),
            ["line 1: a,\"b\nc\"", "line 2: d,\"e\rf\"", "line 4: g"]
        );
        assert_eq!(
            list(commas(), b"a,\"b\r\nc\"\r\nd\r\n"),
            ["line 1: a,\"b\r\nc\"", "line 3: d"]
        );
    }

    #[test]
    fn quotes_escapes_and_comments_are_those_of_the_dialect() {
        let records = |change: fn(&mut Dialect)| {
            let mut dialect = commas().dialect;
            change(&mut dialect);
            Records::new(dialect)
        };
        assert_eq!(
            list(records(|d| d.quote = b'\''), b"'a\nb',\"c\nd\n"),
            ["line 1: 'a\nb',\"c", "line 3: d"]
        );
        assert_eq!(
            list(
                records(|d| d.escape = Some(b'\\')),
                b"\"a\\\"\nb\\\\\",c\nd\n"
            ),
            ["line 1: \"a\\\"\nb\\\\\",c", "line 3: d"]
        );
        assert_eq!(
            list(records(|d| d.comment = Some(b'#')), b"# it's \"\na,#\"\n"),
            ["line 1: # it's \"", "line 2: a,#\""]
        );
    }

    #[test]
    fn an_entry_beyond_the_limit_costs_itself_alone() {
        let long = vec![b'x'; usize::try_from(LINE_BYTES_MAX).unwrap() + 400_000];
        let text = [b"a\n".as_slice(), &long, b"\nb\n"].concat();
        assert_eq!(
            list(LF, &text),
            ["line 1: a", "line 2: skipped, entry too long", "line 3: b"]
        );
    }

    #[test]
    fn an_unclosed_quote_costs_its_line_alone() {
        let skipped = "line 1: skipped, malformed";
        // Nothing closes it.
        assert_eq!(list(commas(), b"a,\"b\nc,d\n"), [skipped, "line 2: c,d"]);
        // It would close where another field opens.
        assert_eq!(
            list(commas(), b"a,\"b\nc,d\ne,\"f\"\n\"g\",h\n"),
            [skipped, "line 2: c,d", "line 3: e,\"f\"", "line 4: \"g\",h"]
        );
        // Empty quoted fields look like doubled quotes.
        assert_eq!(
            list(commas(), b"a,\"b\nc,\"\"\ne,\"f\"\n"),
            [skipped, "line 2: c,\"\"", "line 3: e,\"f\""]
        );
        // Two in a row; the last line.
        assert_eq!(
            list(commas(), b"a,\"b\nc,\"d\ne,f\ng,\"h"),
            [
                skipped,
                "line 2: skipped, malformed",
                "line 3: e,f",
                "line 4: skipped, malformed"
            ]
        );
        assert_eq!(
            list(records(b',', b'\r'), b"a,\"b\rc,d\r"),
            [skipped, "line 2: c,d"]
        );
        // Text behind a quote of the same line is part of the field.
        assert_eq!(list(commas(), b"\"a\"b,c\n"), ["line 1: \"a\"b,c"]);
    }

    #[test]
    fn an_unclosed_quote_costs_its_line_in_long_files_too() {
        let mut text = b"a,\"b\n".to_vec();
        for _ in 0..600_000 {
            text.extend_from_slice(b"c,d,e,f\n");
        }
        let lines = list(commas(), &text);
        assert_eq!(lines[0], "line 1: skipped, malformed");
        assert_eq!(lines[1], "line 2: c,d,e,f");
        assert_eq!(lines.len(), 600_001);
    }
}
