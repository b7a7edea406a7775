//! From logs to a profile.
//!
//! The events of a log are cut into pieces of one thread each, so that a
//! worker adds waits into a dense vector with one place for each site. Pieces
//! are handed out to the workers of the current rayon pool. Sums are whole
//! numbers that never wrap, so neither the order of the pieces nor the number
//! of workers changes the result, and what is kept grows with the distinct
//! (thread, site), not with the events.

mod acquired;
mod asked;
mod build;
mod fold;
mod handover;
mod ids;
mod known;
mod linked;
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
pub use result::Aggregate;
pub use spread::shares;

use crate::{
    filter::Filter,
    identity,
    lives::recordings,
    pass::{Nothing, Question, Reading},
    states::StateReader,
    withheld::{Judge, Withheld},
};
use build::ProfileBuilder;
use owned::OwnedSums;
use pass::SumQuestion;
use sampled::Samples;
use tyrion_formats::Recording;

/// The sums of so many logs are kept until it is known what withholds work; of more, the
/// events are decoded once more for that.
const MANY_LOGS: usize = 64;

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
    match filter.kinds.asks_withheld() {
        true => aggregate_judging(logs, filter, &NOBODY, progress).0,
        false => aggregate_knowing(logs, filter, &Withheld::default(), progress),
    }
}

/// As [`aggregate`], for who knows already which waits of these logs withhold
/// work.
pub fn aggregate_knowing(
    logs: &[Recording],
    filter: &Filter,
    withheld: &Withheld,
    progress: &(dyn Fn(u64) + Sync),
) -> Aggregate {
    pass_over(logs, filter, withheld, 0, &NOBODY, progress).0
}

/// As [`aggregate`], with waits told apart by who had the lock when they began, where that
/// is known: a row of waits becomes one for each owner and one for the rest, whose longest
/// wait may then be one that has an owner. Sums stay.
///
/// If more than `most` sums of thread, stack, lock, kind and owner would be needed for a
/// log, it is what [`aggregate`] gives; then the second value is false.
pub fn aggregate_by_owner(
    logs: &[Recording],
    filter: &Filter,
    most: usize,
    progress: &(dyn Fn(u64) + Sync),
) -> (Aggregate, bool) {
    let asks = filter.kinds.asks_withheld();
    let withheld = if asks { Withheld::find(logs, filter) } else { Withheld::default() };
    let (mut aggregate, owned) = pass_over(logs, filter, &withheld, most, &NOBODY, progress);
    let owned: Option<Vec<OwnedSums>> = owned.into_iter().collect();
    let is_split = owned.is_some_and(|owned| owned::split(logs, owned, most, &mut aggregate));
    (aggregate, is_split)
}

/// No question besides.
const NOBODY: [Option<Nothing>; 0] = [];

/// The aggregate, and the waits of each log by owner, as the log numbers them; none of
/// those if they are more than `most`.
fn pass_over(
    logs: &[Recording],
    filter: &Filter,
    withheld: &Withheld,
    most: usize,
    besides: &[Option<impl Question>],
    progress: &(dyn Fn(u64) + Sync),
) -> (Aggregate, Vec<Option<OwnedSums>>) {
    identity::agree(logs);
    let mut builder = ProfileBuilder::new(filter, withheld);
    let mut owned = Vec::new();
    for (run, log) in logs.iter().enumerate() {
        let reader = StateReader::new(log);
        let is_withheld = |kind, stack| withheld.is_withheld((run, log), kind, stack);
        let kinds = filter.kinds_of_samples();
        let samples = Samples { reader: &reader, kinds, is_withheld: &is_withheld };
        let by_owner = owned::SumsByOwner::new(log, filter, most);
        let summing = SumQuestion::new(log, filter.window(log), samples, by_owner);
        let damage = match besides.get(run).and_then(Option::as_ref) {
            None => crate::pass::run(log, &summing, reading(progress)),
            Some(besides) => {
                let both = (&summing, besides);
                crate::pass::run(log, &both, reading(progress))
            }
        };
        let mut sums = summing.finish(damage);
        owned.push(sums.owned.take());
        builder.add(log, &filter.window(log), sums);
    }
    (builder.finish(), owned)
}

fn reading(progress: &(dyn Fn(u64) + Sync)) -> Reading<'_> {
    Reading { with_acquisitions: true, ..Reading::new(progress) }
}

/// As [`aggregate`], and which waits of these logs withhold work: what
/// [`Withheld::find`] says. Each log is read once for both, unless there are many. Whoever
/// wants to know something else of the log of that number is asked in the same pass.
pub fn aggregate_judging(
    logs: &[Recording],
    filter: &Filter,
    besides: &[Option<impl Question>],
    progress: &(dyn Fn(u64) + Sync),
) -> (Aggregate, Withheld) {
    identity::agree(logs);
    // Which samples are asked for may depend on it, and the sums of many logs are not kept.
    let depends = filter.kinds_of_samples().is_some() && filter.kinds.asks_withheld();
    if depends || logs.len() > MANY_LOGS {
        let withheld = Withheld::find(logs, filter);
        let (aggregate, _) = pass_over(logs, filter, &withheld, 0, besides, progress);
        return (aggregate, withheld);
    }
    let mut judging = Judge::new(filter);
    let mut all = Vec::new();
    for ((run, log), recording) in logs.iter().enumerate().zip(recordings(logs)) {
        let besides = besides.get(run).and_then(Option::as_ref);
        let reader = StateReader::new(log);
        let kinds = filter.kinds_of_samples();
        let samples = Samples { reader: &reader, kinds, is_withheld: &|_, _| false };
        let by_owner = owned::SumsByOwner::new(log, filter, 0);
        let summing = SumQuestion::new(log, filter.window(log), samples, by_owner);
        let (gather, of) = judging.begin(log, recording).unzip();
        let damage = match (&gather, besides) {
            (None, None) => crate::pass::run(log, &summing, reading(progress)),
            (gather, besides) => {
                let rest = (gather.as_ref(), besides);
                crate::pass::run(log, &(&summing, rest), reading(progress))
            }
        };
        if let Some((gather, of)) = gather.zip(of) {
            judging.end(gather, &of);
        }
        all.push(summing.finish(damage));
    }
    let withheld = judging.finish();
    let mut builder = ProfileBuilder::new(filter, &withheld);
    for (log, sums) in logs.iter().zip(all) {
        builder.add(log, &filter.window(log), sums);
    }
    let aggregate = builder.finish();
    (aggregate, withheld)
}
