//! How a connection proves who it is: to a server that `jackdaw setup` secured, by a certificate or
//! by a token, over TLS.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// What a connection shows.
#[derive(Clone, Default)]
pub(crate) enum Credential {
    /// Nothing, in plain text.
    #[default]
    Plain,
    /// Nothing, over TLS.
    Nobody(TlsConnector),
    /// A client certificate, over TLS.
    Certificate(TlsConnector),
    /// A header with a token in each request, over TLS.
    Token(TlsConnector, String),
}

impl Credential {
    pub(crate) fn tls(&self) -> Option<&TlsConnector> {
        match self {
            Credential::Plain => None,
            Credential::Nobody(tls) | Credential::Certificate(tls) | Credential::Token(tls, _) => {
                Some(tls)
            }
        }
    }

    /// The header with the token, if that is how it is proved.
    pub(crate) fn header(&self) -> Option<&str> {
        match self {
            Credential::Token(_, token) => Some(token),
            _ => None,
        }
    }
}

/// TLS that trusts the authority of a server, without a certificate.
///
/// # Errors
/// When `security/authority.pem` of the data directory cannot be read.
pub(crate) fn nobody(data: &Path) -> Result<TlsConnector> {
    let config = ClientConfig::builder().with_root_certificates(trusted(data)?);
    Ok(TlsConnector::from(Arc::new(config.with_no_client_auth())))
}

/// The same as the administrator that `jackdaw setup` made.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn administrator(data: &Path) -> Result<TlsConnector> {
    let file = data.join("security/admin.pem");
    let context = || format!("cannot read {}", file.display());
    let chain = CertificateDer::pem_file_iter(&file).with_context(context)?;
    let chain: Vec<_> = chain.collect::<Result<_, _>>().with_context(context)?;
    let key = PrivateKeyDer::from_pem_file(&file).with_context(context)?;
    let config = ClientConfig::builder().with_root_certificates(trusted(data)?);
    let config = config.with_client_auth_cert(chain, key)?;
    Ok(TlsConnector::from(Arc::new(config)))
}

fn trusted(data: &Path) -> Result<RootCertStore> {
    let file = data.join("security/authority.pem");
    let context = || format!("cannot read {}", file.display());
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&file).with_context(context)? {
        store.add(certificate.with_context(context)?)?;
    }
    Ok(store)
}
