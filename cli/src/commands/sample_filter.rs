//! Which samples a filter lets through.

use crate::filters::withheld;
use tyrion_formats::{Noted, Recording};
use tyrion_model::{
    describe::Names,
    filter::{Filter, States},
    states::StateReader,
    withheld::Withheld,
};
use tyrion_wire::{def::id, sample::Sample};

/// Finds out whether a filter wants what a thread was seen doing; who it was and
/// when is for the caller to ask.
pub struct SampleFilter<'a> {
    filter: &'a Filter,
    withheld: Withheld,
    names: Names<'a>,
    /// Tells the states as people read them: who waits for work is idle.
    pub reader: StateReader<'a>,
}

impl<'a> SampleFilter<'a> {
    pub fn new(log: &'a Recording, filter: &'a Filter) -> SampleFilter<'a> {
        let (withheld, reader) = (withheld(filter, log), StateReader::new(log));
        SampleFilter { filter, withheld, names: Names(log), reader }
    }

    /// Whether the filter wants a sample.
    ///
    /// Samples do not say how long a wait took, so `--min-wait` does not apply.
    pub fn is_wanted(&self, sampled: &Noted<Sample>) -> bool {
        let states = &self.filter.states;
        let log = self.names.0;
        let is_withheld = |kind, stack| self.withheld.is_withheld((0, log), kind, stack);
        let kind = self.reader.is_of(sampled, self.filter.kinds_of_samples(), is_withheld);
        let lock = sampled.record.lock;
        let wants_lock = |regex| lock != id::UNKNOWN && self.names.lock_matches(regex, lock);
        kind && self.filter.lock.as_ref().is_none_or(wants_lock)
            && (*states == States::all() || states.contains(self.reader.state(sampled)))
    }
}
