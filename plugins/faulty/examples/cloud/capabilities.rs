//! A catalog of any size: capabilities of a made-up cloud, each with names, texts and schemas of its own.

use codemode_plugin_api::prelude::*;
use serde_json::{Value, json};

use crate::untyped::{self, Making, Members};

const SERVICES: [&str; 20] = [
    "compute",
    "storage",
    "network",
    "database",
    "queue",
    "identity",
    "billing",
    "monitor",
    "registry",
    "secrets",
    "search",
    "stream",
    "backup",
    "build",
    "deploy",
    "functions",
    "cache",
    "mail",
    "maps",
    "video",
];

const THINGS: [&str; 50] = [
    "instance",
    "volume",
    "snapshot",
    "image",
    "subnet",
    "route",
    "firewall",
    "gateway",
    "bucket",
    "object",
    "cluster",
    "replica",
    "table",
    "topic",
    "consumer",
    "user",
    "role",
    "group",
    "token",
    "key",
    "invoice",
    "budget",
    "alert",
    "dashboard",
    "metric",
    "trace",
    "repository",
    "tag",
    "certificate",
    "vault",
    "index",
    "pipeline",
    "job",
    "schedule",
    "artifact",
    "release",
    "environment",
    "trigger",
    "template",
    "domain",
    "mailbox",
    "campaign",
    "region",
    "zone",
    "quota",
    "reservation",
    "endpoint",
    "session",
    "policy",
    "webhook",
];

const VERBS: [&str; 20] = [
    "get", "list", "create", "update", "delete", "start", "stop", "restart", "copy", "move", "rename", "lock",
    "unlock", "export", "attach", "restore", "resize", "share", "audit", "validate",
];

/// The most that there are.
pub(crate) const MOST: usize = SERVICES.len() * THINGS.len() * VERBS.len();

/// Offers the first so many.
pub(crate) fn offer<P: Send + Sync + 'static>(c: &mut Capabilities<P>, count: usize) {
    for number in 0..count.min(MOST) {
        let words = Words::of(number);
        let name = format!("{}.{}.{}", words.service, words.thing, words.verb);
        let input: Making = Box::new(move || Words::of(number).input());
        let output: Making = Box::new(move || Words::of(number).output());
        let offered = untyped::offer(c, &name, (input, output), move |_, given| Ok(Words::of(number).answer(&given)));
        offered.summary(&words.sentence());
        offered.terms([words.thing, words.service]);
        if words.reads() {
            offered.read_only();
        } else {
            offered.destructive(words.verb == "delete");
        }
    }
}

/// What one capability is about.
struct Words {
    service: &'static str,
    thing: &'static str,
    verb: &'static str,
    number: usize,
}

impl Words {
    fn of(number: usize) -> Self {
        let at = |words: &[&'static str], place: usize| words.get(place % words.len()).copied().unwrap_or_default();
        Self {
            verb: at(&VERBS, number),
            service: at(&SERVICES, number / VERBS.len()),
            thing: at(&THINGS, number / VERBS.len() / SERVICES.len()),
            number,
        }
    }

    fn reads(&self) -> bool {
        matches!(self.verb, "get" | "list" | "export" | "audit" | "validate")
    }

    fn sentence(&self) -> String {
        let mut verb = self.verb.to_owned();
        verb.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
        format!("{verb} a {} of the {} service.", self.thing, self.service)
    }

    fn input(&self) -> Value {
        let Self { service, thing, number, .. } = self;
        let id = format!("{thing}_id");
        let id_schema = json!({
            "type": "string",
            "description": format!("The {thing}'s ID."),
            "pattern": format!("^{service}-[a-z0-9]{{4,40}}$"),
        });
        let names = json!({"type": "object", "additionalProperties": {"type": "string"}, "description": "Labels."});
        match self.verb {
            "list" => json!({"type": "object", "properties": {
                "filter": {"type": "object", "description": format!("Which {thing}s."), "properties": {
                    "owner": {"type": "string"},
                    "state": {"enum": ["active", "stopped", "failed"]},
                    "created_after": {"type": "string", "format": "date-time"},
                }},
                "order": {"enum": ["name", "created"], "default": "name"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100 + number % 400, "default": 50},
            }}),
            "create" | "update" | "attach" | "resize" => json!({"type": "object", "properties": {
                id.clone(): id_schema,
                "size": {"type": "integer", "minimum": 1, "maximum": 1 + number % 64, "description": "In units."},
                "labels": names,
                "tags": {"type": "array", "items": {"type": "string", "maxLength": 64}, "maxItems": 20},
                "dry_run": {"type": "boolean", "default": false, "description": "Only say what would happen."},
            }, "required": [id, "size"]}),
            _ => json!({"type": "object", "properties": {
                id.clone(): id_schema,
                "reason": {"type": ["string", "null"], "description": format!("Why, for the {service} log.")},
                "wait_seconds": {"type": "number", "minimum": 0, "maximum": 10 + number % 50, "default": 1.5},
            }, "required": [id]}),
        }
    }

    fn output(&self) -> Value {
        let thing = json!({"type": "object", "properties": {
            "id": {"type": "string"},
            "kind": {"const": self.thing},
            "size": {"type": "integer"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        }, "required": ["id", "kind"]});
        match self.verb {
            "list" => json!({"type": "object", "properties": {
                "items": {"type": "array", "items": thing},
                "total": {"type": "integer", "minimum": 0},
            }, "required": ["items", "total"]}),
            _ => thing,
        }
    }

    fn answer(&self, given: &Members) -> Value {
        let id = given.get(&format!("{}_id", self.thing)).cloned().unwrap_or_else(|| json!(self.service));
        let thing = json!({"id": id, "kind": self.thing, "size": self.number});
        match self.verb {
            "list" => json!({"items": [thing], "total": 1}),
            _ => thing,
        }
    }
}
