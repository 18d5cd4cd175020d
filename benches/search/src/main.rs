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

const USAGE: &str = "usage: queries ROWS OUT, or: run jackdaw|tantivy ROWS QUERIES DIRECTORY";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["queries", rows, out] => {
            let count = queries::make(Path::new(rows), Path::new(out))?;
            eprintln!("{count} queries");
            Ok(())
        }
        ["run", engine, rows, queries, directory] => {
            let queries = queries::read(Path::new(queries))?;
            let (rows, directory) = (Path::new(rows), Path::new(directory));
            match engine {
                "jackdaw" => work::run::<jackdaw::Jackdaw>(rows, &queries, directory),
                "tantivy" => work::run::<tantivy_engine::Tantivy>(rows, &queries, directory),
                other => bail!("there is no engine `{other}`; {USAGE}"),
            }
        }
        _ => bail!(USAGE),
    }
}
