//! Which logs are of one recording, and how long its threads lived.

use std::{collections::HashMap, num::NonZeroU64};
use tyrion_formats::{Recording, ThreadDef};

/// Which logs are of one recording: for each log the number of the first one
/// of its recording. Identity hashes, ids of locks and `Thread.getId()` mean the
/// same in all files of a recording.
pub fn recordings(logs: &[Recording]) -> Vec<u32> {
    let mut first: HashMap<&str, u32> = HashMap::new();
    let numbers =
        logs.iter().zip(0u32..).map(|(log, run)| match log.facts().metadata("recording") {
            Some(recording) => *first.entry(recording).or_insert(run),
            None => run,
        });
    numbers.collect()
}

/// From when to when a thread lived, monotonic ns, as far as it is in its log:
/// another file of the recording tells of the time before and behind. That is
/// the whole log where it does not tell, and `None` for virtual threads of which
/// it does not.
pub fn life(log: &Recording, id: u32, thread: &ThreadDef) -> Option<(u64, u64)> {
    let (from_ns, to_ns) = match log.definitions().thread_span(id) {
        Some(span) => (span.started_ns, span.ended_ns.map_or(log.end_ns(), NonZeroU64::get)),
        None if thread.is_virtual => return None,
        None => (log.start_ns(), log.end_ns()),
    };
    let within = |at_ns: u64| at_ns.clamp(log.start_ns(), log.end_ns());
    Some((within(from_ns), within(to_ns)))
}
