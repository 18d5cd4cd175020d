//! The journal: the records that the data file already holds, and those that would be replayed.
//!
//! Only files from the one that the meta slot names have a meaning; older ones wait to be used
//! again. Before the position of the slot every record has to be sound. Behind it, in an
//! environment that was not closed in order, records follow until one is missing: the last write
//! may be torn, and that is no damage.
//! Bytes: docs/format.md, "Journal".

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use jackdaw_base::hash::xxh3_64;
use jackdaw_base::varint;
use jackdaw_io::{DirectoryEntry, Vfs};

use super::bytes::{Source, is_zero, keeps_pages, u16_at, u32_at, u64_at};
use super::meta::Slot;
use super::{VerifyReport, damage_of_file};
use crate::error::DamageKind;

const DIRECTORY: &str = "journal";
const UNIT_BYTES: u64 = 4096;
const UNIT: usize = 4096;
const RECORD_HEADER_BYTES: usize = 160;
const RECORD_MAGIC: u64 = u64::from_le_bytes(*b"JKDWREC1");
/// Longest payload before compression.
const RAW_BYTES_MAX: usize = 1 << 30;
const FLAG_FOLLOWS_DURABLE: u16 = 1;
/// Every so many pages there is a space map.
const GROUP_PAGES: u64 = 32_768;

/// What the journal adds to the data file.
pub(super) struct Live {
    /// Pages that will be written anew.
    pub(super) pending: BTreeSet<u64>,
    /// What will be done to space maps, in order: without them nobody knows which pages are in use.
    pub(super) map_changes: BTreeMap<u64, Vec<MapChange>>,
    /// Length of the data file in pages after replay.
    pub(super) page_count: u64,
    /// Last transaction of the replay.
    pub(super) transaction: u64,
    /// Whether there are named snapshots after it.
    pub(super) keeps_pages: bool,
}

/// One change of a space map.
pub(super) struct MapChange {
    is_image: bool,
    /// Low half of the hash of the result without its first 8 bytes.
    hash: u32,
    runs: Vec<u8>,
}

impl MapChange {
    /// Changes the page; `None` when the change does not fit it.
    pub(super) fn apply(&self, page: &mut [u8]) -> Option<()> {
        if self.is_image {
            page[8..].fill(0);
        }
        let (mut runs, mut at) = (self.runs.as_slice(), 8_usize);
        loop {
            let head = varint::take(&mut runs)?;
            let words = usize::try_from(varint::take(&mut runs)?).ok()?;
            if words == 0 {
                return Some(());
            }
            at = at.checked_add(usize::try_from(head >> 1).ok()?.checked_mul(8)?)?;
            let len_bytes = words.checked_mul(8)?;
            let target = page.get_mut(at..at.checked_add(len_bytes)?)?;
            if head & 1 == 1 {
                target.fill(0);
            } else {
                target.copy_from_slice(runs.get(..len_bytes)?);
                runs = &runs[len_bytes..];
            }
            at += len_bytes;
        }
    }

    /// Whether the page is what the change promised.
    pub(super) fn is_result(&self, page: &[u8]) -> bool {
        xxh3_64(&page[8..], 0) & u64::from(u32::MAX) == u64::from(self.hash)
    }
}

/// Where the next record is expected, and what it has to continue.
struct Walk<'a> {
    vfs: &'a dyn Vfs,
    directory: &'a Path,
    meta: &'a Slot,
    live: Live,
    chain: u64,
    /// File and start of the last record, if other bytes than zeros are behind it.
    not_filled_up: Option<(String, u64)>,
}

struct FileHeader {
    salt: u64,
    first_transaction: u64,
    previous_chain: u64,
}

/// A sound record header.
struct Record {
    transaction: u64,
    previous_chain: u64,
    payload_hash: u64,
    stored_len: usize,
    raw_len: usize,
    codec: u8,
    page_count: u64,
    keeps_pages: bool,
    chain: u64,
    follows_durable: bool,
}

pub(super) fn verify(
    vfs: &dyn Vfs,
    directory: &Path,
    meta: &Slot,
    report: &mut VerifyReport,
) -> io::Result<Live> {
    let directory = directory.join(DIRECTORY);
    let mut walk = Walk {
        vfs,
        directory: &directory,
        meta,
        chain: meta.journal_chain,
        not_filled_up: None,
        live: Live {
            pending: BTreeSet::new(),
            map_changes: BTreeMap::new(),
            page_count: meta.page_count,
            transaction: meta.synced_transaction,
            keeps_pages: meta.keeps_pages,
        },
    };
    let entries = vfs.list(&directory)?;
    let newest = meta.newest_journal;
    let is_newest = |entry: &DirectoryEntry| {
        number_of(&entry.name) == Some(newest) && entry.len_bytes >= UNIT_BYTES
    };
    if !meta.is_clean && newest >= meta.journal_number && !entries.iter().any(is_newest) {
        let file = format!("{DIRECTORY}/j-{newest:016x}.jnl");
        report
            .damages
            .push(damage_of_file(&file, DamageKind::Missing));
    }
    let mut numbers: Vec<u64> = entries
        .iter()
        .filter_map(|entry| number_of(&entry.name))
        .filter(|&number| number >= meta.journal_number)
        .collect();
    numbers.sort_unstable();
    let mut is_at_end = meta.is_clean;
    for &number in &numbers {
        is_at_end = walk.file(number, is_at_end, report)?;
    }
    Ok(walk.live)
}

impl Walk<'_> {
    /// Checks one file; whether the replay has ended in it, or before.
    fn file(
        &mut self,
        number: u64,
        is_at_end: bool,
        report: &mut VerifyReport,
    ) -> io::Result<bool> {
        let name = format!("j-{number:016x}.jnl");
        let mut source = Source::open(self.vfs, &self.directory.join(&name))?;
        let is_first = number == self.meta.journal_number;
        let position = if is_first {
            self.meta.journal_offset
        } else {
            UNIT_BYTES
        };
        let header = match source.read(0, UNIT)? {
            Some(block) => file_header(block, number, &self.meta.environment_id),
            None => None,
        };
        let file = format!("{DIRECTORY}/{name}");
        let mut damage = |what| report.damages.push(damage_of_file(&file, what));
        let Some(header) = header else {
            // The header of a file without records may be torn; one with records was durable.
            let offset = position.max(UNIT_BYTES);
            if position > UNIT_BYTES || self.find_later(&mut source, offset, false)?.is_some() {
                damage(DamageKind::Encoding {
                    what: "the header of a journal file",
                });
            }
            return Ok(true);
        };
        if let Some(block) = source.read(0, UNIT)?
            && !is_zero(&block[80..])
        {
            damage(DamageKind::Encoding {
                what: "the empty rest of the header of a journal file",
            });
        }
        if is_first {
            self.synced_records(&file, &mut source, &header, report)?;
        } else if is_at_end || !self.continues(&header) {
            if !self.meta.is_clean
                && let Some(found) = self.find_later(&mut source, UNIT_BYTES, true)?
            {
                let first = self.live.transaction + 1;
                let what = DamageKind::LostTransactions { first, found };
                report.damages.push(damage_of_file(&file, what));
            }
            return Ok(true);
        }
        if is_at_end {
            return Ok(true);
        }
        let end = self.live_records(&file, &mut source, position, header.salt, report)?;
        if self.find_later(&mut source, end, true)?.is_some() {
            let what = DamageKind::Record { offset: end };
            report.damages.push(damage_of_file(&file, what));
            return Ok(true);
        }
        Ok(false)
    }

    fn continues(&self, header: &FileHeader) -> bool {
        header.first_transaction == self.live.transaction + 1 && header.previous_chain == self.chain
    }

    /// Records between the header and the position of the meta slot: all have to be sound.
    fn synced_records(
        &self,
        file: &str,
        source: &mut Source,
        header: &FileHeader,
        report: &mut VerifyReport,
    ) -> io::Result<()> {
        let (mut transaction, mut chain) = (
            header.first_transaction.wrapping_sub(1),
            Some(header.previous_chain),
        );
        let mut offset = UNIT_BYTES;
        while offset < self.meta.journal_offset {
            let found = match source.read(offset, UNIT)? {
                Some(unit) => record(unit, Some(header.salt)),
                None => None,
            };
            let Some(found) = found else {
                // Only the first of several units without a sound header is a record.
                if chain.is_some() {
                    let what = DamageKind::Record { offset };
                    report.damages.push(damage_of_file(file, what));
                }
                chain = None;
                offset += UNIT_BYTES;
                continue;
            };
            let follows = chain.is_none_or(|chain| {
                found.previous_chain == chain && found.transaction == transaction.wrapping_add(1)
            });
            let payload = payload(source, offset, &found, header.salt)?;
            let is_sound = payload.is_some_and(|payload| payload.is_filled_up);
            if !is_sound || !follows {
                let what = DamageKind::Record { offset };
                report.damages.push(damage_of_file(file, what));
            }
            report.records += 1;
            (transaction, chain) = (found.transaction, Some(found.chain));
            offset += found.len_bytes();
        }
        let is_at_position = chain.is_none_or(|chain| {
            chain == self.meta.journal_chain && transaction == self.meta.synced_transaction
        });
        if self.meta.journal_offset > UNIT_BYTES && !is_at_position {
            let what = DamageKind::Encoding {
                what: "the position that the meta file gives",
            };
            report.damages.push(damage_of_file(file, what));
        }
        Ok(())
    }

    /// Records that would be replayed from `offset` on; where they end.
    fn live_records(
        &mut self,
        file: &str,
        source: &mut Source,
        mut offset: u64,
        salt: u64,
        report: &mut VerifyReport,
    ) -> io::Result<u64> {
        loop {
            let found = match source.read(offset, UNIT)? {
                Some(unit) => record(unit, Some(salt)),
                None => None,
            };
            let found = found.filter(|found| {
                found.previous_chain == self.chain && found.transaction == self.live.transaction + 1
            });
            let Some(found) = found else {
                return Ok(offset);
            };
            let Some(payload) = payload(source, offset, &found, salt)? else {
                return Ok(offset);
            };
            report.records += 1;
            if note_pages(&payload.bytes, &mut self.live).is_none() {
                return Ok(offset);
            }
            // A torn write may have lost the zeros behind a record, but not a durable one.
            if let Some((file, offset)) = self.not_filled_up.take()
                && found.follows_durable
            {
                let what = DamageKind::Record { offset };
                report.damages.push(damage_of_file(&file, what));
            }
            if !payload.is_filled_up {
                self.not_filled_up = Some((file.to_owned(), offset));
            }
            self.live.page_count = found.page_count;
            self.live.transaction = found.transaction;
            self.live.keeps_pages = found.keeps_pages;
            self.chain = found.chain;
            offset += found.len_bytes();
        }
    }

    /// A transaction at or behind `offset` that was written when the missing one was durable.
    fn find_later(
        &self,
        source: &mut Source,
        mut offset: u64,
        is_next_torn: bool,
    ) -> io::Result<Option<u64>> {
        while let Some(unit) = source.read(offset, UNIT)? {
            if let Some(found) = record(unit, None).filter(|found| found.follows_durable) {
                let is_next = !is_next_torn && found.previous_chain == self.chain;
                if is_next || found.transaction > self.live.transaction + 1 {
                    return Ok(Some(found.transaction));
                }
            }
            offset += UNIT_BYTES;
        }
        Ok(None)
    }
}

impl Record {
    /// Length in the file, whole units.
    fn len_bytes(&self) -> u64 {
        ((RECORD_HEADER_BYTES + self.stored_len) as u64).next_multiple_of(UNIT_BYTES)
    }
}

fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("j-")?.strip_suffix(".jnl")?;
    u64::from_str_radix(digits, 16)
        .ok()
        .filter(|_| digits.len() == 16)
}

fn file_header(block: &[u8], number: u64, environment_id: &[u8; 16]) -> Option<FileHeader> {
    let is_sound = block[..8] == *b"JKDWJNL1"
        && u32_at(block, 8) == 1
        && u32_at(block, 12) == 8192
        && u64_at(block, 16) == number
        && block[24..40] == *environment_id
        && u64_at(block, 72) == xxh3_64(&block[..72], 0);
    is_sound.then(|| FileHeader {
        salt: u64_at(block, 40),
        first_transaction: u64_at(block, 56),
        previous_chain: u64_at(block, 64),
    })
}

/// The record header at the start of `unit`, of the file with that salt or of any file.
fn record(unit: &[u8], salt: Option<u64>) -> Option<Record> {
    let is_sound = u64_at(unit, 152) == xxh3_64(&unit[..152], 0)
        && unit[41] == 1
        && salt.is_none_or(|salt| u64_at(unit, 0) == RECORD_MAGIC ^ salt);
    is_sound.then(|| Record {
        transaction: u64_at(unit, 8),
        previous_chain: u64_at(unit, 16),
        payload_hash: u64_at(unit, 24),
        stored_len: u32_at(unit, 32) as usize,
        raw_len: u32_at(unit, 36) as usize,
        codec: unit[40],
        page_count: u64_at(unit, 48),
        keeps_pages: keeps_pages(&unit[56..]),
        chain: u64_at(unit, 152),
        follows_durable: u16_at(unit, 42) & FLAG_FOLLOWS_DURABLE != 0,
    })
}

/// What a record holds.
struct Payload {
    /// Decompressed.
    bytes: Vec<u8>,
    /// Whether zeros follow up to the next multiple of a unit.
    is_filled_up: bool,
}

/// The payload of a record; `None` when it is not what was written.
fn payload(
    source: &mut Source,
    offset: u64,
    record: &Record,
    salt: u64,
) -> io::Result<Option<Payload>> {
    let end = RECORD_HEADER_BYTES + record.stored_len;
    let len_bytes = end.next_multiple_of(UNIT);
    let Some(bytes) = source.read(offset, len_bytes)? else {
        return Ok(None);
    };
    let stored = &bytes[RECORD_HEADER_BYTES..end];
    let is_sound = xxh3_64(stored, salt ^ record.transaction) == record.payload_hash
        && record.raw_len <= RAW_BYTES_MAX;
    if !is_sound {
        return Ok(None);
    }
    let is_filled_up = is_zero(&bytes[end..]);
    let unpacked = match record.codec {
        0 => Some(stored.to_vec()),
        1 => lz4_flex::block::decompress(stored, record.raw_len).ok(),
        2 => pieces(stored, record.raw_len),
        _ => None,
    };
    Ok(unpacked.map(|bytes| Payload {
        bytes,
        is_filled_up,
    }))
}

/// The payload of a record that was compressed in pieces.
fn pieces(mut stored: &[u8], raw_len: usize) -> Option<Vec<u8>> {
    let mut payload = Vec::new();
    while let Some((head, rest)) = stored.split_at_checked(8) {
        let (raw, packed) = (u32_at(head, 0) as usize, u32_at(head, 4) as usize);
        let (piece, rest) = rest.split_at_checked(packed)?;
        if payload.len() + raw > raw_len {
            return None;
        }
        match raw == packed {
            true => payload.extend_from_slice(piece),
            false => payload.extend(lz4_flex::block::decompress(piece, raw).ok()?),
        }
        stored = rest;
    }
    (stored.is_empty() && payload.len() == raw_len).then_some(payload)
}

/// Notes the pages that a payload changes; `None` when it cannot be read.
fn note_pages(mut payload: &[u8], live: &mut Live) -> Option<()> {
    let mut page = 0_u64;
    while !payload.is_empty() {
        page = page.checked_add(varint::take(&mut payload)?)?;
        let (&kind, rest) = payload.split_first()?;
        payload = rest;
        let page_count = match kind {
            1 | 2 => 1,
            3..=5 => varint::take(&mut payload)?,
            _ => return None,
        };
        if kind == 5 {
            // It is in its place already, and has to be whole there.
            payload = payload.get(8..)?;
            let end = page.checked_add(page_count.min(GROUP_PAGES))?;
            (page..end).for_each(|page| {
                live.pending.remove(&page);
            });
            continue;
        }
        let hash = u32_at(payload.get(..4)?, 0);
        payload = &payload[4..];
        let runs = payload;
        loop {
            let head = varint::take(&mut payload)?;
            let words = usize::try_from(varint::take(&mut payload)?).ok()?;
            if words == 0 {
                break;
            }
            if head & 1 == 0 {
                payload = payload.get(words.checked_mul(8)?..)?;
            }
        }
        if page.is_multiple_of(GROUP_PAGES) {
            let change = MapChange {
                is_image: kind == 1,
                hash,
                runs: runs[..runs.len() - payload.len()].to_vec(),
            };
            live.map_changes.entry(page).or_default().push(change);
        }
        live.pending
            .extend(page..page.checked_add(page_count.min(GROUP_PAGES))?);
    }
    Some(())
}
