//! Counters of a document.

use jackdaw_database::{Command, CommandResult, CounterAction, CounterOperation};

use crate::database::Database;
use crate::error::{Error, Result};

/// The counters of one document; see [`Database::counters`].
///
/// A counter is a whole number of 64 bits with a name of up to 512 bytes, found in any letter case.
/// The first counter of a name gives the document another version, later increments do not.
///
/// ```
/// # let db = jackdaw::Database::in_memory()?;
/// # db.put("albums/1", &serde_json::json!({}))?;
/// let counters = db.counters("albums/1");
/// counters.increment("Plays", 3)?;
/// assert_eq!(counters.increment("Plays", -1)?, 2);
/// assert_eq!(counters.get("plays")?, Some(2));
/// assert_eq!(counters.all()?, [("Plays".to_owned(), 2)]);
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Counters<'db> {
    db: &'db Database,
    id: &'db str,
}

impl<'db> Counters<'db> {
    pub(crate) fn new(db: &'db Database, id: &'db str) -> Counters<'db> {
        Counters { db, id }
    }

    /// Adds `by`, which may be negative, to a counter, and returns its new value. A counter that is
    /// missing begins at 0. Durable when it returns.
    ///
    /// # Errors
    /// - [`Error::Missing`]: the document does not exist.
    /// - [`Error::Invalid`]: the value would leave 64 bits, or the name cannot be one.
    /// - [`Error::Unknown`]: see there. After any other error nothing was written.
    pub fn increment(&self, name: &str, by: i64) -> Result<i64> {
        let value = self.change(name, CounterAction::Increment(by))?;
        value.ok_or_else(|| Error::internal("a counter was incremented without an answer"))
    }

    /// Gives a counter this value. Durable when it returns.
    ///
    /// # Errors
    /// As [`Counters::increment`].
    pub fn set(&self, name: &str, value: i64) -> Result<()> {
        self.change(name, CounterAction::Put(value)).map(drop)
    }

    /// Deletes a counter; that there is none is no error. Durable when it returns.
    ///
    /// # Errors
    /// As [`Counters::increment`].
    pub fn delete(&self, name: &str) -> Result<()> {
        self.change(name, CounterAction::Delete).map(drop)
    }

    fn change(&self, name: &str, action: CounterAction) -> Result<Option<i64>> {
        let command = Command::Counters {
            id: self.id.to_owned(),
            operations: vec![CounterOperation {
                name: name.to_owned(),
                action,
            }],
        };
        let results = self
            .db
            .inner()
            .batch(vec![command])
            .map_err(Error::of_write)?;
        Ok(results
            .into_iter()
            .find_map(|result| match result {
                CommandResult::Counters { counters, .. } => counters.into_iter().flatten().next(),
                _ => None,
            })
            .map(|counter| counter.value))
    }

    /// The value of a counter; `None` when the document or the counter does not exist.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn get(&self, name: &str) -> Result<Option<i64>> {
        let snapshot = self.db.snapshot()?;
        let inner = snapshot.inner();
        let Some(number) = inner.number(self.id).map_err(Error::of_read)? else {
            return Ok(None);
        };
        let found = inner.counters(number, &[name]).map_err(Error::of_read)?;
        Ok(found
            .into_iter()
            .flatten()
            .next()
            .map(|counter| counter.value))
    }

    /// Names and values of all counters, in the order of their names in lower case.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn all(&self) -> Result<Vec<(String, i64)>> {
        let snapshot = self.db.snapshot()?;
        let inner = snapshot.inner();
        let Some(number) = inner.number(self.id).map_err(Error::of_read)? else {
            return Ok(Vec::new());
        };
        let found = inner.all_counters(number).map_err(Error::of_read)?;
        Ok(found
            .into_iter()
            .map(|counter| (counter.name, counter.value))
            .collect())
    }
}
