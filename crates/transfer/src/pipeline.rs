//! The stages of an import: one thread reads, some parse, one writes, with bounded queues between
//! them, so that each works at its own pace and memory stays small.
//!
//! Called by the import commands and the demo; the write stage runs on the caller's thread.
//!
//! Invariants:
//! - A chunk becomes one transaction, written in the order of the input with a [`Marker`] of how
//!   far it reaches.
//! - Chunks go to the parse threads in turn, and the write stage takes them in the same turn, so no
//!   queue has to sort.
//! - Whatever ends the import (its end, damage, a stop, an error), all that was written stays, and
//!   every thread ends.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use jackdaw_io::SpawnError;

use crate::archive::SourceError;
use crate::chunk::{Chunk, Skipped};
use crate::counters::Counters;
use crate::marker::Marker;
use crate::parse::{DocumentBatch, EntryParser};
use crate::sink::Sink;
use crate::skip_log::SkipLog;
use crate::source::ChunkSource;
use crate::stop::Stop;

/// Chunks that wait before and behind each parse thread.
const QUEUE_CHUNKS: usize = 4;
/// What an import consists of.
pub struct Plan<'p, S: Sink> {
    /// Reads entries.
    pub source: Box<dyn ChunkSource>,
    /// One per parse thread; at least one.
    pub parsers: Vec<Box<dyn EntryParser>>,
    /// Takes documents.
    pub sink: &'p mut S,
    /// Name of the import's marker.
    pub name: &'p str,
    /// Where to go on; the default at the beginning.
    pub from: Marker,
    /// What the stages add to.
    pub counters: Arc<Counters>,
    /// Ends the import behind the batch at hand.
    pub stop: &'p Stop,
    /// Takes the skips.
    pub skips: &'p mut SkipLog,
}

/// How an import ended; everything up to [`Outcome::marker`] is stored.
#[derive(Debug)]
pub struct Outcome<E> {
    /// How far it came.
    pub marker: Marker,
    /// Why it ended.
    pub end: End<E>,
}

/// Why an import ended.
#[derive(Debug)]
pub enum End<E> {
    /// The input is read to its end.
    Finished,
    /// The user asked to stop.
    Stopped,
    /// The input cannot be read on.
    Unreadable(SourceError),
    /// The database took no more.
    NotWritten(E),
}

/// Why an import did not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The system refused a thread; nothing was written.
    #[error(transparent)]
    Thread(#[from] SpawnError),
    /// A thread of the import panicked. What its marker covers is stored.
    #[error("a {0} thread of the import panicked; please report it")]
    Panicked(&'static str),
}

/// What a parse thread made of a chunk; written as one transaction.
struct Parsed<B> {
    batch: B,
    skipped: Vec<Skipped>,
    /// Entries of the input up to the end of this chunk.
    entries: u64,
}

/// Runs an import to its end.
///
/// # Errors
/// When a thread cannot be started or panics; every other trouble is an [`End`].
pub fn run<S: Sink>(plan: Plan<'_, S>) -> Result<Outcome<S::Error>, RunError> {
    let Plan {
        source,
        parsers,
        sink,
        name,
        from,
        counters,
        stop,
        skips,
    } = plan;
    let from_entry = from.entries;
    let (empty_sender, empty_chunks) = sync_channel(parsers.len() * QUEUE_CHUNKS * 2);
    let (mut to_parse, mut parsed) = (Vec::new(), Vec::new());
    for (number, parser) in parsers.into_iter().enumerate() {
        let (chunk_sender, chunks) = sync_channel(QUEUE_CHUNKS);
        let (parsed_sender, parsed_receiver) = sync_channel(QUEUE_CHUNKS);
        let (empty, counters) = (empty_sender.clone(), Arc::clone(&counters));
        let new_batch = sink.batch_maker();
        jackdaw_io::spawn(&format!("parse-{number}"), move || {
            parse_stage(
                parser,
                new_batch,
                &chunks,
                &parsed_sender,
                &empty,
                &counters,
            );
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
        left_out: 0,
        counters: &counters,
    };
    let written = writer
        .run(&parsed, skips, stop)
        .and_then(|()| writer.sink.flush());
    writer.note_left_out(skips);
    // The threads end when nobody takes from them.
    drop(parsed);
    let read = reader.join().map_err(|_| RunError::Panicked("read"))?;
    let end = match (written, read) {
        (Err(error), _) => {
            // Some of what was given may be missing; the database knows how much.
            let stored = writer.sink.marker(name).ok().flatten().unwrap_or_default();
            return Ok(Outcome {
                marker: stored,
                end: End::NotWritten(error),
            });
        }
        (Ok(()), Err(error)) => End::Unreadable(error),
        // What was read and not written was lost on the way, unless a stop left it behind.
        (Ok(()), Ok(read))
            if read.at_end && read.entries.max(from_entry) == writer.marker.entries =>
        {
            match writer.finish() {
                Ok(()) => End::Finished,
                Err(error) => End::NotWritten(error),
            }
        }
        (Ok(()), Ok(_)) if stop.is_asked() => End::Stopped,
        (Ok(()), Ok(_)) => return Err(RunError::Panicked("parse")),
    };
    Ok(Outcome {
        marker: writer.marker.without(writer.left_out),
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

fn parse_stage<B: DocumentBatch>(
    mut parser: Box<dyn EntryParser>,
    new_batch: fn() -> B,
    chunks: &Receiver<Chunk>,
    parsed: &SyncSender<Parsed<B>>,
    empty: &SyncSender<Chunk>,
    counters: &Counters,
) {
    while let Ok(mut chunk) = chunks.recv() {
        let mut batch = new_batch();
        let mut skipped = Vec::new();
        for (name, content) in chunk.entries() {
            match parser.parse(name, content, &mut batch) {
                Ok(()) => batch.label(name),
                Err(reason) => skipped.push(Skipped {
                    name: name.to_owned(),
                    reason,
                }),
            }
        }
        let entries = chunk.entries_before + chunk.entry_count() as u64;
        chunk.drain_skipped(&mut skipped);
        counters.add_parsed(batch.document_count() as u64);
        counters.add_skipped(skipped.len() as u64);
        match empty.try_send(chunk) {
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
        if parsed
            .send(Parsed {
                batch,
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
struct Writer<'w, S: Sink> {
    sink: &'w mut S,
    name: &'w str,
    /// As if the database had left nothing out.
    marker: Marker,
    /// Documents that the database left out.
    left_out: u64,
    counters: &'w Counters,
}

impl<S: Sink> Writer<'_, S> {
    fn run(
        &mut self,
        parsed: &[Receiver<Parsed<S::Batch>>],
        skips: &mut SkipLog,
        stop: &Stop,
    ) -> Result<(), S::Error> {
        for turn in (0..parsed.len()).cycle() {
            let Ok(next) = parsed[turn].recv() else { break };
            let count = next.batch.document_count() as u64;
            let marker = Marker {
                entries: next.entries,
                documents: self.marker.documents + count,
                skipped: self.marker.skipped + next.skipped.len() as u64,
                lost: self.marker.lost
                    + next
                        .skipped
                        .iter()
                        .filter(|skip| skip.reason.is_loss())
                        .count() as u64,
                finished: false,
            };
            self.sink.write(next.batch, self.name, &marker)?;
            self.marker = marker;
            self.counters.add_written(count);
            next.skipped.into_iter().for_each(|skip| skips.add(skip));
            self.note_left_out(skips);
            if stop.is_asked() {
                break;
            }
        }
        Ok(())
    }

    fn note_left_out(&mut self, skips: &mut SkipLog) {
        let left_out = self.sink.take_left_out();
        let count = left_out.len() as u64;
        self.left_out += count;
        self.counters.take_back_written(count);
        left_out.into_iter().for_each(|one| skips.add(one));
    }

    /// Records that nothing is left.
    fn finish(&mut self) -> Result<(), S::Error> {
        self.marker.finished = true;
        let nothing = (self.sink.batch_maker())();
        self.sink.write(nothing, self.name, &self.marker)?;
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests;
