//! The checker: what lists were read as gives the dependencies between transactions, and cycles of
//! these have names.
//!
//! Called by `workload` after a round, with the histories of all clients.
//!
//! Invariants:
//! - Nothing is found exactly when some serial order explains every read and respects time. A
//!   transaction of unknown outcome took place when somebody saw a number of it.
//! - Linear in the length of the history, but for sorting, as long as a transaction has a handful
//!   of operations, runs beside a handful of others, and few numbers of a list are never read.
//! - Each number of a list is looked up once. A read is then compared with the longest one.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::graph::{ALL, DEPENDENCIES, Edge, Edges, Graph, WRITES, WRITES_AND_READS, vertex};
use super::history::{Entry, History, Outcome, Step};

/// What no serial order explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Anomaly {
    /// A number was appended by nobody, or twice.
    Phantom,
    /// Reads of one list that are no prefixes of each other.
    IncompatibleOrder,
    /// A transaction does not see its own appends, or sees them too early or in another order.
    Internal,
    /// A cycle of writes (dirty write).
    G0,
    /// A read of a transaction that was taken back (dirty read).
    G1a,
    /// A read of what a transaction later appended to.
    G1b,
    /// A cycle of writes and reads.
    G1c,
    /// Two transactions read the same version, and both appended to it.
    LostUpdate,
    /// A cycle with one read of an older version (read skew).
    GSingle,
    /// A cycle with two or more such reads (write skew).
    G2,
    /// A cycle that needs the order of time: a read of the past.
    Stale,
}

/// The anomalies of a history; none when some serial order explains it that respects time.
///
/// # Panics
/// With more than 2^30 transactions and lists.
#[must_use]
pub fn check(histories: &[History]) -> BTreeSet<Anomaly> {
    let mut transactions: Vec<Entry<'_>> = histories.iter().flat_map(History::entries).collect();
    // Stable, since those of one client are in order already.
    transactions.sort_by_key(|transaction| transaction.head.began);
    let mut checker = Checker {
        has_happened: transactions
            .iter()
            .map(|transaction| transaction.head.outcome == Outcome::Committed)
            .collect(),
        transactions,
        lists_of_steps: Vec::new(),
        lists: Vec::new(),
        appended: FxHashMap::default(),
        versions: Vec::new(),
        beyond: Vec::new(),
        edges: Edges::default(),
        found: BTreeSet::new(),
    };
    checker.note_lists();
    checker.note_versions();
    checker.note_unread();
    checker.note_reads();
    checker.note_time();
    checker.name_all()
}

/// A number that was appended.
struct Appended {
    writer: u32,
    /// Which append of the whole history it was.
    sequence: usize,
    /// More of the same transaction followed in that list.
    is_intermediate: bool,
    /// The longest read of the list has it.
    is_read: bool,
}

/// The list of a key as far as it is known.
#[derive(Default)]
struct List<'a> {
    /// The longest read, which gives the order of appends.
    order: &'a [u64],
    /// Whether there is a read at all that can be believed.
    is_read: bool,
    /// Where its versions begin among those of all lists: one for each number of `order`.
    versions_start: usize,
    /// Numbers in front of the first that nobody appended, and that was taken back.
    before_phantom: usize,
    before_aborted: usize,
    /// Which of the `beyond` it has.
    beyond: Option<usize>,
}

/// A number in the order of its list.
#[derive(Clone, Copy)]
struct Version {
    /// Nobody, when it is a phantom.
    writer: Option<u32>,
    is_intermediate: bool,
}

struct Checker<'a> {
    /// By the time of their begin; the position is the vertex.
    transactions: Vec<Entry<'a>>,
    /// Whether it was acknowledged, or seen.
    has_happened: Vec<bool>,
    /// The list of each step of all transactions.
    lists_of_steps: Vec<u32>,
    lists: Vec<List<'a>>,
    appended: FxHashMap<(u32, u64), Appended>,
    versions: Vec<Version>,
    /// Who appended to a list what no read has: whoever read that list did so before.
    beyond: Vec<Vec<u32>>,
    edges: Edges,
    found: BTreeSet<Anomaly>,
}

impl<'a> Checker<'a> {
    /// Who appended what, and the longest read of each list.
    fn note_lists(&mut self) {
        let mut numbers: FxHashMap<u64, u32> = FxHashMap::default();
        let mut sequence = 0;
        for (number, transaction) in self.transactions.iter().enumerate() {
            for (at, step) in transaction.steps.iter().enumerate() {
                let next = vertex(self.lists.len());
                let list = *numbers.entry(step.key()).or_insert(next);
                if list == next {
                    self.lists.push(List::default());
                }
                self.lists_of_steps.push(list);
                match *step {
                    Step::Append { key, value } => {
                        if let Some(before) = last_append(&transaction.steps[..at], key)
                            && let Some(before) = self.appended.get_mut(&(list, before))
                        {
                            before.is_intermediate = true;
                        }
                        let appended = Appended {
                            writer: vertex(number),
                            sequence,
                            is_intermediate: false,
                            is_read: false,
                        };
                        sequence += 1;
                        if self.appended.insert((list, value), appended).is_some() {
                            self.found.insert(Anomaly::Phantom);
                        }
                    }
                    Step::Read { .. } => {
                        if transaction.head.outcome != Outcome::Committed {
                            continue;
                        }
                        let Some((values, _)) = read(transaction, at) else {
                            self.found.insert(Anomaly::Internal);
                            continue;
                        };
                        let list = &mut self.lists[list as usize];
                        list.is_read = true;
                        if values.len() > list.order.len() {
                            list.order = values;
                        }
                    }
                }
            }
        }
    }

    /// Who wrote each number of the longest reads: one after the other.
    fn note_versions(&mut self) {
        for (number, list) in self.lists.iter_mut().enumerate() {
            list.versions_start = self.versions.len();
            list.before_phantom = usize::MAX;
            list.before_aborted = usize::MAX;
            let mut before: Option<(u32, usize)> = None;
            for (position, value) in list.order.iter().enumerate() {
                let appended = self.appended.get_mut(&(vertex(number), *value));
                let writer = appended.as_ref().map(|appended| appended.writer);
                self.versions.push(Version {
                    writer,
                    is_intermediate: appended.as_ref().is_some_and(|one| one.is_intermediate),
                });
                let Some(appended) = appended else {
                    list.before_phantom = list.before_phantom.min(position);
                    before = None;
                    continue;
                };
                appended.is_read = true;
                let writer = appended.writer;
                match self.transactions[writer as usize].head.outcome {
                    Outcome::Aborted => list.before_aborted = list.before_aborted.min(position),
                    Outcome::Committed | Outcome::Unknown => {
                        self.has_happened[writer as usize] = true;
                    }
                }
                if let Some((last, sequence)) = before {
                    self.edges.add(last, writer, Edge::WriteWrite);
                    if last == writer && sequence >= appended.sequence {
                        self.found.insert(Anomaly::Internal);
                    }
                }
                before = Some((writer, appended.sequence));
            }
        }
    }

    /// Numbers that took place, but are in no read.
    fn note_unread(&mut self) {
        for ((list, _), appended) in &self.appended {
            let list = &mut self.lists[*list as usize];
            if list.is_read && !appended.is_read && self.has_happened[appended.writer as usize] {
                let slot = *list.beyond.get_or_insert(self.beyond.len());
                if slot == self.beyond.len() {
                    self.beyond.push(Vec::new());
                }
                self.beyond[slot].push(appended.writer);
            }
        }
        for (slot, writers) in self.beyond.iter_mut().enumerate() {
            writers.sort_unstable();
            writers.dedup();
            let helper = vertex(self.transactions.len() + slot);
            for &writer in &*writers {
                self.edges.add(helper, writer, Edge::WriteWrite);
            }
        }
    }

    fn note_reads(&mut self) {
        // List, version and transaction of each read by one that appends to that list.
        let mut updates: Vec<(u32, usize, u32)> = Vec::new();
        let mut steps_before = 0;
        for number in 0..self.transactions.len() {
            let transaction = self.transactions[number];
            let lists_start = steps_before;
            steps_before += transaction.steps.len();
            if transaction.head.outcome != Outcome::Committed {
                continue;
            }
            for (at, step) in transaction.steps.iter().enumerate() {
                // One that is not there was named before.
                let (Step::Read { key, .. }, Some((values, others))) =
                    (step, read(&transaction, at))
                else {
                    continue;
                };
                let earlier = (0..at).find_map(|earlier| {
                    let is_same = transaction.steps[earlier].is_read_of(*key);
                    is_same.then(|| read(&transaction, earlier)).flatten()
                });
                if earlier.is_some_and(|(_, seen)| seen != others) {
                    self.found.insert(Anomaly::Internal);
                }
                let list = self.lists_of_steps[lists_start + at];
                let reader = vertex(number);
                if !self.lists[list as usize].order.starts_with(values) {
                    self.found.insert(Anomaly::IncompatibleOrder);
                    self.note_each(reader, list, others);
                    continue;
                }
                self.note_version(reader, list, others.len());
                if last_append(transaction.steps, *key).is_some() {
                    updates.push((list, others.len(), reader));
                }
            }
        }
        updates.sort_unstable();
        updates.dedup();
        let is_lost = |pair: &[(u32, usize, u32)]| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1);
        if updates.windows(2).any(is_lost) {
            self.found.insert(Anomaly::LostUpdate);
        }
    }

    /// What it means that a transaction saw the first `seen` numbers of a list.
    fn note_version(&mut self, reader: u32, list: u32, seen: usize) {
        let list = &self.lists[list as usize];
        let versions = &self.versions[list.versions_start..][..list.order.len()];
        if seen > list.before_phantom {
            self.found.insert(Anomaly::Phantom);
        }
        if seen > list.before_aborted {
            self.found.insert(Anomaly::G1a);
        }
        if let Some(last) = seen.checked_sub(1).map(|last| versions[last])
            && let Some(writer) = last.writer
        {
            self.edges.add(writer, reader, Edge::WriteRead);
            if writer == reader {
                self.found.insert(Anomaly::Internal);
            } else if last.is_intermediate {
                self.found.insert(Anomaly::G1b);
            }
        }
        if let Some(writer) = versions.get(seen).and_then(|version| version.writer) {
            self.edges.add(reader, writer, Edge::ReadWrite);
        }
        let Some(slot) = list.beyond else {
            return;
        };
        // One of the writers themselves is not before all of them, but before the others.
        let writers = &self.beyond[slot];
        if writers.binary_search(&reader).is_ok() {
            for &writer in writers {
                self.edges.add(reader, writer, Edge::ReadWrite);
            }
        } else {
            let helper = vertex(self.transactions.len() + slot);
            self.edges.add(reader, helper, Edge::ReadWrite);
        }
    }

    /// What a read shows that does not fit the others of its list.
    fn note_each(&mut self, reader: u32, list: u32, values: &[u64]) {
        for (position, value) in values.iter().enumerate() {
            let Some(appended) = self.appended.get(&(list, *value)) else {
                self.found.insert(Anomaly::Phantom);
                continue;
            };
            let writer = appended.writer;
            if self.transactions[writer as usize].head.outcome == Outcome::Aborted {
                self.found.insert(Anomaly::G1a);
            }
            let is_last = position + 1 == values.len();
            if is_last && appended.is_intermediate && writer != reader {
                self.found.insert(Anomaly::G1b);
            }
        }
    }

    /// Edges for the order of time: a transaction that ended before another one began is before it.
    /// Each points at those that began next, up to the earliest end among them: the rest follows.
    fn note_time(&mut self) {
        for from in 0..self.transactions.len() {
            let head = self.transactions[from].head;
            if head.outcome != Outcome::Committed {
                continue;
            }
            let start = self.first_begun_after(from, head.ended);
            let mut earliest_end = u64::MAX;
            for (to, transaction) in self.transactions.iter().enumerate().skip(start) {
                let after = transaction.head;
                if after.began > earliest_end {
                    break;
                }
                if self.has_happened[to] {
                    self.edges.add(vertex(from), vertex(to), Edge::Time);
                    if after.outcome == Outcome::Committed {
                        earliest_end = earliest_end.min(after.ended);
                    }
                }
            }
        }
    }

    /// The first transaction that began after `ended`, which is not far behind `from`: steps that
    /// double, then halves.
    fn first_begun_after(&self, from: usize, ended: u64) -> usize {
        let is_before = |transaction: &Entry<'_>| transaction.head.began <= ended;
        let behind = &self.transactions[from..];
        let mut step = 1;
        while behind.get(step).is_some_and(is_before) {
            step *= 2;
        }
        from + behind[..step.min(behind.len())].partition_point(is_before)
    }

    fn name_all(self) -> BTreeSet<Anomaly> {
        let mut found = self.found;
        let transaction_count = self.transactions.len();
        let graph = self.edges.into_graph(transaction_count, self.beyond.len());
        // Without any cycle there is none of a kind.
        if !graph.components(ALL).is_empty() {
            name_cycles(&graph, &mut found);
            if found.is_empty() {
                found.insert(Anomaly::Stale);
            }
        }
        found
    }
}

fn name_cycles(graph: &Graph, found: &mut BTreeSet<Anomaly>) {
    if !graph.components(WRITES).is_empty() {
        found.insert(Anomaly::G0);
        return;
    }
    if !graph.components(WRITES_AND_READS).is_empty() {
        found.insert(Anomaly::G1c);
        return;
    }
    for component in graph.components(DEPENDENCIES) {
        found.insert(match graph.closes_with_one_read(&component) {
            true => Anomaly::GSingle,
            false => Anomaly::G2,
        });
    }
}

/// What the read at a position returned: all of it, and the part in front of the transaction's own
/// appends; nothing when it does not end with these.
fn read<'a>(transaction: &Entry<'a>, at: usize) -> Option<(&'a [u64], &'a [u64])> {
    let Step::Read { key, start, count } = transaction.steps[at] else {
        return None;
    };
    let values = transaction.values(start, count);
    let mut others = values;
    for step in transaction.steps[..at].iter().rev() {
        if let Step::Append { key: to, value } = *step
            && to == key
        {
            others = others.strip_suffix(&[value])?;
        }
    }
    Some((values, others))
}

/// The last number that these steps append to a list.
fn last_append(steps: &[Step], key: u64) -> Option<u64> {
    steps.iter().rev().find_map(|step| match step {
        Step::Append { key: to, value } if *to == key => Some(*value),
        _ => None,
    })
}

impl Step {
    fn key(&self) -> u64 {
        let (Step::Append { key, .. } | Step::Read { key, .. }) = self;
        *key
    }

    fn is_read_of(&self, key: u64) -> bool {
        matches!(self, Step::Read { key: of, .. } if *of == key)
    }
}
