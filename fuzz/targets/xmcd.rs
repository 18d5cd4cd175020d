//! A file of a CD archive: no panic, whatever the bytes.
#![no_main]

use jackdaw_transfer::xmcd::XmcdParser;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut parser = XmcdParser::default();
    if let Ok(album) = parser.parse(bytes) {
        let _ = album.disc_ids().count() + album.tracks().count();
    }
});
