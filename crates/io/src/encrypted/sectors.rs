//! The cipher of a sector: AES-256 in XTS mode, as disks are encrypted.
//!
//! Used by `file` and `mapping`. Length stays length and every sector stands for itself, so that a
//! torn write is a mixture of old and new sectors here as it is on a plain disk.
//!
//! Invariants:
//! - A sector of zeros is stored as zeros: holes and space that was reserved read as zeros without
//!   having been written.
//! - No two sectors of all files of a key share a tweak: a file begins at a random one of 2^128.

use aes::Aes256;
use aes::cipher::{Array, KeyInit};
use xts_mode::Xts128;
use zeroize::{Zeroize, Zeroizing};

/// What a disk writes wholly or not at all.
pub(super) const SECTOR_BYTES: usize = 512;
/// The last sector of a file may be shorter, but not shorter than a block of the cipher.
pub(super) const SHORT_SECTOR_BYTES_MIN: usize = 16;
/// Two keys of 32 bytes: one for the data, one for the tweaks.
pub(super) const DATA_KEY_BYTES: usize = 64;

const ZEROS: [u8; SECTOR_BYTES] = [0; SECTOR_BYTES];

/// The key that the data of a directory is encrypted with.
pub(super) type DataKey = Zeroizing<[u8; DATA_KEY_BYTES]>;

/// See the file head. The cipher forgets its keys when it is dropped.
pub(super) struct SectorCipher {
    xts: Xts128<Aes256>,
}

impl SectorCipher {
    pub(super) fn new(key: &DataKey) -> SectorCipher {
        let (data, tweak) = key.split_at(DATA_KEY_BYTES / 2);
        SectorCipher {
            xts: Xts128::new(cipher_of(data), cipher_of(tweak)),
        }
    }

    /// Encrypts whole sectors in place, of which the first has `tweak`; the last one may be short.
    pub(super) fn encrypt(&self, bytes: &mut [u8], tweak: u128) {
        for (number, sector) in (0_u128..).zip(bytes.chunks_mut(SECTOR_BYTES)) {
            if !is_zero(sector) {
                self.xts.encrypt_sector(sector, array_of(tweak, number));
            }
        }
    }

    /// Takes [`SectorCipher::encrypt`] back.
    pub(super) fn decrypt(&self, bytes: &mut [u8], tweak: u128) {
        for (number, sector) in (0_u128..).zip(bytes.chunks_mut(SECTOR_BYTES)) {
            if !is_zero(sector) {
                self.xts.decrypt_sector(sector, array_of(tweak, number));
            }
        }
    }
}

fn cipher_of(half: &[u8]) -> Aes256 {
    let mut key = Array::default();
    key.copy_from_slice(half);
    let cipher = Aes256::new(&key);
    key.as_mut_slice().zeroize();
    cipher
}

fn array_of(tweak: u128, number: u128) -> Array<u8, aes::cipher::consts::U16> {
    Array(tweak.wrapping_add(number).to_le_bytes())
}

fn is_zero(sector: &[u8]) -> bool {
    *sector == ZEROS[..sector.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cipher() -> SectorCipher {
        let mut key = [0; DATA_KEY_BYTES];
        for (byte, number) in key.iter_mut().zip(0_u8..) {
            *byte = number;
        }
        SectorCipher::new(&Zeroizing::new(key))
    }

    #[test]
    fn sectors_come_back_and_stand_for_themselves() {
        let plain: Vec<u8> = (0..=250).cycle().take(1300).collect();
        let mut sealed = plain.clone();
        cipher().encrypt(&mut sealed, u128::MAX);
        assert_ne!(sealed[..16], plain[..16]);
        let mut middle = sealed[512..1024].to_vec();
        cipher().decrypt(&mut middle, 0);
        assert_eq!(middle, plain[512..1024], "tweaks go on behind the largest");
        cipher().decrypt(&mut sealed, u128::MAX);
        assert_eq!(sealed, plain);
    }

    #[test]
    fn equal_sectors_differ_and_zeros_stay() {
        let mut bytes = vec![7; 1024];
        bytes.extend([0; 512]);
        cipher().encrypt(&mut bytes, 9);
        assert_ne!(bytes[..512], bytes[512..1024]);
        assert!(is_zero(&bytes[1024..]));
    }

    /// XTS-AES-256, vector 10 of IEEE 1619-2007: 512 bytes, data unit 0xff.
    #[test]
    fn agrees_with_the_vector_of_the_standard() {
        let digits = "2718281828459045235360287471352662497757247093699959574966967627\
                      3141592653589793238462643383279502884197169399375105820974944592";
        let mut key = [0; DATA_KEY_BYTES];
        for (at, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
        }
        let mut bytes: Vec<u8> = (0..=255).cycle().take(SECTOR_BYTES).collect();
        SectorCipher::new(&Zeroizing::new(key)).encrypt(&mut bytes, 0xff);
        let start = [0x1c, 0x3b, 0x3a, 0x10, 0x2f, 0x77, 0x03, 0x86];
        assert_eq!(bytes[..8], start);
    }
}
