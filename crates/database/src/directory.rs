//! A directory that goes away with whoever uses it last, once somebody has said so.
//!
//! The last field of databases and indexes, so that their files are closed before.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jackdaw_io::Vfs;

/// See the file head.
pub(crate) struct Directory {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    is_deleted: AtomicBool,
}

impl Directory {
    pub(crate) fn new(vfs: Arc<dyn Vfs>, path: PathBuf) -> Directory {
        Directory {
            vfs,
            path,
            is_deleted: AtomicBool::new(false),
        }
    }

    /// Removes it when this is dropped.
    pub(crate) fn delete_on_close(&self) {
        self.is_deleted.store(true, Ordering::Relaxed);
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.is_deleted.load(Ordering::Relaxed)
            && let Err(error) = self.vfs.remove_directory(&self.path)
        {
            // The next opening of what holds it removes directories it does not know.
            let path = self.path.display();
            tracing::warn!(%path, %error, "a deleted directory stays on disk");
        }
    }
}
