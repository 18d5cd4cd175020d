//! Warming up: pages are read before somebody waits for them, branches first.
//!
//! A request in a cold environment waits for one read after another on the way down a tree; when
//! many come at once, all wait. Branch pages are few and every request needs them, so they come
//! first, level by level; then leaves, in the order of the file, as far as the budget goes. Long
//! values, and trees inside the values of multi trees, are left to who needs them.
//!
//! Invariants:
//! - Each thread reads one page at a time, so that there are never more reads at once than asked
//!   for: a device that is busy with warming up would let requests wait.
//! - What is held in memory for it is one page number for each page of the budget.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use super::shared::Shared;
use crate::error::StorageError;
use crate::page::fixed_node::FixedNode;
use crate::page::node::Node;
use crate::page::{PAGE_BYTES, PageNumber, PageRead};
use crate::transaction::ReadTransaction;
use crate::tree::{TreeKind, TreeRoot};

/// Pages that a thread reads between two reports.
const CHUNK_PAGES: usize = 64;

/// More reads at once than this help no device, and each is a thread.
const READS_MAX: usize = 64;

/// How much to read; see [`Environment::warm_up`](super::Environment::warm_up).
#[derive(Clone, Copy, Debug)]
pub struct WarmUp {
    /// Bytes of pages to read at most, those that are in memory already included.
    pub bytes_max: u64,
    /// Reads at once at most: between 1 and 64.
    pub reads_max: usize,
}

/// What warming up has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WarmUpReport {
    /// Pages that lead to others.
    pub branch_pages: u64,
    /// Pages with entries.
    pub leaf_pages: u64,
    /// Pages that are damaged; the request that needs one will name it.
    pub damaged_pages: u64,
}

impl WarmUpReport {
    /// Bytes of all pages looked at.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.branch_pages + self.leaf_pages + self.damaged_pages) * PAGE_BYTES as u64
    }
}

/// Called with what was read so far; breaks to end the warming up.
pub type WarmUpProgress<'a> = &'a mut dyn FnMut(&WarmUpReport) -> ControlFlow<()>;

/// The topmost page of a tree, or of a part of one.
#[derive(Clone, Copy)]
struct Place {
    page: PageNumber,
    levels: u8,
    is_fixed: bool,
}

/// What one thread found in a chunk.
#[derive(Default)]
struct Found {
    report: WarmUpReport,
    below: Vec<Place>,
}

/// What is to be read next, and what is to be read last; neither more than the budget allows.
#[derive(Default)]
struct Below {
    branches: Vec<Place>,
    leaves: Vec<Place>,
}

impl Below {
    fn add(&mut self, places: impl IntoIterator<Item = Place>, pages_max: usize) {
        for place in places {
            let list = match place.levels {
                0 | 1 => &mut self.leaves,
                _ => &mut self.branches,
            };
            if list.len() < pages_max {
                list.push(place);
            }
        }
    }
}

struct Run<'a> {
    shared: &'a Shared,
    /// Shared by all threads: a second registration would wait for ever once a commit has come.
    snapshot: &'a ReadTransaction,
    reads_max: usize,
    pages_left: usize,
    report: WarmUpReport,
    progress: WarmUpProgress<'a>,
}

impl Shared {
    /// See [`Environment::warm_up`](super::Environment::warm_up).
    pub(super) fn warm_up(
        self: &Arc<Self>,
        warm_up: WarmUp,
        progress: WarmUpProgress<'_>,
    ) -> Result<WarmUpReport, StorageError> {
        // Held to the end, so that no page that it leads to becomes another.
        let snapshot = ReadTransaction::begin(self)?;
        let roots = snapshot.trees()?;
        let pages_left = warm_up.bytes_max / PAGE_BYTES as u64;
        let mut run = Run {
            shared: self,
            snapshot: &snapshot,
            reads_max: warm_up.reads_max.clamp(1, READS_MAX),
            pages_left: usize::try_from(pages_left).unwrap_or(usize::MAX),
            report: WarmUpReport::default(),
            progress,
        };
        // Breaking is an answer, not an error.
        let _ = run.read_trees(roots.iter().map(|(_, root)| root))?;
        Ok(run.report)
    }
}

impl Run<'_> {
    fn read_trees<'r>(
        &mut self,
        roots: impl Iterator<Item = &'r TreeRoot>,
    ) -> Result<ControlFlow<()>, StorageError> {
        let mut below = Below::default();
        below.add(roots.filter_map(Place::of), self.pages_left);
        while !below.branches.is_empty() {
            let branches = std::mem::take(&mut below.branches);
            if self.read_all(branches, &mut below)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let leaves = std::mem::take(&mut below.leaves);
        self.read_all(leaves, &mut below)
    }

    /// Reads the pages of `places`, in the order of the file, and adds what is below them.
    fn read_all(
        &mut self,
        mut places: Vec<Place>,
        below: &mut Below,
    ) -> Result<ControlFlow<()>, StorageError> {
        places.sort_unstable_by_key(|place| place.page);
        places.truncate(self.pages_left);
        self.pages_left -= places.len();
        let chunks: Vec<&[Place]> = places.chunks(CHUNK_PAGES).collect();
        let next = AtomicUsize::new(0);
        let (found, results) = mpsc::sync_channel(self.reads_max);
        let (directory, snapshot) = (&self.shared.directory, self.snapshot);
        std::thread::scope(|scope| {
            for _ in 0..self.reads_max.min(chunks.len()) {
                let (chunks, next, found) = (&chunks, &next, found.clone());
                let read = move || {
                    while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // Nobody listens any more when the caller has broken off.
                        if found.send(read_chunk(chunk, snapshot)).is_err() {
                            return;
                        }
                    }
                };
                if let Err(error) = jackdaw_io::spawn_scoped(scope, "jd-warm-up", read) {
                    let source = std::io::Error::other(error.to_string());
                    return Err(StorageError::io(directory, "thread start", source));
                }
            }
            drop(found);
            // Ends with the last thread. Breaking off drops it, and the threads find out.
            for found in results {
                let found = found?;
                self.report.branch_pages += found.report.branch_pages;
                self.report.leaf_pages += found.report.leaf_pages;
                self.report.damaged_pages += found.report.damaged_pages;
                below.add(found.below, self.pages_left);
                if (self.progress)(&self.report).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }
}

impl Place {
    fn of(root: &TreeRoot) -> Option<Place> {
        Some(Place {
            page: root.root_page()?,
            levels: root.depth(),
            is_fixed: root.kind() == TreeKind::Fixed,
        })
    }

    /// Reads the page; gives the children of a branch.
    fn read(self, snapshot: &ReadTransaction) -> Result<Vec<PageNumber>, StorageError> {
        let page = snapshot.page(self.page)?;
        if self.levels < 2 {
            return Ok(Vec::new());
        }
        if self.is_fixed {
            let node = FixedNode::branch(page)?;
            return Ok((0..node.count()).map(|slot| node.child(slot)).collect());
        }
        let node = Node::branch(page)?;
        Ok((0..node.count()).map(|slot| node.child(slot)).collect())
    }
}

fn read_chunk(chunk: &[Place], snapshot: &ReadTransaction) -> Result<Found, StorageError> {
    let mut found = Found::default();
    for place in chunk {
        let children = match place.read(snapshot) {
            Ok(children) => children,
            Err(StorageError::Corrupt(_)) => {
                found.report.damaged_pages += 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        match place.levels {
            0 | 1 => found.report.leaf_pages += 1,
            _ => found.report.branch_pages += 1,
        }
        found.below.extend(children.into_iter().map(|page| Place {
            page,
            levels: place.levels - 1,
            ..*place
        }));
    }
    Ok(found)
}
