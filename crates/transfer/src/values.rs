//! Text cut into JSON values: one a line (NDJSON), one behind another, pretty-printed, or as the
//! elements of an array.
//!
//! Called by the read stage; the parse threads get whole values.
//!
//! Invariants:
//! - The name of a value is the line in which it begins (`line 17`); further values of the same
//!   line have a number (`line 17, value 2`).
//! - At most [`LINE_BYTES_MAX`] and one read are buffered: a longer value is passed over.
//! - A value that is cut off costs itself alone: the next one begins with the next line that could
//!   begin a value.

use crate::archive::{ByteSource, SourceError};
use crate::buffered::Buffered;
use crate::chunk::{Chunk, Filled, Skipped};
use crate::dialect::line_break_of;
use crate::json_scan::{Scanned, Scanner};
use crate::lines::LINE_BYTES_MAX;
use crate::skip::SkipReason;
use crate::source::ChunkSource;

/// A stream cut into JSON values.
pub struct JsonSource {
    input: Buffered,
    scanner: Scanner,
    /// The byte that ends lines.
    line_break: u8,
    /// Bytes of the current value that the scanner has seen.
    searched: usize,
    /// Bytes of the current value that were dropped, because it is too long.
    dropped: u64,
    /// Line breaks before `input.start`.
    line: u64,
    /// Bytes between the last line break and `input.start`.
    column: usize,
    /// Where the last value began, and how many began in that line.
    last_value: (u64, u64),
    /// The line of the array whose elements are read.
    array: Option<u64>,
}

/// Where a value begins.
struct Place {
    name: String,
    line: u64,
    column: usize,
}

impl JsonSource {
    /// Cuts `stream`.
    ///
    /// # Errors
    /// Those of the first read; also UTF-32, which is not read.
    pub fn new(stream: Box<dyn ByteSource>) -> Result<Self, SourceError> {
        let input = Buffered::new(stream)?;
        Ok(Self {
            line_break: line_break_of(input.unread()),
            input,
            scanner: Scanner::new(),
            searched: 0,
            dropped: 0,
            line: 0,
            column: 0,
            last_value: (0, 0),
            array: None,
        })
    }

    /// The next value, appended to `out`.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<Filled, SourceError> {
        match self.pass_separators() {
            Ok(true) => {}
            Ok(false) => return Ok(self.at_end()),
            Err(SourceError::Gap { what, .. }) => return self.skip_gap(what),
            Err(error) => return Err(error),
        }
        let place = self.place();
        self.scanner.reset();
        (self.searched, self.dropped) = (0, 0);
        if self.array.is_none() && self.input.unread().first() != Some(&b'{') {
            // No document: the parser says so of the whole line.
            return self.take_broken(place, out);
        }
        loop {
            let unseen = &self.input.unread()[self.searched..];
            match self.scanner.scan(unseen) {
                Scanned::End(len) => return Ok(self.take_value(self.searched + len, place, out)),
                Scanned::Broken(at) => {
                    self.searched += at;
                    return self.take_broken(place, out);
                }
                Scanned::More => self.searched = self.input.unread().len(),
            }
            if self.input.ended {
                if self.scanner.may_end() {
                    return Ok(self.take_value(self.searched, place, out));
                }
                return self.take_broken(place, out);
            }
            if self.searched as u64 > LINE_BYTES_MAX {
                self.dropped += self.searched as u64;
                self.go_to(self.searched);
                self.searched = 0;
            }
            match self.input.read() {
                Err(SourceError::Gap { what, .. }) => return self.skip_gap(what),
                other => other?,
            }
        }
    }

    /// Goes to the next value; `false` at the end of the input.
    fn pass_separators(&mut self) -> Result<bool, SourceError> {
        loop {
            let unread = self.input.unread();
            let in_array = self.array.is_some();
            let is_separator = |byte: u8| {
                matches!(byte, b' ' | b'\t' | b'\n' | b'\r') || (in_array && byte == b',')
            };
            let len = unread.iter().position(|&byte| !is_separator(byte));
            let next = len.and_then(|len| unread.get(len).copied());
            let passed = len.unwrap_or(unread.len());
            self.go_to(passed);
            match next {
                Some(b'[') if !in_array => {
                    self.array = Some(self.line);
                    self.go_to(1);
                }
                Some(b']') if in_array => {
                    self.array = None;
                    self.go_to(1);
                }
                Some(_) => return Ok(true),
                None if self.input.ended => return Ok(false),
                None => self.input.read()?,
            }
        }
    }

    /// An array that is still open lacks its end, and perhaps more.
    fn at_end(&mut self) -> Filled {
        let Some(line) = self.array.take() else {
            return Filled::End;
        };
        let what = "the array that begins here is not closed: the file may be cut off".to_owned();
        Filled::Skipped(Skipped {
            name: format!("line {}", line + 1),
            reason: SkipReason::Malformed { what },
        })
    }

    /// The place of the value that begins at `input.start`.
    fn place(&mut self) -> Place {
        let line = self.line + 1;
        self.last_value = match self.last_value {
            (last, count) if last == line => (line, count + 1),
            _ => (line, 1),
        };
        let name = match self.last_value.1 {
            1 => format!("line {line}"),
            count => format!("line {line}, value {count}"),
        };
        Place {
            name,
            line,
            column: self.column,
        }
    }

    fn take_value(&mut self, len: usize, place: Place, out: &mut Vec<u8>) -> Filled {
        let len_bytes = self.dropped + len as u64;
        let filled = if len_bytes > LINE_BYTES_MAX {
            Filled::Skipped(Skipped {
                name: place.name,
                reason: SkipReason::TooLong {
                    len_bytes,
                    limit: LINE_BYTES_MAX,
                },
            })
        } else {
            out.extend_from_slice(&self.input.unread()[..len]);
            Filled::Entry(place.name)
        };
        self.go_to(len);
        filled
    }

    /// Takes a value that breaks off at `searched`. One of a single line goes to the parser, which
    /// says what is wrong; of one of several lines only the first is surely part of it.
    fn take_broken(&mut self, place: Place, out: &mut Vec<u8>) -> Result<Filled, SourceError> {
        let seen = &self.input.unread()[..self.searched];
        let spans_lines = place.line != self.line + 1 || seen.contains(&self.line_break);
        if !spans_lines && self.dropped == 0 {
            let fits = self.pass_line(Some(out))?;
            let reason = SkipReason::TooLong {
                len_bytes: LINE_BYTES_MAX + 1,
                limit: LINE_BYTES_MAX,
            };
            return Ok(match fits {
                true => Filled::Entry(place.name),
                false => Filled::Skipped(Skipped {
                    name: place.name,
                    reason,
                }),
            });
        }
        let breaks = seen.iter().filter(|&&byte| byte == self.line_break).count();
        let what = format!(
            "it is no valid JSON: it breaks off at line {}",
            self.line + breaks as u64 + 1
        );
        self.pass_line(None)?;
        self.pass_rest(place.column)?;
        Ok(Filled::Skipped(Skipped {
            name: place.name,
            reason: SkipReason::Malformed { what },
        }))
    }

    /// Goes to the next line that could begin a value: one that begins with a bracket, indented no
    /// more than `column`.
    fn pass_rest(&mut self, column: usize) -> Result<(), SourceError> {
        loop {
            let unread = self.input.unread();
            let indent = unread.iter().position(|byte| !matches!(byte, b' ' | b'\t'));
            match indent.and_then(|indent| Some((indent, *unread.get(indent)?))) {
                Some((indent, b'{' | b'[' | b']')) if indent <= column => return Ok(()),
                Some(_) => {
                    self.pass_line(None)?;
                }
                None if self.input.ended => return Ok(()),
                None => match self.input.read() {
                    Ok(()) | Err(SourceError::Gap { .. }) => {}
                    Err(error) => return Err(error),
                },
            }
        }
    }

    /// Leaves out the value at a damaged place.
    fn skip_gap(&mut self, what: String) -> Result<Filled, SourceError> {
        let name = format!("line {}", self.line + 1);
        self.pass_line(None)?;
        self.pass_rest(usize::MAX)?;
        let reason = SkipReason::Damaged { what };
        Ok(Filled::Skipped(Skipped { name, reason }))
    }

    /// Goes behind the next line break, and appends the line to `out`; `false` when it is too long
    /// for that.
    fn pass_line(&mut self, mut out: Option<&mut Vec<u8>>) -> Result<bool, SourceError> {
        let mut taken = 0;
        loop {
            let unread = self.input.unread();
            let end = memchr::memchr(self.line_break, unread);
            let line = &unread[..end.unwrap_or(unread.len())];
            taken += line.len() as u64;
            if taken > LINE_BYTES_MAX {
                out = None;
            }
            if let Some(out) = &mut out {
                out.extend_from_slice(line);
            }
            self.go_to(end.map_or(line.len(), |end| end + 1));
            if end.is_some() || self.input.ended {
                return Ok(taken <= LINE_BYTES_MAX);
            }
            match self.input.read() {
                Ok(()) | Err(SourceError::Gap { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Passes `len` bytes.
    fn go_to(&mut self, len: usize) {
        let passed = &self.input.buffer[self.input.start..self.input.start + len];
        let breaks = memchr::memchr_iter(self.line_break, passed).count() as u64;
        self.line += breaks;
        self.column = match memchr::memrchr(self.line_break, passed) {
            Some(last) => passed.len() - last - 1,
            None => self.column + len,
        };
        self.input.start += len;
    }
}

impl ChunkSource for JsonSource {
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
    use super::*;
    use crate::archive::Slow;

    fn list_of(stream: Slow) -> Vec<String> {
        let mut source = JsonSource::new(Box::new(stream)).unwrap();
        let mut out = Vec::new();
        loop {
            let mut content = Vec::new();
            out.push(match source.next(&mut content).unwrap() {
                Filled::End => return out,
                Filled::Entry(name) => format!("{name}: {}", String::from_utf8_lossy(&content)),
                Filled::Skipped(skip) => format!("{}: skipped, {}", skip.name, skip.reason),
            });
        }
    }

    fn list(text: &str) -> Vec<String> {
        let whole = list_of(Slow(text.as_bytes().to_vec(), usize::MAX));
        for step in [1, 3, 7] {
            let cut = list_of(Slow(text.as_bytes().to_vec(), step));
            assert_eq!(cut, whole, "{step} bytes at a time");
        }
        whole
    }

    #[test]
    fn every_arrangement_of_values_is_read() {
        let expected = ["line 1: {\"a\":1}", "line 2: {\"a\":2}"];
        assert_eq!(list("{\"a\":1}\n{\"a\":2}\n"), expected);
        assert_eq!(list("{\"a\":1}\r\n{\"a\":2}"), expected);
        assert_eq!(list("{\"a\":1}\r{\"a\":2}\r"), expected);
        assert_eq!(list("[{\"a\":1},\n{\"a\":2}]\n"), expected);
        assert_eq!(list("\u{feff} [ {\"a\":1}\n,{\"a\":2}\n]"), expected);
        assert_eq!(
            list("{\"a\":1}{\"a\":2} {\"a\":3}\n\n{}"),
            [
                "line 1: {\"a\":1}",
                "line 1, value 2: {\"a\":2}",
                "line 1, value 3: {\"a\":3}",
                "line 3: {}"
            ]
        );
        assert_eq!(
            list("{\n  \"a\": 1\n}\n{\n  \"a\": [\n    {\"b\": 2}\n  ]\n}\n"),
            [
                "line 1: {\n  \"a\": 1\n}",
                "line 4: {\n  \"a\": [\n    {\"b\": 2}\n  ]\n}"
            ]
        );
        assert_eq!(
            list("[{}]\n[{},{}]"),
            ["line 1: {}", "line 2: {}", "line 2, value 2: {}"]
        );
        for empty in ["", "\n", " \r\n\t", "[]", "[\n]\n[]"] {
            assert_eq!(list(empty), Vec::<String>::new(), "{empty:?}");
        }
    }

    #[test]
    fn values_that_are_cut_off_cost_themselves_alone() {
        assert_eq!(
            list("{\"a\":\n{\"b\":1}\nno json\n{\"c\":\"x\n{\"d\":1}\n{\"e\""),
            [
                "line 1: skipped, it is no valid JSON: it breaks off at line 3",
                "line 2: {\"b\":1}",
                "line 3: no json",
                "line 4: {\"c\":\"x",
                "line 5: {\"d\":1}",
                "line 6: {\"e\""
            ]
        );
        assert_eq!(
            list("[\n  {\n    \"a\": 1\n    \"b\": [\n      {}\n    ]\n  },\n  {\n  }\n]"),
            [
                "line 2: skipped, it is no valid JSON: it breaks off at line 4",
                "line 8: {\n  }"
            ]
        );
        assert_eq!(
            list("[{\"a\":1},\n{\"a\":2}"),
            [
                "line 1: {\"a\":1}",
                "line 2: {\"a\":2}",
                "line 1: skipped, the array that begins here is not closed: the file may be cut off"
            ]
        );
        assert_eq!(
            list("{\n\"a\":"),
            ["line 1: skipped, it is no valid JSON: it breaks off at line 2"]
        );
    }

    #[test]
    fn values_beyond_the_limit_cost_themselves_alone() {
        let long = "x".repeat(usize::try_from(LINE_BYTES_MAX).unwrap());
        let text = format!("[{{\"a\":1}},{{\"b\":\"{long}\"}},{{\"c\":1}}]");
        let found = list_of(Slow(text.into_bytes(), usize::MAX));
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], "line 1: {\"a\":1}");
        assert!(
            found[1].starts_with("line 1, value 2: skipped, it has "),
            "{}",
            found[1]
        );
        assert_eq!(found[2], "line 1, value 3: {\"c\":1}");
    }
}
