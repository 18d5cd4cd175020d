//! Writes the archive that `jackdaw demo` makes up to a file, for imports and measurements.
//!
//! `cargo run --release --package jackdaw-examples --example demo_archive -- ALBUMS FILE`

use std::fs::File;
use std::io::BufWriter;

use anyhow::{Context, Result};
use jackdaw_cli::demo::DemoArchive;

/// That of the demo, so that both make the same albums.
const SEED: u64 = 1;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [albums, path] = arguments.as_slice() else {
        anyhow::bail!("usage: demo_archive ALBUMS FILE");
    };
    let albums = albums.parse().context("ALBUMS is a whole number")?;
    let file = File::create(path).with_context(|| format!("cannot create {path}"))?;
    let mut file = BufWriter::with_capacity(1 << 20, file);
    std::io::copy(&mut DemoArchive::new(SEED, albums), &mut file)?;
    file.into_inner()?.sync_all()?;
    Ok(())
}
