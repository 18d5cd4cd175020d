//! Places on the earth: points and shapes, in documents and in conditions.
//!
//! `shape` is the geometry, `wkt` its text, `cells` the order in which points lie in the index.
//! Points are terms of a class of their own, ordered along a curve; other shapes are terms of their
//! text, and checked one by one.
//!
//! Invariants:
//! - Documents and the index see the same places: coordinates are rounded to 32 bits (a centimeter)
//!   when a [`Place`] is made.

mod cells;
mod shape;
mod wkt;

pub use shape::{Coordinate, Relation, Shape};

pub(crate) use cells::{key_of, ranges_over, spot_of};

/// A place of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A point, rounded as the index keeps it.
    Point(Coordinate),
    /// Another shape, and its text.
    Shape(Shape, Box<str>),
}

impl Place {
    /// A point in degrees; `None` outside the earth.
    #[must_use]
    pub fn point(latitude: f64, longitude: f64) -> Option<Place> {
        let at = Coordinate::new(latitude, longitude)?;
        Some(Place::Point(spot_of(key_of(at))))
    }

    /// Reads well-known text; `None` when it is none. Circles have a radius in kilometers.
    #[must_use]
    pub fn parse(text: &str) -> Option<Place> {
        match Shape::parse(text, 1.0).ok()? {
            Shape::Point(at) => Place::point(at.latitude, at.longitude),
            shape => Some(Place::Shape(shape, text.trim().into())),
        }
    }

    /// Whether it stands to `shape` as `relation` says.
    #[must_use]
    pub fn passes(&self, shape: &Shape, relation: Relation) -> bool {
        match self {
            Place::Point(at) => Shape::Point(*at).relates(shape, relation),
            Place::Shape(own, _) => own.relates(shape, relation),
        }
    }

    /// Where distances to it are measured: the point, as it was written when that had at most
    /// seven digits behind the point; of another shape, its middle.
    #[must_use]
    pub fn spot(&self) -> Coordinate {
        match self {
            // A rounded point lies within 0.42 of the seventh digit.
            Place::Point(at) => Coordinate {
                latitude: (at.latitude * 1e7).round() / 1e7,
                longitude: (at.longitude * 1e7).round() / 1e7,
            },
            Place::Shape(own, _) => own.middle(),
        }
    }
}
