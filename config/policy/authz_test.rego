# What authz.rego promises. The daemon's own tests run these rules; `opa test config/policy` does too.
package codemode.authz_test

import data.codemode.authz

test_everyone_may_read if {
	authz.allow with input as call("anyone", [], "records.entry.lookup", {"read_only": true})
	authz.allow with input as call("local", [], "files.read", {"read_only": true})
}

test_local_may_put if authz.allow with input as call("local", [], "records.put", {})

test_others_may_not_put if not authz.allow with input as call("anyone", [], "records.put", {})

test_local_may_not_delete if not authz.allow with input as call("local", [], "records.entry.delete", {})

test_record_keepers_may_put_and_delete if {
	authz.allow with input as call("ann", ["record-keepers"], "records.put", {})
	authz.allow with input as call("ann", ["record-keepers"], "records.entry.delete", {})
}

test_a_subject_without_claims_may_still_read if {
	authz.allow with input as {
		"subject": {"id": "anyone", "claims": {}},
		"capability": {"id": "files.read", "name": "files.read", "hints": {"read_only": true}},
		"arguments": {},
	}
}

test_what_says_nothing_of_its_effects_is_denied if {
	not authz.allow with input as call("anyone", ["staff"], "other.operation", {})
	not authz.allow with input as call("anyone", ["staff"], "other.operation", {"read_only": false})
}

test_arguments_never_make_a_subject if {
	forged := object.union(
		call("anyone", [], "records.entry.delete", {}),
		{"arguments": {"subject": {"id": "local", "claims": {"groups": ["record-keepers"]}}}},
	)
	not authz.allow with input as forged
}

call(subject, groups, id, hints) := {
	"subject": {"id": subject, "claims": {"groups": groups}},
	"capability": {"id": id, "name": id, "hints": hints},
	"arguments": {},
}
