//! libmdbx. Durable is `SYNC_DURABLE`, buffered `SAFE_NOSYNC`; the file grows in steps of 64 MiB.

use std::borrow::Cow;

use jackdaw_workload::{Batch, Durability, Engine, Error, Key, Settings, touch};
use libmdbx::{
    Database, DatabaseOptions, Mode, NoWriteMap, RO, ReadWriteOptions, SyncMode, Transaction,
    WriteFlags,
};

const GROWTH_BYTES: isize = 64 << 20;
/// Address space for the file.
const MAP_BYTES: isize = 64 << 30;

pub(crate) struct Libmdbx {
    database: Database<NoWriteMap>,
}

impl Libmdbx {
    pub(crate) fn open(settings: &Settings) -> Result<Libmdbx, Error> {
        let sync_mode = match settings.durability {
            Durability::Full => SyncMode::Durable,
            Durability::None => SyncMode::SafeNoSync,
        };
        let options = DatabaseOptions {
            mode: Mode::ReadWrite(ReadWriteOptions {
                sync_mode,
                max_size: Some(MAP_BYTES),
                growth_step: Some(GROWTH_BYTES),
                ..ReadWriteOptions::default()
            }),
            ..DatabaseOptions::default()
        };
        let database = Database::open_with_options(&settings.directory, options)?;
        let transaction = database.begin_rw_txn()?;
        transaction.create_table(None, Default::default())?;
        transaction.commit()?;
        Ok(Libmdbx { database })
    }

    fn get_in(transaction: &Transaction<'_, RO, NoWriteMap>, key: &Key) -> Result<u64, Error> {
        let table = transaction.open_table(None)?;
        let value: Cow<'_, [u8]> = transaction.get(&table, key)?.ok_or("a key is missing")?;
        Ok(touch(&value))
    }
}

impl Engine for Libmdbx {
    fn name(&self) -> &'static str {
        "libmdbx"
    }

    fn put(&self, batch: Batch) -> Result<(), Error> {
        let transaction = self.database.begin_rw_txn()?;
        let table = transaction.open_table(None)?;
        for (key, value) in batch.items() {
            transaction.put(&table, key, value, WriteFlags::UPSERT)?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn delete(&self, batch: Batch) -> Result<(), Error> {
        let transaction = self.database.begin_rw_txn()?;
        let table = transaction.open_table(None)?;
        for key in batch.keys() {
            transaction.del(&table, key, None)?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn get_all(&self, keys: &mut dyn Iterator<Item = Key>) -> Result<u64, Error> {
        let transaction = self.database.begin_ro_txn()?;
        let table = transaction.open_table(None)?;
        let mut sum = 0_u64;
        for key in keys {
            let value: Cow<'_, [u8]> = transaction.get(&table, key)?.ok_or("a key is missing")?;
            sum = sum.wrapping_add(touch(&value));
        }
        Ok(sum)
    }

    fn get(&self, key: &Key) -> Result<u64, Error> {
        Libmdbx::get_in(&self.database.begin_ro_txn()?, key)
    }

    fn scan(&self) -> Result<(u64, u64), Error> {
        let transaction = self.database.begin_ro_txn()?;
        let table = transaction.open_table(None)?;
        let mut cursor = transaction.cursor(&table)?;
        let (mut entries, mut sum) = (0, 0_u64);
        for entry in cursor.iter_start::<Cow<'_, [u8]>, Cow<'_, [u8]>>() {
            let (_, value) = entry?;
            entries += 1;
            sum = sum.wrapping_add(touch(&value));
        }
        Ok((entries, sum))
    }

    fn settle(&self) -> Result<(), Error> {
        self.database.sync(true)?;
        Ok(())
    }
}
