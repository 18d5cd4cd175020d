//! Proves what holds for every request: keep-alive, recorded error bodies, version headers, limits,
//! compression, Studio's files, and a gentle stop. Raw sockets, so that no client library hides it.

mod support;

use std::io::Read;

use jackdaw_server::{Compression, Server, StartError};
use support::{Connection, DataDirectory, TestServer, config, start};

#[test]
fn one_connection_serves_many_requests_and_each_answer_names_the_protocol_version() {
    let (_running, mut connection) = start();
    for _ in 0..20 {
        let answer = connection.get("/build/version");
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("raven-server-version"), Some("7.1.5.71028"));
        assert!(answer.header("server").unwrap().starts_with("Jackdaw/"));
        assert_eq!(answer.json()["FullVersion"], "7.1.5");
        let missing = connection.get("/nope?x=1");
        assert_eq!(missing.header("raven-server-version"), Some("7.1.5.71028"));
    }
}

#[test]
fn health_and_readiness_are_answered_with_and_without_a_body() {
    let (_running, mut connection) = start();
    for (path, status) in [
        ("/health", "Healthy"),
        ("/healthz", "Healthy"),
        ("/readyz", "Ready"),
        ("/HEALTHZ?verbose", "Healthy"),
    ] {
        let answer = connection.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.json()["Status"], status, "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let head = connection.exchange("HEAD", path, "", b"");
        assert_eq!((head.status, head.text().len()), (200, 0), "{path}");
        let refused = connection.exchange("POST", path, "", b"");
        assert_eq!(refused.status, 400, "{path}");
    }
}

#[test]
fn unknown_paths_and_methods_are_answered_as_recorded() {
    let (_running, mut connection) = start();
    let cases = [
        ("GET", "/nope", "There is no handler for path: GET /nope"),
        (
            "POST",
            "/build/version",
            "There is no handler for path: POST /build/version",
        ),
        (
            "BREW",
            "/build/version",
            "There is no handler for path: BREW /build/version",
        ),
        (
            "GET",
            "/databases/db1/nope?a=b",
            "There is no handler for path: GET /databases/db1/nope",
        ),
    ];
    for (method, path, message) in cases {
        let answer = connection.exchange(method, path, "", b"");
        assert_eq!(answer.status, 400);
        let body = answer.json();
        assert_eq!(body["Url"], path);
        assert_eq!(
            body["Type"],
            "Raven.Client.Exceptions.Routing.RouteNotFoundException"
        );
        assert_eq!(body["Message"], message);
        assert!(body["Error"].as_str().unwrap().ends_with(message));
    }
}

#[test]
fn paths_match_in_any_letter_case() {
    let (_running, mut connection) = start();
    assert_eq!(connection.get("/Cluster/NODE-info").status, 200);
}

#[test]
fn addresses_in_answers_are_the_ones_the_client_used() {
    let (running, mut connection) = start();
    let topology = connection
        .get("/cluster/topology?first-topology-update")
        .json();
    assert_eq!(
        topology["Topology"]["Members"]["A"],
        "http://test.local:1234"
    );
    assert_eq!(topology["Leader"], "A");
    connection.send(b"GET /cluster/topology HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let topology = connection.read(false).json();
    assert_eq!(topology["Topology"]["Members"]["A"], running.url());
}

#[test]
fn studio_is_served_with_types_and_cache_headers() {
    let (_running, mut connection) = start();
    for path in ["/", "/studio"] {
        let answer = connection.get(path);
        assert_eq!(
            (answer.status, answer.header("location")),
            (302, Some("/studio/"))
        );
    }
    let page = connection.get("/studio/");
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    assert_eq!(connection.get("/studio/index.html").body, page.body);
    assert_eq!(connection.get("/studio/databases/albums").body, page.body);
    assert_eq!(connection.get("/studio/missing.js").status, 404);
    assert_eq!(connection.get("/studio/../Cargo.toml").status, 404);
    assert_eq!(connection.get("/studio/%2e%2e/Cargo.toml").status, 404);
    let etag = format!("If-None-Match: {}\r\n", page.header("etag").unwrap());
    assert_eq!(
        connection.exchange("GET", "/studio/", &etag, b"").status,
        304
    );
}

#[test]
fn answers_are_compressed_when_asked_for() {
    let mut config = config();
    config.compression = Compression::On;
    config.public_hosts.push("a".repeat(250));
    let running = TestServer::start(config);
    let mut connection = Connection::open(running.address());
    let accept = "Accept-Encoding: deflate, gzip;q=0.5\r\n";
    // The long host name stands several times in the answer, which makes it worth compressing.
    let request = |headers: &str| {
        format!(
            "GET /cluster/topology HTTP/1.1\r\nHost: {}\r\n{headers}\r\n",
            "a".repeat(250)
        )
    };
    connection.send(request("").as_bytes());
    let plain = connection.read(false);
    assert_eq!(plain.header("content-encoding"), None);
    connection.send(request(accept).as_bytes());
    let packed = connection.read(false);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() < plain.body.len() / 2);
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..])
        .read_to_end(&mut unpacked)
        .unwrap();
    let unpacked: serde_json::Value = serde_json::from_slice(&unpacked).unwrap();
    assert_eq!(unpacked["Topology"], plain.json()["Topology"]);
    connection.send(request("Accept-Encoding: gzip, zstd\r\n").as_bytes());
    let packed = connection.read(false);
    assert_eq!(packed.header("content-encoding"), Some("zstd"));
    assert_eq!(packed.header("vary"), Some("Accept-Encoding"));
    let unpacked = zstd::decode_all(&packed.body[..]).unwrap();
    let unpacked: serde_json::Value = serde_json::from_slice(&unpacked).unwrap();
    assert_eq!(unpacked["Topology"], plain.json()["Topology"]);
    let small = connection.exchange("GET", "/debug/server-id", accept, b"");
    assert_eq!(small.header("content-encoding"), Some("gzip"));
}

#[test]
fn heads_beyond_the_limits_are_refused_and_the_server_lives_on() {
    let (running, mut connection) = start();
    let many: String = (0..200).map(|n| format!("X-{n}: y\r\n")).collect();
    assert_eq!(
        connection
            .exchange("GET", "/build/version", &many, b"")
            .status,
        431
    );
    let mut connection = Connection::open(running.address());
    let long = format!("X-Long: {}\r\n", "y".repeat(70 << 10));
    assert_eq!(
        connection
            .exchange("GET", "/build/version", &long, b"")
            .status,
        431
    );
    let mut connection = Connection::open(running.address());
    connection.send(b"\x16\x03\x01 not http at all\r\n\r\n");
    assert_eq!(connection.read(false).status, 400);
    let mut connection = Connection::open(running.address());
    assert_eq!(connection.get("/build/version").status, 200);
}

#[test]
fn stopping_closes_idle_connections_and_frees_the_port() {
    let (mut server, mut connection) = start();
    assert_eq!(connection.get("/build/version").status, 200);
    let address = server.address();
    assert_eq!(server.stop(), 0);
    assert!(connection.is_closed());
    let mut again = config();
    again.listen = address;
    assert_eq!(TestServer::start(again).address(), address);
}

#[test]
fn an_address_in_use_and_an_open_address_are_refused_with_advice() {
    let (server, _connection) = start();
    let data = DataDirectory::new();
    let mut taken = config();
    taken.listen = server.address();
    let error = Server::start(taken, data.databases()).unwrap_err();
    assert!(matches!(error, StartError::Bind { .. }));
    assert!(error.to_string().contains("--listen"), "{error}");
    let mut open = config();
    open.listen = "0.0.0.0:0".parse().unwrap();
    let error = Server::start(open, data.databases()).unwrap_err();
    assert!(matches!(error, StartError::Unprotected(_)));
}
