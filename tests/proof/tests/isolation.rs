//! The checker of isolation accepts histories of a serial store and names each planted anomaly.

use std::collections::BTreeMap;

use jackdaw_proof::isolation::{Anomaly, History, Operation, Outcome, Transaction, check};
use jackdaw_sim::Rng;

fn append(key: u64, value: u64) -> Operation {
    Operation::Append { key, value }
}

fn read(key: u64, values: &[u64]) -> Operation {
    Operation::Read {
        key,
        values: values.to_vec(),
    }
}

/// Transactions that all overlap in time.
fn overlapping(all: &[&[Operation]]) -> Vec<Transaction> {
    all.iter()
        .map(|operations| Transaction {
            began: 0,
            ended: 100,
            operations: operations.to_vec(),
            outcome: Outcome::Committed,
        })
        .collect()
}

/// What is found, with the transactions spread over two clients.
fn named(transactions: &[Transaction]) -> Vec<Anomaly> {
    let mut histories = [History::default(), History::default()];
    for (at, transaction) in transactions.iter().enumerate() {
        histories[at % 2].push(transaction);
    }
    check(&histories).into_iter().collect()
}

#[test]
fn each_anomaly_is_named() {
    let cases: [(Anomaly, Vec<Transaction>); 9] = [
        (Anomaly::Phantom, overlapping(&[&[read(1, &[9])]])),
        (
            Anomaly::IncompatibleOrder,
            overlapping(&[
                &[append(1, 1)],
                &[append(1, 2)],
                &[read(1, &[1, 2])],
                &[read(1, &[2, 1])],
            ]),
        ),
        (
            Anomaly::Internal,
            overlapping(&[&[append(1, 1), read(1, &[])]]),
        ),
        (
            Anomaly::G0,
            overlapping(&[
                &[append(1, 1), append(2, 1)],
                &[append(1, 2), append(2, 2)],
                &[read(1, &[1, 2])],
                &[read(2, &[2, 1])],
            ]),
        ),
        (
            Anomaly::G1b,
            overlapping(&[&[append(1, 1), append(1, 2)], &[read(1, &[1])]]),
        ),
        (
            Anomaly::G1c,
            overlapping(&[
                &[append(1, 1), read(2, &[1])],
                &[append(2, 1), read(1, &[1])],
            ]),
        ),
        (
            Anomaly::LostUpdate,
            overlapping(&[
                &[read(1, &[]), append(1, 1)],
                &[read(1, &[]), append(1, 2)],
                &[read(1, &[1, 2])],
            ]),
        ),
        (
            Anomaly::GSingle,
            overlapping(&[
                &[append(1, 1), append(2, 1)],
                &[read(1, &[]), read(2, &[1])],
                &[read(1, &[1])],
            ]),
        ),
        (
            Anomaly::G2,
            overlapping(&[
                &[read(1, &[]), append(2, 1)],
                &[read(2, &[]), append(1, 1)],
                &[read(1, &[1]), read(2, &[1])],
            ]),
        ),
    ];
    for (anomaly, history) in cases {
        assert!(
            named(&history).contains(&anomaly),
            "{anomaly:?}: {:?}",
            named(&history)
        );
    }
}

#[test]
fn a_read_of_what_was_taken_back_is_named() {
    let mut history = overlapping(&[&[append(1, 1)], &[read(1, &[1])]]);
    history[0].outcome = Outcome::Aborted;
    assert!(named(&history).contains(&Anomaly::G1a));
}

#[test]
fn an_unknown_transaction_may_be_seen_or_not() {
    let mut history = overlapping(&[&[append(1, 1)], &[read(1, &[1])]]);
    history[0].outcome = Outcome::Unknown;
    assert_eq!(named(&history), []);
    history[1].operations = vec![read(1, &[])];
    assert_eq!(named(&history), []);
}

#[test]
fn a_read_of_the_past_is_named() {
    let mut history = overlapping(&[&[append(1, 1)], &[read(1, &[])], &[read(1, &[1])]]);
    history[0].ended = 10;
    history[1].began = 20;
    assert_eq!(named(&history), [Anomaly::Stale]);
}

/// What a store that runs one transaction after the other gives to clients.
fn serial_history(seed: u64, transactions: u64) -> Vec<Transaction> {
    let mut rng = Rng::new(seed);
    let mut lists: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut value = 0;
    (0..transactions)
        .map(|at| {
            let is_aborted = rng.chance(10);
            let before = lists.clone();
            let operations = (0..=rng.below(5))
                .map(|_| {
                    let key = rng.below(4);
                    let list = lists.entry(key).or_default();
                    if rng.chance(2) {
                        return read(key, list);
                    }
                    value += 1;
                    list.push(value);
                    append(key, value)
                })
                .collect();
            if is_aborted {
                lists = before;
            }
            Transaction {
                began: (10 * at).saturating_sub(rng.below(30)),
                ended: 10 * at + rng.below(30),
                operations,
                outcome: if is_aborted {
                    Outcome::Aborted
                } else {
                    Outcome::Committed
                },
            }
        })
        .collect()
}

#[test]
fn serial_histories_are_accepted() {
    for seed in 0..12 {
        let history = serial_history(seed, 300);
        assert_eq!(named(&history), [], "seed {seed}");
    }
}

/// A read without a number that another read of the same list has in its place.
#[test]
fn a_number_lost_in_a_read_is_named() {
    for seed in 0..1_000 {
        let mut history = serial_history(seed, 60);
        let mut reads: BTreeMap<u64, Vec<(usize, usize, usize)>> = BTreeMap::new();
        for (at, transaction) in history.iter().enumerate() {
            for (position, operation) in transaction.operations.iter().enumerate() {
                if let (Operation::Read { key, values }, Outcome::Committed) =
                    (operation, transaction.outcome)
                {
                    let of_key = reads.entry(*key).or_default();
                    of_key.push((values.len(), at, position));
                }
            }
        }
        let longest_but_one = reads.values_mut().find_map(|of_key| {
            of_key.sort_unstable();
            let &(len, at, position) = of_key.iter().rev().nth(1)?;
            (len > 2).then_some((len, at, position))
        });
        let (len, at, position) = longest_but_one.expect("long lists");
        if let Operation::Read { values, .. } = &mut history[at].operations[position] {
            values.remove(len - 2);
        }
        assert_ne!(named(&history), [], "seed {seed}");
    }
}
