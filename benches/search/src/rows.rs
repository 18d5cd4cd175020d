//! The rows that are indexed: lines of tab-separated values.
//!
//! Columns: id, route (unique, hierarchical with `/`), ids (separated by commas), artist, title
//! (both in lower case), year, num, genre, text. `examples/search_rows.rs` writes invented albums.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// One row: `text` is words, the other texts are whole values.
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) route: String,
    pub(crate) ids: Vec<String>,
    pub(crate) artist: String,
    pub(crate) title: String,
    pub(crate) year: i64,
    pub(crate) num: i64,
    pub(crate) genre: String,
    pub(crate) text: String,
}

/// The rows of a file, in its order.
pub(crate) fn read(path: &Path) -> Result<impl Iterator<Item = Result<Row>>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let lines = BufReader::with_capacity(1 << 20, file).lines();
    Ok(lines.map(|line| parse(&line?)))
}

fn parse(line: &str) -> Result<Row> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [id, route, ids, artist, title, year, num, genre, text] = columns[..] else {
        bail!("a row has nine columns, this one {}: {line}", columns.len());
    };
    Ok(Row {
        id: id.to_owned(),
        route: route.to_owned(),
        ids: ids.split(',').map(str::to_owned).collect(),
        artist: artist.to_owned(),
        title: title.to_owned(),
        year: year.parse().context("year")?,
        num: num.parse().context("num")?,
        genre: genre.to_owned(),
        text: text.to_owned(),
    })
}

/// The words of a text that queries are made of: runs of letters of English.
pub(crate) fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let is_letter = |c: char| c.is_ascii_lowercase();
    let words = text
        .split(|c| !is_letter(c))
        .filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}
