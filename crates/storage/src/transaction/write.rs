//! A write transaction: named trees over private pages, committed as one or not at all.
//!
//! There is one at a time. It is sealed (given a number, published to the next writer) before its
//! journal record is durable, so the next one can start while the disk works; readers see it only
//! when it is durable.

use std::fmt;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::named::{Keeping, NAMED_TREE};
use super::pages::TransactionPages;
use super::sealed::{SealedPage, SealedTransaction};
use super::space::SpaceSummary;
use crate::environment::{CHECKSUM_BYTES, Completion, Environment, Shared, Unsettled};
use crate::error::StorageError;
use crate::memory::{FrameId, PublishedPage};
use crate::page::{PAGE_BYTES, Page, PageNumber, PageRead};
use crate::planted::{Planted, is_planted};
use crate::stream::{Streams, StreamsMut};
use crate::tree::{
    FixedTree, FixedTreeMut, MultiTree, MultiTreeMut, Tree, TreeKind, TreeMut, TreeRoot, TreeState,
};

/// Most bytes of changed pages in one transaction, which bounds scratch memory and the journal
/// record: with the heads of its operations it stays below 1 GiB.
const DIRTY_BYTES_MAX: usize = 1000 << 20;

/// Journal bytes that a changed page can take beyond its content.
const OPERATION_HEAD_BYTES_MAX: usize = 64;

/// Number of a committed transaction; each is one more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId(pub u64);

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a commit did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// Nothing was written; the environment works on, and retrying is correct once the cause is
    /// gone (a full disk, say).
    #[error("nothing was committed: {0}")]
    NotCommitted(StorageError),
    /// The outcome is unknown until the environment is reopened; it is all or nothing.
    #[error("whether this was committed is unknown until the environment is reopened: {0}")]
    Unknown(StorageError),
}

/// What one writer leaves to the next.
pub(crate) struct WriterState {
    /// Last sealed transaction.
    pub(crate) transaction: u64,
    pub(crate) catalog_root: TreeRoot,
    pub(crate) page_count: u64,
    pub(crate) space: SpaceSummary,
}

/// What a transaction needs to be sealed.
struct Prepared {
    reserved_journal_bytes: u64,
    markers: Vec<PublishedPage>,
    /// New runs that go to their place in the data file, by page number, with their page counts.
    in_place: Vec<(PageNumber, u32)>,
}

pub(super) struct OpenTree {
    name: String,
    pub(super) state: TreeState,
    /// Root in the catalog; `None` when the tree is new.
    stored: Option<TreeRoot>,
    /// Savepoint in which the state was saved last.
    saved_in: u32,
}

#[derive(Default)]
pub(super) struct OpenTrees {
    pub(super) trees: Vec<OpenTree>,
    pub(super) by_name: FxHashMap<String, usize>,
    dropped: FxHashSet<String>,
}

/// State of the trees at a savepoint.
struct TreeUndo {
    /// Position and root of changed trees, and the savepoint in which they were saved before.
    roots: Vec<(usize, TreeRoot, u32)>,
    tree_count: usize,
    dropped: Option<FxHashSet<String>>,
}

/// Ends a savepoint when dropped, whichever way the operation inside it ended.
struct OpenSavepoint<'t> {
    transaction: &'t mut WriteTransaction,
    is_kept: bool,
}

impl<'t> OpenSavepoint<'t> {
    fn start(transaction: &'t mut WriteTransaction) -> OpenSavepoint<'t> {
        transaction.set_savepoint();
        OpenSavepoint {
            transaction,
            is_kept: false,
        }
    }
}

impl Drop for OpenSavepoint<'_> {
    fn drop(&mut self) {
        if self.is_kept {
            self.transaction.keep_savepoint();
        } else {
            self.transaction.roll_back_to_savepoint();
        }
    }
}

/// The exclusive writer. Dropping it without [`WriteTransaction::commit`] takes everything back.
pub struct WriteTransaction {
    pub(super) pages: TransactionPages,
    pub(super) catalog: TreeState,
    pub(super) open: OpenTrees,
    /// One a savepoint, the innermost last.
    undo: Vec<TreeUndo>,
    operation_count: u32,
    /// For the next writer when this one ends without being sealed.
    before: Option<(TreeRoot, u64)>,
    /// Keeps the environment from closing, which would wait for this writer.
    environment: Option<Environment>,
}

impl WriteTransaction {
    /// Starts over the state of the last sealed transaction.
    pub(crate) fn begin(
        shared: &Arc<Shared>,
        writer: WriterState,
    ) -> Result<WriteTransaction, Box<(WriterState, StorageError)>> {
        let snapshot = writer.transaction;
        let (pin, snapshot) = match shared.register_reader(|| snapshot) {
            Ok(registered) => registered,
            Err(error) => return Err(Box::new((writer, error))),
        };
        let pages = TransactionPages {
            shared: Arc::clone(shared),
            pin,
            snapshot,
            dirty: FxHashMap::default(),
            without_content: FxHashSet::default(),
            page_count: writer.page_count,
            space: writer.space,
            undo: Vec::new(),
            savepoint_count: 0,
            dirty_bytes: 0,
            keeping: Keeping::default(),
            long_runs: Vec::new(),
        };
        let mut transaction = WriteTransaction {
            pages,
            catalog: TreeState::new(writer.catalog_root),
            open: OpenTrees::default(),
            undo: Vec::new(),
            operation_count: 0,
            before: Some((writer.catalog_root, writer.page_count)),
            environment: None,
        };
        match transaction.prepare_keeping() {
            Ok(()) => Ok(transaction),
            Err(error) => Err(Box::new((transaction.into_writer_state(), error))),
        }
    }

    /// What the next writer starts from when this one changed nothing.
    fn into_writer_state(mut self) -> WriterState {
        self.before = None;
        WriterState {
            transaction: self.pages.snapshot,
            catalog_root: self.catalog.root,
            page_count: self.pages.page_count,
            space: std::mem::take(&mut self.pages.space),
        }
    }

    /// Makes this transaction a handle of its environment.
    pub(crate) fn keep_open(mut self, environment: Environment) -> WriteTransaction {
        self.environment = Some(environment);
        self
    }

    /// The number that this transaction will have when it commits.
    #[must_use]
    pub fn id(&self) -> TransactionId {
        TransactionId(self.pages.snapshot + 1)
    }

    /// Bytes of pages changed so far, with the images that named snapshots need of them.
    #[must_use]
    pub fn dirty_bytes(&self) -> usize {
        self.pages.dirty_bytes
    }

    /// The tree called `name` to read, as this transaction left it; `None` when there is none.
    ///
    /// # Errors
    /// [`StorageError::WrongTreeKind`], or damage of the catalog.
    pub fn tree(&self, name: &str) -> Result<Option<Tree<'_, TransactionPages>>, StorageError> {
        Ok(self
            .root(name, TreeKind::Tree)?
            .map(|root| Tree::new(&self.pages, root)))
    }

    /// The fixed tree called `name` to read; `None` when there is none.
    ///
    /// # Errors
    /// As for [`WriteTransaction::tree`].
    pub fn fixed_tree(
        &self,
        name: &str,
    ) -> Result<Option<FixedTree<'_, TransactionPages>>, StorageError> {
        Ok(self
            .root(name, TreeKind::Fixed)?
            .map(|root| FixedTree::new(&self.pages, root)))
    }

    /// The tree of duplicate keys called `name` to read; `None` when there is none.
    ///
    /// # Errors
    /// As for [`WriteTransaction::tree`].
    pub fn multi_tree(
        &self,
        name: &str,
    ) -> Result<Option<MultiTree<'_, TransactionPages>>, StorageError> {
        Ok(self
            .root(name, TreeKind::Multi)?
            .map(|root| MultiTree::new(&self.pages, root)))
    }

    /// The streams in the tree called `name` to read; `None` when there is none.
    ///
    /// # Errors
    /// As for [`WriteTransaction::tree`].
    pub fn streams(
        &self,
        name: &str,
    ) -> Result<Option<Streams<'_, TransactionPages>>, StorageError> {
        Ok(self
            .root(name, TreeKind::Tree)?
            .map(|root| Streams::new(&self.pages, root)))
    }

    /// The tree called `name` to change, created when there is none.
    ///
    /// # Errors
    /// As for [`WriteTransaction::tree`].
    pub fn tree_mut(&mut self, name: &str) -> Result<TreeMut<'_, TransactionPages>, StorageError> {
        let position = self.open_named(name, TreeRoot::empty())?;
        Ok(TreeMut::new(
            &mut self.pages,
            &mut self.open.trees[position].state,
        ))
    }

    /// The counted tree called `name` to change, created when there is none. It tells ranks:
    /// [`Tree::rank`], [`Tree::count`], [`Tree::select`]. Every entry that is added or removed
    /// changes one number in each branch above it. [`WriteTransaction::tree_mut`] keeps them too.
    ///
    /// # Errors
    /// [`StorageError::NotCounted`] when the tree was created without counts; else as for
    /// [`WriteTransaction::tree`].
    pub fn counted_tree_mut(
        &mut self,
        name: &str,
    ) -> Result<TreeMut<'_, TransactionPages>, StorageError> {
        let position = self.open_named(name, TreeRoot::empty_counted())?;
        let state = &mut self.open.trees[position].state;
        state.root.expect_counted()?;
        Ok(TreeMut::new(&mut self.pages, state))
    }

    /// The fixed tree called `name` to change, created with values of `value_width` bytes when
    /// there is none.
    ///
    /// # Errors
    /// As for [`WriteTransaction::tree`].
    pub fn fixed_tree_mut(
        &mut self,
        name: &str,
        value_width: u16,
    ) -> Result<FixedTreeMut<'_, TransactionPages>, StorageError> {
        let position = self.open_named(name, TreeRoot::empty_fixed(value_width))?;
        Ok(FixedTreeMut::new(
            &mut self.pages,
            &mut self.open.trees[position].state,
        ))
    }

    /// The tree of duplicate keys called `name` to change, created when there is none.
    ///
    /// # Errors
    /// As for [`WriteTransaction::tree`].
    pub fn multi_tree_mut(
        &mut self,
        name: &str,
    ) -> Result<MultiTreeMut<'_, TransactionPages>, StorageError> {
        let position = self.open_named(name, TreeRoot::empty_multi())?;
        Ok(MultiTreeMut::new(
            &mut self.pages,
            &mut self.open.trees[position].state,
        ))
    }

    /// The streams in the tree called `name` to change, created when there is none.
    ///
    /// # Errors
    /// As for [`WriteTransaction::tree`].
    pub fn streams_mut(
        &mut self,
        name: &str,
    ) -> Result<StreamsMut<'_, TransactionPages>, StorageError> {
        let position = self.open_named(name, TreeRoot::empty())?;
        Ok(StreamsMut::new(
            &mut self.pages,
            &mut self.open.trees[position].state,
        ))
    }

    /// Removes a tree of any kind and frees its pages; `false` when there is none.
    ///
    /// # Errors
    /// Damage of the tree's pages.
    pub fn drop_tree(&mut self, name: &str) -> Result<bool, StorageError> {
        expect_free_name(name)?;
        let Some(root) = self.any_root(name)? else {
            return Ok(false);
        };
        let position = self.open(name, root)?;
        let state = &mut self.open.trees[position].state;
        match root.kind() {
            TreeKind::Tree => TreeMut::new(&mut self.pages, state).clear()?,
            TreeKind::Fixed => FixedTreeMut::new(&mut self.pages, state).clear()?,
            TreeKind::Multi => MultiTreeMut::new(&mut self.pages, state).clear()?,
        }
        self.mark_dropped(name);
        Ok(true)
    }

    /// Notes that an open tree, empty now, is to leave the catalog.
    pub(super) fn mark_dropped(&mut self, name: &str) {
        self.save_dropped();
        self.open.dropped.insert(name.to_owned());
    }

    fn root(&self, name: &str, kind: TreeKind) -> Result<Option<TreeRoot>, StorageError> {
        let Some(root) = self.any_root(name)? else {
            return Ok(None);
        };
        root.expect_kind(kind)?;
        Ok(Some(root))
    }

    fn any_root(&self, name: &str) -> Result<Option<TreeRoot>, StorageError> {
        if self.open.dropped.contains(name) {
            return Ok(None);
        }
        match self.open.by_name.get(name) {
            Some(&position) => Ok(Some(self.open.trees[position].state.root)),
            None => self.stored_root(name),
        }
    }

    fn stored_root(&self, name: &str) -> Result<Option<TreeRoot>, StorageError> {
        let catalog = Tree::new(&self.pages, self.catalog.root);
        let Some(bytes) = catalog.get(name.as_bytes())? else {
            return Ok(None);
        };
        let page = self.catalog.root.root_page().unwrap_or(PageNumber::NONE);
        let root =
            TreeRoot::decode(bytes).map_err(|what| StorageError::corrupt_page(page, what))?;
        Ok(Some(root))
    }

    /// As [`WriteTransaction::open`], for callers who choose the name.
    fn open_named(&mut self, name: &str, empty: TreeRoot) -> Result<usize, StorageError> {
        expect_free_name(name)?;
        self.open(name, empty)
    }

    /// Position of the open tree called `name`; `empty` is its root when it is new.
    pub(super) fn open(&mut self, name: &str, empty: TreeRoot) -> Result<usize, StorageError> {
        let position = match self.open.by_name.get(name) {
            Some(&position) => position,
            None => {
                let stored = self.stored_root(name)?;
                let root = stored.unwrap_or(empty);
                root.expect_kind(empty.kind())?;
                let state = TreeState::new(root);
                let position = self.open.trees.len();
                let saved_in = self.pages.savepoint();
                self.open.trees.push(OpenTree {
                    name: name.to_owned(),
                    state,
                    stored,
                    saved_in,
                });
                self.open.by_name.insert(name.to_owned(), position);
                position
            }
        };
        self.save_tree(position);
        if self.open.dropped.contains(name) {
            self.save_dropped();
            self.open.dropped.remove(name);
            self.open.trees[position].state = TreeState::new(empty);
        }
        let root = self.open.trees[position].state.root;
        root.expect_kind(empty.kind())?;
        Ok(position)
    }

    /// Saves the root of an open tree once a savepoint.
    fn save_tree(&mut self, position: usize) {
        let savepoint = self.pages.savepoint();
        let tree = &mut self.open.trees[position];
        if let Some(undo) = self.undo.last_mut()
            && tree.saved_in != savepoint
        {
            undo.roots.push((position, tree.state.root, tree.saved_in));
            tree.saved_in = savepoint;
        }
    }

    fn save_dropped(&mut self) {
        if let Some(undo) = self.undo.last_mut() {
            undo.dropped
                .get_or_insert_with(|| self.open.dropped.clone());
        }
    }

    /// Runs `operation`; when it fails or panics, its changes alone are taken back. May be called
    /// inside another `savepoint`.
    ///
    /// # Errors
    /// What `operation` gave.
    pub fn savepoint<T, E>(
        &mut self,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut open = OpenSavepoint::start(self);
        let outcome = operation(&mut *open.transaction);
        open.is_kept = outcome.is_ok();
        outcome
    }

    /// Runs one of several operations that share this transaction; it says whether its changes are
    /// kept.
    pub(crate) fn run_operation(&mut self, operation: impl FnOnce(&mut WriteTransaction) -> bool) {
        let outcome = self.savepoint(|transaction| match operation(transaction) {
            true => Ok(()),
            false => Err(()),
        });
        self.operation_count += u32::from(outcome.is_ok());
    }

    fn set_savepoint(&mut self) {
        self.pages.set_savepoint();
        self.undo.push(TreeUndo {
            roots: Vec::new(),
            tree_count: self.open.trees.len(),
            dropped: None,
        });
    }

    fn keep_savepoint(&mut self) {
        let inner_savepoint = self.pages.savepoint();
        self.pages.keep_savepoint();
        let outer_savepoint = self.pages.savepoint();
        let Some(inner) = self.undo.pop() else { return };
        let changed = inner.roots.iter().map(|&(position, ..)| position);
        for position in changed.chain(inner.tree_count..self.open.trees.len()) {
            let tree = &mut self.open.trees[position];
            if tree.saved_in == inner_savepoint {
                tree.saved_in = outer_savepoint;
            }
        }
        let Some(outer) = self.undo.last_mut() else {
            return;
        };
        let unknown = inner.roots.into_iter();
        outer
            .roots
            .extend(unknown.filter(|&(_, _, saved_in)| saved_in != outer_savepoint));
        outer.dropped = outer.dropped.take().or(inner.dropped);
    }

    fn roll_back_to_savepoint(&mut self) {
        self.pages.roll_back_to_savepoint();
        let Some(undo) = self.undo.pop() else { return };
        if let Some(dropped) = undo.dropped {
            self.open.dropped = dropped;
        }
        for tree in self.open.trees.drain(undo.tree_count..) {
            self.open.by_name.remove(&tree.name);
        }
        for (position, root, saved_in) in undo.roots {
            if let Some(tree) = self.open.trees.get_mut(position) {
                tree.state = TreeState::new(root);
                tree.saved_in = saved_in;
            }
        }
    }

    /// Makes the changes durable and visible to new readers. Waits for one write of the journal.
    ///
    /// # Errors
    /// - [`CommitError::NotCommitted`]: nothing was written.
    /// - [`CommitError::Unknown`]: known after reopening; all or nothing.
    pub fn commit(mut self) -> Result<TransactionId, CommitError> {
        // Closing, if this is the last handle, comes after the record is durable.
        let _environment = self.environment.take();
        let (id, sealed) = self.seal_alone()?;
        let Some(shared) = sealed else { return Ok(id) };
        shared.write_sealed();
        match shared.poison() {
            Some(error) if shared.visible() < id.0 => Err(CommitError::Unknown(error)),
            _ => {
                shared.flush_inline_if_due();
                Ok(id)
            }
        }
    }

    /// Commits without waiting for the disk: the changes become durable, and visible to readers,
    /// with the next transaction that is waited for, the next flush or the closing of the
    /// environment; in environments with a flusher thread within five seconds. Until then power
    /// loss, or the end of the process, takes them back as a whole. The next writer sees them.
    ///
    /// # Errors
    /// [`CommitError::NotCommitted`]: nothing was written. What fails later poisons the
    /// environment.
    pub fn commit_lazily(mut self) -> Result<TransactionId, CommitError> {
        let _environment = self.environment.take();
        let (id, sealed) = self.seal_alone()?;
        let Some(shared) = sealed else { return Ok(id) };
        if shared.is_write_due() {
            shared.write_sealed();
            shared.flush_inline_if_due();
        }
        Ok(id)
    }

    /// Seals a transaction whose caller is the only one to be told. Gives what to go on with, or
    /// only the number of the snapshot when nothing was changed.
    ///
    /// The caller keeps the handle of the environment: closing would wait for this writer.
    fn seal_alone(self) -> Result<(TransactionId, Option<Arc<Shared>>), CommitError> {
        if self.is_empty() {
            return Ok((TransactionId(self.pages.snapshot), None));
        }
        let shared = Arc::clone(&self.pages.shared);
        let id = self.id();
        self.seal(Vec::new())
            .map_err(|(error, _)| CommitError::NotCommitted(error))?;
        Ok((id, Some(shared)))
    }

    /// Whether nothing was changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.pages.dirty.is_empty()
            && self.open.dropped.is_empty()
            && self
                .open
                .trees
                .iter()
                .all(|tree| tree.stored == Some(tree.state.root))
    }

    /// Gives the transaction its number and hands it to the pipeline; the next writer may start.
    ///
    /// # Errors
    /// The transaction is taken back and `completions` are returned.
    pub(crate) fn seal(
        mut self,
        completions: Vec<Completion>,
    ) -> Result<(), (StorageError, Vec<Completion>)> {
        let shared = Arc::clone(&self.pages.shared);
        if let Err(error) = self.finish_trees() {
            return Err((error, completions));
        }
        // Locked until the pipeline has the transaction: see `in_place`.
        let mut unsettled = match self.pages.long_runs.is_empty() {
            true => None,
            false => Some(shared.in_place.lock()),
        };
        let mut prepared = self.prepare_to_seal(unsettled.as_deref_mut());
        if matches!(prepared, Err(StorageError::Full)) {
            let was_locked = unsettled.take().is_some();
            let room = shared.make_room();
            unsettled = was_locked.then(|| shared.in_place.lock());
            prepared = room.and_then(|()| self.prepare_to_seal(unsettled.as_deref_mut()));
        }
        let Prepared {
            reserved_journal_bytes,
            markers,
            in_place,
        } = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Err((error, completions)),
        };
        debug_assert!(
            self.undo.is_empty(),
            "a savepoint ends before its transaction"
        );
        let transaction = self.id().0;
        let (pages, published) = self.publish(transaction, markers, &in_place);
        // Neither the drop of this transaction nor a rollback may touch what was published.
        self.before = None;
        let writer = WriterState {
            transaction,
            catalog_root: self.catalog.root,
            page_count: self.pages.page_count,
            space: std::mem::take(&mut self.pages.space),
        };
        let sealed = SealedTransaction {
            transaction,
            pages,
            published,
            page_count: writer.page_count,
            catalog_root: writer.catalog_root,
            operation_count: self.operation_count.max(1),
            reserved_journal_bytes,
            pin: self.pages.pin.take(),
            completions,
        };
        shared.hand_over(sealed, writer);
        Ok(())
    }

    /// Stores the roots of trees, and keeps what named snapshots see.
    fn finish_trees(&mut self) -> Result<(), StorageError> {
        if let Some(refusal) = self.pages.shared.refusal() {
            return Err(refusal);
        }
        self.store_roots()?;
        // Before images are copied, which it counts already, and with what notes of them take.
        self.expect_size()?;
        self.keep_for_snapshots()?;
        self.expect_size()
    }

    fn expect_size(&self) -> Result<(), StorageError> {
        match self.pages.dirty_bytes <= DIRTY_BYTES_MAX {
            true => Ok(()),
            false => Err(StorageError::Limit {
                what: "changed bytes in one transaction",
                max: DIRTY_BYTES_MAX as u64,
            }),
        }
    }

    /// Everything else that can fail: room in data file and journal, markers of pages whose older
    /// versions in memory must not reach the data file any more. May be tried again.
    fn prepare_to_seal(
        &mut self,
        unsettled: Option<&mut Unsettled>,
    ) -> Result<Prepared, StorageError> {
        if let Some(refusal) = self.pages.shared.refusal() {
            return Err(refusal);
        }
        let shared = &self.pages.shared;
        // Here, since only a flush gives journal back to a full disk. It may still want room for
        // pages that were a hole (`make_room`).
        shared.grow_data_file(self.pages.page_count)?;
        let mut markers = Vec::new();
        for &page in &self.pages.without_content {
            if shared.table.has_versions(page) && !is_planted(Planted::NoMarkers) {
                markers.push(PublishedPage {
                    page,
                    frame: shared.allocate_frame(0)?,
                });
            }
        }
        let (in_place, reserved) = match unsettled {
            Some(unsettled) => {
                let in_place = self.runs_in_place(unsettled);
                let reserved = self.reserve(unsettled, &in_place);
                (in_place, reserved)
            }
            None => (Vec::new(), self.reserve_journal(0)),
        };
        match reserved {
            Ok(reserved_journal_bytes) => Ok(Prepared {
                reserved_journal_bytes,
                markers,
                in_place,
            }),
            Err(error) => {
                markers
                    .into_iter()
                    .for_each(|marker| shared.frames.release(marker.frame));
                Err(error)
            }
        }
    }

    /// New long runs whose pages nothing else can want any more, by page number.
    fn runs_in_place(&self, unsettled: &Unsettled) -> Vec<(PageNumber, u32)> {
        let shared = &self.pages.shared;
        if !shared.may_write_in_place(unsettled) {
            return Vec::new();
        }
        let settled = shared.in_place.settled();
        let end_before = self.before.map_or(0, |(_, page_count)| page_count);
        let mut runs: Vec<(PageNumber, u32)> = self
            .pages
            .long_runs
            .iter()
            .filter_map(|page| Some((*page, self.pages.dirty.get(page)?)))
            .filter(|&(page, dirty)| {
                let space = &self.pages.space;
                let is_unused = page.0 >= end_before
                    || space.is_free_since(page, dirty.page_count, settled)
                    || is_planted(Planted::InPlaceAnywhere);
                let is_long =
                    dirty.page_count as usize * PAGE_BYTES >= shared.options.in_place_bytes_min;
                dirty.is_new && is_long && is_unused
            })
            .map(|(page, dirty)| (page, dirty.page_count))
            .collect();
        runs.sort_unstable();
        runs.dedup();
        runs
    }

    /// Room in the journal for all but the runs in place, and in the data file for these.
    fn reserve(
        &self,
        unsettled: &mut Unsettled,
        in_place: &[(PageNumber, u32)],
    ) -> Result<u64, StorageError> {
        let pages: usize = in_place.iter().map(|&(_, pages)| pages as usize).sum();
        let reserved = self.reserve_journal(pages * PAGE_BYTES)?;
        if in_place.is_empty() {
            return Ok(reserved);
        }
        let shared = &self.pages.shared;
        shared
            .claim_in_place(unsettled, in_place, self.id().0, self.pages.page_count)
            .inspect_err(|_| shared.journal.release(reserved))?;
        Ok(reserved)
    }

    fn reserve_journal(&self, in_place_bytes: usize) -> Result<u64, StorageError> {
        let heads_bytes = self.pages.dirty.len() * OPERATION_HEAD_BYTES_MAX;
        let payload_bytes_max = self.pages.dirty_bytes - in_place_bytes + heads_bytes;
        self.pages.shared.journal.reserve(payload_bytes_max)
    }

    pub(super) fn store_roots(&mut self) -> Result<(), StorageError> {
        for tree in &mut self.open.trees {
            let is_dropped = self.open.dropped.contains(&tree.name);
            let mut catalog = TreeMut::new(&mut self.pages, &mut self.catalog);
            if is_dropped {
                catalog.delete(tree.name.as_bytes())?;
            } else if tree.stored != Some(tree.state.root) {
                catalog.put(tree.name.as_bytes(), &tree.state.root.encode())?;
                tree.stored = Some(tree.state.root);
            }
        }
        Ok(())
    }

    /// Moves the dirty pages into the page table.
    fn publish(
        &mut self,
        transaction: u64,
        markers: Vec<PublishedPage>,
        in_place: &[(PageNumber, u32)],
    ) -> (Vec<SealedPage>, Vec<(PageNumber, FrameId)>) {
        let shared = Arc::clone(&self.pages.shared);
        let mut dirty: Vec<_> = self.pages.dirty.drain().collect();
        dirty.sort_unstable_by_key(|(number, _)| *number);
        let mut sealed = Vec::with_capacity(dirty.len());
        let mut versions = Vec::with_capacity(dirty.len());
        for (number, mut page) in dirty {
            let bytes = shared.frames.owned_mut(&mut page.frame);
            let head = Page::from_bytes_mut(&mut bytes[..PAGE_BYTES]).expect("whole pages");
            head.header_mut().transaction_id.set(transaction);
            let is_in_place = in_place.binary_search(&(number, page.page_count)).is_ok();
            let checksum = is_in_place.then(|| shared.checksum(number, bytes));
            if let Some(checksum) = checksum {
                bytes[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
            }
            sealed.push((number, page.page_count, page.is_new, checksum));
            versions.push(PublishedPage {
                page: number,
                frame: page.frame,
            });
        }
        versions.extend(markers);
        let published = shared
            .table
            .publish(transaction, versions.into_iter(), &shared.frames);
        let pages = sealed
            .into_iter()
            .zip(&published)
            .map(
                |((number, page_count, is_new, in_place), &(_, frame))| SealedPage {
                    number,
                    frame,
                    page_count,
                    is_new,
                    in_place,
                },
            )
            .collect();
        (pages, published)
    }
}

/// Refuses names of trees that are the engine's own.
fn expect_free_name(name: &str) -> Result<(), StorageError> {
    match name {
        NAMED_TREE => Err(StorageError::ReservedName { name: NAMED_TREE }),
        _ => Ok(()),
    }
}

impl Drop for WriteTransaction {
    fn drop(&mut self) {
        let Some((catalog_root, page_count)) = self.before.take() else {
            return;
        };
        self.pages.release_all();
        let shared = Arc::clone(&self.pages.shared);
        // The summary follows the maps.
        let snapshot = self.pages.snapshot;
        let mut space = SpaceSummary::load_readable(&self.pages, page_count, snapshot);
        space.keep_freed(std::mem::take(&mut self.pages.space));
        shared.return_writer(WriterState {
            transaction: self.pages.snapshot,
            catalog_root,
            page_count,
            space,
        });
    }
}

impl PageRead for WriteTransaction {
    fn page(&self, number: PageNumber) -> Result<&Page, StorageError> {
        self.pages.page(number)
    }

    fn run(&self, number: PageNumber, pages: u32) -> Result<&[u8], StorageError> {
        self.pages.run(number, pages)
    }
}
