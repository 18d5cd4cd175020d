//! Subscriptions over HTTP: creating, changing, listing and dropping them, and where to find the
//! TCP port that serves them.

use hyper::StatusCode;
use jackdaw_database::{
    ArchivedDocuments, BatchLimits, BatchRange, Database, Etag, FollowQuery, Progress,
    Subscription, SubscriptionDefinition, SubscriptionStart, SubscriptionUpdate,
};
use jackdaw_document::Object;
use serde_json::{Value, json};

use super::asked::Asked;
use super::{failure, input, now};
use crate::auth::base64_of;
use crate::http::{Call, Outcome, Reply};
use crate::subscriptions::sample;
use crate::wire::{WireError, kind};

/// Subscriptions on a page when the client does not say.
const PAGE_DEFAULT: usize = 25;
/// Rows of a tried subscription when the client does not say, and at most.
const TRIED_DEFAULT: usize = 1;
const TRIED_MAX: usize = 1_024;
/// Documents looked at for a tried subscription.
const TRIED_SCANNED_MAX: usize = 100_000;
/// Bytes of its rows.
const TRIED_BYTES: usize = 8 << 20;

fn missing(what: &str, value: &str) -> WireError {
    let message = format!("Subscription with {what} '{value}' was not found in server store");
    WireError::new(kind::NO_SUBSCRIPTION, message)
}

fn by_name(database: &Database, name: &str) -> Result<Subscription, WireError> {
    find(database, name)?.ok_or_else(|| missing("name", name))
}

fn find(database: &Database, name: &str) -> Result<Option<Subscription>, WireError> {
    let found = database
        .read()
        .and_then(|snapshot| snapshot.subscription(name));
    found.map_err(|error| failure::read(&error))
}

fn find_number(database: &Database, number: u64) -> Result<Subscription, WireError> {
    let found = database
        .read()
        .and_then(|snapshot| snapshot.subscription_by_number(number));
    let found = found.map_err(|error| failure::read(&error))?;
    found.ok_or_else(|| missing("id", &number.to_string()))
}

/// The subscription that `id` or `name` of the URL says.
pub(super) fn named(call: &Call, database: &Database) -> Result<Subscription, WireError> {
    let query = call.query();
    if let Some(name) = query.filled("name").or_else(|| query.filled("taskName")) {
        return by_name(database, &name);
    }
    let number = query.number("id").or_else(|| query.number("key"));
    match number.and_then(|number| u64::try_from(number).ok()) {
        Some(number) => find_number(database, number),
        None => Err(WireError::missing_parameter("name")),
    }
}

/// Where a subscription begins, in the words of clients.
fn start(body: Object<'_>, database: &Database) -> Result<SubscriptionStart, WireError> {
    let Some(text) = input::text(body, "ChangeVector")?.filter(|text| !text.is_empty()) else {
        return Ok(SubscriptionStart::Unchanged);
    };
    match text {
        "DoNotChange" => return Ok(SubscriptionStart::Unchanged),
        "LastDocument" => return Ok(SubscriptionStart::Last),
        "BeginningOfTime" => return Ok(SubscriptionStart::Beginning),
        _ => {}
    }
    let mut start = SubscriptionStart::Beginning;
    for entry in text.split(',') {
        let parts = entry.trim().split_once(':').and_then(|(tag, rest)| {
            let (etag, id) = rest.split_once('-')?;
            (!tag.is_empty() && !id.is_empty()).then(|| etag.parse::<u64>().ok())?
        });
        if parts.is_none() {
            let message = format!(
                "Received change vector {text} is not in a valid format, therefore request cannot \
                 be processed."
            );
            return Err(WireError::new(kind::RAFT_APPLY, message));
        }
        if let Some(etag) = database.origin().etag_of(entry) {
            start = SubscriptionStart::After(etag);
        }
    }
    Ok(start)
}

fn archived(body: Object<'_>) -> Result<ArchivedDocuments, WireError> {
    Ok(match input::text(body, "ArchivedDataProcessingBehavior")? {
        None | Some("ExcludeArchived") => ArchivedDocuments::Exclude,
        Some("IncludeArchived") => ArchivedDocuments::Include,
        Some("ArchivedOnly") => ArchivedDocuments::Only,
        Some(other) => {
            let message = format!("'{other}' is no ArchivedDataProcessingBehavior.");
            return Err(WireError::new(kind::ARGUMENT, message));
        }
    })
}

fn archived_name(archived: ArchivedDocuments) -> &'static str {
    match archived {
        ArchivedDocuments::Exclude => "ExcludeArchived",
        ArchivedDocuments::Include => "IncludeArchived",
        ArchivedDocuments::Only => "ArchivedOnly",
    }
}

fn flag(body: Object<'_>, name: &str) -> Option<bool> {
    body.get(name).and_then(|value| value.as_bool())
}

/// `PUT /databases/*/subscriptions?id=`: creates one; with `id` it changes that one.
pub(super) fn put(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let mut parser = input::parser(call);
    let body = input::object(call, &mut parser)?;
    let number = call.query().number("id");
    if let Some(number) = number.and_then(|number| u64::try_from(number).ok()) {
        let known = find_number(&database, number)?;
        return changed(call, &database, &known, update_of(body, &database)?);
    }
    create(call, &database, body)
}

fn create(call: &Call, database: &Database, body: Object<'_>) -> Outcome {
    let disabled = flag(body, "Disabled").or_else(|| {
        call.query()
            .filled("disabled")
            .map(|_| call.query().flag("disabled"))
    });
    let text = |name| Ok::<_, WireError>(input::text(body, name)?.map(str::to_owned));
    let definition = SubscriptionDefinition {
        name: text("Name")?.filter(|name| !name.trim().is_empty()),
        query: text("Query")?.unwrap_or_default(),
        start: start(body, database)?,
        mentor_node: text("MentorNode")?.filter(|node| !node.is_empty()),
        is_pinned: flag(body, "PinToMentorNode") == Some(true),
        is_disabled: disabled == Some(true),
        archived: archived(body)?,
    };
    let created = database.create_subscription(definition);
    let created = created.map_err(|error| failure::write(&error))?;
    Ok(told(&created, StatusCode::CREATED))
}

fn told(subscription: &Subscription, status: StatusCode) -> Reply {
    let mut reply = Reply::value(&json!({
        "Name": subscription.name,
        "RaftCommandIndex": subscription.index,
    }));
    reply.status = status;
    reply
}

fn update_of(body: Object<'_>, database: &Database) -> Result<SubscriptionUpdate, WireError> {
    let text = |name| {
        let text = input::text(body, name)?.filter(|text| !text.trim().is_empty());
        Ok::<_, WireError>(text.map(str::to_owned))
    };
    Ok(SubscriptionUpdate {
        name: text("Name")?,
        query: text("Query")?,
        start: start(body, database)?,
        mentor_node: text("MentorNode")?,
        is_pinned: flag(body, "PinToMentorNode"),
        is_disabled: flag(body, "Disabled"),
    })
}

fn changed(
    call: &Call,
    database: &Database,
    known: &Subscription,
    update: SubscriptionUpdate,
) -> Outcome {
    let outcome = database.update_subscription(known.number, update);
    let (subscription, is_changed) = outcome.map_err(|error| failure::write(&error))?;
    if !is_changed {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED));
    }
    call.shared.desk.restart(database, &subscription);
    Ok(told(&subscription, StatusCode::CREATED))
}

/// `POST /databases/*/subscriptions/update` with `{Id or Name, .., CreateNew}`
pub(super) fn update(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let mut parser = input::parser(call);
    let body = input::object(call, &mut parser)?;
    let creates = flag(body, "CreateNew") == Some(true);
    let number = body.get("Id").and_then(|id| id.as_i64());
    let found = match number.and_then(|number| u64::try_from(number).ok()) {
        Some(number) => find_number(&database, number),
        None => match input::text(body, "Name")? {
            Some(name) => by_name(&database, name),
            None => Err(missing("name", "")),
        },
    };
    match found {
        Ok(known) => changed(call, &database, &known, update_of(body, &database)?),
        Err(error) if error.kind == kind::NO_SUBSCRIPTION && creates => {
            create(call, &database, body)
        }
        Err(error) => Err(error),
    }
}

/// `DELETE /databases/*/subscriptions?taskName=`: one that is not there is no failure.
pub(super) fn delete(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let name = call.query().filled("taskName");
    let name = name.ok_or_else(|| WireError::missing_parameter("taskName"))?;
    remove(call, &database, &name)?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

fn remove(call: &Call, database: &Database, name: &str) -> Result<(), WireError> {
    let deleted = database.delete_subscription(name);
    if let Some(deleted) = deleted.map_err(|error| failure::write(&error))? {
        call.shared.desk.end(database, &deleted);
    }
    Ok(())
}

/// `GET /databases/*/subscriptions?start=&pageSize=&name=&id=&running=`
pub(super) fn list(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let query = call.query();
    let found = match query.filled("name").is_some() || query.filled("id").is_some() {
        true => match named(call, &database) {
            Ok(found) => vec![found],
            Err(error) if error.kind == kind::NO_SUBSCRIPTION => {
                return Ok(Reply::empty(StatusCode::NOT_FOUND));
            }
            Err(error) => return Err(error),
        },
        false => {
            let number = |name: &str| {
                let number = query.number(name)?;
                usize::try_from(number).ok()
            };
            let (start, size) = (number("start"), number("pageSize"));
            let snapshot = database.read().map_err(|error| failure::read(&error))?;
            let page = snapshot.subscriptions(start.unwrap_or(0), size.unwrap_or(PAGE_DEFAULT));
            page.map_err(|error| failure::read(&error))?
        }
    };
    let only_running = query.flag("running");
    let mut rows = Vec::new();
    for subscription in found {
        let connections = connections(call, &database, subscription.number);
        if only_running && connections.is_empty() {
            continue;
        }
        let mut row = described(&database, &subscription);
        row["ShardingState"] = Value::Null;
        row["Connections"] = connections.into();
        for name in [
            "RecentConnections",
            "RecentRejectedConnections",
            "CurrentPendingConnections",
        ] {
            row[name] = json!([]);
        }
        rows.push(row);
    }
    Ok(Reply::value(&json!({
        "@metadata": { "DateTime": now(), "WebUrl": call.own_url(), "NodeTag": call.node_tag() },
        "Results": rows,
    })))
}

fn connections(call: &Call, database: &Database, number: u64) -> Vec<Value> {
    let seated = call.shared.desk.seated(database, number);
    let rows = seated.into_iter().map(|seated| {
        json!({
            "ClientUri": format!("tcp://{}", seated.peer),
            "Strategy": seated.strategy.name(),
            "WorkerId": seated.worker,
            "ConnectionStats": { "StartedAt": seated.since.to_string() },
        })
    });
    rows.collect()
}

pub(super) fn described(database: &Database, subscription: &Subscription) -> Value {
    let moment = |moment: Option<jackdaw_base::time::UnixTicks>| {
        moment.map_or(Value::Null, |moment| moment.to_string().into())
    };
    let position = match subscription.position {
        Etag(0) => Value::Null,
        etag => database.origin().change_vector(etag).into(),
    };
    json!({
        "Query": subscription.query,
        "ChangeVectorForNextBatchStartingPoint": position,
        "SubscriptionId": subscription.number,
        "SubscriptionName": subscription.name,
        "MentorNode": subscription.mentor_node,
        "PinToMentorNode": subscription.is_pinned,
        "NodeTag": null,
        "LastBatchAckTime": moment(subscription.last_acknowledged),
        "LastClientConnectionTime": moment(subscription.last_connected),
        "Disabled": subscription.is_disabled,
        "ArchivedDataProcessingBehavior": archived_name(subscription.archived),
        "RaftCommandIndex": subscription.index,
    })
}

/// `GET /databases/*/subscriptions/state?name=`
pub(super) fn state(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let found = named(call, &database)?;
    Ok(Reply::value(&described(&database, &found)))
}

/// `GET /databases/*/subscriptions/connection-details?name=`
pub(super) fn connection_details(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let found = named(call, &database)?;
    let rows = connections(call, &database, found.number);
    Ok(Reply::value(&json!({ "Results": rows })))
}

/// `POST /databases/*/subscriptions/drop?name=&workerId=`: ends its connections.
pub(super) fn drop_connections(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let found = named(call, &database)?;
    let worker = call.query().filled("workerId");
    let desk = &call.shared.desk;
    desk.drop_connections(&database, found.number, worker.as_deref(), call.caller.peer);
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `POST /databases/*/subscriptions/try?pageSize=` with `{Query, ..}`: what it would give.
pub(super) fn attempt(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let mut parser = input::parser(call);
    let body = input::object(call, &mut parser)?;
    let asked = Asked::from_object(call, body)?;
    let query = FollowQuery::parse(&asked.text);
    let query = query.map_err(|error| failure::query(&error, &asked))?;
    let snapshot = database.read().map_err(|error| failure::read(&error))?;
    let position = match start(body, &database)? {
        SubscriptionStart::Unchanged | SubscriptionStart::Beginning => Etag(0),
        SubscriptionStart::Last => snapshot.last_etag(),
        SubscriptionStart::After(etag) => etag,
    };
    let size = call.query().number("pageSize");
    let size = size.and_then(|size| usize::try_from(size).ok());
    let limits = BatchLimits {
        documents: size.unwrap_or(TRIED_DEFAULT).min(TRIED_MAX),
        bytes: TRIED_BYTES,
        scanned: TRIED_SCANNED_MAX,
        interrupt: Some(&call.abandoned),
    };
    let tried = Subscription {
        number: 0,
        name: String::new(),
        query: asked.text.clone(),
        position,
        mentor_node: None,
        is_pinned: false,
        is_disabled: false,
        archived: archived(body)?,
        index: 0,
        last_acknowledged: None,
        last_connected: None,
    };
    let ranges: Vec<BatchRange> = Progress::new(position).ranges();
    let json = match ranges.first() {
        Some(range) => sample(&snapshot, &tried, &query, range, &limits),
        None => Ok(b"{\"Results\":[]}".to_vec()),
    };
    let json = json.map_err(|error| failure::query(&error, &asked))?;
    Ok(Reply::json(StatusCode::OK, json))
}

/// Refuses tasks that are not subscriptions.
fn check_task(call: &Call) -> Result<(), WireError> {
    let query = call.query();
    let task = query.filled("type").unwrap_or_default();
    if task.eq_ignore_ascii_case("Subscription") {
        return Ok(());
    }
    let message = format!("Tasks of type '{task}' are not served; 'Subscription' is.");
    Err(WireError::new(kind::NOT_SUPPORTED, message))
}

/// `POST /databases/*/admin/tasks/state?key=&taskName=&type=Subscription&disable=`
pub(super) fn toggle(call: &Call) -> Outcome {
    let database = super::database(call)?;
    check_task(call)?;
    let query = call.query();
    let disable = query.filled("disable");
    if disable.is_none() {
        return Err(WireError::missing_parameter("disable"));
    }
    let known = named(call, &database)?;
    let update = SubscriptionUpdate {
        is_disabled: Some(query.flag("disable")),
        ..SubscriptionUpdate::default()
    };
    let outcome = database.update_subscription(known.number, update);
    let (subscription, is_changed) = outcome.map_err(|error| failure::write(&error))?;
    if is_changed {
        call.shared.desk.restart(&database, &subscription);
    }
    Ok(Reply::value(&json!({
        "RaftCommandIndex": subscription.index,
        "TaskId": query.number("key").unwrap_or(0),
    })))
}

/// `DELETE /databases/*/admin/tasks?id=&taskName=&type=Subscription`
pub(super) fn delete_task(call: &Call) -> Outcome {
    let database = super::database(call)?;
    check_task(call)?;
    let known = named(call, &database)?;
    remove(call, &database, &known.name)?;
    Ok(Reply::value(&json!({
        "RaftCommandIndex": known.index + 1,
        "TaskId": known.number,
    })))
}

/// `GET /info/tcp` and `GET /databases/*/info/tcp`
pub(super) fn tcp(call: &Call) -> Outcome {
    // The host that the client reached this server by, and the other port.
    let own = call.own_url();
    let host = own.split_once("://").map_or(own.as_str(), |(_, host)| host);
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    };
    let url = format!("tcp://{host}:{}", call.shared.tcp_address.port());
    // Clients compare it with that of the connection, also with that of the web socket.
    let tls = call.shared.tls.as_ref();
    let certificate = tls.map(|tls| base64_of(&tls.certificate()));
    Ok(Reply::value(&json!({
        "Url": url,
        "Certificate": certificate,
        "NodeTag": call.node_tag(),
        "ServerId": call.shared.server_id,
        "Urls": [url],
    })))
}

/// `GET /info/remote-task/tcp?database=&remote-task=&tag=&verify-database=`
pub(super) fn task_tcp(call: &Call) -> Outcome {
    let query = call.query();
    let name = query.filled("database");
    let name = name.ok_or_else(|| WireError::missing_parameter("database"))?;
    if query.flag("verify-database") && call.shared.databases.entry(&name).is_none() {
        return Err(failure::no_database(&name));
    }
    tcp(call)
}
