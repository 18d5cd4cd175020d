//! `explain` and `explain analyze` in front of a query.

use std::borrow::Cow;

/// What is asked for in place of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explain {
    /// `explain`: how the query would be run.
    Plan,
    /// `explain analyze`: how it was run, and what each step cost.
    Analyze,
}

/// Takes `explain [analyze]` off a text. What is left has blanks in its place, so that errors name
/// the lines and columns of the whole text.
#[must_use]
pub fn split_explain(text: &str) -> (Option<Explain>, Cow<'_, str>) {
    let Some(after_explain) = word_end(text, 0, "explain") else {
        return (None, Cow::Borrowed(text));
    };
    let (asked, end) = match word_end(text, after_explain, "analyze") {
        Some(end) => (Explain::Analyze, end),
        None => (Explain::Plan, after_explain),
    };
    let blank = |byte: u8| if byte == b'\n' { '\n' } else { ' ' };
    let mut rest: String = text[..end].bytes().map(blank).collect();
    rest.push_str(&text[end..]);
    (Some(asked), Cow::Owned(rest))
}

/// Where `word` ends when it is what comes next from `from` on, in any case.
fn word_end(text: &str, from: usize, word: &str) -> Option<usize> {
    let rest = &text[from..];
    let start = from + rest.len() - rest.trim_ascii_start().len();
    let end = start + word.len();
    let is_it = text.get(start..end)?.eq_ignore_ascii_case(word)
        && text[end..].starts_with(|next: char| next.is_ascii_whitespace());
    is_it.then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse;

    #[test]
    fn the_prefix_becomes_blanks() {
        for (text, asked, rest) in [
            ("explain from A", Some(Explain::Plan), "        from A"),
            (
                " Explain\nANALYZE\tfrom A",
                Some(Explain::Analyze),
                "        \n       \tfrom A",
            ),
            ("from explain", None, "from explain"),
            ("explained from A", None, "explained from A"),
            ("explain", None, "explain"),
            ("", None, ""),
        ] {
            assert_eq!(split_explain(text), (asked, rest.into()), "{text:?}");
        }
    }

    #[test]
    fn mistakes_keep_their_place() {
        let (_, rest) = split_explain("explain analyze from A where");
        let (alone, behind) = (parse("from A where"), parse(&rest));
        let column = |error: String| error.split_once(' ').map(|(place, _)| place.to_owned());
        assert_eq!(column(alone.unwrap_err().to_string()).unwrap(), "1:13");
        assert_eq!(column(behind.unwrap_err().to_string()).unwrap(), "1:29");
    }
}
