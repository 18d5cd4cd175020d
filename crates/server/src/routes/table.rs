//! The table of routes, as data: method, pattern, how it is answered, one line for people.
//!
//! Read once at start. `*` in a pattern is the name of a database; `$` is the rest of the path.

use super::{
    attachments, batch, bulk_insert, changes, cluster, compare_exchange, counters, databases,
    delete_by_query, documents, hilo, identities, indexes, live, metrics, multi_get, operations,
    patch_by_query, patches, queries, revisions, series, settings, statistics, streams, studio,
};
use crate::http::Handler::{self, Blocking, Feeding, Inline, Streaming, Waiting};
use crate::router::Verb::{self, Delete, Get, Head, Patch, Post, Put};
use crate::router::{Route, Verbs};

type Row = (Verb, &'static str, Handler, &'static str);

const SERVER: &[Row] = &[
    (Get, "/", Inline(studio::redirect), "Leads to Studio"),
    (Get, "/studio", Inline(studio::redirect), "Leads to Studio"),
    (Get, "/studio/$", Inline(studio::asset), "Studio's files"),
    (Head, "/", Inline(studio::redirect), "Leads to Studio"),
    (Head, "/studio", Inline(studio::redirect), "Leads to Studio"),
    (
        Head,
        "/studio/$",
        Inline(studio::asset),
        "Whether Studio has a file",
    ),
    (
        Get,
        "/favicon.ico",
        Inline(studio::favicon),
        "Studio's icon",
    ),
    (
        Get,
        "/build/version",
        Inline(cluster::build_version),
        "Version of the server",
    ),
    (
        Get,
        "/cluster/node-info",
        Inline(cluster::node_info),
        "This node",
    ),
    (
        Get,
        "/cluster/topology",
        Inline(cluster::topology),
        "All nodes: this one",
    ),
    (
        Get,
        "/configuration/client",
        Inline(cluster::no_client_configuration),
        "None is set",
    ),
    (Get, "/debug/routes", Inline(cluster::routes), "This table"),
    (
        Get,
        "/debug/server-id",
        Inline(cluster::server_id),
        "Identity of the server",
    ),
    (
        Get,
        "/setup/alive",
        Inline(cluster::alive),
        "Whether the server answers",
    ),
    (
        Get,
        "/databases",
        Blocking(databases::list),
        "Databases and their sizes, or names only",
    ),
    (
        Get,
        "/topology",
        Blocking(databases::topology),
        "Where a database is served",
    ),
    (
        Get,
        "/admin/databases",
        Blocking(databases::get),
        "The record of a database",
    ),
    (
        Put,
        "/admin/databases",
        Blocking(databases::create),
        "Creates a database",
    ),
    (
        Delete,
        "/admin/databases",
        Blocking(databases::delete),
        "Deletes databases",
    ),
    (
        Post,
        "/admin/databases/set-lock",
        Blocking(databases::set_lock),
        "Guards databases",
    ),
    (
        Post,
        "/admin/databases/disable",
        Blocking(settings::disable),
        "Stops databases from serving",
    ),
    (
        Post,
        "/admin/databases/enable",
        Blocking(settings::enable),
        "Lets databases serve again",
    ),
    (
        Post,
        "/admin/databases/reorder",
        Blocking(settings::reorder),
        "Orders the nodes of a database",
    ),
    (
        Post,
        "/admin/databases/promote",
        Blocking(settings::promote),
        "Makes a node a member",
    ),
    (
        Get,
        "/operations/state",
        Inline(operations::server_state),
        "State of a server operation",
    ),
];

/// Routes that only this product has.
const OWN: &[Row] = &[
    (
        Get,
        "/jackdaw/live",
        Waiting(live::watch),
        "Live numbers as server-sent events",
    ),
    (
        Get,
        "/jackdaw/databases",
        Blocking(live::databases),
        "The same numbers once",
    ),
    (
        Get,
        "/jackdaw/metrics",
        Blocking(metrics::metrics),
        "Numbers of the storage engine as Prometheus text",
    ),
];

const DATABASE: &[Row] = &[
    (
        Get,
        "/databases/*/admin/record",
        Blocking(databases::record),
        "The database's record",
    ),
    (
        Get,
        "/databases/*/configuration/client",
        Blocking(settings::client),
        "Client settings",
    ),
    (
        Get,
        "/databases/*/healthcheck",
        Blocking(databases::health),
        "Whether the database answers",
    ),
    (
        Get,
        "/databases/*/docs",
        Streaming(documents::get),
        "Documents by id, prefix or age",
    ),
    (
        Post,
        "/databases/*/docs",
        Streaming(documents::post),
        "Documents by many ids",
    ),
    (
        Head,
        "/databases/*/docs",
        Blocking(documents::head),
        "Whether a document exists",
    ),
    (
        Put,
        "/databases/*/docs",
        Waiting(documents::put),
        "Stores a document",
    ),
    (
        Delete,
        "/databases/*/docs",
        Waiting(documents::delete),
        "Deletes a document",
    ),
    (
        Patch,
        "/databases/*/docs",
        Waiting(patches::script),
        "Changes a document by a script",
    ),
    (
        Patch,
        "/databases/*/json-patch",
        Waiting(patches::json),
        "Changes a document by JSON Patch",
    ),
    (
        Post,
        "/databases/*/bulk_docs",
        Waiting(batch::bulk_docs),
        "Several changes at once",
    ),
    (
        Get,
        "/databases/*/hilo/next",
        Blocking(hilo::next),
        "A range of numbers for ids",
    ),
    (
        Put,
        "/databases/*/hilo/return",
        Blocking(hilo::give_back),
        "Returns the rest of a range",
    ),
    (
        Get,
        "/databases/*/stats",
        Blocking(statistics::database),
        "Counts and sizes",
    ),
    (
        Get,
        "/databases/*/stats/detailed",
        Blocking(statistics::detailed),
        "All counts",
    ),
    (
        Get,
        "/databases/*/collections/stats",
        Blocking(statistics::collections),
        "Documents by collection",
    ),
    (
        Get,
        "/databases/*/operations",
        Blocking(operations::list),
        "Operations under way",
    ),
    (
        Get,
        "/databases/*/operations/next-operation-id",
        Blocking(operations::next_number),
        "A number for an operation",
    ),
    (
        Get,
        "/databases/*/operations/state",
        Blocking(operations::state),
        "State of an operation",
    ),
    (
        Post,
        "/databases/*/operations/kill",
        Blocking(operations::kill),
        "Ends an operation",
    ),
    (
        Get,
        "/databases/*/streams/docs",
        Streaming(streams::documents),
        "All documents, as a stream",
    ),
    (
        Post,
        "/databases/*/multi_get",
        Waiting(multi_get::run),
        "Several requests in one",
    ),
    (
        Post,
        "/databases/*/bulk_insert",
        Feeding(bulk_insert::run),
        "Documents without end",
    ),
    (
        Get,
        "/databases/*/queries",
        Streaming(queries::run),
        "Answers a query in the URL",
    ),
    (
        Post,
        "/databases/*/queries",
        Streaming(queries::run),
        "Answers a query",
    ),
    (
        Get,
        "/databases/*/indexes",
        Blocking(indexes::list),
        "Definitions of indexes",
    ),
    (
        Put,
        "/databases/*/indexes",
        Blocking(indexes::put),
        "Refuses static indexes",
    ),
    (
        Put,
        "/databases/*/admin/indexes",
        Blocking(indexes::put),
        "Refuses static indexes",
    ),
    (
        Delete,
        "/databases/*/indexes",
        Blocking(indexes::delete),
        "Deletes an index",
    ),
    (
        Get,
        "/databases/*/indexes/stats",
        Blocking(indexes::statistics),
        "Progress of indexes",
    ),
    (
        Get,
        "/databases/*/indexes/status",
        Blocking(indexes::statuses),
        "Whether indexes run",
    ),
    (
        Get,
        "/databases/*/indexes/errors",
        Blocking(indexes::errors),
        "Why indexes stopped",
    ),
    (
        Get,
        "/databases/*/indexes/staleness",
        Blocking(indexes::staleness),
        "What an index lacks",
    ),
    (
        Delete,
        "/databases/*/queries",
        Blocking(delete_by_query::start),
        "Deletes what a query finds",
    ),
    (
        Patch,
        "/databases/*/queries",
        Blocking(patch_by_query::start),
        "Runs a script over what a query finds",
    ),
    (
        Get,
        "/databases/*/streams/queries",
        Streaming(streams::queries),
        "A query in the URL, as a stream",
    ),
    (
        Post,
        "/databases/*/streams/queries",
        Streaming(streams::queries),
        "A query, as a stream",
    ),
    (
        Get,
        "/databases/*/collections/docs",
        Streaming(documents::of_collection),
        "A collection",
    ),
    (
        Get,
        "/databases/*/debug/identities",
        Blocking(identities::list),
        "Last numbers of identities",
    ),
    (
        Post,
        "/databases/*/identity/seed",
        Blocking(identities::seed),
        "Sets an identity's number",
    ),
    (
        Post,
        "/databases/*/identity/next",
        Blocking(identities::next),
        "Takes an identity's next number",
    ),
    (
        Get,
        "/databases/*/counters",
        Blocking(counters::get),
        "Counters of a document",
    ),
    (
        Post,
        "/databases/*/counters",
        Waiting(counters::post),
        "Changes counters",
    ),
    (
        Get,
        "/databases/*/cmpxchg",
        Blocking(compare_exchange::get),
        "Values of compare-exchange",
    ),
    (
        Put,
        "/databases/*/cmpxchg",
        Blocking(compare_exchange::put),
        "Stores a value that nobody changed since",
    ),
    (
        Delete,
        "/databases/*/cmpxchg",
        Blocking(compare_exchange::delete),
        "Removes a value that nobody changed since",
    ),
    (
        Get,
        "/databases/*/revisions",
        Blocking(revisions::get),
        "Revisions of a document",
    ),
    (
        Get,
        "/databases/*/revisions/count",
        Blocking(revisions::count),
        "Number of revisions of a document",
    ),
    (
        Get,
        "/databases/*/revisions/bin",
        Blocking(revisions::bin),
        "Revisions of deleted documents",
    ),
    (
        Get,
        "/databases/*/revisions/config",
        Blocking(revisions::configuration),
        "Which documents keep revisions",
    ),
    (
        Post,
        "/databases/*/admin/revisions/config",
        Blocking(revisions::configure),
        "Says which documents keep revisions",
    ),
    (
        Post,
        "/databases/*/admin/revisions/config/enforce",
        Blocking(revisions::enforce),
        "Deletes revisions that are too many",
    ),
    (
        Delete,
        "/databases/*/admin/revisions",
        Blocking(revisions::delete),
        "Deletes revisions of documents",
    ),
    (
        Post,
        "/databases/*/revisions/revert/docs",
        Blocking(revisions::revert),
        "Goes back to revisions",
    ),
    (
        Get,
        "/databases/*/timeseries",
        Blocking(series::get),
        "A range of a time series",
    ),
    (
        Get,
        "/databases/*/timeseries/ranges",
        Blocking(series::ranges),
        "Several ranges of time series",
    ),
    (
        Get,
        "/databases/*/timeseries/stats",
        Blocking(series::statistics),
        "Time series of a document",
    ),
    (
        Post,
        "/databases/*/timeseries",
        Waiting(series::post),
        "Changes a time series",
    ),
    (
        Get,
        "/databases/*/attachments",
        Streaming(attachments::get),
        "An attachment",
    ),
    (
        Head,
        "/databases/*/attachments",
        Blocking(attachments::head),
        "Whether an attachment exists",
    ),
    (
        Post,
        "/databases/*/attachments",
        Streaming(attachments::post),
        "An attachment of a document or a revision",
    ),
    (
        Put,
        "/databases/*/attachments",
        Feeding(attachments::put),
        "Stores an attachment",
    ),
    (
        Delete,
        "/databases/*/attachments",
        Waiting(attachments::delete),
        "Deletes an attachment",
    ),
    (
        Post,
        "/databases/*/attachments/bulk",
        Streaming(attachments::bulk),
        "Several attachments",
    ),
    (
        Put,
        "/databases/*/admin/configuration/client",
        Blocking(settings::put_client),
        "Sets client settings",
    ),
    (
        Get,
        "/databases/*/timeseries/config",
        Blocking(settings::time_series),
        "Settings of time series",
    ),
    (
        Post,
        "/databases/*/timeseries/names/config",
        Blocking(settings::name_values),
        "Names the values of a time series",
    ),
    (
        Get,
        "/databases/*/changes",
        Waiting(changes::open),
        "News of changes over a web socket",
    ),
];

/// All routes.
pub(crate) fn table() -> Vec<Route<Handler>> {
    let route = |(verb, pattern, target, summary): &Row| Route {
        verbs: Verbs::of(&[*verb]),
        pattern,
        summary,
        target: *target,
    };
    SERVER
        .iter()
        .chain(OWN)
        .chain(DATABASE)
        .map(route)
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::router::Router;

    const PAGE: &str = include_str!("../../../../docs/http.md");

    #[test]
    fn the_page_about_http_lists_exactly_this_table() {
        let is_row = |line: &&str| line.starts_with("| ") && line.contains("| `/");
        let mut told: Vec<String> = PAGE.lines().filter(is_row).map(str::to_owned).collect();
        let mut served: Vec<String> = Vec::new();
        for route in super::table() {
            let verbs = route.verbs.iter();
            served.extend(verbs.map(|verb| {
                format!(
                    "| {} | `{}` | {} |",
                    verb.name(),
                    route.pattern,
                    route.summary
                )
            }));
        }
        told.sort();
        served.sort();
        assert_eq!(told, served);
    }

    #[test]
    fn the_table_is_well_formed_and_every_row_says_what_it_does() {
        let router = Router::new(super::table()).unwrap();
        for route in router.routes() {
            assert!(!route.summary.is_empty(), "{}", route.pattern);
        }
    }
}
