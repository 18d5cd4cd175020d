//! Proves that input from outside meets its limits: bodies, heads and headers at the limit, above
//! it and at a hundred times; requests that two readers could divide differently; senders that
//! dawdle and readers that do not read; and random paths, none of which makes the server fail.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

mod support;

use jackdaw_server::ServerConfig;
use support::{Connection, TestServer, config, socket};

const BODY_BYTES_MAX: usize = 64 << 10;
const ATTACHMENT_BYTES_MAX: usize = 128 << 10;
const HEAD_BYTES_MAX: usize = 16 << 10;
const HEADER_COUNT_MAX: usize = 50;

fn start() -> (TestServer, Connection) {
    let mut config = config();
    config.body_bytes_max = BODY_BYTES_MAX;
    config.attachment_bytes_max = ATTACHMENT_BYTES_MAX as u64;
    config.head_bytes_max = HEAD_BYTES_MAX;
    config.header_count_max = HEADER_COUNT_MAX;
    config.head_timeout = Duration::from_millis(300);
    config.stall_timeout = Duration::from_millis(200);
    let server = TestServer::start(config);
    let mut connection = server.connect();
    let created = connection.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    assert_eq!(created.status, 201, "{}", created.text());
    (server, connection)
}

fn document(len: usize) -> Vec<u8> {
    let (head, tail) = (br#"{"a":""#, br#""}"#);
    let mut body = head.to_vec();
    body.resize(len - tail.len(), b'x');
    body.extend_from_slice(tail);
    body
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

#[test]
fn bodies_have_a_limit_before_and_after_decompression() {
    let (server, _first) = start();
    let put = |path: &str, headers: &str, body: &[u8]| {
        // A refusal may close the connection: each request has its own.
        server.connect().exchange("PUT", path, headers, body).status
    };
    let (docs, zipped) = ("/databases/db1/docs?id=a", "Content-Encoding: gzip\r\n");
    let attachment = "/databases/db1/attachments?id=a&name=x";
    for (len, status) in [
        (BODY_BYTES_MAX, 201),
        (BODY_BYTES_MAX + 1, 413),
        (100 * BODY_BYTES_MAX, 413),
    ] {
        assert_eq!(put(docs, "", &document(len)), status, "{len} bytes");
        assert_eq!(
            put(docs, zipped, &gzip(&document(len))),
            status,
            "{len} bytes, zipped"
        );
    }
    for (len, status) in [
        (ATTACHMENT_BYTES_MAX, 201),
        (ATTACHMENT_BYTES_MAX + 1, 413),
        (100 * ATTACHMENT_BYTES_MAX, 413),
    ] {
        assert_eq!(
            put(attachment, "", &vec![7; len]),
            status,
            "{len} bytes attached"
        );
    }
    let twice = gzip(&gzip(&document(100)));
    assert!(put(docs, zipped, &twice) >= 400, "gzip in gzip is no JSON");
    assert_eq!(put(docs, "Content-Encoding: br\r\n", b"{}"), 415);
    // Routes without need of a body put up with a small one only.
    let post = |len: usize| {
        let path = "/databases/db1/operations/kill?id=1";
        server
            .connect()
            .exchange("POST", path, "", &vec![b' '; len])
            .status
    };
    assert_ne!(post(BODY_BYTES_MAX), 413);
    assert_eq!(post(BODY_BYTES_MAX + 1), 413);
}

#[test]
fn heads_have_a_limit_of_bytes_and_of_headers() {
    let (server, _first) = start();
    let ask = |headers: &str| {
        let mut connection = server.connect();
        let text = format!("GET /build/version HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        connection.send(text.as_bytes());
        connection.read(false).status
    };
    let many = |count: usize| "A: b\r\n".repeat(count);
    let long = |len: usize| format!("A: {}\r\n", "x".repeat(len));
    assert_eq!(ask(&many(HEADER_COUNT_MAX - 1)), 200);
    assert_eq!(ask(&many(HEADER_COUNT_MAX)), 431);
    assert_eq!(ask(&many(100 * HEADER_COUNT_MAX)), 431);
    assert_eq!(ask(&long(HEAD_BYTES_MAX - 200)), 200);
    assert_eq!(ask(&long(HEAD_BYTES_MAX + 1)), 431);
    assert_eq!(ask(&long(100 * HEAD_BYTES_MAX)), 431);
}

#[test]
fn what_could_be_divided_differently_is_refused() {
    let (server, _first) = start();
    let smuggled = "GET /build/version HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for head in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 99999999999999999999999\r\n",
        "Content-Length : 5\r\n",
        " Content-Length: 5\r\n",
        "A: b\r\n folded\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Host: evil.example\r\n",
        "A\0: b\r\n",
        "A: b\0\r\n",
    ] {
        let mut connection = server.connect();
        let request = format!(
            "POST /databases/db1/queries HTTP/1.1\r\nHost: localhost\r\n{head}\r\n12345{smuggled}"
        );
        connection.send(request.as_bytes());
        let answers = String::from_utf8_lossy(&connection.read_to_end()).into_owned();
        assert!(answers.starts_with("HTTP/1.1 400"), "{head:?}: {answers}");
        assert!(!answers.contains("FullVersion"), "{head:?}: {answers}");
    }
    // With both, the chunks count and the length is forgotten.
    let mut connection = server.connect();
    connection.send(
        b"PUT /databases/db1/docs?id=s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\
          Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    );
    assert_eq!(connection.read(false).status, 201);
    // Chunks with lengths that are none.
    for chunk in ["zz\r\n", "-1\r\n{}\r\n", "ffffffffffffffffff\r\n"] {
        let mut connection = server.connect();
        let request = format!(
            "PUT /databases/db1/docs?id=s HTTP/1.1\r\nHost: localhost\r\n\
             Transfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n{smuggled}"
        );
        connection.send(request.as_bytes());
        let answers = String::from_utf8_lossy(&connection.read_to_end()).into_owned();
        assert!(!answers.contains("FullVersion"), "{chunk:?}: {answers}");
        assert!(answers.starts_with("HTTP/1.1 400"), "{chunk:?}: {answers}");
    }
}

#[test]
fn who_dawdles_is_cut_and_others_are_served() {
    let (server, mut quick) = start();
    let slow: Vec<TcpStream> = (0..100)
        .map(|number| {
            let mut stream = socket(server.address());
            let start: &[u8] = match number % 2 {
                // Half a head; and a body of which little comes.
                0 => b"GET /build/version HTTP/1.1\r\nHost: loc",
                _ => {
                    b"PUT /databases/db1/docs?id=b HTTP/1.1\r\nHost: localhost\r\n\
                       Content-Length: 1000\r\n\r\n{"
                }
            };
            stream.write_all(start).unwrap();
            stream
        })
        .collect();
    let started = Instant::now();
    assert_eq!(quick.get("/databases/db1/stats").status, 200);
    assert!(
        started.elapsed() < Duration::from_millis(250),
        "{:?}",
        started.elapsed()
    );
    for stream in slow {
        let answer = Connection::over(stream).read_to_end();
        let answer = String::from_utf8_lossy(&answer);
        let is_told = answer.is_empty() || answer.starts_with("HTTP/1.1 408");
        assert!(is_told, "{answer}");
    }
}

/// Twenty MiB of documents: more than the buffers of two sockets take.
const DOCUMENTS: usize = 320;

#[test]
fn who_does_not_read_an_answer_loses_it() {
    let (server, mut connection) = start();
    for number in 0..DOCUMENTS {
        let path = format!("/databases/db1/docs?id=big/{number}");
        let body = document(BODY_BYTES_MAX);
        assert_eq!(connection.exchange("PUT", &path, "", &body).status, 201);
    }
    let mut reader = server.connect();
    let path = "/databases/db1/docs?startsWith=big/&pageSize=1000";
    reader.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes());
    // Others are served meanwhile, for longer than a reader may stall.
    let asked = Instant::now();
    while asked.elapsed() < Duration::from_millis(600) {
        assert_eq!(connection.get("/build/version").status, 200);
    }
    let text = reader.read_to_end();
    assert!(
        text.len() < DOCUMENTS * BODY_BYTES_MAX,
        "{} bytes came",
        text.len()
    );
}

#[test]
fn no_path_makes_the_server_fail() {
    let (server, mut connection) = start();
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(1, |time| time.subsec_nanos() | 1);
    let mut state = u64::from(seed);
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % below
    };
    const PARTS: &[&str] = &[
        "databases",
        "db1",
        "docs",
        "..",
        ".",
        "%2e%2e",
        "%2f",
        "%00",
        "%ff",
        "%",
        "%c0%ae",
        "$",
        "*",
        "con",
        "a:b",
        "studio",
        "jackdaw",
        "feed",
        "admin",
        "~",
        "\\",
        "..\\",
        "%252e%252e",
        "etc",
        "passwd",
        "db1$0",
        "queries",
        "attachments",
        "%e2%80%ae",
    ];
    for round in 0..3_000 {
        let mut path = String::new();
        for _ in 0..=random(6) {
            path.push('/');
            path.push_str(PARTS[random(PARTS.len())]);
        }
        if path.ends_with("/changes") || path.contains("/jackdaw/") {
            continue;
        }
        let verb = ["GET", "PUT", "POST", "DELETE", "HEAD"][random(5)];
        let answer = connection.exchange(verb, &path, "", b"");
        let failed = answer.text().contains("The server failed");
        assert!(
            answer.status >= 200 && !failed,
            "{verb} {path}: seed {seed}, round {round}"
        );
        if answer.header("connection") == Some("close") || answer.status == 400 {
            connection = server.connect();
        }
    }
}

#[test]
fn an_address_has_so_many_connections_on_each_port() {
    let mut config = config();
    config.counts_loopback = true;
    config.connections_of_address_max = 3;
    config.tcp_connections_of_address_max = 2;
    let server = TestServer::start(config);
    let ask = |address| {
        let mut connection = Connection::over(socket(address));
        connection.send(b"GET /build/version HTTP/1.1\r\nHost: localhost\r\n\r\n");
        connection
    };
    for (address, places) in [(server.address(), 3), (server.tcp_address(), 2)] {
        // Connections are taken in their order, so the last one is refused and no other. What the
        // port of subscriptions answers to HTTP are words, too.
        let mut held: Vec<TcpStream> = (0..places).map(|_| socket(address)).collect();
        assert!(ask(address).is_closed());
        // A place that is given back can be taken again, soon.
        held.pop();
        let started = Instant::now();
        while ask(address).is_closed() {
            assert!(started.elapsed() < Duration::from_secs(10));
        }
    }
}

#[test]
fn bodies_together_take_no_more_memory_than_they_may() {
    const WAIT: Duration = Duration::from_millis(400);
    let mut config = config();
    config.bodies_bytes_max = 1 << 20;
    config.bodies_wait_max = WAIT;
    let server = TestServer::start(config);
    let mut growing = server.connect();
    growing.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    let head = "PUT /databases/db1/docs?id=a HTTP/1.1\r\nHost: localhost\r\n";
    assert_eq!(growing.put("/databases/db1/docs?id=a", "{}").status, 201);
    // What came is counted with some to spare: seven eighths of it take all there is.
    let body = document(1 << 20);
    let (begun, rest) = body.split_at(7 << 17);
    let begin = || {
        let mut first = server.connect();
        first.send(format!("{head}Content-Length: {}\r\n\r\n", body.len()).as_bytes());
        first.send(begun);
        (first, Instant::now())
    };
    let (mut first, mut since) = begin();
    let chunk = document(200 << 10);
    let text = format!(
        "{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n",
        chunk.len()
    );
    // Until the server has read what came of the first.
    let started = Instant::now();
    loop {
        growing.send(text.as_bytes());
        growing.send(&chunk);
        growing.send(b"\r\n0\r\n\r\n");
        let answer = growing.read(false);
        assert!(started.elapsed() < Duration::from_secs(10));
        if answer.status == 201 && since.elapsed() > WAIT {
            // On a slow machine the first may have waited for the others, and been refused.
            (first, since) = begin();
        }
        if answer.status == 503 {
            assert!(answer.text().contains("memory"), "{}", answer.text());
            break assert_eq!(answer.header("retry-after"), Some("1"));
        }
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
    // Contents that are stored while they come want a sixteenth of it, which may be left.
    let path = "/databases/db1/attachments?id=a&name=x";
    let stored = growing.exchange("PUT", path, "", &chunk);
    if stored.status != 201 {
        assert_eq!(stored.status, 503, "{}", stored.text());
        assert_eq!(stored.header("retry-after"), Some("1"));
    }
    // What is small is not concerned, and what is done makes room.
    assert_eq!(growing.put("/databases/db1/docs?id=b", "{}").status, 201);
    first.send(rest);
    assert_eq!(first.read(false).status, 201);
    growing.send(text.as_bytes());
    growing.send(&chunk);
    growing.send(b"\r\n0\r\n\r\n");
    assert_eq!(growing.read(false).status, 201);
    // Packed, it is counted by what it becomes.
    let zipped = gzip(&vec![b' '; 8 << 20]);
    let path = "/databases/db1/docs?id=c";
    let packed = growing.exchange("PUT", path, "Content-Encoding: gzip\r\n", &zipped);
    assert_eq!(
        packed.status,
        400,
        "alone it may be larger: {}",
        packed.text()
    );
}

#[test]
fn uploads_that_dawdle_hold_no_thread() {
    let mut config = config();
    config.blocking_threads_max = 2;
    let server = TestServer::start(config);
    let mut other = server.connect();
    other.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    assert_eq!(other.put("/databases/db1/docs?id=a", "{}").status, 201);
    let content: Vec<u8> = (0_u32..5 << 19)
        .map(|number| number.to_le_bytes()[1])
        .collect();
    let (begun, rest) = content.split_at(3 << 19);
    let mut uploads: Vec<_> = (0..3)
        .map(|number| {
            let path = format!("/databases/db1/attachments?id=a&name={number}");
            let head = format!("PUT {path} HTTP/1.1\r\nHost: localhost\r\n");
            let mut upload = server.connect();
            upload.send(format!("{head}Content-Length: {}\r\n\r\n", content.len()).as_bytes());
            upload.send(begun);
            (upload, path)
        })
        .collect();
    assert_eq!(other.get("/databases/db1/docs?id=a").status, 200);
    for (upload, path) in &mut uploads {
        upload.send(rest);
        let stored = upload.read(false);
        assert_eq!(stored.status, 201, "{}", stored.text());
        assert!(other.get(path).body == content, "another content");
    }
}

#[test]
fn uploads_in_little_memory_wait_for_no_one_who_dawdles() {
    let mut config = config();
    config.bodies_bytes_max = 1 << 20;
    let server = TestServer::start(config);
    let mut other = server.connect();
    other.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    assert_eq!(other.put("/databases/db1/docs?id=a", "{}").status, 201);
    // Half of the memory is taken by one that does not go on.
    let head = "PUT /databases/db1/docs?id=b HTTP/1.1\r\nHost: localhost\r\n";
    let body = document(500 << 10);
    other.send(format!("{head}Content-Length: {}\r\n\r\n", body.len()).as_bytes());
    other.send(&body[..400 << 10]);
    // Together, these are nine times what there is.
    let content: Vec<u8> = (0_u32..3 << 17)
        .map(|number| number.to_le_bytes()[1])
        .collect();
    let content = content.repeat(4);
    let (begun, rest) = content.split_at(1 << 20);
    let mut uploads: Vec<_> = (0..6)
        .map(|number| {
            let path = format!("/databases/db1/attachments?id=a&name={number}");
            let head = format!("PUT {path} HTTP/1.1\r\nHost: localhost\r\n");
            let mut upload = server.connect();
            upload.send(format!("{head}Content-Length: {}\r\n\r\n", content.len()).as_bytes());
            upload.send(begun);
            (upload, path)
        })
        .collect();
    for (upload, path) in &mut uploads {
        upload.send(rest);
        let stored = upload.read(false);
        assert_eq!(stored.status, 201, "{}", stored.text());
        assert!(upload.get(path).body == content, "another content");
    }
    other.send(&body[400 << 10..]);
    assert_eq!(other.read(false).status, 201);
}

#[test]
fn little_memory_makes_small_limits() {
    let of = |bytes| {
        let config = ServerConfig::default().for_memory(bytes);
        let bodies = (config.body_bytes_max >> 20, config.bodies_bytes_max >> 20);
        let connections = (config.connections_max, config.connections_of_address_max);
        (bodies, config.head_bytes_max >> 10, connections)
    };
    assert_eq!(of(16 << 20), ((1, 1), 16, (256, 32)));
    assert_eq!(of(256 << 20), ((4, 4), 16, (2_048, 256)));
    assert_eq!(of(8 << 30), ((64, 128), 64, (16_384, 1_000)));
    assert_eq!(of(u64::MAX), ((64, 1_024), 64, (16_384, 1_000)));
}

/// Pieces that configurations of time series are made of, most of them wrong.
const SPANS: &[&str] = &[
    r#"{"Value":60,"Unit":"Second"}"#,
    r#"{"Value":1,"Unit":"Month"}"#,
    r#"{"Value":9223372036854775807,"Unit":"Month"}"#,
    r#"{"Value":-9223372036854775808,"Unit":"Second"}"#,
    r#"{"Value":2147483646,"Unit":"Month"}"#,
    r#"{"Value":1e308,"Unit":"Second"}"#,
    r#"{"Value":"60","Unit":"Second"}"#,
    r#"{"Value":60,"Unit":"Fortnight"}"#,
    r#"{"Value":60,"Unit":{}}"#,
    r#"{"Value":null}"#,
    "[]",
    "7",
    "null",
    "\"\"",
];
const POLICY_NAMES: &[&str] = &[
    "P",
    "p",
    "",
    "a@b",
    "rawpolicy",
    "RAWPOLICY",
    "\\u0000",
    "\\ud83d\\ude00",
    "..",
    "\\\"",
    "%00",
];

#[test]
fn no_policy_of_time_series_makes_the_server_fail() {
    let (server, mut connection) = start();
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(1, |time| time.subsec_nanos() | 1);
    let mut state = u64::from(seed);
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % below
    };
    let base = "/databases/db1/admin/timeseries";
    for round in 0..400 {
        let mut policy = || {
            let mut members = Vec::new();
            if random(8) > 0 {
                members.push(format!(
                    "\"Name\":\"{}\"",
                    POLICY_NAMES[random(POLICY_NAMES.len())]
                ));
            }
            for member in ["AggregationTime", "RetentionTime"] {
                if random(4) > 0 {
                    members.push(format!("\"{member}\":{}", SPANS[random(SPANS.len())]));
                }
            }
            format!("{{{}}}", members.join(","))
        };
        let (one, two, three) = (policy(), policy(), policy());
        let bodies = [
            format!(
                r#"{{"Collections":{{"C":{{"RawPolicy":{one},"Policies":[{two},{three}]}}}}}}"#
            ),
            format!(r#"{{"Collections":{{"C":{{"Policies":{one}}},"":{{"Policies":[{two}]}}}}}}"#),
            format!(r#"{{"Collections":[{one}],"NamedValues":{two}}}"#),
            format!(r#"{{"Collections":{{"C":[{one}]}},"PolicyCheckFrequency":"99999999.00:00"}}"#),
            format!(r#"{{"PolicyCheckFrequency":"-00:00:01","Collections":{two}}}"#),
            one,
        ];
        let body = &bodies[random(bodies.len())];
        let before = connection.get("/databases/db1/timeseries/config").body;
        let answer = match random(3) {
            0 => connection.post(&format!("{base}/config"), body),
            1 => connection.put(&format!("{base}/policy?collection=C"), body),
            _ => {
                let name = ["P", "rawpolicy", "%00", "a%40b", "%ff"][random(5)];
                connection.delete(&format!("{base}/policy?collection=C&name={name}"))
            }
        };
        let told = format!("{body}: seed {seed}, round {round}: {}", answer.text());
        assert!(!answer.text().contains("The server failed"), "{told}");
        assert!(matches!(answer.status, 200 | 400..=599), "{told}");
        let after = connection.get("/databases/db1/timeseries/config");
        assert!(matches!(after.status, 200 | 404), "{told}");
        assert!(answer.status == 200 || after.body == before, "{told}");
    }
    // As many as a body holds, and one name that fills it.
    let many: Vec<String> = (1..1_000)
        .map(|number| {
            let span = format!(r#"{{"Value":{number},"Unit":"Second"}}"#);
            format!(r#"{{"Name":"P{number}","AggregationTime":{span}}}"#)
        })
        .collect();
    let many = format!(
        r#"{{"Collections":{{"C":{{"Policies":[{}]}}}}}}"#,
        many.join(",")
    );
    let long = format!(r#"{{"Name":"{}"}}"#, "x".repeat(BODY_BYTES_MAX - 100));
    let deep = format!(
        r#"{{"Collections":{}1{}}}"#,
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    for (path, body) in [
        ("config", &many),
        ("config", &deep),
        ("policy?collection=C", &long),
    ] {
        // A refusal may close the connection: each request has its own.
        let verb = if path == "config" { "POST" } else { "PUT" };
        let path = format!("{base}/{path}");
        let refused = server.connect().exchange(verb, &path, "", body.as_bytes());
        assert!(
            (400..500).contains(&refused.status),
            "{path}: {}",
            refused.text()
        );
        assert!(
            !refused.text().contains("The server failed"),
            "{}",
            refused.text()
        );
    }
}
