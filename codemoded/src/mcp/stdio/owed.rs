//! Which requests of a conversation have no answer yet.

use std::collections::HashSet;

use tokio::sync::watch;

use crate::mcp::body::{Asks, Checked, Code, Rejection};
use crate::value::{Bounds, Value, read};

/// The IDs of requests, as JSON, that an answer is owed to.
#[derive(Debug, Default)]
pub(super) struct Owed(watch::Sender<HashSet<String>>);

impl Owed {
    /// Two answers to one ID could not be told apart.
    pub(super) fn once(&self, checked: Checked) -> Result<Checked, Rejection> {
        let is_owed = |id: &Value| self.0.borrow().contains(&id.to_json());
        match checked.id.as_ref().is_some_and(is_owed) {
            // The first has a right to the only answer with this ID.
            true => {
                Err(Rejection::new(None, Code::InvalidRequest, "invalid request: an `id` that still has no answer"))
            }
            false => Ok(checked),
        }
    }

    /// A message goes to whoever answers it. What the client calls off is owed no longer.
    pub(super) fn asked(&self, checked: &Checked) {
        if let Some(id) = &checked.id {
            self.0.send_modify(|owed| {
                owed.insert(id.to_json());
            });
        }
        if let Asks::CallOff(id) = &checked.asks {
            self.0.send_modify(|owed| {
                owed.remove(&id.to_json());
            });
        }
    }

    /// A message has gone to the client.
    pub(super) fn said(&self, line: &str) {
        let bounds = Bounds { max_bytes: line.len(), max_depth: usize::MAX };
        let Ok(Value::Map(message)) = read(line.as_bytes(), bounds) else { return };
        if !message.contains_key("method")
            && let Some(id) = message.get("id")
        {
            self.0.send_modify(|owed| {
                owed.remove(&id.to_json());
            });
        }
    }

    /// Returns when every request has its answer.
    pub(super) async fn settled(&self) {
        // The sender is held here, so the wait cannot fail.
        drop(self.0.subscribe().wait_for(HashSet::is_empty).await);
    }
}
