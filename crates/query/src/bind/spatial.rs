//! Binds what is about places: fields of points and shapes, shapes, distances.
//!
//! Called by `method` for conditions and by `order`.
//!
//! Fields are `spatial.point(latitude, longitude)` and `spatial.wkt(path)`; in a named index a
//! field of its definition. Shapes are `spatial.circle(radius, latitude, longitude [, units])`,
//! `spatial.wkt(text [, units])` and `spatial.point(latitude, longitude)`; units are those of the
//! field in the named index, else kilometers.

use jackdaw_search::{Coordinate, Relation, Shape};

use super::condition::Binder;
use crate::error::QueryError;
use crate::fields::{FieldKind, FieldPath, IndexField};
use crate::order::{Distance, Measure};
use crate::parameters::Resolved;
use crate::predicate::{Field, PlaceTest, Predicate, Test};
use crate::syntax::{Argument, Call, Expression, Path, Value};

/// Kilometers in a mile.
const MILE_KM: f64 = 1.609_344;

impl<'q, 'p: 'q> Binder<'q, 'p> {
    /// `spatial.within(field, shape [, error])` and its like. Answers are exact whatever error is
    /// allowed.
    pub(super) fn spatial(
        &self,
        call: &'q Call,
        relation: Relation,
    ) -> Result<Predicate, QueryError> {
        self.check_arguments(call, 2, 3)?;
        let field = self.place_field(call)?;
        let measure = self.measure(&field);
        let shape = self.shape(call, 1, measure)?;
        if measure == Measure::Plane && matches!(shape, Shape::Circle { .. }) {
            return Err(QueryError::not_executed(
                &format!("A circle around the Cartesian field '{}'", field.path),
                "Write a polygon, or make the field one of Geography.",
            ));
        }
        Ok(Predicate::Test(
            Field::Values(field),
            Test::Place(PlaceTest { shape, relation }),
        ))
    }

    /// `spatial.distance(field, point [, round])`.
    pub(super) fn distance(&self, call: &'q Call, slot: usize) -> Result<Distance, QueryError> {
        self.check_arguments(call, 2, 3)?;
        // Clients without a wish for rounding send null.
        let is_rounded = call.arguments.len() == 3
            && !matches!(self.value_argument(call, 2), Ok(Resolved::Null));
        let round = match is_rounded {
            true => self.number_argument(call, 2)?,
            false => 0.0,
        };
        let field = self.place_field(call)?;
        let measure = self.measure(&field);
        Ok(Distance {
            from: self.shape(call, 1, measure)?.middle(),
            field,
            measure,
            round,
            slot,
        })
    }

    /// What the field's distances are measured in.
    fn measure(&self, field: &IndexField) -> Measure {
        let schema = self.schema.filter(|_| self.is_named);
        schema.map_or_else(Measure::default, |schema| {
            schema.measure(field.path.as_str())
        })
    }

    /// The first argument.
    fn place_field(&self, call: &'q Call) -> Result<IndexField, QueryError> {
        let wrong = || {
            QueryError::invalid(format!(
                "The first argument of {}() is spatial.point(Latitude, Longitude), \
                 spatial.wkt(Shape) or a field of a named index, but got: {call}",
                call.name
            ))
        };
        let path = |call: &'q Call, position: usize| match call.arguments.get(position) {
            Some(Argument::Expression(Expression::Path(path))) => {
                Ok(FieldPath::new(path, self.alias))
            }
            _ => Err(wrong()),
        };
        match call.arguments.first() {
            Some(Argument::Expression(Expression::Call(inner))) if inner.is("spatial.point") => {
                self.check_arguments(inner, 2, 2)?;
                Ok(IndexField {
                    path: path(inner, 0)?,
                    kind: FieldKind::Point(path(inner, 1)?),
                })
            }
            Some(Argument::Expression(Expression::Call(inner))) if inner.is("spatial.wkt") => {
                self.check_arguments(inner, 1, 1)?;
                Ok(IndexField {
                    path: path(inner, 0)?,
                    kind: FieldKind::Shape,
                })
            }
            Some(Argument::Expression(Expression::Value(Value::String(text))))
                if !self.is_named =>
            {
                self.quoted_place(text).ok_or_else(wrong)
            }
            Some(Argument::Expression(Expression::Path(path))) if self.is_named => {
                Ok(IndexField::plain(FieldPath::new(path, self.alias)))
            }
            Some(Argument::Expression(Expression::Value(value))) if self.is_named => {
                match self.parameters.resolve(value)? {
                    Resolved::Text(name) => {
                        let path = Path::name(name.into_owned());
                        Ok(IndexField::plain(FieldPath::new(&path, self.alias)))
                    }
                    _ => Err(wrong()),
                }
            }
            _ => Err(wrong()),
        }
    }

    /// `'spatial.point(Latitude, Longitude)'` in quotes, as clients write it in `order by`.
    fn quoted_place(&self, text: &str) -> Option<IndexField> {
        let (method, rest) = text.trim().split_once('(')?;
        let arguments = rest.strip_suffix(')')?.split(',');
        let paths: Vec<FieldPath> = arguments.map(|path| self.text_path(path.trim())).collect();
        match (
            method.trim().to_ascii_lowercase().as_str(),
            paths.as_slice(),
        ) {
            ("spatial.point", [latitude, longitude]) => Some(IndexField {
                path: latitude.clone(),
                kind: FieldKind::Point(longitude.clone()),
            }),
            ("spatial.wkt", [path]) => Some(IndexField {
                path: path.clone(),
                kind: FieldKind::Shape,
            }),
            _ => None,
        }
    }

    /// A path in a text, without the alias.
    fn text_path(&self, text: &str) -> FieldPath {
        let behind = |alias: &str| text.strip_prefix(alias)?.strip_prefix('.');
        FieldPath::parse(self.alias.and_then(behind).unwrap_or(text))
    }

    fn shape(
        &self,
        call: &'q Call,
        position: usize,
        measure: Measure,
    ) -> Result<Shape, QueryError> {
        let Some(Argument::Expression(Expression::Call(shape))) = call.arguments.get(position)
        else {
            return Err(QueryError::invalid(format!(
                "Argument {} of {}() is a shape: spatial.circle(...), spatial.wkt(...) or \
                 spatial.point(...), but got: {call}",
                position + 1,
                call.name
            )));
        };
        if shape.is("spatial.circle") {
            self.check_arguments(shape, 3, 4)?;
            let radius = self.number_argument(shape, 0)?;
            let center = self.coordinate(shape, 1)?;
            let radius_km = radius * self.unit_km(shape, 3, measure)?;
            return Ok(Shape::Circle { center, radius_km });
        }
        if shape.is("spatial.wkt") {
            self.check_arguments(shape, 1, 2)?;
            let unit_km = self.unit_km(shape, 1, measure)?;
            let text = self.text_argument(shape, 0)?.unwrap_or_default();
            return Shape::parse(&text, unit_km)
                .map_err(|error| QueryError::invalid(format!("{error}, in: {shape}")));
        }
        if shape.is("spatial.point") {
            self.check_arguments(shape, 2, 2)?;
            return self.coordinate(shape, 0).map(Shape::Point);
        }
        Err(QueryError::invalid(format!(
            "{}() is no shape: write spatial.circle(...), spatial.wkt(...) or spatial.point(...)",
            shape.name
        )))
    }

    /// Latitude and longitude at two arguments.
    fn coordinate(&self, call: &'q Call, position: usize) -> Result<Coordinate, QueryError> {
        let degrees = |position: usize| {
            let value = self.value_argument(call, position)?;
            match &value {
                Resolved::Number(number) => Ok(number.to_f64()),
                _ => Err(QueryError::invalid(format!(
                    "Argument {} of {}() is a number of degrees, but got the {}: {}",
                    position + 1,
                    call.name,
                    value.type_name(),
                    value.shown()
                ))),
            }
        };
        let (latitude, longitude) = (degrees(position)?, degrees(position + 1)?);
        // Documents may count further around the earth, conditions may not.
        let at = Coordinate::new(latitude, longitude);
        at.filter(|_| (-180.0..=180.0).contains(&longitude)).ok_or_else(|| {
            QueryError::invalid(format!(
                "Latitudes lie between -90 and 90, longitudes between -180 and 180 (the latitude \
                 comes first), in: {call}"
            ))
        })
    }

    /// Kilometers of the unit named by an argument that may be missing.
    fn unit_km(
        &self,
        call: &'q Call,
        position: usize,
        measure: Measure,
    ) -> Result<f64, QueryError> {
        if call.arguments.len() <= position {
            return Ok(match measure {
                Measure::Miles => MILE_KM,
                Measure::Kilometers | Measure::Plane => 1.0,
            });
        }
        let name = match call.arguments.get(position) {
            Some(Argument::Expression(Expression::Path(path))) => {
                path.as_name().unwrap_or_default().to_owned()
            }
            _ => self.text_argument(call, position)?.unwrap_or_default(),
        };
        match name.to_ascii_lowercase().as_str() {
            "kilometers" => Ok(1.0),
            "miles" => Ok(MILE_KM),
            _ => Err(QueryError::invalid(format!(
                "Distances are in 'Kilometers' or 'Miles', but got '{name}', in: {call}"
            ))),
        }
    }
}
