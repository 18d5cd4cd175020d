//! A directory of its own for each test that needs real files, removed afterwards.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Removed with its content on drop.
pub(crate) struct TestDirectory {
    path: PathBuf,
}

impl TestDirectory {
    /// In the directory for temporary files.
    pub(crate) fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// Below `parent`, which exists.
    pub(crate) fn below(parent: &Path) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("jackdaw-io-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).expect("a fresh name in a writable directory");
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let removed = std::fs::remove_dir_all(&self.path);
        drop(removed); // Left-over files harm nobody.
    }
}
