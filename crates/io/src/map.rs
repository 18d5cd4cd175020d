//! Address space: read-only maps of growing files, anonymous regions for files in memory and the
//! simulated disk, and memory for page versions.
//!
//! `RealFile::map` makes a [`FileMapping`]; crate `sim` mirrors its files in [`AnonymousRegion`]s.
//! Both reserve inaccessible address space and open it up from the front. A file that outgrows its
//! reservation gets a larger one beside it, so that thousands of small files fit into one process
//! and none has a limit.
//!
//! Invariants:
//! - Memory at an address that was handed out stays mapped until its owner is dropped: the base of
//!   a region never moves, and that of a file moves while the earlier one stays readable.
//! - Every system call here stays inside the owner's reservation, at machine page boundaries.
//! - A file is mapped only up to the length it has at that moment; cutting a file below what is
//!   covered makes later reads there die with SIGBUS, so the engine never does it.
//!
//! Threads: all methods may be called from any thread; growing is serialized by a lock.
#![expect(
    unsafe_code,
    reason = "mapping memory is unsafe by nature; see docs/unsafe.md"
)]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};

use crate::error::with_path;
use crate::vfs::Mapping;

/// Smallest reservation worth having when the machine refuses the wanted one. Below it a file
/// could hardly grow, and the refusal is reported instead.
const RESERVE_BYTES_MIN: usize = 64 << 20;

/// How many times the length of a file is reserved for it, so that moves are rare and all earlier
/// reservations together are a fraction of the newest.
const RESERVE_FACTOR: u64 = 8;

/// Inaccessible address space, unmapped on drop.
struct Reservation {
    base: NonNull<u8>,
    len_bytes: usize,
}

// SAFETY: the struct is an address and a length; it gives no access to the memory by itself, and
// unmapping may happen on any thread.
unsafe impl Send for Reservation {}
// SAFETY: as above; shared use only reads the two numbers.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Reserves `wanted_bytes`, or half as often as needed down to `least_bytes`.
    fn new(wanted_bytes: u64, least_bytes: u64) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let round = |bytes: u64| {
            usize::try_from(bytes)
                .ok()
                .and_then(|bytes| bytes.max(1).checked_next_multiple_of(page))
                .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))
        };
        let least = round(least_bytes)?;
        let mut len_bytes = round(wanted_bytes.max(least_bytes))?;
        loop {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: a null address lets the kernel choose unused space, so nothing existing is
            // touched.
            let result = unsafe {
                rustix::mm::mmap_anonymous(
                    std::ptr::null_mut(),
                    len_bytes,
                    ProtFlags::empty(),
                    flags,
                )
            };
            match result {
                Ok(base) => {
                    let base = NonNull::new(base.cast()).expect("mmap never returns address 0");
                    return Ok(Self { base, len_bytes });
                }
                Err(error) => {
                    let smaller = (len_bytes / 2).next_multiple_of(page);
                    if len_bytes <= least.max(RESERVE_BYTES_MIN) {
                        return Err(error.into());
                    }
                    len_bytes = smaller.max(least);
                }
            }
        }
    }

    /// Address `offset` bytes into the reservation.
    fn address(&self, offset: usize) -> *mut c_void {
        assert!(
            offset <= self.len_bytes,
            "offset {offset} is outside the reservation"
        );
        // SAFETY: `offset` is at most the length of the one mapping that starts at `base`.
        unsafe { self.base.as_ptr().add(offset) }.cast()
    }

    fn advise(&self, start: usize, end: usize, advice: Advice) {
        assert!(
            start <= end && end <= self.len_bytes,
            "advice stays inside the reservation"
        );
        if start == end {
            return;
        }
        // Refusal of a hint changes nothing, so the result is ignored.
        // SAFETY: the range lies in a mapping of ours. The advices in use (will need; drop
        // cached pages of a read-only shared file map; no huge pages) never change what a read
        // returns.
        let _ = unsafe { rustix::mm::madvise(self.address(start), end - start, advice) };
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever reads through `base` promised to stop before
        // the owner is dropped.
        let result = unsafe { rustix::mm::munmap(self.address(0), self.len_bytes) };
        debug_assert!(result.is_ok(), "unmapping a mapping of ours cannot fail");
    }
}

/// A read-only view of a file.
pub(crate) struct FileMapping {
    file: Arc<File>,
    path: PathBuf,
    /// Start of the newest view.
    base: AtomicPtr<u8>,
    covered_bytes: AtomicU64,
    views: Mutex<Views>,
}

/// The reservations of a file. Each maps the file from its start; all but the last are kept for
/// readers that began in them.
struct Views {
    outgrown: Vec<Reservation>,
    newest: Reservation,
    /// Bytes of `newest` mapped so far, whole machine pages; at least what is covered.
    mapped_bytes: usize,
}

impl FileMapping {
    /// Reserves address space for `file`, at least `reserve_bytes` if the machine has them; covers
    /// nothing yet.
    pub(crate) fn new(file: Arc<File>, path: PathBuf, reserve_bytes: u64) -> io::Result<Self> {
        let least_bytes = file.metadata()?.len();
        let wanted_bytes = reserve_bytes.max(least_bytes.saturating_mul(RESERVE_FACTOR));
        let newest = Reservation::new(wanted_bytes, least_bytes)?;
        Ok(Self {
            file,
            path,
            base: AtomicPtr::new(newest.base.as_ptr()),
            covered_bytes: AtomicU64::new(0),
            views: Mutex::new(Views {
                outgrown: Vec::new(),
                newest,
                mapped_bytes: 0,
            }),
        })
    }

    fn cover_inner(&self, len_bytes: u64) -> io::Result<()> {
        let mut views = lock(&self.views);
        if len_bytes <= self.covered_bytes() {
            return Ok(());
        }
        let file_len = self.file.metadata()?.len();
        if file_len < len_bytes {
            let text = format!("the file has {file_len} bytes, {len_bytes} were to be mapped");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let page = rustix::param::page_size();
        let end = usize::try_from(len_bytes)
            .ok()
            .and_then(|bytes| bytes.checked_next_multiple_of(page))
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        if end > views.newest.len_bytes {
            self.move_to_larger(&mut views, len_bytes, end)?;
        } else if end > views.mapped_bytes {
            self.map_range(&views.newest, views.mapped_bytes, end)?;
            views.mapped_bytes = end;
        }
        // Release: a reader that sees the new length also sees the mapping behind it, and a base
        // that has it.
        self.covered_bytes.store(len_bytes, Ordering::Release);
        Ok(())
    }

    /// Maps the file up to `end` (a machine page boundary) in a larger reservation.
    fn move_to_larger(&self, views: &mut Views, len_bytes: u64, end: usize) -> io::Result<()> {
        let larger = Reservation::new(len_bytes.saturating_mul(RESERVE_FACTOR), end as u64)?;
        self.map_range(&larger, 0, end)?;
        self.base.store(larger.base.as_ptr(), Ordering::Release);
        let outgrown = std::mem::replace(&mut views.newest, larger);
        outgrown.advise(0, views.mapped_bytes, Advice::LinuxDontNeed);
        views.outgrown.push(outgrown);
        views.mapped_bytes = end;
        Ok(())
    }

    /// Maps the file at `start..end` (machine page boundaries) to the same place of `view`.
    fn map_range(&self, view: &Reservation, start: usize, end: usize) -> io::Result<()> {
        let flags = MapFlags::SHARED | MapFlags::FIXED | MapFlags::NORESERVE;
        let address = view.address(start);
        assert!(end <= view.len_bytes, "checked by the caller");
        // SAFETY: the range lies in a reservation of ours and above everything covered through it
        // so far, so no reader holds a reference into the inaccessible pages that are replaced.
        let result = unsafe {
            rustix::mm::mmap(
                address,
                end - start,
                ProtFlags::READ,
                flags,
                &*self.file,
                start as u64,
            )
        };
        result.map(|_| ()).map_err(io::Error::from)
    }
}

impl Mapping for FileMapping {
    fn cover(&self, len_bytes: u64) -> io::Result<()> {
        if len_bytes <= self.covered_bytes() {
            return Ok(());
        }
        self.cover_inner(len_bytes)
            .map_err(|error| with_path("map", &self.path, error))
    }

    fn covered_bytes(&self) -> u64 {
        self.covered_bytes.load(Ordering::Acquire)
    }

    fn base(&self) -> *const u8 {
        self.base.load(Ordering::Acquire)
    }

    fn will_need(&self, offset: u64, len_bytes: u64) {
        let page = rustix::param::page_size();
        let views = lock(&self.views);
        let covered = self.covered_bytes();
        let clip = |bytes: u64| usize::try_from(bytes.min(covered)).unwrap_or(usize::MAX);
        let start = clip(offset) / page * page;
        let end = clip(offset.saturating_add(len_bytes)).next_multiple_of(page);
        views.newest.advise(start, end, Advice::WillNeed);
    }

    fn release_resident(&self) {
        let views = lock(&self.views);
        for outgrown in &views.outgrown {
            outgrown.advise(0, outgrown.len_bytes, Advice::LinuxDontNeed);
        }
        views
            .newest
            .advise(0, views.mapped_bytes, Advice::LinuxDontNeed);
    }
}

/// Zero-filled memory at a fixed address that grows from the front of a reservation.
///
/// The simulated disk keeps the content of mapped files here. Reading through [`base`] is
/// `unsafe` at the caller: only below [`len_bytes`], and only while nothing writes that range.
///
/// [`base`]: AnonymousRegion::base
/// [`len_bytes`]: AnonymousRegion::len_bytes
pub struct AnonymousRegion {
    reservation: Reservation,
    len_bytes: AtomicU64,
    /// Serializes growing and copying.
    access: Mutex<()>,
}

impl AnonymousRegion {
    /// Reserves `reserve_bytes` of address space (less when the machine refuses); uses no memory.
    ///
    /// # Errors
    /// `OutOfMemory` when the machine gives no address space.
    pub fn reserve(reserve_bytes: u64) -> io::Result<Self> {
        let reservation = Reservation::new(reserve_bytes, 1)?;
        // Memory is touched here and there: a huge page would be taken for each small one.
        reservation.advise(0, reservation.len_bytes, Advice::LinuxNoHugepage);
        Ok(Self {
            reservation,
            len_bytes: AtomicU64::new(0),
            access: Mutex::new(()),
        })
    }

    /// Bytes that may be read or written now.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.len_bytes.load(Ordering::Acquire)
    }

    /// Bytes that the region can grow to.
    #[must_use]
    pub fn reserved_bytes(&self) -> u64 {
        self.reservation.len_bytes as u64
    }

    /// Address of the first byte; valid for the life of the region.
    #[must_use]
    pub fn base(&self) -> *const u8 {
        self.reservation.base.as_ptr()
    }

    /// Makes at least `len_bytes` accessible; new bytes are zero. Does nothing when they are.
    ///
    /// # Errors
    /// `OutOfMemory` beyond the reservation, or when the machine has no memory to promise.
    pub fn grow(&self, len_bytes: u64) -> io::Result<()> {
        let _access = lock(&self.access);
        if len_bytes <= self.len_bytes() {
            return Ok(());
        }
        let end = usize::try_from(len_bytes)
            .ok()
            .and_then(|bytes| bytes.checked_next_multiple_of(rustix::param::page_size()))
            .filter(|&end| end <= self.reservation.len_bytes)
            .ok_or_else(|| reservation_exceeded(len_bytes, self.reservation.len_bytes))?;
        let access = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: the range is the front of our own reservation; opening it up takes no access
        // away from anybody.
        unsafe { rustix::mm::mprotect(self.reservation.address(0), end, access) }?;
        self.len_bytes.store(len_bytes, Ordering::Release);
        Ok(())
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Panics
    /// When the range is outside [`AnonymousRegion::len_bytes`].
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        let _access = lock(&self.access);
        let target = self.checked_address(offset, bytes.len());
        // SAFETY: the target range is inside the accessible part of our region (just checked) and
        // `bytes` cannot overlap it, as no safe reference into the region is ever handed out.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
    }

    /// Copies the bytes at `offset` into `buffer`.
    ///
    /// # Panics
    /// When the range is outside [`AnonymousRegion::len_bytes`].
    pub fn read(&self, offset: u64, buffer: &mut [u8]) {
        let _access = lock(&self.access);
        let source = self.checked_address(offset, buffer.len());
        // SAFETY: as for `write`, with the directions exchanged.
        unsafe { std::ptr::copy_nonoverlapping(source, buffer.as_mut_ptr(), buffer.len()) };
    }

    /// Makes bytes zero; whole machine pages among them give their memory back.
    ///
    /// # Panics
    /// When the range is outside [`AnonymousRegion::len_bytes`].
    pub fn clear(&self, offset: u64, len_bytes: u64) {
        let _access = lock(&self.access);
        let len_bytes = usize::try_from(len_bytes).expect("checked to be in the region below");
        let start = self.checked_address(offset, len_bytes);
        let page = rustix::param::page_size();
        let before = (start.addr().next_multiple_of(page) - start.addr()).min(len_bytes);
        let whole = (len_bytes - before) / page * page;
        let after = len_bytes - before - whole;
        for (skipped, count) in [(0, before), (before + whole, after)] {
            // SAFETY: the part lies in the checked range.
            let part = unsafe { start.add(skipped) };
            // SAFETY: as for `write`: accessible, and no safe reference leads into the region.
            unsafe { std::ptr::write_bytes(part, 0, count) };
        }
        if whole == 0 {
            return;
        }
        // SAFETY: the part lies in the checked range.
        let pages = unsafe { start.add(before) };
        let advice = Advice::LinuxDontNeed;
        // SAFETY: whole pages of private memory of ours, which read as zero from now on.
        let freed = unsafe { rustix::mm::madvise(pages.cast(), whole, advice) };
        if freed.is_err() {
            // SAFETY: as above.
            unsafe { std::ptr::write_bytes(pages, 0, whole) };
        }
    }

    /// Address of `offset`, after checking that `len_bytes` from there are accessible.
    fn checked_address(&self, offset: u64, len_bytes: usize) -> *mut u8 {
        let end = offset.checked_add(len_bytes as u64);
        let inside = end.is_some_and(|end| end <= self.len_bytes());
        assert!(
            inside,
            "{len_bytes} bytes at {offset} are outside the region"
        );
        let offset = usize::try_from(offset).expect("below a length that is a usize");
        self.reservation.address(offset).cast()
    }
}

/// Zeroed memory for page versions, at a multiple of [`ScratchMemory::ALIGNMENT`] unless it is a
/// file's. Empty until it is touched.
pub struct ScratchMemory {
    base: NonNull<u8>,
    len_bytes: usize,
}

// SAFETY: the struct owns the mapping and gives no access to it by itself; unmapping may happen on
// any thread.
unsafe impl Send for ScratchMemory {}

impl ScratchMemory {
    /// Length and alignment of a huge page.
    pub const ALIGNMENT: usize = 2 << 20;

    /// `len_bytes` of memory, whole huge pages. With `is_huge` the machine is asked to map them as
    /// such, with one fault each, at the price of being all or nothing; without, it is asked not
    /// to, whatever it does with the memory of other programs.
    ///
    /// # Errors
    /// `OutOfMemory` when the machine gives none.
    pub fn new(len_bytes: usize, is_huge: bool) -> io::Result<Self> {
        let len_bytes = len_bytes.max(1).next_multiple_of(Self::ALIGNMENT);
        let mapped_bytes = len_bytes + Self::ALIGNMENT;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a null address lets the kernel choose unused space.
        let mapped = unsafe {
            rustix::mm::mmap_anonymous(std::ptr::null_mut(), mapped_bytes, access, flags)
        }?;
        let before = mapped.addr().next_multiple_of(Self::ALIGNMENT) - mapped.addr();
        let after = mapped_bytes - before - len_bytes;
        // SAFETY: `before` is at most the length of the alignment, which was mapped in addition.
        let start = unsafe { mapped.byte_add(before) };
        // SAFETY: the end is `after` bytes before that of the mapping.
        let end = unsafe { start.byte_add(len_bytes) };
        // What lies around the aligned part goes back, so that neighbors become one mapping.
        for (address, len_bytes) in [(mapped, before), (end, after)] {
            if len_bytes > 0 {
                // SAFETY: the range is a part of the mapping made above that nobody has seen.
                unsafe { rustix::mm::munmap(address, len_bytes) }?;
            }
        }
        let advice = match is_huge {
            true => Advice::LinuxHugepage,
            false => Advice::LinuxNoHugepage,
        };
        // A refusal changes nothing but speed and size.
        // SAFETY: the range is the mapping that is left; the advice keeps its content.
        let _ = unsafe { rustix::mm::madvise(start, len_bytes, advice) };
        let base = NonNull::new(start.cast()).expect("mmap never returns address 0");
        Ok(Self { base, len_bytes })
    }

    /// `len_bytes` of a file from `offset` on, whose space is reserved and whose name is gone, so
    /// that nothing else can shorten it: touching bytes that the disk has no room for would end
    /// the process.
    pub(crate) fn of_file(file: &File, offset: u64, len_bytes: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let anywhere = std::ptr::null_mut();
        // SAFETY: a null address lets the kernel choose unused space.
        let mapped = unsafe {
            rustix::mm::mmap(anywhere, len_bytes, access, MapFlags::SHARED, file, offset)
        }?;
        let base = NonNull::new(mapped.cast()).expect("mmap never returns address 0");
        Ok(Self { base, len_bytes })
    }

    /// Sets every byte. For tests: nobody else may use the memory meanwhile.
    #[cfg(test)]
    pub(crate) fn fill(&self, byte: u8) {
        // SAFETY: the mapping is `len_bytes` long and writable, and the caller is its only user.
        unsafe { std::ptr::write_bytes(self.base.as_ptr(), byte, self.len_bytes) };
    }

    /// A copy of every byte. For tests, as `fill`.
    #[cfg(test)]
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        // SAFETY: the mapping is `len_bytes` long and readable, and nobody writes it meanwhile.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len_bytes) }.to_vec()
    }

    /// Address of the first byte; valid for the life of the memory.
    ///
    /// Reading and writing through it is `unsafe` at the caller.
    #[must_use]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }
}

impl Drop for ScratchMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever uses `base` promised to stop before this.
        let result = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len_bytes) };
        debug_assert!(result.is_ok(), "unmapping a mapping of ours cannot fail");
    }
}

fn reservation_exceeded(len_bytes: u64, reserved_bytes: usize) -> io::Error {
    let text = format!(
        "{len_bytes} bytes do not fit into the {reserved_bytes} bytes of reserved address space"
    );
    io::Error::new(io::ErrorKind::OutOfMemory, text)
}

/// The locks here guard no state that a panic could leave half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(crate) use tests::bytes_at;
#[cfg(test)]
mod tests;
