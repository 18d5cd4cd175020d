//! The durable writes once more, on PostgreSQL: a table of ids and JSONB, each statement a
//! transaction of its own, prepared once for each connection.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::task::JoinSet;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

use crate::tasks::{BATCH, CONNECTIONS, STORED_BYTES, document, names};
use crate::{Settings, report};

const TABLE: &str = "CREATE TABLE documents (id text PRIMARY KEY, body jsonb NOT NULL)";
/// A document under an id that may be there, as a PUT stores it. The text is parsed by the server.
const STORE: &str = "INSERT INTO documents VALUES ($1, $2::text::jsonb)
                     ON CONFLICT (id) DO UPDATE SET body = excluded.body";
const STORE_MANY: &str = "INSERT INTO documents
                          SELECT id, body::jsonb FROM unnest($1::text[], $2::text[]) AS t (id, body)
                          ON CONFLICT (id) DO UPDATE SET body = excluded.body";

/// Runs the tasks that were asked for, in a database without that table.
pub(crate) async fn run(settings: &Settings) -> Result<()> {
    let client = connect(&settings.url).await?;
    client.batch_execute(TABLE).await?;
    for (task, connections) in [(names::STORE_1, 1), (names::STORE_32, CONNECTIONS)] {
        if settings.wants(task) {
            store(settings, task, connections).await?;
        }
    }
    if settings.wants(names::BATCH) {
        batch(settings, &client).await?;
    }
    client.batch_execute("DROP TABLE documents").await?;
    Ok(())
}

/// A server that was just started listens before it lets anybody in.
const STARTING_MAX: Duration = Duration::from_secs(20);

async fn connect(url: &str) -> Result<Client> {
    let deadline = Instant::now() + STARTING_MAX;
    let connected = loop {
        let connected = tokio_postgres::connect(url, NoTls).await;
        let is_starting = matches!(&connected, Err(error)
            if error.code() == Some(&SqlState::CANNOT_CONNECT_NOW));
        if !is_starting || Instant::now() > deadline {
            break connected;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let (client, connection) = connected.with_context(|| format!("cannot reach {url}"))?;
    // Its end shows as a failing statement.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

async fn store(settings: &Settings, task: &str, connections: usize) -> Result<()> {
    let mut opened = Vec::new();
    for _ in 0..connections {
        let client = connect(&settings.url).await?;
        let statement = client.prepare(STORE).await?;
        opened.push((client, statement));
    }
    let started = Instant::now();
    let deadline = started + Duration::from_secs_f64(settings.seconds);
    let mut running = JoinSet::new();
    for (slot, (client, statement)) in (0..).zip(opened) {
        running.spawn(async move {
            let mut times: Vec<Duration> = Vec::new();
            let mut number: u64 = slot;
            while Instant::now() < deadline {
                let id = format!("stored/{connections}/{number}");
                let body = document(number, STORED_BYTES);
                let begun = Instant::now();
                client.execute(&statement, &[&id, &body]).await?;
                times.push(begun.elapsed());
                number += connections as u64;
            }
            anyhow::Ok(times)
        });
    }
    let mut times = Vec::new();
    while let Some(ended) = running.join_next().await {
        times.extend(ended??);
    }
    report::repeated(task, times, started.elapsed(), None)
}

/// As many documents in one statement as a batch has.
async fn batch(settings: &Settings, client: &Client) -> Result<()> {
    let statement = client.prepare(STORE_MANY).await?;
    let started = Instant::now();
    let mut stored = 0;
    while started.elapsed().as_secs_f64() < settings.seconds {
        let numbers = stored..stored + BATCH;
        let ids: Vec<String> = numbers.clone().map(|n| format!("batch/{n}")).collect();
        let bodies: Vec<String> = numbers.map(|n| document(n as u64, STORED_BYTES)).collect();
        client.execute(&statement, &[&ids, &bodies]).await?;
        stored += BATCH;
    }
    report::counted(names::BATCH, stored, "documents/s", started.elapsed(), None);
    Ok(())
}
