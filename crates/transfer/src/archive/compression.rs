//! What a file is, by its first bytes, and its content as one stream.
//!
//! Called by the sources of the imports.

use std::io::{BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::blocks::{BlockReader, is_bzip2};
use super::{ByteSource, CountingReader, SourceError};

/// Bytes looked at to tell the compression.
const HEAD_BYTES: usize = 16;
/// Largest window of zstd, as a power of two: what `zstd --long` makes needs 128 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// Bytes read from the file at a time.
const READ_BYTES: usize = 256 * 1024;

/// How the bytes of a file are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionKind {
    /// Not at all.
    Plain,
    /// gzip, one or several members.
    Gzip,
    /// bzip2, one or several streams.
    Bzip2,
    /// zstd, one or several frames.
    Zstd,
    /// A format that is recognized and not read; its name.
    Unsupported(&'static str),
}

impl CompressionKind {
    /// Tells the compression by the first bytes of a file.
    #[must_use]
    pub fn detect(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, 8, ..] => Self::Gzip,
            _ if is_bzip2(head) => Self::Bzip2,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            // A frame that zstd skips, which some tools put first.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Unsupported("xz"),
            [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Self::Unsupported("7z"),
            [b'P', b'K', 3, 4, ..] => Self::Unsupported("zip"),
            _ => Self::Plain,
        }
    }
}

/// Opens the content of a file. `position` counts the bytes taken from it; `worker_count` threads
/// unpack bzip2.
///
/// # Errors
/// When the file cannot be read at all, is packed in a way that is not supported, or a thread is
/// refused.
pub fn open_stream(
    mut file: Box<dyn Read + Send>,
    position: Arc<AtomicU64>,
    worker_count: usize,
) -> Result<Box<dyn ByteSource>, SourceError> {
    let mut head = Vec::new();
    file.by_ref()
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(|error| fatal(0, format!("the file cannot be read ({error})")))?;
    let kind = CompressionKind::detect(&head);
    let whole = CountingReader::new(Cursor::new(head).chain(file), Arc::clone(&position));
    Ok(match kind {
        CompressionKind::Plain => Box::new(Stream {
            reader: whole,
            position,
            packed: None,
        }),
        CompressionKind::Gzip => {
            let reader = MultiGzDecoder::new(BufReader::with_capacity(READ_BYTES, whole));
            Box::new(Stream {
                reader,
                position,
                packed: Some("gzip"),
            })
        }
        CompressionKind::Zstd => {
            let buffered = BufReader::with_capacity(READ_BYTES, whole);
            let mut reader = zstd::Decoder::with_buffer(buffered)
                .map_err(|error| fatal(0, format!("zstd cannot be unpacked ({error})")))?;
            reader
                .window_log_max(ZSTD_WINDOW_LOG_MAX)
                .map_err(|error| fatal(0, format!("zstd cannot be unpacked ({error})")))?;
            Box::new(Stream {
                reader,
                position,
                packed: Some("zstd"),
            })
        }
        CompressionKind::Bzip2 => Box::new(
            BlockReader::start(Box::new(whole), worker_count)
                .map_err(|error| fatal(0, error.to_string()))?,
        ),
        CompressionKind::Unsupported(name) => {
            return Err(fatal(
                0,
                format!("it is packed with {name}, which is not read here"),
            ));
        }
    })
}

fn fatal(file_position: u64, what: String) -> SourceError {
    SourceError::Fatal {
        file_position,
        what,
    }
}

/// A reader whose every error is the end of it.
struct Stream<R> {
    reader: R,
    position: Arc<AtomicU64>,
    /// Name of the compression.
    packed: Option<&'static str>,
}

impl<R: Read + Send> ByteSource for Stream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        loop {
            let error = match self.reader.read(buffer) {
                Ok(len) => return Ok(len),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            let position = self.position.load(Ordering::Relaxed);
            let what = match (self.packed, error.kind()) {
                (Some(name), std::io::ErrorKind::UnexpectedEof) => {
                    format!("the archive ends in the middle of its {name} stream")
                }
                (
                    Some(name),
                    std::io::ErrorKind::InvalidInput
                    | std::io::ErrorKind::InvalidData
                    | std::io::ErrorKind::Other,
                ) => {
                    format!("the {name} stream is damaged ({error})")
                }
                _ => format!("the file cannot be read ({error})"),
            };
            return Err(fatal(position, what));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read_all(file: Vec<u8>) -> Result<Vec<u8>, SourceError> {
        let mut stream = open_stream(Box::new(Cursor::new(file)), Arc::default(), 2)?;
        let mut out = Vec::new();
        let mut buffer = vec![0; 1000];
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok(out),
                len => out.extend_from_slice(&buffer[..len]),
            }
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn bzip2(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_first_bytes_tell_the_compression() {
        let plain = b"# xmcd\nsome text that is longer than the head".to_vec();
        assert_eq!(read_all(plain.clone()), Ok(plain.clone()));
        assert_eq!(read_all(gzip(&plain)), Ok(plain.clone()));
        assert_eq!(read_all(bzip2(&plain)), Ok(plain.clone()));
        let members = [gzip(&plain), gzip(&plain)].concat();
        assert_eq!(
            read_all(members),
            Ok([plain.clone(), plain.clone()].concat())
        );
        let frame = zstd::encode_all(plain.as_slice(), 1).unwrap();
        assert_eq!(read_all(frame.clone()), Ok(plain.clone()));
        let frames = [b"\x50\x2a\x4d\x18\x03\0\0\0abc".as_slice(), &frame, &frame].concat();
        assert_eq!(
            read_all(frames),
            Ok([plain.clone(), plain.clone()].concat())
        );
        assert_eq!(read_all(Vec::new()), Ok(Vec::new()));
        assert_eq!(
            read_all(b"BZh9 is how this text begins".to_vec())
                .unwrap()
                .len(),
            28
        );
    }

    #[test]
    fn other_archives_are_named_and_refused() {
        for (head, name) in [
            (b"\xfd7zXZ\0..".as_slice(), "xz"),
            (b"7z\xbc\xaf\x27\x1c..", "7z"),
            (b"PK\x03\x04....", "zip"),
        ] {
            let error = read_all(head.to_vec()).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn a_truncated_or_damaged_zstd_file_says_so() {
        let plain: Vec<u8> = (0..50_000u32).flat_map(|i| (i * i).to_le_bytes()).collect();
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(&plain).unwrap();
        let mut packed = encoder.finish().unwrap();
        let error = read_all(packed[..packed.len() / 2].to_vec()).unwrap_err();
        assert!(error.to_string().contains("zstd"), "{error}");
        let last = packed.len() - 1;
        packed[last] ^= 1;
        let error = read_all(packed).unwrap_err();
        assert!(
            error.to_string().contains("zstd stream is damaged"),
            "{error}"
        );
    }

    #[test]
    fn a_truncated_or_damaged_gzip_file_says_so() {
        let plain: Vec<u8> = (0..50_000u32).flat_map(|i| (i * i).to_le_bytes()).collect();
        let mut packed = gzip(&plain);
        let error = read_all(packed[..packed.len() / 2].to_vec()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("ends in the middle of its gzip stream"),
            "{error}"
        );
        let last = packed.len() - 6;
        packed[last] ^= 1;
        let error = read_all(packed).unwrap_err();
        assert!(
            error.to_string().contains("gzip stream is damaged"),
            "{error}"
        );
    }
}
