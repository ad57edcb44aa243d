//! Checks one registration by itself and compiles it.

use super::{CatalogFault, Entry, Origin, Problem, RESERVED_ROOTS, Registration};
use crate::capability::schema::{Input, Output};
use crate::capability::search::{MAX_RESPONSE_BYTES, SearchResponse};
use crate::capability::{Capability, Id, Name};

pub(super) const MAX_ID_BYTES: usize = 256;
pub(super) const MAX_SUMMARY_BYTES: usize = 1_024;
pub(super) const MAX_DESCRIPTION_BYTES: usize = 16 << 10;
pub(super) const MAX_TERMS: usize = 16;
pub(super) const MAX_TERM_BYTES: usize = 1_024;

/// The registration's capability, or everything that is wrong with it. Its schemas may rest until they are used.
pub(super) fn admit(registration: Registration, rests: bool) -> Result<Entry, Vec<CatalogFault>> {
    let mut problems = text_problems(&registration);
    let name = Name::new(&registration.name).map_err(|invalid| problems.push(invalid.into()));
    let input = Input::compile(&registration.input)
        .map_err(|faults| problems.extend(faults.iter().map(|fault| Problem::Input(fault.to_string()))));
    let output = Output::compile(&registration.output)
        .map_err(|faults| problems.extend(faults.iter().map(|fault| Problem::Output(fault.to_string()))));
    let origin = Origin::of(&registration);
    let faults = |problems: Vec<Problem>| {
        let fault = |problem| CatalogFault::Registration { origin: origin.clone(), problem };
        problems.into_iter().map(fault).collect()
    };
    let (Ok(name), Ok(input), Ok(output), true) = (name, input, output, problems.is_empty()) else {
        return Err(faults(problems));
    };
    let Registration { plugin, id, summary, description, search_terms, hints, .. } = registration;
    let capability = Capability {
        id: Id::new(id.as_deref().unwrap_or(name.as_str())),
        name,
        description: description.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| summary.clone()),
        summary,
        search_terms,
        hints,
        input,
        output,
        plugin,
    };
    let entry = Entry::new(capability, rests);
    match SearchResponse::frame_bytes(super::MAX_CAPABILITIES).saturating_add(entry.result_bytes) > MAX_RESPONSE_BYTES {
        true => Err(faults(vec![Problem::Result(entry.result_bytes)])),
        false => Ok(entry),
    }
}

fn text_problems(registration: &Registration) -> Vec<Problem> {
    let Registration { name, id, summary, description, search_terms, .. } = registration;
    let root = name.split('.').next().unwrap_or_default();
    let description_bytes = description.as_ref().map_or(0, String::len);
    let term_bytes: usize = search_terms.iter().map(String::len).sum();
    [
        RESERVED_ROOTS.contains(&root).then(|| Problem::ReservedRoot(root.to_owned())),
        id.as_deref().is_some_and(|id| !is_id(id)).then_some(Problem::Id),
        summary.trim().is_empty().then_some(Problem::NoSummary),
        (summary.len() > MAX_SUMMARY_BYTES).then_some(Problem::Summary(summary.len())),
        (description_bytes > MAX_DESCRIPTION_BYTES).then_some(Problem::Description(description_bytes)),
        (search_terms.len() > MAX_TERMS).then_some(Problem::Terms(search_terms.len())),
        (term_bytes > MAX_TERM_BYTES).then_some(Problem::TermBytes(term_bytes)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn is_id(text: &str) -> bool {
    (1..=MAX_ID_BYTES).contains(&text.len()) && !text.chars().any(|char| char.is_whitespace() || char.is_control())
}

impl Origin {
    pub(super) fn of(registration: &Registration) -> Self {
        Self {
            plugin: registration.plugin.clone(),
            library: registration.library.clone(),
            name: registration.name.clone(),
        }
    }
}
