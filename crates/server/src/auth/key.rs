//! API keys: `jdk_<id>_<secret>`, shown once, kept as an Argon2id hash.
//!
//! A key is only ever exchanged for a token; no request is answered by the key itself, so the slow
//! hash is off the path of requests. An id that is not known costs the same as a wrong secret.

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use super::directory::{SecurityError, checked_name};
use super::registry::Grant;

/// What every key begins with, so that scanners for secrets know one.
const KEY_PREFIX: &str = "jdk_";
const ID_BYTES: usize = 9;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;
/// Memory in KiB, passes, lanes: the least that is recommended for passwords.
const COST: (u32, u32, u32) = (19 * 1024, 2, 1);

/// Bytes from the system's generator.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], SecurityError> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| SecurityError::Argument("the system gives no random numbers".to_owned()))?;
    Ok(bytes)
}

/// Text of random bytes that can stand in a header.
pub(crate) fn random_text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// What is kept of a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct StoredKey {
    /// The part of the key that is no secret.
    pub id: String,
    /// For people.
    pub name: String,
    salt: String,
    hash: String,
    /// What its owner may do.
    #[serde(flatten)]
    pub grant: Grant,
}

impl StoredKey {
    /// A new key: its text, and what is kept of it.
    pub(super) fn create(name: &str, grant: Grant) -> Result<(String, StoredKey), SecurityError> {
        let name = checked_name(name)?.to_owned();
        grant.principal(&name)?;
        // Hexadecimal, because the text of base64 may hold the separator.
        let id = super::certificate::hex(&random::<ID_BYTES>()?);
        let secret = random_text(&random::<32>()?);
        let salt = random::<SALT_BYTES>()?;
        let hash = hash_of(secret.as_bytes(), &salt)?;
        let stored = StoredKey {
            name,
            salt: STANDARD.encode(salt),
            hash: STANDARD.encode(hash),
            grant,
            id,
        };
        Ok((format!("{KEY_PREFIX}{}_{secret}", stored.id), stored))
    }

    /// Whether the secret is this key's. Takes tens of milliseconds and 19 MiB.
    pub(super) fn accepts(&self, secret: &str) -> bool {
        let (Ok(salt), Ok(hash)) = (STANDARD.decode(&self.salt), STANDARD.decode(&self.hash))
        else {
            return false;
        };
        hash_of(secret.as_bytes(), &salt).is_ok_and(|found| is_same(&found, &hash))
    }

    /// Takes as long as [`StoredKey::accepts`], for a key that is not there.
    pub(super) fn refuse(secret: &str) {
        // The result is of no interest, the time it takes is.
        drop(hash_of(secret.as_bytes(), &[0; SALT_BYTES]));
    }
}

/// The id and the secret in the text of a key.
pub(super) fn parts(text: &str) -> Option<(&str, &str)> {
    const TEXT_BYTES_MAX: usize = 256;
    let text = Some(text).filter(|text| text.len() <= TEXT_BYTES_MAX)?;
    text.strip_prefix(KEY_PREFIX)?.split_once('_')
}

fn hash_of(secret: &[u8], salt: &[u8]) -> Result<[u8; HASH_BYTES], SecurityError> {
    let failed = |error: argon2::Error| SecurityError::Argument(format!("hashing failed: {error}"));
    let (memory, passes, lanes) = COST;
    let params = Params::new(memory, passes, lanes, Some(HASH_BYTES)).map_err(failed)?;
    let mut hash = [0; HASH_BYTES];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(secret, salt, &mut hash)
        .map_err(failed)?;
    Ok(hash)
}

/// Compares without telling by its time where the two differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).map(|(a, b)| a ^ b);
    one.len() == other.len() && differences.fold(0, |all, one| all | one) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_accepts_its_own_secret_alone() {
        let grant = Grant::new("Operator").unwrap();
        let (text, stored) = StoredKey::create("job", grant).unwrap();
        let (id, secret) = parts(&text).unwrap();
        assert_eq!(id, stored.id);
        assert!(stored.accepts(secret));
        assert!(!stored.accepts(&secret[1..]));
        assert_eq!(parts("jdk_nothing"), None);
        assert_eq!(parts("other_1_2"), None);
    }
}
