//! Server-wide answers that clients ask for first: version, node, cluster topology.
//!
//! This server is a cluster of one node, `A`, which is always its own leader.
//!
//! Load balancers and Kubernetes ask for health and readiness without a certificate: those answers
//! say nothing about databases. They take no thread of the pool, so a busy server answers too.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::CACHE_CONTROL;
use serde_json::{Value, json};

use super::row::Audit;
use super::{now, pages};
use crate::http::{Call, Outcome, Pending, Reply};
use crate::version;
use crate::wire::{WireError, kind};

fn build_info() -> Value {
    json!({
        "ProductVersion": version::WIRE_VERSION_FAMILY,
        "BuildVersion": version::WIRE_BUILD,
        "CommitHash": format!("jackdaw-{}", version::PRODUCT_VERSION),
        "FullVersion": version::WIRE_VERSION_SHORT,
        "AssemblyVersion": version::WIRE_VERSION,
    })
}

/// `GET /build/version`
pub(crate) fn build_version(call: &Call) -> Outcome {
    let mut info = build_info();
    info["Secured"] = call.shared.gate.as_secured().is_some().into();
    info["Product"] = format!("Jackdaw {}", version::PRODUCT_VERSION).into();
    Ok(Reply::value(&info))
}

/// `GET /cluster/node-info`
pub(crate) fn node_info(call: &Call) -> Outcome {
    Ok(Reply::value(&json!({
        "NodeTag": call.node_tag(),
        "TopologyId": call.shared.topology_id,
        "Certificate": null,
        "ClusterStatus": null,
        "NumberOfCores": processors(),
        "BuildInfo": build_info(),
        "OsInfo": os_info(),
        "ServerId": call.shared.server_id,
        "CurrentState": "Leader",
        "ServerRole": "Member",
        "HasFixedPort": call.shared.config.listen.port() != 0,
        "ServerSchemaVersion": 71_000,
        "LastStateChangeReason": LEADER_REASON,
    })))
}

const LEADER_REASON: &str = "Leader, the only node of the cluster";

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn os_info() -> Value {
    json!({
        "Type": std::env::consts::OS,
        "FullName": std::env::consts::OS,
        "Is64Bit": cfg!(target_pointer_width = "64"),
    })
}

/// `GET /cluster/topology`: every address in it is the one the client used.
pub(crate) fn topology(call: &Call) -> Outcome {
    let url = call.own_url();
    let nodes = json!({ (call.node_tag()): url });
    let licence = json!({
        "UtilizedCores": processors(),
        "NumberOfCores": processors(),
        "BuildInfo": build_info(),
        "OsInfo": os_info(),
    });
    Ok(Reply::value(&json!({
        "@metadata": { "DateTime": now(), "WebUrl": url, "NodeTag": call.node_tag() },
        "Topology": {
            "TopologyId": call.shared.topology_id,
            "AllNodes": nodes,
            "Members": nodes,
            "Promotables": {},
            "Watchers": {},
            "Witnesses": {},
            "LastNodeId": call.node_tag(),
            "Etag": 1,
        },
        "Etag": 1,
        "Leader": call.node_tag(),
        "LeaderShipDuration": u64::try_from(call.shared.started.elapsed().as_millis()).unwrap_or(0),
        "CurrentState": "Leader",
        "NodeTag": call.node_tag(),
        "ServerRole": "Member",
        "CurrentTerm": 1,
        "NodeLicenseDetails": { (call.node_tag()): licence },
        "LastStateChangeReason": LEADER_REASON,
        "Status": {},
    })))
}

/// Longest delay that is granted, in milliseconds.
const DELAY_MS_MAX: i64 = 600_000;

/// `GET /admin/test/delay?value=`: answers after so many milliseconds, for tests of time limits. It
/// ends with the connection.
pub(crate) fn delay(call: Arc<Call>) -> Pending {
    Box::pin(async move {
        let query = call.query();
        let text = query.filled("value");
        let text = text.ok_or_else(|| WireError::missing_parameter("value"))?;
        let Ok(delay_ms) = text.parse::<i64>() else {
            let message = format!("Could not parse 'value' as a number, value was: {text}");
            return Err(WireError::new(kind::ARGUMENT, message));
        };
        if !(0..=DELAY_MS_MAX).contains(&delay_ms) {
            let message = format!(
                "The delay may be 0 to {DELAY_MS_MAX} milliseconds, but {delay_ms} were asked for."
            );
            return Err(WireError::new(kind::OUT_OF_RANGE, message));
        }
        let mut stopping = call.shared.stopping.clone();
        let delay = Duration::from_millis(delay_ms.unsigned_abs());
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            _ = stopping.changed() => {}
        }
        Ok(Reply::empty(StatusCode::OK))
    })
}

/// `GET /debug/routes`
pub(crate) fn routes(call: &Call) -> Outcome {
    let mut rows: Vec<Value> = Vec::new();
    for route in call.shared.router.routes() {
        let verbs: Vec<&str> = route.verbs.iter().map(|verb| verb.name()).collect();
        let row = &route.target;
        rows.push(json!({
            "Path": route.pattern,
            "Methods": verbs,
            "Summary": route.summary,
            "Clearance": row.needs.clearance.name(),
            "DatabaseAccess": row.needs.access.name(),
            "Body": row.body.name(),
            "Rate": row.rate.name(),
            "Audited": row.audit == Audit::Audited,
        }));
    }
    Ok(Reply::value(&json!({ "Debug": [], "Production": rows })))
}

/// `GET /jackdaw/openapi.json`: long and always the same, so it is made once and shared by all.
pub(crate) fn openapi(_call: &Call) -> Outcome {
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    let text = TEXT.get_or_init(|| {
        let text = serde_json::to_vec(&pages::openapi());
        Bytes::from(text.expect("a JSON value is always serializable"))
    });
    Ok(Reply::json(StatusCode::OK, text.clone()))
}

/// `GET /debug/server-id`
pub(crate) fn server_id(call: &Call) -> Outcome {
    Ok(Reply::value(&json!({ "ServerId": call.shared.server_id })))
}

/// `GET /setup/alive`
pub(crate) fn alive(_call: &Call) -> Outcome {
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `GET` and `HEAD /health`, `/healthz`: 200 as long as the process answers requests.
pub(crate) fn health(_call: &Call) -> Outcome {
    Ok(state(StatusCode::OK, r#"{"Status":"Healthy"}"#))
}

/// `GET` and `HEAD /readyz`: 200 while requests are taken, 503 once the server stops.
pub(crate) fn ready(call: &Call) -> Outcome {
    Ok(readiness(*call.shared.stopping.borrow()))
}

fn readiness(is_stopping: bool) -> Reply {
    match is_stopping {
        false => state(StatusCode::OK, r#"{"Status":"Ready"}"#),
        true => state(StatusCode::SERVICE_UNAVAILABLE, r#"{"Status":"Stopping"}"#),
    }
}

fn state(status: StatusCode, body: &'static str) -> Reply {
    Reply::json(status, Bytes::from_static(body.as_bytes())).with(CACHE_CONTROL, "no-store")
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
