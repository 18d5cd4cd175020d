//! Bytes of unknown encoding to text.
//!
//! Called by the xmcd parser for every value. Old CD databases mix UTF-8 and Latin-1, often within
//! one archive: text that is valid UTF-8 is UTF-8, anything else is Windows-1252, which is Latin-1
//! with letters and quotes where Latin-1 has control codes.

/// What Windows-1252 means by the bytes 0x80 to 0x9F. Five of them are unassigned and stand for the
/// control code of the same number, as web browsers read them.
const WINDOWS_1252_HIGH: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// Appends `bytes` to `out`: as UTF-8 when they are valid UTF-8, else as Windows-1252.
pub fn decode_append(bytes: &[u8], out: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) => out.push_str(text),
        Err(_) => out.extend(bytes.iter().map(|&byte| windows_1252(byte))),
    }
}

/// The character that `byte` stands for in Windows-1252.
fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS_1252_HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> String {
        let mut out = String::new();
        decode_append(bytes, &mut out);
        out
    }

    #[test]
    fn valid_utf8_wins_and_everything_else_is_windows_1252() {
        assert_eq!(decode(b"plain"), "plain");
        assert_eq!(decode("Bj\u{f6}rk".as_bytes()), "Bj\u{f6}rk");
        assert_eq!(decode(b"Bj\xf6rk"), "Bj\u{f6}rk");
        assert_eq!(
            decode(b"\x93quoted\x94 \x80"),
            "\u{201c}quoted\u{201d} \u{20ac}"
        );
        assert_eq!(
            decode(b"\xe6\x97"),
            "\u{e6}\u{2014}",
            "half a character is not UTF-8"
        );
        assert_eq!(decode(b"\x81\xff"), "\u{81}\u{ff}");
        assert_eq!(decode(b""), "");
    }
}
