//! Finds the end of a JavaScript block without understanding it.
//!
//! Called by the parser at `{`; the text between the braces goes to the script engine as it is.
//! Braces inside strings, templates, comments and regular expressions do not count. Whether `/`
//! begins a regular expression or divides is decided by what stands before it, as JavaScript does
//! except after `)` and `}`, where it is taken as a division.

/// Words after which `/` begins a regular expression.
const WORDS_BEFORE_REGEX: [&str; 12] = [
    "return",
    "typeof",
    "case",
    "in",
    "of",
    "delete",
    "void",
    "throw",
    "new",
    "else",
    "do",
    "instanceof",
];

/// What encloses the current position, innermost last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Enclosure {
    /// `{`.
    Brace,
    /// `${` inside a template.
    Substitution,
    /// A template outside its substitutions.
    Template,
}

/// Length of the block that `text` begins with (`{` to its balancing `}`), or `None` when it does
/// not end. O(length).
pub(super) fn block_len(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open: Vec<Enclosure> = Vec::new();
    let mut position = 0;
    // Last byte that was neither blank nor comment, and where it stood.
    let mut last: Option<usize> = None;
    while let Some(&byte) = bytes.get(position) {
        if open.last() == Some(&Enclosure::Template) {
            match byte {
                b'\\' => position += 1,
                b'`' => {
                    open.pop();
                    last = Some(position);
                }
                b'$' if bytes.get(position + 1) == Some(&b'{') => {
                    open.push(Enclosure::Substitution);
                    position += 1;
                    last = Some(position);
                }
                _ => {}
            }
            position += 1;
            continue;
        }
        let mut end = position + 1;
        match byte {
            b'{' => open.push(Enclosure::Brace),
            b'}' => {
                open.pop()?;
                if open.is_empty() {
                    return Some(end);
                }
            }
            b'`' => open.push(Enclosure::Template),
            b'\'' | b'"' => end = delimited_end(bytes, position, byte)?,
            b'/' if bytes.get(end) == Some(&b'/') => {
                position = bytes[end..]
                    .iter()
                    .position(|b| *b == b'\n')
                    .map(|at| end + at)?;
                continue;
            }
            b'/' if bytes.get(end) == Some(&b'*') => {
                position = text[end + 1..].find("*/").map(|at| end + 1 + at + 2)?;
                continue;
            }
            b'/' if regex_may_start(text, last) => end = regex_end(bytes, position)?,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            last = Some(end - 1);
        }
        position = end;
    }
    None
}

/// End of the string that starts at `start`.
fn delimited_end(bytes: &[u8], start: usize, quote: u8) -> Option<usize> {
    let mut position = start + 1;
    loop {
        match *bytes.get(position)? {
            b'\\' => position += 2,
            byte if byte == quote => return Some(position + 1),
            _ => position += 1,
        }
    }
}

/// End of the regular expression that starts at `start`: a slash inside a class does not end it.
fn regex_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut position = start + 1;
    let mut in_class = false;
    loop {
        match *bytes.get(position)? {
            b'\\' => position += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class => return Some(position + 1),
            b'\n' => return None,
            _ => {}
        }
        position += 1;
    }
}

fn regex_may_start(text: &str, last: Option<usize>) -> bool {
    let Some(last) = last else { return true };
    let before = &text.as_bytes()[..=last];
    let byte = before[last];
    if b"(,=:[!&|?{;+-*%<>~^".contains(&byte) {
        return true;
    }
    let word_len = before
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_' || **b == b'$')
        .count();
    let word = &before[before.len() - word_len..];
    WORDS_BEFORE_REGEX
        .iter()
        .any(|known| known.as_bytes() == word)
}

#[cfg(test)]
mod tests {
    use super::block_len;

    #[test]
    fn braces_in_text_do_not_count() {
        for block in [
            "{}",
            "{ return 1; }",
            "{ a: '}', b: \"}\", c: `}${ {d: `}`} }}` }",
            "{ // }\n }",
            "{ /* } */ }",
            "{ return /[}/]}/g.test(x) }",
            "{ return a / b / c; }",
            "{ x = y => { return {}; } }",
            r"{ '\'}' }",
            "{ return /\\/}/ }",
        ] {
            let text = format!("{block} limit 1 }}");
            assert_eq!(block_len(&text), Some(block.len()), "{block}");
        }
    }

    #[test]
    fn unfinished_blocks_have_no_end() {
        for block in [
            "{",
            "{ '} ",
            "{ `} ",
            "{ `${}",
            "{ /* }",
            "{ // }",
            "{ x = /} ",
            "{ '\\",
        ] {
            assert_eq!(block_len(block), None, "{block}");
        }
    }
}
