//! Free space: which pages of the data file hold nothing, and where new pages are taken from.
//!
//! Every 32,768th page (256 MiB) is a space map: one bit for each page of its group, set when the
//! page is free, and the number of free pages in each of its 16 sections of 2,048 pages (16 MiB).
//! Maps are ordinary pages, so commits and recovery treat them like any other, and finding free
//! pages never needs to allocate one. Allocation stays in a section as long as it has room: pages
//! written together lie together. Bytes: docs/format.md, "Space map".
//!
//! Invariants:
//! - The summary equals the counts in the map pages as this transaction sees them. A damaged map,
//!   or one that could not be read, counts as one without free pages: nothing is taken from its
//!   group, and giving a page of the group back is refused with the damage, or reads it again.
//! - Pages at or behind `page_count` have their bit clear; they are taken by growing the file.

use jackdaw_base::width::to_usize;
use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::pages::TransactionPages;
use crate::error::{DamageKind, StorageError};
use crate::memory::PageTable;
use crate::page::{PAGE_BYTES, PAGE_HEADER_BYTES, Page, PageKind, PageNumber, PageRead, PageWrite};
use crate::planted::{Planted, is_planted};

/// Pages described by one map, the map included.
pub(crate) const GROUP_PAGES: u64 = 32_768;
const SECTION_PAGES: u64 = 2_048;
const SECTIONS_PER_GROUP: usize = (GROUP_PAGES / SECTION_PAGES) as usize;
const WORDS_PER_SECTION: usize = (SECTION_PAGES / 64) as usize;
const WORDS_PER_GROUP: usize = (GROUP_PAGES / 64) as usize;

/// Body of a space map page, behind the page header.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct SpaceMap {
    /// Free pages of each section.
    section_free: [U16; SECTIONS_PER_GROUP],
    /// Bit `n` of word `w` says that page `64 w + n` of the group is free.
    free: [U64; WORDS_PER_GROUP],
    unused: [u8; PAGE_BYTES - PAGE_HEADER_BYTES - 2 * SECTIONS_PER_GROUP - 8 * WORDS_PER_GROUP],
}

/// Free pages per section, in memory.
#[derive(Default)]
pub(crate) struct SpaceSummary {
    sections: Vec<u16>,
    free_pages: u64,
    /// Section that gave the last page.
    cursor: usize,
    /// Runs of this many pages or more were looked for in vain since pages were last freed.
    no_run_of: u32,
    /// Last transaction that may have freed pages of each section.
    freed: Vec<u64>,
    /// Counts before each change since the outermost savepoint, if there is one.
    log: Option<Vec<(usize, u16)>>,
}

/// How to take changes of the summary back.
pub(super) struct SpaceUndo {
    section_count: usize,
    free_pages: u64,
    cursor: usize,
    /// Length of the summary's log at the savepoint.
    log_len: usize,
}

impl SpaceMap {
    /// The map in a page.
    pub(crate) fn of(page: &Page) -> &SpaceMap {
        SpaceMap::ref_from_bytes(&page.bytes()[PAGE_HEADER_BYTES..])
            .expect("the body of a page has the size of a map")
    }

    fn of_mut(page: &mut Page) -> &mut SpaceMap {
        SpaceMap::mut_from_bytes(&mut page.bytes_mut()[PAGE_HEADER_BYTES..])
            .expect("the body of a page has the size of a map")
    }

    /// Whether page `position` of the group is free.
    pub(crate) fn is_free(&self, position: u64) -> bool {
        self.free[(position / 64) as usize].get() >> (position % 64) & 1 == 1
    }

    fn set(&mut self, position: u64, is_free: bool) {
        let word = &mut self.free[(position / 64) as usize];
        let bit = 1 << (position % 64);
        word.set(if is_free {
            word.get() | bit
        } else {
            word.get() & !bit
        });
        let count = &mut self.section_free[(position / SECTION_PAGES) as usize];
        count.set(if is_free {
            count.get() + 1
        } else {
            count.get() - 1
        });
    }

    /// A free page of a section, as position in the group.
    fn find_in_section(&self, section: usize) -> Option<u64> {
        let first = section * WORDS_PER_SECTION;
        let words = &self.free[first..first + WORDS_PER_SECTION];
        let word = words.iter().position(|word| word.get() != 0)?;
        Some((first + word) as u64 * 64 + u64::from(words[word].get().trailing_zeros()))
    }

    /// The first run of `page_count` free pages.
    fn find_run(&self, page_count: u64) -> Option<u64> {
        let mut start = 0;
        let mut position = 0;
        while position < GROUP_PAGES {
            let word = self.free[(position / 64) as usize].get();
            if position % 64 == 0 && word == 0 {
                position += 64;
                start = position;
                continue;
            }
            if word >> (position % 64) & 1 == 0 {
                start = position + 1;
            } else if position + 1 - start == page_count {
                return Some(start);
            }
            position += 1;
        }
        None
    }
}

impl SpaceSummary {
    /// Reads the counts of all maps of a committed state of `page_count` pages. Damaged maps do not
    /// keep an environment from opening: they have no free pages. `transaction` is the last one
    /// that may have freed any.
    pub(crate) fn load(
        pages: &impl PageRead,
        page_count: u64,
        transaction: u64,
    ) -> Result<Self, StorageError> {
        let mut sections = Vec::new();
        for group in 0..page_count.div_ceil(GROUP_PAGES) {
            match map_page(pages, group) {
                Err(error) if !matches!(error, StorageError::Corrupt(_)) => return Err(error),
                map => sections.extend(section_counts(map)),
            }
        }
        Ok(SpaceSummary::of(sections, transaction))
    }

    /// As [`SpaceSummary::load`] where failing is no choice: a map that cannot be read now has no
    /// free pages until one of its group is given back.
    pub(super) fn load_readable(
        pages: &impl PageRead,
        page_count: u64,
        transaction: u64,
    ) -> SpaceSummary {
        let groups = 0..page_count.div_ceil(GROUP_PAGES);
        let counts = groups.flat_map(|group| section_counts(map_page(pages, group)));
        SpaceSummary::of(counts.collect(), transaction)
    }

    fn of(sections: Vec<u16>, transaction: u64) -> SpaceSummary {
        SpaceSummary {
            free_pages: sections.iter().map(|&count| u64::from(count)).sum(),
            freed: vec![transaction; sections.len()],
            sections,
            no_run_of: u32::MAX,
            ..SpaceSummary::default()
        }
    }

    /// Remembers what `older`, a summary of the same environment, knew of when pages were freed.
    pub(super) fn keep_freed(&mut self, older: SpaceSummary) {
        for (freed, known) in self.freed.iter_mut().zip(older.freed) {
            *freed = known;
        }
    }

    /// Whether pages that are free now were free in every state from `transaction` on.
    pub(super) fn is_free_since(
        &self,
        page: PageNumber,
        page_count: u32,
        transaction: u64,
    ) -> bool {
        let last = page.0 + u64::from(page_count) - 1;
        (page.0 / SECTION_PAGES..=last / SECTION_PAGES).all(|section| {
            let freed = self.freed.get(to_usize(section));
            freed.is_some_and(|&freed| freed <= transaction)
        })
    }

    pub(super) fn start_undo(&mut self) -> SpaceUndo {
        let log_len = self.log.get_or_insert_default().len();
        SpaceUndo {
            log_len,
            section_count: self.sections.len(),
            free_pages: self.free_pages,
            cursor: self.cursor,
        }
    }

    pub(super) fn forget_undo(&mut self) {
        self.log = None;
    }

    pub(super) fn undo(&mut self, undo: SpaceUndo) {
        let log = self.log.get_or_insert_default();
        for (section, count) in log.drain(undo.log_len..).rev() {
            self.sections[section] = count;
        }
        self.sections.truncate(undo.section_count);
        self.free_pages = undo.free_pages;
        self.cursor = undo.cursor;
        self.no_run_of = u32::MAX;
    }

    fn set_count(&mut self, section: usize, count: u16) {
        if let Some(log) = &mut self.log {
            log.push((section, self.sections[section]));
        }
        self.free_pages = self.free_pages + u64::from(count) - u64::from(self.sections[section]);
        self.sections[section] = count;
    }
}

/// The counts of one group.
fn section_counts(map: Result<&Page, StorageError>) -> [u16; SECTIONS_PER_GROUP] {
    let counts = |page| SpaceMap::of(page).section_free.map(U16::get);
    map.map_or([0; SECTIONS_PER_GROUP], counts)
}

fn map_page(pages: &impl PageRead, group: u64) -> Result<&Page, StorageError> {
    let number = PageNumber(group * GROUP_PAGES);
    let page = pages.page(number)?;
    if page.header().kind != PageKind::SpaceMap as u8 {
        let what = DamageKind::PageKind {
            expected: "a space map",
            actual: page.header().kind,
        };
        return Err(StorageError::corrupt_page(number, what));
    }
    Ok(page)
}

impl TransactionPages {
    /// Takes one page: near another one, where the last one was taken, anywhere, or at the end.
    pub(super) fn take_page(
        &mut self,
        near: Option<PageNumber>,
    ) -> Result<PageNumber, StorageError> {
        let Some(section) = self.section_with_room(near) else {
            return self.grow_by(1);
        };
        let group = (section / SECTIONS_PER_GROUP) as u64;
        let map = SpaceMap::of(map_page(self, group)?);
        let Some(position) = map.find_in_section(section % SECTIONS_PER_GROUP) else {
            return Err(wrong_count(group));
        };
        self.space.cursor = section;
        if is_planted(Planted::DoubleAllocation) {
            return Ok(PageNumber(group * GROUP_PAGES + position));
        }
        self.set_free(group, position..position + 1, false)?;
        Ok(PageNumber(group * GROUP_PAGES + position))
    }

    fn section_with_room(&self, near: Option<PageNumber>) -> Option<usize> {
        let space = &self.space;
        if space.free_pages == 0 {
            return None;
        }
        let has_room = |&section: &usize| space.sections.get(section).is_some_and(|&free| free > 0);
        let near = near.map(|page| (page.0 / SECTION_PAGES) as usize);
        near.filter(has_room)
            .or_else(|| Some(space.cursor).filter(has_room))
            .or_else(|| (space.cursor..space.sections.len()).find(has_room))
            .or_else(|| (0..space.cursor).find(has_room))
    }

    /// Takes adjacent pages: the first run that is long enough, or at the end of the file.
    pub(super) fn take_run(&mut self, page_count: u32) -> Result<PageNumber, StorageError> {
        if u64::from(page_count) >= GROUP_PAGES {
            return Err(StorageError::ValueTooLong {
                len_bytes: page_count as usize * PAGE_BYTES,
                max_bytes: to_usize(GROUP_PAGES - 1) * PAGE_BYTES,
            });
        }
        if page_count < self.space.no_run_of && self.space.free_pages >= u64::from(page_count) {
            if let Some(number) = self.find_run(page_count)? {
                return Ok(number);
            }
            self.space.no_run_of = page_count;
        }
        self.grow_by(page_count)
    }

    fn find_run(&mut self, page_count: u32) -> Result<Option<PageNumber>, StorageError> {
        let group_count = self.space.sections.len() / SECTIONS_PER_GROUP;
        for group in 0..group_count {
            let sections = &self.space.sections[group * SECTIONS_PER_GROUP..];
            let free: u64 = sections
                .iter()
                .take(SECTIONS_PER_GROUP)
                .map(|&count| u64::from(count))
                .sum();
            if free < u64::from(page_count) {
                continue;
            }
            let group = group as u64;
            let map = SpaceMap::of(map_page(self, group)?);
            if let Some(start) = map.find_run(page_count.into()) {
                self.set_free(group, start..start + u64::from(page_count), false)?;
                return Ok(Some(PageNumber(group * GROUP_PAGES + start)));
            }
        }
        Ok(None)
    }

    /// Takes pages behind the end. A run does not cross into another group: what is left of the
    /// current one becomes free.
    fn grow_by(&mut self, page_count: u32) -> Result<PageNumber, StorageError> {
        let page_count = u64::from(page_count);
        let used = self.page_count % GROUP_PAGES;
        if used != 0 && used + page_count > GROUP_PAGES {
            let group = self.page_count / GROUP_PAGES;
            self.page_count = (group + 1) * GROUP_PAGES;
            self.set_free(group, used..GROUP_PAGES, true)?;
        }
        if self.page_count + page_count >= PageTable::PAGES_MAX {
            return Err(StorageError::Limit {
                what: "pages",
                max: PageTable::PAGES_MAX,
            });
        }
        if self.page_count.is_multiple_of(GROUP_PAGES) {
            self.add_map()?;
        }
        let number = PageNumber(self.page_count);
        self.page_count += page_count;
        Ok(number)
    }

    fn add_map(&mut self) -> Result<(), StorageError> {
        let number = PageNumber(self.page_count);
        self.insert_new(number, 1)?;
        let page = Page::from_bytes_mut(self.dirty_mut(number)).expect("one page was added");
        page.header_mut().kind = PageKind::SpaceMap as u8;
        let section_count = self.space.sections.len() + SECTIONS_PER_GROUP;
        self.space.sections.resize(section_count, 0);
        self.space.freed.resize(section_count, 0);
        self.page_count += 1;
        Ok(())
    }

    /// Marks pages as free.
    pub(super) fn give_back(
        &mut self,
        number: PageNumber,
        page_count: u32,
    ) -> Result<(), StorageError> {
        let end = number.0 + u64::from(page_count);
        let group = number.0 / GROUP_PAGES;
        let first = number.0 % GROUP_PAGES;
        if end > self.page_count || first == 0 || (end - 1) / GROUP_PAGES != group {
            let what = DamageKind::Pointer {
                what: "a freed page",
                target: number.0,
            };
            return Err(StorageError::corrupt_page(number, what));
        }
        let positions = first..first + u64::from(page_count);
        let map = SpaceMap::of(map_page(self, group)?);
        if positions.clone().any(|position| map.is_free(position)) {
            let what = DamageKind::Pointer {
                what: "a page freed twice",
                target: number.0,
            };
            return Err(StorageError::corrupt_page(number, what));
        }
        if is_planted(Planted::LeakedPages) {
            return Ok(());
        }
        self.set_free(group, positions, true)?;
        self.space.no_run_of = u32::MAX;
        let transaction = self.snapshot + 1;
        for section in number.0 / SECTION_PAGES..=(end - 1) / SECTION_PAGES {
            if let Some(freed) = self.space.freed.get_mut(to_usize(section)) {
                *freed = transaction;
            }
        }
        Ok(())
    }

    fn set_free(
        &mut self,
        group: u64,
        positions: std::ops::Range<u64>,
        is_free: bool,
    ) -> Result<(), StorageError> {
        let page = self.page_mut(PageNumber(group * GROUP_PAGES))?;
        let map = SpaceMap::of_mut(page);
        let sections = positions.start / SECTION_PAGES..=(positions.end - 1) / SECTION_PAGES;
        for position in positions {
            map.set(position, is_free);
        }
        let counts: Vec<(usize, u16)> = sections
            .map(to_usize)
            .map(|section| (section, map.section_free[section].get()))
            .collect();
        for (section, count) in counts {
            self.space
                .set_count(to_usize(group) * SECTIONS_PER_GROUP + section, count);
        }
        Ok(())
    }
}

#[cold]
fn wrong_count(group: u64) -> StorageError {
    let what = DamageKind::Count {
        what: "free pages of a section",
        expected: 1,
        actual: 0,
    };
    StorageError::corrupt_page(PageNumber(group * GROUP_PAGES), what)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A disk that reads nothing.
    struct Unreadable;

    impl PageRead for Unreadable {
        fn page(&self, _number: PageNumber) -> Result<&Page, StorageError> {
            let source = std::io::ErrorKind::OutOfMemory.into();
            Err(StorageError::io("data.jd".as_ref(), "read", source))
        }

        fn run(&self, number: PageNumber, _pages: u32) -> Result<&[u8], StorageError> {
            self.page(number).map(|page| &page.bytes()[..])
        }
    }

    #[test]
    fn a_map_that_cannot_be_read_has_no_free_pages() {
        let page_count = GROUP_PAGES + 1;
        assert!(SpaceSummary::load(&Unreadable, page_count, 5).is_err());
        let mut space = SpaceSummary::load_readable(&Unreadable, page_count, 5);
        assert_eq!(space.sections, [0; 2 * SECTIONS_PER_GROUP]);
        assert_eq!(
            (space.free_pages, space.freed.len()),
            (0, 2 * SECTIONS_PER_GROUP)
        );
        // A page of the second group is given back later.
        space.set_count(SECTIONS_PER_GROUP, 7);
        assert_eq!(space.free_pages, 7);
    }

    #[test]
    fn layout_is_that_of_the_format_page() {
        jackdaw_sim::assert_layout!(
            "storage::transaction::space::SpaceMap",
            SpaceMap {
                section_free,
                free,
                unused
            }
        );
    }
}
