//! Files, mapping, sync, clock, entropy and threads: the only crate that makes system calls.
//!
//! Everything above reaches the machine through [`Vfs`], so that a simulated disk can stand in.

mod vfs;

pub use vfs::{
    DirectoryEntry, Durability, FileLock, Mapping, OpenMode, OpenOptions, Vfs, VfsFile,
};
