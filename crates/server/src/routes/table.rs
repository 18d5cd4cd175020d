//! The table of routes, as data: one row says all there is to say about a route.
//!
//! Read once at start. **To add a route**, add a row, in order:
//!
//! ```text
//!     Get "/databases/*/docs" Quick(documents::GET)
//!         ValidUser Read NoBody Data Unaudited "Documents by id, prefix or age";
//!     method "pattern" kind(handler)
//!         clearance access body rate audit "one line for people";
//! ```
//!
//! - pattern: `*` is the name of a database, `$` the rest of the path.
//! - kind: how the handler runs, see `http::Handler`.
//! - clearance (`Anyone`, `ValidUser`, `Operator`, `ClusterAdmin`) and access (`NoDatabase`,
//!   `Read`, `Write`, `Admin`): what the route needs of who asks; see `auth`. Access is about the
//!   database in the path, or else the one in the parameter `name`.
//! - body (`NoBody`, `NoBodyEffect`, `Small`, `Json`, `Attachment`, `Endless`), rate (`Open`,
//!   `Data`, `Admin`) and audit (`Unaudited`, `Audited`): see `row`.
//!
//! Then run `cargo xtask routes`, which writes docs/routes.md, docs/openapi.json and the matrix of
//! roles in tests/data/access.txt anew, and look at the difference: a test compares all three.

use super::row::{Row, rows};
use super::{
    analyzers, attachments, backups, batch, bulk_insert, certificates, changes, cluster,
    compare_exchange, connection_strings, counters, databases, delete_by_query, documents, due,
    feed, hilo, identities, imports, index_control, index_definitions, indexes, live, logs,
    metrics, multi_get, nodes, operations, patch_by_query, patches, queries, revisions,
    sample_data, series, series_policies, settings, smuggler, snapshots, sorters, statistics,
    streams, studio, subscriptions, tasks, tokens,
};
use crate::router::Route;

const SERVER: &[Route<Row>] = rows! {
    Get "/" Inline(studio::redirect)
        Anyone NoDatabase NoBody Open Unaudited "Leads to Studio";
    Get "/studio" Inline(studio::redirect)
        Anyone NoDatabase NoBody Open Unaudited "Leads to Studio";
    Get "/studio/$" Inline(studio::asset)
        Anyone NoDatabase NoBody Open Unaudited "Studio's files";
    Head "/" Inline(studio::redirect)
        Anyone NoDatabase NoBody Open Unaudited "Leads to Studio";
    Head "/studio" Inline(studio::redirect)
        Anyone NoDatabase NoBody Open Unaudited "Leads to Studio";
    Head "/studio/$" Inline(studio::asset)
        Anyone NoDatabase NoBody Open Unaudited "Whether Studio has a file";
    Get "/favicon.ico" Inline(studio::favicon)
        Anyone NoDatabase NoBody Open Unaudited "Studio's icon";
    Get "/build/version" Inline(cluster::build_version)
        Anyone NoDatabase NoBody Open Unaudited "Version of the server";
    Get "/cluster/node-info" Inline(cluster::node_info)
        ValidUser NoDatabase NoBody Data Unaudited "This node";
    Get "/cluster/topology" Inline(cluster::topology)
        ValidUser NoDatabase NoBody Data Unaudited "All nodes: this one";
    Get "/configuration/client" Blocking(settings::server_client)
        ValidUser NoDatabase NoBody Data Unaudited "Client settings of the server";
    Put "/admin/configuration/client" Blocking(settings::put_server_client)
        Operator NoDatabase Json Admin Audited "Sets client settings of the server";
    Get "/configuration/studio" Blocking(settings::server_studio)
        ValidUser NoDatabase NoBody Data Unaudited "Settings of Studio of the server";
    Put "/admin/configuration/studio" Blocking(settings::put_server_studio)
        Operator NoDatabase Small Admin Audited "Sets settings of Studio of the server";
    Get "/sorters" Blocking(sorters::list_of_server)
        ValidUser NoDatabase NoBody Data Unaudited "Sorters of the server";
    Put "/admin/sorters" Blocking(sorters::put_of_server)
        Operator NoDatabase Json Admin Audited "Stores sorters of the server";
    Delete "/admin/sorters" Blocking(sorters::delete_of_server)
        Operator NoDatabase NoBody Admin Audited "Deletes a sorter of the server";
    Get "/analyzers" Blocking(analyzers::list_of_server)
        ValidUser NoDatabase NoBody Data Unaudited "Analyzers of the server";
    Put "/admin/analyzers" Blocking(analyzers::put_of_server)
        Operator NoDatabase Json Admin Audited "Stores analyzers of the server";
    Delete "/admin/analyzers" Blocking(analyzers::delete_of_server)
        Operator NoDatabase NoBody Admin Audited "Deletes an analyzer of the server";
    Get "/admin/logs/configuration" Blocking(logs::get)
        Operator NoDatabase NoBody Admin Unaudited "What is logged";
    Post "/admin/logs/configuration" Blocking(logs::set)
        Operator NoDatabase Small Admin Audited "Sets what is logged until the server stops";
    Get "/admin/traffic-watch/configuration" Inline(logs::traffic)
        Operator NoDatabase NoBody Admin Unaudited "Which requests are logged";
    Post "/admin/traffic-watch/configuration" Blocking(logs::set_traffic)
        Operator NoDatabase Small Admin Audited "Sets which requests are logged";
    Get "/admin/test/delay" Direct(cluster::delay)
        Operator NoDatabase NoBodyEffect Admin Unaudited "Answers after the milliseconds asked for";
    Get "/admin/logs/watch" Inline(logs::no_watch)
        Operator NoDatabase NoBody Admin Unaudited "Refused: there is no live view of the log";
    Get "/admin/traffic-watch" Inline(logs::no_watch)
        Operator NoDatabase NoBody Admin Unaudited "Refused: there is no live view of requests";
    Get "/debug/routes" Inline(cluster::routes)
        ValidUser NoDatabase NoBody Data Unaudited "This table";
    Get "/debug/server-id" Inline(cluster::server_id)
        ValidUser NoDatabase NoBody Data Unaudited "Identity of the server";
    Get "/setup/alive" Inline(cluster::alive)
        Anyone NoDatabase NoBody Open Unaudited "Whether the server answers";
    Get "/info/tcp" Inline(subscriptions::tcp)
        ValidUser NoDatabase NoBody Data Unaudited "Where subscriptions are served";
    Get "/info/remote-task/tcp" Inline(subscriptions::task_tcp)
        ValidUser NoDatabase NoBody Data Unaudited "Where a subscription is served";
    Get "/databases" Blocking(databases::list)
        ValidUser NoDatabase NoBody Data Unaudited "Databases and their sizes, or names only";
    Get "/topology" Blocking(databases::topology)
        ValidUser Read NoBody Data Unaudited "Where a database is served";
    Get "/admin/databases" Blocking(databases::get)
        ValidUser Admin NoBody Admin Unaudited "The record of a database";
    Put "/admin/databases" Blocking(databases::create)
        Operator NoDatabase Json Admin Audited "Creates a database";
    Put "/admin/databases/node" Blocking(nodes::add)
        Operator NoDatabase NoBody Admin Audited "Refused: there is no other node";
    Delete "/admin/databases" Blocking(databases::delete)
        Operator NoDatabase Json Admin Audited "Deletes databases";
    Post "/admin/compact" Blocking(databases::compact)
        Operator NoDatabase Small Admin Audited "Refused: compaction is an offline step";
    Post "/admin/databases/set-lock" Blocking(databases::set_lock)
        Operator NoDatabase Json Admin Audited "Guards databases";
    Post "/admin/databases/disable" Blocking(settings::disable)
        Operator NoDatabase Json Admin Audited "Stops databases from serving";
    Post "/admin/databases/enable" Blocking(settings::enable)
        Operator NoDatabase Json Admin Audited "Lets databases serve again";
    Post "/admin/databases/reorder" Blocking(settings::reorder)
        Operator NoDatabase Json Admin Audited "Orders the nodes of a database";
    Post "/admin/databases/promote" Blocking(settings::promote)
        Operator NoDatabase Json Admin Audited "Makes a node a member";
    Get "/certificates/whoami" Inline(certificates::who_am_i)
        ValidUser NoDatabase NoBody Open Unaudited "Who asks, and what they may do";
    Get "/admin/certificates" Blocking(certificates::list)
        Operator NoDatabase NoBody Admin Unaudited "Registered certificates";
    Post "/admin/certificates" Blocking(certificates::create)
        Operator NoDatabase Json Admin Audited "Makes a certificate for a client";
    Put "/admin/certificates" Blocking(certificates::register)
        Operator NoDatabase Json Admin Audited "Registers a certificate";
    Delete "/admin/certificates" Blocking(certificates::remove)
        Operator NoDatabase NoBody Admin Audited "Forgets a certificate";
    Post "/admin/certificates/edit" Blocking(certificates::edit)
        Operator NoDatabase Json Admin Audited "Changes what a certificate may do";
    Post "/admin/certificates/replace-cluster-cert" Blocking(certificates::replace_server)
        ClusterAdmin NoDatabase Json Admin Audited "Replaces the server's certificate";
    Get "/operations/state" Inline(operations::server_state)
        Operator NoDatabase NoBody Data Unaudited "State of a server operation";
};

/// Routes that only this product has.
const OWN: &[Route<Row>] = rows! {
    Get "/jackdaw/live" Waiting(live::watch)
        Operator NoDatabase NoBody Admin Unaudited "Live numbers as server-sent events";
    Get "/jackdaw/databases" Blocking(live::databases)
        ValidUser NoDatabase NoBody Data Unaudited "The same numbers once";
    Get "/health" Inline(cluster::health)
        Anyone NoDatabase NoBody Open Unaudited "Whether the process answers";
    Head "/health" Inline(cluster::health)
        Anyone NoDatabase NoBody Open Unaudited "Whether the process answers";
    Get "/healthz" Inline(cluster::health)
        Anyone NoDatabase NoBody Open Unaudited "Whether the process answers";
    Head "/healthz" Inline(cluster::health)
        Anyone NoDatabase NoBody Open Unaudited "Whether the process answers";
    Get "/readyz" Inline(cluster::ready)
        Anyone NoDatabase NoBody Open Unaudited "Whether the server takes requests";
    Head "/readyz" Inline(cluster::ready)
        Anyone NoDatabase NoBody Open Unaudited "Whether the server takes requests";
    Get "/jackdaw/metrics" Blocking(metrics::metrics)
        Operator NoDatabase NoBody Admin Unaudited
        "Numbers of the storage engine as Prometheus text";
    Get "/metrics" Blocking(metrics::metrics)
        Operator NoDatabase NoBody Admin Unaudited
        "Numbers of the storage engine as Prometheus text, where scrapers look first";
    Get "/jackdaw/directories" Blocking(live::directories)
        Operator NoDatabase NoBody Admin Unaudited
        "Directories of the data directory that the catalog does not name";
    Post "/jackdaw/backup" Blocking(backups::back_up)
        ClusterAdmin NoDatabase NoBody Admin Audited
        "Backs up all databases into a directory of the server's machine";
    Get "/databases/*/jackdaw/feed" Waiting(feed::open)
        ValidUser Read NoBody Data Unaudited "Changes as server-sent events, without a gap";
    Get "/databases/*/jackdaw/snapshots" Blocking(snapshots::list)
        ValidUser Read NoBody Data Unaudited "The snapshots of the database";
    Put "/databases/*/jackdaw/snapshots" Blocking(snapshots::take)
        ValidUser Admin NoBody Data Audited "Takes a snapshot of the database";
    Delete "/databases/*/jackdaw/snapshots" Blocking(snapshots::drop)
        ValidUser Admin NoBody Data Audited "Drops a snapshot and what was kept for it";
    Get "/databases/*/jackdaw/imports" Blocking(imports::progress)
        ValidUser Read NoBody Data Unaudited "How far an import of the command line came";
    Put "/databases/*/jackdaw/imports" Blocking(imports::put_progress)
        ValidUser Write Small Data Unaudited "Keeps how far an import came";
    Post "/databases/*/smuggler/import/csv" Blocking(smuggler::import_csv)
        ValidUser Write Json Data Audited "Stores the records of a CSV file";
    Post "/jackdaw/token" Waiting(tokens::exchange)
        Anyone NoDatabase Small Open Audited "Exchanges an API key for a token";
    Post "/jackdaw/token/renew" Blocking(tokens::renew)
        ValidUser NoDatabase NoBody Open Unaudited "Renews a token";
    Delete "/jackdaw/token" Blocking(tokens::end)
        ValidUser NoDatabase NoBody Open Audited "Ends a token and its streams";
    Get "/jackdaw/keys" Blocking(tokens::list)
        Operator NoDatabase NoBody Admin Unaudited "API keys, without their secrets";
    Post "/jackdaw/keys" Blocking(tokens::create)
        Operator NoDatabase Small Admin Audited "Makes an API key";
    Delete "/jackdaw/keys" Blocking(tokens::remove)
        Operator NoDatabase NoBody Admin Audited "Forgets an API key, or ends its tokens";
    Get "/jackdaw/openapi.json" Inline(cluster::openapi)
        ValidUser NoDatabase NoBody Data Unaudited "This table in OpenAPI's form";
};

const DATABASE: &[Route<Row>] = rows! {
    Get "/databases/*/admin/record" Blocking(databases::record)
        ValidUser Admin NoBody Admin Unaudited "The database's record";
    Get "/databases/*/configuration/client" Blocking(settings::client)
        ValidUser Read NoBody Data Unaudited "Client settings";
    Get "/databases/*/healthcheck" Blocking(databases::health)
        ValidUser Read NoBody Data Unaudited "Whether the database answers";
    Get "/databases/*/docs" Quick(documents::GET)
        ValidUser Read NoBody Data Unaudited "Documents by id, prefix or age";
    Post "/databases/*/docs" Streaming(documents::post)
        ValidUser Read Json Data Unaudited "Documents by many ids";
    Head "/databases/*/docs" Blocking(documents::head)
        ValidUser Read NoBody Data Unaudited "Whether a document exists";
    Put "/databases/*/docs" Direct(documents::put)
        ValidUser Write Json Data Unaudited "Stores a document";
    Delete "/databases/*/docs" Direct(documents::delete)
        ValidUser Write NoBody Data Unaudited "Deletes a document";
    Patch "/databases/*/docs" Direct(patches::script)
        ValidUser Write Json Data Unaudited "Changes a document by a script";
    Patch "/databases/*/json-patch" Direct(patches::json)
        ValidUser Write Json Data Unaudited "Changes a document by JSON Patch";
    Post "/databases/*/bulk_docs" Direct(batch::bulk_docs)
        ValidUser Write Json Data Unaudited "Several changes at once";
    Get "/databases/*/hilo/next" Blocking(hilo::next)
        ValidUser Write NoBodyEffect Data Unaudited "A range of numbers for ids";
    Put "/databases/*/hilo/return" Blocking(hilo::give_back)
        ValidUser Write NoBody Data Unaudited "Returns the rest of a range";
    Get "/databases/*/docs/size" Blocking(statistics::document)
        ValidUser Read NoBody Data Unaudited "Bytes of a document as it is stored";
    Get "/databases/*/stats" Blocking(statistics::database)
        ValidUser Read NoBody Data Unaudited "Counts and sizes";
    Get "/databases/*/stats/essential" Blocking(statistics::essential)
        ValidUser Read NoBody Data Unaudited "Counts, and what indexes there are";
    Get "/databases/*/stats/detailed" Blocking(statistics::detailed)
        ValidUser Read NoBody Data Unaudited "All counts";
    Get "/databases/*/collections/stats" Blocking(statistics::collections)
        ValidUser Read NoBody Data Unaudited "Documents by collection";
    Get "/databases/*/collections/stats/detailed" Blocking(statistics::collection_sizes)
        ValidUser Read NoBody Data Unaudited "What each collection holds, with sizes";
    Get "/databases/*/operations" Blocking(operations::list)
        ValidUser Read NoBody Data Unaudited "Operations under way";
    Get "/databases/*/operations/next-operation-id" Blocking(operations::next_number)
        ValidUser Read NoBodyEffect Data Unaudited "A number for an operation";
    Get "/databases/*/operations/state" Blocking(operations::state)
        ValidUser Read NoBody Data Unaudited "State of an operation";
    Post "/databases/*/operations/kill" Blocking(operations::kill)
        ValidUser Write NoBody Data Unaudited "Ends an operation";
    Get "/databases/*/streams/docs" Streaming(streams::documents)
        ValidUser Read NoBody Data Unaudited "All documents, as a stream";
    Post "/databases/*/multi_get" Direct(multi_get::run)
        ValidUser Read Json Data Unaudited "Several requests in one";
    Post "/databases/*/bulk_insert" Feeding(bulk_insert::run)
        ValidUser Write Endless Data Unaudited "Documents without end";
    Get "/databases/*/queries" Streaming(queries::run)
        ValidUser Read NoBodyEffect Data Unaudited "Answers a query in the URL";
    Post "/databases/*/queries" Streaming(queries::run)
        ValidUser Read Json Data Unaudited "Answers a query";
    Get "/databases/*/indexes" Blocking(indexes::list)
        ValidUser Read NoBody Data Unaudited "Definitions of indexes";
    Put "/databases/*/indexes" Blocking(index_definitions::put)
        ValidUser Admin Json Admin Audited "Makes indexes in JavaScript";
    Put "/databases/*/admin/indexes" Blocking(index_definitions::put_as_admin)
        ValidUser Admin Json Admin Audited "Makes indexes";
    Delete "/databases/*/indexes" Blocking(index_control::delete)
        ValidUser Write NoBody Admin Audited "Deletes an index";
    Reset "/databases/*/indexes" Blocking(index_control::reset)
        ValidUser Write NoBody Admin Audited "Makes an index anew";
    Post "/databases/*/indexes/has-changed" Blocking(index_definitions::has_changed)
        ValidUser Read Json Data Unaudited "Whether a definition is another";
    Get "/databases/*/indexes/source" Blocking(index_definitions::source)
        ValidUser Read NoBody Data Unaudited "The texts of an index";
    Post "/databases/*/indexes/replace" Blocking(index_control::replace)
        ValidUser Write NoBody Admin Audited "Puts a replacement in its place";
    Post "/databases/*/indexes/set-lock" Blocking(index_control::set_lock)
        ValidUser Write Json Admin Audited "Locks definitions of indexes";
    Post "/databases/*/indexes/set-priority" Blocking(index_control::set_priority)
        ValidUser Write Json Admin Audited "How soon indexes work";
    Post "/databases/*/admin/indexes/start" Blocking(index_control::start)
        ValidUser Admin NoBody Admin Audited "Lets indexes go on";
    Post "/databases/*/admin/indexes/stop" Blocking(index_control::stop)
        ValidUser Admin NoBody Admin Audited "Makes indexes pause";
    Post "/databases/*/admin/indexes/enable" Blocking(index_control::enable)
        ValidUser Admin NoBody Admin Audited "Enables an index";
    Post "/databases/*/admin/indexes/disable" Blocking(index_control::disable)
        ValidUser Admin NoBody Admin Audited "Disables an index";
    Get "/databases/*/indexes/terms" Blocking(indexes::terms)
        ValidUser Read NoBody Data Unaudited "Terms of a field of an index";
    Get "/databases/*/indexes/progress" Blocking(indexes::progress)
        ValidUser Read NoBody Data Unaudited "Indexes that have something to do";
    Delete "/databases/*/indexes/errors" Blocking(index_control::clear_errors)
        ValidUser Write NoBody Admin Audited "Forgets errors of indexes";
    Get "/databases/*/indexes/stats" Blocking(indexes::statistics)
        ValidUser Read NoBody Data Unaudited "Progress of indexes";
    Get "/databases/*/indexes/status" Blocking(indexes::statuses)
        ValidUser Read NoBody Data Unaudited "Whether indexes run";
    Get "/databases/*/indexes/errors" Blocking(indexes::errors)
        ValidUser Read NoBody Data Unaudited "Why indexes stopped";
    Get "/databases/*/indexes/staleness" Blocking(indexes::staleness)
        ValidUser Read NoBody Data Unaudited "What an index lacks";
    Delete "/databases/*/queries" Blocking(delete_by_query::start)
        ValidUser Write Json Data Unaudited "Deletes what a query finds";
    Patch "/databases/*/queries" Blocking(patch_by_query::start)
        ValidUser Write Json Data Unaudited "Runs a script over what a query finds";
    Get "/databases/*/streams/queries" Streaming(streams::queries)
        ValidUser Read NoBodyEffect Data Unaudited "A query in the URL, as a stream";
    Post "/databases/*/streams/queries" Streaming(streams::queries)
        ValidUser Read Json Data Unaudited "A query, as a stream";
    Get "/databases/*/collections/docs" Streaming(documents::of_collection)
        ValidUser Read NoBody Data Unaudited "A collection";
    Get "/databases/*/debug/identities" Blocking(identities::list)
        ValidUser Read NoBody Data Unaudited "Last numbers of identities";
    Post "/databases/*/identity/seed" Blocking(identities::seed)
        ValidUser Write NoBody Data Unaudited "Sets an identity's number";
    Post "/databases/*/identity/next" Blocking(identities::next)
        ValidUser Write NoBody Data Unaudited "Takes an identity's next number";
    Get "/databases/*/counters" Streaming(counters::get)
        ValidUser Read NoBody Data Unaudited "Counters of a document";
    Post "/databases/*/counters" Direct(counters::post)
        ValidUser Write Json Data Unaudited "Changes counters";
    Get "/databases/*/cmpxchg" Streaming(compare_exchange::get)
        ValidUser Read NoBody Data Unaudited "Values of compare-exchange";
    Put "/databases/*/cmpxchg" Blocking(compare_exchange::put)
        ValidUser Write Json Data Unaudited "Stores a value that nobody changed since";
    Delete "/databases/*/cmpxchg" Blocking(compare_exchange::delete)
        ValidUser Write NoBody Data Unaudited "Removes a value that nobody changed since";
    Get "/databases/*/revisions" Streaming(revisions::get)
        ValidUser Read NoBody Data Unaudited "Revisions of a document";
    Get "/databases/*/revisions/count" Blocking(revisions::count)
        ValidUser Read NoBody Data Unaudited "Number of revisions of a document";
    Get "/databases/*/revisions/bin" Streaming(revisions::bin)
        ValidUser Read NoBody Data Unaudited "Revisions of deleted documents";
    Get "/databases/*/revisions/config" Blocking(revisions::configuration)
        ValidUser Read NoBody Data Unaudited "Which documents keep revisions";
    Post "/databases/*/admin/revisions/config" Blocking(revisions::configure)
        ValidUser Admin Json Admin Audited "Says which documents keep revisions";
    Post "/databases/*/admin/revisions/config/enforce" Blocking(revisions::enforce)
        ValidUser Admin Json Admin Audited "Deletes revisions that are too many";
    Delete "/databases/*/admin/revisions" Blocking(revisions::delete)
        ValidUser Admin Json Admin Audited "Deletes revisions of documents";
    Post "/databases/*/revisions/revert/docs" Blocking(revisions::revert)
        ValidUser Write Json Data Unaudited "Goes back to revisions";
    Get "/databases/*/timeseries" Streaming(series::get)
        ValidUser Read NoBody Data Unaudited "A range of a time series";
    Get "/databases/*/timeseries/ranges" Streaming(series::ranges)
        ValidUser Read NoBody Data Unaudited "Several ranges of time series";
    Get "/databases/*/timeseries/stats" Streaming(series::statistics)
        ValidUser Read NoBody Data Unaudited "Time series of a document";
    Post "/databases/*/timeseries" Direct(series::post)
        ValidUser Write Json Data Unaudited "Changes a time series";
    Get "/databases/*/attachments" Streaming(attachments::get)
        ValidUser Read NoBody Data Unaudited "An attachment";
    Head "/databases/*/attachments" Blocking(attachments::head)
        ValidUser Read NoBody Data Unaudited "Whether an attachment exists";
    Post "/databases/*/attachments" Streaming(attachments::post)
        ValidUser Read Json Data Unaudited "An attachment of a document or a revision";
    Put "/databases/*/attachments" Feeding(attachments::put)
        ValidUser Write Attachment Data Unaudited "Stores an attachment";
    Delete "/databases/*/attachments" Direct(attachments::delete)
        ValidUser Write NoBody Data Unaudited "Deletes an attachment";
    Post "/databases/*/attachments/bulk" Streaming(attachments::bulk)
        ValidUser Read Json Data Unaudited "Several attachments";
    Put "/databases/*/admin/configuration/client" Blocking(settings::put_client)
        ValidUser Admin Json Admin Audited "Sets client settings";
    Get "/databases/*/sorters" Blocking(sorters::list)
        ValidUser Read NoBody Data Unaudited "Sorters of the database";
    Put "/databases/*/admin/sorters" Blocking(sorters::put)
        ValidUser Admin Json Admin Audited "Stores sorters";
    Delete "/databases/*/admin/sorters" Blocking(sorters::delete)
        ValidUser Admin NoBody Admin Audited "Deletes a sorter";
    Get "/databases/*/analyzers" Blocking(analyzers::list)
        ValidUser Read NoBody Data Unaudited "Analyzers of the database";
    Put "/databases/*/admin/analyzers" Blocking(analyzers::put)
        ValidUser Admin Json Admin Audited "Stores analyzers";
    Delete "/databases/*/admin/analyzers" Blocking(analyzers::delete)
        ValidUser Admin NoBody Admin Audited "Deletes an analyzer";
    Get "/databases/*/configuration/studio" Blocking(settings::studio)
        ValidUser Read NoBody Data Unaudited "Settings of Studio";
    Put "/databases/*/admin/configuration/studio" Blocking(settings::put_studio)
        ValidUser Admin Small Admin Audited "Sets settings of Studio";
    Get "/databases/*/admin/configuration/settings" Blocking(settings::of_database)
        ValidUser Admin NoBody Admin Unaudited "Settings of a database: there are none of its own";
    Put "/databases/*/admin/configuration/settings" Blocking(settings::put_of_database)
        ValidUser Admin Small Admin Audited "Sets settings of a database, which its record keeps";
    Get "/databases/*/timeseries/config" Blocking(settings::time_series)
        ValidUser Read NoBody Data Unaudited "Settings of time series";
    Post "/databases/*/studio/sample-data" Blocking(sample_data::create)
        ValidUser Write NoBody Data Audited "Fills an empty database with data to try things out";
    Post "/databases/*/admin/timeseries/config" Blocking(series_policies::put)
        ValidUser Admin Json Admin Audited "Sets settings of time series";
    Put "/databases/*/admin/timeseries/policy" Blocking(series_policies::put_policy)
        ValidUser Admin Json Admin Audited "Adds or replaces a policy of time series";
    Delete "/databases/*/admin/timeseries/policy" Blocking(series_policies::delete_policy)
        ValidUser Admin NoBody Admin Audited "Removes a policy of time series";
    Post "/databases/*/timeseries/names/config" Blocking(settings::name_values)
        ValidUser Admin Json Admin Audited "Names the values of a time series";
    Put "/databases/*/subscriptions" Blocking(subscriptions::put)
        ValidUser Write Json Data Unaudited "Creates a subscription";
    Get "/databases/*/subscriptions" Blocking(subscriptions::list)
        ValidUser Read NoBody Data Unaudited "Subscriptions";
    Delete "/databases/*/subscriptions" Blocking(subscriptions::delete)
        ValidUser Write NoBody Data Unaudited "Deletes a subscription";
    Post "/databases/*/subscriptions/update" Blocking(subscriptions::update)
        ValidUser Write Json Data Unaudited "Changes a subscription";
    Get "/databases/*/subscriptions/state" Blocking(subscriptions::state)
        ValidUser Read NoBody Data Unaudited "How far a subscription is";
    Get "/databases/*/subscriptions/connection-details" Blocking(subscriptions::connection_details)
        ValidUser Read NoBody Data Unaudited "Who takes from a subscription";
    Post "/databases/*/subscriptions/drop" Blocking(subscriptions::drop_connections)
        ValidUser Write NoBody Data Unaudited "Ends connections of a subscription";
    Post "/databases/*/subscriptions/try" Blocking(subscriptions::attempt)
        ValidUser Read Json Data Unaudited "What a subscription would give";
    Get "/databases/*/tasks" Blocking(tasks::list)
        ValidUser Read NoBody Data Unaudited "Ongoing tasks: subscriptions";
    Get "/databases/*/task" Blocking(tasks::one)
        ValidUser Read NoBody Data Unaudited "An ongoing task";
    Get "/databases/*/admin/connection-strings" Blocking(connection_strings::get)
        ValidUser Admin NoBody Admin Unaudited "Connection strings";
    Put "/databases/*/admin/connection-strings" Blocking(connection_strings::put)
        ValidUser Admin Json Admin Audited "Adds or replaces a connection string";
    Delete "/databases/*/admin/connection-strings" Blocking(connection_strings::delete)
        ValidUser Admin NoBody Admin Audited "Deletes a connection string";
    Post "/databases/*/admin/tasks/state" Blocking(subscriptions::toggle)
        ValidUser Admin NoBody Admin Audited "Disables or enables a subscription";
    Delete "/databases/*/admin/tasks" Blocking(subscriptions::delete_task)
        ValidUser Admin NoBody Admin Audited "Deletes a subscription as a task";
    Get "/databases/*/info/tcp" Inline(subscriptions::tcp)
        ValidUser Read NoBody Data Unaudited "Where subscriptions are served";
    Get "/databases/*/expiration/config" Blocking(due::expiration)
        ValidUser Read NoBody Data Unaudited "When documents expire";
    Post "/databases/*/admin/expiration/config" Blocking(due::set_expiration)
        ValidUser Admin Json Admin Audited "Lets documents expire";
    Get "/databases/*/refresh/config" Blocking(due::refresh)
        ValidUser Read NoBody Data Unaudited "When documents are refreshed";
    Post "/databases/*/admin/refresh/config" Blocking(due::set_refresh)
        ValidUser Admin Json Admin Audited "Lets documents be refreshed";
    Get "/databases/*/data-archival/config" Blocking(due::archival)
        ValidUser Read NoBody Data Unaudited "When documents are archived";
    Post "/databases/*/admin/data-archival/config" Blocking(due::set_archival)
        ValidUser Admin Json Admin Audited "Lets documents be archived";
    Get "/databases/*/changes" Waiting(changes::open)
        ValidUser Read NoBody Data Unaudited "News of changes over a web socket";
};

/// The groups of routes, with their titles.
pub(super) const GROUPS: &[(&str, &[Route<Row>])] = &[
    ("Server", SERVER),
    ("Database", DATABASE),
    ("Only here", OWN),
];

/// All routes.
pub(crate) fn table() -> Vec<Route<Row>> {
    let routes = GROUPS.iter().flat_map(|(_, routes)| routes.iter());
    routes.cloned().collect()
}

#[cfg(test)]
mod tests {
    use crate::router::Router;

    #[test]
    fn the_table_is_well_formed_and_every_row_says_what_it_does() {
        let router = Router::new(super::table()).unwrap();
        for route in router.routes() {
            assert!(!route.summary.is_empty(), "{}", route.pattern);
        }
    }
}
