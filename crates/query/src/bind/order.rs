//! Binds `order by`: fields without alias, the methods that order, defaults filled in.
//!
//! Called by `query`. `score()` leaves no key: without boosting every document scores the same.

use jackdaw_base::hash::xxh3_64;

use super::condition::Binder;
use crate::error::QueryError;
use crate::fields::FieldPath;
use crate::order::{OrderKey, OrderSource};
use crate::syntax::{Argument, Call, Direction, Expression, NullsPlace, OrderItem, Ordering};

pub(super) fn bind_order(
    binder: &Binder<'_, '_>,
    items: &[OrderItem],
) -> Result<Vec<OrderKey>, QueryError> {
    let mut keys = Vec::with_capacity(items.len());
    for item in items {
        let source = match &item.expression {
            Expression::Path(path) => OrderSource::Field(FieldPath::new(path, binder.alias)),
            Expression::Call(call) => match bind_method(binder, call)? {
                Some(source) => source,
                // Without boosting every document has the same score.
                None => continue,
            },
            other => {
                return Err(QueryError::invalid(format!("Unable to order by: {other}")));
            }
        };
        let descending = item.direction == Some(Direction::Descending);
        keys.push(OrderKey {
            source,
            ordering: item.ordering.unwrap_or(Ordering::String),
            descending,
            nulls_first: match item.nulls {
                Some(place) => place == NullsPlace::First,
                None => !descending,
            },
        });
    }
    Ok(keys)
}

fn bind_method(binder: &Binder<'_, '_>, call: &Call) -> Result<Option<OrderSource>, QueryError> {
    let is = |name: &str| call.is(name);
    if is("id") {
        binder.check_id_argument(call)?;
        return Ok(Some(OrderSource::Id));
    }
    if is("score") {
        return Ok(None);
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
        return Ok(Some(OrderSource::Random(seed)));
    }
    if is("spatial.distance") || is("custom") {
        return Err(QueryError::not_executed(
            &format!("`order by {}(...)`", call.name),
            "",
        ));
    }
    Err(QueryError::invalid(format!(
        "Invalid ORDER BY method call {}",
        call.name
    )))
}
