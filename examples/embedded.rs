//! The embedded database: opens, writes, queries, and follows changes.
//!
//! `cargo run --package jackdaw-examples --example embedded`
#![expect(clippy::print_stdout, reason = "an example talks on standard output")]

use std::time::Duration;

use jackdaw::{Change, Database};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Album {
    title: String,
    year: u16,
}

fn main() -> jackdaw::Result<()> {
    let db = Database::open(std::env::temp_dir().join("jackdaw-embedded"))?;
    let mut batch = db.batch();
    for (number, (title, year)) in [("Blue", 1971), ("Hejira", 1976)].iter().enumerate() {
        let (title, year) = ((*title).to_owned(), *year);
        batch.put(&format!("albums/{number}"), &Album { title, year })?;
    }
    batch.delete("albums/2").commit()?;
    let query = db.query::<Album>("from Albums where Year > $year");
    for album in query.bind("year", 1975).rows()? {
        println!("found {} ({})", album.title, album.year);
    }
    // Without a timeout it waits for the next change.
    for change in db.changes().timeout(Duration::ZERO) {
        match change? {
            Change::Stored(album) => println!("{}: {}", album.id(), album.to_json()),
            change => println!("{} was deleted", change.id()),
        }
    }
    Ok(())
}
