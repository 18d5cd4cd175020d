//! `jackdaw certificate`, `jackdaw key` and `jackdaw audit`: who may use a secured server.
//!
//! They change the files in the data directory; a server that runs sees the change within a second.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Subcommand;
use jackdaw_server::{CLIENT_DAYS, Grant, SecurityDirectory, SecurityError, verify_audit};

use super::DEFAULT_DATA;
use crate::output::numbers::counted;
use crate::output::say::say;

/// Where the server's files are.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Where {
    /// The data directory of a server that `jackdaw setup` secured.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    data: PathBuf,
}

impl Where {
    fn open(&self) -> Result<SecurityDirectory, SecurityError> {
        let found = SecurityDirectory::find(&self.data);
        found.ok_or_else(|| SecurityError::NotSetUp(self.data.clone()))
    }
}

/// What somebody may do.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Granted {
    /// ValidUser, Operator or ClusterAdmin.
    #[arg(long, value_name = "CLEARANCE", default_value = "ValidUser")]
    clearance: String,
    /// Access of a ValidUser to a database: Read, ReadWrite or Admin; may be given several times.
    #[arg(long, value_name = "DATABASE=ACCESS")]
    access: Vec<String>,
}

impl Granted {
    fn grant(&self) -> anyhow::Result<Grant> {
        let mut grant = Grant::new(&self.clearance)?;
        for one in &self.access {
            let (database, access) = one.rsplit_once('=').with_context(|| {
                format!("'{one}' is not DATABASE=ACCESS: write music=ReadWrite")
            })?;
            grant = grant.with(database, access)?;
        }
        Ok(grant)
    }
}

/// What to do with certificates.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CertificateArguments {
    /// List the registered certificates.
    List {
        #[command(flatten)]
        place: Where,
    },
    /// Make a certificate and its key for a client, and register it.
    Create {
        /// Whose it is.
        name: String,
        #[command(flatten)]
        granted: Granted,
        /// Days until it expires.
        #[arg(long, default_value_t = CLIENT_DAYS)]
        days: u32,
        /// File for the certificate and its key; NAME.pem by default.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        place: Where,
    },
    /// Register a certificate made elsewhere.
    Add {
        /// Whose it is.
        name: String,
        /// The certificate, as PEM or DER; the key stays with its owner.
        file: PathBuf,
        #[command(flatten)]
        granted: Granted,
        #[command(flatten)]
        place: Where,
    },
    /// Forget a certificate: its owner is shut out within a second.
    Remove {
        /// Its thumbprint; `list` shows it.
        thumbprint: String,
        #[command(flatten)]
        place: Where,
    },
    /// Make a new certificate for the server, or take one made elsewhere.
    ///
    /// A server that runs uses it for new connections within a second.
    Server {
        /// A name or address of the server; may be given several times.
        #[arg(long = "host", value_name = "NAME", required_unless_present = "file")]
        hosts: Vec<String>,
        /// PEM of the chain and the key of one made elsewhere.
        #[arg(long, value_name = "FILE", conflicts_with = "hosts")]
        file: Option<PathBuf>,
        #[command(flatten)]
        place: Where,
    },
}

/// Runs `jackdaw certificate`.
pub(crate) fn certificate(arguments: &CertificateArguments) -> anyhow::Result<()> {
    match arguments {
        CertificateArguments::List { place } => {
            let registry = place.open()?.registry()?;
            for one in &registry.certificates {
                let granted = described(&one.grant);
                say!(
                    "{}  {}  {granted}  until {}",
                    one.thumbprint,
                    one.name,
                    one.not_after
                );
            }
            say!(
                "{}",
                counted(registry.certificates.len() as u64, "certificate")
            );
        }
        CertificateArguments::Create {
            name,
            granted,
            days,
            out,
            place,
        } => {
            let file = out
                .clone()
                .unwrap_or_else(|| PathBuf::from(format!("{name}.pem")));
            refuse_existing(&file)?;
            let directory = place.open()?;
            let issued = directory.issue_client(name, granted.grant()?, *days)?;
            issued.save(&file)?;
            say!(
                "{} has the certificate and key of {name}; clients trust {}.",
                file.display(),
                directory.authority_path().display()
            );
        }
        CertificateArguments::Add {
            name,
            file,
            granted,
            place,
        } => {
            let bytes =
                std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            let thumbprint = place.open()?.register(name, &bytes, granted.grant()?)?;
            say!("{thumbprint}  {name} is registered.");
        }
        CertificateArguments::Remove { thumbprint, place } => {
            place.open()?.remove_certificate(thumbprint)?;
            say!("{thumbprint} is forgotten.");
        }
        CertificateArguments::Server { hosts, file, place } => {
            let directory = place.open()?;
            match file {
                Some(file) => {
                    let pem = std::fs::read(file)
                        .with_context(|| format!("cannot read {}", file.display()))?;
                    directory.replace_server(&pem)?;
                }
                None => directory.renew_server(hosts)?,
            }
            say!("New connections are served with the new certificate.");
        }
    }
    Ok(())
}

/// What to do with API keys.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum KeyArguments {
    /// List the keys, without their secrets.
    List {
        #[command(flatten)]
        place: Where,
    },
    /// Make a key. It is shown once.
    Create {
        /// Whose it is.
        name: String,
        #[command(flatten)]
        granted: Granted,
        #[command(flatten)]
        place: Where,
    },
    /// Forget a key: its tokens end within a second.
    Remove {
        /// Its id; `list` shows it.
        id: String,
        #[command(flatten)]
        place: Where,
    },
}

/// Runs `jackdaw key`.
pub(crate) fn key(arguments: &KeyArguments) -> anyhow::Result<()> {
    match arguments {
        KeyArguments::List { place } => {
            let registry = place.open()?.registry()?;
            for one in &registry.keys {
                say!("{}  {}  {}", one.id, one.name, described(&one.grant));
            }
            say!("{}", counted(registry.keys.len() as u64, "key"));
        }
        KeyArguments::Create {
            name,
            granted,
            place,
        } => say!("{}", place.open()?.create_key(name, granted.grant()?)?),
        KeyArguments::Remove { id, place } => {
            place.open()?.remove_key(id)?;
            say!("{id} is forgotten.");
        }
    }
    Ok(())
}

/// Arguments of `jackdaw audit`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AuditArguments {
    #[command(flatten)]
    place: Where,

    /// Hash that an earlier check told: the line that has it must still be there
    #[arg(long, value_name = "HASH")]
    head: Option<String>,
}

/// Runs `jackdaw audit`: whether nothing was changed in or removed from the audit log.
pub(crate) fn audit(arguments: &AuditArguments) -> anyhow::Result<()> {
    let path = arguments.place.open()?.audit_path();
    let verified = verify_audit(&path, arguments.head.as_deref());
    let verified = verified.with_context(|| format!("in {}", path.display()))?;
    let lines = counted(verified.lines, "line");
    say!(
        "{}: {lines}, each follows from the one before it, and none is missing at the end.",
        path.display()
    );
    if verified.newer > 0 {
        let newer = counted(verified.newer, "line");
        say!("{newer} of them came in the last moment before the server ended, or just now.");
    }
    if verified.lines > 0 {
        say!(
            "Head: {}. Kept elsewhere, `jackdaw audit --head` shows later that all is still there.",
            verified.last
        );
    }
    Ok(())
}

fn described(grant: &Grant) -> String {
    let mut words = vec![grant.security_clearance.clone()];
    let databases = grant.permissions.iter();
    words.extend(databases.map(|(database, access)| format!("{database}={access}")));
    words.join(" ")
}

fn refuse_existing(file: &Path) -> anyhow::Result<()> {
    if file.exists() {
        let file = file.display();
        anyhow::bail!("{file} is there already: choose another file with --out");
    }
    Ok(())
}
