//! `/health`, `/healthz` and `/readyz`: whether the process answers, and whether it takes requests.
//!
//! Asked by load balancers, Kubernetes and monitors, which come without a certificate: the answers
//! say nothing about databases. They take no thread of the pool, so a busy server answers too.

use bytes::Bytes;
use hyper::StatusCode;

use crate::http::{Call, Outcome, Reply};

/// `GET` and `HEAD /health`, `/healthz`: 200 as long as the process answers requests.
pub(crate) fn health(_call: &Call) -> Outcome {
    Ok(status(StatusCode::OK, r#"{"Status":"Healthy"}"#))
}

/// `GET` and `HEAD /readyz`: 200 while requests are taken, 503 once the server stops.
pub(crate) fn ready(call: &Call) -> Outcome {
    Ok(readiness(*call.shared.stopping.borrow()))
}

fn readiness(is_stopping: bool) -> Reply {
    match is_stopping {
        false => status(StatusCode::OK, r#"{"Status":"Ready"}"#),
        true => status(StatusCode::SERVICE_UNAVAILABLE, r#"{"Status":"Stopping"}"#),
    }
}

fn status(status: StatusCode, body: &'static str) -> Reply {
    Reply::json(status, Bytes::from_static(body.as_bytes()))
        .with(hyper::header::CACHE_CONTROL, "no-store")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopping_server_is_not_ready() {
        let status = |is_stopping| readiness(is_stopping).into_response().status();
        assert_eq!(status(false), StatusCode::OK);
        assert_eq!(status(true), StatusCode::SERVICE_UNAVAILABLE);
    }
}
