//! What a failing disk means for the caller: nothing written, or an outcome that is unknown.

use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, Fault, FaultError, OperationKind, SimVfs};
use serde_json::json;

use super::*;
use crate::database::Database;
use crate::options::Options;

fn open(vfs: &Arc<SimVfs>) -> Result<Database> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    let options = Options::default().database();
    let database = jackdaw_database::Database::open(vfs, Path::new("/music"), "music", &options);
    Ok(Database::of(Arc::new(database.map_err(Error::of_open)?)))
}

#[test]
fn a_failed_write_is_unknown_or_not_there() {
    let mut unknown = 0;
    for nth in 1..6 {
        let vfs = SimVfs::new(nth);
        let db = open(&vfs).unwrap();
        db.put("n/first", &json!({})).unwrap();
        let kinds = [OperationKind::Write, OperationKind::Sync];
        vfs.inject(Fault::nth(&kinds, nth, FaultError::Device).on("documents"));
        let outcomes: Vec<Result<_>> = (0..6)
            .map(|n| db.put(&format!("n/{n}"), &json!({})))
            .collect();
        // The engine does without some writes, such as that of a file prepared for later.
        let Some(failed) = outcomes.iter().position(Result::is_err) else {
            continue;
        };
        match &outcomes[failed] {
            Err(Error::Unknown(_)) => unknown += 1,
            Err(Error::Io(_)) => {}
            other => panic!("{other:?}"),
        }
        // Reads go on, writes wait for a reopening.
        for later in &outcomes[failed + 1..] {
            assert!(matches!(later, Err(Error::Io(_))), "{later:?}");
        }
        assert_eq!(db.snapshot().unwrap().len(), 1 + failed as u64);
        for choice in [CrashChoice::LoseAll, CrashChoice::KeepAll] {
            let snapshot = open(&vfs.crash(choice)).unwrap().snapshot().unwrap();
            for n in 0..failed {
                assert!(snapshot.document(&format!("n/{n}")).unwrap().is_some());
            }
            for n in failed + 1..6 {
                assert!(snapshot.document(&format!("n/{n}")).unwrap().is_none());
            }
        }
    }
    assert!(
        unknown > 0,
        "a failed write of the journal leaves its outcome open"
    );
}

#[test]
fn a_full_disk_refuses_writes_until_there_is_room() {
    let vfs = SimVfs::new(9);
    let db = open(&vfs).unwrap();
    vfs.set_capacity_bytes(vfs.used_bytes() + (3 << 20));
    let text = "x".repeat(100_000);
    let mut stored = 0;
    let error = loop {
        match db.put(&format!("n/{stored}"), &json!({"Text": text})) {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 10_000, "the disk never got full");
    };
    assert!(matches!(error, Error::Io(_)), "{error:?}");
    vfs.set_capacity_bytes(1 << 30);
    db.put("n/more", &json!({"Text": text})).unwrap();
    assert_eq!(db.snapshot().unwrap().len(), stored + 1);
}

#[test]
fn families_follow_from_what_happened() {
    let corrupt = StorageError::corrupt_page(
        jackdaw_storage::PageNumber(7),
        jackdaw_storage::DamageKind::Missing,
    );
    let damaged = Error::of_write(WriteError::Read(ReadError::Storage(corrupt.clone())));
    assert!(matches!(damaged, Error::Damaged(_)), "{damaged:?}");
    assert!(damaged.to_string().contains("page 7"), "{damaged}");
    let source = QueryError::Source(Box::new(ReadError::Storage(corrupt)));
    assert!(matches!(Error::of_query(source), Error::Damaged(_)));
    let lost = Error::of_write(WriteError::lost());
    assert!(matches!(lost, Error::Unknown(_)), "{lost:?}");
    let panicked = Error::of_write(WriteError::Panicked("at 1".to_owned()));
    assert!(matches!(panicked, Error::Internal(_)), "{panicked:?}");
    let small = WriteError::TooLarge {
        len_bytes: 2,
        max_bytes: 1,
    };
    assert!(matches!(Error::of_write(small), Error::Invalid(_)));
    let is_shared = |_: &(dyn std::error::Error + Send + Sync)| true;
    assert!(is_shared(&lost));
}
