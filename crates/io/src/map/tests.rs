//! Proves that a file view follows the growing file, at one address while its reservation lasts,
//! and that anonymous regions keep what is written, by reading through the raw address as the
//! engine does.

use std::os::unix::fs::FileExt;

use super::*;
use crate::test_directory::TestDirectory;

const PAGE: u64 = 4096;

fn file_of(directory: &TestDirectory, len_bytes: u64) -> (Arc<File>, PathBuf) {
    let path = directory.path().join("data");
    let mut options = File::options();
    let file = options
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .unwrap();
    file.set_len(len_bytes).unwrap();
    (Arc::new(file), path)
}

/// A copy of readable memory that nobody writes meanwhile.
pub(crate) fn bytes_at(base: *const u8, len_bytes: usize) -> Vec<u8> {
    // SAFETY: what the caller promises.
    unsafe { std::slice::from_raw_parts(base, len_bytes) }.to_vec()
}

fn byte_at(mapping: &FileMapping, offset: u64) -> u8 {
    assert!(offset < mapping.covered_bytes());
    let offset = usize::try_from(offset).unwrap();
    let base = mapping.base();
    // SAFETY: the offset is covered, as just checked.
    let address = unsafe { base.add(offset) };
    // SAFETY: covered bytes are readable and no test writes them meanwhile.
    unsafe { address.read_volatile() }
}

#[test]
fn view_follows_the_growing_file_at_one_address() {
    let directory = TestDirectory::new();
    let (file, path) = file_of(&directory, 3 * PAGE);
    file.write_all_at(b"x", 2 * PAGE).unwrap();
    let mapping = FileMapping::new(file.clone(), path, 1 << 40).unwrap();
    let base = mapping.base();
    assert_eq!(mapping.covered_bytes(), 0);
    mapping.cover(3 * PAGE).unwrap();
    assert_eq!(byte_at(&mapping, 2 * PAGE), b'x');
    for step in 1..50_u64 {
        let len_bytes = 3 * PAGE + step * 3 * PAGE;
        file.set_len(len_bytes).unwrap();
        file.write_all_at(&[u8::try_from(step).unwrap()], len_bytes - 1)
            .unwrap();
        mapping.cover(len_bytes).unwrap();
        assert_eq!(mapping.base(), base);
        assert_eq!(
            byte_at(&mapping, len_bytes - 1),
            u8::try_from(step).unwrap()
        );
    }
    assert_eq!(byte_at(&mapping, 2 * PAGE), b'x');
}

#[test]
fn lengths_inside_a_machine_page_are_covered_and_grow() {
    let directory = TestDirectory::new();
    let (file, path) = file_of(&directory, 100);
    file.write_all_at(b"a", 99).unwrap();
    let mapping = FileMapping::new(file.clone(), path, 1 << 30).unwrap();
    mapping.cover(100).unwrap();
    assert_eq!(mapping.covered_bytes(), 100);
    assert_eq!(byte_at(&mapping, 99), b'a');
    file.write_all_at(b"b", 4999).unwrap();
    mapping.cover(5000).unwrap();
    assert_eq!(byte_at(&mapping, 4999), b'b');
    file.write_all_at(b"c", 5000).unwrap();
    mapping.cover(5001).unwrap();
    assert_eq!(byte_at(&mapping, 5000), b'c');
    mapping.cover(10).unwrap();
    assert_eq!(mapping.covered_bytes(), 5001);
}

#[test]
fn covering_more_than_the_file_has_is_refused() {
    let directory = TestDirectory::new();
    let (file, path) = file_of(&directory, PAGE);
    let mapping = FileMapping::new(file, path, 1 << 30).unwrap();
    let error = mapping.cover(PAGE + 1).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert_eq!(mapping.covered_bytes(), 0);
    mapping.cover(PAGE).unwrap();
}

#[test]
fn growing_beyond_the_reservation_moves_the_view_and_keeps_the_earlier_one() {
    let directory = TestDirectory::new();
    let (file, path) = file_of(&directory, PAGE);
    file.write_all_at(b"f", 7).unwrap();
    let mapping = FileMapping::new(file.clone(), path, 4 * PAGE).unwrap();
    mapping.cover(PAGE).unwrap();
    let early = mapping.base();
    let reserved = lock(&mapping.views).newest.len_bytes as u64;
    file.set_len(reserved + PAGE).unwrap();
    file.write_all_at(b"l", reserved + PAGE - 1).unwrap();
    mapping.cover(reserved).unwrap();
    assert_eq!(mapping.base(), early);
    mapping.cover(reserved + PAGE).unwrap();
    assert_ne!(mapping.base(), early);
    assert_eq!(byte_at(&mapping, 7), b'f');
    assert_eq!(byte_at(&mapping, reserved + PAGE - 1), b'l');
    file.write_all_at(b"g", 7).unwrap();
    mapping.release_resident();
    // SAFETY: the offset was covered when the address was handed out.
    let address = unsafe { early.add(7) };
    // SAFETY: what was covered then stays readable there, and nothing writes it meanwhile.
    let seen_by_early_reader = unsafe { address.read_volatile() };
    assert_eq!(seen_by_early_reader, b'g');
    assert_eq!(byte_at(&mapping, 7), b'g');
}

#[test]
fn two_thousand_small_files_are_mapped_at_once() {
    let directory = TestDirectory::new();
    let (file, path) = file_of(&directory, PAGE);
    let reserve_bytes = 64 << 30;
    let mappings: Vec<_> = (0..1_900)
        .map(|_| FileMapping::new(file.clone(), path.clone(), reserve_bytes).unwrap())
        .collect();
    for mapping in &mappings {
        let reserved_bytes = lock(&mapping.views).newest.len_bytes as u64;
        assert_eq!(reserved_bytes, reserve_bytes);
    }
}

#[test]
fn impossible_reservation_falls_back_to_a_smaller_one() {
    let reservation = Reservation::new(1 << 62, PAGE).unwrap();
    assert!(reservation.len_bytes >= RESERVE_BYTES_MIN);
    assert!((reservation.len_bytes as u64) < 1 << 62);
}

#[test]
fn hints_keep_the_content() {
    let directory = TestDirectory::new();
    let (file, path) = file_of(&directory, 64 * PAGE);
    file.write_all_at(b"z", 40 * PAGE).unwrap();
    let mapping = FileMapping::new(file, path, 1 << 30).unwrap();
    mapping.release_resident();
    mapping.will_need(0, u64::MAX);
    mapping.cover(64 * PAGE).unwrap();
    mapping.will_need(40 * PAGE + 5, 10);
    mapping.will_need(200 * PAGE, 10);
    assert_eq!(byte_at(&mapping, 40 * PAGE), b'z');
    mapping.release_resident();
    assert_eq!(byte_at(&mapping, 40 * PAGE), b'z');
}

#[test]
fn region_grows_in_place_and_keeps_what_was_written() {
    let region = AnonymousRegion::reserve(1 << 30).unwrap();
    let base = region.base();
    assert_eq!(region.len_bytes(), 0);
    region.grow(10).unwrap();
    region.write(3, b"abc");
    region.grow(3 * PAGE).unwrap();
    region.write(3 * PAGE - 2, b"yz");
    region.grow(5).unwrap();
    assert_eq!(region.len_bytes(), 3 * PAGE);
    assert_eq!(region.base(), base);
    let mut buffer = [9; 8];
    region.read(0, &mut buffer);
    assert_eq!(&buffer, b"\0\0\0abc\0\0");
    region.read(3 * PAGE - 8, &mut buffer);
    assert_eq!(&buffer, b"\0\0\0\0\0\0yz");
    assert!(region.grow(region.reserved_bytes() + 1).is_err());
}

#[test]
#[should_panic(expected = "outside the region")]
fn region_refuses_bytes_beyond_its_length() {
    let region = AnonymousRegion::reserve(1 << 20).unwrap();
    region.grow(PAGE).unwrap();
    region.write(PAGE - 1, b"ab");
}

#[test]
fn scratch_memory_is_aligned_zero_and_writable() {
    for is_huge in [false, true] {
        let memory = ScratchMemory::new(3 << 20, is_huge).unwrap();
        let base = memory.base().as_ptr();
        assert!(base.addr().is_multiple_of(ScratchMemory::ALIGNMENT));
        // SAFETY: the memory is 4 MiB long, and nobody else has its address.
        let bytes = unsafe { std::slice::from_raw_parts_mut(base, 4 << 20) };
        assert!(bytes.iter().all(|&byte| byte == 0));
        bytes.fill(7);
        assert!(bytes.iter().all(|&byte| byte == 7));
    }
}
