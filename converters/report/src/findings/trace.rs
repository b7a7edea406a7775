//! What trace mode recorded one by one, beyond what the profile keeps: nesting
//! and instances.
//!
//! Both are told once of each thread and instance, so they stay small however
//! long the recording is. Holds do not: what needs them reads them in spans of
//! time, see [`near_misses`](crate::sections::near_misses).

use std::collections::HashMap;
use tyrion_formats::{Noted, Recording};
pub use tyrion_model::lives::recordings;
use tyrion_wire::trace::{Held, Instance, Nest};

/// What was recorded, of all logs, whatever the filter: whether a lock is
/// shared, or an order of locks a cycle, depends on all threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Which lock was taken within which, in ascending order.
    pub nestings: Vec<Nesting>,
    /// Which thread took which instance, in ascending order.
    pub takings: Vec<Taking>,
}

/// A thread has taken a lock while it held others. Ids are those of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nesting {
    /// The log.
    pub run: u32,
    /// When it was recorded first, monotonic ns.
    pub at_ns: u64,
    /// The thread.
    pub thread: u32,
    /// The lock that was taken.
    pub inner: Held,
    /// The stack of its acquisition.
    pub stack: u32,
    /// The locks that were held: monitors, outermost first, and then those of
    /// java.util.concurrent, in their own order.
    pub outer: Box<[Held]>,
    /// Whether the lock was taken by a try that does not wait for ever.
    pub is_tried: bool,
}

/// A thread has taken an instance. Ids are those of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taking {
    /// The log.
    pub run: u32,
    /// The instance's identity hash.
    pub hash: u32,
    /// Its class.
    pub class: u32,
    /// The thread.
    pub thread: u32,
    /// Where it took the instance first.
    pub place: u32,
    /// Whether another thread had taken it before. Its record may be missing.
    pub shared: bool,
}

/// One worker's share of one log.
#[derive(Debug)]
pub(crate) struct Collector<'a> {
    log: &'a Recording,
    nestings: Vec<Nesting>,
    takings: Vec<Taking>,
}

impl<'a> Collector<'a> {
    /// For a log; each worker has one.
    pub(crate) fn new(log: &'a Recording) -> Collector<'a> {
        Collector { log, nestings: Vec::new(), takings: Vec::new() }
    }

    /// Takes up a nest. Those of a lane come in the order of their times as long as they are
    /// of one chunk.
    pub(crate) fn nest(&mut self, noted: &Noted<Nest<'_>>) {
        let nest = &noted.record;
        self.nestings.push(Nesting {
            run: 0,
            at_ns: noted.at_ns,
            thread: noted.thread,
            inner: nest.inner,
            stack: nest.stack,
            outer: nest.outer.iter().collect(),
            is_tried: nest.is_tried(),
        });
    }

    /// Takes up the first acquisition of an instance by a thread.
    pub(crate) fn instance(&mut self, noted: &Noted<Instance>) {
        let (thread, taken) = (noted.thread, &noted.record);
        if self.log.definitions().threads().get(thread).is_some() {
            self.takings.push(Taking {
                run: 0,
                hash: taken.hash,
                class: taken.class,
                thread,
                place: taken.place,
                shared: taken.shared,
            });
        }
    }
}

impl Nesting {
    /// What orders nestings.
    fn key(&self) -> impl Ord + use<> {
        let held = |held: &Held| (held.place, held.class, held.hash);
        let outer: Vec<_> = self.outer.iter().map(held).collect();
        (self.run, self.at_ns, self.thread, held(&self.inner), self.stack, outer, self.is_tried)
    }
}

impl Recorded {
    /// Adds what the workers found in the `run`-th log; the workers are in no
    /// order, and how records were shared out among them differs from time to
    /// time.
    pub(crate) fn add(&mut self, run: u32, workers: Vec<Collector<'_>>) {
        let (nestings, takings) = (self.nestings.len(), self.takings.len());
        for worker in workers {
            self.nestings.extend(worker.nestings.into_iter().map(|it| Nesting { run, ..it }));
            self.takings.extend(worker.takings.into_iter().map(|it| Taking { run, ..it }));
        }
        self.nestings[nestings..].sort_by_cached_key(Nesting::key);
        self.takings[takings..].sort_unstable();
    }
}

/// The ids of the locks of a log whose identity hash is known, by that.
pub fn lock_ids(log: &Recording) -> HashMap<u32, Vec<u32>> {
    let mut ids: HashMap<u32, Vec<u32>> = HashMap::new();
    for (lock, hash) in log.definitions().lock_instances() {
        ids.entry(hash).or_default().push(lock);
    }
    ids
}
