//! Goes through all holds in the order of time.

use super::{
    super::{Histogram, groups::thread_group},
    known::{LockEvent, Object, ObjectNumbers},
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use tyrion_formats::Recording;
use tyrion_model::{describe::Names, filter::Filter, identity::Locks};
use tyrion_wire::WaitKind;

/// Class, name and kind of locks.
pub(crate) type ScanKey = (String, String, &'static str);

/// What was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scan {
    /// By lock and kind, those that are taken by one thread only left out; in
    /// no order.
    pub(crate) locks: Vec<(ScanKey, Stats)>,
    /// Where each is in that list.
    index: HashMap<ScanKey, usize>,
    /// Waits too short for a record of their own, by lock and kind.
    pub(crate) folded: HashMap<ScanKey, u64>,
    /// Holds of objects that are not told apart.
    pub(crate) unidentified: u64,
    /// Holds without a time of their own.
    pub(crate) untimed: u64,
}

/// The entries into some locks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stats {
    pub(crate) entries: u64,
    pub(crate) near_misses: u64,
    pub(crate) contended: u64,
    pub(crate) instances: u64,
    pub(crate) shortest_ns: Option<u64>,
    pub(crate) gaps: Histogram,
    /// By the groups of the thread that left and the one that came.
    pub(crate) threads: BTreeMap<(String, String), u64>,
    /// By the places where both took the lock.
    pub(crate) places: BTreeMap<(String, String), u64>,
}

/// What is known of a lock object so far.
#[derive(Default)]
struct LockHistory {
    last: Option<Exit>,
    /// Who has waited for it, and got it, but not left it yet.
    waited: Vec<u32>,
    had_near_miss: bool,
}

/// When and by whom a lock was left.
#[derive(Clone, Copy)]
struct Exit {
    at_ns: u64,
    thread_key: u32,
    place: u32,
    run: u32,
}

impl Scan {
    /// Where the entries into some locks are counted.
    fn at(&mut self, key: ScanKey) -> usize {
        *self.index.entry(key).or_insert_with_key(|key| {
            self.locks.push((key.clone(), Stats::default()));
            self.locks.len() - 1
        })
    }

    /// Adds what was found of other lock objects.
    pub(super) fn add(&mut self, other: Scan) {
        for (key, stats) in other.locks {
            let at = self.at(key);
            if let Some((_, sums)) = self.locks.get_mut(at) {
                sums.add(stats);
            }
        }
    }

    /// Counts the waits of a log that have no record of their own.
    pub(super) fn add_folded(&mut self, log: &Recording) {
        let definitions = log.definitions();
        for cell in log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk)) {
            let Some(site) = definitions.sites().get(cell.site) else { continue };
            if site.kind.is_contention() {
                let (class, name) = Names(log).site_parts(site);
                let sum = self.folded.entry((class, name, site.kind.name())).or_default();
                *sum = sum.saturating_add(cell.count);
            }
        }
    }
}

impl Stats {
    fn add(&mut self, other: Stats) {
        self.entries += other.entries;
        self.near_misses += other.near_misses;
        self.contended += other.contended;
        self.instances += other.instances;
        self.shortest_ns = self.shortest_ns.into_iter().chain(other.shortest_ns).min();
        self.gaps.add(&other.gaps);
        for (threads, count) in other.threads {
            *self.threads.entry(threads).or_default() += count;
        }
        for (places, count) in other.places {
            *self.places.entry(places).or_default() += count;
        }
    }
}

/// A place at which locks of a class are taken, as the filter and people see it.
struct TakingPlace {
    /// Where its entries are counted, in [`Scan::locks`].
    at: usize,
    text: String,
    kind: WaitKind,
    wanted: bool,
}

/// A thread, the same way.
struct ScannedThread {
    group: String,
    wanted: bool,
}

/// What is asked.
#[derive(Clone, Copy)]
pub(super) struct ScanInput<'a> {
    pub(super) logs: &'a [Recording],
    pub(super) filter: &'a Filter,
    pub(super) near_ns: u64,
}

/// Goes through the holds of one recording, of one share of its lock objects.
pub(super) struct Scanner<'a> {
    asked: ScanInput<'a>,
    known: Arc<ObjectNumbers>,
    histories: HashMap<Object, LockHistory>,
    /// By log, class and place.
    places: HashMap<(u32, u32, u32), Option<TakingPlace>>,
    threads: HashMap<u32, ScannedThread>,
    scan: Scan,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(asked: ScanInput<'a>, known: Arc<ObjectNumbers>) -> Scanner<'a> {
        let (histories, places, threads, scan) = Default::default();
        Scanner { asked, known, histories, places, threads, scan }
    }

    /// Goes through the events of a span of time, which are all behind those before.
    pub(super) fn span(&mut self, mut events: Vec<LockEvent>) {
        events.sort_unstable();
        events.iter().for_each(|event| self.event(event));
    }

    /// What was found.
    pub(super) fn finish(self) -> Scan {
        self.scan
    }

    fn event(&mut self, event: &LockEvent) {
        let history = self.histories.entry(event.object).or_default();
        let Some(hold_ns) = event.hold_ns else {
            if !history.waited.contains(&event.thread_key) {
                history.waited.push(event.thread_key);
            }
            return;
        };
        let waited = history.waited.iter().position(|thread_key| *thread_key == event.thread_key);
        waited.map(|at| history.waited.swap_remove(at));
        let LockEvent { at_ns, thread_key, place, run, .. } = *event;
        let last = history.last.replace(Exit { at_ns, thread_key, place, run });
        let entered_ns = at_ns.saturating_sub(hold_ns);
        if self.counts(event, entered_ns, waited.is_some())
            && let Some(last) = last
            && waited.is_none()
            && let Some(gap_ns) = self.gap(event, entered_ns, &last)
        {
            self.near_miss(event, &last, gap_ns);
        }
    }

    /// Counts an entry, if the filter asks for it.
    fn counts(&mut self, event: &LockEvent, entered_ns: u64, waited: bool) -> bool {
        self.look_up(event.run, event.object.0, event.place);
        self.look_up_thread(event.thread_key);
        let ScanInput { logs, filter, .. } = self.asked;
        let Some(log) = logs.get(event.run as usize) else { return false };
        let wants_time = (filter.since.is_none() && filter.until.is_none())
            || filter.window(log).holds(entered_ns);
        let wants_thread = self.threads.get(&event.thread_key).is_some_and(|thread| thread.wanted);
        let place = self.places.get(&(event.run, event.object.0, event.place));
        let Some(place) = place.and_then(Option::as_ref) else { return false };
        if !(place.wanted && wants_time && wants_thread) {
            return false;
        }
        let Some((_, stats)) = self.scan.locks.get_mut(place.at) else { return false };
        stats.entries += 1;
        stats.contended += u64::from(waited);
        true
    }

    /// The time from an exit to an entry, if that is a near miss.
    fn gap(&mut self, event: &LockEvent, entered_ns: u64, last: &Exit) -> Option<u64> {
        self.look_up(last.run, event.object.0, last.place);
        let kind = |run, place| Some(self.place(run, event.object.0, place)?.kind);
        let (before, after) = (kind(last.run, last.place)?, kind(event.run, event.place)?);
        let overlap = entered_ns < last.at_ns;
        let together = before.is_shared() && after.is_shared();
        // Permits are for several at a time, and so are locks of readers.
        // Whoever else seems to come in too early is off by the clock.
        if last.thread_key == event.thread_key
            || together
            || (overlap && after == WaitKind::Semaphore)
        {
            return None;
        }
        Some(entered_ns.saturating_sub(last.at_ns)).filter(|&gap_ns| gap_ns <= self.asked.near_ns)
    }

    fn near_miss(&mut self, event: &LockEvent, last: &Exit, gap_ns: u64) {
        self.look_up_thread(last.thread_key);
        let group = |thread_key| {
            self.threads.get(&thread_key).map_or("", |it: &ScannedThread| it.group.as_str())
        };
        let threads = (group(last.thread_key).to_owned(), group(event.thread_key).to_owned());
        let class = event.object.0;
        let (Some(before), Some(after)) =
            (self.place(last.run, class, last.place), self.place(event.run, class, event.place))
        else {
            return;
        };
        let (places, at) = ((before.text.clone(), after.text.clone()), after.at);
        let Some((_, stats)) = self.scan.locks.get_mut(at) else { return };
        stats.near_misses += 1;
        stats.gaps.record(gap_ns);
        stats.shortest_ns = Some(stats.shortest_ns.map_or(gap_ns, |known| known.min(gap_ns)));
        *stats.threads.entry(threads).or_default() += 1;
        *stats.places.entry(places).or_default() += 1;
        let history = self.histories.entry(event.object).or_default();
        stats.instances += u64::from(!history.had_near_miss);
        history.had_near_miss = true;
    }

    fn place(&self, run: u32, class: u32, place: u32) -> Option<&TakingPlace> {
        self.places.get(&(run, class, place))?.as_ref()
    }

    /// Finds out what a place is, once.
    fn look_up(&mut self, run: u32, class: u32, place: u32) {
        let ScanInput { logs, filter, .. } = self.asked;
        let (known, scan) = (&self.known, &mut self.scan);
        self.places.entry((run, class, place)).or_insert_with(|| {
            let (class_run, class) = *known.class_ids.get(class as usize)?;
            let log = logs.get(run as usize)?;
            let own = log.definitions().places().get(place)?;
            let named = Names(logs.get(class_run as usize)?);
            let (locks, class) = (Locks::of(log), named.class(class));
            let (class_name, name) = locks.label_at(place, &class);
            let regex = filter.lock.as_ref();
            let wants_lock = regex.is_none_or(|regex| locks.matches_at(regex, place, &class));
            Some(TakingPlace {
                at: scan.at((class_name, name, own.kind.name())),
                text: Names(log).frame(own.method, own.line),
                kind: own.kind,
                wanted: wants_lock && filter.kinds.contains(own.kind),
            })
        });
    }

    /// Finds out what a thread is, once.
    fn look_up_thread(&mut self, thread_key: u32) {
        let ScanInput { logs, filter, .. } = self.asked;
        let known = &self.known;
        self.threads.entry(thread_key).or_insert_with(|| {
            let (run, thread) =
                known.thread_ids.get(thread_key as usize).copied().unwrap_or_default();
            let log = logs.get(run as usize);
            let name = log.map_or_else(String::new, |log| Names(log).thread(thread));
            let wanted = filter.thread.as_ref().is_none_or(|regex| regex.is_match(&name));
            ScannedThread { group: thread_group(&name), wanted }
        });
    }
}
