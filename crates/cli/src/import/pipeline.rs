//! The stages of an import: one thread reads, some parse, one writes, with bounded queues between
//! them, so that each works at its own pace and memory stays small.
//!
//! Called by the import commands and the demo; the write stage runs on the caller's thread.
//!
//! Invariants:
//! - Batches are written in the order of the input, each with a [`Marker`] of how far it reaches.
//! - Chunks go to the parse threads in turn, and the write stage takes them in the same turn, so no
//!   queue has to sort.
//! - Whatever ends the import (its end, damage, a stop, an error), all that was written stays, and
//!   every thread ends.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use anyhow::{Context, bail};

use super::archive::SourceError;
use super::chunk::{Chunk, Skipped};
use super::counters::Counters;
use super::marker::Marker;
use super::parse::{EntryParser, NewDocument};
use super::sink::Sink;
use super::skip_log::SkipLog;
use super::source::ChunkSource;
use super::stop::Stop;

/// Chunks that wait before and behind each parse thread.
const QUEUE_CHUNKS: usize = 4;
/// Documents in a batch, for [`Plan::batch_documents`]. Larger batches gain nothing and make a stop
/// wait.
pub const BATCH_DOCUMENTS: usize = 4_000;
/// A batch is also written when it holds this many bytes.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// What an import consists of.
pub struct Plan<'p> {
    /// Reads entries.
    pub source: Box<dyn ChunkSource>,
    /// One per parse thread; at least one.
    pub parsers: Vec<Box<dyn EntryParser>>,
    /// Takes documents.
    pub sink: &'p mut dyn Sink,
    /// Name of the import's marker.
    pub name: &'p str,
    /// Where to go on; the default at the beginning.
    pub from: Marker,
    /// What the stages add to.
    pub counters: Arc<Counters>,
    /// Ends the import behind the batch at hand.
    pub stop: &'p Stop,
    /// Documents in a transaction.
    pub batch_documents: usize,
    /// Takes the skips.
    pub skips: &'p mut SkipLog,
}

/// How an import ended; everything up to [`Outcome::marker`] is stored.
#[derive(Debug)]
pub struct Outcome {
    /// How far it came.
    pub marker: Marker,
    /// Why it ended.
    pub end: End,
}

/// Why an import ended.
#[derive(Debug)]
pub enum End {
    /// The input is read to its end.
    Finished,
    /// The user asked to stop.
    Stopped,
    /// The input cannot be read on.
    Unreadable(SourceError),
    /// The database took no more.
    NotWritten(anyhow::Error),
}

/// What a parse thread made of a chunk.
struct Parsed {
    documents: Vec<NewDocument>,
    skipped: Vec<Skipped>,
    /// Entries of the input up to the end of this chunk.
    entries: u64,
}

/// Runs an import to its end.
///
/// # Errors
/// Only when a thread cannot be started; every later trouble is an [`End`].
pub fn run(plan: Plan<'_>) -> anyhow::Result<Outcome> {
    let Plan {
        source,
        parsers,
        sink,
        name,
        from,
        counters,
        stop,
        batch_documents,
        skips,
    } = plan;
    let from_entry = from.entries;
    let (empty_sender, empty_chunks) = sync_channel(parsers.len() * QUEUE_CHUNKS * 2);
    let (mut to_parse, mut parsed) = (Vec::new(), Vec::new());
    for (number, parser) in parsers.into_iter().enumerate() {
        let (chunk_sender, chunks) = sync_channel(QUEUE_CHUNKS);
        let (parsed_sender, parsed_receiver) = sync_channel(QUEUE_CHUNKS);
        let (empty, counters) = (empty_sender.clone(), Arc::clone(&counters));
        jackdaw_io::spawn(&format!("parse-{number}"), move || {
            parse_stage(parser, &chunks, &parsed_sender, &empty, &counters);
        })?;
        to_parse.push(chunk_sender);
        parsed.push(parsed_receiver);
    }
    let reader = ReadStage {
        source,
        empty_chunks,
        to_parse,
        counters: Arc::clone(&counters),
        stop: stop.clone(),
        from_entry,
    };
    let reader = jackdaw_io::spawn("read", move || reader.run())?;
    let mut writer = Writer {
        sink,
        name,
        marker: from,
        counters: &counters,
        batch_documents,
        batch: Vec::new(),
        batch_bytes: 0,
        entries: from_entry,
    };
    let written = writer.run(&parsed, skips, stop);
    // The threads end when nobody takes from them.
    drop(parsed);
    let read = reader
        .join()
        .ok()
        .context("a thread of the import panicked; please report it")?;
    let end = match (written, read) {
        (Err(error), _) => End::NotWritten(error),
        (Ok(()), Err(error)) => End::Unreadable(error),
        // What was read and not written was lost on the way, unless a stop left it behind.
        (Ok(()), Ok(read)) if read.at_end && read.entries.max(from_entry) == writer.entries => {
            match writer.finish() {
                Ok(()) => End::Finished,
                Err(error) => End::NotWritten(error),
            }
        }
        (Ok(()), Ok(_)) if stop.is_asked() => End::Stopped,
        (Ok(()), Ok(_)) => bail!("a parse thread of the import panicked; please report it"),
    };
    Ok(Outcome {
        marker: writer.marker,
        end,
    })
}

/// Reads entries into chunks.
struct ReadStage {
    source: Box<dyn ChunkSource>,
    empty_chunks: Receiver<Chunk>,
    to_parse: Vec<SyncSender<Chunk>>,
    counters: Arc<Counters>,
    stop: Stop,
    /// Entries before this one are imported already.
    from_entry: u64,
}

/// Where the read stage ended.
struct Read {
    entries: u64,
    at_end: bool,
}

impl ReadStage {
    fn run(mut self) -> Result<Read, SourceError> {
        let (mut turn, mut entries) = (0, 0);
        while !self.stop.is_asked() {
            let mut chunk = self.empty_chunks.try_recv().unwrap_or_default();
            chunk.clear();
            chunk.entries_before = entries;
            let filled = self.source.fill(&mut chunk);
            let count = chunk.entry_count() as u64;
            entries += count;
            self.counters.add_read(count);
            if count > 0 && entries > self.from_entry {
                if self.to_parse[turn].send(chunk).is_err() {
                    break;
                }
                turn = (turn + 1) % self.to_parse.len();
            }
            if !filled? {
                return Ok(Read {
                    entries,
                    at_end: true,
                });
            }
        }
        Ok(Read {
            entries,
            at_end: false,
        })
    }
}

fn parse_stage(
    mut parser: Box<dyn EntryParser>,
    chunks: &Receiver<Chunk>,
    parsed: &SyncSender<Parsed>,
    empty: &SyncSender<Chunk>,
    counters: &Counters,
) {
    while let Ok(mut chunk) = chunks.recv() {
        let mut documents = Vec::with_capacity(chunk.entry_count());
        let mut skipped = Vec::new();
        for (name, content) in chunk.entries() {
            match parser.parse(name, content) {
                Ok(document) => documents.push(document),
                Err(reason) => skipped.push(Skipped {
                    name: name.to_owned(),
                    reason,
                }),
            }
        }
        let entries = chunk.entries_before + chunk.entry_count() as u64;
        chunk.drain_skipped(&mut skipped);
        counters.add_parsed(documents.len() as u64);
        counters.add_skipped(skipped.len() as u64);
        match empty.try_send(chunk) {
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
        if parsed
            .send(Parsed {
                documents,
                skipped,
                entries,
            })
            .is_err()
        {
            return;
        }
    }
}

/// The write stage.
struct Writer<'w> {
    sink: &'w mut dyn Sink,
    name: &'w str,
    marker: Marker,
    counters: &'w Counters,
    batch_documents: usize,
    batch: Vec<NewDocument>,
    batch_bytes: usize,
    /// Entries up to the end of the batch.
    entries: u64,
}

impl Writer<'_> {
    fn run(
        &mut self,
        parsed: &[Receiver<Parsed>],
        skips: &mut SkipLog,
        stop: &Stop,
    ) -> anyhow::Result<()> {
        let mut skipped = 0;
        for turn in (0..parsed.len()).cycle() {
            let Ok(next) = parsed[turn].recv() else { break };
            skipped += next.skipped.len() as u64;
            next.skipped.into_iter().for_each(|skip| skips.add(skip));
            self.batch_bytes += next
                .documents
                .iter()
                .map(|document| document.body.as_bytes().len())
                .sum::<usize>();
            self.batch.extend(next.documents);
            self.entries = next.entries;
            if self.batch.len() >= self.batch_documents || self.batch_bytes >= BATCH_BYTES {
                self.marker.skipped += std::mem::take(&mut skipped);
                self.write()?;
                if stop.is_asked() {
                    return Ok(());
                }
            }
        }
        self.marker.skipped += skipped;
        if self.entries > self.marker.entries {
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> anyhow::Result<()> {
        let documents = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        let count = documents.len() as u64;
        let marker = Marker {
            entries: self.entries,
            documents: self.marker.documents + count,
            ..self.marker.clone()
        };
        self.sink.write(documents, self.name, &marker)?;
        self.marker = marker;
        self.counters.add_written(count);
        Ok(())
    }

    /// Records that nothing is left.
    fn finish(&mut self) -> anyhow::Result<()> {
        self.marker.finished = true;
        self.sink.write(Vec::new(), self.name, &self.marker)
    }
}

#[cfg(test)]
mod tests;
