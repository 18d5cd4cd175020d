//! Maps and reduces in C#: the shapes that clients write, what they mean, what is refused.

use jackdaw_base::time::UnixTicks;
use jackdaw_script::index::{
    IndexedCounter, IndexedDocument, IndexedSeries, IndexedSeriesEntry, MapProgram, MapSource,
    ReduceProgram,
};

use crate::index_world::{IndexWorld, compile, map_error, mapped, mapped_by, reduced};

/// Checks the entries of one document.
fn check(map: &str, document: &str, entries: &[&str]) {
    assert_eq!(mapped(map, document), entries, "{map}");
}

/// Checks the value of an expression over a document `d`.
fn value(expression: &str, document: &str, expected: &str) {
    let map = format!("from d in docs.Things select new {{ x = {expression} }}");
    check(&map, document, &[&format!(r#"{{"x":{expected}}}"#)]);
}

#[test]
fn fields_have_the_names_of_members() {
    let map = compile("from u in docs.Users select new { u.name, last = u.lastName, u.a.b }");
    assert_eq!(map.fields(), ["name", "last", "b"]);
    assert!(!map.has_fan_out());
    let document = r#"{"name":"Ada","lastName":"L","a":{"b":[1,2.50,{"c":1}]}}"#;
    let entry = r#"{"name":"Ada","last":"L","b":[1,2.50,{"c":1}]}"#;
    assert_eq!(mapped_by(&map, document), [entry]);
}

#[test]
fn what_is_missing_is_left_out_and_null_is_null() {
    check(
        "from u in docs.Users select new { u.a, u.b, c = u.x.y.z \
        };",
        r#"{"a":null}"#,
        &[r#"{"a":null}"#],
    );
    value("d.a + 1", "{}", "null");
}

#[test]
fn sources_are_told() {
    let documents = |names: &[&str]| MapSource::Documents {
        collections: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    for (text, source) in [
        (
            "from u in docs.Users select new { u.a }",
            documents(&["Users"]),
        ),
        ("from u in docs select new { u.a }", documents(&[])),
        ("docs.Users.Select(u => new { u.a })", documents(&["Users"])),
        ("docs.Select(u => new { u.a });", documents(&[])),
        (
            "\t\t  \t from    u  \t \t in  \t docs.users\nselect new{u.a}",
            documents(&["users"]),
        ),
        (
            "from u in docs[\"My Users\"] select new { u.a }",
            documents(&["My Users"]),
        ),
    ] {
        assert_eq!(*compile(text).source(), source, "{text}");
    }
    let one = |name: &str| vec![name.to_owned()];
    assert_eq!(
        *compile("from c in counters.Users.Likes select new { c.Value }").source(),
        MapSource::Counters {
            collections: one("Users"),
            names: one("Likes")
        }
    );
    assert_eq!(
        *compile(
            "timeSeries.Companies.SelectMany(t => t.Entries, (t, e) => new { e.Value \
            });"
        )
        .source(),
        MapSource::TimeSeries {
            collections: one("Companies"),
            names: Vec::new()
        }
    );
    assert_eq!(
        *compile(
            "from t in timeseries.Users.Heart.Where(x => true) from e in t.Entries select \
            new { e.Value }"
        )
        .source(),
        MapSource::TimeSeries {
            collections: one("Users"),
            names: one("Heart")
        }
    );
}

#[test]
fn counters_and_time_series_are_mapped() {
    let map = compile(
        "counters.Companies.HeartRate.Select(counter => new {\n    beat = counter.Value,\n    \
            name = counter.Name,\n    user = counter.DocumentId\n})",
    );
    let counter = IndexedCounter {
        document_id: "companies/1",
        name: "HeartRate",
        value: 7,
    };
    let entries = IndexWorld::default().entries(&map, IndexedDocument::Counter(counter));
    assert_eq!(
        entries.unwrap(),
        [r#"{"beat":7,"name":"HeartRate","user":"companies/1"}"#]
    );

    let map = compile(
        "from ts in timeSeries.Companies.HeartRate from entry in ts.Entries select new {    \
            heartBeat = entry.Values[0],    date = entry.Timestamp.Date,    user = \
            ts.DocumentId, entry.Tag }",
    );
    assert!(map.has_fan_out());
    let day = 864_000_000_000;
    let entry = |hours: i64, values| IndexedSeriesEntry {
        timestamp: UnixTicks(day + hours * day / 24),
        tag: None,
        values,
    };
    let entries = [entry(1, &[7.0][..]), entry(30, &[8.5, 1.0][..])];
    let series = IndexedSeries {
        document_id: "companies/1",
        name: "HeartRate",
        entries: &entries,
    };
    let entries = IndexWorld::default().entries(&map, IndexedDocument::Series(series));
    assert_eq!(
        entries.unwrap(),
        [
            r#"{"heartBeat":7.0,"date":"1970-01-02T00:00:00.0000000Z","user":"companies/1"}"#,
            r#"{"heartBeat":8.5,"date":"1970-01-03T00:00:00.0000000Z","user":"companies/1"}"#,
        ]
    );
}

#[test]
fn chains_of_selects_are_mapped() {
    check(
        "docs.MyDocuments.SelectMany(doc => doc.items, (doc, item) => new {\n    doc = doc,\n    \
            item = item\n}).Select(this0 => new {\n    this0 = this0,\n    lat = \
            ((double)(this0.item.latitude ?? 0))\n}).Select(this1 => new {\n    this1 = this1,\n\
            lng = ((double)(this1.this0.item.longitude ?? 0))\n}).Select(this2 => new {\n    id \
            = Id(this2.this1.this0.doc),\n    date = this2.this1.this0.item.date,\n    latitude \
            = this2.this1.lat,\n    coordinates = this.CreateSpatialField(((double ? ) \
            this2.this1.lat), ((double ? ) this2.lng))\n})",
        r#"{"items":[{"latitude":1.5,"date":"d"},{"longitude":3}]}"#,
        &[
            "{\"id\":\"albums/1\",\"date\":\"d\",\"latitude\":1.5,\"coordinates\":{\"$spatial\":{\
                \"Latitude\":1.5,\"Longitude\":0.0}}}",
            "{\"id\":\"albums/1\",\"latitude\":0.0,\"coordinates\":{\"$spatial\":{\"Latitude\":0.\
                0,\"Longitude\":3.0}}}",
        ],
    );
    check(
        "docs.Items.Select(doc => new {\n    doc = doc,\n    slug = \
            Id(doc).ToString().Substring(Id(doc).ToString().IndexOf('/') + 1)\n}).Select(this0 \
            => new {\n    slug = this0.slug,\n    title = this0.doc.title\n})",
        r#"{"title":"T"}"#,
        &[r#"{"slug":"1","title":"T"}"#],
    );
    check(
        "docs.Mains.Select(main => new {    main = main,    related = \
            this.LoadDocument(String.Format(\"addresses/{0}\", main.name), \
            \"Addresses\")}).Select(this0 => new {    name = this0.main.name,\n    value = \
            this0.related != null ? ((decimal ? ) this0.related.number) : ((decimal ? ) null)\n})",
        r#"{"name":1}"#,
        &[r#"{"name":1,"value":1.1}"#],
    );
}

#[test]
fn documents_beside_are_loaded() {
    let map = compile(
        "from p in docs.Ps let a = LoadDocument(p.address, \"Addresses\") where a != null select \
            new { a.city, id = Id(a), twice = LoadDocument(new [] { p.address, \"x\" }, \
            \"Addresses\").Select(y => y.city) }",
    );
    assert_eq!(map.referenced_collections(), ["Addresses"]);
    assert_eq!(
        mapped_by(&map, r#"{"address":"addresses/1"}"#),
        [r#"{"city":"Lund","id":"addresses/1","twice":["Lund",null]}"#]
    );
    assert!(mapped_by(&map, "{}").is_empty());
    let map = compile(
        "from p in docs.Products select new { X = \
        LoadCompareExchangeValue(\"k\").v }",
    );
    assert!(map.uses_compare_exchange());
    assert_eq!(mapped_by(&map, "{}"), [r#"{"X":7}"#]);
    check(
        "from d in docs select new { c = CounterNamesFor(d), t = TimeSeriesNamesFor(d), a = \
            AttachmentsFor(d).Select(x => x.Name + x.Size), m = MetadataFor(d)[\"@collection\"], \
            n = d[\"@metadata\"][\"@collection\"], i = d.Id }",
        "{}",
        &[
            "{\"c\":[\"likes\"],\"t\":[\"Heart\"],\"a\":[\"cover.png12\"],\"m\":\"Albums\",\"n\":\"\
            Albums\",\"i\":\"albums/1\"}",
        ],
    );
}

#[test]
fn special_fields_have_their_forms() {
    check(
        "from e in docs.Shops where e.latitude != 0 select new { e.venue, at = \
            CreateSpatialField(e.latitude, e.longitude), none = CreateSpatialField(e.q, 1), \
            shape = this.CreateSpatialField(e.wkt) }",
        r#"{"venue":"v","latitude":1.5,"longitude":-2,"wkt":"POINT (1 2)"}"#,
        &[
            "{\"venue\":\"v\",\"at\":{\"$spatial\":{\"Latitude\":1.5,\"Longitude\":-2}},\"shape\":{\
            \"$spatial\":\"POINT (1 2)\"}}",
        ],
    );
    check(
        "from e in docs.Shops select new { e.venue, at = CreateSpatialField(e.latitude, \
            e.longitude), none = CreateSpatialField(e.venue, 1) }",
        r#"{"venue":"v","latitude":"1.5","longitude":-2}"#,
        &["{\"venue\":\"v\",\"at\":{\"$spatial\":{\"Latitude\":\"1.5\",\"Longitude\":-2}}}"],
    );
    check(
        "from d in docs.Ps select new { _ = d.attributes.Select(a => CreateField(a.name, \
            a.value, new CreateFieldOptions { Indexing = FieldIndexing.Exact, Storage = \
            FieldStorage.Yes })), __ = CreateField(\"n\", d.n, true, false), last = \
            d.n.Boost(10) }",
        r#"{"n":1,"attributes":[{"name":"color","value":"red"}]}"#,
        &[
            "{\"_\":[{\"$field\":\"color\",\"$value\":\"red\",\"$options\":{\"Indexing\":\"Exact\",\
            \"Storage\":\"Yes\"}}],\"__\":{\"$field\":\"n\",\"$value\":1,\"$options\":{\"Storage\
            \":\"Yes\",\"Indexing\":\"Exact\"}},\"last\":{\"$value\":1,\"$boost\":10}}",
        ],
    );
    check(
        "from d in docs.Ps select new { d.n \
        }.Boost(2)",
        r#"{"n":1}"#,
        &[r#"{"n":1,"$boost":2}"#],
    );
}

#[test]
fn numbers_are_exact_where_they_can_be() {
    for (expression, expected) in [
        ("d.i / 2", "3"),
        ("d.i % 4", "3"),
        ("d.f + 0.2", "0.3"),
        ("d.f * 3", "0.3"),
        ("d.i / 2.0", "3.5"),
        ("(decimal) d.f / 3", "0.0333333333333333333333333333"),
        ("1M - d.f", "0.9"),
        ("(int) 7.9 + (int) -7.9", "0"),
        ("-d.i", "-7"),
        ("1 + 2 * 3 - 4", "3"),
        ("(1 + 2) * 3", "9"),
        ("Math.Round(2.345, 2)", "2.34"),
        ("Math.Max(d.i, 9) + Math.Abs(-2)", "11"),
        ("9223372036854775807 + 1", "9223372036854775808"),
        ("d.i > 6 && d.i < 8 || false", "true"),
        ("d.big", "12345678901234567890123"),
        ("d.i == 7.0", "true"),
        (
            "Convert.ToInt32(2.5) + int.Parse(\"4\") + ParseInt(\"x\", 1)",
            "7",
        ),
    ] {
        value(
            expression,
            r#"{"i":7,"f":0.1,"big":12345678901234567890123}"#,
            expected,
        );
    }
    let error = map_error(
        "from u in docs.Us select new { a = 5 / u.Age }",
        r#"{"Age":0}"#,
    );
    assert_eq!(error, "Attempted to divide by zero.");
    // What is not there counts as zero.
    let error = map_error("from u in docs.Us select new { a = 5 / u.Age }", "{}");
    assert_eq!(error, "Attempted to divide by zero.");
    assert_eq!(
        mapped("from u in docs.Us select new { a = u.Age / 5 }", "{}"),
        [r#"{"a":null}"#]
    );
    let error = map_error(
        "from doc in docs let x = 0 select new { Total = 3/x };",
        "{}",
    );
    assert_eq!(error, "Attempted to divide by zero.");
}

#[test]
fn texts_have_their_methods() {
    for (expression, expected) in [
        ("d.s.ToUpper() + d.none", "\"ABC DEF\""),
        ("d.s.Substring(4, 2)", "\"de\""),
        ("d.s.Split(' ')[1]", "\"def\""),
        ("d.s.IndexOf(\"def\")", "4"),
        ("d.s.Length + d.s[0]", "\"7a\""),
        (
            "d.s.StartsWith(\"AB\", StringComparison.OrdinalIgnoreCase)",
            "true",
        ),
        (
            "$\"{d.s}-{1 + 1:000}-{{{d.i,4}}}\"",
            "\"abc def-002-{   7}\"",
        ),
        ("string.Join(\",\", d.l.Select(x => x * 2))", "\"2,4,6\""),
        ("string.IsNullOrEmpty(d.none) ? \"a\" : \"b\"", "\"a\""),
        ("@\"a\\b\" + 'c'", "\"a\\\\bc\""),
        ("d.s.Contains(\"c d\")", "true"),
        ("d.s.Trim('a', 'f').Replace(\"b\", \"_\")", "\"_c de\""),
        ("d.i + \"_\" + d.t", "\"7_True\""),
        ("d.none ?? \"x\"", "\"x\""),
        ("d.none?.a?.ToString() ?? \"y\"", "\"y\""),
        ("d.u.Substring(2, 1) + d.u.Length", "\"e5\""),
    ] {
        value(
            expression,
            r#"{"s":"abc def","i":7,"t":true,"l":[1,2,3],"u":"😀et!"}"#,
            expected,
        );
    }
}

#[test]
fn dates_are_taken_apart() {
    let document = r#"{"a":"2024-02-29T12:30:45.1230000","b":"2024-03-01T00:00:00.0000000"}"#;
    for (expression, expected) in [
        ("d.a.Year * 100 + d.a.Month", "202402"),
        ("d.a.Date", "\"2024-02-29T00:00:00.0000000\""),
        ("d.b - ((DateTime?)d.a)", "\"11:29:14.8770000\""),
        ("(d.b - d.a).TotalHours > 11", "true"),
        (
            "d.a.AddDays(1.5).AddMonths(1)",
            "\"2024-04-02T00:30:45.1230000\"",
        ),
        ("d.a.ToString(\"yyyy-MM-dd HH:mm\")", "\"2024-02-29 12:30\""),
        (
            "new DateTime(d.a.Year, d.a.Month, 1)",
            "\"2024-02-01T00:00:00.0000000\"",
        ),
        ("((DateTime)d.a).DayOfWeek", "\"Thursday\""),
        ("d.a < d.b", "true"),
        ("d.a > new DateTime(2024, 1, 1)", "true"),
        ("TimeSpan.FromHours(30)", "\"1.06:00:00\""),
        ("d.c - d.a", "null"),
        ("d.a == DateTime.MinValue", "false"),
    ] {
        value(expression, document, expected);
    }
}

#[test]
fn sequences_have_their_methods() {
    let document = "{\"l\":[3,1,2,3],\"lines\":[{\"p\":\"a\",\"q\":2,\"c\":0.5},{\"p\":\"b\",\"q\
        \":1,\"c\":0.25},{\"p\":\"a\",\"q\":4,\"c\":1}],\"o\":{\"k\":1,\"m\":2},\"t\":[\"x\",\"y\
        \"]}";
    for (expression, expected) in [
        ("d.lines.Sum(l => l.q * l.c)", "5.25"),
        ("d.lines.Where(l => l.p == \"a\").Count()", "2"),
        ("d.lines.Count(l => l.q > 1)", "2"),
        (
            "d.l.Distinct().OrderByDescending(x => x).ToArray()",
            "[3,2,1]",
        ),
        (
            "d.lines.OrderBy(l => l.p).ThenByDescending(l => l.q).Select(l => l.q)",
            "[4,2,1]",
        ),
        (
            "d.lines.GroupBy(l => l.p).Select(g => new { g.Key, n = g.Sum(x => x.q) \
            })",
            "[{\"Key\":\"a\",\"n\":6},{\"Key\":\"b\",\"n\":1}]",
        ),
        (
            "d.lines.Any(l => l.q == 4) && !d.lines.All(l => l.q == 4)",
            "true",
        ),
        ("d.l.Max() - d.l.Min()", "2"),
        ("d.l.Average()", "2.25"),
        ("d.lines.First(l => l.p == \"b\").c + d.l.Last()", "3.25"),
        ("d.none.FirstOrDefault() == null", "true"),
        ("d.l.Take(2).Concat(d.t).Skip(1)", "[1,\"x\",\"y\"]"),
        ("d.l.Contains(2)", "true"),
        ("d.o.Select(p => p.Key + p.Value)", "[\"k1\",\"m2\"]"),
        ("d.o.Keys", "[\"k\",\"m\"]"),
        ("d.l.Aggregate(10, (a, x) => a + x)", "19"),
        ("Enumerable.Sum(d.lines, l => l.q)", "7"),
        ("Enumerable.Range(1, 3).Reverse()", "[3,2,1]"),
        (
            "(from l in d.lines where l.q > 1 select l.p).Distinct()",
            "[\"a\"]",
        ),
        (
            "d.lines.SelectMany(l => d.t, (l, t) => l.p + t).Length",
            "6",
        ),
        (
            "d.lines.ToDictionary(l => l.p + l.q, l => l.c)[\"a4\"]",
            "1",
        ),
        ("d.l.Length + d.l.Count() + d.l[1]", "9"),
        (
            "((IEnumerable<dynamic>)d.lines).Select((Func<dynamic, dynamic>)(l => l.q))",
            "[2,1,4]",
        ),
        (
            "new object[] { d.t, ((object)d.l[0]), \"z\" }",
            "[[\"x\",\"y\"],3,\"z\"]",
        ),
        ("d.l.Select((x, i) => x * i)", "[0,1,4,9]"),
        ("d.l.Zip(d.t, (a, b) => b + a)", "[\"x3\",\"y1\"]"),
    ] {
        value(expression, document, expected);
    }
    check(
        "from d in docs.Ts select new { names = Recurse(d, x => LoadDocument(x.next, \
            \"Addresses\")).Select(y => y.city) }",
        r#"{"next":"addresses/1","city":"Rome"}"#,
        &[r#"{"names":["Rome","Lund"]}"#],
    );
}

#[test]
fn queries_fan_out() {
    let text = "from c in docs.Cars from l in c.L let d = l.P * 2 where d > 2 select new { l.P, \
        l.Q, d }";
    let map = compile(text);
    assert!(map.has_fan_out());
    assert_eq!(
        mapped_by(&map, r#"{"L":[{"P":1},{"P":2,"Q":3},{"P":4}]}"#),
        [r#"{"P":2,"Q":3,"d":4}"#, r#"{"P":4,"d":8}"#]
    );
    assert!(mapped_by(&map, "{}").is_empty());
}

#[test]
fn groups_are_reduced() {
    for text in [
        "from result in results group result by result.name into g select new { name = g.Key, \
            count = g.Sum(x => x.count) }",
        "results.GroupBy(r => r.name).Select(g => new { name = g.Key, count = Enumerable.Sum(g, \
            x => ((int) x.count)) })",
        "from r in results group r by r.name into g let n = g.Sum(x => x.count) select new { \
            name = g.Key, count = n }",
    ] {
        let reduce = ReduceProgram::compile(text, &[]).unwrap();
        assert_eq!(reduce.group_by(), ["name"]);
        assert_eq!(reduce.fields(), ["name", "count"]);
        let entries = [r#"{"name":"a","count":1}"#, r#"{"name":"a","count":4}"#];
        assert_eq!(
            reduced(&reduce, &entries),
            [r#"{"name":"a","count":5}"#],
            "{text}"
        );
    }
    let text = "from result in results\r\ngroup result by new { result.Date, result.Country } \
        into g\r\nselect new {\r\n    Date = g.Key.Date,\r\n    Country = g.Key.Country,\r\n    \
        Volume = g.Sum(x => x.Volume), Most = g.Max(x => x.Volume), Average = g.Average(x => \
        x.Volume), First = g.First().Volume, Count = g.Count()\r\n}";
    let reduce = ReduceProgram::compile(text, &[]).unwrap();
    assert_eq!(reduce.group_by(), ["Date", "Country"]);
    let entries = [
        r#"{"Date":"d","Country":"c","Volume":0.1}"#,
        r#"{"Date":"d","Country":"c","Volume":0.2}"#,
        r#"{"Date":"d","Country":"c","Volume":null}"#,
    ];
    assert_eq!(
        reduced(&reduce, &entries),
        [
            "{\"Date\":\"d\",\"Country\":\"c\",\"Volume\":0.3,\"Most\":0.2,\"Average\":0.15,\"First\
            \":0.1,\"Count\":3}"
        ]
    );
    let error = ReduceProgram::compile("from r in results select new { r.a }", &[]).unwrap_err();
    assert!(error.to_string().contains("groups its entries"), "{error}");
    let text = "from r in results group r by r.a + 1 into g select new { a = g.Key }";
    let error = ReduceProgram::compile(text, &[]).unwrap_err();
    assert!(
        error.to_string().contains("by fields of the map"),
        "{error}"
    );
}

#[test]
fn additional_sources_are_called() {
    let source = "using System; using System.Linq;\nnamespace My.Helpers {\n  public static \
        class Helper {\n    public static string Mr(string x) { return \"Mr. \" + x; }\n    \
        public static bool IsOld(this object u, int limit = 40) => Age(u) > limit;\n    private \
        static int Age(dynamic u) { var age = u.age; if (age == null) { return 0; } return age; \
        }\n  }\n}";
    let sources = [("Helper".to_owned(), source.to_owned())];
    let text = "from u in docs.Users select new { n = Helper.Mr(u.name), old = u.IsOld(), older \
        = u.IsOld(60) }";
    let map = MapProgram::compile(text, &sources).unwrap();
    assert_eq!(
        mapped_by(&map, r#"{"name":"X","age":50}"#),
        ["{\"n\":\"Mr. \
        X\",\"old\":true,\"older\":false}"]
    );
    assert_eq!(
        mapped_by(&map, "{}"),
        [r#"{"n":"Mr. ","old":false,"older":false}"#]
    );
    let people = "using System;\nusing Raven.Documents;\nnamespace ETIS\n{\n\
        public static class PeopleUtil\n{\n\
        public static string CalculateEmail(string name, uint age)\n{\n\
        return $\"{name}.{age}@example.org\";\n}\n}\n}";
    let people = [("PeopleUtil".to_owned(), people.to_owned())];
    let text = "docs.People.Select(p => new { Email = PeopleUtil.CalculateEmail(p.Name, p.Age) })";
    let map = MapProgram::compile(text, &people).unwrap();
    let entry = r#"{"Email":"a.3@example.org"}"#;
    assert_eq!(mapped_by(&map, r#"{"Name":"a","Age":3}"#), [entry]);
    let looping = [(
        "L".to_owned(),
        "static class L { static int F(int x) => F(x - 1); \
        }"
        .to_owned(),
    )];
    let error = MapProgram::compile(
        "from u in docs select new { x = L.F(1) \
        }",
        &looping,
    )
    .unwrap_err();
    assert!(error.to_string().contains("call themselves"), "{error}");
}

#[test]
fn what_is_not_understood_is_refused_by_place() {
    for (text, expected) in [
        ("from c in docs.Cars select new { c.F ", "expected"),
        ("from ts in timeSeries.Users", "select or group"),
        ("from users", "not known here"),
        (
            "from c in docs.Cars orderby c.F select new { c.F \
            }",
            "'orderby c.F'\r\nOrderBy calls modify",
        ),
        (
            "docs.Users.OrderBy(user => user.Id).Select(user => new { user.Name \
            })",
            "OrderBy calls are not valid",
        ),
        (
            "from c in docs.Cars select new { X = c.F.Frobnicate(1) }",
            "'Frobnicate': this method \
            is not supported (line 1, column 42)",
        ),
        (
            "from c in docs.Cars\n select new { X = y }",
            "'y': this name is not known here (line \
            2, column 19)",
        ),
        (
            "from c in docs.Cars select new { X = DateTime.UtcNow }",
            "'UtcNow'",
        ),
        (
            "from c in docs.Cars select new { c.F() }",
            "this method is not supported",
        ),
        ("from c in docs.Cars select new { c.F + 1 }", "needs a name"),
        (
            "from c in docs.Cars select new { X = LoadDocument(c.F) }",
            "collection of the document",
        ),
        (
            "from c in docs.Cars select new { X = c.L.Select(3) }",
            "these arguments",
        ),
        (
            "from c in docs.Cars join d in docs.Ds on c.a equals d.a select new { c.F }",
            "'join'",
        ),
        (
            "from c in results select new { c.F }",
            "a map goes over docs",
        ),
        ("docs.Cars", "ends with select new"),
        (
            "from c in docs.Cars select new { X = \"abc }",
            "does not end",
        ),
        (
            "from c in docs.Cars select new { X = c.F switch { 1 => 2 } }",
            "expected",
        ),
        (
            "from c in docs.Cars select new { X = 1 # 2 }",
            "not part of C#",
        ),
    ] {
        let error = MapProgram::compile(text, &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn nesting_and_work_have_limits() {
    let deep = format!(
        "from c in docs.Cs select new {{ x = {}1{} \
        }}",
        "(".repeat(5000),
        ")".repeat(5000)
    );
    let error = MapProgram::compile(&deep, &[]).unwrap_err().to_string();
    assert!(error.contains("nest deeper"), "{error}");
    let wide = format!(
        "from c in docs.Cs select new {{ x = c.a{} }}",
        " + 1".repeat(5000)
    );
    assert_eq!(mapped(&wide, r#"{"a":0}"#), [r#"{"x":5000}"#]);
    let numbers = (0..200)
        .map(|n| n.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let text = "from c in docs.Cs from a in c.l from b in c.l from d in c.l select new { a }";
    let error = map_error(text, &format!(r#"{{"l":[{numbers}]}}"#));
    assert!(
        error.contains("memory") || error.contains("steps"),
        "{error}"
    );
    let doubling = (0..40)
        .map(|n| format!("let s{} = s{n} + s{n} ", n + 1))
        .collect::<String>();
    let error = map_error(
        &format!(
            "from c in docs.Cs let s0 = c.s {doubling} select new {{ s40 \
        }}"
        ),
        r#"{"s":"abcdefgh"}"#,
    );
    assert!(
        error.contains("memory") || error.contains("steps"),
        "{error}"
    );
}

#[test]
fn what_is_shared_is_not_gone_through_for_nothing() {
    // Each is an object of a few lines that would be gigabytes when it is written or compared.
    let doubling = (0..40).map(|n| format!("let s{} = new [] {{ s{n}, s{n} }} ", n + 1));
    let doubling = doubling.collect::<String>();
    let text = "Enumerable.Repeat(c.s, 100000)";
    for end in [
        "s40".to_owned(),
        "x = \"\" + s40".to_owned(),
        "x = s40.Equals(s40)".to_owned(),
        "x = new [] { s40 }.Distinct()".to_owned(),
        "x = new [] { s40, 1 }.GroupBy(s => s).Count()".to_owned(),
        "x = s40 == s39".to_owned(),
        format!("x = {text}"),
        format!("x = string.Join(\",\", {text})"),
        format!("x = {text}.Select(s => c.l).Distinct()"),
    ] {
        let map = format!("from c in docs.Cs let s0 = c.s {doubling} select new {{ {end} }}");
        let long = "long ".repeat(300);
        let error = map_error(
            &map,
            &format!(r#"{{"s":"{long}","l":["{long}","{long}"]}}"#),
        );
        let is_refused = ["memory", "steps", "longer than"]
            .iter()
            .any(|word| error.contains(word));
        assert!(is_refused, "{end}: {error}");
    }
    // A document behind one that needed much has all of the memory again.
    let map = compile("from c in docs.Cs select new { n = Enumerable.Repeat(c.a, c.n).Count() }");
    let mut world = IndexWorld::default();
    let large = format!(r#"{{"a":"{}","n":100000}}"#, "x".repeat(1000));
    for _ in 0..10 {
        assert_eq!(
            world.of_document(&map, &large).unwrap(),
            [r#"{"n":100000}"#]
        );
    }
}

#[test]
fn the_deepest_program_fits_on_a_small_stack() {
    // Functions that call one another, each as deep as it may be.
    let mut source = String::from("static class F { static int F0(int x) => x; ");
    for n in 1..8 {
        let open = "new [] { 1 }.Select(a => ".repeat(15);
        let close = ").First()".repeat(15);
        source += &format!(
            "static int F{n}(int x) => {open}(1 + F{}(x)){close}; ",
            n - 1
        );
    }
    source += "}";
    let sources = [("F".to_owned(), source)];
    let calls = (1..8)
        .map(|n| format!("x{n} = F.F{n}(1)"))
        .collect::<Vec<_>>()
        .join(", ");
    let text = format!("from c in docs.Cs select new {{ {calls} }}");
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    let entries = thread.spawn(move || {
        let map = MapProgram::compile(&text, &sources).unwrap();
        mapped_by(&map, "{}")
    });
    let entries = entries.unwrap().join().unwrap();
    assert!(entries[0].ends_with(r#""x7":8}"#), "{entries:?}");
}
