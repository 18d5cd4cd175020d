//! Arbitrary bytes as a stored document: refused, or safe to walk whole.
#![no_main]

use jackdaw_document::Document;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(document) = Document::open(bytes) {
        let mut text = Vec::new();
        document.root().write_json(&mut text);
    }
});
