//! Time of one route match over a table of 582 methods and paths.
//!
//! `cargo bench -p jackdaw-server --bench router`. The target is under 100 ns for each path.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use jackdaw_server::router::{Route, Router, Verb, Verbs};

const TABLE: &str = include_str!("../tests/data/routes.txt");

fn router() -> Router<()> {
    let routes = TABLE.lines().map(|line| {
        let (verbs, pattern) = line
            .split_once(' ')
            .expect("a row is methods, space, pattern");
        let verbs: Vec<Verb> = verbs.split(',').filter_map(Verb::parse).collect();
        Route {
            verbs: Verbs::of(&verbs),
            pattern,
            summary: "",
            target: (),
        }
    });
    Router::new(routes.collect()).expect("the table is well formed")
}

fn matches(criterion: &mut Criterion) {
    let router = router();
    let paths = [
        (Verb::Get, "/databases/Northwind/docs"),
        (Verb::Post, "/databases/Northwind/queries"),
        (Verb::Post, "/databases/Northwind/bulk_docs"),
        (
            Verb::Get,
            "/databases/Northwind/operations/next-operation-id",
        ),
        (
            Verb::Put,
            "/databases/Northwind/admin/tasks/pull-replication/hub/access",
        ),
        (Verb::Get, "/studio/assets/index-3f2a.js"),
        (Verb::Get, "/no/such/path"),
    ];
    for (verb, path) in paths {
        criterion.bench_function(&format!("{} {path}", verb.name()), |bencher| {
            bencher.iter(|| router.find(black_box(Some(verb)), black_box(path)).is_ok());
        });
    }
    let all: Vec<(Verb, String)> = router
        .routes()
        .iter()
        .flat_map(|route| {
            let path = route
                .pattern
                .replace('*', "Northwind")
                .replace('$', "a/b.js");
            route.verbs.iter().map(move |verb| (verb, path.clone()))
        })
        .collect();
    criterion.bench_function(
        &format!("all {} routes, whole table", all.len()),
        |bencher| {
            bencher.iter(|| {
                all.iter()
                    .filter(|(verb, path)| router.find(Some(*verb), path).is_ok())
                    .count()
            });
        },
    );
}

criterion_group!(benches, matches);
criterion_main!(benches);
