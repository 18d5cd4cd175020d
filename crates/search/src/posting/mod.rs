//! Posting lists: which entries hold a term, in ascending order, with exact counts.
//!
//! `value` is what the tree of terms stores for a term: the list itself, or the number of a large
//! list whose chunks `list` keeps in a tree of their own. `chunk` and `pack` are the codec, `merge`
//! applies changes, `cursor` walks.

mod chunk;
mod cursor;
mod list;
mod merge;
mod pack;
mod value;

pub use cursor::Postings;

pub(crate) use chunk::{
    BASE_MAX, Block, Encoder, Malformed, best_width, pack_patched, unpack_patched,
};
pub(crate) use list::{ListEditor, chunk_count};
pub(crate) use merge::{Change, count_after, merge};
pub(crate) use pack::{BLOCK_ENTRIES, add_up, packed_len_bytes};
pub(crate) use value::{DEMOTE_ENTRIES, ListNumber, TermValue, try_write, write_large};
