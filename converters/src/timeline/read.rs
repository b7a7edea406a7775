//! Reads the items of chunks.

use super::{Axis, Hold, Item, Release, Source, Wait, Waker};
use crate::{aggregate::known_thread, filter::Window};
use rayon::prelude::*;
use std::collections::BTreeMap;
use tyrion_formats::{ChunkRef, Entry, Event, Events, Recording, TraceRecord, Traced, Woken};
use tyrion_wire::trace;

/// What reading needs of a timeline.
#[derive(Clone, Copy)]
pub(super) struct Readable<'t, 'a> {
    pub(super) source: &'t Source<'a>,
    pub(super) axis: &'t Axis,
    /// What the filter asks of single waits, by log.
    pub(super) windows: &'t [Window],
    /// The stack that is shown for each stack of the profile.
    pub(super) kept: &'t [u32],
    /// Whether the threads of each log are asked for, by their ids in the log.
    pub(super) wanted: &'t [Vec<bool>],
    /// When every hold was recorded, by log.
    pub(super) every_hold: &'t [Vec<Span>],
}

/// A span of time, in ns: from the first moment to the last one, both within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
}

impl Span {
    /// Whether a moment is within.
    #[inline]
    pub(super) fn holds(&self, at_ns: u64) -> bool {
        (self.from_ns..=self.to_ns).contains(&at_ns)
    }
}

/// Which items are to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Only waits of the threads of the profile from the first one to before the second
    /// one; of all if there are none.
    pub(super) threads: Option<(u32, u32)>,
    /// Holds and releases, too.
    pub(super) with_trace: bool,
}

impl Wanted {
    fn has(&self, item: &Item) -> bool {
        match (self.threads, item) {
            (Some((first, end)), Item::Wait(wait)) => (first..end).contains(&wait.thread),
            _ => true,
        }
    }
}

/// How many items there are, and when they were.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    count: u64,
    first_ns: u64,
    last_ns: u64,
}

impl Extent {
    fn add(&mut self, at_ns: u64) {
        let is_first = self.count == 0;
        self.first_ns = if is_first { at_ns } else { self.first_ns.min(at_ns) };
        self.last_ns = self.last_ns.max(at_ns);
        self.count += 1;
    }

    fn overlaps(&self, span: &Span) -> bool {
        self.count != 0 && self.first_ns <= span.to_ns && span.from_ns <= self.last_ns
    }
}

/// A chunk that has items.
struct Chunk<'a> {
    run: u32,
    chunk: &'a ChunkRef,
    /// The thread whose waits it has; `None` if several have.
    thread: Option<u32>,
    waits: Extent,
    trace: Extent,
}

impl Chunk<'_> {
    fn extents(&self, wanted: Wanted) -> impl Iterator<Item = Extent> + use<> {
        let trace = wanted.with_trace.then_some(self.trace);
        std::iter::once(self.waits).chain(trace).filter(|extent| extent.count != 0)
    }

    fn may_have(&self, wanted: Wanted, span: &Span) -> bool {
        let has_thread = match (wanted.threads, self.thread) {
            (Some((first, end)), Some(thread)) => (first..end).contains(&thread),
            _ => true,
        };
        has_thread && self.extents(wanted).any(|extent| extent.overlaps(span))
    }
}

/// The chunks that have items, in the order of the logs.
#[derive(Default)]
pub(super) struct Chunks<'a> {
    chunks: Vec<Chunk<'a>>,
    /// How many waits each thread of the profile has.
    waits: Vec<u64>,
}

impl<'a> Chunks<'a> {
    /// Goes over all chunks once. Those that are damaged are left out.
    pub(super) fn of(readable: &Readable<'_, 'a>) -> Chunks<'a> {
        let logs: &'a [Recording] = readable.source.logs;
        let runs = (0u32..).zip(logs);
        let all: Vec<(u32, &'a ChunkRef)> = runs
            .flat_map(|(run, log)| log.event_chunks().iter().map(move |chunk| (run, chunk)))
            .collect();
        let surveyed: Vec<Option<(Chunk<'a>, BTreeMap<u32, u64>)>> =
            all.par_iter().map(|&(run, chunk)| survey(readable, run, chunk)).collect();
        let mut waits = vec![0; readable.source.profile.threads.len()];
        let mut chunks = Vec::new();
        for (chunk, by_thread) in surveyed.into_iter().flatten() {
            for (thread, count) in by_thread {
                if let Some(sum) = waits.get_mut(thread as usize) {
                    *sum += count;
                }
            }
            chunks.push(chunk);
        }
        Chunks { chunks, waits }
    }

    /// The first moment of a wait, if there is one.
    pub(super) fn first_ns(&self) -> Option<u64> {
        let waits = self.chunks.iter().map(|chunk| chunk.waits);
        waits.filter(|extent| extent.count != 0).map(|extent| extent.first_ns).min()
    }

    /// How many waits a thread of the profile has.
    pub(super) fn waits_of(&self, thread: u32) -> u64 {
        self.waits.get(thread as usize).copied().unwrap_or(0)
    }

    /// How many items there are, and from when to when; `None` if there are none. Where
    /// threads are chosen, the span may be longer.
    pub(super) fn extent(&self, wanted: Wanted) -> Option<(u64, Span)> {
        let whole = Span { from_ns: 0, to_ns: u64::MAX };
        let chosen = self.chunks.iter().filter(|chunk| chunk.may_have(wanted, &whole));
        let all = chosen.flat_map(|chunk| chunk.extents(wanted)).reduce(|a, b| Extent {
            count: a.count.saturating_add(b.count),
            first_ns: a.first_ns.min(b.first_ns),
            last_ns: a.last_ns.max(b.last_ns),
        })?;
        let count = match wanted.threads {
            None => all.count,
            Some((first, end)) => (first..end).map(|thread| self.waits_of(thread)).sum(),
        };
        Some((count, Span { from_ns: all.first_ns, to_ns: all.last_ns }))
    }

    /// Does something with all items of a span, chunk by chunk, in parallel: the results
    /// in the order of the chunks.
    fn each<T: Send>(
        &self,
        readable: &Readable<'_, '_>,
        (wanted, span): (Wanted, &Span),
        body: impl Fn(&mut dyn FnMut(&mut dyn FnMut(Item))) -> T + Sync,
    ) -> Vec<T> {
        let chosen: Vec<&Chunk<'_>> =
            self.chunks.iter().filter(|chunk| chunk.may_have(wanted, span)).collect();
        let of_chunk = |chunk: &&Chunk<'_>| {
            body(&mut |take: &mut dyn FnMut(Item)| {
                let Some(log) = readable.source.logs.get(chunk.run as usize) else { return };
                let mut events = log.events_again(chunk.chunk);
                readable.visit(chunk.run, &mut events, wanted.with_trace, &mut |item| {
                    if span.holds(item.at_ns()) && wanted.has(&item) {
                        take(item);
                    }
                });
            })
        };
        chosen.par_iter().map(of_chunk).collect()
    }
}

/// What there is in a chunk, and how many waits of which thread; `None` if there is
/// nothing, or it is damaged.
fn survey<'a>(
    readable: &Readable<'_, 'a>,
    run: u32,
    chunk: &'a ChunkRef,
) -> Option<(Chunk<'a>, BTreeMap<u32, u64>)> {
    let log = readable.source.logs.get(run as usize)?;
    let mut events = log.events(chunk).ok()?;
    let (mut waits, mut trace) = (Extent::default(), Extent::default());
    let mut by_thread: BTreeMap<u32, u64> = BTreeMap::new();
    // Most chunks are of one thread: it is looked up once.
    let mut run_of: Option<(u32, u64)> = None;
    readable.visit(run, &mut events, true, &mut |item| match &item {
        Item::Wait(wait) => {
            waits.add(item.at_ns());
            match &mut run_of {
                Some((thread, count)) if *thread == wait.thread => *count += 1,
                other => {
                    if let Some((thread, count)) = other.replace((wait.thread, 1)) {
                        *by_thread.entry(thread).or_default() += count;
                    }
                }
            }
        }
        _ => trace.add(item.at_ns()),
    });
    if let Some((thread, count)) = run_of {
        *by_thread.entry(thread).or_default() += count;
    }
    if waits.count == 0 && trace.count == 0 {
        return None;
    }
    let only = by_thread.keys().next().copied().filter(|_| by_thread.len() == 1);
    Some((Chunk { run, chunk, thread: only, waits, trace }, by_thread))
}

/// The items of a span, in their order.
pub(super) fn collect(
    readable: &Readable<'_, '_>,
    chunks: &Chunks<'_>,
    wanted: Wanted,
    span: &Span,
) -> Vec<Item> {
    let pieces = chunks.each(readable, (wanted, span), |visit| {
        let mut items = Vec::new();
        visit(&mut |item| items.push(item));
        items
    });
    let mut items = joined(pieces);
    // Equal ones stay in the order of the log, so that it is always the same.
    items.par_sort_by_key(Item::order);
    items
}

/// How many items of a span are in each of its steps of so many ns.
pub(super) fn counts(
    readable: &Readable<'_, '_>,
    chunks: &Chunks<'_>,
    (wanted, span, step_ns): (Wanted, &Span, u64),
    steps: usize,
) -> Vec<u64> {
    let pieces = chunks.each(readable, (wanted, span), |visit| {
        let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
        visit(&mut |item| {
            let step = (item.at_ns() - span.from_ns) / step_ns.max(1);
            *counts.entry(step as usize).or_default() += 1;
        });
        counts
    });
    let mut counts = vec![0u64; steps];
    for (step, count) in pieces.into_iter().flatten() {
        if let Some(sum) = counts.get_mut(step) {
            *sum += count;
        }
    }
    counts
}

fn joined<T>(pieces: Vec<Vec<T>>) -> Vec<T> {
    let mut joined = Vec::with_capacity(pieces.iter().map(Vec::len).sum());
    pieces.into_iter().for_each(|mut piece| joined.append(&mut piece));
    joined
}

impl Readable<'_, '_> {
    /// Hands over the items of a chunk that the filter asks for.
    fn visit(
        &self,
        run: u32,
        events: &mut Events<'_>,
        with_trace: bool,
        take: &mut dyn FnMut(Item),
    ) {
        let of_run = run as usize;
        let Some(window) = self.windows.get(of_run) else { return };
        // Who ended a wait is told behind it.
        let mut last: Option<Wait> = None;
        events.visit_all(|entry| {
            if let Entry::Wake(woken) = &entry {
                if let Some(wait) = &mut last {
                    self.set_waker(wait, woken);
                }
                return;
            }
            if let Some(wait) = last.take() {
                take(Item::Wait(wait));
            }
            match &entry {
                Entry::Wait(event) if window.takes(event) => last = self.wait(run, event),
                Entry::Traced(traced) if with_trace => {
                    if let Some(item) = self.traced(run, traced, window) {
                        take(item);
                    }
                }
                _ => {}
            }
        });
        if let Some(wait) = last {
            take(Item::Wait(wait));
        }
    }

    /// The wait, if the profile has it.
    fn wait(&self, run: u32, event: &Event) -> Option<Wait> {
        let log = self.source.logs.get(run as usize)?;
        let ids = self.source.ids.get(run as usize)?;
        let (stack, lock, kind) = ids.site(event.site)?;
        let thread_id = known_thread(log, event.thread);
        Some(Wait {
            run,
            thread: ids.thread(thread_id)?,
            thread_id,
            start_ns: self.axis.at(run, event.start_ns),
            end_ns: self.axis.at(run, event.end_ns),
            wait_ns: event.wait_ns(),
            stack: self.kept.get(stack as usize).copied().unwrap_or(stack),
            lock,
            kind,
            site: event.site,
            outcome: event.outcome,
            owner: known_thread(log, event.owner),
            parks: event.parks,
            waker: None,
        })
    }

    fn set_waker(&self, wait: &mut Wait, woken: &Woken) {
        let Some(log) = self.source.logs.get(wait.run as usize) else { return };
        if woken.wake.site == wait.site && known_thread(log, woken.thread) == wait.thread_id {
            let at_ns = self.axis.at(wait.run, woken.at_ns());
            wait.waker = Some(Waker {
                thread_id: known_thread(log, woken.wake.waker),
                stack_id: woken.wake.stack,
                at_ns: at_ns.min(wait.end_ns).max(wait.start_ns),
            });
        }
    }

    fn traced(&self, run: u32, traced: &Traced<'_>, window: &Window) -> Option<Item> {
        match &traced.record {
            TraceRecord::Hold(hold) => self.hold(run, traced, hold, window).map(Item::Hold),
            TraceRecord::Blame(blame) => self.release(run, traced, blame).map(Item::Release),
            _ => None,
        }
    }

    /// The hold, if it has a time of its own and the filter does not leave it out; its
    /// lock is not looked at.
    fn hold(
        &self,
        run: u32,
        traced: &Traced<'_>,
        hold: &trace::Hold,
        window: &Window,
    ) -> Option<Hold> {
        let log = self.source.logs.get(run as usize)?;
        let thread_id = known_thread(log, traced.thread);
        let is_wanted = self.wanted.get(run as usize)?.get(thread_id as usize) == Some(&true);
        let mut every = self.every_hold.get(run as usize)?.iter();
        // One that ended earlier than the record before it has no time since then.
        let is_timed = hold.delta_ns != 0 && every.any(|span| span.holds(traced.at_ns));
        if !is_wanted || !is_timed || window.min_wait_ns > 0 || !window.holds(traced.at_ns) {
            return None;
        }
        Some(Hold {
            run,
            thread_id,
            start_ns: self.axis.at(run, traced.at_ns.saturating_sub(hold.hold_ns)),
            end_ns: self.axis.at(run, traced.at_ns),
            place: hold.place,
            class: hold.class,
            hash: hold.hash,
        })
    }

    /// The release, if the profile has waits of that thread and site.
    fn release(&self, run: u32, traced: &Traced<'_>, blame: &trace::Blame) -> Option<Release> {
        let log = self.source.logs.get(run as usize)?;
        let ids = self.source.ids.get(run as usize)?;
        let waiter_id = known_thread(log, blame.waiter);
        ids.site(blame.site)?;
        ids.thread(waiter_id)?;
        Some(Release {
            run,
            at_ns: self.axis.at(run, traced.at_ns),
            thread_id: known_thread(log, traced.thread),
            waiter_id,
            site: blame.site,
            stack_id: blame.stack,
            place: blame.place,
        })
    }
}

/// When every hold of a log was recorded, in its own times.
pub(super) fn every_hold(log: &Recording) -> Vec<Span> {
    if !log.is_trace() {
        return Vec::new();
    }
    let first = log.facts().metadata("events").unwrap_or_default() == "all";
    let changes = log.option_changes().into_iter().filter(|change| change.key == "events");
    let mut spans = Vec::new();
    let mut since_ns = first.then_some(0);
    for change in changes {
        let is_all = change.value == "all";
        if let Some(from_ns) = since_ns.filter(|_| !is_all) {
            spans.push(Span { from_ns, to_ns: change.from_ns });
        }
        since_ns = if is_all { since_ns.or(Some(change.from_ns)) } else { None };
    }
    spans.extend(since_ns.map(|from_ns| Span { from_ns, to_ns: u64::MAX }));
    spans
}
