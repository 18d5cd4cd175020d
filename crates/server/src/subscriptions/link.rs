//! One TCP connection as a sequence of JSON objects in both directions.
//!
//! Objects follow one another without separators but white space; a bare line end is a heartbeat.
//! What is sent is ASCII: some clients decode each piece they read on its own.

use std::io;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Longest object of a client, in bytes.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// Bytes handed to the socket at once; the timeout is for each piece.
const PIECE_BYTES: usize = 64 << 10;
/// Bytes asked from the socket at once.
const READ_BYTES: usize = 4 << 10;

/// Why nothing more can be read or sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("the client took longer than {0:?} to read or answer")]
    Slow(Duration),
    /// What the client sent is not the protocol.
    #[error("{0}")]
    Garbage(String),
}

/// A socket, bare or under TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection.
pub(super) struct Link {
    stream: Box<dyn Stream>,
    framer: Framer,
    stall_timeout: Duration,
}

impl Link {
    pub(super) fn new(stream: Box<dyn Stream>, stall_timeout: Duration) -> Link {
        Link {
            stream,
            framer: Framer::default(),
            stall_timeout,
        }
    }

    /// The next object; `None` when the client has closed its side. May be dropped and called
    /// again without losing anything.
    pub(super) async fn receive(&mut self) -> Result<Option<Map<String, Value>>, LinkError> {
        loop {
            if let Some(frame) = self.framer.next()? {
                let parsed = serde_json::from_slice(&frame);
                return parsed.map(Some).map_err(|error| {
                    LinkError::Garbage(format!("expected a JSON object: {error}"))
                });
            }
            let mut bytes = [0; READ_BYTES];
            match self.stream.read(&mut bytes).await? {
                0 => return Ok(None),
                count => self.framer.push(&bytes[..count]),
            }
        }
    }

    /// The next object, which has to come within `timeout`.
    pub(super) async fn receive_within(
        &mut self,
        timeout: Duration,
    ) -> Result<Option<Map<String, Value>>, LinkError> {
        let received = tokio::time::timeout(timeout, self.receive()).await;
        received.unwrap_or(Err(LinkError::Slow(timeout)))
    }

    /// Sends bytes that are ASCII already.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        for piece in bytes.chunks(PIECE_BYTES) {
            let written = async {
                self.stream.write_all(piece).await?;
                // TLS keeps the last record back until it is asked.
                self.stream.flush().await
            };
            let sent = tokio::time::timeout(self.stall_timeout, written).await;
            sent.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
                .map_err(|error| match error.kind() {
                    io::ErrorKind::TimedOut => LinkError::Slow(self.stall_timeout),
                    _ => LinkError::Io(error),
                })?;
        }
        Ok(())
    }

    /// Sends one object.
    pub(super) async fn tell(&mut self, message: &Value) -> Result<(), LinkError> {
        let mut bytes = Vec::new();
        push_ascii(message.to_string().as_bytes(), &mut bytes);
        self.send(&bytes).await
    }

    /// Ends the sending side, so that what was sent arrives before the end.
    pub(super) async fn close(mut self) {
        drop(tokio::time::timeout(self.stall_timeout, self.stream.shutdown()).await);
    }
}

/// Appends JSON with characters beyond ASCII as escapes; they only stand inside of strings.
pub(super) fn push_ascii(json: &[u8], out: &mut Vec<u8>) {
    if json.is_ascii() {
        return out.extend_from_slice(json);
    }
    for character in String::from_utf8_lossy(json).chars() {
        if character.is_ascii() {
            out.push(character as u8);
            continue;
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
        }
    }
}

/// Finds where objects end, looking at each byte once.
#[derive(Debug, Default)]
struct Framer {
    bytes: Vec<u8>,
    /// Bytes that were looked at.
    looked_at: usize,
    depth: u32,
    is_in_string: bool,
    is_escaped: bool,
}

impl Framer {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole object.
    fn next(&mut self) -> Result<Option<Vec<u8>>, LinkError> {
        if self.depth == 0 {
            let start = self
                .bytes
                .iter()
                .position(|byte| !byte.is_ascii_whitespace());
            self.bytes.drain(..start.unwrap_or(self.bytes.len()));
        }
        while let Some(byte) = self.bytes.get(self.looked_at).copied() {
            if self.looked_at == 0 && byte != b'{' {
                return Err(LinkError::Garbage(format!(
                    "expected a JSON object, but got the byte 0x{byte:02x}: this port speaks the \
                     protocol of subscriptions, not HTTP or TLS"
                )));
            }
            self.looked_at += 1;
            if self.looked_at > MESSAGE_BYTES_MAX {
                return Err(LinkError::Garbage(format!(
                    "a message is longer than {MESSAGE_BYTES_MAX} bytes"
                )));
            }
            if self.step(byte) {
                let frame = self.bytes.drain(..self.looked_at).collect();
                self.looked_at = 0;
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// Takes one byte in; whether it ends the object.
    fn step(&mut self, byte: u8) -> bool {
        if self.is_in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.is_in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_whatever_the_pieces_are() {
        let text = b"\r\n{\"a\":\"}{\\\"\"}{\"b\":[{}]}\r\n \n{}";
        for piece_bytes in 1..text.len() {
            let mut framer = Framer::default();
            let mut found = Vec::new();
            for piece in text.chunks(piece_bytes) {
                framer.push(piece);
                while let Some(frame) = framer.next().unwrap() {
                    found.push(String::from_utf8(frame).unwrap());
                }
            }
            assert_eq!(
                found,
                ["{\"a\":\"}{\\\"\"}", "{\"b\":[{}]}", "{}"],
                "{piece_bytes}"
            );
        }
    }

    #[test]
    fn other_protocols_and_endless_messages_are_refused() {
        let mut framer = Framer::default();
        framer.push(b"GET / HTTP/1.1\r\n");
        let refused = framer.next().unwrap_err().to_string();
        assert!(refused.contains("not HTTP"), "{refused}");
        let mut framer = Framer::default();
        framer.push(b"{\"a\":\"");
        framer.push(&vec![b'x'; MESSAGE_BYTES_MAX]);
        assert!(framer.next().unwrap_err().to_string().contains("longer"));
    }

    #[test]
    fn characters_beyond_ascii_become_escapes() {
        let mut out = Vec::new();
        push_ascii("{\"a\":\"\u{e9}\u{1f600}\"}".as_bytes(), &mut out);
        assert_eq!(out, b"{\"a\":\"\\u00e9\\ud83d\\ude00\"}");
    }
}
