//! A view of Rust source that knows code from comments and literals, line by line.
//!
//! No parser: enough to keep words inside strings and comments from being taken for code.

/// The code of each line, comments removed and the inside of literals blanked out.
pub(crate) fn code_lines(text: &str) -> Vec<String> {
    code_and_comments(text).0
}

/// The comments of a file, one string a comment line, with their markers.
pub(crate) fn comments(text: &str) -> Vec<&str> {
    code_and_comments(text).1
}

fn code_and_comments(text: &str) -> (Vec<String>, Vec<&str>) {
    let mut lines = vec![String::new()];
    let mut comments = Vec::new();
    let mut chars = Chars { rest: text };
    while let Some(c) = chars.next() {
        let line = lines.last_mut().expect("there is always a last line");
        match c {
            '\n' => lines.push(String::new()),
            '/' if chars.rest.starts_with('/') => comments.push(chars.skip_to_line_end()),
            '/' if chars.rest.starts_with('*') => {
                let before = chars.rest;
                skip_block_comment(&mut chars, &mut lines);
                comments.extend(before[..before.len() - chars.rest.len()].lines());
            }
            '"' => {
                line.push('"');
                skip_string(&mut chars, &mut lines);
            }
            'r' if !ends_in_word(line) && raw_hashes(chars.rest).is_some() => {
                line.push('"');
                skip_raw_string(&mut chars, &mut lines);
            }
            '\'' => {
                line.push('\'');
                chars.skip_character_literal();
            }
            c => line.push(c),
        }
    }
    (lines, comments)
}

/// A word, `::`, or one other character of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    /// 1-based.
    pub(crate) line: usize,
}

impl Token {
    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(is_word_character)
    }
}

/// The tokens of a file without the items that only tests compile.
pub(crate) fn product_tokens(text: &str) -> Vec<Token> {
    let tokens = tokens(text);
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            at = item_end(&tokens, at);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (line, code) in (1..).zip(code_lines(text)) {
        let mut rest = code.trim_start();
        while let Some(first) = rest.chars().next() {
            let len = if is_word_character(first) {
                rest.find(|c| !is_word_character(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (token, after) = rest.split_at(len);
            let text = token.to_owned();
            tokens.push(Token { text, line });
            rest = after.trim_start();
        }
    }
    tokens
}

/// Whether `#[cfg(test)]` or `#[cfg(all(test, ..))]` starts here.
fn is_test_attribute(tokens: &[Token]) -> bool {
    let starts_with = |words: &[&str]| {
        tokens.len() >= words.len() && tokens.iter().zip(words).all(|(t, w)| t.text == *w)
    };
    starts_with(&["#", "[", "cfg", "(", "test", ")"])
        || starts_with(&["#", "[", "cfg", "(", "all", "(", "test"])
}

/// The end of the item, field or statement whose attributes start at `at`.
fn item_end(tokens: &[Token], mut at: usize) -> usize {
    while tokens.get(at).is_some_and(|t| t.text == "#") {
        at = group_end(tokens, at + 1);
    }
    const ITEMS: &[&str] = &[
        "pub",
        "fn",
        "mod",
        "use",
        "impl",
        "struct",
        "enum",
        "const",
        "static",
        "type",
        "trait",
        "unsafe",
        "async",
        "extern",
        "macro_rules",
        "let",
        "union",
    ];
    let is_item = tokens
        .get(at)
        .is_some_and(|t| ITEMS.contains(&t.text.as_str()));
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            ";" => return at + 1,
            "," if !is_item => return at + 1,
            "{" => return group_end(tokens, at),
            "(" | "[" => at = group_end(tokens, at),
            ")" | "]" | "}" => return at,
            _ => at += 1,
        }
    }
    at
}

/// Behind the bracket that closes the one at `open`.
pub(crate) fn group_end(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// 0-based line of the module of tests that ends most files, when there is one.
pub(crate) fn tests_start(text: &str) -> Option<usize> {
    let lines: Vec<&str> = text.lines().collect();
    (0..lines.len())
        .find(|&i| lines[i].starts_with("#[cfg(test)]") || lines[i].starts_with("#[cfg(all(test"))
}

/// Whether a whole file is tests: by its name, or by its folder.
pub(crate) fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.starts_with("tests/")
}

struct Chars<'a> {
    rest: &'a str,
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }
}

impl<'a> Chars<'a> {
    fn skip_to_line_end(&mut self) -> &'a str {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let (skipped, rest) = self.rest.split_at(end);
        self.rest = rest;
        skipped
    }

    /// After a quote: a character literal is skipped, the tick of a lifetime is left alone.
    fn skip_character_literal(&mut self) {
        let mut ahead = self.rest.chars();
        match (ahead.next(), ahead.next()) {
            (Some('\\'), Some(escaped)) => {
                self.rest = &self.rest[1 + escaped.len_utf8()..];
                self.rest = &self.rest[self.rest.find('\'').map_or(0, |at| at + 1)..];
            }
            (Some(c), Some('\'')) => self.rest = &self.rest[c.len_utf8() + 1..],
            _ => {}
        }
    }
}

fn ends_in_word(line: &str) -> bool {
    // `br"..."` is a literal as well; any other letter before `r` makes it part of a name.
    let before = line.strip_suffix('b').unwrap_or(line);
    before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// After an `r`: the number of hashes, when a raw string starts here.
fn raw_hashes(rest: &str) -> Option<usize> {
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

fn skip_raw_string(chars: &mut Chars<'_>, lines: &mut Vec<String>) {
    let hashes = raw_hashes(chars.rest).unwrap_or(0);
    let end = format!("\"{}", "#".repeat(hashes));
    chars.rest = &chars.rest[hashes + 1..];
    let len = chars.rest.find(&end).unwrap_or(chars.rest.len());
    let (inside, after) = chars.rest.split_at(len);
    lines.extend(inside.matches('\n').map(|_| String::new()));
    chars.rest = after.get(end.len()..).unwrap_or_default();
    lines
        .last_mut()
        .expect("there is always a last line")
        .push('"');
}

fn skip_string(chars: &mut Chars<'_>, lines: &mut Vec<String>) {
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\n' => lines.push(String::new()),
            '\\' if chars.next() == Some('\n') => lines.push(String::new()),
            _ => {}
        }
    }
    lines
        .last_mut()
        .expect("there is always a last line")
        .push('"');
}

fn skip_block_comment(chars: &mut Chars<'_>, lines: &mut Vec<String>) {
    let mut depth = 1;
    chars.next();
    while depth > 0 {
        let rest = chars.rest;
        if rest.starts_with("*/") || rest.starts_with("/*") {
            depth = if rest.starts_with("*/") {
                depth - 1
            } else {
                depth + 1
            };
            chars.rest = &rest[2..];
            continue;
        }
        match chars.next() {
            None => break,
            Some('\n') => lines.push(String::new()),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank() {
        let text = "let a = \"unsafe \\\" {\"; // unsafe\nlet b = r#\"unsafe \" {\"#; /* unsafe\n\
                    /* unsafe */ */ let c = '\"'; let d: &'static str = b\"x\";";
        let lines = code_lines(text);
        assert_eq!(lines.len(), 3);
        assert!(
            lines.iter().all(|line| !line.contains("unsafe")),
            "{lines:?}"
        );
        assert!(
            lines[2].contains("let c = '; let d: &'static str = b\"\""),
            "{lines:?}"
        );
    }

    #[test]
    fn strings_over_several_lines_keep_the_count_of_lines() {
        let text = "a(\"x\\\n   y\");\nr\"1\n2\";\nlast";
        let lines = code_lines(text);
        assert_eq!(lines.last().map(String::as_str), Some("last"));
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn names_that_end_in_r_are_no_raw_strings() {
        assert_eq!(code_lines("for\"x\" br\"unsafe\""), ["for\"\" b\"\""]);
    }

    #[test]
    fn comments_are_kept_apart_from_code_and_literals() {
        let text = "//! Head.\nlet a = \"// no\"; // yes\n/* one\n two */ let b;\n";
        assert_eq!(comments(text), ["/! Head.", "/ yes", "* one", " two */"]);
    }

    #[test]
    fn items_of_tests_are_no_product_tokens() {
        let text = "use a::B;\n#[cfg(test)]\nmod tests;\nstruct S {\n    #[cfg(test)]\n    \
                    t: [u8; 3],\n    x: u8,\n}\n#[cfg(test)]\n#[inline]\nfn f<A, B>() -> u8 \
                    { g(1) }\nfn h() {}\n";
        let words: Vec<String> = product_tokens(text).into_iter().map(|t| t.text).collect();
        assert_eq!(
            words.join(" "),
            "use a :: B ; struct S { x : u8 , } fn h ( ) { }"
        );
    }
}
