//! Query text: no panic, and what was accepted is printed as text that parses to the same query.
#![no_main]

use jackdaw_query::syntax;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for parse in [syntax::parse, syntax::parse_patch] {
        let Ok(query) = parse(text) else { continue };
        let printed = query.to_string();
        let again = parse(&printed).expect("what we print can be parsed");
        assert_eq!(printed, again.to_string());
    }
});
