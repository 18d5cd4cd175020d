//! Sends inputs, several at a time, and says what became of each.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use jackdaw_client::Client;
use jackdaw_slow_tests::server::Server;
use serde_json::Value;

/// Threads that throw.
const THROWERS: usize = 6;
/// How long an answer may take: a query may compute for 30 s.
const ANSWER_MAX: Duration = Duration::from_secs(45);
/// How long a client waits before it says that nothing more comes, after few bytes and after many.
const PATIENCE: Duration = Duration::from_millis(400);
const PATIENCE_OF_LARGE: Duration = Duration::from_secs(20);
/// What counts as many.
const LARGE_BYTES: usize = 256 << 10;
/// Bytes of an answer that are looked at.
const LOOKED_AT: usize = 4 << 10;
/// Says that a handler failed in a way that nobody foresaw.
const FAILED: &[u8] = b"The server failed while";
pub(crate) const DATABASE: &str = "db1";

/// Where the server listens.
pub(crate) struct Targets {
    pub(crate) url: String,
    pub(crate) http: SocketAddr,
    pub(crate) tcp: SocketAddr,
    pub(crate) redis: SocketAddr,
    /// Longest body that the server takes.
    pub(crate) body_bytes_max: usize,
}

impl Targets {
    pub(crate) fn of(server: &Server, body_bytes_max: usize) -> Result<Targets> {
        Ok(Targets {
            body_bytes_max,
            url: server.url.clone(),
            http: server.http_address()?,
            tcp: server.tcp_address()?,
            redis: server.redis_address()?,
        })
    }
}

/// Which of its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Http,
    Tcp,
    Redis,
}

/// Bytes for one connection.
pub(crate) struct Input {
    /// For people, when it fails.
    pub(crate) name: String,
    pub(crate) port: Port,
    pub(crate) bytes: Vec<u8>,
}

impl Input {
    pub(crate) fn http(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Input {
        Input {
            name: name.into(),
            port: Port::Http,
            bytes: bytes.into(),
        }
    }

    fn patience(&self) -> Duration {
        match self.bytes.len() >= LARGE_BYTES {
            true => PATIENCE_OF_LARGE,
            false => PATIENCE,
        }
    }

    /// A request with a body and its length.
    pub(crate) fn request(method: &str, path: &str, headers: &str, body: &[u8]) -> Input {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        let name = format!("{method} {}", path.chars().take(100).collect::<String>());
        Input::http(name, [head.as_bytes(), body].concat())
    }
}

/// What became of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With a status, or 0 on the other ports.
    Answered(u16),
    Closed,
    /// Neither in time, though all was sent and the client said that nothing more comes.
    Hung,
    /// The server says itself that it failed.
    Failed,
}

/// Sends bytes and waits for an answer. What is incomplete waits for its rest with good reason:
/// after `patience` the client says that nothing more comes, and the server has to answer or to
/// close.
fn exchange(address: SocketAddr, bytes: &[u8], patience: Duration) -> Outcome {
    let Ok(mut stream) = TcpStream::connect_timeout(&address, ANSWER_MAX) else {
        return Outcome::Hung;
    };
    let timed = stream
        .set_read_timeout(Some(patience))
        .and_then(|()| stream.set_write_timeout(Some(ANSWER_MAX)));
    if timed.is_err() {
        return Outcome::Closed;
    }
    // One that was refused early is told by what can be read.
    drop(stream.write_all(bytes));
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    let mut is_all_said = false;
    let ended = loop {
        match stream.read(&mut piece) {
            Ok(0) => break true,
            Ok(count) => answer.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break true;
            }
            // A stream that goes on for ever, or nothing more of an answer.
            Err(_) if !answer.is_empty() => break true,
            Err(_) if is_all_said => break false,
            Err(_) => {
                is_all_said = true;
                drop(stream.shutdown(Shutdown::Write));
                drop(stream.set_read_timeout(Some(ANSWER_MAX)));
            }
        }
        if answer.len() >= LOOKED_AT || is_whole(&answer) {
            break true;
        }
    };
    judge(&answer, ended)
}

/// Whether a whole head came: enough to know the status.
fn is_whole(answer: &[u8]) -> bool {
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let text = head.and_then(|end| std::str::from_utf8(&answer[..end]).ok());
    let Some((end, text)) = head.zip(text) else {
        return false;
    };
    let length = text.to_ascii_lowercase();
    let length = length.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok());
    length.is_some_and(|length| answer.len() >= end + 4 + length)
}

fn judge(answer: &[u8], ended: bool) -> Outcome {
    if answer.windows(FAILED.len()).any(|part| part == FAILED) {
        return Outcome::Failed;
    }
    match (answer.is_empty(), ended) {
        (true, false) => return Outcome::Hung,
        (true, true) => return Outcome::Closed,
        _ => {}
    }
    let text = String::from_utf8_lossy(&answer[..answer.len().min(12)]).into_owned();
    let status = text
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.parse().ok());
    Outcome::Answered(status.unwrap_or(0))
}

/// Whether a plain request is answered within the limit; an answer that comes later is none.
pub(crate) fn ask_version(targets: &Targets, limit: Duration) -> Outcome {
    let request = b"GET /build/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let started = Instant::now();
    match exchange(targets.http, request, limit) {
        Outcome::Answered(_) if started.elapsed() > limit => Outcome::Hung,
        other => other,
    }
}

/// What became of many inputs.
#[derive(Default)]
pub(crate) struct Thrown {
    statuses: BTreeMap<String, usize>,
    pub(crate) hangs: Vec<String>,
}

impl Thrown {
    pub(crate) fn summary(&self) -> String {
        let counts = self.statuses.iter();
        let words: Vec<String> = counts
            .map(|(word, count)| format!("{word} {count}"))
            .collect();
        words.join(", ")
    }
}

/// Throws all of them, in their order but several at a time.
pub(crate) fn throw_all(targets: &Targets, inputs: Vec<Input>) -> Thrown {
    let (next, thrown) = (AtomicUsize::new(0), Mutex::new(Thrown::default()));
    std::thread::scope(|scope| {
        for _ in 0..THROWERS {
            scope.spawn(|| {
                while let Some(input) = inputs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let address = match input.port {
                        Port::Http => targets.http,
                        Port::Tcp => targets.tcp,
                        Port::Redis => targets.redis,
                    };
                    let outcome = exchange(address, &input.bytes, input.patience());
                    let mut thrown = thrown.lock().expect("nobody panics");
                    let word = match outcome {
                        Outcome::Answered(0) => "answered".to_owned(),
                        Outcome::Answered(status) => status.to_string(),
                        other => format!("{other:?}").to_lowercase(),
                    };
                    *thrown.statuses.entry(word).or_default() += 1;
                    if matches!(outcome, Outcome::Hung | Outcome::Failed) {
                        thrown.hangs.push(format!("{outcome:?}: {}", input.name));
                    }
                }
            });
        }
    });
    thrown.into_inner().expect("nobody panicked")
}

/// The database that inputs are about, with some documents.
pub(crate) fn prepare(targets: &Targets) -> Result<()> {
    let client = Client::new(&targets.url);
    if !client.databases()?.iter().any(|name| name == DATABASE) {
        client.create_database(DATABASE)?;
    }
    let enable = br#"{"DatabaseNames":["db1"]}"#;
    let enable = Input::request("POST", "/admin/databases/enable", "", enable);
    let enabled = exchange(targets.http, &enable.bytes, ANSWER_MAX);
    ensure!(
        enabled == Outcome::Answered(200),
        "cannot enable: {enabled:?}"
    );
    let database = client.database(DATABASE);
    for number in 0..50 {
        let text = format!(
            "{{\"Name\":\"n{number}\",\"Number\":{number},\
             \"@metadata\":{{\"@collection\":\"Items\"}}}}"
        );
        database.put_text(&format!("as/{number}"), &text)?;
    }
    Ok(())
}

/// Methods and patterns of all routes, as the server describes them.
pub(crate) fn routes(targets: &Targets) -> Result<Vec<(String, String)>> {
    let request =
        b"GET /jackdaw/openapi.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut stream = TcpStream::connect(targets.http)?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let described: Value = serde_json::from_slice(&answer[head.context("no head")? + 4..])?;
    let paths = described["paths"].as_object().context("no paths")?;
    let mut routes = Vec::new();
    for (path, methods) in paths {
        for method in methods
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name)
        {
            routes.push((method.to_uppercase(), path.clone()));
        }
    }
    ensure!(routes.len() > 100, "only {} routes", routes.len());
    Ok(routes)
}
