//! Proves over real sockets that the feed of changes has no gap: while documents are written,
//! between two connections, and from the beginning; that conditions and revisions decide what is
//! told; and that what makes no sense is refused.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails by panicking")]

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

mod support;

use support::{Connection, TestServer};

/// One event: its id, its name, its data.
type Event = (String, String, Value);

/// A feed that is read event by event.
struct Feed {
    connection: Connection,
    text: String,
}

impl Feed {
    fn open(server: &TestServer, query: &str) -> Feed {
        Feed::open_over(server.connect(), query)
    }

    fn open_over(mut connection: Connection, query: &str) -> Feed {
        let path = format!("/databases/db1/jackdaw/feed{query}");
        let request = format!("GET {path} HTTP/1.1\r\nHost: test.local\r\n\r\n");
        connection.send(request.as_bytes());
        let head = connection.read_head();
        assert_eq!(head.status, 200);
        assert!(
            head.header("content-type")
                .unwrap()
                .starts_with("text/event-stream")
        );
        let text = String::new();
        let mut feed = Feed { connection, text };
        assert_eq!(feed.next().1, "open");
        feed
    }

    /// The next event or sign of life, which has no name.
    fn next(&mut self) -> Event {
        let end = loop {
            if let Some(end) = self.text.find("\n\n") {
                break end;
            }
            let chunk = self.connection.read_chunk();
            assert!(!chunk.is_empty(), "the feed ended");
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        };
        let block: String = self.text.drain(..end + 2).collect();
        let field = |name: &str| {
            let prefix = format!("{name}: ");
            block
                .lines()
                .find_map(|line| line.strip_prefix(&prefix))
                .unwrap_or("")
                .to_owned()
        };
        let data = serde_json::from_str(&field("data")).unwrap_or_default();
        (field("id"), field("event"), data)
    }

    fn change(&mut self) -> (String, Value) {
        loop {
            let (id, name, data) = self.next();
            if name == "change" {
                return (id, data);
            }
        }
    }
}

fn put(connection: &mut Connection, id: &str, body: &Value) {
    let path = format!("/databases/db1/docs?id={id}");
    let answer = connection.put(&path, &body.to_string());
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn album(year: i64) -> Value {
    json!({ "Year": year, "@metadata": { "@collection": "Albums" } })
}

#[test]
fn nothing_is_lost_between_the_signal_and_the_reading_nor_between_two_connections() {
    const WRITES: i64 = 600;
    const IDS: i64 = 50;
    let (server, _first) = support::start_with_database();
    let mut feed = Feed::open(&server, "");
    let address = server.address();
    let writer = std::thread::spawn(move || {
        let mut connection = Connection::open(address);
        for number in 0..WRITES {
            put(
                &mut connection,
                &format!("albums/{}", number % IDS),
                &album(number),
            );
        }
    });
    let mut seen: BTreeMap<String, i64> = BTreeMap::new();
    let mut last = 0;
    // Every id in its last state: whatever came between may be told or not, but never out of order.
    while seen.len() < usize::try_from(IDS).unwrap()
        || seen.values().any(|year| *year < WRITES - IDS)
    {
        let (token, data) = feed.change();
        let etag: u64 = token.split('@').next().unwrap().parse().unwrap();
        assert!(etag > last, "{etag} after {last}");
        last = etag;
        let year = data["After"]["Year"].as_i64().unwrap();
        let before = seen.insert(data["Id"].as_str().unwrap().to_owned(), year);
        assert!(before.is_none_or(|before| before < year));
        // A broken connection now and then.
        if etag.is_multiple_of(97) {
            feed = Feed::open(&server, &format!("?since={token}"));
        }
    }
    writer.join().unwrap();
    let mut again = Feed::open(&server, "?since=0");
    let told: Vec<i64> = (0..IDS)
        .map(|_| again.change().1["After"]["Year"].as_i64().unwrap())
        .collect();
    assert_eq!(told, (WRITES - IDS..WRITES).collect::<Vec<_>>());
}

#[test]
fn many_feeds_of_the_same_changes_miss_none_whatever_they_ask_for() {
    const WRITES: i64 = 300;
    let (server, mut connection) = support::start_with_database();
    // Each tells its number's years and later ones.
    let queries = [
        ("", 0),
        ("?q=from+Albums+where+Year+%3E=+150", 150),
        ("?q=from+Albums+where+Year+%3E=+290", 290),
    ];
    let open = |slot: usize| Feed::open(&server, queries[slot % 3].0);
    let feeds: Vec<Feed> = (0..12).map(open).collect();
    let readers = feeds.into_iter().enumerate().map(|(slot, mut feed)| {
        let reader = move || {
            let mut last = BTreeMap::new();
            let (_, first_year) = queries[slot % 3];
            while last.len() < 10 || last.values().any(|year| *year < WRITES - 10) {
                let (_, data) = feed.change();
                let year = data["After"]["Year"].as_i64().unwrap();
                assert!(year >= first_year);
                let id = data["Id"].as_str().unwrap().to_owned();
                assert!(last.insert(id, year).is_none_or(|before| before < year));
            }
        };
        std::thread::spawn(reader)
    });
    let readers: Vec<_> = readers.collect();
    for number in 0..WRITES {
        let id = format!("albums/{}", number % 10);
        put(&mut connection, &id, &album(number));
    }
    for reader in readers {
        reader.join().unwrap();
    }
}

#[test]
fn what_comes_behind_the_request_of_a_feed_is_not_carried_out() {
    let (server, mut connection) = support::start_with_database();
    let mut feed = server.connect();
    let open = "GET /databases/db1/jackdaw/feed HTTP/1.1\r\nHost: test.local\r\n\r\n";
    let store = "PUT /databases/db1/docs?id=behind HTTP/1.1\r\nHost: test.local\r\n\
                 Content-Length: 2\r\n\r\n{}";
    feed.send(format!("{open}{store}").as_bytes());
    let head = feed.read_head();
    assert_eq!(head.header("connection"), Some("close"));
    assert!(!feed.read_chunk().is_empty());
    put(&mut connection, "albums/1", &album(1));
    assert!(!feed.read_chunk().is_empty());
    let answer = connection.get("/databases/db1/docs?id=behind");
    assert_eq!(answer.status, 404);
}

#[test]
fn a_feed_follows_other_answers_on_its_connection() {
    let (server, mut connection) = support::start_with_database();
    put(&mut connection, "albums/1", &album(1));
    let mut feed = Feed::open_over(connection, "?since=0");
    assert_eq!(feed.change().1["Id"], "albums/1");
    put(&mut server.connect(), "albums/2", &album(2));
    assert_eq!(feed.change().1["Id"], "albums/2");
}

#[test]
fn a_condition_and_revisions_decide_what_is_told() {
    let (server, mut connection) = support::start_with_database();
    let keep = json!({ "Default": { "Disabled": false } }).to_string();
    let kept = connection.post("/databases/db1/admin/revisions/config", &keep);
    assert!(kept.status < 300, "{}", kept.text());
    let query = "?q=from%20Albums%20where%20Year%20%3E%201990";
    let mut feed = Feed::open(&server, query);
    put(&mut connection, "a", &album(1980));
    put(&mut connection, "b", &album(1991));
    let (_, data) = feed.change();
    assert_eq!(
        (&data["Type"], &data["Id"], &data["Before"]),
        (&json!("Put"), &json!("b"), &Value::Null)
    );
    put(&mut connection, "b", &album(1992));
    let (_, data) = feed.change();
    assert_eq!(
        (&data["Before"]["Year"], &data["After"]["Year"]),
        (&json!(1991), &json!(1992))
    );
    put(&mut connection, "b", &album(1970));
    let (_, data) = feed.change();
    assert_eq!(
        (&data["Type"], &data["Before"]["Year"]),
        (&json!("Leave"), &json!(1992))
    );
    put(&mut connection, "c", &album(2000));
    assert_eq!(feed.change().1["Id"], "c");
    // What did not meet the condition goes without a word, what did with one.
    connection.delete("/databases/db1/docs?id=a");
    connection.delete("/databases/db1/docs?id=c");
    let (_, data) = feed.change();
    assert_eq!(
        (&data["Type"], &data["Id"]),
        (&json!("Delete"), &json!("c"))
    );
    assert_eq!(data["After"], Value::Null);
}

#[test]
fn a_quiet_feed_gives_signs_of_life_that_one_can_go_on_from() {
    let mut config = support::config();
    config.heartbeat = Duration::from_millis(20);
    let server = TestServer::start(config);
    let mut connection = server.connect();
    connection.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    let mut feed = Feed::open(&server, "?q=from%20Albums");
    put(&mut connection, "x", &json!({}));
    // Of no interest, and yet behind us at some time.
    while feed.next().0.starts_with("0@") {}
    let (token, name, _) = feed.next();
    assert_eq!(name, "");
    put(&mut connection, "albums/1", &album(1));
    let mut resumed = Feed::open(&server, &format!("?q=from%20Albums&since={token}"));
    assert_eq!(resumed.change().1["Id"], "albums/1");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (_server, mut connection) = support::start_with_database();
    let long = format!(
        "?q=from%20Albums%20where%20a%20%3D%20%27{}%27",
        "x".repeat(9000)
    );
    for (query, status) in [
        ("?q=nonsense", 400),
        ("?q=from%20Albums%20order%20by%20Year", 400),
        ("?q=from%20index%20%27x%27", 400),
        ("?since=yesterday", 400),
        ("?since=1@other", 410),
        (long.as_str(), 400),
    ] {
        let answer = connection.get(&format!("/databases/db1/jackdaw/feed{query}"));
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
    }
    assert_eq!(connection.get("/databases/none/jackdaw/feed").status, 400);
}

/// Reads to the last event, which has to say why there are no more.
fn last_words(mut feed: Feed) -> Value {
    let told = loop {
        let (_, name, data) = feed.next();
        if name == "end" {
            break data;
        }
    };
    assert!(feed.connection.read_chunk().is_empty());
    told
}

#[test]
fn a_feed_ends_with_its_database_and_does_not_keep_it() {
    let data = support::DataDirectory::new();
    let databases = data.path().join("databases");
    let server = TestServer::start_on(data, support::config());
    let mut connection = server.connect();
    connection.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    let feed = Feed::open(&server, "");
    let names = r#"{"DatabaseNames":["DB1"]}"#;
    connection.post("/admin/databases/disable", names);
    assert_eq!(last_words(feed)["Reason"], "Disabled");
    for path in ["jackdaw/feed", "docs?id=a", "stats"] {
        let refused = connection.get(&format!("/databases/db1/{path}"));
        assert_eq!(refused.status, 503, "{path}: {}", refused.text());
    }
    let refused = connection.post("/databases/db1/bulk_docs", r#"{"Commands":[]}"#);
    assert_eq!(refused.status, 503, "{}", refused.text());
    connection.post("/admin/databases/enable", names);
    let feed = Feed::open(&server, "");
    connection.exchange("DELETE", "/admin/databases", "", names.as_bytes());
    let told = last_words(feed);
    assert_eq!(told["Reason"], "Deleted");
    assert_eq!(told["Message"], "The database 'db1' was deleted.");
    // Its files go when nobody has it any more.
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while std::fs::read_dir(&databases).unwrap().next().is_some() {
        assert!(std::time::Instant::now() < deadline, "somebody has it");
        std::thread::yield_now();
    }
}
