//! Ongoing tasks of a database. Subscriptions are the only ones that are served; asking for one of
//! another known type finds none.

use hyper::StatusCode;
use jackdaw_database::{Database, Subscription};
use serde_json::{Map, Value, json};

use super::{failure, now, subscriptions};
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

/// Types of tasks that clients know, besides subscriptions.
const OTHER_TYPES: [&str; 14] = [
    "Replication",
    "RavenEtl",
    "SqlEtl",
    "OlapEtl",
    "ElasticSearchEtl",
    "QueueEtl",
    "SnowflakeEtl",
    "Backup",
    "PullReplicationAsHub",
    "PullReplicationAsSink",
    "QueueSink",
    "EmbeddingsGeneration",
    "GenAi",
    "CdcSink",
];

/// `GET /databases/*/tasks`
pub(super) fn list(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let found = database
        .read()
        .and_then(|snapshot| snapshot.subscriptions(0, usize::MAX));
    let found = found.map_err(|error| failure::read(&error))?;
    let rows = found
        .iter()
        .map(|subscription| Value::Object(described(call, &database, subscription)));
    Ok(Reply::value(&json!({
        "@metadata": metadata(call),
        "OngoingTasks": rows.collect::<Vec<_>>(),
        "SubscriptionsCount": found.len(),
        "PullReplications": [],
    })))
}

/// `GET /databases/*/task?key=&taskName=&type=`
pub(super) fn one(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let query = call.query();
    if query.filled("key").is_none() && query.filled("taskName").is_none() {
        return Err(WireError::missing_parameter("taskName"));
    }
    let task = query.filled("type");
    let task = task.ok_or_else(|| WireError::empty_parameter("type"))?;
    if task.eq_ignore_ascii_case("Subscription") {
        let found = subscriptions::named(call, &database)?;
        let mut body = Map::new();
        body.insert("@metadata".to_owned(), metadata(call));
        body.extend(described(call, &database, &found));
        return Ok(Reply::value(&Value::Object(body)));
    }
    if OTHER_TYPES
        .iter()
        .any(|known| known.eq_ignore_ascii_case(&task))
    {
        return Ok(Reply::empty(StatusCode::NOT_FOUND));
    }
    let message = format!("Unknown task type '{task}'.");
    Err(WireError::new(kind::ARGUMENT, message))
}

fn metadata(call: &Call) -> Value {
    json!({ "DateTime": now(), "WebUrl": call.own_url(), "NodeTag": call.node_tag() })
}

fn described(call: &Call, database: &Database, subscription: &Subscription) -> Map<String, Value> {
    let is_active = !call
        .shared
        .desk
        .seated(database, subscription.number)
        .is_empty();
    let mut row = Map::new();
    let node =
        json!({ "NodeTag": call.node_tag(), "NodeUrl": call.own_url(), "ResponsibleNode": null });
    for (name, value) in [
        ("TaskId", json!(subscription.number)),
        ("TaskType", json!("Subscription")),
        ("ResponsibleNode", node),
        (
            "TaskState",
            json!(match subscription.is_disabled {
                true => "Disabled",
                false => "Enabled",
            }),
        ),
        (
            "TaskConnectionStatus",
            json!(if is_active { "Active" } else { "NotActive" }),
        ),
        ("TaskName", json!(subscription.name)),
        ("Error", Value::Null),
        ("ChangeVectorForNextBatchStartingPointPerShard", Value::Null),
    ] {
        row.insert(name.to_owned(), value);
    }
    if let Value::Object(own) = subscriptions::described(database, subscription) {
        let is_told = |name: &String| !["NodeTag", "RaftCommandIndex"].contains(&name.as_str());
        row.extend(own.into_iter().filter(|(name, _)| is_told(name)));
    }
    row
}
