//! Functions longer than a screen: counted for each crate, without tests.

use super::measure::Measure;
use super::rust_text::{self, Token};
use crate::repository::TextFile;

/// Lines of a function from `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;

/// The number of functions that are too long, and where each is.
pub(crate) fn measure(files: &[&TextFile]) -> Measure {
    let mut details = Vec::new();
    for file in files {
        if rust_text::is_test_file(&file.path) {
            continue;
        }
        for (name, first, lines) in functions(&rust_text::product_tokens(&file.text)) {
            if lines > FUNCTION_LINES_MAX {
                details.push(format!("{}:{first}: `{name}`, {lines} lines", file.path));
            }
        }
    }
    Measure {
        figure: details.len(),
        details,
    }
}

/// Name, first line and number of lines of each function that has a body.
fn functions(tokens: &[Token]) -> Vec<(&str, usize, usize)> {
    let mut functions = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        let [keyword, name] = pair else { continue };
        if keyword.text != "fn" || !name.is_word() {
            continue;
        }
        let Some(open) = body_start(tokens, at) else {
            continue;
        };
        let end = rust_text::group_end(tokens, open);
        let last = tokens[end - 1].line;
        let lines = last + 1 - keyword.line;
        functions.push((name.text.as_str(), keyword.line, lines));
    }
    functions
}

/// The brace that opens the body; `None` for a declaration without one.
fn body_start(tokens: &[Token], mut at: usize) -> Option<usize> {
    loop {
        match tokens.get(at)?.text.as_str() {
            "{" => return Some(at),
            ";" => return None,
            "(" | "[" => at = rust_text::group_end(tokens, at),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(path: &str, text: &str) -> usize {
        let file = TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        measure(&[&file]).figure
    }

    fn function(lines: usize) -> String {
        let body = "    step(\"}\"); // }\n".repeat(lines - 2);
        format!("fn long(a: [u8; 2]) {{\n{body}}}\n")
    }

    #[test]
    fn only_functions_over_the_limit_count() {
        let text = function(FUNCTION_LINES_MAX);
        assert_eq!(figure("crates/a/src/x.rs", &text), 0);
        let text = function(FUNCTION_LINES_MAX + 1);
        assert_eq!(figure("crates/a/src/x.rs", &format!("{text}{text}")), 2);
    }

    #[test]
    fn tests_and_declarations_do_not_count() {
        let long = function(FUNCTION_LINES_MAX + 1);
        assert_eq!(figure("crates/a/tests/x.rs", &long), 0);
        let text = format!("#[cfg(test)]\nmod tests {{\n{long}}}\n");
        assert_eq!(figure("crates/a/src/x.rs", &text), 0);
        let text = format!("trait T {{\n    fn a(&self);\n{}}}\n", "\n".repeat(90));
        assert_eq!(figure("crates/a/src/x.rs", &text), 0);
        let text = format!("type F = fn(u8) -> u8;\nstruct S {{{}}}\n", "\n".repeat(90));
        assert_eq!(figure("crates/a/src/x.rs", &text), 0);
    }

    #[test]
    fn details_name_function_line_and_length() {
        let file = TextFile {
            path: "x.rs".to_owned(),
            text: format!("\n{}", function(80)),
        };
        assert_eq!(measure(&[&file]).details, ["x.rs:2: `long`, 80 lines"]);
    }
}
