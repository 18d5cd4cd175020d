//! The meta file: both slots, and which of them counts.
//!
//! Bytes: docs/format.md, "Meta slot".

use std::io;
use std::path::Path;

use jackdaw_base::hash::xxh3_64;
use jackdaw_io::Vfs;

use super::bytes::{Source, is_zero, keeps_pages, u32_at, u64_at};
use super::damage_of_file;
use crate::error::{Damage, DamageKind};

const FILE: &str = "meta";
const SLOT_BYTES: usize = 4096;
/// Where the checksum of a slot is; it covers what is before it.
const CHECKSUM_AT: usize = 200;

/// The only version of the format so far.
pub(super) const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"JKDWMET1";
/// What every encrypted file begins with.
const ENCRYPTED_MAGIC: [u8; 8] = *b"JKDWSEC1";

/// What the file is.
pub(super) enum Verdict {
    Usable(Slot),
    /// No slot is sound: nothing else can be checked.
    Damaged,
    Foreign,
    /// It is encrypted, and read without its key.
    Encrypted,
    OtherVersion(u32),
}

/// What the slot that counts says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    sequence: u64,
    pub(super) environment_id: [u8; 16],
    pub(super) synced_transaction: u64,
    pub(super) journal_number: u64,
    pub(super) journal_offset: u64,
    pub(super) journal_chain: u64,
    pub(super) page_count: u64,
    pub(super) is_clean: bool,
    /// Whether there are named snapshots.
    pub(super) keeps_pages: bool,
    pub(super) salt: u64,
    /// Newest journal file that was started; 0 when that was not noted.
    pub(super) newest_journal: u64,
}

/// The slot that counts, with damages of both.
pub(super) fn verify(
    vfs: &dyn Vfs,
    directory: &Path,
    damages: &mut Vec<Damage>,
) -> io::Result<Verdict> {
    let mut source = Source::open(vfs, &directory.join(FILE))?;
    if source.read(0, ENCRYPTED_MAGIC.len())? == Some(&ENCRYPTED_MAGIC[..]) {
        return Ok(Verdict::Encrypted);
    }
    let len_bytes = source.len_bytes;
    let Some(bytes) = source
        .read(0, 2 * SLOT_BYTES)?
        .filter(|_| len_bytes == 2 * SLOT_BYTES as u64)
    else {
        return Ok(Verdict::Foreign);
    };
    if !bytes
        .chunks_exact(SLOT_BYTES)
        .any(|slot| slot[..8] == MAGIC)
    {
        return Ok(Verdict::Foreign);
    }
    let mut versions = bytes.chunks_exact(SLOT_BYTES).filter_map(other_version);
    if let Some(found) = versions.next() {
        return Ok(Verdict::OtherVersion(found));
    }
    let slots: Vec<Result<Slot, DamageKind>> = bytes
        .chunks_exact(SLOT_BYTES)
        .zip(0..)
        .map(|(bytes, position)| parse(bytes, position))
        .collect();
    let newest = slots
        .iter()
        .flatten()
        .max_by_key(|slot| slot.sequence)
        .copied();
    for (found, bytes) in slots.iter().zip(bytes.chunks_exact(SLOT_BYTES)) {
        let is_not_written_yet = newest.is_some_and(|slot| slot.sequence == 0) && is_zero(bytes);
        if let (Err(what), false) = (found, is_not_written_yet) {
            damages.push(damage_of_file(FILE, what.clone()));
        } else if !is_zero(&bytes[CHECKSUM_AT + 8..]) {
            let what = DamageKind::Encoding {
                what: "the empty rest of a meta slot",
            };
            damages.push(damage_of_file(FILE, what));
        }
    }
    Ok(newest.map_or(Verdict::Damaged, Verdict::Usable))
}

/// Version of a sound slot of another format.
fn other_version(bytes: &[u8]) -> Option<u32> {
    let is_sound = u64_at(bytes, CHECKSUM_AT) == xxh3_64(&bytes[..CHECKSUM_AT], 0);
    let version = u32_at(bytes, 8);
    (bytes[..8] == MAGIC && is_sound && version != VERSION).then_some(version)
}

fn parse(bytes: &[u8], position: u64) -> Result<Slot, DamageKind> {
    let expected = u64_at(bytes, CHECKSUM_AT);
    let actual = xxh3_64(&bytes[..CHECKSUM_AT], 0);
    if expected != actual {
        return Err(DamageKind::Checksum { expected, actual });
    }
    let sequence = u64_at(bytes, 32);
    let is_known = bytes[..8] == MAGIC && u32_at(bytes, 12) == 8192;
    if !is_known || sequence % 2 != position {
        return Err(DamageKind::Encoding {
            what: "a meta slot",
        });
    }
    Ok(Slot {
        sequence,
        environment_id: bytes[16..32].try_into().expect("sixteen bytes"),
        synced_transaction: u64_at(bytes, 40),
        journal_number: u64_at(bytes, 48),
        journal_offset: u64_at(bytes, 56),
        journal_chain: u64_at(bytes, 64),
        page_count: u64_at(bytes, 72),
        is_clean: u64_at(bytes, 120) & 1 != 0,
        keeps_pages: keeps_pages(&bytes[80..]),
        salt: u64_at(bytes, 128),
        newest_journal: u64_at(bytes, 136),
    })
}
