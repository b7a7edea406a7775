//! The chunks that have items, and what they have between two moments.

use super::{
    item::Item,
    read::{ItemFilter, Readable, Span},
};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use tyrion_formats::{ChunkRef, Recording};

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

    /// About how many are in a span that it overlaps.
    fn count_in(&self, span: &Span) -> u64 {
        let ns = |from_ns: u64, to_ns: u64| u128::from(to_ns - from_ns) + 1;
        let common = ns(self.first_ns.max(span.from_ns), self.last_ns.min(span.to_ns));
        let count = u128::from(self.count) * common / ns(self.first_ns, self.last_ns);
        u64::try_from(count).unwrap_or(self.count)
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
    samples: Extent,
}

impl Chunk<'_> {
    fn extents(&self, wanted: ItemFilter) -> impl Iterator<Item = Extent> + use<> {
        let trace = wanted.with_trace.then_some(self.trace);
        let samples = wanted.with_samples.then_some(self.samples);
        let all = std::iter::once(self.waits).chain(trace).chain(samples);
        all.filter(|extent| extent.count != 0)
    }

    fn may_have(&self, wanted: ItemFilter, span: &Span) -> bool {
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
    pub(super) fn extent(&self, wanted: ItemFilter) -> Option<(u64, Span)> {
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

    /// About how many items of a span are in each of its steps of so many ns, as if those of a
    /// chunk were spread evenly.
    pub(super) fn estimate(
        &self,
        (wanted, span, step_ns): (ItemFilter, &Span, u64),
        steps: usize,
    ) -> Vec<u64> {
        let step = |at_ns: u64| {
            let since_ns = at_ns.clamp(span.from_ns, span.to_ns) - span.from_ns;
            (since_ns / step_ns.max(1)) as usize
        };
        let mut counts = vec![0u64; steps];
        let chosen = self.chunks.iter().filter(|chunk| chunk.may_have(wanted, span));
        for extent in chosen.flat_map(|chunk| chunk.extents(wanted)) {
            if !extent.overlaps(span) {
                continue;
            }
            let (first, last) = (step(extent.first_ns), step(extent.last_ns));
            let share = extent.count_in(span).div_ceil((last - first) as u64 + 1);
            for count in counts.iter_mut().take(last + 1).skip(first) {
                *count += share;
            }
        }
        counts
    }

    /// How many items the chunks have that have some in a span: no more can be in it.
    pub(super) fn most_in(&self, wanted: ItemFilter, span: &Span) -> u64 {
        let chosen = self.chunks.iter().filter(|chunk| chunk.may_have(wanted, span));
        let counts = chosen.flat_map(|chunk| chunk.extents(wanted)).map(|extent| extent.count);
        counts.fold(0, u64::saturating_add)
    }

    /// Does something with all items of a span, chunk by chunk, in parallel: the results
    /// in the order of the chunks.
    fn each<T: Send>(
        &self,
        readable: &Readable<'_, '_>,
        (wanted, span): (ItemFilter, &Span),
        body: impl Fn(&mut dyn FnMut(&mut dyn FnMut(Item))) -> T + Sync,
    ) -> Vec<T> {
        let chosen: Vec<&Chunk<'_>> =
            self.chunks.iter().filter(|chunk| chunk.may_have(wanted, span)).collect();
        let of_chunk = |chunk: &&Chunk<'_>| {
            body(&mut |take: &mut dyn FnMut(Item)| {
                read(readable, chunk, wanted, &mut |item| {
                    if span.holds(item.at_ns()) {
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
    let (mut waits, mut trace, mut samples) = Default::default();
    let all = ItemFilter { threads: None, with_trace: true, with_samples: true };
    let mut by_thread: BTreeMap<u32, u64> = BTreeMap::new();
    // Most chunks are of one thread: it is looked up once.
    let mut run_of: Option<(u32, u64)> = None;
    readable.visit(run, &mut events, all, &mut |item| match &item {
        Item::Wait(wait) => {
            Extent::add(&mut waits, item.at_ns());
            match &mut run_of {
                Some((thread, count)) if *thread == wait.thread => *count += 1,
                other => {
                    if let Some((thread, count)) = other.replace((wait.thread, 1)) {
                        *by_thread.entry(thread).or_default() += count;
                    }
                }
            }
        }
        Item::Seen(_) => Extent::add(&mut samples, item.at_ns()),
        _ => Extent::add(&mut trace, item.at_ns()),
    });
    if let Some((thread, count)) = run_of {
        *by_thread.entry(thread).or_default() += count;
    }
    if waits.count == 0 && trace.count == 0 && samples.count == 0 {
        return None;
    }
    let only = by_thread.keys().next().copied().filter(|_| by_thread.len() == 1);
    Some((Chunk { run, chunk, thread: only, waits, trace, samples }, by_thread))
}

/// The items of a span, in their order.
pub(super) fn collect(
    readable: &Readable<'_, '_>,
    chunks: &Chunks<'_>,
    wanted: ItemFilter,
    span: &Span,
) -> Vec<Item> {
    let pieces = chunks.each(readable, (wanted, span), |visit| {
        let mut items = Vec::new();
        visit(&mut |item| items.push(item));
        items
    });
    sorted(pieces)
}

/// The items of pieces, in their order.
fn sorted(pieces: Vec<Vec<Item>>) -> Vec<Item> {
    let mut items = joined(pieces);
    // Equal ones stay in the order of the log, so that it is always the same.
    items.par_sort_by_key(Item::order);
    items
}

/// Items that were read with those of an earlier span, by the chunk's number: chunks are of longer
/// spans than those that are read at a time.
#[derive(Default)]
pub(super) struct Carried {
    later: HashMap<usize, Vec<Item>>,
}

/// As [`collect`], where spans are read one after the other. About so many items that come later
/// are `carried` to the next span; what is beyond is decoded once more.
pub(super) fn collect_on(
    readable: &Readable<'_, '_>,
    chunks: &Chunks<'_>,
    (wanted, span, most): (ItemFilter, &Span, usize),
    carried: &mut Carried,
) -> Vec<Item> {
    let mut chosen: Vec<(usize, Option<Vec<Item>>)> = Vec::new();
    for (nth, chunk) in chunks.chunks.iter().enumerate() {
        if chunk.may_have(wanted, span) {
            chosen.push((nth, carried.later.remove(&nth)));
        }
    }
    let share = most / chosen.len().max(1);
    let of_chunk = |(nth, known): (usize, Option<Vec<Item>>)| {
        let mut now = Vec::new();
        let mut later = Some(Vec::new());
        let mut take = |item: Item| {
            if item.at_ns() <= span.to_ns {
                now.push(item);
            } else if let Some(kept) = &mut later {
                kept.push(item);
                if kept.len() > share {
                    later = None;
                }
            }
        };
        match (known, chunks.chunks.get(nth)) {
            (Some(known), _) => known.into_iter().for_each(take),
            (None, Some(chunk)) => read(readable, chunk, wanted, &mut |item| {
                if item.at_ns() >= span.from_ns {
                    take(item);
                }
            }),
            (None, None) => {}
        }
        (nth, now, later)
    };
    let read: Vec<(usize, Vec<Item>, Option<Vec<Item>>)> =
        chosen.into_par_iter().map(of_chunk).collect();
    let mut pieces = Vec::with_capacity(read.len());
    for (nth, now, later) in read {
        pieces.push(now);
        if let Some(later) = later {
            carried.later.insert(nth, later);
        }
    }
    sorted(pieces)
}

/// Hands over the items of a chunk that are wanted.
fn read(
    readable: &Readable<'_, '_>,
    chunk: &Chunk<'_>,
    wanted: ItemFilter,
    take: &mut dyn FnMut(Item),
) {
    let Some(log) = readable.source.logs.get(chunk.run as usize) else { return };
    let mut events = log.events_again(chunk.chunk);
    readable.visit(chunk.run, &mut events, wanted, &mut |item| {
        if wanted.has(&item) {
            take(item);
        }
    });
}

/// How many items of a span are in each of its steps of so many ns.
pub(super) fn counts(
    readable: &Readable<'_, '_>,
    chunks: &Chunks<'_>,
    (wanted, span, step_ns): (ItemFilter, &Span, u64),
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
