//! The tasks: each prepares what it needs, runs for its time or its number of documents, and
//! prints one line of JSON.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody};
use hyper::Method;
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::connection::{Body, Connection, whole};
use crate::credential::Credential;
use crate::process::Listener;
use crate::{Settings, report};

/// Size of the documents that are loaded by id.
pub(crate) const LOADED_BYTES: usize = 2048;
/// How many of them there are.
const LOADED: u64 = 1000;
/// Size of a document that is stored.
pub(crate) const STORED_BYTES: usize = 300;
pub(crate) const CONNECTIONS: usize = 32;
/// Documents of one request.
pub(crate) const BATCH: usize = 100;
/// What is small and costs a server next to nothing but the exchange itself.
pub(crate) const HELLO_PATH: &str = "/build/version";

/// Names of the tasks that another server has, too.
pub(crate) mod names {
    pub(crate) const STORE_1: &str = "store, 1 connection";
    pub(crate) const STORE_32: &str = "store, 32 connections";
    pub(crate) const BATCH: &str = "batch of 100";
    pub(crate) const LOAD: &str = "load, 32 connections";
    pub(crate) const HELLO: &str = "hello, 32 connections";
}
/// Databases of the task that measures memory.
const OPEN_DATABASES: u64 = 100;
/// The collection of what is inserted in bulk, streamed and patched: how many others there are by
/// then depends on how fast a server stores.
const MANY: &str = "Many";
/// Documents in one piece of the body of a bulk insert.
const PIECE: usize = 200;

/// A document of about `bytes` bytes, of the collection of single ones.
pub(crate) fn document(number: u64, bytes: usize) -> String {
    document_of("Albums", number, bytes)
}

/// A document of about `bytes` bytes.
fn document_of(collection: &str, number: u64, bytes: usize) -> String {
    let genre = ["Jazz", "Rock", "Folk", "Blues"][usize::try_from(number % 4).unwrap_or(0)];
    let head = format!(
        "{{\"Title\":\"Album {number}\",\"Artist\":\"Artist {}\",\"Genre\":\"{genre}\",\
         \"Year\":{},\"Notes\":\"",
        number % 1000,
        1950 + number % 70
    );
    let tail = format!("\",\"@metadata\":{{\"@collection\":\"{collection}\"}}}}");
    let notes = bytes.saturating_sub(head.len() + tail.len());
    let notes: String = ('a'..='z')
        .cycle()
        .skip(usize::try_from(number % 26).unwrap_or(0))
        .take(notes)
        .collect();
    head + &notes + &tail
}

/// The server under test, and what is known of its process.
pub(crate) struct Target<'s> {
    settings: &'s Settings,
    listener: Option<Listener>,
    pub(crate) database: String,
    /// What its connections show.
    pub(crate) credential: Credential,
}

/// Runs all tasks that were asked for.
pub(crate) async fn run(settings: &Settings) -> Result<()> {
    let target = Target::new(settings, Credential::Plain);
    let mut connection = target.connect().await?;
    // The roof knows no databases.
    if is_roof(&mut connection).await? {
        if settings.wants(names::LOAD) {
            target.load(names::LOAD).await?;
        }
        if settings.wants(names::HELLO) {
            target.hello(names::HELLO).await?;
        }
        return Ok(());
    }
    create(&mut connection, &target.database).await?;
    let outcome = target.all(&mut connection).await;
    drop_database(&mut connection, &target.database).await?;
    outcome
}

async fn is_roof(connection: &mut Connection) -> Result<bool> {
    let answer = connection.ask(Method::GET, HELLO_PATH, empty()).await?;
    Ok(answer["BuildVersion"].is_null())
}

pub(crate) async fn create(connection: &mut Connection, name: &str) -> Result<()> {
    let record = json!({ "DatabaseName": name, "Settings": {}, "Disabled": false });
    let path = format!("/admin/databases?name={name}&replicationFactor=1");
    connection
        .ask(Method::PUT, &path, json_body(&record))
        .await?;
    Ok(())
}

pub(crate) async fn drop_database(connection: &mut Connection, name: &str) -> Result<()> {
    let body = json!({
        "DatabaseNames": [name], "HardDelete": true, "TimeToWaitForConfirmation": "00:00:30",
    });
    connection
        .ask(Method::DELETE, "/admin/databases", json_body(&body))
        .await?;
    Ok(())
}

fn empty() -> Body {
    whole(Bytes::new())
}

fn json_body(value: &Value) -> Body {
    whole(value.to_string())
}

impl<'s> Target<'s> {
    pub(crate) fn new(settings: &'s Settings, credential: Credential) -> Target<'s> {
        Target {
            settings,
            listener: Listener::find(&settings.url),
            database: format!("bench-{}", std::process::id()),
            credential,
        }
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        Connection::open(&self.settings.url, &self.credential).await
    }

    async fn all(&self, connection: &mut Connection) -> Result<()> {
        let wanted = |name: &str| self.settings.wants(name);
        if wanted(names::STORE_1) {
            self.store(names::STORE_1, 1).await?;
        }
        if wanted(names::STORE_32) {
            self.store(names::STORE_32, CONNECTIONS).await?;
        }
        if wanted("memory after stores") {
            self.memory_so_far("memory after stores");
        }
        if wanted(names::BATCH) {
            self.batch(connection).await?;
        }
        if wanted(names::LOAD) {
            self.prepare_loads(connection).await?;
            self.load(names::LOAD).await?;
        }
        if wanted(names::HELLO) {
            self.hello(names::HELLO).await?;
        }
        if ["bulk insert", "stream", "patch by query"]
            .iter()
            .any(|name| wanted(name))
        {
            self.many(connection).await?;
        }
        if let Some(file) = &self.settings.lines {
            self.lines(connection, file).await?;
        }
        if wanted("memory after all") {
            self.memory_so_far("memory after all");
        }
        if wanted("create and delete a database") {
            self.create_and_delete(connection).await?;
        }
        if wanted("memory of 100 databases") {
            self.memory(connection).await?;
        }
        Ok(())
    }

    /// Repeats one kind of request on several connections for the time that is set.
    async fn repeat(
        &self,
        task: &str,
        connections: usize,
        request: impl Fn(u64) -> (Method, String, Body) + Clone + Send + 'static,
    ) -> Result<()> {
        let mut opened = Vec::new();
        for _ in 0..connections {
            opened.push(self.connect().await?);
        }
        let before = self.processor_s();
        let started = Instant::now();
        let deadline = started + Duration::from_secs_f64(self.settings.seconds);
        let mut running = JoinSet::new();
        for (slot, mut connection) in (0..).zip(opened) {
            let request = request.clone();
            running.spawn_local(async move {
                let mut times: Vec<Duration> = Vec::new();
                let mut number: u64 = slot;
                while Instant::now() < deadline {
                    let (method, path, body) = request(number);
                    let begun = Instant::now();
                    let (status, _) = connection.count(method, &path, body).await?;
                    times.push(begun.elapsed());
                    ensure!(status.is_success(), "{path}: {status}");
                    number += connections as u64;
                }
                Ok(times)
            });
        }
        let mut times = Vec::new();
        while let Some(ended) = running.join_next().await {
            times.extend(ended??);
        }
        let elapsed = started.elapsed();
        report::repeated(task, times, elapsed, self.computed_since(before))
    }

    async fn store(&self, task: &str, connections: usize) -> Result<()> {
        let database = self.database.clone();
        let request = move |number: u64| {
            let path = format!("/databases/{database}/docs?id=stored/{connections}/{number}");
            (Method::PUT, path, whole(document(number, STORED_BYTES)))
        };
        local(self.repeat(task, connections, request)).await
    }

    async fn batch(&self, connection: &mut Connection) -> Result<()> {
        let path = format!("/databases/{}/bulk_docs", self.database);
        let (started, before) = (Instant::now(), self.processor_s());
        let mut stored = 0;
        while started.elapsed().as_secs_f64() < self.settings.seconds {
            let commands: Vec<String> = (stored..stored + BATCH)
                .map(|number| {
                    let document = document(number as u64, STORED_BYTES);
                    format!(
                        "{{\"Id\":\"batch/{number}\",\"Type\":\"PUT\",\"Document\":{document}}}"
                    )
                })
                .collect();
            let body = format!("{{\"Commands\":[{}]}}", commands.join(","));
            connection.ask(Method::POST, &path, whole(body)).await?;
            stored += BATCH;
        }
        self.print(
            names::BATCH,
            stored,
            "documents/s",
            started.elapsed(),
            before,
        );
        Ok(())
    }

    pub(crate) async fn prepare_loads(&self, connection: &mut Connection) -> Result<()> {
        for number in 0..LOADED {
            let path = format!("/databases/{}/docs?id=loaded/{number}", self.database);
            let body = whole(document(number, LOADED_BYTES));
            connection.ask(Method::PUT, &path, body).await?;
        }
        Ok(())
    }

    pub(crate) async fn load(&self, task: &str) -> Result<()> {
        let database = self.database.clone();
        let request = move |number: u64| {
            // A step that shares no factor with the count visits all of them in no simple order.
            let id = number.wrapping_mul(617) % LOADED;
            let path = format!("/databases/{database}/docs?id=loaded/{id}");
            (Method::GET, path, empty())
        };
        local(self.repeat(task, CONNECTIONS, request)).await
    }

    /// What an exchange costs when there is nothing to do.
    pub(crate) async fn hello(&self, task: &str) -> Result<()> {
        let request = |_: u64| (Method::GET, HELLO_PATH.to_owned(), empty());
        local(self.repeat(task, CONNECTIONS, request)).await
    }

    /// Bulk insert of many documents, then a stream of them, then a patch of all.
    async fn many(&self, connection: &mut Connection) -> Result<()> {
        let count = self.settings.documents;
        let base = format!("/databases/{}", self.database);
        let elements = (0..count).map(|number| {
            let document = document_of(MANY, number as u64, STORED_BYTES);
            format!("{{\"Id\":\"many/{number}\",\"Type\":\"PUT\",\"Document\":{document}}}")
        });
        self.bulk_insert(connection, "bulk insert", elements)
            .await?;

        let query = json!({ "Query": format!("from {MANY}") });
        let (started, before) = (Instant::now(), self.processor_s());
        let path = format!("{base}/streams/queries");
        let (status, len) = connection
            .count(Method::POST, &path, json_body(&query))
            .await?;
        ensure!(
            status.is_success() && len > count * STORED_BYTES,
            "stream: {status}, {len} bytes"
        );
        self.print("stream", count, "documents/s", started.elapsed(), before);

        let patch = format!("from {MANY} update {{ this.Seen = true; }}");
        let patch = json!({ "Query": { "Query": patch } });
        let (started, before) = (Instant::now(), self.processor_s());
        let path = format!("{base}/queries?allowStale=true");
        let operation = connection
            .ask(Method::PATCH, &path, json_body(&patch))
            .await?;
        let number = operation["OperationId"].as_i64().context("no operation")?;
        let path = format!("{base}/operations/state?id={number}");
        loop {
            let state = connection.ask(Method::GET, &path, empty()).await?;
            match state["Status"].as_str() {
                Some("Completed") => break,
                Some("InProgress") => tokio::time::sleep(Duration::from_millis(5)).await,
                _ => anyhow::bail!("patch by query: {state}"),
            }
        }
        self.print(
            "patch by query",
            count,
            "documents/s",
            started.elapsed(),
            before,
        );
        Ok(())
    }

    /// Bulk insert of the documents of a file, one a line; how many bytes they have is in the name
    /// of no task, so compare runs of one file.
    async fn lines(&self, connection: &mut Connection, file: &str) -> Result<()> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
        let lines: Vec<String> = (text.lines().filter(|line| !line.is_empty()).enumerate())
            .map(|(number, line)| {
                format!("{{\"Id\":\"lines/{number}\",\"Type\":\"PUT\",\"Document\":{line}}}")
            })
            .collect();
        let task = "bulk insert of the file's lines";
        self.bulk_insert(connection, task, lines.into_iter()).await
    }

    /// One bulk insert of elements that are made while it runs.
    async fn bulk_insert(
        &self,
        connection: &mut Connection,
        task: &str,
        elements: impl Iterator<Item = String> + Send + Sync + Unpin + 'static,
    ) -> Result<()> {
        let base = format!("/databases/{}", self.database);
        let path = format!("{base}/operations/next-operation-id");
        let operation = connection.ask(Method::GET, &path, empty()).await?;
        let number = operation["Id"]
            .as_i64()
            .context("no number of an operation")?;
        let (started, before) = (Instant::now(), self.processor_s());
        let count = Arc::new(AtomicUsize::new(0));
        let body = StreamBody::new(Pieces {
            elements,
            sent: Arc::clone(&count),
            is_ended: false,
        });
        let path = format!("{base}/bulk_insert?id={number}&skipOverwriteIfUnchanged=false");
        let (status, _) = connection.count(Method::POST, &path, body.boxed()).await?;
        ensure!(status.is_success(), "{task}: {status}");
        let count = count.load(Ordering::Relaxed);
        self.print(task, count, "documents/s", started.elapsed(), before);
        Ok(())
    }

    async fn create_and_delete(&self, connection: &mut Connection) -> Result<()> {
        let (started, before) = (Instant::now(), self.processor_s());
        let mut made = 0;
        while started.elapsed().as_secs_f64() < self.settings.seconds {
            let name = format!("{}-made-{made}", self.database);
            create(connection, &name).await?;
            drop_database(connection, &name).await?;
            made += 1;
        }
        self.print(
            "create and delete a database",
            made,
            "/s",
            started.elapsed(),
            before,
        );
        Ok(())
    }

    /// Memory that a hundred databases with a document each take while nothing happens.
    async fn memory(&self, connection: &mut Connection) -> Result<()> {
        let Some(listener) = &self.listener else {
            return Ok(()); // another machine's, or another user's
        };
        let before = listener.own_memory_kib().context("no memory is told")?;
        let name = |number: u64| format!("{}-idle-{number}", self.database);
        let mut made = 0;
        let mut refused = None;
        while made < OPEN_DATABASES && refused.is_none() {
            match self.make_idle(connection, &name(made)).await {
                Ok(()) => made += 1,
                Err(error) => refused = Some(error),
            }
        }
        let after = listener.own_memory_kib().context("no memory is told")?;
        for number in 0..made {
            drop_database(connection, &name(number)).await?;
        }
        if let Some(error) = refused {
            eprintln!("memory of 100 databases: refused after {made}: {error}");
            return Ok(());
        }
        report::memory("memory of 100 databases", after.saturating_sub(before));
        Ok(())
    }

    async fn make_idle(&self, connection: &mut Connection, name: &str) -> Result<()> {
        create(connection, name).await?;
        let path = format!("/databases/{name}/docs?id=albums/1");
        let body = whole(document(1, STORED_BYTES));
        connection.ask(Method::PUT, &path, body).await?;
        Ok(())
    }

    /// Memory of the process now, without pages of files.
    fn memory_so_far(&self, task: &str) {
        let listener = self.listener.as_ref();
        if let Some(kib) = listener.and_then(Listener::own_memory_kib) {
            report::memory(task, kib);
        }
    }

    fn processor_s(&self) -> Option<f64> {
        self.listener.as_ref()?.processor_s()
    }

    /// Seconds of processor time since it was `before`.
    fn computed_since(&self, before: Option<f64>) -> Option<f64> {
        Some(self.processor_s()? - before?)
    }

    fn print(&self, task: &str, count: usize, unit: &str, elapsed: Duration, before: Option<f64>) {
        report::counted(task, count, unit, elapsed, self.computed_since(before));
    }
}

/// Runs work whose tasks stay on this thread.
async fn local<T>(work: impl Future<Output = T>) -> T {
    tokio::task::LocalSet::new().run_until(work).await
}

/// The body of a bulk insert: elements in an array, [`PIECE`] at a time.
struct Pieces<I> {
    elements: I,
    sent: Arc<AtomicUsize>,
    is_ended: bool,
}

impl<I: Iterator<Item = String> + Unpin> futures_core::Stream for Pieces<I> {
    type Item = Result<Frame<Bytes>, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        if self.is_ended {
            return std::task::Poll::Ready(None);
        }
        let piece: Vec<String> = self.elements.by_ref().take(PIECE).collect();
        let before = self.sent.fetch_add(piece.len(), Ordering::Relaxed);
        self.is_ended = piece.len() < PIECE;
        let mut text = String::from(match (before, piece.is_empty()) {
            (0, _) => "[",
            (_, true) => "",
            (_, false) => ",",
        });
        text.push_str(&piece.join(","));
        if self.is_ended {
            text.push(']');
        }
        std::task::Poll::Ready(Some(Ok(Frame::data(Bytes::from(text)))))
    }
}
