//! Figures of each crate that may only shrink: `xtask/tidy-ratchets.txt`, one crate a line.
//!
//! A figure that grew is a finding. So is one that shrank while the table kept the old figure: the
//! table always states today's figures, so no ground is lost later.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::measure::Measure;
use super::{Finding, dialect, direction, functions};
use crate::repository::{Repository, TextFile};

const PATH: &str = "xtask/tidy-ratchets.txt";

/// A column of the table: its rule, its unit, and how it is measured.
struct Column {
    rule: &'static str,
    unit: &'static str,
    measure: fn(&[&TextFile]) -> Measure,
}

const COLUMNS: [Column; 3] = [
    Column {
        rule: "circle",
        unit: "files in the largest circle of imports",
        measure: direction::measure,
    },
    Column {
        rule: "dialect",
        unit: "words of dialect per 1,000 words of comment",
        measure: dialect::measure,
    },
    Column {
        rule: "function",
        unit: "functions over 70 lines",
        measure: functions::measure,
    },
];

/// Compares the table with the repository; repositories without a table have no ratchets.
pub(crate) fn check(repository: &Repository) -> Vec<Finding> {
    let Some(table) = repository.texts.iter().find(|f| f.path == PATH) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let mut crates = crates(repository);
    for (number, line) in (1..).zip(table.text.lines()) {
        let content = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = content.split_whitespace().collect();
        let Some((name, figures)) = words.split_first() else {
            continue;
        };
        let limits: Result<Vec<usize>, _> = figures.iter().map(|word| word.parse()).collect();
        let Some(limits) = limits.ok().filter(|l| l.len() == COLUMNS.len()) else {
            findings.push(Finding::new("ratchet", PATH, number, "cannot be read"));
            continue;
        };
        let Some(files) = crates.remove(*name) else {
            let text = format!("there is no crate `{name}`, or it has two lines: remove this one");
            findings.push(Finding::new("ratchet", PATH, number, text));
            continue;
        };
        for (column, limit) in COLUMNS.iter().zip(limits) {
            let figure = (column.measure)(&files).figure;
            findings.extend(compare(column, name, figure, limit, number));
        }
    }
    for name in crates.keys() {
        let text = format!("add a line for `{name}`: `cargo xtask tidy --figures` prints it");
        findings.push(Finding::new("ratchet", PATH, 0, text));
    }
    findings
}

fn compare(
    column: &Column,
    name: &str,
    figure: usize,
    limit: usize,
    line: usize,
) -> Option<Finding> {
    let Column { rule, unit, .. } = column;
    let text = match figure.cmp(&limit) {
        std::cmp::Ordering::Equal => return None,
        std::cmp::Ordering::Greater => format!(
            "`{name}` has {figure} {unit}, over its limit of {limit}: \
             `cargo xtask tidy --figures {name}` lists them"
        ),
        std::cmp::Ordering::Less => {
            format!("`{name}` has {figure} {unit}, not {limit}: lower the figure")
        }
    };
    Some(Finding::new(rule, PATH, line, text))
}

/// The table with today's figures, followed by the details of the crates in `detailed`.
///
/// # Errors
/// The first name in `detailed` that is no crate.
pub(crate) fn figures(repository: &Repository, detailed: &[String]) -> Result<String, String> {
    let crates = crates(repository);
    let mut text = format!("# {:<10}", "crate");
    for Column { rule, .. } in &COLUMNS {
        let _ = write!(text, " {rule:>8}");
    }
    text.push('\n');
    for (name, files) in &crates {
        let _ = write!(text, "{name:<12}");
        for column in &COLUMNS {
            let _ = write!(text, " {:>8}", (column.measure)(files).figure);
        }
        text.push('\n');
    }
    for name in detailed {
        let files = crates.get(name.as_str()).ok_or_else(|| name.clone())?;
        for column in &COLUMNS {
            let measure = (column.measure)(files);
            let _ = writeln!(text, "\n{name}: {} {}", measure.figure, column.unit);
            for detail in &measure.details {
                let _ = writeln!(text, "  {detail}");
            }
        }
    }
    Ok(text)
}

/// The Rust files of each crate: the folders of `crates/`, and `xtask`.
fn crates(repository: &Repository) -> BTreeMap<&str, Vec<&TextFile>> {
    let mut crates: BTreeMap<&str, Vec<&TextFile>> = BTreeMap::new();
    for file in repository.texts.iter().filter(|f| f.is_rust()) {
        let mut folders = file.path.split('/');
        let name = match folders.next() {
            Some("crates") => folders.next(),
            Some("xtask") => Some("xtask"),
            _ => None,
        };
        if let Some(name) = name {
            crates.entry(name).or_default().push(file);
        }
    }
    crates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::repository_of;

    /// Two files that import each other, in a crate with one word of dialect.
    const CIRCLE: [(&str, &str); 3] = [
        ("crates/a/src/lib.rs", "// It gives one.\nmod x;\nmod y;\n"),
        ("crates/a/src/x.rs", "use crate::y::Y;\nstruct X;\n"),
        ("crates/a/src/y.rs", "use crate::x::X;\nstruct Y;\n"),
    ];

    fn findings(table: &str) -> Vec<Finding> {
        let mut files = CIRCLE.to_vec();
        files.push((PATH, table));
        check(&repository_of(&files))
    }

    #[test]
    fn figures_of_today_pass() {
        assert_eq!(findings("# crate\na 2 334 0  # why\n"), []);
    }

    #[test]
    fn a_figure_over_its_limit_is_found() {
        let found = findings("a 1 334 0\n");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].rule, found[0].line), ("circle", 1));
        assert!(found[0].text.contains("over its limit of 1"), "{found:?}");
    }

    #[test]
    fn a_figure_below_its_limit_is_found_until_it_is_lowered() {
        let found = findings("\na 2 400 1\n");
        let rules: Vec<&str> = found.iter().map(|f| f.rule).collect();
        assert_eq!(rules, ["dialect", "function"]);
        assert!(found.iter().all(|f| f.text.contains("lower the figure")));
    }

    #[test]
    fn lines_without_a_crate_and_crates_without_a_line_are_found() {
        assert_eq!(findings("").len(), 1);
        assert_eq!(findings("a 2 334 0\nb 0 0 0\n").len(), 1);
        assert_eq!(findings("a 2 334 0\na 2 334 0\n").len(), 1);
        assert_eq!(findings("a 2 334 0\na 2 many\n").len(), 1);
    }

    #[test]
    fn printed_figures_are_a_table_that_passes() {
        let table = figures(&repository_of(&CIRCLE), &[]).unwrap();
        assert_eq!(findings(&table), []);
        let detailed = figures(&repository_of(&CIRCLE), &["a".to_owned()]).unwrap();
        assert!(detailed.contains("  crates/a/src/x.rs"), "{detailed}");
        assert_eq!(
            figures(&repository_of(&CIRCLE), &["b".to_owned()]),
            Err("b".to_owned())
        );
    }
}
