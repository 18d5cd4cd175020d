//! Queries give what evaluating every document would, whatever the index has seen.
//!
//! Indexes follow in threads of their own; the facts below hold at every moment of that.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jackdaw_database::{
    Database, Importer, Outcome, QueryError, QueryRequest, QueryResult, RowBuffer,
};
use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, Fault, FaultError, OperationKind, Rng, SimVfs};

use crate::common::{delete, json, open, put, store};

const LONG: Duration = Duration::from_secs(30);

fn try_query(
    database: &Database,
    request: &QueryRequest<'_>,
) -> Result<(QueryResult, Vec<String>), QueryError> {
    let mut rows = RowBuffer::default();
    let result = database.query(request, &mut rows)?;
    let text = String::from_utf8(rows.rows).unwrap();
    let rows = json(&format!("[{text}]"));
    let rows = rows.root().as_array().unwrap();
    let id = |row: jackdaw_document::Value<'_>| {
        row.get_path(&["@metadata", "@id"])
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    };
    Ok((result, rows.iter().map(id).collect()))
}

fn query(database: &Database, text: &str) -> (QueryResult, Vec<String>) {
    let request = QueryRequest {
        text,
        ..QueryRequest::default()
    };
    try_query(database, &request).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn index_names(database: &Database) -> Vec<String> {
    let infos = database.indexes().unwrap();
    infos
        .into_iter()
        .map(|info| info.name().to_owned())
        .collect()
}

#[test]
fn a_query_makes_its_index_and_sees_what_was_just_written() {
    let database = open(&SimVfs::new(1));
    store(
        &database,
        "albums/1",
        "Albums",
        r#"{"Artist":"Bjork","Year":1997}"#,
    );
    let (result, ids) = query(&database, "from albums where Artist = 'BJORK'");
    assert_eq!(ids, ["albums/1"]);
    assert_eq!(result.index_name, "Auto/albums/ByArtist");
    assert!(result.has_created_index && !result.is_stale);
    store(
        &database,
        "albums/2",
        "Albums",
        r#"{"Artist":"bjork","Year":2001}"#,
    );
    store(&database, "albums/1", "Albums", r#"{"Artist":"Other"}"#);
    let (result, ids) = query(&database, "from Albums where Artist = 'bjork'");
    assert_eq!(ids, ["albums/2"]);
    assert!(!result.has_created_index && !result.is_stale);
    assert_eq!(result.outcome.total_results, Some(1));
    database.batch(vec![delete("albums/2")]).unwrap();
    let (result, ids) = query(&database, "from Albums where Artist = 'bjork'");
    assert_eq!(
        (ids.len(), result.outcome),
        (
            0,
            Outcome {
                total_results: Some(0),
                ..Outcome::default()
            }
        )
    );
    assert_eq!(database.counters().queries, 3);
}

#[test]
fn plain_listings_and_ids_need_no_index() {
    let database = open(&SimVfs::new(2));
    for n in 0..5 {
        store(&database, &format!("a/{n}"), "Ants", r#"{"n":1}"#);
    }
    let (result, ids) = query(&database, "from Ants");
    assert_eq!((&*result.index_name, ids.len()), ("collection/Ants", 5));
    assert_eq!(query(&database, "from @all_docs").1.len(), 5);
    assert_eq!(query(&database, "from Ants where id() = 'A/3'").1, ["a/3"]);
    let request = QueryRequest {
        text: "from Ants",
        start: Some(1),
        page_size: Some(2),
        ..QueryRequest::default()
    };
    assert_eq!(try_query(&database, &request).unwrap().1, ["a/1", "a/2"]);
    assert!(index_names(&database).is_empty());
}

#[test]
fn indexes_of_a_collection_grow_together() {
    let vfs = SimVfs::new(3);
    let database = open(&vfs);
    store(&database, "a/1", "Ants", r#"{"n":1,"m":2}"#);
    query(&database, "from Ants where n = 1");
    query(&database, "from Bs where n = 1");
    query(&database, "from Ants where m = 2");
    assert!(database.wait_for_indexes(LONG));
    assert_eq!(
        query(&database, "from Ants where m = 2").0.index_name,
        "Auto/Ants/BymAndn"
    );
    assert_eq!(index_names(&database), ["Auto/Bs/Byn", "Auto/Ants/BymAndn"]);
    assert_eq!(
        query(&database, "from Ants where n = 1").0.index_name,
        "Auto/Ants/BymAndn"
    );
    drop(database);
    assert!(!vfs.exists(Path::new("/music/indexes/1")).unwrap());
    let database = open(&vfs);
    assert_eq!(index_names(&database), ["Auto/Bs/Byn", "Auto/Ants/BymAndn"]);
    let infos = database.indexes().unwrap();
    assert_eq!(
        (infos[1].entry_count, infos[1].is_stale, infos[1].lag),
        (1, false, 0)
    );
}

#[test]
fn an_index_is_named_deleted_and_made_again() {
    let database = open(&SimVfs::new(4));
    store(&database, "a/1", "Ants", r#"{"n":1}"#);
    query(&database, "from Ants where n = 1");
    let named = "from index 'auto/ants/byn' where n = 1";
    assert_eq!(query(&database, named).1, ["a/1"]);
    assert!(database.delete_index("AUTO/Ants/Byn").unwrap());
    assert!(!database.delete_index("AUTO/Ants/Byn").unwrap());
    let request = QueryRequest {
        text: named,
        ..QueryRequest::default()
    };
    assert!(matches!(
        try_query(&database, &request),
        Err(QueryError::IndexMissing(_))
    ));
    assert!(
        query(&database, "from Ants where n = 1")
            .0
            .has_created_index
    );
    assert!(matches!(
        try_query(
            &database,
            &QueryRequest {
                text: "from",
                ..request
            }
        ),
        Err(QueryError::Syntax(_))
    ));
}

#[test]
fn the_etag_of_a_result_changes_with_the_documents_it_is_of() {
    let database = open(&SimVfs::new(5));
    store(&database, "a/1", "Ants", r#"{"n":1}"#);
    let first = query(&database, "from Ants where n = 1").0;
    store(&database, "b/1", "Bs", "{}");
    let request = QueryRequest {
        text: "from Ants where n = 1",
        known_etag: Some(first.result_etag),
        ..QueryRequest::default()
    };
    let (unchanged, ids) = try_query(&database, &request).unwrap();
    assert!(unchanged.is_unchanged && ids.is_empty());
    store(&database, "a/2", "Ants", "{}");
    let (changed, ids) = try_query(&database, &request).unwrap();
    assert!(!changed.is_unchanged && ids == ["a/1"]);
    assert_ne!(changed.result_etag, first.result_etag);
}

#[test]
fn an_index_far_behind_says_so_or_has_caught_up() {
    let database = open(&SimVfs::new(6));
    let text = "from Ants where n = 1";
    assert_eq!(query(&database, text).1.len(), 0);
    let mut importer = Importer::new(Arc::clone(&database));
    let body = json(r#"{"n":1}"#);
    let mut batch = importer.prepared();
    for n in 0..4500 {
        batch
            .put(&format!("a/{n}"), "Ants", body.document())
            .unwrap();
    }
    importer.write(batch, None).unwrap();
    importer.finish().unwrap();
    let request = QueryRequest {
        text,
        wait: Some(Duration::ZERO),
        ..QueryRequest::default()
    };
    let (result, ids) = try_query(&database, &request).unwrap();
    assert!(result.is_stale || ids.len() == 4500);
    assert_eq!(result.is_stale, result.lag > 0);
    let (result, ids) = query(&database, text);
    assert_eq!((result.is_stale, ids.len()), (false, 4500));
}

#[test]
fn a_damaged_index_is_made_again() {
    let vfs = SimVfs::new(7);
    let database = open(&vfs);
    for n in 0..50 {
        store(
            &database,
            &format!("a/{n}"),
            "Ants",
            &format!(r#"{{"n":{n}}}"#),
        );
    }
    query(&database, "from Ants where n = 1");
    assert!(database.wait_for_indexes(LONG));
    drop(database);
    let path = Path::new("/music/indexes/1/data.jd");
    let len = vfs.file_bytes(path).unwrap().len() as u64;
    for offset in (4096..len).step_by(512) {
        vfs.flip(path, offset, 0xff).unwrap();
    }
    let database = open(&vfs);
    let request = QueryRequest {
        text: "from Ants where n = 7",
        ..QueryRequest::default()
    };
    let answered = (0..5).find_map(|_| try_query(&database, &request).ok());
    assert_eq!(answered.expect("heals").1, ["a/7"]);
}

#[test]
fn an_index_whose_disk_fails_is_replaced_and_documents_go_on() {
    let vfs = SimVfs::new(8);
    let database = open(&vfs);
    store(&database, "a/1", "Ants", r#"{"n":1}"#);
    assert_eq!(query(&database, "from Ants where n = 1").1, ["a/1"]);
    let kinds = [OperationKind::Write, OperationKind::Sync];
    vfs.inject(
        Fault::nth(&kinds, 1, FaultError::Device)
            .on("indexes/1")
            .sticky(),
    );
    for n in 2..40 {
        store(&database, &format!("a/{n}"), "Ants", r#"{"n":1}"#);
    }
    let _ = database.wait_for_indexes(LONG);
    assert!(database.indexes().unwrap()[0].failure.is_some());
    let (result, ids) = query(&database, "from Ants where n = 1");
    assert!(result.has_created_index);
    assert_eq!(ids.len(), 39);
    let infos = database.indexes().unwrap();
    assert_eq!(
        (infos.len(), infos[0].number, infos[0].entry_count),
        (1, 2, 39)
    );
    drop(database);
    assert!(!vfs.exists(Path::new("/music/indexes/1")).unwrap());
}

#[derive(Clone, Debug)]
struct Album {
    id: String,
    n: u64,
    name: &'static str,
    tags: Vec<u64>,
}

const NAMES: &[&str] = &["alpha", "Beta", "GAMMA", "beta two"];

fn random_step(rng: &mut Rng, database: &Database, model: &mut BTreeMap<String, Album>) {
    let mut commands = Vec::new();
    for _ in 0..1 + rng.below(10) {
        let id = format!("docs/{}", rng.below(80));
        if rng.below(4) == 0 {
            model.remove(&id);
            commands.push(delete(&id));
            continue;
        }
        let album = Album {
            id: id.clone(),
            n: rng.below(10),
            name: NAMES[rng.below_usize(NAMES.len())],
            tags: (0..rng.below(3)).map(|_| rng.below(4)).collect(),
        };
        let Album { n, name, tags, .. } = &album;
        let body = format!(r#"{{"N":{n},"Name":"{name}","Tags":{tags:?}}}"#);
        commands.push(put(&id, "Albums", &body));
        model.insert(id, album);
    }
    // A document of another collection comes and goes beside them.
    commands.push(put("other/1", "Others", r#"{"N":1,"Name":"beta"}"#));
    database.batch(commands).unwrap();
}

type Shape = (&'static str, fn(&Album) -> bool);

const SHAPES: &[Shape] = &[
    ("N = 3", |a| a.n == 3),
    ("N > 6", |a| a.n > 6),
    ("N between 2 and 4", |a| (2..=4).contains(&a.n)),
    ("Name = 'BETA'", |a| a.name.eq_ignore_ascii_case("beta")),
    ("startsWith(Name, 'be')", |a| {
        a.name.to_lowercase().starts_with("be")
    }),
    ("Tags = 2", |a| a.tags.contains(&2)),
    ("N = 1 or Name = 'gamma'", |a| a.n == 1 || a.name == "GAMMA"),
    ("N < 5 and not Name = 'alpha'", |a| {
        a.n < 5 && a.name != "alpha"
    }),
    ("Name in ('alpha', 'beta two') and N != 0", |a| {
        ["alpha", "beta two"].contains(&a.name) && a.n != 0
    }),
];

fn check_shape(database: &Database, model: &BTreeMap<String, Album>, shape: &Shape) {
    let (condition, matches) = shape;
    let text = format!("from Albums where {condition}");
    let (result, mut ids) = query(database, &text);
    ids.sort();
    let expected: Vec<_> = model
        .values()
        .filter(|a| matches(a))
        .map(|a| a.id.clone())
        .collect();
    assert_eq!(ids, expected, "{text}\n{}", result.plan);
    assert_eq!(
        result.outcome.total_results,
        Some(expected.len() as u64),
        "{text}"
    );
    assert!(!result.is_stale);
    let ordered = format!("{text} order by N as long, id()");
    let (_, ids) = query(database, &ordered);
    let mut in_order: Vec<_> = model.values().filter(|a| matches(a)).collect();
    in_order.sort_by_key(|a| (a.n, a.id.clone()));
    let in_order: Vec<_> = in_order.iter().map(|a| a.id.clone()).collect();
    assert_eq!(ids, in_order, "{ordered}");
}

#[test]
fn queries_give_what_a_scan_gives_after_every_step() {
    for seed in 0..4 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let vfs = SimVfs::new(seed);
        let mut database = open(&vfs);
        let mut model = BTreeMap::new();
        for step in 0..25 {
            random_step(&mut rng, &database, &mut model);
            for _ in 0..2 {
                check_shape(&database, &model, rng.pick(SHAPES));
            }
            if step % 8 == 7 {
                assert!(database.wait_for_indexes(LONG));
                SHAPES
                    .iter()
                    .for_each(|shape| check_shape(&database, &model, shape));
                drop(database);
                database = open(&vfs);
            }
        }
    }
}

#[test]
fn indexes_are_right_after_power_loss() {
    for seed in 0..8 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let vfs = SimVfs::new(seed);
        let database = open(&vfs);
        let mut model = BTreeMap::new();
        for _ in 0..12 {
            random_step(&mut rng, &database, &mut model);
            check_shape(&database, &model, rng.pick(SHAPES));
        }
        let crashed = vfs.crash(CrashChoice::Random(seed));
        let after = open(&crashed);
        for _ in 0..3 {
            SHAPES
                .iter()
                .for_each(|shape| check_shape(&after, &model, shape));
            random_step(&mut rng, &after, &mut model);
        }
        assert!(after.wait_for_indexes(LONG));
        SHAPES
            .iter()
            .for_each(|shape| check_shape(&after, &model, shape));
        drop(database);
    }
}

#[test]
fn an_automatic_index_is_named_as_the_query_spells_the_collection() {
    let vfs = SimVfs::new(4);
    let database = open(&vfs);
    for n in 1..=2 {
        store(&database, &format!("a/{n}"), "Ants", r#"{"n":1,"m":2}"#);
    }
    for (text, index) in [
        ("from ants where n = 1", "Auto/ants/Byn"),
        // What an index answers is asked of it, however it is spelled.
        ("from Ants where n = 1", "Auto/ants/Byn"),
        ("from 'ANTS' where n = 1", "Auto/ants/Byn"),
        // A new one has the fields of the others, too.
        ("from Ants where n = 1 and m = 2", "Auto/Ants/BymAndn"),
        ("from ants where m = 2", "Auto/Ants/BymAndn"),
        ("from ants where n = 1", "Auto/Ants/BymAndn"),
        ("from @ALL_DOCS where n = 1", "Auto/AllDocs/Byn"),
    ] {
        let (result, ids) = query(&database, text);
        assert_eq!((&*result.index_name, ids.len()), (index, 2), "{text}");
        assert!(database.wait_for_indexes(LONG));
    }
    // Of a collection that is not there, too.
    let (result, ids) = query(&database, "from '\u{c4}meisen' where n = 1");
    assert_eq!(
        (&*result.index_name, ids.len()),
        ("Auto/\u{c4}meisen/Byn", 0)
    );
    drop(database);
    let database = open(&vfs);
    let (result, ids) = query(&database, "from aNTS where n = 1");
    assert_eq!((&*result.index_name, ids.len()), ("Auto/Ants/BymAndn", 2));
}
