//! Proves the rules of matching on small tables, and agreement with a naive matcher on random ones.

use super::*;

fn table(rows: &[(&[Verb], &'static str)]) -> Result<Router<usize>, RouterError> {
    let routes = rows
        .iter()
        .enumerate()
        .map(|(target, (verbs, pattern))| Route {
            verbs: Verbs::of(verbs),
            pattern,
            summary: "",
            target,
        });
    Router::new(routes.collect())
}

fn check(router: &Router<usize>, verb: Verb, path: &str, expected: Option<(usize, &[&str])>) {
    let found = router.find(Some(verb), path).ok();
    let found = found.map(|found| {
        let parts = (0..found.captures.len()).filter_map(|slot| found.captures.get(path, slot));
        (found.route.target, parts.collect::<Vec<_>>())
    });
    let expected = expected.map(|(target, parts)| (target, parts.to_vec()));
    assert_eq!(found, expected, "{} {path}", verb.name());
}

#[test]
fn literals_win_over_segments_and_segments_over_the_rest() {
    let get = &[Verb::Get][..];
    let router = table(&[
        (get, "/studio/$"),
        (get, "/studio/index.html"),
        (&[Verb::Post], "/studio/feedback"),
        (get, "/databases"),
        (get, "/databases/*"),
        (get, "/databases/*/docs"),
        (get, "/databases/*/docs/*/of/*"),
        (get, "/"),
    ])
    .unwrap();
    check(&router, Verb::Get, "/", Some((7, &[])));
    check(&router, Verb::Get, "/studio/", Some((0, &[""])));
    check(&router, Verb::Get, "/studio/a/b.js", Some((0, &["a/b.js"])));
    check(&router, Verb::Get, "/Studio/Index.HTML", Some((1, &[])));
    check(
        &router,
        Verb::Get,
        "/studio/index.htm",
        Some((0, &["index.htm"])),
    );
    check(
        &router,
        Verb::Get,
        "/studio/feedback",
        Some((0, &["feedback"])),
    );
    check(&router, Verb::Post, "/studio/feedback", Some((2, &[])));
    check(&router, Verb::Get, "/databases", Some((3, &[])));
    check(
        &router,
        Verb::Get,
        "/databases/A%20b",
        Some((4, &["A%20b"])),
    );
    check(&router, Verb::Get, "/DATABASES/Ab/DOCS", Some((5, &["Ab"])));
    check(
        &router,
        Verb::Get,
        "/databases/d/docs/x/of/y",
        Some((6, &["d", "x", "y"])),
    );
    check(&router, Verb::Get, "/databases//docs", None);
    check(&router, Verb::Get, "/databases/", None);
    check(&router, Verb::Get, "/studio", None);
    check(&router, Verb::Get, "", None);
}

/// What a branch captured that led nowhere is forgotten.
#[test]
fn captures_are_those_of_the_route_that_was_found() {
    let get = &[Verb::Get][..];
    let router = table(&[
        (get, "/a/*/x"),
        (get, "/*/q/d"),
        (get, "/s/$"),
        (get, "/s/x/*/y"),
    ])
    .unwrap();
    check(&router, Verb::Get, "/a/q/x", Some((0, &["q"])));
    check(&router, Verb::Get, "/a/q/d", Some((1, &["a"])));
    check(&router, Verb::Get, "/s/x/q/z", Some((2, &["x/q/z"])));
    check(&router, Verb::Get, "/s/x/q/y", Some((3, &["q"])));
}

#[test]
fn a_known_path_with_another_method_is_told_from_an_unknown_path() {
    let router = table(&[(&[Verb::Get, Verb::Put], "/a/*/b")]).unwrap();
    assert_eq!(
        router.find(Some(Verb::Post), "/a/x/b").unwrap_err(),
        NoRoute::Verb
    );
    assert_eq!(router.find(None, "/a/x/b").unwrap_err(), NoRoute::Verb);
    assert_eq!(
        router.find(Some(Verb::Get), "/a/x/c").unwrap_err(),
        NoRoute::Path
    );
}

#[test]
fn malformed_and_doubled_rows_are_refused() {
    let get = &[Verb::Get][..];
    for pattern in ["a", "/a*", "/*a", "/$/a", "/a$", "/*/*/*/*/*"] {
        let refused = table(&[(get, pattern)]).unwrap_err();
        assert_eq!(refused, RouterError::Pattern(pattern.to_owned()));
    }
    let twice = table(&[(get, "/a/*"), (get, "/A/*")]).unwrap_err();
    assert_eq!(twice, RouterError::Twice("/A/*".to_owned(), "GET"));
}

/// Tries rows one by one; literal before `*` before `$` at the first segment where two differ.
fn naive(rows: &[&'static str], path: &str) -> Option<usize> {
    let rank = |pattern: &str| {
        let kind = |part: &str| match part {
            "*" => 1,
            "$" => 2,
            _ => 0,
        };
        pattern.split('/').map(kind).collect::<Vec<_>>()
    };
    let fits = |pattern: &str| {
        let mut parts = path.split('/');
        for part in pattern.split('/') {
            match (part, parts.next()) {
                ("$", Some(_)) => return true,
                ("*", Some(got)) if !got.is_empty() => {}
                (want, Some(got)) if want != "*" && want.eq_ignore_ascii_case(got) => {}
                _ => return false,
            }
        }
        parts.next().is_none()
    };
    let fitting = rows.iter().enumerate().filter(|(_, pattern)| fits(pattern));
    fitting
        .min_by_key(|(_, pattern)| rank(pattern))
        .map(|(slot, _)| slot)
}

#[test]
fn matches_agree_with_a_naive_search() {
    let rows = [
        "/a/*", "/a/$", "/a/b", "/a/bc", "/a/*/d", "/*/b", "/*/*/d", "/ab/$", "/", "/a/b/$", "/*",
    ];
    let mut table_rows: Vec<(&[Verb], &'static str)> = Vec::new();
    table_rows.extend(rows.iter().map(|row| (&[Verb::Get][..], *row)));
    let router = table(&table_rows).unwrap();
    let parts = ["", "a", "b", "bc", "d", "AB", "zz"];
    let mut paths = vec!["/".to_owned()];
    for one in parts {
        paths.push(format!("/{one}"));
        for two in parts {
            paths.push(format!("/{one}/{two}"));
            paths.extend(parts.iter().map(|three| format!("/{one}/{two}/{three}")));
        }
    }
    for path in paths {
        let found = router
            .find(Some(Verb::Get), &path)
            .ok()
            .map(|found| found.route.target);
        assert_eq!(found, naive(&rows, &path), "{path}");
    }
}

#[test]
fn bytes_that_no_pattern_has_lead_nowhere() {
    let route = |pattern: &'static str| Route {
        verbs: Verbs::of(&[Verb::Get]),
        pattern,
        summary: "",
        target: (),
    };
    let patterns = [
        "/a/long-literal-of-several-words",
        "/a/*/b",
        "/c@d[e]",
        "/z",
    ];
    let router = Router::new(patterns.into_iter().map(route).collect()).unwrap();
    let finds = |path: &str| router.find(Some(Verb::Get), path).is_ok();
    for path in [
        "/A/LONG-literal-OF-several-Words",
        "/a/x/B",
        "/C@D[E]",
        "/Z",
    ] {
        assert!(finds(path), "{path}");
    }
    // Of each letter, bytes that differ in the bit of letter case or are beyond ASCII.
    for path in [
        "",
        "\0",
        "/\0",
        "/a\0",
        "/z\0",
        "/z\u{80}",
        "/\u{17a}",
        "/c`d[e]",
        "/c@d{e}",
        "/c@d[e",
        "/a/long\rliteral-of-several-words",
        "/a/long-literal-of-several-word",
        "/a//b",
        "/a/x/b/",
    ] {
        assert!(!finds(path), "{path:?}");
    }
}
