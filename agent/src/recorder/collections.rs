//! The pauses of the JVM's garbage collector.
//!
//! JVMTI tells of them on a thread of the JVM's own, while all others are stopped:
//! neither JNI nor JVMTI may be called there, nor may a lock be waited for. So the times
//! go into a ring without locks, and the log's helper writes them a little later. A JVM
//! that is killed takes those of the last moment with it.

use super::Recorder;
use crate::{clock, log::Generation, sync::lock};
use std::{
    array,
    sync::{
        Mutex,
        atomic::{
            AtomicU32, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};
use tyrion_wire::header::field::MONO_NS;

/// So many can wait for the helper, which comes five times a second.
const WAITING: u64 = 1024;
/// The statistic that says how many there was no room for.
const LOST: &str = "collections.lost";

/// What JVMTI has told.
pub(super) struct Collections {
    /// How many have begun and not ended: one may be part of another.
    depth: AtomicU32,
    /// When the outermost of them began, monotonic ns; 0 if it is not recorded.
    start_ns: AtomicU64,
    /// Those that have ended, in the order of time.
    ring: [Times; WAITING as usize],
    /// How many were put there.
    added: AtomicU64,
    /// How many of these were written.
    written: AtomicU64,
    /// How many there was no room for, there or in the log.
    lost: AtomicU64,
    /// Held by whoever writes them.
    told: Mutex<Told>,
}

/// From when to when, monotonic ns.
#[derive(Default)]
struct Times {
    start_ns: AtomicU64,
    end_ns: AtomicU64,
}

/// What the log says of those that are lost.
#[derive(Default)]
struct Told {
    lost: u64,
    /// The number of the generation that says so.
    generation: u32,
}

impl Default for Collections {
    fn default() -> Collections {
        Collections {
            depth: AtomicU32::new(0),
            start_ns: AtomicU64::new(0),
            ring: array::from_fn(|_| Times::default()),
            added: AtomicU64::new(0),
            written: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            told: Mutex::default(),
        }
    }
}

impl Collections {
    /// All threads are stopped from `now_ns` on.
    fn starts(&self, now_ns: u64, is_recorded: bool) {
        if self.depth.fetch_add(1, Relaxed) == 0 {
            self.start_ns.store(if is_recorded { now_ns } else { 0 }, Relaxed);
        }
    }

    /// They go on.
    fn ends(&self, now_ns: u64) {
        let depth = self.depth.load(Relaxed);
        // JVMTI was asked to tell in the middle of one.
        let Some(depth) = depth.checked_sub(1) else { return };
        self.depth.store(depth, Relaxed);
        let start_ns = self.start_ns.load(Relaxed);
        if depth == 0 && start_ns != 0 {
            self.add(start_ns, now_ns.max(start_ns));
        }
    }

    /// Only one thread at a time does this: the JVM collects one thing at a time.
    fn add(&self, start_ns: u64, end_ns: u64) {
        let added = self.added.load(Relaxed);
        let is_full = added.wrapping_sub(self.written.load(Acquire)) >= WAITING;
        match self.ring.get((added % WAITING) as usize).filter(|_| !is_full) {
            Some(times) => {
                times.start_ns.store(start_ns, Relaxed);
                times.end_ns.store(end_ns, Relaxed);
                self.added.store(added.wrapping_add(1), Release);
            }
            None => _ = self.lost.fetch_add(1, Relaxed),
        }
    }

    /// Hands those that wait to `write`, which says whether there was room. Only one
    /// thread at a time does this.
    fn take(&self, mut write: impl FnMut(u64, u64) -> bool) {
        let added = self.added.load(Acquire);
        let mut written = self.written.load(Relaxed);
        while written != added {
            if let Some(times) = self.ring.get((written % WAITING) as usize)
                && !write(times.start_ns.load(Relaxed), times.end_ns.load(Relaxed))
            {
                self.lost.fetch_add(1, Relaxed);
            }
            written = written.wrapping_add(1);
            self.written.store(written, Release);
        }
    }
}

impl Recorder {
    /// The garbage collector has stopped all threads. For the JVM's own thread that
    /// says so.
    pub fn collection_starts(&self) {
        self.collections.starts(clock::now_ns(), self.is_enabled());
    }

    /// It lets them go on. As above.
    pub fn collection_ends(&self) {
        self.collections.ends(clock::now_ns());
    }

    /// Has the log tell of those that have ended.
    pub fn note_collections(&self) {
        let current = self.log.current();
        self.note_collections_in(&current);
    }

    /// The same: in this generation, which is the current one, or the one before if
    /// they ended in that.
    pub(super) fn note_collections_in(&self, current: &Generation) {
        let mut told = lock(&self.collections.told);
        let previous = self.log.previous();
        let began_ns = current.log.header().u64_at(MONO_NS).load(Relaxed);
        self.collections.take(|start_ns, end_ns| {
            let of = previous.as_deref().filter(|_| end_ns < began_ns).unwrap_or(current);
            of.dictionary.collection(&of.log, start_ns, end_ns).is_some()
        });
        let lost = self.collections.lost.load(Relaxed);
        let is_told = (told.lost, told.generation) == (lost, current.number);
        if lost != 0 && !is_told && current.dictionary.statistic(&current.log, LOST, lost).is_some()
        {
            *told = Told { lost, generation: current.number };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(collections: &Collections) -> Vec<(u64, u64)> {
        let mut taken = Vec::new();
        collections.take(|start_ns, end_ns| {
            taken.push((start_ns, end_ns));
            true
        });
        taken
    }

    #[test]
    fn what_is_put_in_comes_out_once() {
        let collections = Collections::default();
        collections.starts(10, true);
        assert_eq!(taken(&collections), [], "it has not ended");
        collections.ends(30);
        collections.starts(40, true);
        collections.ends(50);
        assert_eq!(taken(&collections), [(10, 30), (40, 50)]);
        assert_eq!(taken(&collections), []);
    }

    #[test]
    fn one_within_another_is_part_of_it() {
        let collections = Collections::default();
        collections.ends(5);
        collections.starts(10, true);
        collections.starts(12, true);
        collections.ends(14);
        collections.ends(20);
        assert_eq!(taken(&collections), [(10, 20)], "nor is there one without a beginning");
    }

    #[test]
    fn what_begins_in_a_pause_of_the_recording_is_none() {
        let collections = Collections::default();
        collections.starts(10, false);
        collections.ends(20);
        collections.starts(30, true);
        collections.ends(40);
        assert_eq!(taken(&collections), [(30, 40)]);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let collections = Collections::default();
        for round in [0, 3 * WAITING] {
            for nth in round..round + WAITING + 3 {
                collections.starts(nth + 1, true);
                collections.ends(nth + 1);
            }
            let taken = taken(&collections);
            assert_eq!(taken.len() as u64, WAITING);
            assert_eq!((taken[0].0, taken[1].0), (round + 1, round + 2), "the first ones");
        }
        assert_eq!(collections.lost.load(Relaxed), 6);
        collections.starts(1, true);
        collections.ends(2);
        collections.take(|_, _| false);
        assert_eq!(collections.lost.load(Relaxed), 7, "nor in the log");
    }
}
