//! Dependencies between transactions as a graph in flat arrays, and its cycles.
//!
//! Built by `checker`: edges are collected in any order, then sorted by where they begin.
//!
//! Invariants:
//! - An edge says that the first transaction comes before the second in every serial order.
//! - Vertices are transactions in the order in which they began, so most edges lead upwards. Behind
//!   them are helpers, which stand for "before all of these".
//! - Finding the components is linear in the number of edges.

/// Why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    WriteWrite,
    WriteRead,
    ReadWrite,
    Time,
}

/// Kinds of edges.
pub(super) const WRITES: &[Edge] = &[Edge::WriteWrite];
pub(super) const WRITES_AND_READS: &[Edge] = &[Edge::WriteWrite, Edge::WriteRead];
pub(super) const DEPENDENCIES: &[Edge] = &[Edge::WriteWrite, Edge::WriteRead, Edge::ReadWrite];
pub(super) const ALL: &[Edge] = &[
    Edge::WriteWrite,
    Edge::WriteRead,
    Edge::ReadWrite,
    Edge::Time,
];

/// The kind of an edge is above the number of the vertex that it leads to.
const KIND_SHIFT: u32 = 30;
const VERTEX_MASK: u32 = (1 << KIND_SHIFT) - 1;

/// Reads of older versions that are tried before a cycle is taken for one that needs two of them.
/// Only a broken history has any, and a broken one may have them by the million.
const TRIED_MAX: usize = 1_000;

/// Edges in the order in which they are found.
#[derive(Default)]
pub(super) struct Edges {
    pairs: Vec<(u32, u32)>,
}

pub(super) struct Graph {
    /// Where the edges of each vertex begin in `targets`, and at last where all end.
    starts: Vec<usize>,
    /// Kind and vertex.
    targets: Vec<u32>,
    transaction_count: usize,
}

/// The vertices of a cycle, or of several that share some.
pub(super) struct Component {
    /// Ascending.
    members: Vec<u32>,
}

/// The number of a vertex.
///
/// # Panics
/// When there are more than 2^30.
pub(super) fn vertex(number: usize) -> u32 {
    let vertex = u32::try_from(number).ok();
    vertex
        .filter(|vertex| *vertex <= VERTEX_MASK)
        .expect("a round has fewer transactions")
}

impl Edges {
    /// A transaction is not before itself: such an edge is left out.
    pub(super) fn add(&mut self, from: u32, to: u32, edge: Edge) {
        if from != to {
            self.pairs.push((from, to | ((edge as u32) << KIND_SHIFT)));
        }
    }

    /// Sorts them: counts first, then each edge to its place.
    pub(super) fn into_graph(self, transaction_count: usize, helper_count: usize) -> Graph {
        let vertex_count = transaction_count + helper_count;
        let mut starts = vec![0; vertex_count + 1];
        for &(from, _) in &self.pairs {
            starts[from as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        // While they are placed, `starts` is where the next edge of a vertex goes; afterwards that
        // is where those of the next vertex begin.
        let mut targets = vec![0; self.pairs.len()];
        for (from, to) in self.pairs {
            let place = &mut starts[from as usize];
            targets[*place] = to;
            *place += 1;
        }
        starts.rotate_right(1);
        starts[0] = 0;
        Graph {
            starts,
            targets,
            transaction_count,
        }
    }
}

impl Graph {
    /// Strongly connected components of two vertices or more, by edges of these kinds (Tarjan, with
    /// a stack of its own).
    ///
    /// From the last transaction to the first: what an edge upwards leads to is done already.
    pub(super) fn components(&self, kinds: &[Edge]) -> Vec<Component> {
        const UNSEEN: u32 = 0;
        const CLOSED: u32 = u32::MAX;
        let count = self.starts.len() - 1;
        let kinds = kinds.iter().fold(0, |all, kind| all | 1 << *kind as u32);
        let (mut order, mut low) = (vec![UNSEEN; count], vec![UNSEEN; count]);
        let (mut open, mut calls): (Vec<u32>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
        let (mut components, mut clock) = (Vec::new(), UNSEEN);
        let transactions = (0..self.transaction_count).rev();
        for root in transactions.chain(self.transaction_count..count) {
            if low[root] != UNSEEN {
                continue;
            }
            let mut called = Some(root);
            loop {
                if let Some(to) = called.take() {
                    clock += 1;
                    (order[to], low[to]) = (clock, clock);
                    open.push(vertex(to));
                    calls.push((to, self.starts[to]));
                }
                let Some((at, position)) = calls.last_mut() else {
                    break;
                };
                let mut lowest = low[*at];
                // An edge that leads to a call is looked at again when the call has ended.
                for &target in &self.targets[*position..self.starts[*at + 1]] {
                    if kinds & 1 << (target >> KIND_SHIFT) != 0 {
                        let to = (target & VERTEX_MASK) as usize;
                        if low[to] == UNSEEN {
                            called = Some(to);
                            break;
                        }
                        lowest = lowest.min(low[to]);
                    }
                    *position += 1;
                }
                let at = *at;
                low[at] = lowest;
                if called.is_some() {
                    continue;
                }
                calls.pop();
                if lowest == order[at] {
                    let start = open.iter().rposition(|&other| other as usize == at);
                    let mut members = open.split_off(start.expect("it was opened"));
                    members
                        .iter()
                        .for_each(|&member| low[member as usize] = CLOSED);
                    if members.len() > 1 {
                        members.sort_unstable();
                        components.push(Component { members });
                    }
                }
            }
        }
        components
    }

    /// Whether the component has a cycle with a single read of an older version.
    pub(super) fn closes_with_one_read(&self, component: &Component) -> bool {
        let reads = component.members.iter().flat_map(|&from| {
            let older = self
                .edges_of(from)
                .filter(|(_, kind)| *kind == Edge::ReadWrite as u32);
            older.map(move |(to, _)| (from, to))
        });
        reads
            .filter(|(_, to)| component.contains(*to))
            .take(TRIED_MAX)
            .any(|(from, to)| self.reaches(to, from, component))
    }

    /// Whether writes and reads alone lead from one vertex to another.
    fn reaches(&self, from: u32, to: u32, component: &Component) -> bool {
        let mut seen = vec![false; component.members.len()];
        let mut waiting = vec![from];
        while let Some(at) = waiting.pop() {
            if at == to {
                return true;
            }
            for (next, kind) in self.edges_of(at) {
                let is_usable = WRITES_AND_READS.iter().any(|usable| *usable as u32 == kind);
                if is_usable
                    && let Ok(slot) = component.members.binary_search(&next)
                    && !std::mem::replace(&mut seen[slot], true)
                {
                    waiting.push(next);
                }
            }
        }
        false
    }

    /// Where the edges of a vertex lead, and their kinds.
    fn edges_of(&self, from: u32) -> impl Iterator<Item = (u32, u32)> {
        let from = from as usize;
        let targets = &self.targets[self.starts[from]..self.starts[from + 1]];
        let edges = targets.iter();
        edges.map(|target| (target & VERTEX_MASK, target >> KIND_SHIFT))
    }
}

impl Component {
    fn contains(&self, vertex: u32) -> bool {
        self.members.binary_search(&vertex).is_ok()
    }
}
