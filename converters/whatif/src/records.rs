//! The records of the replayed time.

use crate::{look::LogLook, numbers::Numbers, survey::LogSurvey, window};
use rayon::prelude::*;
use std::ops::Range;
use tyrion_formats::{ChunkRef, Entry, Note, Noted, Recording};
use tyrion_model::{profile::State, states::StateReader};
use tyrion_wire::{Outcome, WaitKind, holder::Holder, sample::Sample};

/// A lock object as trace mode knows it: the number of its class, and its hash.
pub(crate) type Object = (u32, u32);

/// Whether a wait of this kind is for a lock.
pub(crate) fn is_for_lock(kind: WaitKind) -> bool {
    kind.is_contention() || kind == WaitKind::LockReacquire
}

/// A hold that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hold {
    pub(crate) thread: u32,
    pub(crate) end_ns: u64,
    pub(crate) hold_ns: u64,
    pub(crate) object: Object,
    pub(crate) place: u32,
}

/// A wait that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wait {
    pub(crate) thread: u32,
    pub(crate) end_ns: u64,
    pub(crate) start_ns: u64,
    pub(crate) kind: WaitKind,
    /// The lock's id.
    pub(crate) lock: u32,
    /// Whether what the thread waited for happened.
    pub(crate) granted: bool,
    /// The thread that had the lock when the wait began, if that is known.
    pub(crate) owner: u32,
    /// Its stack: the number of the log, and the id in it.
    pub(crate) stack: (u32, u32),
}

/// What a thread was seen doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ThreadSample {
    pub(crate) thread: u32,
    pub(crate) at_ns: u64,
    /// The number of snapshots.
    pub(crate) count: u64,
    /// Whether it was on a processor, or runnable; `None` if it was at a lock, for which
    /// the records of waits are more exact.
    pub(crate) computes: Option<bool>,
    /// The real time that this represents, and the CPU time that the thread used meanwhile.
    pub(crate) wall_ns: u64,
    pub(crate) cpu_ns: u64,
}

/// Everything recorded in that time, in the order of threads and times.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) holds: Vec<Hold>,
    pub(crate) waits: Vec<Wait>,
    pub(crate) seen: Vec<ThreadSample>,
    /// Waits too short for a record of their own: thread, lock, and their total duration,
    /// in ns.
    pub(crate) folded: Vec<(u32, u32, u64)>,
    /// Looks at owners, in the order of locks and times.
    pub(crate) looked: Vec<Look>,
    /// If holds are estimated, the frames that took locks, by the number of a place; otherwise
    /// places are those of the logs.
    pub(crate) places: Option<Vec<String>>,
}

/// A look, by the numbers that are the same in all logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Look {
    /// The lock's id.
    pub(crate) lock: u32,
    pub(crate) at_ns: u64,
    pub(crate) owner: u32,
    /// The stack of the owner: the number of the log, and the id in it.
    pub(crate) stack: (u32, u32),
    pub(crate) is_free: bool,
    /// Whether the owner computed.
    pub(crate) computes: Option<bool>,
    pub(crate) stands_for_ns: u64,
}

impl Records {
    /// Those of a time, from the chunks that have any of it.
    pub(crate) fn read(
        (logs, surveys): (&[Recording], &[LogSurvey]),
        numbers: &Numbers,
        time: &Range<u64>,
    ) -> Records {
        let readers: Vec<StateReader<'_>> = logs.iter().map(StateReader::new).collect();
        let parts = window::chunks(surveys, time).into_par_iter().map(|(run, span)| {
            let of = ChunkReader { run, log: &logs[run], numbers, states: &readers[run], time };
            of.chunk(&span.chunk)
        });
        let parts: Vec<Records> = parts.collect();
        let mut all = Records::default();
        for part in parts {
            all.holds.extend(part.holds);
            all.waits.extend(part.waits);
            all.seen.extend(part.seen);
            all.looked.extend(part.looked);
        }
        all.add_pending(logs, numbers, time);
        all.add_folded(logs, numbers, time);
        all.holds.par_sort_unstable();
        all.waits.par_sort_unstable();
        all.seen.par_sort_unstable();
        all.looked.par_sort_unstable();
        all
    }

    /// Waits that had not ended: they last until the end of the time.
    fn add_pending(&mut self, logs: &[Recording], numbers: &Numbers, time: &Range<u64>) {
        for (run, log) in logs.iter().enumerate() {
            let pending = log.pending().iter().filter(|pending| pending.start_ns < time.end);
            self.waits.extend(pending.map(|pending| Wait {
                thread: numbers.thread(run, pending.thread),
                end_ns: time.end,
                start_ns: pending.start_ns.max(time.start),
                kind: pending.kind,
                lock: pending.lock,
                granted: false,
                owner: numbers.thread(run, pending.owner),
                stack: (run as u32, pending.stack),
            }));
        }
    }
}

impl Records {
    /// Those of a part of the time, and what began or ended in it.
    pub(crate) fn within(&self, time: &Range<u64>) -> Records {
        let overlaps = |start_ns: u64, end_ns: u64| start_ns < time.end && end_ns > time.start;
        let holds = self.holds.iter().copied();
        let holds = holds.filter(|it| overlaps(it.end_ns.saturating_sub(it.hold_ns), it.end_ns));
        let waits = self.waits.iter().copied().filter(|it| overlaps(it.start_ns, it.end_ns));
        let waits = waits.map(|wait| Wait { start_ns: wait.start_ns.max(time.start), ..wait });
        let seen = self.seen.iter().copied().filter(|it| time.contains(&it.at_ns));
        let looked = self.looked.iter().copied().filter(|it| time.contains(&it.at_ns));
        Records {
            holds: holds.collect(),
            waits: waits.collect(),
            seen: seen.collect(),
            folded: self.folded.clone(),
            looked: looked.collect(),
            places: self.places.as_ref().map(|_| Vec::new()),
        }
    }

    /// The part of cells that lies in the time, if their waits are spread evenly.
    fn add_folded(&mut self, logs: &[Recording], numbers: &Numbers, time: &Range<u64>) {
        for (run, log) in logs.iter().enumerate() {
            for cell in log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk)) {
                let Some(site) = log.definitions().sites().get(cell.site) else { continue };
                if !is_for_lock(site.kind) {
                    continue;
                }
                let (from_ns, to_ns) =
                    (cell.first_ns, cell.last_ns.max(cell.first_ns.saturating_add(1)));
                let inside = to_ns.min(time.end).saturating_sub(from_ns.max(time.start));
                let part = inside as f64 / (to_ns - from_ns) as f64;
                let ns = (cell.sum_ns as f64 * part) as u64;
                self.folded.push((numbers.thread(run, cell.thread), site.lock, ns));
            }
        }
        self.folded.sort_unstable();
    }
}

/// The reading of a log.
struct ChunkReader<'a> {
    run: usize,
    log: &'a Recording,
    numbers: &'a Numbers,
    states: &'a StateReader<'a>,
    time: &'a Range<u64>,
}

impl ChunkReader<'_> {
    fn chunk(&self, chunk: &ChunkRef) -> Records {
        let mut records = Records::default();
        let mut events = self.log.events_again(chunk);
        let sites = self.log.definitions().sites();
        events.visit_all(|entry| {
            if !self.time.contains(&entry.at_ns()) {
                return;
            }
            match entry {
                Entry::Wait(wait) => {
                    let Some(site) = sites.get(wait.site) else { return };
                    records.waits.push(Wait {
                        thread: self.numbers.thread(self.run, wait.thread),
                        end_ns: wait.end_ns,
                        start_ns: wait.start_ns.max(self.time.start),
                        kind: site.kind,
                        lock: site.lock,
                        granted: wait.outcome == Outcome::Granted,
                        owner: self.numbers.thread(self.run, wait.owner),
                        stack: (self.run as u32, site.stack),
                    });
                }
                Entry::Note(noted) => match noted.record {
                    Note::Hold(hold) if hold.hash != 0 => records.holds.push(Hold {
                        thread: self.numbers.thread(self.run, noted.thread),
                        end_ns: noted.at_ns,
                        hold_ns: hold.hold_ns,
                        object: (self.numbers.class(self.run, hold.class), hold.hash),
                        place: hold.place,
                    }),
                    Note::Sample(sample) => records.seen.push(self.seen(&noted.with(sample))),
                    Note::Holder(holder) => records.looked.extend(self.looked(&noted.with(holder))),
                    _ => {}
                },
            }
        });
        records
    }

    fn seen(&self, sampled: &Noted<Sample>) -> ThreadSample {
        let Sample { count, wall_ns, cpu_ns, .. } = sampled.record;
        let computes = match self.states.state(sampled) {
            State::Running => Some(true),
            // Only its CPU time shows whether it computes there.
            State::Native => Some(cpu_ns.saturating_mul(2) >= wall_ns),
            State::Sleeping | State::Idle | State::Waiting | State::Parked => Some(false),
            State::Blocked | State::Other => None,
        };
        let thread = self.numbers.thread(self.run, sampled.thread);
        ThreadSample { thread, at_ns: sampled.at_ns, count, computes, wall_ns, cpu_ns }
    }

    fn looked(&self, noted: &Noted<Holder>) -> Option<Look> {
        let looked = LogLook::of(noted, self.log, self.states);
        Some(Look {
            lock: self.log.definitions().sites().get(looked.site)?.lock,
            at_ns: looked.at_ns,
            owner: self.numbers.thread(self.run, looked.owner),
            stack: (self.run as u32, looked.stack),
            is_free: looked.is_free,
            computes: looked.computes(),
            stands_for_ns: looked.stands_for_ns,
        })
    }
}
