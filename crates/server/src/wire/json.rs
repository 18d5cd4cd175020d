//! Pieces of JSON text for answers that are written by hand, row by row.
//!
//! Document bodies are written by the `document` crate; what surrounds them is written with these
//! few functions, so that no answer is built as a tree first.

/// Appends `text` as a JSON string. Characters below U+0020 are escaped, others are kept.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("writing a string to memory cannot fail");
}

/// Appends a comma unless `first`, which it clears.
pub(crate) fn separate(out: &mut Vec<u8>, first: &mut bool) {
    if !std::mem::take(first) {
        out.push(b',');
    }
}

/// Ends a list or object.
pub(crate) fn end_list(out: &mut Vec<u8>, closing: &str) {
    out.extend_from_slice(closing.as_bytes());
}
