//! A reader of the feed of changes, for tests with thousands of them in one process.

use std::net::SocketAddr;

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest head of an answer.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// How long a feed may take to open.
const OPENING_MAX: Duration = Duration::from_secs(30);
/// Bytes asked of the socket at a time.
const READ_BYTES: usize = 4 << 10;

/// What a feed tells.
#[derive(Debug)]
pub enum Event {
    /// The feed begins.
    Open,
    /// A document changed.
    Change(Value),
    /// The database ended.
    End(Value),
    /// A sign of life.
    Beat,
}

/// An open feed.
#[derive(Debug)]
pub struct FeedReader {
    stream: TcpStream,
    /// What came and was not taken apart yet.
    raw: Vec<u8>,
    /// Bytes of the present chunk that are still to come.
    chunk_left: usize,
    text: Vec<u8>,
    /// Id of the last event: where to go on.
    pub last_id: String,
}

impl FeedReader {
    /// Opens the feed of a database, from an id on or from now on.
    ///
    /// # Errors
    /// The server cannot be reached, refuses, or says nothing for too long.
    pub async fn open(
        address: SocketAddr,
        database: &str,
        since: Option<&str>,
    ) -> Result<FeedReader> {
        let opening = FeedReader::ask(address, database, since);
        let opened = timeout(OPENING_MAX, opening).await;
        opened.context("a feed did not open in time")?
    }

    async fn ask(address: SocketAddr, database: &str, since: Option<&str>) -> Result<FeedReader> {
        let last_id = since.unwrap_or_default().to_owned();
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let since = since.map_or(String::new(), |since| format!("?since={since}"));
        let head = format!(
            "GET /databases/{database}/jackdaw/feed{since} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        let mut reader = FeedReader {
            stream,
            raw: Vec::new(),
            chunk_left: 0,
            text: Vec::new(),
            last_id,
        };
        let end = reader.head_end().await?;
        let head = String::from_utf8_lossy(&reader.raw[..end]).into_owned();
        ensure!(head.starts_with("HTTP/1.1 200"), "refused: {head}");
        reader.raw.drain(..end);
        Ok(reader)
    }

    async fn head_end(&mut self) -> Result<usize> {
        loop {
            let found = self.raw.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(at) = found {
                return Ok(at + 4);
            }
            ensure!(self.raw.len() < HEAD_BYTES_MAX, "a head without an end");
            ensure!(self.fill().await? > 0, "closed before an answer");
        }
    }

    async fn fill(&mut self) -> Result<usize> {
        self.raw.reserve(READ_BYTES);
        // A dropped future of this has read nothing.
        Ok(self.stream.read_buf(&mut self.raw).await?)
    }

    /// The next event; `None` when the server has closed the feed. Nothing is lost when the future
    /// is dropped.
    ///
    /// # Errors
    /// The connection breaks, or what comes is no feed.
    pub async fn next(&mut self) -> Result<Option<Event>> {
        loop {
            let end = self.text.windows(2).position(|two| two == b"\n\n");
            if let Some(end) = end {
                let block: Vec<u8> = self.text.drain(..end + 2).collect();
                return self.event(&String::from_utf8(block)?).map(Some);
            }
            if !self.take_chunk()? {
                // The rest of an idle reader is no memory of it.
                if self.raw.is_empty() && self.text.is_empty() {
                    (self.raw, self.text) = (Vec::new(), Vec::new());
                }
                if self.fill().await? == 0 {
                    return Ok(None);
                }
            }
        }
    }

    /// Moves what is there of a chunk to the text; false when more has to come first.
    fn take_chunk(&mut self) -> Result<bool> {
        if self.chunk_left == 0 {
            // The end of the chunk before stands in front of the next length.
            let line = self.raw.strip_prefix(b"\r\n").unwrap_or(&self.raw);
            let skipped = self.raw.len() - line.len();
            let Some(end) = line.windows(2).position(|two| two == b"\r\n") else {
                return Ok(false);
            };
            let length = std::str::from_utf8(&line[..end])?;
            self.chunk_left = usize::from_str_radix(length, 16).context("a length of a chunk")?;
            self.raw.drain(..skipped + end + 2);
            return Ok(self.chunk_left > 0);
        }
        let count = self.chunk_left.min(self.raw.len());
        self.text.extend(self.raw.drain(..count));
        self.chunk_left -= count;
        Ok(count > 0)
    }

    fn event(&mut self, block: &str) -> Result<Event> {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        if let Some(id) = field("id: ") {
            id.clone_into(&mut self.last_id);
        }
        let data = || serde_json::from_str(field("data: ").unwrap_or("null"));
        Ok(match field("event: ") {
            Some("open") => Event::Open,
            Some("change") => Event::Change(data()?),
            Some("end") => Event::End(data()?),
            None => Event::Beat,
            Some(other) => bail!("an event '{other}' that nobody knows"),
        })
    }
}
