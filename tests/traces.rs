//! Spans, as a collector receives them.

use serde_json::{Value, json};

use crate::collector::{self, Collector};
use crate::harness::{Answer, Daemon, allow_all, by_header, by_header_traced, executable, faulty, program, run, until};
use opentelemetry_proto::tonic::trace::v1::Span;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

fn traced(collector: &Collector, sample: &str) -> String {
    format!(
        "[traces]\nendpoint = \"{}\"\nsample = {sample}\n[audit]\nto = \"file:audit.jsonl\"\n{}",
        collector.url,
        faulty()
    )
}

fn run_of(answer: &Answer) -> String {
    answer.meta["codemoded/run"].as_str().unwrap().to_owned()
}

/// The spans of a run, its own first.
fn spans_of(collector: &Collector, run: &str) -> Vec<Span> {
    let of_run = || {
        let mut spans = collector.spans();
        spans.retain(|span| collector::attribute(span, "codemoded.run").as_deref() == Some(run));
        spans.sort_by_key(|span| (span.name != "execute", collector::attribute(span, "codemoded.call")));
        spans
    };
    until("the run's span is there", || of_run().first().is_some_and(|span| span.name == "execute"));
    of_run()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the daemon's audit says of a run.
fn audit_of(daemon: &Daemon, run: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(daemon.folder.path().join("audit.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["run"] == run).collect()
}

#[test]
fn a_run_is_a_span_and_its_calls_are_below_it_with_the_ids_of_the_audit() {
    let collector = Collector::start();
    let daemon = Daemon::start(&allow_all(&traced(&collector, "1")));
    let answer = daemon.main(
        "faulty.record(value = 1)\nparallel([call(faulty.echo, value = i) for i in range(2)])\nfaulty.fail(message = \"x\")",
    );
    let spans = spans_of(&collector, &run_of(&answer));
    let [run, calls @ ..] = &*spans else { panic!("no span") };
    assert_eq!(
        calls.iter().map(|call| &*call.name).collect::<Vec<_>>(),
        ["faulty.record", "faulty.echo", "faulty.echo", "faulty.fail"]
    );
    assert_eq!((run.trace_id.len(), run.span_id.len(), run.parent_span_id.len()), (16, 8, 0));
    for call in calls {
        assert_eq!((&call.trace_id, &call.parent_span_id), (&run.trace_id, &run.span_id));
        assert!(run.start_time_unix_nano <= call.start_time_unix_nano);
        assert!(call.end_time_unix_nano <= run.end_time_unix_nano + 1_000_000);
    }
    let failed = |span: &Span| span.status.as_ref().is_some_and(|status| status.code == 2);
    assert_eq!(spans.iter().map(failed).collect::<Vec<_>>(), [true, false, false, false, true]);
    assert_eq!(collector::attribute(run, "codemoded.subject").as_deref(), Some("local"));

    let lines = audit_of(&daemon, &run_of(&answer));
    assert_eq!(lines.len(), spans.len());
    for line in &lines {
        let name = line["name"].as_str().unwrap_or("execute");
        let own = spans.iter().find(|span| span.name == name && line["span_id"] == hex(&span.span_id));
        assert!(own.is_some_and(|span| line["trace_id"] == hex(&span.trace_id)), "{line}");
    }
    // What the handler was told is the call's own span.
    let told = std::fs::read_to_string(daemon.folder.path().join("calls.jsonl")).unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["traceparent"], format!("00-{}-{}-01", hex(&run.trace_id), hex(&calls[0].span_id)));
}

#[test]
fn a_listed_peer_hangs_a_run_under_its_own_span_and_nobody_else_does() {
    let parent = format!("00-{TRACE}-{PARENT}-00");
    let headers = [("traceparent", &*parent), ("tracestate", "a=canary-77"), ("baggage", "user=canary-77")];
    let collector = Collector::start();
    let listed = by_header(&traced(&collector, "1"));
    let source = program("return faulty.record(value = 1)");
    let answer = by_header_traced(&listed, "ann", &source, &headers);
    let spans = spans_of(&collector, &run_of(&answer));
    assert_eq!((hex(&spans[0].trace_id), hex(&spans[0].parent_span_id)), (TRACE.to_owned(), PARENT.to_owned()));
    assert_eq!(hex(&spans[1].trace_id), TRACE);

    let stranger = Daemon::start(&allow_all(&traced(&collector, "1")));
    let answer = stranger.call("execute", json!({ "source": source }), &headers);
    let spans = spans_of(&collector, &run_of(&answer));
    assert_ne!(hex(&spans[0].trace_id), TRACE);
    assert!(spans[0].parent_span_id.is_empty());

    for daemon in [&listed, &stranger] {
        let told = std::fs::read_to_string(daemon.folder.path().join("calls.jsonl")).unwrap();
        assert!(told.contains("traceparent") && !told.contains("canary-77"), "{told}");
        assert!(!daemon.log().contains("canary-77"));
    }
    assert!(!collector.received().contains("canary-77"));
}

#[test]
fn what_is_sampled_is_decided_here_and_the_rest_is_told_on_as_such() {
    let collector = Collector::start();
    let daemon = by_header(&traced(&collector, "0"));
    let parent = format!("00-{TRACE}-{PARENT}-01");
    let source = program("return faulty.record(value = 1)");
    by_header_traced(&daemon, "ann", &source, &[("traceparent", &parent)]).result();
    let told = std::fs::read_to_string(daemon.folder.path().join("calls.jsonl")).unwrap();
    assert!(told.contains(&format!("00-{TRACE}-")) && told.contains("-00\""), "{told}");
    // A stop sends what there is; there is nothing.
    daemon.terminate();
    until("the daemon has ended", || !std::path::Path::new(&format!("/proc/{}/exe", daemon.pid())).exists());
    assert_eq!(collector.spans().len(), 0);
}

#[test]
fn a_stop_sends_what_is_queued_and_a_collector_that_is_away_costs_nothing() {
    let collector = Collector::start();
    let daemon = Daemon::start(&allow_all(&traced(&collector, "1")));
    let run = run_of(&daemon.main("return 1"));
    daemon.terminate();
    assert_eq!(spans_of(&collector, &run).len(), 1);

    let nobody = Collector::away();
    let daemon = Daemon::start(&allow_all(&traced(&nobody, "1")));
    for _ in 0..20 {
        daemon.main("return 1").result();
    }
    until("it is told", || daemon.log().contains("spans were lost"));
    assert_eq!(daemon.log().matches("spans were lost").count(), 1);
}

#[test]
fn what_a_collector_does_not_take_is_told_and_its_connection_is_kept() {
    let rejected = "spans were lost lost=1 cause=\"the collector has rejected them\"";
    let table = [
        ("200 OK", "{\"partialSuccess\":{\"rejectedSpans\":\"1\",\"errorMessage\":\"no\"}}", rejected),
        ("200 OK", "{\"partialSuccess\":{\"rejectedSpans\":1}}", rejected),
        ("200 OK", "{\"partialSuccess\":{\"rejectedSpans\":\"many\"}}", ""),
        ("200 OK", "no JSON", ""),
        ("503 Service Unavailable", "later", "spans were lost lost=1 cause=\"status 503\""),
    ];
    for (status, body, told) in table {
        let collector = Collector::answering(status, body);
        let daemon = Daemon::start(&allow_all(&traced(&collector, "1")));
        spans_of(&collector, &run_of(&daemon.main("return 1")));
        until("it is told", || daemon.log().contains(told));
        spans_of(&collector, &run_of(&daemon.main("return 2")));
        assert_eq!(collector.connections(), 1, "{status} {body}");
        assert_eq!(daemon.log().contains("spans were lost"), !told.is_empty(), "{status} {body}");
    }
}

#[test]
fn the_collector_sees_the_headers_that_it_wants_and_nobody_else_does() {
    const SECRET: &str = "bearer correct-horse-battery-staple";
    let collector = Collector::start();
    let headers = "headers = { authorization = { file = \"secret\" }, x-scope-orgid = \"team\" }\n";
    let config = allow_all(&traced(&collector, "1").replace("sample = ", &format!("{headers}sample = ")));
    let loud = |command: &mut std::process::Command| {
        command.args(["--log", "trace,ureq=info,hyper=info"]);
    };
    let write = |folder: &std::path::Path| std::fs::write(folder.join("secret"), format!("{SECRET}\n")).unwrap();
    let daemon = Daemon::start_by(std::process::Command::new(executable()), &config, write, loud);
    spans_of(&collector, &run_of(&daemon.main("return 1")));
    let heads = collector.heads();
    for line in [format!("authorization: {SECRET}"), "x-scope-orgid: team".to_owned()] {
        assert!(!heads.is_empty() && heads.iter().all(|head| head.contains(&line)), "{line}: {heads:?}");
    }
    let folder = daemon.folder.path();
    std::fs::write(folder.join("old.toml"), config.replace("file = \"secret\"", "file = \"other\"")).unwrap();
    std::fs::write(folder.join("other"), "bearer another").unwrap();
    let (code, told, errors) = run(&["check", "--diff", "old.toml"], folder);
    assert_eq!((code, told.as_str()), (0, "~ restart-only traces.headers: changed\n"), "{errors}");
    assert!(!errors.contains(SECRET) && !daemon.log().contains(SECRET), "{errors}{}", daemon.log());
    let wrong = config.replace("x-scope-orgid = \"team\"", "host = \"a\", \"a b\" = \"c\", x-a = \"d\\ne\"");
    std::fs::write(folder.join("codemode.toml"), wrong).unwrap();
    let (code, _, errors) = run(&["check"], folder);
    assert_eq!(code, 78, "{errors}");
    for told in [
        "traces.headers.host: `host` is no header's name",
        "`a b` is no header's name",
        "x-a: a header's value is one line",
    ] {
        assert!(errors.contains(told), "{told} in {errors}");
    }
}
