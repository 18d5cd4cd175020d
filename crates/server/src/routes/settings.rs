//! Settings of databases that live in their records: for clients and for Studio, names of time
//! series values, whether a database serves at all, and its place among nodes.

use hyper::StatusCode;
use jackdaw_document::Object;
use serde_json::{Map, Value, json};

use super::{databases, failure, input};
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

/// Member of the record that holds settings for clients.
const CLIENT: &str = "Client";
/// Member that holds what Studio is to know of a database, such as its environment.
const STUDIO: &str = "Studio";
/// Member that holds settings by name.
const SETTINGS: &str = "Settings";
/// Member that holds settings of time series.
pub(super) const TIME_SERIES: &str = "TimeSeries";

/// The body as JSON that goes into a record: it is small and holds no documents.
pub(super) fn given(call: &Call) -> Result<Map<String, Value>, WireError> {
    let mut parser = input::parser(call);
    let object: Object<'_> = input::object(call, &mut parser)?;
    let text = jackdaw_document::Value::Object(object).to_json();
    serde_json::from_str(&text)
        .map_err(|error| WireError::new(kind::INVALID_DATA, error.to_string()))
}

/// `PUT /databases/*/admin/configuration/client`
pub(super) fn put_client(call: &Call) -> Outcome {
    super::database(call)?;
    databases::set_member(call, CLIENT, given(call)?.into())?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// `GET /databases/*/configuration/client`: an etag of -2 says that none was ever set. Settings of
/// the server stand in for those of a database that has none, or disabled ones.
pub(super) fn client(call: &Call) -> Outcome {
    super::database(call)?;
    let (index, member) = databases::member(call, CLIENT)?;
    let is_disabled = |members: &Map<String, Value>| {
        members.get("Disabled").and_then(Value::as_bool) == Some(true)
    };
    let own = match member {
        Some(Value::Object(members)) => Some((index, members)),
        _ => None,
    };
    let found = match own {
        Some((_, members)) if is_disabled(&members) => {
            server_settings(call, CLIENT)?.or(Some((index, members)))
        }
        Some(own) => Some(own),
        None => server_settings(call, CLIENT)?,
    };
    let Some((index, mut members)) = found else {
        return Ok(Reply::value(&json!({ "Etag": -2, "Configuration": null })));
    };
    members.insert("Etag".to_owned(), index.into());
    Ok(Reply::value(
        &json!({ "Etag": index, "Configuration": members }),
    ))
}

/// Members of a setting and the index of their last change.
type Stored = (u64, Map<String, Value>);

/// Settings of the server that stand in for those of databases that have none of their own.
fn server_settings(call: &Call, name: &str) -> Result<Option<Stored>, WireError> {
    let stored = call.shared.databases.setting(name);
    let stored = stored.map_err(|error| failure::read(&error))?;
    let Some((index, text)) = stored else {
        return Ok(None);
    };
    let members = serde_json::from_str(&text).map_err(|error| {
        let message = format!("The settings '{name}' are damaged: {error}");
        WireError::new(kind::UNEXPECTED, message)
    })?;
    Ok(Some((index, members)))
}

/// `PUT /admin/configuration/client`
pub(super) fn put_server_client(call: &Call) -> Outcome {
    set_server_settings(call, CLIENT)
}

fn set_server_settings(call: &Call, name: &'static str) -> Outcome {
    let text = Value::Object(given(call)?).to_string();
    let stored = call.shared.databases.set_setting(name, &text);
    stored.map_err(|error| failure::set("", &error))?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// `GET /configuration/client`: 404 means that none is set.
pub(super) fn server_client(call: &Call) -> Outcome {
    let Some((index, mut members)) = server_settings(call, CLIENT)? else {
        return Ok(Reply::empty(StatusCode::NOT_FOUND));
    };
    members.insert("Etag".to_owned(), index.into());
    Ok(Reply::value(&members.into()))
}

/// `PUT /databases/*/admin/configuration/studio`
pub(super) fn put_studio(call: &Call) -> Outcome {
    super::database(call)?;
    databases::set_member(call, STUDIO, given(call)?.into())?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// `GET /databases/*/configuration/studio`: 404 means that none is set.
pub(super) fn studio(call: &Call) -> Outcome {
    super::database(call)?;
    match databases::member(call, STUDIO)?.1 {
        Some(members) => Ok(Reply::value(&members)),
        None => Ok(Reply::empty(StatusCode::NOT_FOUND)),
    }
}

/// `PUT /admin/configuration/studio`
pub(super) fn put_server_studio(call: &Call) -> Outcome {
    set_server_settings(call, STUDIO)
}

/// `GET /configuration/studio`: 404 means that none is set.
pub(super) fn server_studio(call: &Call) -> Outcome {
    match server_settings(call, STUDIO)? {
        Some((_, members)) => Ok(Reply::value(&members.into())),
        None => Ok(Reply::empty(StatusCode::NOT_FOUND)),
    }
}

/// `PUT /databases/*/admin/configuration/settings`: names and texts, which the record keeps. The
/// server goes by its own settings; these are for clients that read them back.
pub(super) fn put_of_database(call: &Call) -> Outcome {
    super::database(call)?;
    let mut settings = Map::new();
    for (name, value) in given(call)? {
        let text = match value {
            Value::Null | Value::String(_) => value,
            Value::Bool(_) | Value::Number(_) => value.to_string().into(),
            Value::Array(_) | Value::Object(_) => {
                let message = format!("The setting '{name}' must be a text, a number or null.");
                return Err(WireError::new(kind::ARGUMENT, message));
            }
        };
        settings.insert(name, text);
    }
    databases::set_member(call, SETTINGS, settings.into())?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// `GET /databases/*/admin/configuration/settings`: everything that can be set is a setting of the
/// server, given when it starts.
pub(super) fn of_database(call: &Call) -> Outcome {
    super::database(call)?;
    Ok(Reply::value(&json!({ "Settings": [] })))
}

/// `POST /databases/*/timeseries/names/config` with `{Collection, TimeSeries, ValueNames, Update}`:
/// what clients call the values of a series.
pub(super) fn name_values(call: &Call) -> Outcome {
    super::database(call)?;
    let given = given(call)?;
    let text = |name: &str| {
        given
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let missing = |name: &str| {
        let message = format!("'{name}' is missing.");
        WireError::new(kind::ARGUMENT, message)
    };
    let collection = text("Collection").ok_or_else(|| missing("Collection"))?;
    let series = text("TimeSeries").ok_or_else(|| missing("TimeSeries"))?;
    let names = given.get("ValueNames").filter(|names| names.is_array());
    let names = names.ok_or_else(|| missing("ValueNames"))?;
    let is_update = given.get("Update").and_then(Value::as_bool) == Some(true);
    let index = databases::change_member(call, TIME_SERIES, |present| {
        with_names(present, [collection, series], names, is_update)
    })?;
    Ok(Reply::value(&json!({ "RaftCommandIndex": index })))
}

/// The configuration of time series with names for the values of one, which is given by its
/// collection and its own name.
fn with_names(
    present: Option<&Value>,
    [collection, series]: [&str; 2],
    names: &Value,
    is_update: bool,
) -> Result<Value, WireError> {
    let mut configuration = match present {
        Some(Value::Object(configuration)) => configuration.clone(),
        _ => Map::new(),
    };
    for (name, value) in [("Collections", json!({})), ("NamedValues", json!({}))] {
        let member = configuration.entry(name).or_insert(Value::Null);
        if !member.is_object() {
            *member = value;
        }
    }
    configuration
        .entry("PolicyCheckFrequency")
        .or_insert(Value::Null);
    let named = &mut configuration["NamedValues"];
    let spelling_of_collection = spelling(named, collection);
    let of_collection = &mut named[&spelling_of_collection];
    if !of_collection.is_object() {
        *of_collection = json!({});
    }
    let spelling = spelling(of_collection, series);
    if of_collection.get(&spelling).is_some() && !is_update {
        let message = format!(
            "The values of time series '{series}' of '{collection}' have names already. Send \
             'Update' to replace them."
        );
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    }
    of_collection[&spelling] = names.clone();
    Ok(configuration.into())
}

/// The spelling of a member that is there, or the one given.
fn spelling(object: &Value, name: &str) -> String {
    let known = object.as_object().and_then(|object| {
        let found = object
            .keys()
            .find(|known| known.to_lowercase() == name.to_lowercase());
        found.cloned()
    });
    known.unwrap_or_else(|| name.to_owned())
}

/// `GET /databases/*/timeseries/config`: 404 when nothing was ever set.
pub(super) fn time_series(call: &Call) -> Outcome {
    super::database(call)?;
    match databases::member(call, TIME_SERIES)?.1 {
        Some(configuration) => Ok(Reply::value(&configuration)),
        None => Ok(Reply::empty(StatusCode::NOT_FOUND)),
    }
}

/// `POST /admin/databases/disable` with `{DatabaseNames}`
pub(super) fn disable(call: &Call) -> Outcome {
    toggle(call, true)
}

/// `POST /admin/databases/enable` with `{DatabaseNames}`
pub(super) fn enable(call: &Call) -> Outcome {
    toggle(call, false)
}

fn toggle(call: &Call, disabled: bool) -> Outcome {
    let mut parser = input::parser(call);
    let order = input::object(call, &mut parser)?;
    let mut rows = Vec::new();
    for name in input::texts(order, "DatabaseNames")? {
        call.objects.add(name);
        if call.shared.databases.entry(name).is_none() {
            rows.push(json!({
                "Name": name, "Success": false, "Disabled": disabled,
                "Reason": format!("Database {name} wasn't found"),
            }));
            continue;
        }
        databases::set_disabled(call, name, disabled)?;
        let state = if disabled { "True" } else { "False" };
        rows.push(json!({
            "Name": name, "Success": true, "Disabled": disabled,
            "Reason": format!("Database state={state} was propagated on the cluster"),
        }));
    }
    Ok(Reply::value(&json!({ "Status": rows })))
}

fn required(call: &Call, name: &str) -> Result<String, WireError> {
    let value = call.query().filled(name);
    value
        .map(|value| value.into_owned())
        .ok_or_else(|| WireError::empty_parameter(name))
}

fn existing(call: &Call) -> Result<(String, u64), WireError> {
    let name = required(call, "name")?;
    let entry = call.shared.databases.entry(&name);
    let entry = entry.ok_or_else(|| failure::no_database(&name))?;
    Ok((entry.name, entry.index))
}

/// `POST /admin/databases/reorder?name=` with `{MembersOrder}`: there is one order of one node.
pub(super) fn reorder(call: &Call) -> Outcome {
    existing(call)?;
    let mut parser = input::parser(call);
    let order = input::texts(input::object(call, &mut parser)?, "MembersOrder")?;
    if order != [call.node_tag()] {
        let message = format!(
            "The reordered list doesn't correspond to the existing members: {}",
            call.node_tag()
        );
        return Err(WireError::new(kind::ARGUMENT, message));
    }
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `POST /admin/databases/promote?name=&node=`: the only node is a member already.
pub(super) fn promote(call: &Call) -> Outcome {
    let (name, index) = existing(call)?;
    let node = required(call, "node")?;
    if node != call.node_tag() {
        let message = format!("There is no node '{node}' in the cluster.");
        return Err(WireError::new(kind::ARGUMENT, message));
    }
    Ok(Reply::value(
        &json!({ "Name": name, "RaftCommandIndex": index }),
    ))
}
