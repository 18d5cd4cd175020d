//! Random changes against plain maps, with reopening and power loss in between.
//!
//! After each step every listing of the database must be the one the model gives. After a power
//! loss the content must be that after some prefix of the batches, the acknowledged ones included.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackdaw_database::{Command, CommandResult, Database, Etag, PrefixQuery, Snapshot, WriteError};
use jackdaw_sim::{CrashChoice, Rng, SimVfs};
use jackdaw_storage::CheckLevel;

use crate::common::{by_prefix, ids, json, open};

const COLLECTIONS: &[&str] = &["Users", "Orders", "@empty", "\u{c4}rger"];

#[derive(Clone, Debug, PartialEq)]
struct Stored {
    id: String,
    collection: &'static str,
    etag: u64,
    body: String,
}

/// What the database should hold.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    documents: BTreeMap<String, Stored>,
    last_etag: u64,
    tombstones: Vec<(u64, String)>,
}

impl Model {
    fn put(&mut self, id: &str, collection: &'static str, body: String) -> bool {
        let folded = id.to_lowercase();
        if self
            .documents
            .get(&folded)
            .is_some_and(|old| old.collection != collection)
        {
            return false;
        }
        self.last_etag += 1;
        let stored = Stored {
            id: id.to_owned(),
            collection,
            etag: self.last_etag,
            body,
        };
        self.documents.insert(folded, stored);
        true
    }

    fn delete(&mut self, id: &str) {
        let folded = id.to_lowercase();
        if self.documents.remove(&folded).is_some() {
            self.last_etag += 1;
            self.tombstones.push((self.last_etag, folded));
        }
    }

    /// Ids by etag, of one collection or all.
    fn by_etag(&self, collection: Option<&str>) -> Vec<String> {
        let mut found: Vec<&Stored> = self
            .documents
            .values()
            .filter(|stored| collection.is_none_or(|name| name == stored.collection))
            .collect();
        found.sort_by_key(|stored| stored.etag);
        found.iter().map(|stored| stored.id.clone()).collect()
    }

    fn check(&self, snapshot: &Snapshot) {
        assert_eq!(snapshot.last_etag(), Etag(self.last_etag));
        assert_eq!(snapshot.count(), self.documents.len() as u64);
        for (folded, stored) in &self.documents {
            let row = snapshot
                .get(folded)
                .unwrap()
                .unwrap_or_else(|| panic!("{folded} is lost"));
            assert_eq!(row.id(), stored.id);
            assert_eq!(row.etag(), Etag(stored.etag));
            assert_eq!(row.collection(), stored.collection);
            assert_eq!(row.body().root().to_json(), stored.body);
            let by_number = snapshot.get_by_number(row.number()).unwrap().unwrap();
            assert_eq!(by_number.id(), stored.id);
        }
        let in_order: Vec<String> = self.documents.values().map(|s| s.id.clone()).collect();
        assert_eq!(by_prefix(snapshot, &PrefixQuery::default()), in_order);
        assert_eq!(ids(snapshot.by_etag(Etag(0)).unwrap()), self.by_etag(None));
        for name in COLLECTIONS {
            let expected = self.by_etag(Some(name));
            assert_eq!(
                ids(snapshot.by_collection(name, Etag(0)).unwrap()),
                expected
            );
            let count = snapshot
                .collection(name)
                .unwrap()
                .map_or(0, |info| info.count);
            assert_eq!(count, expected.len() as u64, "{name}");
        }
        let tombstones = snapshot.tombstones(Etag(0)).unwrap();
        let tombstones: Vec<_> = tombstones
            .map(|t| t.unwrap())
            .map(|t| (t.etag.0, t.id))
            .collect();
        assert_eq!(tombstones, self.tombstones);
    }
}

/// A batch of random commands, carried out on the model too; `None` when it must be refused.
fn random_batch(rng: &mut Rng, model: &Model) -> (Vec<Command>, Option<Model>) {
    let mut after = model.clone();
    let mut is_refused = false;
    let mut commands = Vec::new();
    for _ in 0..1 + rng.below(12) {
        let number = rng.below(60);
        let id = match rng.below(2) {
            0 => format!("Docs/{number}"),
            _ => format!("docs/{number}"),
        };
        if rng.below(4) == 0 {
            after.delete(&id);
            commands.push(Command::Delete { id, expected: None });
            continue;
        }
        // Mostly the same collection for an id, now and then another, which is refused.
        let picked = if rng.below(50) == 0 {
            rng.below(4)
        } else {
            number % 4
        };
        let collection = COLLECTIONS[usize::try_from(picked).unwrap()];
        let padding = "x".repeat(usize::try_from(rng.below(40) * rng.below(40) * 6).unwrap());
        let body = format!(r#"{{"n":{},"padding":"{padding}"}}"#, rng.below(1000));
        is_refused |= !after.put(&id, collection, body.clone());
        commands.push(Command::Put {
            id: Some(id),
            body: json(&body),
            metadata: Some(json(&format!(r#"{{"@collection":"{collection}","k":1}}"#))),
            expected: None,
            keeps_revision: false,
        });
    }
    (commands, (!is_refused).then_some(after))
}

fn step(rng: &mut Rng, database: &Database, model: &mut Model) {
    let (commands, after) = random_batch(rng, model);
    match (database.batch(commands), after) {
        (Ok(results), Some(after)) => {
            let last = results.iter().rev().find_map(|result| match result {
                CommandResult::Put { etag, .. } => Some(etag.0),
                _ => None,
            });
            assert!(last.is_none_or(|etag| etag <= after.last_etag));
            *model = after;
        }
        (Err(WriteError::CollectionMismatch { .. }), None) => {}
        (outcome, after) => panic!("{outcome:?}, expected {}", after.is_some()),
    }
}

fn check_sound(database: &Database) {
    let report = database.verify().unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.documents, database.read().unwrap().count());
}

#[test]
fn the_database_is_what_the_model_says() {
    for seed in 0..6 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let vfs = SimVfs::new(seed);
        let mut database = open(&vfs);
        let mut model = Model::default();
        for _ in 0..40 {
            step(&mut rng, &database, &mut model);
            if rng.below(8) == 0 {
                drop(database);
                database = open(&vfs);
            }
            model.check(&database.read().unwrap());
        }
        let report = database.documents().check(CheckLevel::Full).unwrap();
        assert!(report.damages.is_empty(), "{:?}", report.damages);
        check_sound(&database);
    }
}

#[test]
fn power_loss_leaves_whole_batches_and_all_that_were_acknowledged() {
    for seed in 0..12 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let vfs = SimVfs::new(seed);
        let database = open(&vfs);
        let mut model = Model::default();
        let mut histories = vec![model.clone()];
        for _ in 0..6 {
            step(&mut rng, &database, &mut model);
        }
        histories.push(model.clone());
        // More batches are on their way when the power goes.
        let mut ahead = model.clone();
        for _ in 0..6 {
            let (commands, after) = random_batch(&mut rng, &ahead);
            if let Some(after) = after {
                database.submit_batch(commands, |_| {});
                ahead = after;
                histories.push(ahead.clone());
            }
        }
        let crashed = vfs.crash(CrashChoice::Random(seed));
        let database_after = open(&crashed);
        let snapshot = database_after.read().unwrap();
        let survivor = histories[1..]
            .iter()
            .find(|history| history.last_etag == snapshot.last_etag().0);
        survivor
            .unwrap_or_else(|| panic!("etag {:?}", snapshot.last_etag()))
            .check(&snapshot);
        drop(snapshot);
        let mut model = survivor.unwrap().clone();
        check_sound(&database_after);
        step(&mut rng, &database_after, &mut model);
        model.check(&database_after.read().unwrap());
        drop(database);
    }
}

#[test]
fn writers_on_many_threads_get_etags_of_their_own() {
    let database = open(&SimVfs::new(99));
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let database = Arc::clone(&database);
            std::thread::spawn(move || {
                for n in 0..25 {
                    let id = format!("t{thread}/{n}");
                    let commands = vec![crate::common::put(&id, "Ts", "{}")];
                    database.batch(commands).unwrap();
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let snapshot = database.read().unwrap();
    assert_eq!((snapshot.count(), snapshot.last_etag()), (100, Etag(100)));
    let etags: Vec<u64> = snapshot
        .by_collection("ts", Etag(0))
        .unwrap()
        .map(|row| row.unwrap().etag().0)
        .collect();
    assert_eq!(etags, (1..=100).collect::<Vec<_>>());
}
