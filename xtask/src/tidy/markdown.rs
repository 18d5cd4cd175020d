//! What the rules need of Markdown: headings, rows of tables, links, and what is code.

/// Cells of a table row, or nothing when the line is none. Separator rows give nothing.
pub(crate) fn table_cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
    let is_separator = cells
        .iter()
        .all(|c| !c.is_empty() && c.chars().all(|c| "-: ".contains(c)));
    (!is_separator).then_some(cells)
}

/// The text of a heading, without its hashes.
pub(crate) fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let is_heading = (1..=6).contains(&level) && rest.starts_with(' ');
    is_heading.then(|| rest.trim())
}

/// Lines outside fenced code, with their 1-based numbers.
pub(crate) fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_fence = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        !in_fence && !is_fence
    })
}

/// Targets of inline links in a line, code spans left out.
pub(crate) fn links(line: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    // Every second piece between backticks is code.
    for prose in line.split('`').step_by(2) {
        let mut rest = prose;
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, behind)) = after.split_once(')') else {
                break;
            };
            targets.push(target);
            rest = behind;
        }
    }
    // A link whose text is a code span is cut in two by the split: `[`name`](target)`.
    for (at, _) in line.match_indices("`](") {
        if let Some((target, _)) = line[at + 3..].split_once(')') {
            targets.push(target);
        }
    }
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// The anchor that GitHub assigns to a heading.
pub(crate) fn anchor_of(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_tables() {
        assert_eq!(table_cells("| a |  1 |"), Some(vec!["a", "1"]));
        assert_eq!(table_cells("|---|---:|"), None);
        assert_eq!(table_cells("a | b"), None);
    }

    #[test]
    fn headings_and_their_anchors() {
        assert_eq!(
            heading("## Page header, 32 bytes"),
            Some("Page header, 32 bytes")
        );
        assert_eq!(heading("#tag"), None);
        assert_eq!(anchor_of("Page header, 32 bytes"), "page-header-32-bytes");
    }

    #[test]
    fn links_outside_code() {
        assert_eq!(
            links("see [a](b.md) and [`c`](d.md#e), not `[x](y)`"),
            ["b.md", "d.md#e"]
        );
    }

    #[test]
    fn fenced_code_is_no_prose() {
        let lines: Vec<usize> = prose_lines("a\n```\nb\n```\nc").map(|(n, _)| n).collect();
        assert_eq!(lines, [1, 5]);
    }
}
