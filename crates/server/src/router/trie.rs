//! A byte trie with path compression over all route patterns.
//!
//! Called by the dispatcher through [`Router::find`]; built once when the server starts. Patterns
//! hold literal bytes, `*` for one whole non-empty segment and, only at the end, `$` for the rest
//! of the path, which may be empty.
//!
//! The trie is flattened into a few arrays so that a match touches few cache lines: nodes, label
//! bytes, first bytes of children, children. A node without wildcard is passed in a loop; only a
//! node with one recurses, so that the wildcard is tried when the literal leads nowhere.
//!
//! Invariants:
//! - Labels are stored in lower case; children of a node differ in their first byte.
//! - Recursion is as deep as the table has wildcards on one path, whatever the request holds.

use super::verb::{Verb, Verbs};

/// Captures of one pattern; four is twice what the widest known route has.
const CAPTURES_MAX: usize = 4;
/// Marks an absent node or route.
const NONE: u32 = u32::MAX;

/// One row of a route table.
#[derive(Clone, Debug)]
pub struct Route<T> {
    /// Accepted methods.
    pub verbs: Verbs,
    /// Pattern, beginning with `/`.
    pub pattern: &'static str,
    /// One line for people, shown by `GET /debug/routes`.
    pub summary: &'static str,
    /// What the table's owner wants back on a match.
    pub target: T,
}

/// Why a table was refused. Nothing is built then.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RouterError {
    /// The pattern does not begin with `/`, has a `*` that is not a whole segment, a `$` before
    /// its end, or more captures than a match can hold.
    #[error("the route pattern '{0}' is not well formed")]
    Pattern(String),
    /// Two rows accept the same method on the same pattern.
    #[error("two routes accept {1} {0}")]
    Twice(String, &'static str),
}

/// Why no route was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoute {
    /// No pattern matches the path.
    Path,
    /// The path is known, but not with this method.
    Verb,
}

/// Positions of the captured parts in the path that was matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    ranges: [(u32, u32); CAPTURES_MAX],
    count: usize,
}

impl Captures {
    /// The captured part at `slot`, counted from 0 in pattern order, still percent-encoded.
    #[must_use]
    pub fn get<'p>(&self, path: &'p str, slot: usize) -> Option<&'p str> {
        let (start, end) = *self.ranges[..self.count].get(slot)?;
        path.get(start as usize..end as usize)
    }

    /// Number of captured parts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether the pattern had no wildcard.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn push(&mut self, start: usize, end: usize) {
        if self.count < CAPTURES_MAX {
            self.ranges[self.count] = (narrow(start), narrow(end));
            self.count += 1;
        }
    }
}

/// A route that accepts the request, and what its wildcards captured.
#[derive(Debug)]
pub struct Match<'r, T> {
    /// The row of the table.
    pub route: &'r Route<T>,
    /// Ranges in the path given to [`Router::find`].
    pub captures: Captures,
}

/// A built table of routes.
#[derive(Debug)]
pub struct Router<T> {
    nodes: Vec<Node>,
    labels: Vec<u8>,
    /// First label byte of every child, grouped by parent; parallel to `children`.
    firsts: Vec<u8>,
    children: Vec<u32>,
    /// Route positions by method, one row per distinct pattern.
    ends: Vec<[u32; Verb::COUNT]>,
    routes: Vec<Route<T>>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    label_start: u32,
    label_len: u32,
    children_start: u32,
    children_len: u32,
    /// Node after a `*`, or `NONE`.
    segment: u32,
    /// Row of `ends` for a `$` here, or `NONE`.
    rest: u32,
    /// Row of `ends` for a pattern that ends here, or `NONE`.
    end: u32,
}

impl<T> Router<T> {
    /// Builds the trie.
    ///
    /// # Errors
    /// [`RouterError`] names the first row that is malformed or doubled.
    pub fn new(routes: Vec<Route<T>>) -> Result<Router<T>, RouterError> {
        let mut root = Draft::default();
        let mut ends: Vec<[u32; Verb::COUNT]> = Vec::new();
        for (slot, route) in routes.iter().enumerate() {
            let row = root.end_of(route.pattern, &mut ends)?;
            for verb in route.verbs.iter() {
                let place = &mut ends[row as usize][verb.slot()];
                if *place != NONE {
                    return Err(RouterError::Twice(route.pattern.to_owned(), verb.name()));
                }
                *place = narrow(slot);
            }
        }
        let mut router = Router {
            nodes: Vec::new(),
            labels: Vec::new(),
            firsts: Vec::new(),
            children: Vec::new(),
            ends,
            routes,
        };
        router.flatten(&root);
        Ok(router)
    }

    /// The rows of the table, in the order given.
    #[must_use]
    pub fn routes(&self) -> &[Route<T>] {
        &self.routes
    }

    /// Finds the route for a request. `path` is the path alone, without query string.
    ///
    /// Allocates nothing; `O(path length)` for tables without overlapping wildcards.
    ///
    /// # Errors
    /// [`NoRoute`] tells an unknown path from a known one with another method.
    pub fn find(&self, verb: Option<Verb>, path: &str) -> Result<Match<'_, T>, NoRoute> {
        let mut search = Search {
            path: path.as_bytes(),
            verb,
            failure: NoRoute::Path,
        };
        let mut captures = Captures::default();
        match self.walk(0, 0, &mut captures, &mut search) {
            Some(slot) => Ok(Match {
                route: &self.routes[slot as usize],
                captures,
            }),
            None => Err(search.failure),
        }
    }

    fn walk(
        &self,
        mut at: u32,
        mut position: usize,
        captures: &mut Captures,
        search: &mut Search<'_>,
    ) -> Option<u32> {
        let path = search.path;
        loop {
            let node = &self.nodes[at as usize];
            position = self.pass_label(node, path, position)?;
            let wildcard = node.segment != NONE || node.rest != NONE;
            if position == path.len() {
                if let Some(slot) = self.accept(node.end, search) {
                    return Some(slot);
                }
            } else if let Some(child) = self.child(node, path[position]) {
                if !wildcard {
                    at = child;
                    continue;
                }
                if let Some(slot) = self.walk(child, position, captures, search) {
                    return Some(slot);
                }
            }
            return if wildcard {
                self.wildcard(node, position, captures, search)
            } else {
                None
            };
        }
    }

    fn wildcard(
        &self,
        node: &Node,
        position: usize,
        captures: &mut Captures,
        search: &mut Search<'_>,
    ) -> Option<u32> {
        let path = search.path;
        let length = path[position..].iter().position(|byte| *byte == b'/');
        let end = length.map_or(path.len(), |length| position + length);
        if node.segment != NONE && end > position {
            let before = captures.count;
            captures.push(position, end);
            if let Some(slot) = self.walk(node.segment, end, captures, search) {
                return Some(slot);
            }
            captures.count = before;
        }
        let slot = self.accept(node.rest, search)?;
        captures.push(position, path.len());
        Some(slot)
    }

    fn pass_label(&self, node: &Node, path: &[u8], position: usize) -> Option<usize> {
        let label = &self.labels[node.label_start as usize..][..node.label_len as usize];
        let end = position + label.len();
        path.get(position..end)?
            .eq_ignore_ascii_case(label)
            .then_some(end)
    }

    fn child(&self, node: &Node, byte: u8) -> Option<u32> {
        let start = node.children_start as usize;
        let firsts = &self.firsts[start..start + node.children_len as usize];
        let byte = byte.to_ascii_lowercase();
        let slot = firsts.iter().position(|first| *first == byte)?;
        Some(self.children[start + slot])
    }

    fn accept(&self, row: u32, search: &mut Search<'_>) -> Option<u32> {
        let row = self.ends.get(row as usize)?;
        let slot = search.verb.map_or(NONE, |verb| row[verb.slot()]);
        if slot == NONE {
            search.failure = NoRoute::Verb;
            return None;
        }
        Some(slot)
    }

    /// Copies a draft node behind the nodes there are and returns its position.
    fn flatten(&mut self, draft: &Draft) -> u32 {
        let at = self.nodes.len();
        self.nodes.push(Node {
            label_start: narrow(self.labels.len()),
            label_len: narrow(draft.label.len()),
            children_start: 0,
            children_len: narrow(draft.children.len()),
            segment: NONE,
            rest: draft.rest.unwrap_or(NONE),
            end: draft.end.unwrap_or(NONE),
        });
        self.labels.extend_from_slice(&draft.label);
        let children: Vec<u32> = draft
            .children
            .iter()
            .map(|child| self.flatten(child))
            .collect();
        self.nodes[at].children_start = narrow(self.children.len());
        self.firsts
            .extend(draft.children.iter().map(|child| child.label[0]));
        self.children.extend(children);
        if let Some(segment) = &draft.segment {
            self.nodes[at].segment = self.flatten(segment);
        }
        narrow(at)
    }
}

/// What stays the same during one search, and the best reason for failing so far.
struct Search<'p> {
    path: &'p [u8],
    verb: Option<Verb>,
    failure: NoRoute,
}

/// A node while the table is read.
#[derive(Default)]
struct Draft {
    label: Vec<u8>,
    children: Vec<Draft>,
    segment: Option<Box<Draft>>,
    rest: Option<u32>,
    end: Option<u32>,
}

impl Draft {
    /// Row of `ends` for a pattern; both are made when missing.
    fn end_of(
        &mut self,
        pattern: &str,
        ends: &mut Vec<[u32; Verb::COUNT]>,
    ) -> Result<u32, RouterError> {
        let malformed = || RouterError::Pattern(pattern.to_owned());
        let wildcards = pattern
            .bytes()
            .filter(|byte| matches!(byte, b'*' | b'$'))
            .count();
        if !pattern.starts_with('/') || wildcards > CAPTURES_MAX {
            return Err(malformed());
        }
        let mut new_row = || {
            ends.push([NONE; Verb::COUNT]);
            narrow(ends.len() - 1)
        };
        let mut node = self;
        let mut rest = pattern.as_bytes();
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'*' | b'$')) {
            node = node.descend(&rest[..at].to_ascii_lowercase());
            let starts_segment = at > 0 && rest[at - 1] == b'/';
            let tail = &rest[at + 1..];
            if !starts_segment {
                return Err(malformed());
            }
            if rest[at] == b'$' {
                if !tail.is_empty() {
                    return Err(malformed());
                }
                return Ok(*node.rest.get_or_insert_with(new_row));
            }
            if !(tail.is_empty() || tail[0] == b'/') {
                return Err(malformed());
            }
            node = node.segment.get_or_insert_with(Box::default);
            rest = tail;
        }
        let node = node.descend(&rest.to_ascii_lowercase());
        Ok(*node.end.get_or_insert_with(&mut new_row))
    }

    /// The node reached by `literal`, splitting labels where patterns part.
    fn descend(&mut self, literal: &[u8]) -> &mut Draft {
        if literal.is_empty() {
            return self;
        }
        let slot = self
            .children
            .iter()
            .position(|child| child.label[0] == literal[0]);
        let slot = slot.unwrap_or_else(|| {
            self.children.push(Draft {
                label: literal.to_vec(),
                ..Draft::default()
            });
            self.children.len() - 1
        });
        let child = &mut self.children[slot];
        let same = child
            .label
            .iter()
            .zip(literal)
            .take_while(|(a, b)| a == b)
            .count();
        if same < child.label.len() {
            let below = Draft {
                label: child.label.split_off(same),
                ..std::mem::take(child)
            };
            let label = literal[..same].to_vec();
            *child = Draft {
                label,
                children: vec![below],
                ..Draft::default()
            };
        }
        child.descend(&literal[same..])
    }
}

fn narrow(value: usize) -> u32 {
    u32::try_from(value).expect("tables and request paths are far below 4 GiB")
}

#[cfg(test)]
mod tests;
