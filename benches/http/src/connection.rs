//! One keep-alive connection to the server under test.

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// A request body: whole, or streamed.
pub(crate) type Body = BoxBody<Bytes, std::convert::Infallible>;

pub(crate) struct Connection {
    sender: SendRequest<Body>,
    host: String,
}

/// A body that is there as a whole.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed()
}

impl Connection {
    pub(crate) async fn open(url: &str) -> Result<Connection> {
        let host = url.trim_start_matches("http://").to_owned();
        let stream = TcpStream::connect(&host)
            .await
            .with_context(|| format!("cannot reach {url}"))?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Its end shows as a failing request.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Connection { sender, host })
    }

    /// One exchange; gives the status and how many bytes the answer had.
    pub(crate) async fn count(
        &mut self,
        method: Method,
        path: &str,
        body: Body,
    ) -> Result<(StatusCode, usize)> {
        self.sender.ready().await?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.host)
            .header("content-type", "application/json")
            .body(body)?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let mut incoming = response.into_body();
        let mut len_bytes = 0;
        while let Some(frame) = incoming.frame().await {
            len_bytes += frame?.data_ref().map_or(0, Bytes::len);
        }
        Ok((status, len_bytes))
    }

    /// One exchange that has to succeed; gives the answer as JSON, null when it has none.
    pub(crate) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Body,
    ) -> Result<serde_json::Value> {
        self.sender.ready().await?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.host)
            .header("content-type", "application/json")
            .body(body)?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let text = response.into_body().collect().await?.to_bytes();
        if !status.is_success() {
            bail!("{path}: {status} {}", String::from_utf8_lossy(&text));
        }
        Ok(serde_json::from_slice(&text).unwrap_or_default())
    }
}
