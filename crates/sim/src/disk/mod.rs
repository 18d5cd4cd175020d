//! The simulated medium: what is on it for sure, and what power loss may leave of the rest.
//!
//! [`DiskState`] is a value without locks, clock or chance: the same changes give the same state,
//! which is what lets `history` replay them. `vfs` puts a file system in front of it.
//!
//! Invariants:
//! - A crash image is built from durable and pending content alone, never from the live view.
//! - Content is shared by reference until written, so that a state costs little to copy.

mod choice;
mod content;
mod file;
mod names;
mod state;

pub(crate) use choice::{Chooser, CountOptions, Decision, KeepAll, LoseAll, RandomChoice, Script};
pub(crate) use content::{BLOCK_BYTES, Block, Content, blocks_of, part_in_block};
pub(crate) use names::{Entry, parent_of};
pub(crate) use state::{Change, DiskState, FileId};
