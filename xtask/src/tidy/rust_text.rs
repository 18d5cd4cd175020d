//! A view of Rust source that knows code from comments and literals, line by line.
//!
//! No parser: enough to keep words inside strings and comments from being taken for code.

/// The code of each line, comments removed and the inside of literals blanked out.
pub(crate) fn code_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut chars = Chars { rest: text };
    while let Some(c) = chars.next() {
        let line = lines.last_mut().expect("there is always a last line");
        match c {
            '\n' => lines.push(String::new()),
            '/' if chars.rest.starts_with('/') => chars.skip_to_line_end(),
            '/' if chars.rest.starts_with('*') => skip_block_comment(&mut chars, &mut lines),
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
    lines
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

impl Chars<'_> {
    fn skip_to_line_end(&mut self) {
        self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..];
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
}
