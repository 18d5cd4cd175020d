//! The xmcd format of CD databases: one small text file per album.
//!
//! ```text
//! # xmcd
//! # Track frame offsets:
//! #       150
//! # Disc length: 2663 seconds
//! DISCID=860a650b,840a650b
//! DTITLE=Artist / Title
//! DYEAR=1998
//! DGENRE=Rock
//! TTITLE0=First track, whose title goes
//! TTITLE0= on in a repeated key
//! ```
//!
//! Called by the parse threads of the import, one [`XmcdParser`] each.
//!
//! Invariants:
//! - No allocation per value: values are spans of the input, or of buffers that are used again.
//! - Any bytes are accepted or refused with a [`SkipReason`]; nothing panics, and time and memory
//!   stay proportional to the input.
//! - Values continued in repeated keys are joined as bytes before they are decoded, because real
//!   files split a character in two.

use std::ops::Range;

use crate::skip::SkipReason;
use crate::text::decode_append;

/// Longest value kept, in bytes. The protocol's lines are 256 characters; continued values of real
/// archives stay below 8 KiB.
pub const VALUE_BYTES_MAX: usize = 64 * 1024;
/// Most tracks of an album. A CD holds 99; DVD rips in the archives go a little above.
pub const TRACK_COUNT_MAX: usize = 999;
/// Bytes of joined values per file: keys that take turns copy their value at each turn, and this
/// bounds the copying.
const JOINED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// CD frames in a second.
const FRAMES_PER_SECOND: u32 = 75;

/// Where the bytes of a value are.
#[derive(Clone, Debug, Default)]
enum Raw {
    #[default]
    Missing,
    /// One line: a span of the input.
    Input(Range<usize>),
    /// Several lines: a span of `XmcdParser::joined`.
    Joined(Range<usize>),
}

/// The keys that are kept.
#[derive(Clone, Copy)]
enum Key {
    DiscId,
    Title,
    Year,
    Genre,
    Extended,
    Track(usize),
}

/// Reads albums from xmcd files, reusing its buffers.
#[derive(Debug, Default)]
pub struct XmcdParser {
    disc_id: Raw,
    disc_title: Raw,
    year: Raw,
    genre: Raw,
    extended: Raw,
    track_titles: Vec<Raw>,
    track_count: usize,
    joined: Vec<u8>,
    unescaped: Vec<u8>,
    text: String,
    disc_ids: Vec<Range<usize>>,
    tracks: Vec<Range<usize>>,
    frame_offsets: Vec<u32>,
}

/// One album; borrows the parser's buffers until the next file.
#[derive(Debug)]
pub struct Album<'p> {
    text: &'p str,
    disc_ids: &'p [Range<usize>],
    tracks: &'p [Range<usize>],
    artist: Option<Range<usize>>,
    title: Option<Range<usize>>,
    genre: Option<Range<usize>>,
    /// Year of release; `None` when absent, zero or not a year.
    pub year: Option<u16>,
    /// Playing time from the comments.
    pub length_seconds: Option<u32>,
    /// Where each track begins, in CD frames (75 a second); empty when the comments have none.
    pub frame_offsets: &'p [u32],
}

impl Album<'_> {
    /// Disc ids in the order of the file, lower case. Computed from the frame offsets when the
    /// file names none; empty when it has neither.
    pub fn disc_ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.disc_ids.iter().map(|span| &self.text[span.clone()])
    }

    /// The artist: what stands before the first ` / ` of the title line.
    pub fn artist(&self) -> Option<&str> {
        self.artist.clone().map(|span| &self.text[span])
    }

    /// The title: what stands after the first ` / `, or the whole line when there is none.
    pub fn title(&self) -> Option<&str> {
        self.title.clone().map(|span| &self.text[span])
    }

    /// The genre, as written.
    pub fn genre(&self) -> Option<&str> {
        self.genre.clone().map(|span| &self.text[span])
    }

    /// Track titles; a track that the file leaves out is an empty string, so positions hold.
    pub fn tracks(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tracks.iter().map(|span| &self.text[span.clone()])
    }
}

impl XmcdParser {
    /// Reads one file.
    ///
    /// # Errors
    /// The reason why the file is not an album. The parser is ready for the next file either way.
    pub fn parse(&mut self, input: &[u8]) -> Result<Album<'_>, SkipReason> {
        self.reset();
        if input.iter().all(u8::is_ascii_whitespace) {
            return Err(SkipReason::Empty);
        }
        let length_seconds = self.read_lines(input)?;
        if matches!(
            (&self.disc_id, &self.disc_title),
            (Raw::Missing, Raw::Missing)
        ) {
            return Err(SkipReason::NotXmcd);
        }
        Ok(self.decode(input, length_seconds))
    }

    fn reset(&mut self) {
        self.disc_id = Raw::Missing;
        self.disc_title = Raw::Missing;
        self.year = Raw::Missing;
        self.genre = Raw::Missing;
        self.extended = Raw::Missing;
        self.track_titles[..self.track_count].fill(Raw::Missing);
        self.track_count = 0;
        self.joined.clear();
        self.text.clear();
        self.disc_ids.clear();
        self.tracks.clear();
        self.frame_offsets.clear();
    }

    /// First pass: finds the values, joins continued ones. Returns the disc length.
    fn read_lines(&mut self, input: &[u8]) -> Result<Option<u32>, SkipReason> {
        let mut length_seconds = None;
        let mut start = 0;
        while start < input.len() {
            let rest = &input[start..];
            let len_bytes = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
            let line = rest[..len_bytes]
                .strip_suffix(b"\r")
                .unwrap_or(&rest[..len_bytes]);
            if let Some(comment) = line.strip_prefix(b"#") {
                self.read_comment(comment, &mut length_seconds);
            } else if let Some(equals) = line.iter().position(|&b| b == b'=')
                && let Some(key) = parse_key(&line[..equals])?
            {
                self.append(key, input, start + equals + 1..start + line.len())?;
            }
            start += len_bytes + 1;
        }
        Ok(length_seconds)
    }

    fn read_comment(&mut self, comment: &[u8], length_seconds: &mut Option<u32>) {
        let comment = comment.trim_ascii();
        if comment.first().is_some_and(u8::is_ascii_digit) {
            // A line of digits alone is a frame offset; the heading above it is not always there.
            if self.frame_offsets.len() < TRACK_COUNT_MAX
                && let Some(offset) = parse_number(comment)
            {
                self.frame_offsets.push(offset);
            }
        } else if let Some(rest) = comment.strip_prefix(b"Disc length:") {
            let digits = rest.trim_ascii_start();
            let end = digits
                .iter()
                .position(|b| !b.is_ascii_digit())
                .unwrap_or(digits.len());
            *length_seconds = parse_number(&digits[..end]);
        }
    }

    /// Adds one line's value to its key.
    fn append(&mut self, key: Key, input: &[u8], span: Range<usize>) -> Result<(), SkipReason> {
        if let Key::Track(slot) = key {
            self.track_count = self.track_count.max(slot + 1);
            if self.track_titles.len() < self.track_count {
                self.track_titles.resize(self.track_count, Raw::Missing);
            }
        }
        let raw = match key {
            Key::DiscId => &mut self.disc_id,
            Key::Title => &mut self.disc_title,
            Key::Year => &mut self.year,
            Key::Genre => &mut self.genre,
            Key::Extended => &mut self.extended,
            Key::Track(slot) => &mut self.track_titles[slot],
        };
        let len_before = match raw {
            Raw::Missing => 0,
            Raw::Input(span) | Raw::Joined(span) => span.len(),
        };
        if len_before + span.len() > VALUE_BYTES_MAX {
            return Err(SkipReason::ValueTooLong {
                key: key_name(key),
                limit: VALUE_BYTES_MAX,
            });
        }
        match raw {
            Raw::Missing => {
                *raw = Raw::Input(span);
                return Ok(());
            }
            Raw::Input(first) => {
                let start = self.joined.len();
                self.joined.extend_from_slice(&input[first.clone()]);
                *raw = Raw::Joined(start..self.joined.len());
            }
            Raw::Joined(before) if before.end == self.joined.len() => {}
            Raw::Joined(before) => {
                let start = self.joined.len();
                self.joined.extend_from_within(before.clone());
                *raw = Raw::Joined(start..self.joined.len());
            }
        }
        if self.joined.len() + span.len() > JOINED_BYTES_MAX {
            return Err(SkipReason::TooManyContinuations {
                limit: JOINED_BYTES_MAX,
            });
        }
        if let Raw::Joined(joined) = raw {
            self.joined.extend_from_slice(&input[span]);
            joined.end = self.joined.len();
        }
        Ok(())
    }

    /// Second pass: decodes the values into one text buffer.
    fn decode(&mut self, input: &[u8], length_seconds: Option<u32>) -> Album<'_> {
        let (joined, text, scratch) = (&self.joined, &mut self.text, &mut self.unescaped);
        let mut decode = |raw: &Raw| {
            let bytes = match raw {
                Raw::Missing => &[],
                Raw::Input(span) => &input[span.clone()],
                Raw::Joined(span) => &joined[span.clone()],
            };
            push_value(bytes, scratch, text)
        };
        let disc_title = decode(&self.disc_title);
        let genre = decode(&self.genre);
        let disc_id = decode(&self.disc_id);
        let [year, extended] = [decode(&self.year), decode(&self.extended)];
        self.tracks
            .extend(self.track_titles[..self.track_count].iter().map(decode));
        self.text[disc_id.clone()].make_ascii_lowercase();
        split_disc_ids(&self.text, disc_id, &mut self.disc_ids);
        if self.disc_ids.is_empty()
            && let Some(id) = computed_disc_id(&self.frame_offsets, length_seconds)
        {
            let start = self.text.len();
            self.text.push_str(&format!("{id:08x}"));
            self.disc_ids.push(start..self.text.len());
        }
        let (artist, title) = split_title(&self.text, disc_title);
        let year = parse_year(&self.text[year]).or_else(|| year_in_notes(&self.text[extended]));
        let present = |span: Range<usize>| (!span.is_empty()).then_some(span);
        Album {
            text: &self.text,
            disc_ids: &self.disc_ids,
            tracks: &self.tracks,
            artist: present(artist),
            title: present(title),
            genre: present(genre),
            year,
            length_seconds,
            frame_offsets: &self.frame_offsets,
        }
    }
}

/// The disc id that CD players compute: digit sums of the track starts, playing time, track count.
///
/// `None` without tracks or length. `frame_offsets` count from the start of the disc, so the first
/// track usually begins at 150 (two seconds).
#[must_use]
pub fn computed_disc_id(frame_offsets: &[u32], length_seconds: Option<u32>) -> Option<u32> {
    let length_seconds = length_seconds?;
    let first = frame_offsets.first()? / FRAMES_PER_SECOND;
    let mut digit_sum = 0u32;
    for offset in frame_offsets {
        let mut seconds = offset / FRAMES_PER_SECOND;
        while seconds > 0 {
            digit_sum += seconds % 10;
            seconds /= 10;
        }
    }
    let track_count = u32::try_from(frame_offsets.len()).ok()? & 0xff;
    let playing_seconds = length_seconds.saturating_sub(first) & 0xffff;
    Some(((digit_sum % 255) << 24) | (playing_seconds << 8) | track_count)
}

/// The key of a line, `None` for the keys that are not kept.
fn parse_key(key: &[u8]) -> Result<Option<Key>, SkipReason> {
    let key = key.trim_ascii();
    Ok(match key {
        b"DISCID" => Some(Key::DiscId),
        b"DTITLE" => Some(Key::Title),
        b"DYEAR" => Some(Key::Year),
        b"DGENRE" => Some(Key::Genre),
        b"EXTD" => Some(Key::Extended),
        _ => match key.strip_prefix(b"TTITLE").and_then(parse_number) {
            None => None,
            Some(number) => match usize::try_from(number) {
                Ok(slot) if slot < TRACK_COUNT_MAX => Some(Key::Track(slot)),
                _ => {
                    return Err(SkipReason::TooManyTracks {
                        limit: TRACK_COUNT_MAX,
                    });
                }
            },
        },
    })
}

fn key_name(key: Key) -> String {
    match key {
        Key::DiscId => "DISCID".to_owned(),
        Key::Title => "DTITLE".to_owned(),
        Key::Year => "DYEAR".to_owned(),
        Key::Genre => "DGENRE".to_owned(),
        Key::Extended => "EXTD".to_owned(),
        Key::Track(slot) => format!("TTITLE{slot}"),
    }
}

/// A number of decimal digits alone.
fn parse_number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    digits.iter().try_fold(0u32, |number, digit| {
        number.checked_mul(10)?.checked_add(u32::from(digit - b'0'))
    })
}

/// Appends a value to `text` without its escapes and outer white space; returns where it is.
fn push_value(bytes: &[u8], scratch: &mut Vec<u8>, text: &mut String) -> Range<usize> {
    let start = text.len();
    if bytes.contains(&b'\\') {
        unescape(bytes, scratch);
        decode_append(scratch, text);
    } else {
        decode_append(bytes, text);
    }
    let value = &text[start..];
    let blank = |c: char| c.is_whitespace() || c.is_control();
    let leading = value.len() - value.trim_start_matches(blank).len();
    let trimmed = value.trim_matches(blank).len();
    start + leading..start + leading + trimmed
}

/// The format's escapes: `\n`, `\t` and `\\`. Any other backslash stands for itself.
fn unescape(bytes: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        let (replacement, used) = match (byte, after.first()) {
            (b'\\', Some(b'n')) => (b'\n', 2),
            (b'\\', Some(b't')) => (b'\t', 2),
            (b'\\', Some(b'\\')) => (b'\\', 2),
            _ => (byte, 1),
        };
        out.push(replacement);
        rest = &rest[used..];
    }
}

fn split_disc_ids(text: &str, span: Range<usize>, out: &mut Vec<Range<usize>>) {
    let mut start = span.start;
    for part in text[span].split(|c: char| c == ',' || c.is_whitespace()) {
        if !part.is_empty() {
            out.push(start..start + part.len());
        }
        start += part.len();
        start += text[start..].chars().next().map_or(0, char::len_utf8);
    }
}

/// Artist and title of a title line. Without the separator the line is both, as the format says.
fn split_title(text: &str, span: Range<usize>) -> (Range<usize>, Range<usize>) {
    let line = &text[span.clone()];
    match line.find(" / ") {
        None => (span.clone(), span),
        Some(separator) => {
            let artist_len = line[..separator].trim_end().len();
            let title = line[separator + 3..].trim_start();
            (
                span.start..span.start + artist_len,
                span.end - title.len()..span.end,
            )
        }
    }
}

fn parse_year(text: &str) -> Option<u16> {
    parse_number(text.as_bytes())
        .and_then(|year| u16::try_from(year).ok())
        .filter(|year| (1..=9999).contains(year))
}

/// The year as programs wrote it into the notes before the format had a key for it: `YEAR: 1998`.
fn year_in_notes(notes: &str) -> Option<u16> {
    let after = notes[notes.find("YEAR:")? + 5..].trim_start();
    let end = after
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(after.len());
    parse_year(&after[..end])
}

#[cfg(test)]
mod tests;
