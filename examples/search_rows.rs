//! Writes albums as lines of tab-separated values, for `cargo xtask bench search`.
//!
//! `cargo run --release --package jackdaw-examples --example search_rows -- ALBUMS|ARCHIVE > FILE`

use std::io::{BufWriter, Write};

use anyhow::Result;
use jackdaw_examples::albums_of_arguments;

fn main() -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    for (number, album) in albums_of_arguments()?.enumerate() {
        let album = album?;
        let root = album.body.root();
        let text = |name: &str| {
            plain(
                root.get(name)
                    .and_then(|value| value.as_str())
                    .unwrap_or("-"),
            )
        };
        let list = |name: &str| -> Vec<String> {
            let values = root.get(name).and_then(|value| value.as_array());
            let texts = values.into_iter().flat_map(|values| values.iter());
            texts
                .filter_map(|value| value.as_str().map(plain))
                .collect()
        };
        let (artist, title, genre) = (text("Artist"), text("Title"), text("Genre"));
        let year = root.get("Year").and_then(|year| year.as_i64()).unwrap_or(0);
        let route = format!("{}/{}/{}/{number}", genre, first_letter(&artist), artist);
        // Spreads over the numbers, so that order by it is unlike the order of rows.
        let num = (number as u64).wrapping_mul(0x9e37_79b9) % 1_000_003;
        let words = format!("{title} {} {artist}", list("Tracks").join(" "));
        writeln!(
            out,
            "{}\t{}\t{}\t{}\t{}\t{year}\t{num}\t{genre}\t{words}",
            album.id,
            route.to_lowercase(),
            match list("DiscIds") {
                ids if ids.is_empty() => "-".to_owned(),
                ids => ids.join(","),
            },
            artist.to_lowercase(),
            title.to_lowercase(),
        )?;
    }
    Ok(out.flush()?)
}

fn first_letter(text: &str) -> String {
    text.chars().take(1).collect()
}

/// A text without what separates columns and values.
fn plain(text: &str) -> String {
    text.replace(['\t', '\n', '\r', ','], " ")
}
