//! What has been decided about who sees what, so that a search over many capabilities asks about each but once.
//!
//! A discover decision depends on the subject, the capability and the policy alone: no built-in that a policy may use
//! looks at anything else (`builtins`). So an answer holds as long as the policy does, which is as long as this does.
//! A decision that failed may have failed for want of time, and is not kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;

use super::Asked;
use crate::capability::Name;
use crate::identity::{Subject, SubjectId};
use crate::value::Map;

/// Decisions that are kept, some ten megabytes; the subject that has been away for longest is forgotten first.
const MAX_KEPT: usize = 200_000;

#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Whoever asked last is last.
    subjects: IndexMap<SubjectId, Sight>,
    decisions: usize,
}

#[derive(Debug)]
struct Sight {
    claims: Arc<Map>,
    shown: HashMap<Name, bool>,
}

impl Seen {
    /// What is known of each, in the same order.
    pub(super) fn known(&self, subject: &Subject, capabilities: &[Asked]) -> Vec<Option<bool>> {
        let mut kept = self.lock();
        let Some(sight) = kept.sight(subject) else { return vec![None; capabilities.len()] };
        capabilities.iter().map(|asked| sight.shown.get(&asked.name).copied()).collect()
    }

    pub(super) fn keep(&self, subject: &Subject, decided: impl Iterator<Item = (Name, bool)>) {
        let mut kept = self.lock();
        if kept.sight(subject).is_none() {
            let sight = Sight { claims: Arc::clone(&subject.claims), shown: HashMap::new() };
            kept.subjects.insert(subject.id.clone(), sight);
        }
        if let Some((_, sight)) = kept.subjects.last_mut() {
            let before = sight.shown.len();
            sight.shown.extend(decided);
            kept.decisions += sight.shown.len() - before;
        }
        while kept.decisions > MAX_KEPT && kept.forget(0) {}
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// A subject's, moved to the end; one with other claims is another subject.
    fn sight(&mut self, subject: &Subject) -> Option<&Sight> {
        let place = self.subjects.get_index_of(&subject.id)?;
        if self.subjects.get_index(place).is_some_and(|(_, sight)| *sight.claims != *subject.claims) {
            self.forget(place);
            return None;
        }
        self.subjects.move_index(place, self.subjects.len() - 1);
        self.subjects.last().map(|(_, sight)| sight)
    }

    fn forget(&mut self, place: usize) -> bool {
        let forgotten = self.subjects.shift_remove_index(place);
        self.decisions -= forgotten.as_ref().map_or(0, |(_, sight)| sight.shown.len());
        forgotten.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::{Hints, Id};
    use crate::value::Value;

    fn asked(number: usize) -> Asked {
        let name = format!("a.n{number}");
        Asked { id: Id::new(&name), name: Name::new(&name).unwrap(), hints: Hints::default() }
    }

    fn subject(name: &str, claim: i64) -> Subject {
        Subject {
            id: SubjectId::new(name).unwrap(),
            claims: Arc::new(Map::from([("team".to_owned(), Value::from(claim))])),
        }
    }

    fn keep(seen: &Seen, subject: &Subject, numbers: std::ops::Range<usize>) {
        seen.keep(subject, numbers.map(|number| (asked(number).name, number % 2 == 0)));
    }

    #[test]
    fn what_is_known_is_known_of_one_subject_with_its_claims() {
        let seen = Seen::default();
        keep(&seen, &subject("ann", 1), 0..2);
        let known = |subject: &Subject| seen.known(subject, &[asked(0), asked(1), asked(2)]);
        assert_eq!(known(&subject("ann", 1)), [Some(true), Some(false), None]);
        assert_eq!(known(&subject("bob", 1)), [None; 3]);
        assert_eq!(known(&subject("ann", 2)), [None; 3]);
    }

    #[test]
    fn whoever_has_been_away_for_longest_is_forgotten_first() {
        let seen = Seen::default();
        for name in ["ann", "bob", "eve"] {
            keep(&seen, &subject(name, 1), 0..MAX_KEPT / 3);
        }
        let knows = |name: &str| seen.known(&subject(name, 1), &[asked(0)]) == [Some(true)];
        assert!(knows("ann"));
        keep(&seen, &subject("dan", 1), 0..100);
        assert_eq!(["ann", "bob", "eve", "dan"].map(knows), [true, false, true, true]);
        assert!(seen.lock().decisions <= MAX_KEPT);
    }
}
