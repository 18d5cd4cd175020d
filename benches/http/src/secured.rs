//! What a token costs: the same requests to a server that `jackdaw setup` secured, with it and
//! without.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use hyper::Method;
use serde_json::json;

use crate::Settings;
use crate::connection::{Connection, whole};
use crate::credential::{Credential, administrator, nobody};
use crate::tasks::{Target, create, drop_database};

/// A server that runs reads changes of its registry within a second.
const REGISTRY_READ: Duration = Duration::from_millis(1_200);

/// Measures the server whose data directory is `data`, with the API key of an operator.
///
/// # Errors
/// When a file of the directory cannot be read, or the server refuses a request.
pub(crate) async fn run(settings: &Settings, data: &Path, key: &str) -> Result<()> {
    // The key may have been made a moment ago: the server reads it within a second.
    tokio::time::sleep(REGISTRY_READ).await;
    let (nobody, administrator) = (nobody(data)?, administrator(data)?);
    let exchanging = Credential::Nobody(nobody.clone());
    let mut connection = Connection::open(&settings.url, &exchanging).await?;
    let body = whole(json!({ "ApiKey": key }).to_string());
    let granted = connection.ask(Method::POST, "/jackdaw/token", body).await?;
    let token = granted["Token"].as_str().context("no token")?.to_owned();
    let with_token = Credential::Token(nobody.clone(), token);

    let mut target = Target::new(settings, Credential::Certificate(administrator));
    let mut connection = target.connect().await?;
    create(&mut connection, &target.database).await?;
    target.prepare_loads(&mut connection).await?;
    target.load("load over TLS, certificate").await?;
    target.credential = with_token;
    target.load("load over TLS, token").await?;
    target.hello("hello over TLS, token").await?;
    target.credential = Credential::Nobody(nobody);
    target.hello("hello over TLS, nobody").await?;
    drop_database(&mut connection, &target.database).await
}
