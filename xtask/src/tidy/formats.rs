//! Tables of bytes in docs/format.md: rows without gaps, a sum that the heading states, and a test
//! in the code that compares the same table with the type it describes.
//!
//! A heading that describes a Rust type ends in `{layout: crate::module::Type}`. The test is one
//! call of `assert_layout!` (crate `sim`) with that path as a string.

use super::{Finding, markdown};
use crate::repository::Repository;

const PAGE: &str = "docs/format.md";

/// A heading and the table of bytes under it.
#[derive(Clone, Debug, Default)]
struct Layout<'a> {
    line: usize,
    heading: &'a str,
    /// `offset, bytes` of each row, with its line.
    rows: Vec<(usize, &'a str, &'a str)>,
}

pub(crate) fn check(repository: &Repository) -> Vec<Finding> {
    let Some(page) = repository.texts.iter().find(|f| f.path == PAGE) else {
        return vec![Finding::new("format", PAGE, 0, "is missing")];
    };
    let mut findings = Vec::new();
    for layout in layouts(&page.text) {
        let mut report = |line: usize, text: String| {
            findings.push(Finding::new("format", PAGE, line, text));
        };
        let end = check_rows(&layout, &mut report);
        if let (Some(end), Some(stated)) = (end, stated_length(layout.heading))
            && end != stated
        {
            let text = format!("its rows sum to {end} bytes, the heading says {stated}");
            report(layout.line, text);
        }
        let Some(path) = type_path(layout.heading) else {
            continue;
        };
        if stated_length(layout.heading).is_none() {
            report(
                layout.line,
                "a heading with a layout states its length in bytes".to_owned(),
            );
        }
        let quoted = format!("\"{path}\"");
        let crate_folder = format!("crates/{}/", path.split("::").next().unwrap_or_default());
        let compared = repository.texts.iter().any(|f| {
            f.path.starts_with(&crate_folder)
                && f.text.contains(&quoted)
                && f.text.contains("assert_layout!")
        });
        if !compared {
            report(
                layout.line,
                format!("no test in {crate_folder} compares it: {quoted}"),
            );
        }
    }
    findings
}

/// Tables whose first two columns are `offset` and `bytes`.
fn layouts(text: &str) -> Vec<Layout<'_>> {
    let mut layouts: Vec<Layout<'_>> = Vec::new();
    let mut heading = (0, "");
    let mut in_table = false;
    for (number, line) in markdown::prose_lines(text) {
        if let Some(text) = markdown::heading(line) {
            heading = (number, text);
        }
        if !line.trim_start().starts_with('|') {
            in_table = false;
            continue;
        }
        let Some(cells) = markdown::table_cells(line) else {
            continue;
        };
        match cells.as_slice() {
            ["offset", "bytes", ..] => {
                let (line, heading) = heading;
                layouts.push(Layout {
                    line,
                    heading,
                    rows: Vec::new(),
                });
                in_table = true;
            }
            [offset, bytes, ..] if in_table => {
                let layout = layouts.last_mut().expect("a table was opened");
                layout.rows.push((number, offset, bytes));
            }
            _ => {}
        }
    }
    layouts
}

/// The end of the last row, when every row says where it begins and how long it is. The first row
/// whose length is no number ends the fixed part; there is no sum then, and no offset behind it.
fn check_rows(layout: &Layout<'_>, report: &mut impl FnMut(usize, String)) -> Option<u64> {
    let mut end = Some(0);
    for (line, offset, bytes) in &layout.rows {
        match (offset.parse::<u64>(), end) {
            (Ok(offset), Some(end)) if offset == end => {}
            (Ok(offset), Some(end)) => {
                report(
                    *line,
                    format!("begins at {offset}, the row before ends at {end}"),
                );
            }
            (Ok(_), None) => {
                report(*line, "has an offset behind a row of any length".to_owned());
            }
            (Err(_), Some(_)) => report(*line, format!("`{offset}` is no offset")),
            (Err(_), None) => {}
        }
        end = end.and_then(|end| Some(end + bytes.parse::<u64>().ok()?));
    }
    end
}

/// `Page header, 32 bytes  {layout: ...}` states 32.
fn stated_length(heading: &str) -> Option<u64> {
    let before = heading.split_once(" bytes")?.0;
    before.rsplit(' ').next()?.replace(',', "").parse().ok()
}

fn type_path(heading: &str) -> Option<&str> {
    let (_, rest) = heading.split_once("{layout:")?;
    Some(rest.split_once('}')?.0.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::repository_of;

    const GOOD: &str = "\
### Page header, 12 bytes  {layout: storage::page::PageHeader}
| offset | bytes | field    | type | meaning |
|-------:|------:|----------|------|---------|
|      0 |     8 | checksum | u64  | hash    |
|      8 |     4 | kind     | u32  | kind    |
";
    const CODE: &str = "assert_layout!(\"storage::page::PageHeader\", PageHeader { checksum });";

    fn findings(page: &str, code: &str) -> usize {
        check(&repository_of(&[
            (PAGE, page),
            ("crates/storage/src/page.rs", code),
        ]))
        .len()
    }

    #[test]
    fn a_table_that_fits_passes() {
        assert_eq!(findings(GOOD, CODE), 0);
    }

    #[test]
    fn a_gap_and_an_overlap_are_found() {
        let gap = GOOD.replace("|      8 |     4 ", "|      9 |     3 ");
        assert_eq!(findings(&gap, CODE), 2);
        assert_eq!(
            findings(
                &GOOD.replace("|      0 |     8 ", "|      0 |     9 "),
                CODE
            ),
            2
        );
    }

    #[test]
    fn a_sum_that_differs_from_the_heading_is_found() {
        assert_eq!(findings(&GOOD.replace("12 bytes", "16 bytes"), CODE), 1);
        assert_eq!(findings(&GOOD.replace(", 12 bytes", ""), CODE), 1);
    }

    #[test]
    fn a_layout_that_no_test_compares_is_found() {
        assert_eq!(findings(GOOD, "struct PageHeader;"), 1);
    }

    #[test]
    fn rows_behind_one_of_any_length_have_no_offset() {
        let open = "### Record\n| offset | bytes |\n|-|-|\n| 0 | 8 |\n| 8 | rest |\n|  | 4 |\n";
        assert_eq!(findings(open, CODE), 0);
        let broken = "### Record\n| offset | bytes |\n|-|-|\n| 0 | n |\n| 8 | rest |\n";
        assert_eq!(findings(broken, CODE), 1);
    }
}
