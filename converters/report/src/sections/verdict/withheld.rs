//! Waits that are not for a lock, but keep threads from work: a verdict on locks alone
//! would miss them.

use super::super::{
    overview::{Overview, PhaseRow},
    shared::share,
};
use crate::Findings;
use serde::Serialize;
use tyrion_converters::withheld;

/// What threads lost to waits that are not for a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WithheldLoss {
    /// How many waits.
    pub waits: u64,
    /// Their durations added up.
    pub wait_ns: u64,
    /// Their share of the time in which threads were busy or kept from work in this
    /// way.
    pub lost_share: f64,
    /// Where threads waited longest: `com.acme.Pool.borrow(Pool.java:42)`.
    pub place: String,
    /// The share of these waits that is there.
    pub place_share: f64,
    /// Why they count, as a sentence.
    pub reason: String,
}

/// What threads lost, if anything.
pub(super) fn find(findings: &Findings<'_>, overview: &Overview) -> Option<WithheldLoss> {
    let (most, of_most) = findings.other_waits.of(withheld::Verdict::Withheld).next()?;
    let sum = |of: fn(&PhaseRow) -> u64| {
        overview.phases.iter().fold(0u64, |sum, phase| sum.saturating_add(of(phase)))
    };
    let busy_ns = sum(|phase| phase.thread_ns.saturating_sub(phase.idle_ns));
    let withheld_ns = sum(|phase| phase.withheld_ns);
    let wait_ns = overview.withheld.wait_ns;
    Some(WithheldLoss {
        waits: overview.withheld.waits,
        wait_ns,
        lost_share: share(withheld_ns, busy_ns.saturating_add(withheld_ns)),
        place: most.place.at.clone(),
        place_share: share(of_most.waits.wait_ns, wait_ns),
        reason: most.reason(),
    })
}
