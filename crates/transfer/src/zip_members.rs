//! The files inside a zip archive, each as a stream of its own.
//!
//! Called for the inputs of imports. The directory at the archive's end is read by the `zip`
//! crate; contents are unpacked here, so that a stream owns its file and needs no archive.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

/// Bytes read from the file at a time.
const READ_BYTES: usize = 256 * 1024;

/// A file of an archive.
pub(crate) struct ZipMember {
    pub(crate) name: String,
    pub(crate) packed_bytes: u64,
    pub(crate) reader: Box<dyn Read + Send>,
}

/// The files of the archive at `path`, in its order, without directories and without what systems
/// add for themselves (`__MACOSX/`).
///
/// # Errors
/// No archive, one that is damaged or encrypted, or one packed in a way that is not read.
pub(crate) fn members(path: &Path) -> io::Result<Vec<ZipMember>> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut archive = ZipArchive::new(BufReader::new(File::open(path)?))
        .map_err(|error| invalid(format!("the zip archive is damaged ({error})")))?;
    let mut found = Vec::new();
    for slot in 0..archive.len() {
        let member = archive
            .by_index_raw(slot)
            .map_err(|error| invalid(format!("the zip archive is damaged ({error})")))?;
        let name = member
            .name()
            .map_err(|error| invalid(format!("the zip archive is damaged ({error})")))?
            .into_owned();
        if member.is_dir() || name.starts_with("__MACOSX/") {
            continue;
        }
        if member.encrypted() {
            return Err(invalid(format!(
                "its file {name} is encrypted: unpack it first"
            )));
        }
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(member.data_start().unwrap_or(0)))?;
        let packed_bytes = member.compressed_size();
        let packed = BufReader::with_capacity(READ_BYTES, file.take(packed_bytes));
        let unpacked: Box<dyn Read + Send> = match member.compression() {
            CompressionMethod::Stored => Box::new(packed),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(packed)),
            other => {
                return Err(invalid(format!(
                    "its file {name} is packed with {other}, which is not read: unpack it first"
                )));
            }
        };
        let reader = Box::new(Checked {
            inner: unpacked,
            crc: Crc::new(),
            expected: member.crc32(),
            name: name.clone(),
        });
        found.push(ZipMember {
            name,
            packed_bytes,
            reader,
        });
    }
    Ok(found)
}

/// A reader that fails at its end when the content has not the checksum of the directory.
struct Checked {
    inner: Box<dyn Read + Send>,
    crc: Crc,
    expected: u32,
    name: String,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.inner.read(buffer)?;
        self.crc.update(&buffer[..len]);
        if len == 0 && !buffer.is_empty() && self.crc.sum() != self.expected {
            let what = format!("the file {} of the zip archive is damaged", self.name);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(len)
    }
}
