//! Entries under keys in one SQLite file, and what can be asked of them.
//!
//! One connection writes, behind a lock; each read has a connection of its own and waits for nobody, for the file is
//! in write-ahead mode. Every statement asks now and then whether its call is still wanted, and ends where it is not.

mod file;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use codemode_plugin_api::prelude::*;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

pub(crate) use file::OpenError;

/// How long a statement waits for another process that is writing, at most.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(1);

/// A statement asks after so many of SQLite's instructions whether it is still wanted: a few microseconds of work.
const STEPS_BETWEEN_ASKING: i32 = 1_000;

/// Idle connections beyond this are closed.
const MAX_IDLE_READERS: usize = 8;

/// More than any answer that a daemon lets through, and little enough to hold.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// What is returned of a search, at most; the rest is counted.
const MAX_HITS_BYTES: usize = 768 * 1024;

#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    writer: Mutex<Connection>,
    idle_readers: Mutex<Vec<Connection>>,
}

/// One entry, its value as JSON text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) value: String,
}

/// The entries that hold a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hits {
    pub(crate) entries: Vec<Entry>,
    /// How many there are, with those that were left out.
    pub(crate) total: u64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("the call was cancelled")]
    Cancelled,
    #[error("another process is writing to the records; try again")]
    Busy,
    #[error("the records are full; delete some first")]
    Full,
    #[error("the entries under this key are too large to be returned at once")]
    Oversized,
    #[error("the database failed")]
    Sqlite(#[source] rusqlite::Error),
}

impl Store {
    /// Opens the file, or creates it where there is none.
    pub(crate) fn open(path: &Path, max_bytes: u64) -> Result<Self, OpenError> {
        let writer = file::open_writer(path, max_bytes)?;
        Ok(Self { path: path.to_owned(), writer: Mutex::new(writer), idle_readers: Mutex::default() })
    }

    /// Appends an entry. Gives how many there are under the key now.
    pub(crate) fn put(&self, call: &Call, key: &str, value: &str) -> Result<u64, StoreError> {
        self.write(call, |connection| {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            change.prepare_cached("INSERT INTO entry (key, value) VALUES (?1, ?2)")?.execute((key, value))?;
            let count = change
                .prepare_cached("SELECT count(*) FROM entry WHERE key = ?1")?
                .query_row([key], |row| row.get(0).map(i64::cast_unsigned))?;
            change.commit()?;
            Ok(count)
        })
    }

    /// How many entries are under the key, counted no further than `limit`.
    pub(crate) fn count(&self, call: &Call, key: &str, limit: Option<u32>) -> Result<u64, StoreError> {
        // No limit is a negative one.
        let limit = limit.map_or(-1, i64::from);
        self.read(call, |connection| {
            let count = connection
                .prepare_cached("SELECT count(*) FROM (SELECT 1 FROM entry WHERE key = ?1 LIMIT ?2)")?
                .query_row((key, limit), |row| row.get(0).map(i64::cast_unsigned))?;
            Ok(count)
        })
    }

    /// The values under the key, the oldest first.
    pub(crate) fn values(&self, call: &Call, key: &str) -> Result<Vec<String>, StoreError> {
        self.read(call, |connection| {
            let mut query = connection.prepare_cached("SELECT value FROM entry WHERE key = ?1 ORDER BY id")?;
            let mut rows = query.query([key])?;
            let mut values: Vec<String> = Vec::new();
            let mut bytes = 0;
            while let Some(row) = rows.next()? {
                let value: String = row.get(0)?;
                bytes += value.len();
                if bytes > MAX_ANSWER_BYTES {
                    return Err(StoreError::Oversized);
                }
                values.push(value);
            }
            Ok(values)
        })
    }

    /// The entries whose key, or whose value's JSON text, holds `text` in any mix of upper and lower case; the oldest
    /// first, at most `limit` of them.
    pub(crate) fn search(&self, call: &Call, text: &str, limit: usize) -> Result<Hits, StoreError> {
        let in_key = text.to_lowercase();
        let in_value = json_part(text).to_lowercase();
        self.read(call, |connection| {
            let mut query = connection.prepare_cached("SELECT key, value FROM entry ORDER BY id")?;
            let mut rows = query.query([])?;
            let mut hits = Hits { entries: Vec::new(), total: 0 };
            let mut bytes = 0;
            while let Some(row) = rows.next()? {
                if call.is_cancelled() {
                    return Err(StoreError::Cancelled);
                }
                let (key, value): (&str, &str) = (text_of(row, 0)?, text_of(row, 1)?);
                if !key.to_lowercase().contains(&in_key) && !value.to_lowercase().contains(&in_value) {
                    continue;
                }
                hits.total += 1;
                bytes += key.len() + value.len();
                if hits.entries.len() < limit && bytes <= MAX_HITS_BYTES {
                    hits.entries.push(Entry { key: key.to_owned(), value: value.to_owned() });
                }
            }
            Ok(hits)
        })
    }

    /// Removes what is under the key. Gives how many entries that were.
    pub(crate) fn delete(&self, call: &Call, key: &str) -> Result<u64, StoreError> {
        self.write(call, |connection| {
            Ok(connection.prepare_cached("DELETE FROM entry WHERE key = ?1")?.execute([key])? as u64)
        })
    }

    /// Whether the file can be read.
    pub(crate) fn probe(&self) -> Result<(), StoreError> {
        let reader = self.reader()?;
        reader.query_row("SELECT count(*) FROM (SELECT 1 FROM entry LIMIT 1)", [], |_| Ok(()))?;
        self.keep(reader);
        Ok(())
    }

    fn write<T>(
        &self,
        call: &Call,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // A panic between two statements leaves no half-made change: an open transaction is rolled back on its way.
        let mut writer = lock(&self.writer);
        watched(&mut writer, call, work)
    }

    fn read<T>(&self, call: &Call, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut reader = self.reader()?;
        let outcome = watched(&mut reader, call, |connection| work(connection));
        self.keep(reader);
        outcome
    }

    fn reader(&self) -> Result<Connection, StoreError> {
        // Bound first, so that the lock is not held while a file is opened.
        let idle = lock(&self.idle_readers).pop();
        match idle {
            Some(reader) => Ok(reader),
            None => file::open_reader(&self.path).map_err(StoreError::from),
        }
    }

    fn keep(&self, reader: Connection) {
        let mut idle = lock(&self.idle_readers);
        if idle.len() < MAX_IDLE_READERS {
            idle.push(reader);
        }
    }
}

/// Does some work for as long as the call is wanted.
fn watched<T>(
    connection: &mut Connection,
    call: &Call,
    work: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    if call.is_cancelled() {
        return Err(StoreError::Cancelled);
    }
    let time_left = call.deadline().saturating_duration_since(Instant::now());
    connection.busy_timeout(time_left.min(MAX_LOCK_WAIT))?;
    let asked = call.clone();
    connection.progress_handler(STEPS_BETWEEN_ASKING, Some(move || asked.is_cancelled()))?;
    let outcome = work(connection);
    connection.progress_handler(0, None::<fn() -> bool>)?;
    outcome
}

fn text_of<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<&'r str, StoreError> {
    row.get_ref(column)?.as_str().map_err(|error| StoreError::Sqlite(error.into()))
}

/// The text as it stands inside a JSON string.
fn json_part(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text).to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Self::Cancelled,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(_) | None => Self::Sqlite(error),
        }
    }
}

#[cfg(test)]
mod tests;
