//! `jackdaw bench`: what this machine and this program do, measured on the user's disk.

pub(crate) mod journal;
pub(crate) mod memory;
pub(crate) mod queue;
pub(crate) mod storage;
