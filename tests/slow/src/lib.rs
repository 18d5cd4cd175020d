//! What the programs and tests of the slow suite share: changes that follow from the number of a
//! transaction, so that any process knows what an environment should hold.
#![forbid(unsafe_code)]

pub mod cgroup;
pub mod feed;
pub mod linearizable;
pub mod process;
pub mod server;

use std::collections::BTreeMap;
use std::path::PathBuf;

const KEYS: u64 = 400;
const CHANGES: u64 = 8;

/// A key that is set, or deleted.
#[derive(Clone, Debug)]
pub struct Change {
    /// The key.
    pub key: Vec<u8>,
    /// Its value; `None` deletes it.
    pub value: Option<Vec<u8>>,
}

/// What transaction `number` does.
pub fn changes(number: u64) -> impl Iterator<Item = Change> {
    let last = Change {
        key: b"last".to_vec(),
        value: Some(number.to_be_bytes().to_vec()),
    };
    let others = (0..CHANGES).map(move |position| {
        let random = mix(number * CHANGES + position);
        let key = format!("key-{:03}", random % KEYS).into_bytes();
        // Some inside a page, some in a run of pages of their own.
        let len_bytes = [10, 100, 100, 1_000, 3_000, 30_000][(random >> 32) as usize % 6];
        let [.., kind, fill] = random.to_le_bytes();
        let value = (kind > u8::MAX / 5).then(|| vec![fill; len_bytes]);
        Change { key, value }
    });
    others.chain([last])
}

/// What an environment holds: values by key.
pub type Content = BTreeMap<Vec<u8>, Vec<u8>>;

/// Does to `content` what transaction `number` does.
pub fn apply(content: &mut Content, number: u64) {
    for change in changes(number) {
        match change.value {
            Some(value) => content.insert(change.key, value),
            None => content.remove(&change.key),
        };
    }
}

/// What an environment holds after transactions 1 to `number`.
pub fn content_after(number: u64) -> Content {
    let mut content = Content::new();
    (1..=number).for_each(|number| apply(&mut content, number));
    content
}

/// A directory of one test: removed when the test ends, kept when it fails.
pub struct TestDirectory(pub PathBuf);

impl TestDirectory {
    /// An empty one for the test called `name`, in the system's folder for temporary files.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(name: &str) -> std::io::Result<TestDirectory> {
        let name = format!("jackdaw-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path)?;
        Ok(TestDirectory(path))
    }

    /// Leaves it where it is, for somebody to look at.
    pub fn keep(mut self) {
        self.0 = PathBuf::new();
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// The finalizer of SplitMix64.
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
