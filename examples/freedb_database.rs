//! Chapter 2, the database without a server: the same catalogue as documents, and the same three
//! questions as queries. Indexes by hand are gone: a query that needs one has it made.
//!
//! `cargo run --release --package jackdaw-examples --example freedb_database -- [ALBUMS|ARCHIVE]`
#![expect(clippy::print_stdout, reason = "an example talks on standard output")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jackdaw_database::{Database, DatabaseOptions, Importer, QueryRequest, RowBuffer};
use jackdaw_examples::{Albums, albums_of_arguments, new_directory};
use jackdaw_io::RealVfs;

const COLLECTION: &str = "Albums";
/// Documents in each durable transaction.
const BATCH: u64 = 1_000;
/// Longest time to wait for an index before a question is timed.
const WAIT: Duration = Duration::from_secs(60);

fn main() -> Result<()> {
    let directory = new_directory("database")?;
    let database = open(&directory)?;
    let sample = import(&database, albums_of_arguments()?)?;
    drop(database);

    let started = Instant::now();
    let database = open(&directory)?;
    println!("reopened in {:.1} ms", millis(started));
    ask(&database, &sample)?;
    drop(database);
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

fn open(directory: &Path) -> Result<Arc<Database>> {
    let options = DatabaseOptions::default();
    let database = Database::open(RealVfs::new(), directory, "music", &options)?;
    Ok(Arc::new(database))
}

/// What to ask for afterwards.
struct Sample {
    id: String,
    disc_id: String,
    artist: String,
    title: String,
}

/// Stores every album under its id in the archive.
fn import(database: &Arc<Database>, albums: Albums) -> Result<Sample> {
    let started = Instant::now();
    let mut importer = Importer::new(Arc::clone(database));
    let mut batch = importer.prepared();
    let (mut count, mut in_batch) = (0_u64, 0);
    let mut sample = None;
    for album in albums {
        let album = album?;
        batch.put(&album.id, COLLECTION, album.body.document())?;
        count += 1;
        in_batch += 1;
        if count.is_power_of_two() {
            // An artist whose letters have two cases shows more.
            let found = sample_of(&album.id, &album.body);
            sample = found
                .filter(|s| s.artist.is_ascii() || sample.is_none())
                .or(sample);
        }
        if in_batch == BATCH {
            // While the disk makes this batch durable, the next one is prepared.
            importer.write(batch, None)?;
            batch = importer.prepared();
            in_batch = 0;
        }
    }
    importer.write(batch, None)?;
    importer.finish()?;
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{count} albums in {seconds:.2} s ({:.0} albums/s)",
        count as f64 / seconds
    );
    sample.context("the archive has no album with disc id, artist and title")
}

fn sample_of(id: &str, album: &jackdaw_document::DocumentBuf) -> Option<Sample> {
    let text = |value: Option<jackdaw_document::Value<'_>>| Some(value?.as_str()?.to_owned());
    Some(Sample {
        id: id.to_owned(),
        disc_id: text(album.root().get("DiscIds")?.as_array()?.get(0))?,
        artist: text(album.root().get("Artist"))?,
        title: text(album.root().get("Title"))?,
    })
}

fn ask(database: &Database, sample: &Sample) -> Result<()> {
    let snapshot = database.read()?;
    let row = snapshot
        .get(&sample.id.to_uppercase())?
        .context("the album is not there")?;
    println!("by id: {} is {}", row.id(), row.body().root().to_json());
    drop(snapshot);

    let start: String = sample.title.chars().take(4).collect();
    for question in [
        format!("from Albums where DiscIds = '{}'", quoted(&sample.disc_id)),
        format!(
            "from Albums where Artist = '{}'",
            quoted(&sample.artist.to_uppercase())
        ),
        format!(
            "from Albums where startsWith(Title, '{}') order by Year select Artist, Title, Year \
             limit 3",
            quoted(&start)
        ),
    ] {
        // The first query of a kind makes its index; this one waits until that is complete.
        query(database, &question, Some(WAIT))?;
        let started = Instant::now();
        let (rows, total) = query(database, &question, None)?;
        println!("{question}\n  {total} albums in {:.3} ms", millis(started));
        let first: String = rows.chars().take(100).collect();
        println!("  first: {first}...");
    }
    Ok(())
}

/// Runs a query; gives its rows as JSON and the number of all matches.
fn query(database: &Database, text: &str, wait: Option<Duration>) -> Result<(String, u64)> {
    let request = QueryRequest {
        text,
        wait,
        ..QueryRequest::default()
    };
    let mut rows = RowBuffer::default();
    let result = database.query(&request, &mut rows)?;
    Ok((
        String::from_utf8(rows.rows)?,
        result.outcome.total_results.unwrap_or(0),
    ))
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

fn millis(at: Instant) -> f64 {
    at.elapsed().as_secs_f64() * 1e3
}
