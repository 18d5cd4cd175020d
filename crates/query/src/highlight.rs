//! Highlighting: pieces of texts around what a search found, with tags before and after it.
//!
//! Called by `execute::rows` for each row of a query with `include highlight(...)`. Texts are those
//! of the row's document, words those its conditions on the field touch.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use jackdaw_search::{Analyzer, FieldOptions, TextQuery};

use crate::fields::{FieldPath, Leaf, visit_values};
use crate::predicate::{Field, Predicate, Test};
use crate::source::StoredDocument;

/// Characters in front of the first word found, where there are some.
const MARGIN_CHARS: usize = 6;
/// Tags where the query gives none.
const PRE_TAG: &str = "<b style=\"background:yellow\">";
const POST_TAG: &str = "</b>";
/// Values of one field that are looked at.
const VALUES_MAX: usize = 1_000;

/// One `highlight(field, length, count [, options])`.
#[derive(Clone, Debug)]
pub(crate) struct Highlight {
    pub(crate) path: FieldPath,
    /// Characters of a fragment.
    pub(crate) length: usize,
    /// Most fragments of a document.
    pub(crate) count: usize,
    pub(crate) pre_tags: Vec<String>,
    pub(crate) post_tags: Vec<String>,
    /// The field whose value stands for the row, in place of its id.
    pub(crate) group_key: Option<FieldPath>,
}

/// Fragments by field, then by the id of the row.
pub type Highlightings = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// What names a row in what is told beside the rows: the first value of a field, or the id.
pub(crate) fn row_key(document: &StoredDocument<'_>, group_key: Option<&FieldPath>) -> String {
    let mut key = None;
    if let Some(path) = group_key {
        let _ = visit_values(document, path, &mut |leaf| {
            key = match leaf {
                Leaf::Text(text) => Some(text.to_owned()),
                Leaf::Number(_, value) => Some(value.to_json()),
                _ => None,
            };
            ControlFlow::Break(())
        });
    }
    key.unwrap_or_else(|| document.id.to_owned())
}

impl Highlight {
    /// Adds the fragments of a row.
    pub(crate) fn add(
        &self,
        predicate: &Predicate,
        document: &StoredDocument<'_>,
        found: &mut Highlightings,
    ) {
        let mut queries: Vec<(TextQuery, FieldOptions)> = Vec::new();
        gather(predicate, &self.path, &mut queries);
        let mut fragments = Vec::new();
        let mut values = 0;
        let _ = visit_values(document, &self.path, &mut |leaf| {
            values += 1;
            if let Leaf::Text(text) = leaf {
                self.add_fragments(text, &queries, &mut fragments);
            }
            match values < VALUES_MAX && fragments.len() < self.count {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        let by_row = found.entry(self.path.as_str().to_owned()).or_default();
        if !fragments.is_empty() {
            by_row.insert(row_key(document, self.group_key.as_ref()), fragments);
        }
    }

    fn add_fragments(
        &self,
        text: &str,
        queries: &[(TextQuery, FieldOptions)],
        fragments: &mut Vec<String>,
    ) {
        let words = touched(text, queries);
        let mut next = 0;
        while let Some(first) = words.get(next)
            && fragments.len() < self.count
        {
            let start = start_of(text, first.start);
            let end = end_of(text, start, self.length).max(first.end);
            let inside = words[next..].partition_point(|word| word.end <= end);
            let inside = inside.max(1);
            let marked = &words[next..next + inside];
            let mut fragment = String::new();
            let mut at = start;
            for word in marked {
                let tag = |tags: &[String], default: &str| {
                    tags.first().map_or(default, String::as_str).to_owned()
                };
                fragment.push_str(&text[at..word.start]);
                fragment.push_str(&tag(&self.pre_tags, PRE_TAG));
                fragment.push_str(&text[word.clone()]);
                fragment.push_str(&tag(&self.post_tags, POST_TAG));
                at = word.end;
            }
            fragment.push_str(&text[at..end.max(at)]);
            fragments.push(fragment);
            next += inside;
        }
    }
}

/// The conditions on terms of a field, outside `not`.
fn gather(predicate: &Predicate, path: &FieldPath, out: &mut Vec<(TextQuery, FieldOptions)>) {
    match predicate {
        Predicate::Test(Field::Values(field), test) if field.path == *path => {
            let options = field.options();
            match test {
                Test::Terms(terms) => out.push((terms.query(options).into_owned(), options)),
                Test::Text(text) => out.push((TextQuery::Term(text.clone()), options)),
                Test::Prefix(text) => out.push((TextQuery::Prefix(text.clone()), options)),
                _ => {}
            }
        }
        Predicate::And(list) | Predicate::Or(list) => {
            list.iter().for_each(|part| gather(part, path, out));
        }
        Predicate::Boost(inner, _) => gather(inner, path, out),
        _ => {}
    }
}

/// Where the words stand that the conditions touch, ascending.
fn touched(text: &str, queries: &[(TextQuery, FieldOptions)]) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for (query, options) in queries {
        let analyzer = options.analyzer;
        // Without full text the words are as the standard analyzer has them.
        let divider = match analyzer.is_full_text() {
            true => analyzer,
            false => Analyzer::Standard,
        };
        divider.words(text, &mut |place, _| {
            let mut is_touched = false;
            analyzer.tokens(&text[place.clone()], 0, &mut |token, _| {
                is_touched = is_touched || query.touches(token);
            });
            if is_touched {
                words.push(place);
            }
        });
    }
    words.sort_unstable_by_key(|word| (word.start, word.end));
    // Analyzers may divide differently: no word within another.
    let mut end = 0;
    words.retain(|word| {
        let is_behind = word.start >= end;
        end = if is_behind { word.end } else { end };
        is_behind
    });
    words
}

/// Where a fragment begins: at most a margin before the word, and not within another.
fn start_of(text: &str, word: usize) -> usize {
    let before = text[..word].char_indices().rev().take(MARGIN_CHARS);
    let Some(earliest) = before.map(|(at, _)| at).last() else {
        return word;
    };
    if earliest == 0 {
        return 0;
    }
    match text[earliest..word].find(char::is_whitespace) {
        Some(blank) => {
            let rest = &text[earliest + blank..word];
            word - rest.trim_start().len()
        }
        None => word,
    }
}

/// Where a fragment ends: not within a word, when it has several.
fn end_of(text: &str, start: usize, length: usize) -> usize {
    let Some((end, _)) = text[start..].char_indices().nth(length) else {
        return text.len();
    };
    let fragment = &text[start..start + end];
    match fragment.rfind(char::is_whitespace) {
        Some(blank) if blank > 0 => start + blank,
        _ => start + end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_lie_around_what_was_found() {
        let options = FieldOptions::new(Analyzer::Standard);
        let query = TextQuery::search("RavenDB ind*", false, options).unwrap();
        let text = "In this session, core RavenDB developer Itamar will walk through the RavenDB \
                    indexing process, grok it and much more.";
        let highlight = Highlight {
            path: FieldPath::parse("T"),
            length: 128,
            count: 2,
            pre_tags: vec!["<".to_owned()],
            post_tags: vec![">".to_owned()],
            group_key: None,
        };
        let fragments_of = |highlight: &Highlight| {
            let mut fragments = Vec::new();
            highlight.add_fragments(text, &[(query.clone(), options)], &mut fragments);
            fragments
        };
        assert_eq!(
            fragments_of(&highlight),
            [
                "core <RavenDB> developer Itamar will walk through the <RavenDB> <indexing> \
                 process, grok it and much more."
            ]
        );
        let short = Highlight {
            length: 20,
            ..highlight
        };
        assert_eq!(
            fragments_of(&short),
            ["core <RavenDB>", "the <RavenDB>"].map(str::to_owned)
        );
    }
    #[test]
    fn words_are_marked_as_the_analyzer_divides_them() {
        let text = "Perl's ABC-123, ABC 123; AT&T in the U.S.A.";
        for (analyzer, search, expected) in [
            (Analyzer::Standard, "abc-123", &["ABC-123"][..]),
            (Analyzer::Standard, "abc", &["ABC"]),
            (Analyzer::Standard, "perl at&t", &["Perl's", "AT&T"]),
            (Analyzer::Standard, "u.s.a.", &["U.S.A."]),
            (Analyzer::Unicode, "abc", &["ABC", "ABC"]),
            (Analyzer::Whitespace, "ABC-123,", &["ABC-123,"]),
            (Analyzer::LowercaseKeyword, "abc", &["ABC"]),
        ] {
            let options = FieldOptions::new(analyzer);
            let query = TextQuery::search(search, false, options).unwrap();
            let places = touched(text, &[(query.clone(), options), (query, options)]);
            let found: Vec<&str> = places.into_iter().map(|place| &text[place]).collect();
            assert_eq!(found, expected, "{analyzer:?} {search}");
        }
    }
}
