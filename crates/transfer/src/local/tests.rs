//! What is proven: on a disk that fills up or loses power in the middle of an import, the database
//! opens again, its marker says what is in it, and going on gives what one clean run gives.

use std::path::Path;

use jackdaw_database::{DatabaseOptions, DatabaseSet, PrefixQuery};
use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, SimVfs};
use jackdaw_storage::Options;

use super::*;
use crate::albums::AlbumParser;
use crate::counters::Counters;
use crate::json::JsonParser;
use crate::parse::EntryParser;
use crate::pipeline::{End, Outcome, Plan, run};
use crate::skip_log::SkipLog;
use crate::source::{Input, Total};
use crate::stop::Stop;
use crate::testing::album_archive;

/// Three chunks.
const ALBUMS: u64 = 3_600;

fn open(vfs: &Arc<SimVfs>) -> (DatabaseSet, Arc<Database>) {
    let options = DatabaseOptions {
        documents: Options::small(),
        ..DatabaseOptions::default()
    };
    let vfs: Arc<dyn Vfs> = vfs.clone();
    let set = DatabaseSet::open(vfs, Path::new("/data"), options).unwrap();
    let database = match set.get("music").unwrap() {
        Some(database) => database,
        None => set.create("music", "{}").unwrap(),
    };
    (set, database)
}

fn import(database: &Arc<Database>) -> Outcome<LocalError> {
    let reader = Box::new(std::io::Cursor::new(album_archive(ALBUMS)));
    let input = Input::from_reader("demo", 1, Total::Unknown, reader);
    let mut sink = LocalSink::new(Arc::clone(database));
    let from = sink.marker("demo").unwrap().unwrap_or_default();
    run(Plan {
        counters: Counters::new(Arc::clone(&input.position), input.total),
        source: Box::new(input.into_entries(1).unwrap()),
        parsers: vec![Box::new(AlbumParser::new("Albums"))],
        sink: &mut sink,
        name: "demo",
        from,
        stop: &Stop::default(),
        skips: &mut SkipLog::default(),
    })
    .unwrap()
}

/// Ids and bodies of everything.
fn content(database: &Database) -> Vec<String> {
    let snapshot = database.read().unwrap();
    let rows = snapshot.by_prefix(&PrefixQuery::default()).unwrap();
    rows.map(|row| {
        let row = row.unwrap();
        format!("{} {}", row.id(), row.body().root().to_json())
    })
    .collect()
}

fn clean_run() -> (Vec<String>, Marker, u64) {
    let vfs = SimVfs::new(1);
    let (_set, database) = open(&vfs);
    let outcome = import(&database);
    assert!(matches!(outcome.end, End::Finished), "{outcome:?}");
    (content(&database), outcome.marker, vfs.used_bytes())
}

#[test]
fn a_full_disk_ends_the_import_with_a_sentence_and_room_lets_it_go_on() {
    let (expected, marker, used_bytes) = clean_run();
    let vfs = SimVfs::new(2);
    let (set, database) = open(&vfs);
    vfs.set_capacity_bytes(used_bytes / 3);
    let outcome = import(&database);
    let End::NotWritten(error) = outcome.end else {
        panic!("{outcome:?}")
    };
    let sentence = error.to_string();
    assert!(
        sentence.contains("space") || sentence.contains("full"),
        "{sentence}"
    );
    assert_eq!(
        content(&database).len() as u64,
        outcome.marker.documents,
        "{sentence}"
    );
    drop((database, set));
    vfs.set_capacity_bytes(used_bytes * 2);
    let (_set, database) = open(&vfs);
    let outcome = import(&database);
    assert!(matches!(outcome.end, End::Finished), "{outcome:?}");
    assert_eq!(outcome.marker, marker);
    assert_eq!(content(&database), expected);
}

#[test]
fn after_power_loss_the_import_goes_on_behind_its_marker() {
    let (expected, marker, _) = clean_run();
    for seed in 0..4 {
        let vfs = SimVfs::new(seed);
        let (set, database) = open(&vfs);
        // The power goes when a part of the import is durable and more is on its way.
        let crashing = Arc::clone(&vfs);
        let crashed = std::thread::scope(|scope| {
            let importing = scope.spawn(|| import(&database));
            while database.statistics().unwrap().document_count == 0 && !importing.is_finished() {
                std::thread::yield_now();
            }
            let crashed = crashing.crash(CrashChoice::Random(seed));
            importing.join().unwrap();
            crashed
        });
        drop((database, set));
        let (_set, database) = open(&crashed);
        let before = LocalSink::new(Arc::clone(&database))
            .marker("demo")
            .unwrap();
        let documents = content(&database).len() as u64;
        assert_eq!(
            before.unwrap_or_default().documents,
            documents,
            "seed {seed}"
        );
        let outcome = import(&database);
        assert!(
            matches!(outcome.end, End::Finished),
            "seed {seed}: {outcome:?}"
        );
        assert_eq!(outcome.marker, marker, "seed {seed}");
        assert_eq!(content(&database), expected, "seed {seed}");
    }
}

#[test]
fn documents_with_metadata_keep_their_place_in_the_order() {
    let vfs = SimVfs::new(1);
    let (_set, database) = open(&vfs);
    let mut sink = LocalSink::new(Arc::clone(&database));
    let mut batch = LocalBatch::default();
    let mut parser = JsonParser::new(Some("Things"), None);
    for line in [
        r#"{"Id":"a","n":1}"#,
        r#"{"Id":"a","n":2,"@metadata":{"Mine":1}}"#,
        r#"{"Id":"b","n":3,"@metadata":{"Mine":2}}"#,
        r#"{"Id":"b","n":4}"#,
    ] {
        parser.parse("line 1", line.as_bytes(), &mut batch).unwrap();
    }
    assert_eq!(batch.document_count(), 4);
    let marker = Marker {
        entries: 4,
        documents: 4,
        skipped: 0,
        lost: 0,
        finished: false,
    };
    sink.write(batch, "x", &marker).unwrap();
    sink.flush().unwrap();
    assert_eq!(sink.marker("x").unwrap(), Some(marker));
    assert_eq!(
        content(&database),
        [
            r#"things/a {"Id":"a","n":2}"#,
            r#"things/b {"Id":"b","n":4}"#
        ]
    );
    let snapshot = database.read().unwrap();
    let first = snapshot.get("things/a").unwrap().unwrap();
    assert_eq!(first.metadata().unwrap().root().to_json(), r#"{"Mine":1}"#);
}
