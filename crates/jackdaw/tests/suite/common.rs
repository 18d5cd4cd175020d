//! What the tests share: a type of documents, and directories that are removed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use jackdaw::Database;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Album {
    pub(crate) title: String,
    pub(crate) year: u16,
}

pub(crate) fn album(title: &str, year: u16) -> Album {
    Album {
        title: title.to_owned(),
        year,
    }
}

/// A database in memory with three albums.
pub(crate) fn music() -> Database {
    let db = Database::in_memory().unwrap();
    let mut batch = db.batch();
    for (number, title, year) in [(1, "Blue", 1971), (2, "Hejira", 1976), (3, "Mingus", 1979)] {
        let id = format!("albums/{number}");
        batch.put(&id, &album(title, year)).unwrap();
    }
    batch.commit().unwrap();
    db
}

/// A directory that does not exist yet, and is removed with the value.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Directory {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("jackdaw-suite-{}-{number}", std::process::id());
        Directory(std::env::temp_dir().join(name))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
