//! The database record: the JSON object that describes a database to clients.
//!
//! Used by `databases`. A record is kept as the client gave it, without nulls; what clients expect
//! beyond that is filled in when it is read, with empty lists and objects, never null, for
//! everything that holds several things (clients refuse a record otherwise).

use serde_json::{Map, Value, json};

use super::cluster::NODE_TAG;

/// Members that hold objects, filled in as `{}`.
const OBJECTS: &[&str] = &[
    "DeletionInProgress", "RollingIndexes", "Sorters", "Analyzers", "Indexes", "IndexesHistory",
    "AutoIndexes", "Settings", "RavenConnectionStrings", "SqlConnectionStrings",
    "OlapConnectionStrings", "ElasticSearchConnectionStrings", "QueueConnectionStrings",
    "SnowflakeConnectionStrings", "AiConnectionStrings",
];
/// Members that hold lists, filled in as `[]`.
const LISTS: &[&str] = &[
    "PeriodicBackups", "ExternalReplications", "SinkPullReplications", "HubPullReplications",
    "AiAgents", "RavenEtls", "SqlEtls", "ElasticSearchEtls", "OlapEtls", "QueueEtls",
    "QueueSinks", "SnowflakeEtls", "EmbeddingsGenerations", "GenAis", "UnusedDatabaseIds",
    "SupportedFeatures",
];
/// Members that are null until set.
const NULLS: &[&str] = &[
    "Sharding", "ConflictSolverConfig", "DocumentsCompression", "Revisions", "RevisionsBin",
    "TimeSeries", "RevisionsForConflicts", "Expiration", "Refresh", "DataArchival",
    "Integrations", "Client", "Studio",
];
/// Members that the server alone decides; what a client sends for them is dropped.
const OWN: &[&str] = &["DatabaseName", "Topology", "Etag", "DatabaseState", "EtagForBackup"];

/// Facts about a database that are not part of its stored record.
pub(super) struct Facts<'a> {
    pub(super) name: &'a str,
    /// 22 characters of base64 that name the database's topology.
    pub(super) topology_id: &'a str,
    /// 22 characters of base64 that name its cluster-wide transactions.
    pub(super) cluster_transaction_id: &'a str,
    /// Grows with each change of any record.
    pub(super) index: i64,
    /// When the record was last changed, as text.
    pub(super) modified: &'a str,
}

/// The part of a record given by a client that is kept.
pub(super) fn kept(given: &Map<String, Value>) -> Map<String, Value> {
    let keep = |(name, value): &(&String, &Value)| !value.is_null() && !OWN.contains(&name.as_str());
    given.iter().filter(keep).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The whole record as clients read it.
pub(super) fn full(facts: &Facts<'_>, kept: &Map<String, Value>) -> Value {
    let mut record = Map::new();
    record.insert("DatabaseName".to_owned(), facts.name.into());
    record.insert("Disabled".to_owned(), false.into());
    record.insert("Encrypted".to_owned(), false.into());
    record.insert("EtagForBackup".to_owned(), facts.index.into());
    record.insert("DatabaseState".to_owned(), "Normal".into());
    record.insert("LockMode".to_owned(), "Unlock".into());
    record.insert("Topology".to_owned(), topology(facts));
    for (names, value) in [(OBJECTS, json!({})), (LISTS, json!([])), (NULLS, Value::Null)] {
        record.extend(names.iter().map(|name| ((*name).to_owned(), value.clone())));
    }
    record.insert("TruncatedClusterTransactionCommandsCount".to_owned(), 0.into());
    record.extend(kept.iter().map(|(name, value)| (name.clone(), value.clone())));
    record.insert("Etag".to_owned(), facts.index.into());
    Value::Object(record)
}

/// The nodes of a database: one member, this node.
pub(super) fn topology(facts: &Facts<'_>) -> Value {
    json!({
        "Members": [NODE_TAG],
        "Promotables": [],
        "Rehabs": [],
        "PredefinedMentors": {},
        "DemotionReasons": {},
        "PromotablesStatus": {},
        "Stamp": { "Index": facts.index, "Term": 1, "LeadersTicks": -2 },
        "DynamicNodesDistribution": false,
        "ReplicationFactor": 1,
        "PriorityOrder": [],
        "NodesModifiedAt": facts.modified,
        "DatabaseTopologyIdBase64": facts.topology_id,
        "ClusterTransactionIdBase64": facts.cluster_transaction_id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_nulls_is_read_back_without_null_collections() {
        let given = json!({
            "DatabaseName": "x", "Settings": {"a": "b"}, "AutoIndexes": null, "LockMode": null,
            "PeriodicBackups": [], "Client": null, "Etag": 7,
        });
        let kept = kept(given.as_object().unwrap());
        let facts = Facts {
            name: "Name", topology_id: "t", cluster_transaction_id: "c", index: 3, modified: "m",
        };
        let record = full(&facts, &kept);
        assert_eq!(record["DatabaseName"], "Name");
        assert_eq!(record["LockMode"], "Unlock");
        assert_eq!(record["AutoIndexes"], json!({}));
        assert_eq!(record["PeriodicBackups"], json!([]));
        assert_eq!(record["Settings"], json!({"a": "b"}));
        assert_eq!(record["Etag"], 3);
        assert_eq!(record["Topology"]["Members"], json!(["A"]));
        assert!(record["Client"].is_null());
    }
}
