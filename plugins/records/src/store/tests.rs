//! Real database files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tempfile::TempDir;

use super::*;

const LARGE: u64 = 1 << 30;

fn call() -> Call {
    Call::new("alice", "run-1", Duration::from_secs(60))
}

/// A call whose time is over.
fn late_call() -> Call {
    Call::new("alice", "run-1", Duration::ZERO)
}

/// An empty store; the folder lives as long as it is held.
fn store() -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(&folder.path().join("records.db"), LARGE).unwrap();
    (folder, store)
}

/// Puts many entries at once, past the store.
fn fill(folder: &TempDir, count: u32) {
    let connection = Connection::open(folder.path().join("records.db")).unwrap();
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
                INSERT INTO entry (key, value) SELECT 'k', '\"' || i || '\"' FROM n";
    connection.execute(fill, [count]).unwrap();
}

fn put_three(store: &Store, value: &str) {
    for _ in 0..3 {
        store.put(&call(), "k", value).unwrap();
    }
}

#[track_caller]
fn check_refused(path: &Path, expected: &str) {
    let refused = Store::open(path, LARGE).unwrap_err().to_string();
    assert_eq!(refused.replace(&path.display().to_string(), "PATH"), expected);
}

#[test]
fn each_put_adds_one_after_the_others() {
    let (_folder, store) = store();
    for (number, value) in ["1", "\"one\"", "1", "null"].into_iter().enumerate() {
        assert_eq!(store.put(&call(), "k", value).unwrap(), number as u64 + 1);
    }
    assert_eq!(store.values(&call(), "k").unwrap(), ["1", "\"one\"", "1", "null"]);
}

#[test]
fn a_value_comes_back_byte_for_byte() {
    let (_folder, store) = store();
    let digits = "7".repeat(1_000);
    let values =
        [&digits, "1.0", "1", "-0.0", "1e-300", r#"{"b":1,"a":[{}]}"#, r#""\u0000é\"""#, "18446744073709551616"];
    for value in values {
        store.put(&call(), "k", value).unwrap();
    }
    assert_eq!(store.values(&call(), "k").unwrap(), values);
}

#[test]
fn keys_are_whole_and_exact() {
    let (_folder, store) = store();
    for key in ["a", "A", "a ", "é", "e\u{301}", "a\0b", "a%"] {
        assert_eq!(store.put(&call(), key, "1").unwrap(), 1, "{key:?}");
    }
    assert_eq!(store.count(&call(), "a\0", None).unwrap(), 0);
}

#[test]
fn a_count_stops_at_its_limit_and_is_none_for_an_unknown_key() {
    let (_folder, store) = store();
    put_three(&store, "1");
    for (limit, expected) in [(None, 3), (Some(2), 2), (Some(3), 3), (Some(4), 3)] {
        assert_eq!(store.count(&call(), "k", limit).unwrap(), expected);
    }
    assert_eq!(store.count(&call(), "unknown", None).unwrap(), 0);
    assert_eq!(store.values(&call(), "unknown").unwrap(), [""; 0]);
}

#[test]
fn a_delete_tells_how_many_there_were_and_spares_other_keys() {
    let (_folder, store) = store();
    for key in ["k", "k", "other"] {
        store.put(&call(), key, "1").unwrap();
    }
    assert_eq!(store.delete(&call(), "k").unwrap(), 2);
    assert_eq!(store.delete(&call(), "k").unwrap(), 0);
    assert_eq!(store.count(&call(), "k", None).unwrap(), 0);
    assert_eq!(store.count(&call(), "other", None).unwrap(), 1);
    assert_eq!(store.put(&call(), "k", "2").unwrap(), 1);
}

#[track_caller]
fn check_search(store: &Store, text: &str, expected: &[&str]) {
    let hits = store.search(&call(), text, 100).unwrap();
    let found: Vec<String> = hits.entries.iter().map(|entry| format!("{}={}", entry.key, entry.value)).collect();
    assert_eq!(found, expected, "{text:?}");
    assert_eq!(hits.total, expected.len() as u64);
}

#[test]
fn a_search_looks_into_keys_and_values_whatever_the_case() {
    let (_folder, store) = store();
    store.put(&call(), "Order-1", r#"{"status":"OPEN","note":"Ärger"}"#).unwrap();
    store.put(&call(), "b", "1234").unwrap();
    store.put(&call(), "c", r#"["an order",null]"#).unwrap();
    let (first, second, third) = (r#"Order-1={"status":"OPEN","note":"Ärger"}"#, "b=1234", r#"c=["an order",null]"#);
    check_search(&store, "order", &[first, third]);
    check_search(&store, "open", &[first]);
    check_search(&store, "ärg", &[first]);
    check_search(&store, "STATUS", &[first]);
    check_search(&store, "23", &[second]);
    check_search(&store, "%", &[]);
    check_search(&store, "closed", &[]);
}

#[test]
fn a_search_takes_quotes_and_line_ends_as_the_text_has_them() {
    let (_folder, store) = store();
    store.put(&call(), "k", r#""say \"hi\"\nthen go""#).unwrap();
    let entry = r#"k="say \"hi\"\nthen go""#;
    check_search(&store, "say \"hi\"", &[entry]);
    check_search(&store, "\nthen", &[entry]);
    check_search(&store, "\"say", &[]);
}

#[test]
fn a_search_counts_what_its_limit_leaves_out() {
    let (folder, store) = store();
    fill(&folder, 50);
    let hits = store.search(&call(), "k", 3).unwrap();
    let values: Vec<&str> = hits.entries.iter().map(|entry| entry.value.as_str()).collect();
    assert_eq!((values, hits.total), (vec!["\"1\"", "\"2\"", "\"3\""], 50));
}

#[test]
fn a_search_counts_what_is_too_large_to_cross() {
    let (_folder, store) = store();
    let value = format!("\"{}\"", "x".repeat(500 * 1024));
    put_three(&store, &value);
    let hits = store.search(&call(), "xx", 10).unwrap();
    assert_eq!((hits.entries.len(), hits.total), (1, 3));
}

#[test]
fn entries_too_large_to_hold_are_refused() {
    let (_folder, store) = store();
    let value = format!("\"{}\"", "x".repeat(6 * 1024 * 1024));
    put_three(&store, &value);
    assert!(matches!(store.values(&call(), "k"), Err(StoreError::Oversized)));
}

#[test]
fn entries_outlive_the_store() {
    let (folder, store) = store();
    store.put(&call(), "k", "1").unwrap();
    drop(store);
    let again = Store::open(&folder.path().join("records.db"), LARGE).unwrap();
    assert_eq!(again.put(&call(), "k", "2").unwrap(), 2);
}

#[test]
fn two_instances_share_one_file() {
    let (folder, store) = store();
    let other = Store::open(&folder.path().join("records.db"), LARGE).unwrap();
    store.put(&call(), "k", "1").unwrap();
    assert_eq!(other.put(&call(), "k", "2").unwrap(), 2);
    assert_eq!(store.values(&call(), "k").unwrap(), ["1", "2"]);
}

#[test]
fn no_put_is_lost_or_counted_twice_among_many_at_once() {
    let (_folder, store) = store();
    let mut counts: Vec<u64> = thread::scope(|scope| {
        let puts: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| (0..20).map(|_| store.put(&call(), "k", "1").unwrap()).collect::<Vec<u64>>()))
            .collect();
        puts.into_iter().flat_map(|put| put.join().unwrap()).collect()
    });
    counts.sort_unstable();
    assert_eq!(counts, (1..=160).collect::<Vec<u64>>());
}

#[test]
fn reading_does_not_wait_for_a_writer() {
    let (folder, store) = store();
    store.put(&call(), "k", "1").unwrap();
    let writer = Connection::open(folder.path().join("records.db")).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE; DELETE FROM entry").unwrap();
    assert_eq!(store.count(&call(), "k", None).unwrap(), 1);
    assert_eq!(store.values(&call(), "k").unwrap(), ["1"]);
    writer.execute_batch("ROLLBACK").unwrap();
}

#[test]
fn a_writer_elsewhere_that_does_not_end_is_busy_and_nothing_is_changed() {
    let (folder, store) = store();
    let writer = Connection::open(folder.path().join("records.db")).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(store.put(&call(), "k", "1"), Err(StoreError::Busy)));
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.put(&call(), "k", "1").unwrap(), 1);
}

#[test]
fn a_full_file_refuses_more_and_still_deletes() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(&folder.path().join("records.db"), 256 * 1024).unwrap();
    let value = format!("\"{}\"", "x".repeat(20 * 1024));
    let refused = (0..100).find_map(|_| store.put(&call(), "k", &value).err());
    assert!(matches!(refused, Some(StoreError::Full)), "{refused:?}");
    let kept = store.count(&call(), "k", None).unwrap();
    assert!(kept > 5, "{kept}");
    assert_eq!(store.delete(&call(), "k").unwrap(), kept);
    assert_eq!(store.put(&call(), "k", &value).unwrap(), 1);
}

#[test]
fn a_call_whose_time_is_over_does_nothing() {
    let (_folder, store) = store();
    assert!(matches!(store.put(&late_call(), "k", "1"), Err(StoreError::Cancelled)));
    assert!(matches!(store.search(&late_call(), "k", 1), Err(StoreError::Cancelled)));
    assert_eq!(store.count(&call(), "k", None).unwrap(), 0);
}

#[test]
fn a_long_statement_ends_when_its_call_does() {
    let (folder, store) = store();
    fill(&folder, 300_000);
    let asked: &dyn Fn(&Call) -> Option<StoreError> = &|call| store.delete(call, "k").err();
    let counted: &dyn Fn(&Call) -> Option<StoreError> = &|call| store.count(call, "k", None).err();
    let searched: &dyn Fn(&Call) -> Option<StoreError> = &|call| store.search(call, "none", 1).err();
    for work in [asked, counted, searched] {
        let started = Instant::now();
        let refused = work(&Call::new("alice", "run-1", Duration::from_micros(500)));
        assert!(matches!(refused, Some(StoreError::Cancelled)), "{refused:?}");
        assert!(started.elapsed() < Duration::from_secs(1));
    }
    assert_eq!(store.count(&call(), "k", None).unwrap(), 300_000);
}

#[test]
fn a_panic_under_the_lock_leaves_the_store_usable() {
    let (_folder, store) = store();
    let panicked = AtomicBool::new(false);
    let store = Arc::new(store);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        store.write(&call(), |connection| {
            let change = connection.transaction()?;
            change.execute("INSERT INTO entry (key, value) VALUES ('k', '1')", [])?;
            panicked.store(true, Ordering::Relaxed);
            panic!("on purpose")
        })
    }));
    let _: Result<Result<(), StoreError>, _> = outcome;
    assert!(panicked.load(Ordering::Relaxed));
    assert_eq!(store.put(&call(), "k", "2").unwrap(), 1);
}

#[test]
fn a_file_that_is_no_database_refuses_the_start_and_stays_as_it_is() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "not a database\n".repeat(100);
    std::fs::write(&path, &text).unwrap();
    check_refused(&path, "`database`: `PATH` is not a SQLite database");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn the_database_of_another_program_refuses_the_start_and_stays_as_it_is() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("other.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE entry (x)").unwrap();
    let before = std::fs::read(&path).unwrap();
    check_refused(&path, "`database`: `PATH` is a database of another program");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_newer_schema_refuses_the_start() {
    let (folder, store) = store();
    drop(store);
    let path = folder.path().join("records.db");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 7).unwrap();
    check_refused(&path, "`database`: `PATH` has schema 7, written by a newer version; this one knows 1");
}

#[test]
fn a_missing_folder_refuses_the_start() {
    let folder = TempDir::new().unwrap();
    check_refused(&folder.path().join("none/records.db"), "`database`: cannot create `PATH`");
    check_refused(folder.path(), "`database`: cannot open `PATH`");
}

#[test]
fn the_file_belongs_to_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, store) = store();
    store.put(&call(), "k", "1").unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.file_name());
    }
}
