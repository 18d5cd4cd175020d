//! The checker of isolation finds nothing exactly where some serial order explains a history.
//!
//! Small random histories, most of them spoiled in one or two places, are given to the checker and
//! to one that tries every order of the transactions.

use std::collections::BTreeMap;

use jackdaw_proof::isolation::{History, Operation, Outcome, Transaction, check};
use jackdaw_sim::Rng;

const HISTORIES: u64 = 6_000;
const KEYS: u64 = 2;

type Lists = BTreeMap<u64, Vec<u64>>;

/// Whether the transactions that are not `done` can follow one after the other.
fn has_order(history: &[Transaction], done: &mut [bool], lists: &Lists) -> bool {
    if done.iter().all(|is_done| *is_done) {
        return true;
    }
    (0..history.len()).any(|next| {
        let is_too_early = (0..history.len()).any(|other| {
            let is_ended = history[other].outcome == Outcome::Committed
                && history[other].ended < history[next].began;
            !done[other] && is_ended
        });
        if done[next] || is_too_early {
            return false;
        }
        let mut lists = lists.clone();
        if !carry_out(&history[next], &mut lists) {
            return false;
        }
        done[next] = true;
        let is_found = has_order(history, done, &lists);
        done[next] = false;
        is_found
    })
}

/// Appends its numbers, and says whether it sees what it saw. Nobody was told what a transaction
/// of unknown outcome saw.
fn carry_out(transaction: &Transaction, lists: &mut Lists) -> bool {
    transaction.operations.iter().all(|operation| {
        match operation {
            Operation::Append { key, value } => lists.entry(*key).or_default().push(*value),
            Operation::Read { key, values } => {
                let list = lists.get(key).map_or(&[][..], Vec::as_slice);
                return transaction.outcome == Outcome::Unknown || list == values.as_slice();
            }
        }
        true
    })
}

/// Tries every order, without those taken back, and with or without each of unknown outcome.
fn is_explained(history: &[Transaction]) -> bool {
    let unknown: Vec<usize> = (0..history.len())
        .filter(|&at| history[at].outcome == Outcome::Unknown)
        .collect();
    (0..1_u32 << unknown.len()).any(|choice| {
        let mut done: Vec<bool> = history
            .iter()
            .map(|transaction| transaction.outcome == Outcome::Aborted)
            .collect();
        for (bit, &at) in unknown.iter().enumerate() {
            done[at] = choice & 1 << bit == 0;
        }
        has_order(history, &mut done, &Lists::new())
    })
}

/// What a serial store gives to clients whose transactions overlap a little.
fn history(rng: &mut Rng) -> Vec<Transaction> {
    let mut lists = Lists::new();
    let mut value = 0;
    let count = rng.between(2, 6);
    let mut one = |at: u64| {
        let before = lists.clone();
        let operations = (0..=rng.below(3))
            .map(|_| {
                let key = rng.below(KEYS);
                let list = lists.entry(key).or_default();
                if rng.chance(2) {
                    let values = list.clone();
                    return Operation::Read { key, values };
                }
                value += 1;
                list.push(value);
                Operation::Append { key, value }
            })
            .collect();
        let outcome = match rng.below(8) {
            0 => Outcome::Aborted,
            1 => Outcome::Unknown,
            _ => Outcome::Committed,
        };
        let is_undone = outcome == Outcome::Unknown && rng.chance(2);
        if is_undone || outcome == Outcome::Aborted {
            lists = before;
        }
        Transaction {
            began: (10 * at).saturating_sub(rng.below(30)),
            ended: 10 * at + rng.below(30),
            operations,
            outcome,
        }
    };
    (0..count).map(&mut one).collect()
}

/// Changes something: it may still have an order then.
fn spoil(history: &mut [Transaction], rng: &mut Rng) {
    let at = rng.below_usize(history.len());
    let numbers: Vec<u64> = history
        .iter()
        .flat_map(|transaction| &transaction.operations)
        .filter_map(|operation| match operation {
            Operation::Append { value, .. } => Some(*value),
            Operation::Read { .. } => None,
        })
        .collect();
    let transaction = &mut history[at];
    match rng.below(8) {
        0 => transaction.outcome = *rng.pick(&[Outcome::Aborted, Outcome::Unknown]),
        1 => transaction.began = rng.below(60).min(transaction.ended),
        2 => transaction.ended = transaction.began + rng.below(60),
        3 => rng.shuffle(&mut transaction.operations),
        _ => {
            let reads = transaction.operations.iter_mut();
            let mut reads: Vec<&mut Vec<u64>> = reads
                .filter_map(|operation| match operation {
                    Operation::Read { values, .. } => Some(values),
                    Operation::Append { .. } => None,
                })
                .collect();
            if reads.is_empty() {
                return;
            }
            let slot = rng.below_usize(reads.len());
            let values = &mut *reads[slot];
            match rng.below(4) {
                0 => drop(values.pop()),
                1 if !numbers.is_empty() => values.push(*rng.pick(&numbers)),
                2 if !values.is_empty() => drop(values.remove(rng.below_usize(values.len()))),
                _ => rng.shuffle(values),
            }
        }
    }
}

#[test]
fn nothing_is_found_exactly_where_an_order_explains_it() {
    let (mut explained, mut spoiled) = (0, 0);
    for seed in 0..HISTORIES {
        let mut rng = Rng::new(seed);
        let mut transactions = history(&mut rng);
        for _ in 0..rng.below(4) {
            spoil(&mut transactions, &mut rng);
        }
        let mut clients = [History::default(), History::default()];
        for transaction in &transactions {
            clients[rng.below_usize(2)].push(transaction);
        }
        let found = check(&clients);
        let is_explained = is_explained(&transactions);
        assert_eq!(
            found.is_empty(),
            is_explained,
            "seed {seed}: {found:?} in {transactions:#?}"
        );
        match is_explained {
            true => explained += 1,
            false => spoiled += 1,
        }
    }
    assert!(explained.min(spoiled) > 1_000, "{explained} and {spoiled}");
}
