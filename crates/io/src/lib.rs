//! Files, mapping, sync, clock, entropy and threads: the only crate that makes system calls.
//!
//! Everything above reaches the machine through [`Vfs`], so that a simulated disk can stand in.
//! [`RealVfs`] is Linux, [`MemoryVfs`] has no disk, [`EncryptedVfs`] encrypts what it gives to
//! another. [`system`] answers what the machine allows, for diagnostics.

#![deny(unsafe_code)]

#[cfg(feature = "mimalloc")]
pub mod allocator;
mod buffer;
mod encrypted;
mod error;
mod locks;
mod map;
mod memory;
mod real;
mod spill;
pub mod system;
#[cfg(test)]
mod test_directory;
mod thread;
mod vfs;
mod write_back;

pub use buffer::{AlignedBuffer, DIRECT_ALIGNMENT, check_direct_alignment};
pub use encrypted::{
    DecryptedLimits, EncryptedVfs, EncryptionKey, KeyError, change_key, is_encrypted_directory,
    is_encrypted_file, lacks_key,
};
pub use error::{FileError, os_error_code};
pub use locks::{LockMode, LockTable};
pub use map::{AnonymousRegion, ScratchMemory};
pub use memory::MemoryVfs;
pub use real::{Fallbacks, RealVfs};
pub use spill::{SpillFile, SpilledMemory};
pub use thread::{SpawnError, ThreadLimit, spawn, spawn_scoped};
pub use vfs::{
    DirectoryEntry, Durability, FileLock, GiveUp, Mapping, NameKind, OpenMode, OpenOptions, Vfs,
    VfsFile, absolute_path,
};
