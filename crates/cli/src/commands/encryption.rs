//! Encryption at rest: where the operator's key comes from, `jackdaw encryption new-key` and
//! `change-key`.
//!
//! Every command that opens files takes the key and is handed the disk that it makes.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use jackdaw_io::{DecryptedLimits, EncryptedVfs, EncryptionKey, RealVfs, Vfs, change_key};
use zeroize::Zeroizing;

use crate::output::say::say;

/// A key file is for its owner alone.
const KEY_FILE_MODE: u32 = 0o600;

/// Arguments of every command that opens files.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct EncryptionArguments {
    /// The data is, or will be, encrypted with the key in this file: 32 bytes, raw, as hexadecimal
    /// digits, or in base64. Not every user may be able to read it.
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "JACKDAW_ENCRYPTION_KEY_FILE",
        hide_env_values = true,
        conflicts_with = "encryption_key_command",
        help_heading = "Encryption"
    )]
    encryption_key_file: Option<PathBuf>,
    /// The same with the key that this shell command prints, within 30 seconds.
    #[arg(
        long,
        global = true,
        value_name = "COMMAND",
        env = "JACKDAW_ENCRYPTION_KEY_COMMAND",
        hide_env_values = true,
        help_heading = "Encryption"
    )]
    encryption_key_command: Option<String>,
}

impl EncryptionArguments {
    /// The disk that the command works on.
    pub(crate) fn disk(&self) -> anyhow::Result<Arc<dyn Vfs>> {
        let real: Arc<dyn Vfs> = RealVfs::new();
        Ok(match self.key()? {
            None => real,
            Some(key) => EncryptedVfs::new(real, key, DecryptedLimits::of_this_machine()),
        })
    }

    fn key(&self) -> anyhow::Result<Option<EncryptionKey>> {
        let (file, command) = (&self.encryption_key_file, &self.encryption_key_command);
        key_of(file.as_deref(), command.as_deref())
    }
}

fn key_of(file: Option<&Path>, command: Option<&str>) -> anyhow::Result<Option<EncryptionKey>> {
    Ok(match (file, command) {
        (Some(file), _) => Some(EncryptionKey::from_file(file)?),
        (None, Some(command)) => Some(EncryptionKey::from_command(command)?),
        (None, None) => None,
    })
}

/// What to do with keys.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum KeyCommand {
    /// Write a new random key into a file that its owner alone can read.
    NewKey {
        /// The file; it must not be there.
        file: PathBuf,
    },
    /// Make another key that of an encrypted directory. No data is written anew.
    ///
    /// The options of encryption name the key that it has. Backups keep the key that they were made
    /// with; each can be changed by the same command.
    ChangeKey {
        /// A data directory, or the directory of a backup.
        directory: PathBuf,
        #[command(flatten)]
        new: NewKey,
    },
}

/// Where the other key comes from.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct NewKey {
    /// The new key is in this file.
    #[arg(long, value_name = "FILE")]
    new_key_file: Option<PathBuf>,
    /// This shell command prints the new key.
    #[arg(long, value_name = "COMMAND")]
    new_key_command: Option<String>,
}

/// Makes or changes a key.
pub(crate) fn run(command: &KeyCommand, present: &EncryptionArguments) -> anyhow::Result<()> {
    match command {
        KeyCommand::NewKey { file } => make(file),
        KeyCommand::ChangeKey { directory, new } => {
            let old = present.key()?.context(
                "name the key that the directory has, with --encryption-key-file or \
                 --encryption-key-command",
            )?;
            let (file, command) = (&new.new_key_file, &new.new_key_command);
            let new = key_of(file.as_deref(), command.as_deref())?
                .context("name the new key with --new-key-file or --new-key-command")?;
            change_key(&*RealVfs::new(), directory, &old, &new)?;
            say!(
                "{} opens with the new key alone from now on.",
                directory.display()
            );
            Ok(())
        }
    }
}

fn make(path: &Path) -> anyhow::Result<()> {
    let disk = RealVfs::new();
    let mut key = Zeroizing::new([0; 32]);
    disk.fill_random(&mut key[..]);
    // Long enough not to be moved, which would leave a copy.
    let mut digits = Zeroizing::new(String::with_capacity(2 * key.len() + 1));
    for byte in key.iter() {
        write!(digits, "{byte:02x}")?;
    }
    digits.push('\n');
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut how = OpenOptions::new();
    how.write(true).create_new(true).mode(KEY_FILE_MODE);
    how.open(path)
        .and_then(|mut file| {
            file.write_all(digits.as_bytes())?;
            file.sync_all()?;
            disk.sync_directory(directory)
        })
        .with_context(|| format!("cannot write the key file {}", path.display()))?;
    say!(
        "{}: a new key. Keep a copy in another place: without it nothing that it encrypts can be \
         read again.",
        path.display()
    );
    Ok(())
}
