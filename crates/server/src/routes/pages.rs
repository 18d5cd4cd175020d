//! The table of routes as documents: Markdown, OpenAPI, and the matrix of routes and roles.
//!
//! `cluster::openapi` serves the OpenAPI form. A test below compares all three with files of the
//! repository; `cargo xtask routes` runs it so that it writes them instead.

use serde_json::{Map, Value, json};

use super::row::{Audit, Payload, Row};
use super::table::GROUPS;
use crate::auth::{Access, Clearance};
use crate::router::Route;
use crate::version;

/// The table in the form of OpenAPI 3.1.
pub(super) fn openapi() -> Value {
    let mut paths = Map::new();
    for (group, routes) in GROUPS {
        for route in *routes {
            let path = template(route.pattern);
            let item = paths.entry(path).or_insert_with(|| json!({}));
            for verb in route.verbs.iter() {
                item[verb.name().to_ascii_lowercase()] = operation(group, verb.name(), route);
            }
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Jackdaw",
            "version": version::PRODUCT_VERSION,
            "summary": "The wire protocol of RavenDB, and routes under /jackdaw/.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "certificate": { "type": "mutualTLS" },
                "token": { "type": "http", "scheme": "bearer" },
            },
            "schemas": { "Error": {
                "type": "object",
                "required": ["Url", "Type", "Message", "Error"],
                "properties": {
                    "Url": { "type": "string" },
                    "Type": { "type": "string" },
                    "Message": { "type": "string" },
                    "Error": { "type": "string" },
                },
            }},
        },
    })
}

/// A pattern with names for what it captures.
fn template(pattern: &str) -> String {
    pattern.replace('*', "{database}").replace('$', "{path}")
}

fn operation(group: &str, verb: &str, route: &Route<Row>) -> Value {
    let row = &route.target;
    let mut parameters = Vec::new();
    let mut required = |name: &str, place: &str| {
        let schema = json!({ "type": "string" });
        parameters.push(json!({ "name": name, "in": place, "required": true, "schema": schema }));
    };
    if route.pattern.contains('*') {
        required("database", "path");
    } else if row.needs.access != Access::NoDatabase {
        required("name", "query");
    }
    if route.pattern.contains('$') {
        required("path", "path");
    }
    let failure = |description: &str| {
        let schema = json!({ "$ref": "#/components/schemas/Error" });
        let content = json!({ "application/json": { "schema": schema } });
        json!({ "description": description, "content": content })
    };
    let mut responses = json!({ "default": failure("The request was refused or failed.") });
    responses["2XX"] = json!({ "description": "Done." });
    let absent = "There is no such thing; mostly without a body.";
    responses["404"] = json!({ "description": absent });
    let mut operation = json!({
        "operationId": operation_id(verb, route.pattern),
        "summary": route.summary,
        "tags": [group],
        "parameters": parameters,
        "responses": responses,
        "x-clearance": row.needs.clearance.name(),
        "x-rate": row.rate.name(),
        "x-audited": row.audit == Audit::Audited,
    });
    if row.needs.access != Access::NoDatabase {
        operation["x-database-access"] = row.needs.access.name().into();
    }
    operation["security"] = match row.needs.clearance {
        Clearance::Anyone => json!([]),
        _ => json!([{ "certificate": [] }, { "token": [] }]),
    };
    let content = match row.body {
        Payload::NoBody | Payload::NoBodyEffect => return operation,
        Payload::Json | Payload::Small => "application/json",
        Payload::Attachment | Payload::Endless => "application/octet-stream",
    };
    operation["requestBody"] = json!({ "content": { content: {} } });
    operation
}

/// `getDatabasesDocs` for `GET /databases/*/docs`; the rest of a path counts as a word.
fn operation_id(verb: &str, pattern: &str) -> String {
    let mut id = verb.to_ascii_lowercase();
    let pattern = pattern.replace('$', "rest");
    let words = pattern.split(|c: char| !c.is_ascii_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        let (first, rest) = word.split_at(1);
        id.push_str(&first.to_ascii_uppercase());
        id.push_str(rest);
    }
    id
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect_file;

    use super::*;
    use crate::auth::{Principal, Refusal, Unknown, decide};

    const INTRODUCTION: &str = "\
# Routes

Written by `cargo xtask routes` from `crates/server/src/routes/table.rs`; a test compares the two.
[http.md](http.md) says what clients can rely on, [security.md](security.md) what the columns mean
on a server with certificates. `GET /debug/routes` tells the same of a running server,
[openapi.json](openapi.json) is the table for tools.

Paths match in any letter case. `*` stands for the name of a database, `$` for the rest of the path.
*Who* is the least clearance; *database* the access that a `ValidUser` needs in the database of the
path, or else of the parameter `name`. *Body* is the largest one: see the limits in
[http.md](http.md). Routes of rate `admin` and `open` still answer when those of `data` are shed.
Audited routes leave a line in the audit log for each request.
";

    fn markdown() -> String {
        let mut page = INTRODUCTION.to_owned();
        for (group, routes) in GROUPS {
            write!(
                page,
                "\n## {group}\n\n\
                 | Method | Path | What it does | Who | Database | Body | Rate | Audited |\n\
                 |---|---|---|---|---|---|---|---|\n"
            )
            .unwrap();
            for route in *routes {
                let row = &route.target;
                let audited = if row.audit == Audit::Audited {
                    "yes"
                } else {
                    ""
                };
                for verb in route.verbs.iter() {
                    let cells = [
                        verb.name(),
                        &format!("`{}`", route.pattern),
                        route.summary,
                        row.needs.clearance.name(),
                        row.needs.access.name(),
                        row.body.name(),
                        row.rate.name(),
                        audited,
                    ];
                    writeln!(page, "| {} |", cells.join(" | ").replace("  ", " ")).unwrap();
                }
            }
        }
        page
    }

    fn roles() -> Vec<(&'static str, Result<Principal, Unknown>)> {
        let user = |database: &'static str, access| {
            Ok(Principal::new(
                "user",
                Clearance::ValidUser,
                [(database, access)],
            ))
        };
        let admin = |clearance| Ok(Principal::new("admin", clearance, []));
        vec![
            ("anonymous", Err(Unknown::Nobody)),
            ("expired", Err(Unknown::Invalid)),
            ("other-db", user("other", Access::Admin)),
            ("read", user("db1", Access::Read)),
            ("write", user("db1", Access::Write)),
            ("db-admin", user("db1", Access::Admin)),
            ("operator", admin(Clearance::Operator)),
            ("cluster", admin(Clearance::ClusterAdmin)),
        ]
    }

    fn matrix() -> String {
        let roles = roles();
        let mut text = String::from(
            "# Who may use which route on database db1: + allowed, 401 or 403 refused.\n",
        );
        let names: Vec<String> = roles.iter().map(|(name, _)| format!("{name:<9}")).collect();
        writeln!(text, "# {}", names.join(" ").trim_end()).unwrap();
        for route in GROUPS.iter().flat_map(|(_, routes)| routes.iter()) {
            let cells: Vec<String> = roles
                .iter()
                .map(|(_, principal)| {
                    let principal = principal.as_ref().map_err(|unknown| *unknown);
                    let cell = match decide(principal, route.target.needs, Some("db1")) {
                        Ok(()) => "+",
                        Err(Refusal::Unknown(Unknown::Invalid)) => "401",
                        Err(_) => "403",
                    };
                    format!("{cell:<9}")
                })
                .collect();
            for verb in route.verbs.iter() {
                let cells = cells.join(" ");
                writeln!(text, "  {cells} {} {}", verb.name(), route.pattern).unwrap();
            }
        }
        text
    }

    #[test]
    fn the_documents_are_what_the_table_says() {
        expect_file!["../../../../docs/routes.md"].assert_eq(&markdown());
        let openapi = serde_json::to_string_pretty(&openapi()).unwrap() + "\n";
        expect_file!["../../../../docs/openapi.json"].assert_eq(&openapi);
        expect_file!["../../tests/data/access.txt"].assert_eq(&matrix());
    }

    #[test]
    fn operation_ids_are_unique() {
        let mut ids: Vec<String> = Vec::new();
        for route in GROUPS.iter().flat_map(|(_, routes)| routes.iter()) {
            ids.extend(
                route
                    .verbs
                    .iter()
                    .map(|verb| operation_id(verb.name(), route.pattern)),
            );
        }
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
