use super::*;
use crate::limits::Limit;

#[track_caller]
fn check(failure: Failure, expected: &str) {
    assert_eq!(text(&failure), expected);
}

#[test]
fn every_failure_has_its_text() {
    check(Failure::Unauthenticated, "unauthenticated");
    check(Failure::NotFound, "capability not found");
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
        changing: changing.iter().map(|(name, times)| ((*name).to_owned(), *times)).collect(),
    };
    assert_eq!(run_text(&Failure::Internal, &calls(0, &[])), "internal failure");
    assert_eq!(run_text(&Failure::Internal, &calls(2, &[])), "internal failure\ncalls made: 2");
    assert_eq!(
        run_text(&Failure::Cancelled, &calls(5, &[("records.put", 2), ("records.delete", 1)])),
        "context canceled\ncalls made: 5; may have changed: records.put ×2, records.delete ×1"
    );
    let many: Vec<(String, u64)> = (0..21).map(|index| (format!("a.b{index}"), 1)).collect();
    let text = run_text(&Failure::Internal, &Calls { made: 21, changing: many });
    assert!(text.ends_with("a.b18 ×1, a.b19 ×1, …"), "{text}");
}
