//! What registrations claim against one another: names, namespaces and IDs, each once.

use std::collections::{HashMap, HashSet};

use super::nearest::nearest;
use super::{CatalogFault, Origin, Problem, Registration};
use crate::capability::Id;

/// Every claim to what another registration has claimed before.
pub(super) fn collisions(registrations: &[Registration]) -> Vec<CatalogFault> {
    let mut faults = Vec::new();
    let mut names: HashMap<&str, &Registration> = HashMap::with_capacity(registrations.len());
    let mut ids: HashMap<&str, &Registration> = HashMap::with_capacity(registrations.len());
    for registration in registrations {
        if let Some(first) = names.get(registration.name.as_str()) {
            faults.push(fault(registration, Problem::NameTaken(Origin::of(first))));
            continue;
        }
        names.insert(&registration.name, registration);
        let id = claimed_id(registration);
        if let Some(first) = ids.get(id) {
            faults.push(fault(registration, Problem::IdTaken { id: id.to_owned(), other: Origin::of(first) }));
        } else {
            ids.insert(id, registration);
        }
    }
    for registration in registrations {
        let namespaces = registration.name.match_indices('.').filter_map(|(dot, _)| registration.name.get(..dot));
        for namespace in namespaces {
            // Each owner is told once, of the first name inside.
            if let Some(owner) = names.remove(namespace) {
                faults.push(fault(owner, Problem::Namespace(Origin::of(registration))));
            }
        }
    }
    faults
}

/// Every disabled ID that no registration has.
pub(super) fn unknown_ids(registrations: &[Registration], disabled: &[(String, Id)]) -> Vec<CatalogFault> {
    if disabled.is_empty() {
        return Vec::new();
    }
    let known: HashSet<&str> = registrations.iter().map(claimed_id).collect();
    let unknown = disabled.iter().filter(|(_, id)| !known.contains(id.as_str()));
    unknown
        .map(|(place, id)| CatalogFault::UnknownDisabled {
            place: place.clone(),
            id: id.clone(),
            nearest: nearest(id.as_str(), known.iter().copied()).map(str::to_owned),
        })
        .collect()
}

fn claimed_id(registration: &Registration) -> &str {
    registration.id.as_deref().unwrap_or(&registration.name)
}

fn fault(registration: &Registration, problem: Problem) -> CatalogFault {
    CatalogFault::Registration { origin: Origin::of(registration), problem }
}
