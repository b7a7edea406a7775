//! How long threads lived, and what they were at when the log ended.

use super::{
    Threads,
    axis::Clock,
    pass::{Job, Sums, Tally, is_idle},
};
use tyrion_converters::describe::Names;

/// Adds the lives of a log's threads, and the waits that had not ended.
pub(super) fn add(job: &Job<'_>, tallies: &[Tally], sums: &mut Sums, threads: &mut Threads) {
    let log = job.log;
    let clock = Clock::new(log, job.axis);
    let grid = job.axis.phases();
    let threads_of_log = log.definitions().threads().iter();
    // The one without a Java id stands for all virtual threads in trace mode.
    let known = threads_of_log.filter(|(id, thread)| thread.java_id != 0 && job.wants(*id));
    for (id, thread) in known {
        threads.count += 1;
        threads.is_virtual += u64::from(thread.is_virtual);
        let span = log.definitions().thread_span(id);
        let (from_ns, to_ns) = match (span, thread.is_virtual) {
            (Some(span), _) => {
                (span.started_ns, span.ended_ns.map_or(log.end_ns(), std::num::NonZeroU64::get))
            }
            (None, false) => (log.start_ns(), log.end_ns()),
            (None, true) => tallies.get(id as usize).map_or((0, 0), Tally::span),
        };
        threads.assumed += u64::from(span.is_none());
        // Another file of the recording tells of the time before and behind.
        let within = |at_ns: u64| clock.at(at_ns.clamp(log.start_ns(), log.end_ns()));
        let (from_ns, to_ns) = (within(from_ns), within(to_ns));
        threads.lived_ns = threads.lived_ns.saturating_add(to_ns.saturating_sub(from_ns));
        sums.lived.add_span(&grid, from_ns, to_ns);
    }
    for pending in log.pending().iter().filter(|pending| job.wants(pending.thread)) {
        let (from_ns, to_ns) = (clock.at(pending.start_ns), clock.at(log.end_ns()));
        let lock = job.filter.lock.as_ref();
        if is_idle(pending.kind) {
            sums.idle.add_span(&grid, from_ns, to_ns);
        } else if pending.kind.is_contention()
            && job.filter.kinds.contains(pending.kind)
            && lock.is_none_or(|regex| Names(log).lock_matches(regex, pending.lock))
        {
            sums.contended.add_span(&grid, from_ns, to_ns);
        }
    }
}
