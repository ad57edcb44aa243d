//! The figures: they agree with what was done, their series are closed whatever is sent, and Prometheus can read them.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{
    Daemon, SECRET, allow_all, by_header, executable, faulty, main_of, not_run, program, records, until,
};
use crate::identity::door::{exchange, request};

/// Asks for administration at any free port.
const ADMIN: &str = "[admin]\nlisten = \"127.0.0.1:0\"\n";

fn text(daemon: &Daemon) -> String {
    let url = daemon.admin();
    let address = url.trim_start_matches("http://");
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let reply = exchange(socket, &request(address, "GET", "/metrics", &[], ""));
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    reply.body
}

/// Every sample, by its name and labels as they are written.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(series, value)| (series.to_owned(), value.parse().unwrap()))
        .collect()
}

/// The value of a series; 0 where nothing has made it yet.
fn value(daemon: &Daemon, series: &str) -> f64 {
    samples(&text(daemon)).get(series).copied().unwrap_or_default()
}

#[track_caller]
fn agree(daemon: &Daemon, expected: &[(&str, f64)]) {
    let found = samples(&text(daemon));
    for (series, value) in expected {
        assert_eq!(found.get(*series), Some(value), "{series} in:\n{found:#?}");
    }
}

#[test]
fn the_counts_agree_with_what_was_done() {
    let limits =
        "[limits]\nmax_execution_time = \"800ms\"\nmax_execution_steps = 1000000000000\nmax_native_calls = 5\n";
    let daemon = Daemon::start(&allow_all(&format!("{ADMIN}{limits}{}{}", records(), faulty())));
    for _ in 0..3 {
        daemon.main("return records.lookup(key = \"a\")").result();
    }
    daemon.main("return records.put(key = \"a\", value = 1)").result();
    daemon.main("return nothing").error();
    daemon.main("return faulty.publish(message = \"no\")").error();
    daemon.main("for i in range(9):\n    records.lookup(key = \"a\")").error();
    daemon.main("for _ in range(1000000000):\n    pass").error();
    assert_eq!(daemon.post_text("{", &[]).0, 400);
    until("the last worker's end is counted", || {
        value(&daemon, "codemoded_runs_total{outcome=\"resource_limit\"}") == 2.0
    });
    agree(
        &daemon,
        &[
            ("codemoded_runs_total{outcome=\"ok\"}", 4.0),
            ("codemoded_runs_total{outcome=\"invalid_program\"}", 1.0),
            ("codemoded_runs_total{outcome=\"capability_failed\"}", 1.0),
            ("codemoded_limits_exceeded_total{limit=\"max_native_calls\"}", 1.0),
            ("codemoded_limits_exceeded_total{limit=\"max_execution_time\"}", 1.0),
            ("codemoded_calls_total{capability=\"records.entry.lookup\",outcome=\"ok\"}", 8.0),
            ("codemoded_calls_total{capability=\"records.put\",outcome=\"ok\"}", 1.0),
            ("codemoded_calls_total{capability=\"faulty.publish\",outcome=\"capability_failed\"}", 1.0),
            ("codemoded_decisions_total{decision=\"allowed\"}", 10.0),
            ("codemoded_run_seconds_count", 8.0),
            ("codemoded_run_seconds_bucket{le=\"+Inf\"}", 8.0),
            ("codemoded_run_queue_seconds_count", 8.0),
            ("codemoded_call_seconds_count", 10.0),
            ("codemoded_workers_ended_total{cause=\"deadline\"}", 1.0),
            ("codemoded_workers_ended_total{cause=\"finished\"}", 7.0),
            ("codemoded_http_responses_total{class=\"2xx\"}", 8.0),
            ("codemoded_http_responses_total{class=\"4xx\"}", 1.0),
            ("codemoded_generation", 1.0),
            ("codemoded_runs_waiting", 0.0),
        ],
    );
    until("workers are ready again", || value(&daemon, "codemoded_workers_ready") == 2.0);
    assert!(value(&daemon, "codemoded_worker_start_seconds_count") >= 8.0);
    assert!(text(&daemon).contains(concat!("codemoded_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1\n")));
}

#[test]
fn a_worker_that_has_a_program_and_one_that_waits_are_seen() {
    let daemon = Daemon::start(&allow_all(&format!("{ADMIN}{}", faulty())));
    std::thread::scope(|scope| {
        let run = scope.spawn(|| daemon.main("return faulty.sleep(milliseconds = 1200)"));
        until("one is live", || value(&daemon, "codemoded_workers_live") == 1.0);
        assert!(value(&daemon, "codemoded_http_connections") >= 1.0);
        assert_eq!(*run.join().unwrap().result(), json!(1200));
    });
    until("none is live", || value(&daemon, "codemoded_workers_live") == 0.0);
}

#[test]
fn who_could_not_be_made_out_and_who_came_too_often_are_counted() {
    let rates = "[rates]\nrequests_per_minute = 3\nfailures_per_minute = 2\n";
    let daemon = by_header(&format!("{ADMIN}{rates}{}", records()));
    for _ in 0..4 {
        daemon.post(&json!({}), &[("x-user", "mallory"), ("x-codemode-secret", "wrong")]);
    }
    for _ in 0..3 {
        main_of(&daemon, "ann", &program("return 1")).result();
    }
    assert_eq!(daemon.post(&json!({}), &secret("ann")).0, 429);
    agree(
        &daemon,
        &[
            ("codemoded_authentication_failures_total{kind=\"missing\"}", 4.0),
            ("codemoded_rate_refusals_total{limit=\"failures\"}", 2.0),
            ("codemoded_rate_refusals_total{limit=\"requests\"}", 1.0),
        ],
    );
}

fn secret(subject: &str) -> Vec<(&str, &str)> {
    vec![("x-user", subject), ("x-codemode-secret", SECRET)]
}

#[test]
fn whatever_is_sent_the_series_stay_those_of_the_program_and_its_capabilities() {
    let daemon = by_header(&format!("{ADMIN}[rates]\nrequests_per_minute = 100000\n{}", records()));
    let words = |number: usize| format!("evil{number}\\\"\n{{x=\\\"");
    for number in 0..100 {
        let subject = format!("subject-{number}");
        let headers = secret(&subject);
        let random = words(number);
        let body = json!({ "jsonrpc": "2.0", "id": number, "method": random, "params": { "name": random } });
        daemon.post(&body, &headers);
        let call = |tool: &str, arguments: Value| {
            let params = json!({ "name": tool, "arguments": arguments });
            daemon.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }), &headers)
        };
        call(&random, json!({}));
        call("search_api", json!({ "query": random }));
        call("describe_api", json!({ "name": random }));
        call("execute", json!({ "source": program(&format!("return evil.n{number}()")) }));
        call("execute", json!({ "source": program(&format!("return records.lookup(key = \"evil{number}\")")) }));
        let mut socket = TcpStream::connect(daemon.address()).unwrap();
        write!(socket, "EVIL{number} /evil{number} HTTP/1.1\r\nhost: evil{number}\r\nevil{number}: x\r\n\r\n").unwrap();
    }
    let text = text(&daemon);
    assert!(!text.contains("evil") && !text.contains("EVIL") && !text.contains("subject"), "{text}");
    let of_calls: Vec<_> =
        samples(&text).into_keys().filter(|series| series.starts_with("codemoded_calls_total")).collect();
    assert_eq!(of_calls, ["codemoded_calls_total{capability=\"records.entry.lookup\",outcome=\"ok\"}"]);
    assert!(samples(&text).len() < 250, "{} series", samples(&text).len());
}

#[test]
fn of_twenty_thousand_capabilities_two_thousand_have_series_of_their_own() {
    let limits = "[limits]\nmax_native_calls = 3000\nmax_source_bytes = \"1MiB\"\nmax_execution_time = \"60s\"\n";
    let config = allow_all(&format!("{ADMIN}{limits}{}", faulty()));
    let daemon = Daemon::start_by(
        Command::new(executable()),
        &config,
        |_| {},
        |command| {
            command.env("CODEMODE_FAULTY_NUMBERED", "20000");
        },
    );
    let calls: String = (0..2_500).map(|number| format!("faulty.numbered.n{number}(value = 1)\n")).collect();
    daemon.main(&format!("{calls}return 1")).result();
    let series: Vec<_> =
        samples(&text(&daemon)).into_iter().filter(|(series, _)| series.starts_with("codemoded_calls_total")).collect();
    assert_eq!(series.len(), 2_001);
    let other = series.iter().find(|(series, _)| series.contains("capability=\"other\"")).unwrap();
    assert_eq!(other.1, 500.0);
}

#[test]
fn prometheus_reads_the_figures_and_finds_nothing_to_mend() {
    let Some(tool) =
        std::env::var_os("CODEMODE_PROMETHEUS").map(|folder| PathBuf::from(folder).join("usr/bin/promtool"))
    else {
        not_run(
            "metrics::prometheus_reads_the_figures_and_finds_nothing_to_mend",
            "CODEMODE_PROMETHEUS is not set; use tests/run",
        );
        return;
    };
    let daemon = Daemon::start(&allow_all(&format!("{ADMIN}{}{}", records(), faulty())));
    daemon.main("return records.lookup(key = \"a\")").result();
    daemon.main("return faulty.publish(message = \"no\")").error();
    daemon.post_text("{", &[]);
    let mut checking = Command::new(tool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    checking.stdin.take().unwrap().write_all(text(&daemon).as_bytes()).unwrap();
    let done = checking.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.is_empty(), "{said}");
}
