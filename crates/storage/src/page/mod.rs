//! Pages: 8 KiB units of the data file, how their bytes are laid out, and how they are reached.
//!
//! `header` is the 32 bytes all kinds share, `access` the traits through which trees see pages,
//! `memory` those traits over plain memory.

mod access;
mod header;
mod memory;

pub use access::{PageRead, PageWrite};
pub use header::{
    PAGE_BYTES, PAGE_HEADER_BYTES, Page, PageHeader, PageKind, PageNumber, run_page_count,
};
pub use memory::MemoryPages;
