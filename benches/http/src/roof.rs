//! hyper answering every request with one document from memory, like a load by id would be
//! answered: no server of documents on hyper can be faster.

use std::convert::Infallible;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, server};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::tasks;

/// About as long as what a server tells of its version.
const HELLO: &[u8] =
    br#"{"ProductVersion":"1.0","CommitHash":"0000000","FullVersion":"1.0.0-roof"}"#;

/// Serves until it is killed; prints its address first.
pub(crate) async fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    let document = tasks::document(0, tasks::LOADED_BYTES);
    let answer = Bytes::from(format!("{{\"Results\":[{document}],\"Includes\":{{}}}}"));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let body = match request.uri().path() {
                    tasks::HELLO_PATH => Bytes::from_static(HELLO),
                    _ => answer.clone(),
                };
                let response = Response::builder()
                    .header("content-type", "application/json; charset=utf-8")
                    .body(Full::new(body));
                async move { Ok::<_, Infallible>(response.expect("the head is well-formed")) }
            });
            let connection = server::conn::http1::Builder::new();
            // A client that goes away is no failure.
            drop(
                connection
                    .serve_connection(TokioIo::new(stream), service)
                    .await,
            );
        });
    }
}
