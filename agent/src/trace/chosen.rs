//! The options of trace mode that can change while it is on: which holds are measured,
//! whether each becomes a record, and which classes get probes.
//!
//! All holds that a cell counts are measured in the same way, and the cell says how. So
//! when an option changes, all threads continue with new cells. The locks that they hold
//! by then end in the cells in which they were counted: no release is lost, and taking
//! one of them again is reentrant.

use super::{Trace, error::TraceError};
use crate::{options::TraceOptions, sync::lock};
use std::sync::{Arc, Mutex, atomic::Ordering::Relaxed};
use tyrion_plan::{Aim, Filters, Place, PlanOptions};

/// Ticks by chance: of measured holds, about one in four has the probes behind it
/// timed, and where all are measured, one in 256.
const FEW_MEASURED: u64 = 0x30;
const ALL_MEASURED: u64 = 0xff0;

/// Which classes get which probes.
#[derive(Default)]
pub struct Plan {
    /// When they pass through the class file load hook.
    now: Mutex<Arc<PlanOptions>>,
    /// The same when all loaded classes last passed through it.
    before: Mutex<Arc<PlanOptions>>,
}

impl Plan {
    /// What is wanted now.
    pub fn now(&self) -> Arc<PlanOptions> {
        Arc::clone(&lock(&self.now))
    }

    /// What was wanted when [`Plan::done`] was last called.
    pub fn before(&self) -> Arc<PlanOptions> {
        Arc::clone(&lock(&self.before))
    }

    /// Trace mode begins.
    pub fn begin(&self, options: PlanOptions) {
        let options = Arc::new(options);
        *lock(&self.now) = Arc::clone(&options);
        self.done(&options);
    }

    /// The loaded classes have the probes that these options select.
    pub fn done(&self, options: &Arc<PlanOptions>) {
        *lock(&self.before) = Arc::clone(options);
    }

    /// Changes which classes get probes; whether that differs from before.
    fn choose(&self, filters: Filters) -> bool {
        let mut now = lock(&self.now);
        let is_new = now.filters != filters;
        if is_new {
            *now = Arc::new(PlanOptions { filters, ..PlanOptions::clone(&now) });
        }
        is_new
    }
}

/// What trace mode is to do: what the options say, and of these locks alone, if any are given.
#[derive(Clone, Copy)]
pub struct Chosen<'a> {
    /// The options.
    pub options: &'a TraceOptions,
    /// The locks.
    pub aim: Option<&'a Arc<Aim>>,
}

impl Chosen<'_> {
    /// The classes that get probes.
    pub fn filters(self) -> Filters {
        Filters::new(&self.options.include, &self.options.exclude).aimed_at(self.aim)
    }
}

impl Trace {
    /// One hold in this many is measured: 1 for all, 0 for none.
    pub fn one_in(&self) -> u32 {
        self.shared.chosen.one_in.load(Relaxed)
    }

    /// Whether each measured hold becomes a record.
    pub fn has_every_event(&self) -> bool {
        self.shared.chosen.every_event.load(Relaxed) != 0
    }

    /// Measures holds, and makes records of them, as these options say.
    ///
    /// # Errors
    /// There is no memory for that; then nothing has changed.
    pub fn choose_holds(&self, options: &TraceOptions) -> Result<(), TraceError> {
        let options = options.settled();
        let (one_in, every_event) = (options.hold.one_in(), options.every_event);
        let chosen = self.shared.chosen;
        let timed = if one_in == 1 { ALL_MEASURED } else { FEW_MEASURED };
        chosen.timed_chance.store(timed, Relaxed);
        if (self.one_in(), self.has_every_event()) == (one_in, every_event) {
            return Ok(());
        }
        if !every_event {
            // Before there are new cells: whoever gets one writes what it has left.
            chosen.every_event.store(0, Relaxed);
        } else if !self.begin_events() {
            return Err(TraceError::NoMemory("the records of all acquisitions"));
        }
        chosen.one_in.store(one_in, Relaxed);
        self.cells.measure_nowhere(one_in == 1);
        self.renew_cells();
        Ok(())
    }

    /// Selects the classes that get probes when they are loaded. Loaded ones change when
    /// they are retransformed. Returns whether the selection differs from before.
    pub fn choose_classes(&self, chosen: Chosen<'_>) -> bool {
        let is_new = self.plan.choose(chosen.filters());
        if is_new {
            // Of some places, nothing may have been counted, or may be no more.
            self.renew_cells();
        }
        is_new
    }

    /// Whether all locks are traced, or single ones.
    pub fn wants_all_locks(&self) -> bool {
        self.plan.now().filters.wants_all_locks()
    }

    /// Whether what is taken at a place is counted; at one that is not known, only where all
    /// is.
    pub fn wants_place(&self, number: u32) -> bool {
        let filters = &self.plan.now().filters;
        filters.wants_all_locks()
            || self.recorder.places().with(number, |place: &Place, _| filters.wants_place(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    fn plan_of(text: &str) -> Filters {
        let options = Options::parse(text).unwrap().trace;
        Chosen { options: &options, aim: None }.filters()
    }

    #[test]
    fn what_was_wanted_is_known_until_all_is_done() {
        let plan = Plan::default();
        let front = tyrion_plan::Front::Ask;
        plan.begin(PlanOptions { filters: plan_of("include=a.*"), front, wakers: true });
        assert!(!plan.choose(plan_of("include=a.*")));
        assert!(plan.choose(plan_of("include=b.*")));
        assert!(plan.choose(plan_of("include=b.*,exclude=b.C")));
        let wants = |options: &PlanOptions, name: &str| options.filters.wants(name.as_bytes());
        let (before, now) = (plan.before(), plan.now());
        assert!(wants(&before, "a/A") && !wants(&before, "b/B"));
        assert!(!wants(&now, "a/A") && wants(&now, "b/B") && !wants(&now, "b/C"));
        // All else stays.
        assert!(now.front == front && now.wakers);
        plan.done(&now);
        assert!(Arc::ptr_eq(&plan.before(), &plan.now()));
    }
}
