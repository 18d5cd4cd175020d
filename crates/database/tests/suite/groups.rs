//! `group by` sees what was just written, whatever is kept of the groups of earlier queries.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jackdaw_database::{Database, QueryRequest, RowBuffer};
use jackdaw_sim::{Rng, SimVfs};

use crate::common::{delete, json, open, put};

/// Count and sum of each group of `Songs`.
fn groups(database: &Database, snapshot: Option<&str>) -> BTreeMap<i64, (i64, i64)> {
    let request = QueryRequest {
        text: "from Songs group by Genre select Genre, count(), sum(Length)",
        snapshot,
        ..QueryRequest::default()
    };
    let mut rows = RowBuffer::default();
    database.query(&request, &mut rows).unwrap();
    let rows = json(&format!("[{}]", String::from_utf8(rows.rows).unwrap()));
    let rows = rows.root().as_array().unwrap();
    rows.iter()
        .map(|row| {
            let number = |name: &str| row.get(name).unwrap().as_i64().unwrap();
            (number("Genre"), (number("Count"), number("Length")))
        })
        .collect()
}

#[test]
fn groups_are_those_of_the_documents_after_every_change() {
    const SEED: u64 = 5;
    println!("JACKDAW_SEED={SEED}");
    let mut random = Rng::new(SEED);
    let vfs = SimVfs::new(SEED);
    let database = open(&vfs);
    // Genre and length of each song.
    let mut model: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
    let mut at_snapshot = None;
    for step in 0..120 {
        let mut commands = Vec::new();
        for _ in 0..random.below(6) {
            let number = random.below(40);
            let id = format!("songs/{number}");
            let (genre, length) = (random.below(5) as i64, random.below(500) as i64);
            let body = format!(r#"{{"Genre":{genre},"Length":{length}}}"#);
            let (was_song, kind) = (model.remove(&number).is_some(), random.below(8));
            // What goes to another collection is deleted before.
            if !was_song || kind < 3 {
                commands.push(delete(&id));
            }
            match kind {
                0 => {}
                1 => commands.push(put(&id, "Albums", &body)),
                _ => {
                    commands.push(put(&id, "Songs", &body));
                    model.insert(number, (genre, length));
                }
            }
        }
        database.batch(commands).unwrap();
        if step % 17 == 0 {
            vfs.advance_clock(Duration::from_secs(1));
            database.clean_tombstones(Duration::ZERO).unwrap();
        }
        let mut expected: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for (genre, length) in model.values() {
            let group = expected.entry(*genre).or_default();
            *group = (group.0 + 1, group.1 + length);
        }
        // What changed since is in no query for some steps: deletions may be forgotten meanwhile.
        if random.below(3) > 0 {
            assert_eq!(
                groups(&database, None),
                expected,
                "seed {SEED}, step {step}"
            );
        }
        if step == 60 {
            database.take_snapshot("then").unwrap();
            at_snapshot = Some(expected);
        }
    }
    assert_eq!(groups(&database, Some("then")), at_snapshot.unwrap());
}

#[test]
fn queries_beside_writes_see_every_write_before_them() {
    let database = open(&SimVfs::new(6));
    let is_done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (database, is_done) = (Arc::clone(&database), Arc::clone(&is_done));
            std::thread::spawn(move || {
                let mut last = 0;
                while !is_done.load(Ordering::Relaxed) {
                    let count: i64 = groups(&database, None)
                        .values()
                        .map(|(count, _)| count)
                        .sum();
                    assert!(last <= count, "{last} were there, now {count}");
                    last = count;
                }
            })
        })
        .collect();
    for number in 0..300 {
        let body = format!(r#"{{"Genre":{},"Length":1}}"#, number % 3);
        database
            .batch(vec![put(&format!("songs/{number}"), "Songs", &body)])
            .unwrap();
        let count: i64 = groups(&database, None)
            .values()
            .map(|(count, _)| count)
            .sum();
        assert_eq!(count, number + 1);
    }
    is_done.store(true, Ordering::Relaxed);
    readers
        .into_iter()
        .for_each(|reader| reader.join().unwrap());
}
