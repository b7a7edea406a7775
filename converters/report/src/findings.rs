//! What the sections answer from.

pub mod axis;
mod busy;
mod chains;
mod collections;
mod delay;
mod facts;
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

pub use axis::Axis;
pub use busy::GroupTime;
pub use chains::{ChainStep, End as ChainEnd, WaitChain, WaitChains, WithheldChains};
pub use collections::Collected;
pub use delay::{Delay, Delays};
pub use facts::{LogFacts, processors};
pub use found::{Distributions, Findings, Phase, ThreadBlame, Threads, Timelines};
pub use groups::{LockGroups, LockRef, thread_group};
pub use histogram::Histogram;
pub use lives::{all_lives_ns, life};
pub use other_waits::{OtherWaits, PlaceWaits, PlaceWaker};
pub use owners::OwnedWait;
pub use sampled::SampledInterval;
pub use snapshots::{SnapshotRow, Snapshots};

use crate::options::ReportOptions;
use trace::{Collecting, Recorded};
use tyrion_formats::Recording;
use tyrion_model::{
    aggregate::{aggregate_judging, work_bytes as profile_bytes},
    filter::Filter,
};

/// How many bytes [`find`] will report to its `progress` in the end.
pub fn work_bytes(logs: &[Recording]) -> u64 {
    let chunks = logs.iter().flat_map(|log| log.event_chunks().iter().chain(log.cell_chunks()));
    profile_bytes(logs) + chunks.map(|chunk| u64::from(chunk.committed)).sum::<u64>()
}

/// Reads logs, on all workers of the current rayon pool: once for the profile, for nesting
/// and instances, and to judge the waits that are not for a lock, and then, when the hot locks are known, once more for
/// what a profile does not keep. From `options` it takes
/// the number of rows and the length of a phase. `progress` is called from any worker
/// with the number of further bytes that have been read.
pub fn find<'a>(
    logs: &'a [Recording],
    filter: &'a Filter,
    options: &ReportOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Findings<'a> {
    let besides: Vec<Option<Collecting<'_>>> = logs.iter().map(Collecting::of).collect();
    let (aggregate, judged) = aggregate_judging(logs, filter, &besides, progress);
    let recorded = Recorded::of(besides);
    let others = OtherWaits::find(logs, filter, judged);
    second::find(logs, filter, options, (aggregate, others, recorded), progress)
}
