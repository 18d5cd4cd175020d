//! Queries: parameters of any type, rows of every kind, and errors that say what is wrong.

use std::ops::ControlFlow;

use jackdaw::{Error, Rows};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::common::{Album, album, music};

fn titles(rows: &Rows<Album>) -> Vec<&str> {
    rows.iter().map(|row| row.title.as_str()).collect()
}

#[test]
fn rows_are_documents_in_their_order() {
    let db = music();
    let text = "from Albums where Year > $year order by Year desc";
    let rows = db.query::<Album>(text).bind("year", 1971).rows().unwrap();
    assert_eq!(titles(&rows), ["Mingus", "Hejira"]);
    assert_eq!((rows.total(), rows.is_stale()), (Some(2), false));
    assert_eq!(rows.index(), "Auto/Albums/ByYear");
    // What was just stored is found.
    db.put("albums/4", &album("Dog Eat Dog", 1985)).unwrap();
    let rows = db.query::<Album>(text).bind("$year", 1980).rows().unwrap();
    assert_eq!(titles(&rows), ["Dog Eat Dog"]);
}

#[test]
fn parameters_are_of_any_serde_type() {
    #[derive(Serialize)]
    #[serde(transparent)]
    struct Year(u64);
    let db = music();
    let count = |query: jackdaw::Query<'_, ()>| query.count().unwrap().unwrap();
    let text = "from Albums where Year in ($years)";
    assert_eq!(count(db.query(text).bind("years", [1971, 1979])), 2);
    assert_eq!(count(db.query(text).bind("years", Vec::<u16>::new())), 0);
    let text = "from Albums where Year = $year";
    assert_eq!(count(db.query(text).bind("year", Year(1976))), 1);
    assert_eq!(count(db.query(text).bind("year", None::<u8>)), 0);
    assert_eq!(count(db.query(text).bind("year", 1).bind("year", 1979)), 1);
    let text = "from Albums where Title = $title";
    assert_eq!(count(db.query(text).bind("title", "blue")), 1);
    let nan = db.query::<Album>(text).bind("title", f64::NAN).rows();
    assert!(
        matches!(nan, Err(Error::Value(ref error)) if error.path() == "title"),
        "{nan:?}"
    );
}

#[test]
fn selected_fields_come_without_metadata() {
    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Row {
        #[serde(rename = "Title")]
        title: String,
        #[serde(rename = "Id")]
        id: String,
    }
    let db = music();
    let text = "from Albums where Year = 1971 select Title, id() as Id";
    let rows = db.query::<Row>(text).rows().unwrap();
    let (title, id) = ("Blue".to_owned(), "albums/1".to_owned());
    assert_eq!(rows.into_vec(), [Row { title, id }]);
    let whole = db
        .query::<Value>("from Albums where Year = 1971")
        .rows()
        .unwrap();
    assert_eq!(whole[0], json!({"Title": "Blue", "Year": 1971}));
}

#[test]
fn scripts_groups_and_counts_make_rows() {
    let db = music();
    let text = "declare function row(a) { return { Decade: Math.floor(a.Year / 10) * 10, \
                Exact: a.Year }; } from Albums as a order by Year select row(a)";
    let rows = db.query::<Value>(text).rows().unwrap();
    assert_eq!(rows[2], json!({"Decade": 1970, "Exact": 1979}));
    let text = "from Albums group by Year where Year > 1975 select Year, count() as Count";
    let rows = db.query::<Value>(text).rows().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["Count"], 1);
    let text = "from Albums where Year > 1975 limit 1";
    assert_eq!(db.query::<()>(text).count().unwrap(), Some(2));
}

#[test]
fn documents_come_with_ids_and_versions() {
    let db = music();
    let text = "from Albums where Year < 1979 order by Year select Title";
    let found = db.query::<()>(text).documents().unwrap();
    assert_eq!([found[0].id(), found[1].id()], ["albums/1", "albums/2"]);
    assert_eq!(found[0].read::<Album>().unwrap(), album("Blue", 1971));
    assert_eq!(
        found[0].version(),
        db.document("albums/1").unwrap().unwrap().version()
    );
    let groups = db
        .query::<()>("from Albums group by Year select Year")
        .documents();
    assert!(matches!(groups, Err(Error::Query(_))), "{groups:?}");
}

#[test]
fn a_walk_over_rows_ends_where_the_caller_wants() {
    let db = music();
    let mut seen = Vec::new();
    let query = db.query::<Album>("from Albums order by Year");
    query
        .for_each(|row| {
            seen.push(row.title);
            match seen.len() {
                2 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        })
        .unwrap();
    assert_eq!(seen, ["Blue", "Hejira"]);
    let first = db
        .query::<Album>("from Albums order by Year desc")
        .first()
        .unwrap();
    assert_eq!(first.unwrap().title, "Mingus");
    assert!(
        db.query::<Album>("from Albums where Year = 1")
            .first()
            .unwrap()
            .is_none()
    );
}

#[test]
fn mistakes_in_queries_are_told_apart() {
    let db = music();
    let of = |text: &str| db.query::<Album>(text).rows().unwrap_err();
    let error = of("from Albums where");
    assert!(matches!(error, Error::Query(_)), "{error:?}");
    let error = of("from Albums where Year = $year");
    assert!(matches!(error, Error::Query(_)), "{error:?}");
    assert!(error.to_string().contains("$year"), "{error}");
    let error = of("from index 'None'");
    assert!(matches!(error, Error::Missing(_)), "{error:?}");
    let error = of("from Albums select Title");
    assert!(matches!(error, Error::Value(_)), "{error:?}");
    assert!(error.to_string().contains("Year"), "{error}");
    let error = db
        .query::<Album>("from Albums")
        .in_snapshot("none")
        .rows()
        .unwrap_err();
    assert!(matches!(error, Error::Missing(_)), "{error:?}");
}
