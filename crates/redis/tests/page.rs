//! The table of commands in docs/redis.md is the table that the server has.
//!
//! `JACKDAW_WRITE_PAGES=1 cargo test -p jackdaw-redis --test page` writes it anew.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use support::{Client, config, start};

const START: &str = "<!-- commands -->\n";
const END: &str = "<!-- end of commands -->";

#[test]
fn the_page_lists_the_commands_that_are_there() {
    let server = start(&config());
    let mut client = Client::connect(&server);
    let docs = client.run("COMMAND DOCS");
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let texts: Vec<&str> = docs.split('"').skip(1).step_by(2).collect();
    // Name, then the fields summary, since and group with their values.
    for part in texts.chunks_exact(7) {
        groups
            .entry(part[6])
            .or_default()
            .push(part[0].to_uppercase());
    }
    let mut table = String::from("\n| Group | Commands |\n|---|---|\n");
    for (group, mut names) in groups {
        names.sort();
        table.push_str(&format!("| {group} | {} |\n", names.join(", ")));
    }
    table.push('\n');
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/redis.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(START).unwrap();
    let (listed, after) = rest.split_once(END).unwrap();
    if std::env::var_os("JACKDAW_WRITE_PAGES").is_some() {
        std::fs::write(&path, format!("{before}{START}{table}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(listed, table, "run this test with JACKDAW_WRITE_PAGES=1");
}
