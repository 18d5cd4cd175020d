//! Hostile bodies: values of the wrong type in every field, documents that are deep, wide or no
//! text, archives that grow, queries and scripts that never end.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::thrower::Input;

/// Bodies that the routes take, by the end of their paths.
fn right_bodies() -> Vec<(&'static str, Value)> {
    vec![
        (
            "/bulk_docs",
            json!({ "Commands": [
            { "Type": "PUT", "Id": "x", "ChangeVector": null, "Document": { "A": 1, "@metadata": {
                "@collection": "Xs", "@expires": "2030-01-01T00:00:00.0000000Z" } } },
            { "Type": "DELETE", "Id": "x", "ChangeVector": null },
            { "Type": "PATCH", "Id": "x", "Patch": { "Script": "this.a = 1", "Values": {} },
              "PatchIfMissing": null },
            { "Type": "JsonPatch", "Id": "x", "JsonPatch": { "Operations": [
                { "op": "add", "path": "/a", "value": 1 }] } },
            { "Type": "Counters", "Id": "x", "Counters": { "DocumentId": "x", "Operations": [
                { "Type": "Increment", "CounterName": "c", "Delta": 1 }] } },
            { "Type": "TimeSeries", "Id": "x", "TimeSeries": { "Name": "s", "Appends": [
                { "Timestamp": "2020-01-01T00:00:00.0000000Z", "Values": [1], "Tag": "t" }],
                "Deletes": [{ "From": null, "To": null }] } },
            { "Type": "ForceRevisionCreation", "Id": "x" },
            { "Type": "AttachmentDELETE", "Id": "x", "Name": "n", "ChangeVector": null },
            { "Type": "CompareExchangePUT", "Id": "k", "Document": { "Object": 1 }, "Index": 0 },
        ], "TransactionMode": "SingleNode" }),
        ),
        (
            "/queries",
            json!({ "Query": "from Items where Number > $n", "QueryParameters": { "n": 1 },
            "Start": 0, "PageSize": 10, "WaitForNonStaleResults": true,
            "WaitForNonStaleResultsTimeout": "00:00:01" }),
        ),
        (
            "/multi_get",
            json!({ "Requests": [
            { "Url": "/databases/db1/docs", "Query": "?id=a", "Method": "GET", "Headers": {},
              "Content": null }] }),
        ),
        (
            "/admin/indexes",
            json!({ "Indexes": [{ "Name": "I", "Maps": [
            "from a in docs.Items select new { a.Name }"], "Reduce": null, "Fields": { "Name": {
                "Indexing": "Search", "Storage": "Yes", "Analyzer": null, "TermVector": "No" } },
            "Configuration": {}, "Priority": "Normal", "LockMode": "Unlock" }] }),
        ),
        (
            "/counters",
            json!({ "Documents": [{ "DocumentId": "as/1", "Operations": [
            { "Type": "Increment", "CounterName": "c", "Delta": 1 }] }], "ReplyWithAllNodesValues":
            false }),
        ),
        (
            "/timeseries",
            json!({ "Name": "s", "Appends": [
            { "Timestamp": "2020-01-01T00:00:00.0000000Z", "Values": [1.5], "Tag": null }],
            "Deletes": [], "Increments": [] }),
        ),
        (
            "/subscriptions",
            json!({ "Name": "s", "Query": "from Items", "ChangeVector": null,
            "MentorNode": null, "Disabled": false }),
        ),
        (
            "/subscriptions/try",
            json!({ "Query": "from Items", "ChangeVector": null }),
        ),
        (
            "/admin/revisions/config",
            json!({ "Default": { "Disabled": false,
            "MinimumRevisionsToKeep": 5, "MinimumRevisionAgeToKeep": "1.00:00:00",
            "PurgeOnDelete": false }, "Collections": { "Items": { "Disabled": true } } }),
        ),
        (
            "/expiration/config",
            json!({ "Disabled": true, "DeleteFrequencyInSec": 60,
            "MaxItemsToProcess": null }),
        ),
        (
            "/refresh/config",
            json!({ "Disabled": true, "RefreshFrequencyInSec": 60 }),
        ),
        (
            "/timeseries/config",
            json!({ "Collections": { "Items": { "Disabled": true, "Policies": [
            { "Name": "p", "AggregationTime": { "Value": 1, "Unit": "Second" },
              "RetentionTime": { "Value": 1, "Unit": "Month" } }],
            "RawPolicy": { "RetentionTime": { "Value": 1, "Unit": "Month" } } } } }),
        ),
        (
            "/timeseries/policy",
            json!({ "Name": "p", "AggregationTime": { "Value": 1, "Unit": "Second" },
            "RetentionTime": { "Value": 1, "Unit": "Month" } }),
        ),
        (
            "/names/config",
            json!({ "Collection": "Items", "TimeSeries": "s", "ValueNames": ["a"],
            "Update": true }),
        ),
        ("/cmpxchg", json!({ "Object": { "a": 1 }, "@metadata": {} })),
        (
            "/docs",
            json!({ "Patch": { "Script": "this.a = args.a", "Values": { "a": 1 } },
            "PatchIfMissing": null }),
        ),
        (
            "/json-patch",
            json!({ "Operations": [{ "op": "replace", "path": "/Name", "value": 1 },
            { "op": "move", "from": "/Name", "path": "/B" }] }),
        ),
        (
            "/attachments/bulk",
            json!({ "Attachments": [{ "DocumentId": "as/1", "Name": "n" }] }),
        ),
        (
            "/admin/databases",
            json!({ "DatabaseName": "other", "Disabled": false, "Settings": {},
            "Topology": null, "DatabaseNames": ["nobody"], "HardDelete": true }),
        ),
        (
            "/set-lock",
            json!({ "DatabaseNames": ["other"], "Mode": "Unlock" }),
        ),
        (
            "/admin/databases/disable",
            json!({ "DatabaseNames": ["other"] }),
        ),
        (
            "/configuration/client",
            json!({ "Disabled": false, "MaxNumberOfRequestsPerSession": 1,
            "ReadBalanceBehavior": "None" }),
        ),
        ("/jackdaw/token", json!({ "ApiKey": "jdk_0_x" })),
        (
            "/jackdaw/keys",
            json!({ "Name": "n", "SecurityClearance": "ValidUser", "Permissions": {
            "db1": "Read" } }),
        ),
        (
            "/admin/certificates",
            json!({ "Name": "n", "SecurityClearance": "ValidUser",
            "Permissions": {}, "Certificate": "AAAA" }),
        ),
    ]
}

/// What may stand where something else is expected.
fn wrong_values() -> Vec<Value> {
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1.5),
        json!(1e308),
        json!(""),
        json!("\0"),
        json!("\u{202e}\u{fffd}"),
        json!("x".repeat(70_000)),
        json!([]),
        json!([null]),
        json!({}),
        json!({ "": {} }),
        json!([["a"], { "b": 1 }]),
        deep,
    ]
}

/// Replaces the value at the `target`-th place of a tree; false when there are fewer.
fn replace(value: &mut Value, target: &mut usize, new: &Value) -> bool {
    if *target == 0 {
        *value = new.clone();
        return true;
    }
    *target -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| replace(item, target, new)),
        Value::Object(members) => members.values_mut().any(|item| replace(item, target, new)),
        _ => false,
    }
}

/// Each field of each body with each wrong value, and the wrong values as bodies everywhere.
pub(crate) fn wrong_types(routes: &[(String, String)]) -> Vec<Input> {
    let mut inputs = Vec::new();
    let right = right_bodies();
    for (method, pattern) in routes {
        if !matches!(method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE") {
            continue;
        }
        let path = pattern.replace("{database}", "db1").replace("{path}", "x");
        let path = format!("{path}?id=as/1&name=n&key=k&index=0&task=1&collection=Items");
        let mut bodies: Vec<Value> = wrong_values();
        for (_, body) in right.iter().filter(|(end, _)| pattern.ends_with(end)) {
            for value in wrong_values() {
                for place in 0.. {
                    let mut body = body.clone();
                    if !replace(&mut body, &mut place.clone(), &value) {
                        break;
                    }
                    bodies.push(body);
                }
            }
        }
        let request = |body: &Value| Input::request(method, &path, "", body.to_string().as_bytes());
        inputs.extend(bodies.iter().map(request));
    }
    inputs
}

/// Texts that are hard to read as JSON, on the routes that read it.
pub(crate) fn documents() -> Vec<Input> {
    let million = 1_000_000;
    let keys: Vec<String> = (0..300_000).map(|key| format!("\"k{key}\":0")).collect();
    let same = vec!["\"k\":0"; 300_000];
    let texts: Vec<(&str, Vec<u8>)> = vec![
        ("deep lists", "[".repeat(million).into_bytes()),
        ("deep objects", "{\"a\":".repeat(million).into_bytes()),
        (
            "deep, closed",
            ("[".repeat(5_000) + &"]".repeat(5_000)).into_bytes(),
        ),
        ("many keys", format!("{{{}}}", keys.join(",")).into_bytes()),
        (
            "one key again",
            format!("{{{}}}", same.join(",")).into_bytes(),
        ),
        (
            "long key",
            format!("{{\"{}\":1}}", "k".repeat(million)).into_bytes(),
        ),
        (
            "long number",
            format!("{{\"a\":{}}}", "9".repeat(million)).into_bytes(),
        ),
        (
            "long fraction",
            format!("{{\"a\":0.{}1}}", "0".repeat(million)).into_bytes(),
        ),
        ("large exponent", b"{\"a\":1e999999999999}".to_vec()),
        (
            "long text",
            format!("{{\"a\":\"{}\"}}", "\\u0000".repeat(million)).into_bytes(),
        ),
        (
            "many numbers",
            format!("{{\"a\":[{}0]}}", "0,".repeat(4 * million)).into_bytes(),
        ),
        (
            "many empty",
            format!("{{\"a\":[{}{{}}]}}", "{},".repeat(2 * million)).into_bytes(),
        ),
        ("lone surrogate", br#"{"a":"\ud800"}"#.to_vec()),
        ("no text", b"{\"a\":\"\xff\xfe\xc0\x80\"}".to_vec()),
        ("surrogate in bytes", b"{\"a\":\"\xed\xa0\x80\"}".to_vec()),
        ("zero byte", b"{\"a\":\"\0\"}".to_vec()),
        ("byte order mark", b"\xef\xbb\xbf{}".to_vec()),
        (
            "other encoding",
            "{}".encode_utf16().flat_map(u16::to_le_bytes).collect(),
        ),
        ("half", br#"{"a":{"b":["#.to_vec()),
        ("spaces", " ".repeat(30 << 20).into_bytes()),
        ("nothing", Vec::new()),
    ];
    let routes = [
        ("PUT", "/databases/db1/docs?id=hostile"),
        ("POST", "/databases/db1/bulk_docs"),
        ("POST", "/databases/db1/queries"),
        ("POST", "/databases/db1/bulk_insert?id=7"),
        ("PUT", "/databases/db1/cmpxchg?key=h&index=0"),
        ("PATCH", "/databases/db1/docs?id=as/1"),
        ("POST", "/databases/db1/multi_get"),
        ("PUT", "/databases/db1/admin/indexes"),
    ];
    let mut inputs = Vec::new();
    for (method, path) in routes {
        for (name, text) in &texts {
            let mut input = Input::request(method, path, "", text);
            input.name = format!("{} with {name}", input.name);
            inputs.push(input);
            // As a value, where the outermost object is right.
            let inner = [
                b"{\"Commands\":[{\"Type\":\"PUT\",\"Id\":\"h\",\"Document\":",
                &text[..],
                b"}]}",
            ];
            if path.ends_with("bulk_docs") {
                inputs.push(Input::request(method, path, "", &inner.concat()));
            }
        }
    }
    inputs
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// Blanks, packed.
fn packed_blanks(mebibytes: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..mebibytes {
        encoder.write_all(&blanks).expect("memory takes it");
    }
    encoder.finish().expect("memory takes it")
}

/// Small bodies that are large ones once they are unpacked.
pub(crate) fn archives() -> Vec<Input> {
    let large = packed_blanks(1_024);
    let bodies = [
        ("a GiB", large.clone()),
        ("63 MiB", packed_blanks(63)),
        ("65 MiB", packed_blanks(65)),
        ("twice", gzip(&packed_blanks(64))),
        ("many members", gzip(b"").repeat(100_000)),
        ("half", large[..large.len() / 2].to_vec()),
        ("damaged", large.iter().map(|byte| byte ^ 0x10).collect()),
        ("none", b"no gzip at all".to_vec()),
    ];
    let mut inputs = Vec::new();
    for encoding in ["gzip", "x-gzip", "gzip, gzip", "br", "deflate", "zstd", ""] {
        for (name, body) in &bodies {
            for (method, path) in [
                ("PUT", "/databases/db1/docs?id=packed"),
                ("POST", "/databases/db1/bulk_insert?id=8"),
                ("POST", "/databases/db1/queries"),
                (
                    "PUT",
                    "/databases/db1/attachments?id=as/4&name=n&contentType=t",
                ),
            ] {
                let header = format!("Content-Encoding: {encoding}\r\n");
                let mut input = Input::request(method, path, &header, body);
                input.name = format!("{} with {name} as '{encoding}'", input.name);
                inputs.push(input);
            }
        }
    }
    inputs
}

fn query(text: &str) -> Input {
    let body = json!({ "Query": text }).to_string();
    let mut input = Input::request("POST", "/databases/db1/queries", "", body.as_bytes());
    input.name = format!("query {}", text.chars().take(80).collect::<String>());
    input
}

/// Queries that are deep, long, or ask for much.
pub(crate) fn queries() -> Vec<Input> {
    let many = 20_000;
    let nested = |count: usize| {
        format!(
            "from Items where {}true{}",
            "(".repeat(count),
            ")".repeat(count)
        )
    };
    let list = |count: usize| vec!["'x'"; count].join(",");
    let mut texts = vec![
        nested(100),
        nested(many),
        format!("from Items where {}", vec!["Number = 1"; many].join(" or ")),
        format!(
            "from Items where {}",
            vec!["Number = 1"; 4_000].join(" and ")
        ),
        format!("from Items where {}Number = 1", "not ".repeat(many)),
        format!("from Items where Name in ({})", list(100)),
        format!("from Items where Name in ({})", list(200_000)),
        format!("from Items select {}", vec!["Name"; many].join(",")),
        format!("from Items order by {}", vec!["Name"; many].join(",")),
        format!("from Items include {}", vec!["Name"; many].join(",")),
        format!("from Items where Name = '{}'", "x".repeat(2 << 20)),
        format!("from Items where {} = 1", "a.".repeat(many) + "b"),
        format!("from Items where Name = {}", "9".repeat(100_000)),
        format!("from Items group by {}", vec!["Name"; 1_000].join(",")),
        "from Items limit 99999999999999999999, 99999999999999999999".to_owned(),
        "from Items limit 9223372036854775807".to_owned(),
        format!("{}from Items", "declare function f() { } ".repeat(1_000)),
        "from @all_docs as d load d.Name as e select { a: d, b: e }".to_owned(),
        "from Items where startsWith(Name, '')".to_owned(),
        "from Items where spatial.within(spatial.point(Number, Number), spatial.wkt('POLYGON(("
            .to_owned(),
        format!(
            "from Items where spatial.within(spatial.point(Number, Number), \
             spatial.wkt('POLYGON(({}))'))",
            vec!["1 1"; 100_000].join(",")
        ),
        "from Items where vector.search(Name, 'x')".to_owned(),
        "from Items where search(Name, '* OR ? OR ~ OR \"')".to_owned(),
        format!("from Items where search(Name, '{}')", "a* ".repeat(many)),
        format!("from Items where lucene(Name, '{}')", "(".repeat(many)),
        format!(
            "from Items where lucene(Name, '{}')",
            "a~0.1 OR ".repeat(5_000)
        ),
    ];
    let expressions = [
        "(a+)+$",
        "(a|aa)+$",
        "(.*a){30}",
        "(a?){50}a{50}",
        "[",
        "(?P<n>",
        "\\p{L}{1000}",
        "((((((((((a{9}){9}){9}){9}){9}){9}){9}){9}){9}){9})",
        "a{1000}{1000}",
        "(?i)^(([a-z])+.)+[A-Z]([a-z])+$",
    ];
    for expression in expressions {
        let quoted = expression.replace('\\', "\\\\").replace('\'', "''");
        texts.push(format!("from Items where regex(Name, '{quoted}')"));
    }
    let mut inputs: Vec<Input> = texts.iter().map(|text| query(text)).collect();
    for path in [
        "/databases/db1/jackdaw/feed?q=",
        "/databases/db1/streams/queries?query=",
    ] {
        for text in &texts {
            if text.len() < 20_000 {
                let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
                inputs.push(Input::request("GET", &format!("{path}{encoded}"), "", b""));
            }
        }
    }
    inputs
}

/// Scripts that never end, take much memory, or look for a way out.
pub(crate) fn scripts() -> Vec<Input> {
    const SCRIPTS: &[&str] = &[
        "while (true) {}",
        "for (;;) { this.a = 1 }",
        "let s = 'x'; while (true) s += s",
        "'x'.repeat(2 ** 30)",
        "'x'.padEnd(2 ** 30)",
        "new Array(2 ** 32 - 1).fill(0)",
        "let a = []; while (true) a.push(a)",
        "let a = []; while (true) a.push(new Array(1000).fill('x'))",
        "(function f() { f() })()",
        "(function f() { try { f() } finally { f() } })()",
        "JSON.parse('['.repeat(1000000))",
        "JSON.stringify(new Proxy({}, { ownKeys() { return new Array(1e6).fill('a') } }))",
        "/(a+)+$/.test('a'.repeat(64) + 'b')",
        "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(1000))",
        "'a'.repeat(65536).replace(/(a|a)*b/g, 'c')",
        "this.constructor.constructor('return process')()",
        "Object.prototype.a = 1; this.b = ({}).a",
        "Object.defineProperty(this, 'x', { get() { while (true) {} } }); this.y = this.x",
        "this.toJSON = () => { while (true) {} }",
        "[3, 1, 2].sort(() => { while (true) {} })",
        "import('fs')",
        "eval('while (true) {}')",
        "new Function('while (true) {}')()",
        "load(new Array(10000).fill('as/1'))",
        "for (let i = 0; i < 1e6; i++) put('p/' + i, { a: 1 })",
        "for (let i = 0; i < 1e9; i++) load('as/1')",
        "this.a = this",
        "let o = {}; o.o = o; this.a = o",
        "let d = {}; for (let i = 0; i < 1e5; i++) d = { d }; this.d = d",
        "throw { toString() { while (true) {} } }",
        "Promise.resolve().then(() => { while (true) {} })",
        "async function f() { while (true) await 0 } f()",
        "function* g() { while (true) yield 1 } [...g()]",
        "new BigInt64Array(2 ** 31)",
        "2n ** 1000000000n",
        "'\\u{10ffff}'.normalize('NFKD').repeat(1e8)",
        "new Date(NaN).toISOString()",
        "del(id(this))",
        "output('x'.repeat(1e9))",
    ];
    let mut inputs = Vec::new();
    for (number, script) in SCRIPTS.iter().enumerate() {
        let patch = json!({ "Patch": { "Script": script, "Values": {} } }).to_string();
        let path = "/databases/db1/docs?id=as/5";
        let mut input = Input::request("PATCH", path, "", patch.as_bytes());
        input.name = format!("patch {script}");
        inputs.push(input);
        let text = format!(
            "declare function f(a) {{ {script}; return {{ n: 1 }} }} from Items as a select f(a)"
        );
        inputs.push(query(&text));
        let index = json!({ "Indexes": [{ "Name": format!("Hostile/{number}"), "Maps": [format!(
            "map('Items', a => {{ {script}; return {{ Name: 1 }} }})"
        )] }] });
        let path = "/databases/db1/admin/indexes";
        inputs.push(Input::request(
            "PUT",
            path,
            "",
            index.to_string().as_bytes(),
        ));
        let update = json!({ "Query": { "Query": format!("from Items update {{ {script} }}") } });
        let path = "/databases/db1/queries";
        inputs.push(Input::request(
            "PATCH",
            path,
            "",
            update.to_string().as_bytes(),
        ));
    }
    inputs
}
