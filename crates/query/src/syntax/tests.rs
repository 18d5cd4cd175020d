//! Proves: every form of the grammar parses, what is wrong is refused at the right place, a tree
//! printed and parsed is the same tree, and no text makes the parser panic.

use proptest::prelude::*;

use super::*;

/// One query per feature of the language.
const EXAMPLES: [&str; 17] = [
    "from Books where Title = 'Dune'",
    "from Books as b where b.Author.Name in ($names) and not b.Year < 1950 \
     order by b.Year as long desc, id()",
    "from index 'Books/Search' where search(Query, 'sand* worm', and) \
     or boost(exact(Isbn = $i), 12) include highlight(Query, 90, 2, $hl), timings() limit $s, $t",
    "from Books group by Genre, Author.Country where count() > 3 order by count() as long desc \
     select key() as K, sum(Copies) as Copies, count() as N",
    "from Loans as l load l.Book as b, l.Fees[].Clerk as clerks[] filter l.Due < l.Returned \
     select { title: b.Title, late: days(l), by: clerks.map(c => c.Name) } \
     limit 20 offset 40 filter_limit 5000",
    "declare function days(l) { return (new Date(l.Returned) - new Date(l.Due)) / 864e5; } \
     from Loans as l select { d: days(l) }",
    "from Branches where spatial.within(spatial.point(Geo.Lat, Geo.Lng), \
     spatial.circle(5, $lat, $lng, 'Kilometers')) order by spatial.distance(\
     spatial.point(Geo.Lat, Geo.Lng), spatial.point($lat, $lng), 1)",
    "from index 'Books/Facets' where Year between 1990 and 1999 \
     select facet(Genre, sum(Copies) as C, $o), \
     facet(Price < 5, Price >= 5 and Price < 20, Price >= 20) as Price",
    "from index 'Books/Search' select suggest(Title, $t, $o) as didYouMean",
    "from index 'Books/Search' where moreLikeThis(id() = $id, $opt) and Language = 'en'",
    "from Books where vector.search(embedding.text(Blurb), $q, 0.7, 64) and InStock = true",
    "from Books where exact(vector.search(Emb, $v))",
    "from Users where Email = cmpxchg($k).Owner \
     include cmpxchg('Ref'), counters('Likes'), revisions('Cv')",
    "from index 'Loans/ByLine' where intersect(Kind = 'fee', Kind = 'refund' and Amount > 10)",
    "from Sensors as s select timeseries(from s.Heat between $a and $b where Tag = 'lab' \
     group by 15 minutes with interpolation(linear) select min(), max()) as Heat",
    "from 'Books' (Revisions = true) as doc",
    "from Books where true and not startsWith(Title, 'The ')",
];

/// Other forms that clients send or users type.
const FORMS: [&str; 36] = [
    "FROM Books WHERE Title == 'Dune' ORDER BY Title DESCENDING",
    "from @all_docs",
    "from 'Users' where id() in ($p0) limit $p1, $p2",
    "from @all_docs as u where id() == 'users/1' select out(u)",
    "from Cars where F != 1 and G <> 2",
    "from Cars filter where F = 1",
    "from Cars filter F = 1 filter_limit 3",
    "from Cars limit 1 filter_limit 6",
    "from Cars filter F = 1 filter_limit 6 limit 2 offset 1",
    "from Cars order by @metadata.'@last-modified' desc limit 1",
    "from Cars select Name, @metadata.@nested-object-types as Types",
    "from Cars select @nested-object-types as Types",
    "from Cars where filter = 1 and nulls = 2 and 'limit' = 3",
    "from Cars where Tags all in ('a', \"b\")",
    "from Cars where F in ()",
    "from Cars where F between -5 and 1_0",
    "from Cars where F > 1.5e-3",
    "from Cars include Addr limit 2",
    "from Cars limit 2 include Addr",
    "from Cars where (A = 1 or B = 2) and not (C = 3 or D = 4)",
    "from Cars where not A = 1",
    "from Cars where when($x != null and $y in (1, 2), G = 'x')",
    "from Cars order by random('it''s'), score(), N as alphaNumeric nulls last",
    "from Cars select distinct *",
    "from Cars as c select f(c)",
    "from Cars select 'x' as K, 5, true, null, $p as V, Lines[0].P, id()",
    "from Jobs group by 'group' select key() as 'group', count() as count",
    "from Orders group by array(lines[].product) order by count() select key() as products",
    "declare timeseries out(p) { from p.HeartRate between $start and $end group by 1h \
     select min(), max() } from index 'People' as p where p.age > 49 select out(p), p.name",
    "declare timeseries out() { from \"gas m3 usage\" } from Users as u select out()",
    "from M select timeseries(from m.'Cpu@By1Hour' last 3 days load Tag as host \
     where host.Rack = 'r7' and Values[0] > 0.2 group by '1 hour', tag with interpolation(last) \
     select avg(), percentile(95) scale 100 offset '02:00') as R",
    "from Users where name != cmpxchg($p0)",
    "from Items where boost(name in ($p0), 0) or proximity(search(name, $p1), 1)",
    "from Orders include company, timeseries('Heartrate', null, null), 'Lines[].Product', $p",
    "/* a */ from Cars // b\n where /* c */ F = 1",
    "from index as i where i.A = 1",
];

fn round_trip(text: &str) -> Query {
    let query = parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let printed = query.to_string();
    let again = parse(&printed).unwrap_or_else(|error| panic!("{text}\n{printed}\n{error}"));
    assert_eq!(query, again, "{printed}");
    query
}

#[test]
fn examples_parse_and_print() {
    for text in EXAMPLES.into_iter().chain(FORMS) {
        round_trip(text);
    }
}

#[test]
fn patches_parse_and_print() {
    let text = "from Books where Price > 9.5 update { this.Price = Math.round(this.Price); \
                this['@metadata']['@refresh'] = $at; } limit 5";
    let query = parse_patch(text).unwrap();
    assert_eq!(parse_patch(&query.to_string()).unwrap(), query);
    assert!(query.update.unwrap().0.contains("Math.round"));
}

#[test]
fn printed_form_is_plain() {
    for (text, printed) in [
        ("FROM 'Books' b WHERE b.A==1 AND NOT b.B<>'x'", None),
        ("from Books as b where b.A = 1 and not b.B != 'x'", None),
        (
            "from A where (X = 1 and Y = 2) or Z = 3",
            Some("from A where X = 1 and Y = 2 or Z = 3"),
        ),
        (
            "from A where 'order'.'by' = 'it''s'",
            Some("from A where 'order'.by = 'it\\'s'"),
        ),
        ("from A limit 1, 2", None),
        (
            "from A where F = 1e3 or F = 7.0",
            Some("from A where F = 1000.0 or F = 7.0"),
        ),
        (
            "from A where F=9223372036854775808",
            Some("from A where F = 9.223372036854776e18"),
        ),
    ] {
        let query = round_trip(text);
        match printed {
            Some(printed) => assert_eq!(query.to_string(), printed),
            None => assert!(query.to_string().starts_with("from ")),
        }
    }
}

#[test]
fn and_binds_tighter_than_or_and_not_takes_one_operand() {
    let condition = |text: &str| parse(text).unwrap().condition.unwrap();
    assert_eq!(
        condition("from C where a = 1 and not b = 2 or c = 3"),
        condition("from C where (a = 1 and (not b = 2)) or c = 3")
    );
    assert_eq!(
        condition("from C where a = 1 or b = 2 and c = 3"),
        condition("from C where a = 1 or (b = 2 and c = 3)")
    );
    assert_ne!(
        condition("from C where a = 1 and not b = 2 or c = 3"),
        condition("from C where a = 1 and not (b = 2 or c = 3)")
    );
}

#[test]
fn filter_is_an_alias_only_before_a_clause() {
    let query = parse("from Cars filter where F = 1").unwrap();
    assert_eq!(query.from.alias.as_deref(), Some("filter"));
    assert!(query.filter.is_none());
    let query = parse("from Cars filter F = 1").unwrap();
    assert_eq!(query.from.alias, None);
    assert!(query.filter.is_some());
}

#[test]
fn errors_name_place_and_token() {
    for (text, expected) in [
        (
            "from Cars were F = 1",
            "1:16 Expected end of query but got: F",
        ),
        (
            "from Cars limit 1 select F",
            "1:19 Expected end of query but got: select",
        ),
        (
            "$p = 1 from As where F = $p",
            "1:1 Expected FROM clause but got: $p",
        ),
        (
            "match (Cars as c) select c",
            "1:1 Expected FROM clause but got: match",
        ),
        (
            "with {from Cars} as c match (c) select c",
            "1:1 Expected FROM clause but got: with",
        ),
        (
            "from Cars -- c\n where F = 1",
            "1:11 Expected end of query but got: --",
        ),
        (
            "from Ms as m select { a: m.A } filter m.A = 1",
            "1:32 Expected end of query but got: filter",
        ),
        (
            "from Cars where F > 0 group by G select G, count()",
            "1:23 Expected end of query but got: group",
        ),
        (
            "from Cars select distinct G order by G",
            "1:29 Expected end of query but got: order",
        ),
        (
            "from Cars update { this.z=1 }",
            "1:11 Expected end of query but got: update",
        ),
        (
            "from Cars where F = 0x0A",
            "1:22 Expected end of query but got: x0A",
        ),
        (
            "from Cars where F=1 { \"p\": 1 }",
            "1:21 Expected end of query but got: {",
        ),
        (
            "from Ms filter m.A === 2",
            "1:22 Unable to parse WHERE clause but got: =",
        ),
        (
            "from Cars include Addr limit 2 include Name",
            "1:40 Query already has an include statement, but encountered a second one but got: \
             Name",
        ),
        (
            "from Cars order by offset as long desc",
            "1:20 Unable to get field for ORDER BY but got: offset",
        ),
        (
            "from Cars select filter, offset",
            "1:26 Unable to get field for SELECT but got: offset",
        ),
        (
            "from Cars where F = +1",
            "1:21 Unable to parse WHERE clause but got: +1",
        ),
        (
            "from As",
            "1:6 Unable to parse identifier in FROM clause but got: As",
        ),
        (
            "from",
            "1:5 Unable to parse identifier in FROM clause but got to the end of the query",
        ),
        (
            "",
            "1:1 Expected FROM clause but got to the end of the query",
        ),
        (
            "from Cars where",
            "1:16 Unable to parse WHERE clause but got to the end of the query",
        ),
        (
            "from Cars\nwhere F = 'x\n",
            "2:11 Expected a closing quote but got to the end of the query",
        ),
        (
            "from Cars where F not in (1)",
            "1:19 Expected operator after a field but got: not",
        ),
        (
            "from Cars where (F = 1",
            "1:23 Expected ) after a condition but got to the end of the query",
        ),
        (
            "from Cars where f(",
            "1:19 parsing method, expected an argument but got to the end of the query",
        ),
        (
            "from Cars where false",
            "1:17 Unable to parse WHERE clause but got: false",
        ),
        (
            "from Cars where F between 1 or 2",
            "1:29 Expected AND between the two values of BETWEEN but got: or",
        ),
        (
            "from \u{e9}\u{e9} where #",
            "1:15 Unable to parse WHERE clause but got: #",
        ),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.to_string().lines().next(), Some(expected), "{text}");
    }
}

#[test]
fn patch_errors_name_place_and_token() {
    for (text, expected) in [
        (
            "from Cars where F = 1",
            "1:22 Update operations must end with UPDATE clause but got to the end of the query",
        ),
        (
            "from Cars update { syntax error",
            "1:18 Update clause must have a single function body but got: {",
        ),
        (
            "from Cars select F update { }",
            "1:11 Update operations must end with UPDATE clause but got: select",
        ),
    ] {
        let error = parse_patch(text).unwrap_err();
        assert_eq!(error.to_string().lines().next(), Some(expected), "{text}");
    }
}

#[test]
fn hints_tell_what_to_do() {
    for (text, hint) in [
        (
            "from Cars were F = 1",
            "were was read as an alias. Did you mean where?",
        ),
        ("from Cars as c were F = 1", "Did you mean where?"),
        ("from Cars limit 1 select F", "Clauses stand in this order"),
        ("match (a)", "Graph queries are not supported."),
        ("from Cars where F not in (1)", "where true and not F in"),
        ("from Cars order by offset", "Quote a field"),
        ("from Cars update { }", "Only a patch by query"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(
            error.hint.as_deref().unwrap_or_default().contains(hint),
            "{text}\n{error}"
        );
    }
}

#[test]
fn limits_are_kept() {
    let nested = |depth: usize| {
        format!(
            "from C where {}F = 1{}",
            "(".repeat(depth),
            ")".repeat(depth)
        )
    };
    parse(&nested(100)).unwrap();
    let error = parse(&nested(200)).unwrap_err();
    assert!(error.message.starts_with("Query is too complex"), "{error}");
    let calls = format!(
        "from C where {}F = 1{}",
        "f(".repeat(70_000),
        ")".repeat(70_000)
    );
    assert!(
        parse(&calls)
            .unwrap_err()
            .message
            .starts_with("Query is too complex")
    );
    let clauses = |count: usize| format!("from C where {}", vec!["F = 1"; count].join(" or "));
    parse(&clauses(CLAUSE_COUNT_MAX)).unwrap();
    let error = parse(&clauses(CLAUSE_COUNT_MAX + 1)).unwrap_err();
    assert!(error.message.starts_with("Query is too complex"), "{error}");
    let items = |count: usize| format!("from C where F in ({})", vec!["1"; count].join(","));
    parse(&items(IN_ITEM_COUNT_MAX)).unwrap();
    assert!(parse(&items(IN_ITEM_COUNT_MAX + 1)).is_err());
    assert!(parse(&" ".repeat(TEXT_BYTES_MAX + 1)).is_err());
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[A-Za-z_][A-Za-z0-9_]{0,5}",
        1 => prop::sample::select(vec![
            "order", "not", "true", "filter", "distinct", "and", "in", "all", "index", "as",
            "between", "nulls", "null", "timeseries",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
    ]
}

fn paths() -> impl Strategy<Value = Path> {
    let part = prop_oneof![
        4 => names().prop_map(PathPart::Name),
        1 => Just(PathPart::Each),
        1 => any::<u32>().prop_map(PathPart::At),
    ];
    (names(), prop::collection::vec(part, 0..3)).prop_map(|(first, rest)| {
        let mut parts = vec![PathPart::Name(first)];
        parts.extend(rest);
        Path { parts }
    })
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Long),
        prop::num::f64::NORMAL.prop_map(Value::Double),
        ".{0,8}".prop_map(Value::String),
        "[a-z0-9_]{1,5}".prop_map(Value::Parameter),
    ]
}

fn comparisons() -> impl Strategy<Value = Comparison> {
    prop::sample::select(vec![
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ])
}

fn conditions() -> impl Strategy<Value = Expression> {
    let value = || values().prop_map(|value| Box::new(Expression::Value(value)));
    let path = || paths().prop_map(|path| Box::new(Expression::Path(path)));
    let leaf = prop_oneof![
        (path(), comparisons(), value()).prop_map(|(left, operator, right)| Expression::Compare {
            left,
            operator,
            right
        }),
        (path(), value(), value()).prop_map(|(value, low, high)| Expression::Between {
            value,
            low,
            high
        }),
        (path(), any::<bool>(), prop::collection::vec(values(), 0..3))
            .prop_map(|(value, all, items)| Expression::In { value, all, items }),
        Just(Expression::Value(Value::Bool(true))),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expression::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expression::Or),
            inner
                .clone()
                .prop_map(|inner| Expression::Not(Box::new(inner))),
            (
                "[a-z]{1,4}(\\.[a-z]{1,4})?",
                prop::collection::vec(inner, 0..3)
            )
                .prop_filter_map(
                    "a call may not be named like a keyword",
                    |(name, arguments)| {
                        let arguments = arguments.into_iter().map(Argument::Expression).collect();
                        let is_word = [
                            "not", "true", "null", "false", "load", "as", "scale", "group",
                        ];
                        (!is_word.contains(&name.split('.').next().unwrap()))
                            .then_some(Expression::Call(Call { name, arguments }))
                    }
                ),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn printed_conditions_parse_to_the_same_tree(
        condition in conditions(),
        source in names(),
        alias in names(),
        key in paths(),
    ) {
        let query = Query {
            declarations: Vec::new(),
            from: From {
                source: SourceName::Collection(source),
                options: None,
                alias: Some(alias),
            },
            group_by: Vec::new(),
            condition: Some(condition),
            order_by: vec![OrderItem {
                expression: Expression::Path(key),
                ordering: Some(Ordering::Long),
                direction: Some(Direction::Descending),
                nulls: Some(NullsPlace::Last),
            }],
            load: Vec::new(),
            filter: None,
            select: None,
            include: Vec::new(),
            update: None,
            paging: Paging {
                limit: Some(Limit::SkipTake(Value::Long(1), Value::Parameter("n".into()))),
                offset: None,
                filter_limit: Some(Value::Long(5)),
            },
        };
        let printed = query.to_string();
        match parse(&printed) {
            Ok(again) => prop_assert_eq!(again, query, "{}", printed),
            Err(error) => prop_assert!(false, "{}\n{}", printed, error),
        }
    }

    #[test]
    fn any_text_is_an_answer(text in "\\PC{0,80}") {
        let _ = parse(&text);
        let _ = parse_patch(&format!("from A update {{{text}"));
    }

    #[test]
    fn damaged_queries_are_an_answer(
        example in prop::sample::select([EXAMPLES.as_slice(), FORMS.as_slice()].concat()),
        other in prop::sample::select([EXAMPLES.as_slice(), FORMS.as_slice()].concat()),
        cuts in prop::array::uniform4(0..1000_usize),
    ) {
        let at = |text: &str, thousandths: usize| {
            let at = text.len() * thousandths / 1000;
            (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
        };
        let mut text = example.to_owned();
        let piece = {
            let (from, to) = (at(other, cuts[0]), at(other, cuts[1]));
            &other[from.min(to)..from.max(to).min(from.min(to) + 12)]
        };
        let (from, to) = (at(&text, cuts[2]), at(&text, cuts[3]));
        let (from, to) = (from.min(to), from.max(to).min(from.min(to) + 8));
        text.replace_range(from..to, piece);
        if let Ok(query) = parse(&text) {
            let _ = crate::bind(&query, crate::Parameters::NONE);
            let printed = query.to_string();
            match parse(&printed) {
                Ok(again) => prop_assert_eq!(again, query, "{} -> {}", text, printed),
                Err(error) => prop_assert!(false, "{} -> {}\n{}", text, printed, error),
            }
        }
    }

    #[test]
    fn any_words_are_an_answer(
        words in prop::collection::vec(prop::sample::select(vec![
            "from", "index", "A", "where", "F", "=", "1", "'x'", "(", ")", ",", "and", "or", "not",
            "in", "between", "select", "distinct", "group", "by", "order", "as", "long", "desc",
            "include", "limit", "offset", "filter", "filter_limit", "load", "timeseries", "{", "}",
            "declare", "function", "$p", ".", "[", "]", "@m", "true", "null", "-", "1.5", "all",
        ]), 0..24),
    ) {
        let text = words.join(" ");
        for text in [text.clone(), format!("from A where {text}")] {
            if let Ok(query) = parse(&text) {
                let printed = query.to_string();
                match parse(&printed) {
                    Ok(again) => prop_assert_eq!(again, query, "{} -> {}", text, printed),
                    Err(error) => prop_assert!(false, "{} -> {}\n{}", text, printed, error),
                }
            }
        }
    }
}

#[test]
fn clauses_without_a_value_are_incomplete_not_unparsable() {
    for (text, message) in [
        ("from A limit", "Limit must contain a value"),
        ("from A limit x", "Limit must contain a value"),
        ("from A limit 1,", "Limit must contain a second value"),
        ("from A offset", "Offset must contain a value"),
        ("from A limit 1 offset", "Offset must contain a value"),
        (
            "from A where F ~ 'x'",
            "Expected operator after 'F' field, but found '~'",
        ),
        (
            "from A where F.G 5",
            "Expected operator after 'F.G' field, but found '5'",
        ),
        (
            "from A filter F like 'x'",
            "Expected operator after 'F' field, but found 'like'",
        ),
        (
            "from A where (F 'x')",
            "Expected operator after 'F' field, but found ''x''",
        ),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.kind, SyntaxErrorKind::Incomplete, "{text}: {error}");
        assert!(error.message.starts_with(message), "{text}: {error}");
    }
    for text in [
        "from A where",
        "from A where F =",
        "from A order by",
        "from A where F = 1 ~",
        "from A where F in (",
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.kind, SyntaxErrorKind::Unparsable, "{text}: {error}");
    }
}
