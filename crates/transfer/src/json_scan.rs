//! Where a JSON value ends, found without building anything.
//!
//! Called by the JSON source, which hands whole values to the parse threads. The scanner checks
//! the structure (brackets, commas, colons, quotes) and leaves the rest to the parser, so that a
//! value that is cut off is noticed before it takes the values behind it along.

use memchr::memchr3;

/// What the scanner found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scanned {
    /// The value goes on behind the bytes.
    More,
    /// The value ends behind this many bytes.
    End(usize),
    /// The byte at this position cannot stand there.
    Broken(usize),
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Value,
    /// Behind `[`.
    ValueOrEnd,
    /// Behind `{`.
    KeyOrEnd,
    Key,
    Colon,
    /// Behind a value that is inside another.
    CommaOrEnd,
    String {
        is_key: bool,
    },
    Escape {
        is_key: bool,
    },
    /// A number or a word.
    Scalar,
}

/// Reads one value, in pieces of any length.
#[derive(Debug)]
pub(crate) struct Scanner {
    state: State,
    /// The open containers; `true` is an object.
    open: Vec<bool>,
}

impl Scanner {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Value,
            open: Vec::new(),
        }
    }

    /// Prepares for the next value.
    pub(crate) fn reset(&mut self) {
        self.state = State::Value;
        self.open.clear();
        self.open.shrink_to(1024);
    }

    /// Whether the input may end here: a number or word outside containers.
    pub(crate) fn may_end(&self) -> bool {
        self.state == State::Scalar && self.open.is_empty()
    }

    /// Scans `bytes`, which begin where the last call stopped.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> Scanned {
        let mut pos = 0;
        while let Some(&byte) = bytes.get(pos) {
            match self.state {
                State::String { is_key } => {
                    // Line breaks cannot stand in strings: a string that has one is cut off.
                    let rest = &bytes[pos..];
                    let Some(found) = memchr3(b'"', b'\\', b'\n', rest) else {
                        return match rest.iter().position(|&byte| byte == b'\r') {
                            Some(at) => Scanned::Broken(pos + at),
                            None => Scanned::More,
                        };
                    };
                    if let Some(at) = rest[..found].iter().position(|&byte| byte == b'\r') {
                        return Scanned::Broken(pos + at);
                    }
                    pos += found;
                    match bytes[pos] {
                        b'\n' => return Scanned::Broken(pos),
                        b'\\' => self.state = State::Escape { is_key },
                        _ if is_key => self.state = State::Colon,
                        _ if self.open.is_empty() => return Scanned::End(pos + 1),
                        _ => self.state = State::CommaOrEnd,
                    }
                    pos += 1;
                }
                State::Escape { is_key } => {
                    if matches!(byte, b'\n' | b'\r') {
                        return Scanned::Broken(pos);
                    }
                    self.state = State::String { is_key };
                    pos += 1;
                }
                State::Scalar => {
                    if is_scalar(byte) {
                        pos += 1;
                    } else if self.open.is_empty() {
                        return Scanned::End(pos);
                    } else {
                        self.state = State::CommaOrEnd;
                    }
                }
                _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => pos += 1,
                state => {
                    if !self.step(state, byte) {
                        return Scanned::Broken(pos);
                    }
                    pos += 1;
                    if self.open.is_empty() && self.state == State::CommaOrEnd {
                        return Scanned::End(pos);
                    }
                }
            }
        }
        Scanned::More
    }

    /// Takes a byte between strings and scalars; `false` when it cannot stand there.
    fn step(&mut self, state: State, byte: u8) -> bool {
        let is_object = self.open.last().copied();
        self.state = match (state, byte) {
            (State::Value | State::ValueOrEnd, b'{') => {
                self.open.push(true);
                State::KeyOrEnd
            }
            (State::Value | State::ValueOrEnd, b'[') => {
                self.open.push(false);
                State::ValueOrEnd
            }
            (State::Value | State::ValueOrEnd, b'"') => State::String { is_key: false },
            (State::Value | State::ValueOrEnd, byte) if is_scalar(byte) => State::Scalar,
            (State::KeyOrEnd | State::Key, b'"') => State::String { is_key: true },
            (State::Colon, b':') => State::Value,
            (State::CommaOrEnd, b',') => match is_object {
                Some(true) => State::Key,
                _ => State::Value,
            },
            (State::KeyOrEnd, b'}') | (State::ValueOrEnd, b']') => {
                self.open.pop();
                State::CommaOrEnd
            }
            (State::CommaOrEnd, b'}') if is_object == Some(true) => {
                self.open.pop();
                State::CommaOrEnd
            }
            (State::CommaOrEnd, b']') if is_object == Some(false) => {
                self.open.pop();
                State::CommaOrEnd
            }
            _ => return false,
        };
        true
    }
}

/// Whether a byte may be part of a number or a word.
fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of the value, however the bytes are cut.
    fn scan(text: &str) -> Scanned {
        let whole = Scanner::new().scan(text.as_bytes());
        for cut in 0..text.len() {
            let mut scanner = Scanner::new();
            let (first, second) = text.as_bytes().split_at(cut);
            let pieces = match scanner.scan(first) {
                Scanned::More => match scanner.scan(second) {
                    Scanned::End(len) => Scanned::End(cut + len),
                    Scanned::Broken(at) => Scanned::Broken(cut + at),
                    Scanned::More => Scanned::More,
                },
                found => found,
            };
            assert_eq!(pieces, whole, "{text:?} cut at {cut}");
        }
        whole
    }

    #[test]
    fn values_end_where_their_brackets_close() {
        for value in [
            "{}",
            "[]",
            r#"{"a":1}"#,
            r#"{"a":{"b":[1,{"c":null}]},"d":"}"}"#,
            r#"{"a\"}":"\\"}"#,
            "{ \"a\" :\n [ true , -1.5e+7 ]\n}",
            "[[[]],{}]",
            r#""text""#,
        ] {
            assert_eq!(scan(value), Scanned::End(value.len()), "{value}");
            let longer = format!("{value}{{\"x\"");
            assert_eq!(scan(&longer), Scanned::End(value.len()), "{longer}");
        }
        assert_eq!(scan("12,"), Scanned::End(2));
        assert_eq!(scan("null\n"), Scanned::End(4));
        let mut scanner = Scanner::new();
        assert_eq!(scanner.scan(b"12"), Scanned::More);
        assert!(scanner.may_end());
    }

    #[test]
    fn values_that_are_cut_off_break_where_the_next_begins() {
        assert_eq!(scan("{\"a\":\n{\"b\":1}\n{"), Scanned::Broken(14));
        assert_eq!(scan("{\"a\":\"x\n"), Scanned::Broken(7));
        assert_eq!(scan("{\"a\":\"x\r"), Scanned::Broken(7));
        assert_eq!(scan("{\"a\":\"x\\\n"), Scanned::Broken(8));
        for broken in [
            "}",
            "]",
            ",",
            ":",
            "{]",
            "[}",
            "{1",
            "{\"a\" 1",
            "[1 2",
            "{\"a\":1,}",
        ] {
            assert!(matches!(scan(broken), Scanned::Broken(_)), "{broken}");
        }
        for open in [
            "{",
            "[",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "\"",
            "[1,",
        ] {
            assert_eq!(scan(open), Scanned::More, "{open}");
        }
    }
}
