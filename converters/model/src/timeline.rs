//! Single waits with their times, for outputs that show when something happened.
//!
//! A [`Profile`] has sums. A timeline reads the logs once more for what each wait
//! was, and lets through exactly those that the profile has. Waits below the
//! threshold were summed when they were recorded and have no times of their own;
//! [`Timeline::untimed`] has them.
//!
//! A log may have many millions of waits, so not all of them are kept in memory: they
//! are cut into spans of time, or groups of threads, with about so many waits each
//! ([`AT_A_TIME`]), and the chunks that have any of these are decoded again for each.
//! Neither the number of workers nor the cuts change what is read, or its order.

mod axis;
mod chunks;
mod cut;
mod item;
mod read;
mod threads;
mod untimed;

#[cfg(test)]
mod tests;

pub use axis::Axis;
pub use item::{Hold, Item, Release, SampledThread, Wait, Waker};
pub use threads::ThreadWaits;
pub use untimed::Untimed;

use crate::{
    aggregate::LogIds,
    describe::Names,
    filter::{Filter, Window},
    lives::recordings,
    packages,
    profile::Profile,
    states::StateReader,
};
use chunks::Chunks;
use read::{ItemFilter, Readable, Span};
use std::io;
use tyrion_formats::Recording;

/// How many items are read at a time, unless more happened in the same
/// nanosecond. An item takes some 100 bytes.
pub const AT_A_TIME: usize = 1 << 18;

/// What a timeline is made of.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The logs, in the order in which they were aggregated.
    pub logs: &'a [Recording],
    /// The filter with which they were.
    pub filter: &'a Filter,
    /// What became of the ids of each log.
    pub ids: &'a [LogIds],
    /// The sums, of single threads. Their stacks may be reduced to `packages`.
    pub profile: &'a Profile,
    /// What stacks are reduced to; all of them stay whole if it is empty.
    pub packages: &'a [String],
}

/// Takes what happened between two moments, and what happens in the span after it.
pub type TakeSpan<'t> = &'t mut dyn FnMut(&[Item], &[Item]) -> io::Result<()>;

/// Single waits with their times.
pub struct Timeline<'a> {
    source: Source<'a>,
    axis: Axis,
    /// What the filter asks of single waits, by log.
    windows: Vec<Window>,
    /// The stack that is shown for each stack of the profile.
    kept: Vec<u32>,
    /// Whether the threads of each log are asked for, by their ids in the log.
    wanted: Vec<Vec<bool>>,
    /// When every hold was recorded, by log.
    every_hold: Vec<Vec<Span>>,
    /// What reads the samples of each log.
    states: Vec<StateReader<'a>>,
    chunks: Chunks<'a>,
    untimed: Vec<Untimed>,
    at_a_time: usize,
}

impl<'a> Timeline<'a> {
    /// Goes over the logs, on all workers of the current rayon pool, for how much there
    /// is when. What is damaged is left out: whoever aggregated the logs has told of it.
    pub fn new(source: Source<'a>) -> Timeline<'a> {
        let windows = source.logs.iter().map(|log| source.filter.window(log)).collect();
        let mut timeline = Timeline {
            axis: Axis::new(source.logs, &recordings(source.logs)),
            windows,
            kept: packages::kept(source.profile, source.packages),
            wanted: source.logs.iter().map(|log| wanted(log, source.filter)).collect(),
            every_hold: source.logs.iter().map(read::every_hold).collect(),
            states: source.logs.iter().map(StateReader::new).collect(),
            chunks: Chunks::default(),
            untimed: Vec::new(),
            at_a_time: AT_A_TIME,
            source,
        };
        let chunks = Chunks::of(&timeline.readable());
        timeline.chunks = chunks;
        timeline.axis.begin_at(timeline.chunks.first_ns());
        let untimed = untimed::of(&timeline);
        timeline.untimed = untimed;
        timeline
    }

    /// The same with another number of items that are in memory at a time.
    pub fn with_at_a_time(self, at_a_time: usize) -> Timeline<'a> {
        Timeline { at_a_time: at_a_time.max(1), ..self }
    }

    /// The names that the ids of waits stand for, and the sums of all waits.
    pub fn profile(&self) -> &'a Profile {
        self.source.profile
    }

    /// The logs.
    pub fn logs(&self) -> &'a [Recording] {
        self.source.logs
    }

    /// What the filter asks for.
    pub fn filter(&self) -> &'a Filter {
        self.source.filter
    }

    /// The thread of the profile that a thread of a log is; `None` if the profile lacks it.
    pub fn thread(&self, run: u32, id: u32) -> Option<u32> {
        self.source.ids.get(run as usize)?.thread(id)
    }

    /// The lock of the profile that a lock of a log is; `None` if the profile lacks it.
    pub fn lock(&self, run: u32, id: u32) -> Option<u32> {
        self.source.ids.get(run as usize)?.lock(id)
    }

    /// The lock of the profile that a site's waits are for, a lock of the log: as the
    /// profile has it at the site, or else anywhere.
    pub fn lock_of_site(&self, run: u32, site: u32, id: u32) -> Option<u32> {
        let ids = self.source.ids.get(run as usize)?;
        ids.site(site).map(|(_, lock, _)| lock).or_else(|| ids.lock(id))
    }

    /// The clock of all times.
    pub fn axis(&self) -> &Axis {
        &self.axis
    }

    /// The waits that have no time of their own, summed: in ascending order of thread,
    /// stack, lock and kind, each of those at most once.
    pub fn untimed(&self) -> &[Untimed] {
        &self.untimed
    }

    /// Those of one thread of the profile.
    pub fn untimed_of(&self, thread: u32) -> &[Untimed] {
        let first = self.untimed.partition_point(|it| it.thread < thread);
        let end = self.untimed.partition_point(|it| it.thread <= thread);
        self.untimed.get(first..end).unwrap_or_default()
    }

    /// Hands over the waits of each thread of the profile, in the order of the threads.
    ///
    /// # Errors
    /// Those of `body`.
    pub fn each_thread(
        &self,
        body: &mut dyn FnMut(u32, &ThreadWaits<'_, '_>) -> io::Result<()>,
    ) -> io::Result<()> {
        threads::each(self, body)
    }

    /// Hands over all that happened in the order of time: what happened between two
    /// moments at a time, sorted by [`Item::order`], and what happens in the span after it.
    ///
    /// # Errors
    /// Those of `body`.
    pub fn in_time(&self, body: TakeSpan<'_>) -> io::Result<()> {
        self.all_in_time(ItemFilter { threads: None, with_trace: true, with_samples: false }, body)
    }

    /// The same with what threads were seen doing.
    ///
    /// # Errors
    /// Those of `body`.
    pub fn in_time_with_samples(&self, body: TakeSpan<'_>) -> io::Result<()> {
        self.all_in_time(ItemFilter { threads: None, with_trace: true, with_samples: true }, body)
    }

    fn all_in_time(&self, all: ItemFilter, body: TakeSpan<'_>) -> io::Result<()> {
        let readable = self.readable();
        let mut now = Vec::new();
        for span in cut::spans(&readable, &self.chunks, all, self.at_a_time) {
            let next = chunks::collect(&readable, &self.chunks, all, &span);
            body(&now, &next)?;
            now = next;
        }
        body(&now, &[])
    }

    /// What is to be told of how the timeline differs from the sums, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        untimed::notes(&self.untimed, self.source.logs)
    }

    /// What reading needs.
    fn readable(&self) -> Readable<'_, 'a> {
        Readable {
            source: &self.source,
            axis: &self.axis,
            windows: &self.windows,
            kept: &self.kept,
            wanted: &self.wanted,
            every_hold: &self.every_hold,
            states: &self.states,
        }
    }
}

/// Whether a filter asks for each thread of a log.
fn wanted(log: &Recording, filter: &Filter) -> Vec<bool> {
    let threads = 0..log.definitions().threads().len().max(1) as u32;
    let names = Names(log);
    let is_wanted = |thread: u32| {
        filter.thread.as_ref().is_none_or(|regex| regex.is_match(&names.thread(thread)))
    };
    threads.map(is_wanted).collect()
}
