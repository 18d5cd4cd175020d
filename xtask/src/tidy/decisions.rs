//! Decision records: numbered without gaps, titled, and with all their parts.

use super::{Finding, markdown};
use crate::repository::Repository;

const FOLDER: &str = "docs/decisions/";
const PARTS: &[&str] = &[
    "Context",
    "Options",
    "Decision",
    "Consequences",
    "Revisit when",
];

pub(crate) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let records = repository
        .texts
        .iter()
        .filter(|f| f.path.starts_with(FOLDER));
    let mut records: Vec<_> = records.filter(|f| !f.path.ends_with("README.md")).collect();
    records.sort_by(|a, b| a.path.cmp(&b.path));
    for (expected, record) in (1_usize..).zip(records) {
        let mut report = |text: String| {
            findings.push(Finding::new("decision", &record.path, 0, text));
        };
        let name = record.path.trim_start_matches(FOLDER);
        let prefix = format!("{expected:04}-");
        if !name.starts_with(&prefix) {
            report(format!(
                "its number should be {expected:04}: numbers have no gaps"
            ));
            continue;
        }
        let headings: Vec<&str> = markdown::prose_lines(&record.text)
            .filter_map(|(_, line)| markdown::heading(line))
            .collect();
        let title = format!("{expected:04}. ");
        if !headings
            .first()
            .is_some_and(|heading| heading.starts_with(&title))
        {
            report(format!("its first heading should begin with `{title}`"));
        }
        for part in PARTS.iter().filter(|part| !headings.contains(part)) {
            report(format!("it has no part `{part}`"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::repository_of;

    fn record(number: &str) -> String {
        let parts: String = PARTS.iter().map(|part| format!("## {part}\n")).collect();
        format!("# {number}. A title\n{parts}")
    }

    #[test]
    fn complete_records_pass() {
        let (one, two) = (record("0001"), record("0002"));
        let files = [
            ("docs/decisions/0001-a.md", &*one),
            ("docs/decisions/0002-b.md", &*two),
        ];
        assert_eq!(check(&repository_of(&files)), []);
    }

    #[test]
    fn a_gap_a_wrong_title_and_a_missing_part_are_found() {
        let (one, two) = (record("0001"), record("0002"));
        let files = [
            ("docs/decisions/0001-a.md", &*one),
            ("docs/decisions/0003-b.md", &*two),
        ];
        assert_eq!(check(&repository_of(&files)).len(), 1);
        assert_eq!(
            check(&repository_of(&[("docs/decisions/0001-a.md", &two)])).len(),
            1
        );
        let without = one.replace("## Options\n", "");
        assert_eq!(
            check(&repository_of(&[("docs/decisions/0001-a.md", &without)])).len(),
            1
        );
    }
}
