//! Chains of waits: from a waiting thread to the owner of its lock, to the owner of what
//! that one waits for, and so on to a thread that runs.

#[cfg(test)]
mod tests;
mod view;

use super::shared::{cut, share};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section,
    findings::{ChainEnd, ChainStep, LockRef, WaitChain},
    section::schema_of,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{cmp::Reverse, collections::BTreeMap};
use tyrion_model::{filter::Kinds, units, withheld::Verdict};
use tyrion_wire::WaitKind;

/// The section.
pub const SECTION: Section = Section {
    name: "wait-chains",
    title: "Wait chains",
    means: "Each wait is followed from owner to owner, and charged to the thread at the end of \
            that chain, which ran meanwhile.",
    advice: "Look at what the threads at the ends of the chains do: the others only wait for them.",
    about: About::Locks,
    in_brief: InBrief::Never,
    schema: schema_of::<WaitChains>,
    answer,
};

/// The answer.
///
/// At each moment of a wait, its chain leads from the waiting thread to the owner of the lock,
/// from there to the owner of the lock that this thread waits for at the same moment, and so
/// on. So a wait is divided into pieces of time, each charged to exactly one chain. The owner
/// of a lock is the one recorded with the wait: that when it began. If an owner waits for the
/// same lock itself, it has released the lock since: the chain continues with the owner that
/// it waits for, and ends if that is not known either. The filter selects the waits that are
/// charged; other waits can still be part of their chains.
///
/// If no owner is known, as with a latch, the thread that ended the wait ([wakers](#wakers))
/// takes the owner's place until it did so: the wait lasted until that thread got there,
/// whatever it did before. From then to the end of the wait, the chain ends with the waiting
/// thread, which had been woken but had not yet gone on: no processor was free, or it waited
/// for the monitor again. If the owner of a lock in a chain waits for work, the chain ends
/// there: the owner has released the lock by then.
///
/// Waits that are not for a lock but kept threads from work ([withheld](#withheld)) are charged
/// in the same way, but to sums of their own, whatever kinds the filter selects. Chains of
/// either sort may contain waits of both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WaitChains {
    /// Waits for locks.
    #[serde(flatten)]
    pub charged: Charged,
    /// How many of `waits` had not ended.
    pub pending: u64,
    /// How long these had lasted.
    pub pending_ns: u64,
    /// The durations of the ended waits for locks of which neither is known. Together with
    /// `wait_ns` minus `pending_ns` this is all of them, those included in which a lock is
    /// taken again (`--kind all`).
    pub unowned_ns: u64,
    /// The length of a phase: that of the overview, or a multiple of it, so that there are at
    /// most 120.
    pub phase_ns: u64,
    /// The phases, in the order of time.
    pub phases: Vec<ChainPhase>,
    /// The same of waits that are not for a lock.
    pub withheld: WithheldChains,
}

/// Waits that are not for a lock but kept threads from work, if it is known who ended them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WithheldChains {
    /// Those waits.
    #[serde(flatten)]
    pub charged: Charged,
    /// How long the other such waits were. Together with `wait_ns` that is the `wait_ns` of
    /// section `withheld`.
    pub unwoken_ns: u64,
}

/// Waits that are charged to chains.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Charged {
    /// Waits whose owner, or else whoever ended the wait, is known, including waits for locks
    /// that had not ended when the log did.
    pub waits: u64,
    /// Their durations added up. All of this time is charged.
    pub wait_ns: u64,
    /// How long threads waited for a thread that ran.
    pub direct_ns: u64,
    /// How long they waited for a thread that itself waited for a known thread, and so on to
    /// one that ran. `direct_ns`, this and the five fields below add up to `wait_ns`.
    pub chained_ns: u64,
    /// How long they waited for each other, in a ring, or for threads in a ring.
    pub ring_ns: u64,
    /// How long they waited for a thread that itself waited, but not for a known thread, or for
    /// work.
    pub waiting_ns: u64,
    /// How long they, or the thread that they waited for, had been woken but had not yet gone
    /// on.
    pub late_ns: u64,
    /// For how long the owner of the lock is not known.
    pub unknown_ns: u64,
    /// The time charged to the lock's owner, or to whoever ended the wait, without following
    /// what that thread did: the shortest waits, if there are more than about 250,000 in a
    /// recording (these are not part of other waits' chains either), and chains of more than 32
    /// waits.
    pub not_followed_ns: u64,
    /// The number of waits in the longest chain.
    pub longest: usize,
    /// The threads at the ends of chains, by group, most wait first; without rings.
    pub ends: Vec<ChainEndRow>,
    /// How many more there are.
    pub ends_left_out: usize,
    /// The chains, most wait first. Together with those left out they add up to `wait_ns`.
    pub chains: Vec<ChainRow>,
    /// How many more there are.
    pub left_out: usize,
}

/// Threads at the end of chains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChainEndRow {
    /// Their group; empty if it is not known.
    pub threads: String,
    /// How long other threads waited for them, directly or through others.
    pub wait_ns: u64,
    /// How much of that was through other threads that waited, too.
    pub through_ns: u64,
}

/// A chain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ChainRow {
    /// The steps, beginning with the threads whose waits are charged. Empty for the entry that
    /// combines all chains from the 4,097th on.
    pub steps: Vec<StepRow>,
    /// The group of the threads at its end; empty if that is not known.
    pub end: String,
    /// What those threads did: `runs`; `waits`, but not for a known thread, or for work;
    /// `ring`, the thread is already in the chain; `unknown`, the owner had changed;
    /// `not-followed`; `late`, they had been woken but had not yet gone on.
    pub end_state: &'static str,
    /// How many waits, or parts of them, are charged to it.
    pub waits: u64,
    /// Their durations added up.
    pub wait_ns: u64,
    /// Their share of all charged time.
    pub wait_share: f64,
    /// `wait_ns` by phase, within the reported time.
    pub phases_ns: Vec<u64>,
}

/// A step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepRow {
    /// The group of threads that waits.
    pub waiting: String,
    /// The lock that it waits for.
    pub lock: LockRef,
    /// The kind of wait.
    pub kind: &'static str,
}

/// A phase, of waits for locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChainPhase {
    /// From the start of the reported time to that of the phase.
    pub start_ns: u64,
    /// Its length.
    pub duration_ns: u64,
    /// How long threads waited in it for locks, as far as that is charged.
    pub wait_ns: u64,
    /// How much of that was for a thread that itself waited.
    pub chained_ns: u64,
    /// The chain with the most wait in the phase, an index into `chains`. `null` if there is
    /// none, or it is left out.
    pub first: Option<usize>,
    /// The wait of that chain in the phase.
    pub first_ns: u64,
}

/// The name of a chain's end.
fn state(end: ChainEnd) -> &'static str {
    match end {
        ChainEnd::Runs => "runs",
        ChainEnd::Waits => "waits",
        ChainEnd::Ring => "ring",
        ChainEnd::Unknown => "unknown",
        ChainEnd::NotFollowed => "not-followed",
        ChainEnd::Late => "late",
    }
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let chains = WaitChains::of(findings, options);
    let json = serde_json::to_value(&chains).unwrap_or_default();
    Answer {
        json,
        view: view::view(&chains, findings, options),
        lacking: lacking(&chains),
        advises: [&findings.chains.chains, &findings.chains.withheld.chains]
            .into_iter()
            .any(|chains| chains.iter().any(|it| is_chained(it) && it.wait_ns != 0)),
    }
}

/// What is not known.
fn lacking(chains: &WaitChains) -> String {
    if chains.unowned_ns == 0 {
        return String::new();
    }
    format!(
        "{} of waiting for locks is not included: it is not known who had them when the waits \
         began, or the waits are added up without their times.",
        units::duration(chains.unowned_ns)
    )
}

impl WaitChains {
    /// From what was found.
    pub fn of(findings: &Findings<'_>, options: &ReportOptions) -> WaitChains {
        let (found, others) = (&findings.chains, &findings.chains.withheld);
        // With `--kind all` those for which a lock is taken again are among them.
        let of_locks = WaitKind::ALL.into_iter().filter(|kind| !Kinds::idle().contains(*kind));
        let of_locks_ns = of_locks
            .fold(0u64, |sum, kind| sum.saturating_add(findings.aggregate.kind(kind).total().1));
        let withheld_ns = findings.other_waits.total(Verdict::Withheld).wait_ns;
        let charged = Charged::of(found.waits, found.wait_ns, &found.chains, options);
        WaitChains {
            pending: found.pending,
            pending_ns: found.pending_ns,
            unowned_ns: of_locks_ns.saturating_sub(found.of_locks_ns),
            phase_ns: found.phase_ns,
            phases: phases(findings, charged.chains.len()),
            charged,
            withheld: WithheldChains {
                charged: Charged::of(others.waits, others.wait_ns, &others.chains, options),
                unwoken_ns: withheld_ns.saturating_sub(others.wait_ns),
            },
        }
    }
}

impl Charged {
    fn of(waits: u64, wait_ns: u64, found: &[WaitChain], options: &ReportOptions) -> Charged {
        let sum = |wanted: &dyn Fn(&WaitChain) -> bool| {
            let chains = found.iter().filter(|chain| wanted(chain));
            chains.fold(0u64, |sum, chain| sum.saturating_add(chain.wait_ns))
        };
        let ends = |end: ChainEnd| sum(&|chain: &WaitChain| chain.end == end);
        let mut shown: Vec<&WaitChain> = found.iter().collect();
        let mut rows = end_rows(found);
        Charged {
            waits,
            wait_ns,
            direct_ns: sum(&|chain| chain.end == ChainEnd::Runs && !is_chained(chain)),
            chained_ns: sum(&|chain| chain.end == ChainEnd::Runs && is_chained(chain)),
            ring_ns: ends(ChainEnd::Ring),
            waiting_ns: ends(ChainEnd::Waits),
            late_ns: ends(ChainEnd::Late),
            unknown_ns: ends(ChainEnd::Unknown),
            not_followed_ns: ends(ChainEnd::NotFollowed),
            longest: found.iter().map(|chain| chain.steps.len()).max().unwrap_or(0),
            ends_left_out: cut(&mut rows, options),
            ends: rows,
            left_out: cut(&mut shown, options),
            chains: shown.into_iter().map(|chain| ChainRow::of(chain, wait_ns)).collect(),
        }
    }
}

/// Whether one whom others wait for in a chain waits itself, for whom is known.
pub(super) fn is_chained(chain: &WaitChain) -> bool {
    chain.steps.len() > 1
}

impl ChainRow {
    fn of(chain: &WaitChain, all_ns: u64) -> ChainRow {
        let step = |step: &ChainStep| StepRow {
            waiting: step.waiting.clone(),
            lock: step.lock.clone(),
            kind: step.kind.name(),
        };
        ChainRow {
            steps: chain.steps.iter().map(step).collect(),
            end: chain.root.clone(),
            end_state: state(chain.end),
            waits: chain.waits,
            wait_ns: chain.wait_ns,
            wait_share: share(chain.wait_ns, all_ns),
            phases_ns: chain.phases.clone(),
        }
    }
}

fn end_rows(chains: &[WaitChain]) -> Vec<ChainEndRow> {
    let mut ends: BTreeMap<&str, ChainEndRow> = BTreeMap::new();
    // Rings have no end.
    for chain in chains.iter().filter(|chain| chain.end != ChainEnd::Ring) {
        let row = ends.entry(&chain.root).or_default();
        row.threads.clone_from(&chain.root);
        row.wait_ns = row.wait_ns.saturating_add(chain.wait_ns);
        let through_ns = if is_chained(chain) { chain.wait_ns } else { 0 };
        row.through_ns = row.through_ns.saturating_add(through_ns);
    }
    let mut rows: Vec<ChainEndRow> = ends.into_values().collect();
    // Stable.
    rows.sort_by_key(|row| Reverse(row.wait_ns));
    rows
}

fn phases(findings: &Findings<'_>, shown: usize) -> Vec<ChainPhase> {
    let found = &findings.chains;
    let phase = |nth: usize| {
        let start_ns = (nth as u64).saturating_mul(found.phase_ns);
        let end_ns = start_ns.saturating_add(found.phase_ns).min(found.duration_ns);
        let in_phase = |chain: &WaitChain| chain.phases.get(nth).copied().unwrap_or(0);
        let mut phase = ChainPhase {
            start_ns,
            duration_ns: end_ns.saturating_sub(start_ns),
            ..ChainPhase::default()
        };
        for (at, chain) in found.chains.iter().enumerate() {
            let ns = in_phase(chain);
            phase.wait_ns = phase.wait_ns.saturating_add(ns);
            if is_chained(chain) {
                phase.chained_ns = phase.chained_ns.saturating_add(ns);
            }
            if ns > phase.first_ns {
                (phase.first, phase.first_ns) = (Some(at).filter(|&at| at < shown), ns);
            }
        }
        phase
    };
    (0..found.phases).map(phase).collect()
}
