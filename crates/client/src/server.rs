//! Calls to a server as a whole: its version and its databases.

use serde::Deserialize;
use ureq::http::Method;

use crate::connect::{ConnectError, ConnectOptions};
use crate::database::DatabaseClient;
use crate::error::ClientError;
use crate::transport::{Call, Transport, encode};

/// Names asked for at a time when databases are listed.
const PAGE: usize = 1024;

/// A server.
#[derive(Clone, Debug)]
pub struct Client {
    transport: Transport,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Databases {
    databases: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BackupAnswer {
    directory: String,
    databases: u64,
    bytes: u64,
}

/// What a server answers to a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// Its directory on the server's machine.
    pub directory: String,
    /// Databases in it.
    pub databases: u64,
    /// Bytes written.
    pub bytes: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Version {
    full_version: String,
    #[serde(default)]
    product: String,
}

impl Client {
    /// A client of the server at `url`, such as `http://127.0.0.1:8080`. Does not connect yet. Of a
    /// secured server, the authorities of the system are trusted.
    #[must_use]
    pub fn new(url: &str) -> Client {
        Client {
            transport: Transport::new(url, &ConnectOptions::new()),
        }
    }

    /// A client of the secured server at `url`, such as `https://db.example.com:8443`. Does not
    /// connect yet.
    ///
    /// # Errors
    /// [`ConnectError::NotSecured`] when there are options and the address is not `https://`.
    pub fn connect(url: &str, options: &ConnectOptions) -> Result<Client, ConnectError> {
        options.check_address(url)?;
        Ok(Client {
            transport: Transport::new(url, options),
        })
    }

    /// The address given.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.transport.url
    }

    /// The product and the protocol version it speaks, as one line for people.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn version(&self) -> Result<String, ClientError> {
        let path = "/build/version";
        let body = self
            .transport
            .call(Method::GET, path, &Call::default())?
            .unwrap_or_default();
        let version: Version = self.transport.read(path, &body)?;
        Ok(format!(
            "{} (protocol {})",
            version.product, version.full_version
        ))
    }

    /// Backs up all databases into the directory `to` of the server's machine, or adds what was
    /// written since to the backup there. Returns when it was verified. The directory has to be
    /// below one of those that the server has for backups; a relative name is below the first.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn back_up(&self, to: &str, is_increment: bool) -> Result<BackupReport, ClientError> {
        let to = encode(to);
        let path = format!("/jackdaw/backup?to={to}&increment={is_increment}");
        let body = self
            .transport
            .call(Method::POST, &path, &Call::default())?
            .unwrap_or_default();
        let answer: BackupAnswer = self.transport.read(&path, &body)?;
        Ok(BackupReport {
            directory: answer.directory,
            databases: answer.databases,
            bytes: answer.bytes,
        })
    }

    /// Names of all databases.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn databases(&self) -> Result<Vec<String>, ClientError> {
        let mut names = Vec::new();
        loop {
            let path = format!(
                "/databases?namesOnly=true&start={}&pageSize={PAGE}",
                names.len()
            );
            let body = self.transport.call(Method::GET, &path, &Call::default())?;
            let page: Databases = self.transport.read(&path, &body.unwrap_or_default())?;
            let complete = page.databases.len() < PAGE;
            names.extend(page.databases);
            if complete {
                return Ok(names);
            }
        }
    }

    /// Creates a database.
    ///
    /// # Errors
    /// [`ClientError::Conflict`] when there is one of this name already.
    pub fn create_database(&self, name: &str) -> Result<(), ClientError> {
        let path = format!("/admin/databases?name={}&replicationFactor=1", encode(name));
        let record = serde_json::json!({ "DatabaseName": name, "Settings": {} }).to_string();
        let call = Call {
            body: Some(record.as_bytes()),
            ..Call::default()
        };
        self.transport.call(Method::PUT, &path, &call).map(|_| ())
    }

    /// Deletes a database and its files. Deleting an absent one succeeds.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn delete_database(&self, name: &str) -> Result<(), ClientError> {
        let order = serde_json::json!({ "DatabaseNames": [name], "HardDelete": true }).to_string();
        let call = Call {
            body: Some(order.as_bytes()),
            ..Call::default()
        };
        self.transport
            .call(Method::DELETE, "/admin/databases", &call)
            .map(|_| ())
    }

    /// A database of this server. Does not check that it exists.
    #[must_use]
    pub fn database(&self, name: &str) -> DatabaseClient {
        DatabaseClient::new(self.transport.clone(), name)
    }
}
