//! Unions, intersections and differences of sorted sets; plain sets take part with scores of 1.

use super::call::Call;
use super::sorted_ranges::keep;
use super::{Handler, Spec, row};
use crate::failure::{Failure, Outcome};
use crate::keyspace::Space;
use crate::value::{Edit, Object, SortedValue};

use Handler::Whole;

pub(super) const SPECS: &[Spec] = &[
    row(
        "zunion",
        -3,
        "r",
        (0, 0, 0),
        Whole(unite),
        "Members that any set has",
    ),
    row(
        "zinter",
        -3,
        "r",
        (0, 0, 0),
        Whole(intersect),
        "Members that all sets have",
    ),
    row(
        "zdiff",
        -3,
        "r",
        (0, 0, 0),
        Whole(subtract),
        "Members of the first set that no other has",
    ),
    row(
        "zunionstore",
        -4,
        "wm",
        (1, 1, 1),
        Whole(store_union),
        "Keeps the union",
    ),
    row(
        "zinterstore",
        -4,
        "wm",
        (1, 1, 1),
        Whole(store_intersection),
        "Keeps the intersection",
    ),
    row(
        "zdiffstore",
        -4,
        "wm",
        (1, 1, 1),
        Whole(store_difference),
        "Keeps the difference",
    ),
    row(
        "zintercard",
        -3,
        "r",
        (0, 0, 0),
        Whole(count_intersection),
        "How many members all sets have",
    ),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

#[derive(Clone, Copy)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn combine(self, a: f64, b: f64) -> f64 {
        match self {
            // Opposite infinities cancel out.
            Aggregate::Sum if (a + b).is_nan() => 0.0,
            Aggregate::Sum => a + b,
            Aggregate::Min => a.min(b),
            Aggregate::Max => a.max(b),
        }
    }
}

struct Query {
    sets: Vec<SortedValue>,
    aggregate: Aggregate,
    with_scores: bool,
}

/// Reads the sets, whose number stands at `position`, with weights applied.
fn query(
    call: &Call<'_>,
    space: &mut Space,
    position: usize,
    operation: Operation,
) -> Result<Query, Failure> {
    let keys = super::key_count(call, position)?;
    let is_store = position == 2;
    let mut weights = vec![1.0; keys];
    let mut aggregate = Aggregate::Sum;
    let mut with_scores = false;
    let mut at = position + 1 + keys;
    while at < call.len() {
        match call.lower(at).as_str() {
            "weights" if operation != Operation::Difference && at + keys < call.len() => {
                for weight in &mut weights {
                    at += 1;
                    let not_float = |_| Failure::other("weight value is not a float");
                    *weight = call.double(at).map_err(not_float)?;
                }
            }
            "aggregate" if operation != Operation::Difference && at + 1 < call.len() => {
                at += 1;
                aggregate = match call.lower(at).as_str() {
                    "sum" => Aggregate::Sum,
                    "min" => Aggregate::Min,
                    "max" => Aggregate::Max,
                    _ => return Err(Failure::Syntax),
                };
            }
            "withscores" if !is_store => with_scores = true,
            _ => return Err(Failure::Syntax),
        }
        at += 1;
    }
    let sets = load(call, space, position, &weights)?;
    Ok(Query {
        sets,
        aggregate,
        with_scores,
    })
}

fn load(
    call: &Call<'_>,
    space: &mut Space,
    position: usize,
    weights: &[f64],
) -> Result<Vec<SortedValue>, Failure> {
    let mut sets = Vec::new();
    for (at, &weight) in (position + 1..).zip(weights) {
        let (shard, key) = call.shard_in(space, at);
        let mut result = SortedValue::default();
        let mut edit = Edit::default();
        let entry = shard.read(&key, call.now);
        match entry.map(|entry| entry.object_ref()) {
            None => {}
            Some(Some(Object::Sorted(set))) => {
                for (member, score) in set.iter() {
                    // Zero times infinity is zero here.
                    let weighted = score * weight;
                    let weighted = if weighted.is_nan() { 0.0 } else { weighted };
                    result.set(member, weighted, &mut edit);
                }
            }
            Some(Some(Object::Set(set))) => {
                for member in set.iter() {
                    result.set(member, weight, &mut edit);
                }
            }
            Some(_) => return Err(Failure::WrongType),
        }
        sets.push(result);
    }
    Ok(sets)
}

fn compute(query: &Query, operation: Operation, limit: usize) -> SortedValue {
    let mut edit = Edit::default();
    let mut result = SortedValue::default();
    let (first, others) = query.sets.split_first().expect("there is a key at least");
    match operation {
        Operation::Union => {
            for set in &query.sets {
                for (member, score) in set.iter() {
                    let old = result.score(member);
                    let score = old.map_or(score, |old| query.aggregate.combine(old, score));
                    result.set(member, score, &mut edit);
                }
            }
        }
        Operation::Intersection => {
            for (member, score) in first.iter() {
                if result.len() == limit {
                    break;
                }
                let combined = others.iter().try_fold(score, |sum, set| {
                    Some(query.aggregate.combine(sum, set.score(member)?))
                });
                if let Some(score) = combined {
                    result.set(member, score, &mut edit);
                }
            }
        }
        Operation::Difference => {
            for (member, score) in first.iter() {
                if others.iter().all(|set| set.score(member).is_none()) {
                    result.set(member, score, &mut edit);
                }
            }
        }
    }
    result
}

fn show(call: &mut Call<'_>, space: &mut Space, operation: Operation) -> Outcome {
    let query = query(call, space, 1, operation)?;
    let result = compute(&query, operation, usize::MAX);
    let is_nested = query.with_scores && call.out.is_resp3;
    let width = if query.with_scores && !is_nested {
        2
    } else {
        1
    };
    call.out.array(result.len() * width);
    for (score, member) in result.order().from(0, usize::MAX) {
        if is_nested {
            call.out.array(2);
        }
        call.out.bulk(member);
        if query.with_scores {
            call.out.double(score);
        }
    }
    Ok(())
}

fn store(call: &mut Call<'_>, space: &mut Space, operation: Operation) -> Outcome {
    let query = query(call, space, 2, operation)?;
    let result = compute(&query, operation, usize::MAX);
    keep(call, space, 1, result);
    Ok(())
}

fn unite(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    show(call, space, Operation::Union)
}

fn intersect(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    show(call, space, Operation::Intersection)
}

fn subtract(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    show(call, space, Operation::Difference)
}

fn store_union(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    store(call, space, Operation::Union)
}

fn store_intersection(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    store(call, space, Operation::Intersection)
}

fn store_difference(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    store(call, space, Operation::Difference)
}

fn count_intersection(call: &mut Call<'_>, space: &mut Space) -> Outcome {
    let keys = super::key_count(call, 1)?;
    let limit = super::cardinality_limit(call, 2 + keys)?;
    let sets = load(call, space, 1, &vec![1.0; keys])?;
    let query = Query {
        sets,
        aggregate: Aggregate::Sum,
        with_scores: false,
    };
    call.out
        .count(compute(&query, Operation::Intersection, limit).len());
    Ok(())
}
