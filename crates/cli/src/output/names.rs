//! What there is in place of a name that is missing: the closest one, and the others.
//!
//! Called where a database, an index or a snapshot was named that is not there.

/// Names that a sentence lists; of more, only their number is shown.
const NAMES_SHOWN: usize = 10;

/// `did you mean "music"? It has books, music and 5 more`: `wanted` is missing among `names`.
/// Names that are not close are only listed; empty when there are none.
pub(crate) fn there_is(wanted: &str, names: &[String]) -> String {
    let list = listed(names);
    match closest(wanted, names) {
        Some(name) => format!("did you mean {name:?}? It has {list}"),
        None if names.is_empty() => String::new(),
        None => format!("it has {list}"),
    }
}

/// The name that is fewest edits away from the one wanted; at most one in three letters may differ.
fn closest<'n>(wanted: &str, names: &'n [String]) -> Option<&'n str> {
    let wanted = wanted.to_lowercase();
    let letters_max = wanted.chars().count().div_ceil(3);
    let distances = names.iter().map(|name| {
        let name_lower = name.to_lowercase();
        (edits(&wanted, &name_lower), name.as_str())
    });
    let near = distances.filter(|&(edits, _)| edits <= letters_max);
    near.min().map(|(_, name)| name)
}

/// Letters to insert, remove, replace or swap with the next one to make `right` of `left`.
/// O(`left` * `right`).
fn edits(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for (slot, &letter) in left.iter().enumerate() {
        let above = &rows[slot];
        let mut row = vec![slot + 1];
        for (other_slot, &other) in right.iter().enumerate() {
            let replaced = above[other_slot] + usize::from(letter != other);
            let mut least = replaced
                .min(above[other_slot + 1] + 1)
                .min(row[other_slot] + 1);
            let is_swap = slot > 0
                && other_slot > 0
                && letter == right[other_slot - 1]
                && left[slot - 1] == other;
            if is_swap {
                least = least.min(rows[slot - 1][other_slot - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

/// `a, b and c`, or the first few `and 12 more`.
fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMES_SHOWN);
    let shown: Vec<&str> = shown.map(String::as_str).collect();
    match (names.len() - shown.len(), shown.as_slice()) {
        (0, [first @ .., last]) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        (0, shown) => shown.join(", "),
        (more, shown) => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_close_name_is_suggested() {
        let known = names(&["music", "films", "Bücher", "m"]);
        for (wanted, name) in [
            ("musik", Some("music")),
            ("MUSCI", Some("music")),
            ("film", Some("films")),
            ("bucher", Some("Bücher")),
            ("orders", None),
            ("", None),
        ] {
            assert_eq!(closest(wanted, &known), name, "{wanted}");
        }
    }

    #[test]
    fn edits_count_swaps_once() {
        for (left, right, count) in [
            ("", "", 0),
            ("a", "", 1),
            ("ab", "ba", 1),
            ("abc", "adc", 1),
        ] {
            assert_eq!(edits(left, right), count, "{left} {right}");
            assert_eq!(edits(right, left), count, "{right} {left}");
        }
    }

    #[test]
    fn few_names_are_listed_and_many_are_counted() {
        assert_eq!(there_is("x", &[]), "");
        assert_eq!(there_is("other", &names(&["a"])), "it has a");
        assert_eq!(
            there_is("other", &names(&["a", "b", "c"])),
            "it has a, b and c"
        );
        let many: Vec<String> = (0..2000)
            .map(|number| format!("database{number}"))
            .collect();
        let text = there_is("other", &many);
        assert!(text.ends_with("database9 and 1990 more"), "{text}");
    }
}
