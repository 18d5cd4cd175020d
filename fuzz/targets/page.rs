//! Arbitrary bytes as pages of a tree: refused by validation, or safe to search, walk and verify.
#![no_main]

use jackdaw_storage::page::validate;
use jackdaw_storage::{
    Damage, DamageKind, PAGE_BYTES, Page, PageNumber, PageRead, StorageError, Tree, TreeRoot,
};
use libfuzzer_sys::fuzz_target;

/// Entries visited at most: pages may name each other as children, so a walk need not end soon.
const STEPS_MAX: usize = 10_000;
const DEPTH: u8 = 2;

/// Pages 1 and following, validated at every access as the environment does at the first.
struct Pages(Vec<Box<Page>>);

impl PageRead for Pages {
    fn page(&self, number: PageNumber) -> Result<&Page, StorageError> {
        let at = usize::try_from(number.0)
            .ok()
            .and_then(|n| n.checked_sub(1));
        let page = at
            .and_then(|at| self.0.get(at))
            .ok_or_else(|| missing(number))?;
        validate(page)?;
        Ok(page)
    }

    fn run(&self, number: PageNumber, pages: u32) -> Result<&[u8], StorageError> {
        match pages {
            1 => Ok(&self.page(number)?.bytes()[..]),
            _ => Err(missing(number)),
        }
    }
}

fn missing(number: PageNumber) -> StorageError {
    let what = DamageKind::Encoding {
        what: "a page number",
    };
    Damage::on_page(number, what).into()
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&key_byte, content)) = bytes.split_first() else {
        return;
    };
    let chunks = content.chunks(PAGE_BYTES).take(usize::from(DEPTH) + 1);
    let pages: Vec<Box<Page>> = chunks
        .zip(1_u64..)
        .map(|(chunk, number)| {
            let mut page = Page::zeroed();
            page.bytes_mut()[..chunk.len()].copy_from_slice(chunk);
            page.header_mut().page_number = number.into();
            page
        })
        .collect();
    let depth = DEPTH.min(u8::try_from(pages.len()).unwrap_or(DEPTH)).max(1);
    let pages = Pages(pages);
    let Ok(root) = TreeRoot::decode(&root_bytes(depth)) else {
        return;
    };
    let tree = Tree::new(&pages, root);
    let _ = tree.get(&[key_byte]);
    let _ = tree.last();
    if let Ok(entries) = tree.iter() {
        let _ = entries.take(STEPS_MAX).take_while(Result::is_ok).count();
    }
    if depth == 1 {
        let _ = tree.verify();
    }
});

/// A stored root: page 1, one entry, an ordinary tree.
fn root_bytes(depth: u8) -> [u8; 40] {
    let mut bytes = [0; 40];
    bytes[0] = 1;
    bytes[8] = 1;
    bytes[16] = 1;
    bytes[17] = depth;
    bytes[24] = 1;
    bytes
}
