//! Maps and reduces in JavaScript: what they declare and which entries they give.

use jackdaw_base::time::UnixTicks;
use jackdaw_script::index::{
    IndexedCounter, IndexedDocument, IndexedSeries, IndexedSeriesEntry, MapProgram, MapSource,
    ReduceProgram, RunError,
};

use crate::index_world::{IndexWorld, compile, map_error, mapped, mapped_by, reduced};

#[test]
fn a_map_gives_one_entry_for_an_object() {
    let map = compile("map('Users', function (u){ return { name: u.name, count: 1};})");
    let users = vec!["Users".to_owned()];
    assert_eq!(*map.source(), MapSource::Documents { collections: users });
    assert_eq!(map.fields(), ["name", "count"]);
    assert!(!map.has_fan_out());
    assert_eq!(
        mapped_by(&map, r#"{"name":"Ada"}"#),
        [r#"{"name":"Ada","count":1}"#]
    );
    assert_eq!(mapped_by(&map, "{}"), [r#"{"count":1}"#]);
}

#[test]
fn a_map_gives_an_entry_for_each_element_of_an_array() {
    let text = "map('Boxes', function (b){
        var result = [];
        for (var i = 0; i < b.numbers.length; i++) {
            result.push({ foo: b.foo, sum: b.numbers[i] });
        }
        return result;
    })";
    assert!(compile(text).has_fan_out());
    assert_eq!(
        mapped(text, r#"{"foo":"x","numbers":[4,6]}"#),
        [r#"{"foo":"x","sum":4}"#, r#"{"foo":"x","sum":6}"#]
    );
    assert!(map_error(text, "{}").contains("length") || mapped(text, "{}").is_empty());
}

#[test]
fn members_of_what_is_not_there_are_null() {
    let text = "map('Users', u => ({ city: load(u.address, 'Addresses').city, x: u.a.b.c }))";
    assert_eq!(mapped(text, "{}"), ["{}"]);
    assert_eq!(
        mapped(text, r#"{"address":"addresses/1"}"#),
        [r#"{"city":"Lund"}"#]
    );
    assert_eq!(compile(text).referenced_collections(), ["Addresses"]);
}

#[test]
fn fields_made_by_the_map_have_one_form() {
    let form =
        r#"{"$field":"alias","$value":"Ada","$options":{"Indexing":"Search","Storage":"Yes"}}"#;
    assert_eq!(
        mapped(
            "map('U', u => ({ n: u.n, _: {$value: u.n, $name:'alias', $options: { indexing: \
                'Search', storage: true}} }))",
            r#"{"n":"Ada"}"#
        ),
        [format!(r#"{{"n":"Ada","_":{form}}}"#)]
    );
    assert_eq!(
        mapped(
            "map('U', u => ({ _: u.l.map(x => createField('alias', x, { indexing: 'Search', \
                storage: true, termVector: null })) }))",
            r#"{"l":["Ada"]}"#
        ),
        [format!(r#"{{"_":[{form}]}}"#)]
    );
    assert_eq!(
        mapped(
            "map('U', u => ({ at: createSpatialField(u.x, u.y), area: createSpatialField(u.w), \
                no: createSpatialField(u.q, u.y) }))",
            r#"{"x":1.5,"y":2,"w":"POINT (1 2)"}"#
        ),
        [
            "{\"at\":{\"$spatial\":{\"Latitude\":1.5,\"Longitude\":2}},\"area\":{\"$spatial\":\"P\
                OINT (1 2)\"},\"no\":null}"
        ]
    );
    // Texts that are numbers make places too.
    assert_eq!(
        mapped(
            "map('U', u => ({ at: createSpatialField(u.x, u.y), no: createSpatialField(u.w, u.y), \
                none: createSpatialField('', u.y) }))",
            r#"{"x":"1.5","y":" -2 ","w":"north"}"#
        ),
        [
            "{\"at\":{\"$spatial\":{\"Latitude\":\"1.5\",\"Longitude\":\" -2 \"}},\"no\":null,\
                \"none\":null}"
        ]
    );
    assert_eq!(
        mapped(
            "map('U', u => boost({ n: u.n, m: boost(u.n, 2) }, 10))",
            r#"{"n":1}"#
        ),
        [r#"{"n":1,"m":{"$value":1,"$boost":2},"$boost":10}"#]
    );
}

#[test]
fn documents_tell_their_id_and_metadata() {
    assert_eq!(
        mapped(
            "map('U', u => ({ i: id(u), c: getMetadata(u)['@collection'] }))",
            "{}"
        ),
        [r#"{"i":"albums/1","c":"Albums"}"#]
    );
    assert_eq!(
        mapped(
            "map('U', u => ({ c: counterNamesFor(u), t: timeSeriesNamesFor(u), a: \
                attachmentsFor(u).map(a => a.Name), x: cmpxchg('k').v }))",
            "{}"
        ),
        [r#"{"c":["likes"],"t":["Heart"],"a":["cover.png"],"x":7}"#]
    );
}

#[test]
fn additional_sources_are_functions_of_the_map() {
    let sources = [(
        "s".to_owned(),
        "function mr(x) { return 'Mr. ' + x; }".to_owned(),
    )];
    let map = MapProgram::compile("map('U', function(u) { return { n: mr(u.n)}; })", &sources);
    assert_eq!(
        mapped_by(&map.unwrap(), r#"{"n":"X"}"#),
        [r#"{"n":"Mr. X"}"#]
    );
}

#[test]
fn counters_and_time_series_are_mapped() {
    let map = compile(
        "counters.map('Users', 'Likes', c => ({ v: c.Value, n: c.Name, u: c.DocumentId }))",
    );
    let (collections, names) = (vec!["Users".to_owned()], vec!["Likes".to_owned()]);
    assert_eq!(*map.source(), MapSource::Counters { collections, names });
    let counter = IndexedCounter {
        document_id: "users/1",
        name: "Likes",
        value: 3,
    };
    let entries = IndexWorld::default().entries(&map, IndexedDocument::Counter(counter));
    assert_eq!(entries.unwrap(), [r#"{"v":3,"n":"Likes","u":"users/1"}"#]);

    let map = compile(
        "timeSeries.map('Users', function (ts) {
            return ts.Entries.map(e => ({
                v: e.Value, w: e.Values[1], tag: e.Tag, at: e.Timestamp,
                u: ts.DocumentId, n: ts.Count,
            }));
        })",
    );
    let entry = IndexedSeriesEntry {
        timestamp: UnixTicks(12_340_000),
        tag: Some("t/1"),
        values: &[1.5, 2.0],
    };
    let series = IndexedSeries {
        document_id: "users/1",
        name: "Heart",
        entries: &[entry],
    };
    let entries = IndexWorld::default()
        .entries(&map, IndexedDocument::Series(series))
        .unwrap();
    assert!(entries[0].contains(r#""v":1.5,"w":2"#), "{entries:?}");
    assert!(
        entries[0].contains(r#""at":"1970-01-01T00:00:01.2340000Z","u":"users/1","n":1"#),
        "{entries:?}"
    );
}

#[test]
fn a_group_is_reduced() {
    let text = "groupBy(x => x.name).aggregate(g => { return { name: g.key, count: \
        g.values.reduce((t, v) => v.count + t, 0) };})";
    let reduce = ReduceProgram::compile(text, &[]).unwrap();
    assert_eq!(reduce.group_by(), ["name"]);
    assert_eq!(reduce.fields(), ["name", "count"]);
    let entries = [r#"{"name":"a","count":1}"#, r#"{"name":"a","count":4}"#];
    assert_eq!(reduced(&reduce, &entries), [r#"{"name":"a","count":5}"#]);

    let text = "groupBy(r => ({ day: r.day, city: r.city })).aggregate(g => ({ day: g.key.day, \
        city: g.key.city, n: g.values.length }))";
    let reduce = ReduceProgram::compile(text, &[]).unwrap();
    assert_eq!(reduce.group_by(), ["day", "city"]);
    let entries = [r#"{"day":"d","city":"c"}"#];
    assert_eq!(
        reduced(&reduce, &entries),
        [r#"{"day":"d","city":"c","n":1}"#]
    );
}

#[test]
fn what_declares_nothing_is_refused() {
    for (text, expected) in [
        ("foo('Cars', c => 1)", "not a function"),
        ("const x = 1", "declares no map"),
        ("map('Cars', c => { return { a: c.F ", "SyntaxError"),
        ("map('Cars', 7)", "has to be a function"),
        ("map(c => ({}), 'Cars')", "has to be"),
        ("groupBy(x => x.a).aggregate(g => ({}))", "is a reduce"),
        ("map('Cars', c => ({ a: 1\n b: 2 }))", "line 2"),
    ] {
        let error = MapProgram::compile(text, &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let error = ReduceProgram::compile("groupBy(x => x.a + 1).aggregate(g => ({}))", &[]);
    assert!(error.unwrap_err().to_string().contains("name fields"));
}

#[test]
fn a_failed_document_does_not_stop_the_next() {
    let map = compile(
        "map('U', u => { if (u.bad) { while (true) {} } return { x: u.y.toUpperCase() }; })",
    );
    let mut world = IndexWorld::default();
    assert!(matches!(
        world.of_document(&map, r#"{"bad":true}"#),
        Err(RunError::Document(_))
    ));
    assert_eq!(
        world.of_document(&map, r#"{"y":"a"}"#).unwrap(),
        [r#"{"x":"A"}"#]
    );
    world.fails = true;
    let map = compile("map('U', u => ({ x: load(u.y, 'A') }))");
    assert!(matches!(
        world.of_document(&map, r#"{"y":"a"}"#),
        Err(RunError::Fatal(_))
    ));
}

#[test]
fn fields_made_by_name_have_a_name_and_known_options() {
    let entry = |call: &str| {
        let map = compile(&format!("map('U', u => ({{ _: {call} }}))"));
        match IndexWorld::default().of_document(&map, r#"{"n":"Ann","v":1,"o":{"a":1}}"#) {
            Ok(entries) => entries.join(" "),
            Err(error) => error.to_string(),
        }
    };
    for (call, expected) in [
        (
            "createField(u.n, u.v, { indexing: 'exact', storage: true, termVector: null })",
            r#"{"_":{"$field":"Ann","$value":1,"$options":{"Indexing":"exact","Storage":"Yes"}}}"#,
        ),
        (
            "createField('o', u.o, { Storage: 'No', other: 'x' })",
            r#"{"_":{"$field":"o","$value":{"a":1},"$options":{"Storage":"No"}}}"#,
        ),
        (
            "createField('o', null)",
            r#"{"_":{"$field":"o","$value":null,"$options":{}}}"#,
        ),
    ] {
        assert_eq!(entry(call), expected, "{call}");
    }
    for (call, expected) in [
        ("createField(null, u.v)", "needs the name"),
        ("createField(u.none, u.v, {})", "needs the name"),
        ("createField('', u.v)", "needs the name"),
        ("createField(7, u.v)", "needs the name"),
        (
            "createField('x', 1, { indexing: 'Nope' })",
            "'Nope' is no value of the option indexing",
        ),
        (
            "createField('x', 1, { storage: 'maybe' })",
            "'maybe' is no value of the option storage",
        ),
        (
            "createField('x', 1, { termVector: 3 })",
            "'3' is no value of the option termVector",
        ),
    ] {
        let told = entry(call);
        assert!(told.contains(expected), "{call}: {told}");
    }
}
