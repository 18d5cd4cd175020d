//! Databases at rest: what keeps one open, that nothing is lost by closing, and that requests which
//! come meanwhile only wait.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jackdaw_base::time::UnixTicks;
use jackdaw_database::{
    BackupKind, Database, DatabaseSet, DueKind, DueRule, IndexKinds, PrefixQuery, QueryRequest,
    RestRules, RowBuffer, StaticDefinition, Wake,
};
use jackdaw_io::Vfs;
use jackdaw_sim::SimVfs;

use crate::common::{by_prefix, json, options, store};

const IDLE: Duration = Duration::from_secs(900);

fn open_set(vfs: &Arc<SimVfs>) -> DatabaseSet {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    DatabaseSet::open(vfs, Path::new("/data"), options()).unwrap()
}

fn rules(idle: Duration, open_max: usize) -> RestRules {
    RestRules {
        idle,
        open_max,
        open_limit: 1_000,
        next_wake: Arc::new(|_, _| Ok(Wake::Never)),
    }
}

fn close(set: &DatabaseSet) -> usize {
    set.close_idle(&rules(IDLE, 1_000))
}

fn ids(database: &Database) -> Vec<String> {
    by_prefix(&database.read().unwrap(), &PrefixQuery::default())
}

#[test]
fn idle_databases_are_closed_and_opened_on_demand() {
    let vfs = SimVfs::new(1);
    let set = open_set(&vfs);
    let names: Vec<String> = (0..40).map(|n| format!("db{n}")).collect();
    for name in &names {
        let database = set.create(name, "{}").unwrap();
        store(&database, &format!("{name}/1"), "As", "{}");
    }
    assert_eq!((close(&set), set.open_count()), (0, 40));
    vfs.advance_clock(IDLE / 2);
    assert!(set.get("db7").unwrap().is_some() && set.get_open("DB8").is_some());
    // A look is no use.
    assert!(set.peek_open("db9").is_some() && set.get_quietly("db9").unwrap().is_some());
    vfs.advance_clock(IDLE / 2);
    // One call may not have the time for all.
    let mut closed = 0;
    while closed < 38 {
        let more = close(&set);
        assert!(more > 0, "{closed}");
        closed += more;
    }
    assert_eq!((closed, close(&set), set.open_count()), (38, 0, 2));
    assert!(set.peek_open("db9").is_none() && set.get_open("db9").is_none());
    assert!(set.peek_open("db7").is_some() && set.peek_open("db8").is_some());
    for name in &names {
        let database = set.get(name).unwrap().unwrap();
        assert_eq!(ids(&database), [format!("{name}/1")]);
        store(&database, &format!("{name}/2"), "As", "{}");
        assert_eq!(database.read().unwrap().last_etag().0, 2);
    }
    assert_eq!((close(&set), set.open_count()), (0, 40));
}

#[test]
fn what_is_in_use_stays_open() {
    let vfs = SimVfs::new(2);
    let set = open_set(&vfs);
    let database = set.create("music", "{}").unwrap();
    store(&database, "a", "As", r#"{"n":1}"#);
    vfs.advance_clock(IDLE);
    let is_closed = || close(&set) == 1;
    assert!(!is_closed(), "a handle");
    let listener = database.on_change(|_| {});
    let news = database.on_index_change(|_| {});
    let describing = database.describe_changes();
    let upload = database.upload_attachment();
    drop(database);
    assert!(!is_closed(), "an upload");
    drop(upload);
    let snapshot = set.peek_open("music").unwrap().read().unwrap();
    assert!(!is_closed(), "followers");
    drop(listener);
    assert!(!is_closed(), "followers of indexes");
    drop(news);
    assert!(!is_closed(), "descriptions");
    drop(describing);
    assert!(!is_closed(), "a snapshot, as of a long answer");
    drop(snapshot);
    assert!(is_closed());
}

#[test]
fn indexes_at_work_or_paused_keep_their_database_open() {
    let vfs = SimVfs::new(3);
    let set = open_set(&vfs);
    let database = set.create("music", "{}").unwrap();
    for n in 0..50 {
        store(
            &database,
            &format!("a/{n}"),
            "Albums",
            &format!("{{\"n\":{n}}}"),
        );
    }
    let request = QueryRequest {
        text: "from Albums where n > 10",
        ..QueryRequest::default()
    };
    let definition = json(r#"{"Name":"ByN","Maps":["from a in docs.Albums select new { a.n }"]}"#);
    let definition = StaticDefinition::read(definition.root().as_object().unwrap()).unwrap();
    database.put_index(definition).unwrap();
    for text in [
        request.text,
        "from index 'ByN' where n > 10 order by n",
        "from Albums group by n select n, count()",
        "from Albums where n > 10 order by n as long limit 3",
    ] {
        let request = QueryRequest {
            text,
            ..QueryRequest::default()
        };
        database.query(&request, &mut RowBuffer::default()).unwrap();
    }
    database.pause_indexes(IndexKinds::All, true);
    store(&database, "a/50", "Albums", r#"{"n":50}"#);
    drop(database);
    vfs.advance_clock(IDLE);
    assert_eq!(close(&set), 0, "a pause would be forgotten");
    let database = set.peek_open("music").unwrap();
    database.pause_indexes(IndexKinds::All, false);
    assert!(database.wait_for_indexes(Duration::from_secs(60)));
    // The index's thread ends its last step after it has said how far it is.
    let begun = std::time::Instant::now();
    while !database.is_at_rest() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    drop(database);
    vfs.advance_clock(IDLE);
    assert_eq!(close(&set), 1);
    // The index goes on with what is written from then on.
    let database = set.get("music").unwrap().unwrap();
    store(&database, "a/51", "Albums", r#"{"n":51}"#);
    let mut rows = RowBuffer::default();
    database.query(&request, &mut rows).unwrap();
    let rows = String::from_utf8(rows.rows).unwrap();
    assert_eq!(rows.matches("\"@id\"").count(), 41, "{rows}");
    assert!(database.wait_for_indexes(Duration::from_secs(60)));
}

#[test]
fn of_many_open_databases_the_ones_unused_longest_are_closed_soon() {
    let vfs = SimVfs::new(4);
    let set = open_set(&vfs);
    for n in 0..10 {
        set.create(&format!("db{n}"), "{}").unwrap();
        vfs.advance_clock(Duration::from_secs(1));
    }
    let rules = rules(IDLE, 4);
    assert_eq!(set.close_idle(&rules), 1, "ten seconds are over for one");
    assert!(set.peek_open("db0").is_none());
    vfs.advance_clock(Duration::from_secs(60));
    let mut closed = 1;
    while set.open_count() > 4 {
        closed += set.close_idle(&rules);
    }
    assert_eq!((closed, set.close_idle(&rules)), (6, 0));
    assert!((6..10).all(|n| set.peek_open(&format!("db{n}")).is_some()));
}

#[test]
fn opening_one_beyond_the_limit_closes_the_one_unused_longest() {
    let vfs = SimVfs::new(8);
    let set = open_set(&vfs);
    set.begin_serving(RestRules {
        open_limit: 3,
        ..rules(IDLE, 3)
    });
    let mut held = None;
    for n in 0..6 {
        let database = set.create(&format!("db{n}"), "{}").unwrap();
        store(&database, "a", "As", "{}");
        assert!(set.open_count() <= 3);
        // One in use stays.
        held = held.or(Some(database));
    }
    let is_open = |n: u32| set.peek_open(&format!("db{n}")).is_some();
    assert!(is_open(0) && is_open(4) && is_open(5) && !is_open(1));
    for n in 0..6 {
        let database = set.get(&format!("db{n}")).unwrap().unwrap();
        assert_eq!(ids(&database), ["a"]);
        assert!(set.open_count() <= 3);
    }
    // With all in use, others are opened all the same.
    let all: Vec<_> = (0..6)
        .map(|n| set.get(&format!("db{n}")).unwrap())
        .collect();
    assert!(all.iter().all(Option::is_some) && set.open_count() == 6);
    drop(held);
}

#[test]
fn writes_that_meet_a_closing_database_wait_and_stay() {
    const WRITERS: usize = 3;
    const WRITES: usize = 60;
    let vfs = SimVfs::new(5);
    let set = open_set(&vfs);
    set.create("music", "{}").unwrap();
    let at_once = rules(Duration::ZERO, 0);
    let is_done = AtomicBool::new(false);
    let closed = std::thread::scope(|scope| {
        let (set, is_done, at_once) = (&set, &is_done, &at_once);
        let closing = scope.spawn(move || {
            let mut closed = 0;
            while !is_done.load(Ordering::Relaxed) {
                closed += set.close_idle(at_once);
                std::thread::yield_now();
            }
            closed
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    for n in 0..WRITES {
                        let database = set.get("music").unwrap().unwrap();
                        store(&database, &format!("{writer}/{n}"), "As", "{}");
                    }
                })
            })
            .collect();
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
        is_done.store(true, Ordering::Relaxed);
        closing.join().unwrap()
    });
    let database = set.get("music").unwrap().unwrap();
    assert_eq!(ids(&database).len(), WRITERS * WRITES);
    drop(database);
    while set.open_count() > 0 {
        set.close_idle(&at_once);
    }
    drop(set);
    let set = open_set(&vfs);
    let database = set.get("music").unwrap().unwrap();
    assert_eq!(ids(&database).len(), WRITERS * WRITES);
    println!("closed {closed} times");
}

#[test]
fn a_closed_database_is_deleted_disabled_and_backed_up_as_an_open_one() {
    let vfs = SimVfs::new(6);
    let set = open_set(&vfs);
    for name in ["one", "two"] {
        store(&set.create(name, "{}").unwrap(), name, "As", "{}");
    }
    vfs.advance_clock(IDLE);
    assert_eq!(close(&set), 2);
    set.back_up(Path::new("/backup-1"), BackupKind::Full, &|_, _, _| {})
        .unwrap();
    assert_eq!(set.open_count(), 0, "its documents alone were opened");
    set.begin_serving(rules(IDLE, 1_000));
    set.back_up(Path::new("/backup-2"), BackupKind::Full, &|_, _, _| {})
        .unwrap();
    assert_eq!((set.open_count(), close(&set)), (2, 2));
    assert!(set.delete("one").unwrap());
    assert!(
        set.get("one").unwrap().is_none() && !vfs.exists(Path::new("/data/databases/1")).unwrap()
    );
    set.change_record("two", |_| Ok::<_, ()>("new".to_owned()))
        .unwrap()
        .unwrap();
    assert_eq!(set.wake("two"), Some(Wake::Unknown));
    assert_eq!(ids(&set.get("two").unwrap().unwrap()), ["two"]);
    assert_eq!(set.wake("two"), None, "it is open");
}

#[test]
fn a_database_says_when_something_will_be_due() {
    let vfs = SimVfs::new(7);
    let set = open_set(&vfs);
    let database = set.create("music", "{}").unwrap();
    let at = |database: &Database, seconds: i64| {
        let now = database.statistics().map(|_| set.now()).unwrap();
        UnixTicks(now.0 + seconds * 10_000_000)
    };
    let rule = DueRule {
        kind: DueKind::Expiration,
        every: Duration::from_secs(60),
        count_max: None,
    };
    let exchange_every = Duration::from_secs(10);
    let next = || {
        database
            .next_due(std::slice::from_ref(&rule), exchange_every)
            .unwrap()
    };
    assert_eq!(next(), None);
    let put = |id: &str, expires: UnixTicks| {
        let metadata = format!(r#"{{"@collection":"As","@expires":"{expires}"}}"#);
        let command = jackdaw_database::Command::Put {
            id: Some(id.to_owned()),
            body: json("{}"),
            metadata: Some(json(&metadata)),
            expected: None,
            keeps_revision: false,
        };
        database.batch(vec![command]).unwrap();
    };
    let in_an_hour = at(&database, 3_600);
    put("later", in_an_hour);
    assert_eq!(next(), Some(in_an_hour));
    assert_eq!(database.next_due(&[], exchange_every).unwrap(), None);
    // What is overdue is not looked at sooner than the rule says.
    put("overdue", at(&database, -5));
    let soon = next().unwrap();
    assert!(soon >= at(&database, 59) && soon <= at(&database, 61));
    // It stays open for what comes within a minute, and sleeps until what comes later.
    drop(database);
    let minute = Duration::from_secs(60);
    let wake_at = |at: UnixTicks| RestRules {
        next_wake: Arc::new(move |_, _| Ok(Wake::At(at))),
        ..rules(Duration::ZERO, 9)
    };
    let now = set.now();
    let soon = UnixTicks(now.0 + 300_000_000);
    assert_eq!(set.close_idle(&wake_at(soon)), 0);
    let later = UnixTicks(now.0 + 1_200_000_000);
    assert_eq!(set.close_idle(&wake_at(later)), 1);
    assert_eq!(set.wake("music"), Some(Wake::At(later)));
    vfs.advance_clock(minute);
    // Opened by maintenance and not used since, it is closed at once.
    drop(set.get_quietly("music").unwrap());
    assert_eq!(set.open_count(), 1);
    assert_eq!(close(&set), 0, "it was created fifteen minutes ago at most");
    vfs.advance_clock(IDLE);
    drop(set.get_quietly("music").unwrap());
    assert_eq!(close(&set), 1);
}
