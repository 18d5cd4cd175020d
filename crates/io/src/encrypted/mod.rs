//! Encryption at rest: a file system whose files are encrypted sector by sector, over any other.
//!
//! `EncryptedVfs` is handed to the engine like `RealVfs`. A directory that is created outside of
//! every encrypted one becomes the top of one, with a data key of its own; everything below is
//! encrypted with that. `sectors` is the cipher, `file` a file, `mapping` and `loaded` its map,
//! `volume` the data key of a directory, `key` that of the operator. What it protects against and
//! what not: docs/security.md; why it is here: docs/decisions.
//!
//! Invariants:
//! - Below the top of an encrypted directory no byte of content is written in the clear, but for
//!   zeros; names and lengths of files are not hidden.
//! - Durability, order and tearing are those of the file system below: nothing is kept back.
//! - Plain files are never taken for encrypted ones, nor the other way round.

mod file;
mod key;
mod loaded;
mod mapping;
mod sectors;
mod volume;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};

use self::file::{Buffers, EncryptedFile, FileState, Start, read_header, write_header};
use self::mapping::DecryptedMemory;
use self::sectors::{DataKey, SectorCipher};
use self::volume::refused;
use crate::error::with_path;
use crate::vfs::{
    DirectoryEntry, FileLock, NameKind, OpenMode, OpenOptions, Vfs, VfsFile, absolute_path,
};

pub use self::file::is_encrypted_file;
pub use self::key::{EncryptionKey, KeyError};
pub use self::mapping::DecryptedLimits;
pub use self::volume::{change_key, is_encrypted_directory, lacks_key};

/// See the file head.
pub struct EncryptedVfs {
    inner: Arc<dyn Vfs>,
    key: EncryptionKey,
    /// Tops of encrypted directories, absolute.
    volumes: RwLock<BTreeMap<PathBuf, Arc<SectorCipher>>>,
    /// The first of them: that of the data, where backups are others.
    first: OnceLock<PathBuf>,
    /// Open files by absolute path, and by the tweak of their first sector, since another file may
    /// be there by now.
    files: Mutex<HashMap<(PathBuf, u128), Weak<FileState>>>,
    buffers: Arc<Buffers>,
    memory: Arc<DecryptedMemory>,
}

impl EncryptedVfs {
    /// A file system over `inner` with the operator's key. `limits` hold for the pages of all its
    /// files that are in memory.
    #[must_use]
    pub fn new(
        inner: Arc<dyn Vfs>,
        key: EncryptionKey,
        limits: DecryptedLimits,
    ) -> Arc<EncryptedVfs> {
        Arc::new(EncryptedVfs {
            inner,
            key,
            volumes: RwLock::default(),
            first: OnceLock::new(),
            files: Mutex::default(),
            buffers: Arc::default(),
            memory: Arc::new(DecryptedMemory::new(limits)),
        })
    }

    /// Checks that the key opens `directory` if it is there, or is below an encrypted one.
    ///
    /// # Errors
    /// A [`KeyError`] in one sentence, or what the machine refused. Nothing was changed.
    pub fn check(&self, directory: &Path) -> io::Result<()> {
        if self.volume(directory)?.is_some() || !self.inner.exists(directory)? {
            return Ok(());
        }
        match self.inner.list(directory)?.is_empty() {
            true => Ok(()),
            false => Err(not_encrypted(directory)),
        }
    }

    /// The cipher of the innermost encrypted directory that holds `path`, or is it.
    fn volume(&self, path: &Path) -> io::Result<Option<Arc<SectorCipher>>> {
        let path = absolute_path(path)?;
        if let Some(known) = self.known_volume(&path) {
            return Ok(Some(known));
        }
        for directory in path.ancestors() {
            if let Some(data_key) = volume::open(&*self.inner, directory, &self.key)? {
                return Ok(Some(self.add_volume(directory, &data_key)));
            }
        }
        Ok(None)
    }

    fn known_volume(&self, path: &Path) -> Option<Arc<SectorCipher>> {
        let volumes = self.volumes.read().unwrap_or_else(PoisonError::into_inner);
        let mut ancestors = path.ancestors();
        ancestors.find_map(|directory| volumes.get(directory).cloned())
    }

    fn add_volume(&self, directory: &Path, data_key: &DataKey) -> Arc<SectorCipher> {
        self.first.get_or_init(|| directory.to_owned());
        let mut volumes = self.volumes.write().unwrap_or_else(PoisonError::into_inner);
        let volume = volumes
            .entry(directory.to_owned())
            .or_insert_with(|| Arc::new(SectorCipher::new(data_key)));
        Arc::clone(volume)
    }

    /// Refuses to encrypt anything new with a key that does not open the data any more.
    fn check_key_is_current(&self) -> io::Result<()> {
        let Some(first) = self.first.get() else {
            return Ok(());
        };
        let opened = volume::open(&*self.inner, first, &self.key);
        opened.map(drop).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => refused(KeyError::Changed {
                path: first.clone(),
            }),
            _ => error,
        })
    }

    /// Forgets the tops of encrypted directories at `path`, which is absolute, and below.
    fn forget_volumes(&self, path: &Path) {
        let mut volumes = self.volumes.write().unwrap_or_else(PoisonError::into_inner);
        volumes.retain(|directory, _| !directory.starts_with(path));
    }

    /// The cipher for a file.
    fn volume_of_file(&self, path: &Path) -> io::Result<Arc<SectorCipher>> {
        let directory = path.parent().unwrap_or(Path::new(""));
        self.volume(directory)?
            .ok_or_else(|| not_encrypted(directory))
    }

    /// What handles of the file at `path` that begins at `tweak` share.
    fn state_of(&self, path: &Path, tweak: u128) -> io::Result<Arc<FileState>> {
        let place = (absolute_path(path)?, tweak);
        let mut files = self.lock_files();
        if let Some(state) = files.get(&place).and_then(Weak::upgrade) {
            return Ok(state);
        }
        files.retain(|_, state| state.strong_count() > 0);
        let state = Arc::new(FileState::new(tweak));
        files.insert(place, Arc::downgrade(&state));
        Ok(state)
    }

    /// Open files at `from` and below, which are absolute, are at `to` from now on.
    fn move_states(&self, from: &Path, to: &Path) {
        let mut files = self.lock_files();
        let moved: Vec<_> = files
            .extract_if(|(path, _), _| path.starts_with(from))
            .collect();
        for ((path, tweak), state) in moved {
            let below = path.strip_prefix(from).expect("it starts so");
            let path = match below.as_os_str().is_empty() {
                true => to.to_owned(),
                false => to.join(below),
            };
            files.insert((path, tweak), state);
        }
    }

    fn lock_files(&self) -> MutexGuard<'_, HashMap<(PathBuf, u128), Weak<FileState>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a file that is new, or was created and not begun.
    fn begin(&self, file: &dyn VfsFile) -> io::Result<u128> {
        let mut tweak = [0; 16];
        self.inner.fill_random(&mut tweak);
        let tweak = u128::from_le_bytes(tweak);
        write_header(file, tweak)?;
        Ok(tweak)
    }

    fn tweak_of(&self, file: &dyn VfsFile, path: &Path, mode: OpenMode) -> io::Result<u128> {
        if mode == OpenMode::CreateNew {
            return self.begin(file).inspect_err(|_| {
                // A file without a beginning is of no use to anybody.
                let _ = self.inner.remove_file(path);
            });
        }
        match read_header(file, path)? {
            Start::Tweak(tweak) => Ok(tweak),
            Start::Blank if mode == OpenMode::Read => Ok(0),
            Start::Blank => self.begin(file),
        }
    }
}

fn not_encrypted(directory: &Path) -> io::Error {
    refused(KeyError::NotEncrypted {
        path: directory.to_owned(),
    })
}

impl Vfs for EncryptedVfs {
    fn open(&self, path: &Path, options: OpenOptions) -> io::Result<Arc<dyn VfsFile>> {
        let cipher = self.volume_of_file(path)?;
        let inner = self.inner.open(path, options)?;
        let tweak = self.tweak_of(&*inner, path, options.mode)?;
        Ok(Arc::new(EncryptedFile::new(
            inner,
            path,
            cipher,
            self.state_of(path, tweak)?,
            Arc::clone(&self.buffers),
            Arc::clone(&self.memory),
        )?))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.inner.lock(path)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.inner.lock_shared(path)
    }

    /// Also makes the directory the top of an encrypted one if it is not below one.
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let top = absolute_path(path)?;
        // What is known of a directory may have been removed beside this process.
        if volume::open(&*self.inner, path, &self.key)?.is_none() {
            self.forget_volumes(&top);
        }
        let is_below = self.volume(path)?.is_some();
        if !is_below {
            self.check_key_is_current()?;
        }
        self.inner.create_directory(path)?;
        if !is_below {
            let data_key = volume::create(&*self.inner, path, &self.key)?;
            self.add_volume(&top, &data_key);
        }
        Ok(())
    }

    fn create_portable_directory(&self, path: &Path) -> io::Result<()> {
        self.check_key_is_current()?;
        self.inner.create_directory(path)?;
        let data_key = match volume::open(&*self.inner, path, &self.key)? {
            Some(data_key) => data_key,
            None => volume::create(&*self.inner, path, &self.key)?,
        };
        let top = absolute_path(path)?;
        self.forget_volumes(&top);
        self.add_volume(&top, &data_key);
        Ok(())
    }

    fn kind(&self, path: &Path) -> io::Result<NameKind> {
        self.inner.kind(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.inner.resolve(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let mut entries = self.inner.list(path)?;
        entries.retain(|entry| !volume::NAMES.contains(&&*entry.name));
        for entry in &mut entries {
            entry.len_bytes = entry.len_bytes.saturating_sub(file::HEADER_BYTES);
        }
        Ok(entries)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner.exists(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (source, target) = (self.volume_of_file(from)?, self.volume_of_file(to)?);
        if !Arc::ptr_eq(&source, &target) {
            let error = io::Error::from(io::ErrorKind::CrossesDevices);
            return Err(with_path("rename", from, error));
        }
        self.inner.rename(from, to)?;
        self.move_states(&absolute_path(from)?, &absolute_path(to)?);
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_directory(path)?;
        self.forget_volumes(&absolute_path(path)?);
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.sync_directory(path)
    }

    fn unix_nanos(&self) -> u64 {
        self.inner.unix_nanos()
    }

    fn monotonic_nanos(&self) -> u64 {
        self.inner.monotonic_nanos()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        self.inner.fill_random(buffer);
    }
}

#[cfg(test)]
mod tests;
