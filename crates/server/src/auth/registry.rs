//! Who is registered: certificates and API keys, and what each may do.
//!
//! `directory` keeps it as `registry.json`; `gate` makes principals of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::certificate::{Facts, Fingerprint, fingerprint, moment};
use super::directory::{SecurityError, checked_name};
use super::key::StoredKey;
use super::principal::{Access, Clearance, Principal};

/// Version of the file.
const VERSION: u32 = 1;
/// Most databases that one registration lists.
const DATABASES_MAX: usize = 10_000;

/// What somebody may do, in the words of the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Grant {
    /// `ValidUser`, `Operator` or `ClusterAdmin`.
    pub security_clearance: String,
    /// `Read`, `ReadWrite` or `Admin` by name of the database.
    pub permissions: BTreeMap<String, String>,
}

impl Grant {
    /// A clearance, without access to any database by name.
    ///
    /// # Errors
    /// The clearance is none.
    pub fn new(clearance: &str) -> Result<Grant, SecurityError> {
        clearance_of(clearance)?;
        Ok(Grant {
            security_clearance: clearance.to_owned(),
            permissions: BTreeMap::new(),
        })
    }

    /// Besides, access to a database, which need not be there.
    ///
    /// # Errors
    /// The access is none, or there are too many databases.
    pub fn with(mut self, database: &str, access: &str) -> Result<Grant, SecurityError> {
        access_of(access)?;
        if self.permissions.len() >= DATABASES_MAX {
            let what = format!("more than {DATABASES_MAX} databases cannot be listed");
            return Err(SecurityError::Argument(what));
        }
        self.permissions
            .insert(database.to_owned(), access.to_owned());
        Ok(self)
    }

    pub(super) fn principal(&self, name: &str) -> Result<Principal, SecurityError> {
        let clearance = clearance_of(&self.security_clearance)?;
        let mut databases = Vec::new();
        for (database, access) in &self.permissions {
            databases.push((database.as_str(), access_of(access)?));
        }
        Ok(Principal::new(name, clearance, databases))
    }

    /// Whether it is at least a cluster administrator's, whom only such a one may make or remove.
    pub(crate) fn is_cluster_admin(&self) -> bool {
        self.security_clearance == Clearance::ClusterAdmin.name()
    }
}

fn clearance_of(word: &str) -> Result<Clearance, SecurityError> {
    let known = [
        Clearance::ValidUser,
        Clearance::Operator,
        Clearance::ClusterAdmin,
    ];
    let found = known.into_iter().find(|one| one.name() == word);
    found.ok_or_else(|| {
        let what = format!("'{word}' is no clearance: use ValidUser, Operator or ClusterAdmin");
        SecurityError::Argument(what)
    })
}

fn access_of(word: &str) -> Result<Access, SecurityError> {
    let known = [Access::Read, Access::Write, Access::Admin];
    let found = known.into_iter().find(|one| one.name() == word);
    found.ok_or_else(|| {
        let what = format!("'{word}' is no access to a database: use Read, ReadWrite or Admin");
        SecurityError::Argument(what)
    })
}

/// A registered certificate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct StoredCertificate {
    /// For people.
    pub name: String,
    /// SHA-1 of the certificate in upper-case hex: its name on the wire.
    pub thumbprint: String,
    /// Base64 of the SHA-256 of the public key.
    pub public_key_pinning_hash: String,
    /// The text of the wire.
    pub not_before: String,
    /// The text of the wire.
    pub not_after: String,
    /// Seconds since 1970 from which on it counts.
    pub valid_from: u64,
    /// Seconds since 1970 from which on it does not count any more.
    pub valid_to: u64,
    /// Base64 of the certificate in DER.
    pub certificate: String,
    /// What its owner may do.
    #[serde(flatten)]
    pub grant: Grant,
}

impl StoredCertificate {
    pub(super) fn new(
        name: &str,
        facts: &Facts,
        grant: Grant,
    ) -> Result<StoredCertificate, SecurityError> {
        let name = checked_name(name)?;
        grant.principal(name)?;
        let seconds = |at: SystemTime| at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Ok(StoredCertificate {
            name: name.to_owned(),
            thumbprint: facts.thumbprint.clone(),
            public_key_pinning_hash: facts.key_hash.clone(),
            not_before: moment(facts.not_before),
            not_after: moment(facts.not_after),
            valid_from: seconds(facts.not_before),
            valid_to: seconds(facts.not_after),
            certificate: STANDARD.encode(&facts.der),
            grant,
        })
    }
}

/// All who are registered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Registry {
    /// Version of the form.
    version: u32,
    /// Certificates.
    pub certificates: Vec<StoredCertificate>,
    /// API keys, without their secrets.
    pub keys: Vec<StoredKey>,
}

impl Default for Registry {
    fn default() -> Registry {
        Registry {
            version: VERSION,
            certificates: Vec::new(),
            keys: Vec::new(),
        }
    }
}

impl Registry {
    pub(super) fn parse(text: &[u8]) -> Result<Registry, String> {
        let registry: Registry = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if registry.version != VERSION {
            return Err(format!("version {} is not known here", registry.version));
        }
        Ok(registry)
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("texts and numbers are always serializable")
    }

    /// Adds a certificate, or replaces what was registered of it.
    pub(crate) fn put_certificate(&mut self, stored: StoredCertificate) {
        self.certificates
            .retain(|one| one.thumbprint != stored.thumbprint);
        self.certificates.push(stored);
    }

    /// The certificate with a thumbprint.
    pub(crate) fn certificate(&mut self, thumbprint: &str) -> Option<&mut StoredCertificate> {
        let mut all = self.certificates.iter_mut();
        all.find(|one| one.thumbprint.eq_ignore_ascii_case(thumbprint))
    }

    /// Forgets a certificate; whether there was one.
    pub(crate) fn remove_certificate(&mut self, thumbprint: &str) -> bool {
        let before = self.certificates.len();
        self.certificates
            .retain(|one| !one.thumbprint.eq_ignore_ascii_case(thumbprint));
        self.certificates.len() < before
    }

    /// Forgets a key; whether there was one.
    pub(crate) fn remove_key(&mut self, id: &str) -> bool {
        let before = self.keys.len();
        self.keys.retain(|one| one.id != id);
        self.keys.len() < before
    }
}

/// A certificate's owner, and when it counts.
#[derive(Clone, Debug)]
pub(super) struct Holder {
    pub(super) principal: Arc<Principal>,
    valid_from: SystemTime,
    valid_to: SystemTime,
}

impl Holder {
    pub(super) fn counts(&self, now: SystemTime) -> bool {
        self.valid_from <= now && now < self.valid_to
    }
}

/// The registry as requests need it.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    pub(super) certificates: HashMap<Fingerprint, Holder>,
    pub(super) keys: HashMap<String, (StoredKey, Arc<Principal>)>,
}

impl Lookup {
    pub(super) fn new(registry: &Registry) -> Result<Lookup, SecurityError> {
        let mut lookup = Lookup::default();
        for stored in &registry.certificates {
            let der = STANDARD.decode(&stored.certificate).map_err(|_| {
                SecurityError::Certificate(format!("{} is not base64", stored.thumbprint))
            })?;
            let principal = stored.grant.principal(&stored.name)?;
            let principal = principal.proved_by(format!("certificate {}", stored.thumbprint));
            let holder = Holder {
                principal: Arc::new(principal),
                valid_from: UNIX_EPOCH + Duration::from_secs(stored.valid_from),
                valid_to: UNIX_EPOCH + Duration::from_secs(stored.valid_to),
            };
            lookup.certificates.insert(fingerprint(&der), holder);
        }
        for stored in &registry.keys {
            let principal = stored.grant.principal(&stored.name)?;
            let principal = Arc::new(principal.proved_by(format!("key {}", stored.id)));
            lookup
                .keys
                .insert(stored.id.clone(), (stored.clone(), principal));
        }
        Ok(lookup)
    }
}
