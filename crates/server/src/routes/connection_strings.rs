//! Connection strings: where tasks that leave the database would go, kept in its record by type and
//! name.
//!
//! No task of this server uses them yet. They are kept because clients store them before the tasks,
//! and read them back.

use jackdaw_document::Object;
use serde_json::{Map, Value, json};

use super::{databases, input, settings};
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

/// Types, and the member of the record that holds those of a type.
const TYPES: [(&str, &str); 7] = [
    ("Raven", "RavenConnectionStrings"),
    ("Sql", "SqlConnectionStrings"),
    ("Olap", "OlapConnectionStrings"),
    ("ElasticSearch", "ElasticSearchConnectionStrings"),
    ("Queue", "QueueConnectionStrings"),
    ("Snowflake", "SnowflakeConnectionStrings"),
    ("Ai", "AiConnectionStrings"),
];

/// Providers of SQL databases that may be named.
const FACTORIES: [&str; 6] = [
    "Npgsql",
    "System.Data.SqlClient",
    "Microsoft.Data.SqlClient",
    "MySqlConnector.MySqlConnectorFactory",
    "MySql.Data.MySqlClient",
    "Oracle.ManagedDataAccess.Client",
];

/// Connection strings of one type in one record; a record is read and written as a whole.
const COUNT_MAX: usize = 1_024;
/// Longest name of a connection string in bytes.
const NAME_BYTES_MAX: usize = 512;

fn known(name: &str) -> Option<(&'static str, &'static str)> {
    TYPES
        .into_iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
}

fn unknown(kind: crate::wire::Kind, name: &str) -> WireError {
    WireError::new(kind, format!("Unknown connection string type: {name}"))
}

/// `GET /databases/*/admin/connection-strings?connectionStringName=&type=`
pub(super) fn get(call: &Call) -> Outcome {
    super::database(call)?;
    let query = call.query();
    let wanted = match query.filled("connectionStringName") {
        None => None,
        Some(name) => {
            let of = query.filled("type").unwrap_or_default();
            let (_, member) = known(&of).ok_or_else(|| unknown(kind::BAD_REQUEST, &of))?;
            Some((name, member))
        }
    };
    let mut body = Map::new();
    for (_, member) in TYPES {
        let all = match databases::member(call, member)?.1 {
            Some(Value::Object(all)) => all,
            _ => Map::new(),
        };
        let told: Value = match &wanted {
            None => all.into(),
            Some((name, of)) => {
                let found = all.get(&**name).filter(|_| *of == member);
                found.map_or(Value::Null, |found| json!({ name.to_string(): found }))
            }
        };
        body.insert(member.to_owned(), told);
    }
    Ok(Reply::value(&Value::Object(body)))
}

/// `PUT /databases/*/admin/connection-strings` with `{Type, Name, ..}`: adds or replaces one.
pub(super) fn put(call: &Call) -> Outcome {
    super::database(call)?;
    let mut parser = input::parser(call);
    let given: Object<'_> = input::object(call, &mut parser)?;
    let Some(of) = input::text(given, "Type")? else {
        let message = "ConnectionString configuration must have ConnectionStringType field";
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    };
    let (_, member) = known(of).ok_or_else(|| unknown(kind::NOT_SUPPORTED, of))?;
    let name = input::text(given, "Name")?.unwrap_or("").to_owned();
    if name.trim().is_empty() || name.len() > NAME_BYTES_MAX {
        let message = format!(
            "A connection string needs a 'Name' of 1 to {NAME_BYTES_MAX} bytes, but got {} bytes.",
            name.len()
        );
        return Err(WireError::new(kind::ARGUMENT, message));
    }
    let mut stored = settings::given(call)?;
    // The member that holds it says the type already.
    stored.remove("Type");
    let errors = errors_of(member, &stored);
    if !errors.is_empty() {
        let message = format!(
            "Invalid connection string configuration. Errors: {}",
            errors.join("\n")
        );
        return Err(WireError::new(kind::BAD_REQUEST, message));
    }
    let index = databases::change_member(call, member, |present| {
        let mut all = present.and_then(Value::as_object).cloned();
        let all = all.get_or_insert_default();
        if all.len() >= COUNT_MAX && !all.contains_key(&name) {
            let message = format!(
                "The database has {COUNT_MAX} connection strings of this type, and no more are \
                 kept: delete one that is not used."
            );
            return Err(WireError::new(kind::INVALID_OPERATION, message));
        }
        all.insert(name, stored.into());
        Ok(std::mem::take(all).into())
    })?;
    Ok(Reply::value(&json!({ "RaftCommandIndex": index })))
}

/// What is missing or wrong in a connection string.
fn errors_of(member: &str, given: &Map<String, Value>) -> Vec<String> {
    let is_filled = |name: &str| match given.get(name) {
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(_)) => true,
        _ => false,
    };
    let needed: &[&str] = match member {
        "RavenConnectionStrings" => &["Database", "TopologyDiscoveryUrls"],
        "SqlConnectionStrings" => &["ConnectionString", "FactoryName"],
        "SnowflakeConnectionStrings" => &["ConnectionString"],
        "ElasticSearchConnectionStrings" => &["Nodes"],
        "QueueConnectionStrings" => &["BrokerType"],
        _ => &[],
    };
    let missing = needed.iter().filter(|name| !is_filled(name));
    let mut errors: Vec<String> = missing
        .map(|name| format!("{name} cannot be empty"))
        .collect();
    let factory = given.get("FactoryName").and_then(Value::as_str);
    if let Some(factory) = factory.filter(|factory| !factory.trim().is_empty())
        && member == "SqlConnectionStrings"
        && !FACTORIES.contains(&factory)
    {
        errors.push(format!("Unsupported factory '{factory}'"));
    }
    errors
}

/// `DELETE /databases/*/admin/connection-strings?connectionString=&type=`: one that is not there is
/// no failure.
pub(super) fn delete(call: &Call) -> Outcome {
    super::database(call)?;
    let query = call.query();
    let name = query.filled("connectionString");
    let name = name.ok_or_else(|| WireError::empty_parameter("connectionString"))?;
    let of = query.filled("type");
    let of = of.ok_or_else(|| WireError::empty_parameter("type"))?;
    let (_, member) = known(&of).ok_or_else(|| unknown(kind::NOT_SUPPORTED, &of))?;
    let index = databases::change_member(call, member, |present| {
        let mut all = present
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        all.remove(&*name);
        Ok(all.into())
    })?;
    Ok(Reply::value(&json!({ "RaftCommandIndex": index })))
}
