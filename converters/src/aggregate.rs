//! From logs to a profile.
//!
//! The events of a log are cut into pieces of one thread each, so that a
//! worker adds waits into a dense vector with one place for each site. Pieces
//! are handed out to the workers of the current rayon pool. Sums are whole
//! numbers that never wrap, so neither the order of the pieces nor the number
//! of workers changes the result, and what is kept grows with the distinct
//! (thread, site), not with the events.

mod acquired;
mod build;
mod fold;
mod hash;
mod ids;
mod known;
mod notes;
mod pass;
mod resolve;
mod result;
mod sampled;
mod spread;
mod sums;
#[cfg(test)]
mod tests;
mod trace;

pub use crate::totals::{KindTotals, SampleTotals};
pub use ids::LogIds;
pub use notes::{Lost, Notes};
pub use result::Aggregate;

use crate::{filter::Filter, states::StateReader};
use build::Builder;
use sampled::Samples;
use tyrion_formats::Recording;

/// How many bytes [`aggregate`] will report to its `progress` in the end.
pub fn work_bytes(logs: &[Recording]) -> u64 {
    let chunks = logs.iter().flat_map(|log| {
        log.event_chunks().iter().chain(log.cell_chunks()).chain(log.acquisition_chunks())
    });
    chunks.map(|chunk| u64::from(chunk.committed)).sum()
}

/// Sums what logs hold into one profile, on all workers of the current
/// rayon pool. `progress` is told how many more bytes are done, from any of
/// them.
pub fn aggregate(
    logs: &[Recording],
    filter: &Filter,
    progress: &(dyn Fn(u64) + Sync),
) -> Aggregate {
    let mut builder = Builder::new(filter);
    for log in logs {
        let window = filter.window(log);
        let reader = StateReader::new(log);
        let samples = Samples { reader: &reader, kinds: filter.kinds_of_samples() };
        builder.add(log, &window, pass::run(log, &window, samples, progress));
    }
    builder.finish()
}
