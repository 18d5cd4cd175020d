//! Lexer of RQL: one token at a time from a byte position, nothing copied.
//!
//! Called by `parser`, which keeps the position: looking ahead is lexing again from a copy.
//!
//! Invariants:
//! - Every token but [`Token::End`] is at least one byte long, so a parser that advances ends.
//! - Positions are always character boundaries of the text.

use super::error::{SyntaxError, SyntaxErrorKind, line_and_column};

/// A token. Borrowed text is as written, escapes included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// Identifier or keyword.
    Word(&'t str),
    /// Identifier with a leading `@`, which is part of it.
    AtWord(&'t str),
    /// Quoted string without its quotes; `quote` tells which they were.
    Text { raw: &'t str, quote: char },
    /// Digits with `_`, perhaps a fraction and an exponent; no sign.
    Number { raw: &'t str, is_integer: bool },
    /// `$name`, without the dollar sign.
    Parameter(&'t str),
    /// Punctuation.
    Symbol(&'static str),
    /// A character that no token begins with.
    Unknown(char),
    /// End of the text.
    End,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spanned<'t> {
    pub(super) token: Token<'t>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Longest symbols first: the first that matches is taken.
const SYMBOLS: [&str; 20] = [
    "==", "!=", "<>", "<=", ">=", "(", ")", "[", "]", "{", "}", ",", ".", "=", "<", ">", "*", "-",
    "+", "/",
];

/// Reads the token at or after `position`.
///
/// # Errors
/// An unterminated string or comment.
pub(super) fn token_at(text: &str, position: usize) -> Result<Spanned<'_>, SyntaxError> {
    let start = skip_blanks(text, position)?;
    let rest = &text[start..];
    let Some(first) = rest.chars().next() else {
        return Ok(Spanned {
            token: Token::End,
            start,
            end: start,
        });
    };
    let (token, len) = match first {
        '\'' | '"' => {
            let inner = quoted_len(rest, first).ok_or_else(|| unterminated_string(text, start))?;
            (
                Token::Text {
                    raw: &rest[1..1 + inner],
                    quote: first,
                },
                inner + 2,
            )
        }
        '@' => {
            let len = 1 + dashed_len(&rest[1..]);
            match len {
                1 => (Token::Unknown('@'), 1),
                _ => (Token::AtWord(&rest[..len]), len),
            }
        }
        '$' => {
            let len = 1 + tail_len(&rest[1..]);
            match len {
                1 => (Token::Unknown('$'), 1),
                _ => (Token::Parameter(&rest[1..len]), len),
            }
        }
        '0'..='9' => {
            let (len, is_integer) = number_len(rest);
            (
                Token::Number {
                    raw: &rest[..len],
                    is_integer,
                },
                len,
            )
        }
        _ if is_word_start(first) => {
            let len = word_len(rest);
            (Token::Word(&rest[..len]), len)
        }
        _ => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            Some(symbol) => (Token::Symbol(symbol), symbol.len()),
            None => (Token::Unknown(first), first.len_utf8()),
        },
    };
    Ok(Spanned {
        token,
        start,
        end: start + len,
    })
}

/// Position of the first byte after blanks and comments.
fn skip_blanks(text: &str, mut position: usize) -> Result<usize, SyntaxError> {
    loop {
        let rest = &text[position..];
        let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        position += rest.len() - trimmed.len();
        if trimmed.starts_with("//") {
            position += trimmed.find('\n').unwrap_or(trimmed.len());
        } else if let Some(comment) = trimmed.strip_prefix("/*") {
            match comment.find("*/") {
                Some(len) => position += len + 4,
                None => {
                    let (line, column) = line_and_column(text, position);
                    return Err(SyntaxError {
                        line,
                        column,
                        message: "Expected */ at the end of a comment but got to the end of the \
                                  query"
                            .into(),
                        hint: None,
                        kind: SyntaxErrorKind::Unparsable,
                    });
                }
            }
        } else {
            return Ok(position);
        }
    }
}

fn unterminated_string(text: &str, start: usize) -> SyntaxError {
    let (line, column) = line_and_column(text, start);
    SyntaxError {
        line,
        column,
        message: "Expected a closing quote but got to the end of the query".into(),
        hint: Some("A quote inside a string is written \\' or doubled.".into()),
        kind: SyntaxErrorKind::Unparsable,
    }
}

/// Length of the inside of the quoted string `rest` begins with.
fn quoted_len(rest: &str, quote: char) -> Option<usize> {
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next()?;
        } else if character == quote {
            match characters.peek() {
                Some(&(_, next)) if next == quote => {
                    characters.next();
                }
                _ => return Some(at - 1),
            }
        }
    }
    None
}

fn is_word_start(character: char) -> bool {
    character == '_' || character.is_alphabetic()
}

/// Whether the text is one [`Token::Word`] and nothing else.
pub(super) fn is_plain_word(text: &str) -> bool {
    !text.is_empty() && word_len(text) == text.len()
}

/// Whether the text is what may follow the `@` of one [`Token::AtWord`], and nothing else.
pub(super) fn is_metadata_word(text: &str) -> bool {
    !text.is_empty() && dashed_len(text) == text.len()
}

/// Length of a word of metadata, which may hold dashes: `last-modified` of `@last-modified`.
fn dashed_len(text: &str) -> usize {
    let mut len = word_len(text);
    while len > 0 && text[len..].starts_with('-') {
        match word_len(&text[len + 1..]) {
            0 => break,
            more => len += 1 + more,
        }
    }
    len
}

fn word_len(text: &str) -> usize {
    if text.starts_with(is_word_start) {
        tail_len(text)
    } else {
        0
    }
}

fn tail_len(text: &str) -> usize {
    text.find(|c: char| c != '_' && !c.is_alphanumeric())
        .unwrap_or(text.len())
}

/// Length of the number `text` begins with, and whether it is an integer.
fn number_len(text: &str) -> (usize, bool) {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit() || **b == b'_')
            .count()
    };
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut len = digits(0);
    let mut is_integer = true;
    if bytes.get(len) == Some(&b'.') && is_digit(len + 1) {
        len += 1 + digits(len + 1);
        is_integer = false;
    }
    if matches!(bytes.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
        if is_digit(len + 1 + sign) {
            len += 1 + sign + digits(len + 1 + sign);
            is_integer = false;
        }
    }
    (len, is_integer)
}

/// The string a [`Token::Text`] stands for: doubled quotes and backslash escapes resolved.
///
/// A backslash before any other character stands for itself.
pub(super) fn unescape(raw: &str, quote: char) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find(['\\', quote]) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let mut characters = rest.chars();
        let first = characters.next();
        let second = characters.next();
        let mut used = 1 + second.map_or(0, char::len_utf8);
        match (first, second) {
            (Some('\\'), Some('u')) => match unicode_escape(rest) {
                Some((character, len)) => {
                    out.push(character);
                    used = len;
                }
                None => out.push_str("\\u"),
            },
            (Some('\\'), Some(escape)) => match simple_escape(escape) {
                Some(character) => out.push(character),
                None => out.extend(['\\', escape]),
            },
            // The lexer lets a quote through only when it is doubled.
            _ => out.push(quote),
        }
        rest = &rest[used.min(rest.len())..];
    }
    out.push_str(rest);
    out
}

fn simple_escape(escape: char) -> Option<char> {
    Some(match escape {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'b' => '\u{8}',
        'f' => '\u{c}',
        '\\' | '\'' | '"' | '/' => escape,
        _ => return None,
    })
}

/// The character of `\uXXXX` (or of a surrogate pair of them) and its length in `text`.
fn unicode_escape(text: &str) -> Option<(char, usize)> {
    let unit = |at: usize| -> Option<u32> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        u32::from_str_radix(digits, 16).ok()
    };
    let high = unit(0)?;
    if let Some(character) = char::from_u32(high) {
        return Some((character, 6));
    }
    match unit(6) {
        Some(low @ 0xdc00..=0xdfff) if high < 0xdc00 => {
            let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            Some((char::from_u32(code)?, 12))
        }
        _ => Some((char::REPLACEMENT_CHARACTER, 6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut position = 0;
        let mut tokens = Vec::new();
        loop {
            let spanned = token_at(text, position).unwrap();
            if spanned.token == Token::End {
                return tokens;
            }
            tokens.push(spanned.token);
            position = spanned.end;
        }
    }

    #[test]
    fn escapes_double_and_backslash() {
        for (source, expected) in [
            (r"'it''s'", "it's"),
            (r"'it\'s'", "it's"),
            (r#""say ""hi"" \"now\"""#, r#"say "hi" "now""#),
            (r"'a\\'", r"a\"),
            (r"'\u0041\n\t'", "A\n\t"),
            (r"'\uD83D\uDE00'", "\u{1f600}"),
            (r"'\uD83D'", "\u{fffd}"),
            (r"'C:\dir'", r"C:\dir"),
            (r"'\u12'", r"\u12"),
            ("''", ""),
            ("''''", "'"),
        ] {
            let Token::Text { raw, quote } = tokens(source)[0] else {
                panic!("{source}")
            };
            assert_eq!(unescape(raw, quote), expected, "{source}");
        }
    }

    #[test]
    fn numbers_stop_where_they_end() {
        let number = |text| match tokens(text)[0] {
            Token::Number { raw, is_integer } => (raw.to_owned(), is_integer),
            other => panic!("{other:?}"),
        };
        assert_eq!(number("500_000"), ("500_000".into(), true));
        assert_eq!(number("1.5)"), ("1.5".into(), false));
        assert_eq!(number("1e3"), ("1e3".into(), false));
        assert_eq!(number("1E-3x"), ("1E-3".into(), false));
        assert_eq!(number("0x0A"), ("0".into(), true));
        assert_eq!(number("1h"), ("1".into(), true));
        assert_eq!(number("1.x"), ("1".into(), true));
    }

    #[test]
    fn comments_and_words() {
        assert_eq!(
            tokens("fromage // from\n /* where */ @metadata $0 <>"),
            [
                Token::Word("fromage"),
                Token::AtWord("@metadata"),
                Token::Parameter("0"),
                Token::Symbol("<>")
            ]
        );
        assert!(token_at("/* open", 0).is_err());
        assert!(token_at("'open", 0).is_err());
        assert!(token_at("'open\\'", 0).is_err());
    }
}
