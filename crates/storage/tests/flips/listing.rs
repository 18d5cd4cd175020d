//! Everything that an environment holds, as text: a line for each entry, long values by their hash.

use std::fmt::Write;

use jackdaw_base::hash::xxh3_64;
use jackdaw_storage::{ReadTransaction, StorageError, TreeKind};

/// Names, keys and values of all trees, in order.
pub(crate) fn of(reader: &ReadTransaction) -> Result<String, StorageError> {
    let mut text = format!("transaction {}\n", reader.id());
    for (name, root) in reader.trees()? {
        let mut line = |key: &[u8], value: &[u8]| {
            let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
            let (len, hash) = (value.len(), xxh3_64(value, 0));
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{name} {key} {len} {hash:016x}");
        };
        match root.kind() {
            TreeKind::Tree => {
                let tree = reader.tree(&name)?.expect("it is listed");
                for entry in tree.iter()? {
                    let (key, value) = entry?;
                    line(&key.to_vec(), value);
                }
            }
            TreeKind::Fixed => {
                let tree = reader.fixed_tree(&name)?.expect("it is listed");
                for entry in tree.iter()? {
                    let (key, value) = entry?;
                    line(&key.to_be_bytes(), value);
                }
            }
            TreeKind::Multi => {
                let tree = reader.multi_tree(&name)?.expect("it is listed");
                for key in 0..6_u64 {
                    for value in tree.values(&key.to_be_bytes())? {
                        line(&key.to_be_bytes(), &value?.to_vec());
                    }
                }
            }
        }
    }
    Ok(text)
}
