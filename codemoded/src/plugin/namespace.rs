//! An instance's own namespace: where a library allows it, the instance's name takes the place of the first segment.

use codemode_plugin_api::descriptor::Descriptor;

/// Renames the capabilities, and gives the names that the library knows, in the same order.
pub(super) fn apply(descriptor: &mut Descriptor, instance: &str) -> Vec<String> {
    let own_names = descriptor.capabilities.iter().map(|capability| capability.name.clone()).collect();
    if descriptor.namespace_configurable {
        for capability in &mut descriptor.capabilities {
            let Some((root, rest)) = capability.name.split_once('.') else { continue };
            if let Some(rest) = capability.id.as_ref().and_then(|id| id.strip_prefix(root)?.strip_prefix('.')) {
                capability.id = Some(format!("{instance}.{rest}"));
            }
            capability.name = format!("{instance}.{rest}");
        }
    }
    own_names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(configurable: bool, (name, id): (&str, Option<&str>), expected: (&str, Option<&str>)) {
        let capability = json!({"name": name, "id": id, "input": {}, "output": {}, "kind": "async"});
        let mut descriptor: Descriptor = serde_json::from_value(json!({
            "abi": 1, "name": "records", "version": "1.0.0", "settings": {},
            "namespace_configurable": configurable, "capabilities": [capability],
        }))
        .unwrap();
        assert_eq!(apply(&mut descriptor, "crm"), [name]);
        let renamed = &descriptor.capabilities[0];
        assert_eq!((renamed.name.as_str(), renamed.id.as_deref()), expected);
    }

    #[test]
    fn the_instance_is_the_namespace_where_the_library_allows_it() {
        let own = ("records.lookup", Some("records.entry.lookup"));
        check(true, own, ("crm.lookup", Some("crm.entry.lookup")));
        check(false, own, own);
    }

    #[test]
    fn an_id_outside_the_namespace_stays() {
        check(true, ("records.lookup", Some("legacy.lookup")), ("crm.lookup", Some("legacy.lookup")));
        check(true, ("records.lookup", Some("recordsx.lookup")), ("crm.lookup", Some("recordsx.lookup")));
        check(true, ("records.lookup", None), ("crm.lookup", None));
    }
}
