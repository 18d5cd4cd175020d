//! Binds `order by`: fields without alias, the methods that order, defaults filled in.
//!
//! Called by `query`.

use jackdaw_base::hash::xxh3_64;

use super::condition::Binder;
use crate::error::QueryError;
use crate::fields::FieldPath;
use crate::order::{Custom, OrderKey, OrderSource};
use crate::syntax::{Argument, Call, Direction, Expression, NullsPlace, OrderItem, Ordering};

pub(super) fn bind_order<'q, 'p: 'q>(
    binder: &Binder<'q, 'p>,
    items: &'q [OrderItem],
) -> Result<Vec<OrderKey>, QueryError> {
    let mut keys: Vec<OrderKey> = Vec::with_capacity(items.len());
    for item in items {
        let source = match &item.expression {
            Expression::Path(path) => OrderSource::Field(FieldPath::new(path, binder.alias)),
            Expression::Call(call) if call.is("spatial.distance") => {
                let slot = keys.iter().filter(|key| is_distance(key)).count();
                OrderSource::Distance(binder.distance(call, slot)?)
            }
            Expression::Call(call) => bind_method(binder, call)?,
            other => {
                return Err(QueryError::invalid(format!("Unable to order by: {other}")));
            }
        };
        let descending = item.direction == Some(Direction::Descending);
        let is_distance = matches!(source, OrderSource::Distance(_));
        keys.push(OrderKey {
            source,
            ordering: item.ordering.unwrap_or(Ordering::String),
            descending,
            nulls_first: match item.nulls {
                Some(place) => place == NullsPlace::First,
                // What is nowhere is far away, whichever end is asked for.
                None => !descending && !is_distance,
            },
        });
    }
    Ok(keys)
}

fn is_distance(key: &OrderKey) -> bool {
    matches!(key.source, OrderSource::Distance(_))
}

fn bind_method(binder: &Binder<'_, '_>, call: &Call) -> Result<OrderSource, QueryError> {
    let is = |name: &str| call.is(name);
    if is("id") {
        binder.check_id_argument(call)?;
        return Ok(OrderSource::Id);
    }
    if is("score") {
        return match call.arguments.is_empty() {
            true => Ok(OrderSource::Score),
            false => Err(QueryError::invalid("score() takes no arguments")),
        };
    }
    if is("random") {
        let seed = match call.arguments.as_slice() {
            [] => None,
            [Argument::Expression(Expression::Value(value))] => Some(xxh3_64(
                binder.parameters.resolve(value)?.shown().as_bytes(),
                0,
            )),
            _ => return Err(QueryError::invalid("random() takes one seed or nothing")),
        };
        return Ok(OrderSource::Random(seed));
    }
    if is("custom") {
        let [Argument::Expression(Expression::Path(path)), _] = call.arguments.as_slice() else {
            return Err(QueryError::invalid(
                "custom() takes a field and the name of a sorter",
            ));
        };
        let name = binder.text_argument(call, 1)?;
        let name =
            name.ok_or_else(|| QueryError::invalid("custom() needs the name of a sorter"))?;
        return Ok(OrderSource::Custom(Custom {
            field: FieldPath::new(path, binder.alias),
            is_named: false,
            name,
        }));
    }
    Err(QueryError::invalid(format!(
        "Invalid ORDER BY method call {}",
        call.name
    )))
}
