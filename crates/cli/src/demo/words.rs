//! The languages of the demo, read from `words.txt`.
//!
//! Called by the generator. The text is part of the binary and checked by a test, so reading it
//! cannot fail at run time.

/// The text; its head explains the form.
const TEXT: &str = include_str!("words.txt");

/// What one language offers.
#[derive(Clone, Debug)]
pub(super) struct Language {
    pub(super) weight: u64,
    /// The category that most of its albums are filed under.
    pub(super) category: &'static str,
    /// Whether family names come first.
    pub(super) last_first: bool,
    pub(super) join: &'static str,
    pub(super) and: &'static str,
    /// Whether `of` stands before its noun.
    pub(super) of_first: bool,
    pub(super) famous: Vec<&'static str>,
    pub(super) first: Vec<&'static str>,
    pub(super) last: Vec<&'static str>,
    pub(super) groups: Vec<&'static str>,
    pub(super) adjectives: Vec<&'static str>,
    pub(super) nouns: Vec<&'static str>,
    pub(super) of: Vec<&'static str>,
    pub(super) phrases: Vec<&'static str>,
}

impl Default for Language {
    fn default() -> Self {
        Self {
            weight: 0,
            category: "misc",
            last_first: false,
            join: " ",
            and: " & ",
            of_first: false,
            famous: Vec::new(),
            first: Vec::new(),
            last: Vec::new(),
            groups: Vec::new(),
            adjectives: Vec::new(),
            nouns: Vec::new(),
            of: Vec::new(),
            phrases: Vec::new(),
        }
    }
}

/// Every language, in the order of the text.
pub(super) fn languages() -> Vec<Language> {
    let mut languages: Vec<Language> = Vec::new();
    for line in TEXT.lines() {
        if line.starts_with('[') {
            languages.push(Language::default());
        } else if let (Some((key, value)), Some(language)) =
            (line.split_once(": "), languages.last_mut())
            && !line.starts_with('#')
        {
            set(language, key, value.trim());
        }
    }
    languages
}

fn set(language: &mut Language, key: &str, value: &'static str) {
    let list = || value.split('|').map(str::trim).collect();
    let quoted = || value.trim_matches('"');
    match key {
        "weight" => language.weight = value.parse().expect("a test reads every weight"),
        "category" => language.category = value,
        "order" => language.last_first = value == "last first",
        "join" => language.join = quoted(),
        "and" => language.and = quoted(),
        "of-first" => language.of_first = value == "yes",
        "famous" => language.famous = list(),
        "first" => language.first = list(),
        "last" => language.last = list(),
        "groups" => language.groups = list(),
        "adjectives" => language.adjectives = list(),
        "nouns" => language.nouns = list(),
        "of" => language.of = list(),
        "phrases" => language.phrases = list(),
        _ => panic!("a test reads every key, and `{key}` is none"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_is_complete() {
        let languages = languages();
        assert_eq!(
            languages.len(),
            TEXT.lines().filter(|line| line.starts_with('[')).count()
        );
        for language in &languages {
            assert!(language.weight > 0, "{language:?}");
            for list in [
                &language.famous,
                &language.first,
                &language.last,
                &language.groups,
                &language.nouns,
                &language.of,
                &language.phrases,
            ] {
                assert!(
                    !list.is_empty() && list.iter().all(|word| !word.is_empty()),
                    "{language:?}"
                );
            }
            let names = language
                .famous
                .iter()
                .chain(&language.groups)
                .chain(&language.phrases);
            assert!(
                names
                    .clone()
                    .all(|name| !name.contains(" / ") && !name.contains('='))
            );
        }
    }
}
