//! `jackdaw-http-load`: measures a server that speaks RavenDB's protocol, over loopback.
//!
//! Started by `cargo xtask bench http`, once for each server and repetition. Prints one line of
//! JSON per task. `roof` serves the same document from memory instead: what any server on this
//! machine could reach at most. A URL `postgres://...` is PostgreSQL, for the durable writes.
#![forbid(unsafe_code)]

mod connection;
mod credential;
mod postgres;
mod process;
mod report;
mod roof;
mod secured;
mod tasks;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

/// What is measured, and how long.
struct Settings {
    url: String,
    /// Documents of the tasks over many.
    documents: usize,
    /// Seconds of each task that repeats one request.
    seconds: f64,
    /// Only the tasks whose name holds this.
    task: String,
    /// A file with one document a line, to be inserted too.
    lines: Option<String>,
    /// The data directory of a secured server, and an API key of an operator there.
    data: Option<PathBuf>,
    key: String,
}

impl Settings {
    fn wants(&self, task: &str) -> bool {
        task.contains(&self.task)
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // One thread generates the load: the others of the machine belong to the server.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    match arguments.first().map(String::as_str) {
        Some("roof") => runtime.block_on(roof::serve()),
        Some(url) if url.starts_with("postgres://") => {
            runtime.block_on(postgres::run(&parse(&arguments)?))
        }
        Some(_) => {
            let settings = parse(&arguments)?;
            runtime.block_on(async {
                match &settings.data {
                    Some(data) => secured::run(&settings, data, &settings.key).await,
                    None => tasks::run(&settings).await,
                }
            })
        }
        None => {
            bail!(
                "usage: URL [--documents N] [--seconds S] [--task NAME] [--lines FILE] \
                 [--data DIR --key KEY], or: roof"
            )
        }
    }
}

fn parse(arguments: &[String]) -> Result<Settings> {
    let mut settings = Settings {
        url: arguments[0].trim_end_matches('/').to_owned(),
        documents: 100_000,
        seconds: 3.0,
        task: String::new(),
        lines: None,
        data: None,
        key: String::new(),
    };
    for pair in arguments[1..].chunks(2) {
        let [name, value] = pair else {
            bail!("`{}` needs a value", pair[0])
        };
        match name.as_str() {
            "--documents" => settings.documents = value.parse().context("--documents")?,
            "--seconds" => settings.seconds = value.parse().context("--seconds")?,
            "--task" => settings.task.clone_from(value),
            "--lines" => settings.lines = Some(value.clone()),
            "--data" => settings.data = Some(PathBuf::from(value)),
            "--key" => settings.key.clone_from(value),
            _ => bail!("unknown argument `{name}`"),
        }
    }
    Ok(settings)
}
