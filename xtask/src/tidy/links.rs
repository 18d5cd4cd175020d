//! Relative links of every page: the file must exist, and so must the heading an anchor names.

use super::{Finding, markdown};
use crate::repository::{Repository, TextFile};

pub(crate) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in repository.texts.iter().filter(|f| f.is_markdown()) {
        for (number, line) in markdown::prose_lines(&page.text) {
            for target in markdown::links(line) {
                if let Some(text) = problem(target, page, repository) {
                    findings.push(Finding::new("link", &page.path, number, text));
                }
            }
        }
    }
    findings
}

fn problem(target: &str, page: &TextFile, repository: &Repository) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() {
        page.path.clone()
    } else {
        resolve(&page.path, path)
    };
    if !repository.contains(&path) {
        return Some(format!("`{target}` leads nowhere"));
    }
    if anchor.is_empty() {
        return None;
    }
    let linked = repository
        .texts
        .iter()
        .find(|f| f.path == path && f.is_markdown())?;
    let has_anchor = markdown::prose_lines(&linked.text)
        .filter_map(|(_, line)| markdown::heading(line))
        .any(|heading| markdown::anchor_of(heading) == anchor);
    (!has_anchor).then(|| format!("{path} has no heading `#{anchor}`"))
}

/// A link of `page`, as a path from the root.
fn resolve(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::repository_of;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let page = "[a](format.md) [b](../README.md#what-it-is) [c](https://example.org/x.md) \
                    [d](decisions) [e](#here)\n# Here\n[f](gone.md) [g](../README.md#gone)\n";
        let repository = repository_of(&[
            ("docs/a.md", page),
            ("docs/format.md", ""),
            ("docs/decisions/0001-a.md", ""),
            ("README.md", "# What it is\n"),
        ]);
        let found = check(&repository);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().all(|f| f.line == 3));
    }
}
