//! A small client for tests: sends commands to a server of its own and shows replies as text.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jackdaw_redis::{RedisConfig, RedisServer};

/// Longest wait for a reply.
const PATIENCE: Duration = Duration::from_secs(20);

/// A configuration on a free port of loopback, with two loops on any machine.
pub(crate) fn config() -> RedisConfig {
    let mut config = RedisConfig::default();
    config.threads = 2;
    config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    config
}

pub(crate) fn start(config: &RedisConfig) -> RedisServer {
    RedisServer::start(config).expect("the server starts")
}

/// A command as bytes.
pub(crate) fn framed(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// A connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(server: &RedisServer) -> Client {
        let stream = TcpStream::connect(server.address()).expect("the server accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        Client {
            stream: BufReader::new(stream),
        }
    }

    /// Sends a line of words and gives the reply; quotation marks hold blanks together.
    pub(crate) fn run(&mut self, line: &str) -> String {
        self.send(line);
        self.reply()
    }

    pub(crate) fn send(&mut self, line: &str) {
        let words = words(line);
        let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        self.send_words(&words);
    }

    pub(crate) fn send_words(&mut self, words: &[&[u8]]) {
        self.send_bytes(&framed(words));
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream
            .get_mut()
            .write_all(bytes)
            .expect("the server reads");
    }

    /// Sends as much as a server takes that may close the connection meanwhile.
    pub(crate) fn try_send_bytes(&mut self, bytes: &[u8]) {
        drop(self.stream.get_mut().write_all(bytes));
    }

    pub(crate) fn finish_sending(&mut self) {
        let stream = self.stream.get_ref();
        stream.shutdown(Shutdown::Write).expect("a socket");
    }

    /// The line of a reply, unless the connection was closed.
    pub(crate) fn try_reply(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line);
        read.is_ok_and(|len| len > 1)
            .then(|| line.trim_end()[1..].to_owned())
    }

    /// A command and the line of its reply, unless the connection was closed.
    pub(crate) fn try_run_words(&mut self, words: &[&[u8]]) -> Option<String> {
        self.try_send_bytes(&framed(words));
        self.try_reply()
    }

    pub(crate) fn run_words(&mut self, words: &[&[u8]]) -> String {
        self.send_words(words);
        self.reply()
    }

    /// Reads a reply: `OK`, `(error) ...`, `1`, `"text"`, `nil`, `[a, b]`, `{a: b}`.
    pub(crate) fn reply(&mut self) -> String {
        let line = self.line();
        let (kind, rest) = line.split_at(1);
        match kind {
            "+" | ":" | "," => rest.to_owned(),
            "-" => format!("(error) {rest}"),
            "_" => "nil".to_owned(),
            "$" | "=" if rest == "-1" => "nil".to_owned(),
            "$" | "=" => {
                let len: usize = rest.parse().expect("a length");
                let mut bytes = vec![0; len + 2];
                self.stream.read_exact(&mut bytes).expect("the rest");
                format!("\"{}\"", bytes[..len].escape_ascii())
            }
            "*" if rest == "-1" => "nil".to_owned(),
            "*" | "~" | ">" => {
                let len: usize = rest.parse().expect("a length");
                let parts: Vec<String> = (0..len).map(|_| self.reply()).collect();
                format!("[{}]", parts.join(", "))
            }
            "%" => {
                let len: usize = rest.parse().expect("a length");
                let pair = |client: &mut Client| {
                    let field = client.reply();
                    format!("{field}: {}", client.reply())
                };
                let parts: Vec<String> = (0..len).map(|_| pair(self)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            other => panic!("a reply of kind {other:?}"),
        }
    }

    /// Whether the server has closed the connection, and said no more than a line with these words.
    pub(crate) fn is_told_or_closed(&mut self, words: &str) -> bool {
        let told = self.try_reply();
        told.is_none_or(|told| told.contains(words)) && self.is_closed()
    }

    /// Whether the server has closed the connection.
    pub(crate) fn is_closed(&mut self) -> bool {
        match self.stream.read(&mut [0]) {
            Ok(count) => count == 0,
            // One that keeps silent for too long is open.
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }

    /// Reads replies until the server closes the connection.
    pub(crate) fn read_until_closed(&mut self, what: &str) {
        loop {
            match self.stream.read(&mut [0]) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) => {
                    // A reset closes the connection, too; one that is silent for too long is open.
                    let is_silent = [ErrorKind::WouldBlock, ErrorKind::TimedOut];
                    let is_open = is_silent.contains(&error.kind());
                    assert!(!is_open, "{what}: the connection stays open");
                    return;
                }
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a reply in time");
        assert!(line.ends_with("\r\n"), "the connection ended: {line:?}");
        line.truncate(line.len() - 2);
        line
    }
}

fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').expect("a closing mark"),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

/// A directory of a test, removed with it.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Directory {
        let name = format!("jackdaw-redis-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        Directory(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
