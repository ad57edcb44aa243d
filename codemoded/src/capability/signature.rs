//! How a capability looks to whoever calls it: its signature, and a call that works.

use super::schema::{Input, Style, is_identifier, literal};
use super::{Capability, Name};

/// `records.lookup(*, key: str, limit: int | None)`.
pub fn signature(name: &Name, input: &Input) -> String {
    let mut out = format!("{name}(");
    let parameters = input.parameters();
    let others = input.others();
    if !parameters.is_empty() {
        out.push('*');
    }
    for parameter in &parameters {
        out.push_str(", ");
        parameter.write(Style::Input, &mut out);
    }
    if let Some(others) = others {
        out.push_str(if parameters.is_empty() { "**others: " } else { ", **others: " });
        out.push_str(&others.notation(Style::Input));
    }
    out.push(')');
    out
}

/// One call on one line that binds. Where no arguments can be made up, a call without any.
pub fn example(capability: &Capability) -> String {
    let arguments = capability.input.example().unwrap_or_default();
    let (plain, quoted): (Vec<_>, Vec<_>) = arguments.iter().partition(|(name, _)| is_identifier(name));
    let mut shown: Vec<_> = plain.iter().map(|(name, value)| format!("{name}={}", literal(value))).collect();
    if !quoted.is_empty() {
        // A name that is no identifier can only be given in a dict.
        let entries = quoted.iter().map(|(name, value)| {
            let key = literal(&crate::value::Value::from(name.as_str()));
            format!("{key}: {}", literal(value))
        });
        shown.push(format!("**{{{}}}", entries.collect::<Vec<_>>().join(", ")));
    }
    format!("{}({})", capability.name, shown.join(", "))
}
