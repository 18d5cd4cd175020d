//! A plain HTTP/1.1 client over one socket, for tests that look at bytes, and a server to talk to.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jackdaw_database::{DatabaseOptions, DatabaseSet};
use jackdaw_io::{Durability, RealVfs};
use jackdaw_server::{Running, Server, ServerConfig};

/// Longer than any test may take; a hanging server fails the test instead of blocking it.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is UTF-8")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {}", self.text()))
    }
}

/// A socket to the server that gives up in time.
pub(crate) fn socket(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    let timed = stream.set_read_timeout(Some(TIMEOUT));
    timed.expect("a timeout can be set");
    stream.set_nodelay(true).expect("the option can be set");
    stream
}

/// A kept-alive connection.
pub(crate) struct Connection {
    reader: BufReader<Box<dyn Stream>>,
}

/// A socket, bare or under TLS.
pub(crate) trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Connection {
        Connection::over(socket(address))
    }

    /// A connection over a stream of any kind.
    pub(crate) fn over(stream: impl Stream + 'static) -> Connection {
        Connection {
            reader: BufReader::new(Box::new(stream)),
        }
    }

    /// Sends bytes as they are. A server that closed early is noticed when reading.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        drop(self.reader.get_mut().write_all(bytes));
    }

    /// Sends a request with a body of known length and reads the answer.
    pub(crate) fn exchange(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> Answer {
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: test.local:1234\r\nContent-Length: {length}\r\n\
             {headers}\r\n"
        );
        self.send(head.as_bytes());
        self.send(body);
        self.read(method == "HEAD")
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.exchange("GET", path, "", b"")
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> Answer {
        self.exchange("POST", path, "", body.as_bytes())
    }

    pub(crate) fn delete(&mut self, path: &str) -> Answer {
        self.exchange("DELETE", path, "", b"")
    }

    pub(crate) fn put(&mut self, path: &str, body: &str) -> Answer {
        self.exchange("PUT", path, "", body.as_bytes())
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader
            .read_line(&mut line)
            .expect("the server answers");
        line.trim_end().to_owned()
    }

    /// Reads the status line and headers.
    pub(crate) fn read_head(&mut self) -> Answer {
        let line = self.line();
        let status = line
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status in '{line}'"));
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        Answer {
            status,
            headers,
            body: Vec::new(),
        }
    }

    /// Reads one answer.
    pub(crate) fn read(&mut self, head_only: bool) -> Answer {
        let mut answer = self.read_head();
        if head_only || matches!(answer.status, 204 | 304) {
            return answer;
        }
        if answer.header("transfer-encoding").is_some() {
            loop {
                let chunk = self.read_chunk();
                if chunk.is_empty() {
                    return answer;
                }
                answer.body.extend(chunk);
            }
        }
        let length = answer
            .header("content-length")
            .and_then(|length| length.parse().ok());
        answer.body = vec![0; length.unwrap_or(0)];
        self.reader
            .read_exact(&mut answer.body)
            .expect("the body is complete");
        answer
    }

    /// Reads one chunk; the last is empty.
    pub(crate) fn read_chunk(&mut self) -> Vec<u8> {
        let length = usize::from_str_radix(&self.line(), 16).expect("a chunk length");
        let mut chunk = vec![0; length];
        self.reader
            .read_exact(&mut chunk)
            .expect("the chunk is complete");
        assert_eq!(self.line(), "");
        chunk
    }

    /// Reads so many bytes.
    pub(crate) fn read_bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.reader
            .read_exact(&mut bytes)
            .expect("the bytes come in time");
        bytes
    }

    /// Reads until the text just read ends like this.
    pub(crate) fn read_until(&mut self, end: &str) -> String {
        let mut bytes = Vec::new();
        while !bytes.ends_with(end.as_bytes()) {
            bytes.extend(self.read_bytes(1));
        }
        String::from_utf8(bytes).expect("the text is UTF-8")
    }

    /// Reads until the other side closes, whatever it says.
    pub(crate) fn read_to_end(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        drop(self.reader.read_to_end(&mut bytes));
        bytes
    }

    /// Whether the server has closed its side: nothing more can be read.
    pub(crate) fn is_closed(&mut self) -> bool {
        match self.reader.fill_buf() {
            Ok(bytes) => bytes.is_empty(),
            // One that keeps silent for too long is open.
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }
}

/// A data directory that is removed with the test. Commits are not synced: tests of durability are
/// the storage engine's.
pub(crate) struct DataDirectory {
    path: PathBuf,
    databases: Option<Arc<DatabaseSet>>,
}

impl DataDirectory {
    pub(crate) fn new() -> DataDirectory {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("jackdaw-server-test-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let databases = Some(open_databases(&path));
        DataDirectory { path, databases }
    }

    /// Closes all databases and opens the directory again.
    pub(crate) fn reopen(&mut self) {
        let mut databases = self.databases.take().expect("they are open");
        // Tasks of a server that was stopped let go of them soon.
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match Arc::try_unwrap(databases) {
                Ok(closed) => break drop(closed),
                Err(shared) => databases = shared,
            }
            assert!(Instant::now() < deadline, "somebody uses the databases");
            std::thread::yield_now();
        }
        self.databases = Some(open_databases(&self.path));
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }

    pub(crate) fn databases(&self) -> Arc<DatabaseSet> {
        self.databases
            .clone()
            .expect("there until the directory is dropped")
    }
}

fn open_databases(path: &Path) -> Arc<DatabaseSet> {
    let mut options = DatabaseOptions::default();
    options.documents.durability = Durability::None;
    let databases = DatabaseSet::open(RealVfs::new(), path, options);
    Arc::new(databases.expect("the data directory opens"))
}

impl Drop for DataDirectory {
    fn drop(&mut self) {
        self.databases = None;
        drop(std::fs::remove_dir_all(&self.path));
    }
}

/// A server and the directory it works on; the server goes first.
pub(crate) struct TestServer {
    running: Option<Running>,
    data: DataDirectory,
}

impl TestServer {
    pub(crate) fn start(config: ServerConfig) -> TestServer {
        TestServer::start_on(DataDirectory::new(), config)
    }

    /// A server on a directory that was prepared.
    pub(crate) fn start_on(data: DataDirectory, config: ServerConfig) -> TestServer {
        let running = Server::start(config, data.databases()).expect("the server starts");
        TestServer {
            running: Some(running),
            data,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.running.as_ref().expect("it runs").address()
    }

    /// The address of subscriptions.
    pub(crate) fn tcp_address(&self) -> SocketAddr {
        self.running.as_ref().expect("it runs").tcp_address()
    }

    pub(crate) fn url(&self) -> String {
        self.running.as_ref().expect("it runs").url()
    }

    pub(crate) fn stop(&mut self) -> usize {
        self.running.take().expect("it runs").stop()
    }

    /// Stops the server, closes its databases, opens them and starts another one.
    pub(crate) fn restart(&mut self, config: ServerConfig) {
        self.stop();
        self.data.reopen();
        let running = Server::start(config, self.data.databases()).expect("the server starts");
        self.running = Some(running);
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address())
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop();
        }
    }
}

/// A server with one database, `db1`.
pub(crate) fn start_with_database() -> (TestServer, Connection) {
    let (running, mut connection) = start();
    let created = connection.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    assert_eq!(created.status, 201, "{}", created.text());
    (running, connection)
}

/// A configuration that listens on a free port.
pub(crate) fn config() -> ServerConfig {
    let mut config = ServerConfig::default();
    config.listen.set_port(0);
    config.public_hosts = vec!["test.local".to_owned()];
    config
}

pub(crate) fn start() -> (TestServer, Connection) {
    let server = TestServer::start(config());
    let connection = server.connect();
    (server, connection)
}
