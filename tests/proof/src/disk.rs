//! The disk that a suite gives to the engine: one seed of three works on an encrypted one.

use std::sync::Arc;

use jackdaw_io::{DecryptedLimits, EncryptedVfs, EncryptionKey, Vfs};

/// Little enough that pages are given up and loaded again all the time.
const LIMITS: DecryptedLimits = DecryptedLimits {
    budget_bytes: 96 << 10,
    bytes_max: 1 << 30,
};

/// Bytes of an encrypted file before its content.
const HEADER_BYTES: u64 = 4096;

/// `disk`, or an encrypted one over it.
#[must_use]
pub fn of_seed(seed: u64, disk: Arc<dyn Vfs>) -> Arc<dyn Vfs> {
    match is_encrypted(seed) {
        true => EncryptedVfs::new(disk, EncryptionKey::from_bytes([7; 32]), LIMITS),
        false => disk,
    }
}

/// Where byte `offset` of a file is on the disk.
#[must_use]
pub fn place(seed: u64, offset: u64) -> u64 {
    match is_encrypted(seed) {
        true => HEADER_BYTES + offset,
        false => offset,
    }
}

fn is_encrypted(seed: u64) -> bool {
    seed.is_multiple_of(3)
}
