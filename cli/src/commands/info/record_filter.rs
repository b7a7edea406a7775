//! What a filter asks of the records between the waits.

use std::collections::HashSet;
use tyrion_formats::{Noted, Recording};
use tyrion_model::{
    aggregate::SampleTotals,
    describe::Names,
    filter::{Filter, Window},
};
use tyrion_wire::sample::Sample;

/// What the filter asks of threads and times.
pub(super) struct RecordFilter {
    window: Window,
    unwanted: HashSet<u32>,
    /// Whether threads whose definition is lost are wanted.
    unknown: bool,
}

impl RecordFilter {
    pub(super) fn new(log: &Recording, filter: &Filter) -> RecordFilter {
        let names = Names(log);
        let wanted = |id| filter.thread.as_ref().is_none_or(|it| it.is_match(&names.thread(id)));
        let ids = log.definitions().threads().iter().map(|(id, _)| id);
        let unwanted = ids.filter(|&id| !wanted(id)).collect();
        RecordFilter { window: filter.window(log), unwanted, unknown: wanted(0) }
    }

    /// Whether the filter wants what this thread did at this time.
    pub(super) fn wants(&self, log: &Recording, thread: u32, at_ns: u64) -> bool {
        self.window.holds(at_ns) && self.wants_thread(log, thread)
    }

    /// What of a sample the filter wants, by thread and time.
    pub(super) fn part(&self, log: &Recording, sampled: &Noted<Sample>) -> Option<SampleTotals> {
        self.window.part(sampled).filter(|_| self.wants_thread(log, sampled.thread))
    }

    fn wants_thread(&self, log: &Recording, thread: u32) -> bool {
        let known = || log.definitions().threads().get(thread).is_some();
        !self.unwanted.contains(&thread) && (self.unknown || known())
    }
}
