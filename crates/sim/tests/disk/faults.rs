//! Proves that failures strike where they are planned, leave what their kind may leave, and are
//! the same in every run.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jackdaw_io::{AlignedBuffer, Durability, OpenMode, OpenOptions, Vfs, VfsFile, os_error_code};
use jackdaw_sim::{CrashChoice, Fault, FaultError, OperationKind, Rng, SimVfs};

use super::journal::{Mistake, Promises, check, run};

const NEW: OpenOptions = OpenOptions {
    mode: OpenMode::CreateNew,
    direct: false,
};

fn new_file(vfs: &SimVfs) -> Arc<dyn VfsFile> {
    vfs.open(Path::new("data"), NEW).expect("a fresh name")
}

#[test]
fn every_operation_can_fail_and_no_promise_is_broken() {
    for error in [FaultError::Device, FaultError::Full] {
        for nth in 1.. {
            let vfs = SimVfs::new(nth);
            vfs.inject(Fault::nth(&[], nth, error));
            let mut promises = Promises::default();
            let result = run(&vfs, 12, Mistake::None, &mut promises);
            assert_eq!(result.is_err(), vfs.fault_count() > 0);
            for seed in 0..3 {
                let image = vfs.crash(CrashChoice::Random(seed));
                check(&image, u64::MAX, &promises).unwrap();
            }
            if vfs.fault_count() == 0 {
                assert!(nth > 30, "only {nth} operations");
                break;
            }
        }
    }
}

#[test]
fn failures_carry_kind_code_path_and_operation() {
    let vfs = SimVfs::new(1);
    let file = new_file(&vfs);
    vfs.inject(Fault::nth(&[OperationKind::Write], 1, FaultError::Full));
    let error = file.write_at(&[1; 100], 0, Durability::Data).unwrap_err();
    assert_eq!(
        (error.kind(), os_error_code(&error)),
        (ErrorKind::StorageFull, Some(28))
    );
    assert!(
        error.to_string().starts_with("cannot write data: "),
        "{error}"
    );
    vfs.inject(Fault::nth(&[OperationKind::Read], 1, FaultError::Device));
    let error = file.read_at(&mut [0; 1], 0).unwrap_err();
    assert_eq!(os_error_code(&error), Some(5));
    vfs.inject(Fault::nth(&[OperationKind::Sync], 1, FaultError::Device).sticky());
    assert!(file.sync().is_err() && file.sync().is_err());
    vfs.clear_faults();
    file.sync().unwrap();
    assert_eq!(vfs.fault_count(), 4);
}

#[test]
fn retried_sync_does_not_bring_back_what_the_first_one_dropped() {
    let mut lost = 0;
    for seed in 0..40 {
        let vfs = SimVfs::new(seed);
        let file = new_file(&vfs);
        vfs.sync_directory(Path::new("")).unwrap();
        file.write_at(&[9; 2048], 0, Durability::None).unwrap();
        vfs.inject(Fault::nth(&[OperationKind::Sync], 1, FaultError::Device));
        assert!(file.sync().is_err());
        file.sync().unwrap();
        let mut bytes = [0; 2048];
        file.read_at(&mut bytes, 0).unwrap();
        assert_eq!(bytes, [9; 2048], "the running system sees its write");
        let image = vfs.crash(CrashChoice::LoseAll);
        lost += u64::from(image.file_bytes(Path::new("data")).unwrap() != vec![9; 2048]);
    }
    assert!(lost > 20, "{lost}");
}

#[test]
fn full_disk_refuses_space_and_recovers_when_some_is_given_back() {
    let vfs = SimVfs::new(1);
    vfs.set_capacity_bytes(10 * 4096);
    let file = new_file(&vfs);
    file.allocate(0, 8 * 4096).unwrap();
    let error = file.allocate(0, 11 * 4096).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(file.len_bytes().unwrap(), 8 * 4096);
    let error = file
        .write_at(&[1; 3 * 4096], 8 * 4096, Durability::Data)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(vfs.used_bytes(), 8 * 4096);
    file.punch_hole(0, 4096).unwrap();
    file.write_at(&[1; 3 * 4096], 8 * 4096, Durability::Data)
        .unwrap();
    assert_eq!(vfs.used_bytes(), 10 * 4096);
    vfs.remove_file(Path::new("data")).unwrap();
    assert_eq!(vfs.used_bytes(), 0);
    // The handle still reads the removed file.
    let mut byte = [0];
    file.read_at(&mut byte, 8 * 4096).unwrap();
    assert_eq!(byte, [1]);
}

#[test]
fn damage_stays_through_power_loss() {
    let vfs = SimVfs::new(1);
    let path = Path::new("data");
    let file = new_file(&vfs);
    file.write_at(&[0x0F; 600], 0, Durability::Data).unwrap();
    vfs.sync_directory(Path::new("")).unwrap();
    vfs.flip(path, 599, 0xFF).unwrap();
    assert_eq!(
        vfs.flip(path, 600, 1).unwrap_err().kind(),
        ErrorKind::UnexpectedEof
    );
    assert_eq!(
        vfs.flip(Path::new("no"), 0, 1).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    let mut byte = [0];
    file.read_at(&mut byte, 599).unwrap();
    assert_eq!(byte, [0xF0]);
    let image = vfs.crash(CrashChoice::LoseAll);
    assert_eq!(image.file_bytes(path).unwrap()[598..], [0x0F, 0xF0]);
}

#[test]
fn direct_files_enforce_alignment_unless_refused() {
    let vfs = SimVfs::new(1);
    let direct = OpenOptions {
        mode: OpenMode::CreateNew,
        direct: true,
    };
    let file = vfs.open(Path::new("a"), direct).unwrap();
    assert!(file.is_direct());
    let buffer = AlignedBuffer::zeroed(4096);
    file.write_at(&buffer, 4096, Durability::None).unwrap();
    let error = file
        .write_at(&buffer[..512], 0, Durability::None)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    vfs.refuse_direct();
    let file = vfs.open(Path::new("b"), direct).unwrap();
    assert!(!file.is_direct());
    file.write_at(b"abc", 5, Durability::Data).unwrap();
}

#[test]
fn same_seed_and_calls_give_the_same_run() {
    let trace = |seed: u64| {
        let vfs = SimVfs::new(seed);
        vfs.inject(Fault::nth(&[OperationKind::Write], 5, FaultError::Device));
        let mut promises = Promises::default();
        let error = run(&vfs, 10, Mistake::None, &mut promises).unwrap_err();
        let mut random = [0; 20];
        vfs.fill_random(&mut random);
        let image = vfs.crash(CrashChoice::Random(7));
        let mut contents = Vec::new();
        for path in image.file_paths() {
            contents.push((path.clone(), image.file_bytes(Path::new(&path)).unwrap()));
        }
        let clocks = (vfs.unix_nanos(), vfs.monotonic_nanos());
        (
            vfs.trace_hash(),
            error.to_string(),
            random,
            contents,
            clocks,
        )
    };
    assert_eq!(trace(1), trace(1));
    let (one, other) = (trace(1), trace(2));
    assert_ne!((one.0, one.2), (other.0, other.2));
}

#[test]
fn clocks_move_by_operations_and_by_hand() {
    let vfs = SimVfs::new(1);
    let (wall, monotonic) = (vfs.unix_nanos(), vfs.monotonic_nanos());
    new_file(&vfs).sync().unwrap();
    assert!(vfs.monotonic_nanos() > monotonic);
    vfs.advance_clock(Duration::from_secs(60));
    assert!(vfs.unix_nanos() > wall + 60_000_000_000);
    let monotonic = vfs.monotonic_nanos();
    vfs.jump_wall_clock(-3_600_000_000_000);
    assert!(vfs.unix_nanos() < wall);
    assert!(vfs.monotonic_nanos() > monotonic);
    let image = vfs.crash(CrashChoice::KeepAll);
    assert!(image.unix_nanos() > vfs.unix_nanos() - 1_000_000);
}

#[test]
fn lock_is_held_until_dropped_and_not_by_images() {
    let vfs = SimVfs::new(1);
    let path = Path::new("LOCK");
    let held = vfs.lock(path).unwrap();
    assert_eq!(
        vfs.lock(path).map(|_| ()).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
    drop(vfs.crash(CrashChoice::KeepAll).lock(path).unwrap());
    drop(held);
    drop(vfs.lock(path).unwrap());
}

#[test]
fn forgotten_history_starts_at_the_present_disk() {
    let vfs = SimVfs::new(1);
    let file = new_file(&vfs);
    file.write_at(&[1; 512], 0, Durability::Data).unwrap();
    vfs.sync_directory(Path::new("")).unwrap();
    assert_eq!(vfs.operation_count(), 3);
    vfs.forget_history();
    assert_eq!(
        (vfs.operation_count(), vfs.history().trace().count()),
        (0, 0)
    );
    file.write_at(&[2; 512], 0, Durability::None).unwrap();
    let history = vfs.history();
    let first = history.moment(0).image(CrashChoice::KeepAll);
    assert_eq!(first.file_bytes(Path::new("data")).unwrap(), vec![1; 512]);
    assert_eq!(history.moment(1).possible_image_count(), 2);
}

#[test]
fn handles_may_be_used_from_many_threads() {
    let vfs = SimVfs::new(1);
    let file = new_file(&vfs);
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let file = &file;
            scope.spawn(move || {
                let mut rng = Rng::new(u64::from(thread));
                for _ in 0..50 {
                    let offset = u64::from(thread) * 65_536 + rng.below(60_000);
                    file.write_at(&[thread + 1; 700], offset, Durability::Data)
                        .unwrap();
                }
            });
        }
    });
    let image = vfs.crash(CrashChoice::KeepAll);
    let bytes = image.file_bytes(Path::new("data")).unwrap();
    for (position, &byte) in bytes.iter().enumerate() {
        let thread = u8::try_from(position / 65_536).unwrap();
        assert!(byte == 0 || byte == thread + 1);
    }
}
