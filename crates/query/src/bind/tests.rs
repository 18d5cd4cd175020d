//! Proves: conditions bind to the tests they mean, names of automatic indexes are those of the
//! protocol, and what has no meaning or is not executed is refused in the right words.

use jackdaw_document::{DocumentBuf, Limits};

use super::*;
use crate::error::QueryError;
use crate::parameters::Parameters;
use crate::syntax::parse;

fn bind_with(text: &str, parameters: &str) -> Result<BoundQuery, QueryError> {
    let parameters = DocumentBuf::from_json(parameters.as_bytes(), &Limits::default()).unwrap();
    bind(
        &parse(text).unwrap(),
        Parameters::new(parameters.document()).unwrap(),
    )
}

fn condition(text: &str, parameters: &str) -> String {
    match bind_with(&format!("from Cars as c where {text}"), parameters) {
        Ok(query) => query.predicate.to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn conditions_become_tests() {
    for (text, parameters, expected) in [
        ("F = 1", "{}", "F = 1"),
        ("c.F = 'X'", "{}", "F = 'x'"),
        ("exact(c.F = 'X')", "{}", "exact(F) = 'X'"),
        ("F != 1", "{}", "not (F = 1)"),
        ("F != null", "{}", "not (F = null)"),
        ("F = true", "{}", "F = 'true'"),
        ("F > 1.5", "{}", "F > 1.5"),
        ("F <= 'B'", "{}", "F <= 'b'"),
        ("F > null", "{}", "not true"),
        ("F between 1 and 2.5", "{}", "F >= 1 and <= 2.5"),
        ("F between 10 and 1", "{}", "not true"),
        ("F in ()", "{}", "not true"),
        ("F in ('a')", "{}", "F = 'a'"),
        ("F in (1, null, 3)", "{}", "F in (3 values)"),
        ("F in ($p)", r#"{"p":["a","B","A"]}"#, "F in (2 values)"),
        ("F all in ('a', 'b')", "{}", "F = 'a' and F = 'b'"),
        ("F all in ()", "{}", "not true"),
        ("F = $p", r#"{"p":{"x":1}}"#, "not true"),
        ("id() = 'A/1'", "{}", "id() = 'a/1'"),
        ("id(c) in ('A/1','a/1')", "{}", "id() = 'a/1'"),
        (
            "startsWith(id(), 'Cars/')",
            "{}",
            "id() starts with 'cars/'",
        ),
        ("endsWith(Name, 'ONE')", "{}", "Name ends with 'one'"),
        ("exists(Addr.City)", "{}", "Addr.City exists"),
        ("true and not F = 1", "{}", "not (F = 1)"),
        (
            "F = 1 and not G = 'x' or G = 'Y'",
            "{}",
            "(F = 1 and not (G = 'x')) or G = 'y'",
        ),
        ("not (F = 1 or G = 2)", "{}", "not (F = 1 or G = 2)"),
        ("intersect(F = 1, G = 2)", "{}", "F = 1 and G = 2"),
        (
            "search(Name, 'One *wo* th* *ee')",
            "{}",
            "search(Name) has any of 'One *wo* th* *ee'",
        ),
        (
            "boost(search(c.Name, 'one -two', and), 2)",
            "{}",
            "boost(search(Name) has all of 'one -two', 2)",
        ),
        (
            "proximity(search(Name, $p), 2) or fuzzy(F = 'x', 0.5)",
            r#"{"p":"a b"}"#,
            "search(Name) has 'a b' within 2 or F is similar to 'x'",
        ),
        ("lucene(F, 'a* -b')", "{}", "search(F) is as 'a* -b' says"),
        ("lucene(F, ' *:* ')", "{}", "F exists"),
        ("regex(F, '^a')", "{}", "F has what fits '^a'"),
        (
            "spatial.within(spatial.point(c.A.Lat, B), spatial.circle(1, 2, 3, 'Miles'))",
            "{}",
            "spatial.point(A.Lat|B) lies within a shape",
        ),
        ("search(Name, '')", "{}", "not true"),
        (
            "L[].P = 'p' and 'group' = 1",
            "{}",
            "L[].P = 'p' and group = 1",
        ),
        (
            "D = '2024-05-01T10:00:00Z'",
            "{}",
            "D = '2024-05-01t10:00:00.0000000z'",
        ),
        ("when($x != null, F = $x)", r#"{"x":1}"#, "F = 1"),
        ("when($x != null, F = $x)", "{}", "true"),
        ("G = 1 and when($x != null, F = $x)", "{}", "G = 1"),
        ("G = 1 or when($x != null, F = $x)", "{}", "G = 1"),
        ("G = 1 and not when($x > 5, F = 2)", r#"{"x":1}"#, "G = 1"),
        (
            "G = 1 and not when($x > 5, F = 2)",
            r#"{"x":"7"}"#,
            "G = 1 and not (F = 2)",
        ),
        (
            "when($x = 'a' or $y in (1, 2), F = 2)",
            r#"{"x":"A"}"#,
            "F = 2",
        ),
        (
            "when(not $x in ($list), F = 2)",
            r#"{"x":3,"list":[1,2]}"#,
            "F = 2",
        ),
        (
            "exact(D = '2024-05-01T10:00:00Z')",
            "{}",
            "exact(D) = '2024-05-01T10:00:00.0000000Z'",
        ),
    ] {
        assert_eq!(condition(text, parameters), expected, "{text}");
    }
}

#[test]
fn conditions_without_meaning_are_refused() {
    for (text, parameters, expected) in [
        (
            "F",
            "{}",
            "Expected operator after 'F' field, but found nothing. Valid operators are: 'in', \
             'between', =, <, >, <=, >=, !=",
        ),
        ("F = G", "{}", "Expected value, but got: <Field>: G"),
        (
            "F in (1, 'x')",
            "{}",
            "Incompatible types of variables in WHERE clause on '<Field>: F' field. It got values \
             of the following types: Long,String",
        ),
        (
            "F in ($p)",
            r#"{"p":[1,"2"]}"#,
            "Expected query parameter to be Long but was String: 2",
        ),
        (
            "F = $p",
            r#"{"p":[1,10]}"#,
            "Parameter value '[1,10]' of type array is not supported",
        ),
        (
            "F = $missing",
            "null",
            "The query is parametrized but the actual values of parameters were not provided",
        ),
        (
            "F = $missing",
            r#"{"p":1}"#,
            "there is no $missing among the query parameters",
        ),
        (
            "cmpxchg('k') = 1",
            "{}",
            "The method CompareExchange on the left side inside the WHERE clause is not supported.",
        ),
        (
            "moreLikeThis(id() = 'a')",
            "{}",
            "cannot be used in dynamic queries",
        ),
        (
            "intersect(F = 1)",
            "{}",
            "must have multiple intersect clauses.",
        ),
        ("nope(F)", "{}", "Method 'nope' is not supported."),
        (
            "count() > 1",
            "{}",
            "count may only be used in group by queries",
        ),
        (
            "startsWith(F, 1)",
            "{}",
            "expects a string as its second argument, but got the Long: 1",
        ),
        (
            "F between 1 and 'x'",
            "{}",
            "Incompatible types of values in BETWEEN",
        ),
        (
            "when($x > 'a', F = 1)",
            r#"{"x":true}"#,
            "when() cannot compare True with String",
        ),
        (
            "when(G = 1, F = 1)",
            "{}",
            "compares parameters with values, but got: G",
        ),
        (
            "when($x = 1)",
            "{}",
            "when() takes a condition on parameters and a predicate",
        ),
        ("regex(F, '(')", "{}", "'(' is no regular expression: "),
        (
            "regex(F, '(?=a)')",
            "{}",
            "look-around, including look-ahead and look-behind, is not supported, in: regex(F",
        ),
        (
            "regex(F)",
            "{}",
            "Method regex() expects 2 arguments, but got 1",
        ),
        ("boost(F = 1, -2)", "{}", "expects a number from 0 on"),
        ("boost(F = 1)", "{}", "Method boost() expects 2 arguments"),
        (
            "lucene(F, '(a')",
            "{}",
            "this '(' is not closed, at character 1",
        ),
        ("fuzzy(F > 1, 0.5)", "{}", "fuzzy() is an equality"),
        ("fuzzy(F = 'x', 7)", "{}", "lies between 0 and 1"),
        (
            "proximity(search(F, 'a'), 1)",
            "{}",
            "Proximity search works only on multiple search terms",
        ),
        ("proximity(F = 1, 1)", "{}", "proximity() is a search"),
        ("search(F, '\"\"')", "{}", "a phrase in quotes has no words"),
        (
            "spatial.within(F, spatial.circle(1,2,3))",
            "{}",
            "The first argument of spatial.within() is spatial.point(",
        ),
        (
            "spatial.within(spatial.wkt(F), spatial.wkt('BLOB (1 2)'))",
            "{}",
            "is no well-known text: the name of a shape is missing before this, at character 6",
        ),
        (
            "spatial.within(spatial.wkt(F), spatial.circle(1, 95, 3))",
            "{}",
            "Latitudes lie between",
        ),
        (
            "spatial.within(spatial.wkt(F), spatial.circle(1, 2, 181))",
            "{}",
            "longitudes between -180 and 180",
        ),
        (
            "spatial.within(spatial.wkt(F), spatial.circle(1, 2, -180.5))",
            "{}",
            "longitudes between -180 and 180",
        ),
        (
            "spatial.intersects(spatial.wkt(F), spatial.point(2, 540))",
            "{}",
            "longitudes between -180 and 180",
        ),
        (
            "spatial.within(spatial.wkt(F), spatial.circle(1, 2, 3, 'Feet'))",
            "{}",
            "'Kilometers' or 'Miles', but got 'Feet'",
        ),
        (
            "vector.search(embedding.text(F), $p)",
            r#"{"p":"a text"}"#,
            "needs a model that makes vectors of text, and none can be loaded",
        ),
        (
            "vector.search(F, $p)",
            r#"{"p":"a text"}"#,
            "is no vector: a vector is an array of numbers, base64, or",
        ),
        (
            "vector.search(F, $p)",
            r#"{"p":[1,"2"]}"#,
            "but this is \"2\". A text needs a model",
        ),
        ("vector.search(F, 7)", "{}", "but got the Long: 7"),
        (
            "vector.search(F, $p, 0, 0)",
            r#"{"p":[1]}"#,
            "are a whole number from 1 to 16384",
        ),
        (
            "vector.search(G(F), $p)",
            r#"{"p":[1]}"#,
            "The first argument of vector.search() is a field",
        ),
        (
            "F = now('+1d')",
            "{}",
            "now() or today() is not executed yet",
        ),
    ] {
        let found = condition(text, parameters);
        assert!(found.contains(expected), "{text}\n{found}");
    }
}

#[test]
fn clauses_without_meaning_are_refused() {
    for (text, expected) in [
        (
            "from Cars limit -1",
            "Limit (PageSize) cannot be negative, but was -1.",
        ),
        (
            "from Cars offset -1",
            "Offset (Start) cannot be negative, but was -1.",
        ),
        (
            "from Cars limit 1.5",
            "Value should be a 'Long' but was 'Double'.",
        ),
        (
            "from Cars limit 1, 2 offset 3",
            "Cannot use 'offset' after 'limit $skip,$take'",
        ),
        (
            "from Cars order by count()",
            "Invalid ORDER BY method call count",
        ),
        (
            "from Cars order by exact(G)",
            "Invalid ORDER BY method call exact",
        ),
        (
            "from Cars order by custom(G)",
            "custom() takes a field and the name of a sorter",
        ),
        (
            "from Cars select A as X, X",
            "Duplicate alias 'X' detected.",
        ),
        (
            "from Cars select count()",
            "count may only be used in group by queries",
        ),
        (
            "from Cars select nope()",
            "Unknown method call in SELECT clause: 'nope' method",
        ),
        (
            "from Cars select { A: 1 }",
            "requires that aliases will be defined, but none had",
        ),
        (
            "from Cars include highlight(A, 20)",
            "Method highlight() expects 3 to 4 arguments, but got 2",
        ),
        (
            "from Cars as c group by G select timeseries(from c.H)",
            "`select timeseries(...)` is not executed",
        ),
        (
            "from Cars group by G include X",
            "`include` with `group by` is not executed yet by this version.",
        ),
        (
            "from index 'X' group by G",
            "Can't use 'group by' when querying on an Index.",
        ),
        (
            "from Cars as c load c.A as a, c.B as a",
            "Duplicate alias 'a' detected",
        ),
        (
            "from Cars include counters('x')",
            "`include counters(...)` is not executed yet",
        ),
        ("from Cars (Revisions = true)", "only in a subscription"),
        (
            "from Cars filter search(A, 'x')",
            "'search' query method is not supported for this type",
        ),
        (
            "from Cars filter days(A) > 1",
            "days() in `filter` is not executed yet",
        ),
    ] {
        let error = bind_with(text, "{}").unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

#[test]
fn errors_are_of_the_kind_the_protocol_names() {
    let kind = |text: &str| bind_with(text, "{}").unwrap_err();
    assert!(matches!(kind("from Cars where F"), QueryError::Invalid(_)));
    assert!(matches!(
        kind("from Cars where nope(F)"),
        QueryError::NotSupported(_)
    ));
    assert!(matches!(
        kind("from Cars where cmpxchg('k') = 1"),
        QueryError::Argument(_)
    ));
    assert!(matches!(
        kind("from Cars limit 1.5"),
        QueryError::Operation(_)
    ));
    assert!(matches!(
        kind("from Cars group by A include B"),
        QueryError::NotSupported(_)
    ));
}

#[test]
fn index_names_follow_the_protocol() {
    for (text, expected) in [
        ("from Cars where F == 1", Some("Auto/Cars/ByF")),
        (
            "from Cars where F = 1 and F < 3 order by F",
            Some("Auto/Cars/ByF"),
        ),
        (
            "from Cars where 'limit' = 1 or filter = 2",
            Some("Auto/Cars/By'limit'Andfilter"),
        ),
        (
            "from Cars where exact(G = 'x') and F = 1 and N = 2 and D = 3",
            Some("Auto/Cars/ByDAndExact(G)AndFAndN"),
        ),
        (
            "from Cars order by @metadata.'@last-modified' desc, F as long",
            Some("Auto/Cars/By@metadata.@last-modifiedAndF"),
        ),
        ("from @all_docs where X = 1", Some("Auto/AllDocs/ByX")),
        (
            "from Cars as c where c.L[].P = 1",
            Some("Auto/Cars/ByL[].P"),
        ),
        (
            "from users where exists(kids) and age < 29",
            Some("Auto/users/ByageAndkids"),
        ),
        ("from Cars", None),
        ("from Cars where id() = 'x' order by id()", None),
        ("from Cars order by random('x'), score()", None),
        ("from index 'Auto/Cars/ByF' where F = 1", None),
    ] {
        let query = bind_with(text, "{}").unwrap();
        let name = query
            .index_requirement()
            .map(|requirement| requirement.name());
        assert_eq!(name.as_deref(), expected, "{text}");
    }
}

#[test]
fn requirements_converge_on_one_index() {
    let requirement = |text: &str| bind_with(text, "{}").unwrap().index_requirement().unwrap();
    let mut wider = requirement("from Cars where F = 1");
    let other = requirement("from Cars where A = 1 and F = 2");
    assert!(!other.is_met_by(&wider.fields));
    wider.merge(&other.fields);
    assert_eq!(wider.name(), "Auto/Cars/ByAAndF");
    assert!(other.is_met_by(&wider.fields));
    assert!(!requirement("from Cars where exact(F = 'x')").is_met_by(&wider.fields));
}

#[test]
fn pages_of_text_and_request_meet() {
    let page = |text: &str, parameters: &str, start, size| {
        let query = bind_with(text, parameters).unwrap().with_page(start, size);
        (query.page_skip(), query.page_take())
    };
    assert_eq!(
        page("from C limit 3 offset 1", "{}", Some(1), Some(1)),
        (1, 1)
    );
    assert_eq!(page("from C limit 5", "{}", Some(10), None), (10, 5));
    assert_eq!(page("from C offset 2", "{}", Some(10), Some(4)), (2, 4));
    assert_eq!(page("from C limit 2, 3", "{}", None, Some(9)), (2, 3));
    assert_eq!(
        page("from C limit $a, $b", r#"{"a":null,"b":7}"#, None, None),
        (0, 7)
    );
    assert_eq!(page("from C", "{}", None, None), (0, u64::MAX));
}
