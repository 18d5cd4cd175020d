//! One HTTP call: send, read, and tell failures apart.
//!
//! Used by `server` and `database`. Status 404 is not a failure here but `None`: in this protocol
//! it means "no such thing".
//!
//! Invariant: redirects are not followed, so that nothing that says who comes goes to another host.

use std::io::Read;
use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use ureq::http::{Method, Request, Response};
use ureq::{Agent, Body};

use crate::connect::ConnectOptions;
use crate::error::{ClientError, TlsProblem};
use crate::token::ApiKey;

/// Where a key is exchanged for a token.
const TOKEN_PATH: &str = "/jackdaw/token";

/// Largest answer that is read whole; streams have no limit.
const ANSWER_BYTES_MAX: u64 = 1 << 30;

/// An agent with its pool of connections, and the address of a server.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    agent: Agent,
    /// `http://host:port`, without a slash at the end.
    pub(crate) url: String,
    api_key: Option<ApiKey>,
    /// Nothing that is sent says who comes.
    is_anonymous: bool,
}

/// Headers and body of one call.
#[derive(Default)]
pub(crate) struct Call<'a> {
    pub(crate) body: Option<&'a [u8]>,
    pub(crate) if_match: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Failure {
    #[serde(rename = "Type")]
    kind: String,
    message: String,
}

impl Transport {
    /// Of options that were checked against the address.
    pub(crate) fn new(url: &str, options: &ConnectOptions) -> Transport {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .tls_config(options.tls(url));
        let agent = config.build().new_agent();
        let (api_key, is_known) = options.identity();
        Transport {
            agent,
            url: url.trim_end_matches('/').to_owned(),
            api_key: api_key.map(ApiKey::new),
            is_anonymous: !is_known,
        }
    }

    /// The whole answer, or `None` for 404.
    pub(crate) fn call(
        &self,
        method: Method,
        path: &str,
        call: &Call<'_>,
    ) -> Result<Option<Vec<u8>>, ClientError> {
        let Some(mut response) = self.open(method, path, call)? else {
            return Ok(None);
        };
        let body = response
            .body_mut()
            .with_config()
            .limit(ANSWER_BYTES_MAX)
            .read_to_vec();
        body.map(Some).map_err(|error| self.transport(path, error))
    }

    /// The answer as a reader, or `None` for 404.
    pub(crate) fn stream(
        &self,
        method: Method,
        path: &str,
        call: &Call<'_>,
    ) -> Result<Option<impl Read + use<>>, ClientError> {
        let response = self.open(method, path, call)?;
        Ok(response.map(|response| response.into_body().into_reader()))
    }

    fn open(
        &self,
        method: Method,
        path: &str,
        call: &Call<'_>,
    ) -> Result<Option<Response<Body>>, ClientError> {
        let token = self.token()?;
        let mut response = self.send(&method, path, call, token.as_deref())?;
        // Tokens end with the server's process. Nothing was done, so asking again is safe.
        if let Some(key) = &self.api_key
            && response.status() == 401
        {
            let token = self.exchange(key)?;
            response = self.send(&method, path, call, Some(&token))?;
        }
        match response.status().as_u16() {
            404 => Ok(None),
            200..=299 | 304 => Ok(Some(response)),
            status => Err(self.refused(path, status, response)),
        }
    }

    /// The token to come with, a new one when the last has ended; `None` without an API key.
    fn token(&self) -> Result<Option<Arc<str>>, ClientError> {
        let Some(key) = &self.api_key else {
            return Ok(None);
        };
        let token = key.token(Instant::now());
        token.map_or_else(|| self.exchange(key), Ok).map(Some)
    }

    /// Exchanges the API key for a new token.
    fn exchange(&self, key: &ApiKey) -> Result<Arc<str>, ClientError> {
        let now = Instant::now();
        let body = key.exchange_body();
        let call = Call {
            body: Some(body.as_bytes()),
            ..Call::default()
        };
        let mut response = self.send(&Method::POST, TOKEN_PATH, &call, None)?;
        if response.status() != 200 {
            let status = response.status().as_u16();
            return Err(self.refused(TOKEN_PATH, status, response));
        }
        let body = response.body_mut().read_to_vec();
        let body = body.map_err(|error| self.transport(TOKEN_PATH, error))?;
        Ok(key.keep(self.read(TOKEN_PATH, &body)?, now))
    }

    fn send(
        &self,
        method: &Method,
        path: &str,
        call: &Call<'_>,
        token: Option<&str>,
    ) -> Result<Response<Body>, ClientError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url));
        if let Some(expected) = call.if_match {
            request = request.header("If-Match", format!("\"{expected}\""));
        }
        if let Some(token) = token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let sent = match call.body {
            Some(body) => request
                .body(body)
                .map_err(ureq::Error::from)
                .and_then(|request| self.agent.run(request)),
            None => request
                .body(())
                .map_err(ureq::Error::from)
                .and_then(|request| self.agent.run(request)),
        };
        sent.map_err(|error| self.transport(path, error))
    }

    fn refused(&self, path: &str, status: u16, mut response: Response<Body>) -> ClientError {
        let body = match response.body_mut().read_to_vec() {
            Ok(body) => body,
            Err(error) => return self.transport(path, error),
        };
        let failure = serde_json::from_slice(&body).unwrap_or_else(|_| Failure {
            kind: String::new(),
            message: String::from_utf8_lossy(&body).into_owned(),
        });
        if status == 409 {
            return ClientError::Conflict {
                message: failure.message,
            };
        }
        if status == 403 && self.is_anonymous {
            return ClientError::Anonymous {
                message: failure.message,
            };
        }
        ClientError::Refused {
            status,
            kind: failure.kind,
            message: failure.message,
        }
    }

    fn transport(&self, path: &str, source: ureq::Error) -> ClientError {
        let url = format!("{}{path}", self.url);
        match TlsProblem::of(&source) {
            Some(problem) => ClientError::Tls { url, problem },
            None => ClientError::Transport {
                url,
                source: Box::new(source),
            },
        }
    }

    /// Reads an answer as JSON.
    pub(crate) fn read<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        body: &[u8],
    ) -> Result<T, ClientError> {
        let url = || format!("{}{path}", self.url);
        serde_json::from_slice(body)
            .map_err(|source| ClientError::Unreadable { url: url(), source })
    }
}

/// Percent-encodes one path segment or query value.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_encoded_so_that_every_byte_survives() {
        assert_eq!(encode("users/1-A"), "users/1-A");
        assert_eq!(encode("a b+c&d=%\u{e9}|"), "a%20b%2Bc%26d%3D%25%C3%A9%7C");
    }
}
