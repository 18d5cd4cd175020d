//! Page versions in memory: scratch frames, the page table that finds them, the readers that pin
//! them, and the view of the data file below them.

mod file_view;
mod frames;
mod page_table;
pub(crate) mod pages_read;
#[cfg(all(test, loom))]
mod races;
mod readers;
mod slabs;
mod spilled_runs;

pub(crate) use file_view::FileView;
pub(crate) use frames::{FrameId, Frames, OwnedFrame};
pub(crate) use page_table::{Location, PageTable, PublishedPage};
pub(crate) use readers::{ReaderPin, Readers};
pub(crate) use slabs::Spill;
