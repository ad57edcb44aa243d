//! What a discover decision hides from a subject is not there for it: no answer differs by a byte from those of a
//! daemon that has it disabled.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Daemon, faulty, faulty_example, plugin, program, records};

/// Hides some capabilities from everybody but `ann`, among them all that there are under two namespaces.
const POLICY: &str = "package p

hidden := {\"faulty.note\", \"desk.book\", \"desk.admin.purge\"}

default allow := true

default discover := true

discover := false if {
    input.subject.id != \"ann\"
    hidden[input.capability.id]
}

discover := false if {
    input.subject.id != \"ann\"
    startswith(input.capability.name, \"records.\")
}
";

/// The same by configuration.
const DISABLED: &str = "\"faulty.note\", \"desk.book\", \"desk.admin.purge\", \"records.put\", \"records.entries\", \
\"records.entry.lookup\", \"records.entry.search\", \"records.entry.delete\"";

const SECRET: &str = "correct-horse-battery";

/// Programs that look for what is hidden in every way that the language has.
const BODIES: [&str; 38] = [
    "return dir(desk)",
    "return dir(faulty)",
    "return [dir(x) for x in [desk, faulty]]",
    "return hasattr(desk, \"book\")",
    "return hasattr(desk, \"admin\")",
    "return hasattr(desk, \"echo\")",
    "return getattr(desk, \"book\", \"none\")",
    "return getattr(desk, \"book\")",
    "return getattr([desk][0], \"admin\").purge(value = 1)",
    "return str(desk.book)",
    "return desk.book(room = \"a\", seats = 1)",
    "return desk.book(rom = 1)",
    "return desk.book()",
    "return desk.bok()",
    "return desk.boo",
    "return desk.ecko()",
    "return desk.admin",
    "return desk.admin.purge(value = 1)",
    "return desk.admin.porge(value = 1)",
    "return desk.admni.purge(value = 1)",
    "return [desk][0].book(room = 1)",
    "return [desk][0].bok()",
    "return [desk][0].admin.purge()",
    "return attempt(desk.book, room = 1)",
    "return parallel([call(desk.book), call(desk.status)])",
    "return desk.echo(value = desk.echo(value = 1))",
    "return desk.echo(valu = 1)",
    "desk.status()\nreturn desk.book()",
    "return faulty.note(text = \"x\")[\"subject\"]",
    "return faulty.echo(value = [faulty.note])",
    "return records.lookup(key = \"a\")",
    "return records",
    "return recrds.lookup()",
    "return recods",
    "return dsk.echo(value = 1)",
    "desk = [1]\nreturn desk.book",
    "records = \"{} {}\"\nreturn records.format(1.5, 10000000000000000000.0)",
    "def f(x: records):\n    return x\nreturn f(1)",
];

const SOURCES: [&str; 5] = [
    "x = desk.book\n\ndef main():\n    return 1\n",
    "records = 1\n\ndef main():\n    return records\n",
    "def main():\n    return nothing\n\ndef other():\n    nothing = desk.book\n    return nothing\n",
    "def main():\n    return helper(desk)\n\ndef helper(it):\n    return it.book(room = 1)\n",
    "def main():\n    return [desk.status(), faulty.echo(value = 1), faulty.not]\n",
];

const QUERIES: [&str; 6] = ["book", "desk", "purge", "note", "lookup records", "value"];

const NAMES: [&str; 13] = [
    "desk.bok",
    "desk.ehco",
    "faulty.nota",
    "records.lokup",
    "desk.book",
    "desk.bok",
    "desk.admin.purge",
    "desk.admin",
    "desk.echo",
    "faulty.note",
    "records.lookup",
    "records",
    "search_api",
];

fn daemon(start: &str, discover: &str, disabled: &str) -> Daemon {
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[identity]\nmode = \"proxy\"\nheader = \"x-user\"\n\
         peers = [\"127.0.0.1/32\"]\nshared_secret_file = \"secret\"\n[policy]\nmode = \"rego\"\n\
         modules = [\"p.rego\"]\nexecute = \"data.p.allow\"\n{discover}[catalog]\ndisabled = [{disabled}]\n\
         [workers]\nstart = \"{start}\"\n{}{}{}",
        faulty(),
        plugin("desk", &faulty_example("desk"), ""),
        records(),
    );
    Daemon::start_with(&config, |folder| {
        fs::write(folder.join("secret"), SECRET).unwrap();
        fs::write(folder.join("p.rego"), POLICY).unwrap();
    })
}

/// Everything that a subject can be told, each with what was asked.
fn told(daemon: &Daemon, subject: &str) -> Vec<(String, String)> {
    let headers = [("x-codemode-secret", SECRET), ("x-user", subject)];
    let sources = BODIES.iter().map(|body| program(body)).chain(SOURCES.map(str::to_owned));
    let executed = sources.map(|source| ("execute", json!({ "source": source })));
    let searched = QUERIES.map(|query| ("search_api", json!({ "query": query })));
    let described = NAMES.map(|name| ("describe_api", json!({ "name": name })));
    let mistaken = NAMES.map(|name| (name, json!({ "value": 1 })));
    let asked = executed.chain(searched).chain(described).chain(mistaken);
    asked
        .map(|(tool, arguments)| {
            let params = json!({ "name": tool, "arguments": arguments });
            let mut answer = daemon.request("tools/call", params, &headers);
            // Each run has its own number.
            if let Some(run) = answer.pointer_mut("/result/_meta/codemoded~1run") {
                *run = Value::Null;
            }
            (format!("{tool} {arguments}"), answer.to_string())
        })
        .collect()
}

#[track_caller]
fn check(start: &str) {
    let hiding = daemon(start, "discover = \"data.p.discover\"\n", "");
    let without = daemon(start, "", DISABLED);
    let everything = daemon(start, "", "");
    for (subject, same) in [("bob", &without), ("ann", &everything)] {
        for (told, known) in told(&hiding, subject).into_iter().zip(told(same, subject)) {
            assert_eq!(told, known, "{subject}");
        }
    }
    // The two differ, or the comparison says nothing.
    assert_ne!(told(&without, "bob"), told(&everything, "bob"));
}

#[test]
fn what_is_hidden_is_not_there_in_any_answer() {
    check("exec");
}

#[test]
fn what_is_hidden_is_not_there_in_a_forked_worker() {
    check("fork");
}
