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
mod owned;
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
pub(crate) use known::known_thread;
pub use notes::{Lost, Notes};
pub use owned::split_by_owner;
pub use result::Aggregate;

use crate::{filter::Filter, states::StateReader, withheld::Withheld};
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
    let asks = filter.kinds.asks_withheld();
    let withheld = if asks { Withheld::find(logs, filter) } else { Withheld::default() };
    aggregate_knowing(logs, filter, &withheld, progress)
}

/// As [`aggregate`], for who knows already which waits of these logs withhold
/// work.
pub fn aggregate_knowing(
    logs: &[Recording],
    filter: &Filter,
    withheld: &Withheld,
    progress: &(dyn Fn(u64) + Sync),
) -> Aggregate {
    let mut builder = Builder::new(filter, withheld);
    for (run, log) in logs.iter().enumerate() {
        let window = filter.window(log);
        let reader = StateReader::new(log);
        let is_withheld = |kind, stack| withheld.is_withheld((run, log), kind, stack);
        let kinds = filter.kinds_of_samples();
        let samples = Samples { reader: &reader, kinds, is_withheld: &is_withheld };
        builder.add(log, &window, pass::run(log, &window, samples, progress));
    }
    builder.finish()
}
