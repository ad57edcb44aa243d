//! Checks one registration by itself and compiles it.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::thread;

use super::{CatalogFault, Entry, Origin, Problem, RESERVED_ROOTS, Registration};
use crate::capability::schema::{Input, Output, SchemaFault};
use crate::capability::search::{MAX_RESPONSE_BYTES, SearchResponse};
use crate::capability::{Capability, Id, Name};

pub(super) const MAX_ID_BYTES: usize = 256;
pub(super) const MAX_SUMMARY_BYTES: usize = 1_024;
pub(super) const MAX_DESCRIPTION_BYTES: usize = 16 << 10;
pub(super) const MAX_TERMS: usize = 16;
pub(super) const MAX_TERM_BYTES: usize = 1_024;

/// A thread of its own is worth its start from so many registrations.
const MIN_PER_THREAD: usize = 500;

/// How many outputs are remembered as sound.
const MAX_SOUND_OUTPUTS: usize = 1_000;

pub(super) type Admitted = Result<Entry, Vec<CatalogFault>>;

/// Every registration's capability or faults, in order, found on as many threads as there are processors.
pub(super) fn all(mut registrations: Vec<Registration>, rests: bool) -> Vec<Admitted> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = registrations.len().div_ceil(threads).max(MIN_PER_THREAD);
    let mut shares = Vec::new();
    while registrations.len() > share {
        shares.push(registrations.split_off(registrations.len() - share));
    }
    let admit_all = |share: Vec<Registration>| {
        let mut outputs = Outputs { rest: rests, sound: HashSet::new() };
        share.into_iter().map(|each| admit(each, &mut outputs)).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let others: Vec<_> = shares.into_iter().rev().map(|share| scope.spawn(|| admit_all(share))).collect();
        let mut admitted = admit_all(registrations);
        for other in others {
            admitted.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        admitted
    })
}

/// Compiles outputs, and the same one once only where schemas rest anyway: many capabilities give the same thing.
struct Outputs {
    rest: bool,
    sound: HashSet<Box<str>>,
}

impl Outputs {
    fn read(&mut self, text: Box<str>) -> Result<Output, Vec<SchemaFault>> {
        if self.sound.contains(&text) {
            return Ok(Output::from_checked(&text));
        }
        let output = Output::read(text)?;
        if self.rest && self.sound.len() < MAX_SOUND_OUTPUTS {
            self.sound.insert(output.source().into());
        }
        Ok(output)
    }
}

/// The registration's capability, or everything that is wrong with it. Its schemas may rest until they are used.
fn admit(mut registration: Registration, outputs: &mut Outputs) -> Admitted {
    let mut problems = text_problems(&registration);
    let name = Name::new(&registration.name).map_err(|invalid| problems.push(invalid.into()));
    let input = Input::read(std::mem::take(&mut registration.input))
        .map_err(|faults| problems.extend(faults.iter().map(|fault| Problem::Input(fault.to_string()))));
    let output = outputs
        .read(std::mem::take(&mut registration.output))
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
    let entry = Entry::new(capability, outputs.rest);
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
