//! Server-sent events of HTTP/1.1, written by the task of their connection alone.
//!
//! Such an answer goes on for hours and is idle nearly always. hyper keeps two buffers of 8 KiB and
//! the state of a request for it; `listener` takes the socket back and comes here instead, when
//! nothing was answered over it before. Framing is that of RFC 9112, section 7.1: chunks, and an
//! empty one at the end.
//!
//! Invariant: an answer that breaks off has no empty chunk, so that the client notices.

use std::io;
use std::time::SystemTime;

use http_body_util::BodyExt;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, Response, Version};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::reply::{EVENT_STREAM, ReplyBody};

/// The end of an answer in chunks.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Whether events that answer this request can be written here.
pub(super) fn are_possible<B>(request: &Request<B>) -> bool {
    request.version() == Version::HTTP_11 && request.method() == Method::GET
}

/// Whether an answer consists of events.
pub(super) fn are_in(answer: &Response<ReplyBody>) -> bool {
    answer.headers().get(CONTENT_TYPE) == Some(&EVENT_STREAM)
}

/// Writes an answer until it ends or the client goes away, and closes the connection, as its head
/// says: requests that came behind the first are not carried out.
///
/// # Errors
/// The client went away, did not read, or the answer broke off.
pub(super) async fn write<S>(mut stream: S, answer: Response<ReplyBody>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    stream.write_all(&head(&answer)).await?;
    let mut body = answer.into_body();
    let mut is_silent = true;
    loop {
        let mut heard = [0; 64];
        let piece = tokio::select! {
            piece = body.frame() => piece,
            heard = stream.read(&mut heard), if is_silent => match heard? {
                0 => return Ok(()),
                // Nothing is to come. Whoever sends on is not heard, and noticed by writing alone
                // when it goes away.
                _ => {
                    is_silent = false;
                    continue;
                }
            },
        };
        match piece {
            Some(piece) => {
                if let Ok(data) = piece.map_err(io::Error::other)?.into_data() {
                    stream.write_all(&chunk(&data)).await?;
                    stream.flush().await?;
                }
            }
            None => {
                stream.write_all(LAST_CHUNK).await?;
                return stream.shutdown().await;
            }
        }
    }
}

/// Status and headers.
fn head(answer: &Response<ReplyBody>) -> Vec<u8> {
    let date = httpdate::fmt_http_date(SystemTime::now());
    let mut head = format!("HTTP/1.1 {}\r\n", answer.status()).into_bytes();
    for (name, value) in answer.headers() {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    let rest = format!("transfer-encoding: chunked\r\nconnection: close\r\ndate: {date}\r\n\r\n");
    head.extend_from_slice(rest.as_bytes());
    head
}

/// A piece with its length. An empty one would be the end, and is left out.
fn chunk(data: &[u8]) -> Vec<u8> {
    if data.is_empty() {
        return Vec::new();
    }
    let mut chunk = format!("{:x}\r\n", data.len()).into_bytes();
    chunk.extend_from_slice(data);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio::io::{DuplexStream, duplex};
    use tokio::sync::mpsc;

    use super::super::reply::{BrokenStream, Reply};
    use super::*;

    type Pieces = mpsc::Sender<Result<Bytes, BrokenStream>>;

    /// Lets `client` use an answer whose pieces it sends; how writing ended.
    fn run<F: Future>(client: impl FnOnce(Pieces, DuplexStream) -> F) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let (pieces, receiver) = mpsc::channel(8);
            let (near, far) = duplex(1 << 10);
            let answer = Reply::events(receiver).into_response();
            tokio::join!(write(near, answer), client(pieces, far)).0
        })
    }

    async fn text(client: &mut DuplexStream) -> String {
        let mut text = String::new();
        client.read_to_string(&mut text).await.unwrap();
        text
    }

    #[test]
    fn events_are_chunks_and_end_with_an_empty_one() {
        let written = run(async |pieces, mut client| {
            for piece in ["data: 0123456789abcdef\n\n", "", "id: 1\n\n"] {
                pieces.send(Ok(Bytes::from(piece))).await.unwrap();
            }
            drop(pieces);
            let text = text(&mut client).await;
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
            assert!(head.contains("\r\ncontent-type: text/event-stream; charset=utf-8\r\n"));
            assert!(head.contains("\r\ntransfer-encoding: chunked\r\nconnection: close\r\ndate: "));
            let chunks = "18\r\ndata: 0123456789abcdef\n\n\r\n7\r\nid: 1\n\n\r\n0\r\n\r\n";
            assert_eq!(body, chunks);
        });
        written.unwrap();
    }

    #[test]
    fn what_breaks_off_has_no_end() {
        let written = run(async |pieces, mut client| {
            pieces.send(Err(BrokenStream)).await.unwrap();
            assert!(text(&mut client).await.ends_with("\r\n\r\n"));
        });
        assert!(written.is_err());
    }

    #[test]
    fn a_client_that_goes_away_ends_it_also_when_it_sent_something() {
        run(async |pieces, client| {
            drop(client);
            pieces.closed().await;
        })
        .unwrap();
        let written = run(async |pieces, mut client| {
            client.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
            tokio::task::yield_now().await;
            drop(client);
            drop(pieces.send(Ok(Bytes::from("id: 1\n\n"))).await);
            pieces.closed().await;
        });
        assert!(written.is_err());
    }
}
