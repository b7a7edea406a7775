//! What changed from some recordings to others.
//!
//! Locks are found again by class, name and kind of wait, stacks by the methods
//! of the program (see [`Matching`]): ids mean nothing beyond their log. Waits
//! are told for each second that was recorded, or for each acquisition, so that
//! recordings of different lengths compare.

mod answer;
mod changes;
mod dumps;
mod matching;
mod places;
mod rates;
mod scaled;
#[cfg(test)]
mod tests;
mod view;

pub use answer::{
    Amount, Change, Diff, Document, LockAmount, LockChange, PlaceChange, Presence, SCHEMA, Side,
    StackChange,
};
pub use dumps::{DumpChange, DumpDiff, DumpDocument, dump_diff, dump_view};
pub use matching::Matching;
pub use rates::{Measure, Per};
pub use scaled::scaled;
pub use view::view;

use crate::{Findings, ReportOptions, conditions::Figures, sections::shared::cut};
use rates::{Denominators, Rates};
use thiserror::Error;
use tyrion_formats::Recording;

/// How to compare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// What waits are told for.
    pub per: Per,
    /// When two stacks are the same.
    pub matching: Matching,
}

/// Why recordings cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DiffError {
    /// Acquisitions were not counted.
    #[error(
        "{0}: the acquisitions that --per-acquisition divides by are not known; they need whole \
         logs of tyrion record --mode trace: no --since, --until or --min-wait"
    )]
    NoAcquisitions(String),
    /// One recording has only numbers of waits, another one only times.
    #[error(
        "{0} does not tell how long threads waited, and {1} not how often: there is nothing to \
         compare"
    )]
    NothingAlike(String, String),
    /// Nothing was recorded, or filters leave no time.
    #[error("{0}: no time was recorded by which waits could be divided")]
    NoTime(String),
}

/// Whether it is not known how long a recording is.
fn is_endless(log: &Recording) -> bool {
    log.capabilities().lacks.times && log.recorded_ns() == 0
}

/// Two sets of recordings, read.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'f> {
    /// What it was before.
    pub before: &'f Findings<'f>,
    /// What it is now.
    pub after: &'f Findings<'f>,
}

impl<'f> Pair<'f> {
    /// What waits are told for unless somebody asks for something else: each second,
    /// if it is known of all recordings how long they are.
    pub fn usual_per(&self) -> Per {
        match self.logs().any(is_endless) {
            true => Per::Recording,
            false => Per::Second,
        }
    }

    /// What of waits is compared: what is known of all recordings.
    pub fn measure(&self) -> Measure {
        match self.logs().any(|log| log.facts().lacks.durations) {
            true => Measure::Contentions,
            false => Measure::Wait,
        }
    }

    fn logs(&self) -> impl Iterator<Item = &'f Recording> {
        self.before.logs.iter().chain(self.after.logs)
    }

    fn rates(&self, per: Per) -> Result<Rates, DiffError> {
        let with_counts_only = self.logs().find(|log| log.facts().lacks.durations);
        let with_times_only = self.logs().find(|log| log.facts().lacks.counts);
        if let (Some(counts), Some(times)) = (with_counts_only, with_times_only) {
            let [counts, times] = [counts, times].map(|log| log.name().to_owned());
            return Err(DiffError::NothingAlike(counts, times));
        }
        let rates = |findings: &'f Findings<'f>| Denominators::of(findings, per);
        let (before, after) = (rates(self.before)?, rates(self.after)?);
        Ok(Rates { measure: self.measure(), before, after })
    }

    /// What changed.
    ///
    /// # Errors
    /// There is nothing to divide waits by, or nothing that is known of both sides.
    pub fn diff(&self, terms: &Terms, options: &ReportOptions) -> Result<Diff, DiffError> {
        let rates = self.rates(terms.per)?;
        let figures = [self.before, self.after].map(Figures::of);
        let mut locks = changes::locks(&figures, &rates);
        let mut stacks = changes::stacks(self, terms.matching, &rates);
        let (withheld, mut places) = places::find(self, &rates);
        let count =
            |state: Presence| locks.iter().filter(|lock| lock.change.state == state).count();
        let mut diff = Diff {
            per: terms.per,
            measure: rates.measure,
            before: Side::of(self.before, &figures[0], &rates.before),
            after: Side::of(self.after, &figures[1], &rates.after),
            total: changes::total(&figures, &rates),
            withheld,
            appeared: count(Presence::Appeared) as u64,
            vanished: count(Presence::Vanished) as u64,
            most_improved: locks.iter().find(|lock| lock.change.by() < 0.0).cloned(),
            most_worsened: locks.iter().find(|lock| lock.change.by() > 0.0).cloned(),
            ..Diff::default()
        };
        diff.locks_left_out = cut(&mut locks, options);
        diff.stacks_left_out = cut(&mut stacks, options);
        diff.places_left_out = cut(&mut places, options);
        (diff.locks, diff.stacks, diff.places) = (locks, stacks, places);
        Ok(diff)
    }
}
