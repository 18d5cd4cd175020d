//! redb. Durable is `Durability::Immediate`, buffered `Durability::None`; 1 GiB of cache.

use jackdaw_workload::{Batch, Engine, Error, Key, Settings, touch};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};

const ENTRIES: TableDefinition<&[u8], &[u8]> = TableDefinition::new("entries");
const CACHE_BYTES: usize = 1 << 30;

pub(crate) struct Redb {
    database: Database,
    durability: redb::Durability,
}

impl Redb {
    pub(crate) fn open(settings: &Settings) -> Result<Redb, Error> {
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE_BYTES);
        let database = builder.create(settings.directory.join("data.redb"))?;
        let durability = match settings.durability {
            jackdaw_workload::Durability::Full => redb::Durability::Immediate,
            jackdaw_workload::Durability::None => redb::Durability::None,
        };
        let engine = Redb {
            database,
            durability,
        };
        let transaction = engine.begin_write()?;
        transaction.open_table(ENTRIES)?;
        transaction.commit()?;
        Ok(engine)
    }

    fn begin_write(&self) -> Result<WriteTransaction, Error> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(self.durability)?;
        Ok(transaction)
    }
}

impl Engine for Redb {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn put(&self, batch: Batch) -> Result<(), Error> {
        let transaction = self.begin_write()?;
        {
            let mut entries = transaction.open_table(ENTRIES)?;
            for (key, value) in batch.items() {
                entries.insert(&key[..], value)?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn delete(&self, batch: Batch) -> Result<(), Error> {
        let transaction = self.begin_write()?;
        {
            let mut entries = transaction.open_table(ENTRIES)?;
            for key in batch.keys() {
                entries.remove(&key[..])?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn get_all(&self, keys: &mut dyn Iterator<Item = Key>) -> Result<u64, Error> {
        let entries = self.database.begin_read()?.open_table(ENTRIES)?;
        let mut sum = 0_u64;
        for key in keys {
            let value = entries.get(&key[..])?.ok_or("a key is missing")?;
            sum = sum.wrapping_add(touch(value.value()));
        }
        Ok(sum)
    }

    fn get(&self, key: &Key) -> Result<u64, Error> {
        let entries = self.database.begin_read()?.open_table(ENTRIES)?;
        let value = entries.get(&key[..])?.ok_or("a key is missing")?;
        Ok(touch(value.value()))
    }

    fn scan(&self) -> Result<(u64, u64), Error> {
        let entries = self.database.begin_read()?.open_table(ENTRIES)?;
        let (mut count, mut sum) = (0, 0_u64);
        for entry in entries.iter()? {
            let (_, value) = entry?;
            count += 1;
            sum = sum.wrapping_add(touch(value.value()));
        }
        Ok((count, sum))
    }

    fn settle(&self) -> Result<(), Error> {
        // A durable empty transaction also makes every buffered one before it durable.
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(redb::Durability::Immediate)?;
        Ok(transaction.commit()?)
    }
}
