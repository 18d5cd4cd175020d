//! Journal files: names and the header block that starts each of them.
//!
//! Bytes: docs/format.md, "Journal file header".

use jackdaw_base::hash::xxh3_64_without_checksum;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::record::JOURNAL_UNIT_BYTES;
use crate::meta::{EnvironmentId, FORMAT_VERSION};
use crate::page::PAGE_BYTES_U32;

const MAGIC: [u8; 8] = *b"JKDWJNL1";
const NAME_PREFIX: &str = "j-";
const NAME_SUFFIX: &str = ".jnl";

/// First bytes of a journal file; the rest of the first 4,096 bytes is zero.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct JournalFileHeader {
    magic: [u8; 8],
    version: U32,
    page_bytes: U32,
    pub(crate) number: U64,
    environment_id: [u8; 16],
    pub(crate) salt: U64,
    capacity_bytes: U64,
    pub(crate) first_transaction: U64,
    pub(crate) previous_chain: U64,
    checksum: U64,
}

/// What distinguishes one use of a journal file from all others.
pub(crate) struct JournalFileStart {
    pub(crate) number: u64,
    pub(crate) environment_id: EnvironmentId,
    pub(crate) salt: u64,
    pub(crate) capacity_bytes: u64,
    pub(crate) first_transaction: u64,
    pub(crate) previous_chain: u64,
}

impl JournalFileHeader {
    /// The header block of a file.
    pub(crate) fn encode(start: &JournalFileStart, block: &mut [u8]) {
        let mut header = JournalFileHeader {
            magic: MAGIC,
            version: FORMAT_VERSION.into(),
            page_bytes: PAGE_BYTES_U32.into(),
            number: start.number.into(),
            environment_id: start.environment_id.0,
            salt: start.salt.into(),
            capacity_bytes: start.capacity_bytes.into(),
            first_transaction: start.first_transaction.into(),
            previous_chain: start.previous_chain.into(),
            checksum: 0.into(),
        };
        header.checksum = header.hash().into();
        block[..JOURNAL_UNIT_BYTES].fill(0);
        block[..size_of::<JournalFileHeader>()].copy_from_slice(header.as_bytes());
    }

    /// The header in `block`, if it is a sound one of journal `number` of this environment.
    pub(crate) fn parse(
        block: &[u8],
        number: u64,
        environment_id: EnvironmentId,
    ) -> Option<&JournalFileHeader> {
        let (header, _) = JournalFileHeader::ref_from_prefix(block).ok()?;
        let is_sound = header.magic == MAGIC
            && header.checksum.get() == header.hash()
            && header.version.get() == FORMAT_VERSION
            && header.number.get() == number
            && header.environment_id == environment_id.0;
        is_sound.then_some(header)
    }

    fn hash(&self) -> u64 {
        xxh3_64_without_checksum(self.as_bytes())
    }
}

/// File name of journal `number`.
pub(crate) fn journal_name(number: u64) -> String {
    format!("{NAME_PREFIX}{number:016x}{NAME_SUFFIX}")
}

/// Number of the journal file called `name`.
pub(crate) fn journal_number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(NAME_PREFIX)?.strip_suffix(NAME_SUFFIX)?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok())?
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn layout_is_that_of_the_format_page() {
        jackdaw_sim::assert_layout!(
            "storage::journal::file::JournalFileHeader",
            JournalFileHeader {
                magic,
                version,
                page_bytes,
                number,
                environment_id,
                salt,
                capacity_bytes,
                first_transaction,
                previous_chain,
                checksum
            }
        );
    }
}
