//! Entries under keys, kept in SQLite.
