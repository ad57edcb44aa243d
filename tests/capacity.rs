//! As many capabilities as a catalog may have.

use std::fs;

use serde_json::json;

use crate::harness::{Daemon, allow_all, faulty_example, plugin};

/// What a daemon with the largest catalog may take.
const MOST_RESIDENT_KIB: u64 = 150 << 10;

fn resident_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn twenty_thousand_capabilities_are_served_in_little_room() {
    let daemon = Daemon::start(&allow_all(&plugin("many", &faulty_example("many"), "")));
    let resident = resident_kib(daemon.pid());
    assert!(resident < MOST_RESIDENT_KIB, "{resident} KiB");

    let found = daemon.call("search_api", json!({"query": "resize database snapshot"}), &[]).structured.unwrap();
    assert_eq!(found["results"][0]["name"], "database.snapshot.resize", "{found}");
    let described = daemon.call("describe_api", json!({"name": "video.webhook.validate"}), &[]).structured.unwrap();
    assert_eq!(described["input"][0]["constraints"], "matches ^video-[a-z0-9]{4,40}$", "{described}");

    let called = daemon.main(
        "names = [name for name in dir(compute)]\n\
         page = storage.bucket.list(limit=5, filter={\"state\": \"active\"})\n\
         one = queue.topic.get(topic_id=\"queue-a1b2\")\n\
         return [len(names), page[\"total\"], one[\"id\"]]",
    );
    assert_eq!(*called.result(), json!([50, 1, "queue-a1b2"]));
    let wrong = daemon.main("return queue.topic.get(topic_id=\"mail-a1b2\")");
    assert!(wrong.error().contains("must match ^queue-[a-z0-9]{4,40}$"), "{}", wrong.error());
}
