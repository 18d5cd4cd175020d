//! Which characters end the lines and the fields of a text file, as its beginning shows.

/// Delimiters that are tried when none is given, the likeliest first.
const USUAL_DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// What is said of a CSV file before it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialectChoice {
    /// Divides fields; `None` when the file decides.
    pub delimiter: Option<u8>,
    /// Surrounds fields that hold delimiters or line breaks. A doubled one stands for itself.
    pub quote: u8,
    /// Makes a quote behind it part of the field.
    pub escape: Option<u8>,
    /// Lines that begin with it are no records.
    pub comment: Option<u8>,
}

impl Default for DialectChoice {
    fn default() -> Self {
        Self {
            delimiter: None,
            quote: b'"',
            escape: None,
            comment: None,
        }
    }
}

/// What divides a CSV file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Divides fields.
    pub delimiter: u8,
    /// Ends records: a line feed, a carriage return before it or not, or a carriage return.
    pub line_break: u8,
    /// See [`DialectChoice::quote`].
    pub quote: u8,
    /// See [`DialectChoice::escape`].
    pub escape: Option<u8>,
    /// See [`DialectChoice::comment`].
    pub comment: Option<u8>,
}

impl Dialect {
    /// The dialect of a file that begins with `text`: unless a delimiter is chosen, the one of
    /// `, ; tab |` that the first record has most of outside quotes.
    #[must_use]
    pub fn of(text: &[u8], choice: DialectChoice) -> Self {
        let DialectChoice {
            delimiter, quote, ..
        } = choice;
        let opens = |byte: u8| Some(byte) == delimiter || USUAL_DELIMITERS.contains(&byte);
        let mut counts = [0_usize; USUAL_DELIMITERS.len()];
        let (mut quoted, mut before) = (false, b',');
        let mut line_break = b'\n';
        for (position, &byte) in text.iter().enumerate() {
            match byte {
                byte if byte == quote && quoted => quoted = false,
                // A doubled quote, or the first of a field.
                byte if byte == quote && (before == quote || opens(before)) => quoted = true,
                b'\n' | b'\r' if !quoted => {
                    line_break = line_break_at(&text[position..]);
                    break;
                }
                _ if !quoted => {
                    let usual = USUAL_DELIMITERS.iter().position(|&usual| usual == byte);
                    usual.into_iter().for_each(|slot| counts[slot] += 1);
                }
                _ => {}
            }
            before = byte;
        }
        let most = counts.iter().copied().max().unwrap_or(0);
        let slot = counts.iter().position(|&count| count == most).unwrap_or(0);
        Self {
            delimiter: delimiter.unwrap_or(USUAL_DELIMITERS[slot]),
            line_break,
            quote,
            escape: choice.escape,
            comment: choice.comment,
        }
    }
}

/// What ends the lines of a text that begins with `text`.
#[must_use]
pub fn line_break_of(text: &[u8]) -> u8 {
    let first = text.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    first.map_or(b'\n', |position| line_break_at(&text[position..]))
}

/// The line break at the beginning of `text`.
fn line_break_at(text: &[u8]) -> u8 {
    match text {
        [b'\r', next, ..] if *next != b'\n' => b'\r',
        [b'\r'] => b'\r',
        _ => b'\n',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_counted_outside_quotes_in_the_first_record() {
        let check = |text: &str, delimiter: u8| {
            let found = Dialect::of(text.as_bytes(), DialectChoice::default()).delimiter;
            assert_eq!(char::from(found), char::from(delimiter), "{text:?}");
        };
        check("a,b;c,d", b',');
        check("a;b", b';');
        check("a\tb,c\td", b'\t');
        check("a|b\n,,,,", b'|');
        check("\"x,y,z\";b", b';');
        check("\"x;y;z\",b", b',');
        check("a;\"x,y\nz,,\";b\n", b';');
        check("\"a\"\"x,,,\";b;c", b';');
        check("5\" x,, y;;;b", b';');
        check("one\n", b',');
        check("", b',');
        check("\"never,closed;;", b',');
        let given = DialectChoice {
            delimiter: Some(b'#'),
            ..DialectChoice::default()
        };
        assert_eq!(Dialect::of(b"a;b", given).delimiter, b'#');
    }

    #[test]
    fn the_first_break_outside_quotes_is_the_line_break() {
        let check = |text: &str, line_break: u8| {
            assert_eq!(
                Dialect::of(text.as_bytes(), DialectChoice::default()).line_break,
                line_break
            );
        };
        check("a\nb\rc", b'\n');
        check("a\r\nb", b'\n');
        check("a\rb\n", b'\r');
        check("a\r", b'\r');
        check("\"a\nb\"\rc", b'\r');
        check("\"a\rb\"\r\nc", b'\n');
        check("a", b'\n');
        assert_eq!(line_break_of(b"{}\r{}\n"), b'\r');
        assert_eq!(line_break_of(b"{}\r\n{}"), b'\n');
        assert_eq!(line_break_of(b""), b'\n');
    }
}
