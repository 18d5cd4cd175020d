//! What it takes to reach a secured server: whom to trust, and who comes.
//!
//! PEM texts are read and checked here, so that a mistake in a file is told before any connection.
//! `transport` makes the configuration of its agent of it, `token` exchanges the key.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

/// Where distributions keep the authorities that the system trusts; the first that is there counts.
const SYSTEM_AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt", // Debian, Ubuntu, Arch
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",             // SUSE
    "/etc/ssl/cert.pem",                  // Alpine
];

/// Why options cannot be used. Nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The text has no certificate.
    #[error("there is no certificate in it: it has to be PEM, with BEGIN CERTIFICATE")]
    NoCertificate,
    /// The text has no private key that can be used.
    #[error(
        "there is no private key in it that can be used without a passphrase: put the certificate \
         and its key into one PEM file, as `jackdaw certificate create` does"
    )]
    NoKey,
    /// Certificate and key cannot be used, or not together.
    #[error("the certificate cannot be used with the private key: {0}")]
    Unusable(rustls::Error),
    /// The certificate cannot be that of an authority.
    #[error("its certificate is not one of an authority: {0}")]
    NoAuthority(rustls::Error),
    /// The text is no API key.
    #[error("there is no API key in it: `jackdaw key create` prints one, which begins with jdk_")]
    NoApiKey,
    /// The connection would not be secured.
    #[error(
        "{0} is not the address of a secured server, and everybody on the way could read what is \
         sent: write https://, or leave certificate, authority and API key out"
    )]
    NotSecured(String),
}

/// Whom to trust, and who comes. Without any, the authorities of the system are trusted, and nobody
/// is told who comes.
#[derive(Clone, Default)]
pub struct ConnectOptions {
    authorities: Option<RootCerts>,
    certificate: Option<ClientCert>,
    api_key: Option<String>,
}

impl ConnectOptions {
    /// No options.
    #[must_use]
    pub fn new() -> ConnectOptions {
        ConnectOptions::default()
    }

    /// Trusts servers whose certificates are signed by one of these authorities, PEM, instead of
    /// those of the system.
    ///
    /// # Errors
    /// The text has no certificate, or one that is none of an authority.
    pub fn authority(mut self, pem: &[u8]) -> Result<ConnectOptions, ConnectError> {
        let authorities = certificates(pem)?;
        let mut store = RootCertStore::empty();
        for authority in &authorities {
            let added = store.add(authority.clone());
            added.map_err(ConnectError::NoAuthority)?;
        }
        self.authorities = Some(authorities.iter().map(of_ureq).into());
        Ok(self)
    }

    /// Comes with this certificate and its chain; the private key is in another text, or in the
    /// same given twice.
    ///
    /// # Errors
    /// The texts have no certificate or no key, or they do not belong together.
    pub fn certificate(
        mut self,
        certificate_pem: &[u8],
        key_pem: &[u8],
    ) -> Result<ConnectOptions, ConnectError> {
        let chain = certificates(certificate_pem)?;
        let key = PrivateKeyDer::from_pem_slice(key_pem).map_err(|_| ConnectError::NoKey)?;
        let key_of_ureq = PrivateKey::from_pem(key_pem).map_err(|_| ConnectError::NoKey)?;
        let of_ureq: Vec<_> = chain.iter().map(of_ureq).collect();
        // The agent would panic over what is refused here.
        CertifiedKey::from_der(chain, key, &provider()).map_err(ConnectError::Unusable)?;
        self.certificate = Some(ClientCert::new_with_certs(&of_ureq, key_of_ureq));
        Ok(self)
    }

    /// Comes with this API key, which is exchanged for a token, again when that has ended.
    ///
    /// # Errors
    /// [`ConnectError::NoApiKey`].
    pub fn api_key(mut self, text: &str) -> Result<ConnectOptions, ConnectError> {
        let text = text.trim();
        if !text.starts_with("jdk_") || text.contains(char::is_whitespace) {
            return Err(ConnectError::NoApiKey);
        }
        self.api_key = Some(text.to_owned());
        Ok(self)
    }

    /// Whether what is asked for can be had of this address.
    pub(crate) fn check_address(&self, url: &str) -> Result<(), ConnectError> {
        let is_empty =
            self.authorities.is_none() && self.certificate.is_none() && self.api_key.is_none();
        match is_empty || is_secured(url) {
            true => Ok(()),
            false => Err(ConnectError::NotSecured(url.to_owned())),
        }
    }

    /// The key, and whether anything says who comes.
    pub(crate) fn identity(&self) -> (Option<&str>, bool) {
        let key = self.api_key.as_deref();
        (key, key.is_some() || self.certificate.is_some())
    }

    /// The same for an agent that talks to `url`.
    pub(crate) fn tls(&self, url: &str) -> TlsConfig {
        let authorities = match &self.authorities {
            Some(authorities) => authorities.clone(),
            None if is_secured(url) => system_authorities().into(),
            None => Vec::new().into(),
        };
        TlsConfig::builder()
            .root_certs(authorities)
            .client_cert(self.certificate.clone())
            .unversioned_rustls_crypto_provider(Arc::new(provider()))
            .build()
    }
}

impl std::fmt::Debug for ConnectOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Secrets stay out of logs.
        let mut shown = formatter.debug_struct("ConnectOptions");
        shown
            .field("has_authority", &self.authorities.is_some())
            .field("has_certificate", &self.certificate.is_some())
            .field("has_api_key", &self.api_key.is_some())
            .finish()
    }
}

/// Whether an address is that of a secured server.
pub(crate) fn is_secured(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
}

fn provider() -> CryptoProvider {
    ring::default_provider()
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|_| ConnectError::NoCertificate)?;
    match found.is_empty() {
        true => Err(ConnectError::NoCertificate),
        false => Ok(found),
    }
}

fn of_ureq(certificate: &CertificateDer<'static>) -> Certificate<'static> {
    Certificate::from_der(certificate).to_owned()
}

/// None at all when the system keeps them somewhere else: every server is unknown then.
fn system_authorities() -> Vec<Certificate<'static>> {
    let mut bundles = SYSTEM_AUTHORITIES.iter();
    let pem = bundles.find_map(|path| std::fs::read(path).ok());
    let pem = pem.unwrap_or_default();
    // One that cannot be read must not take the others with it.
    let readable = CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok);
    readable.map(|found| of_ureq(&found)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_in_texts_are_told_before_any_connection() {
        let options = ConnectOptions::new;
        let none = options().authority(b"nothing").unwrap_err();
        assert!(none.to_string().contains("no certificate"), "{none}");
        let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let broken_authority = options().authority(broken).unwrap_err();
        assert!(matches!(broken_authority, ConnectError::NoAuthority(_)));
        let keyless = options().certificate(broken, broken).unwrap_err();
        assert!(matches!(keyless, ConnectError::NoKey), "{keyless}");
        for text in ["", "secret", "jdk_a b"] {
            let refused = options().api_key(text);
            assert!(matches!(refused, Err(ConnectError::NoApiKey)), "{text:?}");
        }
    }

    #[test]
    fn secrets_go_to_secured_servers_alone_and_into_no_log() {
        let options = ConnectOptions::new().api_key("jdk_1_secret\n").unwrap();
        assert!(options.check_address("HTTPS://db:8443").is_ok());
        let refused = options.check_address("http://db:8443").unwrap_err();
        assert!(refused.to_string().contains("write https://"), "{refused}");
        assert!(ConnectOptions::new().check_address("http://db").is_ok());
        assert!(!format!("{options:?}").contains("secret"));
    }
}
