//! From what was seen in logs to the evidence for each place.

use super::{
    evidence::{Evidence, Overlap, WakerPlace},
    gathered::{KnownSite, Others, PlaceSums, Waiter},
    overlap::Spans,
    pass::{EndedWaits, LogWaits, SiteWaits, WakeKey},
    places::{Shapes, StackShape},
};
use crate::{lives::life, states::StateReader};
use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};
use tyrion_formats::Recording;
use tyrion_wire::{WaitKind, def::id::UNKNOWN};

/// Numbers for things, in the order in which they come.
#[derive(Debug)]
struct Numbering<K>(HashMap<K, u32>);

impl<K: Eq + Hash> Numbering<K> {
    fn of(&mut self, key: K) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(key).or_insert(next)
    }
}

impl<K> Default for Numbering<K> {
    fn default() -> Self {
        Numbering(HashMap::new())
    }
}

/// By the number of a recording's first log: a thread by `Thread.getId()`, the
/// method of a place with what it calls, and a lock by its id. Where that is not
/// known, one object stands for all of a method.
type ThreadKey = (u32, u64);
type MethodKey = (u32, (String, String));
type ObjectKey = (u32, Result<u32, u32>);

/// A log, and what there is to know of the sites at which waits are judged.
pub(crate) struct SeenLog<'a> {
    pub(super) log: &'a Recording,
    /// The number of the first log of its recording.
    pub(super) recording: u32,
    pub(super) sites: HashMap<u32, KnownSite>,
    /// Tells which stacks wait for work.
    pub(super) states: StateReader<'a>,
    /// Whether it is known which conditions were signalled.
    pub(super) sees_signals: bool,
}

/// Gathers what is known of places, log by log.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    places: Vec<PlaceSums>,
    threads: Numbering<ThreadKey>,
    methods: Numbering<MethodKey>,
    objects: Numbering<ObjectKey>,
    spans: Spans<Waiter>,
    known: Surroundings,
}

/// What is known beyond single places, by number.
#[derive(Debug, Default)]
struct Surroundings {
    /// All waits of a thread: in shallow stacks, and in deep ones.
    waits: HashMap<u32, [u64; 2]>,
    /// How long a thread lived, `None` if some log does not tell.
    lives: HashMap<u32, Option<u64>>,
    /// Who waited in a method, and for an object there.
    in_method: HashMap<u32, HashSet<u32>>,
    at_object: HashMap<(u32, u32), HashSet<u32>>,
    /// Who had to do with a lock.
    touched: HashMap<u32, HashSet<u32>>,
    of_methods: HashMap<u32, Overlap>,
    of_objects: HashMap<(u32, u32), Overlap>,
    /// How long each thread waited for what it had not asked for, and who ended such waits.
    takes: HashMap<u32, (u64, HashSet<u32>)>,
}

/// Who waits for less than this part of its life, one in so many, is busy.
const BUSY_PART: u64 = 10;

impl Assembly {
    fn thread(&mut self, of: &SeenLog<'_>, thread: u32) -> u32 {
        let java_id = of.log.definitions().threads().get(thread).map_or(0, |it| it.java_id);
        self.threads.of((of.recording, java_id))
    }

    fn waiter(&mut self, of: &SeenLog<'_>, thread: u32, known: &KnownSite) -> Waiter {
        let method = self.methods.of((of.recording, known.stack.method.clone()));
        let lock = known.lock;
        let is_known = lock != UNKNOWN && of.log.definitions().locks().get(lock).is_some();
        let object = if is_known { Ok(lock) } else { Err(method) };
        let object = self.objects.of((of.recording, object));
        let thread = self.thread(of, thread);
        self.known.in_method.entry(method).or_default().insert(thread);
        self.known.at_object.entry((method, object)).or_default().insert(thread);
        self.known.touched.entry(object).or_default().insert(thread);
        Waiter { method, object, thread, is_nameless: !is_known }
    }

    fn place(&mut self, place: u32) -> &mut PlaceSums {
        let at = place as usize;
        if self.places.len() <= at {
            self.places.resize_with(at + 1, PlaceSums::default);
        }
        &mut self.places[at]
    }

    /// Adds what was seen in a log. Logs come in their order.
    pub(super) fn add(&mut self, of: &SeenLog<'_>, shapes: &Shapes, seen: LogWaits) {
        let mut sites: Vec<((u32, u32), SiteWaits)> = seen.sites.into_iter().collect();
        sites.sort_unstable_by_key(|(key, _)| *key);
        let mut waiters: HashMap<(u32, u32), Waiter> = HashMap::new();
        for ((thread, site), waits) in sites {
            let Some(known) = of.sites.get(&site) else { continue };
            let place = known.stack.place;
            if known.stack.shape.frames == 0 {
                // The JDK's own loop.
            } else if known.kind == WaitKind::LockReacquire {
                let lock = self.objects.of((of.recording, Ok(known.lock)));
                self.place(place).signalled(waits.count, lock);
            } else {
                let waiter = self.waiter(of, thread, known);
                waiters.insert((thread, site), waiter);
                self.place(place).add(waiter, known, &waits, of.sees_signals);
            }
        }
        for ((place, length), count) in seen.lengths.into_counts() {
            self.place(place).took(length, count);
        }
        // Sorted, so that locks get the same numbers each time.
        let mut touched: Vec<(u32, u32)> = seen.touched.into_iter().collect();
        touched.sort_unstable();
        for (thread, site) in touched {
            if let Some(site) = of.log.definitions().sites().get(site) {
                let lock = self.objects.of((of.recording, Ok(site.lock)));
                let thread = self.thread(of, thread);
                self.known.touched.entry(lock).or_default().insert(thread);
            }
        }
        self.add_wakes(of, shapes, seen.wakes);
        self.spans.add(seen.spans, |key| waiters.get(&key).copied());
        self.add_threads(of, &seen.waits);
    }

    /// Adds who ended waits.
    fn add_wakes(
        &mut self,
        of: &SeenLog<'_>,
        shapes: &Shapes,
        wakes: impl IntoIterator<Item = (WakeKey, EndedWaits)>,
    ) {
        let waiting: HashMap<u32, &StackShape> =
            of.sites.values().map(|known| (known.stack.place, &known.stack.shape)).collect();
        let mut known: HashMap<(u32, u32), (WakerPlace, bool)> = HashMap::new();
        for ((place, waker, stack), ended) in wakes {
            if ended.is_passed_on {
                self.place(place).passed_on(ended.wait_ns);
            } else if waker != UNKNOWN {
                let (from, has_failed) = *known.entry((place, stack)).or_insert_with(|| {
                    let from = shapes.waker_place((of.log, stack), waiting.get(&place).copied());
                    (from, shapes.has_failed(of.log, stack))
                });
                let waker = self.thread(of, waker);
                self.place(place).ended((waker, from), ended.wait_ns, has_failed);
            }
        }
    }

    /// Adds a wait that had not ended when the log did: it was one, however long
    /// it would have lasted.
    pub(super) fn add_pending(
        &mut self,
        of: &SeenLog<'_>,
        thread: u32,
        known: &KnownSite,
        start_ns: u64,
    ) {
        let waiter = self.waiter(of, thread, known);
        self.spans.push(waiter, (start_ns, of.log.end_ns()));
    }

    fn add_threads(&mut self, of: &SeenLog<'_>, waits: &[[u64; 2]]) {
        for (id, thread) in of.log.definitions().threads().iter() {
            let number = self.threads.of((of.recording, thread.java_id));
            let counts = waits.get(id as usize).copied().unwrap_or_default();
            let sums = self.known.waits.entry(number).or_default();
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum = sum.saturating_add(count);
            }
            let life_ns = life(of.log, id, thread).map(|(from_ns, to_ns)| to_ns - from_ns);
            let lived = self.known.lives.entry(number).or_insert(Some(0));
            *lived = lived.zip(life_ns).map(|(sum, more)| sum.saturating_add(more));
        }
    }

    /// The evidence for each place, by its number.
    pub(super) fn finish(mut self) -> Vec<Evidence> {
        let known = &mut self.known;
        let at_object = &known.at_object;
        let count = |threads: Option<&HashSet<u32>>| threads.map_or(0, HashSet::len) as u64;
        let of_objects = self.spans.overlaps(
            |waiter| (waiter.method, waiter.object),
            |waiter| waiter.thread,
            |key| count(at_object.get(&key)),
        );
        let in_method = &known.in_method;
        let of_methods = self.spans.overlaps(
            |waiter| waiter.method,
            |waiter| waiter.thread,
            |method| count(in_method.get(&method)),
        );
        for place in &self.places {
            let (waited, enders) = place.unasked();
            for (thread, ns) in waited {
                let of_thread = known.takes.entry(thread).or_default();
                of_thread.0 = of_thread.0.saturating_add(ns);
                of_thread.1.extend(&enders);
            }
        }
        known.of_objects = of_objects.into_iter().collect();
        known.of_methods = of_methods.into_iter().collect();
        let known = &self.known;
        self.places.into_iter().map(|place| place.finish(known)).collect()
    }
}

impl Others for Surroundings {
    fn threads_at(&self, method: u32, object: u32) -> usize {
        self.at_object.get(&(method, object)).map_or(0, HashSet::len)
    }

    fn overlap(&self, method: u32, object: Option<u32>) -> Overlap {
        let known = match object {
            Some(object) => self.of_objects.get(&(method, object)),
            None => self.of_methods.get(&method),
        };
        known.copied().unwrap_or_default()
    }

    fn waits_of(&self, thread: u32) -> [u64; 2] {
        self.waits.get(&thread).copied().unwrap_or_default()
    }

    fn life_ns(&self, thread: u32) -> Option<u64> {
        self.lives.get(&thread).copied().flatten()
    }

    fn outsiders(&self, locks: &HashSet<u32>, methods: &HashSet<u32>) -> u64 {
        let touched = locks.iter().filter_map(|lock| self.touched.get(lock)).flatten();
        let insiders: HashSet<u32> =
            methods.iter().filter_map(|it| self.in_method.get(it)).flatten().copied().collect();
        let outsiders: HashSet<u32> =
            touched.copied().filter(|thread| !insiders.contains(thread)).collect();
        outsiders.len() as u64
    }

    fn is_taker(&self, thread: u32, waiters: &HashSet<u32>) -> bool {
        let Some((waited_ns, enders)) = self.takes.get(&thread) else { return false };
        let is_busy =
            |life_ns: u64| waited_ns.saturating_mul(BUSY_PART) <= life_ns && *waited_ns != 0;
        self.life_ns(thread).is_some_and(is_busy) && !enders.is_disjoint(waiters)
    }

    fn is_insider(&self, thread: u32, methods: &HashSet<u32>) -> bool {
        let mut waiters = methods.iter().filter_map(|method| self.in_method.get(method));
        waiters.any(|threads| threads.contains(&thread))
    }
}
