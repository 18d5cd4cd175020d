//! Facts about bulk import: batches in order, markers with them, failures that stop all behind.

use std::path::Path;
use std::sync::Arc;

use jackdaw_database::{Etag, Importer, Prepared, WriteError};
use jackdaw_sim::{CrashChoice, SimVfs};

use crate::common::{ids, json, open};

fn batch(mut prepared: Prepared, from: u64, to: u64) -> Prepared {
    for n in from..to {
        let body = json(&format!(r#"{{"n":{n}}}"#));
        prepared
            .put(&format!("albums/{n}"), "Albums", body.document())
            .unwrap();
    }
    prepared
}

#[test]
fn batches_are_stored_with_their_markers() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    let mut importer = Importer::new(Arc::clone(&database));
    for n in 0..10u64 {
        let prepared = importer.prepared();
        assert!(prepared.is_empty());
        let prepared = batch(prepared, n * 20, n * 20 + 20);
        importer
            .write(prepared, Some(("albums.tar", &n.to_le_bytes())))
            .unwrap();
    }
    let totals = importer.finish().unwrap();
    assert_eq!((totals.batches, totals.documents), (10, 200));
    let snapshot = database.read().unwrap();
    assert_eq!(snapshot.collection("albums").unwrap().unwrap().count, 200);
    let marker = snapshot.progress_marker("albums.tar").unwrap();
    assert_eq!(marker.as_deref(), Some(&9u64.to_le_bytes()[..]));
    assert_eq!(snapshot.progress_marker("other").unwrap(), None);
    assert_eq!(database.counters().writes, 200);
    // The same again replaces, and the same id twice in a batch counts once.
    let mut importer = Importer::new(Arc::clone(&database));
    let twice = batch(batch(importer.prepared(), 0, 20), 10, 30);
    importer.write(twice, None).unwrap();
    importer.finish().unwrap();
    let snapshot = database.read().unwrap();
    assert_eq!((snapshot.count(), snapshot.last_etag()), (200, Etag(240)));
    assert_eq!(ids(snapshot.by_etag(Etag(239)).unwrap()), ["albums/29"]);
}

#[test]
fn nothing_is_stored_behind_a_batch_that_failed() {
    let vfs = SimVfs::new(2);
    let database = open(&vfs);
    let mut other = Prepared::new();
    other
        .put("albums/30", "Other", json("{}").document())
        .unwrap();
    database.submit(other, |outcome| assert!(outcome.is_ok()));
    let mut importer = Importer::new(Arc::clone(&database));
    let mut refused = 0;
    for n in 0..6u64 {
        let prepared = batch(importer.prepared(), n * 20, n * 20 + 20);
        match importer.write(prepared, Some(("m", &n.to_le_bytes()))) {
            Ok(()) => {}
            Err(WriteError::CollectionMismatch { id, .. }) => {
                assert_eq!(id, "albums/30");
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(matches!(
        importer.finish(),
        Err(WriteError::CollectionMismatch { .. })
    ));
    assert!(refused >= 1, "later batches are refused at once");
    let snapshot = database.read().unwrap();
    assert_eq!(snapshot.count(), 21);
    let marker = snapshot.progress_marker("m").unwrap();
    assert_eq!(marker.as_deref(), Some(&0u64.to_le_bytes()[..]));
}

#[test]
fn batches_leave_out_ids_of_other_collections_where_wanted() {
    let vfs = SimVfs::new(3);
    let database = open(&vfs);
    let mut other = Prepared::new();
    for id in ["albums/3", "Albums/25"] {
        other.put(id, "Other", json("{}").document()).unwrap();
    }
    database.submit(other, |outcome| assert!(outcome.is_ok()));
    let mut importer = Importer::new(Arc::clone(&database));
    for n in 0..4u64 {
        let mut prepared = importer.prepared();
        prepared.leave_out_mismatches();
        for n in n * 20..n * 20 + 20 {
            prepared = batch(prepared, n, n + 1);
            prepared.label(&format!("line {n}"));
        }
        if n == 3 {
            // The first one of a batch is stored, and the same collection in other letters is none
            // of another name.
            let body = json("{}");
            prepared.put("new", "Ones", body.document()).unwrap();
            prepared.put("NEW", "Twos", body.document()).unwrap();
            prepared.label("the second");
            prepared.put("new", "oNes", body.document()).unwrap();
        }
        let marker = |left_out: u64| left_out.to_le_bytes().to_vec();
        importer
            .write_counting(prepared, Some(("m", marker)))
            .unwrap();
    }
    let totals = importer.flush().unwrap();
    assert_eq!((totals.batches, totals.documents), (4, 80));
    let left_out: Vec<String> = importer
        .take_left_out()
        .into_iter()
        .map(|one| format!("{}: {} {} {}", one.label, one.id, one.from, one.to))
        .collect();
    assert_eq!(
        left_out,
        [
            "line 3: albums/3 Other Albums",
            "line 25: albums/25 Other Albums",
            "the second: NEW Ones Twos",
        ]
    );
    assert!(importer.take_left_out().is_empty());
    let snapshot = database.read().unwrap();
    assert_eq!(snapshot.count(), 81);
    let marker = snapshot.progress_marker("m").unwrap();
    assert_eq!(marker.as_deref(), Some(&3u64.to_le_bytes()[..]));
    // A batch that does not ask for it fails as a whole.
    let refused = importer.write(batch(Prepared::new(), 0, 20), None);
    assert!(
        refused
            .and_then(|()| importer.finish().map(|_| ()))
            .is_err()
    );
}

#[test]
fn after_power_loss_the_marker_says_what_is_there() {
    for seed in 0..10 {
        println!("seed {seed}");
        let vfs = SimVfs::new(seed);
        let database = open(&vfs);
        let mut importer = Importer::new(Arc::clone(&database));
        for n in 0..8u64 {
            let prepared = batch(importer.prepared(), n * 20, n * 20 + 20);
            importer
                .write(prepared, Some(("m", &(n + 1).to_le_bytes())))
                .unwrap();
        }
        let crashed = vfs.crash(CrashChoice::Random(seed));
        let after = open(&crashed);
        let snapshot = after.read().unwrap();
        let marker = snapshot.progress_marker("m").unwrap();
        let marker = marker.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
        assert_eq!(snapshot.count(), marker * 20);
        importer.finish().unwrap();
        drop(database);
        assert!(!vfs.file_paths().is_empty() && Path::new("/music").is_absolute());
    }
}
