//! Well-known text of shapes: longitude first.
//!
//! Called for places of documents and for conditions. Read are POINT, LINESTRING, POLYGON, their
//! MULTI forms, GEOMETRYCOLLECTION, ENVELOPE (west, east, north, south), CIRCLE (x y d=radius), and
//! four bare numbers: west, south, east, north.
//!
//! Invariants:
//! - Nesting and the number of corners are bounded.
//!
//! Threads: pure functions.

use super::shape::{Coordinate, Shape};
use crate::text::TextError;

/// Most corners of a shape.
const CORNERS_MAX: usize = 100_000;

/// Deepest nesting of collections.
const DEPTH_MAX: usize = 16;

impl Shape {
    /// Reads well-known text. The radius of a circle is in units of `unit_km` kilometers.
    ///
    /// # Errors
    /// The text is none, has too many corners, or a corner outside the earth.
    pub fn parse(text: &str, unit_km: f64) -> Result<Shape, TextError> {
        let mut parser = Parser {
            text,
            rest: text,
            unit_km,
            corners: 0,
        };
        let shape = match text
            .trim_start()
            .starts_with(|c: char| c.is_ascii_alphabetic())
        {
            true => parser.shape(0)?,
            false => parser.bare_box()?,
        };
        match parser.rest.trim().is_empty() {
            true => Ok(shape),
            false => Err(parser.error("the shape goes on behind its end")),
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    rest: &'t str,
    unit_km: f64,
    corners: usize,
}

impl Parser<'_> {
    fn error(&self, what: &str) -> TextError {
        let at = self.text.len() - self.rest.trim_start().len();
        let column = self.text[..at].chars().count() + 1;
        let shown: String = self.text.chars().take(60).collect();
        TextError {
            message: format!("'{shown}' is no well-known text: {what}, at character {column}"),
        }
    }

    fn take(&mut self, wanted: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), TextError> {
        match self.take(wanted) {
            true => Ok(()),
            false => Err(self.error(&format!("'{wanted}' is missing"))),
        }
    }

    fn word(&mut self) -> String {
        let rest = self.rest.trim_start();
        let end = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        self.rest = &rest[end..];
        rest[..end].to_ascii_uppercase()
    }

    fn number(&mut self) -> Result<f64, TextError> {
        let rest = self.rest.trim_start();
        let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let number = rest[..end]
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite());
        let number = number.ok_or_else(|| self.error("a number is missing"))?;
        self.rest = &rest[end..];
        Ok(number)
    }

    fn coordinate(&mut self) -> Result<Coordinate, TextError> {
        let (longitude, latitude) = (self.number()?, self.number()?);
        self.at(latitude, longitude)
    }

    fn at(&mut self, latitude: f64, longitude: f64) -> Result<Coordinate, TextError> {
        self.corners += 1;
        if self.corners > CORNERS_MAX {
            return Err(self.error(&format!("more than {CORNERS_MAX} corners")));
        }
        Coordinate::new(latitude, longitude)
            .ok_or_else(|| self.error("this lies outside the earth (longitude comes first)"))
    }

    fn shape(&mut self, depth: usize) -> Result<Shape, TextError> {
        if depth > DEPTH_MAX {
            return Err(self.error("collections are nested too deep"));
        }
        let word = self.word();
        match word.as_str() {
            "POINT" => {
                self.expect('(')?;
                let at = self.coordinate()?;
                self.expect(')')?;
                Ok(Shape::Point(at))
            }
            "LINESTRING" => self.short_line(),
            "POLYGON" => self.polygon(),
            "MULTIPOINT" => self.group(|parser| {
                let is_wrapped = parser.take('(');
                let at = parser.coordinate()?;
                if is_wrapped {
                    parser.expect(')')?;
                }
                Ok(Shape::Point(at))
            }),
            "MULTILINESTRING" => self.group(Parser::short_line),
            "MULTIPOLYGON" => self.group(Parser::polygon),
            "GEOMETRYCOLLECTION" => self.group(|parser| parser.shape(depth + 1)),
            "ENVELOPE" => self.envelope(),
            "CIRCLE" => self.circle(),
            _ => Err(self.error("the name of a shape is missing before this")),
        }
    }

    fn group(
        &mut self,
        mut part: impl FnMut(&mut Self) -> Result<Shape, TextError>,
    ) -> Result<Shape, TextError> {
        self.expect('(')?;
        let mut shapes = Vec::new();
        loop {
            shapes.push(part(self)?);
            if !self.take(',') {
                break;
            }
        }
        self.expect(')')?;
        Ok(Shape::Group(shapes))
    }

    fn line(&mut self) -> Result<Vec<Coordinate>, TextError> {
        self.expect('(')?;
        let mut line = Vec::new();
        loop {
            line.push(self.coordinate()?);
            if !self.take(',') {
                break;
            }
        }
        self.expect(')')?;
        match line.len() {
            0 | 1 => Err(self.error("a line needs two corners")),
            _ => Ok(line),
        }
    }

    /// A line that takes the short way around the earth from corner to corner.
    fn short_line(&mut self) -> Result<Shape, TextError> {
        let line = self.line()?;
        Ok(Shape::Line(unrolled(&line).unwrap_or(line)))
    }

    fn polygon(&mut self) -> Result<Shape, TextError> {
        self.expect('(')?;
        let mut rings: Vec<Vec<Coordinate>> = Vec::new();
        loop {
            let ring = self.line()?;
            if ring.len() < 4 || ring.first() != ring.last() {
                return Err(self.error("a ring ends where it begins, and has four corners or more"));
            }
            rings.push(match rings.first() {
                Some(outer) => hole_in(outer, ring),
                None => unrolled(&ring)
                    .filter(|unrolled| unrolled.first() == unrolled.last())
                    .unwrap_or(ring),
            });
            if !self.take(',') {
                break;
            }
        }
        self.expect(')')?;
        Ok(Shape::Polygon(rings))
    }

    /// ENVELOPE (west, east, north, south).
    fn envelope(&mut self) -> Result<Shape, TextError> {
        self.expect('(')?;
        let mut numbers = [0.0; 4];
        for (position, number) in numbers.iter_mut().enumerate() {
            if position > 0 {
                self.expect(',')?;
            }
            *number = self.number()?;
        }
        self.expect(')')?;
        let [west, east, north, south] = numbers;
        self.box_of(west, east, north, south)
    }

    fn box_of(&mut self, west: f64, east: f64, north: f64, south: f64) -> Result<Shape, TextError> {
        // Both ends are checked as written; a box across the date line ends beyond it.
        let turn = if west > east { 360.0 } else { 0.0 };
        let corners = [
            (south, west),
            (south, east),
            (north, east),
            (north, west),
            (south, west),
        ];
        let ring = corners.into_iter().map(|(latitude, longitude)| {
            let at = self.at(latitude, longitude)?;
            Ok(at.turned(if longitude == east { turn } else { 0.0 }))
        });
        Ok(Shape::Polygon(vec![ring.collect::<Result<_, _>>()?]))
    }

    /// West, south, east, north.
    fn bare_box(&mut self) -> Result<Shape, TextError> {
        let (west, south) = (self.number()?, self.number()?);
        let (east, north) = (self.number()?, self.number()?);
        self.box_of(west, east, north, south)
    }

    /// CIRCLE (x y d=radius).
    fn circle(&mut self) -> Result<Shape, TextError> {
        self.expect('(')?;
        let center = self.coordinate()?;
        if self.word() != "D" || !self.take('=') {
            return Err(self.error("a circle is written CIRCLE(x y d=radius)"));
        }
        let radius_km = self.number()? * self.unit_km;
        self.expect(')')?;
        match radius_km >= 0.0 {
            true => Ok(Shape::Circle { center, radius_km }),
            false => Err(self.error("a radius is not negative")),
        }
    }
}

/// The corners without a jump at the date line, which edges longer than half a turn cross; they may
/// end beyond it. `None` when no edge does. Edges from one side of the map to the other are meant.
fn unrolled(line: &[Coordinate]) -> Option<Vec<Coordinate>> {
    let mut turn = 0.0;
    let mut before = *line.first()?;
    let mut corners = Vec::with_capacity(line.len());
    for &at in line {
        let step = at.longitude - before.longitude;
        if step.abs() > 180.0 && step.abs() < 360.0 {
            turn -= 360.0_f64.copysign(step);
        }
        corners.push(at.turned(turn));
        before = at;
    }
    (corners != line).then_some(corners)
}

/// A hole, brought to the turn of the ring around it.
fn hole_in(outer: &[Coordinate], ring: Vec<Coordinate>) -> Vec<Coordinate> {
    let ring = unrolled(&ring).unwrap_or(ring);
    let longitudes = |ring: &[Coordinate]| {
        ring.iter().fold((f64::MAX, f64::MIN), |(west, east), at| {
            (west.min(at.longitude), east.max(at.longitude))
        })
    };
    let (west, east) = longitudes(outer);
    let (first, last) = longitudes(&ring);
    let is_in = |turn: &f64| first + turn >= west && last + turn <= east;
    match [0.0, 360.0, -360.0].iter().find(|turn| is_in(turn)) {
        Some(turn) => ring.iter().map(|at| at.turned(*turn)).collect(),
        None => ring,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_shape_is_refused_with_its_place() {
        for (text, part) in [
            ("", "a number is missing, at character 1"),
            ("POINT", "'(' is missing"),
            ("POINT (1)", "a number is missing, at character 9"),
            ("POINT (1 2) x", "goes on behind its end"),
            ("POINT (0 91)", "outside the earth"),
            ("POINT (181 0)", "outside the earth"),
            ("LINESTRING (0 0, -180.5 0)", "outside the earth"),
            ("ENVELOPE (170, 190, 5, -5)", "outside the earth"),
            ("POINT (NaN 1)", "a number is missing"),
            ("POLYGON ((0 0, 1 1, 0 0))", "four corners or more"),
            ("CIRCLE (1 2 3)", "a circle is written"),
            ("BLOB (1 2)", "the name of a shape"),
            ("LINESTRING (1 2)", "a line needs two corners"),
        ] {
            let error = Shape::parse(text, 1.0).unwrap_err();
            assert!(error.message.contains(part), "{text}: {error}");
        }
        let deep = "GEOMETRYCOLLECTION(".repeat(100);
        assert!(Shape::parse(&deep, 1.0).is_err());
        assert!(Shape::parse("2 2 4 4", 1.0).is_ok());
        assert_eq!(
            Shape::parse("Circle(1 2 d=3)", 2.0).unwrap(),
            Shape::Circle {
                center: Coordinate {
                    latitude: 2.0,
                    longitude: 1.0
                },
                radius_km: 6.0
            }
        );
    }
}
