//! The wrapped data key of an encrypted directory, in the file `jackdaw.encryption` at its top.
//!
//! Called by `EncryptedVfs` for the first file of a directory, and to change the operator's key.
//! The data key is random and never changes; the operator's key only wraps it, so that it can be
//! changed without writing any data. Bytes: docs/format.md, "Encrypted files".
//!
//! Invariants:
//! - Everything but the sealed key is authenticated with it.
//! - The file is written under its lock when it is new, and replaced in one step later, under a
//!   lock file that stays.

use std::io;
use std::path::Path;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use jackdaw_base::hash::xxh3_64_without_checksum;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};
use zeroize::Zeroizing;

use super::key::{EncryptionKey, KeyError};
use super::sectors::{DATA_KEY_BYTES, DataKey};
use crate::vfs::{Durability, OpenMode, OpenOptions, Vfs};

/// Name of the file.
pub(super) const NAME: &str = "jackdaw.encryption";
/// Name of its next version.
pub(super) const TEMPORARY_NAME: &str = "jackdaw.encryption.tmp";
/// Name of the file that is locked while the key is changed; empty. Not the key file, which is
/// another one afterwards.
pub(super) const LOCK_NAME: &str = "jackdaw.encryption.lock";
/// All files that are not encrypted themselves, and not listed.
pub(super) const NAMES: [&str; 3] = [NAME, TEMPORARY_NAME, LOCK_NAME];

const MAGIC: [u8; 8] = *b"JKDWENC1";
const VERSION: u32 = 1;
/// AES-256-XTS by sectors of 512 bytes.
const CIPHER: u32 = 1;
const TAG_BYTES: usize = 16;

/// The file.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct KeyFile {
    magic: [u8; 8],
    version: U32,
    cipher: U32,
    nonce: [u8; 24],
    sealed_key: [u8; DATA_KEY_BYTES + TAG_BYTES],
    checksum: U64,
}

/// Bytes before the nonce, which are authenticated.
const AUTHENTICATED_BYTES: usize = 16;

impl KeyFile {
    fn seal(vfs: &dyn Vfs, data_key: &DataKey, key: &EncryptionKey) -> KeyFile {
        let mut file = KeyFile {
            magic: MAGIC,
            version: VERSION.into(),
            cipher: CIPHER.into(),
            nonce: [0; 24],
            sealed_key: [0; DATA_KEY_BYTES + TAG_BYTES],
            checksum: U64::ZERO,
        };
        vfs.fill_random(&mut file.nonce);
        let payload = Payload {
            msg: &data_key[..],
            aad: &file.as_bytes()[..AUTHENTICATED_BYTES],
        };
        let sealed = cipher_of(key)
            .encrypt(&XNonce::from(file.nonce), payload)
            .expect("80 bytes fit into memory");
        file.sealed_key.copy_from_slice(&sealed);
        file.checksum = xxh3_64_without_checksum(file.as_bytes()).into();
        file
    }

    fn is_sound(&self) -> bool {
        self.magic == MAGIC
            && self.version.get() == VERSION
            && self.cipher.get() == CIPHER
            && self.checksum.get() == xxh3_64_without_checksum(self.as_bytes())
    }

    /// The data key; `None` when it was wrapped with another key.
    fn open(&self, key: &EncryptionKey) -> Option<DataKey> {
        let payload = Payload {
            msg: &self.sealed_key,
            aad: &self.as_bytes()[..AUTHENTICATED_BYTES],
        };
        let opened = cipher_of(key).decrypt(&XNonce::from(self.nonce), payload);
        let opened = Zeroizing::new(opened.ok()?);
        let mut data_key = Zeroizing::new([0; DATA_KEY_BYTES]);
        data_key.copy_from_slice(&opened);
        Some(data_key)
    }
}

fn cipher_of(key: &EncryptionKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(key.bytes().into())
}

const READ: OpenOptions = OpenOptions {
    mode: OpenMode::Read,
    direct: false,
};

/// The file of `directory`; `None` when there is none, or creating it was interrupted.
fn read(vfs: &dyn Vfs, directory: &Path) -> io::Result<Option<KeyFile>> {
    let path = directory.join(NAME);
    if !vfs.exists(&path)? {
        return Ok(None);
    }
    let file = vfs.open(&path, READ)?;
    let len_bytes = file.len_bytes()?;
    if len_bytes == 0 {
        return Ok(None);
    }
    let mut content = KeyFile::new_zeroed();
    if len_bytes == size_of::<KeyFile>() as u64 {
        file.read_at(content.as_mut_bytes(), 0)?;
        if content.as_bytes().iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
    }
    match content.is_sound() {
        true => Ok(Some(content)),
        false => Err(refused(KeyError::Damaged { path })),
    }
}

/// Whether `directory` is the top of an encrypted one.
///
/// # Errors
/// When it cannot be read, or its key file is damaged.
pub fn is_encrypted_directory(vfs: &dyn Vfs, directory: &Path) -> io::Result<bool> {
    Ok(read(vfs, directory)?.is_some())
}

/// Whether `directory` is the top of an encrypted one, and `vfs` does not decrypt it.
///
/// # Errors
/// What the machine refused.
pub fn lacks_key(vfs: &dyn Vfs, directory: &Path) -> io::Result<bool> {
    if !vfs.exists(directory)? {
        return Ok(false);
    }
    // One that decrypts does not list the file.
    let entries = vfs.list(directory)?;
    Ok(entries
        .iter()
        .any(|entry| entry.name == NAME && entry.len_bytes > 0))
}

/// The data key of `directory`; `None` when it is not the top of an encrypted directory.
pub(super) fn open(
    vfs: &dyn Vfs,
    directory: &Path,
    key: &EncryptionKey,
) -> io::Result<Option<DataKey>> {
    let Some(file) = read(vfs, directory)? else {
        return Ok(None);
    };
    let wrong = || {
        refused(KeyError::Wrong {
            path: directory.to_owned(),
        })
    };
    file.open(key).ok_or_else(wrong).map(Some)
}

/// Makes an empty directory the top of an encrypted one.
pub(super) fn create(vfs: &dyn Vfs, directory: &Path, key: &EncryptionKey) -> io::Result<DataKey> {
    let path = directory.join(NAME);
    let _lock = vfs.lock(&path)?;
    if let Some(data_key) = open(vfs, directory, key)? {
        return Ok(data_key);
    }
    let entries = vfs.list(directory)?;
    if entries.iter().any(|entry| entry.name != NAME) {
        // What locking made of it.
        vfs.remove_file(&path)?;
        return Err(refused(KeyError::NotEncrypted {
            path: directory.to_owned(),
        }));
    }
    let mut data_key = Zeroizing::new([0; DATA_KEY_BYTES]);
    vfs.fill_random(&mut data_key[..]);
    let options = OpenOptions {
        mode: OpenMode::ReadWrite,
        direct: false,
    };
    let file = vfs.open(&path, options)?;
    let content = KeyFile::seal(vfs, &data_key, key);
    // Less than a sector: there wholly or not at all.
    file.write_at(content.as_bytes(), 0, Durability::Data)?;
    vfs.sync_directory(directory)?;
    Ok(data_key)
}

/// Wraps the data key of an encrypted directory with another key of the operator. The old one
/// opens the directory until this returns, the new one afterwards; one of them does if the power
/// fails meanwhile. No data is written.
///
/// # Errors
/// A [`KeyError`] when `old` does not open it or another change is on its way, or what the machine
/// refused; nothing was changed.
pub fn change_key(
    vfs: &dyn Vfs,
    directory: &Path,
    old: &EncryptionKey,
    new: &EncryptionKey,
) -> io::Result<()> {
    if !is_encrypted_directory(vfs, directory)? {
        return Err(refused(KeyError::NotEncrypted {
            path: directory.to_owned(),
        }));
    }
    let locked = vfs.lock(&directory.join(LOCK_NAME));
    let _lock = locked.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => refused(KeyError::Changing {
            path: directory.to_owned(),
        }),
        _ => error,
    })?;
    let Some(data_key) = open(vfs, directory, old)? else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let temporary = directory.join(TEMPORARY_NAME);
    if vfs.exists(&temporary)? {
        vfs.remove_file(&temporary)?;
    }
    let options = OpenOptions {
        mode: OpenMode::CreateNew,
        direct: false,
    };
    let file = vfs.open(&temporary, options)?;
    let content = KeyFile::seal(vfs, &data_key, new);
    file.write_at(content.as_bytes(), 0, Durability::Data)?;
    vfs.rename(&temporary, &directory.join(NAME))?;
    vfs.sync_directory(directory)
}

/// An error whose message is the sentence alone.
pub(super) fn refused(error: KeyError) -> io::Error {
    let kind = match error {
        KeyError::Damaged { .. } => io::ErrorKind::InvalidData,
        _ => io::ErrorKind::PermissionDenied,
    };
    io::Error::new(kind, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryVfs;

    #[test]
    fn layout_is_that_of_the_format_page() {
        jackdaw_sim::assert_layout!(
            "io::encrypted::KeyFile",
            KeyFile {
                magic,
                version,
                cipher,
                nonce,
                sealed_key,
                checksum
            }
        );
    }

    #[test]
    fn keys_change_and_wrong_or_damaged_ones_are_told_apart() {
        let vfs = MemoryVfs::new();
        let directory = Path::new("/d");
        vfs.create_directory(directory).unwrap();
        let keys = [1, 2].map(|byte| EncryptionKey::from_bytes([byte; 32]));
        let data_key = create(&*vfs, directory, &keys[0]).unwrap();
        change_key(&*vfs, directory, &keys[0], &keys[1]).unwrap();
        let opened = open(&*vfs, directory, &keys[1]).unwrap();
        assert_eq!(opened.unwrap()[..], data_key[..]);
        let lock = vfs.lock(&directory.join(LOCK_NAME)).unwrap();
        let error = change_key(&*vfs, directory, &keys[1], &keys[0]).unwrap_err();
        let expected = "another process is changing the key of /d: try again when it has ended";
        assert_eq!(error.to_string(), expected);
        drop(lock);
        let error = open(&*vfs, directory, &keys[0]).unwrap_err().to_string();
        assert_eq!(error, "the key is not the one that /d was encrypted with");
        let path = directory.join(NAME);
        let options = OpenOptions {
            mode: OpenMode::ReadWrite,
            direct: false,
        };
        let file = vfs.open(&path, options).unwrap();
        file.write_at(&[9], 50, Durability::Data).unwrap();
        let error = open(&*vfs, directory, &keys[1]).unwrap_err().to_string();
        assert!(
            error.starts_with("/d/jackdaw.encryption is damaged"),
            "{error}"
        );
        file.set_len(3).unwrap();
        assert!(is_encrypted_directory(&*vfs, directory).is_err());
    }
}
