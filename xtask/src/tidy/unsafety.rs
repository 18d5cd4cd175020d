//! Unsafe code stands only in the modules that docs/unsafe.md lists; all else forbids it.

use std::collections::BTreeMap;

use super::{Finding, markdown, rust_text};
use crate::repository::{Repository, TextFile};

const PAGE: &str = "docs/unsafe.md";
/// Crates that hold listed modules; they deny unsafe code, all others forbid it.
const DENYING: &[&str] = &["base", "io", "script", "storage"];

/// Where a module with unsafe code was found: file and line.
type Place = (String, usize);

pub(crate) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let listed = listed_modules(repository);
    let mut found: BTreeMap<String, Place> = BTreeMap::new();
    for file in repository.texts.iter().filter(|f| f.is_rust()) {
        findings.extend(crate_attribute(file));
        for expectation in expectations(file) {
            match expectation {
                Ok((module, line)) => drop(found.insert(module, (file.path.clone(), line))),
                Err(finding) => findings.push(finding),
            }
        }
    }
    for (module, (path, line)) in &found {
        if !listed.contains_key(module) {
            let text = format!("`{module}` holds unsafe code and is not in {PAGE}");
            findings.push(Finding::new("unsafe", path, *line, text));
        }
    }
    for (module, line) in &listed {
        if !found.contains_key(module) {
            let text = format!("`{module}` expects no unsafe code: remove the row");
            findings.push(Finding::new("unsafe", PAGE, *line, text));
        }
    }
    findings
}

/// Modules in the first column of the page's table.
fn listed_modules(repository: &Repository) -> BTreeMap<String, usize> {
    let page = repository.texts.iter().find(|f| f.path == PAGE);
    let lines = page.map(|p| p.text.as_str()).unwrap_or_default();
    markdown::prose_lines(lines)
        .filter_map(|(number, line)| Some((number, *markdown::table_cells(line)?.first()?)))
        .filter_map(|(number, cell)| {
            let module = cell.strip_prefix('`')?.strip_suffix('`')?;
            Some((module.to_owned(), number))
        })
        .collect()
}

/// The root of a crate says what it holds unsafe code to.
fn crate_attribute(file: &TextFile) -> Option<Finding> {
    let mut parts = file.path.split('/');
    let (folder, name) = match (parts.next()?, parts.next()?, parts.next(), parts.next()) {
        ("crates", name, Some("src"), Some("lib.rs" | "main.rs")) => ("crates", name),
        ("xtask", "src", Some("main.rs"), None) => ("xtask", ""),
        ("examples", "src", Some("lib.rs"), None) => ("examples", ""),
        _ => return None,
    };
    let may_deny = folder == "crates" && DENYING.contains(&name);
    let holds = |line: &str| {
        line == "#![forbid(unsafe_code)]" || may_deny && line == "#![deny(unsafe_code)]"
    };
    let has_it = file.text.lines().any(holds);
    let text = "lacks `#![forbid(unsafe_code)]`";
    (!has_it).then(|| Finding::new("unsafe", &file.path, 0, text))
}

/// Modules that expect unsafe code, with the line of the attribute.
fn expectations(file: &TextFile) -> Vec<Result<(String, usize), Finding>> {
    let lines = rust_text::code_lines(&file.text);
    let own = module_of(&file.path);
    let mut result = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let is_attribute = line.contains("expect(") || line.contains("allow(");
        let names_it = |from: usize| attribute_text(&lines, from).0.contains("unsafe_code");
        if !is_attribute || !line.trim_start().starts_with('#') || !names_it(at) {
            continue;
        }
        if line.trim_start().starts_with("#![") {
            result.push(Ok((own.clone(), at + 1)));
            continue;
        }
        let (_, end) = attribute_text(&lines, at);
        let item = lines[end + 1..]
            .iter()
            .map(|l| l.trim())
            .find(|l| !l.is_empty() && !l.starts_with('#'));
        match item.and_then(module_declared) {
            Some(name) => result.push(Ok((format!("{own}::{name}"), at + 1))),
            None => {
                let text = "unsafe code is let in by module, not by item";
                result.push(Err(Finding::new("unsafe", &file.path, at + 1, text)));
            }
        }
    }
    result
}

/// The text of the attribute that begins in a line, and the last line it reaches.
fn attribute_text(lines: &[String], from: usize) -> (String, usize) {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate().skip(from) {
        text.push_str(line);
        if text.matches('[').count() <= text.matches(']').count() {
            return (text, at);
        }
    }
    (text, lines.len().saturating_sub(1))
}

/// `pub(crate) mod map;` declares `map`.
fn module_declared(item: &str) -> Option<&str> {
    let item = item.strip_prefix("pub").map_or(item, |rest| {
        let rest = rest.trim_start();
        rest.strip_prefix('(')
            .and_then(|r| r.split_once(')'))
            .map_or(rest, |(_, after)| after)
    });
    let name = item.trim_start().strip_prefix("mod ")?;
    Some(name.trim_end_matches(['{', ';', ' ']))
}

/// `crates/io/src/map.rs` is `io::map`, `crates/io/src/map/mod.rs` too, `crates/io/src/lib.rs` is
/// `io`, `crates/io/tests/a.rs` is `io::tests::a`.
fn module_of(path: &str) -> String {
    let path = path.strip_prefix("crates/").unwrap_or(path);
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let parts = path
        .split('/')
        .filter(|part| !matches!(*part, "src" | "lib" | "main" | "mod"));
    parts.collect::<Vec<_>>().join("::")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::repository_of;

    const LIST: &str = "| Module | Why |\n|---|---|\n| `io::map` | maps |\n";
    const ROOT: &str = "//! Head.\n#![deny(unsafe_code)]\n";
    const EXPECT: &str = "#[expect(\n    unsafe_code,\n    reason = \"maps (files)\"\n)]\n";

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        check(&repository_of(files))
            .iter()
            .map(Finding::to_string)
            .collect()
    }

    #[test]
    fn listed_modules_may_hold_unsafe_code() {
        let root = format!("{ROOT}{EXPECT}/// Doc.\npub(crate) mod map;\n");
        let found = findings(&[(PAGE, LIST), ("crates/io/src/lib.rs", &root)]);
        assert!(found.is_empty(), "{found:?}");
        let inner = "//! Head.\n#![expect(unsafe_code, reason = \"maps\")]\n";
        let found = findings(&[(PAGE, LIST), ("crates/io/src/map.rs", inner)]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn an_unlisted_module_is_found() {
        let root = format!("{ROOT}{EXPECT}mod other;\n");
        let found = findings(&[(PAGE, ""), ("crates/io/src/lib.rs", &root)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`io::other`"));
    }

    #[test]
    fn a_row_without_a_module_is_found() {
        assert_eq!(
            findings(&[(PAGE, LIST), ("crates/io/src/lib.rs", ROOT)]).len(),
            1
        );
    }

    #[test]
    fn an_expectation_on_an_item_is_found() {
        let root = format!("{ROOT}{EXPECT}fn read() {{}}\n");
        assert_eq!(
            findings(&[(PAGE, ""), ("crates/io/src/lib.rs", &root)]).len(),
            1
        );
    }

    #[test]
    fn a_crate_that_does_not_forbid_it_is_found() {
        assert_eq!(findings(&[("crates/query/src/lib.rs", ROOT)]).len(), 1);
        assert_eq!(findings(&[("crates/storage/src/lib.rs", ROOT)]).len(), 0);
        assert_eq!(
            findings(&[("crates/cli/src/main.rs", "fn main() {}")]).len(),
            1
        );
    }
}
