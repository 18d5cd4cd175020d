//! Proves that power loss at any moment leaves what was promised, and that a sweep finds every
//! mistake and every lie that breaks a promise: a simulator that finds nothing proves nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use jackdaw_io::{Durability, OpenMode, OpenOptions, Vfs};
use jackdaw_sim::{CrashChoice, ImageBudget, Lies, SimVfs, Sweep, SweepFailure, SweepReport};

use super::journal::{Mistake, Promises, check, read_records, run};

fn sweep(
    mistake: Mistake,
    lies: Lies,
    records: u64,
    sample_count: u64,
) -> Result<SweepReport, SweepFailure> {
    let vfs = SimVfs::new(1);
    vfs.set_lies(lies);
    let mut promises = Promises::default();
    run(&vfs, records, mistake, &mut promises).expect("no fault is armed");
    let budget = ImageBudget {
        sample_count,
        ..ImageBudget::default()
    };
    vfs.history().sweep(
        Sweep {
            budget,
            completed_min: 0,
        },
        |image, completed| check(image, completed, &promises),
    )
}

#[test]
fn honest_disk_keeps_every_promise() {
    let report = sweep(Mistake::None, Lies::default(), 40, 60).unwrap();
    assert!(report.moment_count > 120, "{report:?}");
    assert!(report.image_count > 3_000, "{report:?}");
}

#[test]
fn every_planted_mistake_is_found() {
    for mistake in [
        Mistake::SkipSync,
        Mistake::SkipDirectorySync,
        Mistake::AcknowledgeEarly,
        Mistake::WriteVolatile,
    ] {
        let failure = sweep(mistake, Lies::default(), 12, 40).unwrap_err();
        assert!(!failure.trace.is_empty(), "{mistake:?}");
    }
}

#[test]
fn every_lie_is_found() {
    let honest = Lies::default();
    for lies in [
        Lies {
            skip_sync: true,
            ..honest
        },
        Lies {
            skip_directory_sync: true,
            ..honest
        },
        Lies {
            skip_durable_writes: true,
            ..honest
        },
    ] {
        sweep(Mistake::None, lies, 12, 40).unwrap_err();
    }
}

#[test]
fn failure_tells_the_moment_and_the_operations_before_it() {
    let failure = sweep(Mistake::SkipDirectorySync, Lies::default(), 4, 40).unwrap_err();
    let text = failure.to_string();
    assert!(text.starts_with("power failed after operation "), "{text}");
    assert!(text.contains("records were promised"), "{text}");
    assert!(
        text.contains("write durably server/db/journal-0 at 0, "),
        "{text}"
    );
}

#[test]
fn panicking_check_is_a_failure_of_the_image() {
    let vfs = SimVfs::new(1);
    vfs.create_directory(Path::new("a")).unwrap();
    let failure = vfs
        .history()
        .sweep(Sweep::default(), |image, completed| {
            assert!(
                completed == 0 || !image.exists(Path::new("a")).unwrap(),
                "found it"
            );
            Ok(())
        })
        .unwrap_err();
    assert_eq!((failure.completed, failure.image_pos), (1, 0));
    assert!(failure.message.contains("found it"), "{failure}");
}

#[test]
fn tens_of_thousands_of_images_take_a_moment() {
    let vfs = SimVfs::new(3);
    let mut promises = Promises::default();
    let file = vfs
        .open(
            Path::new("ballast"),
            OpenOptions {
                mode: OpenMode::CreateNew,
                direct: false,
            },
        )
        .unwrap();
    file.write_at(&vec![1; 2 << 20], 0, Durability::None)
        .unwrap();
    file.sync().unwrap();
    vfs.sync_directory(Path::new("")).unwrap();
    vfs.forget_history();
    run(&vfs, 80, Mistake::None, &mut promises).unwrap();
    let history = vfs.history();
    let started = Instant::now();
    let budget = ImageBudget {
        sample_count: 400,
        ..ImageBudget::default()
    };
    let mut count = 0;
    for moment in history.moments() {
        count += moment.images(budget).count();
    }
    println!("{count} images in {:?}", started.elapsed());
    assert!(count > 10_000, "{count}");
}

#[test]
fn images_of_a_moment_differ_and_repeat_with_their_budget() {
    let vfs = SimVfs::new(4);
    let path = Path::new("data");
    let file = vfs
        .open(
            path,
            OpenOptions {
                mode: OpenMode::CreateNew,
                direct: false,
            },
        )
        .unwrap();
    vfs.sync_directory(Path::new("")).unwrap();
    file.set_len(1 << 14).unwrap();
    file.sync().unwrap();
    for sector in 0..16_u8 {
        file.write_at(
            &[sector + 1; 512],
            u64::from(sector) * 512,
            Durability::None,
        )
        .unwrap();
    }
    let history = vfs.history();
    let contents = |budget: ImageBudget| -> Vec<Vec<u8>> {
        let moment = history.moment(history.operation_count());
        assert_eq!(moment.possible_image_count(), 1 << 16);
        moment
            .images(budget)
            .map(|image| image.file_bytes(path).unwrap())
            .collect()
    };
    let budget = ImageBudget {
        exhaustive_max: 256,
        sample_count: 100,
        seed: 5,
    };
    let images = contents(budget);
    assert_eq!(images.len(), 100);
    assert_eq!(images.iter().collect::<BTreeSet<_>>().len(), 100);
    assert_eq!(images, contents(budget));
    assert_ne!(images, contents(ImageBudget { seed: 6, ..budget }));
    // With eight sectors pending, all images are built, each once.
    let early = history.moment(history.operation_count() - 8);
    assert_eq!(early.possible_image_count(), 256);
    let all: BTreeSet<Vec<u8>> = early
        .images(budget)
        .map(|image| image.file_bytes(path).unwrap())
        .collect();
    assert_eq!(all.len(), 256);
}

#[test]
fn moments_include_the_middle_of_durable_writes() {
    let vfs = SimVfs::new(5);
    let path = Path::new("data");
    let file = vfs
        .open(
            path,
            OpenOptions {
                mode: OpenMode::CreateNew,
                direct: false,
            },
        )
        .unwrap();
    vfs.sync_directory(Path::new("")).unwrap();
    file.write_at(&[7; 1024], 0, Durability::Data).unwrap();
    let history = vfs.history();
    let moments: Vec<(u64, bool)> = history
        .moments()
        .map(|moment| (moment.completed(), moment.is_during()))
        .collect();
    assert_eq!(
        moments,
        [(0, false), (1, false), (2, false), (2, true), (3, false)]
    );
    let during = history.moments().find(|moment| moment.is_during()).unwrap();
    let lost = during.image(CrashChoice::LoseAll);
    assert_eq!(lost.file_bytes(path).unwrap(), Vec::<u8>::new());
    let after = history.moment(3).image(CrashChoice::LoseAll);
    assert_eq!(after.file_bytes(path).unwrap(), vec![7; 1024]);
}

#[test]
fn power_may_fail_again_during_recovery() {
    let vfs = SimVfs::new(6);
    let mut promises = Promises::default();
    run(&vfs, 10, Mistake::None, &mut promises).unwrap();
    let promised = promises.records.len() as u64;
    let mut disk: Arc<SimVfs> = vfs.crash(CrashChoice::Random(1));
    for depth in 0..5 {
        assert_eq!(read_records(&disk).unwrap(), promised);
        // What recovery writes may be lost in turn; what was durable before stays.
        let scratch = format!("server/db/recovery-{depth}");
        let options = OpenOptions {
            mode: OpenMode::CreateNew,
            direct: false,
        };
        let file = disk.open(Path::new(&scratch), options).unwrap();
        file.write_at(&[1; 5000], 0, Durability::None).unwrap();
        let history = disk.history();
        for moment in history.moments() {
            let image = moment.image(CrashChoice::Random(depth));
            check(&image, u64::MAX, &promises).unwrap();
        }
        disk = disk.crash(CrashChoice::Random(depth));
    }
}
