//! Waits that are not for a lock, but keep threads from work: a verdict on locks alone
//! would miss them.

use super::{
    super::{
        overview::{Overview, PhaseRow},
        shared::share,
        wait_chains::is_chained,
        withheld::WokenBy,
    },
    meanwhile::meanwhile,
    served,
};
use crate::{Findings, findings::ChainEnd};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tyrion_model::withheld;

/// What was lost to waits that are not for a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WithheldLoss {
    /// How many waits.
    pub waits: u64,
    /// Their durations added up.
    pub wait_ns: u64,
    /// Their share of the time in which threads were busy or kept from work in this
    /// way.
    pub lost_share: f64,
    /// Where threads waited longest.
    pub place: String,
    /// The innermost frame of the program's own code in the stack of most of the waits there.
    /// Empty if that is `place`, or if there is none, or none is known.
    pub own_place: String,
    /// The class of what most of them there are for; empty if that is not known.
    pub class: String,
    /// The share of these waits that is there.
    pub place_share: f64,
    /// Why they count, in one word, as in [withheld](#withheld).
    pub why: &'static str,
    /// Why they count, as a sentence.
    pub reason: String,
    /// Who ended most of the wait there, as `places[].wakers[]` of [withheld](#withheld).
    /// `null` if that is not known.
    pub woken_by: Option<WokenBy>,
    /// The innermost frame of the program's own code in the stack in which they ended the
    /// waits. Empty if that is `woken_by.at`, or if there is none, or none is known.
    pub waker_own: String,
    /// Where those threads mostly were when they did not wait for work, from samples: a frame
    /// of the program. Empty without samples.
    pub meanwhile: String,
    /// The share of that time in which they were there.
    pub meanwhile_share: f64,
    /// The threads that most likely have to do what these wait for. Where it is not known who
    /// ended the waits, they wait for the same elsewhere, or run the code in which these wait;
    /// else they are never free, and those that ended the waits are. Empty if there are none.
    pub served_by: String,
    /// Whether what is waited for has to be given back, by how methods are called.
    #[serde(skip)]
    pub is_lent: bool,
    /// The threads that most of these waits, at all places, are for in the end, if whoever ends
    /// them waits for others. `null` if these are less than a quarter of the waits, or not
    /// known.
    pub root: Option<Root>,
}

/// Threads that others wait for in the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Root {
    /// Their group.
    pub threads: String,
    /// How long others waited for them through threads that waited, too.
    pub wait_ns: u64,
    /// As a share of all waits that are not for a lock and kept threads from work.
    pub wait_share: f64,
}

/// A smaller share of the waits is not worth a sentence.
const LEAST: f64 = 0.25;

/// What threads lost, if anything.
pub(super) fn find(findings: &Findings<'_>, overview: &Overview) -> Option<WithheldLoss> {
    let (most, of_most) = findings.other_waits.of(withheld::Verdict::Withheld).next()?;
    let sum = |of: fn(&PhaseRow) -> u64| {
        overview.phases.iter().fold(0u64, |sum, phase| sum.saturating_add(of(phase)))
    };
    let busy_ns = sum(|phase| phase.thread_ns.saturating_sub(phase.idle_ns));
    let withheld_ns = sum(|phase| phase.withheld_ns);
    let wait_ns = overview.withheld.wait_ns;
    let woken_by = WokenBy::most_of(findings, of_most);
    let own = |frames: &[String], place: &str| {
        let own = findings.program.frame(frames).filter(|own| *own != place);
        own.unwrap_or_default().to_owned()
    };
    let at = |by: &WokenBy| own(&by.stack, by.at.as_deref().unwrap_or_default());
    let waker_own = woken_by.as_ref().map(at).unwrap_or_default();
    let served_by = match &woken_by {
        Some(by) => served::by_pool(findings, &by.threads).unwrap_or_default(),
        None => served::by(findings, most, of_most).unwrap_or_default(),
    };
    let by = match (served_by.as_str(), &woken_by) {
        ("", Some(by)) => by.threads.as_str(),
        (server, _) => server,
    };
    let meanwhile = meanwhile(findings, by).filter(|_| !by.is_empty());
    let (meanwhile, meanwhile_share) = meanwhile.unwrap_or_default();
    Some(WithheldLoss {
        waits: overview.withheld.waits,
        wait_ns,
        lost_share: share(withheld_ns, busy_ns.saturating_add(withheld_ns)),
        own_place: own(&of_most.hottest.0, &most.place.at),
        place: most.place.at.clone(),
        class: of_most
            .locks
            .iter()
            .rev()
            .max_by_key(|(_, waits)| waits.wait_ns)
            .map_or_else(String::new, |(lock, _)| lock.class.clone()),
        place_share: share(of_most.waits.wait_ns, wait_ns),
        why: most.why.name(),
        reason: most.reason(),
        woken_by,
        waker_own,
        meanwhile,
        meanwhile_share,
        served_by,
        is_lent: of_most.hottest.0.iter().any(|frame| withheld::lends(frame)),
        root: root(findings, wait_ns),
    })
}

/// Who ran at the end of most chains of more than one wait.
fn root(findings: &Findings<'_>, wait_ns: u64) -> Option<Root> {
    let mut roots: BTreeMap<&str, u64> = BTreeMap::new();
    for chain in &findings.chains.withheld.chains {
        if chain.end == ChainEnd::Runs && is_chained(chain) {
            let sum = roots.entry(&chain.root).or_default();
            *sum = sum.saturating_add(chain.wait_ns);
        }
    }
    // Of equal ones the first by name.
    let (threads, ns) = roots.into_iter().rev().max_by_key(|&(_, ns)| ns)?;
    let (threads, wait_share) = (threads.to_owned(), share(ns, wait_ns));
    (wait_share >= LEAST).then_some(Root { threads, wait_ns: ns, wait_share })
}
