//! Heads, lengths, columns and ASCII of source files.

use super::exceptions::Exceptions;
use super::{Finding, rust_text};
use crate::repository::{Repository, TextFile};

/// Lines of a file without its tests.
const LINES_MAX: usize = 1_000;
const COLUMNS_MAX: usize = 100;
/// A head shorter than this says nothing.
const HEAD_CHARACTERS_MIN: usize = 20;

pub(crate) fn check(repository: &Repository, exceptions: &mut Exceptions) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &repository.texts {
        if file.is_rust() {
            findings.extend(head(file));
            findings.extend(columns(file));
            findings.extend(ascii(file, exceptions));
        }
        if file.is_rust() || file.path.ends_with(".ts") || file.path.ends_with(".tsx") {
            findings.extend(length(file, exceptions));
        }
    }
    findings
}

fn head(file: &TextFile) -> Option<Finding> {
    let first = file.text.lines().next().unwrap_or_default();
    let says = first.strip_prefix("//!").map(str::trim);
    let text = match says {
        None => "starts without a `//!` head",
        Some(says) if says.len() < HEAD_CHARACTERS_MIN => "its head says too little",
        Some(_) => return None,
    };
    Some(Finding::new("head", &file.path, 1, text))
}

fn length(file: &TextFile, exceptions: &mut Exceptions) -> Option<Finding> {
    if rust_text::is_test_file(&file.path) {
        return None;
    }
    let lines = rust_text::tests_start(&file.text).unwrap_or_else(|| file.text.lines().count());
    if lines <= LINES_MAX {
        return None;
    }
    let limit = exceptions.limit("length", &file.path).unwrap_or(LINES_MAX);
    let text = format!("{lines} lines without tests, over its limit of {limit}: split it");
    (lines > limit).then(|| Finding::new("length", &file.path, 0, text))
}

fn columns(file: &TextFile) -> Vec<Finding> {
    let too_long = |line: &str| line.chars().count() > COLUMNS_MAX && !line.contains("://");
    let lines = (1..)
        .zip(file.text.lines())
        .filter(|(_, line)| too_long(line));
    let text = format!("over {COLUMNS_MAX} columns");
    lines
        .map(|(n, _)| Finding::new("length", &file.path, n, text.clone()))
        .collect()
}

fn ascii(file: &TextFile, exceptions: &mut Exceptions) -> Option<Finding> {
    if rust_text::is_test_file(&file.path) {
        return None;
    }
    let source_lines = rust_text::tests_start(&file.text).unwrap_or(usize::MAX);
    let (number, line) = (1..)
        .zip(file.text.lines())
        .take(source_lines)
        .find(|(_, line)| !line.is_ascii())?;
    if exceptions.allow("ascii", &file.path) {
        return None;
    }
    let character = line.chars().find(|c| !c.is_ascii()).unwrap_or_default();
    let text = format!("`{character}` is not ASCII: escape it, or list the file as data");
    Some(Finding::new("ascii", &file.path, number, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::repository_of;

    const HEAD: &str = "//! What this file is, in one sentence.\n";

    fn rules_broken(path: &str, text: &str) -> Vec<&'static str> {
        let repository = repository_of(&[(path, text)]);
        let mut exceptions = Exceptions::default();
        check(&repository, &mut exceptions)
            .iter()
            .map(|f| f.rule)
            .collect()
    }

    #[test]
    fn a_file_without_a_head_is_found() {
        assert_eq!(
            rules_broken("crates/a/src/x.rs", "use std::io;\n"),
            ["head"]
        );
        assert_eq!(rules_broken("crates/a/src/x.rs", "//! Pages.\n"), ["head"]);
        assert_eq!(rules_broken("crates/a/src/x.rs", HEAD), [""; 0]);
    }

    #[test]
    fn a_long_file_is_found_and_its_tests_do_not_count() {
        let long = format!("{HEAD}{}", "fn a() {}\n".repeat(1_000));
        assert_eq!(rules_broken("crates/a/src/x.rs", &long), ["length"]);
        let tests = "fn a() {}\n".repeat(600);
        let tested = format!("{HEAD}{tests}#[cfg(test)]\nmod tests {{\n{tests}}}\n");
        assert_eq!(rules_broken("crates/a/src/x.rs", &tested), [""; 0]);
    }

    #[test]
    fn an_old_offender_may_not_grow() {
        let long = format!("{HEAD}{}", "fn a() {}\n".repeat(1_099));
        let list = "length crates/a/src/x.rs 1100\n";
        let exceptions_file = ("xtask/tidy-exceptions.txt", list);
        let repository = repository_of(&[("crates/a/src/x.rs", &long), exceptions_file]);
        let (mut exceptions, _) = Exceptions::load(&repository);
        assert_eq!(check(&repository, &mut exceptions), []);
        let longer = format!("{long}\n\n");
        let repository = repository_of(&[("crates/a/src/x.rs", &longer), exceptions_file]);
        assert_eq!(check(&repository, &mut exceptions).len(), 1);
    }

    #[test]
    fn a_wide_line_is_found() {
        let wide = format!("{HEAD}// {}\n", "x".repeat(98));
        assert_eq!(rules_broken("crates/a/src/x.rs", &wide), ["length"]);
    }

    #[test]
    fn other_alphabets_are_found_outside_tests() {
        let text = format!("{HEAD}const NAME: &str = \"Bj\u{f6}rk\";\n");
        assert_eq!(rules_broken("crates/a/src/x.rs", &text), ["ascii"]);
        assert_eq!(rules_broken("crates/a/tests/x.rs", &text), [""; 0]);
        let tested = format!("{HEAD}#[cfg(test)]\nmod tests {{\n    // \u{f6}\n}}\n");
        assert_eq!(rules_broken("crates/a/src/x.rs", &tested), [""; 0]);
    }
}
