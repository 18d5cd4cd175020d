//! The files of a secured server, in `security/` of its data directory, and who is registered.
//!
//! | File | Holds |
//! |---|---|
//! | `authority.pem`, `authority.key` | signs what is made here; clients trust the first |
//! | `server.pem` | the server's certificate, what it is signed by, and its key |
//! | `registry.json` | certificates and API keys with what they may do; of keys only a hash |
//! | `settings.json` | where to listen, and names of the server |
//! | `audit.log` | see `audit` |
//!
//! Used by the command line, on a stopped or a running server alike: a running one sees changed
//! files within a second. Changes are made under a lock, into a new file that takes the old one's
//! place.
//!
//! Invariant: the directory is 0700 and its files 0600 from the moment they exist.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::certificate::{self, Facts, Issued};
use super::key::StoredKey;
use super::registry::{Grant, Registry, StoredCertificate};

/// Name of the directory inside a data directory.
const DIRECTORY: &str = "security";
const AUTHORITY: &str = "authority.pem";
const AUTHORITY_KEY: &str = "authority.key";
const SERVER: &str = "server.pem";
const REGISTRY: &str = "registry.json";
const SETTINGS: &str = "settings.json";
const LOCK: &str = "lock";

/// Life of what is made here, in days. Scanners and clients want servers' to live less than 366.
const SERVER_DAYS: u32 = 365;
const AUTHORITY_DAYS: u32 = 3650;
/// Life of a client's certificate unless told otherwise, in days.
pub const CLIENT_DAYS: u32 = 365;

/// Why something about certificates and keys could not be done. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecurityError {
    /// The directory is not there.
    #[error(
        "{0} is not set up for certificates: run `jackdaw setup` with this data directory first"
    )]
    NotSetUp(PathBuf),
    /// The directory is there already.
    #[error("{0} is there already: remove it first if everybody's access shall be made anew")]
    AlreadySetUp(PathBuf),
    /// A file cannot be read or written.
    #[error("cannot use {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file of secrets can be read by other users of the machine.
    #[error(
        "{0} can be read by other users: run `chmod 600` on it, and think who may have read it"
    )]
    Readable(PathBuf),
    /// A file does not hold what it should.
    #[error("{path} is damaged: {what}. Restore it from a backup")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A certificate cannot be used.
    #[error("the certificate cannot be used: {0}")]
    Certificate(String),
    /// A name, clearance or access makes no sense.
    #[error("{0}")]
    Argument(String),
    /// There is no such certificate or key.
    #[error("there is no {0}; list what there is first")]
    Missing(String),
}

/// What `settings.json` holds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Settings {
    /// Where to listen unless told otherwise on the command line.
    pub listen: Option<std::net::SocketAddr>,
}

/// The directory of a secured server.
#[derive(Clone, Debug)]
pub struct SecurityDirectory {
    path: PathBuf,
}

impl SecurityDirectory {
    /// That of a data directory; `None` when it was never set up. One that cannot be looked at, or
    /// has lost its registry, is there all the same: using it says what is wrong.
    #[must_use]
    pub fn find(data: &Path) -> Option<SecurityDirectory> {
        let path = data.join(DIRECTORY);
        let is_there = path.try_exists().unwrap_or(true);
        is_there.then_some(SecurityDirectory { path })
    }

    /// Makes an authority, a server certificate for `hosts`, and an empty registry.
    ///
    /// # Errors
    /// [`SecurityError::AlreadySetUp`], or a file cannot be written; what is half made is not used.
    pub fn create(
        data: &Path,
        hosts: &[String],
        settings: &Settings,
    ) -> Result<SecurityDirectory, SecurityError> {
        let path = data.join(DIRECTORY);
        let directory = SecurityDirectory { path };
        if directory.file(REGISTRY).exists() {
            return Err(SecurityError::AlreadySetUp(directory.path));
        }
        std::fs::create_dir_all(data).map_err(|error| file_error(data, error))?;
        directory.make_private()?;
        let authority = certificate::new_authority(AUTHORITY_DAYS)?;
        directory.write(AUTHORITY, authority.certificate.as_bytes())?;
        directory.write(AUTHORITY_KEY, authority.key.as_bytes())?;
        directory.renew_server(hosts)?;
        let settings = serde_json::to_vec_pretty(settings).unwrap_or_default();
        directory.write(SETTINGS, &settings)?;
        // The registry last: it says that the directory is complete.
        directory.write(REGISTRY, &Registry::default().to_json())?;
        Ok(directory)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The certificate of the authority, for clients to trust.
    #[must_use]
    pub fn authority_path(&self) -> PathBuf {
        self.file(AUTHORITY)
    }

    /// The settings made at setup.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn settings(&self) -> Result<Settings, SecurityError> {
        let text = self.read(SETTINGS)?;
        serde_json::from_slice(&text).map_err(|error| self.damaged(SETTINGS, error.to_string()))
    }

    /// Makes a new server certificate, which a running server uses within a second.
    ///
    /// # Errors
    /// The authority cannot be read, a host is not a name or address, or a file not written.
    pub fn renew_server(&self, hosts: &[String]) -> Result<(), SecurityError> {
        let authority = self.authority()?;
        let server = certificate::new_server(&authority, hosts, SERVER_DAYS)?;
        let chain = [server.certificate, authority.certificate, server.key].concat();
        self.write(SERVER, chain.as_bytes())
    }

    /// Replaces the server certificate by one made elsewhere: PEM of the chain and of its key.
    ///
    /// # Errors
    /// The text has no usable certificate and key; the old ones stay.
    pub fn replace_server(&self, pem: &[u8]) -> Result<(), SecurityError> {
        crate::http::check_server_identity(pem)?;
        self.write(SERVER, pem)
    }

    /// Makes a certificate for a client and registers it.
    ///
    /// # Errors
    /// See [`SecurityError`]; nothing is registered then.
    pub fn issue_client(
        &self,
        name: &str,
        grant: Grant,
        days: u32,
    ) -> Result<Issued, SecurityError> {
        let issued = certificate::new_client(&self.authority()?, name, days)?;
        self.register(name, issued.certificate.as_bytes(), grant)?;
        Ok(issued)
    }

    /// Registers a certificate made elsewhere, as PEM or DER; gives its thumbprint.
    ///
    /// # Errors
    /// It is unreadable, expired, weak, or not for clients.
    pub fn register(
        &self,
        name: &str,
        certificate: &[u8],
        grant: Grant,
    ) -> Result<String, SecurityError> {
        let facts = Facts::of_client(certificate)?;
        let thumbprint = facts.thumbprint.clone();
        let stored = StoredCertificate::new(name, &facts, grant)?;
        self.change(|registry| {
            registry.put_certificate(stored);
            Ok(())
        })?;
        Ok(thumbprint)
    }

    /// Makes an API key; gives its text, which is nowhere else.
    ///
    /// # Errors
    /// See [`SecurityError`].
    pub fn create_key(&self, name: &str, grant: Grant) -> Result<String, SecurityError> {
        let (text, stored) = StoredKey::create(name, grant)?;
        self.change(|registry| {
            registry.keys.push(stored);
            Ok(())
        })?;
        Ok(text)
    }

    /// Who is registered.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn registry(&self) -> Result<Registry, SecurityError> {
        let text = self.read(REGISTRY)?;
        Registry::parse(&text).map_err(|what| self.damaged(REGISTRY, what))
    }

    /// Changes the registry under the lock.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut Registry) -> Result<T, SecurityError>,
    ) -> Result<T, SecurityError> {
        let path = self.file(LOCK);
        let lock = private_file(&path).map_err(|error| file_error(&path, error))?;
        lock.lock().map_err(|error| file_error(&path, error))?;
        let mut registry = self.registry()?;
        let done = change(&mut registry)?;
        self.write(REGISTRY, &registry.to_json())?;
        Ok(done)
    }

    /// Forgets a certificate: it counts no more, also on connections that are open.
    ///
    /// # Errors
    /// [`SecurityError::Missing`], or a file cannot be written.
    pub fn remove_certificate(&self, thumbprint: &str) -> Result<(), SecurityError> {
        self.change(|registry| match registry.remove_certificate(thumbprint) {
            true => Ok(()),
            false => Err(SecurityError::Missing(format!("certificate {thumbprint}"))),
        })
    }

    /// Forgets a key and its tokens.
    ///
    /// # Errors
    /// [`SecurityError::Missing`], or a file cannot be written.
    pub fn remove_key(&self, id: &str) -> Result<(), SecurityError> {
        self.change(|registry| match registry.remove_key(id) {
            true => Ok(()),
            false => Err(SecurityError::Missing(format!("key {id}"))),
        })
    }

    pub(crate) fn server_pem(&self) -> Result<Vec<u8>, SecurityError> {
        self.read(SERVER)
    }

    /// Where the audit log is.
    #[must_use]
    pub fn audit_path(&self) -> PathBuf {
        self.file("audit.log")
    }

    /// What tells whether files changed: moments and lengths of the registry and the certificate.
    pub(crate) fn stamp(&self) -> [Option<(std::time::SystemTime, u64)>; 2] {
        [REGISTRY, SERVER].map(|name| {
            let facts = std::fs::metadata(self.file(name)).ok()?;
            Some((facts.modified().ok()?, facts.len()))
        })
    }

    fn authority(&self) -> Result<Issued, SecurityError> {
        let text = |name| {
            let bytes = self.read(name)?;
            String::from_utf8(bytes).map_err(|_| self.damaged(name, "it is not text".to_owned()))
        };
        Ok(Issued {
            certificate: text(AUTHORITY)?,
            key: text(AUTHORITY_KEY)?,
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn damaged(&self, name: &str, what: String) -> SecurityError {
        SecurityError::Damaged {
            path: self.file(name),
            what,
        }
    }

    fn make_private(&self) -> Result<(), SecurityError> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let made = builder.create(&self.path);
        made.map_err(|error| file_error(&self.path, error))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, SecurityError> {
        let path = self.file(name);
        #[cfg(unix)]
        if name != AUTHORITY {
            use std::os::unix::fs::PermissionsExt;
            let facts = std::fs::metadata(&path).map_err(|error| file_error(&path, error))?;
            if facts.permissions().mode() & 0o077 != 0 {
                return Err(SecurityError::Readable(path));
            }
        }
        std::fs::read(&path).map_err(|error| file_error(&path, error))
    }

    /// Puts a file in place as a whole, durably.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), SecurityError> {
        let (path, new) = (self.file(name), self.file(&format!("{name}.new")));
        let written = || -> std::io::Result<()> {
            let mut file = private_file(&new)?;
            file.set_len(0)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            std::fs::rename(&new, &path)?;
            File::open(&self.path)?.sync_all()
        };
        written().map_err(|error| file_error(&path, error))
    }
}

/// Opens a file that only its owner may read, making it when missing.
fn private_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn file_error(path: &Path, source: std::io::Error) -> SecurityError {
    SecurityError::File {
        path: path.to_owned(),
        source,
    }
}

/// A name for people: short, without control characters.
pub(super) fn checked_name(name: &str) -> Result<&str, SecurityError> {
    const CHARS_MAX: usize = 128;
    let is_fine = !name.trim().is_empty()
        && name.chars().count() <= CHARS_MAX
        && !name.chars().any(char::is_control);
    let wrong = || {
        let what = format!("a name has 1 to {CHARS_MAX} characters and no control characters");
        SecurityError::Argument(what)
    };
    is_fine.then_some(name).ok_or_else(wrong)
}

/// Members of `permissions` on the wire: `{"db": "ReadWrite"}`.
pub(crate) fn grant_from_json(value: &Value) -> Result<Grant, SecurityError> {
    let clearance = value["SecurityClearance"].as_str().unwrap_or("ValidUser");
    let mut grant = Grant::new(clearance)?;
    for (database, access) in value["Permissions"].as_object().into_iter().flatten() {
        grant = grant.with(database, access.as_str().unwrap_or(""))?;
    }
    Ok(grant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_registered_is_found_again_and_removed() {
        let data = std::env::temp_dir().join(format!("jackdaw-security-{}", std::process::id()));
        let hosts = ["localhost".to_owned()];
        let made = SecurityDirectory::create(&data, &hosts, &Settings::default()).unwrap();
        let again = SecurityDirectory::create(&data, &hosts, &Settings::default());
        assert!(matches!(again, Err(SecurityError::AlreadySetUp(_))));

        let found = SecurityDirectory::find(&data).unwrap();
        let grant = Grant::new("ValidUser")
            .unwrap()
            .with("db1", "Read")
            .unwrap();
        found.issue_client("reader", grant.clone(), 1).unwrap();
        let key = found.create_key("job", grant).unwrap();
        assert!(key.starts_with("jdk_"));
        let registry = made.registry().unwrap();
        assert_eq!((registry.certificates.len(), registry.keys.len()), (1, 1));
        let text = String::from_utf8(registry.to_json()).unwrap();
        let secret = key.rsplit('_').next().unwrap();
        assert!(!text.contains(secret) && !text.contains("PRIVATE"));
        let (thumbprint, id) = (&registry.certificates[0].thumbprint, &registry.keys[0].id);
        let of_other_kind = [found.remove_key(thumbprint), found.remove_certificate(id)];
        for refused in of_other_kind {
            assert!(matches!(refused, Err(SecurityError::Missing(_))));
        }
        found.remove_certificate(thumbprint).unwrap();
        found.remove_key(id).unwrap();
        assert!(made.registry().unwrap().certificates.is_empty());

        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let open = std::fs::Permissions::from_mode(0o644);
            std::fs::set_permissions(found.file(REGISTRY), open).unwrap();
            assert!(matches!(found.registry(), Err(SecurityError::Readable(_))));
        }
        std::fs::remove_dir_all(&data).unwrap();
    }
}
