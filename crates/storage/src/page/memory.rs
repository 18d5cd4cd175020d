//! Pages in plain memory: the smallest thing a tree can live in.
//!
//! Unit tests and benchmarks of trees use it, here and in `search`. There are no transactions.
//!
//! Invariants:
//! - Each number is free, a page, the head of a run, or inside a run; mixing them up is an error.

use zerocopy::{FromBytes, IntoBytes};

use crate::error::{DamageKind, StorageError};
use crate::page::{PAGE_BYTES, Page, PageNumber, PageRead, PageWrite};

/// Frames start at a page of the machine, as frames of the engine do.
#[derive(Clone)]
#[repr(align(4096))]
struct Frame(Page);

#[derive(Clone)]
enum Place {
    Free,
    Page(Box<Frame>),
    Run(Box<[u8]>),
    InsideRun,
}

/// Pages in plain memory.
#[derive(Clone)]
pub struct MemoryPages {
    places: Vec<Place>,
    free: Vec<usize>,
}

impl Default for MemoryPages {
    fn default() -> MemoryPages {
        MemoryPages::new()
    }
}

impl MemoryPages {
    /// No pages. Number 0 is never handed out.
    pub fn new() -> MemoryPages {
        MemoryPages {
            places: vec![Place::InsideRun],
            free: Vec::new(),
        }
    }

    /// Number of pages in use, those of runs included.
    pub fn page_count(&self) -> u64 {
        let used = self
            .places
            .iter()
            .filter(|place| !matches!(place, Place::Free))
            .count();
        used as u64 - 1
    }

    /// Numbers and content of all single pages, ascending.
    pub fn pages(&self) -> impl Iterator<Item = (PageNumber, &Page)> {
        self.places
            .iter()
            .enumerate()
            .filter_map(|(n, place)| match place {
                Place::Page(frame) => Some((PageNumber(n as u64), &frame.0)),
                _ => None,
            })
    }

    fn place(&self, number: PageNumber) -> Option<&Place> {
        self.places.get(usize::try_from(number.0).ok()?)
    }

    fn place_mut(&mut self, number: PageNumber) -> Option<&mut Place> {
        self.places.get_mut(usize::try_from(number.0).ok()?)
    }
}

#[cold]
fn not_there(what: &'static str, number: PageNumber) -> StorageError {
    StorageError::corrupt_page(
        number,
        DamageKind::Pointer {
            what,
            target: number.0,
        },
    )
}

fn run_bytes(pages: u32) -> usize {
    pages as usize * PAGE_BYTES
}

impl PageRead for MemoryPages {
    #[inline]
    fn page(&self, number: PageNumber) -> Result<&Page, StorageError> {
        match self.place(number) {
            Some(Place::Page(frame)) => Ok(&frame.0),
            _ => Err(not_there("a page read", number)),
        }
    }

    fn run(&self, number: PageNumber, pages: u32) -> Result<&[u8], StorageError> {
        match self.place(number) {
            Some(Place::Run(bytes)) if bytes.len() == run_bytes(pages) => Ok(bytes),
            _ => Err(not_there("a run read", number)),
        }
    }
}

impl PageWrite for MemoryPages {
    #[inline]
    fn page_mut(&mut self, number: PageNumber) -> Result<&mut Page, StorageError> {
        match self.place_mut(number) {
            Some(Place::Page(frame)) => Ok(&mut frame.0),
            _ => Err(not_there("a page write", number)),
        }
    }

    fn run_mut(&mut self, number: PageNumber, pages: u32) -> Result<&mut [u8], StorageError> {
        match self.place_mut(number) {
            Some(Place::Run(bytes)) if bytes.len() == run_bytes(pages) => Ok(bytes),
            _ => Err(not_there("a run write", number)),
        }
    }

    fn allocate(&mut self, _near: Option<PageNumber>) -> Result<PageNumber, StorageError> {
        let at = self.free.pop().unwrap_or(self.places.len());
        if at == self.places.len() {
            self.places.push(Place::Free);
        }
        let mut frame = Box::new(Frame(
            Page::read_from_bytes(&[0; PAGE_BYTES]).expect("a page"),
        ));
        frame.0.header_mut().page_number.set(at as u64);
        self.places[at] = Place::Page(frame);
        Ok(PageNumber(at as u64))
    }

    fn allocate_run(&mut self, pages: u32) -> Result<PageNumber, StorageError> {
        let at = self.places.len();
        let mut bytes = vec![0; run_bytes(pages)].into_boxed_slice();
        bytes[8..16].copy_from_slice((at as u64).to_le_bytes().as_bytes());
        self.places.push(Place::Run(bytes));
        self.places.extend((1..pages).map(|_| Place::InsideRun));
        Ok(PageNumber(at as u64))
    }

    fn free(&mut self, number: PageNumber) -> Result<(), StorageError> {
        let place = self
            .place_mut(number)
            .filter(|place| matches!(place, Place::Page(_)));
        *place.ok_or_else(|| not_there("a page freed", number))? = Place::Free;
        self.free.extend(usize::try_from(number.0));
        Ok(())
    }

    fn free_run(&mut self, number: PageNumber, pages: u32) -> Result<(), StorageError> {
        self.run(number, pages)?;
        for n in number.0..number.0 + u64::from(pages) {
            *self.place_mut(PageNumber(n)).expect("runs lie inside") = Place::Free;
            self.free.extend(usize::try_from(n));
        }
        Ok(())
    }
}
