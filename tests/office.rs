//! Work on an office suite of some three hundred capabilities, as an agent does it with the three tools.

use serde_json::{Value, json};

use crate::harness::{Daemon, allow_all, faulty_example, plugin};

fn office() -> Daemon {
    Daemon::start(&allow_all(&plugin("office", &faulty_example("office"), "")))
}

#[track_caller]
fn found(daemon: &Daemon, query: &str) -> String {
    let answer = daemon.call("search_api", json!({ "query": query }), &[]).structured.unwrap();
    answer["results"][0]["name"].as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn returns(daemon: &Daemon, source: &str, expected: &Value) {
    assert_eq!(daemon.execute(source).result(), expected, "{source}");
}

#[test]
fn every_example_is_a_call_that_a_program_can_make() {
    let daemon = office();
    let names: Vec<String> = {
        let text =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/search/catalogs/office.json"));
        serde_json::from_str::<serde_json::Map<_, _>>(&text.unwrap()).unwrap().keys().cloned().collect()
    };
    assert!(names.len() > 300);
    for name in names {
        let described = daemon.call("describe_api", json!({ "name": name }), &[]);
        let described = described.structured.unwrap_or_else(|| panic!("{name}"));
        let example = described["example"].as_str().unwrap();
        let answer = daemon.main(&format!("return {example}"));
        // The records of an example need not exist, but its arguments must fit.
        let is_right = !answer.is_error || answer.text.starts_with("capability failed: there is no");
        assert!(is_right, "{example}: {}", answer.text);
    }
}

#[test]
fn a_capability_is_found_read_and_called() {
    let daemon = office();
    assert_eq!(found(&daemon, "list unread emails"), "mail.list");
    let described = daemon.call("describe_api", json!({"name": "mail.list"}), &[]).structured.unwrap();
    let signature = described["signature"].as_str().unwrap();
    assert!(signature.contains("read: bool | None"), "{signature}");
    let output: Vec<_> = described["output"].as_array().unwrap().iter().map(|field| &field["name"]).collect();
    assert_eq!(output, ["items", "total"]);
    returns(
        &daemon,
        "def main():\n    unread = mail.list(folder=\"inbox\", read=False)[\"items\"]\n    \
         return [each[\"subject\"] for each in unread]",
        &json!(["Budget for the spring fair", "Re: Budget for the spring fair", "Invoice 1042"]),
    );
}

#[test]
fn whole_tasks_are_one_program_each() {
    let daemon = office();
    let tasks = [
        (
            "archive the newsletters",
            "def main():\n    news = mail.search(query=\"weekly news\")[\"items\"]\n    \
             return [mail.archive(mail_id=one[\"id\"])[\"folder\"] for one in news]",
            json!(["archive"]),
        ),
        (
            "which of my tasks are overdue, by person",
            "def main():\n    late = {}\n    for one in task.list(state=\"open\")[\"items\"]:\n        \
             if one[\"due\"] < \"2026-03-05\":\n            late.setdefault(one[\"assignee\"], []).append(one[\"title\"])\n    return late",
            json!({"ben@lark.example": ["Book the hall"], "me@lark.example": ["Pay invoice 1042"]}),
        ),
        (
            "tell the assignees of open tasks",
            "def main():\n    sent = 0\n    for one in task.list(state=\"open\")[\"items\"]:\n        \
             chat.message.send(to=one[\"assignee\"], text=f\"{one['title']} is due on {one['due']}\")\n        sent += 1\n    return sent",
            json!(3),
        ),
        (
            "how far over the budget is the fair",
            "def main():\n    rows = sheet.range.get(sheet_id=\"s1\", range=\"A1:C4\")[\"values\"]\n    \
             return sum([row[2] - row[1] for row in rows[1:]])",
            json!(380.5),
        ),
        (
            "a free room for six and a meeting in it",
            "def main():\n    rooms = [room for room in calendar.room.list(free=True)[\"items\"] if room[\"seats\"] >= 6]\n    \
             slot = calendar.find_time(attendees=[\"ada@lark.example\"], minutes=60)[0]\n    \
             event = calendar.event.create(title=\"Review\", room=rooms[0][\"id\"], **slot)\n    \
             return [event[\"room\"], event[\"start\"]]",
            json!(["room-3", "2026-03-04T09:00:00Z"]),
        ),
        (
            "events that overlap",
            "def main():\n    events = sorted(calendar.event.list()[\"items\"], key=lambda event: event[\"start\"])\n    \
             return [[a[\"title\"], b[\"title\"]] for a, b in zip(events, events[1:]) if b[\"start\"] < a[\"end\"]]",
            json!([["Spring fair planning", "Interview"]]),
        ),
        (
            "who can open the plan besides its owner",
            "def main():\n    plan = drive.file.search(query=\"plan\")[\"items\"][0]\n    \
             return {share[\"person\"]: share[\"access\"] for share in drive.share.list(file_id=plan[\"id\"])[\"items\"]}",
            json!({"ben@lark.example": "edit"}),
        ),
        (
            "licenses of people who have not signed in this year",
            "def main():\n    idle = [user for user in admin.user.list()[\"items\"] if user[\"last_sign_in\"] < \"2026\"]\n    \
             return {user[\"name\"]: user[\"licenses\"] for user in idle}",
            json!({"Gus Old": ["office", "design"]}),
        ),
        (
            "remind who has not signed",
            "def main():\n    one = signature.status(envelope_id=\"en1\")\n    \
             return [who for who in one[\"signers\"] if who not in one[\"signed\"]]",
            json!(["dan@lark.example"]),
        ),
        (
            "what goes on despite one failure",
            "def main():\n    done = []\n    for id in [\"m1\", \"nope\"]:\n        \
             answer = attempt(mail.flag, mail_id=id)\n        done.append(answer.ok)\n    return done",
            json!([true, false]),
        ),
    ];
    for (task, source, expected) in tasks {
        let answer = daemon.execute(source);
        assert!(!answer.is_error, "{task}: {}\n{source}", answer.text);
        assert_eq!(*answer.result(), expected, "{task}");
    }
}

#[test]
fn what_does_not_fit_is_told_so_that_the_next_call_does() {
    let daemon = office();
    let rows = [
        ("mail.list(unread=True)", "mail.list: unknown argument \"unread\""),
        ("mail.list(limt=5)", "mail.list: unknown argument \"limt\"; did you mean \"limit\"?"),
        ("mail.list(limit=500)", "mail.list: argument \"limit\" must be between 1 and 100"),
        ("mail.get()", "mail.get: missing required argument \"mail_id\""),
        ("task.list(state=\"closed\")", "task.list: argument \"state\" must be \"open\", \"done\" or None"),
        ("task.due.set(task_id=\"k1\", due=\"soon\")", "task.due.set: argument \"due\" must be a valid date"),
        ("mail.send(to=\"ada@lark.example\", subject=\"s\", body=\"b\")", "mail.send: argument \"to\" must be a list"),
    ];
    for (call, told) in rows {
        let answer = daemon.main(&format!("return {call}"));
        assert!(answer.error().contains(told), "{call}: {}", answer.text);
    }
}

/// The programs that a newcomer wrote who knew the three tools and nothing else, and what is answered to that newcomer's
/// mistakes; between lines of `---`, each ending with a line of `#=>` and the answer.
#[test]
fn a_newcomers_programs_run_and_the_mistakes_are_answered() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/office/programs.star")).unwrap();
    let daemon = office();
    let mut faults = Vec::new();
    for chunk in text.split("---\n") {
        let (source, expected) = chunk.split_once("#=> ").unwrap();
        let answer = daemon.execute(source);
        let said = match answer.is_error {
            true => answer.text.lines().next().unwrap_or_default().to_owned(),
            false => answer.result().to_string(),
        };
        if said != expected.trim_end() {
            faults.push(format!("{source}#=> {said}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n---\n"));
}
