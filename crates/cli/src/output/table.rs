//! Text tables for people: columns as wide as their content, cut to the terminal.
//!
//! Called by the commands that show rows. Data may hold anything: control characters, which could
//! steer the terminal, are shown as escapes.

use console::{measure_text_width, truncate_str};

/// Narrowest a column is cut to.
const COLUMN_WIDTH_MIN: usize = 8;
/// Blanks between columns.
const GAP: &str = "  ";

/// How the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table under construction.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns
            .iter()
            .map(|(name, align)| (printable(name), *align))
            .collect();
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells stay empty, superfluous ones are dropped.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        let mut row: Vec<String> = cells
            .into_iter()
            .map(|cell| printable(cell.as_ref()))
            .collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
        self
    }

    /// The table as text, each line at most `width` columns wide if one is given and the number of
    /// columns permits.
    #[must_use]
    pub fn render(&self, width: Option<usize>) -> String {
        let widths = self.widths(width);
        let mut out = String::new();
        let head: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        for row in [&head, &rule].into_iter().chain(&self.rows) {
            let mut line = String::new();
            for (slot, cell) in row.iter().enumerate() {
                if slot > 0 {
                    line.push_str(GAP);
                }
                push_cell(&mut line, cell, widths[slot], self.columns[slot].1);
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// Widths of the columns: what they need, or less where the line has no room; the widest give
    /// way first.
    fn widths(&self, width: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|slot| {
                let cells = self.rows.iter().map(|row| measure_text_width(&row[slot]));
                cells
                    .max()
                    .unwrap_or(0)
                    .max(measure_text_width(&self.columns[slot].0))
            })
            .collect();
        let Some(width) = width else { return widths };
        let gaps = GAP.len() * widths.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > width {
            let Some(widest) = widths.iter_mut().max() else {
                break;
            };
            if *widest <= COLUMN_WIDTH_MIN {
                break;
            }
            *widest -= 1;
        }
        widths
    }
}

fn push_cell(line: &mut String, cell: &str, width: usize, align: Align) {
    let cell = truncate_str(cell, width, "\u{2026}");
    let padding = width.saturating_sub(measure_text_width(&cell));
    if align == Align::Right {
        line.extend(std::iter::repeat_n(' ', padding));
    }
    line.push_str(&cell);
    if align == Align::Left {
        line.extend(std::iter::repeat_n(' ', padding));
    }
}

/// Text that only shows: no line breaks, no escape sequences.
#[must_use]
pub fn printable(text: &str) -> String {
    if !text.contains(|c: char| c.is_control()) {
        return text.to_owned();
    }
    let mut out = String::new();
    for character in text.chars() {
        match character {
            _ if character.is_control() => out.extend(character.escape_default()),
            _ => out.push(character),
        }
    }
    out
}

/// Columns of the terminal that standard output goes to; `None` when it goes elsewhere.
#[must_use]
pub fn terminal_width() -> Option<usize> {
    let terminal = console::Term::stdout();
    terminal.is_term().then(|| usize::from(terminal.size().1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[("Artist", Align::Left), ("Year", Align::Right)]);
        table
            .row(["Nina Calloway", "1998"])
            .row(["星野つばさ", "5"])
            .row(["x"]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_content() {
        assert_eq!(
            table().render(None),
            "Artist         Year\n\
             -------------  ----\n\
             Nina Calloway  1998\n\
             星野つばさ        5\n\
             x\n"
        );
    }

    #[test]
    fn the_widest_columns_give_way_to_the_terminal() {
        assert_eq!(
            table().render(Some(16)),
            "Artist      Year\n\
             ----------  ----\n\
             Nina Call\u{2026}  1998\n\
             星野つばさ     5\n\
             x\n"
        );
        let narrow = table().render(Some(3));
        assert!(
            narrow.lines().all(|line| measure_text_width(line) <= 14),
            "{narrow}"
        );
    }

    #[test]
    fn control_characters_cannot_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
    }
}
