//! The bounded queue between runs and the thread that writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

use super::Overflow;
use crate::run::record::{CallRecord, RunRecord};

/// Bytes of arguments that may wait, whatever the number of records.
const MAX_QUEUED_BYTES: usize = 64 << 20;

/// Why no run may start, for the log.
const FULL: &str = "the audit's queue is full, and `audit.overflow = \"refuse\"` lets no run start";

/// One thing to write.
#[derive(Debug)]
pub(super) enum Entry {
    Run(Arc<RunRecord>),
    Call(Arc<CallRecord>),
    /// Nothing; the writer shall look at what else it is asked.
    Wake,
}

/// The end that records go into, and what both ends know. The channel itself has no bound: the bound is kept here, so
/// that records of runs in flight can be let past it.
#[derive(Debug)]
pub(super) struct Queue {
    entries: Sender<Entry>,
    overflow: Overflow,
    max_queued: usize,
    queued: AtomicUsize,
    queued_bytes: AtomicUsize,
    /// Lost, and not yet told in a line.
    lost: AtomicU64,
    ever_lost: AtomicU64,
    /// Runs that did not start, not yet told in a line.
    refused: AtomicU64,
    reopen: AtomicBool,
    stopping: AtomicBool,
}

impl Queue {
    pub(super) fn new(entries: Sender<Entry>, overflow: Overflow, max_queued: usize) -> Self {
        Self {
            entries,
            overflow,
            max_queued,
            queued: AtomicUsize::new(0),
            queued_bytes: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            ever_lost: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            reopen: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        }
    }

    pub(super) fn push(&self, entry: Entry) {
        if self.overflow == Overflow::Drop && self.is_full() {
            self.lose(1);
            return;
        }
        self.queued.fetch_add(1, Ordering::Relaxed);
        self.queued_bytes.fetch_add(entry.bytes(), Ordering::Relaxed);
        if self.entries.send(entry).is_err() {
            self.lose(1);
        }
    }

    pub(super) fn admits(&self) -> Result<(), &'static str> {
        match self.overflow == Overflow::Refuse && self.is_full() {
            true => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Err(FULL)
            }
            false => Ok(()),
        }
    }

    pub(super) fn overflow(&self) -> Overflow {
        self.overflow
    }

    /// Records that are not written yet.
    pub(super) fn len(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// So many records, with so many bytes of arguments, are written or lost.
    pub(super) fn done(&self, records: usize, bytes: usize) {
        self.queued.fetch_sub(records, Ordering::Relaxed);
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn lose(&self, records: u64) {
        self.lost.fetch_add(records, Ordering::Relaxed);
        self.ever_lost.fetch_add(records, Ordering::Relaxed);
    }

    pub(super) fn lost(&self) -> u64 {
        self.ever_lost.load(Ordering::Relaxed)
    }

    pub(super) fn has_untold(&self) -> bool {
        self.lost.load(Ordering::Relaxed) > 0 || self.refused.load(Ordering::Relaxed) > 0
    }

    /// Records lost and runs refused that no line tells of yet; from now on one does.
    pub(super) fn take_untold(&self) -> (u64, u64) {
        (self.lost.swap(0, Ordering::Relaxed), self.refused.swap(0, Ordering::Relaxed))
    }

    /// The line that told of them could not be written.
    pub(super) fn put_back_untold(&self, (lost, refused): (u64, u64)) {
        self.lost.fetch_add(lost, Ordering::Relaxed);
        self.refused.fetch_add(refused, Ordering::Relaxed);
    }

    pub(super) fn reopen(&self) {
        self.reopen.store(true, Ordering::Release);
        self.wake();
    }

    pub(super) fn take_reopen(&self) -> bool {
        self.reopen.swap(false, Ordering::Acquire)
    }

    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.wake();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    fn is_full(&self) -> bool {
        self.len() >= self.max_queued || self.queued_bytes.load(Ordering::Relaxed) >= MAX_QUEUED_BYTES
    }

    fn wake(&self) {
        // A writer that has ended has nothing to wake for.
        drop(self.entries.send(Entry::Wake));
    }
}

impl Entry {
    /// Of its arguments; the rest of a record is small.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Call(record) => record.arguments.as_ref().map_or(0, |json| json.len()),
            Self::Run(_) | Self::Wake => 0,
        }
    }
}
