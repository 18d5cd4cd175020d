//! A small program that writes as a storage engine does: checksummed records appended durably to
//! preallocated journals, pages written in place and synced, journals replaced by new ones.
//!
//! It remembers what it was told is durable, and since which operation; [`check`] reads a disk
//! back and compares.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_base::hash::xxh3_64;
use jackdaw_io::{AlignedBuffer, Durability, OpenMode, OpenOptions, Vfs, VfsFile};
use jackdaw_sim::{Rng, SimVfs};

const BLOCK: usize = 4096;
const SECTOR: usize = 512;
const JOURNAL_BYTES: u64 = 16 * BLOCK as u64;
const PAGES: u64 = 6;
const RECORDS_PER_FLUSH: u64 = 4;

/// A mistake of the program, put there to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    None,
    /// Pages are not synced before they count as durable.
    SkipSync,
    /// New journals are used without syncing their directory.
    SkipDirectorySync,
    /// Records count as durable before they are written.
    AcknowledgeEarly,
    /// Records are written without durability.
    WriteVolatile,
}

/// What the program was told, each with the number of operations done by then.
#[derive(Clone, Debug, Default)]
pub(crate) struct Promises {
    /// Record `i + 1` is durable.
    pub(crate) records: Vec<u64>,
    /// Page and its version.
    pages: Vec<(u64, u64, u64)>,
}

/// Runs the program until it has written `record_count` records or meets an error.
pub(crate) fn run(
    vfs: &Arc<SimVfs>,
    record_count: u64,
    mistake: Mistake,
    promises: &mut Promises,
) -> io::Result<()> {
    let directory = Path::new("server/db");
    vfs.create_directory(directory)?;
    let data = create(vfs, &directory.join("data"))?;
    data.set_len(PAGES * BLOCK as u64)?;
    data.sync()?;
    vfs.sync_directory(directory)?;
    let mut rng = Rng::new(record_count);
    let mut journal_number = 0;
    let mut journal = new_journal(vfs, journal_number, mistake)?;
    let mut end = 0;
    for number in 1..=record_count {
        let record = encode_record(number, 1 + rng.below_usize(2 * BLOCK));
        if end + record.len() as u64 > JOURNAL_BYTES {
            journal_number += 1;
            journal = new_journal(vfs, journal_number, mistake)?;
            end = 0;
        }
        if mistake == Mistake::AcknowledgeEarly {
            promises.records.push(vfs.operation_count());
        }
        let durability = match mistake {
            Mistake::WriteVolatile => Durability::None,
            _ => Durability::Data,
        };
        journal.write_at(&record, end, durability)?;
        if mistake != Mistake::AcknowledgeEarly {
            promises.records.push(vfs.operation_count());
        }
        end += record.len() as u64;
        if number % RECORDS_PER_FLUSH == 0 {
            flush(vfs, &data, number, &mut rng, mistake, promises)?;
        }
    }
    Ok(())
}

/// Writes some pages as of record `version` and makes them durable.
fn flush(
    vfs: &SimVfs,
    data: &Arc<dyn VfsFile>,
    version: u64,
    rng: &mut Rng,
    mistake: Mistake,
    promises: &mut Promises,
) -> io::Result<()> {
    let mut pages: Vec<u64> = (0..PAGES).filter(|_| rng.chance(2)).collect();
    rng.shuffle(&mut pages);
    for &page in &pages {
        data.write_at(
            &encode_page(page, version),
            page * BLOCK as u64,
            Durability::None,
        )?;
    }
    if mistake != Mistake::SkipSync {
        data.sync()?;
    }
    let done = vfs.operation_count();
    promises
        .pages
        .extend(pages.iter().map(|&page| (page, version, done)));
    Ok(())
}

fn new_journal(vfs: &SimVfs, number: u64, mistake: Mistake) -> io::Result<Arc<dyn VfsFile>> {
    let file = create(vfs, &journal_path(number))?;
    file.allocate(0, JOURNAL_BYTES)?;
    file.sync()?;
    if mistake != Mistake::SkipDirectorySync {
        vfs.sync_directory(Path::new("server/db"))?;
    }
    Ok(file)
}

fn create(vfs: &SimVfs, path: &Path) -> io::Result<Arc<dyn VfsFile>> {
    vfs.open(
        path,
        OpenOptions {
            mode: OpenMode::CreateNew,
            direct: true,
        },
    )
}

fn journal_path(number: u64) -> PathBuf {
    format!("server/db/journal-{number}").into()
}

/// Record: number, length, checksum, payload; whole blocks.
fn encode_record(number: u64, payload_len: usize) -> AlignedBuffer {
    let mut record = AlignedBuffer::zeroed(24 + payload_len);
    Rng::new(number).fill(&mut record[24..]);
    let checksum = xxh3_64(&record[24..], number);
    record[..8].copy_from_slice(&number.to_le_bytes());
    record[8..16].copy_from_slice(&(payload_len as u64).to_le_bytes());
    record[16..24].copy_from_slice(&checksum.to_le_bytes());
    record.pad_to_alignment();
    record
}

/// Each sector of a page tells its page, version and checksum, as pages have no journal here.
fn encode_page(page: u64, version: u64) -> AlignedBuffer {
    let mut bytes = AlignedBuffer::zeroed(BLOCK);
    for sector in bytes.chunks_exact_mut(SECTOR) {
        sector[..8].copy_from_slice(&page.to_le_bytes());
        sector[8..16].copy_from_slice(&version.to_le_bytes());
        sector[24..].fill(version.to_le_bytes()[0]);
        let checksum = xxh3_64(&sector[24..], page ^ version);
        sector[16..24].copy_from_slice(&checksum.to_le_bytes());
    }
    bytes
}

/// Reads the disk back: everything promised by operation `completed` has to be there, and
/// nothing may be half there.
pub(crate) fn check(vfs: &SimVfs, completed: u64, promises: &Promises) -> Result<(), String> {
    let promised = promises
        .records
        .iter()
        .filter(|&&done| done <= completed)
        .count() as u64;
    let found = read_records(vfs).map_err(|error| error.to_string())?;
    if found < promised {
        return Err(format!(
            "{promised} records were promised, {found} are there"
        ));
    }
    let pages: Vec<(u64, u64)> = promises
        .pages
        .iter()
        .filter(|&&(_, _, done)| done <= completed)
        .map(|&(page, version, _)| (page, version))
        .collect();
    if pages.is_empty() {
        return Ok(());
    }
    let data = vfs
        .file_bytes(Path::new("server/db/data"))
        .map_err(|error| error.to_string())?;
    for (page, promised) in pages {
        let start = usize::try_from(page).expect("few pages") * BLOCK;
        let bytes = data
            .get(start..start + BLOCK)
            .ok_or("the data file is too short")?;
        for sector in bytes.chunks_exact(SECTOR) {
            let version = number_at(sector, 8);
            let checksum = xxh3_64(&sector[24..], page ^ version);
            let is_whole = number_at(sector, 0) == page && number_at(sector, 16) == checksum;
            if !is_whole || version < promised {
                return Err(format!("page {page} has version {version}, not {promised}"));
            }
        }
    }
    Ok(())
}

/// Number of records found in order.
pub(crate) fn read_records(vfs: &SimVfs) -> io::Result<u64> {
    let mut last = 0;
    for journal_number in 0.. {
        let bytes = match vfs.file_bytes(&journal_path(journal_number)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            result => result?,
        };
        let mut rest = &bytes[..];
        while let Some(payload) = valid_payload(rest, last + 1) {
            last += 1;
            rest = &rest[(24 + payload).next_multiple_of(BLOCK)..];
        }
    }
    Ok(last)
}

/// Payload length of the record at the start of `bytes`, if it is whole and has this number.
fn valid_payload(bytes: &[u8], number: u64) -> Option<usize> {
    let header = bytes.get(..24)?;
    let payload_len = usize::try_from(number_at(header, 8)).ok()?;
    let payload = bytes.get(24..24_usize.checked_add(payload_len)?)?;
    let is_valid =
        number_at(header, 0) == number && number_at(header, 16) == xxh3_64(payload, number);
    is_valid.then_some(payload_len)
}

fn number_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
