//! Which part of a recording is replayed: all of it, or the end of a long one.

use crate::survey::{ChunkSpan, LogSurvey};
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

/// The chunks of all logs that may have records of a time, each with the number of its log.
pub(crate) fn chunks<'s>(
    surveys: &'s [LogSurvey],
    time: &Range<u64>,
) -> Vec<(usize, &'s ChunkSpan)> {
    let all = surveys.iter().enumerate();
    let all = all.flat_map(|(run, survey)| survey.chunks.iter().map(move |span| (run, span)));
    all.filter(|(_, span)| span.chunk.first_ns < time.end && span.last_ns >= time.start).collect()
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
pub(crate) fn choose(
    logs: &[Recording],
    surveys: &[LogSurvey],
    recorded: Vec<Range<u64>>,
) -> Option<Range<u64>> {
    let whole = longest(recorded).filter(|whole| !whole.is_empty())?;
    let all = logs.iter().flat_map(Recording::event_chunks);
    let bytes: u64 = all.map(|chunk| u64::from(chunk.committed)).sum();
    if bytes / LEAST_BYTES <= MOST_EVENTS {
        return Some(whole);
    }
    let part_ns = ((whole.end - whole.start) / PARTS).max(1);
    let counted = counted(surveys, &whole, part_ns);
    let counts = chunks(surveys, &counted)
        .into_par_iter()
        .map(|(run, span)| count(&logs[run], &span.chunk, &whole, part_ns));
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

/// The end of a time, which begins with one of its parts, and of which it is known that it has
/// too many holds and waits, from chunks that are within it; all of the time if that is not
/// known. So parts before it need not be counted, and their chunks not be decoded.
fn counted(surveys: &[LogSurvey], whole: &Range<u64>, part_ns: u64) -> Range<u64> {
    let is_within =
        |span: &ChunkSpan| span.chunk.first_ns >= whole.start && span.last_ns < whole.end;
    let mut within: Vec<(u64, u64)> = chunks(surveys, whole)
        .into_iter()
        .filter(|(_, span)| is_within(span))
        .map(|(_, span)| (span.chunk.first_ns, span.ends))
        .collect();
    within.par_sort_unstable();
    let mut ends = 0u64;
    let first = within.into_iter().rev().find(|(_, more)| {
        ends = ends.saturating_add(*more);
        ends > MOST_EVENTS
    });
    let before_ns = first.map_or(0, |(first_ns, _)| first_ns - whole.start);
    whole.start + before_ns / part_ns * part_ns..whole.end
}

/// How many holds and waits of a chunk end in each part of the time.
fn count(log: &Recording, chunk: &ChunkRef, whole: &Range<u64>, part_ns: u64) -> Vec<u64> {
    let mut counts = Vec::new();
    log.events_again(chunk).visit_all(|entry| {
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

#[cfg(test)]
mod tests {
    use super::*;
    use tyrion_formats::ChunkRef;

    fn span(first_ns: u64, last_ns: u64, ends: u64) -> ChunkSpan {
        let chunk = ChunkRef {
            offset: 0,
            first_ns,
            len: 0,
            committed: 0,
            sequence: 0,
            lane: 0,
            thread: 0,
            checksum: 0,
            sealed: true,
            whole: true,
            in_bursts: false,
        };
        ChunkSpan { chunk, last_ns, ends }
    }

    #[test]
    fn no_more_is_counted_than_the_end_that_has_too_much() {
        let chunks = |list: &[(u64, u64, u64)]| {
            let chunks = list.iter().map(|&(first, last, ends)| span(first, last, ends)).collect();
            [LogSurvey { chunks, ..LogSurvey::default() }]
        };
        let most = MOST_EVENTS;
        let surveys = chunks(&[(100, 190, most), (205, 300, 1), (233, 320, most), (340, 399, 1)]);
        assert_eq!(counted(&surveys, &(100..400), 10), 230..400, "from the part that it begins in");
        // It would reach beyond the time, so it does not count as a whole.
        assert_eq!(counted(&surveys, &(100..390), 10), 200..390);
        assert_eq!(counted(&surveys, &(210..330), 10), 210..330, "it is all that there is");
        let counted: Vec<u64> =
            super::chunks(&surveys, &(195..310)).iter().map(|it| it.1.chunk.first_ns).collect();
        assert_eq!(counted, [205, 233]);
    }
}
