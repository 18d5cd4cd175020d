//! TLS: the server's certificate, and what a client's certificate proves.
//!
//! `listener` hands each accepted socket to [`Tls::accept`], and so does that of subscriptions. Any
//! certificate that a client owns is taken in the handshake, and none is needed: who its owner is,
//! and whether that suffices, is decided for each request by `auth`, so that a client is told in
//! words why it is refused.
//! Nobody's chain counts; a certificate is known by its fingerprint. Versions are TLS 1.3 and 1.2,
//! and only suites that rustls still offers.
//!
//! Invariant: the certificate is only believed of a client that signed the handshake with its key.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::auth::{Caller, Facts, SecurityDirectory, SecurityError, fingerprint};

/// Protocols that are offered, best first.
const PROTOCOLS: &[&[u8]] = &[b"h2", b"http/1.1"];

/// What new connections are served with; replaced as a whole.
#[derive(Debug)]
pub(crate) struct Tls {
    current: RwLock<Identity>,
}

#[derive(Clone, Debug)]
struct Identity {
    config: Arc<ServerConfig>,
    hosts: Vec<String>,
    /// Without its chain.
    certificate: CertificateDer<'static>,
}

impl Tls {
    pub(crate) fn load(directory: &SecurityDirectory) -> Result<Tls, SecurityError> {
        let identity = identity_of(&directory.server_pem()?)?;
        Ok(Tls {
            current: RwLock::new(identity),
        })
    }

    /// Reads the certificate again; connections that are open keep the old one.
    pub(crate) fn reload(&self, directory: &SecurityDirectory) -> Result<(), SecurityError> {
        let identity = identity_of(&directory.server_pem()?)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = identity;
        Ok(())
    }

    fn current(&self) -> Identity {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Names that the certificate is for.
    pub(crate) fn hosts(&self) -> Vec<String> {
        self.current().hosts
    }

    /// The server's certificate as DER, by which clients know it again.
    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        self.current().certificate
    }

    /// Shakes hands within `timeout`, and gives what the client proves. `None` when that fails:
    /// there is nobody to tell.
    pub(crate) async fn accept(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        timeout: Duration,
    ) -> Option<(TlsStream<TcpStream>, Caller)> {
        let acceptor = TlsAcceptor::from(self.current().config);
        let stream = match tokio::time::timeout(timeout, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                tracing::debug!(%peer, %error, "the handshake failed");
                return None;
            }
            Err(_) => {
                tracing::debug!(%peer, "the handshake took too long");
                return None;
            }
        };
        let certificates = stream.get_ref().1.peer_certificates();
        let first = certificates.and_then(<[_]>::first);
        let certificate = first.map(|der| fingerprint(der));
        Some((stream, Caller { peer, certificate }))
    }
}

/// Whether a PEM text has a chain and the key that belongs to it.
pub(crate) fn check_server_identity(pem: &[u8]) -> Result<(), SecurityError> {
    identity_of(pem).map(drop)
}

fn identity_of(pem: &[u8]) -> Result<Identity, SecurityError> {
    let unusable = |what: String| SecurityError::Certificate(what);
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let chain = chain.map_err(|error| unusable(error.to_string()))?;
    let Some(first) = chain.first() else {
        return Err(unusable("there is no certificate in the file".to_owned()));
    };
    let hosts = Facts::read(first)?.hosts;
    let certificate = first.clone();
    let key = PrivateKeyDer::from_pem_slice(pem);
    let key = key.map_err(|_| unusable("there is no private key in the file".to_owned()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Arc::new(AnyClient::new(&provider));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(error.to_string()))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(|error| unusable(error.to_string()))?;
    config.alpn_protocols = PROTOCOLS.iter().map(|name| name.to_vec()).collect();
    Ok(Identity {
        config: Arc::new(config),
        hosts,
        certificate,
    })
}

/// Takes every certificate whose owner proves to have its key. See the file head.
#[derive(Debug)]
struct AnyClient {
    algorithms: WebPkiSupportedAlgorithms,
}

impl AnyClient {
    fn new(provider: &CryptoProvider) -> AnyClient {
        AnyClient {
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

impl ClientCertVerifier for AnyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
