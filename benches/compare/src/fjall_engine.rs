//! fjall. Durable is a batch with `SyncAll`; buffered never persists. LZ4, 1 GiB of cache.

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, OwnedWriteBatch, Readable};
use jackdaw_workload::{Batch, Durability, Engine, Error, Key, Settings, touch};

const CACHE_BYTES: u64 = 1 << 30;

pub(crate) struct Fjall {
    database: Database,
    entries: Keyspace,
    durability: Option<PersistMode>,
}

impl Fjall {
    pub(crate) fn open(settings: &Settings) -> Result<Fjall, Error> {
        let database = Database::builder(&settings.directory)
            .cache_size(CACHE_BYTES)
            .open()?;
        let entries = database.keyspace("entries", KeyspaceCreateOptions::default)?;
        let durability = match settings.durability {
            Durability::Full => Some(PersistMode::SyncAll),
            Durability::None => None,
        };
        Ok(Fjall {
            database,
            entries,
            durability,
        })
    }

    fn begin(&self) -> OwnedWriteBatch {
        self.database.batch().durability(self.durability)
    }
}

impl Engine for Fjall {
    fn name(&self) -> &'static str {
        "fjall"
    }

    fn put(&self, batch: Batch) -> Result<(), Error> {
        let mut writes = self.begin();
        for (key, value) in batch.items() {
            writes.insert(&self.entries, &key[..], value);
        }
        Ok(writes.commit()?)
    }

    fn delete(&self, batch: Batch) -> Result<(), Error> {
        let mut writes = self.begin();
        for key in batch.keys() {
            writes.remove(&self.entries, &key[..]);
        }
        Ok(writes.commit()?)
    }

    fn get_all(&self, keys: &mut dyn Iterator<Item = Key>) -> Result<u64, Error> {
        let snapshot = self.database.snapshot();
        let mut sum = 0_u64;
        for key in keys {
            let value = snapshot.get(&self.entries, key)?;
            sum = sum.wrapping_add(touch(&value.ok_or("a key is missing")?));
        }
        Ok(sum)
    }

    fn get(&self, key: &Key) -> Result<u64, Error> {
        let value = self.database.snapshot().get(&self.entries, key)?;
        Ok(touch(&value.ok_or("a key is missing")?))
    }

    fn scan(&self) -> Result<(u64, u64), Error> {
        let (mut entries, mut sum) = (0, 0_u64);
        for entry in self.database.snapshot().iter(&self.entries) {
            let value = entry.value()?;
            entries += 1;
            sum = sum.wrapping_add(touch(&value));
        }
        Ok((entries, sum))
    }

    fn settle(&self) -> Result<(), Error> {
        self.entries.rotate_memtable_and_wait()?;
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }
}
