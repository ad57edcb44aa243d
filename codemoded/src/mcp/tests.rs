//! The text of every failure.

use std::path::Path;

use super::server::Server;
use super::*;
use crate::capability::catalog::{Catalog, Registration};
use crate::capability::{Hints, Name};
use crate::generation::{Current, Generation, Parts};
use crate::limits::{Limit, Limits};
use crate::mcp::http::Door;
use crate::origin::Origin;
use crate::plugin::Plugins;
use crate::policy::Policy;
use crate::run::Runs;
use crate::run::record::Recorder;
use crate::worker::{Pool, Spawner, Start};

#[track_caller]
fn check(failure: Failure, expected: &str) {
    assert_eq!(text(&failure), expected);
}

#[test]
fn every_failure_has_its_text() {
    check(Failure::Unauthenticated, "unauthenticated");
    check(Failure::NotFound { near: None }, "capability not found");
    let near = Some("mail.list".to_owned());
    check(Failure::NotFound { near }, "capability not found; did you mean `mail.list`?");
    check(Failure::InvalidProgram("<codemode>:1:2: x".into()), "invalid program: <codemode>:1:2: x");
    check(Failure::InvalidArguments("a".into()), "invalid capability arguments: a");
    check(Failure::Denied(None), "permission denied");
    check(Failure::Denied(Some("ask ops".into())), "permission denied: ask ops");
    check(Failure::Policy, "authorization policy failure");
    check(Failure::Limit(Limit::MaxSourceBytes), "resource limit exceeded: max_source_bytes");
    check(Failure::Capability(None), "capability failed");
    check(Failure::Capability(Some("no such key".into())), "capability failed: no such key");
    check(Failure::Cancelled, "context canceled");
    check(Failure::Internal, "internal failure");
}

#[test]
fn control_characters_become_spaces() {
    check(Failure::InvalidProgram("a\nb\tc\u{1b}[0m\u{85}d".into()), "invalid program: a b c [0m d");
    check(Failure::Denied(Some("a\r\nb".into())), "permission denied: a  b");
}

#[test]
fn a_blank_message_leaves_the_failure_bare() {
    check(Failure::Capability(Some(String::new())), "capability failed");
    check(Failure::Capability(Some("\n \t".into())), "capability failed");
}

#[test]
fn a_long_text_is_cut_between_two_characters() {
    let exact = "é".repeat(128);
    check(Failure::Capability(Some(exact.clone())), &format!("capability failed: {exact}"));
    // 253 bytes are left before the dots, and the 127th é would end at 254.
    check(Failure::Capability(Some(format!("{exact}x"))), &format!("capability failed: {}...", "é".repeat(126)));
    let long = text(&Failure::InvalidProgram("x".repeat(3000)));
    assert_eq!(long.len(), "invalid program: ".len() + 2048);
    assert!(long.ends_with("x..."));
}

#[test]
fn a_failed_run_says_what_may_have_changed() {
    let calls = |made, changing: &[(&str, u64)]| Calls {
        made,
        changing: changing.iter().map(|(name, times)| (Name::new(name).unwrap(), *times)).collect(),
    };
    assert_eq!(run_text(&Failure::Internal, &calls(0, &[])), "internal failure");
    assert_eq!(run_text(&Failure::Internal, &calls(2, &[])), "internal failure\ncalls made: 2");
    assert_eq!(
        run_text(&Failure::Cancelled, &calls(5, &[("records.put", 2), ("records.delete", 1)])),
        "context canceled\ncalls made: 5; may have changed: records.put ×2, records.delete ×1"
    );
    let many = (0..21).map(|index| (Name::new(&format!("a.b{index}")).unwrap(), 1)).collect();
    let text = run_text(&Failure::Internal, &Calls { made: 21, changing: many });
    assert!(text.ends_with("a.b18 ×1, a.b19 ×1, …"), "{text}");
}

/// A server over one capability that nobody calls; within a runtime.
pub(super) fn server_without_workers(limits: Limits, door: Door) -> Server {
    let registration = Registration {
        plugin: "records".into(),
        library: "records.so".into(),
        name: "records.lookup".to_owned(),
        id: None,
        summary: "Count the entries under a key.".to_owned(),
        description: None,
        search_terms: Vec::new(),
        hints: Hints::default(),
        input: r#"{"type": "object"}"#.into(),
        output: r#"{"type": "object"}"#.into(),
    };
    let catalog = Catalog::build(vec![registration], &[]).unwrap();
    let plugins = Plugins::start(&[], 1, Path::new("unused")).unwrap();
    let spawner = Spawner::start(crate::metrics::Metrics::default()).unwrap();
    let pool = |outfit| Pool::start(spawner, outfit, 0);
    let configuration = Origin::of(Path::new("codemode.toml"), b"");
    let parts = Parts { number: 1, configuration, catalog, policy: Policy::AllowAll, plugins, limits, door };
    let generation = Generation::new(parts, Start::Exec, true, pool).unwrap();
    Server::new(Current::new(generation), Runs::new(Recorder::default()))
}
