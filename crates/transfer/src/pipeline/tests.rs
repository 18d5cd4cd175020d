//! What is proven: whatever ends an import, the database holds exactly the entries up to its
//! marker, and going on from there gives the same as one uninterrupted run.

use std::collections::BTreeMap;
use std::io::Cursor;

use super::*;
use crate::albums::AlbumParser;
use crate::parse::ListBatch;
use crate::skip::SkipReason;
use crate::source::{Input, Total};
use crate::testing::album_archive;

/// Enough for three chunks.
const ALBUMS: u64 = 4_000;

/// A database in memory that can fail, or ask for a stop, at a given write.
#[derive(Default)]
struct Memory {
    documents: BTreeMap<String, String>,
    markers: BTreeMap<String, Marker>,
    write_count: usize,
    fail_at: Option<usize>,
    stop_at: Option<(usize, Stop)>,
}

/// The error of a database that fails.
#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
struct Full;

impl Sink for Memory {
    type Error = Full;
    type Batch = ListBatch;

    fn batch_maker(&self) -> fn() -> ListBatch {
        ListBatch::default
    }

    fn marker(&mut self, name: &str) -> Result<Option<Marker>, Full> {
        Ok(self.markers.get(name).cloned())
    }

    fn write(&mut self, batch: ListBatch, name: &str, marker: &Marker) -> Result<(), Full> {
        if self.fail_at == Some(self.write_count) {
            return Err(Full);
        }
        if let Some((_, stop)) = self
            .stop_at
            .as_ref()
            .filter(|(at, _)| *at == self.write_count)
        {
            stop.ask();
        }
        self.write_count += 1;
        self.documents.extend(batch.0);
        self.markers.insert(name.to_owned(), marker.clone());
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Full> {
        Ok(())
    }
}

fn import(bytes: Vec<u8>, sink: &mut Memory, stop: &Stop) -> (Outcome<Full>, SkipLog) {
    let reader = Box::new(Cursor::new(bytes));
    let input = Input::from_reader("demo", 1, Total::Unknown, reader);
    let counters = Counters::new(Arc::clone(&input.position), input.total);
    let source = Box::new(input.into_entries(2).unwrap());
    let parser = || Box::new(AlbumParser::new("Albums")) as Box<dyn EntryParser>;
    let from = sink.marker("demo").unwrap().unwrap_or_default();
    let mut skips = SkipLog::default();
    let outcome = run(Plan {
        source,
        parsers: vec![parser(), parser(), parser()],
        sink,
        name: "demo",
        from,
        counters: Arc::clone(&counters),
        stop,
        skips: &mut skips,
    })
    .unwrap();
    let counts = counters.counts();
    assert!(
        counts.read >= counts.parsed && counts.parsed >= counts.written,
        "{counts:?}"
    );
    (outcome, skips)
}

fn archive() -> Vec<u8> {
    album_archive(ALBUMS)
}

fn whole(bytes: Vec<u8>) -> Memory {
    let mut sink = Memory::default();
    let (outcome, skips) = import(bytes, &mut sink, &Stop::default());
    assert!(matches!(outcome.end, End::Finished), "{outcome:?}");
    let expected = Marker {
        entries: ALBUMS + 1,
        documents: ALBUMS,
        skipped: 1,
        lost: 0,
        finished: true,
    };
    assert_eq!(outcome.marker, expected);
    assert_eq!(skips.by_kind().get("not an album"), Some(&1));
    sink
}

#[test]
fn an_import_that_was_stopped_or_failed_goes_on_where_it_ended() {
    let bytes = archive();
    let whole = whole(bytes.clone());
    assert_eq!(whole.documents.len() as u64, ALBUMS);
    for at in 0..3 {
        let stop = Stop::default();
        let mut sink = Memory {
            stop_at: Some((at, stop.clone())),
            ..Memory::default()
        };
        let (outcome, _) = import(bytes.clone(), &mut sink, &stop);
        assert_eq!(outcome.marker.documents, sink.documents.len() as u64);
        assert_eq!(sink.markers["demo"].documents, sink.documents.len() as u64);
        sink.stop_at = None;
        let (outcome, _) = import(bytes.clone(), &mut sink, &Stop::default());
        assert!(
            matches!(outcome.end, End::Finished),
            "stopped at {at}: {outcome:?}"
        );
        assert_eq!(outcome.marker, whole.markers["demo"], "stopped at {at}");
        assert_eq!(sink.documents, whole.documents, "stopped at {at}");

        let mut sink = Memory {
            fail_at: Some(at),
            ..Memory::default()
        };
        let (outcome, _) = import(bytes.clone(), &mut sink, &Stop::default());
        assert!(
            matches!(outcome.end, End::NotWritten(_)),
            "failed at {at}: {outcome:?}"
        );
        assert_eq!(outcome.marker.documents, sink.documents.len() as u64);
        sink.fail_at = None;
        let (outcome, _) = import(bytes.clone(), &mut sink, &Stop::default());
        assert_eq!(outcome.marker, whole.markers["demo"], "failed at {at}");
        assert_eq!(sink.documents, whole.documents, "failed at {at}");
    }
}

#[test]
fn a_truncated_archive_keeps_what_came_before() {
    let bytes = archive();
    let mut sink = Memory::default();
    let cut = bytes.len() / 3 + 100;
    let (outcome, _) = import(bytes[..cut].to_vec(), &mut sink, &Stop::default());
    let End::Unreadable(error) = outcome.end else {
        panic!("{outcome:?}")
    };
    assert!(error.to_string().contains("ends too early"), "{error}");
    assert!(!outcome.marker.finished);
    assert_eq!(outcome.marker.documents, sink.documents.len() as u64);
    assert!(
        outcome.marker.documents > ALBUMS / 4,
        "{:?}",
        outcome.marker
    );
}

#[test]
fn a_stop_before_the_first_entry_imports_nothing() {
    let stop = Stop::default();
    stop.ask();
    let mut sink = Memory::default();
    let (outcome, _) = import(archive(), &mut sink, &stop);
    assert!(matches!(outcome.end, End::Stopped), "{outcome:?}");
    assert_eq!(outcome.marker, Marker::default());
    assert!(sink.documents.is_empty() && sink.markers.is_empty());
}

/// Panics at its first entry, as a bug would.
struct Broken;

impl EntryParser for Broken {
    fn parse(&mut self, _: &str, _: &[u8], _: &mut dyn DocumentBatch) -> Result<(), SkipReason> {
        panic!("a test wants this");
    }
}

#[test]
fn a_parser_that_panics_is_an_error_and_never_a_finished_import() {
    let input = Input::from_reader(
        "demo",
        1,
        Total::Unknown,
        Box::new(Cursor::new(album_archive(10))),
    );
    let counters = Counters::new(Arc::clone(&input.position), input.total);
    let mut sink = Memory::default();
    let result = run(Plan {
        source: Box::new(input.into_entries(1).unwrap()),
        parsers: vec![Box::new(Broken)],
        sink: &mut sink,
        name: "demo",
        from: Marker::default(),
        counters,
        stop: &Stop::default(),
        skips: &mut SkipLog::default(),
    });
    assert!(result.unwrap_err().to_string().contains("panicked"));
    assert!(sink.markers.is_empty());
}
