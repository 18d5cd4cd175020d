//! What is asked of indexes that somebody defined: putting and replacing definitions, resetting,
//! stopping and starting, locks and priorities.
//!
//! A definition with other maps is made beside the one that answers queries, under the name
//! `ReplacementOf/<name>`, and takes its place once it has come as far as the documents.
//!
//! Invariants:
//! - The name of an index leads to one definition at any moment, which changes in one transaction
//!   of the documents.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackdaw_base::lowercase::lowercase;

use super::definition::IndexDefinition;
use super::index::Index;
use super::set::{IndexSet, replacement_name};
use super::statics::{
    DefinitionError, IndexState, IndexingError, LockMode, Priority, Programs, REPLACEMENT_PREFIX,
    StaticDefinition,
};
use crate::administration::ErrorsByName;
use crate::changes::Target;
use crate::error::{DatabaseError, ReadError, WriteError};
use crate::store::trees::INDEXES;

/// Refuses a definition whose maps or reduce cannot be compiled.
pub(crate) fn check(definition: &StaticDefinition) -> Result<(), DefinitionError> {
    Programs::compile(definition).map(drop)
}

/// Why an index was not put.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PutIndexError {
    /// The definition was refused.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// It could not be stored or opened.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl IndexSet {
    /// Makes or changes an index.
    pub(crate) fn put(
        self: &Arc<IndexSet>,
        mut definition: StaticDefinition,
    ) -> Result<(), PutIndexError> {
        Programs::compile(&definition)?;
        let _changing = self.changing();
        let Some(known) = self.find(&definition.name) else {
            definition.created = Some(self.core.now());
            self.make(IndexDefinition::Static(Box::new(definition)))?;
            return Ok(());
        };
        let current = known.definition();
        if current.name() != definition.name {
            let why = format!(
                "Can not add index: {} because an index with the same name but different casing \
                 already exist",
                definition.name
            );
            return Err(DefinitionError::Creation(why).into());
        }
        let Some(own) = current.as_static() else {
            let why = format!(
                "There is an automatic index with '{}' name",
                definition.name
            );
            return Err(DefinitionError::Creation(why).into());
        };
        let replacement = self.find(&replacement_name(&definition.name));
        let is_known = replacement.is_none() && own.is_same(&definition);
        match own.lock_mode {
            _ if is_known => return Ok(()),
            LockMode::LockedIgnore => return Ok(()),
            LockMode::LockedError => {
                return Err(DefinitionError::Locked(definition.name).into());
            }
            LockMode::Unlock => {}
        }
        definition.created = own.created;
        if own.maps_alike(&definition) && !known.has_failed() && !known.is_outdated() {
            if let Some(replacement) = replacement {
                self.remove(&replacement)?;
            }
            self.redefine(&known, definition)?;
            return Ok(());
        }
        if let Some(replacement) = replacement {
            let waiting = replacement.definition();
            let is_same = waiting.as_static().is_some_and(|waiting| {
                let mut renamed = waiting.clone();
                renamed.name.clone_from(&definition.name);
                renamed.is_same(&definition)
            });
            if is_same {
                return Ok(());
            }
            self.remove(&replacement)?;
        }
        definition.created = Some(self.core.now());
        if known.has_failed() {
            // It answers nothing: there is nothing to wait for.
            self.remove(&known)?;
        } else {
            definition.name = replacement_name(&definition.name);
        }
        self.make(IndexDefinition::Static(Box::new(definition)))?;
        Ok(())
    }

    /// Whether putting `definition` would change anything.
    pub(crate) fn has_changed(&self, definition: &StaticDefinition) -> bool {
        let known = self.find(&definition.name).map(|index| index.definition());
        let own = known.as_ref().and_then(|known| known.as_static());
        own.is_none_or(|own| !own.is_same(definition))
    }

    /// Stores another definition for an index whose maps stay the same.
    fn redefine(&self, index: &Index, definition: StaticDefinition) -> Result<(), DatabaseError> {
        let definition = IndexDefinition::Static(Box::new(definition));
        let (key, bytes) = (index.number.to_be_bytes(), definition.encode());
        self.documents
            .write(move |transaction| -> Result<(), WriteError> {
                transaction.tree_mut(INDEXES)?.put(&key, bytes.as_bytes())?;
                Ok(())
            })
            .map_err(WriteError::from)?;
        index.redefine(definition);
        self.core.hub.wake();
        Ok(())
    }

    /// Puts a replacement in the place of the index that it replaces.
    pub(super) fn put_in_place(&self, replacement: &Arc<Index>) -> Result<(), DatabaseError> {
        let _changing = self.changing();
        let definition = replacement.definition();
        let Some(own) = definition
            .as_static()
            .filter(|_| !replacement.is_stopping())
        else {
            return Ok(());
        };
        let Some(name) = own.name.strip_prefix(REPLACEMENT_PREFIX) else {
            return Ok(());
        };
        let replaced = self.find(name);
        let mut renamed = own.clone();
        name.clone_into(&mut renamed.name);
        let renamed = IndexDefinition::Static(Box::new(renamed));
        let (key, bytes) = (replacement.number.to_be_bytes(), renamed.encode());
        let old_key = replaced.as_ref().map(|index| index.number.to_be_bytes());
        self.documents
            .write(move |transaction| -> Result<(), WriteError> {
                let mut definitions = transaction.tree_mut(INDEXES)?;
                if let Some(old_key) = old_key {
                    definitions.delete(&old_key)?;
                }
                definitions.put(&key, bytes.as_bytes())?;
                Ok(())
            })
            .map_err(WriteError::from)?;
        if let Some(replaced) = &replaced {
            self.forget(replaced);
        }
        replacement.redefine(renamed);
        replacement.tell(&self.core.hub, "SideBySideReplace");
        Ok(())
    }

    /// Puts the replacement of `name` in its place at once; false when there is none.
    pub(crate) fn replace_now(&self, name: &str) -> Result<bool, DatabaseError> {
        match self.find(&replacement_name(name)) {
            Some(replacement) => self.put_in_place(&replacement).map(|()| true),
            None => Ok(false),
        }
    }

    /// Makes an index anew from the documents; false when there is none.
    /// `analyzers` take the place of those that it was made with.
    pub(crate) fn reset(
        self: &Arc<IndexSet>,
        name: &str,
        analyzers: Option<Vec<(String, String)>>,
    ) -> Result<bool, DatabaseError> {
        let _changing = self.changing();
        let Some(index) = self.find(name) else {
            return Ok(false);
        };
        let mut definition = IndexDefinition::clone(&index.definition());
        if let (IndexDefinition::Static(own), Some(analyzers)) = (&mut definition, analyzers) {
            own.analyzers = analyzers;
        }
        self.remove(&index)?;
        let made = self.make(definition)?;
        made.pause(index.is_paused(), &self.core.hub);
        Ok(true)
    }

    /// Changes a setting of the indexes called so; the first name that is unknown is the error.
    fn change_setting(
        &self,
        names: &[String],
        news: &'static str,
        change: impl Fn(&mut StaticDefinition),
    ) -> Result<Result<(), String>, DatabaseError> {
        let _changing = self.changing();
        let found = match self.find_all(names) {
            Ok(found) => found,
            Err(unknown) => return Ok(Err(unknown)),
        };
        for index in found {
            let definition = index.definition();
            if let Some(own) = definition.as_static() {
                let mut changed = own.clone();
                change(&mut changed);
                self.redefine(&index, changed)?;
                // What takes its place is to stay as it was asked for.
                if let Some(replacement) = self.find(&replacement_name(&own.name))
                    && let Some(own) = replacement.definition().as_static()
                {
                    let mut changed = own.clone();
                    change(&mut changed);
                    self.redefine(&replacement, changed)?;
                }
            }
            index.tell(&self.core.hub, news);
        }
        Ok(Ok(()))
    }

    pub(crate) fn set_lock_mode(
        &self,
        names: &[String],
        mode: LockMode,
    ) -> Result<Result<(), String>, DatabaseError> {
        self.change_setting(names, "LockModeChanged", |definition| {
            definition.lock_mode = mode
        })
    }

    pub(crate) fn set_priority(
        &self,
        names: &[String],
        priority: Priority,
    ) -> Result<Result<(), String>, DatabaseError> {
        self.change_setting(names, "PriorityChanged", |definition| {
            definition.priority = priority;
        })
    }

    pub(crate) fn set_state(
        &self,
        name: &str,
        state: IndexState,
    ) -> Result<Result<(), String>, DatabaseError> {
        if let Some(index) = self.find(name)
            && index.definition().as_auto().is_some()
        {
            // Automatic indexes are paused instead: nobody stores a state of theirs.
            index.pause(state == IndexState::Disabled, &self.core.hub);
            return Ok(Ok(()));
        }
        let names = [name.to_owned()];
        self.change_setting(&names, "IndexStateChanged", |definition| {
            definition.state = state
        })
    }

    /// Pauses the index called so, or lets it go on; false when there is none.
    pub(crate) fn pause(&self, name: &str, is_paused: bool) -> bool {
        let found = self.find(name);
        if let Some(index) = &found {
            index.pause(is_paused, &self.core.hub);
            index.tell(
                &self.core.hub,
                if is_paused {
                    "IndexPaused"
                } else {
                    "IndexStarted"
                },
            );
        }
        found.is_some()
    }

    /// Pauses all indexes that `is_meant`, or lets them go on. With `is_all`, those made from now
    /// on too.
    pub(crate) fn pause_all(
        &self,
        is_paused: bool,
        is_all: bool,
        is_meant: impl Fn(&IndexDefinition) -> bool,
    ) {
        if is_all {
            self.pause_new(is_paused);
        }
        for index in self
            .all()
            .iter()
            .filter(|index| is_meant(&index.definition()))
        {
            index.pause(is_paused, &self.core.hub);
        }
    }

    /// The indexes called so; the first unknown name is the error.
    fn find_all(&self, names: &[String]) -> Result<Vec<Arc<Index>>, String> {
        let find = |name: &String| self.find(name).ok_or_else(|| name.clone());
        names.iter().map(find).collect()
    }

    /// All indexes, or those called so; the first unknown name is the error.
    fn all_or(&self, names: &[String]) -> Result<Vec<Arc<Index>>, String> {
        match names {
            [] => Ok(self.all()),
            names => self.find_all(names),
        }
    }

    /// Errors of all indexes by name, or of those called so; the first unknown name is the error.
    pub(crate) fn errors(
        &self,
        names: &[String],
    ) -> Result<Result<ErrorsByName, String>, ReadError> {
        let found = match self.all_or(names) {
            Ok(found) => found,
            Err(unknown) => return Ok(Err(unknown)),
        };
        let mut all = Vec::with_capacity(found.len());
        for index in found {
            let mut errors = index.errors()?;
            if let Some(failure) = index.progress().failure {
                errors.push(IndexingError {
                    at: index.last_indexed().unwrap_or_default(),
                    document: None,
                    action: "Indexing".to_owned(),
                    error: failure,
                });
            }
            all.push((index.definition().name().to_owned(), errors));
        }
        Ok(Ok(all))
    }

    /// Forgets the errors of all indexes, or of those called so; the first unknown name is the
    /// error.
    pub(crate) fn clear_errors(
        &self,
        names: &[String],
    ) -> Result<Result<(), String>, DatabaseError> {
        let found = match self.all_or(names) {
            Ok(found) => found,
            Err(unknown) => return Ok(Err(unknown)),
        };
        for index in found {
            index.clear_errors()?;
        }
        Ok(Ok(()))
    }

    /// Waits until the indexes called so have taken in what is durable now; those that failed and
    /// those that took longer are given back.
    pub(crate) fn wait_for(
        &self,
        target: Target,
        names: &[String],
        collections: Option<&[String]>,
        timeout: Duration,
    ) -> Vec<String> {
        let folded: Vec<String> = names
            .iter()
            .map(|name| lowercase(name).into_owned())
            .collect();
        let deadline = Instant::now() + timeout;
        let mut late = Vec::new();
        for index in self.all() {
            let definition = index.definition();
            let name = lowercase(definition.name());
            let is_named = folded.is_empty() || folded.iter().any(|known| *known == *name);
            let is_meant = collections.is_none_or(|list| index.is_about(list));
            if !is_named || index.is_replacement() || !is_meant {
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if index.has_failed() || !index.wait(target, left, &self.core.hub) {
                late.push(definition.name().to_owned());
            }
        }
        late
    }
}
