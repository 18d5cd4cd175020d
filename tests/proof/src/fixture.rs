//! Writes the environments of `fixtures/`: one closed in order, one as a power loss left it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, Rng, SimVfs};
use jackdaw_storage::{Environment, Options};

use crate::model::{State, change};

#[path = "../../../crates/storage/tests/flips/listing.rs"]
mod listing;
#[path = "../../../crates/storage/tests/golden/snapshots.rs"]
mod snapshots;

const SEED: u64 = 1;
/// Enough for named snapshots that are left in the end.
const TRANSACTIONS: u64 = 30;

fn open(vfs: &Arc<SimVfs>) -> Result<Environment, String> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    let options = Options {
        journal_file_bytes_min: 16 << 10,
        ..Options::small()
    };
    Environment::open(vfs, Path::new("/db"), options).map_err(|error| error.to_string())
}

/// Writes `format-1-snapshots-closed` and `format-1-snapshots-crashed` into `directory`; those of
/// `fixtures/` without snapshots are of earlier builds.
///
/// # Errors
/// The engine's or the machine's, as a sentence.
pub fn write(directory: &Path) -> Result<(), String> {
    let vfs = SimVfs::new(SEED);
    let mut rng = Rng::new(SEED);
    let mut state = State::default();
    let environment = open(&vfs)?;
    for round in 0..TRANSACTIONS {
        let mut transaction = environment.begin_write().map_err(|e| e.to_string())?;
        change(&mut transaction, &mut state, &mut rng).map_err(|e| e.to_string())?;
        transaction.commit().map_err(|e| e.to_string())?;
        if round == TRANSACTIONS / 2 {
            environment.flush().map_err(|e| e.to_string())?;
        }
    }
    let page_count = environment.statistics().page_count;
    let content = snapshots::listing(|| environment.read(), listing::of);
    let content = content.map_err(|e| e.to_string())?;
    let crashed = vfs.crash(CrashChoice::LoseAll);
    drop(environment);
    let closed = directory.join("format-1-snapshots-closed");
    copy(&vfs, &closed, (page_count, false), &content)
        .and_then(|()| {
            let target = directory.join("format-1-snapshots-crashed");
            copy(&crashed, &target, (page_count, true), &content)
        })
        .map_err(|error| error.to_string())
}

/// Copies the files without what the data file grew ahead, and the content as text.
fn copy(
    vfs: &SimVfs,
    target: &Path,
    (page_count, has_journal): (u64, bool),
    content: &str,
) -> io::Result<()> {
    std::fs::create_dir_all(target.join("journal"))?;
    for path in vfs.file_paths() {
        let Some(name) = path.strip_prefix("db/") else {
            continue;
        };
        // A closed environment needs no journal; prepared files hold nothing.
        let is_needed = match Path::new(name).extension().and_then(|name| name.to_str()) {
            Some("jnl") => has_journal,
            Some("tmp") => false,
            _ => name != "LOCK",
        };
        if !is_needed {
            continue;
        }
        let mut bytes = vfs.file_bytes(Path::new(&path))?;
        if name == "data.jd" {
            let len = usize::try_from(page_count * 8192).unwrap_or(usize::MAX);
            bytes.truncate(len);
        }
        std::fs::write(target.join(name), bytes)?;
    }
    std::fs::write(target.join("content.txt"), content)
}
