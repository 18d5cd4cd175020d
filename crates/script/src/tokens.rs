//! The words and signs of JavaScript, as far as telling them apart goes.
//!
//! Called by `lenient`. Nothing is understood: what is odd here is told by the engine.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier that is not reserved, or `this`.
    Name,
    /// A reserved word.
    Keyword,
    /// A number or a string.
    Literal,
    /// A template with all that is in it.
    Template,
    /// A regular expression.
    Regex,
    /// An operator or bracket.
    Sign,
}

/// A token and its bytes in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Words that are no names of variables.
const KEYWORDS: &[&str] = &[
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "get",
    "if",
    "import",
    "in",
    "instanceof",
    "let",
    "new",
    "null",
    "of",
    "return",
    "set",
    "static",
    "super",
    "switch",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Signs of more than one character, longest first.
const LONG_SIGNS: &[&str] = &[
    ">>>=", "...", "===", "!==", "**=", "<<=", ">>=", "&&=", "||=", "??=", ">>>", "=>", "==", "!=",
    "<=", ">=", "&&", "||", "??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
    "<<", ">>", "**",
];

/// The tokens of `text`, comments left out. O(length).
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut position = 0;
    while let Some(rest) = text.get(position..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or(' ');
        if first.is_whitespace() {
            position += first.len_utf8();
            continue;
        }
        if let Some(len) = comment_len(rest) {
            position += len;
            continue;
        }
        let (kind, len) = token(rest, first, tokens.last(), text);
        let end = position + len;
        tokens.push(Token {
            kind,
            start: position,
            end,
        });
        position = end;
    }
    tokens
}

fn comment_len(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    let inside = rest.strip_prefix("/*")?;
    Some(inside.find("*/").map_or(rest.len(), |at| at + 4))
}

fn token(rest: &str, first: char, last: Option<&Token>, text: &str) -> (Kind, usize) {
    if is_name_start(first) {
        let len = rest.find(|c: char| !is_name_part(c)).unwrap_or(rest.len());
        let is_member = last.is_some_and(|last| matches!(&text[last.start..last.end], "." | "?."));
        let is_keyword = !is_member && KEYWORDS.contains(&&rest[..len]);
        return (
            if is_keyword {
                Kind::Keyword
            } else {
                Kind::Name
            },
            len,
        );
    }
    let second = rest.as_bytes().get(1).copied().unwrap_or(0);
    if first.is_ascii_digit() || (first == '.' && second.is_ascii_digit()) {
        return (Kind::Literal, number_len(rest));
    }
    match first {
        '\'' | '"' => (Kind::Literal, delimited_len(rest, first)),
        '`' => (Kind::Template, template_len(rest)),
        '/' if may_begin_regex(last, text) => (Kind::Regex, regex_len(rest)),
        // `a ?.5 : b` is a condition and a number.
        '?' if second == b'.' && rest.as_bytes().get(2).is_some_and(u8::is_ascii_digit) => {
            (Kind::Sign, 1)
        }
        _ => {
            let long = LONG_SIGNS.iter().find(|sign| rest.starts_with(**sign));
            (Kind::Sign, long.map_or(first.len_utf8(), |sign| sign.len()))
        }
    }
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || c == '\u{200c}' || c == '\u{200d}'
}

fn number_len(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut len = 1;
    let mut has_dot = bytes.first() == Some(&b'.');
    while let Some(&byte) = bytes.get(len) {
        let is_exponent_sign = (byte == b'+' || byte == b'-')
            && matches!(bytes.get(len - 1), Some(b'e' | b'E'))
            && !rest.starts_with("0x");
        match byte {
            b'.' if !has_dot => has_dot = true,
            _ if byte.is_ascii_alphanumeric() || byte == b'_' || is_exponent_sign => {}
            _ => break,
        }
        len += 1;
    }
    len
}

fn delimited_len(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A template to its end; templates inside its substitutions count.
fn template_len(rest: &str) -> usize {
    let mut escaped = false;
    // For each open template, the braces that are open in its substitution; `None` outside one.
    let mut open: Vec<Option<u32>> = vec![None];
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match (open.last_mut(), c) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(None), '`') => {
                open.pop();
                if open.is_empty() {
                    return at + 1;
                }
            }
            (Some(state @ None), '$') if chars.peek().is_some_and(|(_, next)| *next == '{') => {
                chars.next();
                *state = Some(0);
            }
            (Some(Some(_)), '`') => open.push(None),
            (Some(Some(braces)), '{') => *braces += 1,
            (Some(state @ Some(0)), '}') => *state = None,
            (Some(Some(braces)), '}') => *braces -= 1,
            _ => {}
        }
    }
    rest.len()
}

fn may_begin_regex(last: Option<&Token>, text: &str) -> bool {
    match last {
        None => true,
        Some(last) => match last.kind {
            Kind::Keyword => !matches!(&text[last.start..last.end], "null" | "true" | "false"),
            Kind::Sign => !matches!(&text[last.start..last.end], ")" | "]" | "}"),
            Kind::Name | Kind::Literal | Kind::Template | Kind::Regex => false,
        },
    }
}

fn regex_len(rest: &str) -> usize {
    let mut in_class = false;
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => {
                let flags = &rest[at + 1..];
                let flags_len = flags
                    .find(|c: char| !is_name_part(c))
                    .unwrap_or(flags.len());
                return at + 1 + flags_len;
            }
            _ => {}
        }
    }
    rest.len()
}
