//! The table of routes, as data: method, pattern, how it is answered, one line for people.
//!
//! Read once at start. `*` in a pattern is the name of a database; `$` is the rest of the path.

use super::{cluster, studio};
use crate::http::Handler::{self, Inline};
use crate::router::Verb::{self, Get};
use crate::router::{Route, Verbs};

type Row = (Verb, &'static str, Handler, &'static str);

const ROWS: &[Row] = &[
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
];

/// All routes.
pub(crate) fn table() -> Vec<Route<Handler>> {
    let route = |(verb, pattern, target, summary): &Row| Route {
        verbs: Verbs::of(&[*verb]),
        pattern,
        summary,
        target: *target,
    };
    ROWS.iter().map(route).collect()
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
