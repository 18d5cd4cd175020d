//! Hostile bytes of HTTP: heads that two readers could divide differently, long ones, damaged
//! requests, and names that lead out of where they belong.

use jackdaw_slow_tests::mix;

use crate::thrower::Input;

/// Requests of every kind that the server takes, whole and right.
const REQUESTS: &[(&str, &str, &str)] = &[
    ("GET", "/build/version", ""),
    ("GET", "/databases/db1/docs?id=as/1&include=Name", ""),
    (
        "GET",
        "/databases/db1/docs?startsWith=as/&start=0&pageSize=10",
        "",
    ),
    (
        "PUT",
        "/databases/db1/docs?id=x",
        r#"{"A":[1,2.5,{"B":"c"}],"@metadata":{"@collection":"Xs"}}"#,
    ),
    (
        "POST",
        "/databases/db1/bulk_docs",
        r#"{"Commands":[{"Type":"PUT","Id":"y","Document":{}}]}"#,
    ),
    (
        "POST",
        "/databases/db1/queries",
        r#"{"Query":"from Items where Number > $n","QueryParameters":{"n":3}}"#,
    ),
    (
        "POST",
        "/databases/db1/multi_get",
        r#"{"Requests":[{"Url":"/databases/db1/stats","Query":"","Method":"GET"}]}"#,
    ),
    (
        "POST",
        "/databases/db1/bulk_insert?id=1",
        r#"[{"Id":"z","Type":"PUT","Document":{}}]"#,
    ),
    (
        "PATCH",
        "/databases/db1/docs?id=as/2",
        r#"{"Patch":{"Script":"this.A = args.a","Values":{"a":1}}}"#,
    ),
    (
        "PUT",
        "/databases/db1/attachments?id=as/3&name=n&contentType=t",
        "content",
    ),
    (
        "PUT",
        "/databases/db1/cmpxchg?key=k&index=0",
        r#"{"Object":1}"#,
    ),
];

/// Pieces that parsers stumble over.
const PIECES: &[&[u8]] = &[
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\r",
    b"\0",
    b"%00",
    b"%",
    b"..",
    b"/../",
    b"%2e%2e%2f",
    b"\xff",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"99999999999999999999",
    b"-1",
    b"{",
    b"}",
    b"[[[[",
    b"\"",
    b"\\",
    b"\\u",
    b"\\ud800",
    b"1e999",
    b"null",
    b":",
    b",",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Length: 1\r\n",
    b"Expect: 100-continue\r\n",
    b"Upgrade: websocket\r\n",
    b" HTTP/1.1",
    b"HTTP/2.0",
    b"Host: evil\r\n",
    b"Content-Encoding: gzip\r\n",
    b"\t",
    b" ",
    b"$",
    b"*",
];

/// Heads that say twice, or unclearly, where their body ends.
pub(crate) fn smuggling() -> Vec<Input> {
    let heads = [
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: +5",
        "Content-Length: 5, 6",
        "Content-Length: 0x5",
        "Content-Length: -1",
        "Content-Length: 5 5",
        "Content-Length:\t5",
        "Content-Length: 99999999999999999999999",
        "Content-Length: 18446744073709551615",
        "Content-Length : 5",
        " Content-Length: 5",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding:\x0bchunked",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding\x00: chunked",
        "Transfer_Encoding: chunked",
        "A: b\r\n folded: c",
        "A: b\n\nGET /build/version HTTP/1.1",
        "A: b\rGET: c",
        "Host: other",
        "A\0: b",
        "A: b\0",
        ": b",
        "A b",
        "Connection: close, Content-Length\r\nContent-Length: 5",
        "Expect: 100-continue\r\nContent-Length: 5",
        "Expect: something\r\nContent-Length: 5",
        "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAA",
    ];
    let bodies = [
        "12345GET /build/version HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "0\r\n\r\nGET /build/version HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "5\r\n12345\r\n0\r\nA: b\r\n\r\n",
        "zz\r\n",
        "-1\r\n{}\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\n",
        "5;a=b\r\n12345\r\n0\r\n\r\n",
        "5\n12345\n0\n\n",
    ];
    let lines = [
        "POST /databases/db1/queries HTTP/1.1",
        "PUT /databases/db1/docs?id=s HTTP/1.1",
        "POST  /databases/db1/queries  HTTP/1.1",
        "POST http://localhost/databases/db1/queries HTTP/1.1",
        "GET /build/version HTTP/1.0",
    ];
    let mut inputs = Vec::new();
    for line in lines {
        for head in heads {
            for body in bodies {
                let bytes = format!("{line}\r\nHost: localhost\r\n{head}\r\n\r\n{body}");
                inputs.push(Input::http(
                    format!("{line} with {head:?} and {body:?}"),
                    bytes,
                ));
            }
        }
    }
    inputs
}

/// Many headers, long ones, long lines, and no end at all.
pub(crate) fn long_heads() -> Vec<Input> {
    let line = "GET /build/version HTTP/1.1\r\nHost: localhost\r\n";
    let mut inputs = Vec::new();
    for count in [99, 100, 1_000, 10_000, 1_000_000] {
        let bytes = format!("{line}{}\r\n", "A: b\r\n".repeat(count));
        inputs.push(Input::http(format!("{count} headers"), bytes));
    }
    for len in [8 << 10, 64 << 10, 1 << 20, 32 << 20] {
        let long = "x".repeat(len);
        for (what, bytes) in [
            ("value", format!("{line}A: {long}\r\n\r\n")),
            ("name", format!("{line}{long}: b\r\n\r\n")),
            (
                "path",
                format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ),
            (
                "query",
                format!("GET /databases?name={long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ),
            (
                "method",
                format!("{long} / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ),
            ("host", format!("GET / HTTP/1.1\r\nHost: {long}\r\n\r\n")),
            ("nothing", long.clone()),
            ("lines", "\r\n".repeat(len / 2)),
        ] {
            inputs.push(Input::http(format!("{what} of {len} bytes"), bytes));
        }
    }
    inputs
}

/// Right requests with a few random changes each.
pub(crate) fn damaged(seed: u64, count: u64) -> Vec<Input> {
    let whole: Vec<Vec<u8>> = REQUESTS
        .iter()
        .map(|(method, path, body)| Input::request(method, path, "", body.as_bytes()).bytes)
        .collect();
    let one = |number: u64| {
        let mut state = mix(seed ^ mix(number));
        let mut bytes = whole[choose(&mut state, whole.len())].clone();
        for _ in 0..=choose(&mut state, 4) {
            damage(&mut bytes, &mut state);
        }
        Input::http(format!("damaged request {number}"), bytes)
    };
    (0..count).map(one).collect()
}

/// The next random number below `limit`.
pub(crate) fn choose(state: &mut u64, limit: usize) -> usize {
    *state = mix(*state);
    usize::try_from(*state >> 16).unwrap_or(0) % limit.max(1)
}

/// One random change.
pub(crate) fn damage(bytes: &mut Vec<u8>, state: &mut u64) {
    let at = choose(state, bytes.len());
    let until = (at + 1 + choose(state, 12)).min(bytes.len());
    match choose(state, 5) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << choose(state, 8),
        1 => drop(bytes.drain(at.min(until)..until)),
        2 => {
            let copied = bytes[at.min(until)..until].repeat(1 + choose(state, 40));
            bytes.splice(at..at, copied);
        }
        3 => bytes.truncate(at.max(1)),
        _ => {
            let piece = PIECES[choose(state, PIECES.len())];
            bytes.splice(at..at, piece.iter().copied());
        }
    }
}

/// Names that are no names, and those that lead elsewhere.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "",
        ".",
        "..",
        "../..",
        "../../../../etc/passwd",
        "..%2f..%2f",
        "%2e%2e%2f%2e%2e%2fetc",
        "%252e%252e%252f",
        "..\\..\\",
        "..%5c..%5c",
        "%c0%ae%c0%ae%c0%af",
        "%00",
        "a%00b",
        "a%0ab",
        "a%0d%0aSet-Cookie:%20x",
        "%ff%fe",
        "%ed%a0%80",
        "%e2%80%ae",
        "%f0%9f%92%a9",
        "con",
        "NUL",
        "a:b",
        "a::$DATA",
        "~root",
        "$(id)",
        "`id`",
        "%24%7Bjndi:ldap://x%7D",
        "%25n%25n%25s",
        "<script>alert(1)</script>",
        "'%20or%201=1",
        "db1$0",
        "*",
        "?",
        "%",
        "%1",
        "%zz",
        "a%20b",
        "system",
        "catalog",
        "security%2fregistry.json",
        "file:%2f%2f%2fetc%2fpasswd",
        "http:%2f%2f169.254.169.254%2f",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push("x".repeat(512));
    names.push("x".repeat(513));
    names.push("%F0%9F%92%A9".repeat(600));
    names.push("../".repeat(1_000));
    names
}

/// Every route with every name in each place for one, and as the value of usual parameters.
pub(crate) fn paths(routes: &[(String, String)]) -> Vec<Input> {
    const PARAMETERS: &[&str] = &[
        "id",
        "name",
        "key",
        "start",
        "pageSize",
        "startsWith",
        "since",
        "to",
        "field",
        "operationId",
        "tag",
    ];
    let mut inputs = Vec::new();
    for (method, pattern) in routes {
        for name in names() {
            if pattern.contains('{') {
                let database = pattern
                    .replace("{database}", &name)
                    .replace("{path}", &name);
                inputs.push(Input::request(method, &database, "", b""));
            }
            let path = pattern
                .replace("{database}", "db1")
                .replace("{path}", &name);
            let values: Vec<String> = PARAMETERS
                .iter()
                .map(|parameter| format!("{parameter}={name}"))
                .collect();
            let path = format!("{path}?{}", values.join("&"));
            if path.len() < 32 << 10 {
                inputs.push(Input::request(method, &path, "", b""));
            }
        }
    }
    inputs
}
