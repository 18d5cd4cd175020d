//! Words and signs of C#.
//!
//! Called by `parser`, once for a text, and again for what stands in the holes of interpolated
//! texts. Positions are bytes of the whole text. Linear in its length.

use rust_decimal::Decimal;

use crate::index::error::CompileError;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A name or keyword.
    Word,
    /// A name behind `@`, which is never a keyword.
    Verbatim,
    Text(Box<str>),
    /// An interpolated text: where its inside begins and ends, and whether it is verbatim.
    Interpolated(usize, usize, bool),
    Long(i64),
    Double(f64),
    Decimal(Decimal),
    Sign(&'static str),
    End,
}

/// A token with its bytes in the text.
#[derive(Clone, Debug)]
pub(crate) struct Spanned {
    pub(crate) token: Token,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Longest first.
const SIGNS: &[&str] = &[
    "??=", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "++", "--", "+=", "-=", "*=",
    "/=", "(", ")", "[", "]", "{", "}", ",", ".", ";", ":", "?", "=", "<", ">", "+", "-", "*", "/",
    "%", "!", "~", "&", "|", "^",
];

/// The tokens of `text` from `start` to `end`, closed by [`Token::End`].
///
/// # Errors
/// A text or comment that does not end, a number that is none, a character C# does not know.
pub(crate) fn tokens(text: &str, start: usize, end: usize) -> Result<Vec<Spanned>, CompileError> {
    let mut lexer = Lexer {
        text,
        at: start,
        end,
    };
    let mut list = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let start = lexer.at;
        if start >= end {
            list.push(Spanned {
                token: Token::End,
                start,
                end: start,
            });
            return Ok(list);
        }
        let token = lexer.token()?;
        list.push(Spanned {
            token,
            start,
            end: lexer.at,
        });
    }
}

/// Line and column of a byte, from 1.
pub(crate) fn position(text: &str, at: usize) -> (u32, u32) {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    (
        count(before.matches('\n').count() + 1),
        count(before[line_start..].chars().count() + 1),
    )
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    end: usize,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..self.end]
    }

    fn refuse<T>(&self, message: &str, at: usize) -> Result<T, CompileError> {
        let construct: String = self.text[at..self.end].chars().take(40).collect();
        Err(CompileError::new(
            message,
            &construct,
            position(self.text, at),
        ))
    }

    fn skip_blanks(&mut self) -> Result<(), CompileError> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if let Some(inside) = trimmed.strip_prefix("/*") {
                let Some(len) = inside.find("*/") else {
                    return self.refuse("this comment does not end: close it with */", self.at);
                };
                self.at += len + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, CompileError> {
        let rest = self.rest();
        let start = self.at;
        let first = rest.chars().next().unwrap_or(' ');
        if first.is_alphabetic() || first == '_' {
            self.at += word_len(rest);
            return Ok(Token::Word);
        }
        if first.is_ascii_digit()
            || first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())
        {
            return self.number();
        }
        for (prefix, is_interpolated, is_verbatim) in [
            ("$@\"", true, true),
            ("@$\"", true, true),
            ("$\"", true, false),
            ("@\"", false, true),
        ] {
            if rest.starts_with(prefix) {
                self.at += prefix.len();
                return match is_interpolated {
                    true => self.interpolated(is_verbatim, start),
                    false => self.verbatim(start),
                };
            }
        }
        match first {
            '"' | '\'' => {
                self.at += 1;
                self.quoted(first, start)
            }
            '@' if rest[1..].starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                self.at += 1 + word_len(&rest[1..]);
                Ok(Token::Verbatim)
            }
            _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                // `a ?.5 : b` is a condition and a number.
                Some(&"?.") if rest[2..].starts_with(|c: char| c.is_ascii_digit()) => {
                    self.at += 1;
                    Ok(Token::Sign("?"))
                }
                Some(sign) => {
                    self.at += sign.len();
                    Ok(Token::Sign(sign))
                }
                None => self.refuse("this character is not part of C#", start),
            },
        }
    }

    fn number(&mut self) -> Result<Token, CompileError> {
        let start = self.at;
        let rest = self.rest();
        let broken = "this is not a number";
        if rest.starts_with("0x") || rest.starts_with("0X") {
            let digits = &rest[2..];
            let len = digits
                .find(|c: char| !c.is_ascii_hexdigit())
                .unwrap_or(digits.len());
            self.at += 2 + len;
            return match i64::from_str_radix(&digits[..len], 16) {
                Ok(long) => Ok(Token::Long(long)),
                Err(_) => self.refuse(broken, start),
            };
        }
        let bytes = rest.as_bytes();
        let mut len = 0;
        let mut is_whole = true;
        while let Some(byte) = bytes.get(len) {
            let next = bytes.get(len + 1).copied().unwrap_or(0);
            match byte {
                b'0'..=b'9' | b'_' => len += 1,
                b'.' if is_whole && next.is_ascii_digit() => {
                    is_whole = false;
                    len += 1;
                }
                b'e' | b'E' => {
                    let after = bytes.get(len + 2).copied().unwrap_or(0);
                    let has_sign = matches!(next, b'+' | b'-') && after.is_ascii_digit();
                    if !next.is_ascii_digit() && !has_sign {
                        break;
                    }
                    is_whole = false;
                    len += if has_sign { 2 } else { 1 };
                }
                _ => break,
            }
        }
        let digits: String = rest[..len].chars().filter(|c| *c != '_').collect();
        let suffix_len = word_len(&rest[len..]);
        let suffix = rest[len..len + suffix_len].to_ascii_lowercase();
        self.at += len + suffix_len;
        let number = match suffix.as_str() {
            "m" => digits.parse().ok().map(Token::Decimal),
            "d" | "f" => digits.parse().ok().map(Token::Double),
            "" | "l" | "u" | "ul" | "lu" if is_whole => digits.parse().ok().map(Token::Long),
            "" => digits.parse().ok().map(Token::Double),
            _ => None,
        };
        number.map_or_else(|| self.refuse(broken, start), Ok)
    }

    /// A text or character behind its opening quote.
    fn quoted(&mut self, quote: char, start: usize) -> Result<Token, CompileError> {
        let mut out = String::new();
        let mut characters = self.rest().char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                _ if character == quote => {
                    self.at += at + 1;
                    return Ok(Token::Text(out.into_boxed_str()));
                }
                '\\' => {
                    let Some(escaped) = unescape(&mut characters) else {
                        return self.refuse("this escape is not part of C#", self.at + at);
                    };
                    out.push(escaped);
                }
                '\n' => break,
                other => out.push(other),
            }
        }
        self.refuse("this text does not end: close it with its quote", start)
    }

    fn verbatim(&mut self, start: usize) -> Result<Token, CompileError> {
        let mut out = String::new();
        let mut rest = self.rest();
        while let Some(at) = rest.find('"') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            self.at += at + 1;
            match rest.strip_prefix('"') {
                Some(after) => {
                    out.push('"');
                    rest = after;
                    self.at += 1;
                }
                None => return Ok(Token::Text(out.into_boxed_str())),
            }
        }
        self.refuse("this text does not end: close it with its quote", start)
    }

    /// Finds the end of an interpolated text; texts inside of its holes count.
    fn interpolated(&mut self, is_verbatim: bool, start: usize) -> Result<Token, CompileError> {
        let inside = self.at;
        let bytes = self.text.as_bytes();
        let mut depth = 0_u32;
        let mut at = inside;
        while at < self.end {
            let next = bytes.get(at + 1).copied().unwrap_or(0);
            match bytes[at] {
                b'\\' if depth == 0 && !is_verbatim => at += 1,
                b'{' if depth == 0 && next == b'{' => at += 1,
                b'{' => depth += 1,
                b'}' => depth = depth.saturating_sub(1),
                b'"' if depth > 0 => {
                    // A text in a hole: without escapes of its own quote it ends at the next one.
                    let rest = &bytes[at + 1..self.end];
                    let len = rest.iter().position(|byte| *byte == b'"');
                    at += len.map_or(rest.len(), |len| len + 1);
                }
                b'"' if is_verbatim && next == b'"' => at += 1,
                b'"' => {
                    self.at = at + 1;
                    return Ok(Token::Interpolated(inside, at, is_verbatim));
                }
                _ => {}
            }
            at += 1;
        }
        self.refuse("this text does not end: close it with its quote", start)
    }
}

/// Length of the name at the start of `text`.
fn word_len(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(text.len())
}

/// The character that an escape stands for.
pub(crate) fn unescape(characters: &mut std::str::CharIndices<'_>) -> Option<char> {
    let (_, kind) = characters.next()?;
    Some(match kind {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        '\\' | '"' | '\'' | '{' | '}' => kind,
        'u' => {
            let mut code = 0;
            for _ in 0..4 {
                code = code * 16 + characters.next()?.1.to_digit(16)?;
            }
            char::from_u32(code)?
        }
        _ => return None,
    })
}
