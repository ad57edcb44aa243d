//! The database file: created, recognised, opened.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

/// Written into the file, so that nobody's else's database is taken for ours: `cmrd` in ASCII.
const APPLICATION_ID: i32 = 0x636d_7264;

/// Of the tables below. A change of them is a new number and a step from the one before.
const SCHEMA_VERSION: i32 = 1;

const SCHEMA: &str = "
    CREATE TABLE entry (id INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL) STRICT;
    CREATE INDEX entry_by_key ON entry (key, id);
";

/// The daemon starts an instance in a child process first, which may not have closed the file yet.
const START_LOCK_WAIT: Duration = Duration::from_secs(5);

const MIN_PAGES: u64 = 16;

/// Why a file cannot be used; the operator reads it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("`database`: cannot create `{}`", path.display())]
    Create {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("`database`: cannot open `{}`", path.display())]
    Open {
        path: PathBuf,
        #[source]
        cause: rusqlite::Error,
    },
    #[error("`database`: `{}` is not a SQLite database", path.display())]
    NotADatabase { path: PathBuf },
    #[error("`database`: `{}` is a database of another program", path.display())]
    Foreign { path: PathBuf },
    #[error("`database`: `{}` has schema {found}, written by a newer version; this one knows {SCHEMA_VERSION}", path.display())]
    Newer { path: PathBuf, found: i32 },
    #[error("`database`: `{}` cannot be written", path.display())]
    ReadOnly {
        path: PathBuf,
        #[source]
        cause: rusqlite::Error,
    },
    #[error("`database`: `{}` lies where write-ahead logging is not possible (journal mode `{mode}`)", path.display())]
    NoWriteAhead { path: PathBuf, mode: String },
}

/// What a file is before it is touched.
enum Found {
    Empty,
    Records,
    Other,
    Newer(i32),
}

/// Opens the file for writing, in write-ahead mode and with our tables in it.
pub(super) fn open_writer(path: &Path, max_bytes: u64) -> Result<Connection, OpenError> {
    create(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |cause| OpenError::of(path, cause);
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(START_LOCK_WAIT).map_err(failed)?;
    // Before anything is changed, the journal mode too: it is kept in the file.
    refuse_unless_ours(path, &recognise(&connection).map_err(failed)?)?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(failed)?;
    if mode != "wal" {
        return Err(OpenError::NoWriteAhead { path: path.to_owned(), mode });
    }
    // An entry that was acknowledged outlives a power failure.
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let found = recognise(&change).map_err(failed)?;
    refuse_unless_ours(path, &found)?;
    if matches!(found, Found::Empty) {
        create_tables(&change).map_err(failed)?;
    }
    change.commit().map_err(failed)?;
    limit_size(&connection, max_bytes).map_err(failed)?;
    Ok(connection)
}

pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// Creates the file for its owner only; SQLite gives the files beside it the same rights.
fn create(path: &Path) -> Result<(), OpenError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => Err(OpenError::Create { path: path.to_owned(), cause }),
    }
}

fn recognise(connection: &Connection) -> rusqlite::Result<Found> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (application, version) {
        (0, 0) if tables == 0 => Found::Empty,
        (APPLICATION_ID, SCHEMA_VERSION) => Found::Records,
        (APPLICATION_ID, newer) if newer > SCHEMA_VERSION => Found::Newer(newer),
        _ => Found::Other,
    })
}

fn refuse_unless_ours(path: &Path, found: &Found) -> Result<(), OpenError> {
    match found {
        Found::Empty | Found::Records => Ok(()),
        Found::Other => Err(OpenError::Foreign { path: path.to_owned() }),
        Found::Newer(version) => Err(OpenError::Newer { path: path.to_owned(), found: *version }),
    }
}

fn create_tables(change: &Transaction<'_>) -> rusqlite::Result<()> {
    change.execute_batch(SCHEMA)?;
    change.pragma_update(None, "application_id", APPLICATION_ID)?;
    change.pragma_update(None, "user_version", SCHEMA_VERSION)
}

fn limit_size(connection: &Connection, max_bytes: u64) -> rusqlite::Result<()> {
    let page_bytes = connection.pragma_query_value(None, "page_size", |row| row.get::<_, u32>(0))?;
    let pages = (max_bytes / u64::from(page_bytes.max(1))).clamp(MIN_PAGES, u64::from(u32::MAX - 1));
    // The pragma answers with the limit in force, so it is a query.
    connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
}

impl OpenError {
    fn of(path: &Path, cause: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match cause.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path, cause },
            Some(_) | None => Self::Open { path, cause },
        }
    }
}
