//! A command on its way: its arguments, who sent it, where its reply goes.

use crate::failure::Failure;
use crate::keyspace::{Key, Shard, Space};
use crate::number;
use crate::resp::Out;
use crate::session::Session;
use crate::shared::Shared;

/// See the file head.
pub(crate) struct Call<'a> {
    /// The words of the command, its name first.
    pub(crate) args: &'a [&'a [u8]],
    /// Position and hash of its first key.
    pub(crate) key_at: usize,
    pub(crate) hash: u64,
    /// Unix milliseconds; one moment for a whole batch.
    pub(crate) now: u64,
    pub(crate) out: &'a mut Out,
    pub(crate) session: &'a mut Session,
    pub(crate) shared: &'a Shared,
}

impl<'a> Call<'a> {
    /// The first key; for handlers that get its shard.
    #[inline]
    pub(crate) fn key(&self) -> Key<'a> {
        Key {
            database: self.session.database,
            hash: self.hash,
            bytes: self.args[self.key_at],
        }
    }

    /// The key at a position; for handlers that have the whole space.
    pub(crate) fn key_in(&self, space: &Space, position: usize) -> Key<'a> {
        space.key(self.session.database, self.args[position])
    }

    /// The shard of the key at a position, with the key.
    pub(crate) fn shard_in<'s>(
        &self,
        space: &'s mut Space,
        position: usize,
    ) -> (&'s mut Shard, Key<'a>) {
        let key = self.key_in(space, position);
        (space.shard(key.hash), key)
    }

    pub(crate) fn len(&self) -> usize {
        self.args.len()
    }

    pub(crate) fn integer(&self, position: usize) -> Result<i64, Failure> {
        number::parse_integer(self.args[position]).ok_or(Failure::NotInteger)
    }

    pub(crate) fn double(&self, position: usize) -> Result<f64, Failure> {
        number::parse_double(self.args[position]).ok_or(Failure::NotFloat)
    }

    /// Whether the argument is this word, in any case.
    pub(crate) fn is(&self, position: usize, word: &str) -> bool {
        let argument = self.args.get(position);
        argument.is_some_and(|a| a.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// An argument in lower case, for texts.
    pub(crate) fn lower(&self, position: usize) -> String {
        let argument = self.args.get(position).copied().unwrap_or_default();
        String::from_utf8_lossy(argument).to_lowercase()
    }

    pub(crate) fn wrong_count(&self) -> Failure {
        Failure::ArgumentCount(self.lower(0))
    }

    /// That a string of this length is allowed.
    pub(crate) fn check_length(&self, len: usize) -> Result<(), Failure> {
        let max = self.shared.settings.bulk_bytes_max();
        if i64::try_from(len).map_or(true, |len| len > max) {
            return Err(Failure::StringLength);
        }
        Ok(())
    }

    /// That a string may grow to this length: it is allowed, and alone within the budget of keys.
    /// The budget is looked at before a command runs, and few bytes may ask for much.
    pub(crate) fn check_growth(&self, len: usize) -> Result<(), Failure> {
        let budget = self.shared.settings.memory();
        if budget > 0 && len > budget {
            return Err(Failure::OutOfMemory);
        }
        self.check_length(len)
    }

    /// The moment that an argument names, in Unix milliseconds.
    pub(crate) fn moment(&self, position: usize, unit: TimeUnit) -> Result<i64, Failure> {
        let value = self.integer(position)?;
        let invalid = || {
            let name = self.lower(0);
            Failure::other(format!("invalid expire time in '{name}' command"))
        };
        let factor = if unit.is_seconds { 1000 } else { 1 };
        let base = if unit.is_absolute {
            0
        } else {
            self.now.cast_signed()
        };
        let millis = value.checked_mul(factor).ok_or_else(invalid)?;
        millis.checked_add(base).ok_or_else(invalid)
    }

    /// The same where it has to lie after the epoch, and a span has to be positive.
    pub(crate) fn future(&self, position: usize, unit: TimeUnit) -> Result<u64, Failure> {
        let name = self.lower(0);
        let invalid = || Failure::other(format!("invalid expire time in '{name}' command"));
        if self.integer(position)? <= 0 {
            return Err(invalid());
        }
        u64::try_from(self.moment(position, unit)?).map_err(|_| invalid())
    }
}

/// How a time is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeUnit {
    is_seconds: bool,
    is_absolute: bool,
}

impl TimeUnit {
    /// The unit that an option names: EX, PX, EXAT, PXAT.
    pub(crate) fn of_option(word: &[u8]) -> Option<TimeUnit> {
        let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        let (is_seconds, is_absolute) = if is("EX") {
            (true, false)
        } else if is("PX") {
            (false, false)
        } else if is("EXAT") {
            (true, true)
        } else if is("PXAT") {
            (false, true)
        } else {
            return None;
        };
        Some(TimeUnit {
            is_seconds,
            is_absolute,
        })
    }

    pub(crate) const SECONDS: TimeUnit = TimeUnit {
        is_seconds: true,
        is_absolute: false,
    };
    pub(crate) const MILLIS: TimeUnit = TimeUnit {
        is_seconds: false,
        is_absolute: false,
    };

    pub(crate) const fn absolute(self) -> TimeUnit {
        TimeUnit {
            is_seconds: self.is_seconds,
            is_absolute: true,
        }
    }
}

/// A range given by its first and last position, counted from the end when negative, as start and
/// end (not part of it); both 0 when it is empty.
pub(crate) fn range_of(start: i64, stop: i64, len: usize) -> (usize, usize) {
    let len_signed = i64::try_from(len).unwrap_or(i64::MAX);
    let from_end = |at: i64| {
        if at < 0 {
            at.saturating_add(len_signed)
        } else {
            at
        }
    };
    let start = from_end(start).max(0);
    let stop = from_end(stop).min(len_signed - 1);
    match (usize::try_from(start), usize::try_from(stop)) {
        (Ok(start), Ok(stop)) if start <= stop => (start, stop + 1),
        _ => (0, 0),
    }
}
