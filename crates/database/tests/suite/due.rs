//! Proves that documents expire, are refreshed and archived when the clock of the database says so,
//! that a date which is changed or removed counts no more, and that a restart forgets nothing.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

use std::sync::Arc;
use std::time::Duration;

use jackdaw_base::time::UnixTicks;
use jackdaw_database::{Command, Database, DueKind, DueRule, WriteError};
use jackdaw_io::Vfs;
use jackdaw_sim::SimVfs;

use crate::common::{json, open};

const MINUTE: Duration = Duration::from_secs(60);

fn rule(kind: DueKind) -> DueRule {
    DueRule {
        kind,
        every: MINUTE,
        count_max: None,
    }
}

/// The moment `seconds` from now as metadata has it.
fn moment(vfs: &Arc<SimVfs>, seconds: i64) -> String {
    let now = i64::try_from(vfs.unix_nanos() / 100).unwrap();
    UnixTicks(now + seconds * 10_000_000).to_string()
}

fn put(id: &str, metadata: &str) -> Command {
    Command::Put {
        id: Some(id.to_owned()),
        body: json(r#"{"A":1}"#),
        metadata: Some(json(metadata)),
        expected: None,
        keeps_revision: false,
    }
}

fn dated(id: &str, field: &str, at: &str) -> Command {
    put(
        id,
        &format!(r#"{{"@collection":"Users","{field}":"{at}"}}"#),
    )
}

fn ids(database: &Database) -> Vec<String> {
    let snapshot = database.read().unwrap();
    let rows = snapshot.by_etag(jackdaw_database::Etag(0)).unwrap();
    let mut ids: Vec<String> = rows.map(|row| row.unwrap().id().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn documents_expire_when_their_time_has_come_and_not_before() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    let (soon, later) = (moment(&vfs, 90), moment(&vfs, 3_600));
    let commands = vec![
        dated("users/soon", "@expires", &soon),
        dated("users/later", "@expires", &later),
        dated("users/saved", "@expires", &soon),
        dated("users/moved", "@expires", &soon),
        dated("users/gone", "@expires", &soon),
    ];
    database.batch(commands).unwrap();
    let expire = rule(DueKind::Expiration);
    assert_eq!(database.carry_out_due(&expire, &|| true).unwrap(), 0);
    database
        .batch(vec![
            put("users/saved", r#"{"@collection":"Users"}"#),
            dated("users/moved", "@expires", &later),
            Command::Delete {
                id: "users/gone".to_owned(),
                expected: None,
            },
        ])
        .unwrap();
    // A restart forgets nothing.
    drop(database);
    let database = open(&vfs);
    vfs.advance_clock(Duration::from_secs(100));
    assert_eq!(database.carry_out_due(&expire, &|| true).unwrap(), 1);
    assert_eq!(
        ids(&database),
        ["users/later", "users/moved", "users/saved"]
    );
    vfs.advance_clock(Duration::from_secs(3_600));
    assert_eq!(database.carry_out_due(&expire, &|| true).unwrap(), 2);
    assert_eq!(ids(&database), ["users/saved"]);
    assert!(database.verify().unwrap().is_sound());
}

#[test]
fn it_is_looked_at_as_often_as_the_rule_says_and_for_as_many_as_it_says() {
    let vfs = SimVfs::new(2);
    let database = open(&vfs);
    let past = moment(&vfs, -10);
    let commands = (0..5).map(|number| dated(&format!("u/{number}"), "@expires", &past));
    database.batch(commands.collect()).unwrap();
    let few = DueRule {
        count_max: Some(2),
        ..rule(DueKind::Expiration)
    };
    assert_eq!(database.carry_out_due(&few, &|| true).unwrap(), 2);
    assert_eq!(
        database.carry_out_due(&few, &|| true).unwrap(),
        0,
        "a minute has not passed"
    );
    vfs.advance_clock(MINUTE);
    assert_eq!(database.carry_out_due(&few, &|| true).unwrap(), 2);
    vfs.advance_clock(MINUTE);
    assert_eq!(database.carry_out_due(&few, &|| true).unwrap(), 1);
}

#[test]
fn refreshing_changes_a_document_and_archiving_marks_it() {
    let vfs = SimVfs::new(3);
    let database = open(&vfs);
    let past = moment(&vfs, -10);
    let metadata =
        format!(r#"{{"@collection":"Users","Own":1,"@refresh":"{past}","@archive-at":"{past}"}}"#);
    database.batch(vec![put("users/1", &metadata)]).unwrap();
    let shown = |database: &Database| {
        let snapshot = database.read().unwrap();
        let row = snapshot.get("users/1").unwrap().unwrap();
        (
            row.etag().0,
            row.metadata().unwrap().root().to_json(),
            row.flags().text(),
        )
    };
    assert_eq!(
        database
            .carry_out_due(&rule(DueKind::Refresh), &|| true)
            .unwrap(),
        1
    );
    let archive_only = format!(r#"{{"Own":1,"@archive-at":"{past}"}}"#);
    assert_eq!(shown(&database), (2, archive_only, String::new()));
    assert_eq!(
        database
            .carry_out_due(&rule(DueKind::Archival), &|| true)
            .unwrap(),
        1
    );
    let archived = r#"{"Own":1,"@archived":true}"#.to_owned();
    assert_eq!(shown(&database), (3, archived, String::new()));
    vfs.advance_clock(MINUTE);
    for kind in DueKind::ALL {
        assert_eq!(database.carry_out_due(&rule(kind), &|| true).unwrap(), 0);
    }
}

#[test]
fn a_date_that_is_none_is_refused() {
    let vfs = SimVfs::new(4);
    let database = open(&vfs);
    let refused = database.batch(vec![dated("u/1", "@expires", "tomorrow")]);
    let Err(error @ WriteError::InvalidDate { .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(error.to_string().contains("'tomorrow'"), "{error}");
    assert_eq!(ids(&database).len(), 0);
}

#[test]
fn a_backlog_ends_when_the_rule_does() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    let past = moment(&vfs, -1);
    for thousand in 0..3 {
        let ids = (0..1_000).map(|number| format!("users/{thousand}-{number}"));
        let commands = ids.map(|id| dated(&id, "@expires", &past)).collect();
        database.batch(commands).unwrap();
    }
    // Switched off while the first transaction runs.
    let asked = std::cell::Cell::new(0);
    let may_go_on = || asked.replace(asked.get() + 1) == 0;
    let gone = database.carry_out_due(&rule(DueKind::Expiration), &may_go_on);
    assert_eq!(gone.unwrap(), 1_024);
    assert_eq!(ids(&database).len(), 3_000 - 1_024);
}
