//! Text of other encodings as UTF-8.
//!
//! Called for the file formats that are text. UTF-16 is recognized; other encodings have to be
//! named ([`decoded`]). UTF-8 passes unchanged, and so does everything else: which bytes are not
//! UTF-8 matters only to the parsers.

use encoding_rs::{CoderResult, Decoder};

use crate::archive::{ByteSource, SourceError};
use crate::source::Prefixed;

/// Bytes read from the inner stream at a time.
const READ_BYTES: usize = 64 * 1024;

/// What the first four bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16 { big_endian: bool },
    Utf32,
}

/// An encoding of text, by a name that the web knows: `windows-1252`, `shift_jis`, `utf-16le`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextEncoding(&'static encoding_rs::Encoding);

impl TextEncoding {
    /// The encoding of this name, in any letter case; `None` when there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        encoding_rs::Encoding::for_label(name.as_bytes()).map(Self)
    }

    /// Its usual name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }
}

/// The stream as UTF-8, read in `encoding`, whatever it begins with. Bytes that are no text of the
/// encoding become U+FFFD; a byte order mark of the encoding is left out.
#[must_use]
pub fn decoded(stream: Box<dyn ByteSource>, encoding: TextEncoding) -> Box<dyn ByteSource> {
    Box::new(Decoded {
        stream,
        decoder: encoding.0.new_decoder_with_bom_removal(),
        raw: vec![0; READ_BYTES],
        raw_range: 0..0,
        ended: false,
        finished: false,
    })
}

/// See [`decoded`].
struct Decoded {
    stream: Box<dyn ByteSource>,
    decoder: Decoder,
    raw: Vec<u8>,
    /// What of `raw` is not decoded yet.
    raw_range: std::ops::Range<usize>,
    ended: bool,
    /// Whether the decoder was given the end.
    finished: bool,
}

impl ByteSource for Decoded {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        loop {
            if self.raw_range.is_empty() && !self.ended {
                let read = self.stream.read(&mut self.raw)?;
                self.ended = read == 0;
                self.raw_range = 0..read;
            }
            if self.finished {
                return Ok(0);
            }
            let raw = &self.raw[self.raw_range.clone()];
            let (result, read, written, _) = self.decoder.decode_to_utf8(raw, buffer, self.ended);
            self.raw_range.start += read;
            self.finished = self.ended && result == CoderResult::InputEmpty;
            if written > 0 || self.finished {
                return Ok(written);
            }
        }
    }
}

/// The stream as UTF-8. A byte order mark stays in it, as U+FEFF.
///
/// # Errors
/// Those of the first read; also UTF-32, which is not read.
pub(crate) fn as_utf8(mut stream: Box<dyn ByteSource>) -> Result<Box<dyn ByteSource>, SourceError> {
    let mut head = Vec::new();
    while head.len() < 4 {
        let before = head.len();
        head.resize(4, 0);
        let read = stream.read(&mut head[before..]);
        head.truncate(before + *read.as_ref().unwrap_or(&0));
        if read? == 0 {
            break;
        }
    }
    let encoding = encoding_of(&head);
    let stream = Prefixed::new(head, stream);
    match encoding {
        Encoding::Utf8 => Ok(Box::new(stream)),
        Encoding::Utf16 { big_endian } => Ok(Box::new(Utf16 {
            stream,
            big_endian,
            raw: Vec::new(),
            text: Vec::new(),
            text_start: 0,
            ended: false,
        })),
        Encoding::Utf32 => Err(SourceError::Fatal {
            file_position: 0,
            what: "its text is UTF-32, which is not read: convert it to UTF-8".to_owned(),
        }),
    }
}

/// Without a byte order mark, zero bytes between the first characters, which are ASCII in every
/// NDJSON file and in nearly every header of CSV, show the encoding.
fn encoding_of(head: &[u8]) -> Encoding {
    match head {
        [0xff, 0xfe, 0, 0] | [0, 0, 0xfe, 0xff] | [1..=255, 0, 0, 0] | [0, 0, 0, 1..=255] => {
            Encoding::Utf32
        }
        [0xff, 0xfe, ..] | [1..=255, 0, 1..=255, 0] => Encoding::Utf16 { big_endian: false },
        [0xfe, 0xff, ..] | [0, 1..=255, 0, 1..=255] => Encoding::Utf16 { big_endian: true },
        _ => Encoding::Utf8,
    }
}

/// UTF-16 read as UTF-8; what is no character becomes U+FFFD.
struct Utf16 {
    stream: Prefixed,
    big_endian: bool,
    /// Bytes that are not decoded yet: half a unit, or half of a pair of units.
    raw: Vec<u8>,
    text: Vec<u8>,
    text_start: usize,
    ended: bool,
}

impl Utf16 {
    /// Reads and decodes more.
    fn refill(&mut self) -> Result<(), SourceError> {
        let before = self.raw.len();
        self.raw.resize(before + READ_BYTES, 0);
        let read = self.stream.read(&mut self.raw[before..]);
        self.raw.truncate(before + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(read) => self.ended = read == 0,
            // Behind a gap it is not known where a unit begins.
            Err(
                SourceError::Gap {
                    file_position,
                    what,
                }
                | SourceError::Fatal {
                    file_position,
                    what,
                },
            ) => {
                return Err(SourceError::Fatal {
                    file_position,
                    what,
                });
            }
        }
        let units: Vec<u16> = self
            .raw
            .chunks_exact(2)
            .map(|pair| {
                let pair = [pair[0], pair[1]];
                if self.big_endian {
                    u16::from_be_bytes(pair)
                } else {
                    u16::from_le_bytes(pair)
                }
            })
            .collect();
        let half_pair = units
            .last()
            .is_some_and(|unit| (0xd800..0xdc00).contains(unit));
        let whole = units.len() - usize::from(half_pair && !self.ended);
        self.text.clear();
        self.text_start = 0;
        let mut utf8 = [0; 4];
        for decoded in char::decode_utf16(units[..whole].iter().copied()) {
            let character = decoded.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.text
                .extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
        }
        self.raw.drain(..whole * 2);
        if self.ended && !self.raw.is_empty() {
            self.raw.clear();
            let character = char::REPLACEMENT_CHARACTER;
            self.text
                .extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
        }
        Ok(())
    }
}

impl ByteSource for Utf16 {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        while self.text_start == self.text.len() && !self.ended {
            self.refill()?;
        }
        let unread = &self.text[self.text_start..];
        let len = unread.len().min(buffer.len());
        buffer[..len].copy_from_slice(&unread[..len]);
        self.text_start += len;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Slow;

    fn read(bytes: &[u8], step: usize) -> String {
        let mut stream = as_utf8(Box::new(Slow(bytes.to_vec(), step))).unwrap();
        let (mut out, mut buffer) = (Vec::new(), [0; 7]);
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => return String::from_utf8(out).unwrap(),
                len => out.extend_from_slice(&buffer[..len]),
            }
        }
    }

    #[test]
    fn utf16_of_both_orders_is_read_however_it_is_cut() {
        let text = "ab,\u{e9}\u{20ac}\u{1f600}\nc";
        for mark in ["", "\u{feff}"] {
            let text = format!("{mark}{text}");
            let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            for step in [1, 2, 3, 5, 1000] {
                assert_eq!(read(&little, step), text);
                assert_eq!(read(&big, step), text);
                assert_eq!(read(text.as_bytes(), step), text);
            }
        }
    }

    #[test]
    fn encodings_that_are_named_are_read_however_they_are_cut() {
        let read = |name: &str, bytes: &[u8], step| {
            let encoding = TextEncoding::named(name).unwrap();
            let mut stream = decoded(Box::new(Slow(bytes.to_vec(), step)), encoding);
            let (mut out, mut buffer) = (Vec::new(), [0; 16]);
            loop {
                match stream.read(&mut buffer).unwrap() {
                    0 => return String::from_utf8(out).unwrap(),
                    len => out.extend_from_slice(&buffer[..len]),
                }
            }
        };
        for step in [1, 2, 3, 1000] {
            assert_eq!(
                read("latin1", b"Qu\xe9bec \x80", step),
                "Qu\u{e9}bec \u{20ac}"
            );
            assert_eq!(
                read("Shift_JIS", b"\x93\xfa\x96\x7b", step),
                "\u{65e5}\u{672c}"
            );
            assert_eq!(
                read("utf-16le", b"\xff\xfea\0\x3d\xd8\0\xde", step),
                "a\u{1f600}"
            );
            assert_eq!(read("utf-16be", b"\0a\0", step), "a\u{fffd}");
            assert_eq!(read("utf-8", b"a\xff", step), "a\u{fffd}");
            assert_eq!(read("ibm866", b"\x8f\xe0", step), "\u{41f}\u{440}");
        }
        assert_eq!(TextEncoding::named("nope"), None);
    }

    #[test]
    fn halves_of_characters_are_replaced() {
        assert_eq!(read(b"\xff\xfea\0\x00\xd8", 3), "\u{feff}a\u{fffd}");
        assert_eq!(read(b"\xff\xfea\0\x00\xd8b\0", 3), "\u{feff}a\u{fffd}b");
        assert_eq!(read(b"\xff\xfea\0b", 3), "\u{feff}a\u{fffd}");
    }

    #[test]
    fn short_and_other_texts_pass_as_they_are() {
        for bytes in [b"".as_slice(), b"a", b"abc", b"a\0", b"{\"a\":1}"] {
            assert_eq!(read(bytes, 1).as_bytes(), bytes);
        }
        assert_eq!(read(b"\xff\xfe", 1), "\u{feff}");
        for bytes in [b"\xff\xfe\0\0a\0\0\0".as_slice(), b"a\0\0\0b\0\0\0"] {
            let error = as_utf8(Box::new(Slow(bytes.to_vec(), 9))).err().unwrap();
            assert!(error.to_string().contains("UTF-32"), "{error}");
        }
    }
}
