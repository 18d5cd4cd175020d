//! A byte trie with path compression over all route patterns.
//!
//! Called by the dispatcher through [`Router::find`]; built once when the server starts. Patterns
//! hold literal bytes, `*` for one whole non-empty segment and, only at the end, `$` for the rest
//! of the path, which may be empty.
//!
//! The trie is flattened into a few arrays so that a match touches few cache lines: nodes with the
//! beginning of their label, the rest of long labels, first bytes of children, children. A path is
//! passed in a loop; only a node that has both a child and a wildcard for it recurses, so that the
//! wildcard is tried when the literal leads nowhere. Labels are compared eight bytes at a time,
//! letter case left out by a mask.
//!
//! Invariants:
//! - Labels are stored in lower case; children of a node differ in their first byte, which finds
//!   them and is not compared again.
//! - Recursion is as deep as the table has wildcards on one path, whatever the request holds.

use super::verb::{Verb, Verbs};

/// Captures of one pattern; four is twice what the widest known route has.
const CAPTURES_MAX: usize = 4;
/// Children from which on a table is faster than looking at each.
const TABLE_CHILDREN_MIN: usize = 4;
/// Bytes that can stand in a pattern: ASCII.
const TABLE_BYTES: usize = 128;
/// The bit in which letters differ by case.
const CASE: u8 = 0x20;
/// Bytes that are compared at a time.
const WORD_BYTES: usize = 8;
const SLASHES: u64 = u64::from_le_bytes([b'/'; WORD_BYTES]);
const LOW_BITS: u64 = u64::from_le_bytes([0x01; WORD_BYTES]);
const HIGH_BITS: u64 = u64::from_le_bytes([0x80; WORD_BYTES]);
/// Stands for no byte: in text of UTF-8 there is no such one.
const NO_BYTE: u8 = 0xff;
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

    #[inline]
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
    /// What labels have beyond their first word.
    words: Vec<Word>,
    /// First label byte of every child, grouped by parent; parallel to `children`.
    firsts: Vec<u8>,
    children: Vec<u32>,
    /// For nodes with many children: which of them a byte of a path leads to, counted from 1.
    tables: Vec<[u8; TABLE_BYTES]>,
    /// Route positions by method, one row per distinct pattern.
    ends: Vec<[u32; Verb::COUNT]>,
    routes: Vec<Route<T>>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// The label without its first byte; what does not fit is in `words`.
    word: Word,
    words_start: u32,
    label_len: u32,
    children_start: u32,
    children_len: u32,
    /// Position in `tables`, or `NONE`.
    table: u32,
    /// First label byte of the first child, which is the node behind this one.
    first: u8,
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
            words: Vec::new(),
            tables: Vec::new(),
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
            } else if let Some(child) = self.child(at, node, path[position]) {
                if !wildcard {
                    (at, position) = (child, position + 1);
                    continue;
                }
                let before = captures.count;
                if let Some(slot) = self.walk(child, position + 1, captures, search) {
                    return Some(slot);
                }
                captures.count = before;
            } else if node.segment != NONE && node.rest == NONE {
                // Nothing else is left to try here, so nobody comes back.
                let end = segment_end(path, position);
                if end == position {
                    return None;
                }
                captures.push(position, end);
                (at, position) = (node.segment, end);
                continue;
            }
            return match wildcard {
                true => self.wildcard(node, position, captures, search),
                false => None,
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
        let end = segment_end(path, position);
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

    #[inline]
    fn pass_label(&self, node: &Node, path: &[u8], position: usize) -> Option<usize> {
        let len = node.label_len as usize;
        if len == 0 {
            return Some(position);
        }
        let end = position + len;
        if end > path.len() || !node.word.is_at(path, position) {
            return None;
        }
        if len <= WORD_BYTES {
            return Some(end);
        }
        let more = len.div_ceil(WORD_BYTES) - 1;
        let words = &self.words[node.words_start as usize..][..more];
        let mut places = words
            .iter()
            .zip((position + WORD_BYTES..).step_by(WORD_BYTES));
        places.all(|(word, at)| word.is_at(path, at)).then_some(end)
    }

    #[inline]
    fn child(&self, at: u32, node: &Node, byte: u8) -> Option<u32> {
        let lower = byte.to_ascii_lowercase();
        if lower == node.first {
            return Some(at + 1);
        }
        if node.children_len <= 1 {
            return None;
        }
        let start = node.children_start as usize;
        if node.table != NONE {
            let table = &self.tables[node.table as usize];
            let slot = usize::from(*table.get(usize::from(byte))?);
            return Some(self.children[start + slot.checked_sub(1)?]);
        }
        let firsts = &self.firsts[start..start + node.children_len as usize];
        let slot = firsts.iter().position(|first| *first == lower)?;
        Some(self.children[start + slot])
    }

    #[inline]
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
        let label = draft.label.get(1..).unwrap_or_default();
        let mut words = label.chunks(WORD_BYTES).map(Word::new);
        self.nodes.push(Node {
            word: words.next().unwrap_or_default(),
            words_start: narrow(self.words.len()),
            label_len: narrow(label.len()),
            children_start: 0,
            children_len: narrow(draft.children.len()),
            table: NONE,
            first: draft
                .children
                .first()
                .map_or(NO_BYTE, |child| child.label[0]),
            segment: NONE,
            rest: draft.rest.unwrap_or(NONE),
            end: draft.end.unwrap_or(NONE),
        });
        self.words.extend(words);
        if draft.children.len() >= TABLE_CHILDREN_MIN {
            self.nodes[at].table = narrow(self.tables.len());
            self.tables.push(table_of(&draft.children));
        }
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

/// Up to eight bytes of a label.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    bytes: u64,
    /// Bits that have to be the same: all of the label's, without that of letter case in letters.
    significant: u64,
}

impl Word {
    fn new(label: &[u8]) -> Word {
        let (mut bytes, mut significant) = ([0; WORD_BYTES], [0; WORD_BYTES]);
        for (slot, byte) in label.iter().enumerate() {
            bytes[slot] = *byte;
            significant[slot] = !mask_of(byte);
        }
        Word {
            bytes: u64::from_le_bytes(bytes),
            significant: u64::from_le_bytes(significant),
        }
    }

    /// Whether it stands in a path that is long enough for it.
    #[inline]
    fn is_at(&self, path: &[u8], at: usize) -> bool {
        (word_at(path, at) ^ self.bytes) & self.significant == 0
    }
}

/// The bytes of a path from `at` on, the first of them lowest; zeros behind its end.
#[inline]
fn word_at(path: &[u8], at: usize) -> u64 {
    if let Some(word) = path.get(at..).and_then(<[u8]>::first_chunk) {
        return u64::from_le_bytes(*word);
    }
    match path.last_chunk() {
        // The last word of the path, without what stands before `at`.
        Some(last) if at < path.len() => {
            let before = WORD_BYTES - (path.len() - at);
            u64::from_le_bytes(*last) >> (u8::BITS as usize * before)
        }
        _ => {
            let rest = path.get(at..).unwrap_or_default();
            let bytes = rest.iter().rev();
            bytes.fold(0, |word, byte| word << u8::BITS | u64::from(*byte))
        }
    }
}

/// Where the segment that begins at `position` ends.
#[inline]
fn segment_end(path: &[u8], position: usize) -> usize {
    let mut at = position;
    while at < path.len() {
        // A byte that is zero after the exclusive or is a slash; the lowest one is told exactly.
        let word = word_at(path, at) ^ SLASHES;
        let found = word.wrapping_sub(LOW_BITS) & !word & HIGH_BITS;
        if found != 0 {
            return at + (found.trailing_zeros() / u8::BITS) as usize;
        }
        at += WORD_BYTES;
    }
    path.len()
}

fn mask_of(byte: &u8) -> u8 {
    if byte.is_ascii_alphabetic() { CASE } else { 0 }
}

/// Which child a byte of a path leads to, in either letter case.
fn table_of(children: &[Draft]) -> [u8; TABLE_BYTES] {
    let mut table = [0; TABLE_BYTES];
    for (slot, child) in (1..).zip(children) {
        let first = child.label[0];
        for byte in [first, first ^ mask_of(&first)] {
            table[usize::from(byte)] = slot;
        }
    }
    table
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
