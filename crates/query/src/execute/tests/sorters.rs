//! Orders that sorters make: the same as plain ones where they say the same, with pages, with other
//! clauses and over an index; failures have their kinds.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jackdaw_script::sorter::Sorter;

use crate::error::QueryError;
use crate::execute::ExecuteOptions;
use crate::sorters::Sorters;
use crate::test_source::{TestDatabase, TestIndex, TestSource, bound, run_bound};
use jackdaw_model::Scope;

const CODE: &str = r#"
public class NAME : FieldComparator
{
    private readonly string _field;
    private readonly string[] _values;
    private string[] _current;
    private string _bottom;
    public NAME(string fieldName, int numHits, int sortPos, bool reversed, List<string> diagnostics)
    {
        _field = fieldName;
        _values = new string[numHits];
    }
    private static int By(string a, string b) { COMPARE }
    public override int Compare(int slot1, int slot2) => By(_values[slot1], _values[slot2]);
    public override void SetBottom(int slot) { _bottom = _values[slot]; }
    public override int CompareBottom(int doc, IState state) => By(_bottom, _current[doc]);
    public override void Copy(int slot, int doc, IState state) { _values[slot] = _current[doc]; }
    public override void SetNextReader(IndexReader reader, int docBase, IState state)
    {
        _current = FieldCache_Fields.DEFAULT.GetStrings(reader, _field, state);
    }
    public override IComparable this[int slot] => _values[slot];
}"#;

#[derive(Debug)]
struct Known;

impl Sorters for Known {
    fn find(&self, name: &str) -> Result<Option<Arc<Sorter>>, QueryError> {
        let compare = match name {
            "Plain" => "return string.CompareOrdinal(a, b);",
            "Length" => "return (a?.Length ?? 0).CompareTo(b?.Length ?? 0);",
            "Same" => "return 0;",
            "Thrower" => "throw new FormatException(a + b);",
            "Endless" => "while (true) { }",
            _ => return Ok(None),
        };
        let code = CODE.replace("NAME", name).replace("COMPARE", compare);
        Ok(Some(Arc::new(Sorter::compile(name, &code).unwrap())))
    }
}

fn database() -> TestDatabase {
    let mut database = TestDatabase::default();
    let names = [
        "pear", "Fig", "apple", "fig", "banana", "kiwi", "Date", "plum",
    ];
    for (number, name) in (0..).zip(names) {
        let body = format!(r#"{{"F":"{name}","N":{}}}"#, number % 3);
        database.put(&format!("a/{number}"), "Cars", &body);
    }
    database.put("a/8", "Cars", r#"{"N":1}"#);
    database
}

fn ids(text: &str, source: &TestSource<'_>) -> Result<Vec<String>, QueryError> {
    let query = bound(text, r#"{"s":"Length"}"#)?;
    let options = ExecuteOptions {
        sorters: &query.find_sorters(Some(&Known))?,
        ..ExecuteOptions::default()
    };
    let result = run_bound(&query, source, &options)?;
    Ok(result.ids())
}

#[test]
fn a_sorter_that_compares_as_the_index_does_gives_the_order_of_the_index() {
    let database = database();
    let bare = TestSource::without_index(&database);
    let needed = bound("from Cars order by custom(F, 'Plain'), N as long", "{}").unwrap();
    let needed = needed.index_requirement().unwrap();
    let index = TestIndex::build(&database, Scope::Collection("Cars".into()), &needed.fields);
    let reader = index.reader();
    let indexed = TestSource {
        database: &database,
        index: Some((&index, &reader)),
    };
    for tail in [
        "order by F",
        "order by F desc",
        "order by F limit 3",
        "order by F desc limit 2, 4",
        "order by F, N as long desc",
        "order by N as long, F desc limit 5",
        "where N < 2 order by F",
        "where N < 2 order by N as long desc, F limit 1, 3",
    ] {
        let plain = format!("from Cars {tail}");
        let custom = plain
            .replace("F desc", "custom(F, 'Plain') desc")
            .replace("by F", "by custom(F, 'Plain')");
        let custom = custom.replace(", F ", ", custom(F, 'Plain') ");
        assert_ne!(plain, custom);
        for source in [&bare, &indexed] {
            assert_eq!(
                ids(&custom, source).unwrap(),
                ids(&plain, source).unwrap(),
                "{custom}"
            );
        }
    }
}

#[test]
fn sorters_are_clauses_among_others() {
    let database = database();
    let source = TestSource::without_index(&database);
    for (text, expected) in [
        ("from Cars order by custom(F, $s), F", "8 1 3 6 5 0 7 2 4"),
        (
            "from Cars order by custom(F, 'Length') desc, F desc",
            "4 2 7 0 5 6 1 3 8",
        ),
        ("from Cars order by custom(F, 'Same')", "0 1 2 3 4 5 6 7 8"),
        ("from Cars order by custom(F, 'Same') desc limit 2", "0 1"),
        (
            "from Cars order by custom(F, 'Same'), custom(F, 'Length') desc limit 2",
            "4 2",
        ),
        ("from Cars where N = 7 order by custom(F, 'Thrower')", ""),
        ("from Cars as c order by custom(c.F, 'Length') limit 1", "8"),
    ] {
        let found = ids(text, &source).unwrap();
        let found: Vec<&str> = found.iter().map(|id| &id[2..]).collect();
        assert_eq!(found.join(" "), expected, "{text}");
    }
}

#[test]
fn failures_of_sorters_have_their_kinds() {
    let database = database();
    let source = TestSource::without_index(&database);
    match ids("from Cars order by custom(F, 'Thrower')", &source) {
        Err(QueryError::Sorter { exception, message }) => {
            assert_eq!(exception, "System.FormatException");
            assert_eq!(message, "figpear");
        }
        other => panic!("{other:?}"),
    }
    match ids("from Cars where N = 7 order by custom(F, 'None')", &source) {
        Err(QueryError::SorterMissing(name)) => assert_eq!(name, "None"),
        other => panic!("{other:?}"),
    }
    match ids("from Cars order by custom(F, 'Endless')", &source) {
        Err(QueryError::Operation(message)) => assert!(message.contains("steps"), "{message}"),
        other => panic!("{other:?}"),
    }
    let is_over = AtomicBool::new(true);
    let query = bound("from Cars order by custom(F, 'Endless')", "{}").unwrap();
    let sorters = query.find_sorters(Some(&Known)).unwrap();
    let options = ExecuteOptions {
        interrupt: Some(&is_over),
        sorters: &sorters,
        ..ExecuteOptions::default()
    };
    let stopped = run_bound(&query, &source, &options);
    assert!(matches!(stopped, Err(QueryError::Stopped)));
}

#[test]
fn texts_that_other_clauses_order_by_count_as_memory() {
    let mut database = database();
    for number in 0..20 {
        let body = format!(r#"{{"F":"x","Text":"{}"}}"#, "long ".repeat(20_000));
        database.put(&format!("long/{number}"), "Cars", &body);
    }
    let source = TestSource::without_index(&database);
    let query = bound("from Cars order by custom(F, 'Same'), Text", "{}").unwrap();
    let options = ExecuteOptions {
        sorters: &query.find_sorters(Some(&Known)).unwrap(),
        memory_bytes_max: 1 << 20,
        ..ExecuteOptions::default()
    };
    let refused = run_bound(&query, &source, &options);
    assert!(matches!(refused, Err(QueryError::Memory { .. })));
}
