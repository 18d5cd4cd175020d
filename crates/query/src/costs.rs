//! What the steps of an execution cost: noted by `execute` and by the source, shown by
//! `explain analyze` (see `explain`).
//!
//! Invariants:
//! - Steps are noted in the order they began, with their depth: together they are a tree.
//! - Without [`ExecuteOptions::costs`](crate::ExecuteOptions) nothing is noted, no clock is read.
//! - Rows are written while matches come; what they cost is a step of its own and not part of the
//!   steps around it, but for the first, which is the whole.
//!
//! Threads: one; pages are those that it reads.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::{Add, Sub};

use jackdaw_storage::{PagesRead, pages_read};

use crate::execute::ExecuteOptions;

/// What was read and waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Pages of documents and indexes.
    pub pages: PagesRead,
    /// Documents that were looked into; one that was read twice counts twice.
    pub documents: u64,
    /// Entries that a static index keeps: what its map or reduce gave.
    pub entries: u64,
    /// Bytes of these documents, without their metadata, and of these entries.
    pub len_bytes: u64,
    /// Nanoseconds of waiting for an index; those for pages are with the pages.
    pub index_wait_nanos: u64,
}

impl Reads {
    /// Nanoseconds of waiting altogether.
    #[must_use]
    pub fn waited_nanos(self) -> u64 {
        self.pages.waited_nanos + self.index_wait_nanos
    }
}

impl Add for Reads {
    type Output = Reads;

    fn add(self, more: Reads) -> Reads {
        Reads {
            pages: self.pages + more.pages,
            documents: self.documents + more.documents,
            entries: self.entries + more.entries,
            len_bytes: self.len_bytes + more.len_bytes,
            index_wait_nanos: self.index_wait_nanos + more.index_wait_nanos,
        }
    }
}

impl Sub for Reads {
    type Output = Reads;

    fn sub(self, before: Reads) -> Reads {
        Reads {
            pages: self.pages - before.pages,
            documents: self.documents - before.documents,
            entries: self.entries - before.entries,
            len_bytes: self.len_bytes - before.len_bytes,
            index_wait_nanos: self.index_wait_nanos - before.index_wait_nanos,
        }
    }
}

/// One step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// How many steps it is part of.
    pub depth: usize,
    /// What it does, in words.
    pub what: String,
    /// How many there were, and of what: `1234 entries`.
    pub found: Option<(u64, &'static str)>,
    /// Nanoseconds from its beginning to its end, with the steps in it.
    pub nanos: u64,
    /// What it read and waited for, with the steps in it.
    pub reads: Reads,
}

/// Takes notes of one execution.
pub struct Costs<'c> {
    clock: &'c dyn Fn() -> u64,
    depth: Cell<usize>,
    steps: RefCell<Vec<Step>>,
    /// What was noted beside pages.
    noted: Cell<Reads>,
    row_nanos: Cell<u64>,
    row_reads: Cell<Reads>,
}

impl fmt::Debug for Costs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Costs")
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

/// What the clock and the counts say at one moment.
#[derive(Clone, Copy)]
struct Moment {
    nanos: u64,
    reads: Reads,
    row_nanos: u64,
    row_reads: Reads,
}

impl<'c> Costs<'c> {
    /// Notes with the times of `clock`, in nanoseconds.
    #[must_use]
    pub fn new(clock: &'c dyn Fn() -> u64) -> Costs<'c> {
        Costs {
            clock,
            depth: Cell::new(0),
            steps: RefCell::new(Vec::new()),
            noted: Cell::new(Reads::default()),
            row_nanos: Cell::new(0),
            row_reads: Cell::new(Reads::default()),
        }
    }

    /// Runs `work` as a step. A step that fails stays, without what it found.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn measured<T, E>(
        &self,
        what: impl Into<String>,
        unit: &'static str,
        count: impl FnOnce(&T) -> Option<u64>,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let (depth, started) = (self.depth.get(), self.now());
        let slot = self.steps.borrow().len();
        self.steps.borrow_mut().push(Step {
            depth,
            what: what.into(),
            ..Step::default()
        });
        self.depth.set(depth + 1);
        let done = work();
        self.depth.set(depth);
        let ended = self.now();
        let done = done?;
        let step = &mut self.steps.borrow_mut()[slot];
        step.found = count(&done).map(|count| (count, unit));
        step.nanos = ended.nanos.saturating_sub(started.nanos);
        step.reads = ended.reads - started.reads;
        if depth > 0 {
            let of_rows = ended.row_nanos - started.row_nanos;
            step.nanos = step.nanos.saturating_sub(of_rows);
            step.reads = step.reads - (ended.row_reads - started.row_reads);
        }
        Ok(done)
    }

    /// Runs `wait`, which waits until an index has seen enough, as a step.
    ///
    /// # Errors
    /// Those of `wait`.
    pub fn waiting<E>(&self, wait: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let noting = || {
            let started = (self.clock)();
            let done = wait();
            let mut noted = self.noted.get();
            noted.index_wait_nanos += (self.clock)().saturating_sub(started);
            self.noted.set(noted);
            done
        };
        self.measured("wait for the index", "", |()| None, noting)
    }

    /// A document was read, of so many bytes.
    pub fn document_read(&self, len_bytes: usize) {
        let mut noted = self.noted.get();
        noted.documents += 1;
        noted.len_bytes += len_bytes as u64;
        self.noted.set(noted);
    }

    /// An entry that a static index keeps was read, of so many bytes.
    pub fn entry_read(&self, len_bytes: usize) {
        let mut noted = self.noted.get();
        noted.entries += 1;
        noted.len_bytes += len_bytes as u64;
        self.noted.set(noted);
    }

    fn now(&self) -> Moment {
        let pages = pages_read();
        Moment {
            nanos: (self.clock)(),
            reads: Reads {
                pages,
                ..self.noted.get()
            },
            row_nanos: self.row_nanos.get(),
            row_reads: self.row_reads.get(),
        }
    }

    /// The time and reads that rows took.
    fn rows_step(&self, what: &str, rows: u64) {
        self.steps.borrow_mut().push(Step {
            depth: self.depth.get(),
            what: what.to_owned(),
            found: Some((rows, "rows")),
            nanos: self.row_nanos.get(),
            reads: self.row_reads.get(),
        });
    }

    /// All steps.
    #[must_use]
    pub fn into_steps(self) -> Vec<Step> {
        self.steps.into_inner()
    }
}

impl ExecuteOptions<'_> {
    /// Runs `work`, as a step when costs are wanted.
    pub(crate) fn measured<T, E>(
        &self,
        what: impl FnOnce() -> String,
        unit: &'static str,
        count: impl FnOnce(&T) -> Option<u64>,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        match self.costs {
            Some(costs) => costs.measured(what(), unit, count, work),
            None => work(),
        }
    }

    /// Runs `work`, a part of writing rows.
    pub(crate) fn writing_rows<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(costs) = self.costs else {
            return work();
        };
        let started = costs.now();
        let done = work();
        let ended = costs.now();
        let nanos = ended.nanos.saturating_sub(started.nanos);
        costs.row_nanos.set(costs.row_nanos.get() + nanos);
        let reads = ended.reads - started.reads;
        costs.row_reads.set(costs.row_reads.get() + reads);
        done
    }

    /// Notes how many rows were written, and of what.
    pub(crate) fn rows_written(&self, what: &str, rows: u64) {
        if let Some(costs) = self.costs {
            costs.rows_step(what, rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that goes on by a microsecond with each look.
    fn ticking() -> impl Fn() -> u64 {
        let now = Cell::new(0);
        move || {
            now.set(now.get() + 1_000);
            now.get()
        }
    }

    #[test]
    fn steps_are_a_tree_in_the_order_they_began() {
        let clock = ticking();
        let costs = Costs::new(&clock);
        let options = ExecuteOptions {
            costs: Some(&costs),
            ..ExecuteOptions::default()
        };
        let all = |count: &u64| Some(*count);
        let work = || {
            let first = || {
                costs.document_read(10);
                Ok::<_, ()>(3)
            };
            let first = options.measured(|| "first".into(), "entries", all, first)?;
            options.writing_rows(|| costs.entry_read(5));
            options.measured(|| "second".into(), "entries", |_| None, || Ok(first))
        };
        let outer: Result<u64, ()> = costs.measured("whole", "rows", all, || {
            options.measured(|| "outer".into(), "rows", all, work)
        });
        assert_eq!(outer, Ok(3));
        options.rows_written("write rows", 7);
        let steps = costs.into_steps();
        let seen: Vec<_> = steps
            .iter()
            .map(|step| {
                let reads = step.reads;
                let read = (reads.documents, reads.entries, reads.len_bytes);
                (step.depth, step.what.as_str(), step.nanos, read)
            })
            .collect();
        assert_eq!(
            seen,
            [
                (0, "whole", 9_000, (1, 1, 15)),
                (1, "outer", 6_000, (1, 0, 10)),
                (2, "first", 1_000, (1, 0, 10)),
                (2, "second", 1_000, (0, 0, 0)),
                (0, "write rows", 1_000, (0, 1, 5)),
            ]
        );
        assert_eq!(steps[2].found, Some((3, "entries")));
        assert_eq!(steps[3].found, None);
    }

    #[test]
    fn waiting_for_an_index_is_told_as_such() {
        let clock = ticking();
        let costs = Costs::new(&clock);
        costs.waiting(|| Ok::<_, ()>(())).unwrap();
        let steps = costs.into_steps();
        assert_eq!(steps[0].what, "wait for the index");
        assert_eq!(
            (steps[0].nanos, steps[0].reads.waited_nanos()),
            (3_000, 1_000)
        );
    }
}
