//! What the sections answer from.

pub mod axis;
mod busy;
mod chains;
mod collections;
mod delay;
mod facts;
mod for_work;
mod found;
pub mod groups;
pub mod histogram;
mod lives;
pub mod names;
pub(crate) mod near_misses;
mod other_waits;
mod owners;
mod pass;
mod pauses;
mod pools;
pub mod program;
mod ranks;
mod sampled;
mod second;
pub mod short_names;
pub mod snapshots;
mod spans;
#[cfg(test)]
pub(crate) mod tests;
pub mod trace;
mod unmounted;

pub use axis::Axis;
pub use busy::GroupTime;
pub use chains::{ChainStep, End as ChainEnd, WaitChain, WaitChains, WithheldChains};
pub use collections::CollectorTime;
pub use delay::{Delay, Delays};
pub use facts::{LogFacts, processors};
pub use for_work::ForWork;
pub use found::{Distributions, Findings, Phase, ThreadBlame, Threads, TimeOverRun, Timelines};
pub use groups::{LockGroups, LockRef, numberless, thread_group};
pub use histogram::Histogram;
pub use lives::{all_lives_ns, life};
pub use other_waits::{OtherWaits, PlaceWaits, PlaceWaker};
pub use owners::OwnedWait;
pub use pools::Pool;
pub use program::ProgramCode;
pub use sampled::SampledInterval;
pub use snapshots::{SnapshotRow, Snapshots};

use crate::options::ReportOptions;
use trace::{TraceFindings, TraceQuestion};
use tyrion_formats::Recording;
use tyrion_model::{
    aggregate::{aggregate_judging, work_bytes as profile_bytes},
    filter::Filter,
};
use tyrion_whatif::{Evidence, LogSurvey, Survey};

/// How many bytes [`find`] will report to its `progress` in the end.
pub fn work_bytes(logs: &[Recording]) -> u64 {
    let chunks = logs.iter().flat_map(|log| log.event_chunks().iter().chain(log.cell_chunks()));
    profile_bytes(logs) + chunks.map(|chunk| u64::from(chunk.committed)).sum::<u64>()
}

/// Reads logs, on all workers of the current rayon pool: once for the profile, for nesting
/// and instances, for predictions, and to judge the waits that are not for a lock, and then,
/// when the hot locks are known, once more for what a profile does not keep. From `options` it
/// takes the number of rows, the length of a phase, and what takes time. `progress` is called
/// from any worker with the number of further bytes that have been read.
pub fn find<'a>(
    logs: &'a [Recording],
    filter: &'a Filter,
    options: &ReportOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Findings<'a> {
    let predicts = options.what_if && Evidence::check_logs(logs).is_ok();
    let besides = logs.iter().map(|log| {
        let both = (TraceQuestion::of(log), predicts.then(|| Survey::new(log)));
        (both.0.is_some() || both.1.is_some()).then_some(both)
    });
    let besides: Vec<Option<(Option<TraceQuestion<'_>>, Option<Survey<'_>>)>> = besides.collect();
    let (aggregate, judged) = aggregate_judging(logs, filter, &besides, progress);
    let (collecting, surveys): (Vec<_>, Vec<_>) =
        besides.into_iter().map(Option::unwrap_or_default).unzip();
    let recorded = TraceFindings::of(collecting);
    let surveys: Option<Vec<LogSurvey>> =
        surveys.into_iter().map(|survey| survey.map(Survey::finish)).collect();
    let others = OtherWaits::find(logs, filter, judged);
    let first =
        second::FirstPass { aggregate, others, recorded, surveys: surveys.filter(|_| predicts) };
    second::find(logs, filter, options, first, progress)
}
