# Who may do what. The daemon asks for `allow` before every call, with
#
#   input.subject      {id, claims}        who calls, as the identity layer says; never as the program says
#   input.capability   {id, name, hints}   what is called
#   input.arguments                        with what, checked against the capability's schema
#
# Only `true` lets a call through. A subject's rights are the rules below that hold for it.
package codemode.authz

default allow := false

# Everyone may look: a capability's author says that it changes nothing.
allow if input.capability.hints.read_only == true

# Whoever may write may add records.
allow if {
	writer
	input.capability.id == "records.put"
}

# Deleting takes the group `record-keepers`; as shipped, nobody is in it. A proxy tells the groups of a subject
# (`groups_header`), a static identity has them as claims: `claims = { groups = ["record-keepers"] }`.
allow if {
	"record-keepers" in input.subject.claims.groups
	input.capability.id == "records.entry.delete"
}

writer if input.subject.id == "local"

writer if "record-keepers" in input.subject.claims.groups
