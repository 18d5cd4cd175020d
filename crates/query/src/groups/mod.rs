//! `group by`: documents of a scope become rows of keys, counts and sums.
//!
//! Bound by `bind::group`, run by `execute` before everything else: conditions, order, filter and
//! projection then see the groups as documents. Groups are made of every document of the scope
//! (`tally`), and kept in memory for queries of the same kind, which bring them up to date with
//! what changed since (`kept`): they are never stale.
//!
//! A group is a document without id. Its fields are named as the paths are written. What is null,
//! or not there, is in the group of null; documents whose list to group by is empty are left out.

mod grouping;
mod kept;
mod keys;
mod parts;
mod source;
mod sum;
mod tally;

pub(crate) use self::grouping::{COUNT, Grouping, KEY};
pub use self::kept::{GroupsAccess, KeptGroups};
pub(crate) use self::source::GroupSource;
