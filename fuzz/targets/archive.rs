//! A whole archive, packed or not: no panic, no endless loop, no memory beyond its limit.
#![no_main]

use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use jackdaw_transfer::archive::{TarItem, TarReader, open_stream};
use libfuzzer_sys::fuzz_target;

const FILE_BYTES_MAX: u64 = 1 << 20;

fuzz_target!(|bytes: Vec<u8>| {
    let file = Box::new(Cursor::new(bytes));
    let Ok(stream) = open_stream(file, Arc::new(AtomicU64::new(0)), 1) else {
        return;
    };
    let mut reader = TarReader::new(stream);
    let mut content = Vec::new();
    loop {
        content.clear();
        match reader.next_item(&mut content, FILE_BYTES_MAX) {
            Ok(TarItem::End) | Err(_) => return,
            Ok(_) => {}
        }
    }
});
