//! (b) a program in a ready worker, without HTTP, and (c) one in a worker that has to be started first.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codemoded::limits::Limits;
use codemoded::program::{Context, Language, run};
use codemoded::worker::channel::Channel;
use codemoded::worker::manifest::{self, Manifest};
use codemoded::worker::protocol::{Budgets, FromWorker, ToWorker};
use codemoded::worker::{Outfit, Pool, Spawner, Start, Worker};

use super::daemon::spent;
use super::table::{Micros, Row, Samples, ratio};
use super::{TRIVIAL, TRIVIAL_RESULT, floor};

pub(crate) const STARTS: [Start; 2] = [Start::Fork, Start::Exec];

/// Workers of an empty catalog, started from this executable, confined as ever.
pub(crate) fn outfit(start: Start) -> Outfit {
    let manifest = manifest::write(&[]).unwrap();
    let manifest = Arc::new(manifest::seal(&manifest).unwrap());
    Outfit { manifest, budgets: Budgets::from(&Limits::default()), start, confine: true, discovers: false }
}

pub(crate) async fn ready() -> Vec<Row> {
    let spawner = Spawner::start(codemoded::metrics::Metrics::default()).unwrap();
    let language = language();
    let mut rows = Vec::new();
    for start in STARTS {
        let (pause, count) = match start {
            Start::Fork => (Duration::from_millis(6), 1_000),
            Start::Exec => (Duration::from_millis(30), 400),
        };
        let pool = Pool::start(spawner.clone(), outfit(start), 2);
        let (mut floor, mut served) = (Vec::new(), Vec::new());
        for _ in 0..count {
            tokio::time::sleep(pause).await;
            floor.push(in_process(&language));
            let mut worker = pool.take().await.unwrap();
            served.push(serve(&mut worker).await);
            worker.end(());
        }
        let (floor, served) = (Samples::new(floor), Samples::new(served));
        let times = ratio(served.median(), floor.median());
        rows.push(
            Row::of("b", format!("the same in a ready worker, {start}"), &served)
                .beside("in process", floor.median(), times)
                .goal("≤ 6", times <= 6.0),
        );
    }
    rows
}

pub(crate) async fn unprepared() -> Vec<Row> {
    let spawner = Spawner::start(codemoded::metrics::Metrics::default()).unwrap();
    let floor = Samples::new(floor::spawn_true(300));
    let mut rows = Vec::new();
    for start in STARTS {
        let (outfit, count) = (outfit(start), if start == Start::Fork { 1_000_u32 } else { 200 });
        let mut times = Vec::new();
        let spent = spent_by_children();
        for _ in 0..count {
            let started = Instant::now();
            start_and_serve(&spawner, &outfit).await;
            times.push(started.elapsed());
        }
        let times = Samples::new(times);
        let factor = ratio(times.median(), floor.median());
        // Those that ended; the last few may not be reaped yet.
        let cpu = Micros((spent_by_children() - spent) / count);
        let what = format!("the same, worker started for it, {start}: {cpu} CPU");
        rows.push(Row::of("c", what, &times).beside("/bin/true", floor.median(), factor));
    }
    rows
}

fn spent_by_children() -> Duration {
    spent("self", 13, 2)
}

/// One worker from start to result, without any pool.
pub(crate) async fn start_and_serve(spawner: &Spawner, outfit: &Outfit) {
    let mut worker = Worker::start(spawner, outfit).await.unwrap();
    serve(&mut worker).await;
    worker.end(());
}

async fn serve(worker: &mut Worker) -> Duration {
    let program = ToWorker::Program(TRIVIAL.to_owned());
    let sent = Instant::now();
    worker.send(&program);
    let answer = worker.receive().await.unwrap();
    let took = sent.elapsed();
    assert_eq!(answer, FromWorker::Returned(TRIVIAL_RESULT.into()));
    took
}

fn language() -> Language {
    let bytes = Box::leak(manifest::write(&[]).unwrap().into_boxed_slice());
    let language = Language::prepare(Box::leak(Box::new(Manifest::new(bytes).unwrap())), false);
    language.warm_up(Budgets::from(&Limits::default()));
    language
}

/// The second of two evaluations, for the first one also pays for the pause before it.
fn in_process(language: &Language) -> Duration {
    let evaluate = || {
        let (channel, _) = UnixStream::pair().unwrap();
        let context = Context::new(Channel::new(channel), Budgets::from(&Limits::default()));
        let started = Instant::now();
        let outcome = run(language, &context, TRIVIAL);
        let took = started.elapsed();
        assert_eq!(outcome.as_deref(), Ok(TRIVIAL_RESULT));
        took
    };
    evaluate();
    evaluate()
}
