//! An inspection for people to read.

use std::fmt::Write as _;

use serde_json::Value;

use crate::capability::Hints;
use crate::capability::catalog::FieldDescription;
use crate::plugin::inspection::{Inspection, Offer};

/// A library's own words on one line, without anything that steers a terminal.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// Everything but the schemas' text.
pub(super) fn text(inspection: &Inspection) -> String {
    let Inspection { package, version, abi, summary, sha256, .. } = inspection;
    let mut out = format!("plugin        {} {}, ABI {abi}\n", plain(package), plain(version));
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(out, "{name:<14}{}", plain(value));
    };
    if !summary.is_empty() {
        row("summary", summary);
    }
    row("sha256", &sha256.to_string());
    row("operations", &inspection.operations.join(", "));
    let namespace = match inspection.namespace_configurable {
        true => "the instance's name takes the place of the first segment",
        false => "as written",
    };
    row("names", namespace);
    if let Some(exposed) = &inspection.exposed {
        row("not loadable", exposed);
    }
    settings(&mut out, &inspection.settings);
    let _ = writeln!(out, "capabilities  {}", inspection.capabilities.len());
    for offer in &inspection.capabilities {
        capability(&mut out, offer);
    }
    out
}

fn settings(out: &mut String, schema: &Value) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        out.push_str("settings      none\n");
        return;
    };
    out.push_str("settings\n");
    let required = schema.get("required").and_then(Value::as_array);
    for (key, schema) in properties {
        let is_required = required.is_some_and(|required| required.iter().any(|each| each == key));
        let kind = schema.get("type").map_or_else(|| "any".to_owned(), kinds);
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let mark = if is_required { ", required" } else { "" };
        let _ = writeln!(out, "  {}: {}{mark}", plain(key), plain(&kind));
        paragraph(out, description);
    }
}

fn kinds(kind: &Value) -> String {
    match kind {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

fn capability(out: &mut String, offer: &Offer) {
    let Some(described) = &offer.described else {
        let _ = writeln!(out, "  {}: would be refused", plain(&offer.name));
        return;
    };
    let _ = writeln!(out, "  {}", plain(&described.signature));
    paragraph(out, &described.description);
    if offer.id != offer.name {
        let _ = writeln!(out, "      ID: {}", plain(&offer.id));
    }
    let hints = hints(described.hints);
    if !hints.is_empty() {
        let _ = writeln!(out, "      hints: {hints}");
    }
    for (kind, fields) in [("takes", &described.input), ("gives", &described.output)] {
        for field in fields {
            let _ = writeln!(out, "      {kind} {}", plain(&field_text(field)));
        }
    }
}

fn paragraph(out: &mut String, text: &str) {
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let _ = writeln!(out, "      {}", plain(line));
    }
}

fn hints(hints: Hints) -> String {
    let Hints { read_only, destructive, idempotent, open_world } = hints;
    let named = [
        (read_only, "read-only", "changes things"),
        (destructive, "destructive", "not destructive"),
        (idempotent, "idempotent", "not idempotent"),
        (open_world, "open world", "closed world"),
    ];
    let said = named.iter().filter_map(|(hint, yes, no)| hint.map(|hint| if hint { *yes } else { *no }));
    said.collect::<Vec<_>>().join(", ")
}

fn field_text(field: &FieldDescription) -> String {
    let mut text = format!("{}: {}", field.name, field.ty);
    if let Some(constraints) = &field.constraints {
        let _ = write!(text, " ({constraints})");
    }
    if let Some(description) = &field.description {
        let _ = write!(text, "  {description}");
    }
    text
}
