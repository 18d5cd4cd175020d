//! The Linux side of the seam: [`RealVfs`] for names, locks, clock and entropy; `RealFile` for
//! positional I/O.
//!
//! Used by every program that opens a database on a real disk.

mod directory;
mod file;
#[cfg(test)]
mod tests;

pub use directory::RealVfs;
pub(crate) use directory::retry;
pub use file::Fallbacks;
