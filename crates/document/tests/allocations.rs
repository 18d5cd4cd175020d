//! Proves that documents after the first are parsed, built and read without touching the heap: a
//! counting global allocator sees no call.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use jackdaw_document::{Builder, Document, Parser, Path, Value};

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

/// Calls of the allocator while `work` runs on this thread.
fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.with(Cell::get);
    work();
    ALLOCATIONS.with(Cell::get) - before
}

fn album(i: u32) -> String {
    let track = format!(r#"{{"Title":"Tr\u00e4ck {i}","Seconds":{i},"Price":{i}.25}}"#);
    format!(r#"{{"Artist":"A {i}","Year":{i},"Tracks":[{track},{track}],"@metadata":{{"x":{i}}}}}"#)
}

#[test]
fn documents_after_the_first_are_parsed_without_allocating() {
    let texts: Vec<String> = (1..200).map(album).collect();
    let mut parser = Parser::default();
    let mut parse_all = || {
        for text in &texts {
            assert!(parser.parse(text.as_bytes()).is_ok());
            assert!(parser.parse_split(text.as_bytes()).is_ok());
        }
    };
    parse_all();
    assert_eq!(allocations(parse_all), 0);
}

#[test]
fn documents_after_the_first_are_built_without_allocating() {
    let mut builder = Builder::new();
    let mut build = || {
        builder
            .clear()
            .begin_object()
            .key("Artist")
            .string("Sigur")
            .key("Tracks")
            .begin_array();
        builder
            .string("one")
            .long(2)
            .double(2.5)
            .end_array()
            .end_object();
        assert!(builder.finish_borrowed().is_ok());
    };
    build();
    assert_eq!(allocations(build), 0);
}

#[test]
fn reading_does_not_allocate() {
    let mut parser = Parser::default();
    let text = album(7);
    let bytes = parser
        .parse(text.as_bytes())
        .map(|d| d.as_bytes().to_vec())
        .expect("valid JSON");
    let path = Path::parse("Tracks[].Seconds").expect("a valid path");
    let read = || {
        let root = Document::trusted(&bytes).root();
        assert_eq!(root.get("Year").and_then(|year| year.as_i64()), Some(7));
        assert_eq!(
            path.values(root).filter_map(|v| v.as_i64()).sum::<i64>(),
            14
        );
        assert!(
            root.get("Artist")
                .is_some_and(|artist| artist > Value::Long(7))
        );
    };
    assert_eq!(allocations(read), 0);
}
