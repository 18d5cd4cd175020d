//! Proves over real sockets that a secured server lets in those who are registered and nobody else:
//! every route with every role against the matrix in data/access.txt, certificates and tokens that
//! are taken back under an open stream, each protocol besides plain requests, new server
//! certificates, the audit log, what pages of other sites may do, and the Rust client.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails by panicking")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jackdaw_client::{Client, ClientError, ConnectOptions, TlsProblem};
use jackdaw_server::{Grant, Issued, SecurityDirectory, ServerConfig, Settings, verify_audit};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;

mod support;

use support::{Connection, DataDirectory, TestServer, config, socket};

const MATRIX: &str = include_str!("data/access.txt");

struct Place {
    server: TestServer,
    directory: SecurityDirectory,
    roots: Arc<RootCertStore>,
    admin: Issued,
}

fn grant(clearance: &str) -> Grant {
    Grant::new(clearance).unwrap()
}

fn user(database: &str, access: &str) -> Grant {
    grant("ValidUser").with(database, access).unwrap()
}

fn start_with(change: impl FnOnce(&mut ServerConfig)) -> Place {
    let data = DataDirectory::new();
    let hosts = ["localhost".to_owned(), "test.local".to_owned()];
    let directory = SecurityDirectory::create(data.path(), &hosts, &Settings::default()).unwrap();
    let admin = directory
        .issue_client("admin", grant("ClusterAdmin"), 1)
        .unwrap();
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(directory.authority_path()).unwrap();
    roots.add(authority).unwrap();
    let mut config = config();
    config.public_hosts.clear();
    config.security = Some(directory.clone());
    change(&mut config);
    Place {
        server: TestServer::start_on(data, config),
        directory,
        roots: Arc::new(roots),
        admin,
    }
}

fn start() -> Place {
    start_with(|_| {})
}

impl Place {
    fn address(&self) -> SocketAddr {
        self.server.address()
    }

    fn tls(
        &self,
        address: SocketAddr,
        issued: Option<&Issued>,
    ) -> StreamOwned<ClientConnection, std::net::TcpStream> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots.clone());
        let config = match issued {
            None => builder.with_no_client_auth(),
            Some(issued) => {
                let chain = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
                builder.with_client_auth_cert(vec![chain], key).unwrap()
            }
        };
        let name = ServerName::try_from("localhost").unwrap();
        let client = ClientConnection::new(Arc::new(config), name).unwrap();
        StreamOwned::new(client, socket(address))
    }

    fn connect(&self, issued: Option<&Issued>) -> Connection {
        Connection::over(self.tls(self.address(), issued))
    }

    fn admin(&self) -> Connection {
        self.connect(Some(&self.admin))
    }

    /// A certificate that the server knows already.
    fn issue(&self, name: &str, grant: Grant) -> Issued {
        let issued = self.directory.issue_client(name, grant, 1).unwrap();
        self.read_registry();
        issued
    }

    /// Makes the server read what was registered in its directory.
    fn read_registry(&self) {
        let made = self.admin().post("/jackdaw/keys", r#"{"Name":"other"}"#);
        assert_eq!(made.status, 200, "{}", made.text());
    }

    fn create_database(&self, name: &str) {
        let body = json!({ "DatabaseName": name }).to_string();
        let path = format!("/admin/databases?name={name}");
        let created = self.admin().put(&path, &body);
        assert_eq!(created.status, 201, "{}", created.text());
    }

    fn token(&self, grant: Grant) -> (String, String) {
        let key = self.directory.create_key("job", grant).unwrap();
        self.read_registry();
        let body = json!({ "ApiKey": key }).to_string();
        let answer = self.connect(None).post("/jackdaw/token", &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let token = answer.json()["Token"].as_str().unwrap().to_owned();
        assert!(token.starts_with("jdk_t_"));
        let id = key.split('_').nth(1).unwrap().to_owned();
        (id, format!("Authorization: Bearer {token}\r\n"))
    }
}

#[test]
fn who_comes_without_a_registered_certificate_is_told_so_and_reads_only_what_is_for_anyone() {
    let place = start();
    let version = place.connect(None).get("/build/version");
    assert_eq!(
        (version.status, &version.json()["Secured"]),
        (200, &json!(true))
    );
    for (path, status) in [
        ("/health", 200),
        ("/healthz", 200),
        ("/readyz", 200),
        ("/metrics", 403),
        ("/jackdaw/metrics", 403),
    ] {
        assert_eq!(place.connect(None).get(path).status, status, "{path}");
        assert_eq!(place.admin().get(path).status, 200, "{path}");
    }
    let refused = place.connect(None).get("/databases");
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("neither"), "{}", refused.text());

    let stranger = tempfile_directory("stranger");
    let other = SecurityDirectory::create(&stranger, &["x".to_owned()], &Settings::default());
    let foreign = other
        .unwrap()
        .issue_client("admin", grant("ClusterAdmin"), 1)
        .unwrap();
    let refused = place.connect(Some(&foreign)).get("/databases");
    assert_eq!(refused.status, 403);
    assert!(
        refused.text().contains("not registered"),
        "{}",
        refused.text()
    );
    std::fs::remove_dir_all(stranger).unwrap();

    let who = place.admin().get("/certificates/whoami").json();
    assert_eq!(who["Name"], "admin");
    assert_eq!(who["SecurityClearance"], "ClusterAdmin");
    // Plain text on the port of TLS is no way in.
    let mut plain = Connection::open(place.address());
    plain.send(b"GET /build/version HTTP/1.1\r\nHost: localhost\r\n\r\n");
    plain.read_to_end();
}

fn tempfile_directory(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("jackdaw-secured-{name}-{}", std::process::id()))
}

#[test]
fn every_route_answers_every_role_as_the_matrix_says() {
    let place = start();
    let created = place
        .admin()
        .put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    assert_eq!(created.status, 201, "{}", created.text());
    let issue = |grant| Some(place.directory.issue_client("somebody", grant, 1).unwrap());
    let bogus = "Authorization: Bearer jdk_t_bogus\r\n";
    let roles = [
        (None, ""),
        (None, bogus),
        (issue(user("other", "Admin")), ""),
        (issue(user("db1", "Read")), ""),
        (issue(user("db1", "ReadWrite")), ""),
        (issue(user("DB1", "Admin")), ""),
        (issue(grant("Operator")), ""),
        (issue(grant("ClusterAdmin")), ""),
    ];
    // Makes the server read what was registered in its directory.
    place.admin().post("/jackdaw/keys", r#"{"Name":"other"}"#);
    let rows: Vec<Vec<&str>> = MATRIX
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert!(rows.len() > 100);
    for (slot, (issued, header)) in roles.iter().enumerate() {
        let mut connection = place.connect(issued.as_ref());
        for row in &rows {
            let (verb, pattern) = (row[roles.len()], row[roles.len() + 1]);
            // Two never end, and the third answers 401 to what is no key.
            let other = [
                "/jackdaw/live",
                "/databases/*/jackdaw/feed",
                "/jackdaw/token",
            ];
            if other.contains(&pattern) && row[slot] == "+" {
                continue;
            }
            let path = pattern.replace('*', "db1").replace('$', "x") + "?name=db1";
            let answer = connection.exchange(verb, &path, header, b"");
            let allowed = !matches!(answer.status, 401 | 403);
            let expected = row[slot];
            let found = if allowed {
                "+".to_owned()
            } else {
                answer.status.to_string()
            };
            assert_eq!(
                found,
                expected,
                "role {slot}: {verb} {path}: {}",
                answer.text()
            );
            if answer.header("connection") == Some("close") {
                connection = place.connect(issued.as_ref());
            }
        }
    }
}

#[test]
fn a_user_sees_only_the_databases_that_are_theirs_and_multi_get_stays_inside() {
    let place = start();
    for name in ["mine", "theirs"] {
        let body = json!({ "DatabaseName": name }).to_string();
        place
            .admin()
            .put(&format!("/admin/databases?name={name}"), &body);
    }
    let (_, header) = place.token(user("mine", "Read"));
    let mut connection = place.connect(None);
    let mut ask = |method: &str, path: &str, body: &str| {
        connection.exchange(method, path, &header, body.as_bytes())
    };
    let names = ask("GET", "/databases?namesOnly=true", "").json();
    assert_eq!(names["Databases"], json!(["mine"]));
    let measured = ask("GET", "/jackdaw/databases", "").json();
    let measured = measured["Databases"].as_array().unwrap();
    assert_eq!(measured.len(), 1);
    assert_eq!(measured[0]["Name"], "mine");
    let there = ask("GET", "/databases/theirs/stats", "");
    let absent = ask("GET", "/databases/absent/stats", "");
    assert_eq!((there.status, absent.status), (403, 403));
    assert_eq!(there.text().replace("theirs", "absent"), absent.text());
    let inner = |url: &str, method: &str| {
        json!({ "Requests": [{ "Url": url, "Method": method }] }).to_string()
    };
    let path = "/databases/mine/multi_get";
    for (url, method, status) in [
        ("/databases/mine/stats", "GET", 200),
        ("/databases/theirs/stats", "GET", 400),
        ("/databases/mine/docs?id=a", "DELETE", 403),
        ("/databases", "GET", 400),
        // It would never end.
        ("/databases/mine/jackdaw/feed?since=0", "GET", 400),
    ] {
        let answer = ask("POST", path, &inner(url, method)).json();
        assert_eq!(answer["Results"][0]["StatusCode"], status, "{url}");
    }
}

#[test]
fn what_is_taken_back_ends_open_streams_and_counts_at_once() {
    let place = start_with(|config| config.live_period = Duration::from_secs(60));
    let (id, header) = place.token(grant("Operator"));
    let mut stream = place.connect(None);
    stream
        .send(format!("GET /jackdaw/live HTTP/1.1\r\nHost: localhost\r\n{header}\r\n").as_bytes());
    assert_eq!(stream.read_head().status, 200);
    stream.read_chunk();
    let mut other = place.connect(None);
    assert_eq!(
        other.exchange("GET", "/databases", &header, b"").status,
        200
    );
    let removed = place.admin().delete(&format!("/jackdaw/keys?id={id}"));
    assert_eq!(removed.json()["TokensEnded"], 1);
    assert!(stream.is_closed());
    assert_eq!(
        other.exchange("GET", "/databases", &header, b"").status,
        401
    );

    // By the file alone, as the command line does it.
    let operator = place
        .directory
        .issue_client("o", grant("Operator"), 1)
        .unwrap();
    place.admin().post("/jackdaw/keys", r#"{"Name":"other"}"#);
    let mut stream = place.connect(Some(&operator));
    stream.send(b"GET /jackdaw/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(stream.read_head().status, 200);
    stream.read_chunk();
    let registry = place.directory.registry().unwrap();
    let found = registry
        .certificates
        .iter()
        .find(|one| one.name == "o")
        .unwrap();
    let started = std::time::Instant::now();
    place
        .directory
        .remove_certificate(&found.thumbprint)
        .unwrap();
    assert!(stream.is_closed());
    assert!(
        started.elapsed().as_millis() < 1500,
        "{:?}",
        started.elapsed()
    );
}

/// One message of a web socket.
fn message(socket: &mut Connection) -> String {
    let head = socket.read_bytes(2);
    assert_eq!(head[0], 0x81, "a whole text frame");
    let length = match head[1] {
        126 => {
            let long = socket.read_bytes(2);
            usize::from(u16::from_be_bytes([long[0], long[1]]))
        }
        short => usize::from(short),
    };
    String::from_utf8(socket.read_bytes(length)).unwrap()
}

#[test]
fn the_feed_and_the_web_socket_take_tokens_and_certificates_and_end_with_a_token() {
    let place = start_with(|config| config.heartbeat = Duration::from_secs(60));
    place.create_database("db1");
    let (id, token) = place.token(user("db1", "Read"));
    let stranger = place.issue("stranger", user("other", "Admin"));
    let reader = place.issue("reader", user("db1", "Read"));
    let bogus = "Authorization: Bearer jdk_t_bogus\r\n";
    let open = |path: &str, more: &str, header: &str, issued: Option<&Issued>| {
        let mut connection = place.connect(issued);
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}{header}\r\n");
        connection.send(head.as_bytes());
        let status = connection.read_head().status;
        (status, connection)
    };
    let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let (feed, changes) = ("/databases/db1/jackdaw/feed", "/databases/db1/changes");
    for (path, more, status) in [(feed, "", 200), (changes, upgrade, 101)] {
        assert_eq!(open(path, more, "", None).0, 403, "{path}");
        assert_eq!(open(path, more, bogus, None).0, 401, "{path}");
        assert_eq!(open(path, more, "", Some(&stranger)).0, 403, "{path}");
        assert_eq!(open(path, more, "", Some(&reader)).0, status, "{path}");
        // A token that is not valid is no better for the certificate beside it.
        assert_eq!(open(path, more, bogus, Some(&reader)).0, 401, "{path}");
    }
    let (_, mut feed) = open(feed, "", &token, None);
    let (_, mut socket) = open(changes, upgrade, &token, None);
    feed.read_chunk();
    assert!(message(&mut socket).contains("TopologyChange"));
    let watch = br#"{"CommandId":1,"Command":"watch-docs","Param":null}"#;
    let mut frame = vec![0x81, 0x80 | u8::try_from(watch.len()).unwrap(), 0, 0, 0, 0];
    frame.extend_from_slice(watch);
    socket.send(&frame);
    assert!(message(&mut socket).contains("Confirm"));
    place.admin().put("/databases/db1/docs?id=users/1", "{}");
    let told = String::from_utf8(feed.read_chunk()).unwrap();
    assert!(told.contains("users/1"), "{told}");
    assert!(message(&mut socket).contains("users/1"));

    let removed = place.admin().delete(&format!("/jackdaw/keys?id={id}"));
    assert_eq!(removed.json()["TokensEnded"], 1);
    assert!(feed.is_closed());
    assert!(socket.is_closed());
}

#[test]
fn subscriptions_are_served_over_tls_to_certificates_until_they_are_taken_back() {
    let place = start();
    place.create_database("db1");
    let mut admin = place.admin();
    let document = r#"{"@metadata":{"@collection":"Users"}}"#;
    admin.put("/databases/db1/docs?id=users/1", document);
    let subscription = r#"{"Name":"all","Query":"from Users"}"#;
    let created = admin.put("/databases/db1/subscriptions", subscription);
    assert_eq!(created.status, 201, "{}", created.text());
    // Clients compare the certificate with that of the connection.
    let info = admin.get("/info/remote-task/tcp?database=db1&remote-task=all");
    let address = place.server.tcp_address();
    let pem = place.directory.path().join("server.pem");
    let own = CertificateDer::from_pem_file(pem).unwrap();
    assert_eq!(info.json()["Certificate"], json!(BASE64.encode(&own)));
    let url = format!("tcp://test.local:{}", address.port());
    assert_eq!(info.json()["Url"], json!(url));

    let stranger = place.issue("stranger", user("other", "Admin"));
    let reader = place.issue("reader", user("db1", "Read"));
    let hello = json!({
        "DatabaseName": "db1", "Operation": "Subscription", "OperationVersion": 53000,
        "LicensedFeatures": null,
    });
    let dial = |issued: Option<&Issued>| {
        let mut connection = Connection::over(place.tls(address, issued));
        connection.send(hello.to_string().as_bytes());
        connection
    };
    for issued in [None, Some(&stranger)] {
        let told = dial(issued).read_to_end();
        let told = String::from_utf8(told).unwrap();
        assert!(told.contains("AuthorizationFailed"), "{told}");
    }
    let mut plain = Connection::open(address);
    plain.send(hello.to_string().as_bytes());
    assert!(!plain.read_to_end().contains(&b'{'));

    let mut worker = dial(Some(&reader));
    assert!(worker.read_until("}").contains(r#""Status":"Ok""#));
    worker.send(br#"{"SubscriptionName":"all","Strategy":"OpenIfFree"}"#);
    let told = worker.read_until(r#"{"Type":"EndOfBatch"}"#);
    assert!(told.contains("users/1"), "{told}");
    // By the file alone, as the command line does it.
    let registry = place.directory.registry().unwrap();
    let mut all = registry.certificates.iter();
    let found = all.find(|one| one.name == "reader").unwrap();
    place
        .directory
        .remove_certificate(&found.thumbprint)
        .unwrap();
    // The next thing to come without it would be a heartbeat.
    assert!(worker.is_closed());
    let told = dial(Some(&reader)).read_to_end();
    let told = String::from_utf8(told).unwrap();
    assert!(told.contains("AuthorizationFailed"), "{told}");
}

#[test]
fn tokens_are_renewed_and_ended_by_their_owner_and_wrong_keys_are_slowed_down() {
    let place = start();
    let (_, header) = place.token(grant("Operator"));
    let mut connection = place.connect(None);
    let renewed = connection.exchange("POST", "/jackdaw/token/renew", &header, b"");
    let new = format!(
        "Authorization: Bearer {}\r\n",
        renewed.json()["Token"].as_str().unwrap()
    );
    assert_eq!(
        connection
            .exchange("DELETE", "/jackdaw/token", &new, b"")
            .status,
        204
    );
    assert_eq!(
        connection.exchange("GET", "/databases", &new, b"").status,
        401
    );
    assert_eq!(
        connection
            .exchange("GET", "/databases", &header, b"")
            .status,
        200
    );
    let wrong = r#"{"ApiKey":"jdk_0123_wrong"}"#;
    for _ in 0..5 {
        assert_eq!(connection.post("/jackdaw/token", wrong).status, 401);
    }
    let slowed = connection.post("/jackdaw/token", wrong);
    assert_eq!(slowed.status, 429);
    assert!(slowed.header("retry-after").is_some());
    assert_eq!(
        connection
            .exchange("GET", "/databases", &header, b"")
            .status,
        200
    );
}

#[test]
fn an_operator_makes_certificates_but_no_administrators() {
    let place = start();
    let operator = place
        .directory
        .issue_client("o", grant("Operator"), 1)
        .unwrap();
    let mut admin = place.admin();
    let made = admin.post(
        "/admin/certificates",
        r#"{"Name":"u","SecurityClearance":"ValidUser"}"#,
    );
    assert_eq!(made.status, 200, "{}", made.text());
    assert!(made.body.starts_with(b"PK"));
    let mut connection = place.connect(Some(&operator));
    let body = r#"{"Name":"evil","SecurityClearance":"ClusterAdmin","Permissions":{}}"#;
    for path in ["/admin/certificates", "/jackdaw/keys"] {
        assert_eq!(connection.post(path, body).status, 403, "{path}");
    }
    let list = connection
        .get("/admin/certificates?metadataOnly=true")
        .json();
    let of = |name: &str| {
        let mut all = list["Results"].as_array().unwrap().iter();
        let found = all.find(|one| one["Name"] == name).unwrap();
        found["Thumbprint"].as_str().unwrap().to_owned()
    };
    let path = |name: &str| format!("/admin/certificates?thumbprint={}", of(name));
    assert_eq!(connection.delete(&path("admin")).status, 403);
    // Nor by the route of the other kind.
    let (key, header) = place.token(grant("ClusterAdmin"));
    let crossed = format!("/jackdaw/keys?id={}", of("admin"));
    assert_eq!(connection.delete(&crossed).status, 400);
    let crossed = format!("/admin/certificates?thumbprint={key}");
    assert_eq!(connection.delete(&crossed).status, 204);
    assert_eq!(admin.get("/certificates/whoami").status, 200);
    let still = place
        .connect(None)
        .exchange("GET", "/databases", &header, b"");
    assert_eq!(still.status, 200);
    assert_eq!(connection.delete(&path("u")).status, 204);
    assert_eq!(connection.get(&path("u")).status, 404);
    let strange = r#"{"Name":"x","SecurityClearance":"King"}"#;
    assert_eq!(connection.post("/admin/certificates", strange).status, 400);
}

#[test]
fn a_new_server_certificate_is_served_without_a_restart() {
    let mut place = start();
    let elsewhere = tempfile_directory("replaced");
    let hosts = ["localhost".to_owned(), "test.local".to_owned()];
    let other = SecurityDirectory::create(&elsewhere, &hosts, &Settings::default()).unwrap();
    let pem = std::fs::read(other.path().join("server.pem")).unwrap();
    let replace = |text: String| json!({ "Certificate": text }).to_string();
    let mut admin = place.admin();
    let path = "/admin/certificates/replace-cluster-cert";
    let refused = admin.post(path, &replace("AQIDBA==".to_owned()));
    assert_eq!(refused.status, 400);
    assert!(
        refused
            .text()
            .contains("Unable to load the provided certificate")
    );
    let encoded = BASE64.encode(pem);
    assert_eq!(admin.post(path, &replace(encoded)).status, 204);
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(other.authority_path()).unwrap())
        .unwrap();
    place.roots = Arc::new(roots);
    assert_eq!(place.admin().get("/certificates/whoami").status, 200);
    assert_eq!(admin.get("/certificates/whoami").status, 200);
    std::fs::remove_dir_all(elsewhere).unwrap();
}

#[test]
fn audited_requests_leave_one_line_each_and_others_none() {
    let place = start();
    let mut admin = place.admin();
    let path = place.directory.audit_path();
    let created = admin.put("/admin/databases?name=a", r#"{"DatabaseName":"a"}"#);
    assert_eq!(created.status, 201);
    admin.get("/databases");
    let failed = admin.put("/admin/databases?name=a", r#"{"DatabaseName":"a"}"#);
    assert!(failed.status >= 400);
    place.connect(None).put("/admin/databases?name=%0Ab", "{}");
    let inner = r#"{"Requests":[{"Url":"/databases/a/admin/expiration/config","Method":"POST",
        "Content":{"Disabled":true}}]}"#;
    let answer = admin.post("/databases/a/multi_get", inner).json();
    assert_eq!(answer["Results"][0]["StatusCode"], 200, "{answer}");
    assert_eq!(verify_audit(&path, None).unwrap().lines, 4);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |slot: usize| (lines[slot]["Who"].clone(), lines[slot]["Status"].clone());
    // Others may be called so, too.
    let registry = place.directory.registry().unwrap();
    let with = format!("certificate {}", registry.certificates[0].thumbprint);
    assert_eq!(lines[0]["With"], json!(with));
    assert_eq!(lines[2]["With"], json!(null));
    assert_eq!(of(0), (json!("admin"), json!(201)));
    assert_eq!(of(1), (json!("admin"), json!(failed.status)));
    assert_eq!(of(2), (json!("?"), json!(403)));
    assert_eq!(of(3), (json!("admin"), json!(200)));
}

#[test]
fn audited_requests_name_what_they_change_wherever_it_stands() {
    let place = start();
    let mut admin = place.admin();
    let path = place.directory.audit_path();
    let last = || {
        let text = std::fs::read_to_string(&path).unwrap();
        let line: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        line["Objects"].clone()
    };
    let long = "x".repeat(1_100);
    let created = admin.put(
        &format!("/admin/databases?a={long}&name=b%2D1"),
        r#"{"DatabaseName":"b-1"}"#,
    );
    assert!(created.status < 300, "{}", created.text());
    assert_eq!(last(), json!(["b-1"]));
    let mut send = |method: &str, path: &str, body: &str| {
        admin.exchange(method, path, "", body.as_bytes()).status
    };
    for name in ["c", "d"] {
        let body = format!(r#"{{"DatabaseName":"{name}"}}"#);
        send("PUT", &format!("/admin/databases?name={name}"), &body);
    }
    send(
        "POST",
        "/admin/databases/disable",
        r#"{"DatabaseNames":["c"]}"#,
    );
    assert_eq!(last(), json!(["c"]));
    let index = r#"{"Indexes":[{"Name":"i/1","Maps":["map('A', a => ({b: a.b}))"]}]}"#;
    send("PUT", "/databases/d/admin/indexes", index);
    assert_eq!(last(), json!(["d", "i/1"]));
    let names = r#"{"IndexNames":["i/1"],"Mode":"LockedError"}"#;
    send("POST", "/databases/d/indexes/set-lock", names);
    assert_eq!(last(), json!(["d", "i/1"]));
    send(
        "DELETE",
        "/admin/databases",
        r#"{"DatabaseNames":["c","d","none"]}"#,
    );
    assert_eq!(last(), json!(["c", "d", "none"]));
    verify_audit(&path, None).unwrap();
}

#[test]
fn other_names_and_pages_of_other_sites_are_refused() {
    let (_running, mut connection) = support::start_with_database();
    let mut ask = |method: &str, host: &str, more: &str| {
        let path = "/databases/db1/docs?id=a";
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n{more}\r\n{{}}"
        );
        connection.send(text.as_bytes());
        connection.read(false).status
    };
    assert_eq!(ask("PUT", "test.local", ""), 201);
    assert_eq!(ask("PUT", "127.0.0.1", "Origin: http://127.0.0.1\r\n"), 201);
    assert_eq!(ask("PUT", "evil.example", ""), 421);
    assert_eq!(
        ask("PUT", "127.0.0.1", "Origin: http://evil.example\r\n"),
        403
    );
    assert_eq!(
        ask("PUT", "127.0.0.1", "Sec-Fetch-Site: cross-site\r\n"),
        403
    );
    let plain = "Content-Type: text/plain;charset=UTF-8\r\n";
    let browser = format!("User-Agent: Mozilla/5.0 (X11)\r\n{plain}");
    assert_eq!(ask("PUT", "127.0.0.1", &browser), 415);
    // The official client for Node.js sends some of its requests like this.
    assert_eq!(ask("PUT", "127.0.0.1", plain), 201);
    assert_eq!(ask("PUT", "127.0.0.1\r\nHost: 127.0.0.1", ""), 400);
}

#[test]
fn many_wrong_keys_at_once_are_no_way_around_their_limit() {
    let place = start();
    let connections: Vec<Connection> = (0..16).map(|_| place.connect(None)).collect();
    let together = std::sync::Barrier::new(connections.len());
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = |mut connection: Connection| {
            let together = &together;
            scope.spawn(move || {
                together.wait();
                let wrong = r#"{"ApiKey":"jdk_0123_wrong"}"#;
                connection.post("/jackdaw/token", wrong).status
            })
        };
        let asked: Vec<_> = connections.into_iter().map(ask).collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let looked_at = statuses.iter().filter(|status| **status == 401).count();
    // One more than the limit may be under way when it is reached.
    assert!((5..=6).contains(&looked_at), "{statuses:?}");
    assert_eq!(statuses.len() - looked_at, count_of(&statuses, 429));
}

fn count_of(statuses: &[u16], wanted: u16) -> usize {
    statuses.iter().filter(|status| **status == wanted).count()
}

#[test]
fn strangers_do_not_make_the_audit_log_long() {
    let place = start();
    let mut stranger = place.connect(None);
    for _ in 0..50 {
        let refused = stranger.put("/admin/databases?name=a", "{}");
        assert_eq!(refused.status, 403);
    }
    let path = place.directory.audit_path();
    assert_eq!(verify_audit(&path, None).unwrap().lines, 1);
}

#[test]
fn a_stranger_on_the_port_of_subscriptions_learns_nothing() {
    let place = start();
    place.create_database("db1");
    for (operation, version) in [("Subscription", 1), ("Subscription", 53_000), ("Ping", 1)] {
        let mut stranger = Connection::over(place.tls(place.server.tcp_address(), None));
        let hello = json!({
            "DatabaseName": "db1", "Operation": operation, "OperationVersion": version,
        });
        stranger.send(hello.to_string().as_bytes());
        let told = String::from_utf8(stranger.read_to_end()).unwrap();
        assert!(told.contains("AuthorizationFailed"), "{told}");
        assert!(told.contains("gives no access"), "{told}");
        assert!(
            !told.contains("41400") && !told.contains("not served"),
            "{told}"
        );
    }
}

#[test]
fn an_upload_ends_when_its_sender_may_not_go_on() {
    let place = start();
    place.create_database("db1");
    let (id, token) = place.token(user("db1", "ReadWrite"));
    let mut upload = place.connect(None);
    let head = format!(
        "POST /databases/db1/bulk_insert?id=1 HTTP/1.1\r\nHost: localhost\r\n\
         Transfer-Encoding: chunked\r\n{token}\r\n1\r\n[\r\n"
    );
    upload.send(head.as_bytes());
    let state = "/databases/db1/operations/state?id=1";
    let mut admin = place.admin();
    let started = std::time::Instant::now();
    while admin.get(state).status != 200 {
        assert!(started.elapsed() < Duration::from_secs(10));
    }
    let removed = place.admin().delete(&format!("/jackdaw/keys?id={id}"));
    assert_eq!(removed.status, 200);
    let answer = upload.read(false);
    assert!(answer.status >= 400, "{}", answer.status);
    assert!(answer.text().contains("may not go on"), "{}", answer.text());
}

#[test]
fn the_client_exchanges_its_key_again_when_the_token_has_ended() {
    let place = start();
    let authority = std::fs::read(place.directory.authority_path()).unwrap();
    let trusting = || ConnectOptions::new().authority(&authority).unwrap();
    let key = place.directory.create_key("job", grant("Operator"));
    let key = key.unwrap();
    place.read_registry();
    let url = format!("https://localhost:{}", place.address().port());
    let options = trusting().api_key(&key).unwrap();
    let job = Client::connect(&url, &options).unwrap();
    job.create_database("music").unwrap();
    let id = key.split('_').nth(1).unwrap();
    let path = format!("/jackdaw/keys?id={id}&onlyTokens=true");
    let end_tokens = || place.admin().delete(&path).json()["TokensEnded"].clone();
    assert_eq!(end_tokens(), 1);
    job.database("music").put_text("a", "{}").unwrap();
    // One token serves any number of requests, and all clones.
    assert_eq!(job.clone().databases().unwrap(), ["music"]);
    assert_eq!(end_tokens(), 1);
    place.directory.remove_key(id).unwrap();
    place.read_registry();
    let refused = job.databases().unwrap_err();
    let is_refused = matches!(refused, ClientError::Refused { status: 401, .. });
    assert!(is_refused, "{refused}");
}

#[test]
fn the_client_comes_with_its_certificate_to_servers_that_it_trusts() {
    let place = start();
    let authority = std::fs::read(place.directory.authority_path()).unwrap();
    let trusting = || ConnectOptions::new().authority(&authority).unwrap();
    let (certificate, key) = (
        place.admin.certificate.as_bytes(),
        place.admin.key.as_bytes(),
    );
    let url = format!("https://localhost:{}", place.address().port());
    let options = trusting().certificate(certificate, key).unwrap();
    let admin = Client::connect(&url, &options).unwrap();
    admin.create_database("music").unwrap();

    let anonymous = Client::connect(&url, &trusting()).unwrap();
    assert!(anonymous.version().is_ok(), "it is for anyone");
    let refused = anonymous.databases().unwrap_err();
    assert!(
        matches!(refused, ClientError::Anonymous { .. }),
        "{refused}"
    );
    let options = ConnectOptions::new().certificate(certificate, key);
    let distrustful = Client::connect(&url, &options.unwrap()).unwrap();
    for client in [distrustful, Client::new(&url)] {
        let refused = client.version().unwrap_err();
        let ClientError::Tls { problem, .. } = refused else {
            panic!("{refused}");
        };
        assert!(matches!(problem, TlsProblem::UnknownAuthority), "{problem}");
    }
}
