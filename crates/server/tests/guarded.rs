//! What clients that mean no good meet: half of a head, lines that end with LF alone, pages of
//! other sites that ask by GET, answers opened in a browser, numbers that are used up, and a stop
//! in the middle of a bulk insert.

use std::io::Write;
use std::time::{Duration, Instant};

mod support;

use support::{Connection, TestServer, config, socket, start_with_database};

const HEAD: &str = "GET /build/version HTTP/1.1\r\nHost: localhost\r\nA: b\r\n\r\n";
const HEAD_TIMEOUT: Duration = Duration::from_millis(200);

/// A server on which heads have little time, and idle connections much.
fn hasty() -> TestServer {
    let mut config = config();
    config.head_timeout = HEAD_TIMEOUT;
    TestServer::start(config)
}

#[test]
fn half_a_head_ends_the_connection_soon() {
    let server = hasty();
    for before in ["", HEAD] {
        for len in [1, 14, HEAD.len() - 4, HEAD.len() - 1] {
            let mut stream = socket(server.address());
            let started = Instant::now();
            stream.write_all(before.as_bytes()).unwrap();
            stream.write_all(&HEAD.as_bytes()[..len]).unwrap();
            let answers = Connection::over(stream).read_to_end();
            assert_eq!(answers.is_empty(), before.is_empty());
            assert!(started.elapsed() < 20 * HEAD_TIMEOUT, "{before:?} {len}");
        }
    }
}

#[test]
fn a_head_that_trickles_ends_the_connection_soon() {
    let server = hasty();
    let started = Instant::now();
    let mut stream = socket(server.address());
    stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    // Each byte is in time, the head is not.
    while stream.write_all(b"a").is_ok() {
        assert!(started.elapsed() < 40 * HEAD_TIMEOUT, "still open");
        std::thread::sleep(HEAD_TIMEOUT / 20);
    }
}

#[test]
fn idle_connections_and_slow_bodies_have_longer() {
    let server = hasty();
    let mut idle = server.connect();
    let mut used = server.connect();
    assert_eq!(used.get("/build/version").status, 200);
    let mut posting = server.connect();
    posting.send(
        b"POST /databases/none/queries HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: 9\r\n\r\n{",
    );
    std::thread::sleep(2 * HEAD_TIMEOUT);
    assert_eq!(idle.get("/build/version").status, 200);
    assert_eq!(used.get("/build/version").status, 200);
    posting.send(b"        ");
    assert!(posting.read(false).status >= 400);
}

#[test]
fn heads_with_bare_line_ends_are_refused() {
    let server = TestServer::start(config());
    for head in [
        "GET /build/version HTTP/1.1\nHost: localhost\n\n",
        "GET /build/version HTTP/1.1\r\nHost: localhost\n\r\n",
        "GET /build/version HTTP/1.1\r\nHost: localhost\r\nA: b\nC: d\r\n\r\n",
        "GET /build/version HTTP/1.1\nHost: localhost\r\n\r\n",
    ] {
        for before in ["", HEAD] {
            let mut connection = server.connect();
            connection.send(format!("{before}{head}").as_bytes());
            if !before.is_empty() {
                assert_eq!(connection.read(false).status, 200);
            }
            let answer = String::from_utf8_lossy(&connection.read_to_end()).into_owned();
            assert!(answer.starts_with("HTTP/1.1 400"), "{head:?}: {answer}");
        }
    }
}

/// Requests of GET that change something.
const EFFECTS: &[&str] = &[
    "/databases/db1/hilo/next?tag=a",
    "/databases/db1/operations/next-operation-id",
    "/databases/db1/queries?query=from%20Orders%20where%20A%20%3D%201",
    "/databases/db1/streams/queries?query=from%20Orders%20where%20B%20%3D%201",
    "/admin/test/delay?value=1",
];

#[test]
fn pages_of_other_sites_get_nothing_that_changes_something() {
    let (_server, mut connection) = start_with_database();
    let browser = "User-Agent: Mozilla/5.0\r\n";
    for path in EFFECTS {
        let mut ask = |headers: &str| connection.exchange("GET", path, headers, b"").status;
        for foreign in [
            "Origin: http://evil.example\r\n",
            "Origin: null\r\n",
            "Sec-Fetch-Site: cross-site\r\n",
            "Sec-Fetch-Site: same-site\r\n",
            "User-Agent: Mozilla/5.0\r\nReferer: http://evil.example/a\r\n",
            "Referer: http://evil.example/test.local:1234\r\n",
            browser,
        ] {
            assert_eq!(ask(foreign), 403, "{path} {foreign}");
        }
    }
    let indexes = connection.get("/databases/db1/indexes").json();
    assert_eq!(indexes["Results"].as_array().unwrap().len(), 0);
    for path in EFFECTS {
        let mut ask = |headers: &str| connection.exchange("GET", path, headers, b"").status;
        for own in [
            "",
            "User-Agent: ravendb-client\r\n",
            "User-Agent: Mozilla/5.0\r\nSec-Fetch-Site: same-origin\r\n",
            "User-Agent: Mozilla/5.0\r\nSec-Fetch-Site: none\r\n",
            "User-Agent: Mozilla/5.0\r\nReferer: http://test.local:1234/studio/\r\n",
        ] {
            assert!(ask(own) < 300, "{path} {own}");
        }
    }
    // What only reads may be linked to.
    let link = "Sec-Fetch-Site: cross-site\r\n";
    let read = connection.exchange("GET", "/databases/db1/stats", link, b"");
    assert_eq!(read.status, 200);
}

#[test]
fn answers_opened_in_a_browser_run_nothing() {
    let (_server, mut connection) = start_with_database();
    assert_eq!(connection.put("/databases/db1/docs?id=a", "{}").status, 201);
    let attachment = "/databases/db1/attachments?id=a&name=x.html";
    let html = b"<script>alert(1)</script>";
    let stored = connection.exchange("PUT", attachment, "Content-Type: text/html\r\n", html);
    assert_eq!(stored.status, 201);
    for (method, path, policy) in [
        ("GET", "/studio/index.html", "script-src 'self'"),
        ("GET", "/studio/", "script-src 'self'"),
        ("GET", "/", "default-src 'none'"),
        ("GET", "/databases/db1/docs?id=a", "default-src 'none'"),
        ("GET", "/databases/db1/docs?id=none", "default-src 'none'"),
        ("GET", "/nowhere", "default-src 'none'"),
        ("GET", "/databases/none/stats", "default-src 'none'"),
        ("POST", "/databases/db1/queries", "default-src 'none'"),
        ("GET", attachment, "sandbox;"),
    ] {
        let answer = connection.exchange(method, path, "", b"");
        let header = |name: &str| answer.header(name).unwrap_or("").to_owned();
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("x-frame-options"), "DENY", "{path}");
        let found = header("content-security-policy");
        assert!(found.contains(policy), "{path}: {found}");
        assert!(found.contains("frame-ancestors 'none'"), "{path}: {found}");
    }
}

/// A browser merges the headers of a 304 into the answer that it kept: a policy for data would stop
/// the page at its first reload.
#[test]
fn an_answer_that_was_not_modified_leaves_the_kept_policy() {
    let (_server, mut connection) = start_with_database();
    assert_eq!(connection.put("/databases/db1/docs?id=a", "{}").status, 201);
    let attachment = "/databases/db1/attachments?id=a&name=x.html";
    let stored = connection.exchange("PUT", attachment, "Content-Type: text/html\r\n", b"<p>");
    assert_eq!(stored.status, 201);
    for path in ["/studio/", attachment, "/databases/db1/docs?id=a"] {
        let first = connection.get(path);
        let etag = first.header("etag").expect("an ETag").to_owned();
        assert!(first.header("content-security-policy").is_some(), "{path}");
        let header = format!("If-None-Match: {etag}\r\n");
        let again = connection.exchange("GET", path, &header, b"");
        assert_eq!(again.status, 304, "{path}");
        assert_eq!(again.header("content-security-policy"), None, "{path}");
        assert_eq!(again.header("x-content-type-options"), Some("nosniff"));
    }
}

/// Studio's page holds the policy too, for when it is opened through something that drops headers.
#[test]
fn the_built_page_has_the_policy_of_the_header() {
    let (_server, mut connection) = start_with_database();
    let page = connection.get("/studio/");
    let policy = page.header("content-security-policy").unwrap();
    let build = include_str!("../../../studio/vite.config.ts");
    for directive in policy
        .split("; ")
        .filter(|part| !part.contains("ancestors"))
    {
        assert!(build.contains(&format!("\"{directive}\"")), "{directive}");
    }
}

#[test]
fn numbers_that_are_used_up_are_an_error() {
    let (_server, mut connection) = start_with_database();
    let last = i64::MAX;
    for (value, rest) in [(last - 1, 1), (last, 0)] {
        let seed = format!("/databases/db1/identity/seed?name=n&value={value}&force=true");
        assert_eq!(connection.post(&seed, "").status, 200);
        for _ in 0..rest {
            let next = connection.post("/databases/db1/identity/next?name=n", "");
            assert_eq!(next.json()["NewIdentityValue"], last);
        }
        for _ in 0..2 {
            let next = connection.post("/databases/db1/identity/next?name=n", "");
            assert_eq!(next.status, 400, "{}", next.text());
            assert!(next.text().contains("no number left"), "{}", next.text());
            let put = connection.put("/databases/db1/docs?id=n%7C", "{}");
            assert_eq!(put.status, 400, "{}", put.text());
        }
    }
    // A smaller number may be set, and counts again.
    connection.post("/databases/db1/identity/seed?name=n&value=5&force=true", "");
    let next = connection.post("/databases/db1/identity/next?name=n", "");
    assert_eq!(next.json()["NewIdentityValue"], 6);
    let hilo = format!("/databases/db1/hilo/next?tag=t&lastMax={last}");
    assert_eq!(connection.get(&hilo).status, 400);
    assert_eq!(connection.get("/databases/db1/hilo/next?tag=t").status, 201);
}

#[test]
fn a_stop_ends_a_bulk_insert_with_a_word() {
    let (mut server, mut connection) = start_with_database();
    let mut inserting = server.connect();
    inserting.send(
        b"POST /databases/db1/bulk_insert?id=1 HTTP/1.1\r\nHost: localhost\r\n\
          Transfer-Encoding: chunked\r\n\r\n1\r\n[\r\n",
    );
    std::thread::scope(|scope| {
        let answer = scope.spawn(move || inserting.read(false));
        // The request has to be under way.
        while connection
            .get("/databases/db1/operations/state?id=1")
            .status
            != 200
        {}
        drop(connection);
        let started = Instant::now();
        assert_eq!(server.stop(), 0, "no connection is cut");
        assert!(started.elapsed() < Duration::from_secs(5));
        let answer = answer.join().unwrap();
        assert_eq!(answer.status, 500);
        assert!(
            answer.text().contains("The server stops"),
            "{}",
            answer.text()
        );
    });
}
