//! What trace mode recorded one by one, beyond what the profile keeps: nesting
//! and instances.
//!
//! Both are told once of each thread and instance, in each file, and kept once, however often
//! they are told: so they stay small however long the recording is. Holds do not: what needs
//! them reads them in spans of time, see `near_misses`.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};
use tyrion_formats::{Entry, Note, Noted, Recording};
pub use tyrion_model::lives::recordings;
use tyrion_model::pass::{Question, Visitor};
use tyrion_wire::trace::{Held, Instance, Nest};

/// What was recorded, of all logs, whatever the filter: whether a lock is
/// shared, or an order of locks a cycle, depends on all threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFindings {
    /// Which lock was taken within which, in ascending order.
    pub nestings: Vec<Nesting>,
    /// Which thread took which instance, in ascending order.
    pub takings: Vec<Taking>,
}

/// A thread has taken a lock while it held others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nesting {
    /// The log.
    pub run: u32,
    /// Who took what, and held what.
    pub nested: NestedTaking,
    /// How often this was recorded, and when for the first time and the last, monotonic ns.
    pub times: u64,
    /// The first time.
    pub first_ns: u64,
    /// The last time.
    pub last_ns: u64,
}

/// Who took what while others were held. Ids are those of the log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NestedTaking {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// How often something was recorded, and when for the first time and the last.
#[derive(Clone, Copy, Debug)]
struct Occurrences {
    times: u64,
    first_ns: u64,
    last_ns: u64,
}

impl Occurrences {
    fn at(at_ns: u64) -> Occurrences {
        Occurrences { times: 1, first_ns: at_ns, last_ns: at_ns }
    }

    fn add(&mut self, more: Occurrences) {
        self.times = self.times.saturating_add(more.times);
        self.first_ns = self.first_ns.min(more.first_ns);
        self.last_ns = self.last_ns.max(more.last_ns);
    }
}

/// What is asked of a log: nesting and instances.
pub(crate) struct TraceQuestion<'a> {
    log: &'a Recording,
    found: Mutex<Vec<TraceVisitor<'a>>>,
}

impl<'a> TraceQuestion<'a> {
    /// Of a log; nothing if it is not of trace mode, which alone has them.
    pub(crate) fn of(log: &'a Recording) -> Option<TraceQuestion<'a>> {
        log.is_trace().then(|| TraceQuestion { log, found: Mutex::default() })
    }
}

impl<'a> Question for TraceQuestion<'a> {
    type Visitor<'q>
        = TraceVisitor<'a>
    where
        Self: 'q;

    fn visitor(&self) -> TraceVisitor<'a> {
        TraceVisitor::new(self.log)
    }

    fn take(&self, collector: TraceVisitor<'a>) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).push(collector);
    }
}

impl Visitor for TraceVisitor<'_> {
    #[inline]
    fn entry(&mut self, entry: &Entry<'_>) {
        if let Entry::Note(noted) = entry {
            match noted.record {
                Note::Nest(nest) => self.nest(&noted.with(nest)),
                Note::Instance(taken) => self.instance(&noted.with(taken)),
                _ => {}
            }
        }
    }
}

/// One worker's share of one log.
#[derive(Debug)]
pub(crate) struct TraceVisitor<'a> {
    log: &'a Recording,
    nestings: HashMap<NestedTaking, Occurrences>,
    takings: HashSet<Taking>,
}

impl<'a> TraceVisitor<'a> {
    /// For a log; each worker has one.
    fn new(log: &'a Recording) -> TraceVisitor<'a> {
        TraceVisitor { log, nestings: HashMap::new(), takings: HashSet::new() }
    }

    /// Takes up a nest.
    fn nest(&mut self, noted: &Noted<Nest<'_>>) {
        let nest = &noted.record;
        let nested = NestedTaking {
            thread: noted.thread,
            inner: nest.inner,
            stack: nest.stack,
            outer: nest.outer.iter().collect(),
            is_tried: nest.is_tried(),
        };
        self.add_nested(nested, Occurrences::at(noted.at_ns));
    }

    fn add_nested(&mut self, nested: NestedTaking, seen: Occurrences) {
        self.nestings.entry(nested).and_modify(|known| known.add(seen)).or_insert(seen);
    }

    /// Takes up the first acquisition of an instance by a thread.
    fn instance(&mut self, noted: &Noted<Instance>) {
        let (thread, taken) = (noted.thread, &noted.record);
        if self.log.definitions().threads().get(thread).is_some() {
            self.takings.insert(Taking {
                run: 0,
                hash: taken.hash,
                class: taken.class,
                thread,
                place: taken.place,
                shared: taken.shared,
            });
        }
    }

    fn add(&mut self, other: TraceVisitor<'_>) {
        other.nestings.into_iter().for_each(|(nested, seen)| self.add_nested(nested, seen));
        self.takings.extend(other.takings);
    }
}

impl Nesting {
    /// Whether this was recorded at that time or after another one, of the same thread.
    pub(crate) fn is_as_late_as(&self, other: &Nesting) -> bool {
        (self.last_ns, self.run, &self.nested) >= (other.last_ns, other.run, &other.nested)
    }
}

impl TraceFindings {
    /// What was collected in each log. Workers are in no order, and how records were shared
    /// out among them differs from time to time.
    pub(crate) fn of(all: Vec<Option<TraceQuestion<'_>>>) -> TraceFindings {
        let mut recorded = TraceFindings::default();
        for (run, collecting) in (0..).zip(all) {
            let found = collecting.map(|it| it.found.into_inner());
            recorded.add(run, found.map(|it| it.unwrap_or_else(PoisonError::into_inner)));
        }
        recorded
    }

    fn add(&mut self, run: u32, workers: Option<Vec<TraceVisitor<'_>>>) {
        let all = workers.unwrap_or_default().into_iter().reduce(|mut all, more| {
            all.add(more);
            all
        });
        let Some(TraceVisitor { nestings, takings, .. }) = all else { return };
        let (first_nesting, first_taking) = (self.nestings.len(), self.takings.len());
        self.nestings.extend(nestings.into_iter().map(|(nested, seen)| {
            let Occurrences { times, first_ns, last_ns } = seen;
            Nesting { run, nested, times, first_ns, last_ns }
        }));
        self.takings.extend(takings.into_iter().map(|it| Taking { run, ..it }));
        let key = |a: &Nesting, b: &Nesting| (a.first_ns, &a.nested).cmp(&(b.first_ns, &b.nested));
        self.nestings[first_nesting..].sort_unstable_by(key);
        self.takings[first_taking..].sort_unstable();
    }

    /// How often a lock was recorded as taken within another.
    pub(crate) fn nested_times(&self) -> u64 {
        self.nestings.iter().map(|nesting| nesting.times).fold(0, u64::saturating_add)
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
