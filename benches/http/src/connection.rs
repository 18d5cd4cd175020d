//! One keep-alive connection to the server under test.

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::credential::Credential;

/// A request body: whole, or streamed.
pub(crate) type Body = BoxBody<Bytes, std::convert::Infallible>;

pub(crate) struct Connection {
    sender: SendRequest<Body>,
    host: String,
    /// `Authorization`, where requests carry it.
    authorization: Option<String>,
}

/// A body that is there as a whole.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed()
}

/// HTTP over the stream, driven by a task of its own.
async fn begin(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<SendRequest<Body>> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // Its end shows as a failing request.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

impl Connection {
    pub(crate) async fn open(url: &str, credential: &Credential) -> Result<Connection> {
        let host = url.rsplit('/').next().unwrap_or_default().to_owned();
        let stream = TcpStream::connect(&host)
            .await
            .with_context(|| format!("cannot reach {url}"))?;
        stream.set_nodelay(true)?;
        let sender = match credential.tls() {
            None => begin(stream).await?,
            Some(tls) => {
                let name = host.split(':').next().unwrap_or_default().to_owned();
                begin(tls.connect(ServerName::try_from(name)?, stream).await?).await?
            }
        };
        Ok(Connection {
            sender,
            host,
            authorization: credential.header().map(|token| format!("Bearer {token}")),
        })
    }

    async fn send(&mut self, method: Method, path: &str, body: Body) -> Result<Response<Incoming>> {
        self.sender.ready().await?;
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.host)
            .header("content-type", "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        Ok(self.sender.send_request(request.body(body)?).await?)
    }

    /// One exchange; gives the status and how many bytes the answer had.
    pub(crate) async fn count(
        &mut self,
        method: Method,
        path: &str,
        body: Body,
    ) -> Result<(StatusCode, usize)> {
        let response = self.send(method, path, body).await?;
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
        let response = self.send(method, path, body).await?;
        let status = response.status();
        let text = response.into_body().collect().await?.to_bytes();
        if !status.is_success() {
            bail!("{path}: {status} {}", String::from_utf8_lossy(&text));
        }
        Ok(serde_json::from_slice(&text).unwrap_or_default())
    }
}
