//! A directory that goes away with whoever uses it last, once somebody has said so.
//!
//! The last field of databases and indexes, so that their files are closed before.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jackdaw_io::Vfs;

use crate::marks;

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

    /// Removes it when this is dropped. What named it is durably gone.
    pub(crate) fn delete_on_close(&self) {
        if let Err(error) = marks::begin_deletion(&*self.vfs, &self.path) {
            let path = self.path.display();
            tracing::warn!(%path, %error, "a deleted directory could not be marked");
        }
        self.is_deleted.store(true, Ordering::Relaxed);
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.is_deleted.load(Ordering::Relaxed)
            && let Err(error) = marks::remove(&*self.vfs, &self.path)
        {
            // It is marked, so that the next opening of what holds it removes it.
            let path = self.path.display();
            tracing::warn!(%path, %error, "a deleted directory stays on disk");
        }
    }
}
