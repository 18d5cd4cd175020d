//! LMDB through heed. Durable is its default: data pages are written and synced, then the meta
//! page. Buffered is `MDB_NOSYNC`.

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions};
use jackdaw_workload::{Batch, Durability, Engine, Error, Key, Settings, touch};

/// Address space for the file; LMDB wants it chosen beforehand.
const MAP_BYTES: usize = 64 << 30;

pub(crate) struct Lmdb {
    environment: Env,
    entries: Database<Bytes, Bytes>,
}

impl Lmdb {
    pub(crate) fn open(settings: &Settings) -> Result<Lmdb, Error> {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_BYTES);
        if settings.durability == Durability::None {
            // SAFETY: only what power loss leaves behind is at stake, and nobody reads that.
            unsafe { options.flags(EnvFlags::NO_SYNC) };
        }
        // SAFETY: the directory is new, and this process alone opens it, once.
        let environment = unsafe { options.open(&settings.directory)? };
        let mut transaction = environment.write_txn()?;
        let entries = environment.create_database(&mut transaction, None)?;
        transaction.commit()?;
        Ok(Lmdb {
            environment,
            entries,
        })
    }
}

impl Engine for Lmdb {
    fn name(&self) -> &'static str {
        "lmdb"
    }

    fn put(&self, batch: Batch) -> Result<(), Error> {
        let mut transaction = self.environment.write_txn()?;
        for (key, value) in batch.items() {
            self.entries.put(&mut transaction, &key, value)?;
        }
        Ok(transaction.commit()?)
    }

    fn delete(&self, batch: Batch) -> Result<(), Error> {
        let mut transaction = self.environment.write_txn()?;
        for key in batch.keys() {
            self.entries.delete(&mut transaction, &key)?;
        }
        Ok(transaction.commit()?)
    }

    fn get_all(&self, keys: &mut dyn Iterator<Item = Key>) -> Result<u64, Error> {
        let transaction = self.environment.read_txn()?;
        let mut sum = 0_u64;
        for key in keys {
            let value = self
                .entries
                .get(&transaction, &key)?
                .ok_or("a key is missing")?;
            sum = sum.wrapping_add(touch(value));
        }
        Ok(sum)
    }

    fn get(&self, key: &Key) -> Result<u64, Error> {
        let transaction = self.environment.read_txn()?;
        let value = self
            .entries
            .get(&transaction, key)?
            .ok_or("a key is missing")?;
        Ok(touch(value))
    }

    fn scan(&self) -> Result<(u64, u64), Error> {
        let transaction = self.environment.read_txn()?;
        let (mut entries, mut sum) = (0, 0_u64);
        for entry in self.entries.iter(&transaction)? {
            let (_, value) = entry?;
            entries += 1;
            sum = sum.wrapping_add(touch(value));
        }
        Ok((entries, sum))
    }

    fn settle(&self) -> Result<(), Error> {
        Ok(self.environment.force_sync()?)
    }
}
