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

/// A step in a text: its name, and its numbers.
type Step<'t> = (&'t str, Option<(u8, u8)>);

/// Divides the text of a step.
fn divided(step: &str) -> Result<Step<'_>, ChainError> {
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
    (
        "\u{c0}\u{c1}\u{c2}\u{c3}\u{c4}\u{c5}\u{100}\u{102}\u{104}\u{1cd}\u{1de}\u{1e0}\u{1fa}\
         \u{200}\u{202}\u{226}",
        "A",
    ),
    (
        "\u{e0}\u{e1}\u{e2}\u{e3}\u{e4}\u{e5}\u{101}\u{103}\u{105}\u{1ce}\u{1df}\u{1e1}\u{1fb}\
         \u{201}\u{203}\u{227}\u{1e9a}",
        "a",
    ),
    ("\u{c6}\u{1e2}\u{1fc}", "AE"),
    ("\u{e6}\u{1e3}\u{1fd}", "ae"),
    ("\u{c7}\u{106}\u{108}\u{10a}\u{10c}\u{187}\u{23b}", "C"),
    ("\u{e7}\u{107}\u{109}\u{10b}\u{10d}\u{188}\u{23c}", "c"),
    ("\u{d0}\u{10e}\u{110}\u{189}\u{18a}\u{18b}", "D"),
    ("\u{f0}\u{10f}\u{111}\u{18c}\u{221}", "d"),
    (
        "\u{c8}\u{c9}\u{ca}\u{cb}\u{112}\u{114}\u{116}\u{118}\u{11a}\u{18e}\u{190}\u{204}\u{206}\
         \u{228}",
        "E",
    ),
    (
        "\u{e8}\u{e9}\u{ea}\u{eb}\u{113}\u{115}\u{117}\u{119}\u{11b}\u{1dd}\u{205}\u{207}\u{229}",
        "e",
    ),
    ("\u{191}", "F"),
    ("\u{192}", "f"),
    (
        "\u{11c}\u{11e}\u{120}\u{122}\u{193}\u{1e4}\u{1e5}\u{1e6}\u{1e7}\u{1f4}",
        "G",
    ),
    ("\u{11d}\u{11f}\u{121}\u{123}\u{1f5}", "g"),
    ("\u{124}\u{126}\u{21e}", "H"),
    ("\u{125}\u{127}\u{21f}", "h"),
    (
        "\u{cc}\u{cd}\u{ce}\u{cf}\u{128}\u{12a}\u{12c}\u{12e}\u{130}\u{196}\u{197}\u{1cf}\u{208}\
         \u{20a}",
        "I",
    ),
    (
        "\u{ec}\u{ed}\u{ee}\u{ef}\u{129}\u{12b}\u{12d}\u{12f}\u{131}\u{1d0}\u{209}\u{20b}",
        "i",
    ),
    ("\u{132}", "IJ"),
    ("\u{133}", "ij"),
    ("\u{134}\u{248}", "J"),
    ("\u{135}\u{1f0}\u{237}\u{249}", "j"),
    ("\u{136}\u{198}\u{1e8}", "K"),
    ("\u{137}\u{199}\u{1e9}", "k"),
    ("\u{139}\u{13b}\u{13d}\u{13f}\u{141}\u{23d}", "L"),
    ("\u{13a}\u{13c}\u{13e}\u{140}\u{142}\u{19a}\u{234}", "l"),
    (
        "\u{d1}\u{143}\u{145}\u{147}\u{14a}\u{19d}\u{1f8}\u{220}",
        "N",
    ),
    (
        "\u{f1}\u{144}\u{146}\u{148}\u{149}\u{14b}\u{19e}\u{1f9}\u{235}",
        "n",
    ),
    (
        "\u{d2}\u{d3}\u{d4}\u{d5}\u{d6}\u{d8}\u{14c}\u{14e}\u{150}\u{186}\u{19f}\u{1a0}\u{1d1}\
         \u{1ea}\u{1ec}\u{1fe}\u{20c}\u{20e}\u{22a}\u{22c}\u{22e}\u{230}",
        "O",
    ),
    (
        "\u{f2}\u{f3}\u{f4}\u{f5}\u{f6}\u{f8}\u{14d}\u{14f}\u{151}\u{1a1}\u{1d2}\u{1eb}\u{1ed}\
         \u{1ff}\u{20d}\u{20f}\u{22b}\u{22d}\u{22f}\u{231}",
        "o",
    ),
    ("\u{152}", "OE"),
    ("\u{153}", "oe"),
    ("\u{1a4}", "P"),
    ("\u{1a5}", "p"),
    ("\u{138}\u{24b}", "q"),
    ("\u{154}\u{156}\u{158}\u{210}\u{212}", "R"),
    ("\u{155}\u{157}\u{159}\u{211}\u{213}", "r"),
    ("\u{15a}\u{15c}\u{15e}\u{160}\u{218}", "S"),
    ("\u{15b}\u{15d}\u{15f}\u{161}\u{17f}\u{219}\u{23f}", "s"),
    ("\u{1e9e}", "SS"),
    ("\u{df}", "ss"),
    ("\u{162}\u{164}\u{166}\u{1ac}\u{1ae}\u{21a}\u{23e}", "T"),
    ("\u{163}\u{165}\u{167}\u{1ab}\u{1ad}\u{21b}\u{236}", "t"),
    ("\u{de}", "TH"),
    ("\u{fe}", "th"),
    (
        "\u{d9}\u{da}\u{db}\u{dc}\u{168}\u{16a}\u{16c}\u{16e}\u{170}\u{172}\u{1af}\u{1d3}\u{1d5}\
         \u{1d7}\u{1d9}\u{1db}\u{214}\u{216}",
        "U",
    ),
    (
        "\u{f9}\u{fa}\u{fb}\u{fc}\u{169}\u{16b}\u{16d}\u{16f}\u{171}\u{173}\u{1b0}\u{1d4}\u{1d6}\
         \u{1d8}\u{1da}\u{1dc}\u{215}\u{217}",
        "u",
    ),
    ("\u{1b2}\u{245}", "V"),
    ("\u{174}", "W"),
    ("\u{175}\u{1bf}", "w"),
    ("\u{dd}\u{176}\u{178}\u{1b3}\u{232}\u{24e}", "Y"),
    ("\u{fd}\u{ff}\u{177}\u{1b4}\u{233}\u{24f}", "y"),
    ("\u{179}\u{17b}\u{17d}\u{1b5}\u{21c}\u{224}", "Z"),
    ("\u{17a}\u{17c}\u{17e}\u{1b6}\u{21d}\u{225}\u{240}", "z"),
    (
        "\u{1e00}\u{1ea0}\u{1ea2}\u{1ea4}\u{1ea6}\u{1ea8}\u{1eaa}\u{1eac}\u{1eae}\u{1eb0}\u{1eb2}\
         \u{1eb4}\u{1eb6}",
        "A",
    ),
    (
        "\u{1e01}\u{1ea1}\u{1ea3}\u{1ea5}\u{1ea7}\u{1ea9}\u{1eab}\u{1ead}\u{1eaf}\u{1eb1}\u{1eb3}\
         \u{1eb5}\u{1eb7}",
        "a",
    ),
    (
        "\u{1e14}\u{1e16}\u{1e18}\u{1e1a}\u{1e1c}\u{1eb8}\u{1eba}\u{1ebc}\u{1ebe}\u{1ec0}\u{1ec2}\
         \u{1ec4}\u{1ec6}",
        "E",
    ),
    (
        "\u{1e15}\u{1e17}\u{1e19}\u{1e1b}\u{1e1d}\u{1eb9}\u{1ebb}\u{1ebd}\u{1ebf}\u{1ec1}\u{1ec3}\
         \u{1ec5}\u{1ec7}",
        "e",
    ),
    ("\u{1e2c}\u{1e2e}\u{1ec8}\u{1eca}", "I"),
    ("\u{1e2d}\u{1e2f}\u{1ec9}\u{1ecb}", "i"),
    (
        "\u{1e4c}\u{1e4e}\u{1e50}\u{1e52}\u{1ecc}\u{1ece}\u{1ed0}\u{1ed2}\u{1ed4}\u{1ed6}\u{1ed8}\
         \u{1eda}\u{1edc}\u{1ede}\u{1ee0}\u{1ee2}",
        "O",
    ),
    (
        "\u{1e4d}\u{1e4f}\u{1e51}\u{1e53}\u{1ecd}\u{1ecf}\u{1ed1}\u{1ed3}\u{1ed5}\u{1ed7}\u{1ed9}\
         \u{1edb}\u{1edd}\u{1edf}\u{1ee1}\u{1ee3}",
        "o",
    ),
    (
        "\u{1e72}\u{1e74}\u{1e76}\u{1e78}\u{1e7a}\u{1ee4}\u{1ee6}\u{1ee8}\u{1eea}\u{1eec}\u{1eee}\
         \u{1ef0}",
        "U",
    ),
    (
        "\u{1e73}\u{1e75}\u{1e77}\u{1e79}\u{1e7b}\u{1ee5}\u{1ee7}\u{1ee9}\u{1eeb}\u{1eed}\u{1eef}\
         \u{1ef1}",
        "u",
    ),
    ("\u{1e8e}\u{1ef2}\u{1ef4}\u{1ef6}\u{1ef8}", "Y"),
    ("\u{1e8f}\u{1e99}\u{1ef3}\u{1ef5}\u{1ef7}\u{1ef9}", "y"),
    ("\u{fb00}", "ff"),
    ("\u{fb01}", "fi"),
    ("\u{fb02}", "fl"),
    ("\u{ab}\u{bb}\u{201c}\u{201d}\u{201e}", "\""),
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
