//! Chapter 1, the storage engine alone: a CD catalogue in four trees, written in batches, reopened,
//! and asked by disc id, artist and title.
//!
//! `cargo run --release --package jackdaw-examples --example freedb_storage -- [ALBUMS|ARCHIVE]`
//!
//! `albums` holds the records, by number. `ix_diskids`, `ix_artists` and `ix_titles` are indexes by
//! hand: trees of duplicate keys that give the numbers of albums, lower-cased so that a look-up
//! does not depend on case, and ordered so that a prefix is a range.
#![expect(clippy::print_stdout, reason = "an example talks on standard output")]

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jackdaw_document::DocumentBuf;
use jackdaw_examples::{Albums, albums_of_arguments, new_directory};
use jackdaw_io::RealVfs;
use jackdaw_storage::{Environment, Options, ReadTransaction, WriteTransaction};

const ALBUMS: &str = "albums";
const BY_DISC_ID: &str = "ix_diskids";
const BY_ARTIST: &str = "ix_artists";
const BY_TITLE: &str = "ix_titles";

const BATCHES: &[usize] = &[100, 1_000];
/// Keys of a tree have a longest length; what stands behind it does not tell titles apart.
const KEY_BYTES_MAX: usize = 512;

fn main() -> Result<()> {
    for batch in BATCHES {
        let directory = new_directory(&format!("storage-{batch}"))?;
        let written = import(&directory, albums_of_arguments()?, *batch)?;
        ask(&directory, &written)?;
        std::fs::remove_dir_all(&directory)?;
    }
    Ok(())
}

/// What to look for afterwards: values of some album in the middle.
struct Written {
    disc_id: String,
    artist: String,
    title: String,
}

/// Writes every album and its index entries, `batch` albums in each durable transaction.
fn import(directory: &Path, albums: Albums, batch: usize) -> Result<Written> {
    let environment = Environment::open(RealVfs::new(), directory, Options::default())?;
    let (mut count, mut entries) = (0_u64, 0_u64);
    let mut sample = None;
    let mut commit_time = Duration::ZERO;
    let started = Instant::now();
    let mut transaction = environment.begin_write()?;
    for album in albums {
        let album = album?.body;
        count += 1;
        entries += put(&mut transaction, count, &album)?;
        if count.is_power_of_two() {
            // An artist whose letters have two cases shows more.
            let found = sample_of(&album).filter(|w| w.artist.is_ascii() || sample.is_none());
            sample = found.or(sample);
        }
        if count.is_multiple_of(batch as u64) {
            let at = Instant::now();
            transaction.commit()?;
            commit_time += at.elapsed();
            transaction = environment.begin_write()?;
        }
    }
    transaction.commit()?;
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "batches of {batch}: {count} albums, {entries} entries in {seconds:.2} s ({:.0} albums/s), \
         of which {:.2} s were spent waiting for {} commits",
        count as f64 / seconds,
        commit_time.as_secs_f64(),
        count.div_ceil(batch as u64),
    );
    sample.context("the archive has no album with disc id, artist and title")
}

/// Writes one album; gives the number of entries.
fn put(transaction: &mut WriteTransaction, number: u64, album: &DocumentBuf) -> Result<u64> {
    let number = number.to_be_bytes();
    let json = album.root().to_json();
    transaction
        .tree_mut(ALBUMS)?
        .put(&number, json.as_bytes())?;
    let mut entries = 1;
    for disc_id in disc_ids(album) {
        transaction
            .multi_tree_mut(BY_DISC_ID)?
            .add(disc_id.as_bytes(), &number)?;
        entries += 1;
    }
    for (tree, field) in [(BY_ARTIST, "Artist"), (BY_TITLE, "Title")] {
        if let Some(text) = text(album, field) {
            transaction
                .multi_tree_mut(tree)?
                .add(&folded(text), &number)?;
            entries += 1;
        }
    }
    Ok(entries)
}

fn text<'a>(album: &'a DocumentBuf, field: &str) -> Option<&'a str> {
    album.root().get(field)?.as_str()
}

fn disc_ids(album: &DocumentBuf) -> impl Iterator<Item = &str> {
    let ids = album
        .root()
        .get("DiscIds")
        .and_then(|value| value.as_array());
    ids.into_iter()
        .flat_map(|ids| ids.iter())
        .filter_map(|id| id.as_str())
}

fn sample_of(album: &DocumentBuf) -> Option<Written> {
    Some(Written {
        disc_id: disc_ids(album).next()?.to_owned(),
        artist: text(album, "Artist")?.to_owned(),
        title: text(album, "Title")?.to_owned(),
    })
}

/// The key of a text: lower-cased, and cut between two characters when it is too long.
fn folded(text: &str) -> Vec<u8> {
    let lower = text.to_lowercase();
    lower.as_bytes()[..lower.floor_char_boundary(KEY_BYTES_MAX)].to_vec()
}

/// Opens the catalogue again and asks it three questions.
fn ask(directory: &Path, written: &Written) -> Result<()> {
    let at = Instant::now();
    let environment = Environment::open(RealVfs::new(), directory, Options::default())?;
    println!("  reopened in {:.1} ms", millis(at));
    let snapshot = environment.read()?;

    let at = Instant::now();
    let found = numbers(&snapshot, BY_DISC_ID, written.disc_id.as_bytes())?;
    show("disc id", &written.disc_id, &found, &snapshot, at)?;

    let at = Instant::now();
    let loud = written.artist.to_uppercase();
    let found = numbers(&snapshot, BY_ARTIST, &folded(&loud))?;
    show("artist", &loud, &found, &snapshot, at)?;

    let at = Instant::now();
    let start: String = written.title.chars().take(4).collect();
    let titles = snapshot
        .multi_tree(BY_TITLE)?
        .context("no album has a title")?;
    let mut found = Vec::new();
    for entry in titles.prefix(&folded(&start))? {
        let (_, values) = entry?;
        for value in values {
            found.push(number_of(&value?.to_vec())?);
        }
    }
    show("title prefix", &start, &found, &snapshot, at)
}

fn numbers(snapshot: &ReadTransaction, tree: &str, key: &[u8]) -> Result<Vec<u64>> {
    let index = snapshot
        .multi_tree(tree)?
        .with_context(|| format!("no tree {tree}"))?;
    index
        .values(key)?
        .map(|value| number_of(&value?.to_vec()))
        .collect()
}

fn number_of(value: &[u8]) -> Result<u64> {
    Ok(u64::from_be_bytes(
        value
            .try_into()
            .context("a number of an album has 8 bytes")?,
    ))
}

fn show(
    what: &str,
    text: &str,
    found: &[u64],
    snapshot: &ReadTransaction,
    at: Instant,
) -> Result<()> {
    println!(
        "  {what} `{text}`: {} albums in {:.3} ms",
        found.len(),
        millis(at)
    );
    let albums = snapshot.tree(ALBUMS)?.context("there are no albums")?;
    if let Some(number) = found.first() {
        let json = albums
            .get(&number.to_be_bytes())?
            .context("an index leads to no album")?;
        let start: String = String::from_utf8_lossy(json).chars().take(80).collect();
        println!("    first: {start}...");
    }
    Ok(())
}

fn millis(at: Instant) -> f64 {
    at.elapsed().as_secs_f64() * 1e3
}
