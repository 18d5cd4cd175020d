//! Shapes: points, circles, boxes, lines, polygons and groups of them, and how two stand to each
//! other.
//!
//! Called by `place` for documents and by the reader for terms.
//!
//! Rules: circles are on the sphere, everything else in the plane of degrees, as spatial engines of
//! document databases have it. Where a circle meets lines or polygons it is taken as a polygon of
//! many corners. A border belongs to its shape. Lines and polygons across the date line go on
//! beyond 180 degrees, and are compared with others a turn to the east and to the west too.
//!
//! Threads: pure functions.

/// Radius of the earth.
const EARTH_KM: f64 = 6_371.008_771_4;

/// Nautical miles of a degree, and miles of those, in distances that results show. One after the
/// other, so that the last digit is the known one.
const SHOWN_MILES: (f64, f64) = (60.0, 1.1515);

/// Kilometers from which on distances that results show are computed by the arc cosine.
const SHOWN_EXACT_KM: f64 = 1.0;

/// Turns in degrees that bring a place to where a shape across the date line has it.
const TURNS: [f64; 3] = [0.0, 360.0, -360.0];

/// Corners of a circle where it meets shapes of lines.
const CIRCLE_CORNERS: u32 = 64;

/// Kilometers within which places are the same: points of documents are rounded to a centimeter,
/// those of conditions are not.
const ROUNDING_KM: f64 = 1e-4;

/// A place in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coordinate {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
}

/// A shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A point.
    Point(Coordinate),
    /// Everything within a distance.
    Circle {
        /// The middle.
        center: Coordinate,
        /// The distance.
        radius_km: f64,
    },
    /// Lines from corner to corner; at least two corners.
    Line(Vec<Coordinate>),
    /// An outer ring and holes; each ends where it begins.
    Polygon(Vec<Vec<Coordinate>>),
    /// Several shapes as one.
    Group(Vec<Shape>),
}

/// How a document's place stands to the shape of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It lies within the shape.
    Within,
    /// The shape lies within it.
    Contains,
    /// They share a point.
    Intersects,
    /// They share none.
    Disjoint,
}

/// A box of degrees that does not cross the date line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BoundingBox {
    pub(crate) west: f64,
    pub(crate) east: f64,
    pub(crate) south: f64,
    pub(crate) north: f64,
}

impl Coordinate {
    /// `None` outside the earth.
    #[must_use]
    pub fn new(latitude: f64, longitude: f64) -> Option<Coordinate> {
        let is_there = (-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude);
        is_there.then_some(Coordinate {
            latitude,
            longitude,
        })
    }

    /// Miles along the sphere, as clients of the protocol know distances in results: with an earth
    /// that is 0.005 percent smaller than that of [`Coordinate::distance_km`].
    #[must_use]
    pub fn shown_distance_miles(self, other: Coordinate) -> f64 {
        let exact = self.distance_km(other);
        // An arc cosine has few digits for what is near.
        if exact < SHOWN_EXACT_KM {
            return (exact / EARTH_KM).to_degrees() * SHOWN_MILES.0 * SHOWN_MILES.1;
        }
        let (a, b) = (self.latitude.to_radians(), other.latitude.to_radians());
        let east = (self.longitude - other.longitude).to_radians();
        let cosine = a.sin() * b.sin() + a.cos() * b.cos() * east.cos();
        cosine.clamp(-1.0, 1.0).acos().to_degrees() * SHOWN_MILES.0 * SHOWN_MILES.1
    }

    /// Kilometers along the sphere.
    #[must_use]
    pub fn distance_km(self, other: Coordinate) -> f64 {
        let (a, b) = (self.latitude.to_radians(), other.latitude.to_radians());
        let east = (other.longitude - self.longitude).to_radians();
        let half = ((b - a) / 2.0).sin().powi(2) + a.cos() * b.cos() * (east / 2.0).sin().powi(2);
        2.0 * EARTH_KM * half.sqrt().min(1.0).asin()
    }

    pub(super) fn turned(self, turn: f64) -> Coordinate {
        Coordinate {
            longitude: self.longitude + turn,
            ..self
        }
    }

    /// Twice the area of the triangle with two others: its sign says on which side this lies.
    fn side(self, a: Coordinate, b: Coordinate) -> f64 {
        (b.longitude - a.longitude) * (self.latitude - a.latitude)
            - (b.latitude - a.latitude) * (self.longitude - a.longitude)
    }

    fn is_on(self, a: Coordinate, b: Coordinate) -> bool {
        let between = |at: f64, a: f64, b: f64| at >= a.min(b) - 1e-9 && at <= a.max(b) + 1e-9;
        self.side(a, b).abs() < 1e-9
            && between(self.longitude, a.longitude, b.longitude)
            && between(self.latitude, a.latitude, b.latitude)
    }
}

impl Shape {
    /// Whether this, the place of a document, stands so to `other`.
    #[must_use]
    pub fn relates(&self, other: &Shape, relation: Relation) -> bool {
        match relation {
            Relation::Within => other.covers(self),
            Relation::Contains => self.covers(other),
            Relation::Intersects => self.meets(other),
            Relation::Disjoint => !self.meets(other),
        }
    }

    /// Where distances to it are measured: the center of mass of a line, and of other shapes the
    /// middle of the smallest box of degrees that holds them.
    #[must_use]
    pub fn middle(&self) -> Coordinate {
        match self {
            Shape::Point(at) | Shape::Circle { center: at, .. } => *at,
            Shape::Line(line) => center_of_mass(line),
            Shape::Polygon(_) | Shape::Group(_) => {
                let extent = self.extent();
                Coordinate {
                    latitude: f64::midpoint(extent.south, extent.north),
                    longitude: wrapped(f64::midpoint(extent.west, extent.east)),
                }
            }
        }
    }

    /// The smallest box that holds all corners; it may cross the date line.
    fn extent(&self) -> BoundingBox {
        let mut extent = BoundingBox {
            west: f64::MAX,
            east: f64::MIN,
            south: f64::MAX,
            north: f64::MIN,
        };
        for at in self.corners() {
            extent.west = extent.west.min(at.longitude);
            extent.east = extent.east.max(at.longitude);
            extent.south = extent.south.min(at.latitude);
            extent.north = extent.north.max(at.latitude);
        }
        extent
    }

    fn corners(&self) -> Vec<Coordinate> {
        match self {
            Shape::Point(at) => vec![*at],
            Shape::Circle { .. } => self.as_lines().corners(),
            Shape::Line(line) => line.clone(),
            Shape::Polygon(rings) => rings.concat(),
            Shape::Group(shapes) => shapes.iter().flat_map(Shape::corners).collect(),
        }
    }

    /// The edges of lines and rings.
    fn edges(&self) -> Vec<(Coordinate, Coordinate)> {
        let pairs = |line: &Vec<Coordinate>| -> Vec<(Coordinate, Coordinate)> {
            line.windows(2).map(|pair| (pair[0], pair[1])).collect()
        };
        match self {
            Shape::Point(_) => Vec::new(),
            Shape::Circle { .. } => self.as_lines().edges(),
            Shape::Line(line) => pairs(line),
            Shape::Polygon(rings) => rings.iter().flat_map(pairs).collect(),
            Shape::Group(shapes) => shapes.iter().flat_map(Shape::edges).collect(),
        }
    }

    /// A circle as a polygon; other shapes as they are.
    fn as_lines(&self) -> Shape {
        let Shape::Circle { center, radius_km } = self else {
            return self.clone();
        };
        let north = (radius_km / EARTH_KM).to_degrees();
        let east = north / center.latitude.to_radians().cos().max(1e-6);
        let ring = (0..=CIRCLE_CORNERS).map(|corner| {
            let turn = f64::from(corner % CIRCLE_CORNERS) / f64::from(CIRCLE_CORNERS);
            let angle = turn * std::f64::consts::TAU;
            Coordinate {
                latitude: (center.latitude + north * angle.sin()).clamp(-90.0, 90.0),
                longitude: center.longitude + east * angle.cos(),
            }
        });
        Shape::Polygon(vec![ring.collect()])
    }

    fn covers_point(&self, at: Coordinate) -> bool {
        match self {
            Shape::Point(own) => own.distance_km(at) < ROUNDING_KM,
            Shape::Circle { center, radius_km } => {
                center.distance_km(at) <= radius_km + ROUNDING_KM
            }
            Shape::Line(_) | Shape::Polygon(_) => TURNS
                .into_iter()
                .any(|turn| self.draws_point(at.turned(turn))),
            Shape::Group(shapes) => shapes.iter().any(|shape| shape.covers_point(at)),
        }
    }

    /// Whether a line or polygon holds a point, in the plane.
    fn draws_point(&self, at: Coordinate) -> bool {
        match self {
            Shape::Line(line) => line.windows(2).any(|pair| at.is_on(pair[0], pair[1])),
            Shape::Polygon(rings) => {
                let is_on_edge =
                    |ring: &Vec<Coordinate>| ring.windows(2).any(|pair| at.is_on(pair[0], pair[1]));
                match rings.split_first() {
                    Some((outer, holes)) => {
                        (is_inside(at, outer) || is_on_edge(outer))
                            && holes
                                .iter()
                                .all(|hole| !is_inside(at, hole) || is_on_edge(hole))
                    }
                    None => false,
                }
            }
            _ => false,
        }
    }

    /// Whether all of `other` lies within this.
    fn covers(&self, other: &Shape) -> bool {
        match (self, other) {
            (_, Shape::Point(at)) => self.covers_point(*at),
            (_, Shape::Group(shapes)) => shapes.iter().all(|shape| self.covers(shape)),
            (Shape::Group(shapes), _) => shapes.iter().any(|shape| shape.covers(other)),
            (Shape::Point(_), _) => false,
            (
                Shape::Circle { center, radius_km },
                Shape::Circle {
                    center: inner,
                    radius_km: smaller,
                },
            ) => center.distance_km(*inner) + smaller <= *radius_km,
            // A circle has no dents: corners decide.
            (Shape::Circle { .. }, _) => other.corners().iter().all(|at| self.covers_point(*at)),
            _ => {
                let lines = other.as_lines();
                TURNS
                    .into_iter()
                    .any(|turn| self.surrounds(&lines.turned(turn)))
            }
        }
    }

    /// Whether all of `other`, lines or a polygon, lies within this, in the plane.
    fn surrounds(&self, other: &Shape) -> bool {
        let is_crossed = other
            .edges()
            .iter()
            .any(|(a, b)| self.edges().iter().any(|(c, d)| crosses(*a, *b, *c, *d)));
        let is_in_hole = match self {
            Shape::Polygon(rings) => rings.iter().skip(1).any(|hole| {
                hole.first()
                    .is_some_and(|at| other.covers_point(*at) && matches!(other, Shape::Polygon(_)))
            }),
            _ => false,
        };
        !is_crossed && !is_in_hole && other.corners().iter().all(|at| self.draws_point(*at))
    }

    /// Whether both share a point.
    fn meets(&self, other: &Shape) -> bool {
        match (self, other) {
            (Shape::Point(at), shape) | (shape, Shape::Point(at)) => shape.covers_point(*at),
            (Shape::Group(shapes), other) | (other, Shape::Group(shapes)) => {
                shapes.iter().any(|shape| shape.meets(other))
            }
            (
                Shape::Circle { center, radius_km },
                Shape::Circle {
                    center: other,
                    radius_km: reach,
                },
            ) => center.distance_km(*other) <= radius_km + reach,
            _ => {
                let (ours, theirs) = (self.as_lines(), other.as_lines());
                TURNS
                    .into_iter()
                    .any(|turn| ours.touches(&theirs.turned(turn)))
            }
        }
    }

    /// Whether lines or polygons share a point, in the plane.
    fn touches(&self, other: &Shape) -> bool {
        let (ours, theirs) = (self.edges(), other.edges());
        let touches = |(a, b): &(Coordinate, Coordinate)| {
            theirs.iter().any(|(c, d)| {
                crosses(*a, *b, *c, *d)
                    || a.is_on(*c, *d)
                    || b.is_on(*c, *d)
                    || c.is_on(*a, *b)
                    || d.is_on(*a, *b)
            })
        };
        let holds_first = |shape: &Shape, other: &Shape| {
            let first = other.corners().first().copied();
            first.is_some_and(|at| shape.draws_point(at))
        };
        ours.iter().any(touches) || holds_first(self, other) || holds_first(other, self)
    }

    /// The shape `turn` degrees further east.
    fn turned(&self, turn: f64) -> Shape {
        let line = |line: &Vec<Coordinate>| line.iter().map(|at| at.turned(turn)).collect();
        match self {
            Shape::Line(corners) => Shape::Line(line(corners)),
            Shape::Polygon(rings) => Shape::Polygon(rings.iter().map(line).collect()),
            shape => shape.clone(),
        }
    }

    /// Well-known text of the smallest box of degrees that holds all of it.
    #[must_use]
    pub fn envelope(&self) -> String {
        let BoundingBox {
            west,
            east,
            south,
            north,
        } = self.extent();
        let (west, east) = match east - west >= 360.0 {
            true => (-180.0, 180.0),
            false => (wrapped(west), wrapped(east)),
        };
        format!("ENVELOPE ({west}, {east}, {north}, {south})")
    }

    /// Boxes that hold every point of it; two where it crosses the date line.
    pub(crate) fn boxes(&self) -> Vec<BoundingBox> {
        if let Shape::Group(shapes) = self {
            return shapes.iter().flat_map(Shape::boxes).collect();
        }
        let (west, east, south, north);
        match self {
            Shape::Circle { center, radius_km } => {
                let angle = ((radius_km + ROUNDING_KM) / EARTH_KM).min(std::f64::consts::PI);
                south = center.latitude - angle.to_degrees();
                north = center.latitude + angle.to_degrees();
                // Where the circle is widest; everywhere when it holds a pole.
                let wide = angle.sin() / center.latitude.to_radians().cos();
                let is_round = south <= -90.0 || north >= 90.0 || wide >= 1.0;
                let reach = if is_round {
                    180.0
                } else {
                    wide.asin().to_degrees()
                };
                (west, east) = match is_round {
                    true => (-180.0, 180.0),
                    false => (center.longitude - reach, center.longitude + reach),
                };
            }
            _ => {
                let extent = self.extent();
                (west, east) = (extent.west, extent.east);
                (south, north) = (extent.south, extent.north);
            }
        }
        // A little more, for points are rounded and borders belong to shapes.
        let margin = 1e-5;
        let (south, north) = ((south - margin).max(-90.0), (north + margin).min(90.0));
        let (west, east) = (west - margin, east + margin);
        let part = |west: f64, east: f64| BoundingBox {
            west,
            east,
            south,
            north,
        };
        match (west < -180.0, east > 180.0) {
            (false, false) => vec![part(west, east)],
            (true, true) => vec![part(-180.0, 180.0)],
            (true, false) => vec![part(-180.0, east), part((west + 360.0).max(-180.0), 180.0)],
            (false, true) => vec![part(west, 180.0), part(-180.0, (east - 360.0).min(180.0))],
        }
    }
}

/// The middle of each edge of a line, weighted with the edge's length in degrees.
fn center_of_mass(line: &[Coordinate]) -> Coordinate {
    let (mut latitude, mut longitude, mut whole) = (0.0, 0.0, 0.0);
    for pair in line.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let length = (a.latitude - b.latitude).hypot(a.longitude - b.longitude);
        latitude += f64::midpoint(a.latitude, b.latitude) * length;
        longitude += f64::midpoint(a.longitude, b.longitude) * length;
        whole += length;
    }
    match whole > 0.0 {
        true => Coordinate {
            latitude: latitude / whole,
            longitude: wrapped(longitude / whole),
        },
        // All corners are one place.
        false => line.first().copied().unwrap_or(Coordinate {
            latitude: 0.0,
            longitude: 0.0,
        }),
    }
}

/// A longitude on the earth.
fn wrapped(longitude: f64) -> f64 {
    match longitude {
        east if east > 180.0 => east - 360.0,
        west if west < -180.0 => west + 360.0,
        longitude => longitude,
    }
}

/// Whether a ring holds a point: a ray from it crosses the ring an odd number of times.
fn is_inside(at: Coordinate, ring: &[Coordinate]) -> bool {
    let crossings = ring.windows(2).filter(|pair| {
        let (a, b) = (pair[0], pair[1]);
        (a.latitude > at.latitude) != (b.latitude > at.latitude)
            && at.longitude
                < (b.longitude - a.longitude) * (at.latitude - a.latitude)
                    / (b.latitude - a.latitude)
                    + a.longitude
    });
    crossings.count() % 2 == 1
}

/// Whether two edges cross inside both.
fn crosses(a: Coordinate, b: Coordinate, c: Coordinate, d: Coordinate) -> bool {
    let differ = |x: f64, y: f64| (x > 1e-12 && y < -1e-12) || (x < -1e-12 && y > 1e-12);
    differ(a.side(c, d), b.side(c, d)) && differ(c.side(a, b), d.side(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        Shape::parse(text, 1.0).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn shapes_stand_to_each_other_as_drawn() {
        use Relation::{Contains, Disjoint, Intersects, Within};
        let square = "POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0))";
        let holed = "POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0), (2 2, 8 2, 8 8, 2 8, 2 2))";
        for (place, relation, other, expected) in [
            ("POINT (5 5)", Within, square, true),
            ("POINT (0 5)", Within, square, true),
            ("POINT (11 5)", Within, square, false),
            ("POINT (5 5)", Within, holed, false),
            ("POINT (1 5)", Within, holed, true),
            ("POINT (11 5)", Disjoint, square, true),
            (square, Contains, "POINT (5 5)", true),
            (
                square,
                Within,
                "POLYGON ((-1 -1, 11 -1, 11 11, -1 11, -1 -1))",
                true,
            ),
            (square, Intersects, "LINESTRING (-5 5, 15 5)", true),
            (square, Within, "LINESTRING (-5 5, 15 5)", false),
            ("LINESTRING (1 1, 2 2)", Within, square, true),
            ("LINESTRING (1 1, 12 2)", Within, square, false),
            (
                "LINESTRING (1 0, 1 1, 1 2)",
                Intersects,
                "LINESTRING (0 1, 2 1)",
                true,
            ),
            (
                "LINESTRING (1 0, 1 1)",
                Disjoint,
                "LINESTRING (5 5, 6 6)",
                true,
            ),
            ("POLYGON ((3 3, 7 3, 7 7, 3 7, 3 3))", Within, holed, false),
            (
                "POLYGON ((3 3, 7 3, 7 7, 3 7, 3 3))",
                Intersects,
                holed,
                false,
            ),
            ("MULTIPOINT ((1 1), (20 20))", Intersects, square, true),
            ("MULTIPOINT ((1 1), (20 20))", Within, square, false),
            ("CIRCLE (5 5 d=50)", Within, square, true),
            ("CIRCLE (5 5 d=5000)", Contains, square, true),
            ("ENVELOPE (1, 2, 4, 3)", Within, square, true),
        ] {
            let found = shape(place).relates(&shape(other), relation);
            assert_eq!(found, expected, "{place} {relation:?} {other}");
        }
    }

    #[test]
    fn circles_without_extent_hold_their_middle() {
        for (latitude, longitude) in [
            (0.0, 0.0),
            (32.123_456_789, 34.987_654_321),
            (-47.6, -122.333_333_3),
            (89.999_999, 179.999_999),
            (-90.0, -180.0),
        ] {
            let at = Coordinate::new(latitude, longitude).unwrap();
            let place = crate::place::Place::point(latitude, longitude).unwrap();
            for radius_km in [0.0, 1e-9] {
                let circle = Shape::Circle {
                    center: at,
                    radius_km,
                };
                for relation in [Relation::Within, Relation::Intersects] {
                    assert!(place.passes(&circle, relation), "{at:?} {relation:?}");
                }
                assert!(!place.passes(&circle, Relation::Disjoint), "{at:?}");
                let away = Coordinate::new(latitude / 2.0 + 1.0, longitude / 2.0).unwrap();
                assert!(!Shape::Point(away).relates(&circle, Relation::Within));
            }
        }
    }

    #[test]
    fn shapes_cross_the_date_line() {
        use Relation::{Contains, Disjoint, Intersects, Within};
        let strip = "POLYGON ((170 -10, -170 -10, -170 10, 170 10, 170 -10))";
        let west = "POLYGON ((-170 -10, -170 10, 170 10, 170 -10, -170 -10))";
        let holed = "POLYGON ((170 -10, -170 -10, -170 10, 170 10, 170 -10), \
                     (-179 -1, -177 -1, -177 1, -179 1, -179 -1))";
        let world = "POLYGON ((-180 -90, 180 -90, 180 90, -180 90, -180 -90))";
        for (place, relation, other, expected) in [
            ("POINT (175 0)", Within, strip, true),
            ("POINT (-175 0)", Within, strip, true),
            ("POINT (180 0)", Within, strip, true),
            ("POINT (-180 0)", Within, strip, true),
            ("POINT (0 0)", Within, strip, false),
            ("POINT (165 0)", Disjoint, strip, true),
            ("POINT (175 0)", Within, west, true),
            ("POINT (-175 0)", Within, west, true),
            ("POINT (0 0)", Within, west, false),
            ("POINT (-178 0)", Within, holed, false),
            ("POINT (178 0)", Within, holed, true),
            (
                "POINT (-175 0)",
                Within,
                "ENVELOPE (170, -170, 10, -10)",
                true,
            ),
            (
                "POINT (0 0)",
                Within,
                "ENVELOPE (170, -170, 10, -10)",
                false,
            ),
            ("POINT (-175 0)", Within, "170 -10 -170 10", true),
            ("POINT (0 0)", Within, world, true),
            ("LINESTRING (175 0, -175 0)", Within, strip, true),
            ("LINESTRING (175 0, -175 0)", Within, west, true),
            ("LINESTRING (175 0, -165 0)", Within, strip, false),
            ("LINESTRING (175 0, -165 0)", Intersects, strip, true),
            (
                "LINESTRING (175 0, -175 0)",
                Intersects,
                "LINESTRING (-178 -5, -178 5)",
                true,
            ),
            ("LINESTRING (0 -20, 0 20)", Intersects, strip, false),
            (
                "POLYGON ((-179 -1, -178 -1, -178 1, -179 1, -179 -1))",
                Within,
                strip,
                true,
            ),
            (
                strip,
                Contains,
                "POLYGON ((178 -1, -178 -1, -178 1, 178 1, 178 -1))",
                true,
            ),
            ("CIRCLE (-179.9 0 d=100)", Within, strip, true),
            (
                "CIRCLE (-179.9 0 d=100)",
                Intersects,
                "POLYGON ((179 0, 180 0, 180 1, 179 0))",
                true,
            ),
            ("MULTIPOINT ((175 0), (-175 0))", Within, strip, true),
            (
                "POINT (12.3456789 12.3456789)",
                Within,
                "CIRCLE (12.3456789 12.3456789 d=0)",
                true,
            ),
            (
                "POINT (12.34568 12.3456789)",
                Within,
                "CIRCLE (12.3456789 12.3456789 d=0)",
                false,
            ),
        ] {
            let found = shape(place).relates(&shape(other), relation);
            assert_eq!(found, expected, "{place} {relation:?} {other}");
        }
        let boxes = shape(strip).boxes();
        let sides = [175.0, -175.0, 0.0].map(|longitude| {
            boxes
                .iter()
                .any(|area| (area.west..=area.east).contains(&longitude))
        });
        assert_eq!(sides, [true, true, false]);
        assert_eq!(shape(strip).envelope(), "ENVELOPE (170, -170, 10, -10)");
    }

    #[test]
    fn boxes_hold_circles_at_the_date_line_and_the_poles() {
        for (latitude, longitude, radius_km) in [
            (0.0, 179.9, 100.0),
            (0.0, -179.9, 100.0),
            (89.9, 10.0, 200.0),
            (60.0, 20.0, 500.0),
            (10.0, 0.0, 30_000.0),
        ] {
            let center = Coordinate {
                latitude,
                longitude,
            };
            let circle = Shape::Circle { center, radius_km };
            let boxes = circle.boxes();
            for i in -36..=36 {
                for j in -18..=18 {
                    let at = Coordinate {
                        latitude: f64::from(j) * 5.0,
                        longitude: f64::from(i) * 5.0,
                    };
                    let is_held = boxes.iter().any(|area| {
                        (area.west..=area.east).contains(&at.longitude)
                            && (area.south..=area.north).contains(&at.latitude)
                    });
                    assert!(!circle.covers_point(at) || is_held, "{circle:?} {at:?}");
                }
            }
        }
    }
}
