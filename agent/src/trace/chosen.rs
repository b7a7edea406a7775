//! What the user asks of trace mode, as far as that can change while it is on: which
//! holds are measured, whether each becomes a record, and which classes get probes.
//!
//! What a cell counts is measured alike, and the cell says how. So when something else
//! is asked for, all threads go on with new cells. What they hold by then stays what
//! they hold, and ends in the cell that it was counted in: no release is lost, and what
//! is taken once more is reentrant.

use super::Trace;
use crate::{options::TraceOptions, sync::lock};
use std::sync::{Arc, Mutex, atomic::Ordering::Relaxed};
use tyrion_plan::{Filters, PlanOptions};

/// Ticks by chance: of measured holds, about one in four has the probes behind it
/// timed, and where all are measured, one in 256.
const FEW_MEASURED: u64 = 0x30;
const ALL_MEASURED: u64 = 0xff0;

/// Which classes get which probes.
#[derive(Default)]
pub struct Plan {
    /// When they pass through the class file load hook.
    now: Mutex<Arc<PlanOptions>>,
    /// So it was when all that were loaded passed through it last.
    before: Mutex<Arc<PlanOptions>>,
}

impl Plan {
    /// What is wanted now.
    pub fn now(&self) -> Arc<PlanOptions> {
        Arc::clone(&lock(&self.now))
    }

    /// What was wanted when [`Plan::done`] was called last.
    pub fn before(&self) -> Arc<PlanOptions> {
        Arc::clone(&lock(&self.before))
    }

    /// Trace mode begins.
    pub fn begin(&self, options: PlanOptions) {
        let options = Arc::new(options);
        *lock(&self.now) = Arc::clone(&options);
        self.done(&options);
    }

    /// The loaded classes have the probes that this wants.
    pub fn done(&self, options: &Arc<PlanOptions>) {
        *lock(&self.before) = Arc::clone(options);
    }

    /// Other classes are wanted from now on: whether they are others.
    fn choose(&self, filters: Filters) -> bool {
        let mut now = lock(&self.now);
        let is_new = now.filters != filters;
        if is_new {
            *now = Arc::new(PlanOptions { filters, ..PlanOptions::clone(&now) });
        }
        is_new
    }
}

/// The classes that options ask for.
pub fn filters(options: &TraceOptions) -> Filters {
    Filters::new(&options.include, &options.exclude)
}

impl Trace {
    /// One hold in so many is measured: 1 all, 0 none.
    pub fn one_in(&self) -> u32 {
        self.shared.chosen.one_in.load(Relaxed)
    }

    /// Whether each measured hold becomes a record.
    pub fn has_every_event(&self) -> bool {
        self.shared.chosen.every_event.load(Relaxed) != 0
    }

    /// Has holds be measured, and become records, as is asked for here.
    ///
    /// # Errors
    /// In words, that there is no memory for that; then it is as before.
    pub fn choose_holds(&self, options: &TraceOptions) -> Result<(), String> {
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
            return Err("no memory for the records of all acquisitions".to_owned());
        }
        chosen.one_in.store(one_in, Relaxed);
        self.cells.measure_nowhere(one_in == 1);
        self.renew_cells();
        Ok(())
    }

    /// Has these classes get probes when they are loaded; those that are there, once
    /// somebody has them retransformed. Whether they are others than before.
    pub fn choose_classes(&self, options: &TraceOptions) -> bool {
        self.plan.choose(filters(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    fn plan_of(text: &str) -> Filters {
        filters(&Options::parse(text).unwrap().trace)
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
