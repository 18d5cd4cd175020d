//! Proves that a table of 582 methods and paths, as large as the reference's, is matched row by
//! row, in any letter case, and that matching never touches the heap: a counting global allocator
//! sees no call between the first match and the last.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use jackdaw_server::router::{NoRoute, Route, Router, Verb, Verbs};

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

const TABLE: &str = include_str!("data/routes.txt");

fn rows() -> Vec<(Vec<Verb>, &'static str)> {
    let row = |line: &'static str| {
        let (verbs, pattern) = line.split_once(' ').expect("a row has a space");
        (
            verbs
                .split(',')
                .map(|verb| Verb::parse(verb).expect("a known method"))
                .collect(),
            pattern,
        )
    };
    TABLE.lines().map(row).collect()
}

fn router() -> Router<usize> {
    let routes = rows()
        .into_iter()
        .enumerate()
        .map(|(target, (verbs, pattern))| {
            let verbs = Verbs::of(&verbs);
            Route {
                verbs,
                pattern,
                summary: "",
                target,
            }
        });
    Router::new(routes.collect()).expect("the table is well formed")
}

fn path_for(pattern: &str) -> String {
    pattern
        .replace('*', "Northwind%20db")
        .replace('$', "assets/app.3f.js")
}

#[test]
fn every_row_is_found_in_any_letter_case() {
    let router = router();
    for (target, (verbs, pattern)) in rows().into_iter().enumerate() {
        let path = path_for(pattern);
        for spelled in [
            path.clone(),
            path.to_ascii_lowercase(),
            path.to_ascii_uppercase(),
        ] {
            for verb in Verb::ALL {
                match router.find(Some(verb), &spelled) {
                    Ok(found) if found.route.target == target => {
                        assert!(verbs.contains(&verb), "{} {spelled}", verb.name());
                        let captured = found.captures.get(&spelled, 0).unwrap_or("");
                        assert_eq!(captured.is_empty(), !pattern.contains(['*', '$']));
                    }
                    // A method the row does not accept may be one of a broader row's.
                    Ok(found) => {
                        assert!(!verbs.contains(&verb), "{} {spelled}", verb.name());
                        assert!(
                            found.route.pattern.ends_with('$'),
                            "{} {spelled}",
                            verb.name()
                        );
                    }
                    Err(missing) => {
                        assert!(!verbs.contains(&verb), "{} {spelled}", verb.name());
                        assert_eq!(missing, NoRoute::Verb);
                    }
                }
            }
        }
        let longer = router.find(Some(verbs[0]), &format!("{path}x"));
        let same = longer.is_ok_and(|found| found.route.target == target);
        assert_eq!(same, pattern.ends_with('$'), "{path}x");
    }
}

#[test]
fn matching_never_allocates() {
    let router = router();
    let mut paths: Vec<(Verb, String)> = Vec::new();
    for (verbs, pattern) in rows() {
        paths.extend(verbs.iter().map(|verb| (*verb, path_for(pattern))));
    }
    paths.push((Verb::Get, "/nowhere".to_owned()));
    paths.push((Verb::Reset, "/databases/x/docs".to_owned()));
    let before = ALLOCATIONS.with(Cell::get);
    let mut found = 0;
    for (verb, path) in &paths {
        if let Ok(route) = router.find(Some(*verb), path) {
            found += route
                .captures
                .get(path, 0)
                .map_or(1, |part| part.len().min(1));
        }
    }
    let allocations = ALLOCATIONS.with(Cell::get) - before;
    assert_eq!(found, 582);
    assert_eq!(allocations, 0);
}
