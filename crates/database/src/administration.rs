//! What a database is asked about its indexes: numbers, definitions, settings, errors, terms.

use std::time::Duration;

use jackdaw_search::{Direction, IndexReader, StoredTerm, TermKind};

use crate::changes::{IndexNews, Listener};
use crate::database::Database;
use crate::error::{DatabaseError, ReadError};
use crate::indexes::{
    DefinitionError, IndexDefinition, IndexInfo, IndexState, IndexStatus, IndexingError, LockMode,
    Priority, PutIndexError, StaticDefinition, has_array,
};

/// A field called so has the term `true` where the field before the suffix has an array.
const ARRAY_SUFFIX: &str = "_IsArray";

/// Which indexes are meant when none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKinds {
    /// All of them.
    All,
    /// Those without a reduce.
    Map,
    /// Those with one.
    MapReduce,
}

/// Names of indexes, each with its errors.
pub type ErrorsByName = Vec<(String, Vec<IndexingError>)>;

/// What became of a change to indexes that are named.
pub type Named<T> = Result<Result<T, UnknownIndex>, DatabaseError>;

/// There is no index of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("There is no index with '{0}' name.")]
pub struct UnknownIndex(pub String);

impl Database {
    /// Numbers of all indexes of this moment.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn indexes(&self) -> Result<Vec<IndexInfo>, ReadError> {
        self.indexes.infos(&self.read()?)
    }

    /// Makes an index of a definition, or changes the one of its name. An index whose maps change
    /// answers as it did until the new one has taken all documents in.
    ///
    /// # Errors
    /// See [`PutIndexError`].
    pub fn put_index(&self, definition: StaticDefinition) -> Result<(), PutIndexError> {
        self.indexes.set().put(definition)
    }

    /// Whether [`Database::put_index`] would change anything.
    #[must_use]
    pub fn index_has_changed(&self, definition: &StaticDefinition) -> bool {
        self.indexes.has_changed(definition)
    }

    /// Refuses a definition whose maps or reduce cannot be compiled.
    ///
    /// # Errors
    /// See [`DefinitionError`].
    pub fn check_index(definition: &StaticDefinition) -> Result<(), DefinitionError> {
        crate::indexes::check(definition)
    }

    /// Removes an index by its name in any letter case; false when there is none. A query that
    /// needs an automatic one makes it again.
    ///
    /// # Errors
    /// Its definition could not be removed.
    pub fn delete_index(&self, name: &str) -> Result<bool, DatabaseError> {
        self.indexes.delete(name)
    }

    /// Makes an index anew from the documents; false when there is none.
    ///
    /// # Errors
    /// See [`DatabaseError`].
    pub fn reset_index(&self, name: &str) -> Result<bool, DatabaseError> {
        self.indexes.set().reset(name, None)
    }

    /// [`Database::reset_index`], with other analyzers in place of those that it was made with:
    /// names in lower case and steps, as [`StaticDefinition::analyzers`].
    ///
    /// # Errors
    /// See [`DatabaseError`].
    pub fn reset_index_with(
        &self,
        name: &str,
        analyzers: Vec<(String, String)>,
    ) -> Result<bool, DatabaseError> {
        self.indexes.set().reset(name, Some(analyzers))
    }

    /// Puts the index that is to replace `name` in its place, whether or not it has taken all
    /// documents in; false when there is none.
    ///
    /// # Errors
    /// See [`DatabaseError`].
    pub fn replace_index(&self, name: &str) -> Result<bool, DatabaseError> {
        self.indexes.replace_now(name)
    }

    /// Says whether the definitions of these indexes may be changed.
    ///
    /// # Errors
    /// See [`DatabaseError`].
    pub fn set_index_lock(&self, names: &[String], mode: LockMode) -> Named<()> {
        Ok(self
            .indexes
            .set_lock_mode(names, mode)?
            .map_err(UnknownIndex))
    }

    /// Says how soon these indexes take changes in.
    ///
    /// # Errors
    /// See [`DatabaseError`].
    pub fn set_index_priority(&self, names: &[String], priority: Priority) -> Named<()> {
        Ok(self
            .indexes
            .set_priority(names, priority)?
            .map_err(UnknownIndex))
    }

    /// Disables an index, or enables it.
    ///
    /// # Errors
    /// See [`DatabaseError`].
    pub fn set_index_state(&self, name: &str, state: IndexState) -> Named<()> {
        Ok(self.indexes.set_state(name, state)?.map_err(UnknownIndex))
    }

    /// Makes an index pause until the database is opened anew, or go on; false when there is none.
    #[must_use]
    pub fn pause_index(&self, name: &str, is_paused: bool) -> bool {
        self.indexes.pause(name, is_paused)
    }

    /// Makes indexes of these kinds pause, or go on. With all kinds, those made later too.
    pub fn pause_indexes(&self, kinds: IndexKinds, is_paused: bool) {
        let is_meant = |definition: &IndexDefinition| {
            let is_reduced = definition
                .as_static()
                .is_some_and(|own| own.reduce.is_some());
            match kinds {
                IndexKinds::All => true,
                IndexKinds::Map => !is_reduced,
                IndexKinds::MapReduce => is_reduced,
            }
        };
        self.indexes
            .pause_all(is_paused, kinds == IndexKinds::All, is_meant);
    }

    /// Whether all indexes were made to pause.
    #[must_use]
    pub fn indexing_status(&self) -> IndexStatus {
        match self.indexes.is_paused() {
            true => IndexStatus::Paused,
            false => IndexStatus::Running,
        }
    }

    /// Errors kept of all indexes, or of those called so, oldest first.
    ///
    /// # Errors
    /// See [`ReadError`]; the inner one when a name is unknown.
    pub fn index_errors(
        &self,
        names: &[String],
    ) -> Result<Result<ErrorsByName, UnknownIndex>, ReadError> {
        Ok(self.indexes.errors(names)?.map_err(UnknownIndex))
    }

    /// Forgets the errors of all indexes, or of those called so.
    ///
    /// # Errors
    /// See [`DatabaseError`]; the inner one when a name is unknown.
    pub fn clear_index_errors(&self, names: &[String]) -> Named<()> {
        Ok(self.indexes.clear_errors(names)?.map_err(UnknownIndex))
    }

    /// Terms of a field of an index behind `from`, at most `count`, in order; `None` when there is
    /// no such index.
    ///
    /// # Errors
    /// See [`DatabaseError`].
    pub fn index_terms(
        &self,
        name: &str,
        field: &str,
        from: Option<&str>,
        count: usize,
    ) -> Result<Option<Vec<String>>, DatabaseError> {
        let Some(index) = self.indexes.find(name) else {
            return Ok(None);
        };
        let pages = index.read()?;
        let damaged = |error: jackdaw_search::IndexError| {
            tracing::warn!(index = name, %error, "the terms of an index could not be read");
            ReadError::damaged("an index")
        };
        let Some(reader) = IndexReader::open(&pages).map_err(damaged)? else {
            return Ok(Some(Vec::new()));
        };
        let Some(field) = reader.field(field) else {
            let is_told = count > 0 && from.is_none_or(|from| "true" > from);
            let has_array = match field.strip_suffix(ARRAY_SUFFIX) {
                Some(name) if is_told => has_array(&pages, name)?,
                _ => false,
            };
            return Ok(Some(
                has_array.then(|| "true".to_owned()).into_iter().collect(),
            ));
        };
        let walk = reader.terms(field, TermKind::Text, Direction::Ascending);
        let mut walk = walk.map_err(damaged)?;
        let mut terms = Vec::new();
        while terms.len() < count {
            let Some(term) = walk.next_term().map_err(damaged)? else {
                break;
            };
            if let StoredTerm::Text(text) = term.term().map_err(damaged)? {
                let text = text.to_text().to_string();
                if from.is_none_or(|from| text.as_str() > from) {
                    terms.push(text);
                }
            }
        }
        Ok(Some(terms))
    }

    /// Waits until all indexes have taken in what is durable now; false when that took longer
    /// than `timeout`.
    #[must_use]
    pub fn wait_for_indexes(&self, timeout: Duration) -> bool {
        self.indexes.wait(self.core.hub.target(), timeout)
    }

    /// Waits until the indexes called so, or all that are about one of these collections, have
    /// taken in what is durable now. Names of those that failed or took longer than `timeout` are
    /// given back.
    #[must_use]
    pub fn wait_for_named_indexes(
        &self,
        names: &[String],
        collections: Option<&[String]>,
        timeout: Duration,
    ) -> Vec<String> {
        let target = self.core.hub.target();
        self.indexes.wait_for(target, names, collections, timeout)
    }

    /// Calls `callback` with what becomes of indexes until the listener is dropped. It runs on a
    /// thread of the database and must not block, nor hold the last handle of it.
    pub fn on_index_change(
        &self,
        callback: impl Fn(&IndexNews) + Send + Sync + 'static,
    ) -> Listener {
        self.core.hub.listen_to_indexes(callback)
    }
}
