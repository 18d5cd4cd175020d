//! Facets, suggestions, more-like-this, highlighting, explanations and orders by score and
//! distance, on a few documents of which some changed after the index saw them.

use crate::test_source::{TestDatabase, TestIndex, TestResult, TestSource, bound, run_bound};
use crate::{ExecuteOptions, FieldKind, FieldPath, IndexField};
use jackdaw_model::Scope;

fn field(path: &str, kind: FieldKind) -> IndexField {
    IndexField {
        path: FieldPath::parse(path),
        kind,
    }
}

/// Runs a query over three documents that the index has as they are, one that it has as it was, and
/// one that it does not have.
fn ask(text: &str, parameters: &str) -> TestResult {
    let mut database = TestDatabase::default();
    let put = |database: &mut TestDatabase, id: &str, body: &str| database.put(id, "C", body);
    put(
        &mut database,
        "c/1",
        r#"{"N":"red rain","B":"Sony","P":100,"X":1.0,"Y":50.0}"#,
    );
    put(
        &mut database,
        "c/2",
        r#"{"N":"rain and rain","B":"sony","P":250,"X":2.0,"Y":50.0}"#,
    );
    put(
        &mut database,
        "c/3",
        r#"{"N":"a stone","B":"Nikon","P":300,"X":9.0,"Y":50.0}"#,
    );
    put(
        &mut database,
        "c/4",
        r#"{"N":"rain rain rain","B":"Canon","P":5}"#,
    );
    let fields = [
        field("N", FieldKind::Search),
        field("N", FieldKind::Plain),
        field("B", FieldKind::Plain),
        field("P", FieldKind::Plain),
        field("Y", FieldKind::Point(FieldPath::parse("X"))),
    ];
    let index = TestIndex::build(&database, Scope::Collection("C".to_owned()), &fields);
    put(
        &mut database,
        "c/4",
        r#"{"N":"red river","B":null,"P":400.5,"X":3.0,"Y":50.0}"#,
    );
    put(
        &mut database,
        "c/5",
        r#"{"N":"a red, red stone","B":"Nikon","P":7}"#,
    );
    database.delete("c/3");
    let reader = index.reader();
    let source = TestSource {
        database: &database,
        index: Some((&index, &reader)),
    };
    let options = ExecuteOptions::default();
    let query = bound(text, parameters).unwrap();
    let query = query.expand(&source, &options).unwrap();
    run_bound(&query, &source, &options).unwrap()
}

fn rows(text: &str, parameters: &str) -> String {
    ask(text, parameters).rows.root().to_json()
}

#[test]
fn scores_order_present_documents() {
    // The red river is shorter than the red, red stone; rain is in neither any more.
    let text = "from C where search(N, 'red') order by score()";
    assert_eq!(ask(text, "{}").ids(), ["c/5", "c/1", "c/4"]);
    let text = "from C where search(N, 'rain') or boost(B = 'nikon', 9)";
    assert_eq!(ask(text, "{}").ids(), ["c/5", "c/2", "c/1"]);
    let text = "from C where search(N, '\"red rain\"') or search(N, 'sto*')";
    assert_eq!(ask(text, "{}").outcome.total_results, Some(2));
}

#[test]
fn places_are_found_and_ordered_by_distance() {
    let text = "from C where spatial.within(spatial.point(Y, X), spatial.circle(150, 50, 2)) \
                order by spatial.distance(spatial.point(Y, X), spatial.point(50, 2.9))";
    assert_eq!(ask(text, "{}").ids(), ["c/4", "c/2", "c/1"]);
    let text = "from C order by spatial.distance(spatial.point(Y, X), spatial.point(50, 0)) desc";
    assert_eq!(ask(text, "{}").ids(), ["c/4", "c/2", "c/1", "c/5"]);
}

#[test]
fn places_are_found_by_coordinates_as_text_and_by_no_radius() {
    for (latitude, longitude, is_found) in [
        ("12.3456789", "-179.5", true),
        (r#""12.3456789""#, r#""-179.5""#, true),
        (r#"" 12.3456789 ""#, "-179.5", true),
        (r#""north""#, "-179.5", false),
        (r#""""#, r#""""#, false),
        ("null", "-179.5", false),
        ("12.3456789", r#""181""#, false),
        (r#""NaN""#, r#""inf""#, false),
    ] {
        let mut database = TestDatabase::default();
        let body = format!(r#"{{"Y":{latitude},"X":{longitude}}}"#);
        database.put("p/1", "C", &body);
        let stored = database.all().next().unwrap();
        let place = field("Y", FieldKind::Point(FieldPath::parse("X")));
        let places = crate::fields::places_of(&stored, &place);
        assert_eq!(places.len(), usize::from(is_found), "{body}");
    }
}

#[test]
fn facets_count_present_documents() {
    let found = rows(
        "from index 'I' select facet(B, sum(P) as Total, max(P))",
        "{}",
    );
    assert_eq!(
        found,
        "[{\"Name\":\"B\",\"Values\":[\
         {\"Name\":\"Total\",\"Sum\":400.5,\"Count\":1,\"Range\":\"NULL_VALUE\"},\
         {\"Name\":\"P\",\"Max\":400.5,\"Count\":1,\"Range\":\"NULL_VALUE\"},\
         {\"Name\":\"Total\",\"Sum\":7,\"Count\":1,\"Range\":\"nikon\"},\
         {\"Name\":\"P\",\"Max\":7,\"Count\":1,\"Range\":\"nikon\"},\
         {\"Name\":\"Total\",\"Sum\":350,\"Count\":2,\"Range\":\"sony\"},\
         {\"Name\":\"P\",\"Max\":250,\"Count\":2,\"Range\":\"sony\"}],\
         \"RemainingHits\":0,\"RemainingTermsCount\":0,\"RemainingTerms\":[]}]"
    );
    let text = "from index 'I' where P > 50 select facet(P < 200, P >= $p and P < 300) as Price, \
                facet(B, $o)";
    let found = rows(
        text,
        r#"{"p":200,"o":{"termSortMode":"CountDesc","pageSize":1,"includeRemainingTerms":true}}"#,
    );
    assert_eq!(
        found,
        "[{\"Name\":\"Price\",\"Values\":[{\"Name\":null,\"Count\":1,\"Range\":\"P < 200\"},\
         {\"Name\":null,\"Count\":1,\"Range\":\"P >= 200 and P < 300\"}],\
         \"RemainingHits\":0,\"RemainingTermsCount\":0,\"RemainingTerms\":[]},\
         {\"Name\":\"B\",\"Values\":[{\"Name\":null,\"Count\":2,\"Range\":\"sony\"}],\
         \"RemainingHits\":1,\"RemainingTermsCount\":1,\"RemainingTerms\":[\"NULL_VALUE\"]}]"
    );
    for (text, part) in [
        ("from C select facet(B), N", "selects facets only"),
        (
            "from C select facet(B, N < 1)",
            "A facet is of a field, of ranges",
        ),
        (
            "from C select facet(A < 1, B < 1)",
            "A facet is of a field, of ranges",
        ),
        (
            "from C filter B = 1 select facet(B)",
            "does not support a filter clause",
        ),
    ] {
        let error = bound(text, "{}").unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn suggestions_are_like_what_was_written() {
    let found = rows(
        "from index 'I' select suggest(B, 'Sonyy') as S, suggest(B, 'xxx')",
        "{}",
    );
    assert_eq!(
        found,
        r#"[{"Name":"S","Suggestions":["sony"]},{"Name":"B","Suggestions":[]}]"#
    );
}

#[test]
fn like_documents_share_telling_terms() {
    let text = "from index 'I' where moreLikeThis(id() = 'c/1')";
    // One word with two documents more, and a value with one of them.
    assert_eq!(ask(text, "{}").ids(), ["c/2", "c/4", "c/5"]);
    // Options change what they name, and nothing else.
    for (options, expected) in [
        ("{}", vec!["c/2", "c/4", "c/5"]),
        ("null", vec!["c/2", "c/4", "c/5"]),
        (
            r#"{"MinimumTermFrequency":null}"#,
            vec!["c/2", "c/4", "c/5"],
        ),
        (
            r#"{"BoostFactor":1,"Unknown":5}"#,
            vec!["c/2", "c/4", "c/5"],
        ),
        (
            r#"{"minimumDocumentFrequency":1}"#,
            vec!["c/2", "c/4", "c/5"],
        ),
        (r#"{"MinimumTermFrequency":2}"#, vec![]),
        (r#"{"MinimumDocumentFrequency":50}"#, vec![]),
    ] {
        let text = "from index 'I' where moreLikeThis(id() = 'c/1', $o)";
        let parameters = format!("{{\"o\":{options}}}");
        assert_eq!(ask(text, &parameters).ids(), expected, "{options}");
        if options != "null" {
            let text = format!("from index 'I' where moreLikeThis(id() = 'c/1', '{options}')");
            assert_eq!(ask(&text, "{}").ids(), expected, "{options}");
        }
    }
    let text = "from index 'I' where moreLikeThis($d) and P < 200";
    assert_eq!(ask(text, r#"{"d":"{\"B\":\"SONY\"}"}"#).ids(), ["c/1"]);
    // Members are called as in documents, not as in the index: all texts count for each field.
    let deep = r#"{"d":"{\"Make\":[{\"Of\":\"SONY\",\"sony\":7}]}"}"#;
    assert_eq!(ask(text, deep).ids(), ["c/1"]);
    assert_eq!(ask(text, r#"{"d":"{\"sony\":\"x\"}"}"#).ids().len(), 0);
    let error = bound("from C where moreLikeThis(id() = 'c/1')", "{}").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("cannot be used in dynamic queries")
    );
}

#[test]
fn rows_show_what_was_found_and_why() {
    let text =
        "from C where search(N, 'red') include highlight(N, 20, 2), explanations(), timings()";
    let found = ask(text, "{}").outcome;
    let fragments = &found.highlightings.unwrap()["N"];
    let marked =
        "a <b style=\"background:yellow\">red</b>, <b style=\"background:yellow\">red</b> stone";
    assert_eq!(fragments["c/5"], [marked]);
    assert_eq!(fragments.len(), 3);
    let explanation = &found.explanations.unwrap()["c/1"][0];
    assert!(
        explanation.contains("search(N) has any of 'red'"),
        "{explanation}"
    );
    assert!(found.has_timings);
}
