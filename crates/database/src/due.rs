//! Expiration, refresh and archival: what happens to documents at dates in their metadata, how
//! often it is looked at, and doing it. Values of compare-exchange expire, too.
//!
//! The server calls [`Database::carry_out_due`] again and again; the database's own clock decides
//! what is due. Bytes: docs/format.md, tree `due`.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jackdaw_base::time::UnixTicks;

use crate::database::Database;
use crate::error::WriteError;
use crate::store::{Applied, carry_out_due, enter_exchange_dates, expire_exchange};

/// Documents changed by one transaction.
const AT_ONCE: usize = 1_024;

/// What a date in the metadata of a document asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DueKind {
    /// `@expires`: the document is deleted.
    Expiration,
    /// `@refresh`: the document is stored again without the date, so that indexes, subscriptions
    /// and watchers see it.
    Refresh,
    /// `@archive-at`: the document gets `@archived: true` in place of the date.
    Archival,
}

impl DueKind {
    /// All kinds.
    pub const ALL: [DueKind; 3] = [DueKind::Expiration, DueKind::Refresh, DueKind::Archival];

    /// Its field of the metadata.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            DueKind::Expiration => "@expires",
            DueKind::Refresh => "@refresh",
            DueKind::Archival => "@archive-at",
        }
    }

    pub(crate) fn byte(self) -> u8 {
        match self {
            DueKind::Expiration => 1,
            DueKind::Refresh => 2,
            DueKind::Archival => 3,
        }
    }

    fn slot(self) -> usize {
        usize::from(self.byte() - 1)
    }
}

/// How one kind of dates is looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueRule {
    /// What it is about.
    pub kind: DueKind,
    /// Time between two looks.
    pub every: Duration,
    /// Most documents changed by one look; `None` for all that are due.
    pub count_max: Option<u64>,
}

/// Slot of compare-exchange behind those of documents.
const EXCHANGE_SLOT: usize = 3;

/// When each kind was last looked at since the database was opened.
#[derive(Debug, Default)]
pub(crate) struct DueClock(Mutex<[Option<UnixTicks>; 4]>);

impl DueClock {
    /// Whether it is time to look again; notes that it is done then.
    fn is_time(&self, slot: usize, every: Duration, now: UnixTicks) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = &mut last[slot];
        let every = i64::try_from(every.as_nanos() / 100).unwrap_or(i64::MAX);
        // A clock that was set back must not keep it from happening.
        let is_time = last.is_none_or(|last| now < last || now.0 - last.0 >= every);
        if is_time {
            *last = Some(now);
        }
        is_time
    }
}

impl Database {
    /// Does what is due by the rule, if it is time to look again; gives how many documents that
    /// changed. Each transaction changes at most 1,024, and 16 MiB of pages; before each,
    /// `may_go_on` is asked.
    ///
    /// # Errors
    /// See [`WriteError`]; what was changed before stays.
    pub fn carry_out_due(
        &self,
        rule: &DueRule,
        may_go_on: &dyn Fn() -> bool,
    ) -> Result<u64, WriteError> {
        let now = self.now();
        if !self.due_clock().is_time(rule.kind.slot(), rule.every, now) {
            return Ok(0);
        }
        let kind = rule.kind;
        let mut left = rule.count_max.unwrap_or(u64::MAX);
        let mut total = 0;
        while left > 0 && may_go_on() && self.has_due(kind, now)? {
            let at_once = usize::try_from(left).unwrap_or(AT_ONCE).min(AT_ONCE);
            let count = self.run(move |transaction, core| {
                carry_out_due(transaction, core, kind, now, at_once)
            })? as u64;
            total += count;
            left = left.saturating_sub(count);
            if count == 0 {
                break;
            }
        }
        Ok(total)
    }

    /// Removes values of compare-exchange whose `@expires` has come, if `every` has passed since it
    /// was looked at; returns how many. Before each transaction, `may_go_on` is asked.
    ///
    /// # Errors
    /// See [`WriteError`]; what was removed before stays removed.
    pub fn expire_exchange(
        &self,
        every: Duration,
        may_go_on: &dyn Fn() -> bool,
    ) -> Result<u64, WriteError> {
        let now = self.now();
        if !self.due_clock().is_time(EXCHANGE_SLOT, every, now) {
            return Ok(0);
        }
        let snapshot = self.read()?;
        if snapshot.exchange_count()? > 0 && !snapshot.has_exchange_dates()? {
            self.run(|transaction, _| {
                enter_exchange_dates(transaction)?;
                Ok(((), Applied::default()))
            })?;
        }
        drop(snapshot);
        let mut total = 0;
        while may_go_on() {
            let first = self.read()?.first_exchange_expiry()?;
            if first.is_none_or(|first| first > now) {
                break;
            }
            let (count, index) = self.run(move |transaction, _| {
                let expired = expire_exchange(transaction, now, AT_ONCE)?;
                Ok((expired, Applied::default()))
            })?;
            if count == 0 {
                break;
            }
            self.report_exchange(index);
            total += count as u64;
        }
        Ok(total)
    }

    /// Whether anything is due: asked before a write transaction is begun for nothing.
    fn has_due(&self, kind: DueKind, now: UnixTicks) -> Result<bool, WriteError> {
        let snapshot = self.read()?;
        Ok(snapshot.first_due(kind)?.is_some_and(|first| first <= now))
    }
}
