//! A place in a tree of either kind, and the walk between two such places.
//!
//! Cursors and ranges are made of these.
//!
//! Invariants:
//! - A position holds the pages of its path, so a move to a neighbor descends only as far as the
//!   path changes.
//! - In a walk `front` is a slot not given out yet and `back` is one past such a slot. The walk is
//!   over when they meet in a leaf, so no key is compared on the way.
//! - Leaves are told apart by number: a flush may move a page between two visits, from scratch
//!   memory to the data file, and then the same leaf has two addresses.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::error::StorageError;
use crate::page::counts::wrong_count;
use crate::page::fixed_node::FixedNode;
use crate::page::key::SearchKey;
use crate::page::node::Node;
use crate::page::{Page, PageNumber, PageRead};
use crate::tree::TreeRoot;
use crate::tree::path::{DEPTH_MAX, check_depth};

/// A branch or leaf page of some kind of tree.
pub(crate) trait NodeView<'t>: Copy {
    /// A key to look for.
    type Sought<'k>: Copy;

    fn open_leaf(page: &'t Page) -> Result<Self, StorageError>;
    fn open_branch(page: &'t Page) -> Result<Self, StorageError>;
    fn count(&self) -> usize;
    fn child(&self, slot: usize) -> PageNumber;
    fn child_slot(&self, key: Self::Sought<'_>) -> usize;
    fn search(&self, key: Self::Sought<'_>) -> Result<usize, usize>;
    fn compare(&self, slot: usize, key: Self::Sought<'_>) -> Ordering;
}

impl<'t> NodeView<'t> for Node<'t> {
    type Sought<'k> = &'k SearchKey<'k>;

    #[inline]
    fn open_leaf(page: &'t Page) -> Result<Self, StorageError> {
        Node::leaf(page)
    }

    #[inline]
    fn open_branch(page: &'t Page) -> Result<Self, StorageError> {
        Node::branch(page)
    }

    #[inline]
    fn count(&self) -> usize {
        Node::count(self)
    }

    #[inline]
    fn child(&self, slot: usize) -> PageNumber {
        Node::child(self, slot)
    }

    #[inline]
    fn child_slot(&self, key: &SearchKey<'_>) -> usize {
        Node::child_slot(self, key)
    }

    #[inline]
    fn search(&self, key: &SearchKey<'_>) -> Result<usize, usize> {
        Node::search(self, key)
    }

    fn compare(&self, slot: usize, key: &SearchKey<'_>) -> Ordering {
        self.key(slot).compare(key.bytes())
    }
}

impl<'t> NodeView<'t> for FixedNode<'t> {
    type Sought<'k> = u64;

    #[inline]
    fn open_leaf(page: &'t Page) -> Result<Self, StorageError> {
        FixedNode::leaf(page)
    }

    #[inline]
    fn open_branch(page: &'t Page) -> Result<Self, StorageError> {
        FixedNode::branch(page)
    }

    #[inline]
    fn count(&self) -> usize {
        FixedNode::count(self)
    }

    #[inline]
    fn child(&self, slot: usize) -> PageNumber {
        FixedNode::child(self, slot)
    }

    #[inline]
    fn child_slot(&self, key: u64) -> usize {
        FixedNode::child_slot(self, key)
    }

    #[inline]
    fn search(&self, key: u64) -> Result<usize, usize> {
        FixedNode::search(self, key)
    }

    fn compare(&self, slot: usize, key: u64) -> Ordering {
        self.key(slot).cmp(&key)
    }
}

/// Where to descend to.
#[derive(Clone, Copy)]
pub(crate) enum Target<K> {
    First,
    Last,
    /// The first entry whose key is not less.
    Key(K),
}

/// A slot of a leaf, and the way to it.
#[derive(Clone, Copy)]
pub(crate) struct Position<'t, N> {
    /// Branch pages from the root down, with the slot taken in each.
    path: [Option<(&'t Page, usize)>; DEPTH_MAX],
    path_len: usize,
    leaf: PageNumber,
    pub(crate) node: N,
    /// May be one past the last.
    pub(crate) slot: usize,
    /// Whether the key sought is the one at `slot`.
    pub(crate) is_exact: bool,
}

impl<'t, N: NodeView<'t>> Position<'t, N> {
    /// Descends from the root; `None` when the tree is empty.
    pub(crate) fn find<P: PageRead + ?Sized>(
        pages: &'t P,
        root: &TreeRoot,
        target: Target<N::Sought<'_>>,
    ) -> Result<Option<Position<'t, N>>, StorageError> {
        let Some(page) = root.root_page() else {
            return Ok(None);
        };
        let path_len = usize::from(check_depth(root.depth().into())?) - 1;
        let mut path = [None; DEPTH_MAX];
        let leaf = descend::<N, P>(pages, &mut path[..path_len], pages.page(page)?, target)?;
        let node = N::open_leaf(leaf)?;
        let (slot, is_exact) = match target {
            Target::First => (0, false),
            Target::Last => (node.count().saturating_sub(1), false),
            Target::Key(key) => match node.search(key) {
                Ok(slot) => (slot, true),
                Err(slot) => (slot, false),
            },
        };
        Ok(Some(Position {
            path,
            path_len,
            leaf: leaf.number(),
            node,
            slot,
            is_exact,
        }))
    }

    /// The position of a key in the same leaf; `None` when it may be in another.
    fn in_leaf(&self, target: Target<N::Sought<'_>>) -> Option<Position<'t, N>> {
        let Target::Key(key) = target else {
            return None;
        };
        let (slot, is_exact) = match self.node.search(key) {
            Ok(slot) => (slot, true),
            Err(slot) => (slot, false),
        };
        // A key before the first one belongs to a leaf before this, or is between the two.
        let is_here = is_exact || (0 < slot && slot < self.node.count());
        is_here.then_some(Position {
            slot,
            is_exact,
            ..*self
        })
    }

    /// Whether the slot is one past the last.
    #[inline]
    pub(crate) fn is_behind_leaf(&self) -> bool {
        self.slot >= self.node.count()
    }

    /// Moves to the front of the next leaf; false, and nothing changes, when there is none.
    #[inline(never)]
    pub(crate) fn next_leaf<P: PageRead + ?Sized>(
        &mut self,
        pages: &'t P,
    ) -> Result<bool, StorageError> {
        self.turn(pages, Target::First, |slot, count| {
            Some(slot + 1).filter(|&next| next < count)
        })
    }

    /// Moves past the last entry of the leaf before; false, and nothing changes, without one.
    #[inline(never)]
    pub(crate) fn previous_leaf<P: PageRead + ?Sized>(
        &mut self,
        pages: &'t P,
    ) -> Result<bool, StorageError> {
        let moved = self.turn(pages, Target::Last, |slot, _| slot.checked_sub(1))?;
        if moved {
            self.slot = self.node.count();
        }
        Ok(moved)
    }

    /// Passes what is below `key` in the leaf; false when that is all of it.
    #[inline]
    fn pass_in_leaf(&mut self, key: N::Sought<'_>) -> bool {
        let (Ok(slot) | Err(slot)) = self.node.search(key);
        self.slot = self.slot.max(slot);
        !self.is_behind_leaf()
    }

    /// Goes to the first entry that is not below `key`, as much of a descent away as is another
    /// way; false when there is none.
    #[inline(never)]
    fn pass_leaves<P: PageRead + ?Sized>(
        &mut self,
        pages: &'t P,
        key: N::Sought<'_>,
    ) -> Result<bool, StorageError> {
        for level in (0..self.path_len).rev() {
            let Some((page, _)) = self.path[level] else {
                continue;
            };
            let node = N::open_branch(page)?;
            let slot = node.child_slot(key);
            // Where the last child ends only the branch above knows.
            if slot + 1 == node.count() && level > 0 {
                continue;
            }
            self.path[level] = Some((page, slot));
            let child = pages.page(node.child(slot))?;
            let path = &mut self.path[level + 1..self.path_len];
            let leaf = descend::<N, P>(pages, path, child, Target::Key(key))?;
            self.leaf = leaf.number();
            self.node = N::open_leaf(leaf)?;
            self.slot = 0;
            break;
        }
        Ok(self.pass_in_leaf(key) || self.next_leaf(pages)?)
    }

    /// Climbs until `step` finds a neighbor, takes it, and descends to its near end.
    fn turn<P: PageRead + ?Sized>(
        &mut self,
        pages: &'t P,
        target: Target<N::Sought<'_>>,
        step: impl Fn(usize, usize) -> Option<usize>,
    ) -> Result<bool, StorageError> {
        for level in (0..self.path_len).rev() {
            let Some((page, slot)) = self.path[level] else {
                continue;
            };
            let node = N::open_branch(page)?;
            let Some(slot) = step(slot, node.count()) else {
                continue;
            };
            self.path[level] = Some((page, slot));
            let child = pages.page(node.child(slot))?;
            let path = &mut self.path[level + 1..self.path_len];
            let leaf = descend::<N, P>(pages, path, child, target)?;
            self.leaf = leaf.number();
            self.node = N::open_leaf(leaf)?;
            self.slot = 0;
            return Ok(true);
        }
        Ok(false)
    }
}

impl<'t> Position<'t, Node<'t>> {
    /// The entry of a counted tree with `rank` others before it; `None` when there are not so many.
    pub(crate) fn at_rank<P: PageRead + ?Sized>(
        pages: &'t P,
        root: &TreeRoot,
        rank: u64,
    ) -> Result<Option<Position<'t, Node<'t>>>, StorageError> {
        root.expect_counted()?;
        let Some(mut number) = root.root_page().filter(|_| rank < root.entry_count()) else {
            return Ok(None);
        };
        let path_len = usize::from(check_depth(root.depth().into())?) - 1;
        let mut path = [None; DEPTH_MAX];
        let mut rest = rank;
        for step in &mut path[..path_len] {
            let page = pages.page(number)?;
            let node = Node::counted_branch(page)?;
            let Some((slot, below)) = node.child_of_rank(rest) else {
                return Err(wrong_count(number, node.entries_below()));
            };
            *step = Some((page, slot));
            (number, rest) = (node.child(slot), below);
        }
        let node = Node::leaf(pages.page(number)?)?;
        let slot = usize::try_from(rest)
            .ok()
            .filter(|&slot| slot < node.count());
        let Some(slot) = slot else {
            return Err(wrong_count(number, node.count() as u64));
        };
        Ok(Some(Position {
            path,
            path_len,
            leaf: number,
            node,
            slot,
            is_exact: true,
        }))
    }
}

/// Fills `path` with branches from `page` down and gives the leaf below.
#[inline]
fn descend<'t, N: NodeView<'t>, P: PageRead + ?Sized>(
    pages: &'t P,
    path: &mut [Option<(&'t Page, usize)>],
    mut page: &'t Page,
    target: Target<N::Sought<'_>>,
) -> Result<&'t Page, StorageError> {
    for step in path {
        let node = N::open_branch(page)?;
        let slot = match target {
            Target::First => 0,
            Target::Last => node.count() - 1,
            Target::Key(key) => node.child_slot(key),
        };
        *step = Some((page, slot));
        page = pages.page(node.child(slot))?;
    }
    Ok(page)
}

/// The slots between two positions, from either end.
pub(crate) struct Walk<'t, P: ?Sized, N> {
    pub(crate) pages: &'t P,
    ends: Option<(Position<'t, N>, Position<'t, N>)>,
}

impl<'t, P: PageRead + ?Sized, N: NodeView<'t>> Walk<'t, P, N> {
    /// Finds both ends. Bounds that exclude each other give an empty walk.
    pub(crate) fn new(
        pages: &'t P,
        root: &TreeRoot,
        start: Bound<N::Sought<'_>>,
        end: Bound<N::Sought<'_>>,
    ) -> Result<Walk<'t, P, N>, StorageError> {
        let mut walk = Walk { pages, ends: None };
        let front_target = match start {
            Bound::Included(key) | Bound::Excluded(key) => Target::Key(key),
            Bound::Unbounded => Target::First,
        };
        let back_target = match end {
            Bound::Included(key) | Bound::Excluded(key) => Target::Key(key),
            Bound::Unbounded => Target::Last,
        };
        let front = Position::<N>::find(pages, root, front_target)?;
        let near = front.as_ref().and_then(|front| front.in_leaf(back_target));
        let back = match near {
            Some(back) => Some(back),
            None => Position::<N>::find(pages, root, back_target)?,
        };
        let (Some(mut front), Some(mut back)) = (front, back) else {
            return Ok(walk);
        };
        if front.is_exact && matches!(start, Bound::Excluded(_)) {
            front.slot += 1;
        }
        if matches!(end, Bound::Unbounded) || back.is_exact && matches!(end, Bound::Included(_)) {
            back.slot += 1;
        }
        if front.is_behind_leaf() && !front.next_leaf(pages)? {
            return Ok(walk);
        }
        if back.slot == 0 && !back.previous_leaf(pages)? {
            return Ok(walk);
        }
        let is_inside = match end {
            Bound::Included(key) => front.node.compare(front.slot, key).is_le(),
            Bound::Excluded(key) => front.node.compare(front.slot, key).is_lt(),
            Bound::Unbounded => true,
        };
        if is_inside {
            walk.ends = Some((front, back));
            walk.close_if_met();
        }
        Ok(walk)
    }

    /// Ends the walk when the two ends have met.
    #[inline]
    fn close_if_met(&mut self) {
        if let Some((front, back)) = &self.ends
            && front.leaf == back.leaf
            && front.slot >= back.slot
        {
            self.ends = None;
        }
    }

    /// Gives the first slot to `read` and leaves it behind. After an error the walk is over.
    #[inline]
    pub(crate) fn step<T>(
        &mut self,
        read: impl FnOnce(&'t P, &N, usize) -> Result<T, StorageError>,
    ) -> Option<Result<T, StorageError>> {
        let (front, _) = self.ends.as_mut()?;
        let item = read(self.pages, &front.node, front.slot);
        front.slot += 1;
        self.close_if_met();
        let turned = match &mut self.ends {
            Some((front, _)) if front.is_behind_leaf() => front.next_leaf(self.pages),
            _ => Ok(true),
        };
        Some(self.finish(item, turned))
    }

    /// Leaves behind what is below `key`. After an error the walk is over.
    #[inline]
    pub(crate) fn skip_to(&mut self, key: N::Sought<'_>) -> Result<(), StorageError> {
        let Some((front, back)) = &mut self.ends else {
            return Ok(());
        };
        if front.pass_in_leaf(key) {
            self.close_if_met();
            return Ok(());
        }
        // What the back stands behind is the last of the walk, so the front cannot pass it.
        let is_over = back.node.compare(back.slot - 1, key).is_lt();
        let moved = match is_over {
            true => Ok(false),
            false => front.pass_leaves(self.pages, key),
        };
        if !matches!(moved, Ok(true)) {
            self.ends = None;
        }
        moved.map(|_| ())
    }

    /// Gives the last slot to `read` and leaves it behind. After an error the walk is over.
    #[inline]
    pub(crate) fn step_back<T>(
        &mut self,
        read: impl FnOnce(&'t P, &N, usize) -> Result<T, StorageError>,
    ) -> Option<Result<T, StorageError>> {
        let (_, back) = self.ends.as_mut()?;
        back.slot -= 1;
        let item = read(self.pages, &back.node, back.slot);
        self.close_if_met();
        let turned = match &mut self.ends {
            Some((_, back)) if back.slot == 0 => back.previous_leaf(self.pages),
            _ => Ok(true),
        };
        Some(self.finish(item, turned))
    }

    #[inline]
    fn finish<T>(
        &mut self,
        item: Result<T, StorageError>,
        turned: Result<bool, StorageError>,
    ) -> Result<T, StorageError> {
        if item.is_err() || !matches!(turned, Ok(true)) {
            self.ends = None;
        }
        turned.and(item)
    }
}
