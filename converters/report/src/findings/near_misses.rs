//! Entries shortly after another thread's exit, which only the holds themselves tell.
//!
//! A recording of all holds may be far larger than memory, so nothing is kept of them but what
//! the next span of time has to know: they are gone through in the order of time, in the same
//! pass as all else.

mod known;
mod scan;

pub(crate) use scan::{Scan, ScanKey, Stats};

use super::trace::TraceFindings;
use known::{EventBatch, LockEvent, ObjectNumbers, SHARDS};
use rayon::prelude::*;
use scan::{ScanInput, Scanner};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tyrion_formats::{Entry, HoldMode, Recording};
use tyrion_model::{
    filter::Filter,
    pass::{Order, Question, Visitor},
};

/// Looks for them, log by log: all logs of a recording one after the other.
pub(super) struct NearMissSearch<'a> {
    asked: ScanInput<'a>,
    /// The number of each log's recording.
    recordings: &'a [u32],
    scan: Scan,
    current: Option<RecordingScan<'a>>,
}

/// A recording under way.
struct RecordingScan<'a> {
    number: u32,
    known: Arc<ObjectNumbers>,
    /// Each has some lock objects.
    shards: Vec<Mutex<Shard<'a>>>,
    left_out: Mutex<VagueHolds>,
}

struct Shard<'a> {
    scanner: Scanner<'a>,
    /// What may have to wait for earlier ones.
    waiting: Vec<LockEvent>,
}

/// Holds that tell too little.
#[derive(Clone, Copy, Default)]
struct VagueHolds {
    unidentified: u64,
    untimed: u64,
}

/// Whether any of these logs has a record of each hold.
pub(crate) fn are_told(logs: &[Recording]) -> bool {
    logs.iter().any(has_all)
}

/// Whether a log has a record of each hold.
fn has_all(log: &Recording) -> bool {
    log.is_trace() && log.has_every_event() && log.hold_mode() == HoldMode::All
}

impl<'a> NearMissSearch<'a> {
    /// In these logs, of which each is of a recording; `None` if none has a record of each hold.
    pub(super) fn new(
        logs: &'a [Recording],
        recordings: &'a [u32],
        filter: &'a Filter,
        near_ns: u64,
    ) -> Option<NearMissSearch<'a>> {
        let asked = ScanInput { logs, filter, near_ns };
        are_told(logs).then(|| NearMissSearch {
            asked,
            recordings,
            scan: Scan::default(),
            current: None,
        })
    }

    /// What is to be asked of a log, the `run`-th, if anything; and from when on another log
    /// of its recording that comes later has records, monotonic ns.
    pub(super) fn asking(
        &mut self,
        run: usize,
        recorded: &TraceFindings,
    ) -> (Option<NearMissQuestion<'_, 'a>>, u64) {
        let ScanInput { logs, .. } = self.asked;
        let number = self.recordings.get(run).copied().unwrap_or_default();
        let Some(log) = logs.get(run).filter(|log| has_all(log)) else { return (None, u64::MAX) };
        if self.current.as_ref().is_some_and(|current| current.number != number) {
            self.end();
        }
        self.scan.add_folded(log);
        let own = (0u32..).zip(logs).zip(self.recordings).filter(|(_, it)| **it == number);
        let own: Vec<(u32, &Recording)> =
            own.map(|(log, _)| log).filter(|(_, log)| has_all(log)).collect();
        let later = own.iter().filter(|(other, _)| *other as usize > run);
        let starts = later.flat_map(|(_, log)| log.event_chunks()).map(|chunk| chunk.first_ns);
        let next_ns = starts.min().unwrap_or(u64::MAX);
        let asked = self.asked;
        let current = self.current.get_or_insert_with(|| {
            let known = Arc::new(ObjectNumbers::new(recorded, &own));
            let scanner = || Scanner::new(asked, Arc::clone(&known));
            let shard = |_| Mutex::new(Shard { scanner: scanner(), waiting: Vec::new() });
            let shards = (0..SHARDS).map(shard).collect();
            RecordingScan { number, known: Arc::clone(&known), shards, left_out: Mutex::default() }
        });
        (Some(NearMissQuestion { run: run as u32, log, of: current }), next_ns)
    }

    /// The recording has no more logs.
    fn end(&mut self) {
        let Some(of) = self.current.take() else { return };
        let found: Vec<Scan> = of
            .shards
            .into_par_iter()
            .map(|shard| {
                let Shard { mut scanner, waiting } =
                    shard.into_inner().unwrap_or_else(PoisonError::into_inner);
                scanner.span(waiting);
                scanner.finish()
            })
            .collect();
        found.into_iter().for_each(|found| self.scan.add(found));
        let left_out = of.left_out.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.scan.unidentified += left_out.unidentified;
        self.scan.untimed += left_out.untimed;
    }

    /// What was found.
    pub(super) fn finish(mut self) -> Scan {
        self.end();
        self.scan
    }
}

/// What is asked of a log.
pub(super) struct NearMissQuestion<'q, 'a> {
    run: u32,
    log: &'a Recording,
    of: &'q RecordingScan<'a>,
}

/// What goes through its records.
pub(super) struct NearMissVisitor<'q> {
    run: u32,
    log: &'q Recording,
    known: &'q ObjectNumbers,
    of: &'q dyn EventStore,
    read: EventBatch,
}

/// Keeps what workers have read.
trait EventStore: Sync {
    fn keep(&self, read: &mut EventBatch);
}

impl EventStore for RecordingScan<'_> {
    fn keep(&self, read: &mut EventBatch) {
        for (shard, events) in self.shards.iter().zip(&mut read.events) {
            if !events.is_empty() {
                lock(shard).waiting.append(events);
            }
        }
        let mut left_out = lock(&self.left_out);
        left_out.unidentified += std::mem::take(&mut read.unidentified);
        left_out.untimed += std::mem::take(&mut read.untimed);
    }
}

impl Question for NearMissQuestion<'_, '_> {
    type Visitor<'q>
        = NearMissVisitor<'q>
    where
        Self: 'q;

    fn order(&self) -> Order {
        Order::InTime
    }

    fn until(&self, at_ns: u64, (share, shares): (usize, usize)) {
        for shard in self.of.shards.iter().skip(share).step_by(shares.max(1)) {
            let Shard { scanner, waiting } = &mut *lock(shard);
            let now = waiting.extract_if(.., |event| event.at_ns < at_ns).collect();
            scanner.span(now);
        }
    }

    fn visitor(&self) -> NearMissVisitor<'_> {
        let NearMissQuestion { run, log, of } = *self;
        NearMissVisitor { run, log, known: &of.known, of, read: EventBatch::default() }
    }

    fn take(&self, mut worker: NearMissVisitor<'_>) {
        worker.end_piece();
    }
}

impl Visitor for NearMissVisitor<'_> {
    #[inline]
    fn entry(&mut self, entry: &Entry<'_>) {
        self.known.read((self.run, self.log), entry, &mut self.read);
    }

    fn end_piece(&mut self) {
        self.of.keep(&mut self.read);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks for them in a pass of their own, with so many bytes of chunks in each span.
#[cfg(test)]
pub(crate) fn scan_in_spans(
    findings: &super::Findings<'_>,
    near_ns: u64,
    span_bytes: u64,
) -> Option<Scan> {
    use tyrion_model::pass::{Reading, run as run_pass};
    let recordings = super::trace::recordings(findings.logs);
    let mut looking = NearMissSearch::new(findings.logs, &recordings, findings.filter, near_ns)?;
    for (run, log) in findings.logs.iter().enumerate() {
        let (asking, next_ns) = looking.asking(run, &findings.trace);
        let reading = Reading { next_ns, span_bytes, ..Reading::new(&|_| {}) };
        run_pass(log, &asking, reading);
    }
    Some(looking.finish())
}
