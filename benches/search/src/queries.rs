//! Twenty-eight classes of queries, drawn from the rows, and the file that all engines read.
//!
//! A line is class, kind and arguments, separated by tabs. The same rows give the same queries.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::rows;

/// What one query asks for. Words are of `text` unless said otherwise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Rows with one of these `ids`.
    Term(String),
    /// Rows of a genre, the largest `num` first, after so many.
    Genre { genre: String, skip: u64 },
    /// Rows whose route begins so, the largest `num` first.
    Prefix(String),
    /// The best rows with all of these words.
    And(Vec<String>),
    /// The best rows with one of these words, after so many.
    Or { words: Vec<String>, skip: u64 },
    /// Rows of these years, the largest `num` first.
    Range(i64, i64),
    /// The best rows with these two words beside each other.
    Phrase(String, String),
    /// Rows with a word of this pattern (`*` for any characters).
    WildcardWord(String),
    /// Rows whose title is of this pattern.
    WildcardTitle(String),
    /// Rows with a word at most so many edits away.
    Fuzzy(String, u8),
    /// Rows of each genre, among those with one of these words, or all.
    Facet(Vec<String>),
    /// How many rows have one of these words.
    CountOr(Vec<String>),
    /// How many rows have all of these words.
    CountAnd(Vec<String>),
    /// How many rows are of these years.
    CountRange(i64, i64),
    /// All rows, the largest `num` first.
    All,
    /// The best rows of an artist with a word.
    ArtistAnd { artist: String, word: String },
}

/// A query and the class that its time counts for.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) class: String,
    pub(crate) kind: Kind,
}

/// Most rows that a query gives.
pub(crate) const TOP: u64 = 10;

/// The queries of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Query>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines().map(parse).collect()
}

fn parse(line: &str) -> Result<Query> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [class, kind, arguments @ ..] = &columns[..] else {
        bail!("a query has a class and a kind: {line}");
    };
    let all = || {
        arguments
            .iter()
            .map(|&word| word.to_owned())
            .collect::<Vec<_>>()
    };
    let text = |position: usize| {
        let argument = arguments.get(position).copied();
        argument
            .map(str::to_owned)
            .with_context(|| format!("an argument is missing: {line}"))
    };
    let number = |position: usize| Ok::<i64, anyhow::Error>(text(position)?.parse()?);
    let kind = match *kind {
        "term" => Kind::Term(text(1)?),
        "termsort" => Kind::Genre {
            genre: text(1)?,
            skip: 0,
        },
        "pagesort" => Kind::Genre {
            skip: text(0)?.parse()?,
            genre: text(1)?,
        },
        "prefixsort" => Kind::Prefix(text(0)?),
        "and" => Kind::And(all()),
        "or" => Kind::Or {
            words: all(),
            skip: 0,
        },
        "page" => Kind::Or {
            words: all().split_off(1),
            skip: text(0)?.parse()?,
        },
        "rangesort" => Kind::Range(number(0)?, number(1)?),
        "phrase" => Kind::Phrase(text(0)?, text(1)?),
        "wildtext" => Kind::WildcardWord(text(0)?),
        "wildkw" => Kind::WildcardTitle(text(0)?),
        "fuzzy" => Kind::Fuzzy(text(0)?, text(1)?.parse()?),
        "facet" => Kind::Facet(all()),
        "count_or" => Kind::CountOr(all()),
        "count_and" => Kind::CountAnd(all()),
        "count_range" => Kind::CountRange(number(0)?, number(1)?),
        "allsort" => Kind::All,
        "kwand" => Kind::ArtistAnd {
            artist: text(0)?,
            word: text(1)?,
        },
        other => bail!("there is no kind of query `{other}`"),
    };
    Ok(Query {
        class: (*class).to_owned(),
        kind,
    })
}

/// Draws queries from the rows of `data` and writes them to `out`.
pub(crate) fn make(data: &Path, out: &Path) -> Result<usize> {
    let drawn = Draw::new(data)?;
    let mut lines = Vec::new();
    drawn.write(&mut lines);
    let mut file = std::fs::File::create(out)?;
    for line in &lines {
        writeln!(file, "{line}")?;
    }
    Ok(lines.len())
}

/// What queries are drawn from.
struct Draw {
    rows: usize,
    ids: Vec<String>,
    routes: Vec<String>,
    prefixes: BTreeMap<String, usize>,
    genres: Vec<String>,
    artists: Vec<String>,
    years: Vec<i64>,
    bigrams: Vec<(String, String)>,
    /// Words in over 2 % of the rows, in 0.1 to 2 %, and in fewer but more than twenty.
    high: Vec<String>,
    middle: Vec<String>,
    low: Vec<String>,
    random: Random,
}

impl Draw {
    fn new(data: &Path) -> Result<Draw> {
        let mut random = Random(7);
        let mut words: BTreeMap<String, usize> = BTreeMap::new();
        let (mut genres, mut artists) = (BTreeMap::new(), BTreeMap::new());
        let (mut ids, mut routes, mut years, mut bigrams) = (vec![], vec![], vec![], vec![]);
        let mut prefixes: BTreeMap<String, usize> = BTreeMap::new();
        for row in rows::read(data)? {
            let row = row?;
            if random.one_of(50) {
                ids.extend(row.ids);
            }
            if random.one_of(100) {
                routes.push(row.route.clone());
            }
            for (at, _) in row.route.match_indices('/') {
                *prefixes.entry(row.route[..=at].to_owned()).or_default() += 1;
            }
            *genres.entry(row.genre).or_insert(0_usize) += 1;
            *artists.entry(row.artist).or_insert(0_usize) += 1;
            years.push(row.year);
            let mut of_row = match row.text.is_ascii() {
                true => rows::words(&row.text),
                false => Vec::new(),
            };
            if of_row.len() > 3 && random.one_of(50) {
                let at = random.below(of_row.len() - 1);
                bigrams.push((of_row[at].clone(), of_row[at + 1].clone()));
            }
            of_row.sort_unstable();
            of_row.dedup();
            for word in of_row {
                *words.entry(word).or_default() += 1;
            }
        }
        years.sort_unstable();
        let count = years.len();
        let share = |part: f64| (count as f64 * part) as usize;
        let of_frequency = |from: usize, to: usize| -> Vec<String> {
            let chosen = words
                .iter()
                .filter(|(word, n)| word.len() >= 3 && **n > from && **n <= to);
            chosen.map(|(word, _)| word.clone()).collect()
        };
        Ok(Draw {
            high: of_frequency(share(0.02), usize::MAX),
            middle: of_frequency(share(0.001), share(0.02)),
            low: of_frequency(20, share(0.001)),
            rows: count,
            ids,
            routes,
            prefixes,
            genres: most_common(genres, 12),
            artists: most_common(artists, 100),
            years,
            bigrams,
            random,
        })
    }

    fn write(mut self, lines: &mut Vec<String>) {
        let mut add = |class: &str, kind: &str, arguments: &[&str]| {
            lines.push([&[class, kind], arguments].concat().join("\t"));
        };
        for _ in 0..300 {
            add(
                "01 value of one row or few",
                "term",
                &["ids", self.random.of(&self.ids)],
            );
        }
        for genre in &self.genres {
            add("02 genre, order by number", "termsort", &["genre", genre]);
        }
        let prefixes = |from: f64, to: f64| -> Vec<String> {
            let (from, to) = (self.rows as f64 * from, self.rows as f64 * to);
            let chosen = self
                .prefixes
                .iter()
                .filter(|(_, n)| **n as f64 > from && **n as f64 <= to);
            chosen.map(|(prefix, _)| prefix.clone()).collect()
        };
        for prefix in prefixes(0.02, 0.6).iter().take(40) {
            add(
                "03 prefix of 2-60 %, order by number",
                "prefixsort",
                &[prefix],
            );
        }
        let small = prefixes(0.0005, 0.02);
        for _ in 0..100 {
            if !small.is_empty() {
                add(
                    "04 prefix of 0.05-2 %, order by number",
                    "prefixsort",
                    &[self.random.of(&small)],
                );
            }
        }
        for _ in 0..200 {
            let route = self.random.of(&self.routes);
            let mut end = (route.len() * 2 / 3).max(route.len().saturating_sub(30));
            while !route.is_char_boundary(end) {
                end -= 1;
            }
            add(
                "05 prefix of few, order by number",
                "prefixsort",
                &[&route[..end]],
            );
        }
        let (high, middle, low) = (&self.high, &self.middle, &self.low);
        let random = &mut self.random;
        for _ in 0..100 {
            add("06 two frequent words", "and", &random.two(high, high));
        }
        for _ in 0..200 {
            add(
                "07 a frequent and a medium word",
                "and",
                &random.two(high, middle),
            );
        }
        for _ in 0..100 {
            add(
                "08 one of two frequent words",
                "or",
                &random.two(high, high),
            );
        }
        for _ in 0..200 {
            let [a, b] = random.two(middle, middle);
            add("09 one of three rarer words", "or", &[a, b, random.of(low)]);
        }
        for _ in 0..100 {
            let [a, b] = random.two(high, high);
            let [c, d] = random.two(middle, middle);
            add("10 one of five words", "or", &[a, b, c, d, random.of(low)]);
        }
        for _ in 0..100 {
            add("11 one frequent word", "or", &[random.of(high)]);
        }
        let years = |random: &mut Random| {
            let from = random.below(self.rows * 9 / 10);
            let to = (from + self.rows / 10).min(self.rows - 1);
            (self.years[from].to_string(), self.years[to].to_string())
        };
        for _ in 0..100 {
            let (from, to) = years(random);
            add(
                "12 range of 10 %, order by number",
                "rangesort",
                &[&from, &to],
            );
        }
        random.shuffle(&mut self.bigrams);
        for (a, b) in self.bigrams.iter().take(200) {
            add("13 phrase of two words", "phrase", &[a, b]);
        }
        for _ in 0..100 {
            add(
                "14 phrase of two frequent words",
                "phrase",
                &random.two(high, high),
            );
        }
        let long: Vec<String> = middle
            .iter()
            .chain(low)
            .filter(|w| w.len() >= 6)
            .cloned()
            .collect();
        for _ in 0..50 {
            let word = random.of(&long);
            let pattern = format!("{}*{}", &word[..2], &word[word.len() - 1..]);
            add("15 wildcard, word ab*z", "wildtext", &[&pattern]);
        }
        let of_five: Vec<String> = middle.iter().filter(|w| w.len() >= 5).cloned().collect();
        for _ in 0..30 {
            let pattern = format!("*{}*", &random.of(&of_five)[..5]);
            add("16 wildcard, title *part*", "wildkw", &[&pattern]);
        }
        for _ in 0..100 {
            add("17 one edit", "fuzzy", &[random.of(&long), "1"]);
        }
        for _ in 0..50 {
            add("18 two edits", "fuzzy", &[random.of(&long), "2"]);
        }
        add("19 facet of all", "facet", &[]);
        for _ in 0..50 {
            add(
                "20 facet of one of two words",
                "facet",
                &random.two(high, high),
            );
        }
        for _ in 0..50 {
            add("21 best after 10,000", "page", &["10000", random.of(high)]);
        }
        for genre in self.genres.iter().take(6) {
            add("22 by number after 10,000", "pagesort", &["10000", genre]);
        }
        for _ in 0..100 {
            add("23 count of a word", "count_or", &[random.of(high)]);
        }
        for _ in 0..100 {
            add(
                "24 count of two words",
                "count_and",
                &random.two(high, high),
            );
        }
        for _ in 0..100 {
            add(
                "25 count of one of two",
                "count_or",
                &random.two(high, high),
            );
        }
        for _ in 0..100 {
            let (from, to) = years(random);
            add("26 count of a range", "count_range", &[&from, &to]);
        }
        add("27 all, order by number", "allsort", &[]);
        for artist in &self.artists {
            add(
                "28 artist and a word",
                "kwand",
                &[artist, random.of(middle)],
            );
        }
    }
}

fn most_common(counts: BTreeMap<String, usize>, most: usize) -> Vec<String> {
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
        .into_iter()
        .take(most)
        .map(|(name, _)| name)
        .collect()
}

/// SplitMix64, so that every machine draws the same.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed % bound.max(1) as u64) as usize
    }

    fn one_of(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn of<'a>(&mut self, words: &'a [String]) -> &'a str {
        let at = self.below(words.len());
        words.get(at).map_or("", String::as_str)
    }

    /// Two different ones, where there are two.
    fn two<'a>(&mut self, first: &'a [String], second: &'a [String]) -> [&'a str; 2] {
        let a = self.of(first);
        let mut b = self.of(second);
        for _ in 0..20 {
            if a != b {
                break;
            }
            b = self.of(second);
        }
        [a, b]
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}
