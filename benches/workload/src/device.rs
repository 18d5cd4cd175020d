//! What the disk under a directory has done: bytes written to it and caches flushed.
//!
//! Called when a measurement begins and ends. The kernel counts for the whole disk, so other
//! programs that write meanwhile are counted too: measure on a quiet machine. Its account of single
//! processes is no substitute: it charges whole blocks of the page cache for a change of one page.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The kernel counts in these, whatever the disk's own blocks are.
const SECTOR_BYTES: u64 = 512;
/// Positions in the line of `/sys/dev/block/*/stat`.
const WRITE_SECTORS: usize = 6;
const FLUSHES: usize = 15;

/// Counters of a disk since it was attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceCounters {
    pub(crate) write_bytes: u64,
    pub(crate) flushes: u64,
}

/// Reads the counters of the disk that holds `directory`; zeros when the kernel keeps none.
pub(crate) fn counters(directory: &Path) -> DeviceCounters {
    let path = stat_path(directory);
    let text = path.and_then(|path| fs::read_to_string(path).ok());
    text.map(|text| parse(&text)).unwrap_or_default()
}

/// Bytes written so far to the disk that holds `directory`, by whatever program; 0 when the kernel
/// does not count them.
pub fn written_bytes(directory: &Path) -> u64 {
    counters(directory).write_bytes
}

fn stat_path(directory: &Path) -> Option<PathBuf> {
    let device = fs::metadata(directory).ok()?.dev();
    // How Linux packs both numbers into one.
    let major = (device >> 8) & 0xfff | (device >> 32) & !0xfff;
    let minor = device & 0xff | (device >> 12) & !0xff;
    Some(PathBuf::from(format!(
        "/sys/dev/block/{major}:{minor}/stat"
    )))
}

fn parse(stat: &str) -> DeviceCounters {
    let fields: Vec<u64> = stat
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    let field = |position: usize| fields.get(position).copied().unwrap_or(0);
    DeviceCounters {
        write_bytes: field(WRITE_SECTORS) * SECTOR_BYTES,
        flushes: field(FLUSHES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_kernel_is_read() {
        let line = "  654845 50435 34613138 790259 3921032 179865 124399280 4139748 0 97780 \
                    4946830 43785 56 25172680 10631 155114 6190\n";
        let counters = DeviceCounters {
            write_bytes: 124_399_280 * 512,
            flushes: 155_114,
        };
        assert_eq!(parse(line), counters);
        assert_eq!(parse("1 2 3"), DeviceCounters::default());
    }
}
