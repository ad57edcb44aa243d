//! What programs see, handler by handler.

use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tempfile::TempDir;

use super::*;

/// Calls handlers as the daemon does: JSON in, JSON out.
struct Daemon {
    records: Records,
    _folder: TempDir,
}

impl Daemon {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let settings = serde_json::from_str(r#"{"database": "records.db"}"#).unwrap();
        let records = Records::start(settings, &Host::new("records", folder.path())).unwrap();
        assert!(folder.path().join("records.db").exists(), "relative to the configuration");
        Self { records, _folder: folder }
    }

    #[track_caller]
    fn call<I: serde::de::DeserializeOwned, O: Serialize>(
        &self,
        handler: impl Fn(&Records, &Call, I) -> Result<O, CapabilityError>,
        arguments: &str,
    ) -> String {
        let call = Call::new("alice", "run-1", Duration::from_secs(60));
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        let output = handler(&self.records, &call, serde_json::from_str(arguments.get()).unwrap()).unwrap();
        serde_json::to_string(&output).unwrap()
    }
}

#[test]
fn an_entry_is_put_counted_listed_found_and_deleted() {
    let daemon = Daemon::start();
    assert_eq!(daemon.call(put, r#"{"key":"k","value":{"b":1,"a":[]}}"#), r#"{"key":"k","count":1}"#);
    assert_eq!(daemon.call(put, r#"{"key":"k","value":null}"#), r#"{"key":"k","count":2}"#);
    assert_eq!(daemon.call(lookup, r#"{"key":"k"}"#), r#"{"key":"k","count":2}"#);
    assert_eq!(daemon.call(lookup, r#"{"key":"k","limit":1}"#), r#"{"key":"k","count":1}"#);
    assert_eq!(daemon.call(entries, r#"{"key":"k"}"#), r#"{"entries":[{"b":1,"a":[]},null]}"#);
    let found = r#"{"matches":[{"key":"k","entry":{"b":1,"a":[]}}],"total":1}"#;
    assert_eq!(daemon.call(search, r#"{"text":"B"}"#), found);
    assert_eq!(daemon.call(delete, r#"{"key":"k"}"#), r#"{"key":"k","deleted":2}"#);
    assert_eq!(daemon.call(entries, r#"{"key":"k"}"#), r#"{"entries":[]}"#);
}

#[test]
fn every_value_comes_back_exactly() {
    let daemon = Daemon::start();
    let big = format!("-{}", "9".repeat(1_000));
    let marker = r#"{"$serde_json::private::Number":"12","$serde_json::private::RawValue":"[1]"}"#;
    for value in [&big, "1.0", "1", "1e-7", "9007199254740993", "true", r#""\u0000\"é""#, marker] {
        daemon.call(put, &format!(r#"{{"key":"{}","value":{value}}}"#, value.len()));
        let expected = format!(r#"{{"entries":[{value}]}}"#);
        assert_eq!(daemon.call(entries, &format!(r#"{{"key":"{}"}}"#, value.len())), expected);
        daemon.call(delete, &format!(r#"{{"key":"{}"}}"#, value.len()));
    }
}

#[test]
fn a_program_reads_only_what_it_can_mend() {
    for (error, published) in [(StoreError::Busy, true), (StoreError::Full, true), (StoreError::Cancelled, false)] {
        assert_eq!(told(error).is_published(), published);
    }
    let private = told(StoreError::Sqlite(rusqlite::Error::InvalidQuery));
    assert!(!private.is_published());
}

#[test]
fn an_unknown_setting_is_refused() {
    let settings = serde_json::from_value::<Settings>(Value::from_iter([("database", "a"), ("databse", "b")]));
    assert!(settings.unwrap_err().to_string().contains("databse"));
}

#[test]
fn a_healthy_instance_says_so() {
    assert!(Daemon::start().records.health().is_ok());
}
