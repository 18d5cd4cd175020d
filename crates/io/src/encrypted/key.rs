//! The operator's key: 32 bytes from a file or from the output of a command.
//!
//! Called by whoever reads the command line; `volume` opens directories with it.
//!
//! Invariants:
//! - Key bytes are wiped from memory when they are dropped, and never part of a message.
//! - A key file that others can read, and a command that hangs or talks too much, are refused.

use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use zeroize::Zeroizing;

/// Length of the operator's key.
pub(super) const KEY_BYTES: usize = 32;
/// Longest text that can hold a key: 64 digits and some white space.
const TEXT_BYTES_MAX: u64 = 128;
/// A command that asks a key service has so long.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(30);
/// Permission bits of everybody who is neither the owner nor of the group.
const OTHERS: u32 = 0o007;

/// The key of an operator. It opens the data keys of directories.
#[derive(Clone)]
pub struct EncryptionKey(Zeroizing<[u8; KEY_BYTES]>);

/// Why there is no key, or it does not open a directory. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file could not be read.
    #[error("the key file {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The key file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Everybody can read the file.
    #[error("the key file {} can be read by every user: run chmod 600 on it", path.display())]
    ReadableByOthers {
        /// The key file.
        path: PathBuf,
    },
    /// The bytes are no key.
    #[error(
        "{origin} holds no key: it takes 32 bytes, raw, as 64 hexadecimal digits, or in base64"
    )]
    NoKey {
        /// File or command.
        origin: String,
    },
    /// The command failed, took too long, or could not be started.
    #[error("the key command gave no key: {what}")]
    Command {
        /// What went wrong.
        what: String,
    },
    /// The directory was encrypted with another key.
    #[error("the key is not the one that {} was encrypted with", path.display())]
    Wrong {
        /// The directory.
        path: PathBuf,
    },
    /// The file that holds the wrapped key of a directory is not what was written.
    #[error(
        "{} is damaged, and without it nothing in its directory can be decrypted: restore the file \
         from a backup",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The directory is not encrypted, but a key was given.
    #[error(
        "{} is not encrypted: open it without a key, or export it and import it into a new \
         encrypted directory",
        path.display()
    )]
    NotEncrypted {
        /// The directory.
        path: PathBuf,
    },
    /// Another process changes the key of the directory.
    #[error(
        "another process is changing the key of {}: try again when it has ended",
        path.display()
    )]
    Changing {
        /// The directory.
        path: PathBuf,
    },
    /// The key of the data directory is another one by now, so nothing new is encrypted with the
    /// one that this process was given.
    #[error(
        "the key of {} was changed since this process started: restart it with the new key",
        path.display()
    )]
    Changed {
        /// The data directory.
        path: PathBuf,
    },
}

impl EncryptionKey {
    /// The key of these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> EncryptionKey {
        EncryptionKey(Zeroizing::new(bytes))
    }

    /// The key in a file that not every user may read.
    ///
    /// # Errors
    /// [`KeyError::Unreadable`], [`KeyError::ReadableByOthers`], [`KeyError::NoKey`].
    pub fn from_file(path: &Path) -> Result<EncryptionKey, KeyError> {
        let unreadable = |source| KeyError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let permissions = file.metadata().map_err(unreadable)?.permissions();
        if permissions.mode() & OTHERS != 0 {
            return Err(KeyError::ReadableByOthers {
                path: path.to_owned(),
            });
        }
        let text = read_some(file).map_err(unreadable)?;
        parse(&text).ok_or_else(|| KeyError::NoKey {
            origin: format!("the key file {}", path.display()),
        })
    }

    /// The key that a shell command writes to its standard output. It has 30 seconds.
    ///
    /// # Errors
    /// [`KeyError::Command`], [`KeyError::NoKey`].
    pub fn from_command(command: &str) -> Result<EncryptionKey, KeyError> {
        let text =
            output_of(command, COMMAND_TIME_MAX).map_err(|what| KeyError::Command { what })?;
        parse(&text).ok_or_else(|| KeyError::NoKey {
            origin: "the output of the key command".to_owned(),
        })
    }

    pub(super) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl std::fmt::Debug for EncryptionKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("EncryptionKey(..)")
    }
}

/// As much as may be a key, and a byte more.
fn read_some(source: impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(256));
    source.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn output_of(command: &str, time_max: Duration) -> Result<Zeroizing<Vec<u8>>, String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // With what it starts in turn, so that all of it can be ended.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("it could not be started: {error}"))?;
    let output = child.stdout.take().expect("a pipe was asked for");
    let group = Pid::from_child(&child);
    let (sender, receiver) = mpsc::channel();
    let wait = move || {
        // Nobody waits any more when the time is over.
        let _ = sender.send(outcome_of(&mut child, output, group));
    };
    crate::spawn("jd-key", wait).map_err(|error| {
        end(group);
        error.to_string()
    })?;
    let outcome = receiver.recv_timeout(time_max).map_err(|_| {
        // The thread still waits for it, so the number is not that of others yet.
        end(group);
        format!("it took more than {} seconds", time_max.as_secs())
    })?;
    let (text, status) =
        outcome.map_err(|error| format!("its output could not be read: {error}"))?;
    match status.success() || text.len() as u64 > TEXT_BYTES_MAX {
        true => Ok(text),
        false => Err(format!("it ended with {status}")),
    }
}

fn outcome_of(
    child: &mut Child,
    output: ChildStdout,
    group: Pid,
) -> io::Result<(Zeroizing<Vec<u8>>, ExitStatus)> {
    let text = read_some(output);
    if !text
        .as_ref()
        .is_ok_and(|text| text.len() as u64 <= TEXT_BYTES_MAX)
    {
        end(group);
    }
    let status = child.wait()?;
    Ok((text?, status))
}

/// Ends the command and what it started.
fn end(group: Pid) {
    // All of it may have ended by itself.
    let _ = kill_process_group(group, Signal::KILL);
}

fn parse(text: &[u8]) -> Option<EncryptionKey> {
    let trimmed = text.trim_ascii();
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    if let Ok(raw) = <&[u8; KEY_BYTES]>::try_from(text) {
        key.copy_from_slice(raw);
    } else if trimmed.len() == 2 * KEY_BYTES {
        for (byte, digits) in key.iter_mut().zip(trimmed.chunks_exact(2)) {
            *byte = digit(digits[0])? << 4 | digit(digits[1])?;
        }
    } else {
        decode_base64(trimmed, &mut key)?;
    }
    Some(EncryptionKey(key))
}

fn digit(text: u8) -> Option<u8> {
    char::from(text)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// 32 bytes from 43 characters and perhaps one of padding.
fn decode_base64(text: &[u8], key: &mut [u8; KEY_BYTES]) -> Option<()> {
    let text = text.strip_suffix(b"=").unwrap_or(text);
    if text.len() != (KEY_BYTES * 8).div_ceil(6) {
        return None;
    }
    let (mut bits, mut bit_count, mut at) = (0_u32, 0, 0);
    for &character in text {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            key[at] = u8::try_from(bits >> bit_count).ok()?;
            bits &= (1 << bit_count) - 1;
            at += 1;
        }
    }
    (bits == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;
    use crate::test_directory::TestDirectory;

    #[test]
    fn keys_are_raw_bytes_digits_or_base64() {
        let key: Vec<u8> = (0..32).map(|n| n * 7).collect();
        let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let base64 = "AAcOFRwjKjE4P0ZNVFtiaXB3foWMk5qhqK+2vcTL0tk=";
        let texts = [key.clone(), format!("{digits}\n").into(), base64.into()];
        for text in texts {
            let parsed = parse(&text).expect("a key");
            assert_eq!(parsed.bytes()[..], key[..]);
            assert_eq!(format!("{parsed:?}"), "EncryptionKey(..)");
        }
        for wrong in [&key[..31], &[b'g'; 64], b"", &[b'='; 44], &[b'z'; 43]] {
            assert!(parse(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn key_files_are_refused_in_one_sentence_each() {
        let directory = TestDirectory::new();
        let path = directory.path().join("key");
        let error = || EncryptionKey::from_file(&path).unwrap_err().to_string();
        assert!(error().contains("cannot be read"));
        fs::write(&path, [b'1'; 64]).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
        assert!(error().ends_with("can be read by every user: run chmod 600 on it"));
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(EncryptionKey::from_file(&path).is_ok());
        fs::write(&path, [b'1'; 63]).unwrap();
        assert!(error().contains("holds no key: it takes 32 bytes"));
        fs::write(&path, vec![b'1'; 1 << 20]).unwrap();
        assert!(error().contains("holds no key"));
    }

    #[test]
    fn commands_that_fail_hang_or_talk_too_much_are_refused() {
        let zeros = "printf %064d 0";
        assert!(EncryptionKey::from_command(zeros).is_ok());
        let error = |command| {
            EncryptionKey::from_command(command)
                .unwrap_err()
                .to_string()
        };
        assert!(error("exit 3").contains("exit status: 3"));
        assert!(error("yes").contains("the output of the key command holds no key"));
        // Also one that keeps running when it has said all, and what it started.
        for endless in [
            "sleep 60",
            "echo; exec >&-; sleep 60",
            "sleep 60 | sleep 60",
        ] {
            let late = output_of(endless, Duration::from_millis(10)).unwrap_err();
            assert!(late.starts_with("it took more than"), "{late}");
        }
    }
}
