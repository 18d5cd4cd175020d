//! The tag of a node begins the change vectors of what it writes and ends the ids that it makes;
//! expected change vectors are compared by the changes that they name, not by their text.

use std::path::Path;
use std::sync::Arc;

use jackdaw_database::{CommandResult, Database, DatabaseOptions, Etag, WriteError};
use jackdaw_io::Vfs;
use jackdaw_sim::SimVfs;

use crate::common::{options, put, put_if, store};

fn open_as(node: &str, vfs: &Arc<SimVfs>) -> Database {
    let options = DatabaseOptions {
        node: node.parse().unwrap(),
        ..options()
    };
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Database::open(vfs, Path::new("/music"), "Music", &options).unwrap()
}

#[test]
fn vectors_begin_with_the_tag_and_made_ids_end_with_it() {
    let vfs = SimVfs::new(1);
    let database = open_as("BC", &vfs);
    let own = database.id().clone();
    assert_eq!(store(&database, "a/1", "As", "{}"), format!("BC:1-{own}"));
    let results = database.batch(vec![put("a/", "As", "{}")]).unwrap();
    let [
        CommandResult::Put {
            id, change_vector, ..
        },
    ] = &results[..]
    else {
        panic!("{results:?}");
    };
    assert_eq!(id, "a/0000000000000000002-BC");
    assert_eq!(*change_vector, format!("BC:2-{own}"));
    drop(database);

    // The same files on another node: the etags go on, what was written is shown with its tag.
    let database = open_as("D", &vfs);
    assert_eq!(store(&database, "a/2", "As", "{}"), format!("D:3-{own}"));
    let vector = database.read().unwrap().change_vector();
    assert_eq!(database.origin().etag_of(&vector), Some(Etag(3)));
    assert_eq!(
        database.origin().etag_of(&format!("BC:1-{own}")),
        Some(Etag(1))
    );
}

#[test]
fn an_expected_vector_is_compared_by_its_changes() {
    let vfs = SimVfs::new(2);
    let database = open_as("A", &vfs);
    let own = database.id().clone();
    let other = "B:7-AQEBAQEBAQEBAQEBAQEBAQ";
    database.batch(vec![put_if("a/1", "{}", "")]).unwrap();
    for (etag, expected) in [
        (1, format!("A:1-{own}")),
        (2, format!("B:2-{own}")),
        (3, format!(" A:3-{own} ")),
        (4, format!("A:4-{own},")),
    ] {
        let stored = database.batch(vec![put_if("a/1", r#"{"n":1}"#, &expected)]);
        assert!(stored.is_ok(), "{etag}: {expected}");
    }
    for expected in [
        format!("A:4-{own}"),
        format!("A:6-{own}"),
        other.to_owned(),
        format!("A:5-{own}, {other}"),
        "A:5".to_owned(),
        "5".to_owned(),
        String::new(),
    ] {
        let refused = database.batch(vec![put_if("a/1", r#"{"n":2}"#, &expected)]);
        let actual = match refused {
            Err(WriteError::Conflict { actual, .. }) => actual,
            other => panic!("{expected}: {other:?}"),
        };
        assert_eq!(actual, Some(format!("A:5-{own}")), "{expected}");
    }
}
