//! What is known of a place while logs are gone through.

use super::{
    evidence::{DEEPER_FRAMES, Evidence, Overlap, Queue, WakerPlace},
    pass::SiteWaits,
    places::{StackShape, asks, meets, puts, puts_own},
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    rc::Rc,
};
use tyrion_wire::WaitKind;

/// What there is to know of a stack with which threads wait.
#[derive(Debug)]
pub(super) struct KnownStack {
    /// The number of the place.
    pub(super) place: u32,
    pub(super) shape: StackShape,
    /// The method of the place, and what it calls.
    pub(super) method: (String, String),
    /// Whether that takes from a queue.
    pub(super) takes: bool,
    /// Whether it is in code that is not of those who wrote what the thread runs.
    pub(super) crosses: bool,
}

/// A site at a place.
#[derive(Clone, Debug)]
pub(super) struct KnownSite {
    pub(super) kind: WaitKind,
    pub(super) lock: u32,
    pub(super) stack: Rc<KnownStack>,
}

/// Who waited, in which method, for what: by numbers of the assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Waiter {
    pub(super) method: u32,
    pub(super) object: u32,
    pub(super) thread: u32,
    /// Whether the object is not known; one stands for all of these in a method.
    pub(super) is_nameless: bool,
}

/// The waits at a place as far as logs were read.
#[derive(Debug, Default)]
pub(super) struct PlaceSums {
    sums: Evidence,
    /// How often conditions were waited for, and how often they were signalled.
    conditions: u64,
    signalled: u64,
    /// How long who waited, for what.
    waited: BTreeMap<Waiter, u64>,
    stacks: HashSet<u64>,
    lengths: BTreeMap<u8, u64>,
    /// Locks that are taken again after the waits.
    retaken: HashSet<u32>,
    /// How long the waits were that a thread ended, by where it was then.
    ended: BTreeMap<(u32, WakerPlace), u64>,
}

/// What the assembly knows of others.
pub(super) trait Others {
    /// How many threads waited for an object in a method.
    fn threads_at(&self, method: u32, object: u32) -> usize;
    /// When threads did so, all of those of a method where no object is given.
    fn overlap(&self, method: u32, object: Option<u32>) -> Overlap;
    /// How often a thread waited, wherever: in shallow stacks, and in deep ones.
    fn waits_of(&self, thread: u32) -> [u64; 2];
    /// How long it lived, in ns, if that is known.
    fn life_ns(&self, thread: u32) -> Option<u64>;
    /// Whether a thread is busy, and waits elsewhere for what any of these bring.
    fn is_taker(&self, thread: u32, waiters: &HashSet<u32>) -> bool;
    /// How many threads had to do with any of these locks, but never waited in
    /// any of these methods.
    fn outsiders(&self, locks: &HashSet<u32>, methods: &HashSet<u32>) -> u64;
    /// Whether a thread waited in any of these methods.
    fn is_insider(&self, thread: u32, methods: &HashSet<u32>) -> bool;
}

impl PlaceSums {
    /// Adds the waits of a thread at a site. `sees_signals` says whether a lock is
    /// known to be taken again after each signal of a condition.
    pub(super) fn add(
        &mut self,
        waiter: Waiter,
        known: &KnownSite,
        waits: &SiteWaits,
        sees_signals: bool,
    ) {
        let sums = &mut self.sums;
        sums.waits = sums.waits.saturating_add(waits.count);
        sums.wait_ns = sums.wait_ns.saturating_add(waits.wait_ns);
        sums.last_ns = sums.last_ns.max(waits.last_ns);
        sums.told = sums.told.saturating_add(waits.told);
        sums.timed_out = sums.timed_out.saturating_add(waits.timed_out);
        let nameless = if waiter.is_nameless { waits.count } else { 0 };
        sums.nameless = sums.nameless.saturating_add(nameless);
        if known.kind == WaitKind::Condition && sees_signals {
            let untold = waits.count.saturating_sub(waits.told);
            self.conditions = self.conditions.saturating_add(untold);
        }
        let KnownStack { shape, method, takes, crosses, .. } = &*known.stack;
        let fewest = if self.stacks.is_empty() { shape.frames } else { sums.frames };
        sums.frames = fewest.min(shape.frames);
        sums.is_outermost = shape.is_outermost();
        sums.queue = match method {
            _ if *takes => Queue::Takes,
            (at, calls) if puts(calls) || puts_own(at, calls) => Queue::Puts,
            _ => Queue::None,
        };
        sums.asks = asks(&method.1);
        sums.meets = meets(&method.1);
        sums.is_of_permits = known.kind == WaitKind::Semaphore;
        sums.crosses |= *crosses;
        self.stacks.insert(shape.methods);
        let waited_ns = self.waited.entry(waiter).or_default();
        *waited_ns = waited_ns.saturating_add(waits.wait_ns);
    }

    /// A condition was signalled so often, and then this lock taken again.
    pub(super) fn signalled(&mut self, count: u64, lock: u32) {
        self.signalled = self.signalled.saturating_add(count);
        self.retaken.insert(lock);
    }

    /// Waits were ended that were so long, by threads that had waited for the same and passed
    /// it on.
    pub(super) fn passed_on(&mut self, wait_ns: u64) {
        self.sums.passed_on_ns = self.sums.passed_on_ns.saturating_add(wait_ns);
    }

    /// A thread ended waits that were so long, from there; perhaps as what one does who gives up.
    pub(super) fn ended(&mut self, from: (u32, WakerPlace), wait_ns: u64, has_failed: bool) {
        let sum = self.ended.entry(from).or_default();
        *sum = sum.saturating_add(wait_ns);
        let failed_ns = if has_failed { wait_ns } else { 0 };
        self.sums.failed_ns = self.sums.failed_ns.saturating_add(failed_ns);
    }

    /// How long each thread waited here for something that it did not ask for, and who ended
    /// such waits.
    pub(super) fn unasked(&self) -> (HashMap<u32, u64>, HashSet<u32>) {
        let (mut waited, mut enders) = (HashMap::new(), HashSet::new());
        if !self.sums.asks && self.sums.queue != Queue::Puts {
            for (waiter, ns) in &self.waited {
                let sum: &mut u64 = waited.entry(waiter.thread).or_default();
                *sum = sum.saturating_add(*ns);
            }
            enders.extend(self.ended.keys().map(|(waker, _)| *waker));
        }
        (waited, enders)
    }

    /// So many waits took about so long.
    pub(super) fn took(&mut self, length: u8, count: u64) {
        let sum = self.lengths.entry(length).or_default();
        *sum = sum.saturating_add(count);
    }

    /// What is known in the end.
    pub(super) fn finish(self, others: &impl Others) -> Evidence {
        let mut known = self.sums;
        // What was not signalled was left because its time was over.
        let unsignalled = self.conditions.saturating_sub(self.signalled);
        known.told = known.told.saturating_add(self.conditions);
        known.timed_out = known.timed_out.saturating_add(unsignalled);
        known.stacks = self.stacks.len() as u64;
        known.measured = self.lengths.values().fold(0, |sum, &count| sum.saturating_add(count));
        known.alike = alike(&self.lengths);
        let threads: HashSet<u32> = self.waited.keys().map(|waiter| waiter.thread).collect();
        let objects: HashSet<u32> = self.waited.keys().map(|waiter| waiter.object).collect();
        let pairs: HashSet<_> = self.waited.keys().map(|it| (it.thread, it.object)).collect();
        known.threads = threads.len() as u64;
        known.objects = objects.len() as u64;
        known.pairs = pairs.len() as u64;
        let of_threads = threads.iter().map(|&thread| others.waits_of(thread));
        let [shallow, deep] = of_threads.fold([0u64; 2], |sums, more| {
            [sums[0].saturating_add(more[0]), sums[1].saturating_add(more[1])]
        });
        known.elsewhere = shallow.saturating_add(deep).saturating_sub(known.waits);
        known.deep = deep.min(known.elsewhere);
        let lives: Option<Vec<u64>> = threads.iter().map(|&it| others.life_ns(it)).collect();
        known.life_ns = lives.unwrap_or_default().into_iter().fold(0, u64::saturating_add);
        self.add_overlaps(&mut known, others);
        let methods = self.waited.keys().map(|waiter| waiter.method).collect();
        for (&(waker, from), &wait_ns) in &self.ended {
            known.woken_ns = known.woken_ns.saturating_add(wait_ns);
            let is_insider = match from {
                WakerPlace::Here => true,
                WakerPlace::Work => false,
                WakerPlace::Elsewhere(frames) => {
                    let is_at_work = known.frames.saturating_add(DEEPER_FRAMES) <= frames;
                    others.is_insider(waker, &methods) && !is_at_work
                }
            };
            if is_insider {
                known.by_insiders_ns = known.by_insiders_ns.saturating_add(wait_ns);
            } else if others.is_taker(waker, &threads) {
                known.by_takers_ns = known.by_takers_ns.saturating_add(wait_ns);
            }
        }
        let locks = objects.into_iter().chain(self.retaken).collect();
        known.outsiders = others.outsiders(&locks, &methods);
        known
    }

    fn add_overlaps(&self, known: &mut Evidence, others: &impl Others) {
        let mut at: HashMap<(u32, u32), u64> = HashMap::new();
        for (waiter, waited_ns) in &self.waited {
            let sum = at.entry((waiter.method, waiter.object)).or_default();
            *sum = sum.saturating_add(*waited_ns);
        }
        let mut at: Vec<((u32, u32), u64)> = at.into_iter().collect();
        at.sort_unstable();
        let mut of_objects = Vec::new();
        for &((method, object), waited_ns) in &at {
            if others.threads_at(method, object) == 1 {
                known.alone_ns = known.alone_ns.saturating_add(waited_ns);
            } else {
                of_objects.push(others.overlap(method, Some(object)));
            }
        }
        known.object = together(&of_objects);
        at.dedup_by_key(|((method, _), _)| *method);
        let of_methods: Vec<Overlap> =
            at.into_iter().map(|((method, _), _)| others.overlap(method, None)).collect();
        known.method = together(&of_methods);
    }
}

/// All of them together; the threads are those of the one in which most was waited.
/// Their order means nothing.
fn together(overlaps: &[Overlap]) -> Overlap {
    let most = overlaps.iter().max_by_key(|it| (it.any_ns, it.threads, it.most));
    let sum = |of: fn(&Overlap) -> u64| overlaps.iter().map(of).fold(0, u64::saturating_add);
    Overlap {
        any_ns: sum(|it| it.any_ns),
        all_ns: sum(|it| it.all_ns),
        ..most.copied().unwrap_or_default()
    }
}

/// The most waits that took about the same time, which three lengths next to
/// each other do.
fn alike(lengths: &BTreeMap<u8, u64>) -> u64 {
    let from = |first: u8| {
        let near = lengths.range(first..=first.saturating_add(2));
        near.fold(0u64, |sum, (_, &count)| sum.saturating_add(count))
    };
    lengths.keys().map(|&first| from(first)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_about_the_same_length_are_counted() {
        assert_eq!(alike(&BTreeMap::new()), 0);
        assert_eq!(alike(&BTreeMap::from([(3, 5), (5, 2), (6, 9), (7, 1), (9, 4)])), 12);
        assert_eq!(alike(&BTreeMap::from([(254, 1), (255, 2)])), 3);
    }

    #[test]
    fn overlaps_are_added_up_in_any_order() {
        let (a, b, c) = (
            Overlap { threads: 2, most: 1, any_ns: 5, all_ns: 1 },
            Overlap { threads: 8, most: 6, any_ns: 9, all_ns: 0 },
            Overlap { threads: 3, most: 2, any_ns: 9, all_ns: 2 },
        );
        let all = Overlap { threads: 8, most: 6, any_ns: 23, all_ns: 3 };
        for order in [[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]] {
            assert_eq!(together(&order), all);
        }
        assert_eq!((together(&[]), together(&[a])), (Overlap::default(), a));
    }
}
