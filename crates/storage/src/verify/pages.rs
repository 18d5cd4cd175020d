//! The data file: checksum, number and kind of every page in use, and the counts of space maps.
//!
//! Pages are found by the space maps, runs of pages by the leaves that refer to them: so a damaged
//! first page of a run does not make its other pages, which have no header, look damaged too.
//! Bytes: docs/format.md, from "Page header" to "Space map".

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use jackdaw_base::hash::xxh3_64;
use jackdaw_io::Vfs;

use super::bytes::{Source, u16_at, u32_at, u64_at};
use super::journal::Live;
use super::meta::Slot;
use super::{VerifyReport, damage_of_file};
use crate::error::{Damage, DamageKind};
use crate::page::PageNumber;

const FILE: &str = "data.jd";
const PAGE: usize = 8192;
const PAGE_BYTES: u64 = 8192;
/// Pages of one space map, itself included.
const GROUP_PAGES: u64 = 32_768;
/// Longest data file.
const PAGES_MAX: u64 = 1 << 31;
const SECTION_PAGES: usize = 2_048;
const HEADER_BYTES: usize = 32;
/// Where the bits of a space map begin.
const BITS_AT: usize = 64;
const KIND_LEAF: u8 = 2;
const KIND_OVERFLOW: u8 = 3;
const KIND_SPACE_MAP: u8 = 12;
const KINDS: [u8; 6] = [1, KIND_LEAF, KIND_OVERFLOW, 4, 5, KIND_SPACE_MAP];

/// What is known of a page before it is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Taken,
    Free,
    /// The map of its group is damaged.
    Unknown,
    /// The next opening writes it anew.
    Pending,
}

struct Pages<'a> {
    source: Source,
    meta: &'a Slot,
    live: &'a Live,
    /// Bits of each sound space map.
    maps: BTreeMap<u64, Vec<u8>>,
    /// Runs that sound leaves refer to: first page to number of pages.
    runs: BTreeMap<u64, u64>,
    /// The sound page of the newest transaction, and that transaction.
    newest: (u64, u64),
}

pub(super) fn verify(
    vfs: &dyn Vfs,
    directory: &Path,
    meta: &Slot,
    live: &Live,
    report: &mut VerifyReport,
) -> io::Result<()> {
    let mut pages = Pages {
        source: Source::open(vfs, &directory.join(FILE))?,
        meta,
        live,
        maps: BTreeMap::new(),
        runs: BTreeMap::new(),
        newest: (0, 0),
    };
    pages.read_maps(report)?;
    pages.collect_runs()?;
    pages.check(report)?;
    let (page, newer) = pages.newest;
    if newer > live.transaction {
        let transaction = live.transaction;
        let what = DamageKind::OlderCopy {
            transaction,
            page,
            newer,
        };
        report.damages.push(damage_of_file("meta", what));
    }
    Ok(())
}

impl Pages<'_> {
    fn page(&mut self, number: u64, page_count: u64) -> io::Result<Option<&[u8]>> {
        let len_bytes = usize::try_from(page_count * PAGE_BYTES).unwrap_or(usize::MAX);
        self.source.read(number * PAGE_BYTES, len_bytes)
    }

    /// Whether the whole page or run has its checksum and its number; `None` past the end.
    fn fault(&mut self, number: u64, page_count: u64) -> io::Result<Option<DamageKind>> {
        let salt = self.meta.salt;
        let Some(bytes) = self.page(number, page_count)? else {
            return Ok(Some(DamageKind::Pointer {
                what: "the length of the file",
                target: number,
            }));
        };
        let expected = u64_at(bytes, 0);
        let actual = xxh3_64(&bytes[8..], salt ^ number);
        if expected != actual {
            return Ok(Some(DamageKind::Checksum { expected, actual }));
        }
        if u64_at(bytes, 8) != number {
            return Ok(Some(DamageKind::PageNumber {
                expected: number,
                actual: u64_at(bytes, 8),
            }));
        }
        let (kind, transaction) = (bytes[24], u64_at(bytes, 16));
        if transaction > self.newest.1 {
            self.newest = (number, transaction);
        }
        Ok((!KINDS.contains(&kind)).then_some(DamageKind::PageKind {
            expected: "a known kind",
            actual: kind,
        }))
    }

    fn read_maps(&mut self, report: &mut VerifyReport) -> io::Result<()> {
        for group in 0..self.live.page_count.min(PAGES_MAX).div_ceil(GROUP_PAGES) {
            let number = group * GROUP_PAGES;
            let is_past_the_end = number * PAGE_BYTES >= self.source.len_bytes;
            if is_past_the_end && !self.is_pending(number) {
                break;
            }
            if self.is_pending(number) {
                report.pending_pages += 1;
                match self.replayed_map(number)? {
                    Some(bits) => drop(self.maps.insert(group, bits)),
                    None => {
                        let what = DamageKind::Encoding {
                            what: "a page difference",
                        };
                        report
                            .damages
                            .push(Damage::on_page(PageNumber(number), what));
                    }
                }
                continue;
            }
            report.pages += 1;
            let mut fault = self.fault(number, 1)?;
            if fault.is_none()
                && let Some(bytes) = self.page(number, 1)?
            {
                fault = map_fault(bytes);
                if fault.is_none() {
                    let bits = bytes[BITS_AT..][..PAGE / 2].to_vec();
                    self.maps.insert(group, bits);
                }
            }
            if let Some(what) = fault {
                report
                    .damages
                    .push(Damage::on_page(PageNumber(number), what));
            }
        }
        Ok(())
    }

    /// Bits of a space map as the next opening will write it.
    fn replayed_map(&mut self, number: u64) -> io::Result<Option<Vec<u8>>> {
        let mut page = vec![0; PAGE];
        if let Some(bytes) = self.page(number, 1)? {
            page.copy_from_slice(bytes);
        }
        let changes = self
            .live
            .map_changes
            .get(&number)
            .map_or(&[][..], Vec::as_slice);
        let fits = changes
            .iter()
            .all(|change| change.apply(&mut page).is_some());
        let is_result = changes.last().is_some_and(|last| last.is_result(&page));
        Ok((fits && is_result).then(|| page[BITS_AT..][..PAGE / 2].to_vec()))
    }

    fn is_pending(&self, number: u64) -> bool {
        self.live.pending.contains(&number)
    }

    fn use_of(&self, number: u64) -> Use {
        if self.is_pending(number) {
            return Use::Pending;
        }
        let Some(bits) = self.maps.get(&(number / GROUP_PAGES)) else {
            return Use::Unknown;
        };
        let position = usize::try_from(number % GROUP_PAGES).expect("below 32,768");
        match bits[position / 8] >> (position % 8) & 1 {
            1 => Use::Free,
            _ => Use::Taken,
        }
    }

    /// Notes the runs that sound leaves refer to.
    fn collect_runs(&mut self) -> io::Result<()> {
        for number in 0..self.live.page_count {
            if number % GROUP_PAGES == 0 || matches!(self.use_of(number), Use::Free | Use::Pending)
            {
                continue;
            }
            let Some(bytes) = self.page(number, 1)? else {
                // Whatever should follow is not there either.
                return Ok(());
            };
            let is_leaf = bytes[24] == KIND_LEAF && u64_at(bytes, 8) == number;
            if !is_leaf || self.fault(number, 1)?.is_some() {
                continue;
            }
            let references = match self.page(number, 1)? {
                Some(bytes) => overflow_references(bytes),
                None => Vec::new(),
            };
            self.runs.extend(references);
        }
        Ok(())
    }

    fn check(&mut self, report: &mut VerifyReport) -> io::Result<()> {
        let mut number = 0;
        // Whether what is here may be the rest of a run whose first page is damaged.
        let mut may_be_inside = false;
        while number < self.live.page_count {
            let known = self.use_of(number);
            if number % GROUP_PAGES == 0 {
                number += 1;
                continue;
            }
            match known {
                Use::Free => report.free_pages += 1,
                Use::Pending => report.pending_pages += 1,
                Use::Taken | Use::Unknown if self.page(number, 1)?.is_none() => {
                    let what = DamageKind::Pointer {
                        what: "the length of the file",
                        target: number,
                    };
                    report
                        .damages
                        .push(Damage::on_page(PageNumber(number), what));
                    return Ok(());
                }
                Use::Taken | Use::Unknown => {
                    number += self.check_place(number, known, &mut may_be_inside, report)?;
                    continue;
                }
            }
            may_be_inside = false;
            number += 1;
        }
        Ok(())
    }

    /// Checks what starts at `number`; how many pages it has.
    fn check_place(
        &mut self,
        number: u64,
        known: Use,
        may_be_inside: &mut bool,
        report: &mut VerifyReport,
    ) -> io::Result<u64> {
        let referred = self.runs.get(&number).copied();
        let head = self.page(number, 1)?;
        let names_itself = head.is_some_and(|bytes| u64_at(bytes, 8) == number);
        let own_count = head.filter(|_| names_itself).map_or(1, own_page_count);
        // A leaf says what is here. But it may be an image of a named snapshot, whose run has an
        // image of its own elsewhere: then what is sound by its own account is.
        let mut page_count = match referred {
            Some(referred) if !self.live.keeps_pages => referred,
            _ => own_count,
        };
        let mut fault = self.fault(number, page_count)?;
        let others = referred.filter(|&referred| referred != page_count);
        if let (Some(referred), Some(_)) = (others, &fault) {
            page_count = referred;
            fault = self.fault(number, referred)?;
        }
        let Some(what) = fault else {
            *may_be_inside = false;
            report.pages += page_count;
            return Ok(page_count);
        };
        // Without a map only what carries a page's own number counts, and no run: it may have been
        // freed and its end used again.
        let is_certain = match known {
            Use::Unknown => names_itself && (own_count == 1 || referred.is_some()),
            _ => names_itself || referred.is_some() || !*may_be_inside,
        };
        if is_certain {
            report.pages += page_count;
            report
                .damages
                .push(Damage::on_page(PageNumber(number), what));
        }
        *may_be_inside = referred.is_none();
        Ok(referred.unwrap_or(1))
    }
}

/// Pages of the run that starts here, by its own header; 1 for every other kind.
fn own_page_count(head: &[u8]) -> u64 {
    match head[24] == KIND_OVERFLOW {
        true => run_pages(u32_at(head, 26)),
        false => 1,
    }
}

fn run_pages(len_bytes: u32) -> u64 {
    (HEADER_BYTES as u64 + u64::from(len_bytes)).div_ceil(PAGE_BYTES)
}

/// Whether the counts of a sound map page agree with its bits.
fn map_fault(page: &[u8]) -> Option<DamageKind> {
    if page[24] != KIND_SPACE_MAP {
        return Some(DamageKind::PageKind {
            expected: "a space map",
            actual: page[24],
        });
    }
    let sections = page[BITS_AT..][..PAGE / 2].chunks_exact(SECTION_PAGES / 8);
    sections.enumerate().find_map(|(section, bits)| {
        let expected = u64::from(u16_at(page, HEADER_BYTES + 2 * section));
        let actual = bits.iter().map(|byte| u64::from(byte.count_ones())).sum();
        let what = "free pages of a section";
        (expected != actual).then_some(DamageKind::Count {
            what,
            expected,
            actual,
        })
    })
}

/// Runs that the entries of a sound leaf refer to. What does not fit the page is skipped.
fn overflow_references(page: &[u8]) -> Vec<(u64, u64)> {
    let lower = usize::from(u16_at(page, 26)).min(PAGE);
    let slots = page.get(64..lower).unwrap_or_default().chunks_exact(8);
    let references = slots.filter_map(|slot| {
        let slot = u64_at(slot, 0);
        if slot >> 14 & 1 == 0 {
            return None;
        }
        let entry = page.get(usize::try_from(slot & 0x1fff).ok()?..)?;
        let head = u32::from_le_bytes([*entry.first()?, *entry.get(1)?, *entry.get(2)?, 0]);
        let suffix_len = (head & 0x7ff) as usize;
        let value = entry.get(3 + suffix_len.saturating_sub(6)..)?.get(..12)?;
        Some((u64_at(value, 0), run_pages(u32_at(value, 8))))
    });
    references.collect()
}
