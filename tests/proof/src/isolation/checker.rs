//! The checker: dependencies between transactions, their cycles, and the names of these.
//!
//! Invariants:
//! - An edge says that the first transaction comes before the second in every serial order.
//! - Linear in the length of the history, but for sorting.

use std::collections::{BTreeMap, BTreeSet};

use super::{Operation, Outcome, Transaction};

/// What no serial order explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Anomaly {
    /// A number was appended by nobody, or twice.
    Phantom,
    /// Reads of one list that are no prefixes of each other.
    IncompatibleOrder,
    /// A transaction does not see its own appends.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    WriteWrite,
    WriteRead,
    ReadWrite,
    Time,
}

/// The list of a key as far as it is known.
#[derive(Default)]
struct List {
    /// The longest read, which gives the order of appends.
    order: Vec<u64>,
    /// Transactions that read it, and how many numbers each saw.
    reads: Vec<(usize, usize)>,
}

struct Graph {
    edges: Vec<Vec<(usize, Edge)>>,
}

/// The anomalies of a history; none when some serial order explains it that respects time.
#[must_use]
pub fn check(history: &[Transaction]) -> BTreeSet<Anomaly> {
    let mut found = BTreeSet::new();
    let appended = appends(history, &mut found);
    let lists = lists(history, &appended, &mut found);
    let mut graph = Graph {
        edges: vec![Vec::new(); history.len()],
    };
    graph.add_dependencies(history, &lists, &appended, &mut found);
    graph.name_cycles(&mut found);
    let is_explained = found.is_empty();
    if is_explained {
        graph.add_time(history);
        if !graph
            .components(&[
                Edge::WriteWrite,
                Edge::WriteRead,
                Edge::ReadWrite,
                Edge::Time,
            ])
            .is_empty()
        {
            found.insert(Anomaly::Stale);
        }
    }
    found
}

/// Who appended a number, and whether more of the same transaction followed in that list.
fn appends(
    history: &[Transaction],
    found: &mut BTreeSet<Anomaly>,
) -> BTreeMap<(u64, u64), (usize, bool)> {
    let mut appended = BTreeMap::new();
    for (number, transaction) in history.iter().enumerate() {
        let mut last: BTreeMap<u64, u64> = BTreeMap::new();
        for operation in &transaction.operations {
            let Operation::Append { key, value } = operation else {
                continue;
            };
            if let Some(before) = last.insert(*key, *value)
                && let Some((_, is_intermediate)) = appended.get_mut(&(*key, before))
            {
                *is_intermediate = true;
            }
            if appended.insert((*key, *value), (number, false)).is_some() {
                found.insert(Anomaly::Phantom);
            }
        }
    }
    appended
}

fn lists(
    history: &[Transaction],
    appended: &BTreeMap<(u64, u64), (usize, bool)>,
    found: &mut BTreeSet<Anomaly>,
) -> BTreeMap<u64, List> {
    let mut lists: BTreeMap<u64, List> = BTreeMap::new();
    for (number, transaction) in history.iter().enumerate() {
        if transaction.outcome != Outcome::Committed {
            continue;
        }
        let mut own: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut first_seen: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for operation in &transaction.operations {
            match operation {
                Operation::Append { key, value } => own.entry(*key).or_default().push(*value),
                Operation::Read { key, values } => {
                    let own = own.get(key).map_or(&[][..], Vec::as_slice);
                    let Some(others) = values.strip_suffix(own) else {
                        found.insert(Anomaly::Internal);
                        continue;
                    };
                    let seen = first_seen.entry(*key).or_insert_with(|| others.to_vec());
                    if seen != others {
                        found.insert(Anomaly::Internal);
                    }
                    note_read(number, *key, others, history, appended, found);
                    let list = lists.entry(*key).or_default();
                    let shared = list.order.len().min(values.len());
                    if list.order[..shared] != values[..shared] {
                        found.insert(Anomaly::IncompatibleOrder);
                        continue;
                    }
                    if values.len() > list.order.len() {
                        list.order.clone_from(values);
                    }
                    list.reads.push((number, others.len()));
                }
            }
        }
    }
    lists
}

/// Anomalies that one read shows by itself.
fn note_read(
    reader: usize,
    key: u64,
    values: &[u64],
    history: &[Transaction],
    appended: &BTreeMap<(u64, u64), (usize, bool)>,
    found: &mut BTreeSet<Anomaly>,
) {
    for (position, value) in values.iter().enumerate() {
        let Some(&(writer, is_intermediate)) = appended.get(&(key, *value)) else {
            found.insert(Anomaly::Phantom);
            continue;
        };
        if history[writer].outcome == Outcome::Aborted {
            found.insert(Anomaly::G1a);
        }
        let is_last = position + 1 == values.len();
        if is_last && is_intermediate && writer != reader {
            found.insert(Anomaly::G1b);
        }
    }
}

impl Graph {
    fn add(&mut self, from: usize, to: usize, edge: Edge) {
        if from != to {
            self.edges[from].push((to, edge));
        }
    }

    fn add_dependencies(
        &mut self,
        history: &[Transaction],
        lists: &BTreeMap<u64, List>,
        appended: &BTreeMap<(u64, u64), (usize, bool)>,
        found: &mut BTreeSet<Anomaly>,
    ) {
        for (&(key, value), &(writer, _)) in appended {
            // Committed, but in no read: whoever read that list did so before.
            let Some(list) = lists.get(&key) else {
                continue;
            };
            if history[writer].outcome == Outcome::Committed && !list.order.contains(&value) {
                for &(reader, _) in &list.reads {
                    self.add(reader, writer, Edge::ReadWrite);
                }
            }
        }
        for (key, list) in lists {
            let writer = |position: usize| {
                let value = list.order.get(position)?;
                appended.get(&(*key, *value)).map(|(writer, _)| *writer)
            };
            for position in 1..list.order.len() {
                if let (Some(from), Some(to)) = (writer(position - 1), writer(position)) {
                    self.add(from, to, Edge::WriteWrite);
                }
            }
            let mut by_version: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
            for &(reader, seen) in &list.reads {
                if let Some(from) = seen.checked_sub(1).and_then(writer) {
                    self.add(from, reader, Edge::WriteRead);
                }
                if let Some(to) = writer(seen) {
                    self.add(reader, to, Edge::ReadWrite);
                }
                by_version.entry(seen).or_default().insert(reader);
            }
            let appends_here = |reader: &&usize| {
                let operations = history[**reader].operations.iter();
                operations.into_iter().any(
                    |operation| matches!(operation, Operation::Append { key: to, .. } if to == key),
                )
            };
            let lost = |readers: &BTreeSet<usize>| readers.iter().filter(appends_here).count() > 1;
            if by_version.values().any(lost) {
                found.insert(Anomaly::LostUpdate);
            }
        }
    }

    /// Edges for the order of time: a transaction that ended before another one began is before it.
    /// Each points at those that began next, up to the earliest end among them: the rest follows.
    fn add_time(&mut self, history: &[Transaction]) {
        let mut by_begin: Vec<usize> = (0..history.len())
            .filter(|&number| history[number].outcome == Outcome::Committed)
            .collect();
        by_begin.sort_unstable_by_key(|&number| history[number].began);
        for from in 0..history.len() {
            if history[from].outcome != Outcome::Committed {
                continue;
            }
            let ended = history[from].ended;
            let start = by_begin.partition_point(|&number| history[number].began <= ended);
            let mut earliest_end = u64::MAX;
            for &to in &by_begin[start..] {
                if history[to].began > earliest_end {
                    break;
                }
                earliest_end = earliest_end.min(history[to].ended);
                self.add(from, to, Edge::Time);
            }
        }
    }

    fn name_cycles(&self, found: &mut BTreeSet<Anomaly>) {
        use Edge::{ReadWrite, WriteRead, WriteWrite};
        if !self.components(&[WriteWrite]).is_empty() {
            found.insert(Anomaly::G0);
            return;
        }
        if !self.components(&[WriteWrite, WriteRead]).is_empty() {
            found.insert(Anomaly::G1c);
            return;
        }
        for component in self.components(&[WriteWrite, WriteRead, ReadWrite]) {
            let members: BTreeSet<usize> = component.iter().copied().collect();
            let closes_with_one = component.iter().any(|&from| {
                let older = self.edges[from]
                    .iter()
                    .filter(|(to, edge)| *edge == ReadWrite && members.contains(to));
                older
                    .into_iter()
                    .any(|&(to, _)| self.reaches(to, from, &members))
            });
            found.insert(if closes_with_one {
                Anomaly::GSingle
            } else {
                Anomaly::G2
            });
        }
    }

    /// Whether writes and reads alone lead from one transaction to another.
    fn reaches(&self, from: usize, to: usize, members: &BTreeSet<usize>) -> bool {
        let mut seen = BTreeSet::from([from]);
        let mut waiting = vec![from];
        while let Some(at) = waiting.pop() {
            if at == to {
                return true;
            }
            for (next, edge) in &self.edges[at] {
                let is_usable = matches!(edge, Edge::WriteWrite | Edge::WriteRead);
                if is_usable && members.contains(next) && seen.insert(*next) {
                    waiting.push(*next);
                }
            }
        }
        false
    }

    /// Strongly connected components of two transactions or more, by edges of these kinds
    /// (Tarjan, with a stack of its own).
    fn components(&self, kinds: &[Edge]) -> Vec<Vec<usize>> {
        const UNSEEN: usize = usize::MAX;
        let count = self.edges.len();
        let (mut order, mut low) = (vec![UNSEEN; count], vec![0; count]);
        let mut is_open = vec![false; count];
        let (mut open, mut components, mut clock) = (Vec::new(), Vec::new(), 0);
        for root in 0..count {
            if order[root] != UNSEEN {
                continue;
            }
            let mut calls = vec![(root, 0)];
            while let Some((at, mut position)) = calls.pop() {
                if order[at] == UNSEEN {
                    (order[at], low[at]) = (clock, clock);
                    clock += 1;
                    open.push(at);
                    is_open[at] = true;
                }
                let mut called = None;
                // An edge that led to a call is looked at again when the call has ended.
                while let (None, Some((to, edge))) = (called, self.edges[at].get(position)) {
                    if kinds.contains(edge) {
                        if order[*to] == UNSEEN {
                            called = Some(*to);
                            break;
                        }
                        if is_open[*to] {
                            low[at] = low[at].min(low[*to]);
                        }
                    }
                    position += 1;
                }
                if let Some(to) = called {
                    calls.push((at, position));
                    calls.push((to, 0));
                    continue;
                }
                if low[at] == order[at] {
                    let start = open.iter().rposition(|&other| other == at).unwrap_or(0);
                    let component: Vec<usize> = open.drain(start..).collect();
                    component.iter().for_each(|&member| is_open[member] = false);
                    if component.len() > 1 {
                        components.push(component);
                    }
                }
            }
        }
        components
    }
}
