//! Words that have no place in the repository: unfinished markers, traces of one machine, packages
//! from elsewhere than the public registries, and pages that do not exist.

use super::exceptions::Exceptions;
use super::{Finding, rust_text};
use crate::repository::{Repository, TextFile};

/// A forbidden word, and why. Spelled in pieces, so that this file does not hold them.
const FORBIDDEN: &[(&str, &str)] = &[
    (
        concat!("TO", "DO"),
        "unfinished work is finished or recorded elsewhere",
    ),
    (
        concat!("FIX", "ME"),
        "unfinished work is finished or recorded elsewhere",
    ),
    (
        concat!("XX", "X"),
        "unfinished work is finished or recorded elsewhere",
    ),
    (
        concat!("to", "do!("),
        "unfinished work is finished or recorded elsewhere",
    ),
    (
        concat!("unimplemen", "ted!("),
        "unfinished work is finished or recorded elsewhere",
    ),
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("/fa", "rm/"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("/ho", "me/"), "a path of one machine"),
    (
        concat!("sha", "red/design"),
        "a page that is not in the repository",
    ),
    (
        concat!("sha", "red/wire"),
        "a page that is not in the repository",
    ),
    (
        concat!("sha", "red/datagen"),
        "a page that is not in the repository",
    ),
    (
        concat!("sha", "red/baselines"),
        "a page that is not in the repository",
    ),
    (
        concat!("the se", "eds'"),
        "a text that is not in the repository",
    ),
    (
        concat!("seed po", "sts"),
        "a text that is not in the repository",
    ),
];

/// Lines of lock files that say where a package comes from: how they begin, and how they go on.
const SOURCES: &[(&str, &str)] = &[
    ("\"resolved\": \"", "https://registry.npmjs.org/"),
    (
        "source = \"",
        "registry+https://github.com/rust-lang/crates.io-index",
    ),
];

pub(crate) fn check(repository: &Repository, exceptions: &mut Exceptions) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &repository.texts {
        let is_lock = file.path.ends_with(".lock") || file.path.ends_with("-lock.json");
        if is_lock {
            findings.extend(sources(file));
            continue;
        }
        let words = forbidden(file);
        if !words.is_empty() && !exceptions.allow("word", &file.path) {
            findings.extend(words);
        }
        findings.extend(mentions(file, repository));
    }
    findings
}

fn forbidden(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        for (word, why) in FORBIDDEN {
            if contains_word(line, word) {
                let text = format!("`{word}`: {why}");
                findings.push(Finding::new("word", &file.path, number, text));
            }
        }
    }
    findings
}

/// Whether `word` stands in `line` on its own, not inside a longer word or path.
fn contains_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let open_end = word.ends_with(|c: char| !c.is_alphanumeric());
        !before.is_some_and(is_part) && (open_end || !after.is_some_and(is_part))
    })
}

fn sources(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        let line = line.trim_start();
        for (start, allowed) in SOURCES {
            if line
                .strip_prefix(start)
                .is_some_and(|source| !source.starts_with(allowed))
            {
                let text = format!("a package that does not come from {allowed}");
                findings.push(Finding::new("word", &file.path, number, text));
            }
        }
    }
    findings
}

/// Pages named in source files; links between pages are a rule of their own.
fn mentions(file: &TextFile, repository: &Repository) -> Vec<Finding> {
    let is_test = rust_text::is_test_file(&file.path);
    if !file.is_rust() || is_test {
        return Vec::new();
    }
    let source_lines = rust_text::tests_start(&file.text).unwrap_or(usize::MAX);
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()).take(source_lines) {
        for page in pages_named(line) {
            let suffix = format!("/{page}");
            if !repository
                .paths
                .iter()
                .any(|path| path == page || path.ends_with(&suffix))
            {
                let text = format!("there is no page `{page}`");
                findings.push(Finding::new("mention", &file.path, number, text));
            }
        }
    }
    findings
}

fn pages_named(line: &str) -> impl Iterator<Item = &str> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-');
    line.split(move |c: char| !is_path(c))
        .map(|word| word.trim_end_matches('.').trim_start_matches(['.', '/']))
        .filter(|word| word.len() > 3 && word.ends_with(".md"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::repository_of;

    fn findings(path: &str, text: &str) -> Vec<Finding> {
        let repository = repository_of(&[(path, text), ("docs/format.md", "")]);
        check(&repository, &mut Exceptions::default())
    }

    #[test]
    fn every_forbidden_word_is_found() {
        for (word, _) in FORBIDDEN {
            let text = format!("ok\n// see {word}");
            let found = findings("crates/a/src/x.rs", &text);
            assert!(found.iter().any(|f| f.line == 2), "{word}");
        }
    }

    #[test]
    fn longer_words_and_paths_are_none_of_them() {
        let word = concat!("/wo", "rk/");
        assert_eq!(findings("a.md", &format!("net{word}x and ./a{word}")), []);
        assert_eq!(findings("a.md", concat!("MAX_TO", "DOS and XX", "XL")), []);
    }

    #[test]
    fn an_exception_lets_a_file_hold_such_words() {
        let list = ("xtask/tidy-exceptions.txt", "word a.md\n");
        let repository = repository_of(&[("a.md", concat!("TO", "DO")), list]);
        let (mut exceptions, _) = Exceptions::load(&repository);
        assert_eq!(check(&repository, &mut exceptions), []);
    }

    #[test]
    fn packages_from_elsewhere_are_found() {
        let text = "  \"resolved\": \"https://registry.npmjs.org/a/a.tgz\",\n  \"resolved\": \
                    \"http://10.0.0.1/a.tgz\",\n";
        assert_eq!(findings("studio/package-lock.json", text).len(), 1);
        let text = "source = \"git+https://example.org/a\"\n";
        assert_eq!(findings("Cargo.lock", text).len(), 1);
    }

    #[test]
    fn a_page_that_does_not_exist_is_found() {
        let found = findings(
            "crates/a/src/x.rs",
            "//! Bytes: docs/format.md. Why: storage.md 4.2.",
        );
        assert_eq!(found.len(), 1);
        assert!(found[0].text.contains("storage.md"));
    }
}
