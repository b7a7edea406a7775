//! How long threads lived, and what they were at when the log ended.

use super::{
    axis::Clock,
    busy::{GroupTimes, SpentTime},
    found::Threads,
    pass::{Job, Sums, ThreadTally, Use, is_jvms},
    ranks::BANDS,
    spans::within_parts,
};
use std::collections::{HashMap, HashSet};
use tyrion_formats::Recording;
use tyrion_model::describe::Names;
pub use tyrion_model::lives::life;

/// Threads by recording and Java id: a recording's files have the same ones.
pub(super) type KnownThreads = HashSet<(u32, u64)>;

/// What is known of threads.
pub(super) struct ThreadLives<'l> {
    pub(super) threads: &'l mut Threads,
    pub(super) times: &'l mut GroupTimes,
    /// Those that files before have told of.
    pub(super) known: &'l mut KnownThreads,
}

/// Adds the lives of a log's threads, and the waits that had not ended. The log
/// is of this recording.
pub(super) fn add(
    job: &Job<'_>,
    tallies: &[ThreadTally],
    sums: &mut Sums,
    recording: u32,
    ThreadLives { threads, times, known }: ThreadLives<'_>,
) {
    let pending = add_pending(job, sums, threads);
    let log = job.log;
    let clock = Clock::new(log, job.axis);
    let recorded = log.recorded_waits();
    let threads_of_log = log.definitions().threads().iter();
    // The one without a Java id stands for all virtual threads in trace mode.
    let living = threads_of_log
        .filter(|(id, thread)| thread.java_id != 0 && !is_jvms(log, thread) && job.wants(*id));
    for (id, thread) in living {
        if known.insert((recording, thread.java_id)) {
            threads.count += 1;
            threads.is_virtual += u64::from(thread.is_virtual);
            threads.assumed += u64::from(log.definitions().thread_span(id).is_none());
        }
        // Virtual ones of which the log does not tell: from first wait to last.
        let (from_ns, to_ns) = life(log, id, thread).unwrap_or_else(|| {
            let (from_ns, to_ns) = tallies.get(id as usize).map_or((0, 0), ThreadTally::span);
            (within(log, from_ns), within(log, to_ns))
        });
        let mut lived_ns = 0u64;
        for (from_ns, to_ns) in within_parts(&recorded, (from_ns, to_ns)) {
            let (from_ns, to_ns) = (clock.at(from_ns), clock.at(to_ns));
            lived_ns = lived_ns.saturating_add(to_ns.saturating_sub(from_ns));
            sums.used.add_span(Use::Lived, from_ns, to_ns);
        }
        threads.lived_ns = threads.lived_ns.saturating_add(lived_ns);
        let mut spent = tallies.get(id as usize).map_or(SpentTime::default(), ThreadTally::spent);
        spent += pending.get(&id).copied().unwrap_or_default();
        times.add(&Names(log).thread(id), lived_ns, spent);
    }
}

/// Adds the waits that had not ended: what they took of each thread's time.
fn add_pending(job: &Job<'_>, sums: &mut Sums, threads: &mut Threads) -> HashMap<u32, SpentTime> {
    let log = job.log;
    let clock = Clock::new(log, job.axis);
    let recorded = log.recorded_waits();
    let mut of_threads: HashMap<u32, SpentTime> = HashMap::new();
    for pending in log.pending().iter().filter(|pending| job.wants(pending.thread)) {
        // It may have begun in an earlier file.
        let before =
            (pending.start_ns < log.start_ns()).then(|| (pending.start_ns, log.start_ns()));
        let spans = before
            .into_iter()
            .chain(within_parts(&recorded, (pending.start_ns, log.end_ns())))
            .map(|(from_ns, to_ns)| (clock.at(from_ns), clock.at(to_ns)));
        let lock = job.filter.lock.as_ref();
        let thread = log.definitions().threads().get(pending.thread);
        if thread.is_some_and(|thread| is_jvms(log, thread)) {
            continue;
        }
        let spent = of_threads.entry(pending.thread).or_default();
        if job.is_idle(pending) {
            let is_withheld = job.is_withheld(pending.kind, pending.stack, pending.lock);
            for (from_ns, to_ns) in spans {
                sums.used.add_span(Use::Idle, from_ns, to_ns);
                if is_withheld {
                    sums.used.add_span(Use::Withheld, from_ns, to_ns);
                }
                *spent += SpentTime { idle_ns: to_ns.saturating_sub(from_ns), contended_ns: 0 };
            }
        } else if pending.kind.is_contention()
            && job.filter.kinds.contains(pending.kind)
            && lock.is_none_or(|regex| Names(log).lock_matches(regex, pending.lock))
        {
            let lock = job.ids.lock(pending.lock).map(|lock| job.groups.of(lock));
            let band = lock.map_or(BANDS as u8 - 1, |group| job.ranks.band(group));
            let mut all_ns = 0u64;
            for (from_ns, to_ns) in spans {
                let waited_ns = to_ns.saturating_sub(from_ns);
                all_ns = all_ns.saturating_add(waited_ns);
                sums.used.add_span(Use::Contended(band), from_ns, to_ns);
            }
            // Not one that began after what is looked at.
            threads.pending += u64::from(all_ns != 0);
            threads.pending_ns = threads.pending_ns.saturating_add(all_ns);
            *spent += SpentTime { idle_ns: 0, contended_ns: all_ns };
        }
    }
    of_threads
}

fn within(log: &Recording, at_ns: u64) -> u64 {
    at_ns.clamp(log.start_ns(), log.end_ns())
}

/// How long all threads of the logs lived while recording was on, added up, in
/// ns, whatever the filter. Virtual ones of which the log does not tell count
/// nothing.
pub fn all_lives_ns(logs: &[Recording]) -> u64 {
    let mut sum_ns: u64 = 0;
    for log in logs {
        let recorded = log.recorded_waits();
        for (id, thread) in log.definitions().threads().iter() {
            if thread.java_id == 0 || is_jvms(log, thread) {
                continue;
            }
            let Some(life) = life(log, id, thread) else { continue };
            for (from_ns, to_ns) in within_parts(&recorded, life) {
                sum_ns = sum_ns.saturating_add(to_ns - from_ns);
            }
        }
    }
    sum_ns
}
