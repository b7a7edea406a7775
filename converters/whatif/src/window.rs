//! Which part of a recording is replayed: all of it, or the end of a long one.

use rayon::prelude::*;
use std::ops::Range;
use tyrion_formats::{ChunkRef, Entry, Note, Recording};

/// If there are more holds and waits than this, only the last ones are replayed.
pub(crate) const MOST_EVENTS: u64 = 400_000;
/// The number of parts into which time is divided to find where these begin.
const PARTS: u64 = 2_048;
/// The largest gap between two successive files of a recording.
const SEAM_NS: u64 = 100_000_000;
/// A hold has at least three bytes.
const LEAST_BYTES: u64 = 3;

/// The chunks of events of all logs, each with the number of its log.
pub(crate) fn chunks(logs: &[Recording]) -> Vec<(usize, &ChunkRef)> {
    let chunks = logs.iter().enumerate();
    chunks.flat_map(|(run, log)| log.event_chunks().iter().map(move |chunk| (run, chunk))).collect()
}

/// When waits were recorded, monotonic ns, in the order of time, without pauses and without
/// what follows the last record of all: nobody knows whether the program still worked then.
pub(crate) fn worked(logs: &[Recording], last_ns: u64) -> Vec<Range<u64>> {
    let mut parts: Vec<Range<u64>> = logs.iter().flat_map(Recording::recorded_waits).collect();
    parts.iter_mut().for_each(|part| part.end = part.end.min(last_ns));
    parts.retain(|part| part.start < part.end);
    parts.sort_unstable_by_key(|part| (part.start, part.end));
    parts
}

/// How long these times are together, in ns.
pub(crate) fn length_ns(times: &[Range<u64>]) -> u64 {
    times.iter().map(|time| time.end - time.start).fold(0, u64::saturating_add)
}

/// The longest of these times, monotonic ns, where those of successive files are one; `None`
/// if there are none.
fn longest(mut parts: Vec<Range<u64>>) -> Option<Range<u64>> {
    parts.sort_unstable_by_key(|part| (part.start, part.end));
    let mut joined: Vec<Range<u64>> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if part.start <= last.end.saturating_add(SEAM_NS) => {
                last.end = last.end.max(part.end);
            }
            _ => joined.push(part),
        }
    }
    // The first of equal ones.
    joined.into_iter().rev().max_by_key(|part| part.end - part.start)
}

/// The time that is replayed, monotonic ns, of those in which everything was recorded;
/// `None` if nothing can be.
pub(crate) fn choose(logs: &[Recording], recorded: Vec<Range<u64>>) -> Option<Range<u64>> {
    let whole = longest(recorded).filter(|whole| !whole.is_empty())?;
    let chunks = chunks(logs);
    let bytes: u64 = chunks.iter().map(|(_, chunk)| u64::from(chunk.committed)).sum();
    if bytes / LEAST_BYTES <= MOST_EVENTS {
        return Some(whole);
    }
    let part_ns = ((whole.end - whole.start) / PARTS).max(1);
    let counts = chunks.par_iter().map(|(run, chunk)| count(&logs[*run], chunk, &whole, part_ns));
    let counts = counts.reduce(Vec::new, |mut sum, more| {
        sum.resize(sum.len().max(more.len()), 0u64);
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        sum
    });
    let (mut left, mut first) = (MOST_EVENTS, counts.len());
    while first > 0 && counts[first - 1] <= left {
        first -= 1;
        left -= counts[first];
    }
    // Everything happened at the same time: there is nothing to replay.
    let is_any = counts.get(first..).is_some_and(|rest| rest.iter().any(|&count| count != 0));
    is_any.then(|| whole.start + first as u64 * part_ns..whole.end)
}

/// How many holds and waits of a chunk end in each part of the time.
fn count(log: &Recording, chunk: &ChunkRef, whole: &Range<u64>, part_ns: u64) -> Vec<u64> {
    let mut counts = Vec::new();
    let Ok(mut events) = log.events(chunk) else { return counts };
    events.visit_all(|entry| {
        let at_ns = match entry {
            Entry::Wait(wait) => wait.end_ns,
            Entry::Note(traced) if matches!(traced.record, Note::Hold(_)) => traced.at_ns,
            _ => return,
        };
        if !whole.contains(&at_ns) {
            return;
        }
        let part = ((at_ns - whole.start) / part_ns) as usize;
        if part >= counts.len() {
            counts.resize(part + 1, 0);
        }
        counts[part] += 1;
    });
    counts
}
