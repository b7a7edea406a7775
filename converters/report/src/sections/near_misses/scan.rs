//! Goes through all holds in the order of time.

use super::{
    known::{Event, Known, Object, Read, SHARDS},
    timeline::{SPAN_BYTES, Spans},
};
use crate::{
    Findings,
    findings::{Histogram, thread_group, trace::recordings},
};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use tyrion_formats::{HoldMode, Recording};
use tyrion_model::{describe::Names, identity::Locks};
use tyrion_wire::WaitKind;

/// Class, name and kind of locks.
pub(super) type Key = (String, String, &'static str);

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// By lock and kind, those that are taken by one thread only left out; in
    /// no order.
    pub(super) locks: Vec<(Key, Stats)>,
    /// Where each is in that list.
    index: HashMap<Key, usize>,
    /// Waits too short for a record of their own, by lock and kind.
    pub(super) folded: HashMap<Key, u64>,
    /// Holds of objects that are not told apart.
    pub(super) unidentified: u64,
    /// Holds without a time of their own.
    pub(super) untimed: u64,
}

/// The entries into some locks.
#[derive(Debug, Default)]
pub(super) struct Stats {
    pub(super) entries: u64,
    pub(super) near_misses: u64,
    pub(super) contended: u64,
    pub(super) instances: u64,
    pub(super) shortest_ns: Option<u64>,
    pub(super) gaps: Histogram,
    /// By the groups of the thread that left and the one that came.
    pub(super) threads: BTreeMap<(String, String), u64>,
    /// By the places where both took the lock.
    pub(super) places: BTreeMap<(String, String), u64>,
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

/// Goes through the logs that have a record of each hold; `None` if there are
/// none.
pub(super) fn scan(findings: &Findings<'_>, near_ns: u64) -> Option<Scan> {
    scan_in_spans(findings, near_ns, SPAN_BYTES)
}

/// The same, with so many bytes of chunks at a time.
pub(super) fn scan_in_spans(
    findings: &Findings<'_>,
    near_ns: u64,
    span_bytes: u64,
) -> Option<Scan> {
    let has_all = |log: &Recording| {
        log.is_trace() && log.has_every_event() && log.hold_mode() == HoldMode::All
    };
    let mut by_recording: BTreeMap<u32, Vec<(u32, &Recording)>> = BTreeMap::new();
    for ((run, log), recording) in (0u32..).zip(findings.logs).zip(recordings(findings.logs)) {
        if has_all(log) {
            by_recording.entry(recording).or_default().push((run, log));
        }
    }
    if by_recording.is_empty() {
        return None;
    }
    let mut scan = Scan::default();
    for logs in by_recording.values() {
        logs.iter().for_each(|(_, log)| scan.add_folded(log));
        let known = Known::new(&findings.trace, logs);
        let scanner = |_| Scanner::new(findings, &known, near_ns);
        let mut shards: Vec<Scanner<'_>> = (0..SHARDS).map(scanner).collect();
        for (start, end, pieces) in Spans::new(logs, span_bytes).iter() {
            let reads = pieces.par_iter().map(|piece| known.events((start, end), piece));
            let reads: Vec<Read> = reads.collect();
            for read in &reads {
                scan.unidentified += read.unidentified;
                scan.untimed += read.untimed;
            }
            shards.par_iter_mut().enumerate().for_each(|(shard, scanner)| {
                scanner.span(reads.iter().flat_map(|read| &read.events[shard]));
            });
        }
        shards.into_iter().for_each(|shard| scan.add(shard.scan));
    }
    Some(scan)
}

impl Scan {
    /// Where the entries into some locks are counted.
    fn at(&mut self, key: Key) -> usize {
        *self.index.entry(key).or_insert_with_key(|key| {
            self.locks.push((key.clone(), Stats::default()));
            self.locks.len() - 1
        })
    }

    /// Adds what was found of other lock objects.
    fn add(&mut self, other: Scan) {
        for (key, stats) in other.locks {
            let at = self.at(key);
            if let Some((_, sums)) = self.locks.get_mut(at) {
                sums.add(stats);
            }
        }
    }

    /// Counts the waits of a log that have no record of their own.
    fn add_folded(&mut self, log: &Recording) {
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
struct Place {
    /// Where its entries are counted, in [`Scan::locks`].
    at: usize,
    text: String,
    kind: WaitKind,
    wanted: bool,
}

/// A thread, the same way.
struct Thread {
    group: String,
    wanted: bool,
}

/// Goes through the holds of one recording, of one share of its lock objects.
struct Scanner<'a> {
    findings: &'a Findings<'a>,
    known: &'a Known,
    near_ns: u64,
    histories: HashMap<Object, LockHistory>,
    /// By log, class and place.
    places: HashMap<(u32, u32, u32), Option<Place>>,
    threads: HashMap<u32, Thread>,
    scan: Scan,
}

impl<'a> Scanner<'a> {
    fn new(findings: &'a Findings<'a>, known: &'a Known, near_ns: u64) -> Scanner<'a> {
        let (histories, places, threads, scan) = Default::default();
        Scanner { findings, known, near_ns, histories, places, threads, scan }
    }

    fn span<'e>(&mut self, events: impl Iterator<Item = &'e Event>) {
        let mut events: Vec<&Event> = events.collect();
        events.sort_unstable();
        events.into_iter().for_each(|event| self.event(event));
    }

    fn event(&mut self, event: &Event) {
        let history = self.histories.entry(event.object).or_default();
        let Some(hold_ns) = event.hold_ns else {
            if !history.waited.contains(&event.thread_key) {
                history.waited.push(event.thread_key);
            }
            return;
        };
        let waited = history.waited.iter().position(|thread_key| *thread_key == event.thread_key);
        waited.map(|at| history.waited.swap_remove(at));
        let Event { at_ns, thread_key, place, run, .. } = *event;
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
    fn counts(&mut self, event: &Event, entered_ns: u64, waited: bool) -> bool {
        self.look_up(event.run, event.object.0, event.place);
        self.look_up_thread(event.thread_key);
        let filter = self.findings.filter;
        let log = &self.findings.logs[event.run as usize];
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
    fn gap(&mut self, event: &Event, entered_ns: u64, last: &Exit) -> Option<u64> {
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
        Some(entered_ns.saturating_sub(last.at_ns)).filter(|&gap_ns| gap_ns <= self.near_ns)
    }

    fn near_miss(&mut self, event: &Event, last: &Exit, gap_ns: u64) {
        self.look_up_thread(last.thread_key);
        let group =
            |thread_key| self.threads.get(&thread_key).map_or("", |it: &Thread| it.group.as_str());
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

    fn place(&self, run: u32, class: u32, place: u32) -> Option<&Place> {
        self.places.get(&(run, class, place))?.as_ref()
    }

    /// Finds out what a place is, once.
    fn look_up(&mut self, run: u32, class: u32, place: u32) {
        let (findings, known, scan) = (self.findings, self.known, &mut self.scan);
        self.places.entry((run, class, place)).or_insert_with(|| {
            let (class_run, class) = *known.class_ids.get(class as usize)?;
            let log = findings.logs.get(run as usize)?;
            let own = log.definitions().places().get(place)?;
            let named = Names(findings.logs.get(class_run as usize)?);
            let filter = findings.filter;
            let (locks, class) = (Locks::of(log), named.class(class));
            let (class_name, name) = locks.label_at(place, &class);
            let regex = filter.lock.as_ref();
            let wants_lock = regex.is_none_or(|regex| locks.matches_at(regex, place, &class));
            Some(Place {
                at: scan.at((class_name, name, own.kind.name())),
                text: Names(log).frame(own.method, own.line),
                kind: own.kind,
                wanted: wants_lock && filter.kinds.contains(own.kind),
            })
        });
    }

    /// Finds out what a thread is, once.
    fn look_up_thread(&mut self, thread_key: u32) {
        let (findings, known) = (self.findings, self.known);
        self.threads.entry(thread_key).or_insert_with(|| {
            let (run, thread) =
                known.thread_ids.get(thread_key as usize).copied().unwrap_or_default();
            let log = findings.logs.get(run as usize);
            let name = log.map_or_else(String::new, |log| Names(log).thread(thread));
            let wanted = findings.filter.thread.as_ref().is_none_or(|regex| regex.is_match(&name));
            Thread { group: thread_group(&name), wanted }
        });
    }
}
