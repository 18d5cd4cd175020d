//! Warming up: what it reads, in which order, and where it ends. Reads are counted by first
//! touches: the checksum of a page is computed when it is read for the first time.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::SimVfs;
use jackdaw_storage::{Environment, Options, PAGE_BYTES, WarmUp, WarmUpReport};

const DIRECTORY: &str = "/db";

fn open(vfs: &Arc<SimVfs>) -> Environment {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new(DIRECTORY), Options::small()).unwrap()
}

/// A disk with trees of three levels, and how many branch and leaf pages they have.
fn disk() -> (Arc<SimVfs>, u64, u64) {
    let vfs = SimVfs::new(1);
    let environment = open(&vfs);
    let mut transaction = environment.begin_write().unwrap();
    let entries = |from: u64, count: u64, len| {
        (from..from + count).map(move |n| (n.to_be_bytes(), vec![1; len]))
    };
    let mut tree = transaction.tree_mut("large").unwrap();
    tree.put_sorted(entries(0, 3_000, 1_500)).unwrap();
    let mut tree = transaction.counted_tree_mut("counted").unwrap();
    tree.put_sorted(entries(0, 500, 100)).unwrap();
    let mut tree = transaction.tree_mut("small").unwrap();
    tree.put(b"key", b"value").unwrap();
    let mut fixed = transaction.fixed_tree_mut("fixed", 64).unwrap();
    for n in 0..2_000_u64 {
        fixed.put(n, &[2; 64]).unwrap();
    }
    transaction.commit().unwrap();
    environment.flush().unwrap();
    let reader = environment.read().unwrap();
    let (mut branches, mut leaves) = (0, 0);
    for name in ["large", "counted", "small"] {
        let report = reader.tree(name).unwrap().unwrap().verify().unwrap();
        branches += report.branch_pages;
        leaves += report.leaf_pages;
    }
    let report = reader
        .fixed_tree("fixed")
        .unwrap()
        .unwrap()
        .verify()
        .unwrap();
    (
        vfs.clone(),
        branches + report.branch_pages,
        leaves + report.leaf_pages,
    )
}

/// Warms a newly opened environment up; gives it with the report and the first touches of pages.
fn warm_up(
    vfs: &Arc<SimVfs>,
    pages_max: u64,
    reads_max: usize,
) -> (Environment, WarmUpReport, u64) {
    let environment = open(vfs);
    environment.read().unwrap().trees().unwrap();
    let before = environment.statistics().pages_validated;
    let options = WarmUp {
        bytes_max: pages_max * PAGE_BYTES as u64,
        reads_max,
    };
    let mut told = WarmUpReport::default();
    let report = environment.warm_up(options, &mut |report| {
        assert!(report.bytes() > told.bytes(), "progress goes forward");
        told = *report;
        ControlFlow::Continue(())
    });
    let report = report.unwrap();
    assert_eq!(told, report);
    let touched = environment.statistics().pages_validated - before;
    (environment, report, touched)
}

#[test]
fn everything_is_read_once_when_the_budget_allows_it() {
    let (vfs, branches, leaves) = disk();
    for reads_max in [0, 1, 4, usize::MAX] {
        let (environment, report, touched) = warm_up(&vfs, u64::MAX / PAGE_BYTES as u64, reads_max);
        assert_eq!((report.branch_pages, report.leaf_pages), (branches, leaves));
        assert_eq!(touched, branches + leaves);
        // Nothing is left to be read for the first time.
        let before = environment.statistics().pages_validated;
        let reader = environment.read().unwrap();
        assert_eq!(
            reader
                .tree("large")
                .unwrap()
                .unwrap()
                .iter()
                .unwrap()
                .count(),
            3_000
        );
        let fixed = reader.fixed_tree("fixed").unwrap().unwrap();
        assert_eq!(fixed.iter().unwrap().count(), 2_000);
        assert_eq!(environment.statistics().pages_validated, before);
    }
}

#[test]
fn branches_come_first_and_the_budget_is_kept() {
    let (vfs, branches, _) = disk();
    assert!(branches > 4, "{branches}");
    let (environment, report, touched) = warm_up(&vfs, branches + 10, 3);
    assert_eq!((report.branch_pages, report.leaf_pages), (branches, 10));
    assert_eq!(
        (touched, report.bytes()),
        (branches + 10, (branches + 10) * 8192)
    );
    // A look-up waits for its leaf at most.
    let before = environment.statistics().pages_validated;
    let reader = environment.read().unwrap();
    let tree = reader.tree("large").unwrap().unwrap();
    tree.get(&1_500_u64.to_be_bytes()).unwrap().unwrap();
    assert!(environment.statistics().pages_validated - before <= 1);
    drop(reader);
    drop(environment);
    let (_, report, touched) = warm_up(&vfs, 2, 3);
    assert_eq!((report.branch_pages + report.leaf_pages, touched), (2, 2));
    let (_, report, touched) = warm_up(&vfs, 0, 3);
    assert_eq!((report, touched), (WarmUpReport::default(), 0));
}

#[test]
fn breaking_ends_it() {
    let (vfs, branches, leaves) = disk();
    let environment = open(&vfs);
    let options = WarmUp {
        bytes_max: u64::MAX,
        reads_max: 2,
    };
    let mut calls = 0;
    let report = environment.warm_up(options, &mut |_| {
        calls += 1;
        ControlFlow::Break(())
    });
    assert_eq!(calls, 1);
    assert!(report.unwrap().bytes() < (branches + leaves) * PAGE_BYTES as u64);
    // What is open does not hold the environment: it can be closed and opened again.
    drop(environment);
    drop(open(&vfs));
}

#[test]
fn damaged_pages_are_counted_and_left() {
    let (vfs, branches, leaves) = disk();
    let data = vfs.file_bytes(Path::new("/db/data.jd")).unwrap();
    // The values of a leaf of the large tree, and of no other page, are ones there.
    let is_large = |page: &[u8]| page[5_000..6_000].iter().filter(|&&byte| byte == 1).count() > 900;
    let leaf = data.chunks_exact(PAGE_BYTES).position(is_large).unwrap();
    let offset = (leaf * PAGE_BYTES + 5_000) as u64;
    vfs.flip(Path::new("/db/data.jd"), offset, 1).unwrap();
    let (_, report, _) = warm_up(&vfs, u64::MAX / PAGE_BYTES as u64, 4);
    assert_eq!((report.branch_pages, report.damaged_pages), (branches, 1));
    assert_eq!(report.leaf_pages, leaves - 1);
}

/// Commits a small transaction.
fn commit(environment: &Environment, number: u64) {
    let mut transaction = environment.begin_write().unwrap();
    let mut tree = transaction.tree_mut("small").unwrap();
    tree.put(&number.to_be_bytes(), b"value").unwrap();
    transaction.commit().unwrap();
    environment.flush().unwrap();
}

#[test]
fn commits_beside_it_do_not_hold_it_up() {
    let (vfs, branches, leaves) = disk();
    let environment = open(&vfs);
    let options = WarmUp {
        bytes_max: u64::MAX,
        reads_max: 4,
    };
    let mut commits = 0;
    let report = environment.warm_up(options, &mut |_| {
        commits += 1;
        commit(&environment, commits);
        ControlFlow::Continue(())
    });
    let report = report.unwrap();
    assert_eq!((report.branch_pages, report.leaf_pages), (branches, leaves));
    assert!(commits > 3, "{commits}");
}
