//! `POST /databases/*/multi_get`: several requests in one, each answered as if it had come alone.
//!
//! Clients send their lazy loads and queries this way. Inner requests run one after another; each
//! has a status, the headers that matter, and a body, and none fails the others. A long inner
//! answer goes on to the client as it is made, so that the answer never is in memory as a whole.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Uri;
use hyper::header::{ETAG, HOST, HeaderMap, HeaderName, HeaderValue};
use jackdaw_document::{Object, Value, write_string};

use super::{input, writing};
use crate::http::{Call, Cut, Pending, Relay, Reply, answer_inner, panicked};
use crate::wire::{WireError, kind};

/// Inner requests whose answers do not end, or that would nest.
const REFUSED: &[&str] = &["/multi_get", "/streams/", "/jackdaw/"];

/// Most requests in one.
const REQUESTS_MAX: usize = 1_024;

/// One inner request.
struct Inner {
    method: String,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
}

/// `POST /databases/*/multi_get` with `{Requests:[{Url, Query, Method, Headers, Content}]}`
pub(super) fn run(call: Arc<Call>) -> Pending {
    Box::pin(async move {
        super::database_soon(&call).await?;
        let requests = writing::prepare(&call, read).await?;
        let (mut relay, outcome) = Relay::new(&call);
        tokio::spawn(async move {
            let result = answer_all(&call, requests, &mut relay).await;
            relay.finish(result).await;
        });
        outcome.await.unwrap_or_else(|_| Err(panicked()))
    })
}

async fn answer_all(
    call: &Call,
    requests: Vec<Result<Inner, WireError>>,
    out: &mut Relay,
) -> Result<(), WireError> {
    out.buffer.extend_from_slice(b"{\"Results\":[");
    for (slot, inner) in requests.into_iter().enumerate() {
        if slot > 0 {
            out.buffer.push(b',');
        }
        let reply = match inner {
            Ok(inner) => {
                let Inner {
                    method,
                    uri,
                    headers,
                    body,
                } = inner;
                tokio::select! {
                    reply = answer_inner(call, &method, uri, headers, body) => reply,
                    () = out.closed() => return Err(Cut::ClientGone.into()),
                }
            }
            Err(error) => Reply::json(error.status, error.body("")),
        };
        push(out, reply).await?;
    }
    out.buffer.extend_from_slice(b"]}");
    Ok(())
}

async fn push(out: &mut Relay, reply: Reply) -> Result<(), WireError> {
    let (status, etag) = (reply.status, reply.headers.get(ETAG).cloned());
    out.buffer.extend_from_slice(b"{\"Result\":");
    if !out.forward(reply.body).await? {
        out.buffer.extend_from_slice(b"null");
    }
    let told = format!(",\"StatusCode\":{},\"Headers\":{{", status.as_u16());
    out.buffer.extend_from_slice(told.as_bytes());
    if let Some(etag) = etag.as_ref().and_then(|etag| etag.to_str().ok()) {
        out.buffer.extend_from_slice(b"\"ETag\":");
        write_string(&mut out.buffer, etag);
    }
    out.buffer.extend_from_slice(b"}}");
    Ok(())
}

fn read(call: &Call) -> Result<Vec<Result<Inner, WireError>>, WireError> {
    let mut parser = input::parser(call);
    let body = input::object(call, &mut parser)?;
    let Some(requests) = body
        .get("Requests")
        .and_then(|requests| requests.as_array())
    else {
        let message = "Request should have a property name 'Requests' which is mandatory.";
        return Err(WireError::new(kind::ARGUMENT, message));
    };
    if requests.len() > REQUESTS_MAX {
        let message = format!("More than {REQUESTS_MAX} requests cannot be sent in one.");
        return Err(WireError::new(kind::ARGUMENT, message));
    }
    Ok(requests
        .iter()
        .map(|request| read_one(call, request))
        .collect())
}

fn read_one(call: &Call, request: Value<'_>) -> Result<Inner, WireError> {
    let malformed = |what: &str| WireError::new(kind::ARGUMENT, what);
    let request = request
        .as_object()
        .ok_or_else(|| malformed("A request must be an object."))?;
    let url = input::text(request, "Url")?.unwrap_or("");
    if REFUSED
        .iter()
        .any(|part| url.to_ascii_lowercase().contains(part))
    {
        return Err(malformed("This route cannot be used inside multi_get."));
    }
    let query = input::text(request, "Query")?
        .unwrap_or("")
        .trim_start_matches('?');
    let target = match query {
        "" => url.to_owned(),
        query => format!("{url}?{query}"),
    };
    let uri: Uri = escape(&target)
        .parse()
        .map_err(|_| malformed("The Url of a request is not one."))?;
    let body = match request.get("Content") {
        None | Some(Value::Null) => Bytes::new(),
        Some(Value::String(text)) => Bytes::copy_from_slice(text.as_bytes()),
        Some(other) => Bytes::from(other.to_json()),
    };
    let method = input::text(request, "Method")?.unwrap_or("GET").to_owned();
    Ok(Inner {
        method,
        uri,
        headers: headers(call, request),
        body,
    })
}

/// The inner headers, and the outer `Host`, from which addresses in answers are made.
fn headers(call: &Call, request: Object<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(host) = call.headers.get(HOST) {
        headers.insert(HOST, host.clone());
    }
    let given = request
        .get("Headers")
        .and_then(|headers| headers.as_object());
    for (name, value) in given.into_iter().flat_map(|given| given.iter()) {
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = value.as_str().map(HeaderValue::from_str);
        if let (Ok(name), Some(Ok(value))) = (name, value) {
            headers.insert(name, value);
        }
    }
    headers
}

/// Escapes what clients leave as it is although it cannot stand in a URL.
fn escape(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    for byte in url.bytes() {
        if byte <= b' ' || byte >= 0x7f || b"\"<>`{}|\\^#".contains(&byte) {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push(char::from(byte));
        }
    }
    out
}
