//! Places in static indexes: fields that maps of either language make are asked and ordered by
//! under their names, in the units of their definition, and rows show the distance.
//!
//! The expected distances are those that RavenDB 7.1.5 answers for the same documents.

use std::sync::Arc;
use std::time::Duration;

use jackdaw_database::{
    Database, QueryError, QueryRequest, QueryResult, RowBuffer, StaticDefinition,
};
use jackdaw_sim::SimVfs;

use crate::common::{json, open, store};

const LONG: Duration = Duration::from_secs(30);

const CSHARP: &str = "from i in docs.Items select new { i.name, \
                      Pos = CreateSpatialField(i.lat, i.lng), W = CreateSpatialField(i.wkt) }";
const JAVASCRIPT: &str = "map('Items', i => ({ name: i.name, \
                          Pos: createSpatialField(i.lat, i.lng), W: createSpatialField(i.wkt) }))";

/// Distances from 35.1, -107.1.
const KM: [f64; 3] = [0.0, 14.362608413866019, 58.87589885236103];
const MILES: [f64; 3] = [0.0, 8.924511110353157, 36.583787449963005];

fn put_index(database: &Database, name: &str, map: &str, fields: &str) {
    let text = format!(r#"{{"Name":"{name}","Maps":[{map:?}],"Fields":{{{fields}}}}}"#);
    let definition = StaticDefinition::read(json(&text).root().as_object().unwrap()).unwrap();
    database.put_index(definition).unwrap();
}

fn with_items() -> Arc<Database> {
    let database = open(&SimVfs::new(1));
    for (number, place) in [
        (1, r#","lat":35.1,"lng":-107.1,"wkt":"POINT (-107.1 35.1)""#),
        (2, r#","lat":35.2,"lng":-107,"wkt":"POINT (-107 35.2)""#),
        (3, r#","lat":35.3,"lng":-106.5,"wkt":"POINT (-106.5 35.3)""#),
        (4, ""),
        (5, r#","lat":null,"lng":7,"wkt":null"#),
    ] {
        let body = format!(r#"{{"name":"n{number}"{place}}}"#);
        store(&database, &format!("items/{number}"), "Items", &body);
    }
    put_index(&database, "CSharp", CSHARP, "");
    put_index(&database, "Script", JAVASCRIPT, "");
    let miles = r#""Pos":{"Spatial":{"Type":"Geography","Units":"Miles"}}"#;
    put_index(&database, "Miles", CSHARP, miles);
    let plane = r#""Pos":{"Spatial":{"Type":"Cartesian","MinX":-200,"MaxX":200}}"#;
    put_index(&database, "Plane", CSHARP, plane);
    database
}

fn run(database: &Database, text: &str) -> Result<(QueryResult, Vec<String>), QueryError> {
    let mut rows = RowBuffer::default();
    let request = QueryRequest {
        text,
        wait: Some(LONG),
        ..QueryRequest::default()
    };
    let result = database.query(&request, &mut rows)?;
    let list = json(&format!("[{}]", String::from_utf8(rows.rows).unwrap()));
    let rows = list.root().as_array().unwrap();
    Ok((result, rows.iter().map(|row| row.to_json()).collect()))
}

fn refusal(database: &Database, text: &str) -> String {
    run(database, text).unwrap_err().to_string()
}

/// Numbers of the items that a query finds, in its order.
fn items(database: &Database, text: &str) -> String {
    let (_, rows) = run(database, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let id = |row: &String| {
        let row = json(row);
        let id = row.root().get_path(&["@metadata", "@id"]).unwrap();
        id.as_str().unwrap().rsplit_once('/').unwrap().1.to_owned()
    };
    rows.iter().map(id).collect()
}

/// What rows show of places: `Distance` or `NaN`.
fn shown(database: &Database, text: &str) -> Vec<Option<f64>> {
    let (_, rows) = run(database, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let shown = |row: &String| {
        let row = json(row);
        let spatial = row.root().get_path(&["@metadata", "@spatial"]).unwrap();
        let member = |name: &str| {
            let value = spatial.get(name).unwrap();
            match value.as_str() {
                Some(text) => {
                    assert_eq!(text, "NaN");
                    None
                }
                None => Some(value.to_json().parse::<f64>().unwrap()),
            }
        };
        assert_eq!(member("Latitude").is_some(), member("Distance").is_some());
        assert_eq!(member("Longitude").is_some(), member("Distance").is_some());
        member("Distance")
    };
    rows.iter().map(shown).collect()
}

fn then_nothing(known: [f64; 3]) -> Vec<Option<f64>> {
    let known = known.map(Some);
    [&known[..], &[None, None]].concat()
}

#[test]
fn fields_of_places_are_asked_by_name() {
    let database = with_items();
    for index in ["CSharp", "Script"] {
        for field in ["Pos", "W", "'Pos'", "\"W\""] {
            for (condition, expected) in [
                ("within(FIELD, spatial.circle(30, 35.1, -107))", "12"),
                ("within(FIELD, spatial.circle(5, 35.1, -107.1))", "1"),
                ("intersects(FIELD, spatial.circle(9000, 35.1, -107))", "123"),
                ("disjoint(FIELD, spatial.circle(30, 35.1, -107))", "3"),
                (
                    "within(FIELD, spatial.wkt('POLYGON((-107.05 35, -106 35, -106 36, \
                     -107.05 36, -107.05 35))'))",
                    "23",
                ),
                (
                    "within(FIELD, spatial.circle(9, 35.1, -107, 'miles'))",
                    "12",
                ),
            ] {
                let condition = condition.replace("FIELD", field);
                let text = format!("from index '{index}' where spatial.{condition}");
                let mut found: Vec<char> = items(&database, &text).chars().collect();
                found.sort_unstable();
                assert_eq!(found.iter().collect::<String>(), expected, "{text}");
            }
        }
    }
}

#[test]
fn rows_show_the_distance_that_orders_them() {
    let database = with_items();
    let from = "spatial.point(35.1, -107.1)";
    for index in ["CSharp", "Script"] {
        for field in ["Pos", "W", "'Pos'"] {
            let by = |more: &str| {
                format!("from index '{index}' order by spatial.distance({field}, {from}){more}")
            };
            assert_eq!(items(&database, &by("")), "12345");
            assert_eq!(shown(&database, &by("")), then_nothing(KM));
            // What is nowhere comes last in both directions.
            assert_eq!(items(&database, &by(" desc")), "32145");
            assert_eq!(shown(&database, &by(" select name")), then_nothing(KM));
            assert_eq!(shown(&database, &by(" limit 1")), [Some(0.0)]);
            assert_eq!(shown(&database, &by(" limit 1, 1")), [Some(KM[1])]);
        }
    }
    // The first distance of several, wherever it stands.
    let text = "from index 'CSharp' order by name desc, spatial.distance(Pos, \
                spatial.point(35.1, -107.1)), spatial.distance(W, spatial.point(0, 0))";
    let mut expected = then_nothing(KM);
    expected.reverse();
    assert_eq!(shown(&database, text), expected);
}

#[test]
fn automatic_indexes_show_distances_too() {
    let database = with_items();
    for place in ["spatial.point(lat, lng)", "spatial.wkt(wkt)"] {
        let by = |condition: &str| {
            format!(
                "from Items {condition} order by spatial.distance({place}, \
                 spatial.point(35.1, -107.1))"
            )
        };
        assert_eq!(shown(&database, &by("")), then_nothing(KM));
        let near = by(&format!(
            "where spatial.within({place}, spatial.circle(30, 35.1, -107))"
        ));
        assert_eq!(shown(&database, &near), [Some(KM[0]), Some(KM[1])]);
    }
    let (_, rows) = run(&database, "from Items where name = 'n1' order by name").unwrap();
    assert!(!rows[0].contains("@spatial"), "{rows:?}");
}

#[test]
fn definitions_say_the_units_of_their_fields() {
    let database = with_items();
    let by = "from index 'Miles' order by spatial.distance(Pos, spatial.point(35.1, -107.1)";
    assert_eq!(shown(&database, &format!("{by})")), then_nothing(MILES));
    // Rounded up to 10 miles both are as far; in kilometers they are not.
    let rounded = |index: &str| {
        let text = format!(
            "from index '{index}' where name in ('n1', 'n2') order by \
             spatial.distance(Pos, spatial.point(35.1001, -107.1), 10), name desc"
        );
        items(&database, &text)
    };
    assert_eq!(rounded("Miles"), "21");
    assert_eq!(rounded("CSharp"), "12");
    for (shape, expected) in [
        ("spatial.circle(10, 35.1, -107)", "12"),
        ("spatial.circle(10, 35.1, -107, 'Kilometers')", "1"),
        ("spatial.wkt('CIRCLE(-107 35.1 d=10)')", "12"),
        ("spatial.wkt('CIRCLE(-107 35.1 d=10)', 'Kilometers')", "1"),
    ] {
        let text = format!("from index 'Miles' where spatial.within(Pos, {shape}) order by name");
        assert_eq!(items(&database, &text), expected, "{text}");
    }
    // Another field of the index has its own.
    let text = "from index 'Miles' order by spatial.distance(W, spatial.point(35.1, -107.1))";
    assert_eq!(shown(&database, text), then_nothing(KM));
}

#[test]
fn cartesian_fields_measure_in_degrees() {
    let database = with_items();
    let text = "from index 'Plane' order by spatial.distance(Pos, spatial.point(35.1, -107.1))";
    let found = shown(&database, text);
    for (found, expected) in found.iter().zip([0.0, 0.141_421_356, 0.632_455_532]) {
        assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?}");
    }
    assert_eq!(found[3..], [None, None]);
    // A circle would be one on the sphere.
    for circle in [
        "spatial.circle(0.15, 35.1, -107)",
        "spatial.wkt('CIRCLE(-107 35.1 d=1)')",
    ] {
        let text = format!("from index 'Plane' where spatial.within(Pos, {circle})");
        let why = refusal(&database, &text);
        assert!(why.contains("Cartesian field 'Pos'"), "{why}");
    }
}

#[test]
fn places_of_unknown_fields_are_refused() {
    let database = with_items();
    for text in [
        "from index 'CSharp' where spatial.within(nope, spatial.circle(30, 35.1, -107))",
        "from index 'CSharp' order by spatial.distance(nope, spatial.point(35.1, -107.1))",
        "from index 'CSharp' order by spatial.distance(spatial.point(lat, lng), \
         spatial.point(35.1, -107.1))",
    ] {
        let why = refusal(&database, text);
        assert!(why.contains("is not indexed in 'CSharp'"), "{text}: {why}");
    }
    let text = "from index 'CSharp' where spatial.within(name, spatial.circle(30, 35.1, -107))";
    assert_eq!(items(&database, text), "");
}

#[test]
fn distances_of_shapes_are_measured_at_their_middle() {
    let database = open(&SimVfs::new(2));
    for (number, wkt) in [
        (1, r#""CIRCLE(-107.1 35.1 d=10)""#),
        (2, r#"["POINT(-107.2 35.1)", "POINT(-170 3)"]"#),
        (
            3,
            r#""POLYGON((-107 35, -106 35, -106 36, -107 36, -107 35))""#,
        ),
        (4, r#""LINESTRING (-107 35, -106 36, -105.5 35)""#),
        (5, r#""LINESTRING (0 0, 0 0)""#),
        (6, r#""no shape""#),
    ] {
        let body = format!(r#"{{"wkt":{wkt}}}"#);
        store(&database, &format!("items/{number}"), "Items", &body);
    }
    let map = "map('Items', i => ({ W: [].concat(i.wkt).map(w => createSpatialField(w)) }))";
    put_index(&database, "Shapes", map, "");
    let by = |from: &str| format!("from index 'Shapes' order by spatial.distance(W, {from})");
    let found = shown(&database, &by("spatial.point(35.1, -107.1)"));
    let expected = [0.0, 9.09697171901819, 70.30363465108574, 95.48684420219541];
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found.unwrap() - expected).abs() < 1e-9,
            "{found:?} {expected}"
        );
    }
    assert_eq!(found[5], None);
    // The shape that is measured from has its middle, too: 35.5, -106.5.
    let from = "spatial.wkt('POLYGON((-107 35, -106 35, -106 36, -107 36, -107 35))')";
    assert_eq!(items(&database, &by(from)).chars().next(), Some('3'));
    assert_eq!(shown(&database, &by(from))[0], Some(0.0));
}
