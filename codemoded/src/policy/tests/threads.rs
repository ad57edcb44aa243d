//! The pool: stuck evaluators, many callers, swapped policies.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{RwLock, mpsc};
use std::thread;

use super::*;

/// One built-in call that runs for a second or more and looks at no clock.
fn slow() -> Policy {
    let mut slow = source("allow := count(numbers.range(1, input.arguments.n)) > 0");
    slow.danger_builtins = vec!["numbers.range".into()];
    load(&slow)
}

fn many_threads() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}

#[test]
fn a_stuck_evaluation_keeps_neither_its_caller_nor_the_next() {
    let policy = Arc::new(slow());
    many_threads().block_on(async {
        let started = Instant::now();
        let stuck: Vec<_> = (0..6)
            .map(|_| {
                let policy = policy.clone();
                let deadline = started + Duration::from_millis(30);
                tokio::spawn(async move { policy.decide(question(r#"{"n": 6000000}"#), deadline).await })
            })
            .collect();
        for decision in stuck {
            assert_eq!(decision.await.unwrap(), Decision::Failure(PolicyFailure::TimedOut));
        }
        assert!(started.elapsed() < Duration::from_millis(150), "{:?}", started.elapsed());
        assert_eq!(policy.decide(question(r#"{"n": 1}"#), soon()).await, Decision::Allow);
    });
}

#[test]
fn when_every_evaluator_is_stuck_a_decision_fails_at_once_and_later_recovers() {
    let policy = slow();
    wait(async {
        let mut failure = None;
        for _ in 0..40 {
            let deadline = Instant::now() + Duration::from_millis(20);
            match policy.decide(question(r#"{"n": 8000000}"#), deadline).await {
                Decision::Failure(PolicyFailure::TimedOut) => {}
                other => {
                    failure = Some(other);
                    break;
                }
            }
        }
        assert!(matches!(failure, None | Some(Decision::Failure(PolicyFailure::Stuck))), "{failure:?}");
        let patience = Instant::now() + Duration::from_secs(60);
        while policy.decide(question(r#"{"n": 1}"#), soon()).await != Decision::Allow {
            assert!(Instant::now() < patience, "the pool never recovered");
        }
    });
}

#[test]
fn a_caller_that_leaves_takes_no_evaluator_along() {
    let policy = slow();
    wait(async {
        for _ in 0..4 {
            let left = policy.decide(question(r#"{"n": 3000000}"#), soon());
            assert!(tokio::time::timeout(Duration::from_millis(10), left).await.is_err());
        }
        assert_eq!(policy.decide(question(r#"{"n": 1}"#), soon()).await, Decision::Allow);
    });
}

#[test]
fn sixty_four_threads_get_the_old_or_the_new_answer_under_swaps() {
    let generation = |n: usize| {
        let mut source = source(&format!("allow := input.arguments.n == {n}\nreason := \"{n}\""));
        source.reason = Some("data.p.reason".into());
        Arc::new((n, load(&source)))
    };
    let current = RwLock::new(generation(0));
    let decided = AtomicUsize::new(0);
    let (stop, stopped) = mpsc::channel::<()>();
    thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                wait(async {
                    for _ in 0..100 {
                        let taken = current.read().unwrap().clone();
                        let right = taken.1.decide(question(&format!(r#"{{"n": {}}}"#, taken.0)), soon()).await;
                        assert_eq!(right, Decision::Allow);
                        let wrong = taken.1.decide(question(r#"{"n": -1}"#), soon()).await;
                        assert_eq!(wrong, Decision::Deny { reason: Some(taken.0.to_string()) });
                        decided.fetch_add(2, Ordering::Relaxed);
                    }
                });
            });
        }
        let current = &current;
        scope.spawn(move || {
            for n in 1.. {
                *current.write().unwrap() = generation(n);
                if stopped.recv_timeout(Duration::from_millis(2)) == Err(mpsc::RecvTimeoutError::Disconnected) {
                    break;
                }
            }
        });
        let decided = &decided;
        scope.spawn(move || {
            while decided.load(Ordering::Relaxed) < 64 * 200 {
                thread::sleep(Duration::from_millis(1));
            }
            drop(stop);
        });
    });
}
