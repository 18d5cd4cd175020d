//! RocksDB of the system (`librocksdb-dev`): durable is `WriteOptions.sync`. LZ4, bloom filters of
//! 10 bits, 1 GiB of cache, two background threads.

use jackdaw_workload::{Batch, Durability, Engine, Error, Key, Settings, touch};
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, IteratorMode, Options, WriteBatch,
    WriteOptions,
};

const CACHE_BYTES: usize = 1 << 30;
const BLOOM_BITS_PER_KEY: f64 = 10.0;
const BACKGROUND_THREADS: i32 = 2;

pub(crate) struct RocksDb {
    database: DB,
    is_sync: bool,
}

impl RocksDb {
    pub(crate) fn open(settings: &Settings) -> Result<RocksDb, Error> {
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&Cache::new_lru_cache(CACHE_BYTES)?);
        table.set_bloom_filter(BLOOM_BITS_PER_KEY, false);
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_compression_type(DBCompressionType::Lz4);
        options.set_block_based_table_factory(&table);
        options.increase_parallelism(BACKGROUND_THREADS);
        Ok(RocksDb {
            database: DB::open(&options, &settings.directory)?,
            is_sync: settings.durability == Durability::Full,
        })
    }

    fn write(&self, batch: WriteBatch) -> Result<(), Error> {
        let mut options = WriteOptions::default();
        options.set_sync(self.is_sync);
        Ok(self.database.write_opt(batch, &options)?)
    }
}

impl Engine for RocksDb {
    fn name(&self) -> &'static str {
        "rocksdb"
    }

    fn put(&self, batch: Batch) -> Result<(), Error> {
        let mut writes = WriteBatch::default();
        for (key, value) in batch.items() {
            writes.put(key, value);
        }
        self.write(writes)
    }

    fn delete(&self, batch: Batch) -> Result<(), Error> {
        let mut writes = WriteBatch::default();
        for key in batch.keys() {
            writes.delete(key);
        }
        self.write(writes)
    }

    fn get_all(&self, keys: &mut dyn Iterator<Item = Key>) -> Result<u64, Error> {
        // Without a snapshot: a look-up in one would copy the value.
        let mut sum = 0_u64;
        for key in keys {
            sum = sum.wrapping_add(self.get(&key)?);
        }
        Ok(sum)
    }

    fn get(&self, key: &Key) -> Result<u64, Error> {
        let value = self.database.get_pinned(key)?.ok_or("a key is missing")?;
        Ok(touch(&value))
    }

    fn scan(&self) -> Result<(u64, u64), Error> {
        let (mut entries, mut sum) = (0, 0_u64);
        for entry in self.database.iterator(IteratorMode::Start) {
            let (_, value) = entry?;
            entries += 1;
            sum = sum.wrapping_add(touch(&value));
        }
        Ok((entries, sum))
    }

    fn settle(&self) -> Result<(), Error> {
        self.database.flush()?;
        self.database.compact_range(None::<&[u8]>, None::<&[u8]>);
        Ok(())
    }
}
