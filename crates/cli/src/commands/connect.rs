//! How a command reaches a secured server: whom it trusts, and as whom it comes.
//!
//! Part of the arguments of every command with `--url`.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jackdaw_client::{Client, ConnectOptions};

use super::address::with_scheme;

/// Arguments for secured servers.
#[derive(Clone, Debug, clap::Args)]
#[group(multiple = true, requires = "url", conflicts_with = "data")]
pub(crate) struct ConnectArguments {
    /// Come with the certificate and private key in this PEM file, such as `jackdaw setup` and
    /// `jackdaw certificate create` write.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "api_key_file",
        help_heading = "Secured servers"
    )]
    certificate: Option<PathBuf>,
    /// Come with the API key in this file, which `jackdaw key create` has printed.
    #[arg(long, value_name = "FILE", help_heading = "Secured servers")]
    api_key_file: Option<PathBuf>,
    /// Trust the server if this authority signed its certificate: the server's authority.pem.
    /// Without it, the authorities of the system are trusted.
    #[arg(long, value_name = "FILE", help_heading = "Secured servers")]
    authority: Option<PathBuf>,
}

/// A server that was named, and how to reach it. Shown as its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerAt<'p> {
    url: &'p str,
    how: &'p ConnectArguments,
}

impl ConnectArguments {
    /// The server at `url`, which need not name its scheme, reached as these arguments say.
    pub(crate) fn server_at<'p>(&'p self, url: &'p str) -> ServerAt<'p> {
        ServerAt { url, how: self }
    }

    fn options(&self) -> anyhow::Result<ConnectOptions> {
        let mut options = ConnectOptions::new();
        if let Some(path) = &self.authority {
            let pem = read(path, "--authority")?;
            options = options
                .authority(&pem)
                .with_context(|| unusable(path, "--authority"))?;
        }
        if let Some(path) = &self.certificate {
            let pem = read(path, "--certificate")?;
            options = options
                .certificate(&pem, &pem)
                .with_context(|| unusable(path, "--certificate"))?;
        }
        if let Some(path) = &self.api_key_file {
            let text = read(path, "--api-key-file")?;
            options = options
                .api_key(&String::from_utf8_lossy(&text))
                .with_context(|| unusable(path, "--api-key-file"))?;
        }
        Ok(options)
    }
}

impl ServerAt<'_> {
    /// A client of it; does not connect yet.
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        Ok(Client::connect(&self.address(), &self.how.options()?)?)
    }

    /// The address with its scheme.
    fn address(&self) -> Cow<'_, str> {
        let how = self.how;
        let is_secured =
            how.certificate.is_some() || how.api_key_file.is_some() || how.authority.is_some();
        with_scheme(self.url, is_secured)
    }

    /// For whom it answers, where it has not the same for everybody.
    pub(crate) fn whose(&self) -> &'static str {
        match (&self.how.certificate, &self.how.api_key_file) {
            (Some(_), _) => " for this certificate",
            (None, Some(_)) => " for this API key",
            (None, None) => "",
        }
    }
}

impl fmt::Display for ServerAt<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.address())
    }
}

fn read(path: &Path, option: &str) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}: check {option}", path.display()))
}

fn unusable(path: &Path, option: &str) -> String {
    format!("{} cannot be used for {option}", path.display())
}
