//! Pages: 8 KiB units of the data file, how their bytes are laid out, and how they are reached.
//!
//! `header` is the 32 bytes all kinds share, `access` the traits through which trees see pages,
//! `memory` those traits over plain memory. `node` and `node_mut` are branch and leaf pages, `key`
//! and `search` find keys in them, `counts` says how much is below a child of a counted tree,
//! `fixed_node` are pages of fixed trees. `validate` checks any.

mod access;
pub(crate) mod counts;
pub(crate) mod fixed_node;
mod header;
pub(crate) mod key;
mod memory;
pub(crate) mod node;
pub(crate) mod node_mut;
pub(crate) mod search;
pub(crate) mod validate;

pub use access::{PageRead, PageWrite};
pub use fixed_node::FIXED_VALUE_BYTES_MAX;
pub(crate) use header::PAGE_BYTES_U32;
pub use header::{
    PAGE_BYTES, PAGE_HEADER_BYTES, Page, PageHeader, PageKind, PageNumber, run_page_count,
};
pub use key::Key;
pub use memory::MemoryPages;
pub use node::{INLINE_ENTRY_BYTES_MAX, INLINE_VALUE_BYTES_MAX, KEY_BYTES_MAX};
pub use validate::validate;
