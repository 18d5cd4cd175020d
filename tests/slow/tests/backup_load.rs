//! A database is backed up while eight writers store into it as fast as they can, and brought up to
//! date twice. What is restored, as of its end, as of a time under load and as of a quiet time, is
//! what the source held at that very change: ids, etags and bodies, by hash.
//!
//! The source's past is known from the ledger: each writer notes the etag of each of its writes,
//! and etags are the order of commits.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use jackdaw_database::{
    BackupKind, Command, CommandResult, Database, DatabaseOptions, DatabaseSet, Etag, restore_set,
};
use jackdaw_document::{DocumentBuf, Limits};
use jackdaw_io::{RealVfs, Vfs};
use jackdaw_slow_tests::{TestDirectory, mix};
use jackdaw_storage::{Options, RestorePoint};

const WRITERS: u64 = 8;
/// Documents of a writer; each is overwritten again and again.
const SLOTS: u64 = 2_000;
/// Writes of all writers between two steps of the test.
const WRITES: u64 = 4_000;

/// A write that was acknowledged.
struct Write {
    etag: u64,
    id: String,
    body: String,
    /// When it was asked for and answered, in nanoseconds since 1970.
    begun: u64,
    ended: u64,
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap().as_nanos() as u64
}

fn options() -> DatabaseOptions {
    let default = DatabaseOptions::default();
    DatabaseOptions {
        // Flushes happen during the backup, and all of the journal is kept for the increments.
        documents: Options {
            scratch_bytes: 16 << 20,
            journal_bytes: 16 << 20,
            journal_file_bytes_max: 4 << 20,
            journal_archive_bytes: 4 << 30,
            ..default.documents
        },
        ..default
    }
}

/// Stores until it is told to stop; gives what was acknowledged.
fn write(database: &Database, writer: u64, is_over: &AtomicBool, total: &AtomicU64) -> Vec<Write> {
    let mut writes = Vec::new();
    let mut random = mix(writer);
    while !is_over.load(Ordering::Relaxed) {
        random = mix(random);
        let id = format!("writers/{writer}/{}", random % SLOTS);
        let words: Vec<String> = (0..random >> 32 & 63)
            .map(|word| mix(random ^ word).to_string())
            .collect();
        let body = format!(
            "{{\"Number\":{},\"Text\":\"{}\"}}",
            writes.len(),
            words.join(" ")
        );
        let begun = now();
        let results = database.batch(vec![Command::Put {
            id: Some(id.clone()),
            body: DocumentBuf::from_json(body.as_bytes(), &Limits::default()).unwrap(),
            metadata: None,
            expected: None,
            keeps_revision: false,
        }]);
        let etag = match &results.unwrap()[..] {
            [CommandResult::Put { etag, .. }] => etag.0,
            other => panic!("{other:?}"),
        };
        let ended = now();
        writes.push(Write {
            etag,
            id,
            body,
            begun,
            ended,
        });
        total.fetch_add(1, Ordering::Relaxed);
    }
    writes
}

/// Ids, etags and bodies in the order of etags.
fn digest<'a>(documents: impl Iterator<Item = (u64, &'a str, String)>) -> (u64, u64) {
    let (mut hasher, mut count) = (DefaultHasher::new(), 0);
    for (etag, id, body) in documents {
        hasher.write_u64(etag);
        hasher.write(id.as_bytes());
        hasher.write(body.as_bytes());
        count += 1;
    }
    (count, hasher.finish())
}

fn digest_of(database: &Database) -> (u64, u64) {
    let snapshot = database.read().unwrap();
    let rows: Vec<_> = snapshot.by_etag(Etag::default()).unwrap().collect();
    digest(rows.iter().map(|row| {
        let row = row.as_ref().unwrap();
        (row.etag().0, row.id(), row.body().root().to_json())
    }))
}

/// What the source held after the change `etag`.
fn digest_at(ledger: &[Write], etag: u64) -> (u64, u64) {
    let mut last = BTreeMap::new();
    for write in ledger.iter().take_while(|write| write.etag <= etag) {
        last.insert(&write.id, write);
    }
    let mut documents: Vec<&Write> = last.into_values().collect();
    documents.sort_by_key(|write| write.etag);
    digest(
        documents
            .iter()
            .map(|write| (write.etag, write.id.as_str(), write.body.clone())),
    )
}

/// Restores and compares; gives the etag of the last change.
fn restore(from: &Path, to: &Path, point: RestorePoint, ledger: &[Write]) -> u64 {
    let vfs: Arc<dyn Vfs> = RealVfs::new();
    restore_set(&vfs, from, to, point, &|_, _, _| {}).unwrap();
    let set = DatabaseSet::open(vfs, to, DatabaseOptions::default()).unwrap();
    let database = set.get("load").unwrap().unwrap();
    let etag = database.read().unwrap().last_etag().0;
    let (count, found) = digest_of(&database);
    assert_eq!((count, found), digest_at(ledger, etag), "{point:?}");
    assert!(database.verify().unwrap().is_sound());
    println!("restored {point:?}: {count} documents as of etag {etag}, equal by hash");
    etag
}

#[test]
fn a_backup_under_load_restores_what_the_source_held_at_any_time() {
    let directory = TestDirectory::new("backup-load").unwrap();
    let path = |name: &str| directory.0.join(name);
    let set = DatabaseSet::open(RealVfs::new(), &path("data"), options()).unwrap();
    let database = set.create("load", "{}").unwrap();
    let backup = path("backup");
    let total = AtomicU64::new(0);
    let wait_for_writes = || {
        let wanted = total.load(Ordering::Relaxed) + WRITES;
        while total.load(Ordering::Relaxed) < wanted {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let back_up = |kind| set.back_up(&backup, kind, &|_, _, _| {}).unwrap();
    // Runs writers during `work`; gives what they wrote.
    let under_load = |work: &dyn Fn()| -> Vec<Write> {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (database, is_over, total) = (&database, &is_over, &total);
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| scope.spawn(move || write(database, writer, is_over, total)))
                .collect();
            work();
            is_over.store(true, Ordering::Relaxed);
            let joined = writers.into_iter().map(|writer| writer.join().unwrap());
            joined.flatten().collect()
        })
    };
    let loaded_time = AtomicU64::new(0);
    let mut ledger = under_load(&|| {
        wait_for_writes();
        back_up(BackupKind::Full);
        wait_for_writes();
        loaded_time.store(now(), Ordering::Relaxed);
        wait_for_writes();
        back_up(BackupKind::Increment);
        wait_for_writes();
    });
    let (quiet_time, quiet) = (now(), digest_of(&database));
    ledger.extend(under_load(&wait_for_writes));
    back_up(BackupKind::Increment);
    ledger.sort_by_key(|write| write.etag);

    let last = restore(&backup, &path("latest"), RestorePoint::Latest, &ledger);
    assert_eq!(last, ledger.last().unwrap().etag);
    assert_eq!(digest_of(&database), digest_at(&ledger, last));

    let etag = restore(
        &backup,
        &path("quiet"),
        RestorePoint::Time(quiet_time),
        &ledger,
    );
    assert_eq!(digest_at(&ledger, etag), quiet);

    let time = loaded_time.into_inner();
    let etag = restore(&backup, &path("loaded"), RestorePoint::Time(time), &ledger);
    for write in &ledger {
        assert!(
            write.ended > time || write.etag <= etag,
            "answered before, and not there"
        );
        assert!(
            write.begun <= time || write.etag > etag,
            "asked for later, and there"
        );
    }
    println!(
        "backup under load: {WRITERS} writers, {} writes, a full backup and two increments, three \
         restores equal to the source by hash",
        ledger.len()
    );
}
