//! Words of comments that plain English does without: counted per 1,000 words, for each crate.

use super::measure::Measure;
use super::rust_text;
use crate::repository::TextFile;

/// Words and phrases to replace by a plain verb, a name or a number.
const DIALECT: &[&[&str]] = &[
    &["beside"],
    &["told"],
    &["tells"],
    &["somebody"],
    &["nobody"],
    &["whoever"],
    &["anew"],
    &["gives"],
    &["gave"],
    &["so", "many"],
    &["lets", "go"],
    &["goes", "on"],
    &["of", "its", "own"],
];

/// Dialect per 1,000 words of comment, rounded up, and the files that hold it.
pub(crate) fn measure(files: &[&TextFile]) -> Measure {
    let (mut word_count, mut dialect_count, mut details) = (0, 0, Vec::new());
    for file in files {
        let comments = rust_text::comments(&file.text).join("\n").to_lowercase();
        let words: Vec<&str> = comments
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .collect();
        word_count += words.len();
        for phrase in DIALECT {
            let windows = words.windows(phrase.len());
            let count = windows.filter(|window| window == phrase).count();
            if count > 0 {
                dialect_count += count;
                details.push(format!("{}: `{}` {count}x", file.path, phrase.join(" ")));
            }
        }
    }
    Measure {
        figure: (dialect_count * 1_000).div_ceil(word_count.max(1)),
        details,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure_of(text: &str) -> Measure {
        let file = TextFile {
            path: "x.rs".to_owned(),
            text: text.to_owned(),
        };
        measure(&[&file])
    }

    #[test]
    fn the_rate_is_rounded_up() {
        let text = format!("// It gives one.\n// {}\n", "word ".repeat(497));
        assert_eq!(measure_of(&text).figure, 2);
        let text = format!("// It gives one.\n// {}\n", "word ".repeat(498));
        assert_eq!(measure_of(&text).figure, 2);
        let text = format!("// It gives one.\n// {}\n", "word ".repeat(996));
        assert_eq!(measure_of(&text).figure, 2);
        let text = format!("// It gives one.\n// {}\n", "word ".repeat(997));
        assert_eq!(measure_of(&text).figure, 1);
        assert_eq!(measure_of("fn f() {}\n").figure, 0);
    }

    #[test]
    fn phrases_are_found_across_lines_and_in_any_case() {
        let text = "/// So\n/// many pages, each with a key of\n//! its own. Told.\n";
        let details = measure_of(text).details;
        let expected = [
            "x.rs: `told` 1x",
            "x.rs: `so many` 1x",
            "x.rs: `of its own` 1x",
        ];
        assert_eq!(details, expected);
    }

    #[test]
    fn code_literals_and_longer_words_do_not_count() {
        let text = "let gives = \"told\"; // givesome besides gives_up\n";
        assert_eq!(measure_of(text).details, [""; 0]);
    }
}
