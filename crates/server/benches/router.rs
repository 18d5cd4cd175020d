//! Time and allocations of one route match, beside `matchit`, which axum routes with.
//!
//! `cargo xtask bench router` runs it. The table is that of the reference, 582 methods and paths;
//! both routers are asked in turn, round by round, and medians over the rounds are shown. `matchit`
//! knows no methods and tells letter case apart, so it has less to do: each pattern stands there
//! for all its methods, and it is asked in the case of the table.
//!
//! The goal: a median match of the table within 50 ns, without touching the heap, and no slower
//! than `matchit`.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::time::Instant;

use jackdaw_server::router::{Route, Router, Verb, Verbs};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to `System` unchanged; counting touches a thread-local integer.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`, which is the same for `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System` through `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const TABLE: &str = include_str!("../tests/data/routes.txt");
/// Matches of one path in one round: a few hundred microseconds.
const MATCHES: usize = 4_000;
const ROUNDS: usize = 101;
/// Nanoseconds of the goal.
const GOAL_NANOS: f64 = 50.0;

fn rows() -> Vec<(Vec<Verb>, &'static str)> {
    let row = |line: &'static str| {
        let (verbs, pattern) = line
            .split_once(' ')
            .expect("a row is methods, space, pattern");
        (verbs.split(',').filter_map(Verb::parse).collect(), pattern)
    };
    TABLE.lines().map(row).collect()
}

fn jackdaw() -> Router<()> {
    let route = |(verbs, pattern): (Vec<Verb>, &'static str)| Route {
        verbs: Verbs::of(&verbs),
        pattern,
        summary: "",
        target: (),
    };
    Router::new(rows().into_iter().map(route).collect()).expect("the table is well formed")
}

fn matchit() -> matchit::Router<()> {
    let mut router = matchit::Router::new();
    let mut patterns: Vec<&str> = rows().into_iter().map(|(_, pattern)| pattern).collect();
    patterns.sort_unstable();
    patterns.dedup();
    for pattern in patterns {
        let part = |(depth, part): (usize, &str)| match part {
            "*" => format!("{{p{depth}}}"),
            "$" => "{*rest}".to_owned(),
            literal => literal.to_ascii_lowercase(),
        };
        let parts: Vec<String> = pattern.split('/').enumerate().map(part).collect();
        router.insert(parts.join("/"), ()).expect("patterns differ");
    }
    router
}

/// What one router needs for one thing that it is asked.
#[derive(Default)]
struct Measured {
    nanos: Vec<f64>,
    allocations: usize,
}

impl Measured {
    fn round(&mut self, matches: usize, work: impl Fn()) {
        let before = ALLOCATIONS.with(Cell::get);
        let started = Instant::now();
        work();
        let nanos = started.elapsed().as_nanos();
        self.allocations += ALLOCATIONS.with(Cell::get) - before;
        self.nanos.push(nanos as f64 / matches as f64);
    }

    fn median(&mut self) -> f64 {
        self.nanos.sort_by(f64::total_cmp);
        self.nanos[self.nanos.len() / 2]
    }

    /// Lowest and highest tenth.
    fn spread(&mut self) -> (f64, f64) {
        self.nanos.sort_by(f64::total_cmp);
        let tenth = self.nanos.len() / 10;
        (self.nanos[tenth], self.nanos[self.nanos.len() - 1 - tenth])
    }

    fn allocations_of_match(&self, matches: usize) -> f64 {
        self.allocations as f64 / (matches * self.nanos.len()) as f64
    }
}

/// Asks both routers for the paths in turn and prints their line.
fn compare(name: &str, paths: &[(Verb, String)]) -> [f64; 3] {
    let (jackdaw, matchit) = (jackdaw(), matchit());
    let repeats = (MATCHES / paths.len()).max(1);
    let matches = repeats * paths.len();
    let (mut own, mut other) = (Measured::default(), Measured::default());
    for _ in 0..ROUNDS {
        own.round(matches, || {
            for _ in 0..repeats {
                for (verb, path) in paths {
                    let found = jackdaw.find(black_box(Some(*verb)), black_box(path));
                    black_box(found.is_ok());
                }
            }
        });
        other.round(matches, || {
            for _ in 0..repeats {
                for (_, path) in paths {
                    black_box(matchit.at(black_box(path)).is_ok());
                }
            }
        });
    }
    let (median, rival, spread) = (own.median(), other.median(), own.spread());
    let allocations = own.allocations_of_match(matches);
    println!(
        "| {name} | {median:.1} | {:.1} to {:.1} | {allocations} | {rival:.1} | {} | {:.2} |",
        spread.0,
        spread.1,
        other.allocations_of_match(matches),
        rival / median,
    );
    [median, allocations, rival]
}

fn main() {
    let paths = [
        (Verb::Get, "/databases/northwind/docs"),
        (Verb::Post, "/databases/northwind/queries"),
        (Verb::Post, "/databases/northwind/bulk_docs"),
        (
            Verb::Get,
            "/databases/northwind/operations/next-operation-id",
        ),
        (
            Verb::Put,
            "/databases/northwind/admin/tasks/pull-replication/hub/access",
        ),
        (Verb::Get, "/studio/assets/index-3f2a.js"),
        (Verb::Get, "/no/such/path"),
    ];
    println!("| path | ns | tenths | allocations | matchit, ns | allocations | times faster |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for (verb, path) in paths {
        let name = format!("{} `{path}`", verb.name());
        compare(&name, &[(verb, path.to_owned())]);
    }
    let path = |pattern: &str| {
        let path = pattern.to_ascii_lowercase();
        path.replace('*', "northwind").replace('$', "a/b.js")
    };
    let all: Vec<(Verb, String)> = rows()
        .iter()
        .flat_map(|(verbs, pattern)| verbs.iter().map(|verb| (*verb, path(pattern))))
        .collect();
    let name = format!("each of {} in turn", all.len());
    let [median, allocations, rival] = compare(&name, &all);
    let kept = |kept: bool| if kept { "kept" } else { "missed" };
    println!(
        "\nGoals: within {GOAL_NANOS} ns {}, no allocation {}, no slower than matchit {}.",
        kept(median <= GOAL_NANOS),
        kept(allocations <= 0.0),
        kept(median <= rival),
    );
}
