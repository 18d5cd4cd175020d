//! Inline commands: a line of words, for people at a terminal.

use super::parser::{ProtocolError, range};

/// Splits a line into words as Redis does: blanks between them, `"..."` with escapes, `'...'`.
/// The words go into `text`, their ranges there into `ranges`.
pub(super) fn split(
    line: &[u8],
    text: &mut Vec<u8>,
    ranges: &mut Vec<(u32, u32)>,
) -> Result<(), ProtocolError> {
    let mut at = 0;
    loop {
        while line.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        if at >= line.len() {
            return Ok(());
        }
        let start = text.len();
        at = word(line, at, text)?;
        ranges.push(range(start, text.len())?);
    }
}

/// Reads the word at `at`; gives where it ends.
fn word(line: &[u8], mut at: usize, text: &mut Vec<u8>) -> Result<usize, ProtocolError> {
    while let Some(&byte) = line.get(at) {
        match byte {
            b'"' | b'\'' => {
                at = quoted(line, at + 1, byte, text)?;
                // A closing mark ends the word.
                return match line.get(at) {
                    Some(next) if !next.is_ascii_whitespace() => Err(ProtocolError::Quotes),
                    _ => Ok(at),
                };
            }
            byte if byte.is_ascii_whitespace() => break,
            byte => text.push(byte),
        }
        at += 1;
    }
    Ok(at)
}

/// Reads what stands between two marks; gives the position behind the second.
fn quoted(
    line: &[u8],
    mut at: usize,
    mark: u8,
    text: &mut Vec<u8>,
) -> Result<usize, ProtocolError> {
    loop {
        let byte = *line.get(at).ok_or(ProtocolError::Quotes)?;
        if byte == mark {
            return Ok(at + 1);
        }
        if byte == b'\\' && mark == b'"' {
            if let (Some(b'x'), Some(high), Some(low)) = (
                line.get(at + 1),
                line.get(at + 2).and_then(|b| char::from(*b).to_digit(16)),
                line.get(at + 3).and_then(|b| char::from(*b).to_digit(16)),
            ) {
                text.push(u8::try_from(high * 16 + low).unwrap_or_default());
                at += 4;
                continue;
            }
            let escaped = *line.get(at + 1).ok_or(ProtocolError::Quotes)?;
            text.push(match escaped {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'b' => 8,
                b'a' => 7,
                other => other,
            });
            at += 2;
            continue;
        }
        if byte == b'\\' && line.get(at + 1) == Some(&b'\'') {
            text.push(b'\'');
            at += 2;
            continue;
        }
        text.push(byte);
        at += 1;
    }
}
