//! Chains: a tokenizer and filters behind it, which together are an analyzer that a user wrote.
//!
//! Made from a text such as `WhitespaceTokenizer LowerCaseFilter LengthFilter(2,20)`, whose names
//! are those of Lucene's classes; called by `tokens`. The text is also how definitions and the
//! catalog keep a chain.
//!
//! Invariants:
//! - Tokens are those of Lucene's classes of these names, but for their length: see `tokens`.
//! - [`Analyzer::of_steps`] of [`Chain::text`] is the chain again.
//!
//! Threads: pure functions.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::LazyLock;

use jackdaw_base::lowercase::lowercase;

use super::{Analyzer, classic};

/// Most filters of a chain: an analyzer is copied with each field's options.
const FILTERS_MAX: usize = 6;

/// How text is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tokenizer {
    /// All of the text.
    Keyword,
    /// Words of the classic grammar as they stand; `true` with `StandardFilter` behind it, which
    /// takes the dots of acronyms and `'s` away.
    Standard(bool),
    /// What stands between white space.
    Whitespace,
    /// Runs of letters.
    Letter,
    /// All runs of this many characters, at least and at most.
    NGram(u8, u8),
}

/// What becomes of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Filter {
    /// It goes to lower case.
    Lowercase,
    /// Letters of the Latin script lose their marks.
    Ascii,
    /// English stop words are left out.
    Stop,
    /// Tokens with fewer or more characters are left out.
    Length(u8, u8),
    /// All runs of this many characters stand in its place.
    NGram(u8, u8),
}

/// A tokenizer and filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    tokenizer: Tokenizer,
    filters: [Option<Filter>; FILTERS_MAX],
}

/// Why steps are no chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// A class is not known, or cannot stand at its place.
    #[error("'{0}' is not executed at this place of an analyzer")]
    Step(String),
    /// A class has numbers that it cannot have.
    #[error("'{0}' needs two numbers from 1 to 255, the smaller one first")]
    Numbers(String),
    /// There are too many filters.
    #[error("an analyzer has at most {FILTERS_MAX} filters")]
    Filters,
    /// There is no step.
    #[error("an analyzer begins with a tokenizer")]
    Empty,
}

impl Analyzer {
    /// The analyzer of steps, separated by spaces: a tokenizer, then filters. Numbers of a class
    /// follow it in parentheses.
    ///
    /// Known are `KeywordTokenizer`, `StandardTokenizer`, `WhitespaceTokenizer`, `LetterTokenizer`,
    /// `LowerCaseTokenizer`, `NGramTokenizer(least,most)`, `StandardFilter`, `LowerCaseFilter`,
    /// `ASCIIFoldingFilter`, `StopFilter`, `LengthFilter(least,most)` and
    /// `NGramTokenFilter(least,most)`.
    ///
    /// # Errors
    /// See [`ChainError`].
    pub fn of_steps(text: &str) -> Result<Analyzer, ChainError> {
        let mut steps = text.split_ascii_whitespace();
        let first = steps.next().ok_or(ChainError::Empty)?;
        let (name, numbers) = divided(first)?;
        let mut filters: Vec<Filter> = Vec::new();
        let mut tokenizer = match (name, numbers) {
            ("KeywordTokenizer", None) => Tokenizer::Keyword,
            ("StandardTokenizer", None) => Tokenizer::Standard(false),
            ("WhitespaceTokenizer", None) => Tokenizer::Whitespace,
            ("LetterTokenizer", None) => Tokenizer::Letter,
            ("LowerCaseTokenizer", None) => {
                filters.push(Filter::Lowercase);
                Tokenizer::Letter
            }
            ("NGramTokenizer", Some((least, most))) => Tokenizer::NGram(least, most),
            _ => return Err(ChainError::Step(first.to_owned())),
        };
        for step in steps {
            let filter = match divided(step)? {
                ("StandardFilter", None) => match tokenizer {
                    // Behind others that look at whole tokens it would come too late.
                    Tokenizer::Standard(_) if filters.iter().all(Filter::keeps_tokens) => {
                        tokenizer = Tokenizer::Standard(true);
                        continue;
                    }
                    Tokenizer::Standard(_) => return Err(ChainError::Step(step.to_owned())),
                    // Only tokens of the classic grammar have what it takes away.
                    _ => continue,
                },
                ("LowerCaseFilter", None) => Filter::Lowercase,
                ("ASCIIFoldingFilter", None) => Filter::Ascii,
                ("StopFilter", None) => Filter::Stop,
                ("LengthFilter", Some((least, most))) => Filter::Length(least, most),
                ("NGramTokenFilter", Some((least, most))) => Filter::NGram(least, most),
                _ => return Err(ChainError::Step(step.to_owned())),
            };
            if filters.last() != Some(&filter) || matches!(filter, Filter::NGram(..)) {
                filters.push(filter);
            }
        }
        let known = match (tokenizer, filters.as_slice()) {
            (Tokenizer::Keyword, []) => Some(Analyzer::Keyword),
            (Tokenizer::Keyword, [Filter::Lowercase]) => Some(Analyzer::LowercaseKeyword),
            (Tokenizer::Whitespace, []) => Some(Analyzer::Whitespace),
            (Tokenizer::Letter, [Filter::Lowercase]) => Some(Analyzer::Simple),
            (Tokenizer::Letter, [Filter::Lowercase, Filter::Stop]) => Some(Analyzer::Stop),
            (Tokenizer::Standard(true), [Filter::Lowercase, Filter::Stop]) => {
                Some(Analyzer::Standard)
            }
            _ => None,
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let mut chain = Chain {
            tokenizer,
            filters: [None; FILTERS_MAX],
        };
        if filters.len() > FILTERS_MAX {
            return Err(ChainError::Filters);
        }
        for (place, filter) in chain.filters.iter_mut().zip(filters) {
            *place = Some(filter);
        }
        Ok(Analyzer::Chain(chain))
    }

    /// The steps of an analyzer that is a chain.
    #[must_use]
    pub fn steps(self) -> Option<String> {
        match self {
            Analyzer::Chain(chain) => Some(chain.text()),
            _ => None,
        }
    }
}

/// The name of a step, and its numbers.
fn divided(step: &str) -> Result<(&str, Option<(u8, u8)>), ChainError> {
    let Some((name, rest)) = step.split_once('(') else {
        return Ok((step, None));
    };
    let numbers = rest.strip_suffix(')').and_then(|rest| rest.split_once(','));
    let numbers = numbers.and_then(|(least, most)| Some((least.parse().ok()?, most.parse().ok()?)));
    match numbers {
        Some((least, most)) if 1 <= least && least <= most => Ok((name, Some((least, most)))),
        _ => Err(ChainError::Numbers(name.to_owned())),
    }
}

impl Filter {
    /// Whether each token comes out as one that says the same.
    fn keeps_tokens(&self) -> bool {
        matches!(self, Filter::Lowercase | Filter::Ascii)
    }
}

impl Chain {
    /// The steps, separated by spaces.
    fn text(&self) -> String {
        let mut text = match self.tokenizer {
            Tokenizer::Keyword => "KeywordTokenizer".to_owned(),
            Tokenizer::Standard(false) => "StandardTokenizer".to_owned(),
            Tokenizer::Standard(true) => "StandardTokenizer StandardFilter".to_owned(),
            Tokenizer::Whitespace => "WhitespaceTokenizer".to_owned(),
            Tokenizer::Letter => "LetterTokenizer".to_owned(),
            Tokenizer::NGram(least, most) => format!("NGramTokenizer({least},{most})"),
        };
        for filter in self.filters() {
            // Writing to a text does not fail.
            let _ = match filter {
                Filter::Lowercase => write!(text, " LowerCaseFilter"),
                Filter::Ascii => write!(text, " ASCIIFoldingFilter"),
                Filter::Stop => write!(text, " StopFilter"),
                Filter::Length(least, most) => write!(text, " LengthFilter({least},{most})"),
                Filter::NGram(least, most) => write!(text, " NGramTokenFilter({least},{most})"),
            };
        }
        text
    }

    fn filters(&self) -> impl Iterator<Item = Filter> {
        self.filters.iter().flatten().copied()
    }

    /// Whether text goes to lower case.
    pub(super) fn folds(&self) -> bool {
        self.filters().any(|filter| filter == Filter::Lowercase)
    }

    /// A whole text as the filters change its letters.
    pub(super) fn fold<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.filters()
            .fold(Cow::Borrowed(text), |text, filter| match filter {
                Filter::Lowercase => lowercase(&text).into_owned().into(),
                Filter::Ascii => ascii(&text).into_owned().into(),
                Filter::Stop | Filter::Length(..) | Filter::NGram(..) => text,
            })
    }

    /// Calls `visit` with where each token of the tokenizer stands, and the token.
    pub(super) fn words<'t>(
        &self,
        text: &'t str,
        visit: &mut dyn FnMut(Range<usize>, Cow<'t, str>),
    ) {
        let mut piece = |word: &'t str| {
            if !word.is_empty() {
                let start = word.as_ptr().addr() - text.as_ptr().addr();
                visit(start..start + word.len(), word.into());
            }
        };
        match self.tokenizer {
            Tokenizer::Keyword => piece(text),
            Tokenizer::Standard(true) => classic::words(text, visit),
            Tokenizer::Standard(false) => {
                classic::words(text, &mut |place, _| {
                    visit(place.clone(), text[place].into())
                });
            }
            Tokenizer::Whitespace => text.split_whitespace().for_each(piece),
            Tokenizer::Letter => text.split(|c: char| !c.is_alphabetic()).for_each(piece),
            Tokenizer::NGram(least, most) => grams(text.trim(), (least, most), &mut piece),
        }
    }

    /// Calls `visit` with each token that the filters make of a word.
    pub(super) fn filtered(&self, word: &str, visit: &mut dyn FnMut(&str)) {
        self.filtered_from(0, word, visit);
    }

    fn filtered_from(&self, slot: usize, word: &str, visit: &mut dyn FnMut(&str)) {
        let Some(filter) = self.filters.get(slot).copied().flatten() else {
            if !word.is_empty() {
                visit(word);
            }
            return;
        };
        let next = slot + 1;
        match filter {
            Filter::Lowercase => self.filtered_from(next, &lowercase(word), visit),
            Filter::Ascii => self.filtered_from(next, &ascii(word), visit),
            Filter::Stop if super::tokens::is_stop_word(word) => {}
            Filter::Stop => self.filtered_from(next, word, visit),
            Filter::Length(least, most) => {
                let count = word.chars().count();
                if (usize::from(least)..=usize::from(most)).contains(&count) {
                    self.filtered_from(next, word, visit);
                }
            }
            Filter::NGram(least, most) => {
                grams(word, (least, most), &mut |gram| {
                    self.filtered_from(next, gram, visit);
                });
            }
        }
    }
}

/// All runs of at least and at most so many characters, the shorter ones first.
fn grams<'t>(text: &'t str, (least, most): (u8, u8), visit: &mut dyn FnMut(&'t str)) {
    let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    ends.push(text.len());
    for count in usize::from(least)..=usize::from(most).min(ends.len() - 1) {
        for pair in ends.windows(count + 1) {
            visit(&text[pair[0]..pair[count]]);
        }
    }
}

/// Letters of the Latin script and the ASCII in their place.
const FOLDED: &[(&str, &str)] = &[
    ("ÀÁÂÃÄÅĀĂĄǍǞǠǺȀȂȦ", "A"),
    ("àáâãäåāăąǎǟǡǻȁȃȧẚ", "a"),
    ("ÆǢǼ", "AE"),
    ("æǣǽ", "ae"),
    ("ÇĆĈĊČƇȻ", "C"),
    ("çćĉċčƈȼ", "c"),
    ("ÐĎĐƉƊƋ", "D"),
    ("ðďđƌȡ", "d"),
    ("ÈÉÊËĒĔĖĘĚƎƐȄȆȨ", "E"),
    ("èéêëēĕėęěǝȅȇȩ", "e"),
    ("Ƒ", "F"),
    ("ƒ", "f"),
    ("ĜĞĠĢƓǤǥǦǧǴ", "G"),
    ("ĝğġģǵ", "g"),
    ("ĤĦȞ", "H"),
    ("ĥħȟ", "h"),
    ("ÌÍÎÏĨĪĬĮİƖƗǏȈȊ", "I"),
    ("ìíîïĩīĭįıǐȉȋ", "i"),
    ("Ĳ", "IJ"),
    ("ĳ", "ij"),
    ("ĴɈ", "J"),
    ("ĵǰȷɉ", "j"),
    ("ĶƘǨ", "K"),
    ("ķƙǩ", "k"),
    ("ĹĻĽĿŁȽ", "L"),
    ("ĺļľŀłƚȴ", "l"),
    ("ÑŃŅŇŊƝǸȠ", "N"),
    ("ñńņňŉŋƞǹȵ", "n"),
    ("ÒÓÔÕÖØŌŎŐƆƟƠǑǪǬǾȌȎȪȬȮȰ", "O"),
    ("òóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱ", "o"),
    ("Œ", "OE"),
    ("œ", "oe"),
    ("Ƥ", "P"),
    ("ƥ", "p"),
    ("ĸɋ", "q"),
    ("ŔŖŘȐȒ", "R"),
    ("ŕŗřȑȓ", "r"),
    ("ŚŜŞŠȘ", "S"),
    ("śŝşšſșȿ", "s"),
    ("ẞ", "SS"),
    ("ß", "ss"),
    ("ŢŤŦƬƮȚȾ", "T"),
    ("ţťŧƫƭțȶ", "t"),
    ("Þ", "TH"),
    ("þ", "th"),
    ("ÙÚÛÜŨŪŬŮŰŲƯǓǕǗǙǛȔȖ", "U"),
    ("ùúûüũūŭůűųưǔǖǘǚǜȕȗ", "u"),
    ("ƲɅ", "V"),
    ("Ŵ", "W"),
    ("ŵƿ", "w"),
    ("ÝŶŸƳȲɎ", "Y"),
    ("ýÿŷƴȳɏ", "y"),
    ("ŹŻŽƵȜȤ", "Z"),
    ("źżžƶȝȥɀ", "z"),
    ("ḀẠẢẤẦẨẪẬẮẰẲẴẶ", "A"),
    ("ḁạảấầẩẫậắằẳẵặ", "a"),
    ("ḔḖḘḚḜẸẺẼẾỀỂỄỆ", "E"),
    ("ḕḗḙḛḝẹẻẽếềểễệ", "e"),
    ("ḬḮỈỊ", "I"),
    ("ḭḯỉị", "i"),
    ("ṌṎṐṒỌỎỐỒỔỖỘỚỜỞỠỢ", "O"),
    ("ṍṏṑṓọỏốồổỗộớờởỡợ", "o"),
    ("ṲṴṶṸṺỤỦỨỪỬỮỰ", "U"),
    ("ṳṵṷṹṻụủứừửữự", "u"),
    ("ẎỲỴỶỸ", "Y"),
    ("ẏẙỳỵỷỹ", "y"),
    ("\u{fb00}", "ff"),
    ("\u{fb01}", "fi"),
    ("\u{fb02}", "fl"),
    ("«»\u{201c}\u{201d}\u{201e}", "\""),
    ("\u{2018}\u{2019}\u{201a}\u{201b}", "'"),
    ("\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}", "-"),
];

/// `text` with letters of the Latin script in ASCII.
fn ascii(text: &str) -> Cow<'_, str> {
    static BY_LETTER: LazyLock<Vec<(char, &str)>> = LazyLock::new(|| {
        let pairs = FOLDED.iter();
        let mut list: Vec<(char, &str)> = pairs
            .flat_map(|(letters, plain)| letters.chars().map(|letter| (letter, *plain)))
            .collect();
        list.sort_unstable();
        list
    });
    if text.is_ascii() {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match BY_LETTER.binary_search_by_key(&c, |(letter, _)| *letter) {
            Ok(at) => out.push_str(BY_LETTER[at].1),
            Err(_) => out.push(c),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(steps: &str, text: &str) -> Vec<String> {
        let analyzer = Analyzer::of_steps(steps).unwrap_or_else(|error| panic!("{steps}: {error}"));
        let mut out = Vec::new();
        analyzer.tokens(text, 0, &mut |token, at| out.push(format!("{token}@{at}")));
        out
    }

    #[test]
    fn chains_divide_and_filter_in_their_order() {
        for (steps, text, expected) in [
            (
                "WhitespaceTokenizer LowerCaseFilter",
                "FOO-Bar  baz",
                "foo-bar@0 baz@1",
            ),
            (
                "StandardTokenizer StandardFilter LowerCaseFilter StopFilter ASCIIFoldingFilter",
                "The Cr\u{e8}me BR\u{db}L\u{c9}E of U.S.A.",
                "creme@0 brulee@1 usa@2",
            ),
            (
                "StandardTokenizer LowerCaseFilter",
                "The dog's U.S.A.",
                "the@0 dog's@1 u.s.a.@2",
            ),
            (
                "WhitespaceTokenizer StopFilter LowerCaseFilter",
                "The the fox",
                "the@0 fox@1",
            ),
            (
                "WhitespaceTokenizer LengthFilter(2,3)",
                "a bb ccc dddd",
                "bb@0 ccc@1",
            ),
            (
                "WhitespaceTokenizer NGramTokenFilter(2,3)",
                "abcd x yz",
                "ab@0 bc@0 cd@0 abc@0 bcd@0 yz@1",
            ),
            ("NGramTokenizer(2,2)", " abc ", "ab@0 bc@1"),
            (
                "LowerCaseTokenizer LengthFilter(2,9)",
                "Ab1c DE",
                "ab@0 de@1",
            ),
            (
                "KeywordTokenizer LowerCaseFilter ASCIIFoldingFilter",
                "Stra\u{df}e \u{152}uvre",
                "strasse oeuvre@0",
            ),
            ("KeywordTokenizer ASCIIFoldingFilter", "", ""),
        ] {
            assert_eq!(tokens(steps, text).join(" "), expected, "{steps}: {text}");
        }
    }

    #[test]
    fn steps_come_back() {
        for steps in [
            "WhitespaceTokenizer LowerCaseFilter",
            "StandardTokenizer StandardFilter LowerCaseFilter ASCIIFoldingFilter StopFilter",
            "StandardTokenizer LengthFilter(1,255)",
            "NGramTokenizer(3,3) LowerCaseFilter NGramTokenFilter(1,2)",
        ] {
            let analyzer = Analyzer::of_steps(steps).unwrap();
            assert_eq!(analyzer.steps().as_deref(), Some(steps));
            assert!(analyzer.is_full_text());
        }
        for (steps, analyzer) in [
            ("KeywordTokenizer", Analyzer::Keyword),
            (
                "KeywordTokenizer LowerCaseFilter",
                Analyzer::LowercaseKeyword,
            ),
            ("LowerCaseTokenizer LowerCaseFilter", Analyzer::Simple),
            ("LowerCaseTokenizer StopFilter", Analyzer::Stop),
            ("WhitespaceTokenizer StandardFilter", Analyzer::Whitespace),
            (
                "StandardTokenizer StandardFilter LowerCaseFilter StopFilter",
                Analyzer::Standard,
            ),
        ] {
            assert_eq!(Analyzer::of_steps(steps), Ok(analyzer));
            assert_eq!(analyzer.steps(), None);
        }
    }

    #[test]
    fn other_steps_are_refused_by_name() {
        let step = |text: &str| Err(ChainError::Step(text.to_owned()));
        let numbers = |text: &str| Err(ChainError::Numbers(text.to_owned()));
        let many = format!("KeywordTokenizer{}", " NGramTokenFilter(1,2)".repeat(7));
        for (steps, expected) in [
            ("", Err(ChainError::Empty)),
            ("LowerCaseFilter", step("LowerCaseFilter")),
            (
                "KeywordTokenizer KeywordTokenizer",
                step("KeywordTokenizer"),
            ),
            (
                "KeywordTokenizer PorterStemFilter",
                step("PorterStemFilter"),
            ),
            ("KeywordTokenizer(1,2)", step("KeywordTokenizer(1,2)")),
            ("KeywordTokenizer LengthFilter", step("LengthFilter")),
            (
                "StandardTokenizer StopFilter StandardFilter",
                step("StandardFilter"),
            ),
            ("NGramTokenizer(0,2)", numbers("NGramTokenizer")),
            ("NGramTokenizer(3,2)", numbers("NGramTokenizer")),
            ("NGramTokenizer(1,256)", numbers("NGramTokenizer")),
            ("NGramTokenizer(1", numbers("NGramTokenizer")),
            (many.as_str(), Err(ChainError::Filters)),
        ] {
            assert_eq!(Analyzer::of_steps(steps), expected, "{steps}");
        }
    }

    #[test]
    fn long_tokens_are_divided() {
        let long = "x".repeat(600);
        let found = tokens("WhitespaceTokenizer LowerCaseFilter", &format!("{long} y"));
        let lengths: Vec<usize> = found.iter().map(|token| token.find('@').unwrap()).collect();
        assert_eq!(lengths, [255, 255, 90, 1]);
        assert!(found[3].ends_with("@3"));
    }
}
