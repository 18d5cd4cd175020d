//! The database record: the JSON object that describes a database to clients.
//!
//! Used by `databases`. A record is kept as the client gave it, without nulls; what clients expect
//! beyond that is filled in when it is read, with empty lists and objects, never null, for
//! everything that holds several things (clients refuse a record otherwise).

use jackdaw_database::Origin;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::now;
use super::queries::NO_TIME;
use crate::wire::{WireError, kind};

/// Members that hold objects, filled in as `{}`.
const OBJECTS: &[&str] = &[
    "DeletionInProgress",
    "RollingIndexes",
    "Sorters",
    "Analyzers",
    "Indexes",
    "IndexesHistory",
    "AutoIndexes",
    "Settings",
    "RavenConnectionStrings",
    "SqlConnectionStrings",
    "OlapConnectionStrings",
    "ElasticSearchConnectionStrings",
    "QueueConnectionStrings",
    "SnowflakeConnectionStrings",
    "AiConnectionStrings",
];
/// Members that hold lists, filled in as `[]`.
const LISTS: &[&str] = &[
    "PeriodicBackups",
    "ExternalReplications",
    "SinkPullReplications",
    "HubPullReplications",
    "AiAgents",
    "RavenEtls",
    "SqlEtls",
    "ElasticSearchEtls",
    "OlapEtls",
    "QueueEtls",
    "QueueSinks",
    "SnowflakeEtls",
    "EmbeddingsGenerations",
    "GenAis",
    "UnusedDatabaseIds",
    "SupportedFeatures",
];
/// Members that are null until set.
const NULLS: &[&str] = &[
    "Sharding",
    "ConflictSolverConfig",
    "DocumentsCompression",
    "Revisions",
    "RevisionsBin",
    "TimeSeries",
    "RevisionsForConflicts",
    "Expiration",
    "Refresh",
    "DataArchival",
    "Integrations",
    "Client",
    "Studio",
];
/// Member that says that a database does not serve.
pub(super) const DISABLED: &str = "Disabled";
/// The lock mode of a database that may be deleted.
const UNLOCKED: &str = "Unlock";
/// The lock mode of a database whose deletion is skipped.
const IGNORING: &str = "PreventDeletesIgnore";
/// All lock modes: deletion is allowed, silently skipped, or refused.
pub(super) const LOCK_MODES: &[&str] = &[UNLOCKED, IGNORING, "PreventDeletesError"];
/// Purpose of the identity of a topology, which is made from the database's.
const TOPOLOGY: u64 = 1;
/// Members that the server alone decides; what a client sends for them is dropped.
const OWN: &[&str] = &[
    "DatabaseName",
    "Topology",
    "Etag",
    "DatabaseState",
    "EtagForBackup",
];

/// Facts about a database that are not part of its record.
pub(super) struct Facts<'a> {
    pub(super) name: &'a str,
    pub(super) origin: &'a Origin,
    /// Grows with each change of any record; clients see it as etag of record and topology.
    pub(super) index: u64,
}

/// What is kept of a database besides its documents, written as one JSON text.
/// Identities of the topology and of cluster-wide transactions are made from the database's.
///
/// Programs that embed the database, and imports into files, make databases without either member.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoredRecord {
    /// When the record was last changed.
    #[serde(default = "never")]
    modified: String,
    /// The members that clients gave.
    #[serde(default)]
    members: Map<String, Value>,
}

fn never() -> String {
    NO_TIME.to_owned()
}

/// The members of a record given by a client that are kept.
pub(super) fn kept(given: &Map<String, Value>) -> Map<String, Value> {
    let keep =
        |(name, value): &(&String, &Value)| !value.is_null() && !OWN.contains(&name.as_str());
    given
        .iter()
        .filter(keep)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

impl StoredRecord {
    /// The record of a new database.
    pub(super) fn new(members: Map<String, Value>) -> StoredRecord {
        StoredRecord {
            modified: now(),
            members,
        }
    }

    pub(super) fn parse(text: &str) -> Result<StoredRecord, WireError> {
        serde_json::from_str(text).map_err(|error| {
            WireError::new(
                kind::UNEXPECTED,
                format!("A database record is damaged: {error}"),
            )
        })
    }

    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a record of strings and JSON is serializable")
    }

    /// Whether the database may be deleted; false when deletion is to be skipped without a word.
    /// Refuses when the record says so.
    pub(super) fn is_deletable(&self, name: &str) -> Result<bool, WireError> {
        let mode = self.lock_mode();
        if mode == UNLOCKED || mode == IGNORING {
            return Ok(mode == UNLOCKED);
        }
        let message = format!(
            "Database '{name}' cannot be deleted because of the set lock mode ('{mode}'). \
             Please consider changing the lock mode before deleting the database."
        );
        Err(WireError::new(kind::INVALID_OPERATION, message))
    }

    /// The same record with another lock mode.
    pub(super) fn with_lock_mode(mut self, mode: &str) -> StoredRecord {
        self.members.insert("LockMode".to_owned(), mode.into());
        self.modified = now();
        self
    }

    /// The same record with another value of a member; null removes it.
    pub(super) fn with_member(mut self, name: &str, value: Value) -> StoredRecord {
        if value.is_null() {
            self.members.remove(name);
        } else {
            self.members.insert(name.to_owned(), value);
        }
        self.modified = now();
        self
    }

    /// A member as clients gave it.
    pub(super) fn member(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// Whether the database does not serve.
    pub(super) fn is_disabled(&self) -> bool {
        self.member(DISABLED).and_then(Value::as_bool) == Some(true)
    }

    pub(super) fn lock_mode(&self) -> &str {
        self.members
            .get("LockMode")
            .and_then(Value::as_str)
            .unwrap_or(UNLOCKED)
    }

    /// The whole record as clients read it.
    pub(super) fn full(&self, facts: &Facts<'_>) -> Value {
        let mut record = Map::new();
        record.insert("DatabaseName".to_owned(), facts.name.into());
        record.insert("Topology".to_owned(), self.topology(facts));
        record.insert("EtagForBackup".to_owned(), facts.index.into());
        record.extend(filled(&self.members));
        record.insert("Etag".to_owned(), facts.index.into());
        Value::Object(record)
    }

    /// The nodes of the database: one member, this node.
    pub(super) fn topology(&self, facts: &Facts<'_>) -> Value {
        json!({
            "Members": [facts.origin.node().as_str()],
            "Promotables": [],
            "Rehabs": [],
            "PredefinedMentors": {},
            "DemotionReasons": {},
            "PromotablesStatus": {},
            "Stamp": { "Index": facts.index, "Term": 1, "LeadersTicks": -2 },
            "DynamicNodesDistribution": false,
            "ReplicationFactor": 1,
            "PriorityOrder": [],
            "NodesModifiedAt": self.modified,
            "DatabaseTopologyIdBase64": facts.origin.database().derived(TOPOLOGY),
            "ClusterTransactionIdBase64": facts.origin.transactions(),
        })
    }
}

/// The members, with what clients expect beyond them.
fn filled(members: &Map<String, Value>) -> Map<String, Value> {
    let mut record = Map::new();
    record.insert("Disabled".to_owned(), false.into());
    record.insert("Encrypted".to_owned(), false.into());
    record.insert("DatabaseState".to_owned(), "Normal".into());
    record.insert("LockMode".to_owned(), UNLOCKED.into());
    for (names, value) in [
        (OBJECTS, json!({})),
        (LISTS, json!([])),
        (NULLS, Value::Null),
    ] {
        record.extend(names.iter().map(|name| ((*name).to_owned(), value.clone())));
    }
    record.insert(
        "TruncatedClusterTransactionCommandsCount".to_owned(),
        0.into(),
    );
    record.extend(
        members
            .iter()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    record
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
        let stored = StoredRecord::new(kept(given.as_object().unwrap()));
        let members = StoredRecord::parse(&stored.to_text()).unwrap().members;
        let record = filled(&members);
        assert_eq!(record["LockMode"], "Unlock");
        assert_eq!(record["AutoIndexes"], json!({}));
        assert_eq!(record["PeriodicBackups"], json!([]));
        assert_eq!(record["Settings"], json!({"a": "b"}));
        assert!(record["Client"].is_null());
        assert_eq!(stored.is_deletable("x").ok(), Some(true));
    }
}
