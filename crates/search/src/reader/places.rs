//! Conditions on places, answered from the index.
//!
//! Called by query execution for `spatial.within(...)` and its like. Points are looked for in the
//! ranges of keys that the boxes around the shape cover, other shapes one by one.
//!
//! Threads: as the reader.

use std::ops::Bound;

use jackdaw_storage::PageRead;

use super::IndexReader;
use super::budget::Budget;
use super::walk::class_key;
use crate::catalog::FieldId;
use crate::error::IndexError;
use crate::matches::Matches;
use crate::place::{Place, Relation, Shape, ranges_over};
use crate::set::{EntrySet, SetBuilder};
use crate::term::{StoredTerm, class};

impl<P: PageRead + ?Sized> IndexReader<'_, P> {
    /// The entries with a place that stands to `shape` as `relation` says.
    ///
    /// # Errors
    /// [`IndexError::WalkLimit`], [`IndexError::Interrupted`], [`IndexError::Damaged`],
    /// [`IndexError::Storage`].
    pub fn places(
        &self,
        field: FieldId,
        shape: &Shape,
        relation: Relation,
        budget: &mut Budget<'_>,
    ) -> Result<Matches, IndexError> {
        let (mut certain, mut possible) = (self.set_builder(), self.set_builder());
        let ranges = match relation {
            Relation::Disjoint => vec![(0, u64::MAX)],
            _ => shape.boxes().iter().flat_map(ranges_over).collect(),
        };
        for (first, last) in ranges {
            let key = |number: u64| {
                let mut key = class_key(field, class::POINT);
                key.extend_from_slice(&number.to_be_bytes());
                key
            };
            let reach = (key(first), key(last));
            self.check_places(
                &reach,
                shape,
                relation,
                budget,
                (&mut certain, &mut possible),
            )?;
        }
        let reach = (
            class_key(field, class::SHAPE),
            class_key(field, class::SHAPE + 1),
        );
        self.check_places(
            &reach,
            shape,
            relation,
            budget,
            (&mut certain, &mut possible),
        )?;
        Ok(Matches::new(certain.finish(), &possible.finish()))
    }

    /// The entries with a value in the field that no order of texts or numbers knows: a place or a
    /// vector. They may have others beside it.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn unordered(&self, field: FieldId) -> Result<EntrySet, IndexError> {
        let mut entries = self.set_builder();
        let (low, high) = (
            class_key(field, class::POINT),
            class_key(field, class::VECTOR + 1),
        );
        let mut walk = self.walk(Bound::Included(&low), Bound::Excluded(&high))?;
        while let Some(term) = walk.next_term()? {
            term.add_to(&mut entries)?;
        }
        Ok(entries.finish())
    }

    /// Adds the entries of the terms between two keys, both included, that pass.
    fn check_places(
        &self,
        reach: &(Vec<u8>, Vec<u8>),
        shape: &Shape,
        relation: Relation,
        budget: &mut Budget<'_>,
        sets: (&mut SetBuilder, &mut SetBuilder),
    ) -> Result<(), IndexError> {
        let (low, high) = (Bound::Included(&reach.0[..]), Bound::Included(&reach.1[..]));
        let mut walk = self.walk(low, high)?;
        while let Some(term) = walk.next_term()? {
            budget.spend()?;
            let passes = match term.term()? {
                StoredTerm::Point(at) => Place::Point(at).passes(shape, relation),
                StoredTerm::Shape(text) if text.is_cut() => {
                    term.add_to(sets.1)?;
                    continue;
                }
                StoredTerm::Shape(text) => {
                    Place::parse(&text.to_text()).is_some_and(|place| place.passes(shape, relation))
                }
                _ => false,
            };
            if passes {
                term.add_to(sets.0)?;
            }
        }
        Ok(())
    }
}
