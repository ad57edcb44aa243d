//! The sessions of handshake clients, where the configuration has them.
//!
//! A session belongs to the subject that opened it, and proves nothing: whoever names another's finds none. It holds
//! what is being answered in it, so that its client can call a request off, and ends where it is closed, or has been
//! idle for long.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::identity::SubjectId;

/// How many sessions there may be, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionBounds {
    pub max_sessions: usize,
    pub max_sessions_per_subject: usize,
    /// How long a session lives in which nothing happens.
    pub idle: Duration,
}

/// All open sessions; cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Sessions {
    bounds: SessionBounds,
    open: Arc<Mutex<HashMap<Id, Session>>>,
}

/// No further session may be opened now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMany;

/// One request in a session; while it lives, the session is not idle.
#[derive(Debug)]
pub(super) struct Visit {
    sessions: Sessions,
    id: Id,
}

/// One request that is being answered in a session.
#[derive(Debug)]
pub(super) struct Flight {
    visit: Visit,
    request: String,
    called_off: CancellationToken,
}

type Id = Arc<str>;

#[derive(Debug)]
struct Session {
    subject: SubjectId,
    visits: usize,
    /// When the last visit ended.
    used: Instant,
    in_flight: HashMap<String, CancellationToken>,
    listening: CancellationToken,
    ended: CancellationToken,
}

impl Sessions {
    pub(super) fn new(bounds: SessionBounds) -> Self {
        Self { bounds, open: Arc::default() }
    }

    /// Opens a session and gives its ID. At its own bound a subject loses the session that it has not used for longest.
    pub(super) fn open(&self, subject: &SubjectId) -> Result<Id, TooMany> {
        let mut open = self.lock();
        open.retain(|_, session| !session.is_over(self.bounds.idle));
        let own = open.iter().filter(|(_, session)| session.subject == *subject);
        if own.clone().count() >= self.bounds.max_sessions_per_subject {
            let idle = own.filter(|(_, session)| session.visits == 0);
            let oldest = idle.min_by_key(|(_, session)| session.used).map(|(id, _)| Arc::clone(id));
            open.remove(&oldest.ok_or(TooMany)?);
        }
        if open.len() >= self.bounds.max_sessions {
            return Err(TooMany);
        }
        let id: Id = Uuid::new_v4().simple().to_string().into();
        open.insert(Arc::clone(&id), Session::of(subject.clone()));
        Ok(id)
    }

    /// Enters a session. One that is unknown, over, or another subject's is not there, all the same.
    pub(super) fn visit(&self, id: &str, subject: &SubjectId) -> Option<Visit> {
        let mut open = self.lock();
        let (id, session) = open.get_key_value(id).map(|(id, session)| (Arc::clone(id), session))?;
        if session.is_over(self.bounds.idle) {
            open.remove(&id);
            return None;
        }
        let session = open.get_mut(&id).filter(|session| session.subject == *subject)?;
        session.visits += 1;
        drop(open);
        Some(Visit { sessions: self.clone(), id })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn of(subject: SubjectId) -> Self {
        let ended = CancellationToken::new();
        let (listening, in_flight) = (ended.child_token(), HashMap::new());
        Self { subject, visits: 0, used: Instant::now(), in_flight, listening, ended }
    }

    fn is_over(&self, idle: Duration) -> bool {
        self.visits == 0 && self.used.elapsed() >= idle
    }
}

impl Visit {
    /// Takes note that a request is being answered; nothing where its ID is in use.
    pub(super) fn begin(self, request: String) -> Option<Flight> {
        let mut open = self.sessions.lock();
        let session = open.get_mut(&self.id)?;
        if session.in_flight.contains_key(&request) {
            return None;
        }
        let called_off = session.ended.child_token();
        session.in_flight.insert(request.clone(), called_off.clone());
        drop(open);
        Some(Flight { visit: self, request, called_off })
    }

    /// Calls off a request of this session; one that is over, or never was, is none.
    pub(super) fn call_off(&self, request: &str) {
        if let Some(called_off) = self.sessions.lock().get(&self.id).and_then(|session| session.in_flight.get(request))
        {
            called_off.cancel();
        }
    }

    /// Becomes the one who listens; returns when another does, or the session ends.
    pub(super) async fn listen(&self) {
        let listening = self.sessions.lock().get_mut(&self.id).map(|session| {
            let listening = session.ended.child_token();
            std::mem::replace(&mut session.listening, listening.clone()).cancel();
            listening
        });
        if let Some(listening) = listening {
            listening.cancelled().await;
        }
    }

    /// Ends the session, and with it what is being answered in it.
    pub(super) fn close(self) {
        let closed = self.sessions.lock().remove(&self.id);
        if let Some(session) = closed {
            session.ended.cancel();
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(session) = self.sessions.lock().get_mut(&self.id) {
            session.visits -= 1;
            session.used = Instant::now();
        }
    }
}

impl Flight {
    /// Returns when the client calls the request off, or the session ends.
    pub(super) async fn called_off(&self) {
        self.called_off.cancelled().await;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(session) = self.visit.sessions.lock().get_mut(&self.visit.id) {
            session.in_flight.remove(&self.request);
        }
    }
}

#[cfg(test)]
mod tests;
