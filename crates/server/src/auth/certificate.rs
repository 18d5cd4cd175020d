//! Certificates: reading what matters of one, and making new ones.
//!
//! `directory` keeps them, `http::tls` serves with them. A certificate is known by the SHA-256 of
//! its bytes; the thumbprint that clients use as a name is SHA-1 and is not trusted for more.
//!
//! Invariant: private keys are made here and handed out once; the server keeps its own and its
//! authority's, never a client's.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackdaw_base::time::UnixTicks;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use ring::digest;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::directory::SecurityError;

/// SHA-256 of a certificate.
pub(crate) type Fingerprint = [u8; 32];

/// Clocks of machines differ; a new certificate is valid a little before it was made.
const CLOCK_SLACK: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Longest life of anything made here.
const DAYS_MAX: u32 = 3650;
/// Shortest RSA key that is accepted.
const RSA_BITS_MIN: usize = 2048;
/// Longest certificate that is read.
const LEN_BYTES_MAX: usize = 64 << 10;

/// The SHA-256 of a certificate's bytes.
pub(crate) fn fingerprint(der: &[u8]) -> Fingerprint {
    let digest = digest::digest(&digest::SHA256, der);
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// What matters of a certificate.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) der: Vec<u8>,
    /// SHA-1 in upper-case hex, as clients show it.
    pub(crate) thumbprint: String,
    /// Base64 of the SHA-256 of the public key.
    pub(crate) key_hash: String,
    pub(crate) not_before: SystemTime,
    pub(crate) not_after: SystemTime,
    /// Names it is for, in lower case.
    pub(crate) hosts: Vec<String>,
}

impl Facts {
    /// Reads a certificate as PEM or DER, and refuses one that must not be used by a client.
    pub(crate) fn of_client(bytes: &[u8]) -> Result<Facts, SecurityError> {
        let facts = Facts::read(bytes)?;
        let (_, parsed) = X509Certificate::from_der(&facts.der).map_err(|_| unreadable())?;
        if let Ok(Some(usage)) = parsed.extended_key_usage()
            && !usage.value.any
            && !usage.value.client_auth
        {
            return Err(SecurityError::Certificate(
                "it is not for authenticating clients (extended key usage)".to_owned(),
            ));
        }
        let key = parsed.public_key().parsed();
        if let Ok(x509_parser::public_key::PublicKey::RSA(key)) = key
            && key.key_size() < RSA_BITS_MIN
        {
            return Err(SecurityError::Certificate(format!(
                "its RSA key has fewer than {RSA_BITS_MIN} bits"
            )));
        }
        if facts.not_after <= SystemTime::now() {
            return Err(SecurityError::Certificate("it has expired".to_owned()));
        }
        Ok(facts)
    }

    /// Reads the first certificate of a PEM text, or one in DER.
    pub(crate) fn read(bytes: &[u8]) -> Result<Facts, SecurityError> {
        if bytes.len() > LEN_BYTES_MAX {
            return Err(unreadable());
        }
        let der = match CertificateDer::from_pem_slice(bytes) {
            Ok(der) => der.to_vec(),
            Err(_) => bytes.to_vec(),
        };
        let (_, parsed) = X509Certificate::from_der(&der).map_err(|_| unreadable())?;
        let moment = |seconds: i64| {
            UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
        };
        let hosts = match parsed.subject_alternative_name() {
            Ok(Some(names)) => names
                .value
                .general_names
                .iter()
                .filter_map(|name| match name {
                    x509_parser::extensions::GeneralName::DNSName(name) => {
                        Some(name.to_ascii_lowercase())
                    }
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        let sha1 = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &der);
        let key_hash = digest::digest(&digest::SHA256, parsed.public_key().raw);
        Ok(Facts {
            thumbprint: hex(sha1.as_ref()).to_ascii_uppercase(),
            key_hash: super::base64_of(key_hash.as_ref()),
            not_before: moment(parsed.validity().not_before.timestamp()),
            not_after: moment(parsed.validity().not_after.timestamp()),
            hosts,
            der,
        })
    }
}

fn unreadable() -> SecurityError {
    SecurityError::Certificate("it is neither PEM nor DER of an X.509 certificate".to_owned())
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A moment in the text of the wire.
pub(crate) fn moment(at: SystemTime) -> String {
    let since_epoch = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixTicks::from_unix(since_epoch).to_string()
}

/// A certificate and its private key, both as PEM.
#[derive(Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// The private key. It is nowhere else.
    pub key: String,
}

impl Issued {
    /// Writes key and certificate into a new file that only its owner may read.
    ///
    /// # Errors
    /// The file is there already, or cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), SecurityError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = || -> std::io::Result<()> {
            let mut file = options.open(path)?;
            file.write_all(self.key.as_bytes())?;
            file.write_all(self.certificate.as_bytes())?;
            file.sync_all()
        };
        written().map_err(|source| SecurityError::File {
            path: path.to_owned(),
            source,
        })
    }
}

impl std::fmt::Debug for Issued {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Issued");
        shown
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

/// A new authority that signs certificates of servers and clients.
pub(crate) fn new_authority(days: u32) -> Result<Issued, SecurityError> {
    let mut params = params("Jackdaw authority", &[], days)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate().map_err(|error| failed(&error))?;
    let certificate = params.self_signed(&key).map_err(|error| failed(&error))?;
    Ok(Issued {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    })
}

/// A certificate for a server with these names and addresses.
pub(crate) fn new_server(
    authority: &Issued,
    hosts: &[String],
    days: u32,
) -> Result<Issued, SecurityError> {
    let name = hosts.first().map_or("localhost", String::as_str);
    let mut params = params(name, hosts, days)?;
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    sign(params, authority)
}

/// A certificate for a client.
pub(crate) fn new_client(
    authority: &Issued,
    name: &str,
    days: u32,
) -> Result<Issued, SecurityError> {
    let mut params = params(name, &[], days)?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    sign(params, authority)
}

fn params(name: &str, hosts: &[String], days: u32) -> Result<CertificateParams, SecurityError> {
    let mut params = CertificateParams::new(hosts.to_vec()).map_err(|error| failed(&error))?;
    params.distinguished_name.push(DnType::CommonName, name);
    let now = SystemTime::now();
    params.not_before = (now - CLOCK_SLACK).into();
    params.not_after = (now + DAY * days.min(DAYS_MAX)).into();
    Ok(params)
}

fn sign(mut params: CertificateParams, authority: &Issued) -> Result<Issued, SecurityError> {
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    let signer = KeyPair::from_pem(&authority.key).map_err(|error| failed(&error))?;
    let issuer = Issuer::from_ca_cert_pem(&authority.certificate, signer);
    let issuer = issuer.map_err(|error| failed(&error))?;
    let key = KeyPair::generate().map_err(|error| failed(&error))?;
    let certificate = params
        .signed_by(&key, &issuer)
        .map_err(|error| failed(&error))?;
    Ok(Issued {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    })
}

fn failed(error: &rcgen::Error) -> SecurityError {
    SecurityError::Certificate(format!("it could not be made: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_certificate_reads_back_and_one_for_servers_only_is_refused_for_clients() {
        let authority = new_authority(10).unwrap();
        let client = new_client(&authority, "reporting", 1).unwrap();
        let facts = Facts::of_client(client.certificate.as_bytes()).unwrap();
        assert_eq!(facts.thumbprint.len(), 40);
        assert!(facts.not_after > SystemTime::now() && facts.not_before < SystemTime::now());
        let der = Facts::of_client(&facts.der).unwrap();
        assert_eq!(der.thumbprint, facts.thumbprint);

        let server = new_server(
            &authority,
            &["db.example".to_owned(), "10.0.0.1".to_owned()],
            1,
        );
        let server = Facts::read(server.unwrap().certificate.as_bytes()).unwrap();
        assert_eq!(server.hosts, ["db.example"]);
        let expired = new_client(&authority, "old", 0).unwrap();
        assert!(Facts::of_client(expired.certificate.as_bytes()).is_err());
        assert!(Facts::of_client(b"-----BEGIN nothing").is_err());
    }
}
