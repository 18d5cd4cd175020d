//! The work: index everything at once and in small commits, change a part, and ask.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::engine::Engine;
use crate::measure::{Started, print_queries};
use crate::queries::{Kind, Query};
use crate::rows::{self, Row};

/// Rows handed over at once when no commit is asked for.
const CHUNK: usize = 1_000;
/// Commits of one row each.
const SINGLE_COMMITS: usize = 2_000;
/// How long each class of queries is warmed up, and measured.
const WARM_UP: Duration = Duration::from_millis(300);
const MEASURED: Duration = Duration::from_millis(700);

/// All of it, in directories of their own below `directory`.
pub(crate) fn run<E: Engine>(data: &Path, queries: &[Query], directory: &Path) -> Result<()> {
    commits::<E>(
        data,
        &directory.join("commits"),
        1_000,
        usize::MAX,
        "commit every 1,000",
    )?;
    commits::<E>(
        data,
        &directory.join("single"),
        1,
        SINGLE_COMMITS,
        "commit every row",
    )?;
    let directory = directory.join("whole");
    let mut engine = whole::<E>(data, &directory)?;
    ask(&engine, queries, "fresh")?;
    update(&mut engine, data, &directory)?;
    ask(&engine, queries, "updated")
}

/// Queries alone, of all rows in one commit.
pub(crate) fn ask_only<E: Engine>(data: &Path, queries: &[Query], directory: &Path) -> Result<()> {
    let engine = whole::<E>(data, directory)?;
    ask(&engine, queries, "fresh")
}

/// Every row, one commit at the end.
fn whole<E: Engine>(data: &Path, directory: &Path) -> Result<E> {
    let mut engine = E::create(directory)?;
    let started = Started::now(directory);
    let mut count = 0;
    each_chunk(data, CHUNK, usize::MAX, |chunk| {
        count += chunk.len() as u64;
        engine.add(chunk, false)
    })?;
    engine.commit()?;
    engine.settle()?;
    started.print(E::NAME, "one commit", count, directory, &[]);
    Ok(engine)
}

/// A commit every so many rows; each is over when a query finds its last row.
fn commits<E: Engine>(
    data: &Path,
    directory: &Path,
    every: usize,
    most: usize,
    work: &str,
) -> Result<()> {
    let mut engine = E::create(directory)?;
    let started = Started::now(directory);
    let mut count = 0;
    let mut times = Vec::new();
    each_chunk(data, every, most, |chunk| {
        count += chunk.len() as u64;
        engine.add(chunk, false)?;
        times.push(commit_visible(&mut engine, chunk)?);
        Ok(())
    })?;
    engine.settle()?;
    started.print(E::NAME, work, count, directory, &times);
    drop(engine);
    Ok(std::fs::remove_dir_all(directory)?)
}

/// Every fifth row again with another number, a commit every 1,000.
fn update<E: Engine>(engine: &mut E, data: &Path, directory: &Path) -> Result<()> {
    let mut changed = Vec::new();
    for (position, row) in rows::read(data)?.enumerate() {
        let mut row = row?;
        if position.is_multiple_of(5) {
            row.num += 1;
            row.text.push_str(" again");
            changed.push(row);
        }
    }
    let started = Started::now(directory);
    let mut times = Vec::new();
    for chunk in changed.chunks(CHUNK) {
        engine.add(chunk, true)?;
        times.push(commit_visible(engine, chunk)?);
    }
    engine.settle()?;
    started.print(
        E::NAME,
        "update 20 %",
        changed.len() as u64,
        directory,
        &times,
    );
    Ok(())
}

/// Time until what was added is durable and found.
fn commit_visible<E: Engine>(engine: &mut E, chunk: &[Row]) -> Result<Duration> {
    let started = Instant::now();
    engine.commit()?;
    let last = chunk
        .last()
        .and_then(|row| row.ids.first())
        .cloned()
        .unwrap_or_default();
    let query = Query {
        class: String::new(),
        kind: Kind::Term(last),
    };
    let found = engine.ask(&query)?;
    anyhow::ensure!(
        found.rows > 0,
        "{} does not find what it committed",
        E::NAME
    );
    Ok(started.elapsed())
}

fn each_chunk(
    data: &Path,
    rows_each: usize,
    chunks_max: usize,
    mut take: impl FnMut(&[Row]) -> Result<()>,
) -> Result<()> {
    let mut chunk = Vec::with_capacity(rows_each);
    let mut chunks = 0;
    for row in rows::read(data)? {
        chunk.push(row?);
        if chunk.len() == rows_each {
            take(&chunk)?;
            chunk.clear();
            chunks += 1;
            if chunks == chunks_max {
                return Ok(());
            }
        }
    }
    match chunk.is_empty() {
        true => Ok(()),
        false => take(&chunk),
    }
}

/// Asks each class of queries in turn, warm, one at a time.
fn ask<E: Engine>(engine: &E, queries: &[Query], state: &str) -> Result<()> {
    for class in queries.chunk_by(|a, b| a.class == b.class) {
        let mut rows = 0;
        for query in class {
            rows += engine.ask(query)?.rows;
        }
        repeat(engine, class, WARM_UP)?;
        let times = repeat(engine, class, MEASURED)?;
        let name = (class[0].class.as_str(), class.len());
        print_queries(E::NAME, name, state, &times, rows);
    }
    Ok(())
}

fn repeat<E: Engine>(engine: &E, queries: &[Query], time: Duration) -> Result<Vec<Duration>> {
    let started = Instant::now();
    let mut times = Vec::new();
    for query in queries.iter().cycle() {
        let before = Instant::now();
        engine.ask(query)?;
        times.push(before.elapsed());
        if started.elapsed() >= time {
            break;
        }
    }
    Ok(times)
}
