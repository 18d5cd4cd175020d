//! Versions, positions, and the rule that finds the collection of an id.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackdaw_base::time::UnixTicks;
use jackdaw_database::Etag;
use serde::{Deserialize, Serialize};

/// The version of a document: another one after every change of it.
///
/// Two versions are compared for equality only. [`Batch::put_if`](crate::Batch::put_if) stores a
/// document if it still has the version that the caller read.
///
/// ```
/// # let db = jackdaw::Database::in_memory()?;
/// let stored = db.put("albums/1", &serde_json::json!({"Year": 1971}))?;
/// let read = db.document("albums/1")?.expect("it was stored");
/// assert_eq!(*read.version(), stored.version);
///
/// // As text it can be kept elsewhere, in a form of a web page, say.
/// let version: jackdaw::Version = stored.version.to_string().parse()?;
/// assert_eq!(version, stored.version);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub(crate) String);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Version {
    type Err = crate::Error;

    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for the empty text. Any other text is a version;
    /// one that no document has leads to a conflict.
    fn from_str(text: &str) -> crate::Result<Version> {
        match text {
            "" => Err(crate::Error::invalid(
                "a version has at least one character",
            )),
            text => Ok(Version(text.to_owned())),
        }
    }
}

/// A place in the order of changes of one database. Later changes have greater positions.
///
/// Positions are whole numbers, so they can be stored, and never decrease, across restarts too.
///
/// ```
/// use jackdaw::Position;
///
/// assert!(Position::START < Position::from(7));
/// assert_eq!(u64::from(Position::from(7)), 7);
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Position(u64);

impl Position {
    /// Before the first change.
    pub const START: Position = Position(0);

    pub(crate) fn etag(self) -> Etag {
        Etag(self.0)
    }

    pub(crate) fn of(etag: Etag) -> Position {
        Position(etag.0)
    }
}

impl From<u64> for Position {
    fn from(number: u64) -> Position {
        Position(number)
    }
}

impl From<Position> for u64 {
    fn from(position: Position) -> u64 {
        position.0
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Longest wait for an index: the deadline of a longer one may be beyond the clock.
const WAIT_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A timeout that the clock can hold.
pub(crate) fn bounded(timeout: Duration) -> Duration {
    timeout.min(WAIT_MAX)
}

/// The collection that an id names: what stands in front of its first `/` or `|`, with an upper
/// case letter in front. `None` for an id without such a prefix.
pub(crate) fn collection_of(id: &str) -> Option<String> {
    let (prefix, _) = id.split_once(['/', '|'])?;
    let mut characters = prefix.chars();
    let first = characters.next()?;
    Some(first.to_uppercase().chain(characters).collect())
}

/// The prefix of new ids in a collection: its name with a lower case letter in front.
pub(crate) fn id_prefix(collection: &str) -> String {
    let mut characters = collection.chars();
    let first = characters.next().into_iter();
    first
        .flat_map(char::to_lowercase)
        .chain(characters)
        .collect()
}

/// A stored point in time.
pub(crate) fn system_time(ticks: UnixTicks) -> SystemTime {
    let distance = |ticks: u64| Duration::from_nanos(ticks.saturating_mul(100));
    match u64::try_from(ticks.0) {
        Ok(after) => UNIX_EPOCH + distance(after),
        Err(_) => UNIX_EPOCH - distance(ticks.0.unsigned_abs()),
    }
}

/// Milliseconds since 1970, as time series have them; parts of one are dropped.
pub(crate) fn unix_millis(time: SystemTime) -> i64 {
    let millis = |distance: Duration| i64::try_from(distance.as_millis());
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => millis(after).unwrap_or(i64::MAX),
        Err(before) => {
            let before = before.duration();
            let is_whole = before.subsec_nanos() % 1_000_000 == 0;
            let whole = millis(before).map_or(i64::MIN, |millis| -millis);
            // Toward the past, as after 1970.
            if is_whole {
                whole
            } else {
                whole.saturating_sub(1)
            }
        }
    }
}

/// The point in time of milliseconds since 1970.
pub(crate) fn time_of_millis(millis: i64) -> SystemTime {
    let distance = Duration::from_millis(millis.unsigned_abs());
    match millis < 0 {
        true => UNIX_EPOCH - distance,
        false => UNIX_EPOCH + distance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_come_from_the_prefix_of_ids() {
        for (id, collection) in [
            ("albums/1", Some("Albums")),
            ("Albums/1", Some("Albums")),
            ("blogPosts/2/comments", Some("BlogPosts")),
            ("albums|", Some("Albums")),
            ("albums/", Some("Albums")),
            ("\u{e4}lben/1", Some("\u{c4}lben")),
            ("albums", None),
            ("/1", None),
            ("", None),
        ] {
            assert_eq!(collection_of(id).as_deref(), collection, "{id}");
        }
        assert_eq!(id_prefix("Albums"), "albums");
        assert_eq!(id_prefix("BlogPosts"), "blogPosts");
    }

    #[test]
    fn times_before_1970_round_towards_the_past() {
        for millis in [i64::MIN / 2_000_000, -1, 0, 1, 4_102_444_800_000] {
            assert_eq!(unix_millis(time_of_millis(millis)), millis);
        }
        assert_eq!(unix_millis(UNIX_EPOCH - Duration::from_micros(1)), -1);
        assert_eq!(unix_millis(UNIX_EPOCH + Duration::from_micros(1_999)), 1);
        assert_eq!(
            system_time(UnixTicks(-10)),
            UNIX_EPOCH - Duration::from_micros(1)
        );
    }
}
