//! The beginning of a CSV file: what stands before the first record, its dialect, its header.
//!
//! Called once a file, before the records go to the stages of an import.

use super::header::CsvHeader;
use super::options::CsvOptions;
use crate::archive::{ByteSource, SourceError};
use crate::chunk::Filled;
use crate::dialect::{Dialect, line_break_of};
use crate::lines::{LineSource, Records};

/// What spreadsheets write before a delimiter, in the first line.
const SEPARATOR_MARK: &[u8] = b"sep=";

/// A file whose header is read.
pub struct Opened {
    /// The records.
    pub source: LineSource<Records>,
    /// What they become.
    pub header: CsvHeader,
}

/// Why a file is no CSV of these options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Its first record makes no header: a sentence for the user.
    #[error("{0}")]
    Header(String),
}

/// Reads the beginning of `stream`.
///
/// # Errors
/// See [`OpenError`].
pub fn open(stream: Box<dyn ByteSource>, options: &CsvOptions) -> Result<Opened, OpenError> {
    let mut preamble = Preamble::of(&[], options);
    let mut source = LineSource::new(stream, |first| {
        preamble = Preamble::of(first, options);
        Records::new(preamble.dialect)
    })?;
    for _ in 0..preamble.line_count {
        source.pass_line()?;
    }
    let mut record = Vec::new();
    let name = match source.next(&mut record)? {
        Filled::Entry(name) => name,
        Filled::Skipped(skipped) => {
            let what = format!("its first line cannot be used: {}", skipped.reason);
            return Err(OpenError::Header(what));
        }
        Filled::End => return Err(OpenError::Header("it is empty".to_owned())),
    };
    let header = CsvHeader::parse(&record, preamble.dialect, options, preamble.has_comments)
        .map_err(OpenError::Header)?;
    if header.first_record_is_data() {
        source.put_back(name, record);
    }
    Ok(Opened { source, header })
}

/// What stands before the first record.
struct Preamble {
    dialect: Dialect,
    line_count: u64,
    /// Whether lines that begin with `#` are among them.
    has_comments: bool,
}

impl Preamble {
    fn of(text: &[u8], options: &CsvOptions) -> Self {
        let line_break = line_break_of(text);
        let mut choice = options.choice();
        let (mut rest, mut line_count) = (text, 0);
        let mut pass = |rest: &mut &[u8]| {
            let end = memchr::memchr(line_break, rest).map_or(rest.len(), |end| end + 1);
            *rest = &rest[end..];
            line_count += 1;
        };
        if let Some(delimiter) = separator(line(rest, line_break)) {
            choice.delimiter = choice.delimiter.or(Some(delimiter));
            pass(&mut rest);
        }
        for _ in 0..options.skip_rows {
            pass(&mut rest);
        }
        let is_passed = |text: &[u8]| {
            let line = line(text, line_break);
            !text.is_empty()
                && (line.is_empty() || choice.comment.is_some_and(|mark| line[0] == mark))
        };
        while is_passed(rest) {
            pass(&mut rest);
        }
        let comments = match choice.comment {
            Some(_) => 0,
            None => leading_comments(rest, line_break, |text| Dialect::of(text, choice).delimiter),
        };
        for _ in 0..comments {
            pass(&mut rest);
        }
        Self {
            dialect: Dialect::of(rest, choice),
            line_count,
            has_comments: comments > 0,
        }
    }
}

/// The first line of `text`, without its line break.
fn line(text: &[u8], line_break: u8) -> &[u8] {
    let line = &text[..memchr::memchr(line_break, text).unwrap_or(text.len())];
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The delimiter that a line `sep=;` names.
fn separator(line: &[u8]) -> Option<u8> {
    let (mark, delimiter) = line.split_at_checked(SEPARATOR_MARK.len())?;
    match delimiter {
        [delimiter] if mark.eq_ignore_ascii_case(SEPARATOR_MARK) => Some(*delimiter),
        _ => None,
    }
}

/// How many lines that begin with `#` stand before the header. The last of them may be the header
/// itself, when it has as many fields as the line behind it.
fn leading_comments(text: &[u8], line_break: u8, delimiter_of: impl Fn(&[u8]) -> u8) -> usize {
    let mut rest = text;
    let (mut count, mut last) = (0, &text[..0]);
    while rest.first() == Some(&b'#') {
        last = line(rest, line_break);
        count += 1;
        let end = memchr::memchr(line_break, rest).map_or(rest.len(), |end| end + 1);
        rest = &rest[end..];
    }
    if count == 0 || rest.is_empty() {
        return 0;
    }
    let delimiter = delimiter_of(rest);
    let fields = |line: &[u8]| memchr::memchr_iter(delimiter, line).count();
    match fields(last) == fields(line(rest, line_break)) {
        true => count - 1,
        false => count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delimiter, lines before the first record, and whether some of them are comments.
    fn preamble(text: &str, options: &CsvOptions) -> (char, u64, bool) {
        let found = Preamble::of(text.as_bytes(), options);
        let delimiter = char::from(found.dialect.delimiter);
        (delimiter, found.line_count, found.has_comments)
    }

    #[test]
    fn marks_and_comments_before_the_header_are_passed() {
        let usual = CsvOptions::default();
        for (text, expected) in [
            ("a,b\n1,2\n", (',', 0, false)),
            ("sep=;\na;b,c\n", (';', 1, false)),
            ("SEP=|\r\na|b\r\n", ('|', 1, false)),
            ("sep=,\n# x\na,b\n", (',', 2, true)),
            ("# one\n# two; three\na,b\n1,2\n", (',', 2, true)),
            ("#,b\n1,2\n", (',', 0, false)),
            ("# x\n#,b\n1,2\n", (',', 1, true)),
            ("# x", (',', 0, false)),
            ("\n\r\na;b\n", (';', 2, false)),
            ("", (',', 0, false)),
            ("separate=;\n", (';', 0, false)),
        ] {
            assert_eq!(preamble(text, &usual), expected, "{text:?}");
        }
    }

    #[test]
    fn options_come_before_what_the_file_says() {
        let skipping = CsvOptions {
            skip_rows: 2,
            ..CsvOptions::default()
        };
        assert_eq!(
            preamble("Report;;\n2024,,,\na|b\n", &skipping),
            ('|', 2, false)
        );
        let commented = CsvOptions {
            comment: Some(b'%'),
            ..CsvOptions::default()
        };
        assert_eq!(
            preamble("% x,,\n%\n#,b\n1,2\n", &commented),
            (',', 2, false)
        );
        let given = CsvOptions {
            delimiter: Some(b','),
            ..CsvOptions::default()
        };
        assert_eq!(preamble("sep=;\na,b\n", &given), (',', 1, false));
    }
}
