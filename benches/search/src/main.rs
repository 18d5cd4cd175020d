//! `jackdaw-search-compare`: the same rows and queries on Jackdaw and on tantivy.
//!
//! Started by `cargo xtask bench search`, once for each engine. Prints one line of JSON for each
//! piece of work. Lucene's driver, in Java, is beside it and does the same.
#![forbid(unsafe_code)]

mod engine;
mod jackdaw;
mod measure;
mod queries;
mod rows;
mod tantivy_engine;
mod work;

use std::path::Path;

use anyhow::{Result, bail};

const USAGE: &str = "usage: queries ROWS OUT, or: run|ask jackdaw|tantivy ROWS QUERIES DIRECTORY";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["queries", rows, out] => {
            let count = queries::make(Path::new(rows), Path::new(out))?;
            eprintln!("{count} queries");
            Ok(())
        }
        [work, engine, rows, queries, directory] => {
            let queries = queries::read(Path::new(queries))?;
            let (rows, directory) = (Path::new(rows), Path::new(directory));
            match (work, engine) {
                ("run", "jackdaw") => work::run::<jackdaw::Jackdaw>(rows, &queries, directory),
                ("run", "tantivy") => {
                    work::run::<tantivy_engine::Tantivy>(rows, &queries, directory)
                }
                ("ask", "jackdaw") => work::ask_only::<jackdaw::Jackdaw>(rows, &queries, directory),
                ("ask", "tantivy") => {
                    work::ask_only::<tantivy_engine::Tantivy>(rows, &queries, directory)
                }
                _ => bail!("there is no work `{work}` or engine `{engine}`; {USAGE}"),
            }
        }
        _ => bail!(USAGE),
    }
}
