//! Where heads and bodies of HTTP/1.1 begin and end in the bytes of a connection.
//!
//! Used by `heads`. Nothing is refused here but bare LF: what hyper refuses ends the connection,
//! and what comes after does not matter.

/// Longest line that is kept until its end comes; hyper refuses longer heads before.
const LINE_BYTES_MAX: usize = 64 << 10;

/// See the file head.
#[derive(Debug, Default)]
pub(super) struct Framing {
    place: Place,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    length: Option<u64>,
    is_chunked: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Before the first line of a request.
    #[default]
    Start,
    Headers,
    /// Bytes of a body that are still to come.
    Body(u64),
    /// The line with the length of a chunk.
    ChunkLength,
    /// Bytes of a chunk that are still to come, its end of line included.
    Chunk(u64),
    Trailers,
    /// hyper refuses this request.
    Lost,
}

impl Framing {
    /// Whether a part of a head has come, and not all of it.
    pub(super) fn is_within_head(&self) -> bool {
        match self.place {
            Place::Start => !self.line.is_empty(),
            Place::Headers => true,
            _ => false,
        }
    }

    /// Passes over bytes. An LF of a head without a CR before it becomes NUL.
    pub(super) fn pass(&mut self, bytes: &mut [u8]) {
        let mut at = 0;
        while at < bytes.len() {
            match self.place {
                Place::Body(left) => {
                    let taken = take(left, bytes.len() - at);
                    at += taken;
                    self.place = match left - taken as u64 {
                        0 => Place::Start,
                        left => Place::Body(left),
                    };
                }
                Place::Chunk(left) => {
                    let taken = take(left, bytes.len() - at);
                    at += taken;
                    self.place = match left - taken as u64 {
                        0 => Place::ChunkLength,
                        left => Place::Chunk(left),
                    };
                }
                Place::Lost => return,
                _ => at += self.pass_line(&mut bytes[at..]),
            }
        }
    }

    /// Passes over a line, or a part of one; returns its length.
    fn pass_line(&mut self, bytes: &mut [u8]) -> usize {
        let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else {
            self.line.extend_from_slice(bytes);
            if self.line.len() > LINE_BYTES_MAX {
                self.lose();
            }
            return bytes.len();
        };
        let before = match end {
            0 => self.line.last(),
            _ => bytes.get(end - 1),
        };
        if before != Some(&b'\r') {
            if matches!(self.place, Place::Start | Place::Headers) {
                bytes[end] = 0;
            }
            self.lose();
            return end + 1;
        }
        if self.line.is_empty() {
            self.end_line(&bytes[..end - 1]);
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(&bytes[..end]);
            self.end_line(&line[..line.len() - 1]);
        }
        end + 1
    }

    fn lose(&mut self) {
        self.place = Place::Lost;
        self.line = Vec::new();
    }

    /// Takes in a line without its end.
    fn end_line(&mut self, line: &[u8]) {
        self.place = match self.place {
            // hyper skips empty lines before a request.
            Place::Start if line.is_empty() => Place::Start,
            Place::Start => {
                (self.length, self.is_chunked) = (None, false);
                Place::Headers
            }
            Place::Headers if line.is_empty() => match (self.is_chunked, self.length) {
                (true, _) => Place::ChunkLength,
                (false, None | Some(0)) => Place::Start,
                (false, Some(length)) => Place::Body(length),
            },
            Place::Headers => {
                self.header(line);
                Place::Headers
            }
            Place::ChunkLength => match chunk_length(line) {
                None => Place::Lost,
                Some(0) => Place::Trailers,
                Some(length) => Place::Chunk(length.saturating_add(2)),
            },
            Place::Trailers if line.is_empty() => Place::Start,
            other => other,
        };
    }

    fn header(&mut self, line: &[u8]) {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            return;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            let text = std::str::from_utf8(value).unwrap_or("");
            self.length = text.parse().ok();
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.is_chunked = true;
        }
    }
}

/// As many of `left` bytes as there are.
fn take(left: u64, there: usize) -> usize {
    usize::try_from(left).map_or(there, |left| left.min(there))
}

fn chunk_length(line: &[u8]) -> Option<u64> {
    let digits = line.split(|&byte| byte == b';').next()?.trim_ascii();
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests one after another, with bodies of all kinds that look like heads.
    const STREAM: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\n\
        PUT /a HTTP/1.1\r\ncontent-length: 14\r\n\r\nGET / HTTP\n\r\n\n\
        POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n\
        5;x=y\r\n\r\n\r\n\n\r\nA\r\n0123456789\r\n0\r\nA: b\r\n\r\nGET /c HTTP/1.1\r\n\r\n";

    #[test]
    fn a_stream_of_requests_is_followed_however_it_is_cut() {
        for len in 1..STREAM.len() {
            let mut framing = Framing::default();
            let mut bytes = STREAM.as_bytes().to_vec();
            for piece in bytes.chunks_mut(len) {
                framing.pass(piece);
                assert_ne!(framing.place, Place::Lost, "cut by {len}");
            }
            assert_eq!(framing.place, Place::Start, "cut by {len}");
            assert!(!framing.is_within_head());
            assert_eq!(bytes, STREAM.as_bytes());
        }
    }

    #[test]
    fn heads_that_are_not_whole_are_known() {
        let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        for len in 0..=head.len() {
            let mut framing = Framing::default();
            framing.pass(&mut head[..len].to_vec());
            let is_part = len > 0 && len < head.len();
            assert_eq!(framing.is_within_head(), is_part, "{len}");
        }
    }

    #[test]
    fn bare_line_ends_of_heads_become_nul_and_those_of_bodies_stay() {
        for text in [
            "GET / HTTP/1.1\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\n",
            "\nGET / HTTP/1.1\r\n\r\n",
        ] {
            for len in 1..=text.len() {
                let mut bytes = text.as_bytes().to_vec();
                let mut framing = Framing::default();
                for piece in bytes.chunks_mut(len) {
                    framing.pass(piece);
                }
                assert!(bytes.contains(&0), "{text:?} cut by {len}");
            }
        }
    }
}
