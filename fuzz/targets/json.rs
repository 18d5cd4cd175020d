//! JSON text to documents and back: no panic, and what was accepted is written as JSON that gives
//! the same document again.
#![no_main]

use jackdaw_document::{DocumentBuf, Limits};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let limits = Limits::default();
    let Ok(document) = DocumentBuf::from_json(text, &limits) else {
        return;
    };
    let mut written = Vec::new();
    document.root().write_json(&mut written);
    let again = DocumentBuf::from_json(&written, &limits).expect("what we write can be read");
    assert_eq!(document.as_bytes(), again.as_bytes());
});
