//! What each key has used up: a bounded table, so that nobody fills the memory with addresses or names.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use governor::nanos::Nanos;
use governor::state::StateStore;

/// Keys at once.
const MAX_KEYS: usize = 1 << 16;

/// For each key the time until which it has used up its share, as the limiter counts it.
#[derive(Debug)]
pub(super) struct Table<K>(Mutex<HashMap<K, u64>>);

impl<K> Default for Table<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone> StateStore for Table<K> {
    type Key = K;

    fn measure_and_replace<T, F, E>(&self, key: &K, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (answer, until) = measure(used.get(key).map(|until| Nanos::from(*until)))?;
        if used.len() >= MAX_KEYS && !used.contains_key(key) {
            forget(&mut used);
        }
        used.insert(key.clone(), until.as_u64());
        Ok(answer)
    }
}

/// Forgets the half that has used up least: those are the ones whose count would soon be clear anyway.
fn forget<K: Hash + Eq>(used: &mut HashMap<K, u64>) {
    let mut times: Vec<u64> = used.values().copied().collect();
    let half = times.len() / 2;
    let (_, median, _) = times.select_nth_unstable(half);
    let median = *median;
    used.retain(|_, until| *until > median);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stays_bounded_and_keeps_who_has_used_most() {
        let table = Table::default();
        let enter = |key: usize, until: u64| {
            let entered: Result<(), ()> = table.measure_and_replace(&key, |_| Ok(((), Nanos::from(until))));
            entered.unwrap();
        };
        enter(usize::MAX, u64::MAX);
        for key in 0..MAX_KEYS * 3 {
            enter(key, key as u64);
        }
        let used = table.0.lock().unwrap();
        assert!(used.len() <= MAX_KEYS, "{}", used.len());
        assert!(used.contains_key(&usize::MAX) && used.contains_key(&(MAX_KEYS * 3 - 1)));
    }
}
