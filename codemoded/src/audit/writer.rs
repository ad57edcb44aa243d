//! The thread that writes what is queued.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::Overflow;
use super::arguments::Hasher;
use super::line::Line;
use super::queue::{Entry, Queue};
use super::target::Target;

/// How long a first record waits for others, so that waking and writing serve many.
const LINGER: Duration = Duration::from_millis(5);
/// Records of one write.
const MAX_BATCH: usize = 512;
/// How long until a destination that takes nothing is tried again, and until a loss is told that no record follows.
const RETRY_AFTER: Duration = Duration::from_millis(200);
/// How often the log tells that something is lost.
const TELL_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Writer {
    target: Box<dyn Target>,
    incoming: Receiver<Entry>,
    queue: Arc<Queue>,
    hasher: Hasher,
    /// A line was cut short by a failure, so the next begins on a new one.
    torn: bool,
    told: Option<Instant>,
}

/// Records that are written together.
#[derive(Debug, Default)]
struct Batch {
    lines: Vec<u8>,
    records: usize,
    /// Of their arguments, as the queue counts them.
    bytes: usize,
    /// Of records lost and runs refused, that the batch tells of.
    untold: (u64, u64),
}

impl Writer {
    pub(super) fn new(target: Box<dyn Target>, incoming: Receiver<Entry>, queue: Arc<Queue>, hasher: Hasher) -> Self {
        Self { target, incoming, queue, hasher, torn: false, told: None }
    }

    /// Writes until the queue is told to stop and is empty.
    pub(super) fn run(mut self) {
        while let Some(first) = self.next() {
            if !self.queue.is_stopping() && !matches!(first, Entry::Wake) {
                thread::sleep(LINGER);
            }
            let batch = self.gather(first);
            self.reopen_if_asked();
            self.write(&batch);
            self.queue.done(batch.records, batch.bytes);
            if self.queue.is_stopping() && self.queue.len() == 0 {
                break;
            }
        }
        let rest = self.gather(Entry::Wake);
        self.write(&rest);
        if let Err(error) = self.target.flush() {
            tracing::error!(%error, "the audit's last lines may be lost");
        }
    }

    /// What was lost while the last lines were written is told soon, even if no other record comes.
    fn next(&self) -> Option<Entry> {
        if !self.queue.has_untold() {
            return self.incoming.recv().ok();
        }
        match self.incoming.recv_timeout(RETRY_AFTER) {
            Ok(entry) => Some(entry),
            Err(RecvTimeoutError::Timeout) => Some(Entry::Wake),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    fn gather(&mut self, first: Entry) -> Batch {
        let mut batch = Batch::default();
        let rest = self.incoming.try_iter().take(MAX_BATCH);
        for entry in std::iter::once(first).chain(rest) {
            let bytes = entry.bytes();
            let line = match &entry {
                Entry::Run(record) => Line::of_run(record),
                Entry::Call(record) => Line::of_call(record, &self.hasher),
                Entry::Wake => continue,
            };
            batch.records += 1;
            batch.bytes += bytes;
            append(&line, &mut batch.lines);
        }
        batch.untold = self.queue.take_untold();
        let (lost, refused) = batch.untold;
        if lost > 0 {
            append(&Line::lost(lost), &mut batch.lines);
            self.tell(|| tracing::error!(records = lost, "audit records were lost"));
        }
        if refused > 0 {
            append(&Line::refused(refused), &mut batch.lines);
        }
        batch
    }

    fn write(&mut self, batch: &Batch) {
        if batch.lines.is_empty() {
            return;
        }
        if self.torn {
            self.torn = self.target.write(b"\n").is_err();
        }
        let mut at = 0;
        while let Some(rest) = batch.lines.get(at..).filter(|rest| !rest.is_empty()) {
            let error = match self.target.write(rest) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(taken) => {
                    at += taken;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            self.tell(|| tracing::error!(%error, "the audit cannot be written"));
            match self.queue.overflow() {
                Overflow::Refuse if !self.queue.is_stopping() => at = self.wait(&batch.lines, at),
                Overflow::Refuse | Overflow::Drop => return self.give_up(batch, at),
            }
        }
    }

    /// Waits before the next try. A file opened meanwhile gets the torn line whole.
    fn wait(&mut self, lines: &[u8], at: usize) -> usize {
        thread::sleep(RETRY_AFTER);
        match self.reopen_if_asked() {
            true => lines
                .get(..at)
                .map_or(0, |written| written.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)),
            false => at,
        }
    }

    /// Counts what a failure keeps from being written, from this byte on.
    fn give_up(&mut self, batch: &Batch, at: usize) {
        let (written, rest) = batch.lines.split_at_checked(at).unwrap_or_default();
        self.torn |= written.last().is_some_and(|last| *last != b'\n');
        let mut lines = rest.iter().filter(|byte| **byte == b'\n').count();
        // The last lines tell of losses, and are told later.
        let mut take_back = |told: u64| match lines > 0 && told > 0 {
            true => {
                lines -= 1;
                told
            }
            false => 0,
        };
        let (lost, refused) = batch.untold;
        let refused = take_back(refused);
        let lost = take_back(lost);
        self.queue.put_back_untold((lost, refused));
        self.queue.lose(lines as u64);
    }

    fn reopen_if_asked(&mut self) -> bool {
        if !self.queue.take_reopen() {
            return false;
        }
        match self.target.reopen() {
            Ok(false) => false,
            Ok(true) => {
                self.torn = false;
                tracing::info!("the audit file is opened again");
                true
            }
            Err(error) => {
                tracing::error!(%error, "the audit file cannot be opened again; the one before is written on");
                false
            }
        }
    }

    /// At most once a minute.
    fn tell(&mut self, tell: impl FnOnce()) {
        if self.told.is_none_or(|told| told.elapsed() > TELL_EVERY) {
            self.told = Some(Instant::now());
            tell();
        }
    }
}

fn append(line: &Line<'_>, lines: &mut Vec<u8>) {
    if let Err(error) = line.write_to(lines) {
        tracing::error!(%error, "an audit line cannot be written as JSON");
    }
}
