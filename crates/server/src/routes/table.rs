//! The table of routes, as data: method, pattern, how it is answered, one line for people.
//!
//! Read once at start. `*` in a pattern is the name of a database; `$` is the rest of the path.

use super::{
    batch, bulk_insert, cluster, databases, documents, hilo, live, multi_get, operations,
    statistics, streams, studio,
};
use crate::http::Handler::{self, Blocking, Feeding, Inline, Streaming, Waiting};
use crate::router::Verb::{self, Delete, Get, Head, Post, Put};
use crate::router::{Route, Verbs};

type Row = (Verb, &'static str, Handler, &'static str);

const SERVER: &[Row] = &[
    (Get, "/", Inline(studio::redirect), "Leads to Studio"),
    (Get, "/studio", Inline(studio::redirect), "Leads to Studio"),
    (Get, "/studio/$", Inline(studio::asset), "Studio's files"),
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
        Blocking(databases::client_configuration),
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

    #[test]
    fn the_table_is_well_formed_and_every_row_says_what_it_does() {
        let router = Router::new(super::table()).unwrap();
        for route in router.routes() {
            assert!(!route.summary.is_empty(), "{}", route.pattern);
        }
    }
}
