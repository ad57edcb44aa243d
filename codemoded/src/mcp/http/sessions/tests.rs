//! Who may enter a session, how many there are, and what ends them.

use futures_util::FutureExt;

use super::*;

fn sessions(max_sessions: usize, max_sessions_per_subject: usize, idle: Duration) -> Sessions {
    Sessions::new(SessionBounds { max_sessions, max_sessions_per_subject, idle })
}

fn ann() -> SubjectId {
    SubjectId::new("ann").unwrap()
}

fn bob() -> SubjectId {
    SubjectId::new("bob").unwrap()
}

#[test]
fn a_session_is_its_subjects_alone() {
    let sessions = sessions(10, 10, Duration::MAX);
    let id = sessions.open(&ann()).unwrap();
    assert!(sessions.visit(&id, &bob()).is_none());
    assert!(sessions.visit("unknown", &ann()).is_none());
    sessions.visit(&id, &ann()).unwrap().close();
    assert!(sessions.visit(&id, &ann()).is_none());
}

#[test]
fn ids_are_long_visible_and_never_the_same() {
    let sessions = sessions(10, 10, Duration::MAX);
    let (one, other) = (sessions.open(&ann()).unwrap(), sessions.open(&ann()).unwrap());
    assert!(one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_graphic()), "{one}");
    assert_ne!(one, other);
}

#[test]
fn a_session_is_over_when_idle_and_not_while_visited() {
    let sessions = sessions(10, 10, Duration::ZERO);
    let id = sessions.open(&ann()).unwrap();
    assert!(sessions.visit(&id, &ann()).is_none());
    assert!(sessions.lock().is_empty());

    let patient = Sessions { bounds: SessionBounds { idle: Duration::MAX, ..sessions.bounds }, ..sessions.clone() };
    let id = patient.open(&ann()).unwrap();
    let visit = patient.visit(&id, &ann()).unwrap();
    assert!(sessions.visit(&id, &ann()).is_some(), "somebody is in it");
    drop(visit);
    assert!(sessions.visit(&id, &ann()).is_none());
}

#[test]
fn a_subject_at_its_bound_loses_its_oldest_idle_session_and_nobody_elses() {
    let sessions = sessions(10, 2, Duration::MAX);
    let of_bob = sessions.open(&bob()).unwrap();
    let (first, second) = (sessions.open(&ann()).unwrap(), sessions.open(&ann()).unwrap());
    let busy = sessions.visit(&first, &ann()).unwrap();
    let third = sessions.open(&ann()).unwrap();
    let left: Vec<bool> =
        [&of_bob, &first, &second, &third].iter().map(|id| sessions.lock().contains_key(&***id)).collect();
    assert_eq!(left, [true, true, false, true]);
    let also_busy = sessions.visit(&third, &ann()).unwrap();
    assert_eq!(sessions.open(&ann()), Err(TooMany));
    drop((busy, also_busy));
}

#[test]
fn beyond_the_bound_of_all_nobody_opens_one() {
    let sessions = sessions(1, 5, Duration::MAX);
    let id = sessions.open(&ann()).unwrap();
    assert_eq!(sessions.open(&bob()), Err(TooMany));
    sessions.visit(&id, &ann()).unwrap().close();
    sessions.open(&bob()).unwrap();
}

#[test]
fn a_request_is_called_off_in_its_own_session_only() {
    let sessions = sessions(10, 10, Duration::MAX);
    let (one, other) = (sessions.open(&ann()).unwrap(), sessions.open(&ann()).unwrap());
    let enter = |id: &str| sessions.visit(id, &ann()).unwrap();
    let (flight, same) = (enter(&one).begin("1".into()).unwrap(), enter(&other).begin("1".into()).unwrap());
    assert!(enter(&one).begin("1".into()).is_none(), "the ID is in use");
    enter(&one).call_off("\"1\"");
    enter(&one).call_off("1");
    assert_eq!((flight.called_off.is_cancelled(), same.called_off.is_cancelled()), (true, false));
    drop(flight);
    enter(&one).begin("1".into()).unwrap();
    enter(&other).close();
    assert!(same.called_off.is_cancelled(), "its session has ended");
}

#[tokio::test]
async fn one_listens_at_a_time() {
    let sessions = sessions(10, 10, Duration::MAX);
    let id = sessions.open(&ann()).unwrap();
    let (first, second) = (sessions.visit(&id, &ann()).unwrap(), sessions.visit(&id, &ann()).unwrap());
    let mut listening = Box::pin(first.listen());
    assert!((&mut listening).now_or_never().is_none());
    let mut taking_over = Box::pin(second.listen());
    assert!((&mut taking_over).now_or_never().is_none());
    listening.await;
    sessions.visit(&id, &ann()).unwrap().close();
    taking_over.await;
}
