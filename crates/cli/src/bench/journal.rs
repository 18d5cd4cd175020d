//! `jackdaw bench journal`: what a durable write costs on the user's disk, by method and size.
//!
//! A database is as fast at small commits as its disk is at one journal write. The table shows
//! every way there is to make a write durable, and the ways that look fast because they are not.
//!
//! The file is written once before anything is timed, as a journal that is used again: a write
//! into space that was only reserved makes the file system write its own journal as well.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use jackdaw_io::AlignedBuffer;
use jackdaw_io::system::file_system_of;
use serde_json::json;

use crate::output::numbers::count;
use crate::output::say::say;
use crate::output::table::{Align, Table};

/// Flags of Linux's `open`. They differ by architecture; these are the ones it is built for.
const O_DSYNC: i32 = 0o10_000;
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
const O_DIRECT: i32 = 0o200_000;
#[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
const O_DIRECT: i32 = 0o40_000;

/// Sizes of one write: the smallest commit to a well merged batch.
const WRITE_BYTES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// The size that conclusions are drawn from: a commit of a few documents.
const TYPICAL_WRITE_BYTES: usize = 16 << 10;
/// Length of the file; writes go round in it.
const FILE_BYTES: u64 = 16 << 20;
/// Fewest writes of a measurement, however slow the disk.
const WRITES_MIN: usize = 8;
/// Durable writes faster than this do not wait for any medium we know.
const PLAUSIBLE_MIN: Duration = Duration::from_micros(12);

/// Arguments of the command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct JournalArguments {
    /// A directory on the disk to be measured; a file of 16 MiB is made there and removed again.
    #[arg(long, value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Milliseconds for each cell of the table.
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 200,
        value_parser = clap::value_parser!(u64).range(1..=60_000)
    )]
    milliseconds: u64,
    /// One line of JSON per measurement instead of a table.
    #[arg(long)]
    json: bool,
}

/// How a write is made durable, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Buffered,
    Fsync,
    Fdatasync,
    Dsync,
    Direct,
    DirectDsync,
}

impl Method {
    const ALL: [Self; 6] = [
        Self::Buffered,
        Self::Fsync,
        Self::Fdatasync,
        Self::Dsync,
        Self::Direct,
        Self::DirectDsync,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::Fsync => "buffered + fsync",
            Self::Fdatasync => "buffered + fdatasync",
            Self::Dsync => "O_DSYNC",
            Self::Direct => "O_DIRECT",
            Self::DirectDsync => "O_DIRECT | O_DSYNC",
        }
    }

    /// Whether the write survives power loss when it returns.
    fn is_durable(self) -> bool {
        !matches!(self, Self::Buffered | Self::Direct)
    }

    fn flags(self) -> i32 {
        match self {
            Self::Buffered | Self::Fsync | Self::Fdatasync => 0,
            Self::Dsync => O_DSYNC,
            Self::Direct => O_DIRECT,
            Self::DirectDsync => O_DIRECT | O_DSYNC,
        }
    }
}

/// Times of one method and size.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) method: Method,
    pub(crate) write_bytes: usize,
    /// Ascending; empty when the file system refuses the method.
    pub(crate) times: Vec<Duration>,
}

impl Cell {
    fn at(&self, per_mille: usize) -> Duration {
        let last = self.times.len().saturating_sub(1);
        self.times
            .get((last * per_mille + 500) / 1000)
            .copied()
            .unwrap_or_default()
    }

    pub(crate) fn median(&self) -> Duration {
        self.at(500)
    }

    fn total(&self) -> Duration {
        self.times.iter().sum()
    }
}

/// Measures and prints.
pub(crate) fn run(arguments: &JournalArguments) -> anyhow::Result<()> {
    let time = Duration::from_millis(arguments.milliseconds);
    let file = TestFile::create(&arguments.directory)?;
    let mut cells = Vec::new();
    for write_bytes in WRITE_BYTES {
        for method in Method::ALL {
            let cell = measure(&file.0, method, write_bytes, time)
                .with_context(|| format!("cannot measure in {}", arguments.directory.display()))?;
            if arguments.json {
                say!("{}", json_line(&cell));
            }
            cells.push(cell);
        }
    }
    if !arguments.json {
        say!("Median and, in brackets, 99th percentile of one write, in microseconds:\n");
        say!("{}", table(&cells).trim_end());
        say!("\n{}", meaning(&cells));
        if file_system_of(&arguments.directory).is_ok_and(|found| found.is_volatile) {
            say!("(This directory is in memory: nothing in it survives a restart.)");
        }
    }
    Ok(())
}

/// Measures the typical durable write alone, for `doctor`: in `directory`, for at most `time`.
pub(crate) fn measure_typical(directory: &Path, time: Duration) -> anyhow::Result<Vec<Cell>> {
    let file = TestFile::create(directory)?;
    [Method::Buffered, Method::Fdatasync, Method::DirectDsync]
        .into_iter()
        .map(|method| Ok(measure(&file.0, method, TYPICAL_WRITE_BYTES, time)?))
        .collect()
}

/// A file that is removed when the measurement ends, however it ends.
struct TestFile(PathBuf);

impl TestFile {
    fn create(directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join(format!("jackdaw-bench-{}.tmp", std::process::id()));
        let explain = || {
            format!(
                "cannot write a test file into {}: name a directory that may be written, with \
                 16 MiB of room",
                directory.display()
            )
        };
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .with_context(explain)?;
        let created = Self(path);
        let zeros = vec![0u8; 1 << 20];
        for position in (0..FILE_BYTES).step_by(zeros.len()) {
            file.write_all_at(&zeros, position).with_context(explain)?;
        }
        file.sync_all().with_context(explain)?;
        Ok(created)
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        // Nothing depends on it; a file left behind says by its name what it is.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn measure(path: &Path, method: Method, write_bytes: usize, time: Duration) -> io::Result<Cell> {
    let mut cell = Cell {
        method,
        write_bytes,
        times: Vec::new(),
    };
    let opened = OpenOptions::new()
        .write(true)
        .custom_flags(method.flags())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        // File systems in memory refuse O_DIRECT.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(cell),
        Err(error) => return Err(error),
    };
    let mut content = AlignedBuffer::zeroed(write_bytes);
    let started = Instant::now();
    let mut position = 0;
    while cell.times.len() < WRITES_MIN || started.elapsed() < time {
        // No two writes alike: a disk could make less of it.
        let number = (cell.times.len() as u64).to_le_bytes();
        content[..number.len()].copy_from_slice(&number);
        let write_started = Instant::now();
        write_once(&file, method, &content, position)?;
        cell.times.push(write_started.elapsed());
        position = (position + write_bytes as u64) % FILE_BYTES;
    }
    cell.times.sort_unstable();
    Ok(cell)
}

fn write_once(file: &File, method: Method, content: &[u8], position: u64) -> io::Result<()> {
    file.write_all_at(content, position)?;
    match method {
        Method::Fsync => file.sync_all(),
        Method::Fdatasync => file.sync_data(),
        Method::Buffered | Method::Dsync | Method::Direct | Method::DirectDsync => Ok(()),
    }
}

fn micros(time: Duration) -> String {
    count(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

fn size_name(size_bytes: usize) -> String {
    format!("{} KiB", size_bytes >> 10)
}

fn table(cells: &[Cell]) -> String {
    let sizes = WRITE_BYTES.map(size_name);
    let mut columns = vec![("Method", Align::Left), ("Durable", Align::Left)];
    columns.extend(sizes.iter().map(|size| (size.as_str(), Align::Right)));
    let mut table = Table::new(&columns);
    for method in Method::ALL {
        let durable = if method.is_durable() { "yes" } else { "no" };
        let mut row = vec![method.name().to_owned(), durable.to_owned()];
        for cell in cells.iter().filter(|cell| cell.method == method) {
            row.push(if cell.times.is_empty() {
                "refused".to_owned()
            } else {
                format!("{} ({})", micros(cell.median()), micros(cell.at(990)))
            });
        }
        table.row(row);
    }
    table.render(None)
}

fn json_line(cell: &Cell) -> String {
    let seconds = cell.total().as_secs_f64();
    let writes = cell.times.len();
    let us = |time: Duration| (time.as_secs_f64() * 1e9).round() / 1e3;
    let per_second = |amount: f64| {
        if seconds > 0.0 {
            (amount / seconds).round()
        } else {
            0.0
        }
    };
    json!({
        "bench": "journal",
        "method": cell.method.name(),
        "durable": cell.method.is_durable(),
        "supported": writes > 0,
        "write_bytes": cell.write_bytes,
        "writes": writes,
        "seconds": seconds,
        "mean_us": us(cell.total() / u32::try_from(writes.max(1)).unwrap_or(u32::MAX)),
        "p50_us": us(cell.median()),
        "p99_us": us(cell.at(990)),
        "writes_per_s": per_second(writes as f64),
        "bytes_per_s": per_second((writes * cell.write_bytes) as f64),
    })
    .to_string()
}

/// What the numbers say about this disk, in a few sentences.
pub(crate) fn meaning(cells: &[Cell]) -> String {
    let typical = |method| {
        cells
            .iter()
            .find(|cell| cell.method == method && cell.write_bytes == TYPICAL_WRITE_BYTES)
            .filter(|cell| !cell.times.is_empty())
            .map(Cell::median)
    };
    let (Some(buffered), Some(fdatasync)) = (typical(Method::Buffered), typical(Method::Fdatasync))
    else {
        return String::new();
    };
    let Some(durable) = typical(Method::DirectDsync) else {
        return "This file system refuses O_DIRECT, as file systems in memory do: data kept here \
                is lost with the power, and these numbers say nothing about a disk."
            .to_owned();
    };
    let rate = count(crate::output::numbers::per_second(
        1,
        durable.max(Duration::from_nanos(1)),
    ));
    let mut text = format!(
        "A durable commit of {} waits {} us for this disk: about {rate} commits a second one \
         after another. Commits that arrive together share one write, so many clients get a \
         multiple of that.",
        size_name(TYPICAL_WRITE_BYTES),
        micros(durable),
    );
    if durable < PLAUSIBLE_MIN || durable < buffered * 2 {
        text.push_str(
            "\nThat is too fast for a medium that keeps data without power. Unless the disk has a \
             cache with a battery of its own, something on the way says \"written\" too early: \
             check the write cache of the disk, and the settings of the virtual machine.",
        );
    } else if fdatasync > durable * 2 {
        text.push_str(
            "\nO_DIRECT | O_DSYNC, which the journal uses, costs less than half of fdatasync here.",
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(method: Method, micros: u64) -> Cell {
        let times = if micros == 0 {
            vec![]
        } else {
            vec![Duration::from_micros(micros)]
        };
        Cell {
            method,
            write_bytes: TYPICAL_WRITE_BYTES,
            times,
        }
    }

    fn meaning_of(buffered: u64, fdatasync: u64, durable: u64) -> String {
        meaning(&[
            cell(Method::Buffered, buffered),
            cell(Method::Fdatasync, fdatasync),
            cell(Method::DirectDsync, durable),
        ])
    }

    #[test]
    fn the_sentence_follows_the_numbers() {
        let usual = meaning_of(6, 90, 50);
        assert!(
            usual.contains("50 us") && usual.contains("20,000 commits"),
            "{usual}"
        );
        assert!(!usual.contains('\n'), "{usual}");
        assert!(meaning_of(6, 900, 300).contains("less than half of fdatasync"));
        assert!(meaning_of(6, 9, 8).contains("too early"));
        assert!(meaning_of(6, 9, 0).contains("refuses O_DIRECT"));
    }

    #[test]
    fn every_method_is_measured_on_a_real_file() {
        let file = TestFile::create(&std::env::temp_dir()).unwrap();
        let path = file.0.clone();
        for method in Method::ALL {
            let cell = measure(&path, method, 4096, Duration::ZERO).unwrap();
            assert!(
                cell.times.is_empty() || cell.times.len() == WRITES_MIN,
                "{method:?}"
            );
            assert!(json_line(&cell).contains("\"p99_us\":"));
        }
        drop(file);
        assert!(!path.exists());
    }
}
