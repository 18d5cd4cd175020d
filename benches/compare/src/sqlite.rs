//! SQLite with a write-ahead log: durable is `synchronous=FULL`, buffered `NORMAL`. A table without
//! row ids, 1 GiB of cache, one writer connection; a connection for each reading thread.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jackdaw_workload::{Batch, Durability, Engine, Error, Key, Settings, touch};
use rusqlite::{Connection, OptionalExtension};

const GET: &str = "select value from entries where key = ?1";

thread_local! {
    static READER: RefCell<Option<Connection>> = const { RefCell::new(None) };
}

pub(crate) struct Sqlite {
    path: PathBuf,
    synchronous: &'static str,
    writer: Mutex<Connection>,
}

impl Sqlite {
    pub(crate) fn open(settings: &Settings) -> Result<Sqlite, Error> {
        let synchronous = match settings.durability {
            Durability::Full => "FULL",
            Durability::None => "NORMAL",
        };
        let path = settings.directory.join("data.sqlite");
        let writer = connect(&path, synchronous)?;
        writer.execute_batch(
            "create table entries (key blob primary key, value blob not null) without rowid",
        )?;
        Ok(Sqlite {
            path,
            synchronous,
            writer: Mutex::new(writer),
        })
    }

    fn change(
        &self,
        work: impl FnOnce(&Connection) -> Result<(), rusqlite::Error>,
    ) -> Result<(), Error> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = writer.transaction()?;
        work(&transaction)?;
        Ok(transaction.commit()?)
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        READER.with_borrow_mut(|reader| match reader {
            Some(connection) => work(connection),
            None => work(reader.insert(connect(&self.path, self.synchronous)?)),
        })
    }
}

fn connect(path: &Path, synchronous: &str) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "cache_size", -(1 << 20))?;
    Ok(connection)
}

fn get_in(connection: &Connection, key: &Key) -> Result<u64, Error> {
    let mut get = connection.prepare_cached(GET)?;
    let sum = get.query_row([&key[..]], |row| Ok(touch(row.get_ref(0)?.as_blob()?)));
    Ok(sum.optional()?.ok_or("a key is missing")?)
}

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn put(&self, batch: Batch) -> Result<(), Error> {
        self.change(|connection| {
            let mut put =
                connection.prepare_cached("insert or replace into entries values (?1, ?2)")?;
            for (key, value) in batch.items() {
                put.execute((&key[..], value))?;
            }
            Ok(())
        })
    }

    fn delete(&self, batch: Batch) -> Result<(), Error> {
        self.change(|connection| {
            let mut delete = connection.prepare_cached("delete from entries where key = ?1")?;
            for key in batch.keys() {
                delete.execute([&key[..]])?;
            }
            Ok(())
        })
    }

    fn get_all(&self, keys: &mut dyn Iterator<Item = Key>) -> Result<u64, Error> {
        self.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let mut sum = 0_u64;
            for key in keys {
                sum = sum.wrapping_add(get_in(&transaction, &key)?);
            }
            Ok(sum)
        })
    }

    fn get(&self, key: &Key) -> Result<u64, Error> {
        self.read(|connection| get_in(connection, key))
    }

    fn scan(&self) -> Result<(u64, u64), Error> {
        self.read(|connection| {
            let mut all = connection.prepare_cached("select value from entries order by key")?;
            let mut rows = all.query([])?;
            let (mut entries, mut sum) = (0, 0_u64);
            while let Some(row) = rows.next()? {
                entries += 1;
                sum = sum.wrapping_add(touch(row.get_ref(0)?.as_blob()?));
            }
            Ok((entries, sum))
        })
    }

    fn settle(&self) -> Result<(), Error> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(writer.query_row("pragma wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }
}
